"""Explicit Runge-Kutta methods by their coefficients."""

from dataclasses import dataclass

__all__ = ["METHODS", "Tableau"]


@dataclass(frozen=True)
class Tableau:
    """Butcher's array of an explicit method: k_i = f(t + c_i h, x + h sum_j a_ij k_j), x' = x + h sum_i b_i k_i."""

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


# Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, section II.1
METHODS = {
    "euler": Tableau(((),), (1.0,), (0.0,)),
    "midpoint": Tableau(((), (0.5,)), (0.0, 1.0), (0.0, 0.5)),
    "heun": Tableau(((), (1.0,)), (0.5, 0.5), (0.0, 1.0)),
    "rk4": Tableau(((), (0.5,), (0.0, 0.5), (0.0, 0.0, 1.0)), (1 / 6, 1 / 3, 1 / 3, 1 / 6), (0.0, 0.5, 0.5, 1.0)),
}
