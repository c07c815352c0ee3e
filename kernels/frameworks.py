"""Compiled functions inside JAX and PyTorch, with their derivatives."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from myoquat.core import Array, frozen, jax, torch

from .runtime.batch import bind
from .runtime.kernel import Kernel
from .tracing.tape import Shape, Signature


@frozen
class Differentiable:
    """A function of named arrays, with any leading batch axes.

    inputs, outputs  name -> shape of one state.
    value            (*arrays) -> a tuple of arrays (..., *shape), one per output; batch axes broadcast.
    derivative       () -> the function of the Jacobians (..., *output, *input), of every output by every input in
                     order; None where there is no further derivative.
    both             (*arrays) -> what value returns and then the Jacobians, where one evaluation gives both.

    >>> from myoquat import kernels
    >>> square = kernels.Differentiable.of(kernels.compile(lambda x: x * x, {"x": ()}, ["y"]))
    >>> square.value(3.0), square.jacobians().value(3.0)
    ((array(9.),), (array(6.),))
    """

    inputs: Mapping[str, Shape]
    outputs: Mapping[str, Shape]
    value: Callable[..., tuple[Array, ...]]
    derivative: "Callable[[], Differentiable] | None" = None
    name: str = "function"
    both: Callable[..., tuple[Array, ...]] | None = None

    @classmethod
    def of(cls, function: "Kernel | Differentiable") -> "Differentiable":
        """The function itself, or that of a kernel, which has derivatives of every order."""
        if isinstance(function, Differentiable):
            return function
        if not isinstance(function, Kernel):
            raise TypeError(f"function must be a Kernel or a Differentiable, not {type(function).__name__}")

        def value(*arrays: Array) -> tuple[Array, ...]:
            found = function(*arrays)
            return found if isinstance(found, tuple) else (found,)

        return cls(function.inputs, function.outputs, value, lambda: cls.of(function.jacobian()), function.name)

    def jacobians(self) -> "Differentiable":
        """The function of the Jacobians. NotImplementedError where there is none."""
        if self.derivative is None:
            raise NotImplementedError(
                f"{self.name} has no further derivative here; a kernel of myoquat.kernels.compile has all orders"
            )
        return self.derivative()

    def value_and_jacobians(self) -> "Differentiable":
        """The function of the values and, after them, the Jacobians, by one evaluation where that gives both.

        >>> from myoquat import kernels
        >>> square = kernels.Differentiable.of(kernels.compile(lambda x: x * x, {"x": ()}, ["y"]))
        >>> square.value_and_jacobians().value(3.0)
        (array(9.), array(6.))
        """
        slopes = self.jacobians()

        def both(*arrays: Array) -> tuple[Array, ...]:
            return (*self.value(*arrays), *slopes.value(*arrays))

        further = None if slopes.derivative is None else slopes.value_and_jacobians
        known = len(self.outputs)  # the names of further derivatives stay apart
        named = {f"{known + k}: {name}": shape for k, (name, shape) in enumerate(slopes.outputs.items())}
        return Differentiable(self.inputs, {**self.outputs, **named}, self.both or both, further, self.name)

    def bound(self, arrays: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """One argument per input, in order. TypeError where one is missing, unknown or given twice."""
        return bind(Signature(self.name, dict(self.inputs), dict(self.outputs)), arrays, named)

    def batch(self, shapes: Sequence[Sequence[int]]) -> Shape:
        """The common batch shape of arguments. ValueError for shapes that do not fit."""
        leading = []
        for (name, wanted), shape in zip(self.inputs.items(), shapes, strict=True):
            split = len(shape) - len(wanted)
            if split < 0 or tuple(shape[split:]) != wanted:
                raise ValueError(f"{self.name}: {name} must have shape {('...', *wanted)}, not {tuple(shape)}")
            leading.append(tuple(shape[:split]))
        return np.broadcast_shapes(*leading)

    def moved(self, jacobians: Sequence[Any], changes: Sequence[Any], batch: Shape) -> tuple[Any, ...]:
        """The changes (*batch, *shape) of the outputs from those of the inputs, the first derivatives times these."""
        columns = [dx.reshape((*batch, math.prod(s), 1)) for dx, s in zip(changes, self.inputs.values(), strict=True)]
        rows = zip(self.flat_jacobians(jacobians), self.outputs.values(), strict=True)
        return tuple(
            sum(J @ dx for J, dx in zip(row, columns, strict=True)).reshape(batch + shape) for row, shape in rows
        )

    def flat_jacobians(self, found: Sequence[Any]) -> list[list[Any]]:
        """The Jacobians, in one row per output, as matrices (..., numbers of output, numbers of input)."""
        rows, left = [], iter(found)
        for output in self.outputs.values():
            row = []
            for shape in self.inputs.values():
                J = next(left)
                batch = tuple(J.shape[: J.ndim - len(output) - len(shape)])
                row.append(J.reshape((*batch, math.prod(output), math.prod(shape))))
            rows.append(row)
        return rows


# ---- `as_jax`: a compiled function inside JAX programs ---------------------------------------------------------


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
        found, count = _with_derivative(function.value_and_jacobians())(*arrays), len(function.outputs)
        return found[:count], function.moved(found[count:], changes, batch_of(arrays[0]))

    differentiable = jax.custom_jvp(call)
    differentiable.defjvp(rule)
    found: Callable[..., tuple[Any, ...]] = differentiable
    return found


# ---- `as_torch`: a compiled function inside programs of PyTorch ------------------------------------------------


def as_torch(function: Kernel | Differentiable) -> Callable[..., Any]:
    """The function on tensors, as a `torch.autograd.Function`: gradients backward and forward, and `torch.func.vmap`.

    function  a kernel of `myoquat.kernels.compile`, with derivatives of every order, or a `Differentiable`, such as a
              function of a model by `myoquat.dynamics.model_function`.

    The result takes one tensor (..., *shape) of floating point numbers per input, by position or name. It returns one
    tensor, or a tuple of them, of their common type and on their device. Numbers are computed in double precision on
    the processor; tensors of another device are copied.

    Raises TypeError for tensors of other numbers, ValueError for shapes that do not fit and MissingExtraError without
    the extra `torch`.

    >>> import myoquat as mq
    >>> energy = mq.kernels.compile(lambda x: 0.5 * x @ x, {"x": 2}, ["energy"])
    >>> import torch  # doctest: +SKIP
    >>> x = torch.tensor([3.0, 4.0], requires_grad=True)  # doctest: +SKIP
    >>> torch.autograd.grad(mq.kernels.as_torch(energy)(x), x)  # doctest: +SKIP
    (tensor([3., 4.]),)
    """
    checked = Differentiable.of(function)
    apply = _autograd(checked)

    def in_torch(*tensors: Any, **named: Any) -> Any:
        given = [torch.as_tensor(x) for x in checked.bound(tensors, named)]
        for name, x in zip(checked.inputs, given, strict=True):
            if not x.is_floating_point():
                raise TypeError(f"{checked.name}: {name} must hold floating point numbers, not {x.dtype}")
        dtype = reduce(torch.promote_types, (x.dtype for x in given))
        batch = checked.batch([x.shape for x in given])
        results = apply(
            *(x.to(dtype).expand(batch + shape) for x, shape in zip(given, checked.inputs.values(), strict=True))
        )
        return results[0] if len(results) == 1 else results

    return in_torch


def _autograd(function: Differentiable) -> Callable[..., tuple[Any, ...]]:
    """`apply` of the function of tensors with one common batch shape, its derivative in the same form."""
    shapes, outputs = list(function.inputs.values()), list(function.outputs.values())
    slopes = function.value_and_jacobians() if function.both is not None else None  # known with the values, then kept
    given = function.outputs if slopes is None else slopes.outputs

    def batch_of(tensor: Any) -> tuple[int, ...]:
        return tuple(tensor.shape[: tensor.ndim - len(shapes[0])])

    def jacobians(context: Any) -> tuple[tuple[int, ...], Sequence[Any]]:
        """The batch shape and the Jacobians."""
        tensors, kept = context.saved_tensors[: len(shapes)], context.saved_tensors[len(shapes) :]
        return batch_of(tensors[0]), kept if slopes is not None else _autograd(function.jacobians())(*tensors)

    class Call(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(*tensors: Any) -> tuple[Any, ...]:
            evaluated = function.value if slopes is None else slopes.value
            found = evaluated(*(x.detach().cpu().double().numpy() for x in tensors))
            return tuple(torch.from_numpy(y).to(tensors[0]) for y in found)

        @staticmethod
        def setup_context(context: Any, inputs: tuple[Any, ...], output: Any) -> None:
            kept = output[len(outputs) :]
            context.mark_non_differentiable(*kept)
            context.save_for_backward(*inputs, *kept)
            context.save_for_forward(*inputs, *kept)

        @staticmethod
        def backward(context: Any, *bars: Any) -> tuple[Any, ...]:
            batch, found = jacobians(context)
            flat = [bar.reshape((*batch, math.prod(s), 1)) for bar, s in zip(bars, outputs, strict=False)]
            columns = zip(zip(*function.flat_jacobians(found), strict=True), shapes, strict=True)
            return tuple(
                sum(J.transpose(-1, -2) @ bar for J, bar in zip(column, flat, strict=True)).reshape(batch + shape)
                for column, shape in columns
            )

        @staticmethod
        def jvp(context: Any, *changes: Any) -> tuple[Any, ...]:
            tensors = context.saved_tensors
            batch, found = jacobians(context)
            known = [torch.zeros_like(x) if dx is None else dx for x, dx in zip(tensors, changes, strict=False)]
            return (*function.moved(found, known, batch), *[None] * (len(given) - len(outputs)))

        @staticmethod
        def vmap(info: Any, in_dims: tuple[int | None, ...], *tensors: Any) -> tuple[Any, Any]:
            return Call.apply(*_first_axes(info.batch_size, in_dims, tensors)), (0,) * len(given)

    if slopes is not None and slopes.derivative is None:
        Call.backward = staticmethod(torch.autograd.function.once_differentiable(Call.backward))  # type: ignore[method-assign]

    def apply(*tensors: Any) -> tuple[Any, ...]:
        found: tuple[Any, ...] = Call.apply(*tensors)
        return found[: len(outputs)]

    return apply


def _first_axes(size: int, axes: tuple[int | None, ...], tensors: tuple[Any, ...]) -> list[Any]:
    """The tensors with their axis of a batch of this size first; None: they have none."""
    return [
        x.expand((size, *x.shape)) if axis is None else x.movedim(axis, 0)
        for x, axis in zip(tensors, axes, strict=True)
    ]
