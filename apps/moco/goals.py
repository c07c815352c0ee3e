"""Goals of a problem of Moco that are integrated or followed."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from myoquat.analysis.control.goals.base import Goal
from myoquat.analysis.control.goals.effort import Effort
from myoquat.analysis.control.goals.forces import TrackContactForces
from myoquat.analysis.control.goals.own import OwnGoal
from myoquat.analysis.control.goals.tracking import TrackCoordinates, TrackMarkers, TrackOrientations
from myoquat.analysis.control.points import Point
from myoquat.analysis.motion import Sensor
from myoquat.apps.moco.models import MocoModel
from myoquat.apps.moco.names import MocoNames, tail
from myoquat.apps.moco.tables import Table, motion_of_table, read_table
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.data import Orientations, load_forces, load_markers
from myoquat.data.document import boolean, number, text
from myoquat.data.omoco.read import MocoFile, children, interval, property_of, weights
from myoquat.data.reports import UnsupportedElements
from myoquat.data.xml import Element, complain
from myoquat.joints.centroidal import total_mass
from myoquat.joints.quaternion import quaternion_from_matrix
from myoquat.muscle.forces import ContactForce

__all__ = ["GOALS", "Reading", "common", "name_of", "track_states"]


@dataclass(frozen=True, eq=False)
class Reading:
    """The data with which goals and constraints are read."""

    file: MocoFile
    processed: MocoModel
    names: MocoNames
    unsupported: UnsupportedElements

    def table(self, goal: Element, name: str) -> Table:
        """The table of a goal's TableProcessor; ModelError where it names no file."""
        processor = self.file.processor(goal, name, "TableProcessor")
        if processor is None:
            complain(goal, f"<{goal.tag}> needs a <TableProcessor> {name!r} that names a file")
        return read_table(processor, self.names, self.processed.model.system)

    def leave_out(self, element: Element, why: str) -> None:
        """Note what has no equal here."""
        self.unsupported.count(element, why)


def name_of(goal: Element) -> str:
    """The name of a goal or constraint."""
    return str(goal.get("name") or goal.tag)


def common(goal: Element, reading: Reading) -> dict[str, Any]:
    """Weight, name, and whether the goal is averaged; what has no equal is noted."""
    weight = number(goal, "weight", 1.0)
    if boolean(goal, "divide_by_mass"):
        weight /= float(total_mass(reading.processed.model.system))
    if boolean(goal, "divide_by_displacement"):
        reading.leave_out(goal, "its division by the displacement")
    if children(goal, "scale_factors"):
        reading.leave_out(goal, "its scale factors")
    return {"weight": weight, "name": name_of(goal), "mean": boolean(goal, "divide_by_duration")}


# ---- controls and states ---------------------------------------------------------------------------------------


def _effort(goal: Element, reading: Reading) -> list[Goal]:
    """Squares or other powers of the controls. Weights of patterns apply first, then those by name."""
    names, factors = reading.names, dict[str, float]()
    for pattern, weight in weights(goal, "control_weights_pattern").items():
        factors |= dict.fromkeys(names.matching(pattern, names.controls), weight)
    for path, weight in weights(goal, "control_weights").items():
        name = names.control(path)
        if name is None:
            complain(goal, f"the model has no control {path!r}")
        factors[name] = weight
    if not names.controls:
        reading.leave_out(goal, "the model has no controls")
        return []
    return [Effort(int(number(goal, "exponent", 2.0)), factors, **common(goal, reading))]


@dataclass(frozen=True)
class SquaredStates:
    """The weighted sum of the squares of states by name: the formula."""

    weights: tuple[tuple[str, float], ...]

    def __call__(self, point: Point) -> Array:
        terms = [weight * point[name] ** 2 for name, weight in self.weights]
        result: Array = np.asanyarray(sum(terms[1:], terms[0]))
        return result


def _squared_states(goal: Element, reading: Reading) -> list[Goal]:
    """Squares of all states, or of those whose names match a pattern."""
    names, pattern = reading.names, text(goal, "pattern", ".*")
    factors = dict.fromkeys(names.matching(pattern, names.all_states), 1.0)
    for path, weight in weights(goal, "state_weights").items():
        name = names.state(path)
        if name is None:
            complain(goal, f"the model has no state {path!r}")
        factors[name] = weight
    if any(names.matching(pattern, {end: end}) for end in names.fibers):
        reading.leave_out(goal, "its normalized tendon forces")
    return [OwnGoal(SquaredStates(tuple(factors.items())), **common(goal, reading))] if factors else []


def _track_states(goal: Element, reading: Reading) -> list[Goal]:
    """States beside recorded ones."""
    table, pattern = reading.table(goal, "reference"), text(goal, "pattern", ".*")
    given = {reading.names.state(path): weight for path, weight in weights(goal, "state_weights").items()}
    known = set(reading.names.matching(pattern, reading.names.all_states))
    unused = [label for label in table.labels if reading.names.state(label) not in known]
    if unused and not boolean(goal, "allow_unused_references"):
        complain(goal, f"the model has no state {unused[0]!r}; <allow_unused_references> passes over it")
    chosen = {k: name for k, label in enumerate(table.labels) if (name := reading.names.state(label)) in known}
    return track_states(
        table, chosen, given, boolean(goal, "scale_weights_with_range"), common(goal, reading)
    )  # fmt: skip


