"""`compile` and `Kernel`: a NumPy formula as machine code, with its derivatives."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from myoquat.core import CALLABLE, Array, ArrayLike, check_types, digest, uncollected, waiting
from myoquat.kernels import codegen
from myoquat.kernels.control_flow import differentiation
from myoquat.kernels.control_flow.differentiation import Derivative, Names
from myoquat.kernels.runtime import batch as _batch
from myoquat.kernels.tracing.context import differentiated, sharing_traces
from myoquat.kernels.tracing.tape import Pattern, Traced
from myoquat.kernels.tracing.trace import Formula, as_list, name_of, trace

from .build import Recipe
from .compiled import Compiled


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
        return Recipe.of_body(traced), traced
    wanted = None if outputs is None else dict(outputs) if isinstance(outputs, Mapping) else list(outputs)
    key = digest("formula", content, str(name), str(dict(inputs)), str(wanted))
    return Recipe.of_body(traced, key), traced


class Kernel(Compiled):
    """A compiled formula. Made by `compile` and by the derivatives of another kernel; `Compiled` tells how to call it.

    `patterns`: for a sparse Jacobian, output name -> (rows, columns) of the entries.

    >>> import numpy as np
    >>> from myoquat import kernels
    >>> spring = kernels.compile(lambda x: 0.5 * x @ x, {"x": 2}, ["energy"])
    >>> spring([3.0, 4.0])
    array(12.5)
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
        self.patterns = codegen.patterns_of(self._code.notes)

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
        recipe = Recipe.of_body(lambda: derivative(self._moving, of, wrt), key)
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
