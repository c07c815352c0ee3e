"""One solve of constrained motion: the rows of constraints in the metric of the masses, whatever their rank.

Let M = B B^T and Y = B^-1 A^T, a column for each row of A. The least motion B^-T x that comes nearest to A udot = b,
and the least multipliers lambda whose forces A^T lambda cause it, are

    x = (Y^T)^+ w,    lambda = Y^+ x,    w = b - A a_free.

`Rows` finds both by a complete orthogonal factorization Y = P C K^-1. The columns of P are orthogonal and those of Y,
scaled to length one by K, chosen by pivoting: each step takes the column of which most is left. Where no more than the
tolerance is left of any column, the others are sums of those that were taken. A second orthogonal factorization, of
(C K^-1)^T, gives the least multipliers, and the motion nearest to rows that contradict each other. Constraints on
separate branches of a tree share no row of Y: each such block is factored by itself.

The formulas have no branches, run on floats and symbols, and their derivatives are those of the rows taken at a pose.
Sources: G. H. Golub, C. F. Van Loan, Matrix Computations, 4th ed., Johns Hopkins 2013, sections 5.2.8 (modified
Gram-Schmidt), 5.4.2 (column pivoting), 5.4.7 (complete orthogonal decomposition).
"""

from collections.abc import Sequence
from functools import reduce

import numpy as np

from myoquat.core import Array, Pair
from myoquat.joints.evaluation import compiled
from myoquat.joints.vectors import components, dot, matvec, rows_of, transpose, vecmat, vector
from myoquat.kernels.symbolic.arrays import is_symbolic, may_be_nonzero

RANK_TOLERANCE = 1e-10  # of a row's length: where less is left of it across the rows taken before, they imply it
TOLERANCE_PER_DISTANCE = 10.0  # [1/rad, 1/m] how fast directions of rows change with the distance from the constraints
MAX_TOLERANCE = 1e-2  # far from the constraints
MAX_COMPILED_PRODUCTS = 1000  # of k rows with nu entries, k k nu: 0.3 s of compilation
ROUND_OFF_ROW = 1e-13  # of the longest row: a shorter one is the round-off of a row of zeros


