"""A primal-dual interior-point method with predictor and corrector: one step of it, as a formula.

The optimality conditions are linearized at a point, the products of multipliers and distances from the bounds and cones
driven towards sigma mu, and all but the multipliers of equations and cones eliminated: what is left is one small
positive definite system. Sources: [M] S. Mehrotra, On the implementation of a primal-dual interior point method, SIAM
J. Optim. 2, 1992; [V] L. Vandenberghe, The CVXOPT linear and quadratic cone program solvers, 2010, for the cones.

The formula runs on batches of arrays and is compiled once for all programs of one size.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from myoquat.analysis.muscles.convex import cones
from myoquat.dynamics.blocks import Factors
from myoquat.joints.vectors import matvec, vecmat
from myoquat.kernels.typing import Array

__all__ = ["INPUTS", "OUTPUTS", "Shape", "step"]

NEAR_BOUNDARY = 0.995  # of the step to the boundary that is taken
BALANCE = 0.1  # of the mean product that gradients which do not balance stand for
REGULAR = 1e-14  # of a row's own entry, against which multipliers of dependent equations move
INPUTS = ("B", "target", "gradient", "curvature", "has", "room", "bound", "multipliers", "x", "s")
OUTPUTS = ("rows", "price", "mu", "dx", "dmultipliers", "dbound", "ds", "share")


@dataclass(frozen=True)
class Shape:
    """e equations, c cones of d rows, n variables."""

    e: int
    c: int
    d: int
    n: int

    @property
    def rows(self) -> int:
        """All rows of B: A, and G cone by cone."""
        return self.e + self.c * self.d

    @property
    def inputs(self) -> dict[str, Any]:
        """Their shapes: B (rows, n) is A over the rows of all G, target b and -h; `has` (2, n) is 1 where there is a
        lower, an upper bound, 0 where there is none, `room` how far x is from it, 1 where there is none, `bound` the
        multiplier; multipliers those of the rows of B; s what the cones' rows of B x - target shall be."""
        r, n, cone = self.rows, self.n, max(self.c * self.d, 1)
        each: dict[str, Any] = {"B": (r, n), "target": r, "multipliers": r, "s": cone}
        each |= dict.fromkeys(("gradient", "curvature", "x"), n) | dict.fromkeys(("has", "room", "bound"), (2, n))
        return {name: each[name] for name in INPUTS}


def step(shape: Shape, given: dict[str, Array]) -> tuple[Array, ...]:
    """At a point: rows (..., r), B x - target; price (..., n), B^T multipliers; mu (...), the mean product; and the way
    to the next point: dx, dmultipliers, dbound, ds, of which `share` (...) is to be taken."""
    at = _Linearized(shape, given)
    zero = np.zeros(())
    predictor = at.towards(zero, None)
    share = at.longest(predictor, 1.0)
    ahead = at.products(predictor, share)
    sigma = np.clip(ahead / at.mu, 0.0, 1.0) ** 3
    way = at.towards(np.maximum(sigma * at.mu, at.unbalanced()), predictor)
    parts = (way.x, way.multipliers, way.bound, way.s, at.longest(way, NEAR_BOUNDARY))
    return at.values, at.price, at.mu, *parts


@dataclass
class _Way:
    """A change of x, the multipliers of B, the multipliers of the bounds (..., 2, n), and s (..., cd)."""

    x: Array
    multipliers: Array
    bound: Array
    s: Array


