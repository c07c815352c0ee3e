"""Muscles and other forces along paths, read and written: their points, and the elements that hold their laws."""

import math
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree

from myoquat.core import PATH, check_types
from myoquat.data.reports import ImplausibleValues, UnsupportedElements, UnwrittenParts
from myoquat.data.xml import Element, add, add_set, complain, last_name, number, objects, parse_opensim, span, text
from myoquat.joints import ModelError
from myoquat.joints.errors import errors_about, errors_in
from myoquat.joints.functions import Constant
from myoquat.muscle import (
    ActivationDynamics,
    ConditionalPoint,
    FittedPoint,
    LengthPoint,
    MovingPoint,
    Muscle,
    MuscleGroup,
    MusclePath,
    PathPoint,
    fitted_path,
    function_path,
)
from myoquat.muscle.laws import Thelen2003

from .elements import (
    COORDINATE_PATH,
    ON_PARENT,
    OWN_BODY,
    ZERO,
    Format,
    Part,
    ValueType,
    by_tag,
    coordinate_named,
    format_of,
    path_of_coordinate,
)
from .forces import Contacts
from .functions import add_function, function_in, read_polynomial
from .laws import LAWS, TIMES, add_activation_dynamics, read_activation_dynamics, read_law
from .tree import DEFAULT_RANGE
from .wraps import TAG as OBSTACLES, WrapsAround, WrittenWraps, is_hinted, read_obstacles

# ---- <FunctionBasedPath>: a path whose length is a polynomial of coordinates --------------------------------------


FUNCTIONAL = "FunctionBasedPath"
LENGTH, ARMS, SPEED = "length_function", "moment_arm_functions", "lengthening_speed_function"
SAMPLES = 16  # random coordinates at which derivatives of a file are compared with those of its length
DERIVATIVE_TOLERANCE = 1e-9  # relative to 1 + |derivative|


def read_functional(path: Any, unsupported: UnsupportedElements) -> tuple[PathPoint, ...]:
    """The points of a path. Moment arms and speeds of the file that are not the derivatives of its length are noted:
    here both are its derivatives."""
    names = tuple(map(last_name, text(path, "coordinate_paths").split()))
    holder = _holder(path, LENGTH)
    if holder is None:
        complain(path, f"<{FUNCTIONAL}> needs a <{LENGTH}>")
    length = read_polynomial(holder, len(names))
    if length is None:
        complain(holder, f"a length by <{holder.tag}> of {len(names)} coordinates is not supported")
    x, u = np.random.default_rng(0).uniform(-1.0, 1.0, (2, SAMPLES, len(names)))
    steps = x[:, None, :] + 1e-30j * np.eye(len(names))
    slopes = length.value(steps).imag / 1e-30
    speed = _holder(path, SPEED)
    for k, arm in enumerate(path.findall(f"{ARMS}/*")[: len(names)]):
        if not _agrees(arm, x, -slopes[:, k]):
            unsupported.count(arm, ARMS)
    if speed is not None and not _agrees(speed, np.concatenate([x, u], axis=-1), np.sum(slopes * u, axis=-1)):
        unsupported.count(speed, SPEED)
    return function_path(names, length)


def load_paths(path: str | Path) -> dict[str, tuple[PathPoint, ...]]:
    """The paths in a file of OpenSim's FunctionBasedPathSet, by the names of muscles, for `Model.with_fitted_paths`.

    One UnsupportedWarning reports moment arms and speeds of the file that are not derivatives of its lengths, and are
    not read. ModelError with file and line for another file, and for a length that is no polynomial.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import myoquat as mq
    >>> line = "<MultivariatePolynomialFunction><dimension>1</dimension><order>1</order>"
    >>> line += "<coefficients>0.3 -0.04</coefficients></MultivariatePolynomialFunction>"
    >>> inside = f"<coordinate_paths>flexion</coordinate_paths><length_function>{line}</length_function>"
    >>> file = Path(tempfile.mkdtemp()) / "paths.xml"
    >>> _ = file.write_text(f'<FunctionBasedPath name="/forceset/biceps">{inside}</FunctionBasedPath>')
    >>> list(mq.data.load_paths(file))
    ['biceps']
    """
    check_types(path=(path, PATH))
    root, unsupported = parse_opensim(Path(path)), UnsupportedElements()
    with errors_in(path):
        found = {last_name(str(e.get("name"))): read_functional(e, unsupported) for e in root.iter(FUNCTIONAL)}
        if not found:
            complain(root, f"the file has no <{FUNCTIONAL}>")
    unsupported.report(Path(path), strict=False)
    return found


