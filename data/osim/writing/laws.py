"""Our force laws as OpenSim's muscles and other forces, by the tables that read them; read back, they must be equal."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

from lxml import etree

from myoquat.data.leftovers import Census
from myoquat.data.osim import laws as reading
from myoquat.data.osim.elements import add
from myoquat.data.osim.functions import add_function
from myoquat.data.osim.millard import CURVES, MILLARD
from myoquat.joints.errors import ModelError
from myoquat.muscle.laws import (
    DeGrooteFregly2016,
    ForceLaw,
    Ligament,
    Millard2012,
    PathActuator,
    PathSpring,
    RigidTendonMuscle,
    Thelen2003,
)
from myoquat.muscle.path import Muscle

__all__ = ["FALLBACK", "force_element", "is_known"]

FALLBACK = "PathActuator"  # for a path whose law OpenSim does not know, or that has none
CLOSE = 1e-12  # relative: how near a number must come back that is written as another
FITTED = {  # the file's: ours; either all are written or none
    "FiberForceLengthCurve": (
        lambda law: law.passive_strain - law.passive_strain_at_zero,
        {"stiffness_at_one_norm_force": "passive_stiffness_ratio"},
        {"stiffness_at_low_force": "passive_low_stiffness", "curviness": "passive_curviness"},
    ),
    "TendonForceLengthCurve": (
        lambda law: law.tendon_strain,
        {"stiffness_at_one_norm_force": "tendon_stiffness_ratio"},
        {"norm_force_at_toe_end": "tendon_toe_force", "curviness": "tendon_curviness"},
    ),
}


def is_known(law: ForceLaw | None) -> bool:
    """Whether OpenSim has this law."""
    return type(law) in WRITERS


def force_element(parent: Any, muscle: Muscle) -> Any:
    """The element of a muscle or another force along a path, with all of its numbers but no path yet.

    ModelError where OpenSim's force of this kind cannot have them.
    """
    if muscle.law is None or not is_known(muscle.law):
        force = add(parent, FALLBACK, name=muscle.name)
        strength = getattr(muscle.law, "max_isometric_force", None)
        if strength is not None:
            add(force, "optimal_force", strength)
        return force
    tag, write = WRITERS[type(muscle.law)]
    force = add(parent, tag, name=muscle.name)
    write(force, muscle.law)
    _add_activation_dynamics(force, muscle)
    _check(force, muscle)
    return force


def _add_activation_dynamics(force: Any, muscle: Muscle) -> None:
    dynamics = muscle.activation_dynamics
    if dynamics is None:
        if force.tag in reading.TIMES:
            add(force, "ignore_activation_dynamics", True)
        return
    add(force, "activation_time_constant", dynamics.activation_time)
    add(force, "deactivation_time_constant", dynamics.deactivation_time)
    if dynamics.form == "smooth":
        add(force, "activation_dynamics_smoothing", dynamics.smoothing)


def _table(*tables: dict[str, tuple[str, float]]) -> Callable[[Any, Any], None]:
    """What writes the numbers of a law by tables ours -> (the file's, default)."""

    def write(force: Any, law: Any) -> None:
        for table in tables:
            for ours, (theirs, _) in table.items():
                add(force, theirs, getattr(law, ours))
        if hasattr(law, "tendon"):
            add(force, "ignore_tendon_compliance", law.tendon == "rigid")

    return write


def _degroote(force: Any, law: DeGrooteFregly2016) -> None:
    _table(reading.COMMON, reading.DEGROOTE)(force, law)
    add(force, "ignore_passive_fiber_force", law.passive_scale == 0)


def _millard(force: Any, law: Millard2012) -> None:
    _table(reading.COMMON, MILLARD)(force, law)
    for tag, own in CURVES.items():
        curve = add(force, tag)
        _table(own)(curve, law)
        if tag in FITTED:
            _add_fitted(curve, law, *FITTED[tag])


def _add_fitted(curve: Any, law: Millard2012, strain: Any, ratios: dict[str, str], others: dict[str, str]) -> None:
    ours = [*ratios.values(), *others.values()]
    if all(getattr(law, f.name) == f.default for f in fields(law) if f.name in ours):
        return
    for theirs, name in ratios.items():
        add(curve, theirs, getattr(law, name) / strain(law))
    for theirs, name in others.items():
        add(curve, theirs, getattr(law, name))


def _curves(force: Any, law: Any, names: dict[str, str]) -> None:
    for ours, theirs in names.items():
        add_function(add(force, theirs), getattr(law, ours), f"force {force.get('name')!r}")


def _rigid(force: Any, law: RigidTendonMuscle) -> None:
    _table(reading.COMMON)(force, law)
    _curves(force, law, reading.RIGID_CURVES)


def _spring(force: Any, law: PathSpring) -> None:
    for key in ("resting_length", "stiffness", "dissipation"):
        add(force, key, getattr(law, key))


def _ligament(force: Any, law: Ligament) -> None:
    add(force, "resting_length", law.resting_length)
    add(force, "pcsa_force", law.max_force)
    _curves(force, law, reading.LIGAMENT_CURVES)


WRITERS: dict[type[ForceLaw], tuple[str, Callable[[Any, Any], None]]] = {
    Thelen2003: ("Thelen2003Muscle", _table(reading.COMMON, reading.THELEN)),
    DeGrooteFregly2016: ("DeGrooteFregly2016Muscle", _degroote),
    Millard2012: ("Millard2012EquilibriumMuscle", _millard),
    RigidTendonMuscle: ("RigidTendonMuscle", _rigid),
    PathSpring: ("PathSpring", _spring),
    Ligament: ("Ligament", _ligament),
    PathActuator: ("PathActuator", lambda force, law: _put(force, "optimal_force", law.max_isometric_force)),
}


def _put(force: Any, tag: str, value: Any) -> None:
    add(force, tag, value)


def _check(force: Any, muscle: Muscle) -> None:
    """ModelError unless what is read from the element is what was to be written."""
    again = etree.fromstring(etree.tostring(force))
    pairs = {
        "": (muscle.law, reading.read_law(again, Census())),
        "activation_dynamics.": (muscle.activation_dynamics, reading.read_activation_dynamics(again)),
    }
    wrong = [prefix + name for prefix, (ours, theirs) in pairs.items() for name in _unlike(ours, theirs)]
    if wrong:
        raise ModelError(
            f"OpenSim's {force.tag} cannot have this {', '.join(wrong)}", element=f"muscle {muscle.name!r}"
        )


def _unlike(ours: Any, theirs: Any) -> list[str]:
    """Names of the fields in which two records differ."""
    if type(ours) is not type(theirs):
        return ["kind"]
    if not is_dataclass(ours):
        return []
    return [f.name for f in fields(ours) if not _like(getattr(ours, f.name), getattr(theirs, f.name))]


def _like(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= CLOSE * max(abs(a), abs(b))
    return bool(a == b)
