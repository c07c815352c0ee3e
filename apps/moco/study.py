"""Files of OpenSim Moco, .omoco, as problems: MocoStudy, MocoTrack and MocoInverse."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from myoquat.analysis.control.conditions import BoundaryConstraint, PathCondition, PathConstraint
from myoquat.analysis.control.goals.base import Accelerations, Goal, OwnGoal
from myoquat.analysis.control.goals.muscles import Effort, TendonForceRates
from myoquat.analysis.control.goals.tracking import TrackMarkers
from myoquat.analysis.control.ipopt import Ipopt, Progress
from myoquat.analysis.control.moco import MocoTrajectory, load_moco_trajectory, own_velocities
from myoquat.analysis.control.problem import MAX_INTERVALS, Problem
from myoquat.analysis.control.solution import Solution
from myoquat.analysis.control.transcriptions import Gauss, HermiteSimpson, Radau, Transcription, Trapezoid
from myoquat.core import PATH, Array, check_types, frozen, pandas as pd
from myoquat.data import Markers, Motion, load_markers
from myoquat.data.motions.angular_speeds import angular_triples
from myoquat.data.omoco import (
    IN_MEMORY,
    Interval,
    Processor,
    VariableInfo,
    children,
    interval,
    property_of,
    read_moco,
    weights,
)
from myoquat.data.reports import UnsupportedElements
from myoquat.data.xml import Element, boolean, complain, last_name, number, numbers, positive, text
from myoquat.joints.errors import ModelError
from myoquat.muscle import Model, Parameters, parameter_names
from myoquat.muscle.actuators import delayed

from .goals import ENDS, GOALS, PATHS, AngularVelocity, SquaredStates, equal_at_start, track_states
from .models import Reading, with_rates

Guess = MocoTrajectory | Motion | Mapping[str, Any] | None
Read = tuple[Problem, Ipopt, Guess]
Bounds = dict[str, dict[str, Interval]]  # by name: of a Problem's arguments "bounds", "initial" and "final"


@frozen(eq=False)
class MocoStudy:
    """A file of Moco as a problem of this package.

    name      of the study
    problem   with goals, bounds, constraints and parameters of the file
    solver    with the settings of the file
    guess     Moco's own guess, or the tracked motion, or None
    left_out  elements of the file without an equal in this package, with lines

    >>> from myoquat.analysis.control import Ipopt, Problem
    >>> from myoquat.apps.moco import MocoStudy
    >>> import myoquat as mq
    >>> still = Problem(mq.load_model("two_link"), 1.0)
    >>> MocoStudy("still", still, Ipopt(), None, ("1 MocoOutputGoal (goal), line 10",)).problem
    <Problem 1 s, 50 intervals of hermite_simpson, 0 goals>
    """

    name: str
    problem: Problem
    solver: Ipopt
    guess: Guess
    left_out: tuple[str, ...]

    def solve(self, watch: Callable[[Progress], object] | None = None) -> Solution:
        """The solution with Moco's settings from its guess; `watch` as in `Problem.solve`."""
        return self.problem.solve(self.guess, self.solver, watch=watch)


INTERVALS, SCHEME = 100, "hermite-simpson"
IPOPT = Ipopt(1e-8, 1e-4, 3000, "limited-memory")  # where Moco leaves its settings to IPOPT
LEFT_OUT = ("minimize_lagrange_multipliers", "scale_variables_using_bounds")


