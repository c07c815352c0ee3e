"""MocoTrack and MocoInverse as goals, bounds and settings."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from myoquat.analysis.control.checks import MAX_INTERVALS
from myoquat.analysis.control.conditions import BoundaryConstraint
from myoquat.analysis.control.files.moco import MocoTrajectory, load_moco_trajectory
from myoquat.analysis.control.goals.base import Goal
from myoquat.analysis.control.goals.effort import Effort
from myoquat.analysis.control.goals.muscles import TendonForceRates
from myoquat.analysis.control.goals.own import OwnGoal
from myoquat.analysis.control.goals.tracking import TrackMarkers
from myoquat.analysis.control.solvers.ipopt import Ipopt
from myoquat.analysis.control.transcriptions import HermiteSimpson
from myoquat.apps.moco.bounds import SPEEDS, Limits, own_limits
from myoquat.apps.moco.conditions import Unequal
from myoquat.apps.moco.goals import Reading, SquaredStates, track_states
from myoquat.apps.moco.tables import Table, motion_of_table, read_table, with_rates
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.data import Motion, load_markers
from myoquat.data.document import boolean, number, positive, text
from myoquat.data.omoco.read import weights
from myoquat.data.xml import Element, complain

__all__ = ["Parts", "inverse_parts", "track_parts"]

CLIPPED = 1e-3  # s, at both ends, with <clip_time_range>
TRACK_TOLERANCE, TRACK_EFFORT = 1e-2, 1e-3
INVERSE_TOLERANCE, TENDON_WEIGHT = 1e-3, 0.01
MESH_INTERVAL = 0.02  # s
IPOPT_ITERATIONS = 3000


@dataclass(frozen=True, eq=False)
class Parts:
    """Goals, constraints, bounds, times [s], mesh, transcription, solver and guess of a problem."""

    goals: tuple[Goal, ...]
    constraints: tuple[BoundaryConstraint, ...]
    limits: Limits
    span: tuple[float, float]
    intervals: int
    method: HermiteSimpson
    solver: Ipopt
    guess: MocoTrajectory | Mapping[str, Any] | None = None


def _span(root: Element, times: list[Array]) -> tuple[float, float, int]:
    """Start and end [s], by default those of the data, and the number of intervals."""
    first = max(float(time[0]) for time in times)
    last = min(float(time[-1]) for time in times)
    start, end = number(root, "initial_time", first), number(root, "final_time", last)
    if boolean(root, "clip_time_range"):
        start, end = start + CLIPPED, end - CLIPPED
    if not end > start:
        complain(root, f"it ends before it begins: {start:g} to {end:g} s")
    width = positive(root, "mesh_interval", MESH_INTERVAL)
    if (end - start) / width > MAX_INTERVALS:
        complain(root, f"a <mesh_interval> of {width:g} s makes more than {MAX_INTERVALS} intervals")
    return start, end, math.ceil((end - start) / width - 1e-9)


# ---- MocoTrack -------------------------------------------------------------------------------------------------


def track_parts(reading: Reading) -> Parts:
    """States and markers are followed with little effort."""
    root, file = reading.file.root, reading.file
    goals: list[Goal] = []
    times, followed = [], None
    states = file.processor(root, "states_reference", "TableProcessor")
    if states is not None:
        followed = read_table(states, reading.names, reading.processed.model.system)
        if boolean(root, "track_reference_position_derivatives"):
            followed = with_rates(followed, reading.names)
        goals += _states(reading, followed)
        times.append(followed.time)
    markers = file.processor(root, "markers_reference", "TableProcessor")
    if markers is not None:
        goals.append(_markers(reading, markers))
        times.append(goals[-1].markers.time)  # type: ignore[attr-defined]
    if boolean(root, "minimize_control_effort", True):
        given = {reading.names.control(path) or path: w for path, w in weights(root, "controls_weight_set").items()}
        weight = number(root, "control_effort_weight", TRACK_EFFORT)
        goals.append(Effort(weights=given, weight=weight, name="control_effort"))
    if not times:
        complain(root, "it has neither <states_reference> nor <markers_reference> with a file")
    start, end, intervals = _span(root, times)
    solver = Ipopt(TRACK_TOLERANCE, TRACK_TOLERANCE, IPOPT_ITERATIONS, "limited-memory")
    return Parts(
        tuple(goals), (), own_limits(reading, SPEEDS), (start, end), intervals, HermiteSimpson(linear_controls=True),
        solver, _guess_of_tool(reading, followed, (start, end), intervals),
    )  # fmt: skip


def _states(reading: Reading, table: Table) -> list[Goal]:
    """Coordinates that are constrained are not followed unless their weight is given."""
    root, names, model = reading.file.root, reading.names, reading.processed.model
    own = {names.state(path): weight for path, weight in weights(root, "states_weight_set").items()}
    held = {c.name for c in model.coordinates if c.locked} | {coupler.dependent for coupler in model.couplers}
    speeds = {end.rsplit("/", 1)[0]: velocity for end, velocity in names.speeds.items()}
    values = {end.rsplit("/", 1)[0]: name for end, name in names.values.items()}
    zeros: dict[str | None, float] = {
        name: 0.0 for place, c in values.items() if c in held for name in (c, speeds.get(place, c))
    }
    chosen = {k: names.state(label) for k, label in enumerate(table.labels) if names.state(label)}
    if len(chosen) < len(table.labels) and not boolean(root, "allow_unused_references"):
        unused = next(label for label in table.labels if not names.state(label))
        complain(root, f"the model has no state {unused!r}; <allow_unused_references> passes over it")
    options = {"weight": number(root, "states_global_tracking_weight", 1.0), "name": "state_tracking"}
    return track_states(table, chosen, zeros | own, boolean(root, "scale_state_weights_with_range"), options)


def _markers(reading: Reading, processor: Any) -> TrackMarkers:
    if processor.file is None:
        complain(processor.element, "the TableProcessor names no file")
    if processor.operators:
        reading.leave_out(processor.operators[0], "an operator on markers")
    markers, root = load_markers(processor.file), reading.file.root
    given = {name: w for name, w in weights(root, "markers_weight_set").items() if name in markers.names}
    weight = number(root, "markers_global_tracking_weight", 1.0)
    return TrackMarkers(markers, given, weight=weight, name="marker_tracking")


def _guess_of_tool(
    reading: Reading, table: Table | None, span: tuple[float, float], intervals: int
) -> MocoTrajectory | Mapping[str, Any] | None:
    """A file, otherwise the states that are followed."""
    file, name = reading.file, text(reading.file.root, "guess_file", "")
    if name:
        return load_moco_trajectory(file.document.named(file.root, "guess_file", name))
    if table is None:
        return None
    at = np.linspace(*span, 2 * intervals + 1)
    names = {reading.names.state(label): k for k, label in enumerate(table.labels)}
    return {name: np.interp(at, table.time, table.values[:, k]) for name, k in names.items() if name is not None}


# ---- MocoInverse -----------------------------------------------------------------------------------------------


def inverse_parts(reading: Reading) -> tuple[Parts, Motion]:
    """Least excitations of a motion that is prescribed, and that motion."""
    root, names, model = reading.file.root, reading.names, reading.processed.model
    processor = reading.file.processor(root, "kinematics", "TableProcessor")
    if processor is None:
        complain(root, "<kinematics> names no file")
    table = read_table(processor, names, model.system)
    unused = [label for label in table.labels if names.state(label) is None]
    if unused and not boolean(root, "kinematics_allow_extra_columns"):
        complain(root, f"the model has no state {unused[0]!r}; <kinematics_allow_extra_columns> passes over it")
    if text(root, "output_paths", ""):
        reading.leave_out(root.find("output_paths") or root, "outputs")
    start, end, intervals = _span(root, [table.time])
    tolerance, feasible = (
        number(root, f"{word}_tolerance", INVERSE_TOLERANCE) for word in ("convergence", "constraint")
    )
    most = int(number(root, "max_iterations", IPOPT_ITERATIONS))
    dynamic = tuple((m.name, f"{m.name}.activation") for m in model.muscles if m.activation_dynamics is not None)
    zeros = (0.0,) * len(dynamic)
    held = (BoundaryConstraint("initial_activation", Unequal(dynamic), zeros, zeros),) if dynamic else ()
    limits = own_limits(reading, None)
    limits.path.update({state: limits.path[name] for name, state in dynamic if name in limits.path})
    parts = Parts(
        _inverse_goals(reading), held, limits, (start, end), intervals, HermiteSimpson(),
        Ipopt(tolerance, feasible, most, "limited-memory"),
    )  # fmt: skip
    return parts, motion_of_table(model, table, names)


def _inverse_goals(reading: Reading) -> tuple[Goal, ...]:
    root, names = reading.file.root, reading.names
    reserves = dict.fromkeys(names.matching(".*/reserve_.*", names.controls), number(root, "reserves_weight", 1.0))
    goals: list[Goal] = [Effort(weights=reserves, name="excitation_effort")]
    if boolean(root, "minimize_sum_squared_activations") and names.states:
        squares = tuple((name, 1.0) for name in names.states.values())
        goals.append(OwnGoal(SquaredStates(squares), name="activation_effort"))
    if tuple(names.fibers):
        goals.append(TendonForceRates(weight=TENDON_WEIGHT, name="auxiliary_derivatives"))
    return tuple(goals)
