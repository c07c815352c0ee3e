"""`Differentiable`: a function of arrays with its Jacobians, for automatic differentiation elsewhere."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from myoquat.core.typing import Array
from myoquat.kernels.runtime.kernel import Kernel
from myoquat.kernels.tracing.traced import Shape

__all__ = ["Differentiable"]


@dataclass(frozen=True)
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
        names = list(self.inputs)
        given = dict(zip(names, arrays, strict=False))
        if len(arrays) > len(names) or set(given) & set(named) or set(given) | set(named) != set(names):
            got = [*(["by position"] * len(arrays)), *named]
            raise TypeError(f"{self.name} takes the arrays {', '.join(names)}, not {got}")
        return [{**given, **named}[name] for name in names]

    def batch(self, shapes: Sequence[Sequence[int]]) -> Shape:
        """The common batch shape of arguments. ValueError for shapes that do not fit."""
        leading = []
        for (name, wanted), shape in zip(self.inputs.items(), shapes, strict=True):
            split = len(shape) - len(wanted)
            if split < 0 or tuple(shape[split:]) != wanted:
                raise ValueError(f"{self.name}: {name} must have shape {('...', *wanted)}, not {tuple(shape)}")
            leading.append(tuple(shape[:split]))
        return np.broadcast_shapes(*leading)

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
