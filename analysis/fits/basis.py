"""The terms of a fit at many poses, the variables that a path depends on, and the choice of few terms."""

from collections.abc import Callable, Sequence
from itertools import combinations, islice

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


Blocks = tuple[tuple[int, ...], ...]
MAX_DEGREE = 12  # beyond it powers of variables in [-1, 1] are dependent in double precision
MIXED_ORDERS = 2  # by which the order of a term with variables of several blocks counts more


class Basis:
    """All terms of some variables up to a degree, by their order.

    powers  (t, v) of the variables in every term
    orders  (t,) the order of every term: its degree, and MIXED_ORDERS more if it has variables of several blocks. P0
            does not count, since it follows the parity of the other components of its quaternion

    `blocks` are numbers of variables: a length is nearly a sum of functions of each block.
    """

    def __init__(self, variables: PoseVariables, degree: int, blocks: Blocks = ()) -> None:
        self.variables, self.degree = variables, degree
        self._parities = range(0, 4 * len(variables.balls), 4)
        powers = np.array(powers_up_to(variables, degree), dtype=int)
        mixed = sum(powers[:, list(block)].any(axis=-1) for block in blocks) > 1
        orders = self._scalars(powers).sum(axis=-1) + MIXED_ORDERS * mixed
        at = np.argsort(orders, kind="stable")
        at = at[orders[at] <= degree]
        self.powers, self.orders = powers[at], orders[at]

    def _scalars(self, powers: Array) -> Array:
        """Powers without those of P0."""
        found = powers.copy()
        found[:, self._parities] = 0
        return found

    def evaluated(self, x: Array) -> Array:
        """(t, 1 + r, n) every term and its rates, by the variables and their rates x (v, 1 + r, n)."""
        terms, scalars = np.zeros((len(self.powers), *x.shape[1:])), self._scalars(self.powers)
        number = {tuple(power): k for k, power in enumerate(scalars)}
        terms[0, 0] = 1.0
        for k, power in enumerate(scalars[1:], start=1):  # a term before it times one variable
            last = np.flatnonzero(power)[-1]
            power[last] -= 1
            terms[k] = _product(terms[number[tuple(power)]], x[last])
        for parity in self._parities:
            for odd in np.flatnonzero(self.powers[:, parity]):
                terms[odd] = _product(terms[odd], x[parity])
        return terms


def _product(a: Array, b: Array) -> Array:
    """The product of two functions and its rates, (1 + r, n) as theirs."""
    found = a * b[0]
    found[1:] += a[0] * b[1:]
    return found


def largest_degree(variables: PoseVariables, terms: int, blocks: Blocks = ()) -> int:
    """The highest degree with at most so many terms."""
    larger = (d for d in range(2, MAX_DEGREE + 1) if len(Basis(variables, d, blocks).powers) > terms)
    return next(larger, MAX_DEGREE + 1) - 1


def variable_values(system: ArticulatedSystem, variables: PoseVariables, q: Array, motions: Array) -> Array:
    """(v, 1 + r, n) the variables at poses q (n, nq), and their rates along motions (n, nu, r).

    Variables are affine in q, and qdot = N u."""
    found = np.empty((variables.size, 1 + motions.shape[-1], len(q)))
    rates = system.rates(q[:, None], motions.mT)
    at = np.vstack([np.zeros(system.nq), np.eye(system.nq)])
    for x, seen, here in zip(found, variables.values(system, at), variables.values(system, q), strict=True):
        x[0], x[1:] = here, (rates @ (seen[1:] - seen[0])).T
    return found


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

    def motions(self, allowed: Array) -> Array:
        """(n, nu, r) motions of these joints that the projections `allowed` (n, nu, nu) let pass.

        They are of unit size and orthogonal to each other in the velocities of all joints. They are zero for velocities
        of other joints.
        """
        at = list(self.velocities)
        sizes, vectors = np.linalg.eigh(allowed[:, at][:, :, at])
        rank = _rank(sizes)
        found = np.zeros((*allowed.shape[:2], rank))
        found[:, at] = (vectors * np.sqrt(np.maximum(sizes, 0.0))[:, None])[..., len(at) - rank :]
        return found


