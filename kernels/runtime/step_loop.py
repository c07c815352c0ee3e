"""Step loops: advance states many steps in one call.

    loop = step_loop(14, rhs=motion, inputs={"activation": 6}, parameters={"mass": ()}, project=normalized)
    run = loop(x0, h=1e-3, steps=4000, every=10, activation=LinearInterpolation(times, values), mass=1.0)
    run.states    # (..., 401, 14), the first row the start
    run.stopped   # (...,) step at which a state stopped, -1 if it ran through; run.reason says why

All states share start, step and number of steps, but not inputs and parameters.
"""

import ctypes
import itertools
import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from myoquat.core import Array, ArrayLike, check_unmasked, digest, frozen, options_of, real_array, uncollected, waiting
from myoquat.kernels.codegen.step_loop import Outcome, StepPlan, write_steps
from myoquat.kernels.control_flow.out_of_line_call import out_of_line_call
from myoquat.kernels.control_flow.table_loop import map_rows
from myoquat.kernels.runtime import batch as _batch
from myoquat.kernels.symbolic.arrays import as_array
from myoquat.kernels.tracing.context import sharing_traces
from myoquat.kernels.tracing.tape import Shape, Signature
from myoquat.kernels.tracing.trace import Formula, shape_of, trace

from .build import Recipe
from .compiled import Executable, count_call
from .execution import split_and_run
from .settings import thread_count


@frozen
class Tableau:
    """Butcher's array of an explicit method: k_i = f(t + c_i h, x + h sum_j a_ij k_j), x' = x + h sum_i b_i k_i.

    >>> from myoquat.kernels import Tableau, step_loop
    >>> heun = Tableau(a=((), (1.0,)), b=(0.5, 0.5), c=(0.0, 1.0))
    >>> step_loop(1, rhs=lambda t, x: -x, method=heun)([1.0], h=0.1, steps=1).final.round(6)
    array([0.905])
    """

    a: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]
    c: tuple[float, ...]

    def __post_init__(self) -> None:
        stages = len(self.b)
        explicit = len(self.a) == stages == len(self.c) and all(len(row) <= k for k, row in enumerate(self.a))
        if not explicit or not stages:
            raise ValueError(
                f"not an explicit Runge-Kutta tableau of {stages} stages: row k of a has at most k entries"
            )
        for row, node in zip(self.a, self.c, strict=True):
            if abs(sum(row) - node) > 1e-12:
                raise ValueError(f"row {row} of a tableau sums to {sum(row)}, not to its node {node}")
        if abs(sum(self.b) - 1.0) > 1e-12:
            raise ValueError(f"the weights {self.b} of a tableau sum to {sum(self.b)}, not to 1")


@frozen
class ExplicitMethod:
    """An explicit method by formulas, where the next state is not x + h times a sum of slopes (on a Lie group).

    k_i = f(t + c_i h, x_i) with x_0 = x and x_i = updates[i - 1](x, h, *slopes). The last x_i is the state after the
    step. The tuple `slope_indices[i - 1]` lists, in order, the earlier slopes that update i - 1 takes. Updates that are
    `entrywise`, the same for every component by itself, are given single numbers. Their code does not grow with the
    state.

    >>> from myoquat.kernels import METHODS, ExplicitMethod
    >>> stages = ExplicitMethod.of(METHODS["rk4"])
    >>> stages.c, stages.slope_indices
    ((0.0, 0.5, 0.5, 1.0), ((0,), (1,), (2,), (0, 1, 2, 3)))
    """

    c: tuple[float, ...]
    slope_indices: tuple[tuple[int, ...], ...]
    updates: tuple[Callable[..., Any], ...]
    entrywise: bool = False

    def __post_init__(self) -> None:
        earlier = all(0 <= j <= k for k, indices in enumerate(self.slope_indices) for j in indices)
        if not len(self.c) == len(self.slope_indices) == len(self.updates) > 0 or not earlier:
            raise ValueError(
                f"{len(self.c)} nodes need as many updates, each of slopes before it, not {self.slope_indices}"
            )

    @classmethod
    def of(cls, tableau: Tableau) -> "ExplicitMethod":
        """The stages of a Runge-Kutta method."""
        rows = (*tableau.a[1:], tableau.b)
        indices = tuple(tuple(j for j, w in enumerate(row) if w != 0.0) for row in rows)
        return cls(tableau.c, indices, tuple(_combination([w for w in row if w != 0.0]) for row in rows), True)

    def stepped(
        self,
        slope: Callable[[float, Array], Array],
        x: Array,
        h: Array,
        apply: Callable[..., Array] = lambda update, *given: update(*given),
    ) -> Array:
        """The state after a step, of slope(node, state); apply(update, x, h, *slopes) evaluates an update."""
        slopes: list[Array] = []
        at = x
        for node, indices, update in zip(self.c, self.slope_indices, self.updates, strict=True):
            slopes.append(slope(node, at))
            at = apply(update, x, h, *(slopes[j] for j in indices))
        return at


