"""Goals and path constraints of a problem of Moco."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from myoquat.analysis.control.conditions import BoundaryConstraint, Differences, PathCondition, PathConstraint, Values
from myoquat.analysis.control.goals.base import Duration, Goal, OwnEndGoal, OwnGoal
from myoquat.analysis.control.goals.forces import TrackContactForces, TrackMoments
from myoquat.analysis.control.goals.muscles import Effort
from myoquat.analysis.control.goals.tracking import FollowsTable, TrackCoordinates, TrackMarkers, TrackOrientations
from myoquat.analysis.control.points import Point
from myoquat.analysis.motion import Sensor
from myoquat.core import Array, frozen, pandas as pd
from myoquat.data import Orientations, load_forces, load_markers
from myoquat.data.motions.angular_speeds import axes_of_angles
from myoquat.data.motions.forces import forces_of_loads
from myoquat.data.omoco import IN_MEMORY, Interval, children, interval, matching, property_of, weights
from myoquat.data.xml import Element, boolean, complain, number, text, triple
from myoquat.joints.frames import center, total_mass
from myoquat.joints.quaternion import quaternion_from_matrix
from myoquat.joints.vectors import matvec, vector
from myoquat.muscle import Model
from myoquat.muscle.forces import ContactForce
from myoquat.muscle.loads import world_point

from .models import Reading, tail


def name_of(goal: Element) -> str:
    """The name of a goal or constraint."""
    return str(goal.get("name") or goal.tag)


def common(goal: Element, reading: Reading) -> dict[str, Any]:
    """Weight and name; what has no equal is noted."""
    weight = number(goal, "weight", 1.0)
    if boolean(goal, "divide_by_mass"):
        weight /= float(total_mass(reading.model.system))
    if boolean(goal, "divide_by_displacement"):
        reading.leave_out(goal, "its division by the displacement")
    if children(goal, "scale_factors"):
        reading.leave_out(goal, "its scale factors")
    return {"weight": weight, "name": name_of(goal)}


def over_time(goal: Element, reading: Reading) -> dict[str, Any]:
    """Weight, name, and whether the goal is averaged."""
    return common(goal, reading) | {"mean": boolean(goal, "divide_by_duration")}


# ---- controls and states ---------------------------------------------------------------------------------------


def _effort(goal: Element, reading: Reading) -> list[Goal]:
    """Squares or other powers of the controls. Weights of patterns apply first, then those by name."""
    names, factors = reading.names, dict[str, float]()
    for pattern, weight in weights(goal, "control_weights_pattern").items():
        factors |= dict.fromkeys(names.matching(pattern, names.controls), weight)
    for path, weight in weights(goal, "control_weights").items():
        factors[reading.named(goal, "control", path)] = weight
    if not names.controls:
        reading.leave_out(goal, "the model has no controls")
        return []
    return [Effort(int(number(goal, "exponent", 2.0)), weights=factors, **over_time(goal, reading))]


@frozen
class SquaredStates:
    """The weighted sum of the squares of states by name: the formula."""

    weights: tuple[tuple[str, float], ...]

    def __call__(self, point: Point) -> Array:
        terms = [weight * point[name] ** 2 for name, weight in self.weights]
        return np.asanyarray(sum(terms[1:], terms[0]))


def _squared_states(goal: Element, reading: Reading) -> list[Goal]:
    """Squares of all states, or of those whose names match a pattern."""
    names, pattern = reading.names, text(goal, "pattern", ".*")
    factors = dict.fromkeys(names.matching(pattern, names.all_states), 1.0)
    for path, weight in weights(goal, "state_weights").items():
        factors[reading.named(goal, "state", path)] = weight
    if any(names.matching(pattern, {end: end}) for end in names.fibers):
        reading.leave_out(goal, "its normalized tendon forces")
    reading.note_rates(goal, factors)
    return [OwnGoal(SquaredStates(tuple(factors.items())), **over_time(goal, reading))] if factors else []


def _track_states(goal: Element, reading: Reading) -> list[Goal]:
    """States beside recorded ones."""
    table, pattern = reading.table(goal, "reference"), text(goal, "pattern", ".*")
    given = {reading.names.state(path): weight for path, weight in weights(goal, "state_weights").items()}
    known = set(reading.names.matching(pattern, reading.names.all_states))
    reading.check_used(goal, table, known, "allow_unused_references")
    chosen = {label: name for label in table if (name := reading.names.state(label)) in known}
    scaled = boolean(goal, "scale_weights_with_range")
    return track_states((goal, reading), table, chosen, given, scaled, over_time(goal, reading))


def track_states(
    holder: tuple[Element, Reading], table: "pd.DataFrame", chosen: Mapping[str, str | None],
    given: Mapping[str | None, float], scaled: bool, options: dict[str, Any],
) -> list[Goal]:  # fmt: skip
    """Follow the columns `chosen` of a table. holder: the element, and how it is read. scaled: weights are over the
    ranges of the columns."""
    element, reading = holder
    columns = dict[str, tuple[str, float]]()
    for label, name in chosen.items():
        weight, span = given.get(name, 1.0), float(np.ptp(table[label])) if scaled else 1.0
        if weight and not span:
            complain(element, f"{label!r} is constant, so its range cannot divide its weight")
        columns[label] = str(name), weight and weight / span
    reading.note_rates(element, dict(columns.values()))
    return following(TrackCoordinates, table, columns, options)


def following(
    goal: type[FollowsTable], table: "pd.DataFrame", columns: Mapping[str, tuple[str, float]], options: dict[str, Any]
) -> list[Goal]:
    """[the goal that follows columns of a table]: label -> name and weight, of which 0 leaves out; [] for none."""
    kept = {label: pair for label, pair in columns.items() if pair[1]}
    time, values, factors = table.index.to_numpy(float), table[list(kept)].to_numpy(float), dict(kept.values())
    return [goal(tuple(factors), time, values, weights=factors, **options)] if kept else []


def _track_controls(goal: Element, reading: Reading) -> list[Goal]:
    """Controls beside recorded ones, by the labels that the goal names, otherwise by their own names."""
    table, names = reading.table(goal, "reference"), reading.names
    labels = {str(e.get("name")): text(e, "reference") for e in children(goal, "reference_labels")}
    pairs = labels or {label: label for label in table if names.control(label)}
    given = {names.control(path): weight for path, weight in weights(goal, "control_weights").items()}
    chosen = {}
    for path, label in pairs.items():
        if names.control(path) is None or label not in table:
            complain(goal, f"no control {path!r} in the model, or no column {label!r} in the table")
        chosen[label] = names.control(path)
    return track_states((goal, reading), table, chosen, given, False, over_time(goal, reading))


# ---- bodies and forces -----------------------------------------------------------------------------------------


def _track_markers(goal: Element, reading: Reading) -> list[Goal]:
    """Markers of a file with weights by name."""
    holder = property_of(goal, "markers_reference", "MarkersReference")
    name = "" if holder is None else text(holder, "marker_file", "")
    if holder is None or name in ("", "Unassigned"):
        complain(goal, IN_MEMORY.format("its markers", '<MarkersReference name="markers_reference"><marker_file>'))
    markers = load_markers(reading.file.document.named(holder, "marker_file", name))
    otherwise = number(holder, "default_weight", 1.0)
    factors = dict.fromkeys(markers.names, otherwise)
    for element in holder.iter("MarkerWeight"):
        low_high = interval(element, "weight")
        factors[str(element.get("name"))] = otherwise if low_high is None else low_high[0]
    own = {n: w for n, w in factors.items() if n in markers.names}
    return [TrackMarkers(markers, weights=own, **over_time(goal, reading))]


def _track_orientations(goal: Element, reading: Reading) -> list[Goal]:
    """Rotations of bodies beside those in a recorded motion."""
    if text(goal, "rotation_reference_file", ""):
        reading.leave_out(goal, "its file of rotations")
        return []
    system = reading.model.system
    bodies = [tail(path) for path in text(goal, "frame_paths", "").split()]
    unknown = [body for body in bodies if body not in system.body_names]
    if unknown or not bodies:
        reading.leave_out(goal, f"frames other than bodies: {', '.join(unknown) or 'none is named'}")
        return []
    motion = reading.motion(reading.table(goal, "states_reference"))
    poses = system.poses(motion.q)
    shape = len(motion.time), 4  # a body that does not turn has one rotation
    turned = np.stack([np.broadcast_to(quaternion_from_matrix(poses[body][0]), shape) for body in bodies], axis=1)
    sensors = tuple(Sensor(body, body, (1.0, 0.0, 0.0, 0.0)) for body in bodies)
    factors = {tail(path): weight for path, weight in weights(goal, "rotation_weights").items()}
    recorded = Orientations(motion.time, tuple(bodies), turned)
    return [TrackOrientations(recorded, sensors, weights=factors, **over_time(goal, reading))]


def _track_contact_forces(goal: Element, reading: Reading) -> list[Goal]:
    """Contact forces of groups beside external loads. Moco divides the integral by the weight of the model, or by its
    mass where there is no gravity."""
    name, inside = text(goal, "external_loads_file", ""), goal.find("external_loads/ExternalLoads")
    if text(goal, "projection", "none") != "none" or boolean(goal, "normalize_tracking_error"):
        reading.leave_out(goal, "projections and normalized errors")
        return []
    document = reading.file.document
    if not name and inside is None:
        complain(goal, "it has neither <external_loads_file> nor <external_loads>")
    if name:
        loads = load_forces(document.named(goal, "external_loads_file", name))
    else:
        loads = forces_of_loads(document.path, inside)
    surfaces = {f.name: f.pairs for f in reading.model.forces if isinstance(f, ContactForce)}
    bodies = {}
    for group in children(goal, "contact_groups"):
        paths = [tail(path) for path in text(group, "contact_force_paths", "").split()]
        if set(paths) - set(surfaces):
            complain(group, f"the model has no contact force {min(set(paths) - set(surfaces))!r}")
        own = {surface.body for path in paths for pair in surfaces[path] for surface in pair}
        bodies[text(group, "external_force_name")] = tuple(sorted(own - {reading.model.system.ground}))
    kept = [loads.names.index(name) for name in bodies if name in loads.names]
    if len(kept) < len(bodies):
        complain(goal, f"the external loads have no force {min(set(bodies) - set(loads.names))!r}")
    factors = {load: float(load in bodies) for load in loads.names}
    others = {load: next(iter(bodies.values())) for load in loads.names if load not in bodies}
    system, options = reading.model.system, over_time(goal, reading)
    options["weight"] /= float(total_mass(system) * (np.linalg.norm(system.gravity) or 1.0))
    return [TrackContactForces(loads, bodies | others, weights=factors, **options)]


def _track_moments(goal: Element, reading: Reading) -> list[Goal]:
    """Generalized forces beside recorded ones, called as OpenSim's inverse dynamics calls them.

    Moco takes those of inverse dynamics less gravity and the forces of <force_paths>. Where these are all but muscles
    and actuators, muscles and actuators give the rest, with constraints: `TrackMoments` leaves constraints out.
    """
    model, names = reading.model, reading.names
    patterns = text(goal, "force_paths", "").split()
    acting = dict.fromkeys((*model.muscle_names, *model.control_names))
    passive = dict.fromkeys(force.name for force in model.forces)
    listed = {name for pattern in patterns for name in names.matching(pattern, {n: n for n in (*acting, *passive)})}
    for name in [n for n in acting if n in listed] + [n for n in passive if n not in listed]:
        reading.leave_out(goal, f"{name!r}, which is {'' if name in listed else 'not '}among its force paths")
    if model.couplers or model.constraints:
        reading.leave_out(goal, "forces of couplers and constraints in its moments")
    ignored = {c.name for c in model.coordinates if not c.free} | model.driven
    if not boolean(goal, "ignore_constrained_coordinates", True):
        ignored = set()
    velocities = {}
    for end, velocity in names.speeds.items():
        name = names.values[f"{end.removesuffix('/speed')}/value"]
        if name not in ignored:
            velocities[f"{name}_{'moment' if model.system.coordinate_units[name] == 'rad' else 'force'}"] = velocity
    table, factors = reading.table(goal, "reference"), dict[str, float]()
    for pattern, weight in weights(goal, "generalized_force_weights_pattern").items():
        matched = zip(velocities, matching(pattern, list(velocities)), strict=True)
        factors |= {label: weight for label, matches in matched if matches}
    factors |= weights(goal, "generalized_force_weights")
    unused = [label for label in (*factors, *table) if label not in velocities]
    if unused and (unused[0] in factors or not boolean(goal, "allow_unused_references")):
        complain(goal, f"no generalized force {unused[0]!r} of a free coordinate; known: {', '.join(velocities)}")
    table = table[[label for label in table if label in velocities]]
    peaks, labels = table.abs().max(), [label for label in table if factors.get(label, 1.0)]
    scale = np.ones(len(labels))
    if boolean(goal, "normalize_tracking_error"):
        if not peaks.all():
            complain(goal, f"{peaks.idxmin()!r} is zero throughout and cannot be normalized")
        shown = peaks.iloc[: len(labels)] if reading.shifted_normalization else peaks[labels]
        scale = 1 / shown.to_numpy(float) ** 2
    columns = {x: (velocities[x], factors.get(x, 1.0) * y) for x, y in zip(labels, scale, strict=True)}
    return following(TrackMoments, table, columns, over_time(goal, reading))


GOALS: dict[str, Callable[[Element, Reading], list[Goal]]] = {
    "MocoContactTrackingGoal": _track_contact_forces,
    "MocoControlGoal": _effort,
    "MocoControlTrackingGoal": _track_controls,
    "MocoGeneralizedForceTrackingGoal": _track_moments,
    "MocoMarkerTrackingGoal": _track_markers,
    "MocoOrientationTrackingGoal": _track_orientations,
    "MocoStateTrackingGoal": _track_states,
    "MocoSumSquaredStateGoal": _squared_states,
}


Found = Goal | BoundaryConstraint
Row = Callable[[Point, Point, Any], Array]


@frozen
class Squared:
    """The sum of the squares of rows: the formula of a goal that is a cost in place of a constraint."""

    rows: Row

    def __call__(self, first: Point, last: Point, duration: Any) -> Array:
        return np.sum(self.rows(first, last, duration) ** 2, axis=-1)


def _at_ends(goal: Element, reading: Reading, rows: Row, count: int) -> list[Found]:
    """Rows of both ends: a constraint unless the goal says that it is a cost."""
    options = common(goal, reading)
    if text(goal, "mode", "endpoint_constraint") == "cost":
        return [OwnEndGoal(Squared(rows), **options)]
    holder = goal.find("MocoConstraintInfo")
    given = [] if holder is None else [interval(e, "bounds") for e in children(holder, "bounds")]
    bounds: list[Interval] = [(0.0, 0.0) if pair is None else pair for pair in given] or [(0.0, 0.0)] * count
    if len(bounds) != count:
        complain(goal, f"it has {len(bounds)} bounds for {count} equations")
    low, high = zip(*bounds, strict=True)
    return [BoundaryConstraint(name_of(goal), rows, low, high)]


# ---- goals of the ends -----------------------------------------------------------------------------------------


def _periodic(goal: Element, reading: Reading) -> list[Found]:
    """Pairs of states and of controls, some of them with the opposite sign."""
    pairs = []
    for what in ("state", "control"):
        for pair in children(goal, f"{what}_pairs"):
            initial = text(pair, "initial_variable")
            paths = text(pair, "final_variable", initial), initial
            if any(tail(path) in reading.names.fibers for path in paths):
                reading.leave_out(pair, "a pair of tendon forces")
                continue
            last, first = (reading.named(pair, what, path) for path in paths)
            pairs.append((last, first, -1.0 if boolean(pair, "negate") else 1.0))
    return _at_ends(goal, reading, Differences(tuple(pairs)), len(pairs)) if pairs else []


@frozen
class AngularVelocity:
    """The angular velocity of a joint that turns by angles about x, y and z, in the axes of the parent: the formula.

    angles, rates  names of the three coordinates, and of their velocities
    end            of which it is: 0 of a point or the first one, 1 of the last one
    """

    angles: tuple[str, ...]
    rates: tuple[str, ...]
    end: int = 0

    def __call__(self, *points: Any) -> Array:
        point = points[self.end]
        return matvec(
            axes_of_angles(*(point[name] for name in self.angles[:2])), vector([point[n] for n in self.rates])
        )


def equal_at_start(model: Model) -> Differences:
    """Excitation and activation of every muscle with activation dynamics."""
    pairs = ((m.name, f"{m.name}.activation", 1.0) for m in model.muscles if m.activation_dynamics is not None)
    return Differences(tuple(pairs), end=0)


def _initial_activation(goal: Element, reading: Reading) -> list[Found]:
    """Excitation and activation are equal at the start."""
    rows = equal_at_start(reading.model)
    return _at_ends(goal, reading, rows, len(rows.pairs)) if rows.pairs else []


@frozen
class AverageSpeed:
    """The speed of the centre of mass between the ends, |p1 - p0| / duration, less the desired one: the formula."""

    desired: float

    def __call__(self, first: Point, last: Point, duration: Any) -> Array:
        way = center(last.system, last.q) - center(first.system, first.q)
        return vector([np.sqrt(np.sum(way * way, axis=-1)) / duration - self.desired])


def _average_speed(goal: Element, reading: Reading) -> list[Found]:
    return _at_ends(goal, reading, AverageSpeed(number(goal, "desired_average_speed", 0.0)), 1)


@frozen
class AtPlace:
    """The squared distance of a point of a body from a place at the end: the formula."""

    body: str
    point: tuple[float, ...]
    place: tuple[float, ...]

    def __call__(self, first: Point, last: Point, duration: Any) -> Array:
        off = world_point(last.system.poses(last.q), self.body, self.point) - np.array(self.place)
        return np.sum(off * off, axis=-1)


def _final_marker(goal: Element, reading: Reading) -> list[Found]:
    name = tail(text(goal, "point_name"))
    marker = next((m for m in reading.model.markers if m.name == name), None)
    if marker is None:
        complain(goal, f"the model has no marker {name!r}")
    formula = AtPlace(marker.body, tuple(marker.position), triple(goal, "reference_location", (0.0, 0.0, 0.0)))
    return [OwnEndGoal(formula, **common(goal, reading))]


ENDS: dict[str, Callable[[Element, Reading], list[Found]]] = {
    "MocoAverageSpeedGoal": _average_speed,
    "MocoFinalTimeGoal": lambda goal, reading: [Duration(**common(goal, reading))],
    "MocoInitialActivationGoal": _initial_activation,
    "MocoMarkerFinalGoal": _final_marker,
    "MocoPeriodicityGoal": _periodic,
}


# ---- path constraints ------------------------------------------------------------------------------------------


def _bounded(constraint: Element, reading: Reading, what: str) -> list[PathCondition]:
    """States or controls between two constants."""
    paths = text(constraint, f"{what}_paths", "").split() or [""]
    names = tuple(reading.named(constraint, what, path) for path in paths)
    low, high = _constant(constraint, "lower_bound", -np.inf), _constant(constraint, "upper_bound", np.inf)
    if low is None or high is None:
        reading.leave_out(constraint, "bounds that depend on time")
        return []
    if boolean(constraint, "equality_with_lower"):
        high = low
    n = len(names)
    return [PathConstraint(name_of(constraint), Values(names), (low,) * n, (high,) * n)]


def _constant(constraint: Element, tag: str, otherwise: float) -> float | None:
    """The value of a constant function, `otherwise` where there is none, None for another function."""
    given = children(constraint, tag)
    if not given:
        return otherwise
    return number(given[0], "value", 0.0) if given[0].tag == "Constant" else None


@frozen
class SquaredDistances:
    """Squared distances of the origins of pairs of bodies: the formula."""

    pairs: tuple[tuple[str, str], ...]

    def __call__(self, point: Point) -> Array:
        poses = point.system.poses(point.q)
        ways = [poses[a][1] - poses[b][1] for a, b in self.pairs]
        return vector([np.sum(way * way, axis=-1) for way in ways])


def _distances(constraint: Element, reading: Reading) -> list[PathCondition]:
    """Distances of bodies between bounds, as their squares."""
    system = reading.model.system
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
    "MocoControlBoundConstraint": partial(_bounded, what="control"),
    "MocoFrameDistanceConstraint": _distances,
    "MocoStateBoundConstraint": partial(_bounded, what="state"),
}