def _holder(path: Any, name: str) -> Any:
    """The function that a child called `name` holds, or that bears the name itself; None if there is none."""
    named = [child for child in path.iterchildren("*") if child.get("name") == name]
    return next(iter([*path.findall(f"{name}/*"), *named]), None)


def _agrees(element: Element, x: Any, wanted: Any) -> bool:
    """Whether a function is a polynomial with the wanted values (n,) at x (n, dimension)."""
    function, tolerance = read_polynomial(element, x.shape[-1]), DERIVATIVE_TOLERANCE
    return function is not None and np.allclose(function.value(x), wanted, rtol=tolerance, atol=tolerance)


GEOMETRY = "GeometryPath"
PATHS = (GEOMETRY, FUNCTIONAL, OBSTACLES)
UNREAD = {  # bounds of the control of a muscle: the value that says nothing, and the sign of the direction that binds
    "min_control": (0.01, 1.0),
    "max_control": (1.0, -1.0),
}
ACTUATOR = "PathActuator"  # whose control has no bounds unless the file states some


def has_path(element: Any) -> bool:
    """Whether a force has a path of a known type."""
    return _path_in(element) is not None


def read_muscle(element: Any, frames: Contacts, wraps: WrapsAround, unsupported: UnsupportedElements) -> Muscle:
    """A force along a path of a known type as a muscle."""
    law, dynamics = read_law(element, unsupported), read_activation_dynamics(element)
    path = _path_in(element)
    if path is None:
        complain(element, f"<{element.tag}> needs a <{GEOMETRY}>")
    if path.tag == FUNCTIONAL:
        along = MusclePath(read_functional(path, unsupported))
    elif path.tag == OBSTACLES:
        along = MusclePath(*read_obstacles(path, frames, unsupported))
    else:
        points = objects(path, "PathPointSet")
        for point in points:
            if point.tag not in POINTS:
                complain(point, f"the point <{point.tag}> is not supported")
        along = MusclePath(tuple(POINTS[p.tag].read(p, frames) for p in points), wraps(path, len(points)))
    name = str(element.get("name"))
    for tag, (idle, sign) in UNREAD.items():
        limit = element.find(tag)
        if limit is not None and sign * (number(element, tag, infinite=True) - idle) > 0:
            unsupported.count(element, f"{tag}: its activation goes from its least to 1")
    if element.tag == ACTUATOR:
        low, high = (number(element, tag, np.inf, infinite=True) for tag in UNREAD)
        if -np.inf < low < 0 or 1 < high < np.inf:
            unsupported.count(element, "control beyond 0 to 1: its activation goes from 0 to 1")
    starts = element.tag in TIMES and text(element, "default_activation", "")
    return Muscle(name, along, law, number(element, "default_activation") if starts else None, dynamics)