def read_settings(
    solver: Element | None, elastic: bool, unsupported: UnsupportedElements
) -> tuple[int | Sequence[float], Transcription, Ipopt, list[Goal]]:
    """Intervals, transcription, solver, and the goals of implicit derivatives, which Moco's solver adds.

    They are those of a MocoCasADiSolver; Moco's own without one. elastic: whether the model has elastic tendons.
    """
    if solver is None:
        return INTERVALS, HermiteSimpson(linear_controls=True), IPOPT, []
    intervals = numbers(solver, "mesh", None, ()) or int(number(solver, "num_mesh_intervals", INTERVALS))
    for tag in LEFT_OUT:
        if boolean(solver, tag):
            unsupported.count(solver, tag)
    if text(solver, "optim_solver", "ipopt") != "ipopt":
        unsupported.count(solver, f"optim_solver {text(solver, 'optim_solver')}")
    goals: list[Goal] = []
    if boolean(solver, "minimize_implicit_auxiliary_derivatives") and elastic:
        weight = number(solver, "implicit_auxiliary_derivatives_weight", 1.0)
        goals.append(TendonForceRates(weight=weight, name="auxiliary_derivatives"))
    implicit = text(solver, "multibody_dynamics_mode", "explicit") == "implicit"
    if implicit and boolean(solver, "minimize_implicit_multibody_accelerations"):
        weight = number(solver, "implicit_multibody_accelerations_weight", 1.0)
        goals.append(Accelerations(weight=weight, name="multibody_accelerations"))
    scheme = text(solver, "transcription_scheme", SCHEME)
    linear = boolean(solver, "interpolate_control_mesh_interior_points", True)
    staged = re.fullmatch(r"legendre-gauss(-radau)?-([1-9])", scheme)
    method: Transcription = Trapezoid() if scheme == "trapezoidal" else HermiteSimpson(linear_controls=linear)
    if staged is not None:
        method = (Radau if staged[1] else Gauss)(int(staged[2]), linear)
    elif scheme not in (SCHEME, "trapezoidal"):
        complain(solver.find("transcription_scheme"), f"the transcription {scheme!r} is not known")
    tolerance, feasible, most = (
        number(solver, f"optim_{name}", -1.0)
        for name in ("convergence_tolerance", "constraint_tolerance", "max_iterations")
    )
    ipopt = Ipopt(
        tolerance if tolerance > 0 else IPOPT.tolerance,
        feasible if feasible > 0 else IPOPT.constraint_tolerance,
        int(most) if most > 0 else IPOPT.max_iterations,
        text(solver, "optim_hessian_approximation", IPOPT.hessian),
    )
    return intervals, method, ipopt, goals


RANGE = (-10.0, 10.0)  # of coordinates whose file has none, in rad and m
SPEEDS = (-50.0, 50.0)  # of coordinates whose speed has no bounds, in rad/s and m/s
PROPERTIES = {"mass_center": "center_of_mass", "pennation_angle_at_optimal": "pennation"}


def own_bounds(reading: Reading, speeds: Interval | None) -> Bounds:
    """Those of the model: ranges of coordinates, even if they are not clamped, speeds, controls, and activations of
    actuators, as their controls. A range may be infinite. speeds: None for a motion that is prescribed."""
    names, found = reading.names, dict[str, Interval]()
    if speeds is not None:
        known = {c.name: c for c in reading.model.coordinates}
        free = (name for name in names.values.values() if not (name in known and known[name].locked))
        found = {name: (known[name].range if name in known else None) or RANGE for name in free}
        found |= dict.fromkeys(names.speeds.values(), speeds)
    given = {names.control(label): low_high for label, low_high in reading.bounds.items()}
    found |= {name: low_high for name, low_high in given.items() if name is not None}
    found |= {f"{actuator.name}.activation": actuator.bounds[0] for actuator in delayed(reading.model).values()}
    return {"bounds": found, "initial": {}, "final": {}}


def read_bounds(reading: Reading) -> tuple[Bounds, list[PathCondition | BoundaryConstraint]]:
    """Those of a phase over those of the model, and constraints on angular velocities that are speeds in Moco.
    ModelError for names that the model does not have."""
    file, names = reading.file, reading.names
    holder = property_of(file.phase, "default_speed_bounds", "MocoBounds")
    default = None if holder is None else interval(holder, "bounds")
    found = own_bounds(reading, default or SPEEDS)
    given: set[str] = set()
    for what in ("state", "control"):
        for info in file.infos(f"{what}_infos"):
            chosen, ends = _named(info, reading, what), {"initial": info.initial, "final": info.final}
            if what == "control" and any(ends.values()):
                reading.leave_out(info.element, "bounds of a control at an end")
                ends = {}
            if info.bounds is not None:
                given.update(chosen)
            for place, bounds in {"bounds": info.bounds, **ends}.items():
                found[place] |= {} if bounds is None else dict.fromkeys(chosen, bounds)
    constraints = _bounds_of_angular_speeds(reading.model, found, given, default is not None)
    for tag in ("input_control_infos", "input_control_infos_pattern"):
        inputs = file.phase.find(tag)
        if inputs is not None and len(list(inputs.iterchildren("*"))):
            reading.leave_out(inputs, "input controls")
    if boolean(file.phase, "bound_activation_from_excitation", True):  # where nothing else is said
        for state in names.states.values():
            excitation = found["bounds"].get(state.removesuffix(".activation"))
            if excitation is not None:
                found["bounds"].setdefault(state, (max(excitation[0], 0.0), min(excitation[1], 1.0)))
    return found, constraints