class Rows:
    """The columns Y (..., n, k) of constraint rows, factored, with a `tolerance` (...) of their rank.

    `lengths` (..., k), by default those of the columns, are what the tolerance is a part of.

    >>> import numpy as np
    >>> from myoquat.dynamics.rows import Rows
    >>> twice = Rows(np.array([[1.0, 1.0], [0.0, 0.0]]))  # two equal rows on two unit masses
    >>> x = twice.motion(np.array([4.0, 4.0]))
    >>> x, twice.multipliers(x), int(twice.rank)
    (array([4., 0.]), array([2., 2.]), 1)
    """

    def __init__(self, Y: Array, tolerance: Array | float = RANK_TOLERANCE, lengths: Array | None = None) -> None:
        self.shape = Y.shape
        squares = np.sum(Y * Y, axis=-2) if lengths is None else lengths * lengths
        self._zero: Array = 0.0 * np.sum(squares, axis=-1) + 0.0 * tolerance
        longest = _greatest(squares, self._zero)
        real = squares > (ROUND_OFF_ROW**2 * longest)[..., None]
        roots = np.where(real, np.sqrt(np.where(real, squares, 1.0)), 0.0)
        inverses = np.where(real, 1.0 / np.where(real, roots, 1.0), 0.0)
        self._blocks = [
            _Block(Y[..., rows, :][..., members], (roots[..., members], inverses[..., members]), tolerance,
                   members, rows)
            for members, rows in _separate(Y)
        ]  # fmt: skip

    @property
    def rank(self) -> Array:
        """(...) the number of rows that were taken."""
        return sum((block.rank for block in self._blocks), self._zero)

    def motion(self, wanted: Array) -> Array:
        """(..., n) x, the least of those for which Y^T x comes nearest to `wanted` (..., k)."""
        found: list[Array] = [self._zero] * self.shape[-2]
        for block in self._blocks:
            x = block.motion(wanted[..., block.members])
            for place, row in enumerate(block.rows):
                found[row] = x[..., place]
        return vector(found) if found else 0.0 * wanted[..., :0]

    def multipliers(self, x: Array) -> Array:
        """(..., k) lambda, the least of those for which Y lambda comes nearest to x (..., n)."""
        return self.multiplier_columns(x[..., None])[..., 0]

    def multiplier_columns(self, X: Array) -> Array:
        """(..., k, m) lambda, a column for each of X (..., n, m)."""
        found: list[Array] = [self._zero[..., None] * X[..., 0, :]] * self.shape[-1]
        for block in self._blocks:
            multipliers = block.multipliers(X[..., block.rows, :])
            for place, i in enumerate(block.members):
                found[i] = multipliers[..., place, :]
        return rows_of(found) if found else 0.0 * X[..., :0, :]

    @property
    def projector(self) -> Array:
        """(..., n, n) onto the span of Y: Y Y^+."""
        n = self.shape[-2]
        found = np.zeros((*self._zero.shape, n, n))
        for block in self._blocks:
            place = np.array(block.rows)
            found[..., place[:, None], place] = sum(
                p[..., :, None] * p[..., None, :] * inverse[..., None, None] for _, p, inverse, _ in block.steps
            )
        return found

    @property
    def null(self) -> Array:
        """(..., k, k) the projector onto the multipliers that cause no force: Y null = 0."""
        k = self.shape[-1]
        found = np.broadcast_to(np.eye(k), (*self._zero.shape, k, k)).copy()
        for block in self._blocks:
            own = np.broadcast_to(np.eye(len(block.members)), (*self._zero.shape, *(len(block.members),) * 2))
            for h, inverse in block.row_space:
                own = own - h[..., :, None] * h[..., None, :] * inverse[..., None, None]
            place = np.array(block.members)
            found[..., place[:, None], place] = own * (block.rank < len(place))[..., None, None]
        return found