def read_groups(
    model: Any, known: Sequence[str], unsupported: UnsupportedElements, implausible: ImplausibleValues
) -> tuple[MuscleGroup, ...]:
    """The groups of a model's <ForceSet>. Members that are not among the muscles `known` are noted and left out."""
    groups = []
    for element in model.iterfind("ForceSet/groups/ObjectGroup"):
        name, named = str(element.get("name")), text(element, "members", "").split()
        members = tuple(dict.fromkeys(named))
        if len(members) < len(named):
            implausible.count("members that a group lists twice, taken once", name)
        others = [member for member in members if member not in known]
        if others:
            unsupported.count(element, f"members of {name} that are no muscles of the model: {', '.join(others)}")
        groups.append(MuscleGroup(name, tuple(member for member in members if member in known)))
    return tuple(groups)


def _path_in(element: Any) -> Any:
    """The path of a force, which stands in it or in its <path>; None if there is none."""
    found = (element.find(f"{holder}{tag}") for tag in PATHS for holder in ("", "path/"))
    return next((path for path in found if path is not None), None)


def _limits(element: Element, name: str) -> tuple[float, float]:
    """The range of a coordinate, in which OpenSim keeps what the functions of moving points see."""
    coordinate = coordinate_named(element, name)
    return DEFAULT_RANGE if coordinate is None else span(coordinate, "range", DEFAULT_RANGE)


def _read_motion(element: Element, _: Any) -> dict[str, Any]:
    names = tuple(last_name(text(element, f"socket_{axis}_coordinate", "")) for axis in "xyz")
    functions = tuple(function_in(element.find(f"{axis}_location"), element) for axis in "xyz")
    ranges = tuple(_limits(element, name) for name in names)
    return {"position": ZERO, "coordinates": names, "functions": functions, "ranges": ranges}


def _add_motion(entry: Element, point: MovingPoint) -> None:
    if any(point.position):
        raise ModelError(
            f"OpenSim's moving points have no position beside their functions, this one has {point.position}"
        )
    driving = {  # a constant component has a coordinate in OpenSim too, the same one
        name: tuple(point.ranges[k]) if point.ranges else None
        for k, name in enumerate(point.coordinates)
        if name and not isinstance(point.functions[k], Constant)
    }
    if len(driving) > 1:
        raise ModelError(f"one coordinate moves a point in OpenSim, not {' and '.join(map(repr, driving))}")
    for name, given in driving.items():
        if given != (wanted := _limits(entry, name)):
            raise ModelError(
                f"a moving point stops at the ends of its coordinate's range in OpenSim: that of {name!r} is "
                f"{wanted}, not {given}"
            )
    first = next(entry.getroottree().iter("Coordinate"), None)
    (name,) = driving or ("" if first is None else str(first.get("name")),)
    for k, axis in enumerate("xyz"):
        add(entry, f"socket_{axis}_coordinate", path_of_coordinate(entry, name))
        add_function(add(entry, f"{axis}_location"), point.functions[k])


POINTS = by_tag(
    Format("PathPoint", PathPoint, {}, ON_PARENT),
    Format(
        "ConditionalPathPoint",
        ConditionalPoint,
        {
            "coordinate": ("socket_coordinate", COORDINATE_PATH),
            "range": ("range", ValueType(lambda element, tag, *_: span(element, tag, (0.0, 0.0)))),
        },
        ON_PARENT,
    ),
    Format(
        "MovingPathPoint", MovingPoint, {"body": ("socket_parent_frame", OWN_BODY)}, Part(_read_motion, _add_motion)
    ),
)


# ---- Muscles, written; read back, their laws must be equal ---------------------------------------------------------


FALLBACK = ACTUATOR  # for a path whose law OpenSim does not know, or that has none
READ_BACK_TOLERANCE = 1e-12  # relative, of numbers that are written in another form


