"""OpenSim's Millard2012EquilibriumMuscle: its curves, and what OpenSim 4.6 makes of their numbers."""

import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from myoquat.data.document import boolean, number, text
from myoquat.data.elements import add
from myoquat.data.xml import complain
from myoquat.muscle.laws import Millard2012

__all__ = ["add_millard", "add_numbers", "is_rigid", "read_millard"]

MILLARD: dict[str, tuple[str, float | None]] = {
    "damping": ("fiber_damping", 0.1),
    "minimum_activation": ("minimum_activation", 0.01),
    "maximum_pennation": ("maximum_pennation_angle", math.acos(0.1)),
}
CURVES: dict[str, dict[str, tuple[str, float | None]]] = {
    "ActiveForceLengthCurve": {
        "active_shortest": ("min_norm_active_fiber_length", 0.4441),
        "active_transition": ("transition_norm_fiber_length", 0.73),
        "active_longest": ("max_norm_active_fiber_length", 1.8123),
        "active_shallow_slope": ("shallow_ascending_slope", 0.8616),
        "active_lowest": ("minimum_value", 0.1),
    },
    "ForceVelocityCurve": {
        "concentric_slope_at_vmax": ("concentric_slope_at_vmax", 0.0),
        "concentric_slope_near_vmax": ("concentric_slope_near_vmax", 0.25),
        "isometric_slope": ("isometric_slope", 5.0),
        "eccentric_slope_at_vmax": ("eccentric_slope_at_vmax", 0.0),
        "eccentric_slope_near_vmax": ("eccentric_slope_near_vmax", 0.15),
        "eccentric_force": ("max_eccentric_velocity_force_multiplier", 1.4),
        "concentric_curviness": ("concentric_curviness", 0.6),
        "eccentric_curviness": ("eccentric_curviness", 0.9),
    },
    "FiberForceLengthCurve": {
        "passive_strain_at_zero": ("strain_at_zero_force", 0.0),
        "passive_strain": ("strain_at_one_norm_force", 0.7),
    },
    "TendonForceLengthCurve": {"tendon_strain": ("strain_at_one_norm_force", 0.049)},
}
FITTED: dict[str, tuple[Callable[[Mapping[str, Any]], float], tuple[str, str], dict[str, str]]] = {
    # of a curve: the strain by which its ratio is a stiffness, (ours, the file's) of that, and the others; all or none
    "FiberForceLengthCurve": (
        lambda law: law["passive_strain"] - law["passive_strain_at_zero"],
        ("passive_stiffness_ratio", "stiffness_at_one_norm_force"),
        {"passive_low_stiffness": "stiffness_at_low_force", "passive_curviness": "curviness"},
    ),
    "TendonForceLengthCurve": (
        lambda law: law["tendon_strain"],
        ("tendon_stiffness_ratio", "stiffness_at_one_norm_force"),
        {"tendon_toe_force": "norm_force_at_toe_end", "tendon_curviness": "curviness"},
    ),
}
MIN_DAMPING = 0.001  # a damping below it is none


def read_millard(element: Any, common: Mapping[str, tuple[str, float | None]]) -> Millard2012:
    """The law of a <Millard2012EquilibriumMuscle>; `common`: the numbers that all muscles have. ModelError with its
    line where a curve is given in part."""
    values: dict[str, Any] = {
        ours: number(element, theirs, default) for ours, (theirs, default) in (dict(common) | MILLARD).items()
    }
    for tag, own in CURVES.items():
        values |= {ours: number(_curve(element, tag), theirs, default) for ours, (theirs, default) in own.items()}
    for tag in FITTED:
        values |= _read_fitted(_curve(element, tag), tag, values)
    rigid = is_rigid(element)
    damped = values["damping"] >= MIN_DAMPING
    if damped or rigid:
        values |= {"active_lowest": 0.0, "concentric_slope_at_vmax": 0.0, "eccentric_slope_at_vmax": 0.0}
    else:
        values["active_lowest"] = max(0.1, values["active_lowest"])
        for way in ("concentric", "eccentric"):
            at, near = f"{way}_slope_at_vmax", f"{way}_slope_near_vmax"
            values[at] = max(values[at], values[near] / 2)
    values["damping"] *= damped
    return Millard2012(**values, tendon="rigid" if rigid else "elastic")


def is_rigid(element: Any) -> bool:
    """Whether a muscle's tendon is rigid: by its switch, or because it has no length of which a strain would be."""
    return boolean(element, "ignore_tendon_compliance") or number(element, "tendon_slack_length", 1.0) == 0


def _curve(element: Any, tag: str) -> Any:
    """The element of a curve; the muscle, which holds none of its numbers, where it is missing."""
    found = element.find(tag)
    return element if found is None else found


def _read_fitted(curve: Any, tag: str, values: Mapping[str, float]) -> dict[str, float]:
    """Stiffness, curviness and the like of a curve, if the file gives them: all or none."""
    strain, (ratio, stiffness), others = FITTED[tag]
    if not _all_or_none(curve, stiffness, *others.values()):
        return {}
    own = {ours: number(curve, theirs) for ours, theirs in others.items()}
    return {ratio: number(curve, stiffness) * strain(values)} | own


def add_millard(force: Any, law: Millard2012, common: Mapping[str, tuple[str, float | None]]) -> None:
    """The numbers of a law as children of its element, those of its curves in elements of their own."""
    add_numbers(force, law, dict(common) | MILLARD)
    for tag, own in CURVES.items():
        curve = add(force, tag)
        add_numbers(curve, law, own)
        if tag in FITTED:
            _add_fitted(curve, law, tag)
    add(force, "ignore_tendon_compliance", law.tendon == "rigid")


def add_numbers(parent: Any, law: Any, table: Mapping[str, tuple[str, float | None]]) -> None:
    """The numbers of a law by a table ours -> (the file's, default)."""
    for ours, (theirs, _) in table.items():
        add(parent, theirs, getattr(law, ours))


def _add_fitted(curve: Any, law: Millard2012, tag: str) -> None:
    strain, (ratio, stiffness), others = FITTED[tag]
    ours = {ratio, *others}
    if all(getattr(law, f.name) == f.default for f in fields(law) if f.name in ours):
        return
    add(curve, stiffness, getattr(law, ratio) / strain(vars(law)))
    for own, theirs in others.items():
        add(curve, theirs, getattr(law, own))


def _all_or_none(curve: Any, *tags: str) -> bool:
    given = [tag for tag in tags if text(curve, tag, "")]
    if given and len(given) < len(tags):
        complain(curve, f"<{curve.tag}> needs all of {', '.join(tags)} or none, not only {', '.join(given)}")
    return bool(given)