def _bounds_of_angular_speeds(
    model: Model, found: Bounds, given: set[str], stated: bool
) -> list[PathCondition | BoundaryConstraint]:
    """Constraints in place of the bounds in `found` of speeds that are an angular velocity in Moco.

    Bounds at zero of all three mean rates of zero, and remain. Moco's default bounds remain where the file has no
    others: `stated` says that it has bounds for all speeds, `given` has the names of those with their own.
    """
    constraints: list[PathCondition | BoundaryConstraint] = []
    for angles in angular_triples(model):
        rates = tuple(own_velocities(model.system)[name] for name in angles)
        for place in ("bounds", "initial", "final"):
            if not found[place].keys() & rates or (place == "bounds" and not (stated or given & set(rates))):
                continue
            pairs = [found[place].get(rate, (-math.inf, math.inf)) for rate in rates]
            if all(pair == (0, 0) for pair in pairs):
                continue
            for rate in rates:
                found[place].pop(rate, None)
            lower, upper = zip(*pairs, strict=True)
            name, formula = f"angular velocity of {angles[0]}", AngularVelocity(angles, rates, int(place == "final"))
            if place == "bounds":
                constraints.append(PathConstraint(name, formula, lower, upper))
            else:
                constraints.append(BoundaryConstraint(f"{place} {name}", formula, lower, upper))
    return constraints


def _named(info: VariableInfo, reading: Reading, what: str) -> list[str]:
    """The names that bounds of a "state" or a "control" are of."""
    names = reading.names
    if info.is_pattern:
        return names.matching(info.name, names.all_states if what == "state" else names.controls)
    if what == "state" and info.name.endswith("/normalized_tendon_force"):
        reading.leave_out(info.element, "bounds of a tendon force, whose state is a fiber length here")
        return []
    return [reading.named(info.element, what, info.name)]


# ---- parameters ------------------------------------------------------------------------------------------------


def read_parameters(reading: Reading, elements: list[Element]) -> dict[str, Interval]:
    """Bounds of numbers of the model by name. What has no equal, such as one number for several parts, is noted."""
    found: dict[str, Interval] = {}
    known = parameter_names(reading.model) if elements else ()
    for element in elements:
        holder = property_of(element, "MocoBounds", "MocoBounds")
        bounds = None if holder is None else interval(holder, "bounds")
        # the name here of a property of one part of the model
        paths, place = text(element, "component_paths", "").split(), text(element, "property_element", "")
        written = text(element, "property_name", "")
        ending = f"{PROPERTIES.get(written, written)}{'.' + 'xyz'[int(place)] if place in ('0', '1', '2') else ''}"
        names = [f"{part}.{last_name(paths[0])}.{ending}" for part in ("bodies", "muscles", "actuators")
                 if len(paths) == 1]  # fmt: skip
        name = next((name for name in names if name in known), None)
        if name is None:
            reading.leave_out(element, "a parameter of several parts, or of a property that is not varied here")
        else:
            found[name] = (-math.inf, math.inf) if bounds is None else bounds
    return found


CLIPPED = 1e-3  # s, at both ends, with <clip_time_range>
TRACK_TOLERANCE, TRACK_EFFORT = 1e-2, 1e-3
INVERSE_TOLERANCE, TENDON_WEIGHT = 1e-3, 0.01
MESH_INTERVAL = 0.02  # s
IPOPT_ITERATIONS = 3000


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


