"""The terms of a fit at many poses, with their derivatives along motions."""

from collections.abc import Iterable
from functools import cached_property
from math import comb

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.muscle.fitted import PoseVariables, powers_up_to

__all__ = ["Basis", "Blocks", "greatest_degree", "term_count", "variable_rates"]

Power = tuple[int, ...]
MAX_DEGREE = 12  # beyond it powers of variables in [-1, 1] are dependent in double precision


Blocks = tuple[tuple[int, ...], ...]
MIXED_ORDERS = 2  # by which the order of a term with variables of several blocks counts more


@dataclass(frozen=True)
class Basis:
    """All terms of some variables up to a degree, by their order.

    `blocks` are numbers of variables: a length is nearly a sum of functions of each block. The order of a term is its
    degree, and MIXED_ORDERS more if it has variables of several blocks.
    """

    variables: PoseVariables
    degree: int
    blocks: Blocks = ()

    @cached_property
    def powers(self) -> tuple[Power, ...]:
        """The powers of every term."""
        found = powers_up_to(self.variables, self.degree)
        if len(self.blocks) < 2:
            return found
        block = np.zeros(self.variables.size, dtype=int)
        for k, numbers in enumerate(self.blocks):
            block[list(numbers)] = k
        table = np.array(found)
        scalars = table.copy()
        scalars[:, : 4 * len(self.variables.balls) : 4] = 0  # P0 follows the parity of the others
        mixed = np.array([len(set(block[np.flatnonzero(row)])) > 1 for row in table])
        order = scalars.sum(axis=-1) + MIXED_ORDERS * mixed
        return tuple(found[k] for k in np.argsort(order, kind="stable") if order[k] <= self.degree)

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


def term_count(variables: PoseVariables, degree: int, blocks: Blocks = ()) -> int:
    """The number of terms of a `Basis`."""
    whole = _dimension(variables, range(variables.size))
    if len(blocks) < 2:
        return comb(whole + degree, degree)

    def pure(d: int) -> int:
        return 1 + sum(comb(_dimension(variables, block) + d, d) - 1 for block in blocks)

    lower = degree - MIXED_ORDERS
    return pure(degree) + (comb(whole + lower, lower) - pure(lower) if lower > 0 else 0)


def _dimension(variables: PoseVariables, numbers: Iterable[int]) -> int:
    """How many of some variables are independent: of a ball joint's four three are."""
    return sum(k >= 4 * len(variables.balls) or k % 4 > 0 for k in numbers)


def greatest_degree(variables: PoseVariables, terms: int, blocks: Blocks = ()) -> int:
    """The highest degree with at most so many terms."""
    return max(d for d in range(1, MAX_DEGREE + 1) if d == 1 or term_count(variables, d, blocks) <= terms)