def track_states(
    table: Table, chosen: Mapping[int, str | None], given: Mapping[str | None, float], scaled: bool,
    options: dict[str, Any],
) -> list[Goal]:  # fmt: skip
    """Follow the columns `chosen` of a table. scaled: weights are over the ranges of the columns."""
    columns = list(chosen)
    values = table.values[:, columns]
    ranges = np.ptp(values, axis=0) if scaled else np.ones(len(columns))
    factors = {
        str(name): given.get(name, 1.0) / span if given.get(name, 1.0) else 0.0
        for name, span in zip(chosen.values(), ranges, strict=True)
    }
    followed = [name for name, weight in factors.items() if weight]
    kept = [list(factors).index(name) for name in followed]
    if not followed:
        return []
    return [
        TrackCoordinates(tuple(followed), table.time, values[:, kept], {n: factors[n] for n in followed}, **options)
    ]


def _track_controls(goal: Element, reading: Reading) -> list[Goal]:
    """Controls beside recorded ones, by the labels that the goal names, otherwise by their own names."""
    table, names = reading.table(goal, "reference"), reading.names
    labels = {str(e.get("name")): text(e, "reference") for e in children(goal, "reference_labels")}
    pairs = labels or {label: label for label in table.labels if names.control(label)}
    given = {names.control(path): weight for path, weight in weights(goal, "control_weights").items()}
    chosen = {}
    for path, label in pairs.items():
        if names.control(path) is None or label not in table.labels:
            complain(goal, f"no control {path!r} in the model, or no column {label!r} in the table")
        chosen[table.labels.index(label)] = names.control(path)
    return track_states(table, chosen, given, False, common(goal, reading))


# ---- bodies and forces -----------------------------------------------------------------------------------------


def _track_markers(goal: Element, reading: Reading) -> list[Goal]:
    """Markers of a file with weights by name."""
    holder = property_of(goal, "markers_reference", "MarkersReference")
    name = "" if holder is None else text(holder, "marker_file", "")
    if holder is None or name in ("", "Unassigned"):
        complain(goal, "its MarkersReference names no file")
    markers = load_markers(reading.file.document.named(holder, "marker_file", name))
    otherwise = number(holder, "default_weight", 1.0)
    factors = dict.fromkeys(markers.names, otherwise)
    for element in holder.iter("MarkerWeight"):
        low_high = interval(element, "weight")
        factors[str(element.get("name"))] = otherwise if low_high is None else low_high[0]
    return [TrackMarkers(markers, {n: w for n, w in factors.items() if n in markers.names}, **common(goal, reading))]


def _track_orientations(goal: Element, reading: Reading) -> list[Goal]:
    """Rotations of bodies beside those in a recorded motion."""
    if text(goal, "rotation_reference_file", ""):
        reading.leave_out(goal, "its file of rotations")
        return []
    system = reading.processed.model.system
    bodies = [tail(path) for path in text(goal, "frame_paths", "").split()]
    unknown = [body for body in bodies if body not in system.body_names]
    if unknown or not bodies:
        reading.leave_out(goal, f"frames other than bodies: {', '.join(unknown) or 'none is named'}")
        return []
    motion = motion_of_table(reading.processed.model, reading.table(goal, "states_reference"), reading.names)
    poses = system.poses(motion.q)
    turned = np.stack([quaternion_from_matrix(poses[body][0]) for body in bodies], axis=1)
    sensors = tuple(Sensor(body, body, (1.0, 0.0, 0.0, 0.0)) for body in bodies)
    factors = {tail(path): weight for path, weight in weights(goal, "rotation_weights").items()}
    recorded = Orientations(motion.time, tuple(bodies), turned)
    return [TrackOrientations(recorded, sensors, factors, **common(goal, reading))]


def _track_contact_forces(goal: Element, reading: Reading) -> list[Goal]:
    """Contact forces of groups beside external loads."""
    name = text(goal, "external_loads_file", "")
    projected = text(goal, "projection", "none") != "none" or boolean(goal, "normalize_tracking_error")
    if not name or projected:
        reading.leave_out(goal, "projections, normalized errors and loads inside the document")
        return []
    loads = load_forces(reading.file.document.named(goal, "external_loads_file", name))
    surfaces = {f.name: f.pairs for f in reading.processed.model.forces if isinstance(f, ContactForce)}
    bodies = {}
    for group in children(goal, "contact_groups"):
        paths = [tail(path) for path in text(group, "contact_force_paths", "").split()]
        if set(paths) - set(surfaces):
            complain(group, f"the model has no contact force {min(set(paths) - set(surfaces))!r}")
        own = {surface.body for path in paths for pair in surfaces[path] for surface in pair}
        bodies[text(group, "external_force_name")] = tuple(sorted(own - {reading.processed.model.system.ground}))
    kept = [loads.names.index(name) for name in bodies if name in loads.names]
    if len(kept) < len(bodies):
        complain(goal, f"the external loads have no force {min(set(bodies) - set(loads.names))!r}")
    factors = {load: float(load in bodies) for load in loads.names}
    others = {load: next(iter(bodies.values())) for load in loads.names if load not in bodies}
    return [TrackContactForces(loads, bodies | others, factors, **common(goal, reading))]


GOALS: dict[str, Callable[[Element, Reading], list[Goal]]] = {
    "MocoContactTrackingGoal": _track_contact_forces,
    "MocoControlGoal": _effort,
    "MocoControlTrackingGoal": _track_controls,
    "MocoMarkerTrackingGoal": _track_markers,
    "MocoOrientationTrackingGoal": _track_orientations,
    "MocoStateTrackingGoal": _track_states,
    "MocoSumSquaredStateGoal": _squared_states,
}
