"""The terms of a fit at many poses, with their derivatives along motions."""

from dataclasses import dataclass
from functools import cached_property
from math import comb

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.muscle.fitted import PoseVariables, powers_up_to

__all__ = ["Basis", "greatest_degree"]

Power = tuple[int, ...]
MAX_DEGREE = 12  # beyond it powers of variables in [-1, 1] are dependent in double precision


@dataclass(frozen=True)
class Basis:
    """All terms up to a degree of some variables."""

    system: ArticulatedSystem
    variables: PoseVariables
    degree: int

    @cached_property
    def powers(self) -> tuple[Power, ...]:
        """The powers of every term."""
        return powers_up_to(self.variables, self.degree)

    @cached_property
    def _steps(self) -> tuple[list[tuple[int, int]], list[int]]:
        """How every term, and those on the way to it, is a product: (a term before, a variable); and where the terms of
        `powers` stand among these. Term 0 is 1."""
        numbers: dict[Power, int] = {(0,) * self.variables.size: 0}
        steps: list[tuple[int, int]] = []

        def place(power: Power) -> int:
            if power not in numbers:
                k = next(k for k in reversed(range(len(power))) if power[k])
                before = place((*power[:k], power[k] - 1, *power[k + 1 :]))
                steps.append((before, k))
                numbers[power] = len(steps)
            return numbers[power]

        return steps, [place(power) for power in self.powers]

    def evaluated(self, q: Array, motions: Array) -> Array:
        """(terms, 1 + r, n) every term at poses q (n, nq), then its rates along motions (n, nu, r)."""
        steps, wanted = self._steps
        x = np.stack(self.variables.values(self.system, q))  # (v, n)
        dx = self._rates(q, motions)  # (v, r, n)
        count, r, n = len(steps) + 1, motions.shape[-1], len(q)
        terms = np.zeros((count, 1 + r, n))
        terms[0, 0] = 1.0
        for k, (before, variable) in enumerate(steps, start=1):
            np.multiply(terms[before], x[variable], out=terms[k])
            terms[k, 1:] += terms[before, 0] * dx[variable]
        return terms[wanted]

    def _rates(self, q: Array, motions: Array) -> Array:
        """(v, r, n) of every variable: variables are affine in q, and qdot = N u."""
        nq = self.system.nq
        zero = np.zeros(nq)
        start = np.stack([np.asarray(x) for x in self.variables.values(self.system, zero)])
        slopes = np.stack(self.variables.values(self.system, np.eye(nq)), axis=0) - start[:, None]  # (v, nq)
        rates = slopes @ self.system.rate_matrix(q)  # (n, v, nu)
        found: Array = np.ascontiguousarray(np.moveaxis(rates @ motions, 0, -1))
        return found


def greatest_degree(variables: PoseVariables, terms: int) -> int:
    """The highest degree with at most so many terms."""
    size = 3 * len(variables.balls) + len(variables.coordinates)
    return max(d for d in range(1, MAX_DEGREE + 1) if d == 1 or comb(size + d, d) <= terms)