class _Block:
    """Rows that share velocities: `members` of all rows, by columns of their `rows` of Y.

    scaled  (lengths, inverse lengths) (..., k) of the columns, zero for columns of round-off.
    """

    def __init__(self, Y: Array, scaled: Pair, tolerance: Array | float, members: list[int], rows: list[int]) -> None:
        self.members, self.rows, (self.lengths, self.inverse_lengths) = members, rows, scaled
        k, left = len(members), Y * self.inverse_lengths[..., None, :]
        before = np.triu(np.ones((k, k)), 1)  # x @ before: sums of the entries before each one
        is_open = 1.0 + 0.0 * self.lengths
        # of each step: the choice of its row, one-hot, the direction, its inverse square, the part of each row along it
        self.steps: list[tuple[Array, Array, Array, Array]] = []
        for _ in range(min(k, len(rows))):
            sizes = np.sum(left * left, axis=-2)
            greatest = _greatest(sizes)
            enough = greatest > tolerance * tolerance
            longest = np.where((sizes >= greatest[..., None]) & enough[..., None], is_open, 0.0)
            choice = np.where(longest @ before > 0.0, 0.0, longest)  # the first of equal ones
            direction = matvec(left, choice)
            for _, earlier, scale, _ in self.steps:  # a second time: a short one has lost digits
                direction = direction - (dot(earlier, direction) * scale)[..., None] * earlier
            inverse = np.where(enough, 1.0 / np.where(enough, dot(direction, direction), 1.0), 0.0)
            parts = choice + (1.0 - choice) * vecmat(direction, left) * inverse[..., None]
            left = (1.0 - choice)[..., None, :] * (left - direction[..., :, None] * parts[..., None, :])
            is_open = is_open * (1.0 - choice)
            self.steps.append((choice, direction, inverse, parts))
        self.rank: Array = np.sum(1.0 - is_open, axis=-1)
        # h and its inverse square for each step, orthogonal, and the m with g_s = h_s + sum of m_ts h_t over t < s
        # (g: the parts along a direction of the rows as they are, not scaled)
        self.row_space: list[Pair] = []
        self.mixed: list[list[Array]] = []
        for _, _, inverse, parts in self.steps:
            h, along = parts * self.lengths, list[Array]()
            for other, scale in self.row_space:
                along.append(dot(other, h) * scale)
                h = h - along[-1][..., None] * other
            square = dot(h, h)
            kept = (inverse > 0.0) & (square > 0.0)
            self.row_space.append((h, np.where(kept, 1.0 / np.where(kept, square, 1.0), 0.0)))
            self.mixed.append(along)

    def motion(self, wanted: Array) -> Array:
        """(..., n) of `Rows.motion`, on the block's rows of Y."""
        missing, along = wanted * self.inverse_lengths, list[Array]()
        for choice, _, _, parts in self.steps:  # the rows taken hold exactly
            along.append(dot(choice, missing))
            missing = (1.0 - choice) * (missing - parts * along[-1][..., None])
        left, nearest = missing * self.lengths, list[Array]()
        for h, inverse in self.row_space:  # least squares of what the others miss: round-off where they agree
            nearest.append(dot(h, left) * inverse)
            left = left - nearest[-1][..., None] * h
        for s in reversed(range(len(nearest))):
            for t in range(s + 1, len(nearest)):
                nearest[s] = nearest[s] - self.mixed[t][s] * nearest[t]
        x = np.zeros(len(self.rows))
        for a, d, (_, direction, inverse, _) in zip(along, nearest, self.steps, strict=True):
            x = x + ((a + d) * inverse)[..., None] * direction
        return x

    def multipliers(self, X: Array) -> Array:
        """(..., k, m) of `Rows.multiplier_columns`, from the block's rows of X (..., n, m)."""
        scaled = 0.0 * self.lengths[..., None]
        for choice, direction, inverse, parts in reversed(self.steps):
            rest = vecmat(direction, X) * inverse[..., None] - vecmat(parts, scaled)
            scaled = scaled + choice[..., None] * rest[..., None, :]
        basic = scaled * self.inverse_lengths[..., None]
        least: Array = sum(
            h[..., None] * (vecmat(h, basic) * inverse[..., None])[..., None, :] for h, inverse in self.row_space
        )
        return np.where((self.rank < len(self.members))[..., None, None], least, basic)


class Elimination:
    """Motions x = N y + c (..., n) that satisfy rows of A, each of which gives one velocity as a function of others.

    rows  (driven velocity, [(other velocity, entry of A there (...)), ...]) of each, scaled to 1 at the driven one;
          those that drive the others of a row come before it.

    >>> import numpy as np
    >>> from myoquat.dynamics.rows import Elimination
    >>> gear = Elimination(2, [(1, [(0, np.array(-3.0))])])  # x_1 - 3 x_0 = wanted
    >>> gear.whole(np.array([2.0]), np.array([0.5])), gear.folded(np.eye(2)).ravel()
    (array([2. , 6.5]), array([1., 3.]))
    """

    def __init__(self, n: int, rows: Sequence[tuple[int, Sequence[tuple[int, Array]]]]) -> None:
        self.n, self.rows = n, rows
        self.free = [k for k in range(n) if k not in dict(rows)]

    def folded(self, X: Array) -> Array:
        """(..., m, f) X N of X (..., m, n)."""
        columns = list(np.moveaxis(X, -1, 0))
        for driven, others in reversed(self.rows):
            for j, ratio in others:
                columns[j] = columns[j] - ratio[..., None] * columns[driven]
        free = [columns[k] for k in self.free]
        return vector(free) if free else X[..., :0]

    def sizes(self, X: Array) -> Array:
        """(..., m, f) the sizes of the numbers that make `folded`, with their round-off."""
        rows = [(driven, [(j, -np.abs(ratio)) for j, ratio in others]) for driven, others in self.rows]
        return Elimination(self.n, rows).folded(np.abs(X))

    def whole(self, y: Array, wanted: Array) -> Array:
        """(..., n) x of y (..., f), which gives the rows the values `wanted` (..., k)."""
        found: dict[int, Array] = dict(zip(self.free, components(y), strict=True))
        for (driven, others), value in zip(self.rows, components(wanted), strict=True):
            found[driven] = value - sum((ratio * found[j] for j, ratio in others), 0.0)
        return vector([found[k] for k in range(self.n)])

    def multipliers(self, force: Array) -> Array:
        """(..., k) lambda with A^T lambda = force (..., n), a force that does no work on motions N y."""
        left, found = [*components(force)], list[Array]()
        for driven, others in reversed(self.rows):
            found.insert(0, left[driven])
            for j, ratio in others:
                left[j] = left[j] - ratio * found[0]
        return vector(found)


