"""A model that MuJoCo has compiled, as the elements of a file, with the numbers that the compiler computes."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from lxml import etree

from myoquat.core.typing import Array
from myoquat.data.formats import CompiledModel, ModelSpec
from myoquat.data.mjcf.document import Place
from myoquat.data.mjcf.elements import add, numbers
from myoquat.data.xml import MOBILITY, Element
from myoquat.joints.errors import ModelError
from myoquat.joints.quaternion import quaternion_multiply, rotation_matrix

__all__ = [
    "Names",
    "add_actuators",
    "add_equalities",
    "add_tendons",
    "compiled_model",
    "document_of",
    "soft_limit",
    "vertices_of",
]


# ---- Tendons, actuators and equality constraints of a compiled model, as the elements of a file -------------------


JOINT, PULLEY, SITE, SPHERE, CYLINDER = range(1, 6)  # what a tendon runs over
TRANSMISSIONS = ("joint", "jointinparent", "cranksite", "tendon", "site", "body")
TARGETS = {"joint": "joint", "jointinparent": "joint", "tendon": "tendon", "site": "site", "body": "body"}
GAINS = ("fixed", "affine", "muscle", "dcmotor", "user")
BIASES = ("none", "affine", "muscle", "dcmotor", "user")
DYNAMICS = ("none", "integrator", "filter", "filterexact", "muscle", "dcmotor", "user")
EQUALITIES = ("connect", "weld", "joint", "tendon")
MIN_DIVISOR = 1e-15  # MuJoCo's least divisor


class Names:
    """The names of parts, with one made up for each part without a name that others refer to."""

    def __init__(self, m: Any) -> None:
        self._model = m
        self._needed: set[tuple[str, int]] = set()
        for wrap_type, i, side in zip(m.wrap_type, m.wrap_objid, m.wrap_prm, strict=True):
            word = {JOINT: "joint", SITE: "site", SPHERE: "geom", CYLINDER: "geom"}.get(int(wrap_type))
            if word is not None:
                self._needed.add((word, int(i)))
            if word == "geom" and side >= 0:
                self._needed.add(("site", round(float(side))))
        for transmission, ids in zip(m.actuator_trntype, m.actuator_trnid, strict=True):
            word = TARGETS.get(_word(TRANSMISSIONS, transmission))
            if word is not None:
                self._needed |= {(word, int(i)) for i in ids if i >= 0}
        for equality_type, object_type, *ids in zip(m.eq_type, m.eq_objtype, m.eq_obj1id, m.eq_obj2id, strict=True):
            word = {2: "joint", 3: "tendon"}.get(int(equality_type), "site" if int(object_type) == 6 else "body")
            self._needed |= {(word, int(i)) for i in ids if i >= 0}

        self._needed |= {("geom", int(i)) for pair in zip(m.pair_geom1, m.pair_geom2, strict=True) for i in pair}
        self._needed |= {("body", i) for pair in _excluded(m) for i in pair}

    def of(self, word: str, i: int) -> str | None:
        """The name of the part of number i, None for one that needs none."""
        given: str = getattr(self._model, word)(i).name
        return given or (f"{word}_{i}" if (word, i) in self._needed else None)


def _excluded(m: Any) -> list[tuple[int, int]]:
    """The pairs of bodies that never touch: two numbers of 16 bits in one."""
    return [(int(signature) >> 16, int(signature) & 0xFFFF) for signature in m.exclude_signature]


def _word(words: tuple[str, ...], code: Any) -> str:
    """The word of a code; the last word for one that is not known."""
    return words[int(code)] if 0 <= int(code) < len(words) else words[-1]


def _limits(m: Any, name: str, i: int, key: str, switch: str) -> dict[str, Any]:
    limited = bool(getattr(m, f"{name}limited")[i])
    return {switch: limited, key: numbers(getattr(m, f"{name}range")[i]) if limited else None}


def soft_limit(m: Any, name: str, i: int, suffix: str) -> dict[str, Any]:
    """The attributes of a limit's force: those of joints and tendons end in a `suffix` of their own."""
    found = {f"sol{word}limit": numbers(getattr(m, f"{name}sol{word}{suffix}")[i]) for word in ("ref", "imp")}
    return {**found, "margin": float(getattr(m, f"{name}margin")[i])}


def add_tendons(root: Element, m: Any, names: Names) -> None:
    """The <tendon> section."""
    section = add(root, "tendon") if m.ntendon else root
    for i in range(m.ntendon):
        first = int(m.tendon_adr[i])
        fixed = int(m.wrap_type[first]) == JOINT
        higher = getattr(m, "tendon_stiffnesspoly", None)
        stiffness = numbers(m.tendon_stiffness[i])
        stiffness += () if higher is None or not np.any(higher[i]) else numbers(higher[i])
        tendon = add(section, "fixed" if fixed else "spatial", name=m.tendon(i).name or f"tendon_{i}",
                     stiffness=stiffness, damping=numbers(m.tendon_damping[i]),
                     springlength=numbers(m.tendon_lengthspring[i]), frictionloss=m.tendon_frictionloss[i],
                     armature=float(m.tendon_armature[i]) or None,
                     **_limits(m, "tendon_", i, "range", "limited"),
                     **soft_limit(m, "tendon_", i, "_lim") if m.tendon_limited[i] else {})  # fmt: skip
        tendon.set(MOBILITY, repr(float(m.tendon_invweight0[i])))
        for k in range(first, first + int(m.tendon_num[i])):
            _add_part(tendon, m, k, names)


