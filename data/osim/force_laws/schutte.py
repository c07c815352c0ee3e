"""OpenSim's Schutte1993Muscle_Deprecated: its numbers, its curves and how its activation follows its excitation."""

from collections.abc import Mapping
from typing import Any

from myoquat.data.document import number
from myoquat.data.elements import add
from myoquat.data.osim.force_laws.millard import add_numbers, is_rigid
from myoquat.data.osim.functions import add_curves, curves
from myoquat.data.xml import Element, complain
from myoquat.muscle.activation import ActivationDynamics
from myoquat.muscle.laws import Schutte1993

__all__ = ["SCHUTTE", "add_quadratic", "add_schutte", "read_quadratic", "read_schutte"]

SCHUTTE = "Schutte1993Muscle_Deprecated"
DAMPING = {"damping": ("damping", 0.1)}
CURVES = {
    "tendon_curve": "tendon_force_length_curve",
    "active_curve": "active_force_length_curve",
    "passive_curve": "passive_force_length_curve",
}
TIMES = {"activation_time": ("activation1", 7.667), "deactivation_time": ("activation2", 1.459854)}
TIME_SCALE = 0.1
FASTEST = "max_contraction_velocity"  # of which this muscle of OpenSim makes no use: its speeds are over its time scale


def read_schutte(element: Element, common: Mapping[str, tuple[str, float | None]]) -> Schutte1993:
    """The law of an element; `common`: the numbers that all muscles have."""
    table = {ours: named for ours, named in common.items() if ours != FASTEST} | DAMPING
    values: dict[str, Any] = {ours: number(element, theirs, default) for ours, (theirs, default) in table.items()}
    values |= curves(element, CURVES)
    return Schutte1993(
        **values, max_contraction_velocity=1 / _time_scale(element), tendon="rigid" if is_rigid(element) else "elastic"
    )


def add_schutte(force: Element, law: Schutte1993, common: Mapping[str, tuple[str, float | None]]) -> None:
    """The numbers and curves of a law as children of its element."""
    add_numbers(force, law, {ours: named for ours, named in common.items() if ours != FASTEST} | DAMPING)
    add(force, "time_scale", 1 / law.max_contraction_velocity)
    if law.tendon == "rigid":
        add(force, "ignore_tendon_compliance", True)
    given = {ours: theirs for ours, theirs in CURVES.items() if getattr(law, ours) is not None}
    add_curves(force, law, given)


def read_quadratic(element: Element) -> ActivationDynamics:
    """Its activation dynamics; ModelError with its line for rates that no time has."""
    rates = {ours: number(element, theirs, default) for ours, (theirs, default) in TIMES.items()}
    for ours, rate in rates.items():
        if not rate > 0:
            complain(element, f"<{TIMES[ours][0]}> must be positive, not {rate}")
    return ActivationDynamics(form="quadratic", **{ours: _time_scale(element) / rate for ours, rate in rates.items()})


def add_quadratic(force: Element, dynamics: ActivationDynamics) -> None:
    """Activation dynamics as children of an element that has its time scale."""
    for ours, (theirs, _) in TIMES.items():
        add(force, theirs, number(force, "time_scale") / getattr(dynamics, ours))


def _time_scale(element: Element) -> float:
    scale = number(element, "time_scale", TIME_SCALE)
    if not scale > 0:
        complain(element, f"<time_scale> must be positive, not {scale}")
    return scale
