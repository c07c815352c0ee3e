"""The specification of a study: a model, what varies and how, what is simulated and what is kept.

The record at the ground of this package: what computes, stores, describes and restores studies imports it;
`myoquat.analysis.studies.study.Study` adds the verbs of a user.

A design says which values the parameters take in which sample. Any rows can be computed alone, in any order.

grid              every combination of the listed values
table             row by row of the listed values, which are all of one length
random            independent draws
latin_hypercube   scipy.stats.qmc.LatinHypercube; drawn as a whole, so n x axes numbers are held in memory
sobol             scipy.stats.qmc.Sobol, scrambled
saltelli          the n (axes + 2) samples from which Sobol indices are estimated: A, B, and A with one axis of B

The variation of a study: names or patterns of parameters, each with its values or its distribution.

"bodies.A.mass": [4.0, 5.0, 6.0]                                        values, for a grid
"bodies.A.mass": {"range": [4.0, 6.0], "count": 21}                     the same, equally spaced
"muscles.*.max_isometric_force": {"uniform": [0.8, 1.2], "relative": True}    a distribution, times the model's own
"muscles.*.optimal_length": {"normal": [1.0, 0.05], "relative": True, "together": True}   one factor for all
"""

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from inspect import signature
from typing import Any

import numpy as np
from scipy import stats
from scipy.stats import qmc

from myoquat.core import Array, assign, check_unmasked, frozen, indices_of, real_array
from myoquat.data import load_model
from myoquat.dynamics.integrators import FIXED_STEP
from myoquat.dynamics.simulation.controls import Control
from myoquat.muscle import Model, Parameters
from myoquat.muscle.parameters import parameter_index

from .study_files import MuscleTrial
from .summaries import check_summaries

DISTRIBUTIONS: dict[str, Callable[..., Any]] = {
    "uniform": lambda low, high: stats.uniform(low, high - low),
    "log_uniform": lambda low, high: stats.loguniform(low, high),
    "normal": lambda mean, sd: stats.norm(mean, sd),
    "truncated_normal": lambda mean, sd, low, high: stats.truncnorm((low - mean) / sd, (high - mean) / sd, mean, sd),
    "log_normal": lambda median, sigma: stats.lognorm(sigma, scale=median),
    "triangular": lambda low, mode, high: stats.triang((mode - low) / (high - low), low, high - low),
}
POSITIVE = ("sd", "sigma", "median")  # and `low` of log_uniform; `low` is below `high` in all


MAX_VALUES, MAX_SAMPLES = 10**7, 10**9  # of a range, of a design
DESIGNS = ("grid", "table", "random", "latin_hypercube", "sobol", "saltelli")
LISTED = DESIGNS[:2]  # those of lists of values; the others take distributions


@frozen
class Axis:
    """One independent direction of a study: `columns` of the parameters, times their own values if `relative`.

    Either `values`, or `quantile`, the map of a share in [0, 1) to a value.
    """

    name: str
    columns: tuple[int, ...]
    relative: bool = False
    values: Array | None = None
    quantile: Callable[[Array], Array] | None = None


def parameters_of(model: Any, vary: Mapping[str, Any]) -> Parameters:
    """All parameters that `vary` names; ValueError for none, an unknown name or one named twice."""
    if not vary:
        raise ValueError("the study varies nothing: name at least one parameter")
    return Parameters.of(model, vary)


