"""From a MuJoCo model to ours."""

from pathlib import Path
from typing import Any

import numpy as np

from myoquat.data.formats import CompiledModel, ModelSpec
from myoquat.data.reports import ImplausibleValues, UnsupportedElements
from myoquat.data.xml import located
from myoquat.joints import ArticulatedSystem, rotation_matrix
from myoquat.joints.vectors import vecmat
from myoquat.muscle import Model
from myoquat.muscle.coordinates import Marker

from .reading.actuators import read_actuators
from .reading.bodies import GROUND, Skeleton
from .reading.contacts import read_contacts
from .reading.equalities import read_equalities
from .reading.tendons import combinations_of, read_tendons, used_by_tendons
from .source import Part, Source, open_source

MAX_SHOWN = 5  # tendons, in a message
WRAPPING = ("mujoco", "mujoco3", "shortest")
START = "start"  # the keyframe at which a model starts, else the first one; without any, the pose of the file


def read_model(
    source: "Path | CompiledModel | ModelSpec",
    unsupported: UnsupportedElements,
    implausible: ImplausibleValues,
    wrapping: str = "mujoco",
    anywhere: bool = False,
    contact: bool = False,
) -> Model:
    """The model in a MuJoCo file, MJCF, or that of a `mujoco.MjModel` or `mujoco.MjSpec`, as MuJoCo compiles it.

    Coordinates keep the names of the hinges and slides, in the order of MuJoCo's qpos; a ball or free joint has a
    quaternion. Spatial tendons are the muscles; they pass spheres and cylinders on the side of a side site. They are
    driven by a spring, or by an actuator that only pulls, in proportion to its control. Tendons on
    which nothing acts carry no force; where a file has actuators, a warning names them. Sites that no tendon uses are
    markers, equality constraints of joints couplers; the keyframe "start", or the first one, is the start. The frame of
    a body is that of the file. A body with more joints than one joint here holds, or with a joint away from its origin,
    hangs on massless bodies.

    wrapping  the rule for surfaces with a side site: "mujoco" that of MuJoCo 4, "mujoco3" that of versions up to 3.17,
              "shortest" that of a quadrant, whose path stays in front where both ends are behind.
    anywhere  files that it includes, and meshes, may lie outside its folder.
    contact   spheres, capsules and ellipsoids press on planes, spheres and capsules on each other (`LinearContact`):
              the pairs that MuJoCo lets touch.

    A cylinder with a side site has the `Wrap.rule` "mujoco" in MuJoCo 4, "mujoco3" in earlier versions. Limits of
    joints and tendons are forces with MuJoCo's resting stiffness. MuJoCo opens the files of those meshes that weigh.
    Raises MissingExtraError without the package `mujoco`, and ModelError with file, element and line for a model that
    MuJoCo refuses or that cannot be here.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import myoquat as mq
    >>> text = '<mujoco><worldbody><body><joint name="hinge"/><geom size="0.1"/></body></worldbody></mujoco>'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "ball.xml"
    ...     _ = path.write_text(text)
    ...     mq.load_model(path, anywhere=True).system.coordinate_names
    ('hinge',)
    """
    if wrapping not in WRAPPING:
        raise ValueError(f"wrapping is one of {', '.join(WRAPPING)}, not {wrapping!r}")
    path = source if isinstance(source, Path) else None
    with located(path, None):
        opened = open_source(source, anywhere, unsupported, implausible)
        with located(path, opened.root):
            model = _model(opened, path, wrapping, contact)
    if opened.idle:
        shown = ", ".join(opened.idle[:MAX_SHOWN]) + (", ..." if len(opened.idle) > MAX_SHOWN else "")
        implausible.remarks.append(f"{len(opened.idle)} tendons without actuator and spring carry no force: {shown}")
    return model


def _model(source: Source, path: Path | None, wrapping: str, contact: bool) -> Model:
    m: Any = source.m
    for part in () if contact else (*source.parts("pair"), *source.parts("exclude")):
        part.note("without contact=True")
    skeleton = Skeleton(source)
    skeleton.combinations |= combinations_of(skeleton)
    keys = source.parts("key")
    key = next((key for key in keys if key.name == START), keys[0] if keys else None)
    drives = read_actuators(skeleton, (_stated(key, "ctrl"), _stated(key, "act")))
    title = bytes(m.names).partition(b"\0")[0].decode("utf-8", "replace")  # with which the table of names begins
    unnamed = not title or (path is not None and source.root is not None and not source.root.get("model"))
    name = ("model" if path is None else path.stem) if unnamed else title
    sites, surfaces = used_by_tendons(source)
    bodies, shown = skeleton.with_shapes(surfaces)
    gravity = (0.0, 0.0, 0.0) if source.disabled("GRAVITY") else m.opt.gravity
    system = ArticulatedSystem(bodies, ground=GROUND, gravity=gravity, name=name, shapes=shown)
    for other in keys:
        if other is not key:
            other.note("another keyframe")
    start_q: Any = system.check_q(np.array(skeleton.start if key is None else key.qpos))
    start_u: Any = np.array(_stated(key, "qvel") or np.zeros(system.nu))
    # the linear velocity of a floating joint is that of the parent's frame in MuJoCo, of the child's here
    for body, iq, iu in zip(system.bodies, system.q_slices, system.u_slices, strict=True):
        if body.joint.span == "all":
            linear = slice(iu.start, iu.start + 3)
            start_u[linear] = vecmat(start_u[linear], rotation_matrix(start_q[iq][3:]))
    muscles = read_tendons(skeleton, drives, wrapping)
    couplers, constraints = read_equalities(skeleton, system, muscles)
    neutral = key is None and tuple(start_q) == tuple(system.neutral())
    contacts = read_contacts(skeleton, system) if contact else ()
    limits, ball_limits = skeleton.limits()
    return Model(
        system,
        muscles,
        name=name,
        start_q=None if neutral else start_q,
        start_u=start_u if start_u.any() else None,
        file=path,
        coordinates=skeleton.coordinates,
        limits=limits,
        couplers=couplers,
        constraints=constraints,
        actuators=tuple(drives.actuators),
        forces=(*skeleton.forces, *drives.forces, *ball_limits, *contacts),
        markers=tuple(
            Marker(site.name, skeleton.names[site.bodyid], site.pos)
            for site in source.parts("site")
            if site.index not in sites and site.name
        ),
    )


def _stated(key: Part | None, quantity: str) -> tuple[float, ...] | None:
    """What a keyframe says of a quantity; None where there is none, or where MuJoCo fills it in."""
    if key is None or (key.given is not None and not len(getattr(key.given, quantity))):
        return None
    row: tuple[float, ...] = getattr(key, quantity)
    return row