def _combination(weights: list[float]) -> Callable[..., Any]:
    """x + h sum_j w_j k_j."""

    def formula(x: Any, h: Any, *slopes: Any) -> Any:
        total: Any = 0.0
        for weight, slope in zip(weights, slopes, strict=True):
            total = total + weight * slope
        return x + h * total

    return formula


# Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, section II.1
METHODS = {
    "euler": Tableau(((),), (1.0,), (0.0,)),
    "midpoint": Tableau(((), (0.5,)), (0.0, 1.0), (0.0, 0.5)),
    "heun": Tableau(((), (1.0,)), (0.5, 0.5), (0.0, 1.0)),
    "rk4": Tableau(((), (0.5,), (0.0, 0.5), (0.0, 0.0, 1.0)), (1 / 6, 1 / 3, 1 / 3, 1 / 6), (0.0, 0.5, 0.5, 1.0)),
}


# ---- inputs that change with time --------------------------------------------------------------------------


@frozen
class ZeroOrderHold:
    """An input that is constant in pieces: values (..., K, *shape), each for `hold` steps, the last from then on.

    >>> import numpy as np
    >>> from myoquat.kernels import ZeroOrderHold, step_loop
    >>> loop = step_loop(1, rhs=lambda t, x, u: np.stack([u]), inputs={"u": ()}, method="euler")
    >>> run = loop([0.0], h=1.0, steps=4, u=ZeroOrderHold([1.0, 10.0], hold=2))  # each value for two steps
    >>> run.states.T
    array([[ 0.,  1.,  2., 12., 22.]])
    """

    values: Any
    hold: int = 1

    def _rows(self, step: Array, t: Array, count: int) -> tuple[Array, Any]:
        """The row, and the share of the next one, at steps (s, 1) and times (s, k), of so many rows."""
        return np.minimum(step // self.hold, count - 1), 0.0


@frozen
class LinearInterpolation:
    """An input between given values: times (K,) increasing, values (..., K, *shape), linear, constant outside.

    >>> import numpy as np
    >>> from myoquat.kernels import LinearInterpolation, step_loop
    >>> loop = step_loop(1, rhs=lambda t, x, u: np.stack([u]), inputs={"u": ()})
    >>> ramp = LinearInterpolation([0.0, 1.0], [0.0, 2.0])  # between the rows linearly: the integral of 2 t
    >>> loop([0.0], h=0.5, steps=2, u=ramp).final
    array([1.])
    """

    times: Any
    values: Any

    def _rows(self, step: Array, t: Array, count: int) -> tuple[Array, Any]:
        """As those of `ZeroOrderHold`."""
        if count == 1:
            return 0 * step, 0.0
        times = np.asarray(self.times, dtype=float)
        k = np.clip(np.searchsorted(times, t, side="right") - 1, 0, count - 2)
        share = np.clip((t - times[k]) / (times[k + 1] - times[k]), 0.0, 1.0)
        return np.where(share == 1.0, k + 1, k), np.where(share == 1.0, 0.0, share)


def _table(loop: str, key: str, given: Any, shape: Shape) -> tuple[Array, int, Callable[..., tuple[Array, Any]]]:
    """What a call gives for input `key` of `shape`: values (..., K, *shape), K, and which rows belong to which steps.
    ValueError for times and values that do not fit."""
    name, axes = f"step loop '{loop}': {{}} of '{key}'", len(shape)
    check_unmasked(f"step loop '{loop}': input '{key}'", getattr(given, "values", given))
    if not isinstance(given, ZeroOrderHold | LinearInterpolation):
        values = np.asarray(given)
        values = np.expand_dims(values, values.ndim - axes) if values.ndim >= axes else values
        return values, 1, ZeroOrderHold(values)._rows
    values = np.asarray(given.values)
    if values.ndim <= axes or not values.shape[values.ndim - axes - 1]:
        raise ValueError(
            f"{name.format('values')} have shape {values.shape}; (..., K, {', '.join(map(str, shape))}) is needed"
        )
    count = values.shape[values.ndim - axes - 1]
    if isinstance(given, ZeroOrderHold):
        if given.hold < 1:
            raise ValueError(f"step loop '{loop}': '{key}' is held for {given.hold} steps; at least 1 is needed")
        return values, count, given._rows
    times = real_array(name.format("times"), given.times)
    if times.shape != (count,) or not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise ValueError(f"{name.format('times')} {times.shape} must be {count} increasing numbers")
    return values, count, given._rows


# ---- step loops --------------------------------------------------------------------------------------------


_MAX_UNROLLED_COMPONENTS = 16  # of a state, up to which the code of each is written out
_RESERVED = ("t", "h", "x", "x0", "steps", "every", "start", "threads")


@frozen
class Steps:
    """What a step loop returns, for a batch (...).

    times    (r,)
    states   (..., r, n), NaN after a stop
    final    (..., n), the last good state
    stopped  (...,) the step whose state ended the run, -1 if none
    reason   (...,) the `Outcome` of each: COMPLETED, NOT_FINITE or BOUND; a state stopped by a bound is still shown

    >>> from myoquat.kernels import step_loop
    >>> run = step_loop(1, rhs=lambda t, x: -x)([1.0], h=0.1, steps=10, every=5)
    >>> run.times, run.states.ravel().round(3), int(run.stopped)
    (array([0. , 0.5, 1. ]), array([1.   , 0.607, 0.368]), -1)
    """

    times: np.ndarray
    states: np.ndarray
    final: np.ndarray
    stopped: np.ndarray
    reason: np.ndarray


@frozen
class LoopOptions:
    """How a step loop is called, compiled and kept; see the arguments of the same names of `step_loop` and `compile`.

    >>> from myoquat.kernels import LoopOptions
    >>> LoopOptions("pendulum", lanes=8).name
    'pendulum'
    """

    name: str = "steps"
    content: str | None = None
    lanes: int | None = None
    threads: int | None = None
    cache: str | os.PathLike[str] | None = None


def step_loop(
    state: int,
    *,
    rhs: Formula | None = None,
    step: Formula | None = None,
    inputs: Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    method: str | Tableau | ExplicitMethod = "rk4",
    node: float = 0.0,
    project: Formula | None = None,
    bound: Formula | None = None,
    name: str = "steps",
    content: str | None = None,
    lanes: int | None = None,
    threads: int | None = None,
    cache: str | os.PathLike[str] | None = None,
    options: LoopOptions | None = None,
) -> "StepLoop":
    """Compile a loop over steps of a state x (n,), n = `state`.

    rhs         (t, x, *inputs, *parameters) -> xdot, stepped by `method`: a name in `METHODS`, a Tableau, or
                ExplicitMethod where a step is more than a sum; or
    step        (t, h, x, *inputs, *parameters) -> x after the step, with the inputs at t + node h.
    project     (t, x, *inputs, *parameters) -> x, after each step of a method (e.g. normalization), t its end.
    bound       (t, x, *inputs, *parameters) -> number, after every step; a state stops where it is positive (or true).
    inputs      name -> shape, may change with time.
    parameters  name -> shape, constant.
    content     text that identifies these formulas, method and projection included, as for `compile`. A loop in the
                cache is then loaded without running the formulas.
    options     `LoopOptions`: the options from `name` to `cache` in a record instead of singly.

    Raises ValueError for a formula of the wrong shape, an unknown method or name.

    >>> import numpy as np
    >>> from myoquat.kernels import step_loop
    >>> def oscillator(t, x, w):
    ...     return np.stack([x[1], -w * w * x[0]])
    >>> loop = step_loop(2, rhs=oscillator, parameters={"w": ()})
    >>> run = loop([1.0, 0.0], h=0.01, steps=50, w=np.pi)  # a quarter of a period
    >>> float(run.final[1].round(4))
    -3.1416
    """
    name = (options := options_of("options", options, LoopOptions(name, content, lanes, threads, cache))).name
    shapes = {
        role: {key: shape_of(name, key, shape) for key, shape in (given or {}).items()}
        for role, given in (("inputs", inputs), ("parameters", parameters))
    }
    reserved = [key for key in (*shapes["inputs"], *shapes["parameters"]) if key in _RESERVED]
    if reserved or shapes["inputs"].keys() & shapes["parameters"].keys():
        raise ValueError(f"step loop '{name}': inputs and parameters need names of their own, not {reserved}")
    if (rhs is None) == (step is None) or (project is not None and rhs is None):
        raise ValueError(f"step loop '{name}': give either rhs (with project, if need be) or step")
    stages = _stages(name, method) if rhs is not None else None
    wanted = _Wanted(name, state, shapes["inputs"], shapes["parameters"], rhs, step, stages, node, project, bound)
    with waiting(f"compiling {name}"), uncollected():
        return StepLoop(
            wanted.recipe(options.content), name, state, wanted.nodes, *shapes.values(),
            lanes=options.lanes, threads=options.threads, cache=options.cache,
        )  # fmt: skip


@frozen
class _Wanted:
    """The formulas of a step loop, before they are traced."""

    name: str
    size: int
    inputs: dict[str, Shape]
    parameters: dict[str, Shape]
    rhs: Formula | None
    step: Formula | None
    method: ExplicitMethod | None
    node: float
    project: Formula | None
    bound: Formula | None

    @property
    def nodes(self) -> tuple[float, ...]:
        """Where in a step the inputs are needed, as shares of it: at the nodes of the stages, or at `node`."""
        return (self.node,) if self.method is None else tuple(sorted(set(self.method.c)))

    def recipe(self, content: str | None) -> Recipe:
        """The formulas, which are traced when they are needed."""
        shapes = str((self.name, self.size, self.inputs, self.parameters, self.nodes))
        key = None if content is None else digest("steps", content, shapes)
        return Recipe(lambda: self.plan(content), write_steps, key)

    def plan(self, content: str | None) -> StepPlan:
        """The traced step."""
        count = len(self.nodes)
        shapes: dict[str, Any] = {"t": count + 1, "h": (), "steps": (), "x": self.size + 3}
        shapes |= {key: (count, *shape) for key, shape in self.inputs.items()} | self.parameters
        with sharing_traces(content):
            step = trace(self._advanced, shapes, ["x"], self.name)
        sizes = {key: math.prod(shape) for key, shape in self.inputs.items()}
        return StepPlan(self.size, self.nodes, sizes, tuple(self.parameters), step)

    def _advanced(self, t: Array, h: Array, steps: Array, x: Array, *values: Array) -> Array:
        """The step of a `StepPlan`. Lanes that run take their next state. Where that is not finite they keep their last
        one and stop; at a bound they stop behind it."""
        old, running, stopped, reason = x[:-3], x[-3] > 0, x[-2], x[-1]
        inputs, parameters = values[: len(self.inputs)], values[len(self.inputs) :]

        def at(node: float) -> list[Array]:
            return [*(rows[self.nodes.index(node)] for rows in inputs), *parameters]

        new = self._stepped(t, h, old, at)
        finite = np.logical_and.reduce(np.abs(new) < np.inf)
        go = running & finite
        state = _entrywise(lambda x, y, go: np.where(go > 0, x, y), new, old, np.where(go, 1.0, 0.0))
        events = [(running & ~finite, Outcome.NOT_FINITE)]
        if self.bound is not None:
            last = self.node if self.method is None else self.method.c[-1]
            passed = go & (self._checked("bound", self.bound, ())(t[-1], state, *at(last)) > 0)
            go = go & ~passed
            events.append((passed, Outcome.BOUND))
        for event, outcome in events:
            stopped, reason = np.where(event, steps, stopped), np.where(event, float(outcome), reason)
        return np.concatenate([state, np.stack([np.where(go, 1.0, 0.0), stopped, reason])])

    def _stepped(self, t: Array, h: Array, x: Array, at: Callable[[float], list[Array]]) -> Array:
        """The state after the step."""
        if self.step is not None:
            return self._checked("step", self.step, x.shape)(t[0], h, x, *at(self.node))
        assert self.rhs is not None
        assert self.method is not None
        method, rhs = self.method, self._checked("rhs", self.rhs, x.shape)
        if len(method.c) > 1:
            rhs = _as_function(rhs, [(), x.shape, *self.inputs.values(), *self.parameters.values()], x.shape)

        def updated(update: Formula, *given: Array) -> Array:
            if method.entrywise:
                return _entrywise(update, *given)
            return _as_function(self._checked("update", update, x.shape), [*map(np.shape, given)], x.shape)(*given)

        new = method.stepped(lambda node, x: rhs(t[self.nodes.index(node)], x, *at(node)), x, h, updated)
        if self.project is None:
            return new
        return self._checked("project", self.project, x.shape)(t[-1], new, *at(method.c[-1]))

    def _checked(self, part: str, formula: Formula, wanted: Shape) -> Formula:
        """The formula, whose result has to be one array of a shape."""

        def checked(*given: Array) -> Array:
            found = as_array(formula(*given))
            if found.shape != wanted:
                raise ValueError(f"{checked.__name__}: the formula gives [{found.shape}]; one array {wanted} is needed")
            return found

        checked.__name__ = f"{self.name}_{part}"
        return checked


def _stages(name: str, method: str | Tableau | ExplicitMethod) -> ExplicitMethod:
    if isinstance(method, str):
        if method not in METHODS:
            raise ValueError(f"step loop '{name}': method {method!r} is unknown; there are: {', '.join(METHODS)}")
        method = METHODS[method]
    return method if isinstance(method, ExplicitMethod) else ExplicitMethod.of(method)


def _as_function(formula: Formula, shapes: Sequence[Shape], wanted: Shape) -> Formula:
    """A formula of arrays of these shapes as a function, which the machine code holds once for all its calls."""
    ends = np.cumsum([*map(math.prod, shapes)])[:-1]

    def flat(given: Array) -> Array:
        parts = zip(np.split(given, ends), shapes, strict=True)
        found: Array = formula(*(part.reshape(shape) for part, shape in parts))
        return found.reshape(-1)

    flat.__name__ = formula.__name__
    return lambda *given: out_of_line_call(
        flat, (), np.concatenate([np.reshape(x, -1) for x in given]), math.prod(wanted)
    ).reshape(wanted)


def _entrywise(formula: Formula, x: Array, *others: Array) -> Array:
    """(n,) a formula of single numbers on the components of x (n,) and of others (n,) or (), in a loop if they are
    many."""
    rows = np.stack(np.broadcast_arrays(x, *others, subok=True), axis=-1)

    def one(row: Array, _: Any = None) -> Array:
        return np.reshape(formula(*row), 1)

    if len(x) <= _MAX_UNROLLED_COMPONENTS:
        return np.concatenate([x[:0], *map(one, rows)])
    return map_rows(one, rows, np.zeros((len(x), 0)), 1)[:, 0]


class StepLoop(Executable):
    """A compiled step loop; made by `step_loop`.

    >>> import numpy as np
    >>> from myoquat.kernels import step_loop
    >>> loop = step_loop(1, rhs=lambda t, x, rate: -rate * x, parameters={"rate": ()})
    >>> run = loop([[1.0], [1.0]], h=0.01, steps=100, rate=[1.0, 2.0])  # two runs, each with a rate of its own
    >>> run.final.ravel().round(4)
    array([0.3679, 0.1353])
    """

    def __init__(
        self, recipe: Recipe, name: str, size: int, nodes: tuple[float, ...],
        inputs: Mapping[str, Shape], parameters: Mapping[str, Shape], **options: Any,
    ) -> None:  # fmt: skip
        super().__init__(recipe, (name, size, nodes, inputs, parameters), **options)
        self.name = name
        self.size = size
        self.nodes = nodes
        self.inputs = dict(inputs)
        self.parameters = dict(parameters)

    def __call__(
        self,
        x0: ArrayLike,
        *,
        h: float,
        steps: int,
        every: int = 1,
        start: float = 0.0,
        threads: int | None = None,
        **given: Any,
    ) -> Steps:
        """Advance x0 (..., n) by `steps` steps of `h` from time `start`; keep every `every`-th state and the first.

        Each input: an array (..., *shape), constant in time, ZeroOrderHold or LinearInterpolation; each parameter:
        (..., *shape).
        Leading axes broadcast. Raises ValueError for shapes that do not fit, TypeError for names that are not known.
        """
        if steps < 0 or every < 1 or not math.isfinite(h) or not math.isfinite(start):
            raise ValueError(
                f"step loop '{self.name}': steps={steps}, every={every}, h={h}, start={start}; "
                "steps >= 0, every >= 1 and finite times are needed"
            )
        self.calls += 1
        count_call()
        tables = {key: _table(self.name, key, given[key], shape) for key, shape in self.inputs.items() if key in given}
        shapes = {key: (tables[key][1], *shape) if key in tables else shape for key, shape in self.inputs.items()}
        signature = Signature(self.name, {"x0": (self.size,), **self.parameters, **shapes}, {})
        values = given | {key: values for key, (values, _, _) in tables.items()}
        batch = _batch.gather(signature, _batch.bind(signature, [x0], values))
        rows = steps // every + 1
        states = np.empty((*batch.shape, rows, self.size))
        final = np.empty((*batch.shape, self.size))
        final[...] = batch.arrays[0]
        states[..., 0, :] = final
        finite = np.isfinite(final).all(axis=-1)
        stopped = np.where(finite, np.nan, 0.0)
        reason = np.where(finite, float(Outcome.COMPLETED), float(Outcome.NOT_FINITE))
        index = np.zeros((steps, len(self.inputs), len(self.nodes)), dtype=np.int64)
        weight = np.zeros(index.shape)
        for number, key in enumerate(self.inputs):
            step, (_, count, rows_at) = np.arange(steps)[:, None], tables[key]
            index[:, number], weight[:, number] = rows_at(step, start + (step + np.array(self.nodes)) * h, count)
        header = (every, _bits(start), _bits(h), index.ctypes.data, weight.ctypes.data)
        written = [(_batch.address(a), a.nbytes // max(batch.states, 1)) for a in (states, final, stopped, reason)]
        flat = [*header, *itertools.chain(*batch.rows[1:], *written)]
        table = ctypes.c_int64 * (2 + len(flat))
        alive = (batch, states, final, stopped, reason, index, weight)  # as long as any thread works on them

        def task(begin: int, end: int, first: int, until: int) -> None:
            self._frames.run(self._code.entry, table(first, until, *flat), begin, end, alive)

        if batch.states:
            count = self._threads if threads is None else thread_count(threads)
            cost = batch.states * max(steps, 1) * self._code.size.price
            split_and_run(task, batch.states, self.lanes, count, cost, steps=steps)
        if not np.isnan(stopped).all():  # a state behind a bound is still shown
            shown = np.where(reason == Outcome.BOUND, stopped, stopped - 1)
            states[every * np.arange(rows) > shown[..., None]] = np.nan
        times = start + h * every * np.arange(rows)
        stopped = np.where(np.isnan(stopped), -1.0, stopped)
        return Steps(times, states, final, stopped.astype(np.int64), reason.astype(np.int64))

    def __repr__(self) -> str:
        cost = f"{self.instructions} operations per step, {self.lanes} lanes"
        return f"<StepLoop {self.name}, state ({self.size},), {cost}>"


def _bits(x: float) -> int:
    """A double as the integer with its bits."""
    return int(np.float64(x).view(np.int64))
