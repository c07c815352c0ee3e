"""Goals of the ends in a problem of Moco, as costs or as constraints, and its path constraints."""

from collections.abc import Callable
from typing import Any

import numpy as np

from myoquat.analysis.control.conditions import BoundaryConstraint, PathCondition, PathConstraint
from myoquat.analysis.control.goals.base import Goal
from myoquat.analysis.control.goals.ends import Duration
from myoquat.analysis.control.goals.own import OwnEndGoal
from myoquat.analysis.control.points import Point
from myoquat.apps.moco.goals import Reading, common, name_of
from myoquat.apps.moco.names import tail
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.data.document import boolean, number, text, triple
from myoquat.data.omoco.read import Interval, children, interval
from myoquat.data.xml import Element, complain
from myoquat.joints.centroidal import center
from myoquat.joints.stacking import vector
from myoquat.muscle.loads import world_point

__all__ = ["ENDS", "PATHS"]

Found = Goal | BoundaryConstraint
Row = Callable[[Point, Point, Any], Array]


@dataclass(frozen=True)
class Squared:
    """The sum of the squares of rows: the formula of a goal that is a cost in place of a constraint."""

    rows: Row

    def __call__(self, first: Point, last: Point, duration: Any) -> Array:
        result: Array = np.sum(self.rows(first, last, duration) ** 2, axis=-1)
        return result


def _at_ends(goal: Element, reading: Reading, rows: Row, count: int) -> list[Found]:
    """Rows of both ends: a constraint unless the goal says that it is a cost."""
    options = common(goal, reading)
    if text(goal, "mode", "endpoint_constraint") == "cost":
        return [OwnEndGoal(Squared(rows), weight=options["weight"], name=options["name"])]
    holder = goal.find("MocoConstraintInfo")
    given = [] if holder is None else [interval(e, "bounds") for e in children(holder, "bounds")]
    bounds: list[Interval] = [(0.0, 0.0) if pair is None else pair for pair in given] or [(0.0, 0.0)] * count
    if len(bounds) != count:
        complain(goal, f"it has {len(bounds)} bounds for {count} equations")
    low, high = zip(*bounds, strict=True)
    return [BoundaryConstraint(name_of(goal), rows, low, high)]


# ---- goals of the ends -----------------------------------------------------------------------------------------


def _final_time(goal: Element, reading: Reading) -> list[Found]:
    options = common(goal, reading)
    return [Duration(weight=options["weight"], name=options["name"])]


@dataclass(frozen=True)
class Pairs:
    """last[a] - sign first[b] of pairs (a, b, sign): the formula."""

    pairs: tuple[tuple[str, str, float], ...]

    def __call__(self, first: Point, last: Point, duration: Any) -> Array:
        return vector([last[a] - sign * first[b] for a, b, sign in self.pairs])


def _periodic(goal: Element, reading: Reading) -> list[Found]:
    """Pairs of states and of controls, some of them with the opposite sign."""
    pairs = []
    for tag, find in (("state_pairs", reading.names.state), ("control_pairs", reading.names.control)):
        for pair in children(goal, tag):
            initial = text(pair, "initial_variable")
            paths = text(pair, "final_variable", initial), initial
            names = [find(path) for path in paths]
            if any(tail(path) in reading.names.fibers for path in paths):
                reading.leave_out(pair, "a pair of tendon forces")
                continue
            if None in names:
                complain(pair, f"the model has no {tag.split('_')[0]} {paths[names.index(None)]!r}")
            pairs.append((str(names[0]), str(names[1]), -1.0 if boolean(pair, "negate") else 1.0))
    return _at_ends(goal, reading, Pairs(tuple(pairs)), len(pairs)) if pairs else []


@dataclass(frozen=True)
class Unequal:
    """first[a] - first[b] of pairs of names: the formula."""

    pairs: tuple[tuple[str, str], ...]

    def __call__(self, first: Point, last: Point, duration: Any) -> Array:
        return vector([first[a] - first[b] for a, b in self.pairs])


def _initial_activation(goal: Element, reading: Reading) -> list[Found]:
    """Excitation and activation are equal at the start."""
    dynamic = [m.name for m in reading.processed.model.muscles if m.activation_dynamics is not None]
    pairs = tuple((name, f"{name}.activation") for name in dynamic)
    return _at_ends(goal, reading, Unequal(pairs), len(pairs)) if pairs else []


@dataclass(frozen=True)
class AverageSpeed:
    """The speed of the centre of mass between the ends, |p1 - p0| / duration, less the desired one: the formula."""

    desired: float

    def __call__(self, first: Point, last: Point, duration: Any) -> Array:
        way = center(last.system, last.q) - center(first.system, first.q)
        return vector([np.sqrt(np.sum(way * way, axis=-1)) / duration - self.desired])


