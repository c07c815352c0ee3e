"""The adjoint of one step: from the gradient by the state after it to those by the state before, inputs and parameters.

A formula for a compiled loop that runs backwards. The slope of a method, and its adjoint, are functions in the machine
code, called at every stage. The code is therefore as long as that of one stage.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.dynamics.integrators import StepFormula
from myoquat.joints.vectors import joined
from myoquat.kernels.control_flow.map_rows import out_of_line_call
from myoquat.kernels.tracing.derivatives import jacobian_at

__all__ = ["StepAdjoint"]

Gradients = tuple[Array, Array]  # by a state (n,), and by inputs and parameters (m,)


@dataclass(frozen=True)
class StepAdjoint:
    """The adjoint of a step of states (size,); `shapes` are those of the inputs and parameters, vectors or numbers."""

    step: StepFormula
    size: int
    shapes: tuple[tuple[int, ...], ...]

    @property
    def values_size(self) -> int:
        """Number of components of all inputs and parameters."""
        return sum(int(np.prod(shape)) for shape in self.shapes)

    def __call__(self, t: Array, h: Array, x: Array, values: Sequence[Array], after: Array) -> Gradients:
        """The gradients at x (n,) and `values` of a number whose gradient by the state after the step is `after`."""
        if self.step.slope is None:
            return self._split(_gradient(lambda z: self._stepped(t, h, z), self._vector(x, values), after))
        return self._through_stages(t, h, x, values, after)

    def _through_stages(self, t: Array, h: Array, x: Array, values: Sequence[Array], after: Array) -> Gradients:
        method, given = self.step.method, self._vector(x, values)[self.size :]
        states, slopes = [x], []
        for node, indices, update in zip(method.c, method.slope_indices, method.updates, strict=True):
            z = joined([(t + node * h)[..., None], states[-1], given])
            slopes.append(out_of_line_call(_slope, (self,), z, self.size))
            states.append(update(x, h, *(slopes[j] for j in indices)))
        at, by_values = after, np.zeros(self.values_size)
        if self.step.project is not None:
            whole = _gradient(lambda z: self._projected(t + h, z), joined([states[-1], given]), after)
            at, by_values = self._split(whole)
        by_x = np.zeros(self.size)
        by_slope: list[Any] = [np.zeros(self.size)] * len(slopes)
        for stage in reversed(range(len(slopes))):
            indices = method.slope_indices[stage]
            parts = self._update_gradients(method.updates[stage], h, [x, *(slopes[j] for j in indices)], at)
            by_x = by_x + parts[0]
            for j, part in zip(indices, parts[1:], strict=True):
                by_slope[j] = by_slope[j] + part
            z = joined([(t + method.c[stage] * h)[..., None], states[stage], given, by_slope[stage]])
            both = out_of_line_call(_slope_gradient, (self,), z, self.size + self.values_size)
            at, by_values = both[: self.size], by_values + both[self.size :]
        return by_x + at, by_values

    def _update_gradients(
        self, update: Callable[..., Array], h: Array, given: Sequence[Array], after: Array
    ) -> list[Array]:
        """Of after . update(x, h, *slopes), by each of x and the slopes."""
        n = self.size
        together = _gradient(
            lambda z: update(z[:n], h, *(z[k * n : (k + 1) * n] for k in range(1, len(given)))), joined(given), after
        )
        return [together[k * n : (k + 1) * n] for k in range(len(given))]

    def _stepped(self, t: Array, h: Array, z: Array) -> Array:
        x, values = self._parts(z)
        return self.step(t, h, x, *values)

    def _projected(self, t: Array, z: Array) -> Array:
        assert self.step.project is not None
        x, values = self._parts(z)
        return self.step.project(t, x, *values)

    def _slope(self, t: Array, z: Array) -> Array:
        assert self.step.slope is not None
        x, values = self._parts(z)
        return self.step.slope(t, x, *values)

    def _vector(self, x: Array, values: Sequence[Array]) -> Array:
        """(n + m,) the state and the values one after the other."""
        return joined([x, *(np.reshape(v, (-1,)) for v in values)])

    def _parts(self, z: Array) -> tuple[Array, list[Array]]:
        """The state and the values of a vector."""
        ends = self.size + np.cumsum([0, *(int(np.prod(shape)) for shape in self.shapes)])
        parts = [z[i:j].reshape(shape) for i, j, shape in zip(ends, ends[1:], self.shapes, strict=False)]
        return z[: self.size], parts

    def _split(self, z: Array) -> Gradients:
        return z[: self.size], z[self.size :]


def _gradient(function: Callable[[Array], Array], x: Array, weights: Array) -> Array:
    """(n,) derivative of weights . function(x) by x (n,)."""
    found: Array = jacobian_at(lambda z: np.sum(weights * function(z), axis=-1)[..., None], x)[0]
    return found


def _slope(adjoint: StepAdjoint, z: Array) -> Array:
    """The slope at z = (t, x, values)."""
    return adjoint._slope(z[0], z[1:])


def _slope_gradient(adjoint: StepAdjoint, z: Array) -> Array:
    """The gradient by (x, values) of weights . slope at z = (t, x, values, weights)."""
    n = adjoint.size
    return _gradient(lambda inner: adjoint._slope(z[0], inner), z[1:-n], z[-n:])
