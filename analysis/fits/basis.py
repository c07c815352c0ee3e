"""The terms of a fit at many poses, the variables that a path depends on, and the choice of few terms."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np

from myoquat.core import Array, Record, frozen, scipy
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.ranges import Positive, check_ranges
from myoquat.muscle import Model, Muscle, PathPoint, PoseVariables
from myoquat.muscle.fitted import powers_up_to
from myoquat.muscle.points import DrivenPoint


@frozen
class FitSettings(Record):
    """How paths are fitted. ValueError for numbers that are not positive.

    length_error    [m] wanted root mean square of the error of lengths on held-out poses; terms are added until it and
                    `arm_error` are reached
    arm_error       [m] the same of moment arms: of J along motions of unit size that the constraints allow
    terms           the most terms of one path
    candidates      the most terms from which they are chosen: it decides the degree
    degree          the highest degree, None for the one that `candidates` allow
    weight          positive weight of the sum of c^2 mean(phi^2) beside the mean square error, in the wanted errors
    near            [m] how near a jump of the length poses are left out, as for `path_flags`
    polynomials     polynomials alone, which `.osim` files of scalar coordinates can hold. Without it, where polynomials
                    miss the wanted errors, the straight path and terms of the surfaces (`SurfaceTerm`) are added
    held_out        share of the poses that choose the terms and are not fitted

    >>> from myoquat.analysis.fits import FitSettings
    >>> FitSettings(length_error=1e-3).arm_error
    0.0003
    """

    length_error: Positive = 6e-5
    arm_error: Positive = 3e-4
    terms: int = 400
    candidates: int = 500
    degree: int | None = None
    weight: Positive = 1e-9
    near: Positive = 1e-3
    held_out: Positive = 0.3
    polynomials: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ranges(self, "FitSettings")
        if self.terms < 1 or self.candidates < 1 or not self.held_out < 1:
            raise ValueError("FitSettings: terms and candidates are at least 1, and held_out is less than 1")


Power = tuple[int, ...]
MAX_DEGREE = 12  # beyond it powers of variables in [-1, 1] are dependent in double precision


Blocks = tuple[tuple[int, ...], ...]
MIXED_ORDERS = 2  # by which the order of a term with variables of several blocks counts more


@frozen
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
    rates = system.rates(np.broadcast_to(q[:, None], (*motions.shape[::2], system.nq)), motions.mT)
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


MIN_SLOPE_M = 1e-9  # [m] slope of a length above which a velocity changes it
RANK_TOLERANCE = 1e-8  # of the greatest eigenvalue: directions with a smaller one do not move
MIN_WIDTH = 1e-6  # [rad or m] width below which a coordinate does not vary
MIN_COUPLING = 1e-9  # entry of the projection onto allowed motions, above which two velocities are coupled
MAX_COMPARED_SETS = 5000  # of independent coordinates


@frozen
class Crossing:
    """Muscles that cross the same joints.

    muscles     their numbers
    velocities  those that change a length
    variables   of the fit
    blocks      numbers of variables. No piece of these paths depends on variables of two blocks
    """

    muscles: tuple[int, ...]
    velocities: tuple[int, ...]
    variables: PoseVariables
    blocks: Blocks = ()

    def motions(self, allowed: Array | None, n: int, nu: int) -> Array:
        """(n, nu, r) motions of these joints, at n poses, that the projection `allowed` (n, nu, nu) lets pass.

        They are of unit size and orthogonal to each other in the velocities of all joints. They are zero for velocities
        of other joints.
        """
        at = list(self.velocities)
        if allowed is None:
            found = np.zeros((n, nu, len(at)))
            found[:, at, range(len(at))] = 1.0
            return found
        sizes, vectors = np.linalg.eigh(allowed[:, at][:, :, at])
        rank = int((sizes > RANK_TOLERANCE).sum(axis=-1).max(initial=0))
        found = np.zeros((n, nu, rank))
        if rank:
            found[:, at] = (vectors * np.sqrt(np.maximum(sizes, 0.0))[:, None])[..., -rank:]
        return found


def crossings(
    model: Model, muscles: Sequence[int], q: Array, slopes: Array, allowed: Array | None, *, additive: bool = True
) -> list[Crossing]:
    """The muscles in groups that cross the same joints, from slopes (m, nu) of their lengths, the greatest at poses q
    (n, nq). With `additive` those of a group have the same blocks; without it there is one block."""
    system, linked = model.system, _linked(model.system, allowed)
    groups: dict[tuple[tuple[int, ...], tuple[tuple[int, ...], ...]], list[int]] = {}
    for muscle in muscles:
        crossed = _whole_balls(system, tuple(np.flatnonzero(slopes[muscle] > MIN_SLOPE_M).tolist()))
        blocks = _velocity_blocks(system, model.muscles[muscle], crossed, linked) if additive else (crossed,)
        groups.setdefault((crossed, blocks), []).append(muscle)
    found = []
    for (velocities, blocks), members in groups.items():
        variables, own = _variables(system, velocities, q, allowed)
        parts = [tuple(i for i, k in enumerate(own) if k in block) for block in blocks]
        found.append(Crossing(tuple(members), velocities, variables, tuple(part for part in parts if part)))
    return found


def _linked(system: ArticulatedSystem, allowed: Array | None) -> Array:
    """(nu, nu) whether velocities are of one joint or constraints couple them."""
    linked = np.zeros((system.nu, system.nu), dtype=bool)
    if allowed is not None:
        linked |= np.maximum(allowed.max(axis=0), -allowed.min(axis=0)) > MIN_COUPLING
    for s in system.u_slices:
        linked[s, s] = True
    return linked


def _velocity_blocks(
    system: ArticulatedSystem, muscle: Muscle, crossed: tuple[int, ...], linked: Array
) -> tuple[tuple[int, ...], ...]:
    """The crossed velocities in blocks: a length is a sum over the pieces of a path, and no piece depends on velocities
    of two blocks. Velocities that are `linked` are in one block."""
    linked, start = linked.copy(), 0
    for number in range(1, len(muscle.path.points)):
        if type(muscle.path.points[number]) is PathPoint or number == len(muscle.path.points) - 1:
            own = _moving_velocities(system, muscle, start, number)
            if own is None:
                return (crossed,)
            linked[np.ix_(own, own)] = True
            start = number
    at = list(crossed)
    count, label = scipy.sparse.csgraph.connected_components(linked[np.ix_(at, at)], directed=False)
    return tuple(tuple(k for k, mine in zip(at, label, strict=True) if mine == block) for block in range(count))


def _moving_velocities(system: ArticulatedSystem, muscle: Muscle, start: int, end: int) -> list[int] | None:
    """The velocities that move the pieces between two points of a path; None where angles of quaternions drive them."""
    points = muscle.path.points[start : end + 1]
    wraps = [wrap for acting in muscle.path.acting[start:end] for wrap in acting]
    bodies = [*(point.body for point in points), *(wrap.body for wrap in wraps)]
    base = system.lowest_common_ancestor(bodies)
    moving = {k for body in bodies for k in system.velocities_moving(body)}
    found = [*(moving - {*system.velocities_moving(base)})]
    for name in {name for point in points if isinstance(point, DrivenPoint) for name in point.driving(system)}:
        if name not in system.coordinate_names:
            return None
        found += [int(k) for k in system.indices.velocities_of_coordinate(name)]
    return found


def _whole_balls(system: ArticulatedSystem, crossed: tuple[int, ...]) -> tuple[int, ...]:
    """Velocities with all of each joint with a quaternion of which one is among them."""
    found = set(crossed)
    for body, s in zip(system.bodies, system.u_slices, strict=True):
        own = range(s.start, s.stop)
        if body.joint.facts.quaternion is not None and found.intersection(own):
            found |= {*own}
    return tuple(sorted(found))


def _variables(
    system: ArticulatedSystem, velocities: tuple[int, ...], q: Array, allowed: Array | None
) -> tuple[PoseVariables, list[int]]:
    """The variables, and a velocity that each belongs to."""
    balls: list[str] = []
    own: list[int] = []
    centers: list[tuple[float, ...]] = []
    scalars: list[tuple[int, int]] = []  # indices in q and in u
    for body, at, s in zip(system.bodies, system.q_slices, system.u_slices, strict=True):
        start = body.joint.facts.quaternion
        inside = [k for k in velocities if s.start <= k < s.stop]
        if start is not None and any(k >= s.start + start for k in inside):
            balls.append(body.name)
            own += [s.start + start] * 4
            centers.append(_center(q[:, at.start + start : at.start + start + 4]))
        scalars += [(at.start + k - s.start, k) for k in inside if start is None or k < s.start + start]
    scalars = [scalars[k] for k in _independent([k for _, k in scalars], allowed)]
    low, high = q[:, [i for i, _ in scalars]].min(axis=0), q[:, [i for i, _ in scalars]].max(axis=0)
    names = tuple(system.coordinate_names[i] for i, _ in scalars)
    wide = tuple(_wide(float(a), float(b)) for a, b in zip(low, high, strict=True))
    return PoseVariables(tuple(balls), tuple(centers), names, wide), [*own, *(k for _, k in scalars)]


def _wide(low: float, high: float) -> tuple[float, float]:
    """An interval of some width."""
    return (low, high) if high - low > MIN_WIDTH else (low - 0.5, high + 0.5)


def _center(Q: Array) -> tuple[float, ...]:
    """The unit quaternion with the greatest mean of (C . Q)^2, which does not see the signs of Q."""
    _, vectors = np.linalg.eigh(Q.T @ Q)
    C = vectors[:, -1]
    return tuple(float(x) for x in C * (1.0 if C[np.argmax(np.abs(C))] > 0 else -1.0))


def _independent(velocities: list[int], allowed: Array | None) -> list[int]:
    """The indices of independent velocities among scalar ones that constraints couple. Their motions are the least
    dependent ones, by the mean logarithm of their volume."""
    if allowed is None or not velocities:
        return list(range(len(velocities)))
    P = allowed[:, velocities][:, :, velocities]
    sizes = np.linalg.eigvalsh(P)
    rank = int((sizes > RANK_TOLERANCE).sum(axis=-1).max())
    sets = [list(s) for _, s in zip(range(MAX_COMPARED_SETS), combinations(range(len(velocities)), rank), strict=False)]
    volumes = [float(np.mean(np.log(np.maximum(np.linalg.det(P[:, s][:, :, s]), 1e-12)))) for s in sets]
    return sets[int(np.argmax(volumes))]


GROWTH_FACTOR = 0.08  # of the number of terms, between two evaluations of the held-out errors
MAX_STALLED_EVALUATIONS = 5  # without a better held-out error, after which the search ends


@frozen
class Moments:
    """Mean squares of a least-squares problem y = sum of c phi: of terms G (t, t), with y b (t,), of y itself s."""

    G: Array
    b: Array
    s: float

    def error(self, chosen: Array, c: Array) -> float:
        """The root of the mean square of y - sum of c phi over the chosen terms."""
        G, b = self.G[np.ix_(chosen, chosen)], self.b[chosen]
        return float(np.sqrt(max(0.0, self.s - 2.0 * (b @ c) + c @ G @ c)))


@frozen
class Selection:
    """Chosen terms and their coefficients, and how large the held-out errors are, as fractions of those wanted."""

    chosen: Array
    coefficients: Array
    error: float


def select_terms(fit: Moments, weight: float, most: int, held_out: Callable[[Array, Array], float]) -> Selection:
    """Select terms that lower the error of a fit the most, one after the other.

    The selection ends when `held_out`(chosen, coefficients) is at most 1 or no longer falls, or at `most` terms.
    Returns the selection with the least value of `held_out`.

    The objective is the mean square error plus `weight` times the sum of c^2 mean(phi^2), which is positive definite
    for any set of poses. The Cholesky factor of the chosen terms grows by a row for each [S. Chen, S. A. Billings, W.
    Luo, Orthogonal least squares methods and their application to non-linear system identification, Int. J. Control 50,
    1873 (1989)].
    """
    best: Selection | None = None
    since = looked = 0
    for chosen, coefficients in _growing(fit, weight, most):
        count = len(chosen)
        if count < looked + max(1, int(GROWTH_FACTOR * looked)) and count < most:
            continue
        looked = count
        c = coefficients()
        found = Selection(chosen.copy(), c, held_out(chosen, c))
        since = 0 if best is None or found.error < 0.98 * best.error else since + 1
        best = found if best is None or found.error < best.error else best
        if best.error <= 1.0 or since >= MAX_STALLED_EVALUATIONS:
            break
    return Selection(np.zeros(0, dtype=int), np.zeros(0), np.inf) if best is None else best


def _growing(fit: Moments, weight: float, most: int) -> Iterator[tuple[Array, Callable[[], Array]]]:
    """The chosen terms after each further one, and a function that solves for their coefficients."""
    size = np.sqrt(np.maximum(np.diag(fit.G), 1e-300))
    G, b = fit.G / (size[:, None] * size), fit.b / size
    remaining = np.diag(G) + weight
    floor = 0.5 * weight
    most = min(most, len(b))
    rows, z, chosen = np.zeros((most, len(b))), np.zeros(most), np.zeros(most, dtype=int)
    free = np.ones(len(b), dtype=bool)
    b = b.copy()
    for k in range(most):
        gain = np.where(free & (remaining > floor), b * b / np.maximum(remaining, floor), -1.0)
        j = int(np.argmax(gain))
        if gain[j] <= 0.0:
            return
        pivot = np.sqrt(remaining[j])
        row = G[j] - rows[:k, j] @ rows[:k]
        row[j] += weight
        row /= pivot
        rows[k], z[k], chosen[k], free[j] = row, b[j] / pivot, j, False
        b -= row * z[k]
        remaining -= row * row
        at, n = chosen[: k + 1], k + 1

        def solved(at: Array = at, n: int = n) -> Array:
            L = rows[:n, at].T
            c: Array = scipy.linalg.solve_triangular(L, z[:n], lower=True, trans="T", check_finite=False)
            return c / size[at]

        yield at, solved
