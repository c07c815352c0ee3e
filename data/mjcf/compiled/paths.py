"""Tendons, actuators and equality constraints of a compiled model, as the elements of a file."""

from typing import Any

import numpy as np

from myoquat.data.mjcf.elements import add, numbers
from myoquat.data.xml import MOBILITY, Element

__all__ = ["Names", "add_actuators", "add_contacts", "add_equalities", "add_tendons", "soft_limit"]

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
