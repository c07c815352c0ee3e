"""Files of OpenSim Moco, .omoco, as problems: MocoStudy, MocoTrack and MocoInverse."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from myoquat.analysis.control.conditions import BoundaryConstraint, PathCondition
from myoquat.analysis.control.files.moco import MocoTrajectory, load_moco_trajectory
from myoquat.analysis.control.goals.base import Goal
from myoquat.analysis.control.problem import Problem
from myoquat.analysis.control.solution import Solution
from myoquat.analysis.control.solvers.ipopt import Ipopt
from myoquat.analysis.control.solvers.progress import Progress
from myoquat.apps.moco.bounds import Limits, read_limits, read_parameters
from myoquat.apps.moco.conditions import ENDS, PATHS
from myoquat.apps.moco.goals import GOALS, Reading
from myoquat.apps.moco.models import MocoModel, read_processed_model
from myoquat.apps.moco.names import MocoNames
from myoquat.apps.moco.settings import Settings, read_settings
from myoquat.apps.moco.tools import inverse_parts, track_parts
from myoquat.core.arguments import PATH, check_types
from myoquat.core.records import dataclass
from myoquat.data.document import boolean, text
from myoquat.data.motions import Motion
from myoquat.data.omoco import MocoFile, read_moco
from myoquat.data.omoco.read import Interval, children, interval, property_of
from myoquat.data.reports import UnsupportedElements
from myoquat.data.xml import Element, complain
from myoquat.joints.errors import ModelError
from myoquat.muscle import Model, Parameters

__all__ = ["MocoStudy", "load_moco_study"]


@dataclass(frozen=True, eq=False)
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
    guess: MocoTrajectory | Motion | Mapping[str, Any] | None
    left_out: tuple[str, ...]

    def solve(self, watch: Callable[[Progress], object] | None = None) -> Solution:
        """The solution with Moco's settings from its guess; `watch` as in `Problem.solve`."""
        return self.problem.solve(self.guess, self.solver, watch=watch)


