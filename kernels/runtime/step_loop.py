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
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from myoquat.core.arguments import check_unmasked, options_of, real_array
from myoquat.core.content import digest
from myoquat.core.progress import uncollected, waiting
from myoquat.core.records import dataclass
from myoquat.core.typing import ArrayLike
from myoquat.kernels.codegen.body import Entrywise
from myoquat.kernels.codegen.parts import Body
from myoquat.kernels.codegen.step_loop import PROTOTYPE, StepPlan, nodes_of, notes_of_steps, write_steps
from myoquat.kernels.runtime import batch as _batch
from myoquat.kernels.runtime.build import Recipe, assembly, build
from myoquat.kernels.runtime.compiled import count_call
from myoquat.kernels.runtime.execution import FramePool, split_and_run
from myoquat.kernels.runtime.settings import cache_folder, lane_count, target, thread_count
from myoquat.kernels.tracing.context import sharing_traces
from myoquat.kernels.tracing.tape import Shape, Signature, Traced
from myoquat.kernels.tracing.trace import Formula, shape_of, trace

__all__ = [
    "METHODS",
    "ExplicitMethod",
    "LinearInterpolation",
    "LoopOptions",
    "Sample",
    "StepLoop",
    "Steps",
    "Tableau",
    "ZeroOrderHold",
    "sample",
    "step_loop",
]


@dataclass(frozen=True)
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


@dataclass(frozen=True)
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


@dataclass(frozen=True)
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


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class Sample:
    """An input of one call: values (..., count, *shape), and how rows follow from step and time."""

    values: Any
    count: int
    hold: int = 0
    times: np.ndarray | None = None

    def fill(self, index: np.ndarray, weight: np.ndarray, nodes: np.ndarray, h: float, start: float) -> None:
        """Set index and weight, (steps, nodes) each."""
        step = np.arange(len(index))[:, None]
        if self.times is None:
            index[...] = np.minimum(step // self.hold, self.count - 1) if self.hold else 0
        elif self.count > 1:
            t = start + (step + nodes) * h
            k = np.clip(np.searchsorted(self.times, t, side="right") - 1, 0, self.count - 2)
            share = np.clip((t - self.times[k]) / (self.times[k + 1] - self.times[k]), 0.0, 1.0)
            index[...] = np.where(share == 1.0, k + 1, k)
            weight[...] = np.where(share == 1.0, 0.0, share)


def sample(loop: str, key: str, given: Any, shape: Shape) -> Sample:
    """What a call gives for input `key` of `shape`. ValueError for times and values that do not fit."""
    axes = len(shape)
    check_unmasked(f"step loop '{loop}': input '{key}'", getattr(given, "values", given))
    if not isinstance(given, (ZeroOrderHold, LinearInterpolation)):
        values = np.asarray(given)
        return Sample(np.expand_dims(values, values.ndim - axes) if values.ndim >= axes else values, 1)
    values = np.asarray(given.values)
    if values.ndim <= axes or not values.shape[values.ndim - axes - 1]:
        raise ValueError(
            f"step loop '{loop}': values of '{key}' have shape {values.shape}; "
            f"(..., K, {', '.join(map(str, shape))}) is needed"
        )
    count = values.shape[values.ndim - axes - 1]
    if isinstance(given, ZeroOrderHold):
        if given.hold < 1:
            raise ValueError(f"step loop '{loop}': '{key}' is held for {given.hold} steps; at least 1 is needed")
        return Sample(values, count, hold=given.hold)
    times = real_array(f"step loop '{loop}': times of '{key}'", given.times)
    if times.shape != (count,) or not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise ValueError(f"step loop '{loop}': times of '{key}' {times.shape} must be {count} increasing numbers")
    return Sample(values, count, times=times)


# ---- step loops --------------------------------------------------------------------------------------------


_RESERVED = ("t", "h", "x", "x0", "steps", "every", "start", "threads")


@dataclass(frozen=True)
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


@dataclass(frozen=True)
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
            name, state, wanted.nodes, wanted.recipe(options.content), *shapes.values(),
            lanes=options.lanes, threads=options.threads, cache=options.cache,
        )  # fmt: skip


