"""Blocks of samples through compiled kernels: what a study computes, wherever it runs.

Varied quantities are inputs of the kernel. The start and the activations enter as such, everything else as a parameter
that the formulas take as symbols; no sample compiles anything. One step loop and one kernel of all summaries serve the
whole study. Samples are lanes that know nothing of each other, so a block gives the same bits whatever else is in it.
Those of a trial are solved one after the other, the frames of each side by side.

Models of a trial differ in numbers (`VariedDemands`), and what the numbers do not change is computed once. Parameters
of bodies, forces, limits, actuators and inputs change torques and reactions, those of paths lengths, arms and lines,
those of laws tensions, and those of joints all but tensions. Each of the three has kernels that take the parameters as
inputs, made only where such parameters are among them. Only muscles whose paths change go through the kernels of paths.
Controls and activations that the model prescribes over time are found anew where their numbers change.
"""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from time import perf_counter
from typing import Any, cast

import numpy as np

from myoquat import kernels
from myoquat.analysis.motion.prescribed import prescribed_activations, prescribed_controls
from myoquat.analysis.recruitment.convex import are_met
from myoquat.analysis.recruitment.free import check_recorded
from myoquat.analysis.recruitment.redundancy import Effort
from myoquat.analysis.recruitment.redundancy.actuators import Reserves, reserve_wrenches
from myoquat.analysis.recruitment.redundancy.assembled_motion import check_consistent
from myoquat.analysis.recruitment.redundancy.coupled import recruited
from myoquat.analysis.recruitment.redundancy.equations import (
    Demands,
    LawParameters,
    joint_lines,
    joints_of,
    least_activations,
    picked,
    rest_forces,
)
from myoquat.analysis.recruitment.redundancy.tendons import Tendons
from myoquat.analysis.recruitment.stability import StabilityRule, margins_of
from myoquat.core import Array, BoundedTable, digest, is_foreign, lasting_content
from myoquat.data.motions import Forces, Motion
from myoquat.dynamics import joint_reactions
from myoquat.dynamics.constraints import ConstrainedMotion, constraints_of
from myoquat.dynamics.constraints.equations import imposed
from myoquat.dynamics.integrators import FIXED_STEP
from myoquat.dynamics.inverse import inverse, joint_wrenches
from myoquat.dynamics.regularity import check_regular
from myoquat.dynamics.simulation.methods import BY_ACCELERATION, MethodChoice
from myoquat.dynamics.simulation.problem import Problem, Start, muscle_starts
from myoquat.joints.evaluation import kernel_for, traced_programs
from myoquat.joints.vectors import joined, matvec, vecmat
from myoquat.kernels import Kernel, Outcome, compile
from myoquat.muscle import Model, Parameters, acting_wrenches, muscle_wrenches, path_jacobian
from myoquat.muscle.acting import Instant, check_placed, torques, wrenches
from myoquat.muscle.loads import LoadFrames
from myoquat.muscle.model import check_laws
from myoquat.muscle.path import paths_on_bones
from myoquat.muscle.segments.lengths import lengths, velocity_jacobian
from myoquat.muscle.segments.path_segments import wrenches as wrenches_of_paths
from myoquat.muscle.states import forces_of_laws, start_activations

from .specification import Specification, labels_of
from .summaries import SUMMARIES, Frames, Moment

# ---- The demands of one motion on models that differ in numbers --------------------------------------------------

OF_MUSCLES = {"path": "paths", "wraps": "paths", "law": "laws"}


