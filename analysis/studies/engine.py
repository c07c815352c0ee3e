"""Blocks of samples through compiled kernels: what a study computes, wherever it runs.

Varied quantities are inputs of the kernel. The start and the activations enter as such, everything else as a parameter
that the formulas take as symbols; no sample compiles anything. One step loop and one kernel of all summaries serve the
whole study. Samples are lanes that know nothing of each other, so a block gives the same bits whatever else is in it.
Those of a trial are solved one after the other, the frames of each side by side.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any, cast

import numpy as np

from myoquat import kernels
from myoquat.analysis.recruitment.convex import are_met
from myoquat.analysis.recruitment.free import check_recorded
from myoquat.analysis.recruitment.redundancy import Effort
from myoquat.analysis.recruitment.redundancy.assembled_motion import check_consistent
from myoquat.analysis.recruitment.redundancy.coupled import recruited
from myoquat.analysis.recruitment.redundancy.tendons import Tendons
from myoquat.analysis.recruitment.stability import margins_of
from myoquat.analysis.studies.specification import Specification
from myoquat.analysis.studies.summaries import SUMMARIES, Frames, Moment
from myoquat.analysis.studies.varied_demands import VariedDemands
from myoquat.core import Array, digest, frozen, is_foreign, lasting_content
from myoquat.dynamics.constraints import ConstraintArrays, Constraints, constraints_of
from myoquat.dynamics.constraints.equations import imposed
from myoquat.dynamics.integrators import FIXED_STEP, StateEquations
from myoquat.dynamics.regularity import check_regular
from myoquat.dynamics.simulation.methods import BY_ACCELERATION
from myoquat.dynamics.simulation.problem import Start, muscle_starts, varied_start
from myoquat.joints.evaluation import kernel_for, traced_programs
from myoquat.joints.vectors import joined
from myoquat.kernels import Outcome
from myoquat.muscle import Model, Parameters
from myoquat.muscle.inputs import InputsOverTime
from myoquat.muscle.model import check_laws

__all__ = ["Engine", "TrialEngine", "check_study", "engine_for", "engine_of", "user_code"]


@frozen
class Columns:
    """The columns sorted by where they go; `inner` are those that the formulas take."""

    study: Specification
    inner: Parameters
    inner_columns: list[int]
    starts: list[tuple[int, int]]  # (column, entry of (q, u))
    activations: list[tuple[int, int]]  # (column, muscle)

    @classmethod
    def of(cls, study: Specification) -> "Columns":
        parameters = study.parameters
        offsets = {"start_q": 0, "start_u": study.model.system.nq}
        inner, starts, activations = [], [], []
        for column, place in enumerate(parameters.locations):
            steps = place.steps
            if place.starts:
                starts.append((column, offsets[str(steps[0])] + int(steps[1])))
            elif place.activates:
                activations.append((column, int(steps[1])))
            else:
                inner.append(column)
        if activations and isinstance(study.activations, tuple):
            raise ValueError("activations vary, but the study gives them as a function of time: choose one")
        chosen = Parameters.of(study.model, [parameters.names[column] for column in inner]).acting("the start")
        return cls(study, chosen, inner, starts, activations)

    @property
    def sizes(self) -> dict[str, int]:
        """Length of each dimension that results have along the model."""
        model = self.study.model
        system = model.system
        return {
            "coordinate": system.nq,
            "velocity": system.nu,
            "muscle": len(model.muscles),
            "body": len(system.bodies),
        }

    def start(self, values: Array) -> tuple[Array, Array]:
        """(samples, nq), (samples, nu) where every run begins."""
        x = np.tile(np.concatenate(self.study.start), (len(values), 1))
        for column, entry in self.starts:
            x[:, entry] = values[:, column]
        nq = self.study.model.system.nq
        return x[:, :nq], x[:, nq:]

    def activation(self, values: Array) -> Array:
        """(samples, m) constant activations."""
        constant: Any = self.study.activations
        a = np.tile(constant, (len(values), 1))
        for column, muscle in self.activations:
            a[:, muscle] = values[:, column]
        return a


Arrays = dict[str, Array]


class Engine:
    """The compiled form of a study."""

    def __init__(self, study: Specification) -> None:
        check_simulation(study)
        self.study = study
        self.columns = Columns.of(study)
        self.keep = study.keep
        self.method = FIXED_STEP[study.method]
        held = constraints_of(study.model)
        start = Start.of(study.model, *study.start, held, False, varied=bool(study.parameters.names))
        equations = StateEquations(
            study.model, constraints=start.constraints, redundant=start.redundant, varied=self.columns.inner,
            limits=self._limits(),
        )  # fmt: skip
        given = (
            "torque" if study.activation is None else "activation" if "activation" in equations.acting else "excitation"
        )
        own = tuple(name for name in equations.acting if name != given)
        self.equations = replace(equations, own_inputs=own)
        self.loop = self.method.kept_loop(self.equations, "projection", None)
        self.observer = self._observer() if study.keep.summaries else None

    def _limits(self) -> tuple[tuple[int, float, float], ...]:
        system = self.study.model.system
        names = (*system.coordinate_names, *system.velocity_names)
        return tuple((names.index(name), float(low), float(high)) for name, (low, high) in self.study.limits.items())

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
            return np.concatenate([SUMMARIES[name].observe(bound, at) for name in self.keep.summaries], axis=-1)

        nq, nu = model.system.nq, model.system.nu
        shapes = {"start": (nq,), "t": (), "q": (nq,), "u": (nu,), **rest, **extra}
        names = self.keep.summaries
        own = tuple(SUMMARIES[name] for name in names if is_foreign(type(SUMMARIES[name])))
        return kernel_for(
            ("summaries", names, own, self.equations.key),
            lambda content: kernels.compile(
                observe, shapes, ["observed"], name="summaries", content=content, threads=1
            ),
        )

    # ---- a block ---------------------------------------------------------------------------------------------

    def run(self, begin: int, end: int) -> tuple[Arrays, float]:
        """(all that is kept of samples begin ... end - 1, seconds spent in kernels)."""
        values = self.study.values(begin, end)
        return self.run_values(values)

    def run_values(self, values: Array) -> tuple[Arrays, float]:
        """The same for given values (samples, parameters)."""
        study, given = self.study, self._inputs(values)
        q, u = self._on_constraints(self.columns.start(values), given.get("p"))
        x0 = self.method.begin(self.equations, q, u, *self._own_start(q, given))
        began = perf_counter()
        run = self.loop(x0, h=study.step, steps=study.steps, every=self.keep.every, threads=1, **given)
        seconds = perf_counter() - began
        failed = run.stopped >= 0
        arrays: Arrays = {
            "values": values,
            "status": run.reason.astype(np.int8),
            "stopped_at": np.where(failed, run.stopped * study.step, np.nan),
        }
        arrays["fingerprint"] = np.ones(len(values), dtype=np.int8)  # the code that runs is the first of its own list
        if study.final:
            q, u = self.method.end(self.equations, np.where(failed[:, None], np.nan, run.final))
            arrays |= {"q_final": q, "u_final": u}
        if self.keep.time_steps:
            rows = run.states[:, np.array(self.keep.time_steps) // self.keep.every]
            arrays |= dict(zip("qu", self.method.end(self.equations, rows), strict=True))
        if self.observer is not None:
            began = perf_counter()
            arrays |= self._summaries(values, run.states[:, :: self.keep.summary_every // self.keep.every], failed)
            seconds += perf_counter() - began
        return {name: np.ascontiguousarray(array) for name, array in arrays.items()}, seconds

    def _on_constraints(self, start: tuple[Array, Array], p: Array | None) -> tuple[Array, Array]:
        """(samples, nq), (samples, nu) where runs start, prescribed coordinates where they have to be. ValueError for a
        run that starts off the model's constraints."""
        equations = self.equations
        if not equations.constraints:
            return start
        q, u = imposed(self.study.model, *start, 0.0)
        if p is not None:
            return varied_start(equations, q, u, p)
        ConstraintArrays(Constraints(equations.system, equations.constraints)).check(q, u, 0.0)
        return q, u

    def _inputs(self, values: Array) -> dict[str, Any]:
        """The arguments of the loop beside the state."""
        given: dict[str, Any] = {"p": values[:, self.columns.inner_columns]} if self.columns.inner.names else {}
        if self.equations.muscles:
            table = self.study.activations
            varies = isinstance(table, tuple)
            control = "excitation" if self.equations.excited else "activation"
            given[control] = kernels.LinearInterpolation(*table) if varies else self.columns.activation(values)
        if self.equations.actuated:
            given["controls"] = np.zeros(
                (len(values), self.equations.actuated)
            )  # beside those that the model prescribes
        return given

    def _own_start(self, q: Array, given: dict[str, Any]) -> tuple[Array, ...]:
        """The states of muscles and actuators where every run begins; none for a model without."""
        if not self.equations.of_muscles:
            return self.equations.delayed_start(given.get("p"))
        control = given["excitation" if self.equations.excited else "activation"]
        at_start = self._prescribed(self._along(control, np.zeros(1))[..., 0, :], given.get("p"))
        of_muscles = muscle_starts(self.equations, q, at_start, given.get("p"))
        return *of_muscles, *self.equations.delayed_start(given.get("p"))

    def _prescribed(self, given: Array, p: Array | None) -> Array:
        """(samples, m) the inputs of muscles at the start: those that the model prescribes, but activations that it
        names."""
        study, equations = self.study, self.equations
        model = study.model
        own = InputsOverTime(model.inputs, model.muscle_names)
        if study.activation is not None or not own.prescribed(np.zeros(())):
            return given
        values = equations.over_time(model, own.names, p)(np.zeros(1))[..., 0, :]
        known = own.prescribed(np.zeros(())).keys()
        excited, muscles = bool(equations.excited), model.muscles
        follows = [m.name in known and not (excited and m.activation is not None) for m in muscles]
        return np.where(follows, values, given)

    def _summaries(self, values: Array, states: Array, failed: Array) -> Arrays:
        assert self.observer is not None
        rows = states.shape[1]
        times = np.arange(rows) * self.keep.summary_every * self.study.step
        given: Any = {name: self._along(x, times) for name, x in self._inputs(values).items()}
        q, u = map(np.ascontiguousarray, self.method.end(self.equations, states))
        start = np.ascontiguousarray(np.broadcast_to(q[:, :1], q.shape))
        if self.equations.own:
            given["own"] = np.ascontiguousarray(self.equations.rest(states))
        t = np.ascontiguousarray(np.broadcast_to(times, q.shape[:-1]))
        observed = self.observer(start=start, t=t, q=q, u=u, **given)
        found, place = {}, 0
        for name in self.keep.summaries:
            summary = SUMMARIES[name]
            size = self.columns.sizes[summary.along]
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