def _rank(sizes: Array) -> int:
    """The greatest rank of projections with eigenvalues (n, k)."""
    return int((sizes > RANK_TOLERANCE).sum(axis=-1).max(initial=0))


def crossings(
    model: Model, muscles: Sequence[int], q: Array, slopes: Array, allowed: Array, *, additive: bool = True
) -> list[Crossing]:
    """The muscles in groups that cross the same joints, from slopes (m, nu) of their lengths, the greatest at poses q
    (n, nq). With `additive` those of a group have the same blocks; without it there is one block."""
    system = model.system
    linked = np.abs(allowed).max(axis=0, initial=0.0) > MIN_COUPLING
    for s in system.u_slices:
        linked[s, s] = True
    groups: dict[tuple[tuple[int, ...], Blocks], list[int]] = {}
    for muscle in muscles:
        moving = slopes[muscle] > MIN_SLOPE_M
        for joint, _, s in system.joints():
            if joint.facts.quaternion is not None:
                moving[s] = moving[s].any()
        crossed = tuple(np.flatnonzero(moving).tolist())
        blocks = _velocity_blocks(system, model.muscles[muscle], crossed, linked) if additive else (crossed,)
        groups.setdefault((crossed, blocks), []).append(muscle)
    found = []
    for (velocities, blocks), members in groups.items():
        variables, own = _variables(system, velocities, q, allowed)
        parts = [tuple(i for i, k in enumerate(own) if k in block) for block in blocks]
        found.append(Crossing(tuple(members), velocities, variables, tuple(part for part in parts if part)))
    return found


def _velocity_blocks(system: ArticulatedSystem, muscle: Muscle, crossed: tuple[int, ...], linked: Array) -> Blocks:
    """The crossed velocities in blocks: a length is a sum over the pieces of a path, and no piece depends on velocities
    of two blocks. Velocities that are `linked` are in one block."""
    linked, start, points = linked.copy(), 0, muscle.path.points
    for end, point in enumerate(points[1:], start=1):
        if type(point) is PathPoint or end == len(points) - 1:
            own = _moving_velocities(system, muscle, start, end, crossed)
            linked[np.ix_(own, own)] = True
            start = end
    at = list(crossed)
    count, label = scipy.sparse.csgraph.connected_components(linked[np.ix_(at, at)], directed=False)
    return tuple(tuple(k for k, mine in zip(at, label, strict=True) if mine == block) for block in range(count))


def _moving_velocities(
    system: ArticulatedSystem, muscle: Muscle, start: int, end: int, crossed: tuple[int, ...]
) -> list[int]:
    """The velocities that move the pieces between two points of a path; all where angles of quaternions drive them."""
    points = muscle.path.points[start : end + 1]
    wraps = [wrap for acting in muscle.path.acting[start:end] for wrap in acting]
    bodies = [*(point.body for point in points), *(wrap.body for wrap in wraps)]
    moving = {k for body in bodies for k in system.velocities_moving(body)}
    found = [*moving.difference(system.velocities_moving(system.lowest_common_ancestor(bodies)))]
    for name in {name for point in points if isinstance(point, DrivenPoint) for name in point.driving(system)}:
        if name not in system.coordinate_names:
            return list(crossed)
        found += system.indices.velocities_of_coordinate(name)
    return found


def _variables(
    system: ArticulatedSystem, velocities: tuple[int, ...], q: Array, allowed: Array
) -> tuple[PoseVariables, list[int]]:
    """The variables, and a velocity that each belongs to."""
    balls: dict[str, tuple[float, ...]] = {}
    own: list[int] = []
    scalars: list[tuple[int, int]] = []  # indices in q and in u
    for name, (joint, at, s) in zip(system.body_names, system.joints(), strict=True):
        inside, start = [k for k in velocities if s.start <= k < s.stop], joint.facts.quaternion
        if inside and start is not None:
            balls[name] = _center(q[:, at.start + start : at.start + start + 4])
            own += [inside[start]] * 4
            inside = inside[:start]
        scalars += [(at.start + k - s.start, k) for k in inside]
    scalars = [scalars[k] for k in _independent([k for _, k in scalars], allowed)]
    intervals = []
    for low, high in ((float(x.min()), float(x.max())) for x in (q[:, i] for i, _ in scalars)):
        intervals.append((low, high) if high - low > MIN_WIDTH else (low - 0.5, high + 0.5))
    names = tuple(system.coordinate_names[i] for i, _ in scalars)
    return PoseVariables(tuple(balls), tuple(balls.values()), names, tuple(intervals)), own + [k for _, k in scalars]


