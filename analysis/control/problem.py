"""A model, what its motion shall do, and between which bounds; and such problems one after the other, solved as one."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from numbers import Real
from types import NoneType
from typing import Any

import numpy as np

from myoquat.analysis.motion.inverse_dynamics import check_frames
from myoquat.core import CALLABLE, Array, Record, Solved, check_items, check_type, check_types, frozen, real_array
from myoquat.data.motions import Forces, Motion, MotionLike, motion_of
from myoquat.joints.evaluation import SystemLike, system_of
from myoquat.muscle import Model
from myoquat.muscle.constraints.path_length import solved_surface
from myoquat.muscle.loads import LoadFrames

from .conditions import (
    BoundaryConstraint,
    Ends,
    PathCondition,
    PathConstraint,
    Periodic,
    Quantities,
    Values,
    equality,
    periodic_constraint,
    periodic_pairs,
)
from .discretization import Discretization, Posed, Sites, Statement, block_of_ends
from .goals.base import Goal, IntegralGoal
from .guesses import default_sites, sites_of_mapping, sites_of_motion
from .ipopt import Block, Ipopt, Iterates, Program, Progress, SolutionStatus, run_ipopt
from .moco import MocoTrajectory, sites_of_trajectory
from .plants import Equations, ModelPlant, OwnPlant, Plant, PrescribedPlant
from .plants.base import Bound, independent, interval, parameters_of_equations, parameters_of_model
from .plants.model import Acting
from .solution import Explanation, MeasuredMesh, Refinement, Solution, explanation_of, goals_at, refined, solution_of
from .transcriptions import TRANSCRIPTIONS, Layout, Transcription

MAX_INTERVALS = 100_000  # of a problem; its program has some hundred numbers for each
Bounds = Mapping[str, Any]  # name -> a number, or (lower, upper); at the ends also poses


@frozen(eq=False)
class Problem:
    """Find the motion and the controls that minimise the sum of goals, subject to the equations of motion.

    model           a Model or ArticulatedSystem, or `Equations` of one's own. Its muscles, actuators, limits and
                    passive forces act; activations and fiber lengths are states, with implicit equations.
    duration        [s], or (least, greatest) for an unknown one
    goals           `TrackPose`, `Effort`, `OwnGoal` and others, each with its weight
    intervals       of equal length, or their ends as fractions of the duration, from 0 to 1
    transcription   a name in `TRANSCRIPTIONS`, or an object such as Radau(4)
    start           [s] the time at which the motion begins
    torques         velocities on which torques or forces act, with controls '<velocity>.torque'. A mapping of names to
                    scales [N m, N], which multiply the controls. A sequence of names has scales of 1.
    initial, final  bounds at the ends: names -> a number, or (lower, upper). Names are coordinates, angles that a
                    quaternion has replaced, velocities and states. Bodies with a quaternion take a unit quaternion
                    (4,). "q" takes a whole pose (nq,), "u" velocities (nu,), or one number for all.
    bounds          names -> (lower, upper) on the whole path, of controls too. By default activations, excitations and
                    controls of actuators have those of the model. Ranges of coordinates are no bounds.
    constraints     `PathConstraint`s, `InsideCone`s and `BoundaryConstraint`s
    periodic        a `Periodic` motion
    loads           external forces on bodies over time, straight lines between their rows. They cover the greatest
                    duration.
    prescribed      a motion that the model follows exactly. Poses and velocities are then no unknowns; controls and
                    states of muscles are. Between frames it is a spline, on couplers and constraints; one that moves
                    a locked coordinate raises ValueError.
    parameters      unknown numbers of the model -> (lower, upper), or one number, with which problems share their
                    kernels. Names or patterns, such as "bodies.*.mass", as `muscle.parameter_names` has them. A
                    prescribed motion forbids those of constraints. Equations of one's own take any names.

    The unknown of a ball joint is a rotation vector about the guess at its site: |Q| = 1 by construction, without a
    lock. Constraints and couplers of a model hold, with multipliers as unknowns and by projections of every node.
    Locked coordinates stay where the model starts, unless `initial` or `final` has them elsewhere. Prescribed ones
    follow their functions.

    Raises ValueError, before any solver starts, for unknown names, contradicting bounds, ends outside the bounds, and
    data that do not cover the duration.

    >>> from myoquat.analysis.control import Equations, OwnGoal, Problem
    >>> cart = Equations(("x", "v"), ("force",), lambda point: (point["v"], point["force"]))
    >>> ends = {"x": 0.0, "v": 0.0}, {"x": 1.0, "v": 0.0}
    >>> effort = OwnGoal(lambda point: point["force"] ** 2, name="effort")
    >>> problem = Problem(cart, 1.0, (effort,), intervals=10, initial=ends[0], final=ends[1])
    >>> round(problem.solve().objective, 6)  # 12, by the calculus of variations
    12.0
    """

    model: SystemLike | Equations
    duration: float | tuple[float, float]
    goals: Sequence[Goal] = ()
    intervals: int | Sequence[float] = 50
    transcription: str | Transcription = "hermite_simpson"
    start: float = 0.0
    torques: Mapping[str, float] | Sequence[str] = ()
    initial: Bounds = field(default_factory=dict)
    final: Bounds = field(default_factory=dict)
    bounds: Bounds = field(default_factory=dict)
    constraints: Sequence[PathCondition | BoundaryConstraint] = ()
    periodic: Periodic | None = None
    loads: Forces | None = None
    prescribed: MotionLike | None = None
    parameters: Bounds = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("initial", "final", "bounds", "parameters"):
            check_type(name, getattr(self, name), Mapping)
            for key in getattr(self, name):
                check_type(f"a name in {name}", key, str)
        check_types(
            start=(self.start, Real),
            loads=(self.loads, (Forces, NoneType)),
            periodic=(self.periodic, (Periodic, NoneType)),
        )
        check_items("goals", self.goals, Goal)
        check_items("constraints", self.constraints, (PathCondition, BoundaryConstraint))
        if not math.isfinite(self.start):
            raise ValueError(f"start must be finite, not {self.start}")
        if self.loads is not None and not isinstance(self.model, Equations):
            check_frames(system_of(self.model), self.loads)
        if self.prescribed is not None and self._span[0] != self._span[1]:
            raise ValueError("a prescribed motion needs a fixed duration")
        for goal in self.goals:
            goal.check(self.plant, self._span[0] == self._span[1])
        self.method.check(self.plant)
        for condition in self.constraints:
            if isinstance(condition, PathCondition):
                condition.check(self.plant)
        first, last, path = self._ends
        names = {unknown: name for name, unknown in self.quantities.unknowns.items()}
        for where, end in (("initial", first), ("final", last)):
            for unknown, bound in end.bounds.items():
                own = Bound(*map(float, self.plant.state_bounds[unknown.place])) if unknown.field == "w" else None
                check_inside(where, names.get(unknown, ""), bound, path.bounds.get(unknown, own))
                if unknown.field == "controls":
                    raise ValueError(f"{where}: {names[unknown]!r} is a control, whose value at an end is not fixed")
            for name, bound in end.angles.items():
                check_inside(where, name, bound, path.angles.get(name))
        if self.periodic is not None:
            check_periodic_ends(self.periodic, self.quantities, first, last)
        # loads, and what is followed, cover the duration
        span = self.start + np.array([0.0, self._span[1]])
        if self.loads is not None:
            if math.isinf(self._span[1]):
                raise ValueError("duration: loads over time need a greatest one that they cover, not inf")
            self.loads.resampled(span)
        for goal in self.statement.of(IntegralGoal).values():
            if self.statement.fixed:
                goal.samples(self.plant, span)
            elif type(goal).samples is not IntegralGoal.samples:
                raise ValueError(f"goal {goal.title!r} follows data over time, which needs a fixed duration")

    def __repr__(self) -> str:
        low, high = self._span
        span = f"{low:g} s" if low == high else f"{low:g} to {high:g} s"
        return f"<Problem {span}, {len(self.mesh) - 1} intervals of {self.method.title}, {len(self.goals)} goals>"

    # ---- what it consists of ---------------------------------------------------------------------------------

    @cached_property
    def plant(self) -> Plant:
        """The controlled system; ValueError for torques, loads or a motion of equations, and for a motion of another
        system."""
        model, torques, given = self.model, self.torque_scales, self.parameters
        motion = None if self.prescribed is None else motion_of(self.prescribed)
        if isinstance(model, Equations):
            if motion is not None:
                raise ValueError("prescribed is a motion of a model; equations of one's own have none")
            if torques or self.loads is not None:
                raise ValueError("torques and loads act on the bodies of a model; equations of one's own have none")
            return OwnPlant(model, parameters_of_equations(given))
        frames = LoadFrames() if self.loads is None else self.loads.frames
        if motion is None:
            return ModelPlant(model, Acting(torques, frames, parameters_of_model(model, given)))
        model = motion.check_system(model)
        whole = model if isinstance(model, Model) else Model(system_of(model))
        return PrescribedPlant(whole, motion, Acting(torques, frames, parameters_of_model(whole, given)), self.loads)

    @property
    def torque_scales(self) -> Mapping[str, float]:
        """The scale of the torque on each velocity that has one; TypeError for torques that are no names."""
        if isinstance(self.torques, str) or not isinstance(self.torques, (Mapping, Sequence)):
            raise TypeError(f"torques must be a mapping or a sequence of names, not {self.torques!r}")
        torques = self.torques if isinstance(self.torques, Mapping) else dict.fromkeys(self.torques, 1.0)
        for name, scale in torques.items():
            if not math.isfinite(scale) or scale == 0:
                raise ValueError(f"torques: the scale of {name!r} must be finite and not 0, not {scale}")
        return torques

    @property
    def method(self) -> Transcription:
        """The transcription; ValueError for a name that is unknown."""
        if isinstance(self.transcription, Transcription):
            return self.transcription
        if self.transcription not in TRANSCRIPTIONS:
            raise ValueError(f"transcription is one of {', '.join(TRANSCRIPTIONS)}, not {self.transcription!r}")
        return TRANSCRIPTIONS[self.transcription]

    @cached_property
    def mesh(self) -> Array:
        """(n + 1,) ends of the intervals as fractions of the duration."""
        if isinstance(self.intervals, int) and not isinstance(self.intervals, bool):
            if not 1 <= self.intervals <= MAX_INTERVALS:
                raise ValueError(f"intervals must be 1 to {MAX_INTERVALS}, not {self.intervals}")
            return np.linspace(0.0, 1.0, self.intervals + 1)
        mesh = real_array("intervals", self.intervals)
        counted = mesh.ndim == 1 and 2 <= len(mesh) <= MAX_INTERVALS + 1
        if not counted or mesh[0] != 0 or mesh[-1] != 1 or not (np.diff(mesh) > 0).all():
            raise ValueError("intervals must be a number, or fractions that increase from 0 to 1")
        return mesh

    @cached_property
    def _span(self) -> tuple[float, float]:
        """Least and greatest duration."""
        low, high = interval("duration", self.duration)
        if low < 0 or high == 0:
            raise ValueError(f"duration: {low:g} to {high:g} s is no span of positive durations")
        return low, high

    @cached_property
    def quantities(self) -> Quantities:
        """The names of its unknowns."""
        return Quantities(self.plant)

    @cached_property
    def _ends(self) -> tuple[Ends, Ends, Ends]:
        """Bounds at the start, at the end, and on the path."""
        names, model = self.quantities, self.model
        first, last = names.at_end(self.initial, "initial"), names.at_end(self.final, "final")
        # locked coordinates of an unknown motion stay where the model starts
        if isinstance(model, Model) and self.prescribed is None:
            start = dict(zip(model.system.coordinate_names, map(float, model.start), strict=True))
            held = {c.name: start[c.name] for c in model.coordinates if c.locked and c.name in start
                    and names.unknowns[c.name] not in first.bounds | last.bounds}  # fmt: skip
            first = names.at_end({**self.initial, **held}, "initial")
        return first, last, names.bounds(self.bounds, "bounds")

    @cached_property
    def statement(self) -> Statement:
        """The problem in terms of its plant."""
        first, last, path = self._ends
        boundary = [c for c in self.constraints if isinstance(c, BoundaryConstraint)]
        boundary += [_angle_at(0, name, bound) for name, bound in first.angles.items()]
        boundary += [_angle_at(1, name, bound) for name, bound in last.angles.items()]
        if self.periodic is not None:
            nodes_driven = "controls" in self.layout.fields[0]
            boundary += periodic_constraint(self.periodic, self.quantities, nodes_driven)
        along = [c for c in self.constraints if isinstance(c, PathCondition)]
        along += [PathConstraint(name, Values((name,)), *bound) for name, bound in path.angles.items()]
        return Statement(
            self.plant, self.method, self.layout, float(self.start), self._span, tuple(self.goals), tuple(along),
            tuple(boundary), None if self.prescribed is not None else self.loads,
        )  # fmt: skip

    @cached_property
    def layout(self) -> Layout:
        """Where the unknowns lie in time."""
        return self.method.layout(self.mesh)

    # ---- solving ---------------------------------------------------------------------------------------------

    def solve(
        self,
        guess: "Motion | Solution | MocoTrajectory | Mapping[str, Any] | None" = None,
        solver: Ipopt | None = None,
        refine: Refinement | None = None,
        watch: Callable[[Progress], object] | None = None,
    ) -> Solution:
        """The solution from a guess.

        guess   a Motion (of the same system, over the duration), a former Solution or a `MocoTrajectory`. Or a mapping:
                names -> a number or values (k,) evenly over the duration, "duration" -> [s].
        solver  its options
        refine  solve again on finer meshes by the error measured in every interval. `Solution.meshes` has them.
        watch   called with the `Progress` at every iterate. Where it returns True, and after an interrupt from the
                keyboard, the solver stops. It then returns the iterate with `SolutionStatus.INTERRUPTED`.

        Without a guess the solver starts from the first tracked motion, or from the poses that fit tracked markers and
        sensors best, by inverse kinematics. If there are none, it starts evenly from the initial to the final pose, at
        rest, with small activations. Values out of bounds are moved inside; in a Motion
        or a mapping they raise ValueError.

        Raises ValueError where a goal or a constraint is not finite at the guess, with its name and the time. Raises
        MissingExtraError without CasADi. A result that is no solution is returned too: `Solution.status` says why.
        """
        check_types(refine=(refine, (Refinement, NoneType)), watch=(watch, (CALLABLE, NoneType)))
        problem, meshes, solution = self, list[MeasuredMesh](), self._solve(guess, solver, watch)
        while refine is not None and solution.success:  # on finer and finer meshes, each from the one before
            meshes.append(MeasuredMesh(problem.mesh, solution.interval_errors()))
            mesh = refined(meshes[-1], self.method.order, refine)
            if mesh is None or len(meshes) > refine.repetitions:
                break
            problem = replace(problem, intervals=tuple(map(float, mesh)))
            solution = problem._solve(solution, solver, watch)
        return replace(solution, meshes=tuple(meshes))

    def _solve(self, guess: Any, solver: Ipopt | None, watch: Callable[[Progress], object] | None) -> Solution:
        """The solution on the mesh."""
        check_types(guess=(guess, (Motion, Solution, MocoTrajectory, Mapping, NoneType)))
        check_types(solver=(solver, (Ipopt, NoneType)))
        solver = solver or Ipopt()
        if solver.hessian == "exact":
            check_third_derivatives(self.plant)
        own, start, bounds, limits = self.posed(guess)

        def motion(x: Array) -> Motion:
            """That of the variables at the nodes."""
            return self.statement.motion(own.sites(x))

        found = run_ipopt(own.program, start, bounds, limits, solver, watch, motion)
        times = own.times(own.program.fractions, found.x)
        return solution_of(own, found, explanation_of(own.program, own.labels[0], times, bounds, limits, found))

    def goal_values(
        self, guess: "Motion | Solution | MocoTrajectory | Mapping[str, Any] | None" = None
    ) -> dict[str, float]:
        """The cost of every goal at a guess, with its weight; the guess is as in `solve`.

        It may also be a solution of another mesh, or of Moco: the goals are those of this problem.

        >>> from myoquat.analysis.control import Equations, OwnGoal, Problem
        >>> cart = Equations(("x",), ("speed",), lambda point: (point["speed"],))
        >>> problem = Problem(cart, 2.0, (OwnGoal(lambda point: point["speed"] ** 2, name="effort"),), intervals=4)
        >>> problem.goal_values({"speed": 3.0})
        {'effort': 18.0}
        """
        posed = self.posed(guess)
        return goals_at(posed.discretization.program, posed.x)

    def posed(self, guess: "Motion | Solution | MocoTrajectory | Mapping[str, Any] | None" = None) -> Posed:
        """The nonlinear program about a guess, as `solve` takes it, with its checks."""
        (first, last, path), plant, sites = self._ends, self.plant, self._sites(guess)
        given = self._span[0]
        guessed = isinstance(guess, Mapping) and self.statement.fixed
        if guessed and not abs(sites.duration - given) <= GUESS_TOLERANCE * given:
            raise ValueError(f"guess: the duration is {sites.duration:g} s, but the problem fixes it at {given:g} s")
        # the centres of the charts are the guess, and at the ends the poses that are fixed there
        references = sites.q.copy()
        for place, pose in ((0, first.pose), (-1, last.pose)):
            if pose is not None:
                references[place] = np.where(np.isnan(pose), references[place], pose)
        discretization = Discretization(self.statement, references)

        bounds, index = np.tile([-np.inf, np.inf], (discretization.size, 1)), discretization.index
        own = {("w", k): limit for k, limit in enumerate(plant.state_bounds)}
        own |= {("controls", k): limit for k, limit in enumerate(plant.control_bounds)}
        for (name, k), limit in (own | path.bounds).items():
            indices = index[name][:, k]
            bounds[indices[indices >= 0]] = limit
        for site, end in ((0, first), (-1, last)):
            for (name, k), bound in end.bounds.items():
                place = index[name][site, k]
                low, high = bounds[place]
                bounds[place] = max(low, bound.lower), min(high, bound.upper)
        bounds[discretization.duration_index] = self._span
        bounds[discretization.parameter_indices] = plant.unknown.bounds / plant.unknown.scales[:, None]

        x = discretization.variables(sites)
        if guess is not None and not isinstance(guess, (Solution, MocoTrajectory)):
            check_guess(discretization, x, bounds)
        x = np.clip(x, bounds[:, 0], bounds[:, 1])
        check_finite(discretization, x)
        return Posed(discretization, x, bounds, independent_limits(discretization, x, bounds))

    def _sites(self, guess: "Motion | Solution | MocoTrajectory | Mapping[str, Any] | None") -> Sites:
        """The guess at every site."""
        if isinstance(guess, Motion):
            if self.plant.system is None:
                text = "guess: equations of one's own have no bodies, so that a Motion is no guess; give names"
                raise ValueError(text)
            guess.check_system(self.plant.system)
            return sites_of_motion(self.statement, guess)
        if isinstance(guess, Solution):
            check_same_unknowns(self.plant, guess.statement.plant)
            return guess.at_sites(self.statement)
        first, last, _ = self._ends
        otherwise = default_sites(self.statement, (first.pose, last.pose))
        if isinstance(guess, MocoTrajectory):
            return sites_of_trajectory(self.statement, guess, otherwise)
        spans: dict[str, Any] = {}
        for name, unknown in self.quantities.unknowns.items():  # straight lines between states that are fixed at ends
            known = [e.bounds[unknown] for e in (first, last) if unknown in e.bounds]
            fixed = [bound.lower for bound in known if bound.lower == bound.upper]
            if fixed and unknown.field == "w":
                spans[name] = np.array([fixed[0], fixed[-1]])
        return sites_of_mapping(self.statement, spans | dict(guess or {}), self.quantities, otherwise)


def _angle_at(end: int, name: str, bound: Bound) -> BoundaryConstraint:
    where = ("initial", "final")[end]
    return BoundaryConstraint(f"{where} {name}", Values((name,), end), bound.lower, bound.upper)


# ---- checks before a solver starts -----------------------------------------------------------------------------

GUESS_TOLERANCE = 1e-6  # by which a guess may violate its bounds


def check_inside(where: str, name: str, bound: Bound, path: Bound | None) -> None:
    """ValueError for bounds at an end that lie outside those of the whole motion."""
    if path is not None and (bound.lower > path.upper or bound.upper < path.lower):
        raise ValueError(
            f"{where}: {name!r} is {bound.lower:g} to {bound.upper:g}, outside its bounds {path.lower:g} to "
            f"{path.upper:g}"
        )


def check_periodic_ends(periodic: Periodic, quantities: Quantities, first: Ends, last: Ends) -> None:
    """ValueError for a quantity whose bounds at the start and at the end exclude a periodic motion."""
    unknowns = quantities.unknowns
    for end, start in periodic_pairs(periodic, quantities).items():
        a, b = (ends.bounds.get(unknowns[name]) if name in unknowns else None
                for ends, name in ((first, start), (last, end)))  # fmt: skip
        if a is not None and b is not None and (a.lower > b.upper or b.lower > a.upper):
            raise ValueError(
                f"periodic: {end!r} ends at {b.lower:g} to {b.upper:g}, but {start!r} starts at "
                f"{a.lower:g} to {a.upper:g}; name it in Periodic(free=...), or leave one end open"
            )


def check_same_unknowns(plant: Plant, other: Plant) -> None:
    """ValueError, with the first name that differs, for a guess that is the solution of a problem of other unknowns."""
    for what in ("velocity", "state", "control"):
        own, theirs = (getattr(p, f"{what}_names") for p in (plant, other))
        different = [name for name in (*own, *theirs) if (name in own) != (name in theirs)]
        if own != theirs:
            named = f", such as {different[0]!r}" if different else " in another order"
            raise ValueError(f"guess: the solution has other {what} names than the problem{named}")


def check_guess(discretization: Discretization, x: Array, bounds: Array) -> None:
    """ValueError for a guess that is not finite or out of its bounds, with name, time and numbers."""
    wrong = ~np.isfinite(x) | (x < bounds[:, 0] - GUESS_TOLERANCE) | (x > bounds[:, 1] + GUESS_TOLERANCE)
    inner = wrong & (bounds[:, 0] < bounds[:, 1])
    if inner.any():
        place = int(np.argmax(inner))
        names, fractions = discretization.labels
        at = f" at {fractions[place]:.3g} of the duration" if np.isfinite(fractions[place]) else ""
        low, high = bounds[place]
        raise ValueError(f"guess: {names[place]} is {x[place]:g}{at}; its bounds are {low:g} to {high:g}")


def check_finite(discretization: Discretization, x: Array) -> None:
    """ValueError where a goal, an equation or a constraint is not finite at the guess."""
    program, layout = discretization.program, discretization.layout
    with np.errstate(all="ignore"):
        values = program.values(x)
    for block, found in zip(program.blocks, values, strict=True):
        for output, names in (("terms", block.term_names), ("rows", block.row_names)):
            wrong = ~np.isfinite(found[output])
            if wrong.any():
                k, i = map(int, np.argwhere(wrong)[0])
                fraction, at = float(block.times[k, i if output == "rows" else 0]), ""
                if np.isfinite(fraction):
                    mesh = layout.fractions[layout.nodes]
                    node, interval = np.abs(mesh - fraction) < 1e-12, np.searchsorted(mesh, fraction)
                    place = f"node {int(np.argmax(node))}" if node.any() else f"interval {int(interval)}"
                    at = f" at {fraction:.3g} of the duration ({place})"
                what = f"the goal {names[i]!r}" if output == "terms" else names[i]
                raise ValueError(f"at the guess, {what} is {found[output][k, i]}{at}; give a guess within its domain")


def check_third_derivatives(plant: Plant) -> None:
    """ValueError for a muscle of a moving model whose moment arms have no second derivatives, which the exact Hessian
    needs."""
    for muscle in plant.model.muscles if isinstance(plant, ModelPlant) and isinstance(plant.model, Model) else ():
        if (surface := solved_surface(muscle.path)) is not None:
            raise ValueError(
                f"muscle {muscle.name!r}: a solver finds its path around {surface}. Its moment arms have first "
                'derivatives, which Ipopt(hessian="limited-memory") takes. Exact Hessians need second ones, which '
                "fitted paths have: model.with_fitted_paths(fit_paths(model, poses)) replaces the path"
            )


START_TOLERANCE = 1e-6  # [m, rad, m/s, rad/s] by which a fixed start may miss the constraints


def independent_limits(discretization: Discretization, x: Array, bounds: Array) -> Array:
    """The limits (m, 2) of the constraints, with rows of the start relaxed where they repeat others.

    A fixed start satisfies the constraints by itself. A start that equals the end of the motion satisfies them by the
    rows of the end. Rows that repeat others would make the multipliers undetermined. Raises ValueError, with the name
    of the constraint, where the start is fixed off it by more than 1e-6.
    """
    plant, index, program = discretization.statement.plant, discretization.index, discretization.program
    rows, free = program.rows_of("start"), bounds[:, 0] < bounds[:, 1]
    if plant.constraints is None or not len(rows):
        return program.limits
    # rows that may imply those of the start: constraints of the model at the end, and of the boundary
    fractions, of_end = program.fractions, np.isin(program.names, plant.state_row_names)
    of_end[rows] = False
    last = of_end & (fractions == np.max(fractions[of_end], initial=0.0))
    others = np.flatnonzero(last | np.isnan(fractions))
    J = program.jacobian_matrix(x)[np.concatenate([others, rows])].toarray()
    locked = list(plant.constraints.locks.values())
    for first, end in (index[f][[0, -1]][:, locked] for f in ("z", "u")):  # constant along the motion
        J[:, first] += J[:, end]
        J[:, end] = 0.0
    # the free unknowns of pose and velocity at both ends
    ends = np.unique(np.concatenate([index[f][[0, -1]].ravel() for f in ("z", "u")]))
    ends = ends[free[ends]]
    own = J[len(others) :]
    repeated = ~np.isin(np.arange(len(others), len(J)), independent([J[:, ends]]))
    fixed = rows[repeated & np.all(own[:, free] == 0, axis=1)]
    missed = np.abs(program.constraints(x)[fixed])
    if len(missed) and not missed.max() <= START_TOLERANCE:
        k = int(np.argmax(missed))
        raise ValueError(
            f"initial: the start misses the {program.names[fixed[k]]} by {missed[k]:.3g}; "
            "dynamics.constraints.assemble moves a pose onto the constraints"
        )
    relaxed = program.limits.copy()
    relaxed[rows[repeated]] = -np.inf, np.inf
    return relaxed


# ---- Phases: problems one after the other, and the joins between them --------------------------------------------


@frozen
class Join(Record):
    """Between two phases, all coordinates, velocities and states that both have by name are continuous.

    free         names that are not, such as velocities that jump at an impact
    constraints  further `BoundaryConstraint`s, of the last point of the phase before, the first point after, and the
                 duration of the phase before

    >>> from myoquat.analysis.control import Join
    >>> Join(free=("knee_angle_r_dot",)).free
    ('knee_angle_r_dot',)
    """

    free: tuple[str, ...] = ()
    constraints: tuple[BoundaryConstraint, ...] = ()


def continuity(before: Quantities, after: Quantities, join: Join) -> list[BoundaryConstraint]:
    """[quantities that are continuous between phases], [] for none. ValueError for free names that neither has."""
    for name in join.free:
        if name not in after.unknowns and name not in after.balls:
            before.unknown(name, "join")
    common = [n for n, u in before.unknowns.items() if u.field != "controls" and n in after.unknowns]
    zero = {n for n in before.constant & after.constant if before.unknowns[n].field == "u"}
    pairs = [(before.spelled(n), after.spelled(n)) for n in common if n not in zero.union(join.free)]
    shared = [n for n in before.plant.parameter_names if n in after.plant.parameter_names and n not in join.free]
    turns = [(before.balls[n][0], after.balls[n][0]) for n in before.balls if n in after.balls and n not in join.free]
    return equality("continuity", [*pairs, *((f"parameters.{n}",) * 2 for n in shared)], turns)


@frozen(eq=False)
class Phases:
    """Problems one after the other: each has its own model, contacts, controls, goals, constraints, mesh and duration.

    problems     at least two.
    joins        what goes on from each to the next, one `Join` fewer than problems; by default all that both have by
                 name. Parameters of the same name are equal.
    constraints  `BoundaryConstraint`s of the first point of the first phase, the last point of the last one, and the
                 whole duration.
    periodic     a `Periodic` motion of the whole; the first and the last phase need the same unknowns.

    Each problem keeps its own time: data over time are those from its `start` on.

    >>> from myoquat.analysis.control import Duration, Equations, Phases, Problem
    >>> ends = {"x": 0.0, "v": 0.0}, {"x": 1.0, "v": 0.0}
    >>> thrust, brakes = (
    ...     Equations(("x", "v"), (), lambda point, force=force: (point["v"], force + 0.0 * point["v"]))
    ...     for force in (1.0, -1.0)
    ... )
    >>> speedup = Problem(thrust, (0.1, 5.0), (Duration(),), 4, initial=ends[0])
    >>> slowdown = Problem(brakes, (0.1, 5.0), (Duration(),), 4, final=ends[1])
    >>> solution = Phases((speedup, slowdown)).solve()
    >>> [round(phase.duration, 6) for phase in solution.phases]
    [1.0, 1.0]
    """

    problems: Sequence[Problem]
    joins: Sequence[Join] = ()
    constraints: Sequence[BoundaryConstraint] = ()
    periodic: Periodic | None = None

    def __post_init__(self) -> None:
        check_items("problems", self.problems, Problem)
        check_items("joins", self.joins, Join)
        check_items("constraints", self.constraints, BoundaryConstraint)
        if len(self.problems) < 2:
            raise ValueError("phases need at least two problems")
        if self.joins and len(self.joins) != len(self.problems) - 1:
            raise ValueError(f"{len(self.problems)} phases have {len(self.problems) - 1} joins, not {len(self.joins)}")
        if self.periodic is not None:
            check_same_unknowns(self.problems[0].plant, self.problems[-1].plant)

    def solve(self, guesses: Sequence[Any] | None = None, solver: Ipopt | None = None) -> "PhasedSolution":
        """The solution from a guess for each phase, as `Problem.solve` takes them, None for those of the problems.
        Raises what `Problem.solve` raises."""
        check_types(solver=(solver, (Ipopt, NoneType)))
        given = [None] * len(self.problems) if guesses is None else list(guesses)
        if len(given) != len(self.problems):
            raise ValueError(f"{len(self.problems)} phases need as many guesses, not {len(given)}")
        joined = _Joined([problem.posed(guess) for problem, guess in zip(self.problems, given, strict=True)], self)
        found = run_ipopt(joined.program, joined.x, joined.bounds, joined.limits, solver or Ipopt())
        program, times = joined.program, joined.times(joined.program.fractions, found.x)
        explanation = explanation_of(program, joined.labels, times, joined.bounds, joined.limits, found)
        parts = [
            solution_of(posed.discretization, joined.part(k, found), explanation)
            for k, posed in enumerate(joined.posed)
        ]
        return PhasedSolution(tuple(parts), parts[0].status, explanation)


class _Joined:
    """The programs of all phases, and their joins, as one."""

    def __init__(self, posed: list[Posed], phases: Phases) -> None:
        self.posed, blocks = posed, list[Block]()
        self.offsets = np.cumsum([0, *(p.discretization.size for p in posed)])
        self.first_rows = np.cumsum([0, *(p.discretization.program.rows for p in posed)])
        for k, p in enumerate(posed):
            for block in p.discretization.program.blocks:
                words = tuple(f"phase {k + 1}: {name}" for name in block.row_names)
                variables, times = block.variables + self.offsets[k], block.times + k
                blocks.append(replace(block, variables=variables, times=times, row_names=words))
        names, whole = [problem.quantities for problem in phases.problems], list[Any](phases.constraints)
        if phases.periodic is not None:
            driven = "controls" in phases.problems[0].layout.fields[0]
            whole += periodic_constraint(phases.periodic, names[0], driven)
        programs = [(p.discretization, int(offset)) for p, offset in zip(posed, self.offsets, strict=False)]
        for k, join in enumerate(phases.joins or [Join()] * (len(posed) - 1)):
            if kept := [*continuity(names[k], names[k + 1], join), *join.constraints]:
                blocks.append(block_of_ends("join", programs[k : k + 2], -1, kept))
        if whole:
            blocks.append(block_of_ends("join", programs, 0, whole))
        self.program = Program(blocks, int(self.offsets[-1]))
        self.x = np.concatenate([p.x for p in posed])
        self.bounds = np.concatenate([p.bounds for p in posed])
        self.limits = np.concatenate([*(p.limits for p in posed), self.program.limits[self.first_rows[-1] :]])

    @property
    def labels(self) -> list[str]:
        """Names of the variables."""
        each = enumerate((p.discretization.labels[0] for p in self.posed), start=1)
        return [f"phase {k}: {name}" for k, names in each for name in names]

    def times(self, fractions: Array, x: Array) -> Array:
        """(...) [s] since the start of the first phase."""
        parts = np.split(x, self.offsets[1:-1])
        lasting = [p.discretization.duration(part) for p, part in zip(self.posed, parts, strict=True)]
        ends = np.cumsum([0.0, *lasting])
        return np.interp(fractions, np.arange(len(ends)), ends)

    def part(self, k: int, found: Iterates) -> Iterates:
        """The solution of the k-th phase."""
        own, rows = slice(*self.offsets[k : k + 2]), slice(*self.first_rows[k : k + 2])
        return replace(
            found, x=found.x[own], bound_multipliers=found.bound_multipliers[own],
            constraint_multipliers=found.constraint_multipliers[rows],
        )  # fmt: skip


@frozen(eq=False, repr=False)
class PhasedSolution(Solved):
    """What `Phases.solve` found: a `Solution` of every phase, with the explanation of the whole.

    >>> from myoquat.analysis.control import PhasedSolution, Phases
    >>> "duration" in dir(PhasedSolution), "solve" in dir(Phases)
    (True, True)
    """

    phases: tuple[Solution, ...]
    status: SolutionStatus
    explanation: Explanation

    def __repr__(self) -> str:
        what = "converged" if self.success else f"NOT SOLVED: {self.status.sentence}"
        return f"<PhasedSolution {len(self.phases)} phases, objective {self.objective:.6g}, {what}>"

    @property
    def success(self) -> bool:
        """Whether it is a solution."""
        return self.status.success

    @property
    def objective(self) -> float:
        """The sum of the objectives of all phases."""
        return float(sum(phase.objective for phase in self.phases))

    @property
    def duration(self) -> float:
        """[s] of all phases."""
        return float(sum(phase.duration for phase in self.phases))

    @cached_property
    def time(self) -> Array:
        """(t,) [s] of the nodes of all phases since the start of the first, the joins twice."""
        starts = np.cumsum([0.0, *(phase.duration for phase in self.phases[:-1])])
        return np.concatenate([a + p.time - p.time[0] for a, p in zip(starts, self.phases, strict=True)])

    def __getitem__(self, name: str) -> Array:
        """(t,) a coordinate, angle, velocity or state by its name at the nodes of all phases; KeyError for one that a
        phase does not have."""
        return np.concatenate([phase[name] for phase in self.phases])

    def explain(self) -> str:
        """How the solver ended, the goals of every phase, and where constraints, bounds and multipliers are worst."""
        lines = [f"{self.status.name}: {self.status.sentence}.", f"Objective {self.objective:.8g}:"]
        for k, phase in enumerate(self.phases, start=1):
            lines.append(f"  phase {k}, {phase.duration:.4g} s: {phase.objective:.8g}")
            lines += [f"    {name}: {value:.8g}" for name, value in phase.goals.items()]
        return "\n".join([*lines, *self.explanation.lines()])
