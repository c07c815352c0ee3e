"""Explicit one-step methods: Runge-Kutta by their coefficients, others by the formulas of their stages."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["METHODS", "ExplicitMethod", "Tableau"]


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