def _kernel(formula: Callable[..., Any]) -> Callable[..., Any]:
    """From a method that is a formula of a model and arrays by name to one of parameters p (n,) and these arrays, with
    a kernel that is made on first use."""

    def run(demands: "VariedDemands", p: Array, **arrays: Array) -> Any:
        def bound(*given: Array) -> Any:
            *rows, p = given
            return formula(demands, demands.parameters.bind(p), **dict(zip(arrays, rows, strict=True)))

        def build(content: str | None) -> Kernel:
            shapes: Any = {name: x.shape[-2 if name == "f_ext" else -1 :] for name, x in arrays.items()}
            return compile(bound, {**shapes, "p": p.shape}, name="trial", content=content)

        key = formula.__name__, demands.frames, demands.bodies, tuple(arrays), *demands.key
        kernel: Any = kernel_for(key, build)
        return kernel(**arrays, p=p)

    return run


class VariedDemands:
    """The demands of a motion on a model with other values of some parameters, one set after the other."""

    def __init__(
        self,
        model: Model,
        motion: Motion,
        loads: Forces | None,
        actuators: tuple[Reserves, Sequence[StabilityRule]],
        parameters: Parameters,
    ) -> None:
        check_recorded(parameters)
        check_laws(model, parameters.names)
        self.parameters, self.given = parameters, (model, loads, actuators)
        self.key = "trial", parameters.model.content_key, parameters.names
        self.of_joints = any(place.moves_joint for place in parameters.locations)
        self.changes = {"paths"} if self.of_joints else set[str]()  # "inputs": what follows a prescribed input
        moved = set[int]()
        for place in parameters.locations:
            if place.steps[0] != "muscles":
                self.changes |= {"torques", "inputs"} if place.steps[0] in ("actuators", "inputs") else {"torques"}
                continue
            part = OF_MUSCLES.get(str(place.steps[2]), "inputs")
            self.changes.add(part)
            moved |= {int(place.steps[1])} if part == "paths" else set()
        # what is prescribed over time, or starts and follows it with a delay
        self.prescribes = bool(model.inputs) and "inputs" in self.changes
        self.frames = LoadFrames() if loads is None else loads.frames
        self._move(motion)
        self.moved = list(range(len(model.muscles))) if self.of_joints else sorted(moved)
        self.least = any(place.steps[-1] == "minimum_activation" for place in parameters.locations)
        self.bodies = joints_of(model, self.base.cones)

    def _move(self, motion: Motion) -> None:
        model, loads, actuators = self.given
        self.motion, self.base = motion, Demands.of_motion(model, motion, loads, *actuators)
        self.needed, self.C = self.base.needed, self.base.C

    def along(self, motion: Motion) -> "VariedDemands":
        """Those of another motion, with the same kernels."""
        other = copy(self)
        vars(other).pop("_constrained", None)
        other._move(motion)
        return other

    def of(self, p: Array, *, stress: bool = False) -> Demands:
        """With parameters p (n,), which are not checked; stress: for an effort that reads strengths off the model."""
        part, motion, moved = copy(self.base), self.motion, self.moved
        if stress or self.least or self.prescribes:
            bound: Any = self.parameters.bind(p)
            part.model, part.lower = bound, least_activations(bound)
            part.low, part.high = np.broadcast_to(part.lower, part.lengths.shape), np.ones(part.lengths.shape)
            part.prescribe(prescribed_activations(bound, motion.time))
        if "paths" in self.changes:
            length, J, *rows = self._paths(p, q=motion.q)
            part.lengths, part.speeds = part.lengths.copy(), part.speeds.copy()
            part.arms = part.arms[..., : self.C.shape[-1]].copy()  # the equations of rules follow from all the rest
            part.lines = part.lines.copy()
            part.lengths[:, moved], part.speeds[:, moved] = length, matvec(J, motion.speeds)
            part.arms[:, moved] = -picked(J, self.C)
            for j, line in enumerate(rows[::2]):
                part.lines[:, j, moved] = line if part.through is None else line + J @ part.through[:, j]
            if self.of_joints:
                part.parents = np.stack(rows[1::2], axis=1) if rows else part.parents
                part.help(self._model(p), motion.q, self.bodies)
        if "torques" in self.changes:
            torque = self.torque(p)
            part.torque = vecmat(torque, self.C)
            passing = self._passing(self._outer(p), p) if self.bodies else self.base.outer
            part.rest = part.beside(rest_forces(passing, self.bodies, part.parents), torque)
        if "laws" in self.changes:
            bind: Any = self.parameters.bind
            part.law = lambda lengths, speeds, a: self._laws(p, lengths=lengths, speeds=speeds, activation=a)
            part.laws = LawParameters(bind, self.key, p)
        return part.with_rules() if part.cones else part

    def reactions(self, force: Array, controls: Array, p: Array) -> Array:
        """(t, bodies, 3) [N] the force that each body gets through its joint, in world axes, with tensions (t, m) and
        reserves at controls (t, r). NaN where redundant constraints leave it open."""
        return self.joint_wrenches(force, controls, p)[..., :3]

    def joint_wrenches(self, force: Array, controls: Array, p: Array) -> Array:
        """(t, bodies, 6) the same with the torques [N m] at the bodies' origins."""
        motion, moved, model = self.motion, self.moved, self.base.model
        still = force.copy()
        still[:, moved] = 0.0
        pulls = self._outer(p) + muscle_wrenches(model, motion.q, still)
        if moved:
            pulls = pulls + self._pulls(p, q=motion.q, tensions=force[:, moved])
        for k, reserve in enumerate(self.base.reserves):
            acting = reserve_wrenches(self._model(p).system, reserve, motion.q, controls[:, k])
            pulls = pulls if acting is None else pulls + acting
        if self._constrained is None:
            return self._passing(pulls, p)
        J = path_jacobian(model, motion.q)
        if moved:
            J[:, moved] = self._paths(p, q=motion.q)[1]
        lacking = self.torque(p) + vecmat(force, J) - (self.base.columns @ controls[..., None])[..., 0]
        found = self._passing(pulls + self._constrained.wrenches(self._constrained.multipliers(lacking)), p)
        found[self._constrained.undetermined] = np.nan
        return found

    # ---- parts -----------------------------------------------------------------------------------------------

    def torque(self, p: Array) -> Array:
        """(t, nu) that the motion needs by inverse dynamics."""
        if "torques" not in self.changes:
            return self.needed.torque
        return self._torques(p, **self._given(p), udot=self.motion.udot)

    def _outer(self, p: Array) -> Array:
        """(t, bodies, 6) on the bodies by all but muscles and reserves."""
        if "torques" in self.changes:
            check_placed(self.base.model)
            return self._wrenches(p, **self._given(p))
        q, u, time = self.motion.q, self.motion.speeds, self.motion.time
        return self.needed.wrenches + acting_wrenches(self.base.model, q, u, time, controls=self.base.controls)

    def _given(self, p: Array) -> dict[str, Any]:
        """The motion with loads and controls, and the parameters of torques."""
        motion, controls, (_, loads, _) = self.motion, self.base.controls, self.given
        given = {"q": motion.q, "u": motion.u, "t": motion.time[:, None]}
        if loads is not None:
            given["loads"] = loads.resampled(motion.time).numbers
        if controls is not None:
            bound = self._model(p)
            changed: Any = prescribed_controls(bound, motion.time) if self.prescribes else controls
            given["controls"] = bound.check_controls(changed, acting=True)
        return given

    def _model(self, p: Array) -> Model:
        found: Any = self.parameters.bind(p) if self.prescribes or self.of_joints else self.base.model
        return cast(Model, found)

    @cached_property
    def _constrained(self) -> ConstrainedMotion | None:
        model = self.base.model
        return ConstrainedMotion(model, self.motion.q, self.motion.time) if model.constraints else None

    def _passing(self, pulls: Array, p: Array) -> Array:
        """(t, bodies, 6) through the joints, with wrenches on the bodies."""
        motion = self.motion
        if "torques" not in self.changes:
            return joint_reactions(self.base.model, motion.q, motion.speeds, motion.accelerations, pulls)
        return self._reactions(p, q=motion.q, u=motion.u, udot=motion.udot, f_ext=pulls)

    # ---- kernels ---------------------------------------------------------------------------------------------

    def _instant(self, bound: Model, q: Array, u: Array, t: Array, **given: Array) -> Instant:
        loads = self.frames.acting(bound.system, q, given["loads"]) if "loads" in given else []
        return Instant(q, u, t[..., 0], controls=given.get("controls"), loads=loads)

    @_kernel
    def _torques(self, bound: Any, udot: Array, **given: Array) -> Array:
        needed = inverse(bound.system, given["q"], given["u"], udot)
        return needed - torques(bound, self._instant(bound, **given))

    @_kernel
    def _wrenches(self, bound: Any, **given: Array) -> Array:
        return wrenches(bound, self._instant(bound, **given))

    @_kernel
    def _reactions(self, bound: Any, **given: Array) -> Array:
        return joint_wrenches(bound.system, **given)

    @_kernel
    def _paths(self, bound: Any, q: Array) -> tuple[Array, ...]:
        muscles = [bound.muscles[k] for k in self.moved]
        paths = tuple(muscle.path for muscle in muscles)
        bones = paths_on_bones(muscles) if self.bodies else ()
        lines = [x for i in self.bodies for x in joint_lines(bound.system, bones, q, i)]
        return lengths(bound.system, paths, q), velocity_jacobian(bound.system, paths, q), *lines

    @_kernel
    def _pulls(self, bound: Any, q: Array, tensions: Array) -> Array:
        return wrenches_of_paths(bound.system, paths_on_bones(bound.muscles[k] for k in self.moved), q, tensions)

    @_kernel
    def _laws(self, bound: Any, lengths: Array, speeds: Array, activation: Array) -> Array:
        return forces_of_laws(bound, lengths, speeds, activation)