def _greatest(values: Array, *others: Array) -> Array:
    """(...) the greatest of (..., n) values, and of others (...)."""
    return reduce(np.maximum, [*others, *np.moveaxis(values, -1, 0)])


def pose_tolerance(phi: Array, P: Array) -> Array:
    """(...) the tolerance of the rank at a pose. Rows that depend on each other where constraints hold, as those of
    three parallel rods, are independent at a distance from there, by about this distance. It is the greatest of phi
    (..., h) over the length of its row in P (..., h, nu) [rad, m]."""
    squares = dot(P, P)
    zero = 0.0 * np.sum(squares, axis=-1)
    longest = _greatest(squares, zero)
    real = squares > (ROUND_OFF_ROW**2 * longest)[..., None]
    distances = np.where(real, phi * phi / np.where(real, squares, 1.0), 0.0)
    greatest = _greatest(distances, zero)
    some = greatest > 0.0  # the root of zero has no derivative
    distance = np.where(some, np.sqrt(np.where(some, greatest, 1.0)), 0.0)
    return np.minimum(RANK_TOLERANCE + TOLERANCE_PER_DISTANCE * distance, MAX_TOLERANCE)


def least_motions(A: Array, wanted: Array) -> Array:
    """(n, nu) the least x that comes nearest to A x = wanted, A (n, k, nu) and wanted (n, k): in the metric of unit
    masses. Few rows go through a kernel."""
    k, nu = A.shape[-2:]

    def formula(A: Array, wanted: Array) -> Array:
        return Rows(transpose(A)).motion(wanted)

    if not 0 < k * k * nu <= MAX_COMPILED_PRODUCTS:
        return formula(A, wanted)

    sizes = {"A": (k, nu), "wanted": k}
    return compiled(("least_motions", k, nu), formula, sizes, ["x"], name="least_motions")(A, wanted)


def filled_entries(Y: Array) -> Array:
    """(n, k) where Y (..., n, k) may be other than zero."""
    n, k = Y.shape[-2:]
    if not is_symbolic(Y):
        return (Y != 0.0).any(axis=tuple(range(Y.ndim - 2)))
    entries = Y.reshape(-1, n, k)
    return np.array([[may_be_nonzero(entries[:, r, i]) for i in range(k)] for r in range(n)], dtype=bool)


def _separate(Y: Array) -> list[tuple[list[int], list[int]]]:
    """The blocks of Y (..., n, k) that share no rows: numbers of their columns and of their rows. Empty columns are in
    none."""
    n, k = Y.shape[-2:]
    filled = filled_entries(Y)
    blocks: list[tuple[set[int], set[int]]] = []
    for i in range(k):
        columns, rows = {i}, {*np.flatnonzero(filled[:, i]).tolist()} if n else set()
        if not rows:
            continue
        for block in [b for b in blocks if b[1] & rows]:
            blocks.remove(block)
            columns |= block[0]
            rows |= block[1]
        blocks.append((columns, rows))
    return [(sorted(columns), sorted(rows)) for columns, rows in blocks]
