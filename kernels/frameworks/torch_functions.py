"""`as_torch`: a compiled function inside programs of PyTorch."""

import math
from collections.abc import Callable
from functools import reduce
from typing import Any

from myoquat.core.lazy_imports import torch
from myoquat.kernels.frameworks.differentiable import Differentiable
from myoquat.kernels.runtime.kernel import Kernel

__all__ = ["as_torch"]


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

    def matrices(context: Any) -> tuple[tuple[int, ...], list[list[Any]]]:
        """The batch shape and the Jacobians."""
        tensors = context.saved_tensors[: len(shapes)]
        kept = context.saved_tensors[len(shapes) :]
        found = kept if slopes is not None else _autograd(function.jacobians())(*tensors)
        return batch_of(tensors[0]), function.flat_jacobians(found)

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
            batch, rows = matrices(context)
            flat = [bar.reshape((*batch, math.prod(s), 1)) for bar, s in zip(bars, outputs, strict=False)]
            sums = _pulled_back(rows, flat)
            return tuple(s.reshape(batch + shape) for s, shape in zip(sums, shapes, strict=True))

        @staticmethod
        def jvp(context: Any, *changes: Any) -> tuple[Any, ...]:
            tensors = context.saved_tensors
            batch, rows = matrices(context)
            known = [torch.zeros_like(x) if dx is None else dx for x, dx in zip(tensors, changes, strict=False)]
            flat = [dx.reshape((*batch, math.prod(s), 1)) for dx, s in zip(known, shapes, strict=True)]
            sums = [sum(J @ dx for J, dx in zip(row, flat, strict=True)) for row in rows]
            moved = (s.reshape(batch + shape) for s, shape in zip(sums, outputs, strict=True))
            return (*moved, *[None] * (len(given) - len(outputs)))

        @staticmethod
        def vmap(info: Any, in_dims: tuple[int | None, ...], *tensors: Any) -> tuple[Any, Any]:
            return Call.apply(*_first_axes(info.batch_size, in_dims, tensors)), (0,) * len(given)

    if slopes is not None and slopes.derivative is None:
        Call.backward = staticmethod(torch.autograd.function.once_differentiable(Call.backward))  # type: ignore[method-assign]

    def apply(*tensors: Any) -> tuple[Any, ...]:
        found: tuple[Any, ...] = Call.apply(*tensors)
        return found[: len(outputs)]

    return apply


def _pulled_back(rows: list[list[Any]], bars: list[Any]) -> list[Any]:
    """Of every input the sum of J^T times columns, of all outputs."""
    columns = zip(*rows, strict=True)
    return [sum(J.transpose(-1, -2) @ bar for J, bar in zip(column, bars, strict=True)) for column in columns]


def _first_axes(size: int, axes: tuple[int | None, ...], tensors: tuple[Any, ...]) -> list[Any]:
    """The tensors with their axis of a batch of this size first; None: they have none."""
    return [
        x.expand((size, *x.shape)) if axis is None else x.movedim(axis, 0)
        for x, axis in zip(tensors, axes, strict=True)
    ]