def check_simulation(study: Specification) -> None:
    """Checks before anything is compiled. ModelError for a model that cannot move, ValueError for a method that ignores
    what varies, or does not stop at limits."""
    columns = Columns.of(study)
    if study.method not in BY_ACCELERATION and (columns.inner.names or study.limits):
        raise ValueError(
            f"the method {study.method!r} takes the model's numbers as constants and knows no limits: vary only the "
            f"start and activations, or use one of {', '.join(BY_ACCELERATION)}"
        )
    check_laws(study.model, study.parameters.names)
    held = constraints_of(study.model)
    check_regular(study.model.system, constrained=bool(held))
    for name in study.keep.summaries if held else ():
        if not SUMMARIES[name].with_constraints:
            raise ValueError(
                f"summary {name!r}: it does not know the forces of constraints, and the model has {held[0].label}; "
                "Trajectory.reactions of single simulations does"
            )


class TrialEngine:
    """The compiled form of a study of a trial."""

    def __init__(self, study: Specification) -> None:
        check_trial(study)
        assert study.trial is not None
        self.study, self.trial = study, study.trial
        trial = study.trial
        model = trial.motion.check_system(study.model).with_rigid_tendons()
        parameters = Parameters.of(model, study.parameters.names)
        self.varied = VariedDemands(model, trial.motion, trial.loads, (trial.listed, trial.cones), parameters)
        self.effort = trial.effort or Effort()
        self.elastic = trial.tendons == "elastic" and model.muscles != study.model.muscles

    def run(self, begin: int, end: int) -> tuple[dict[str, Array], float]:
        """(all that is kept of samples begin ... end - 1, seconds spent on them)."""
        return self.run_values(self.study.values(begin, end))

    def run_values(self, values: Array) -> tuple[dict[str, Array], float]:
        """The same for given values (samples, parameters)."""
        began, samples = perf_counter(), len(values)
        rows = [self._sample(p) for p in values]
        arrays: dict[str, Array] = {
            "values": values,
            "status": np.full(samples, Outcome.COMPLETED, dtype=np.int8),
            "stopped_at": np.full(samples, np.nan),
            "fingerprint": np.ones(samples, dtype=np.int8),
        }
        arrays |= {name: np.array([row[name] for row in rows]) for name in ("unsolved", *self.study.keep.summaries)}
        return {name: np.ascontiguousarray(array) for name, array in arrays.items()}, perf_counter() - began

    def _sample(self, p: Array) -> dict[str, Array]:
        trial, demands = self.trial, self.varied.of(p, stress=self.effort.of == "stress")
        time = trial.motion.time
        solve = partial(recruited, effort=self.effort, backend="kernel", time=time, dynamics=trial.dynamics)
        if self.elastic:
            demands, solution = Tendons(self._bound(p)).solved(demands, time, solve)
        else:
            solution = solve(demands)
        found = solution.found
        solved, m = are_met(found.status), demands.lengths.shape[1]
        force = demands.tensions(found.x[:, :m])
        pressed = demands.pressed(force, found.x[:, m:])
        margin = margins_of(trial.cones, pressed)
        given = found.x[:, m:] * np.array([reserve.strength for reserve in trial.listed])
        at = Frames(found.x[solved, :m], force[solved], given[solved], pressed[solved], margin[solved],
                    partial(self._reactions, force, found.x[:, m:], p, solved))  # fmt: skip
        row: dict[str, Array] = {"unsolved": np.array(float((~solved).sum()))}
        for name in self.study.keep.summaries:
            summary = SUMMARIES[name]
            row[name] = summary.of_frames(at) if solved.any() else np.full(self._sizes[summary.along], np.nan)
        return row

    def _bound(self, p: Array) -> Model:
        """The model of a sample, with its elastic tendons."""
        found: Any = self.study.parameters.bind(p)
        return cast(Model, found)

    def _reactions(self, force: Array, controls: Array, p: Array, solved: Array) -> Array:
        return self.varied.reactions(force, controls, p)[solved]

    @property
    def _sizes(self) -> dict[str, int]:
        model = self.study.model
        labels = {name: len(own) for name, own in self.trial.labels.items()}
        return {"muscle": len(model.muscles), "body": len(model.system.bodies), **labels}


def check_trial(study: Specification) -> None:
    """Checks before anything is compiled. ValueError for parameters that a trial cannot vary and motions that violate
    the model's constraints, ModelError for muscles without a law."""
    assert study.trial is not None
    check_recorded(study.parameters)
    check_laws(study.model, study.parameters.names)
    check_consistent(study.model, study.trial.motion)


MAX_ENGINES = 8  # kept by a process that serves several studies

_engines: OrderedDict[str, Engine | TrialEngine] = OrderedDict()
_lock = threading.Lock()


def engine_for(key: str, study: Callable[[], Specification]) -> Engine | TrialEngine:
    """The engine of the study with this key, made at its first use in a process."""
    with _lock:
        if key not in _engines:
            _engines[key] = engine_of(study())
            while len(_engines) > MAX_ENGINES:
                _engines.popitem(last=False)
        _engines.move_to_end(key)
        return _engines[key]


def engine_of(study: Specification) -> Engine | TrialEngine:
    """A new engine for what the study does with a sample."""
    return Engine(study) if study.trial is None else TrialEngine(study)


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


def check_study(study: Specification) -> None:
    """Raise the errors that can be found before anything is compiled."""
    if study.trial is None:
        check_simulation(study)
    else:
        check_trial(study)
