"""Force laws of OpenSim's muscles and other forces along paths, read and written by one table."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from myoquat.data.reports import UnsupportedElements
from myoquat.data.xml import Element, add, boolean, complain, described, number, positive, text
from myoquat.joints import ModelError
from myoquat.muscle import ActivationDynamics
from myoquat.muscle.laws import (
    Blankevoort1991,
    DeGrooteFregly2016,
    ForceLaw,
    Ligament,
    Millard2012,
    PathActuator,
    PathSpring,
    RigidTendonMuscle,
    Schutte1993,
    Thelen2003,
)

from .elements import Format, Part, by_tag, same
from .functions import add_function, function_in, read_function

MIN_DAMPING = 0.001  # of Millard's muscle: a damping below it is none
SCHUTTE = "Schutte1993Muscle_Deprecated"
SCHUTTE_TIMES = {"activation_time": ("activation1", 7.667), "deactivation_time": ("activation2", 1.459854)}
TIMES = {  # of activation and deactivation [s], and the form
    "Thelen2003Muscle": (0.015, 0.050, "piecewise"),
    "Millard2012EquilibriumMuscle": (0.010, 0.040, "piecewise"),
    "DeGrooteFregly2016Muscle": (0.015, 0.060, "smooth"),
}
MUSCLES = (*TIMES, SCHUTTE)  # those with activation dynamics and a tendon


# ---- parts of several laws ---------------------------------------------------------------------------------


def is_rigid(element: Element) -> bool:
    """Whether a muscle's tendon is rigid: by its switch, or because it has no length of which a strain would be."""
    return boolean(element, "ignore_tendon_compliance") or number(element, "tendon_slack_length", 1.0) == 0


def _curves(names: Mapping[str, str]) -> Part:
    """Curves that a file may give an element: ours -> the file's.

    A curve stands in a holder that is called so, or bears the name itself, as in the files that OpenSim 4 writes.
    """

    def read(element: Element, _: Any) -> dict[str, Any]:
        values = {}
        for ours, theirs in names.items():
            holder = element.find(theirs)
            named = [child for child in element if child.get("name") == theirs and child.tag != theirs]
            if holder is not None:
                values[ours] = function_in(holder, element)
            elif named:
                values[ours] = read_function(named[0])
        return values

    def write(entry: Element, law: Any) -> None:
        for ours, theirs in names.items():
            if (curve := getattr(law, ours)) is not None:
                add_function(add(entry, theirs), curve)

    return Part(read, write)


def _read_tendon(element: Element, _: Any) -> dict[str, Any]:
    return {"tendon": "rigid" if is_rigid(element) else "elastic"}


# ---- Millard2012EquilibriumMuscle: its curves, and what OpenSim 4.6 makes of their numbers -----------------


def _curve(tag: str, rows: Mapping[str, Any], fitted: Mapping[str, str] | None = None, ratio: str = "") -> Part:
    """The numbers of a curve in an element of their own, of which all `fitted` are given or none. `ratio`: its
    stiffness, which the file gives over the strain."""
    curve, fitted = Format(tag, Millard2012, rows), fitted or {}
    keys = {ratio, *fitted}

    def strain(law: Mapping[str, float]) -> float:
        return law["tendon_strain"] if "tendon_strain" in law else law["passive_strain"] - law["passive_strain_at_zero"]

    def read(element: Element, _: Any) -> dict[str, Any]:
        holder = element.find(tag)
        child = element if holder is None else holder  # which holds none of its numbers
        values, tags = curve.values(child), (STIFFNESS, *fitted.values())
        given = [theirs for theirs in tags if ratio and text(child, theirs, "")]
        if given and len(given) < len(tags):
            complain(child, f"<{child.tag}> needs all of {', '.join(tags)} or none, not only {', '.join(given)}")
        if given:
            values |= {ours: number(child, theirs) for ours, theirs in fitted.items()}
            values[ratio] = number(child, STIFFNESS) * strain(values)
        return values

    def write(entry: Element, law: Millard2012) -> None:
        child = add(entry, tag)
        curve.fill(child, law)
        if any(getattr(law, f.name) != f.default for f in fields(law) if f.name in keys):
            add(child, STIFFNESS, getattr(law, ratio) / strain({ours: getattr(law, ours) for ours in rows}))
            for ours, theirs in fitted.items():
                add(child, theirs, getattr(law, ours))

    return Part(read, write)


