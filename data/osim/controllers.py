"""Controllers of a file: those that prescribe controls as functions of time."""

from collections import Counter, defaultdict
from collections.abc import Collection
from pathlib import Path
from typing import Any

from myoquat.data.files import beside
from myoquat.data.reports import UnsupportedElements
from myoquat.data.storage import read_motion
from myoquat.data.xml import Element, add, add_set, boolean, complain, last_name, number, objects, parse_opensim, text
from myoquat.joints import ModelError
from myoquat.joints.errors import errors_about
from myoquat.joints.functions import AxisFunction, NaturalSpline, PiecewiseConstant
from myoquat.muscle import PrescribedInput

from .forces import BOUNDS
from .functions import add_function, can_read, read_function

# ---- Bounds of the controls of forces in a model file -------------------------------------------------------------


def read_control_bounds(path: Path) -> dict[str, tuple[float | None, float | None]]:
    """(least, greatest) control of every force by name, as far as the file says it. Tools ask for it: a muscle's
    activation is bounded by its law."""
    found = {}
    for force in parse_opensim(path).iter("*"):
        low, high = (number(force, tag, infinite=True) if text(force, tag, "") else None for tag in BOUNDS.values())
        if (low, high) != (None, None):
            found[force.get("name") or ""] = low, high
    return found


PRESCRIBED = "PrescribedController"
ALL = "ALL"


def read_inputs(
    model: Element, known: tuple[str, ...], unsupported: UnsupportedElements, folder: Path
) -> tuple[PrescribedInput, ...]:
    """What the controllers of a model prescribe for the muscles and controls `known` that are read. Others are noted,
    and so are functions that are not known and tables that are not in the `folder`. ModelError with its line for a
    controller that names what does not exist, or has not one function for every actuator."""
    found: list[PrescribedInput] = []
    named = {str(force.get("name")) for force in objects(model, "ForceSet")}
    for element in objects(model, "ControllerSet"):
        file = text(element, "controls_file", "")
        if element.tag != PRESCRIBED:
            unsupported.count(element, "ControllerSet")
        elif not boolean(element, "enabled", not boolean(element, "isDisabled")):
            unsupported.count(element, "enabled is false")
        elif not all(map(can_read, _functions(element))):
            unsupported.count(element, "a function that is not known")
        elif file and not beside(folder, file).is_file():
            unsupported.count(element, f"no file {file}")
        else:
            given = _prescribed(element, known)
            given += _table(element, beside(folder, file), {one.name for one in given}) if file else []
            for one in given:
                if one.name not in known and one.name not in named:
                    complain(element, f"<{PRESCRIBED}> names {one.name!r}, which is no force of the model")
            found += [one for one in given if one.name in known]
    return tuple(found)


def _table(element: Element, file: Path, taken: set[str]) -> list[PrescribedInput]:
    """A function of the time for every column of a table but those that have one already; of the degree that
    <interpolation_method> says, 0 for stairs."""
    table = read_motion(file)
    degree = int(number(element, "interpolation_method", 1.0))
    return [
        PrescribedInput(name, _through(element, table.index.to_numpy(), table[label].to_numpy(), degree))
        for label in table
        if (name := last_name(str(label))) not in taken
    ]


def _through(element: Element, times: Any, values: Any, degree: int) -> AxisFunction:
    """OpenSim's half order is a whole number: of degree 2 it makes 1, of 4 it makes 3."""
    try:
        if degree == 0:
            return PiecewiseConstant(times, values)
        return NaturalSpline(times, values, degree - 1 + degree % 2)
    except ValueError as error:
        complain(element, f"the table of its <controls_file>: {error}")


def _functions(element: Any) -> list[Any]:
    for holder in element.iterchildren("*"):
        if "ControlFunctions" in (holder.tag, holder.get("name")):
            return holder.findall("objects/*") or holder.findall("FunctionSet/objects/*")
    return []


def _prescribed(element: Element, known: tuple[str, ...]) -> list[PrescribedInput]:
    """One function for every actuator, in their order; none where a table has them."""
    listed = text(element, "actuator_list", "") or text(element, "socket_actuators", "")
    names = [last_name(word) for word in listed.split()]
    if any(name.upper() == ALL for name in names):
        names = list(known)
    functions = _functions(element)
    if not functions and text(element, "controls_file", ""):
        return []
    if len(functions) != len(names):
        complain(
            element, f"<{PRESCRIBED}> has {len(functions)} functions for {len(names)} actuators; it needs one for each"
        )
    return [PrescribedInput(name, read_function(one)) for name, one in zip(names, functions, strict=True)]


def add_inputs(parent: Element, inputs: tuple[PrescribedInput, ...], actuators: Collection[str]) -> None:
    """A controller for all inputs; another one for each further function of a name. ModelError for one that is none of
    the `actuators` of the file: OpenSim prescribes one control of each."""
    groups: dict[int, list[PrescribedInput]] = defaultdict(list)  # by how many functions of the name come before
    taken = Counter[str]()
    for given in inputs:
        if given.name not in actuators:
            raise ModelError(
                "OpenSim prescribes actuators that have one control; this is one of several",
                element=f"input {given.name!r}",
            )
        groups[taken[given.name]].append(given)
        taken[given.name] += 1
    controllers = add_set(parent, "ControllerSet") if groups else parent
    for k, one in groups.items():
        controller = add(controllers, PRESCRIBED, name="inputs" if k == 0 else f"inputs_{k + 1}")
        add(controller, "actuator_list", " ".join(given.name for given in one))
        functions = add(add(controller, "FunctionSet", name="ControlFunctions"), "objects")
        for given in one:
            with errors_about(f"input {given.name!r}"):
                add_function(functions, given.function, given.name)
