"""A recipe in machine code as a Python callable on batches of states."""

import ctypes
import itertools
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from myoquat.core import Array, ArrayLike, check_unmasked
from myoquat.kernels.codegen.driver import PROTOTYPE
from myoquat.kernels.runtime import batch as _batch
from myoquat.kernels.tracing.tape import Shape, Signature

from .batch import address
from .build import Code, Recipe, assembly, build
from .execution import FramePool, split_and_run
from .settings import Target, cache_folder, lane_count, target, thread_count

# ---- A kernel for one state after another, as solvers of differential equations call it ------------------------


class SingleState:
    """The outputs of a kernel for one state; made by `Compiled.single`.

    Every call copies its arguments, in the order of the inputs, into arrays that stay where they are. Nothing is looked
    up or converted, which saves some microseconds. Results are copies. Raises ValueError for an argument that does not
    fit its input. Each thread needs one of its own.
    """

    def __init__(
        self, entry: Callable[..., None], frames: FramePool, signature: Signature, count: Callable[[], None]
    ) -> None:
        self._entry, self._frames, self._count = entry, frames, count
        self._names = [f"kernel '{signature.name}': input '{name}'" for name in signature.inputs]
        self._inputs = [np.zeros(shape) for shape in signature.inputs.values()]
        self._outputs = [np.zeros(shape) for shape in signature.outputs.values()]
        rows = [(address(array), 0) for array in (*self._inputs, *self._outputs)]
        self._table = (ctypes.c_int64 * (2 * len(rows)))(*itertools.chain(*rows))

    def __call__(self, *values: ArrayLike) -> Any:
        for name, array, value in zip(self._names, self._inputs, values, strict=True):
            check_unmasked(name, value)
            array[...] = value
        self._count()
        self._frames.run(self._entry, self._table, 0, 1)
        results: list[Array] = [array.copy() for array in self._outputs]
        return results[0] if len(results) == 1 else tuple(results)


# ---- kernels -----------------------------------------------------------------------------------------------


_total_calls = 0


def calls() -> int:
    """How many kernel calls this process has made.

    >>> from myoquat import kernels
    >>> square = kernels.compile(lambda x: x * x, {"x": ()})
    >>> before = kernels.calls()
    >>> one, many = square(2.0), square([1.0, 2.0, 3.0])
    >>> kernels.calls() - before  # a batch is one call
    2
    """
    return _total_calls


def count_call() -> None:
    """Note one more call of compiled code."""
    global _total_calls
    _total_calls += 1


class Executable:
    """The machine code of a recipe, and the facts about it. `more`: what its class takes beside the recipe."""

    def __init__(
        self,
        recipe: Recipe,
        more: tuple[Any, ...] = (),
        *,
        lanes: int | None = None,
        threads: int | None = None,
        cache: str | os.PathLike[str] | None = None,
    ) -> None:
        self._recipe, self._more = recipe, more
        self._options: dict[str, Any] = {
            "lanes": lanes,
            "threads": threads,
            "cache": None if cache is None else os.fspath(cache),
        }
        self._target: Target = target()
        self._threads = thread_count(threads)
        self.lanes = lane_count(lanes, self._target)
        self._code: Code = build(recipe, PROTOTYPE, self._target, self.lanes, cache_folder(cache))
        self._frames = FramePool(self._code.size.slots, self.lanes)
        self.build_seconds = self._code.seconds
        self.calls = 0

    @property
    def threads(self) -> int:
        """Threads that a call may use if it has work enough."""
        return self._threads

    @property
    def instructions(self) -> int:
        """Operations per state, of a step loop per step, after rewriting. This is an upper bound: a loop (`while_loop`)
        counts with its maximum number of iterations, of which most states take a few."""
        return self._code.size.operations

    @property
    def program(self) -> str:
        """Text that two kernels share only if they compute the same."""
        return self._recipe.identity()

    @property
    def source(self) -> str:
        """'compiled' or 'cache': where the machine code came from."""
        return self._code.source

    @property
    def ir(self) -> str:
        """The LLVM assembly, written anew."""
        return assembly(self._recipe, self._target, self.lanes)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), (self._recipe, *self._more), self._options)


def _rebuilt(own_type: type[Executable], parts: tuple[Any, ...], options: dict[str, Any]) -> Executable:
    """Code from its pickled parts, built for the machine that it arrives on."""
    return own_type(*parts, **options)