def _track(reading: Reading) -> Read:
    """States and markers are followed with little effort."""
    root, goals = reading.file.root, list[Goal]()
    times, followed = [], None
    states, markers = (_reference(reading, f"{name}_reference") for name in ("states", "markers"))
    if states is not None:
        followed = reading.read(states)
        if boolean(root, "track_reference_position_derivatives"):
            followed = with_rates(reading, followed)
        goals += _states(reading, followed)
        times.append(followed.index.to_numpy(float))
    if markers is not None:
        tracked = _markers(reading, markers)
        goals.append(tracked)
        times.append(tracked.markers.time)
    if boolean(root, "minimize_control_effort", True):
        given = {reading.names.control(path) or path: w for path, w in weights(root, "controls_weight_set").items()}
        weight = number(root, "control_effort_weight", TRACK_EFFORT)
        goals.append(Effort(weights=given, weight=weight, name="control_effort"))
    if not times:
        complain(root, "it has neither <states_reference> nor <markers_reference> with a file")
    start, end, intervals = _span(root, times)
    problem = _problem(
        reading, own_bounds(reading, SPEEDS), duration=end - start, start=start, goals=goals, intervals=intervals,
        transcription=HermiteSimpson(linear_controls=True),
    )  # fmt: skip
    solver = Ipopt(TRACK_TOLERANCE, TRACK_TOLERANCE, IPOPT_ITERATIONS, "limited-memory")
    return problem, solver, _guess_of_tool(reading, followed, (start, end), intervals)


def _states(reading: Reading, table: "pd.DataFrame") -> list[Goal]:
    """Coordinates that are constrained are not followed unless their weight is given."""
    root, names, model = reading.file.root, reading.names, reading.model
    own = {names.state(path): weight for path, weight in weights(root, "states_weight_set").items()}
    held = model.locked | model.driven
    coordinates = (c for c in names.values.values() if c in held)
    rates = own_velocities(model.system)
    zeros: dict[str | None, float] = {name: 0.0 for c in coordinates for name in (c, rates[c])}
    chosen = {label: names.state(label) for label in table if names.state(label)}
    reading.check_used(root, table, {*chosen.values()}, "allow_unused_references")
    options = {"weight": number(root, "states_global_tracking_weight", 1.0), "name": "state_tracking"}
    return track_states(
        (root, reading), table, chosen, zeros | own, boolean(root, "scale_state_weights_with_range"), options
    )


def _reference(reading: Reading, name: str) -> Processor | None:
    """The table of a tool, None without one; one that was set in memory is noted."""
    root = reading.file.root
    found, element = reading.file.processor(root, name, "TableProcessor"), property_of(root, name, "TableProcessor")
    if found is not None and found.file is not None:
        return found
    if element is not None:
        reading.leave_out(element, IN_MEMORY.format(name, "its <filepath>"))
    return None


def _markers(reading: Reading, processor: Processor) -> TrackMarkers:
    assert processor.file is not None
    root, table = reading.file.root, load_markers(processor.file).to_dataframe()
    markers = Markers.from_dataframe(reading.operated(table, processor))
    given = {name: w for name, w in weights(root, "markers_weight_set").items() if name in markers.names}
    weight = number(root, "markers_global_tracking_weight", 1.0)
    return TrackMarkers(markers, weights=given, weight=weight, name="marker_tracking")


def _guess_of_tool(reading: Reading, table: "pd.DataFrame | None", span: tuple[float, float], intervals: int) -> Guess:
    """A file, otherwise the states that are followed."""
    file, name = reading.file, text(reading.file.root, "guess_file", "")
    if name:
        return load_moco_trajectory(file.document.named(file.root, "guess_file", name))
    if table is None:
        return None
    at = np.linspace(*span, 2 * intervals + 1)
    names = {reading.names.state(label): label for label in table}
    return {name: np.interp(at, table.index, table[label]) for name, label in names.items() if name is not None}


# ---- MocoInverse -----------------------------------------------------------------------------------------------