def _average_speed(goal: Element, reading: Reading) -> list[Found]:
    return _at_ends(goal, reading, AverageSpeed(number(goal, "desired_average_speed", 0.0)), 1)


@dataclass(frozen=True)
class AtPlace:
    """The squared distance of a point of a body from a place at the end: the formula."""

    body: str
    point: tuple[float, ...]
    place: tuple[float, ...]

    def __call__(self, first: Point, last: Point, duration: Any) -> Array:
        off = world_point(last.system.poses(last.q), self.body, self.point) - np.array(self.place)
        result: Array = np.sum(off * off, axis=-1)
        return result


def _final_marker(goal: Element, reading: Reading) -> list[Found]:
    name, options = tail(text(goal, "point_name")), common(goal, reading)
    marker = next((m for m in reading.processed.model.markers if m.name == name), None)
    if marker is None:
        complain(goal, f"the model has no marker {name!r}")
    formula = AtPlace(marker.body, tuple(marker.position), triple(goal, "reference_location", (0.0, 0.0, 0.0)))
    return [OwnEndGoal(formula, weight=options["weight"], name=options["name"])]


ENDS: dict[str, Callable[[Element, Reading], list[Found]]] = {
    "MocoAverageSpeedGoal": _average_speed,
    "MocoFinalTimeGoal": _final_time,
    "MocoInitialActivationGoal": _initial_activation,
    "MocoMarkerFinalGoal": _final_marker,
    "MocoPeriodicityGoal": _periodic,
}


# ---- path constraints ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Values:
    """Quantities by name: the formula."""

    names: tuple[str, ...]

    def __call__(self, point: Point) -> Array:
        return vector([point[name] for name in self.names])


def _bounded(constraint: Element, reading: Reading, what: str) -> list[PathCondition]:
    """States or controls between two constants."""
    find = reading.names.state if what == "state" else reading.names.control
    paths = text(constraint, f"{what}_paths", "").split()
    names = [find(path) for path in paths]
    if None in names or not names:
        complain(constraint, f"the model has no {what} {paths[names.index(None)] if paths else ''!r}")
    low, high = _constant(constraint, "lower_bound", -np.inf), _constant(constraint, "upper_bound", np.inf)
    if low is None or high is None:
        reading.leave_out(constraint, "bounds that depend on time")
        return []
    if boolean(constraint, "equality_with_lower"):
        high = low
    n = len(names)
    formula = Values(tuple(map(str, names)))
    return [PathConstraint(name_of(constraint), formula, (low,) * n, (high,) * n)]


def _constant(constraint: Element, tag: str, otherwise: float) -> float | None:
    """The value of a constant function, `otherwise` where there is none, None for another function."""
    given = children(constraint, tag)
    if not given:
        return otherwise
    return number(given[0], "value", 0.0) if given[0].tag == "Constant" else None


def _bounded_controls(constraint: Element, reading: Reading) -> list[PathCondition]:
    return _bounded(constraint, reading, "control")


def _bounded_states(constraint: Element, reading: Reading) -> list[PathCondition]:
    return _bounded(constraint, reading, "state")


@dataclass(frozen=True)
class SquaredDistances:
    """Squared distances of the origins of pairs of bodies: the formula."""

    pairs: tuple[tuple[str, str], ...]

    def __call__(self, point: Point) -> Array:
        poses = point.system.poses(point.q)
        ways = [poses[a][1] - poses[b][1] for a, b in self.pairs]
        return vector([np.sum(way * way, axis=-1) for way in ways])


def _distances(constraint: Element, reading: Reading) -> list[PathCondition]:
    """Distances of bodies between bounds, as their squares."""
    system = reading.processed.model.system
    pairs, limits = [], []
    for element in children(constraint, "frame_pairs"):
        a, b = (tail(text(element, f"frame{k}_path")) for k in (1, 2))
        pairs.append((a, b))
        bounds = [interval(element, f"{word}_distance") for word in ("minimum", "maximum")]
        limits.append(tuple(otherwise if pair is None else pair[0]
                            for pair, otherwise in zip(bounds, (0.0, np.inf), strict=True)))  # fmt: skip
    if not pairs:
        complain(constraint, f"<{constraint.tag}> needs pairs of frames")
    known = {system.ground, *system.body_names}
    if {name for pair in pairs for name in pair} - known or text(constraint, "projection", "none") != "none":
        reading.leave_out(constraint, "frames other than bodies, and projections")
        return []
    low, high = (tuple(max(x, 0.0) ** 2 for x in side) for side in zip(*limits, strict=True))
    return [PathConstraint(name_of(constraint), SquaredDistances(tuple(pairs)), low, high)]


PATHS: dict[str, Callable[[Element, Reading], list[PathCondition]]] = {
    "MocoControlBoundConstraint": _bounded_controls,
    "MocoFrameDistanceConstraint": _distances,
    "MocoStateBoundConstraint": _bounded_states,
}