def _as_opensim(element: Element, values: dict[str, Any]) -> None:
    """What OpenSim makes of the numbers: a damped or rigid muscle has no least forces and slopes, another has some."""
    damped = values["damping"] >= MIN_DAMPING
    values["damping"] *= damped
    if damped or values["tendon"] == "rigid":
        values |= {"active_lowest": 0.0, "concentric_slope_at_vmax": 0.0, "eccentric_slope_at_vmax": 0.0}
        return
    values["active_lowest"] = max(0.1, values["active_lowest"])
    for way in ("concentric", "eccentric"):
        at, near = f"{way}_slope_at_vmax", f"{way}_slope_near_vmax"
        values[at] = max(values[at], values[near] / 2)


# ---- Schutte1993Muscle_Deprecated: its speeds are over its time scale --------------------------------------


def _time_scale(element: Element) -> float:
    return positive(element, "time_scale", 0.1)


# ---- DeGrooteFregly2016Muscle ------------------------------------------------------------------------------


def _least_activation(element: Element, values: dict[str, Any]) -> None:
    """OpenSim lets the activation go to 0, where the speed of an undamped fiber has no limit: there ours is 0.01."""
    if values["tendon"] == "rigid" or values["damping"] > 0:
        values["minimum_activation"] = 0.0


# ---- the table, with OpenSim 4.6's own values where a file leaves a number out -----------------------------


TENDON = Part(_read_tendon, lambda entry, law: add(entry, "ignore_tendon_compliance", law.tendon == "rigid"))
ELASTIC_TENDON = Part(_read_tendon, lambda *_: None)  # as Thelen's is always written
STIFFNESS = "stiffness_at_one_norm_force"
FIBER = same(max_isometric_force=1000.0, optimal_fiber_length=0.1, tendon_slack_length=0.2) | {
    "pennation": "pennation_angle_at_optimal"
}
COMMON = FIBER | same("max_contraction_velocity")
DAMPED, LIMITED = {"damping": "fiber_damping"}, {"maximum_pennation": "maximum_pennation_angle"}
LAWS = by_tag(
    Format(
        "Thelen2003Muscle",
        Thelen2003,
        COMMON
        | LIMITED
        | {
            "tendon_strain": ("FmaxTendonStrain", 0.04),
            "passive_strain": ("FmaxMuscleStrain", 0.6),
            "active_shape": ("KshapeActive", 0.45),
            "passive_shape": ("KshapePassive", 5.0),
            "concentric_shape": ("Af", 0.25),
            "eccentric_force": ("Flen", 1.4),
            "straight_from": "fv_linear_extrap_threshold",
            "minimum_activation": "minimum_activation",
        },
        ELASTIC_TENDON,
    ),
    Format(
        "DeGrooteFregly2016Muscle",
        DeGrooteFregly2016,
        COMMON
        | DAMPED
        | {
            "tendon_strain": "tendon_strain_at_one_norm_force",
            "passive_strain": "passive_fiber_strain_at_one_norm_force",
            "width_scale": "active_force_width_scale",
        },
        TENDON,
        Part(
            lambda element, _: {"passive_scale": 0.0} if boolean(element, "ignore_passive_fiber_force") else {},
            lambda entry, law: add(entry, "ignore_passive_fiber_force", law.passive_scale == 0),
        ),
        finish=_least_activation,
    ),
    Format(
        "Millard2012EquilibriumMuscle",
        Millard2012,
        COMMON | DAMPED | LIMITED | same("minimum_activation"),
        TENDON,
        _curve(
            "ActiveForceLengthCurve",
            {
                "active_shortest": "min_norm_active_fiber_length",
                "active_transition": "transition_norm_fiber_length",
                "active_longest": "max_norm_active_fiber_length",
                "active_shallow_slope": "shallow_ascending_slope",
                "active_lowest": ("minimum_value", 0.1),
            },
        ),
        _curve(
            "ForceVelocityCurve",
            same(
                "concentric_slope_at_vmax",
                "concentric_slope_near_vmax",
                "isometric_slope",
                "eccentric_slope_at_vmax",
                "eccentric_slope_near_vmax",
                "concentric_curviness",
                "eccentric_curviness",
            )
            | {"eccentric_force": "max_eccentric_velocity_force_multiplier"},
        ),
        _curve(
            "FiberForceLengthCurve",
            {"passive_strain_at_zero": "strain_at_zero_force", "passive_strain": "strain_at_one_norm_force"},
            {"passive_low_stiffness": "stiffness_at_low_force", "passive_curviness": "curviness"},
            "passive_stiffness_ratio",
        ),
        _curve(
            "TendonForceLengthCurve",
            {"tendon_strain": "strain_at_one_norm_force"},
            {"tendon_toe_force": "norm_force_at_toe_end", "tendon_curviness": "curviness"},
            "tendon_stiffness_ratio",
        ),
        finish=_as_opensim,
    ),
    Format(
        "RigidTendonMuscle",
        RigidTendonMuscle,
        COMMON,
        _curves(
            {
                "active_curve": "active_force_length_curve",
                "passive_curve": "passive_force_length_curve",
                "velocity_curve": "force_velocity_curve",
            }
        ),
    ),
    Format(
        SCHUTTE,
        Schutte1993,
        FIBER | same(damping=0.1),
        TENDON,
        Part(
            lambda element, _: {"max_contraction_velocity": 1 / _time_scale(element)},
            lambda entry, law: add(entry, "time_scale", 1 / law.max_contraction_velocity),
        ),
        _curves(
            {
                "tendon_curve": "tendon_force_length_curve",
                "active_curve": "active_force_length_curve",
                "passive_curve": "passive_force_length_curve",
            }
        ),
    ),
    Format(
        "Ligament",
        Ligament,
        {"resting_length": "resting_length", "max_force": "pcsa_force"},
        _curves({"curve": "force_length_curve"}),
    ),
    Format(
        "Blankevoort1991Ligament",
        Blankevoort1991,
        same(linear_stiffness=1.0) | same("slack_length", "transition_strain", "damping_coefficient"),
    ),
    Format("PathSpring", PathSpring, same("stiffness", "resting_length", "dissipation")),
    Format("PathActuator", PathActuator, {"max_isometric_force": ("optimal_force", 1.0)}),
)