class _Linearized:
    """The conditions linearized at a point."""

    def __init__(self, shape: Shape, given: dict[str, Array]) -> None:
        self.shape = shape
        self.B, self.has, self.room, self.bound = (given[name] for name in ("B", "has", "room", "bound"))
        self.multipliers = given["multipliers"]
        self.s, self.z = _cones_of(shape, given["s"]), _cones_of(shape, self.multipliers[..., shape.e :])
        self.values = matvec(self.B, given["x"]) - given["target"]
        self.price = vecmat(self.multipliers, self.B)
        self.cone = [v - s for v, s in zip(_cones_of(shape, self.values[..., shape.e :]), self.s, strict=True)]
        self.scales = [cones.scaling(s, z) for s, z in zip(self.s, self.z, strict=True)]
        self.middles = [scale.times(z) for scale, z in zip(self.scales, self.z, strict=True)]
        self.stationary = given["gradient"] - self.price - self.bound[..., 0, :] + self.bound[..., 1, :]
        stiffness = self.bound / self.room
        self.D = given["curvature"] + stiffness[..., 0, :] + stiffness[..., 1, :]
        self.B = self._turned()
        self.BD = self.B / self.D[..., None, :]
        self.factors = Factors(self._matrix())
        self.count = np.sum(self.has, axis=(-1, -2)) + shape.c
        self.mu = self._mean(self.room * self.bound, self.s, self.z)

    def _turned(self) -> Array:
        """(..., r, n) B, the rows of each cone along the axes of its scaling: there what it adds is diagonal."""
        e, d = self.shape.e, self.shape.d
        blocks = [self.B[..., :e, :]]
        for j, scale in enumerate(self.scales):
            blocks.append(np.swapaxes(scale.V, -1, -2) @ self.B[..., e + j * d : e + (j + 1) * d, :])
        return np.concatenate(blocks, axis=-2) if self.scales else self.B

    def _matrix(self) -> list[list[Any]]:
        """The lower triangle of B D^-1 B^T, with W^2 added for the cones."""
        rows = [[np.sum(self.BD[..., i, :] * self.B[..., j, :], axis=-1) for j in range(i + 1)]
                for i in range(self.shape.rows)]  # fmt: skip
        for number, scale in enumerate(self.scales):
            for i in range(self.shape.d):
                at = self.shape.e + number * self.shape.d + i
                rows[at][at] = rows[at][at] + scale.values[..., i] * scale.values[..., i]
        for i, row in enumerate(rows):
            row[i] = np.where(row[i] > 0, row[i] * (1 + REGULAR), 1.0)
        return rows

    def _mean(self, products: Array, s: Sequence[Array], z: Sequence[Array]) -> Array:
        total = np.sum(products, axis=(-1, -2))
        for one, other in zip(s, z, strict=True):
            total = total + np.sum(one * other, axis=-1)
        result: Array = total / np.maximum(self.count, 1.0)
        return result

    def unbalanced(self) -> Array:
        """(...) a mean product below which there is no use going while the gradients do not balance: what a curved
        objective leaves of them after a full step."""
        reach = np.minimum(
            self.room[..., 0, :] + 1 - self.has[..., 0, :], self.room[..., 1, :] + 1 - self.has[..., 1, :]
        )
        total = np.sum(np.abs(self.stationary) * reach, axis=-1)
        result: Array = BALANCE * total / np.maximum(self.count, 1.0)
        return result

    def towards(self, target: Array, predictor: _Way | None) -> _Way:
        """The way to products of `target` (...), corrected for what those of the predictor's changes add."""
        shape = self.shape
        wanted = target[..., None, None] * self.has - self.room * self.bound
        if predictor is not None:
            wanted = wanted - _both(predictor.x) * predictor.bound
        pulls = [self._pull(j, target, predictor) for j in range(shape.c)]
        per_room = wanted / self.room
        g = -self.stationary + per_room[..., 0, :] - per_room[..., 1, :]
        right = matvec(self.BD, g)
        rows = [-self.values[..., i] - right[..., i] for i in range(shape.e)]
        for j in range(shape.c):
            lack, first = self.scales[j].along(pulls[j] - self.cone[j]), shape.e + j * shape.d
            rows += [lack[..., i] - right[..., first + i] for i in range(shape.d)]
        turned = np.stack(np.broadcast_arrays(*self.factors.solve(rows), subok=True), axis=-1)
        x = g / self.D + vecmat(turned, self.BD)
        moved = _cones_of(shape, matvec(self.B, x)[..., shape.e :])
        s = [scale.back(m) + off for scale, m, off in zip(self.scales, moved, self.cone, strict=True)]
        z = [scale.back(m) for scale, m in zip(self.scales, _cones_of(shape, turned[..., shape.e :]), strict=True)]
        multipliers = np.concatenate([turned[..., : shape.e], *z], axis=-1)
        bound = self.has * (wanted - self.bound * _both(x)) / self.room
        return _Way(x, multipliers, bound, np.concatenate(s, axis=-1) if s else 0.0 * x[..., :1])

    def _pull(self, j: int, target: Array, predictor: _Way | None) -> Array:
        """(..., d) W times what (W^-1 s + W z) of a cone is to change by."""
        shape, scale, middle = self.shape, self.scales[j], self.middles[j]
        wanted = target[..., None] * cones.identity(shape.d) - cones.product(middle, middle)
        if predictor is not None:
            s = _cones_of(shape, predictor.s)[j]
            z = _cones_of(shape, predictor.multipliers[..., shape.e :])[j]
            wanted = wanted - cones.product(scale.divides(s), scale.times(z))
        return scale.times(cones.divided(middle, wanted))

    def longest(self, way: _Way, share: float) -> Array:
        """(...) the longest step, at most 1, of which `share` stays off the boundary."""
        shrink = [
            _least(self.has * _both(way.x) / self.room),
            _least(way.bound / np.where(self.bound > 0, self.bound, 1.0)),
        ]
        limits = [-1.0 / np.minimum(ratio, -share) for ratio in shrink]
        z = _cones_of(self.shape, way.multipliers[..., self.shape.e :])
        for at, change in zip([*self.s, *self.z], [*_cones_of(self.shape, way.s), *z], strict=True):
            limits.append(np.minimum(cones.longest_step(at, change), 1.0 / share))
        result: Array = share * reduce(np.minimum, limits)
        return result

    def products(self, way: _Way, share: Array) -> Array:
        """(...) the mean of all products after a share of the way."""
        part = share[..., None, None]
        room, bound = self.room + part * _both(way.x) * self.has, self.bound + part * way.bound
        z = _cones_of(self.shape, way.multipliers[..., self.shape.e :])
        moved_s = [a + share[..., None] * b for a, b in zip(self.s, _cones_of(self.shape, way.s), strict=True)]
        moved_z = [a + share[..., None] * b for a, b in zip(self.z, z, strict=True)]
        return self._mean(room * bound, moved_s, moved_z)


def _cones_of(shape: Shape, rows: Array) -> list[Array]:
    """The rows (..., cd) cone by cone."""
    return [rows[..., j * shape.d : (j + 1) * shape.d] for j in range(shape.c)]


def _both(x: Array) -> Array:
    """(..., 2, n) how the distances from the lower and the upper bounds change with x (..., n)."""
    return np.stack([x, -x], axis=-2)


def _least(ratios: Array) -> Array:
    """(...) the smallest of (..., 2, n)."""
    n = ratios.shape[-1]
    return reduce(np.minimum, [ratios[..., i, k] for i in range(2) for k in range(n)])
