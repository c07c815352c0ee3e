"""The terms of a fit at many poses, with their derivatives along motions."""

from dataclasses import dataclass
from functools import cached_property
from math import comb

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.muscle.fitted import PoseVariables, powers_up_to

__all__ = ["Basis", "greatest_degree", "term_count", "variable_rates"]

Power = tuple[int, ...]
MAX_DEGREE = 12  # beyond it powers of variables in [-1, 1] are dependent in double precision


@dataclass(frozen=True)
class Basis:
    """All terms up to a degree of some variables."""

    variables: PoseVariables
    degree: int

    @cached_property
    def powers(self) -> tuple[Power, ...]:
        """The powers of every term."""
        return powers_up_to(self.variables, self.degree)

    @cached_property
    def _steps(self) -> list[tuple[int, tuple[int, ...]]]:
        """How every term but the first, which is 1, is a product: a term before it, and one variable or two."""
        numbers = {power: k for k, power in enumerate(self.powers)}
        steps = []
        for power in self.powers[1:]:
            factor = self._last_factor(power)
            before = list(power)
            for k in factor:
                before[k] -= 1
            steps.append((numbers[tuple(before)], factor))
        return steps

    def _last_factor(self, power: Power) -> tuple[int, ...]:
        """A scalar coordinate, or two components of one quaternion, so that the rest of the term is even, too."""
        scalars = 4 * len(self.variables.balls)
        last = max(k for k, p in enumerate(power) if p)
        if last >= scalars:
            return (last,)
        start = last - last % 4
        units = [k for k in range(start + 1, start + 4) for _ in range(power[k])]
        return (start, units[0]) if len(units) == 1 else (units[-2], units[-1])

    def evaluated(self, x: Array, dx: Array) -> Array:
        """(terms, 1 + r, n) every term, then its rates, by the variables x (v, n) and their rates dx (v, r, n)."""
        terms = np.empty((len(self.powers), 1 + dx.shape[1], x.shape[-1]))
        terms[0], terms[0, 0] = 0.0, 1.0
        factors = {factor: _product(factor, x, dx) for factor in {factor for _, factor in self._steps}}
        for k, (before, factor) in enumerate(self._steps, start=1):
            f, df = factors[factor]
            np.multiply(terms[before], f, out=terms[k])
            terms[k, 1:] += terms[before, 0] * df
        return terms


def _product(factor: tuple[int, ...], x: Array, dx: Array) -> tuple[Array, Array]:
    """A product of one variable or two, (n,), and its rates (r, n)."""
    if len(factor) == 1:
        return x[factor[0]], dx[factor[0]]
    i, j = factor
    return x[i] * x[j], x[i] * dx[j] + x[j] * dx[i]


def variable_rates(
    system: ArticulatedSystem, variables: PoseVariables, q: Array, motions: Array
) -> tuple[Array, Array]:
    """(v, n) the variables at poses q (n, nq), and (v, r, n) their rates along motions (n, nu, r).

    Variables are affine in q, and qdot = N u."""
    zero = np.zeros(system.nq)
    start = np.stack([np.asarray(x) for x in variables.values(system, zero)])
    slopes = np.stack(variables.values(system, np.eye(system.nq)), axis=0) - start[:, None]  # (v, nq)
    x = np.stack(variables.values(system, q))
    if not motions.shape[-1]:
        return x, np.zeros((len(x), 0, len(q)))
    rates = system.rates(np.broadcast_to(q[:, None], (*motions.shape[::2], system.nq)), np.swapaxes(motions, -1, -2))
    return x, np.ascontiguousarray(np.moveaxis(rates @ slopes.T, -1, 0).swapaxes(-1, -2))


def term_count(variables: PoseVariables, degree: int) -> int:
    """The number of terms up to a degree."""
    return comb(3 * len(variables.balls) + len(variables.coordinates) + degree, degree)


def greatest_degree(variables: PoseVariables, terms: int) -> int:
    """The highest degree with at most so many terms."""
    return max(d for d in range(1, MAX_DEGREE + 1) if d == 1 or term_count(variables, d) <= terms)