def axes_of(model: Any, vary: Mapping[str, Any]) -> list[Axis]:
    """The axes in the order in which they are named: one for each parameter, or one for all of a pattern "together".

    Raises ValueError, naming the parameter, for values and distributions that cannot be.
    """
    axes: list[Axis] = []
    first, index = 0, parameter_index(model)
    for pattern, given in vary.items():
        names = index.find(pattern)
        columns = tuple(range(first, first + len(names)))
        first += len(columns)
        table = dict(given) if isinstance(given, Mapping) else {"values": given}
        relative, together = (table.pop(key, False) for key in ("relative", "together"))
        for key, value in (("relative", relative), ("together", together)):
            if not isinstance(value, bool):
                raise ValueError(f"{pattern}: {key} is true or false, not {value!r}")
        content = _content(pattern, table)
        for name in names if relative else ():
            own = index.locations[name].value
            if np.isnan(own) or own == 0:
                state = "open" if np.isnan(own) else "zero"
                raise ValueError(f"{name}: the model's own value is {state}; relative to it there is nothing to vary")
        groups = [(pattern, columns)] if together else [(n, (k,)) for n, k in zip(names, columns, strict=True)]
        axes += [Axis(name, group, relative, **content) for name, group in groups]
    return axes


def _content(name: str, table: dict[str, Any]) -> dict[str, Any]:
    """The values of one entry of `vary`, or its quantile function."""
    count = table.pop("count", None)
    if len(table) != 1:
        known = ", ".join(("values", "range", *DISTRIBUTIONS))
        raise ValueError(f"{name}: exactly one of {known} is wanted, not {list(table) or 'none'}")
    ((choice, given),) = table.items()
    if count is not None and choice != "range":
        raise ValueError(f"{name}: a count goes with a range, not with {choice}")
    if choice != "values":
        quantile = _quantile(name, "uniform" if choice == "range" else choice, given)
        if choice != "range":
            return {"quantile": quantile}
        if isinstance(count, bool) or not isinstance(count, int) or not 2 <= count <= MAX_VALUES:
            raise ValueError(f"{name}: a range needs a count of 2 to {MAX_VALUES:,}, not {count!r}")
        low, high = quantile(np.array([0.0, 1.0]))
        return {"values": np.linspace(low, high, count)}
    if isinstance(given, str) or not isinstance(given, (Sequence, np.ndarray)):
        raise ValueError(f"{name}: a list of values or a table such as {{uniform = [a, b]}} is wanted, not {given!r}")
    values = _floats(given)
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
        raise ValueError(f"{name}: a list of finite numbers is wanted, at least one, not {given!r}")
    unique, counts = np.unique(values, return_counts=True)
    if counts.max() > 1:
        raise ValueError(f"{name}: the value {unique[counts > 1][0]} is given twice")
    return {"values": values}


def _quantile(name: str, distribution: str, numbers: Sequence[float]) -> Callable[[Array], Array]:
    """The quantile function of a distribution: shares in [0, 1) to values.

    Raises ValueError for an unknown distribution or a wrong number of parameters. It is raised for one that is not
    finite, a reversed range and a width that is not positive.
    """
    if distribution not in DISTRIBUTIONS:
        raise ValueError(f"{name}: distribution {distribution!r} is unknown; there are: {', '.join(DISTRIBUTIONS)}")
    make = DISTRIBUTIONS[distribution]
    names, values = tuple(signature(make).parameters), np.atleast_1d(_floats(numbers))
    if values.shape != (len(names),) or not np.isfinite(values).all():
        raise ValueError(
            f"{name}: {distribution} takes {len(names)} finite numbers ({', '.join(names)}), not {numbers}"
        )
    given = dict(zip(names, values.tolist(), strict=True))
    if "high" in given and not given["low"] < given["high"]:
        raise ValueError(f"{name}: the range of {distribution} is reversed or empty: {list(values)}")
    for key, value in given.items():
        if value <= 0 and (key in POSITIVE or (key, distribution) == ("low", "log_uniform")):
            raise ValueError(f"{name}: {key} of {distribution} must be positive, not {value}")
    if distribution == "triangular" and not given["low"] <= given["mode"] <= given["high"]:
        raise ValueError(f"{name}: the mode of triangular must lie between low and high, not at {given['mode']}")
    return make(**given).ppf