def _inverse(reading: Reading) -> Read:
    """Least excitations of a motion that is prescribed."""
    root, names, table = reading.file.root, reading.names, reading.table(reading.file.root, "kinematics")
    reading.check_used(root, table, {*names.all_states.values()}, "kinematics_allow_extra_columns")
    if text(root, "output_paths", ""):
        reading.leave_out(root.find("output_paths") or root, "outputs")
    tolerance, feasible = (number(root, f"{x}_tolerance", INVERSE_TOLERANCE) for x in ("convergence", "constraint"))
    solver = Ipopt(tolerance, feasible, int(number(root, "max_iterations", IPOPT_ITERATIONS)), "limited-memory")
    started = equal_at_start(reading.model)
    zeros = (0.0,) * len(started.pairs)
    held = (BoundaryConstraint("initial_activation", started, zeros, zeros),) if zeros else ()
    found = own_bounds(reading, None)
    limits = found["bounds"]
    limits |= {state: limits[name] for name, state, _ in started.pairs if name in limits}
    reserves = dict.fromkeys(names.matching(".*/reserve_.*", names.controls), number(root, "reserves_weight", 1.0))
    goals: list[Goal] = [Effort(weights=reserves, name="excitation_effort")]
    if boolean(root, "minimize_sum_squared_activations") and names.states:
        squares = tuple((name, 1.0) for name in names.states.values())
        goals.append(OwnGoal(SquaredStates(squares), name="activation_effort"))
    if tuple(names.fibers):
        goals.append(TendonForceRates(weight=TENDON_WEIGHT, name="auxiliary_derivatives"))
    start, end, intervals = _span(root, [table.index.to_numpy(float)])
    problem = _problem(
        reading, found, duration=end - start, start=start, goals=goals, intervals=intervals,
        transcription=HermiteSimpson(), constraints=held, prescribed=reading.motion(table),
    )  # fmt: skip
    return problem, solver, None


def load_moco_study(path: str | Path, strict: bool = False, *, shifted_normalization: bool = False) -> MocoStudy:
    """The problem in a file of OpenSim Moco, .omoco: a MocoStudy, a MocoTrack or a MocoInverse.

    The model is read in the angles of its file and changed by its operators. Bounds, goals, constraints, parameters and
    the settings of the solver become those of a `Problem`, as far as an equal exists. One UnsupportedWarning reports
    the rest with lines, or an error if `strict`. Files are looked for from the folder of this one. ModelError with file
    and line for a broken file, unknown names, and operators without an equal, because the model would move differently.

    shifted_normalization: where a MocoGeneralizedForceTrackingGoal normalizes its errors, and a weight is 0, OpenSim
    4.6 divides each following error by the peak of another column, because it counts the columns of weight 0. With
    True it is so here too; by default each error is divided by the peak of its own column.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import myoquat as mq
    >>> from myoquat.apps.moco import load_moco_study
    >>> folder = Path(tempfile.mkdtemp())
    >>> block = mq.Body("block", "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=1.0, coordinate_names=("x",))
    >>> mq.Model(mq.ArticulatedSystem((block,))).save(folder / "block.osim")
    >>> model = "<ModelProcessor name='model'><filepath>block.osim</filepath></ModelProcessor>"
    >>> end = "<MocoFinalBounds><bounds>2</bounds></MocoFinalBounds>"
    >>> time = f"<MocoInitialBounds><bounds>0</bounds></MocoInitialBounds>{end}"
    >>> phase = f"<MocoProblem><MocoPhase>{model}{time}</MocoPhase></MocoProblem>"
    >>> text = f'<OpenSimDocument Version="40600"><MocoStudy name="rest">{phase}</MocoStudy></OpenSimDocument>'
    >>> _ = (folder / "rest.omoco").write_text(text)
    >>> load_moco_study(folder / "rest.omoco").problem
    <Problem 2 s, 100 intervals of hermite_simpson, 0 goals>
    """
    check_types(path=(path, PATH))
    file, unsupported = read_moco(path), UnsupportedElements()
    try:
        holder = file.phase if file.tool == "MocoStudy" else file.root
        found = READERS[file.tool](Reading.of(file, holder, unsupported, shifted_normalization))
    except ModelError as error:
        raise (error if error.file else error.located(file.document.path, error.line)) from None
    except ValueError as error:
        raise ModelError(str(error), file=file.document.path) from None
    unsupported.report(file.document.path, strict)
    return MocoStudy(file.name, *found, tuple(unsupported.descriptions()))


