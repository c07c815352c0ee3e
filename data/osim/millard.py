"""OpenSim's Millard2012EquilibriumMuscle: its curves, and what OpenSim 4.6 makes of their numbers."""

import math
from typing import Any

from myoquat.data.osim.document import boolean, number, text
from myoquat.data.xml import complain
from myoquat.muscle.laws import Millard2012

__all__ = ["read_millard"]

MILLARD = {
    "damping": ("fiber_damping", 0.1),
    "minimum_activation": ("minimum_activation", 0.01),
    "maximum_pennation": ("maximum_pennation_angle", math.acos(0.1)),
}
CURVES = {
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
UNDAMPED = 0.001  # a damping below it is none


def read_millard(element: Any, common: dict[str, tuple[str, float]]) -> Millard2012:
    """The law of a <Millard2012EquilibriumMuscle>; `common`: the numbers that all muscles have. ModelError with its
    line where a curve is given in part."""
    values = {ours: number(element, theirs, default) for ours, (theirs, default) in (common | MILLARD).items()}
    for tag, own in CURVES.items():
        values |= {ours: number(_curve(element, tag), theirs, default) for ours, (theirs, default) in own.items()}
    values |= _fitted_passive(_curve(element, "FiberForceLengthCurve"), values)
    values |= _fitted_tendon(_curve(element, "TendonForceLengthCurve"), values)
    rigid = boolean(element, "ignore_tendon_compliance")
    damped = values["damping"] >= UNDAMPED
    if damped or rigid:
        values |= {"active_lowest": 0.0, "concentric_slope_at_vmax": 0.0, "eccentric_slope_at_vmax": 0.0}
    else:
        values["active_lowest"] = max(0.1, values["active_lowest"])
        for way in ("concentric", "eccentric"):
            at, near = f"{way}_slope_at_vmax", f"{way}_slope_near_vmax"
            values[at] = max(values[at], values[near] / 2)
    values["damping"] *= damped
    return Millard2012(**values, tendon="rigid" if rigid else "elastic")


def _curve(element: Any, tag: str) -> Any:
    """The element of a curve; the muscle, which holds none of its numbers, where it is missing."""
    found = element.find(tag)
    return element if found is None else found


def _fitted_passive(curve: Any, values: dict[str, float]) -> dict[str, float]:
    """Stiffnesses and curviness of the passive fiber, if the file gives them: all or none."""
    given = _all_or_none(curve, "stiffness_at_low_force", "stiffness_at_one_norm_force", "curviness")
    if not given:
        return {}
    low, stiffness, curviness = given
    ratio = stiffness * (values["passive_strain"] - values["passive_strain_at_zero"])
    return {"passive_low_stiffness": low, "passive_stiffness_ratio": ratio, "passive_curviness": curviness}


def _fitted_tendon(curve: Any, values: dict[str, float]) -> dict[str, float]:
    """Stiffness, toe and curviness of the tendon likewise."""
    given = _all_or_none(curve, "stiffness_at_one_norm_force", "norm_force_at_toe_end", "curviness")
    if not given:
        return {}
    stiffness, toe, curviness = given
    ratio = stiffness * values["tendon_strain"]
    return {"tendon_stiffness_ratio": ratio, "tendon_toe_force": toe, "tendon_curviness": curviness}


def _all_or_none(curve: Any, *tags: str) -> list[float]:
    given = [tag for tag in tags if text(curve, tag, "")]
    if given and len(given) < len(tags):
        complain(curve, f"<{curve.tag}> needs all of {', '.join(tags)} or none, not only {', '.join(given)}")
    return [number(curve, tag) for tag in given]