# ---- Simulations and trials, block by block ----------------------------------------------------------------------


def check_study(study: Specification) -> None:
    """Checks before anything is compiled. ModelError for a model that cannot move and muscles without a law. ValueError
    for a method that ignores what varies, or does not stop at limits, for parameters that a trial cannot vary, and for
    motions that violate the model's constraints."""
    if study.trial is not None:
        check_recorded(study.parameters)
        check_laws(study.model, study.parameters.names)
        check_consistent(study.model, study.trial.motion)
        return
    inner = [place for place in study.parameters.locations if not (place.starts or place.activates)]
    if study.method not in BY_ACCELERATION and (inner or study.limits):
        raise ValueError(
            f"the method {study.method!r} takes the model's numbers as constants and knows no limits: vary only the "
            f"start and activations, or use one of {', '.join(BY_ACCELERATION)}"
        )
    check_laws(study.model, study.parameters.names)
    held = constraints_of(study.model)
    check_regular(study.model.system, constrained=bool(held))
    for name in study.summaries if held else ():
        if not SUMMARIES[name].with_constraints:
            raise ValueError(
                f"summary {name!r}: it does not know the forces of constraints, and the model has {held[0].label}; "
                "Trajectory.reactions of single simulations does"
            )


Arrays = dict[str, Array]