def _add_part(tendon: Element, m: Any, k: int, names: Names) -> None:
    wrap_type, i, prm = int(m.wrap_type[k]), int(m.wrap_objid[k]), float(m.wrap_prm[k])
    if wrap_type == JOINT:
        add(tendon, "joint", joint=names.of("joint", i), coef=prm)
    elif wrap_type == PULLEY:
        add(tendon, "pulley", divisor=prm)
    elif wrap_type == SITE:
        add(tendon, "site", site=names.of("site", i))
    else:
        side = names.of("site", round(prm)) if prm >= 0 else None
        add(tendon, "geom", geom=names.of("geom", i), sidesite=side)


def add_actuators(root: Element, m: Any, names: Names) -> None:
    """The <actuator> section, every actuator as a <general> one."""
    section = add(root, "actuator") if m.nu else root
    for i in range(m.nu):
        how = _word(TRANSMISSIONS, m.actuator_trntype[i])
        target = {how: names.of(TARGETS[how], int(m.actuator_trnid[i, 0]))} if how in TARGETS else {}
        if how == "site" and m.actuator_trnid[i, 1] >= 0:
            target["refsite"] = names.of("site", int(m.actuator_trnid[i, 1]))
        gain, bias = _word(GAINS, m.actuator_gaintype[i]), _word(BIASES, m.actuator_biastype[i])
        add(section, "general", name=m.actuator(i).name or None, **target, gear=numbers(m.actuator_gear[i]),
            gaintype=gain, biastype=bias, dyntype=_word(DYNAMICS, m.actuator_dyntype[i]),
            gainprm=_parameters(m, i, m.actuator_gainprm[i], gain == "muscle"),
            biasprm=_parameters(m, i, m.actuator_biasprm[i], bias == "muscle"),
            dynprm=numbers(m.actuator_dynprm[i]), lengthrange=numbers(m.actuator_lengthrange[i]),
            **_limits(m, "actuator_ctrl", i, "ctrlrange", "ctrllimited"),
            **_limits(m, "actuator_force", i, "forcerange", "forcelimited"),
            **_limits(m, "actuator_act", i, "actrange", "actlimited"))  # fmt: skip


def _parameters(m: Any, i: int, row: Any, muscle: bool) -> tuple[float, ...]:
    """Parameters of a gain or bias; of a muscle with the peak force, which MuJoCo may compute of `scale`."""
    found = list(numbers(row))
    if muscle and found[2] < 0:
        found[2] = found[3] / max(MIN_DIVISOR, float(m.actuator_acc0[i]))
    return tuple(found)


def add_contacts(root: Element, m: Any, names: Names) -> None:
    """The <contact> section."""
    section = add(root, "contact") if m.npair + m.nexclude else root
    for i, (first, second) in enumerate(zip(m.pair_geom1, m.pair_geom2, strict=True)):
        add(section, "pair", geom1=names.of("geom", int(first)), geom2=names.of("geom", int(second)),
            friction=numbers(m.pair_friction[i]), condim=str(int(m.pair_dim[i])), solref=numbers(m.pair_solref[i]),
            solimp=numbers(m.pair_solimp[i]), margin=m.pair_margin[i])  # fmt: skip
    for one, other in _excluded(m):
        add(section, "exclude", body1=names.of("body", one), body2=names.of("body", other))


def add_equalities(root: Element, m: Any, names: Names) -> None:
    """The <equality> section."""
    section = add(root, "equality") if m.neq else root
    for i in range(m.neq):
        equality_type = _word((*EQUALITIES, "flex"), m.eq_type[i])
        word = "site" if int(m.eq_objtype[i]) == 6 else "body"
        word = equality_type if equality_type in ("joint", "tendon") else word
        data = m.eq_data[i]
        given: dict[str, Any] = {"active": bool(m.eq_active0[i]), "name": m.equality(i).name or None}
        for k, obj in ((1, int(m.eq_obj1id[i])), (2, int(m.eq_obj2id[i]))):
            if obj >= 0 and equality_type != "flex":
                given[f"{word}{k}"] = names.of(word, obj)
        if equality_type in ("joint", "tendon"):
            given["polycoef"] = numbers(data[:5])
        elif equality_type == "connect" and word == "body":
            given["anchor"] = numbers(data[:3])
        elif equality_type == "weld" and word == "body":
            given |= {"anchor": numbers(data[:3]), "relpose": numbers(data[3:10])}
        add(section, equality_type, **given)


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