@dataclass(frozen=True)
class _Wanted:
    """The formulas of a step loop, before they are traced."""

    name: str
    state: int
    inputs: dict[str, Shape]
    parameters: dict[str, Shape]
    rhs: Formula | None
    step: Formula | None
    stages: ExplicitMethod | None
    node: float
    project: Formula | None
    bound: Formula | None

    @property
    def nodes(self) -> tuple[float, ...]:
        """Where in a step the inputs are needed, as shares of it."""
        return nodes_of(() if self.stages is None else self.stages.c, self.node)

    def recipe(self, content: str | None) -> Recipe:
        """The formulas traced now, or, where the content says what they are, when they are needed."""
        if content is None:
            plan = self.plan()
            return Recipe(lambda: plan, write_steps, notes_of_steps)
        shapes = str((self.name, self.state, self.inputs, self.parameters, self.nodes))
        return Recipe(lambda: self.plan(content), write_steps, notes_of_steps, digest("steps", content, shapes))

    def plan(self, content: str | None = None) -> StepPlan:
        """The traced formulas."""
        with sharing_traces(content):
            return self._traced()

    def _traced(self) -> StepPlan:
        arguments: dict[str, Shape] = {"t": (), "x": (self.state,), **self.inputs, **self.parameters}
        name, stages, wanted = self.name, self.stages, (self.state,)
        stepped: dict[str, Shape] = {"t": (), "h": (), **arguments}
        return StepPlan(
            self.state,
            {key: math.prod(shape) for key, shape in self.inputs.items()},
            {key: math.prod(shape) for key, shape in self.parameters.items()},
            slope=None if self.rhs is None else _traced(f"{name}_rhs", self.rhs, arguments, wanted),
            c=() if stages is None else stages.c,
            slope_indices=() if stages is None else stages.slope_indices,
            updates=() if stages is None else _updates(name, self.state, stages),
            project=None if self.project is None else _traced(f"{name}_project", self.project, arguments, wanted),
            step=None if self.step is None else _traced(f"{name}_step", self.step, stepped, wanted),
            node=self.node,
            bound=None if self.bound is None else _traced(f"{name}_bound", self.bound, arguments, ()),
        )


def _stages(name: str, method: str | Tableau | ExplicitMethod) -> ExplicitMethod:
    if isinstance(method, str):
        if method not in METHODS:
            raise ValueError(f"step loop '{name}': method {method!r} is unknown; there are: {', '.join(METHODS)}")
        method = METHODS[method]
    return method if isinstance(method, ExplicitMethod) else ExplicitMethod.of(method)


def _traced(name: str, formula: Formula, arguments: Mapping[str, Shape], wanted: Shape) -> Traced:
    body = trace(formula, arguments, None, name)
    outputs = list(body.signature.outputs.values())
    if outputs != [wanted]:
        raise ValueError(f"{name}: the formula gives {outputs}; one array {wanted} is needed")
    return body


def _updates(name: str, state: int, stages: ExplicitMethod) -> tuple[Body, ...]:
    """One body per stage from the second on, and one for the whole step."""
    bodies: list[Body] = []
    shape = () if stages.entrywise else (state,)
    for stage, (formula, indices) in enumerate(zip(stages.updates, stages.slope_indices, strict=True), start=1):
        arguments: dict[str, Shape] = {"x": shape, "h": (), **{f"slope{j}": shape for j in indices}}
        body = _traced(f"{name}_update{stage}", formula, arguments, shape)
        bodies.append(Entrywise(body, state) if stages.entrywise else body)
    return tuple(bodies)


