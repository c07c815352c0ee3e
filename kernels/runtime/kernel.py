"""`compile` and `Kernel`: a NumPy formula as machine code, with its derivatives."""

import ctypes
import itertools
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from myoquat.core import CALLABLE, Array, ArrayLike, check_types, check_unmasked, digest, uncollected, waiting
from myoquat.kernels import codegen
from myoquat.kernels.control_flow import differentiation
from myoquat.kernels.control_flow.differentiation import Derivative, Names
from myoquat.kernels.runtime import batch as _batch
from myoquat.kernels.tracing.context import differentiated, sharing_traces
from myoquat.kernels.tracing.tape import Pattern, Shape, Signature, Traced
from myoquat.kernels.tracing.trace import Formula, as_list, name_of, trace

from .build import Recipe
from .compiled import Executable, count_call
from .execution import FramePool, split_and_run
from .settings import thread_count


def compile(
    function: Formula | Sequence[Formula],
    inputs: Mapping[str, Any],
    outputs: Sequence[str] | Mapping[str, Any] | None = None,
    *,
    name: str | None = None,
    content: str | None = None,
    lanes: int | None = None,
    threads: int | None = None,
    cache: str | os.PathLike[str] | None = None,
) -> "Kernel":
    """Compile a NumPy formula, or several with the same inputs, into one Kernel.

    function  called once, with one SymbolArray per input in order; returns an array, a tuple or a dict of arrays.
    inputs    name -> shape per state: n, a tuple, or () for a scalar.
    outputs   names, or name -> shape to be checked; without: 'output0', ... or the keys of the dict.
    content   text that identifies this formula among all of this package, such as a digest of a model and the name of a
              quantity. It stands for everything that the formula computes with beside its inputs. A cached kernel is
              then loaded without running the formula at all. Without, the formula is traced to find its kernel.
    lanes     states side by side: 1, 2, 4, 8.
    threads   of a call.
    cache     folder or 'off'. `myoquat.kernels.runtime.settings` has the defaults of these three, by environment
              variable.

    Raises TypeError where the formula branches on a value or uses what cannot be traced (with the formula's line).
    Raises ValueError for shapes and names that do not fit and for operations that cannot be compiled.

    >>> import numpy as np
    >>> from myoquat import kernels
    >>> kernel = kernels.compile(lambda Q: Q / np.sqrt(Q @ Q), {"Q": 4}, ["unit"])
    >>> kernel([[2.0, 0, 0, 0], [3.0, 0, 4.0, 0]])
    array([[1. , 0. , 0. , 0. ],
           [0.6, 0. , 0.8, 0. ]])
    """
    check_types(function=(function, (CALLABLE, Sequence)), inputs=(inputs, Mapping))
    start = time.perf_counter()
    formulas = as_list(function)
    with waiting(f"compiling {name or name_of(formulas[0])}"), uncollected():
        recipe, again = _recipe(function, inputs, outputs, name, content)
        kernel = Kernel(recipe, lanes=lanes, threads=threads, cache=cache, formulas=formulas, again=again)
    kernel.build_seconds = time.perf_counter() - start
    return kernel


def _recipe(
    function: Formula | Sequence[Formula],
    inputs: Mapping[str, Any],
    outputs: Sequence[str] | Mapping[str, Any] | None,
    name: str | None,
    content: str | None,
) -> tuple[Recipe, Callable[[], Traced]]:
    """The formula, which is traced when it is needed, and how it is traced."""

    def traced() -> Traced:
        with sharing_traces(content):
            return trace(function, inputs, outputs, name)

    if content is None:
        return Recipe.of_formula(traced), traced
    wanted = None if outputs is None else dict(outputs) if isinstance(outputs, Mapping) else list(outputs)
    key = digest("formula", content, str(name), str(dict(inputs)), str(wanted))
    return Recipe.of_formula(traced, key), traced


