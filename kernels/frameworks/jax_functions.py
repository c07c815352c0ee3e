"""`as_jax`: a compiled function inside JAX programs."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from myoquat.core.lazy_imports import jax
from myoquat.core.typing import Array
from myoquat.kernels.frameworks.differentiable import Differentiable
from myoquat.kernels.runtime.kernel import Kernel

__all__ = ["as_jax"]


def as_jax(function: Kernel | Differentiable) -> Callable[..., Any]:
    """The function on JAX arrays: it works under `jax.jit`, `jax.vmap`, `jax.jvp`, `jax.grad` and what they compose to.

    function  a kernel of `myoquat.kernels.compile`, with derivatives of every order, or a `Differentiable`, such as a
              function of a model by `myoquat.dynamics.model_function`.

    The result takes one array (..., *shape) per input, by position or name, and returns one array, or a tuple of them.
    Numbers are computed in double precision on the processor (`jax.pure_callback`, one call per batch) and returned in
    JAX's own default precision: enable `jax_enable_x64` for double. Derivatives are Jacobians of the package, as a
    `jax.custom_jvp`. Raises ValueError for shapes that do not fit and MissingExtraError without the extra `jax`.

    >>> import myoquat as mq
    >>> energy = mq.kernels.compile(lambda x: 0.5 * x @ x, {"x": 2}, ["energy"])
    >>> import jax  # doctest: +SKIP
    >>> jax.grad(mq.kernels.as_jax(energy))(jax.numpy.array([3.0, 4.0]))  # doctest: +SKIP
    Array([3., 4.], dtype=float32)
    """
    checked = Differentiable.of(function)
    jnp, call = jax.numpy, _with_derivative(checked)

    def in_jax(*arrays: Any, **named: Any) -> Any:
        given = [jnp.asarray(x, dtype=jnp.result_type(float)) for x in checked.bound(arrays, named)]
        batch = checked.batch([x.shape for x in given])
        results = call(
            *(jnp.broadcast_to(x, batch + shape) for x, shape in zip(given, checked.inputs.values(), strict=True))
        )
        return results[0] if len(results) == 1 else results

    return in_jax


def _with_derivative(function: Differentiable) -> Callable[..., tuple[Any, ...]]:
    """The function of arrays with one common batch shape, with its derivative in the same form."""
    jnp, shapes = jax.numpy, list(function.inputs.values())

    def batch_of(array: Any) -> tuple[int, ...]:
        return tuple(array.shape[: array.ndim - len(shapes[0])])

    def on_processor(*arrays: Any) -> tuple[Array, ...]:
        found = function.value(*(np.asarray(x, dtype=float) for x in arrays))
        return tuple(y.astype(dtype, copy=False) for y in found)

    dtype = np.dtype(jnp.result_type(float))

    def call(*arrays: Any) -> tuple[Any, ...]:
        batch = batch_of(arrays[0])
        results = tuple(jax.ShapeDtypeStruct(batch + shape, dtype) for shape in function.outputs.values())
        found: tuple[Any, ...] = jax.pure_callback(on_processor, results, *arrays, vmap_method="broadcast_all")
        return found

    def rule(arrays: tuple[Any, ...], changes: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        batch = batch_of(arrays[0])
        columns = [dx.reshape((*batch, math.prod(s), 1)) for dx, s in zip(changes, shapes, strict=True)]
        found = _with_derivative(function.value_and_jacobians())(*arrays)
        values, rows = found[: len(function.outputs)], function.flat_jacobians(found[len(function.outputs) :])
        sums = [sum(J @ dx for J, dx in zip(row, columns, strict=True)) for row in rows]
        moved = (s.reshape(batch + shape) for s, shape in zip(sums, function.outputs.values(), strict=True))
        return values, tuple(moved)

    differentiable = jax.custom_jvp(call)
    differentiable.defjvp(rule)
    found: Callable[..., tuple[Any, ...]] = differentiable
    return found