def force_element(parent: Element, muscle: Muscle, unwritten: UnwrittenParts) -> Element:
    """The element of a muscle or another force along a path, with all of its numbers but no path yet.

    ModelError if OpenSim's force of this type cannot have them.
    """
    muscle = _with_thelen_of_opensim(muscle, unwritten)
    format_ = format_of(LAWS, muscle.law)
    if format_ is None:
        law_name = "without a law" if muscle.law is None else f"with law {muscle.law.kind!r}"
        unwritten.count(f"muscles {law_name}, written as {FALLBACK}", muscle.name)
        force = add(parent, FALLBACK, name=muscle.name)
        strength = getattr(muscle.law, "max_isometric_force", None)
        if strength is not None:
            add(force, "optimal_force", strength)
        _add_bounds(force)
        return force
    force = format_.write(parent, muscle.law, f"muscle {muscle.name!r}", muscle.name)
    if format_.tag == ACTUATOR:
        _add_bounds(force)
    add_activation_dynamics(force, muscle.activation_dynamics)
    if muscle.activation is not None and force.tag in TIMES:
        add(force, "default_activation", muscle.activation)
    _check(force, muscle)
    return force


def _add_bounds(force: Element) -> None:
    """The bounds of an activation as those of a PathActuator's control."""
    add(force, "min_control", 0.0)
    add(force, "max_control", 1.0)


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


def _check(force: Element, muscle: Muscle) -> None:
    """ModelError unless what is read from the element is what was to be written."""
    again = etree.fromstring(etree.tostring(force))
    pairs: dict[str, tuple[Any, Any]] = {
        "": (muscle.law, read_law(again, UnsupportedElements())),
        "activation_dynamics.": (muscle.activation_dynamics, read_activation_dynamics(again)),
    }
    wrong = []
    for prefix, (ours, theirs) in pairs.items():
        if type(ours) is not type(theirs):
            wrong.append(f"{prefix}type")
        elif ours is not None:
            values = ((f.name, getattr(ours, f.name), getattr(theirs, f.name)) for f in fields(ours))
            wrong += [prefix + name for name, a, b in values if not _like(a, b)]
    if wrong:
        raise ModelError(
            f"OpenSim's {force.tag} cannot have this {', '.join(wrong)}", element=f"muscle {muscle.name!r}"
        )


def _like(a: Any, b: Any) -> bool:
    both = isinstance(a, float) and isinstance(b, float)
    return math.isclose(a, b, rel_tol=READ_BACK_TOLERANCE) if both else bool(a == b)


def add_path(parent: Element, muscle: Muscle, wraps: WrittenWraps) -> None:
    """The path of a muscle, in its element; ModelError for a point or a surface that OpenSim cannot have."""
    points, label = muscle.path.points, f"muscle {muscle.name!r}"
    end = points[-1]
    with errors_about(label):
        if isinstance(end, LengthPoint) and points == function_path(end.coordinates, end.length, end.body):
            _add_functional(parent, end.coordinates, end.length)
        elif isinstance(end, FittedPoint) and points == fitted_path(end.length, end.fitted, end.body):
            # a fitted path of scalar coordinates, without the set of its poses: quaternions became angles before
            _add_functional(parent, end.length.variables.coordinates, end.length.polynomial())
        elif isinstance(end, FittedPoint):
            message = "OpenSim has no fitted paths with straight pieces or terms of surfaces"
            raise ModelError(f"{message}; fit with FitSettings(polynomials=True)")
        elif muscle.path.pulleys:
            raise ModelError("OpenSim has no paths over pulleys")
        elif is_hinted(muscle):
            wraps.add_path(parent, muscle)
        else:
            path = add(parent, GEOMETRY, name="path")
            holder = add_set(path, "PathPointSet")
            for k, point in enumerate(points, start=1):
                format_ = format_of(POINTS, point)
                if format_ is None:
                    raise ModelError(f"OpenSim has no point like a {type(point).__name__}")
                format_.write(holder, point, label, f"{muscle.name}-P{k}")
            wraps.add_set(path, muscle)


def _add_functional(parent: Element, names: Sequence[str], length: Any) -> None:
    path = add(parent, FUNCTIONAL, name="path")
    add(path, "coordinate_paths", " ".join(path_of_coordinate(path, name) for name in names))
    add_function(add(path, LENGTH), length)