# ---- a study ---------------------------------------------------------------------------------------------------


def _study(reading: Reading) -> Read:
    file, phase = reading.file, reading.file.phase
    solver = property_of(file.root, "solver", "MocoCasADiSolver")
    intervals, method, ipopt, added = read_settings(solver, bool(tuple(reading.names.fibers)), reading.unsupported)
    goals, constraints = _goals_and_constraints(reading, phase)
    found, added_constraints = read_bounds(reading)
    parameters = read_parameters(reading, children(phase, "parameters"))
    start, duration = _times(reading, phase)
    guess = None
    if solver is not None and (name := text(solver, "guess_file", "")):
        guess = load_moco_trajectory(file.document.named(solver, "guess_file", name))
    if parameters:  # inside their bounds, where a search can start
        binding = Parameters.of(reading.model, list(parameters))
        limits = np.array([parameters[name] for name in binding.names]).T
        values = np.clip(binding.defaults, *limits)
        if (values != binding.defaults).any():
            reading.model = cast("Model", binding.bind(values))
    problem = _problem(
        reading, found, duration=duration, start=start, goals=(*goals, *added), intervals=intervals,
        transcription=method, constraints=(*constraints, *added_constraints), parameters=parameters,
    )  # fmt: skip
    return problem, ipopt, guess


READ: Mapping[str, Callable[[Element, Reading], Sequence[Any]]] = {**GOALS, **ENDS}


def _goals_and_constraints(
    reading: Reading, phase: Element
) -> tuple[list[Goal], list[PathCondition | BoundaryConstraint]]:
    """Goals that are enabled, and constraints; those without an equal are noted."""
    found = list[Any]()
    for element in children(phase, "goals"):
        as_constraint = text(element, "mode", "") == "endpoint_constraint"
        if not boolean(element, "enabled", True):
            continue
        if element.tag in ENDS or (element.tag in GOALS and not as_constraint):
            found += READ[element.tag](element, reading)
        else:
            reading.leave_out(element, "goal as a constraint" if as_constraint else "goal")
    for element in children(phase, "path_constraints"):
        if element.tag in PATHS:
            found += PATHS[element.tag](element, reading)
        else:
            reading.leave_out(element, "path constraint")
    return [x for x in found if isinstance(x, Goal)], [x for x in found if not isinstance(x, Goal)]


def _times(reading: Reading, phase: Element) -> tuple[float, float | Interval]:
    """Start [s], and the duration or its bounds."""
    holder, (low, high) = _time_bounds(phase, "time_initial_bounds", "MocoInitialBounds")
    _, (first, last) = _time_bounds(phase, "time_final_bounds", "MocoFinalBounds")
    if low != high:
        reading.leave_out(holder, f"a free initial time, taken as {low:g} s")
    least, greatest = max(first - low, 0.0), last - low
    return low, (greatest if first == last else (least, greatest))


def _time_bounds(phase: Element, name: str, tag: str) -> tuple[Element, Interval]:
    holder = property_of(phase, name, tag)
    found = None if holder is None else interval(holder, "bounds")
    if holder is None or found is None:
        complain(phase if holder is None else holder, f"<{name}> has no bounds")
    return holder, found


def _problem(reading: Reading, found: Bounds, **options: Any) -> Problem:
    """The problem of a model, its loads and its added torques. Bounds on the path that are infinite on both sides are
    left out."""
    bounds = {name: pair for name, pair in found["bounds"].items() if np.isfinite(pair).any()}
    torques = {velocity: scale for velocity, (_, scale) in reading.added.items()}
    options |= found | {"bounds": bounds}
    return Problem(reading.model, torques=torques, loads=reading.loads, **options)


READERS: dict[str, Callable[[Reading], Read]] = {
    "MocoInverse": _inverse,
    "MocoStudy": _study,
    "MocoTrack": _track,
}