def _floats(given: Any) -> Array:
    """The numbers of a list; NaN where it does not hold numbers alone."""
    try:
        return real_array("values", given)
    except (TypeError, ValueError, OverflowError):
        return np.array([np.nan])


@frozen
class Design:
    """Axes and how they are sampled. `base` is the number asked for: of samples, for saltelli of rows of A."""

    kind: str
    axes: tuple[Axis, ...]
    defaults: Array
    base: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        design, base, listed = self.kind, self.base, self.kind in LISTED
        if design not in DESIGNS:
            raise ValueError(f"the design {design!r} is unknown; there are: {', '.join(DESIGNS)}")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise ValueError(f"seed must be a whole number that is not negative, not {self.seed!r}")
        for axis in self.axes:
            if listed and axis.values is None:
                raise ValueError(f"{axis.name}: a {design} needs a list of values or a range, not a distribution")
            if not listed and axis.quantile is None:
                raise ValueError(f"{axis.name}: the design {design} needs a distribution, such as uniform, not a list")
        if design == "table" and len(set(self._lengths)) > 1:
            lengths = dict(zip((axis.name for axis in self.axes), self._lengths, strict=True))
            raise ValueError(f"the columns of a table must have one length, not {lengths}")
        if listed and base is not None and base != self.count:
            raise ValueError(f"the {design} has {self.count} samples, not {base}; leave the number out")
        if not listed and (isinstance(base, bool) or not isinstance(base, int) or base < 1):
            raise ValueError(f"the number of samples must be a positive whole number, not {base!r}")
        if self.count > MAX_SAMPLES:
            raise ValueError(f"samples: the design has {self.count}; at most {MAX_SAMPLES:,} are computed")
        if design in ("sobol", "saltelli") and self._rows & (self._rows - 1):
            near = 2 ** round(math.log2(self._rows))
            raise ValueError(f"a {design} design needs a power of 2, such as {near}, not {base}")

    @property
    def _lengths(self) -> list[int]:
        """The number of values of each axis that lists them."""
        return [len(axis.values) for axis in self.axes if axis.values is not None]

    @property
    def _rows(self) -> int:
        """The number asked for, of designs that need one."""
        assert self.base is not None
        return self.base

    @cached_property
    def count(self) -> int:
        """Number of samples."""
        if self.kind in LISTED:
            return math.prod(self._lengths) if self.kind == "grid" else self._lengths[0]
        return self._rows * (len(self.axes) + 2) if self.kind == "saltelli" else self._rows

    def values(self, begin: int, end: int) -> Array:
        """(end - begin, n) the parameters of samples begin ... end - 1."""
        numbers, values = np.arange(begin, end), np.empty((end - begin, len(self.defaults)))
        if self.kind in LISTED:
            grid = self.kind == "grid"
            chosen = np.unravel_index(numbers, self._lengths) if grid else [numbers] * len(self.axes)
            columns = [axis.values[rows] for axis, rows in zip(self.axes, chosen, strict=True)]  # type: ignore[index]
        else:
            shares = self._shares(begin, end)
            columns = [axis.quantile(u) for axis, u in zip(self.axes, shares.T, strict=True)]  # type: ignore[misc]
        for column, axis in zip(columns, self.axes, strict=True):
            for k in axis.columns:
                values[:, k] = column * self.defaults[k] if axis.relative else column
        return values

    def _shares(self, begin: int, end: int) -> Array:
        """(samples, axes) points of the unit cube."""
        n = len(self.axes)
        if self.kind == "latin_hypercube":
            return self._whole[begin:end]
        if self.kind == "sobol":
            return self._sequence(n, begin, end)
        if self.kind == "random":  # every row begins at its own count, so that it does not matter which are drawn
            width = -(-n // 4)  # Philox yields four numbers per count
            stream = np.random.Philox(key=self.seed).advance(begin * width)
            return np.random.Generator(stream).random((end - begin, 4 * width))[:, :n]
        matrix, row = np.divmod(np.arange(begin, end), self._rows)
        of_b = (matrix == 1)[:, None] | (np.arange(n) == matrix[:, None] - 2)
        return np.where(of_b, self._whole[row, n:], self._whole[row, :n])

    @cached_property
    def _whole(self) -> Array:
        """(base, axes) a Latin hypercube; of Saltelli's design (base, 2 axes), A beside B."""
        if self.kind == "saltelli":
            return self._sequence(2 * len(self.axes), 0, self._rows)
        return qmc.LatinHypercube(len(self.axes), rng=np.random.default_rng(self.seed)).random(self._rows)

    def _sequence(self, dimensions: int, begin: int, end: int) -> Array:
        """(end - begin, dimensions) of Sobol's sequence."""
        engine = qmc.Sobol(dimensions, rng=np.random.default_rng(self.seed))
        if begin:
            return engine.fast_forward(begin).random(end - begin)
        # SciPy warns of a first draw that is no power of 2; the whole design is one
        first: Array = engine.random(min(1, end))
        return np.concatenate([first, engine.random(end - 1)]) if end > 1 else first


# ---- The specification -------------------------------------------------------------------------------------------

MIN_SUMMARY_STATES = 200  # about the number of states of a run that summaries use, unless more are wanted


MAX_STEPS = 10**9  # of a run


@frozen
class Specification:
    """Simulations of one model with varied parameters.

    model             a Model, or what `load_model` takes.
    vary              parameter names or patterns -> values or distributions (as at the top of this module).
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
        model = self.model if isinstance(self.model, Model) else load_model(self.model)
        assign(self, model=model, vary=dict(self.vary))
        for name in ("start_q", "start_u"):
            if getattr(self, name) is not None:
                assign(self, **{name: tuple(_numbers(name, getattr(self, name)))})
        listed = isinstance(self.summaries, Sequence) and not isinstance(self.summaries, str)
        if not listed or not all(isinstance(name, str) for name in self.summaries):
            raise ValueError(f"summaries must be a list of names, not {self.summaries!r}")
        if not isinstance(self.final, bool):
            raise ValueError(f"final must be true or false, not {self.final!r}")
        assign(self, summaries=tuple(self.summaries))
        check_summaries(tuple(self.summaries), self.trial is not None)
        if self.trial is not None:
            assign(self, trial=self.trial.of_model(model))
            if not self.summaries:
                raise ValueError("the study keeps nothing: ask for summaries")
            _ = self.design_of
            return

        for name in ("duration", "step", "summary_step"):
            value = getattr(self, name)
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if not (number and 0 < value <= sys.float_info.max) and (value is not None or name != "summary_step"):
                raise ValueError(f"{name} must be a positive number [s], not {value!r}")
        if not isinstance(self.method, str) or self.method not in FIXED_STEP:
            raise ValueError(f"the method {self.method!r} is unknown; there are: {', '.join(FIXED_STEP)}")
        if self.duration / MAX_STEPS > self.step:
            raise ValueError(f"the duration {self.duration} s is more than {MAX_STEPS:,} steps of {self.step} s")
        if abs(self.steps * self.step - self.duration) > 1e-9 * self.duration or not self.steps:
            raise ValueError(f"the duration {self.duration} s is not a whole number of steps of {self.step} s")
        if not isinstance(self.limits, Mapping):
            raise ValueError(f"limits must be a table of (low, high) by name, not {self.limits!r}")
        known = (*model.system.coordinate_names, *model.system.velocity_names)
        for name, ends in self.limits.items():
            indices_of("coordinate or velocity for limits:", [name], known)
            low_high = _numbers(f"limits: {name}", ends)
            if len(low_high) != 2 or not low_high[0] < low_high[1]:
                raise ValueError(f"limits: {name} needs (low, high) in this order, not {low_high}")
        if not (self.final or self.summaries or self.time_steps):
            raise ValueError("the study keeps nothing: ask for final values, times or summaries")
        _ = self.every, self.design_of, self.start, self.activations  # checked where they are made

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
    def time_steps(self) -> tuple[int, ...]:
        """The steps after which the state is kept."""
        times, steps = self.times, self.steps
        if self.trial is not None:
            return ()
        if isinstance(times, bool) or not isinstance(times, int):
            values = _numbers("times", times)
            if not np.isfinite(values).all() or np.any(np.diff(values) <= 0):
                raise ValueError(f"times must be finite and ascend, not {values}")
            return tuple(self._whole("times", t) for t in values)
        if not 0 <= times <= steps:
            raise ValueError(f"times must be a number from 0 to the {steps} steps, or a list, not {times}")
        if steps % max(times, 1):
            raise ValueError(f"{steps} steps cannot be cut into {times} equal parts; give times as a list")
        return tuple(k * steps // times for k in range(1, times + 1))

    @cached_property
    def summary_every(self) -> int:
        """Steps between the states that summaries are taken over: a divisor of the number of steps."""
        if self.summary_step is not None:
            every = self._whole("summary_step", self.summary_step)
            if every < 1 or self.steps % every:
                raise ValueError(f"summary_step must divide the duration, which {self.summary_step} s does not")
            return every
        wanted = max(1, self.steps // MIN_SUMMARY_STATES)
        return next(n for n in range(wanted, 0, -1) if self.steps % n == 0)

    @property
    def every(self) -> int:
        """Steps between the states that a run has to show: all that are kept or looked at lie on these."""
        return math.gcd(self.steps, *self.time_steps, *([self.summary_every] if self.summaries else []))

    def _whole(self, name: str, t: float) -> int:
        """The number of the step that ends at time t."""
        ratio = t / self.step
        number = round(ratio) if math.isfinite(ratio) else -1
        if not 0 <= number <= self.steps or abs(number * self.step - t) > 1e-9 * max(1.0, abs(t)):
            raise ValueError(
                f"{name}: {t} s is not one of the steps of {self.step} s up to {self.steps * self.step:g} s"
            )
        return number

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
        model, given = self.model, self.activation
        if self.trial is not None:
            return np.zeros(0)
        if given is None:
            if any(own.name in model.muscle_names for own in model.inputs):  # others are zero, as in a simulation
                return np.zeros(len(model.muscles))
            missing = [
                muscle.name
                for muscle in model.muscles
                if muscle.default_activation is None
                and f"muscles.{muscle.name}.activation" not in self.parameters.names
            ]
            if missing:
                raise ValueError(f"the model has no activation for {', '.join(missing)}: give the study's `activation`")
            return np.array([0.0 if m.activation is None else m.activation for m in model.muscles])
        if callable(given):
            raise ValueError("a study is stored with its activation: give (times, values (t, m)) instead of a function")
        check_unmasked("activation", given)
        pair = isinstance(given, (tuple, list)) and len(given) == 2 and all(map(np.iterable, given))
        try:
            first, *more = (np.asarray(part, dtype=float) for part in (given if pair else (given,)))
        except (TypeError, ValueError, OverflowError):
            raise ValueError("activation must be numbers, or rows of numbers of one length") from None
        if more:
            table = Control("activation", (first, *more), model.check_activation).table
            if table is None or table[1].ndim != 2:
                raise ValueError("activation: a pair needs times (t,) and values (t, m)")
            return table
        return model.check_activation(np.full(len(model.muscles), first) if first.ndim == 0 else first)

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


def labels_of(study: Specification) -> dict[str, tuple[str, ...]]:
    """Names along the dimensions of the results of a study."""
    system = study.model.system
    return {
        "parameter": study.parameters.names,
        "coordinate": system.coordinate_names,
        "velocity": system.velocity_names,
        "muscle": study.model.muscle_names,
        "body": system.body_names,
        **({} if study.trial is None else study.trial.labels),
    }


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