class StepLoop:
    """A compiled step loop; made by `step_loop`.

    >>> import numpy as np
    >>> from myoquat.kernels import step_loop
    >>> loop = step_loop(1, rhs=lambda t, x, rate: -rate * x, parameters={"rate": ()})
    >>> run = loop([[1.0], [1.0]], h=0.01, steps=100, rate=[1.0, 2.0])  # two runs, each with a rate of its own
    >>> run.final.ravel().round(4)
    array([0.3679, 0.1353])
    """

    def __init__(
        self, name: str, size: int, nodes: tuple[float, ...], recipe: Recipe,
        inputs: Mapping[str, Shape], parameters: Mapping[str, Shape], **options: Any,
    ) -> None:  # fmt: skip
        self.name = name
        self.size = size
        self.nodes = nodes
        self.inputs = dict(inputs)
        self.parameters = dict(parameters)
        self._options = options
        self._recipe = recipe
        self._target = target()
        self.lanes = lane_count(options.get("lanes"), self._target)
        self.threads = thread_count(options.get("threads"))
        folder = cache_folder(options.get("cache"))
        self._code = build(self._recipe, PROTOTYPE, self._target, self.lanes, folder)
        self._frames = FramePool(self._code.size.slots, self.lanes)
        self.calls = 0
        self.source = self._code.source
        self.build_seconds = self._code.seconds
        self.instructions = self._code.size.operations

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
        samples = {key: sample(self.name, key, given[key], shape) for key, shape in self.inputs.items() if key in given}
        signature = self._signature(samples)
        values = {**given, **{key: sample.values for key, sample in samples.items()}}
        batch = _batch.gather(signature, _batch.bind(signature, [x0], values))
        rows = steps // every + 1
        states = np.empty((*batch.shape, rows, self.size))
        final = np.empty((*batch.shape, self.size))
        stopped, reason = np.empty(batch.shape), np.empty(batch.shape)
        index, weight = self._schedule(samples, steps, h, start)
        header = (every, _bits(start), _bits(h), index.ctypes.data, weight.ctypes.data)
        written = [(_batch.address(a), a.nbytes // max(batch.states, 1)) for a in (states, final, stopped, reason)]
        flat = [*header, *itertools.chain(*batch.rows, *written)]
        table = ctypes.c_int64 * (2 + len(flat))
        alive = (batch, states, final, stopped, reason, index, weight)  # as long as any thread works on them

        def task(begin: int, end: int, first: int, until: int) -> None:
            self._frames.run(self._code.entry, table(first, until, *flat), begin, end, alive)

        if batch.states:
            count = self.threads if threads is None else thread_count(threads)
            cost = batch.states * max(steps, 1) * self._code.size.price
            split_and_run(task, batch.states, self.lanes, count, cost, steps=steps)
        times = start + h * every * np.arange(rows)
        stopped = np.where(np.isnan(stopped), -1.0, stopped)
        return Steps(times, states, final, stopped.astype(np.int64), reason.astype(np.int64))

    def _signature(self, samples: Mapping[str, "Sample"]) -> Signature:
        """The arrays of this call: tables have one more axis."""
        tables = {key: (samples[key].count, *shape) if key in samples else shape for key, shape in self.inputs.items()}
        return Signature(self.name, {"x0": (self.size,), **self.parameters, **tables}, {})

    def _schedule(
        self, samples: Mapping[str, "Sample"], steps: int, h: float, start: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Row index and weight of the next row, (steps, inputs, nodes) each."""
        nodes = np.array(self.nodes)
        index = np.zeros((steps, len(self.inputs), len(nodes)), dtype=np.int64)
        weight = np.zeros(index.shape)
        for number, key in enumerate(self.inputs):
            samples[key].fill(index[:, number], weight[:, number], nodes, h, start)
        return index, weight

    @property
    def program(self) -> str:
        """Text that two loops share only if they compute the same."""
        return self._recipe.identity()

    @property
    def ir(self) -> str:
        """The LLVM assembly, written anew."""
        return assembly(self._recipe, self._target, self.lanes)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self.name, self.size, self.nodes, self._recipe, self.inputs, self.parameters, self._options)

    def __repr__(self) -> str:
        cost = f"{self.instructions} operations per step, {self.lanes} lanes"
        return f"<StepLoop {self.name}, state ({self.size},), {cost}>"


def _rebuilt(*parts: Any) -> StepLoop:
    """A step loop from its pickled parts, built for the machine that it arrives on."""
    *known, options = parts
    return StepLoop(*known, **options)


def _bits(x: float) -> int:
    """A double as the integer with its bits."""
    return int(np.float64(x).view(np.int64))