def _center(Q: Array) -> tuple[float, ...]:
    """The unit quaternion with the greatest mean of (C . Q)^2, which does not see the signs of Q."""
    C = np.linalg.eigh(Q.T @ Q)[1][:, -1]
    return tuple((C * np.copysign(1.0, C[np.argmax(np.abs(C))])).tolist())


def _independent(velocities: list[int], allowed: Array) -> list[int]:
    """The indices of independent velocities among scalar ones that constraints couple. Their motions are the least
    dependent ones, by the mean logarithm of their volume."""
    P = allowed[:, velocities][:, :, velocities]
    every = combinations(range(len(velocities)), _rank(np.linalg.eigvalsh(P)))
    sets = [list(s) for s in islice(every, MAX_COMPARED_SETS)]
    volumes = [np.mean(np.log(np.maximum(np.linalg.det(P[:, s][:, :, s]), 1e-12))) for s in sets]
    return sets[int(np.argmax(volumes))]


GROWTH_FACTOR = 0.08  # of the number of terms, between two evaluations of the held-out errors
MAX_STALLED_EVALUATIONS = 5  # without a better held-out error, after which the search ends


def select_terms(
    G: Array, b: Array, weight: float, most: int, held_out: Callable[[Array], float]
) -> tuple[Array, float]:
    """(t,) coefficients c of few terms, the others 0, and the value of `held_out`(c), the least one of the search.

    Terms are added one after the other, each time the one that lowers the error c G c - 2 b c the most. The search ends
    when `held_out` is at most 1 or no longer falls, or at `most` terms.

    The objective is the error plus `weight` times the sum of c^2 diag(G), which is positive definite for any set of
    poses. The Cholesky factor of the chosen terms grows by a row for each [S. Chen, S. A. Billings, W. Luo, Orthogonal
    least squares methods and their application to non-linear system identification, Int. J. Control 50, 1873 (1989)].
    """
    most = min(most, len(b))
    size = np.sqrt(np.maximum(np.diag(G), 1e-300))
    G, b = G / (size[:, None] * size), b / size
    remaining, floor = np.diag(G) + weight, 0.5 * weight
    rows, z, chosen = np.zeros((most, len(b))), np.zeros(most), np.zeros(most, dtype=int)
    best, least, stalled, next_look = np.zeros(len(b)), np.inf, 0, 1
    for k in range(most):
        gain = np.where(remaining > floor, b * b / np.maximum(remaining, floor), -1.0)
        gain[chosen[:k]] = -1.0
        j = int(np.argmax(gain))
        if gain[j] <= 0.0:
            break
        row = G[j] - rows[:k, j] @ rows[:k]
        row[j] += weight
        row /= np.sqrt(remaining[j])
        rows[k], z[k], chosen[k] = row, b[j] / np.sqrt(remaining[j]), j
        b -= row * z[k]
        remaining -= row * row
        n, at = k + 1, chosen[: k + 1]
        if n < min(next_look, most):
            continue
        next_look = n + max(1, int(GROWTH_FACTOR * n))
        c = np.zeros(len(b))
        c[at] = scipy.linalg.solve_triangular(rows[:n, at], z[:n], check_finite=False) / size[at]
        error = held_out(c)
        stalled = 0 if error < 0.98 * least else stalled + 1
        if error < least:
            best, least = c, error
        if least <= 1.0 or stalled >= MAX_STALLED_EVALUATIONS:
            break
    return best, least
