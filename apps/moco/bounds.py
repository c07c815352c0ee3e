"""Bounds of a problem of Moco: those that it gives, and those that the model has where it gives none."""

import math
from collections.abc import Iterable
from dataclasses import field

from myoquat.apps.moco.goals import Reading
from myoquat.core.records import dataclass
from myoquat.data.document import boolean, last_name, text
from myoquat.data.omoco.read import Interval, VariableInfo, interval, property_of
from myoquat.data.xml import Element, complain
from myoquat.muscle import parameter_names

__all__ = ["Limits", "own_limits", "read_limits", "read_parameters"]

RANGE = (-10.0, 10.0)  # of coordinates whose file has none, in rad and m
SPEEDS = (-50.0, 50.0)  # of coordinates whose speed has no bounds, in rad/s and m/s
PROPERTIES = {"mass_center": "center_of_mass", "pennation_angle_at_optimal": "pennation"}


@dataclass(frozen=True, eq=False)
class Limits:
    """Bounds by name: on the path, at the start and at the end."""

    path: dict[str, Interval] = field(default_factory=dict)
    initial: dict[str, Interval] = field(default_factory=dict)
    final: dict[str, Interval] = field(default_factory=dict)


def own_limits(reading: Reading, speeds: Interval | None) -> Limits:
    """Those of the model: ranges of coordinates, even if they are not clamped, speeds, controls. A range may be
    infinite. speeds: None for a motion that is prescribed."""
    names, processed, found = reading.names, reading.processed, Limits()
    if speeds is not None:
        ranges = {c.name: c.range for c in processed.model.coordinates}
        for name in names.values.values():
            low, high = ranges.get(name) or RANGE
            found.path[name] = low, high
        found.path.update(dict.fromkeys(names.speeds.values(), speeds))
    given = {names.control(label): low_high for label, low_high in processed.bounds.items()}
    found.path.update({name: low_high for name, low_high in given.items() if name is not None})
    return found


def read_limits(reading: Reading) -> Limits:
    """Those of a phase over those of the model. ModelError for names that the model does not have."""
    file, names = reading.file, reading.names
    holder = property_of(file.phase, "default_speed_bounds", "MocoBounds")
    speeds = None if holder is None else interval(holder, "bounds")
    found = own_limits(reading, speeds or SPEEDS)
    given: set[str] = set()
    for info in file.infos("state_infos"):
        given |= set(_put(found, info, _named(info, reading, is_state=True)))
    for info in file.infos("control_infos"):
        chosen = _named(info, reading, is_state=False)
        if info.initial or info.final:
            reading.leave_out(info.element, "bounds of a control at an end")
        _put(found, VariableInfo(info.element, info.name, info.is_pattern, info.bounds, None, None), chosen)
    for tag in ("input_control_infos", "input_control_infos_pattern"):
        inputs = file.phase.find(tag)
        if inputs is not None and len(list(inputs.iterchildren("*"))):
            reading.leave_out(inputs, "input controls")
    if boolean(file.phase, "bound_activation_from_excitation", True):
        _bound_activations(found, given, names.states.values())
    return found


def _bound_activations(found: Limits, given: set[str], states: Iterable[str]) -> None:
    """Activations have the bounds of their excitations where nothing else is said."""
    for state in states:
        excitation = state.removesuffix(".activation")
        if state not in given and excitation in found.path:
            low, high = found.path[excitation]
            found.path[state] = max(low, 0.0), min(high, 1.0)


def _named(info: VariableInfo, reading: Reading, is_state: bool) -> list[str]:
    """The names that bounds are of."""
    names = reading.names
    if info.is_pattern:
        return names.matching(info.name, names.all_states if is_state else names.controls)
    name = names.state(info.name) if is_state else names.control(info.name)
    if name is None:
        if info.name.endswith("/normalized_tendon_force"):
            reading.leave_out(info.element, "bounds of a tendon force, whose state is a fiber length here")
            return []
        complain(info.element, f"the model has no {'state' if is_state else 'control'} {info.name!r}")
    return [name]


def _put(found: Limits, info: VariableInfo, names: list[str]) -> list[str]:
    """Write bounds; later ones replace earlier ones. Returns the names whose bounds on the path are given."""
    for name in names:
        for bounds, place in ((info.bounds, found.path), (info.initial, found.initial), (info.final, found.final)):
            if bounds is not None:
                place[name] = bounds
    return names if info.bounds is not None else []


# ---- parameters ------------------------------------------------------------------------------------------------


def read_parameters(reading: Reading, elements: list[Element]) -> dict[str, Interval]:
    """Bounds of numbers of the model by name. What has no equal, such as one number for several parts, is noted."""
    found: dict[str, Interval] = {}
    for element in elements:
        holder = property_of(element, "MocoBounds", "MocoBounds")
        bounds = None if holder is None else interval(holder, "bounds")
        name = _parameter(reading, element)
        if name is None:
            reading.leave_out(element, "a parameter of several parts, or of a property that is not varied here")
        else:
            found[name] = (-math.inf, math.inf) if bounds is None else bounds
    return found


def _parameter(reading: Reading, element: Element) -> str | None:
    """The name here of a property of one part of the model."""
    paths, place = text(element, "component_paths", "").split(), text(element, "property_element", "")
    if len(paths) != 1:
        return None
    own = text(element, "property_name", "")
    ending = f"{PROPERTIES.get(own, own)}{'.' + 'xyz'[int(place)] if place in ('0', '1', '2') else ''}"
    known = parameter_names(reading.processed.model)
    names = (f"{part}.{last_name(paths[0])}.{ending}" for part in ("bodies", "muscles", "actuators"))
    return next((name for name in names if name in known), None)