class Kernel(Executable):
    """A compiled formula. Made by `compile` and by the derivatives of another kernel.

    Called with one array (..., *shape) per input, by position or by name. Leading axes broadcast. float64 arrays with
    contiguous rows are read where they lie. Anything else is converted at every call: `conversions` counts such
    arrays, and one of more than 1 MiB raises a ConversionWarning. Results are fresh C-order float64 arrays, or `out`.
    A state with NaN or infinities gives what the formula makes of it and touches no other state. A lane's bits depend
    neither on the number of lanes nor on threads, but on whether the processor has a fused multiply-add.

    `patterns`: for a sparse Jacobian, output name -> (rows, columns) of the entries.

    >>> import numpy as np
    >>> from myoquat import kernels
    >>> spring = kernels.compile(lambda x: 0.5 * x @ x, {"x": 2}, ["energy"])
    >>> spring.inputs, spring.outputs
    ({'x': (2,)}, {'energy': ()})
    >>> spring(x=[[3.0, 4.0], [0.0, np.nan]])  # a batch of two states
    array([12.5,  nan])
    >>> spring.jacobian()([3.0, 4.0])  # by automatic differentiation, compiled too
    array([3., 4.])
    """

    def __init__(
        self,
        recipe: Recipe,
        *,
        formulas: Sequence[Formula] | None = None,
        again: Callable[[], Traced] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(recipe, **options)
        self._formulas, self._again = formulas, again
        self._signature = signature = Signature.of(self._code.notes)
        self._table = ctypes.c_int64 * (2 * (len(signature.inputs) + len(signature.outputs)))
        self.conversions = 0
        self.patterns = codegen.patterns_of(self._code.notes)

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

    def single(self) -> "SingleState":
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

    # ---- derivatives ----------------------------------------------------------------------------------------

    def jacobian(self, of: Names = None, wrt: Names = None, sparse: bool = False) -> "Kernel":
        """Kernel of the Jacobians 'dy/dx', (..., *y_shape, *x_shape), of the named outputs by the named inputs.

        `sparse`: only the entries that are not structurally zero, (..., nonzeros) row by row. `patterns`, or `rows`
        and `cols` if there is one output, tell where they belong in the matrix (y.size, x.size).
        """
        return self._derived(differentiation.sparse_jacobian if sparse else differentiation.jacobian, of, wrt)

    def jvp(self, of: Names = None, wrt: Names = None) -> "Kernel":
        """Kernel of directional derivatives: more inputs 'x_dot', outputs 'y_dot'."""
        return self._derived(differentiation.jvp, of, wrt)

    def vjp(self, of: Names = None, wrt: Names = None) -> "Kernel":
        """Kernel of the gradient of sum y_bar . y: more inputs 'y_bar', outputs 'x_bar'."""
        return self._derived(differentiation.vjp, of, wrt)

    def hvp(self, of: Names = None, wrt: Names = None) -> "Kernel":
        """Kernel of Hessian times 'x_dot', outputs 'x_hvp'; of sum y_bar . y where `of` is more than one number."""
        return self._derived(differentiation.hvp, of, wrt)

    def hessian(self, of: Names = None, wrt: Names = None) -> "Kernel":
        """Kernel of the Hessian of sum y_bar . y, with the further inputs 'y_bar'.

        Outputs 'dx_bar/dx' (..., nonzeros) hold the entries that are not structurally zero, row by row. `patterns`,
        `rows` and `cols` are those of a sparse `jacobian`.

        >>> from myoquat import kernels
        >>> product = kernels.compile(lambda x: x[0] * x[1], {"x": 2}, ["area"])
        >>> curved = product.hessian()
        >>> curved([3.0, 4.0], 5.0), curved.rows, curved.cols
        (array([5., 5.]), array([0, 1]), array([1, 0]))
        """
        return self._derived(differentiation.sparse_hessian, of, wrt)

    def _derived(self, derivative: Derivative, of: Names, wrt: Names) -> "Kernel":
        """The kernel of a derivative, made only where the cache has no machine code for it."""
        key = digest("derivative", self.program, derivative.__name__, str(of), str(wrt))
        recipe = Recipe.of_formula(lambda: derivative(self._moving, of, wrt), key)
        with waiting(f"differentiating {self.name}"), uncollected():
            return Kernel(recipe, **self._options)

    @property
    def rows(self) -> np.ndarray:
        """Row of each entry of a sparse Jacobian with one output."""
        return self._pattern()[0]

    @property
    def cols(self) -> np.ndarray:
        """Column of each entry of a sparse Jacobian with one output."""
        return self._pattern()[1]

    def _pattern(self) -> Pattern:
        if len(self.patterns) != 1:
            raise AttributeError(f"kernel '{self.name}' has {len(self.patterns)} sparsity patterns; see `patterns`")
        return next(iter(self.patterns.values()))

    # ---- other evaluations of the same formula --------------------------------------------------------------

    @property
    def casadi_function(self) -> Any:
        """The traced `casadi.Function`: columns in, dense columns out (C order).

        ValueError for a formula with a loop inside: it is no straight-line program.
        """
        if self._traced.has_solver:
            raise ValueError(f"kernel '{self.name}' has a loop inside and is no straight-line program for CasADi")
        return self._traced.function

    @property
    def _traced(self) -> Traced:
        """The formula."""
        found: Traced = self._recipe.plan
        return found

    @property
    def _moving(self) -> Traced:
        """The formula to be differentiated: solutions that loops find have derivatives."""
        if self._again is None or (self._recipe.is_planned and self._traced.moves):
            return self._traced
        with differentiated():
            return self._again()

    def numpy(self, *arrays: ArrayLike, **named: ArrayLike) -> Array | tuple[Array, ...]:
        """The formula itself in NumPy, state after state: slow, the reference for the compiled one.

        Raises RuntimeError if there is no formula: a derivative, or a kernel that came through pickle.
        """
        if self._formulas is None:
            raise RuntimeError(f"kernel '{self.name}' has no NumPy formula; evaluate its casadi_function")
        batch = _batch.gather(self._signature, _batch.bind(self._signature, arrays, named))
        outputs = _batch.results(self._signature, batch, None)
        rows = [
            np.broadcast_to(a, batch.shape + shape).reshape(batch.states, *shape)
            for a, shape in zip(batch.arrays, self._signature.inputs.values(), strict=True)
        ]
        flat = [o.reshape(batch.states, *s) for o, s in zip(outputs, self.outputs.values(), strict=True)]
        for k in range(batch.states):
            for target_rows, value in zip(flat, self._once([r[k] for r in rows]), strict=True):
                target_rows[k] = value
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _once(self, state: list[np.ndarray]) -> list[Any]:
        values: list[Any] = []
        for formula in self._formulas or ():
            result = formula(*state)
            if isinstance(result, Mapping):
                keys = [key for key in self._signature.outputs if key in result]
                values += [result[key] for key in keys]
            else:
                values += result if isinstance(result, tuple) else (result,)
        return values


# ---- A kernel for one state after another, as solvers of differential equations call it ------------------------


class SingleState:
    """The outputs of a kernel for one state; made by `Kernel.single`.

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
        rows = [(_batch.address(array), 0) for array in (*self._inputs, *self._outputs)]
        self._table = (ctypes.c_int64 * (2 * len(rows)))(*itertools.chain(*rows))

    def __call__(self, *values: ArrayLike) -> Any:
        for name, array, value in zip(self._names, self._inputs, values, strict=True):
            check_unmasked(name, value)
            array[...] = value
        self._count()
        self._frames.run(self._entry, self._table, 0, 1)
        results: list[Array] = [array.copy() for array in self._outputs]
        return results[0] if len(results) == 1 else tuple(results)