def read_law(element: Element, unsupported: UnsupportedElements) -> ForceLaw | None:
    """The law of a muscle, None (noted) for one that is not known; ModelError with its line for impossible numbers."""
    if element.tag not in LAWS:
        unsupported.count(element, "force law; its path is read")
        return None
    return _checked(LAWS[element.tag].read(element), element)


def _checked(record: Any, element: Element) -> Any:
    try:
        record.check(described(element))
    except ModelError as error:
        complain(element, error.message)
    return record


# ---- activations and their dynamics ------------------------------------------------------------------------


def read_activation_dynamics(element: Element) -> ActivationDynamics | None:
    """The activation dynamics of a muscle; None for one without, or where the file says to ignore them."""
    if element.tag not in MUSCLES or boolean(element, "ignore_activation_dynamics"):
        return None
    if element.tag == SCHUTTE:
        scale = _time_scale(element)
        times = {ours: scale / positive(element, *named) for ours, named in SCHUTTE_TIMES.items()}
        dynamics = ActivationDynamics(form="quadratic", **times)
    else:
        up, down, form = TIMES[element.tag]
        dynamics = ActivationDynamics(
            number(element, "activation_time_constant", up),
            number(element, "deactivation_time_constant", down),
            form,
            number(element, "activation_dynamics_smoothing", 0.1),
            number(element, "minimum_activation", 0.01) if form == "piecewise" else 0.0,
        )
    return _checked(dynamics, element)


def add_activation_dynamics(force: Element, dynamics: ActivationDynamics | None) -> None:
    """The activation dynamics of a muscle as children of its element, which has its law already."""
    if force.tag == SCHUTTE:
        for ours, (theirs, _) in SCHUTTE_TIMES.items():
            if dynamics is not None:
                add(force, theirs, number(force, "time_scale") / getattr(dynamics, ours))
    elif dynamics is not None:
        add(force, "activation_time_constant", dynamics.activation_time)
        add(force, "deactivation_time_constant", dynamics.deactivation_time)
        if dynamics.form == "smooth":
            add(force, "activation_dynamics_smoothing", dynamics.smoothing)
    elif force.tag in TIMES:
        add(force, "ignore_activation_dynamics", True)
