"""The specification of a study: a model, what varies and how, what is simulated and what is kept.

The record at the ground of this package: what computes, stores, describes and restores studies imports it;
`myoquat.analysis.studies.study.Study` adds the verbs of a user.
"""

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property, reduce
from math import gcd
from typing import Any

import numpy as np

from myoquat.analysis.studies.design import Design, axes_of, parameters_of
from myoquat.analysis.studies.summaries import check_summaries
from myoquat.analysis.studies.trial import MuscleTrial
from myoquat.core import Array, check_unmasked, frozen, indices_of, real_array
from myoquat.data import load_model
from myoquat.dynamics.integrators import FIXED_STEP
from myoquat.dynamics.simulation.controls import Control
from myoquat.muscle import Model, Parameters

__all__ = ["Keep", "Specification"]

MIN_SUMMARY_STATES = 200  # about the number of states of a run that summaries use, unless more are wanted


@frozen
class Keep:
    """What a study keeps of each sample. Of a trial it keeps summaries alone.

    final         whether the final state is kept
    times         a number of equally spaced ones up to the end, or a list [s], multiples of the step
    summaries     names in `SUMMARIES`
    summary_step  [s] between the states of summaries; None for about 200 states in a run
    steps         number of steps of a run
    step          [s] of the integrator
    trial         whether the samples are those of a trial
    """

    final: bool
    times: int | tuple[float, ...]
    summaries: tuple[str, ...]
    summary_step: float | None
    steps: int
    step: float
    trial: bool = False

    def __post_init__(self) -> None:
        check_summaries(self.summaries, self.trial)
        if not (self.final or self.summaries or len(self.time_steps)):
            wanted = "summaries" if self.trial else "final values, times or summaries"
            raise ValueError(f"the study keeps nothing: ask for {wanted}")
        _ = self.every  # what it asks for must lie on the steps

    @property
    def time_steps(self) -> tuple[int, ...]:
        """The steps after which the state is kept."""
        if isinstance(self.times, tuple):
            return tuple(self._whole("times", t) for t in _ascending(self.times))
        if self.times < 0 or self.times > self.steps:
            raise ValueError(f"times must be a number from 0 to the {self.steps} steps, or a list, not {self.times}")
        wanted = np.arange(1, self.times + 1) * self.steps
        if np.any(wanted % max(self.times, 1)):
            raise ValueError(f"{self.steps} steps cannot be cut into {self.times} equal parts; give times as a list")
        return tuple((wanted // max(self.times, 1)).tolist())

    @property
    def every(self) -> int:
        """Steps between the states that a run has to show: all that are kept or looked at lie on these."""
        numbers = [*self.time_steps, *([self.summary_every] if self.summaries else [])]
        return reduce(gcd, numbers, self.steps) or 1

    @property
    def summary_every(self) -> int:
        """Steps between the states that summaries are taken over: a divisor of the number of steps."""
        if self.summary_step is not None:
            every = self._whole("summary_step", self.summary_step)
            if every < 1 or self.steps % every:
                raise ValueError(f"summary_step must divide the duration, which {self.summary_step} s does not")
            return every
        wanted = max(1, self.steps // MIN_SUMMARY_STATES)
        return next(n for n in range(wanted, 0, -1) if self.steps % n == 0)

    def _whole(self, name: str, t: float) -> int:
        """The number of the step that ends at time t."""
        ratio = t / self.step
        number = round(ratio) if math.isfinite(ratio) else -1
        if not 0 <= number <= self.steps or abs(number * self.step - t) > 1e-9 * max(1.0, abs(t)):
            raise ValueError(
                f"{name}: {t} s is not one of the steps of {self.step} s up to {self.steps * self.step:g} s"
            )
        return number


def _ascending(times: Sequence[float]) -> Sequence[float]:
    values: Any = real_array("times", times)
    if not np.isfinite(values).all() or np.any(np.diff(values) <= 0):
        raise ValueError(f"times must be finite and ascend, not {list(times)}")
    return times


MOST_STEPS = 10**9  # of a run


@frozen
class Specification:
    """Simulations of one model with varied parameters.

    model             a Model, or what `load_model` takes.
    vary              parameter names or patterns -> values or distributions (`studies.definition.vary`).
    design            one of `DESIGNS`; samples: how many, where the design does not say; seed: of all that is random.
    duration, step    [s]; the duration is a whole number of steps. method: one of fixed step, as for `simulate`.
    activation        (m,) array, one number for all muscles, a tuple (times, values (t, m)) interpolated linearly, or
                      None for the model's own. Muscles with activation dynamics take it as excitations, and start at
                      them. Fiber lengths of elastic tendons start in equilibrium, with each sample's numbers.
    start_q, start_u  where every run starts; None for the model's own.
    limits            coordinate or velocity name -> (low, high): a run that leaves them stops there.
    final, times      keep the final state; states at so many equally spaced times, or at these [s].
    summaries         names in `SUMMARIES`; of simulations over states every `summary_step` [s].
    trial             a `MuscleTrial`: instead of a simulation, every sample solves the muscle redundancy of its motion.
                      Bodies, gravity, forces, limits, actuators, inputs and muscles may vary, and joints of models
                      without constraints. Options of simulations have no effect.

    Raises ValueError, or ModelError, for anything of this that cannot be, before anything is computed.

    >>> import myoquat as mq
    >>> vary = {"bodies.B.mass": {"uniform": [4.0, 6.0]}}
    >>> study = mq.Study("two_link", vary, samples=4, duration=0.01, final=True)
    >>> study.run(progress=False).sizes["sample"]
    4
    """

    model: Any
    vary: Mapping[str, Any]
    design: str = "latin_hypercube"
    samples: int | None = None
    seed: int = 0
    duration: float = 1.0
    step: float = 1e-3
    method: str = "rk4"
    activation: Any = None
    start_q: Sequence[float] | None = None
    start_u: Sequence[float] | None = None
    limits: Mapping[str, Sequence[float]] = field(default_factory=dict)
    final: bool = True
    times: int | Sequence[float] = 0
    summaries: Sequence[str] = ()
    summary_step: float | None = None
    trial: MuscleTrial | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.model, Model):
            object.__setattr__(self, "model", load_model(self.model))
        object.__setattr__(self, "vary", dict(self.vary))
        for name in ("start_q", "start_u"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, tuple(_numbers(name, getattr(self, name))))
        named = isinstance(self.summaries, Sequence) and not isinstance(self.summaries, str)
        if not named or not all(isinstance(name, str) for name in self.summaries):
            raise ValueError(f"summaries must be a list of names, not {self.summaries!r}")
        if not isinstance(self.final, bool):
            raise ValueError(f"final must be true or false, not {self.final!r}")
        if self.trial is not None:
            object.__setattr__(self, "trial", self.trial.of_model(self.model))
            _ = self.keep, self.design_of
            return
        self._check_simulation()

    def _check_simulation(self) -> None:
        _check_positive("duration", self.duration)
        _check_positive("step", self.step)
        if self.summary_step is not None:
            _check_positive("summary_step", self.summary_step)
        if not isinstance(self.method, str) or self.method not in FIXED_STEP:
            raise ValueError(f"the method {self.method!r} is unknown; there are: {', '.join(FIXED_STEP)}")
        if self.duration / MOST_STEPS > self.step:
            raise ValueError(f"the duration {self.duration} s is more than {MOST_STEPS:,} steps of {self.step} s")
        if abs(self.steps * self.step - self.duration) > 1e-9 * self.duration or not self.steps:
            raise ValueError(f"the duration {self.duration} s is not a whole number of steps of {self.step} s")
        self._check_limits()
        _ = self.keep, self.design_of, self.start, self.activations  # checked where they are made

    # ---- what it consists of ---------------------------------------------------------------------------------

    @property
    def steps(self) -> int:
        """Number of steps of each run."""
        return round(self.duration / self.step)

    @cached_property
    def parameters(self) -> Parameters:
        """The varied parameters, in the order of the columns of all results."""
        return parameters_of(self.model, self.vary)

    @cached_property
    def design_of(self) -> Design:
        """The values of the parameters in every sample."""
        return Design(
            self.design, tuple(axes_of(self.model, self.vary)), self.parameters.defaults, self.samples, self.seed
        )

    @property
    def count(self) -> int:
        """Number of samples."""
        return self.design_of.count

    @cached_property
    def keep(self) -> Keep:
        """The results that are kept."""
        if self.trial is not None:
            return Keep(False, (), tuple(self.summaries), None, 0, self.step, trial=True)
        times = self.times
        if isinstance(times, bool) or not isinstance(times, int):
            times = tuple(_numbers("times", times))
        return Keep(self.final, times, tuple(self.summaries), self.summary_step, self.steps, self.step)

    @cached_property
    def start(self) -> tuple[Array, Array]:
        """(nq,), (nu,) where a run starts if it is not varied."""
        system = self.model.system
        q = self.start_q if self.start_q is not None else self.model.start_q
        u = self.start_u if self.start_u is not None else self.model.start_u
        q = system.neutral() if q is None else system.check_q(q)
        return q, np.zeros(system.nu) if u is None else system.check_u(u)

    @cached_property
    def activations(self) -> tuple[Array, Array] | Array:
        """(m,) constant activations, or times (t,) and values (t, m)."""
        model = self.model
        if self.trial is not None:
            return np.zeros(0)
        if self.activation is None:
            return self._own_activations()
        if isinstance(self.activation, (tuple, list)) and len(self.activation) == 2 and _depth(self.activation[1]) == 2:
            _check_rows("activation", *self.activation)
            if np.ndim(self.activation[0]) != 1:
                raise ValueError("activation: a pair (times, values (t, m)) needs times (t,)")
            table = Control("activation", self.activation, model.check_activation).table
            if table is None:
                raise ValueError("activation: a pair (times, values (t, m)) needs times (t,)")
            return table
        if callable(self.activation):
            raise ValueError("a study is stored with its activation: give (times, values (t, m)) instead of a function")
        if isinstance(self.activation, (list, tuple)):
            _check_rows("activation", self.activation)
        given = np.full(len(model.muscles), self.activation) if np.ndim(self.activation) == 0 else self.activation
        return model.check_activation(given)

    def _own_activations(self) -> Array:
        varied = {name for name in self.parameters.names if name.endswith(".activation")}
        varied |= {f"muscles.{own.name}.activation" for own in self.model.inputs}
        missing = [
            muscle.name
            for muscle in self.model.muscles
            if muscle.default_activation is None and f"muscles.{muscle.name}.activation" not in varied
        ]
        if missing:
            raise ValueError(f"the model has no activation for {', '.join(missing)}: give the study's `activation`")
        return np.array([0.0 if m.activation is None else m.activation for m in self.model.muscles])

    def values(self, begin: int = 0, end: int | None = None) -> Array:
        """(samples, parameters) the varied values of samples begin ... end - 1, all by default."""
        return self.design_of.values(begin, self.count if end is None else end)

    @property
    def runs(self) -> str:
        """A description of the computation of every sample, in words."""
        if self.trial is not None:
            return f"muscle redundancy of {len(self.trial.motion.time)} frames"
        return f"{self.duration:g} s by {self.method} in steps of {self.step:g} s"

    # ---- checks ----------------------------------------------------------------------------------------------

    def check_values(self, rows: int = 200_000) -> None:
        """ValueError, naming the sample, if the model refuses a value of any sample."""
        for begin in range(0, self.count, rows):
            try:
                self.parameters.check(self.values(begin, min(begin + rows, self.count)))
            except ValueError as error:
                place = f"of those from {begin} on, " if begin else ""
                raise ValueError(f"{place}{error}") from error

    def _check_limits(self) -> None:
        if not isinstance(self.limits, Mapping):
            raise ValueError(f"limits must be a table of (low, high) by name, not {self.limits!r}")
        known = (*self.model.system.coordinate_names, *self.model.system.velocity_names)
        for name, ends in self.limits.items():
            indices_of("coordinate or velocity for limits:", [name], known)
            low_high = _numbers(f"limits: {name}", ends)
            if len(low_high) != 2 or not low_high[0] < low_high[1]:
                raise ValueError(f"limits: {name} needs (low, high) in this order, not {low_high}")


def _numbers(name: str, given: Any) -> list[float]:
    """A list of numbers as floats; ValueError for anything else."""
    try:
        if isinstance(given, str):
            raise TypeError("text")
        check_unmasked(name, given)
        if isinstance(given, bool) or any(isinstance(x, (bool, str)) for x in given):
            raise TypeError("no number")
        return [float(x) for x in given]
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be a list of numbers, not {given!r}") from None


def _check_rows(name: str, *given: Any) -> None:
    """ValueError unless each is an array, or lists in lists of one length, of numbers."""
    for part in given:
        check_unmasked(name, part)
        try:
            np.asarray(part, dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"{name} must be numbers, or rows of numbers of one length") from None


def _depth(given: Any) -> int:
    """How deep the first entries of lists in lists lie; the number of axes of an array."""
    if isinstance(given, (list, tuple)):
        return 1 + (_depth(given[0]) if given else 0)
    return int(np.ndim(given))


def _check_positive(name: str, value: float) -> None:
    number = not isinstance(value, bool) and isinstance(value, (int, float))
    if not number or not 0 < value < math.inf or value > sys.float_info.max:
        raise ValueError(f"{name} must be a positive number [s], not {value!r}")