def load_moco_study(path: str | Path, strict: bool = False) -> MocoStudy:
    """The problem in a file of OpenSim Moco, .omoco: a MocoStudy, a MocoTrack or a MocoInverse.

    The model is read in the angles of its file and changed by its operators. Bounds, goals, constraints, parameters and
    the settings of the solver become those of a `Problem`, as far as an equal exists. One UnsupportedWarning reports
    the rest with lines, or an error if `strict`. Files are looked for from the folder of this one. ModelError with file
    and line for a broken file, unknown names, and operators without an equal, because the model would move differently.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import myoquat as mq
    >>> from myoquat.analysis.control import load_moco_study
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
        found = READERS[file.tool](file, unsupported)
    except ModelError as error:
        raise (error if error.file else error.located(file.document.path, error.line)) from None
    except ValueError as error:
        raise ModelError(str(error), file=file.document.path) from None
    unsupported.report(file.document.path, strict)
    return replace(found, left_out=tuple(unsupported.descriptions()))


# ---- a study ---------------------------------------------------------------------------------------------------


def _reading(file: MocoFile, holder: Element, unsupported: UnsupportedElements) -> Reading:
    processor = file.processor(holder, "model", "ModelProcessor")
    processed = read_processed_model(file, processor, unsupported)
    return Reading(file, processed, MocoNames.of(processed.model, processed.labels), unsupported)


def _study(file: MocoFile, unsupported: UnsupportedElements) -> MocoStudy:
    reading, phase = _reading(file, file.phase, unsupported), file.phase
    solver = property_of(file.root, "solver", "MocoCasADiSolver")
    elastic = bool(tuple(reading.names.fibers))
    settings = read_settings(solver, elastic, unsupported)
    goals, constraints = _goals_and_constraints(reading, phase)
    limits = read_limits(reading)
    parameters = read_parameters(reading, children(phase, "parameters"))
    model = _within(reading.processed.model, parameters)
    start, duration = _times(reading, phase)
    problem = Problem(
        model, duration, (*goals, *settings.goals), settings.intervals, settings.method, start=start,
        torques=reading.processed.torques, initial=limits.initial, final=limits.final, bounds=_finite(limits),
        constraints=constraints, loads=reading.processed.loads, parameters=parameters,
    )  # fmt: skip
    return MocoStudy(file.name, problem, settings.solver, _guess(file, settings), ())


def _goals_and_constraints(
    reading: Reading, phase: Element
) -> tuple[list[Goal], list[PathCondition | BoundaryConstraint]]:
    """Goals that are enabled, and constraints; those without an equal are noted."""
    goals: list[Goal] = []
    constraints: list[PathCondition | BoundaryConstraint] = []
    for element in children(phase, "goals"):
        if not boolean(element, "enabled", True):
            continue
        for found in _goal(element, reading):
            if isinstance(found, Goal):
                goals.append(found)
            else:
                constraints.append(found)
    for element in children(phase, "path_constraints"):
        if element.tag in PATHS:
            constraints += PATHS[element.tag](element, reading)
        else:
            reading.leave_out(element, "path constraint")
    return goals, constraints


def _goal(element: Element, reading: Reading) -> list[Goal] | list[Goal | BoundaryConstraint]:
    if element.tag in ENDS:
        return ENDS[element.tag](element, reading)
    as_constraint = text(element, "mode", "") == "endpoint_constraint"
    if element.tag not in GOALS or as_constraint:
        reading.leave_out(element, "goal as a constraint" if as_constraint else "goal")
        return []
    return GOALS[element.tag](element, reading)


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


def _within(model: Model, parameters: Mapping[str, Interval]) -> Model:
    """The model with parameters inside their bounds, where a search can start."""
    if not parameters:
        return model
    binding = Parameters.of(model, list(parameters))
    values = [float(np.clip(x, *parameters[name])) for name, x in zip(binding.names, binding.defaults, strict=True)]
    return model if values == list(binding.defaults) else cast("Model", binding.bind(np.array(values)))


def _finite(limits: Limits) -> dict[str, Interval]:
    """Bounds on the path, infinite ones on both sides left out."""
    return {name: pair for name, pair in limits.path.items() if np.isfinite(pair).any()}


def _guess(file: MocoFile, settings: Settings) -> MocoTrajectory | None:
    if not settings.guess_file:
        return None
    solver = property_of(file.root, "solver", "MocoCasADiSolver")
    assert solver is not None
    return load_moco_trajectory(file.document.named(solver, "guess_file", settings.guess_file))


# ---- MocoTrack and MocoInverse ---------------------------------------------------------------------------------


def _track(file: MocoFile, unsupported: UnsupportedElements) -> MocoStudy:
    reading = _reading(file, file.root, unsupported)
    parts = track_parts(reading)
    return _tool(file, reading, parts, {})


def _inverse(file: MocoFile, unsupported: UnsupportedElements) -> MocoStudy:
    reading = _reading(file, file.root, unsupported)
    parts, motion = inverse_parts(reading)
    return _tool(file, reading, parts, {"prescribed": motion})


def _tool(file: MocoFile, reading: Reading, parts: Any, options: dict[str, Any]) -> MocoStudy:
    processed: MocoModel = reading.processed
    start, end = parts.span
    problem = Problem(
        processed.model, end - start, parts.goals, parts.intervals, parts.method, start=start,
        torques=processed.torques, bounds=_finite(parts.limits), constraints=parts.constraints,
        loads=processed.loads, **options,
    )  # fmt: skip
    return MocoStudy(file.name, problem, parts.solver, parts.guess, ())


READERS: dict[str, Callable[[MocoFile, UnsupportedElements], MocoStudy]] = {
    "MocoInverse": _inverse,
    "MocoStudy": _study,
    "MocoTrack": _track,
}
