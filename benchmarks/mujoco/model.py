"""A system as MuJoCo reads it, and the loop in C around its engine."""

import ctypes
from pathlib import Path

import mujoco

from benchmarks.native import load
from myoquat.joints import ArticulatedSystem

_OPTIONS = (
    '<compiler balanceinertia="false"/><option gravity="{}"><flag constraint="disable" contact="disable" '
    'eulerdamp="disable"/></option>'
)


def engine(system: ArticulatedSystem, sites: dict[str, str] | None = None, more: str = "") -> mujoco.MjModel:
    """The compiled model: bodies with their sites (XML by body name), then `more` XML."""
    world = bodies_xml(system, system.ground, sites or {})
    gravity = " ".join(map(repr, system.gravity))
    return mujoco.MjModel.from_xml_string(
        f"<mujoco>{_OPTIONS.format(gravity)}<worldbody>{world}</worldbody>{more}</mujoco>"
    )


def bodies_xml(system: ArticulatedSystem, parent: str, sites: dict[str, str]) -> str:
    """The bodies below `parent`; ValueError for a joint that is neither ball, hinge nor free."""
    text = sites.get(parent, "")
    for body in system.bodies:
        if body.parent == parent:
            text += (
                f'<body name="{body.name}" pos="{_numbers(body.position)}" quat="{_numbers(body.orientation)}">'
                f'{_joint(body.name, body.joint)}<inertial pos="{_numbers(body.center_of_mass)}" '
                f'mass="{body.mass}" fullinertia="{_numbers(body.inertia)}"/>'
                f"{bodies_xml(system, body.name, sites)}</body>"
            )
    return text


def _joint(name: str, joint: object) -> str:
    if joint.facts.quaternion == 0:
        return '<joint type="ball"/>'
    if joint.kind == "revolute":
        return f'<joint type="hinge" axis="{_numbers(joint.axis)}"/>'
    if joint.span == "all":
        return "<freejoint/>"
    raise ValueError(f"body {name!r}: a {getattr(joint, 'kind', joint)} joint is not compared with MuJoCo")


def _numbers(values: tuple[float, ...]) -> str:
    return " ".join(map(repr, values))


def loop() -> ctypes.CDLL:
    """The compiled loops of mujoco_loop.c."""
    package = Path(mujoco.__file__).parent
    library = next(package.glob("libmujoco.so*"))
    flags = [f"-I{package / 'include'}", str(library), f"-Wl,-rpath,{package}"]
    return load(Path(__file__).with_name("loop.c"), flags)
