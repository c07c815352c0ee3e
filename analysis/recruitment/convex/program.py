"""The shape of the programs, and what holds of their solutions: bounds on the least objective, and of none at all."""

from dataclasses import replace
from enum import IntEnum
from typing import Self

import numpy as np

from myoquat.analysis.recruitment.convex import terms
from myoquat.core import Array, ArrayLike, frozen
from myoquat.joints.vectors import joined


class Status(IntEnum):
    """How a program ended; `sentence` says it."""

    SOLVED = 0
    INFEASIBLE = 1
    UNSOLVED = 2
    LOCAL = 3

    @property
    def sentence(self) -> str:
        return _SENTENCES[self]


_SENTENCES = {
    Status.SOLVED: "all conditions are met and nothing better is possible",
    Status.INFEASIBLE: "no solution meets all conditions; the one given violates them the least",
    Status.UNSOLVED: "neither a solution nor a proof that there is none was found",
    Status.LOCAL: "all conditions are met and nothing near is better; the bound says how much better all else could be",
}


def are_met(status: Array) -> Array:
    """Where all conditions are met."""
    return np.isin(status, (Status.SOLVED, Status.LOCAL))


def in_one_pass(A: Array, x: Array) -> Array:
    """(..., m) large matrices A (..., m, n) times vectors x (..., n), without a copy of A."""
    return np.einsum("...mn,...n->...m", A, x)


def joined_rows(y: Array, z: Array) -> Array:
    """(k, e + c d) values of equations (k, e), and of cones (k, c, d)."""
    return joined([y, z.reshape(len(y), -1)])


def powers_of_two(sizes: Array) -> Array:
    """(...) the nearest powers of two, by which division does not round; 1 for zero."""
    return np.asarray(np.exp2(np.round(np.log2(np.where(sizes > 0, sizes, 1.0)))))


