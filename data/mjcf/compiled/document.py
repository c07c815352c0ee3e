"""A model that MuJoCo has compiled, as the elements of a file, with the numbers that the compiler computes."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from lxml import etree

from myoquat.core.typing import Array
from myoquat.data.compiled import CompiledModel, ModelSpec
from myoquat.data.mjcf.compiled.paths import Names, add_actuators, add_contacts, add_equalities, add_tendons, soft_limit
from myoquat.data.mjcf.elements import add, numbers
from myoquat.data.mjcf.reading.frames import Place
from myoquat.data.xml import MOBILITY, Element
from myoquat.joints.errors import ModelError
from myoquat.joints.quaternion import quaternion_multiply, rotation_matrix

__all__ = ["compiled_model", "document_of", "vertices_of"]

JOINTS = ("free", "ball", "slide", "hinge")
GEOMS = ("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf")
FLAGS_OFF = {"constraint": 1 << 0, "contact": 1 << 4, "gravity": 1 << 7, "filterparent": 1 << 10}  # MuJoCo's bits


def compiled_model(source: CompiledModel | ModelSpec) -> CompiledModel:
    """A compiled model as it is, and one that is compiled here; ModelError where MuJoCo cannot."""
    if isinstance(source, CompiledModel):
        return source
    try:
        return source.compile()
    except ValueError as error:
        raise ModelError(f"MuJoCo cannot compile it: {error}") from None


def vertices_of(model: CompiledModel) -> Callable[[str], Array]:
    """A function of a mesh's name that gives its vertices (v, 3) [m] in the frame of its file."""
    m: Any = model

    def vertices(name: str) -> Array:
        k = next(i for i in range(m.nmesh) if (m.mesh(i).name or f"mesh_{i}") == name)
        first = int(m.mesh_vertadr[k])
        found = np.array(m.mesh_vert[first : first + int(m.mesh_vertnum[k])], dtype=float)
        turned: Array = found @ np.asarray(rotation_matrix(np.array(m.mesh_quat[k]))).T + np.array(m.mesh_pos[k])
        return turned

    return vertices


def document_of(source: CompiledModel | ModelSpec) -> Element:
    """The root <mujoco> of a compiled model, or of one that is compiled here; ModelError where MuJoCo cannot.

    Angles are in radians and no default class is used; every inertia is given, and so are the length ranges and peak
    forces of muscles. Geoms weigh nothing.
    """
    m: Any = compiled_model(source)
    root: Element = etree.Element("mujoco")
    if title := _title(m):
        root.set("model", title)
    add(root, "compiler", angle="radian", autolimits=False, inertiafromgeom="false")
    _add_option(root, m)
    _add_meshes(root, m)
    names = Names(m)
    _add_bodies(add(root, "worldbody"), m, names)
    add_tendons(root, m, names)
    add_actuators(root, m, names)
    add_equalities(root, m, names)
    _add_keyframes(root, m)
    add_contacts(root, m, names)
    for count, section in ((m.nsensor, "sensor"), (m.nflex + m.nskin, "deformable")):
        if count:
            add(root, section)
    return root


def _title(m: Any) -> str:
    """The name of the whole, with which its table of names begins."""
    return bytes(m.names).partition(b"\0")[0].decode("utf-8", "replace")


def _add_option(root: Element, m: Any) -> None:
    opt = m.opt
    option = add(root, "option", gravity=numbers(opt.gravity), density=opt.density, viscosity=opt.viscosity,
                 wind=numbers(opt.wind), timestep=opt.timestep)  # fmt: skip
    flags = {name: "disable" for name, bit in FLAGS_OFF.items() if opt.disableflags & bit}
    if flags:
        add(option, "flag", **flags)


def _add_meshes(root: Element, m: Any) -> None:
    if not m.nmesh:
        return
    assets, paths = add(root, "asset"), bytes(m.paths)
    for i in range(m.nmesh):
        start = int(m.mesh_pathadr[i])
        file = "" if start < 0 else paths[start : paths.index(b"\0", start)].decode("utf-8", "replace")
        add(assets, "mesh", name=m.mesh(i).name or f"mesh_{i}", file=file or None, scale=numbers(m.mesh_scale[i]))


