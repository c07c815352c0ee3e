"""Our force laws as OpenSim's muscles and other forces, by the tables that read them; read back, they must be equal."""

from dataclasses import fields, is_dataclass, replace
from typing import Any

from lxml import etree

from myoquat.data.elements import add
from myoquat.data.osim.force_laws.laws import LAWS, TIMES, read_activation_dynamics, read_law
from myoquat.data.osim.force_laws.schutte import SCHUTTE, add_quadratic
from myoquat.data.reports import UnsupportedElements, UnwrittenParts
from myoquat.data.xml import Element
from myoquat.joints.errors import ModelError
from myoquat.muscle.activation import ActivationDynamics
from myoquat.muscle.laws import ForceLaw, Thelen2003
from myoquat.muscle.path import Muscle

__all__ = ["FALLBACK", "force_element", "is_known"]

FALLBACK = "PathActuator"  # for a path whose law OpenSim does not know, or that has none
READ_BACK_TOLERANCE = 1e-12  # relative, of numbers that are written in another form
TAGS = {format_.law: tag for tag, format_ in LAWS.items()}


def is_known(law: ForceLaw | None) -> bool:
    """Whether OpenSim has this law."""
    return type(law) in TAGS


def force_element(parent: Element, muscle: Muscle, unwritten: UnwrittenParts) -> Element:
    """The element of a muscle or another force along a path, with all of its numbers but no path yet.

    ModelError if OpenSim's force of this type cannot have them.
    """
    muscle = _with_thelen_of_opensim(muscle, unwritten)
    if muscle.law is None or not is_known(muscle.law):
        force = add(parent, FALLBACK, name=muscle.name)
        strength = getattr(muscle.law, "max_isometric_force", None)
        if strength is not None:
            add(force, "optimal_force", strength)
        return force
    tag = TAGS[type(muscle.law)]
    force = add(parent, tag, name=muscle.name)
    LAWS[tag].write(force, muscle.law)
    _add_activation_dynamics(force, muscle)
    if muscle.activation is not None and tag in TIMES:
        add(force, "default_activation", muscle.activation)
    _check(force, muscle)
    return force


def _with_thelen_of_opensim(muscle: Muscle, unwritten: UnwrittenParts) -> Muscle:
    """A muscle by Thelen's law as OpenSim has it: with activation dynamics and an elastic tendon. OpenSim 4.6 opens no
    file with a Thelen2003Muscle that ignores either."""
    law = muscle.law
    if not isinstance(law, Thelen2003):
        return muscle
    if law.tendon == "rigid" and law.tendon_slack_length > 0:
        unwritten.count("rigid tendons of Thelen2003Muscle, written as elastic", muscle.name)
        muscle = replace(muscle, law=replace(law, tendon="elastic"))
    if muscle.activation_dynamics is None:
        unwritten.count("controls that are activations of Thelen2003Muscle, written with its dynamics", muscle.name)
        up, down, form = TIMES["Thelen2003Muscle"]
        dynamics = ActivationDynamics(up, down, form, minimum_activation=law.minimum_activation)
        muscle = replace(muscle, activation_dynamics=dynamics)
    return muscle


def _add_activation_dynamics(force: Element, muscle: Muscle) -> None:
    dynamics = muscle.activation_dynamics
    if force.tag == SCHUTTE:
        if dynamics is not None:
            add_quadratic(force, dynamics)
        return
    if dynamics is None:
        if force.tag in TIMES:
            add(force, "ignore_activation_dynamics", True)
        return
    add(force, "activation_time_constant", dynamics.activation_time)
    add(force, "deactivation_time_constant", dynamics.deactivation_time)
    if dynamics.form == "smooth":
        add(force, "activation_dynamics_smoothing", dynamics.smoothing)


def _check(force: Element, muscle: Muscle) -> None:
    """ModelError unless what is read from the element is what was to be written."""
    again = etree.fromstring(etree.tostring(force))
    pairs = {
        "": (muscle.law, read_law(again, UnsupportedElements())),
        "activation_dynamics.": (muscle.activation_dynamics, read_activation_dynamics(again)),
    }
    wrong = [prefix + name for prefix, (ours, theirs) in pairs.items() for name in _unlike(ours, theirs)]
    if wrong:
        raise ModelError(
            f"OpenSim's {force.tag} cannot have this {', '.join(wrong)}", element=f"muscle {muscle.name!r}"
        )


def _unlike(ours: Any, theirs: Any) -> list[str]:
    """Names of the fields in which two records differ."""
    if type(ours) is not type(theirs):
        return ["type"]
    if not is_dataclass(ours):
        return []
    return [f.name for f in fields(ours) if not _like(getattr(ours, f.name), getattr(theirs, f.name))]


def _like(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= READ_BACK_TOLERANCE * max(abs(a), abs(b))
    return bool(a == b)
