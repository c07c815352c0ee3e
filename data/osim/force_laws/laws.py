"""The force laws of OpenSim's muscles, with OpenSim 4.6's own values where a file leaves a number out."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from myoquat.core.records import dataclass
from myoquat.data.document import boolean, number, text
from myoquat.data.elements import add
from myoquat.data.osim.force_laws.millard import add_millard, add_numbers, is_rigid, read_millard
from myoquat.data.osim.force_laws.schutte import SCHUTTE, add_schutte, read_quadratic, read_schutte
from myoquat.data.osim.functions import add_curves, curves
from myoquat.data.reports import UnsupportedElements
from myoquat.data.xml import complain, described
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

__all__ = ["LAWS", "MUSCLES", "TIMES", "read_activation", "read_activation_dynamics", "read_law"]

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