@frozen(eq=False)
class Programs:
    """k programs: minimise sum_i w_i |x_i|^p_i subject to A x = b, bounds of x, and second-order cones.

    G_j x + h_j lies in the cone s_0 >= |(s_1, s_2, ...)| for every j.

    A, b          (k, e, n) and (k, e)
    weights       w >= 0, (n,), or (k, n) where programs differ
    powers        p >= 1, in the same shape
    lower, upper  in the same shape; infinite ones are no bounds
    G, h          (k, c, d, n) and (k, c, d), None for no cones
    """

    A: Array
    b: Array
    weights: Array
    powers: Array
    lower: Array
    upper: Array
    G: Array
    h: Array

    @classmethod
    def of(
        cls,
        A: ArrayLike,
        b: ArrayLike,
        *,
        weights: ArrayLike = 1.0,
        powers: ArrayLike = 2.0,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = 1.0,
        G: ArrayLike | None = None,
        h: ArrayLike | None = None,
    ) -> Self:
        """Programs of arrays that broadcast to the shapes of the fields; ValueError for numbers that are not finite."""
        A, b = np.asarray(A, dtype=float), np.asarray(b, dtype=float)
        k, _, n = A.shape
        given = {"weights": weights, "powers": powers, "lower": lower, "upper": upper}
        rows = {name: np.broadcast_to(np.asarray(values, dtype=float), (k, n)) for name, values in given.items()}
        G = np.zeros((k, 0, 3, n)) if G is None else np.asarray(G, dtype=float)
        h = np.zeros(G.shape[:3]) if h is None else np.asarray(h, dtype=float)
        for name, values in {"A": A, "b": b, "G": G, "h": h}.items():
            if not np.isfinite(values).all():
                raise ValueError(f"{name} must be finite")
        return cls(A, b, **rows, G=G, h=h)

    @property
    def B(self) -> Array:
        """(k, e + c d, n) A over the rows of all G."""
        return np.concatenate([self.A, self.G.reshape(len(self.A), -1, self.A.shape[-1])], axis=1)

    def subset(self, rows: Array | slice) -> Self:
        """Some of the programs, by their numbers, a mask or a slice."""
        return replace(self, **{name: values[rows] for name, values in vars(self).items()})

    def with_slack(self, weights: Array, lower: Array, upper: Array) -> Self:
        """The programs with a variable more for each equation, which it adds to, and one for each cone, which it
        widens: weights (k, e + c) of their squares, and their bounds."""
        (k, e), c = self.b.shape, self.h.shape[1]
        wider = np.zeros((*self.G.shape[:3], e + c))
        for j in range(c):
            wider[:, j, 0, e + j] = 1.0
        more = {
            "A": np.broadcast_to(np.eye(e, e + c), (k, e, e + c)),
            "weights": weights,
            "powers": np.full((k, e + c), 2.0),
            "lower": lower,
            "upper": upper,
            "G": wider,
        }
        return replace(self, **{name: joined([getattr(self, name), x]) for name, x in more.items()})

    def row_scale(self) -> Array:
        """(k, e + c d) one over powers of two near the lengths of the equations' rows, and the longest of each cone."""
        longest = np.sqrt(np.max(np.einsum("kcdn,kcdn->kcd", self.G, self.G), axis=-1, initial=0.0))
        equations = np.sqrt(np.einsum("ken,ken->ke", self.A, self.A))
        return 1 / powers_of_two(joined([equations, np.repeat(longest, self.h.shape[-1], axis=-1)]))

    def of_rows(self, values: Array) -> tuple[Array, Array]:
        """(k, e) and (k, c, d) of values (k, e + c d) those of the equations, and of the cones."""
        return values[:, : self.b.shape[1]], values[:, self.b.shape[1] :].reshape(self.h.shape)

    def around(self, centre: Array) -> Self:
        """The programs whose variables are x - centre (k, n)."""
        if not centre.any():
            return self
        return replace(
            self,
            b=-self.residual(centre),
            h=self.cone_values(centre),
            lower=self.lower - centre,
            upper=self.upper - centre,
        )

    @property
    def power(self) -> float | None:
        """The power of all terms, where they have one."""
        first = float(self.powers.flat[0]) if self.powers.size else 2.0
        return first if (self.powers == first).all() else None

    # ---- what holds of points and multipliers ----------------------------------------------------------------

    def objective(self, x: Array) -> Array:
        """(k,) at x (k, n)."""
        return np.sum(terms.cost(self.weights, self._exponents, x), axis=-1)

    def residual(self, x: Array) -> Array:
        """(k, e) A x - b."""
        return in_one_pass(self.A, x) - self.b

    def cone_values(self, x: Array) -> Array:
        """(k, c, d) G x + h."""
        flat = in_one_pass(self.G.reshape(len(x), -1, x.shape[-1]), x)
        return flat.reshape(self.h.shape) + self.h

    def certificates(self, x: Array, multipliers: Array, price: Array) -> tuple[Array, Array]:
        """What multipliers (k, e + c d) of equations and cones, of price B^T multipliers, prove.

        (k,) a lower bound of the objective: the Lagrange dual, whose minimum is found variable by variable in closed
        form [S. Boyd, L. Vandenberghe, Convex Optimization, 2004, section 5.1]. (k,) the margin of infeasibility,
        relative to the size of the compared numbers. If it is positive, price . x is below y . b - z . h for every x
        within the bounds, so that there is no solution [section 5.8]. Variables without a bound are limited to 10 times
        the size of x for the first, and to 1e5 times for the second.
        """
        low, high = terms.reach(x, self.lower, self.upper)
        least = terms.least(self.weights, self._exponents, price, low, high)
        most = terms.most(price, low, high, np.isfinite(self.lower) & np.isfinite(self.upper))
        fixed = multipliers * joined_rows(self.b, -self.h)
        total, size = fixed.sum(axis=-1), np.abs(fixed).sum(axis=-1) + np.abs(most).sum(axis=-1)
        return total + least.sum(axis=-1), terms.ratio(total - most.sum(axis=-1), size)

    @property
    def _exponents(self) -> float | Array:
        power = self.power
        return self.powers if power is None else power


class Split:
    """x = x+ - x- for variables whose power has a corner at zero, or no curvature that is finite there."""

    def __init__(self, programs: Programs) -> None:
        both = (programs.powers < 2) & (programs.weights > 0) & (programs.lower < 0) & (programs.upper > 0)
        self.columns = np.flatnonzero(both.any(axis=0))
        self.n = programs.A.shape[-1]

    def applied(self, p: Programs) -> Programs:
        """The programs with the negative parts behind all variables."""
        c = self.columns
        if not len(c):
            return p
        lower, upper = p.lower.copy(), p.upper.copy()
        lower[:, c], upper[:, c] = np.maximum(lower[:, c], 0.0), np.maximum(upper[:, c], 0.0)
        parts = {"A": -p.A[..., c], "G": -p.G[..., c], "weights": p.weights[:, c], "powers": p.powers[:, c]}
        found = {name: joined([getattr(p, name), part]) for name, part in parts.items()}
        found["lower"] = joined([lower, np.maximum(-p.upper[:, c], 0.0)])
        found["upper"] = joined([upper, np.maximum(-p.lower[:, c], 0.0)])
        return replace(p, **found)

    def merged(self, x: Array) -> Array:
        """(k, n) x of the split variables."""
        found: Array = x[:, : self.n].copy()
        found[:, self.columns] -= x[:, self.n :]
        return found