class Engine(ABC):
    """The compiled form of a study."""

    def __init__(self, study: Specification) -> None:
        check_study(study)
        self.study = study
        self.sizes = {name: len(labels) for name, labels in labels_of(study).items()}

    def run(self, begin: int, end: int) -> tuple[Arrays, float]:
        """(all that is kept of samples begin ... end - 1, seconds spent on them)."""
        return self.run_values(self.study.values(begin, end))

    @abstractmethod
    def run_values(self, values: Array) -> tuple[Arrays, float]:
        """The same for given values (samples, parameters)."""

    @staticmethod
    def kept(values: Array, status: Any, stopped_at: Any, others: Arrays) -> Arrays:
        """The arrays of a block. The code that runs is the first of its own list."""
        n = len(values)
        shared = {"status": np.full(n, status, np.int8), "fingerprint": np.ones(n, np.int8)}
        arrays = {"values": values, "stopped_at": np.full(n, stopped_at), **shared, **others}
        return {name: np.ascontiguousarray(array) for name, array in arrays.items()}


class SimulationEngine(Engine):
    """The compiled form of a study of simulations.

    Columns of the varied parameters go where they act: `inner` are those that the formulas take, `starts` those by
    entry of (q, u), `activations` those by muscle.
    """

    def __init__(self, study: Specification) -> None:
        super().__init__(study)
        self.method, system = FIXED_STEP[study.method], study.model.system
        self.inner, self.starts, self.activations = list[int](), dict[int, int](), dict[int, int]()
        for column, place in enumerate(study.parameters.locations):
            field, *rest = place.steps
            if place.starts:
                self.starts[int(rest[0]) + (field == "start_u") * system.nq] = column
            elif place.activates:
                self.activations[int(rest[0])] = column
            else:
                self.inner.append(column)
        if self.activations and isinstance(study.activations, tuple):
            raise ValueError("activations vary, but the study gives them as a function of time: choose one")
        inner = [study.parameters.names[k] for k in self.inner]
        start = Start.of(
            study.model, *study.start, constraints_of(study.model), False, varied=bool(study.parameters.names)
        )
        choice = MethodChoice(study.method, "projection")
        self.problem = Problem(study.model, choice, start.constraints, inner, redundant=start.redundant)
        equations, names = self.problem.equations, (*system.coordinate_names, *system.velocity_names)
        given = (
            "torque" if study.activation is None else "activation" if "activation" in equations.acting else "excitation"
        )
        self.equations = replace(
            equations, own_inputs=tuple(name for name in equations.acting if name != given),
            limits=tuple((names.index(name), float(low), float(high)) for name, (low, high) in study.limits.items()),
        )  # fmt: skip
        self.loop = self.method.kept_loop(self.equations, "projection", None)
        self.observer = self._observer() if study.summaries else None

    def _observer(self) -> kernels.Kernel:
        """(..., n) what all summaries look at, side by side."""
        model, equations = self.study.model, self.equations
        extra: dict[str, Any] = {**{name: (n,) for name, n in equations.inputs.items()}, **equations.parameters}
        rest = {"own": (len(equations.own),)} if equations.own else {}

        def observe(start: Any, t: Any, q: Any, u: Any, *values: Any) -> Any:
            own, values = values[: len(rest)], values[len(rest) :]
            given = equations.given(t, joined([q, u, *own]), values)
            instant = equations.instant(t, q, u, given)
            at = Moment(**vars(instant), start=start)
            bound = equations.bound(given.get("p"))
            return np.concatenate([SUMMARIES[name].observe(bound, at) for name in self.study.summaries], axis=-1)

        nq, nu = model.system.nq, model.system.nu
        shapes = {"start": (nq,), "t": (), "q": (nq,), "u": (nu,), **rest, **extra}
        names = self.study.summaries
        own = tuple(SUMMARIES[name] for name in names if is_foreign(type(SUMMARIES[name])))
        return kernel_for(
            ("summaries", names, own, self.equations.key),
            lambda content: kernels.compile(
                observe, shapes, ["observed"], name="summaries", content=content, threads=1
            ),
        )

    # ---- a block ---------------------------------------------------------------------------------------------

    def run_values(self, values: Array) -> tuple[Arrays, float]:
        study, equations, given = self.study, self.equations, self._inputs(values)
        equations.check_prescribed(study.step / 2 * np.arange(2 * study.steps + 1), given.get("p"))
        x = np.tile(np.concatenate(study.start), (len(values), 1))
        x[:, [*self.starts]] = values[:, [*self.starts.values()]]
        q, u = equations.split(x)
        if equations.constraints:  # prescribed coordinates start where they have to be
            q, u = self.problem.started(*imposed(study.model, q, u, 0.0), given.get("p"))
        x0 = self.method.begin(equations, q, u, *self._own_start(q, given))
        began = perf_counter()
        run = self.loop(x0, h=study.step, steps=study.steps, every=self.study.every, threads=1, **given)
        seconds = perf_counter() - began
        failed = run.stopped >= 0
        arrays: Arrays = {}
        if study.final:
            q, u = self.method.end(equations, np.where(failed[:, None], np.nan, run.final))
            arrays |= {"q_final": q, "u_final": u}
        if self.study.time_steps:
            rows = run.states[:, np.array(self.study.time_steps) // self.study.every]
            arrays |= dict(zip("qu", self.method.end(equations, rows), strict=True))
        if self.observer is not None:
            began = perf_counter()
            arrays |= self._summaries(given, run.states[:, :: self.study.summary_every // self.study.every], failed)
            seconds += perf_counter() - began
        stopped_at = np.where(failed, run.stopped * study.step, np.nan)
        return self.kept(values, run.reason, stopped_at, arrays), seconds

    def _inputs(self, values: Array) -> dict[str, Any]:
        """The arguments of the loop beside the state."""
        equations, n = self.equations, len(values)
        given: dict[str, Any] = {"p": values[:, self.inner]} if self.inner else {}
        if equations.muscles:
            table = self.study.activations
            control = "excitation" if equations.excited else "activation"
            if isinstance(table, tuple):
                given[control] = kernels.LinearInterpolation(*table)
            else:
                given[control] = np.tile(table, (n, 1))
                given[control][:, [*self.activations]] = values[:, [*self.activations.values()]]
        if equations.actuated:
            given["controls"] = np.zeros((n, equations.actuated))  # beside those that the model prescribes
        return given

    def _own_start(self, q: Array, given: dict[str, Any]) -> tuple[Array, ...]:
        """The states of muscles and actuators where every run begins; none for a model without."""
        equations, model, p = self.equations, self.study.model, given.get("p")
        delayed = equations.delayed_start(p)
        if not equations.of_muscles:
            return delayed
        control = given["excitation" if equations.excited else "activation"]
        at_start = self._along(control, np.zeros(1))[..., 0, :]
        known = {own.name for own in model.inputs}.intersection(model.muscle_names)
        if self.study.activation is None and known:  # what the model prescribes, but activations that it names
            values = equations.over_time(model, model.muscle_names, p)(np.zeros(1))[..., 0, :]
            named = {*equations.excited}.intersection(self.activations)  # by each sample
            own = [name in known and i not in named for i, name in enumerate(model.muscle_names)]
            at_start = start_activations(model, np.where(own, values, at_start), {*equations.excited} - named)
        return *muscle_starts(equations, q, at_start, p), *delayed

    def _summaries(self, inputs: dict[str, Any], states: Array, failed: Array) -> Arrays:
        assert self.observer is not None
        times = np.arange(states.shape[1]) * self.study.summary_every * self.study.step
        given: Any = {name: self._along(x, times) for name, x in inputs.items()}
        q, u = map(np.ascontiguousarray, self.method.end(self.equations, states))
        start = np.ascontiguousarray(np.broadcast_to(q[:, :1], q.shape))
        if self.equations.own:
            given["own"] = np.ascontiguousarray(self.equations.rest(states))
        t = np.ascontiguousarray(np.broadcast_to(times, q.shape[:-1]))
        observed = self.observer(start=start, t=t, q=q, u=u, **given)
        found, place = {}, 0
        for name in self.study.summaries:
            summary = SUMMARIES[name]
            size = self.sizes[summary.along]
            found[name] = summary.reduce(times, observed[..., place : place + size])
            found[name][failed] = np.nan
            place += size
        return found

    def _along(self, given: Any, times: Array) -> Array:
        """A constant (samples, n), or a table of the time, as (samples, times, n)."""
        if isinstance(given, kernels.LinearInterpolation):
            columns = [np.interp(times, given.times, column) for column in np.asarray(given.values).T]
            return np.stack(columns, axis=-1)
        return np.ascontiguousarray(np.broadcast_to(given[:, None], (len(given), len(times), given.shape[1])))


class TrialEngine(Engine):
    """The compiled form of a study of a trial."""

    def __init__(self, study: Specification) -> None:
        super().__init__(study)
        assert study.trial is not None
        trial = self.trial = study.trial
        model = trial.motion.check_system(study.model).with_rigid_tendons()
        parameters = Parameters.of(model, study.parameters.names)
        self.varied = VariedDemands(model, trial.motion, trial.loads, (trial.listed, trial.cones), parameters)
        self.effort = trial.effort or Effort()
        self.elastic = trial.tendons == "elastic" and model.muscles != study.model.muscles

    def run_values(self, values: Array) -> tuple[Arrays, float]:
        began, names = perf_counter(), ("unsolved", *self.study.summaries)
        rows = [self._sample(p) for p in values]
        arrays = {name: np.array([row[name] for row in rows]) for name in names}
        return self.kept(values, Outcome.COMPLETED, np.nan, arrays), perf_counter() - began

    def _sample(self, p: Array) -> Arrays:
        study, trial, demands = self.study, self.trial, self.varied.of(p, stress=self.effort.of == "stress")
        time = trial.motion.time
        solve = partial(recruited, effort=self.effort, backend="kernel", time=time, dynamics=trial.dynamics)
        if self.elastic:
            bound: Any = study.parameters.bind(p)
            demands, solution = Tendons(bound).solved(demands, time, solve)
        else:
            solution = solve(demands)
        found = solution.found
        solved, m = are_met(found.status), demands.lengths.shape[1]
        activation, controls = found.x[:, :m], found.x[:, m:]
        force = demands.tensions(activation)
        pressed = demands.pressed(force, controls)
        given = controls * np.array([reserve.strength for reserve in trial.listed])
        at = Frames(activation[solved], force[solved], given[solved], pressed[solved],
                    margins_of(trial.cones, pressed)[solved],
                    lambda: self.varied.reactions(force, controls, p)[solved])  # fmt: skip
        row: Arrays = {"unsolved": np.array(float((~solved).sum()))}
        for name in study.summaries:
            summary = SUMMARIES[name]
            none = np.full(self.sizes[summary.along], np.nan)
            row[name] = summary.of_frames(at) if solved.any() else none
        return row


MAX_ENGINES = 8  # kept by a process that serves several studies

_engines = BoundedTable[Engine](MAX_ENGINES)
_lock = threading.Lock()  # so that threads that want one study compile it once


def engine_for(key: str, study: Callable[[], Specification]) -> Engine:
    """The engine of the study with this key, made at its first use in a process."""
    with _lock:
        return _engines.get(key, lambda: engine_of(study()))


def engine_of(study: Specification) -> Engine:
    """A new engine for what the study does with a sample."""
    return SimulationEngine(study) if study.trial is None else TrialEngine(study)


def user_code(study: Specification) -> dict[str, str]:
    """The traced programs of a study's code outside this package, as a digest; {} where all code is of this package.

    They say what compiled code computes. What a summary does afterwards, in NumPy, is no part of them.
    """
    own: list[object] = [FIXED_STEP.get(study.method), *(SUMMARIES[name] for name in study.summaries)]
    trial = study.trial
    of_trial = () if trial is None else (trial.effort, tuple(trial.listed), tuple(trial.cones))
    if not any(is_foreign(type(part)) for part in own) and lasting_content((study.model.content_key, *of_trial)):
        return {}
    with traced_programs() as programs:
        engine = engine_of(study)
        if trial is not None:
            engine.run(0, 1)  # whose kernels are made when a sample needs them
    return {"programs": digest(*sorted(programs))}