def _add_bodies(world: Element, m: Any, names: Names) -> None:
    elements = [world]
    for i in range(1, m.nbody):
        parent = elements[int(m.body_parentid[i])]
        element = add(parent, "body", name=names.of("body", i), pos=numbers(m.body_pos[i]),
                      quat=numbers(m.body_quat[i]), mocap=True if m.body_mocapid[i] >= 0 else None,
                      gravcomp=float(m.body_gravcomp[i]) or None)  # fmt: skip
        element.set(MOBILITY, repr(float(m.body_invweight0[i, 0])))
        elements.append(element)
        add(element, "inertial", mass=m.body_mass[i], pos=numbers(m.body_ipos[i]), quat=numbers(m.body_iquat[i]),
            diaginertia=numbers(m.body_inertia[i]))  # fmt: skip
        for j in range(m.body_jntadr[i], m.body_jntadr[i] + m.body_jntnum[i]):
            _add_joint(element, m, j, names)
    for i in range(m.ngeom):
        _add_geom(elements[int(m.geom_bodyid[i])], m, i, names)
    for i in range(m.nsite):
        add(elements[int(m.site_bodyid[i])], "site", name=names.of("site", i), pos=numbers(m.site_pos[i]),
            quat=numbers(m.site_quat[i]))  # fmt: skip


def _add_joint(body: Element, m: Any, j: int, names: Names) -> None:
    joint_type, at, dof = JOINTS[int(m.jnt_type[j])], int(m.jnt_qposadr[j]), int(m.jnt_dofadr[j])
    single = joint_type in ("slide", "hinge")
    joint = add(body, "joint", name=names.of("joint", j), type=joint_type,
        pos=None if joint_type == "free" else numbers(m.jnt_pos[j]), axis=numbers(m.jnt_axis[j]) if single else None,
        range=numbers(m.jnt_range[j]) if m.jnt_limited[j] or any(m.jnt_range[j]) else None,
        limited=bool(m.jnt_limited[j]),
        ref=float(m.qpos0[at]) if single else None, springref=float(m.qpos_spring[at]) if single else None,
        stiffness=polynomial(m, "jnt_stiffness", j), damping=polynomial(m, "dof_damping", dof),
        armature=m.dof_armature[dof], frictionloss=m.dof_frictionloss[dof],
        **soft_limit(m, "jnt_", j, "") if m.jnt_limited[j] else {})  # fmt: skip
    joint.set(MOBILITY, repr(float(m.dof_invweight0[dof])))


def polynomial(m: Any, name: str, i: int) -> tuple[float, ...]:
    """A coefficient, with those of higher order that newer versions have."""
    higher = getattr(m, f"{name}poly", None)
    return numbers(getattr(m, name)[i]) + (() if higher is None or not np.any(higher[i]) else numbers(higher[i]))


def _add_geom(body: Element, m: Any, i: int, names: Names) -> None:
    geom_type = GEOMS[int(m.geom_type[i])] if int(m.geom_type[i]) < len(GEOMS) else "sdf"
    place = Place(np.array(m.geom_pos[i]), np.array(m.geom_quat[i]))
    mesh = None
    if geom_type in ("mesh", "sdf") and m.geom_dataid[i] >= 0:
        k = int(m.geom_dataid[i])
        mesh, place = m.mesh(k).name or f"mesh_{k}", _as_given(place, m.mesh_pos[k], m.mesh_quat[k])
    count = {"sphere": 1, "capsule": 2, "cylinder": 2}.get(geom_type, 3)
    add(body, "geom", name=names.of("geom", i), type=geom_type, pos=place.position, quat=place.orientation, mass="0",
        size=None if mesh else numbers(m.geom_size[i])[:count], mesh=mesh, contype=str(int(m.geom_contype[i])),
        conaffinity=str(int(m.geom_conaffinity[i])), friction=numbers(m.geom_friction[i]),
        priority=str(int(m.geom_priority[i])), condim=str(int(m.geom_condim[i])),
        solref=numbers(m.geom_solref[i]), solimp=numbers(m.geom_solimp[i]), solmix=m.geom_solmix[i],
        margin=m.geom_margin[i], group=str(int(m.geom_group[i])), rgba=numbers(m.geom_rgba[i]))  # fmt: skip


def _as_given(place: Place, position: Array, orientation: Array) -> Place:
    """The place of a mesh as its file has it. The compiler moves its origin to the centre of mass, and turns its axes
    to the principal ones."""
    inverse = np.array(orientation) * [1.0, -1.0, -1.0, -1.0]
    Q = np.asarray(quaternion_multiply(place.Q, inverse))
    return Place(place.p - np.asarray(rotation_matrix(Q)) @ np.array(position), Q)


def _add_keyframes(root: Element, m: Any) -> None:
    if not m.nkey:
        return
    section = add(root, "keyframe")
    for i in range(m.nkey):
        rows: dict[str, Sequence[float] | None] = {
            word: numbers(values[i]) or None
            for word, values in (("qpos", m.key_qpos), ("qvel", m.key_qvel), ("act", m.key_act), ("ctrl", m.key_ctrl))
        }
        add(section, "key", name=m.key(i).name or None, **rows)
