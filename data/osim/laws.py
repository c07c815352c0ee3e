"""Force laws of muscles in OpenSim, read."""

import math
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

from myoquat.core.records import dataclass
from myoquat.data.osim.functions import add_curves, curves
from myoquat.data.reports import UnsupportedElements
from myoquat.data.xml import Element, add, boolean, complain, described, number, text
from myoquat.joints.errors import ModelError
from myoquat.muscle.activation import ActivationDynamics
from myoquat.muscle.laws import (
    Blankevoort1991,
    DeGrooteFregly2016,
    ForceLaw,
    HillLaw,
    Ligament,
    Millard2012,
    PathActuator,
    PathSpring,
    RigidTendonMuscle,
    Schutte1993,
    Thelen2003,
)

__all__ = [
    "LAWS",
    "MUSCLES",
    "SCHUTTE",
    "TIMES",
    "add_quadratic",
    "is_rigid",
    "read_activation",
    "read_activation_dynamics",
    "read_law",
]


# ---- OpenSim's Millard2012EquilibriumMuscle: its curves, and what OpenSim 4.6 makes of their numbers --------------


MILLARD: dict[str, tuple[str, float | None]] = {
    "damping": ("fiber_damping", 0.1),
    "minimum_activation": ("minimum_activation", 0.01),
    "maximum_pennation": ("maximum_pennation_angle", math.acos(0.1)),
}
MILLARD_CURVES: dict[str, dict[str, tuple[str, float | None]]] = {
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
    for tag, own in MILLARD_CURVES.items():
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
    for tag, own in MILLARD_CURVES.items():
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


# --------------------------------------------------------------------------------------------------------------
#
# OpenSim's Schutte1993Muscle_Deprecated: its numbers, its curves and how its activation follows its excitation.


SCHUTTE = "Schutte1993Muscle_Deprecated"
DAMPING = {"damping": ("damping", 0.1)}
SCHUTTE_CURVES = {
    "tendon_curve": "tendon_force_length_curve",
    "active_curve": "active_force_length_curve",
    "passive_curve": "passive_force_length_curve",
}
SCHUTTE_TIMES = {"activation_time": ("activation1", 7.667), "deactivation_time": ("activation2", 1.459854)}
TIME_SCALE = 0.1
FASTEST = "max_contraction_velocity"  # of which this muscle of OpenSim makes no use: its speeds are over its time scale


def read_schutte(element: Element, common: Mapping[str, tuple[str, float | None]]) -> Schutte1993:
    """The law of an element; `common`: the numbers that all muscles have."""
    table = {ours: named for ours, named in common.items() if ours != FASTEST} | DAMPING
    values: dict[str, Any] = {ours: number(element, theirs, default) for ours, (theirs, default) in table.items()}
    values |= curves(element, SCHUTTE_CURVES)
    return Schutte1993(
        **values, max_contraction_velocity=1 / _time_scale(element), tendon="rigid" if is_rigid(element) else "elastic"
    )


def add_schutte(force: Element, law: Schutte1993, common: Mapping[str, tuple[str, float | None]]) -> None:
    """The numbers and curves of a law as children of its element."""
    add_numbers(force, law, {ours: named for ours, named in common.items() if ours != FASTEST} | DAMPING)
    add(force, "time_scale", 1 / law.max_contraction_velocity)
    if law.tendon == "rigid":
        add(force, "ignore_tendon_compliance", True)
    given = {ours: theirs for ours, theirs in SCHUTTE_CURVES.items() if getattr(law, ours) is not None}
    add_curves(force, law, given)


def read_quadratic(element: Element) -> ActivationDynamics:
    """Its activation dynamics; ModelError with its line for rates that no time has."""
    rates = {ours: number(element, theirs, default) for ours, (theirs, default) in SCHUTTE_TIMES.items()}
    for ours, rate in rates.items():
        if not rate > 0:
            complain(element, f"<{SCHUTTE_TIMES[ours][0]}> must be positive, not {rate}")
    return ActivationDynamics(form="quadratic", **{ours: _time_scale(element) / rate for ours, rate in rates.items()})


def add_quadratic(force: Element, dynamics: ActivationDynamics) -> None:
    """Activation dynamics as children of an element that has its time scale."""
    for ours, (theirs, _) in SCHUTTE_TIMES.items():
        add(force, theirs, number(force, "time_scale") / getattr(dynamics, ours))


def _time_scale(element: Element) -> float:
    scale = number(element, "time_scale", TIME_SCALE)
    if not scale > 0:
        complain(element, f"<time_scale> must be positive, not {scale}")
    return scale


# --------------------------------------------------------------------------------------------------------------
#
# The force laws of OpenSim's muscles, with OpenSim 4.6's own values where a file leaves a number out.


Table = dict[str, tuple[str, float | None]]  # ours: (the file's, the value where it is left out, None for none)
COMMON: Table = {
    "max_isometric_force": ("max_isometric_force", 1000.0),
    "optimal_fiber_length": ("optimal_fiber_length", 0.1),
    "tendon_slack_length": ("tendon_slack_length", 0.2),
    "pennation": ("pennation_angle_at_optimal", 0.0),
    "max_contraction_velocity": ("max_contraction_velocity", 10.0),
}
THELEN: Table = {
    "tendon_strain": ("FmaxTendonStrain", 0.04),
    "passive_strain": ("FmaxMuscleStrain", 0.6),
    "active_shape": ("KshapeActive", 0.45),
    "passive_shape": ("KshapePassive", 5.0),
    "concentric_shape": ("Af", 0.25),
    "eccentric_force": ("Flen", 1.4),
    "straight_from": ("fv_linear_extrap_threshold", 0.95),
    "maximum_pennation": ("maximum_pennation_angle", math.acos(0.1)),
    "minimum_activation": ("minimum_activation", 0.01),
}
DEGROOTE: Table = {
    "tendon_strain": ("tendon_strain_at_one_norm_force", 0.049),
    "passive_strain": ("passive_fiber_strain_at_one_norm_force", 0.6),
    "width_scale": ("active_force_width_scale", 1.0),
    "damping": ("fiber_damping", 0.0),
}
RIGID_CURVES = {
    "active_curve": "active_force_length_curve",
    "passive_curve": "passive_force_length_curve",
    "velocity_curve": "force_velocity_curve",
}
LIGAMENT: Table = {"resting_length": ("resting_length", None), "max_force": ("pcsa_force", None)}
BLANKEVOORT: Table = {
    "linear_stiffness": ("linear_stiffness", 1.0),
    "slack_length": ("slack_length", None),
    "transition_strain": ("transition_strain", 0.06),
    "damping_coefficient": ("damping_coefficient", 0.003),
}
SPRING: Table = {
    "stiffness": ("stiffness", None),
    "resting_length": ("resting_length", None),
    "dissipation": ("dissipation", 0.0),
}
ACTUATOR: Table = {"max_isometric_force": ("optimal_force", 1.0)}
LIGAMENT_CURVES = {"curve": "force_length_curve"}
TIMES = {  # of activation and deactivation [s], and the form
    "Thelen2003Muscle": (0.015, 0.050, "piecewise"),
    "Millard2012EquilibriumMuscle": (0.010, 0.040, "piecewise"),
    "DeGrooteFregly2016Muscle": (0.015, 0.060, "smooth"),
}
MUSCLES = (*TIMES, SCHUTTE)  # those with activation dynamics and a tendon


def read_activation_dynamics(element: Any) -> ActivationDynamics | None:
    """The activation dynamics of a muscle; None for one without, or where the file says to ignore them."""
    if element.tag not in MUSCLES or boolean(element, "ignore_activation_dynamics"):
        return None
    dynamics = read_quadratic(element) if element.tag == SCHUTTE else _read_times(element)
    try:
        dynamics.check(described(element))
    except ModelError as error:
        complain(element, error.message)
    return dynamics


def _read_times(element: Any) -> ActivationDynamics:
    up, down, form = TIMES[element.tag]
    piecewise = form == "piecewise"
    return ActivationDynamics(
        number(element, "activation_time_constant", up),
        number(element, "deactivation_time_constant", down),
        form,
        number(element, "activation_dynamics_smoothing", 0.1),
        number(element, "minimum_activation", 0.01) if piecewise else 0.0,
    )


def read_activation(element: Any) -> float | None:
    """The activation at the start that a file gives a muscle; None where it gives none."""
    if element.tag not in TIMES or not text(element, "default_activation", ""):
        return None
    return number(element, "default_activation")


def _degroote(element: Any) -> ForceLaw:
    """OpenSim lets the activation go to 0, where the speed of an undamped fiber has no limit: there ours is 0.01."""
    law = _hill(DeGrooteFregly2016, DEGROOTE)(element)
    if boolean(element, "ignore_passive_fiber_force"):
        law = replace(law, passive_scale=0.0)  # type: ignore[call-arg]
    return replace(law, minimum_activation=0.0) if law.tendon == "rigid" or law.is_damped else law


def _common(element: Any) -> dict[str, Any]:
    return _numbers(element, COMMON)


def _hill(law: Callable[..., HillLaw], own: Table) -> Callable[[Any], HillLaw]:
    def read(element: Any) -> HillLaw:
        values: dict[str, Any] = {**_numbers(element, COMMON | own)}
        rigid = is_rigid(element)
        return law(**values, tendon="rigid" if rigid else "elastic")

    return read


def _write_degroote(force: Any, law: Any) -> None:
    add_numbers(force, law, COMMON | DEGROOTE)
    add(force, "ignore_tendon_compliance", law.tendon == "rigid")
    add(force, "ignore_passive_fiber_force", law.passive_scale == 0)


def _write_rigid(force: Any, law: Any) -> None:
    add_numbers(force, law, COMMON)
    add_curves(force, law, RIGID_CURVES)


def _write_ligament(force: Any, law: Any) -> None:
    add_numbers(force, law, LIGAMENT)
    add_curves(force, law, LIGAMENT_CURVES)


def _numbers(element: Any, table: Table) -> dict[str, Any]:
    return {ours: number(element, theirs, default) for ours, (theirs, default) in table.items()}


@dataclass(frozen=True)
class LawFormat:
    """A type of force along a path: the class of its law, its reader, and its writer into an element."""

    law: type[ForceLaw]
    read: Callable[[Any], ForceLaw]
    write: Callable[[Any, Any], None]


LAWS: dict[str, LawFormat] = {
    "Thelen2003Muscle": LawFormat(
        Thelen2003, _hill(Thelen2003, THELEN), lambda force, law: add_numbers(force, law, COMMON | THELEN)
    ),
    "DeGrooteFregly2016Muscle": LawFormat(DeGrooteFregly2016, _degroote, _write_degroote),
    "Millard2012EquilibriumMuscle": LawFormat(
        Millard2012, lambda e: read_millard(e, COMMON), lambda force, law: add_millard(force, law, COMMON)
    ),
    "RigidTendonMuscle": LawFormat(
        RigidTendonMuscle, lambda e: RigidTendonMuscle(**_common(e), **curves(e, RIGID_CURVES)), _write_rigid
    ),
    SCHUTTE: LawFormat(
        Schutte1993, lambda e: read_schutte(e, COMMON), lambda force, law: add_schutte(force, law, COMMON)
    ),
    "Ligament": LawFormat(
        Ligament, lambda e: Ligament(**_numbers(e, LIGAMENT), **curves(e, LIGAMENT_CURVES)), _write_ligament
    ),
    "Blankevoort1991Ligament": LawFormat(
        Blankevoort1991,
        lambda e: Blankevoort1991(**_numbers(e, BLANKEVOORT)),
        lambda force, law: add_numbers(force, law, BLANKEVOORT),
    ),
    "PathSpring": LawFormat(
        PathSpring, lambda e: PathSpring(**_numbers(e, SPRING)), lambda force, law: add_numbers(force, law, SPRING)
    ),
    "PathActuator": LawFormat(
        PathActuator,
        lambda e: PathActuator(**_numbers(e, ACTUATOR)),
        lambda force, law: add_numbers(force, law, ACTUATOR),
    ),
}


def read_law(element: Any, unsupported: UnsupportedElements) -> ForceLaw | None:
    """The law of a muscle, None (noted) for one that is not known; ModelError with its line for impossible numbers."""
    if element.tag not in LAWS:
        unsupported.count(element, "force law; its path is read")
        return None
    law = LAWS[element.tag].read(element)
    try:
        law.check(described(element))
    except ModelError as error:
        complain(element, error.message)
    return law