class Compiled(Executable):
    """What all kernels share: the call on arrays, and the facts about the machine code.

    Called with one array (..., *shape) per input, by position or by name. Leading axes broadcast. float64 arrays with
    contiguous rows are read where they lie. Anything else is converted at every call: `conversions` counts such
    arrays, and one of more than 1 MiB raises a ConversionWarning. Results are fresh C-order float64 arrays, or `out`.
    A state with NaN or infinities gives what the formula makes of it and touches no other state. A lane's bits depend
    neither on the number of lanes nor on threads, but on whether the processor has a fused multiply-add.

    >>> import numpy as np
    >>> from myoquat import kernels
    >>> kernel = kernels.compile(lambda x: x * x, {"x": 3}, ["squares"])
    >>> kernel.inputs, kernel.outputs
    ({'x': (3,)}, {'squares': (3,)})
    >>> kernel(x=[[1.0, 2, 3], [0, 0, np.nan]])  # a batch of two states
    array([[ 1.,  4.,  9.],
           [ 0.,  0., nan]])
    """

    def __init__(self, recipe: Recipe, **options: Any) -> None:
        super().__init__(recipe, **options)
        self._signature = signature = Signature.of(self._code.notes)
        self._table = ctypes.c_int64 * (2 * (len(signature.inputs) + len(signature.outputs)))
        self.conversions = 0

    # ---- call -----------------------------------------------------------------------------------------------

    def __call__(
        self,
        *arrays: ArrayLike,
        out: Array | Sequence[Array] | None = None,
        threads: int | None = None,
        check: bool = False,
        **named: ArrayLike,
    ) -> Any:
        """The output (..., *shape), or a tuple of outputs, for every state of the batch.

        `out`: array or tuple of arrays that receive the results; after an interrupt (KeyboardInterrupt) some rows lack
        theirs. `check`: raise FloatingPointError, naming the first batch indices, if a result is not finite. Raises
        ValueError for shapes that do not fit.
        """
        batch = _batch.gather(self._signature, _batch.bind(self._signature, arrays, named))
        outputs = _batch.results(self._signature, batch, out)
        self.calls += 1
        count_call()
        self.conversions += batch.converted
        if batch.states:
            self._run(batch, outputs, self._threads if threads is None else thread_count(threads))
        if check:
            self._refuse_nonfinite(outputs)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _run(self, batch: _batch.Batch, outputs: list[np.ndarray], threads: int) -> None:
        states, entry, frames = batch.states, self._code.entry, self._frames
        written = [(_batch.address(a), a.nbytes // states) for a in outputs]
        table = self._table(*itertools.chain(*batch.rows, *written))
        cost = states * self._code.size.price

        def task(begin: int, end: int) -> None:  # which keeps the arrays, as long as any thread works on them
            frames.run(entry, table, begin, end, (batch, outputs))

        split_and_run(task, states, self.lanes, threads, cost)

    def single(self) -> SingleState:
        """The same for one state at a time, with less around each call.

        >>> from myoquat import kernels
        >>> product = kernels.compile(lambda x, y: x * y, {"x": 2, "y": ()}).single()
        >>> product([1.0, 2.0], 3.0)
        array([3., 6.])
        """
        return SingleState(self._code.entry, self._frames, self._signature, count_call)

    def nonfinite(self, *outputs: np.ndarray) -> np.ndarray:
        """Batch indices (k, batch axes) of the states for which one of `outputs` holds NaN or an infinity."""
        bad: Any = False
        for array, shape in zip(outputs, self._signature.outputs.values(), strict=True):
            axes = tuple(range(array.ndim - len(shape), array.ndim))
            bad = bad | ~np.isfinite(array).all(axis=axes)
        return np.argwhere(bad)

    def _refuse_nonfinite(self, outputs: list[np.ndarray]) -> None:
        where = self.nonfinite(*outputs)
        if len(where):
            first = ", ".join(str(tuple(int(i) for i in index)) for index in where[:5])
            raise FloatingPointError(
                f"kernel '{self.name}': {len(where)} states are not finite, first at batch index {first}"
            )

    # ---- what it is -----------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return self._signature.name

    @property
    def inputs(self) -> dict[str, Shape]:
        """Name -> shape per state."""
        return dict(self._signature.inputs)

    @property
    def outputs(self) -> dict[str, Shape]:
        """Name -> shape per state."""
        return dict(self._signature.outputs)

    def __repr__(self) -> str:
        type_name = type(self).__name__
        return f"<{type_name} {self._signature}, {self.instructions} operations, {self.lanes} lanes, {self.source}>"
