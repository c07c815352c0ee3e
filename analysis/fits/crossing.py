"""Which variables the length of a path depends on, and the motions that change it."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from myoquat.analysis.fits.basis import Blocks
from myoquat.core.lazy_imports import scipy
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.muscle import Model, Muscle, PathPoint, PoseVariables
from myoquat.muscle.points import DrivenPoint

__all__ = ["Crossing", "crossings"]

MIN_SLOPE_M = 1e-9  # [m] slope of a length above which a velocity changes it
RANK_TOLERANCE = 1e-8  # of the greatest eigenvalue: directions with a smaller one do not move
MIN_WIDTH = 1e-6  # [rad or m] width below which a coordinate does not vary
MIN_COUPLING = 1e-9  # entry of the projection onto allowed motions, above which two velocities are coupled
MAX_COMPARED_SETS = 5000  # of independent coordinates


@dataclass(frozen=True)
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
    for number in range(1, len(muscle.path)):
        if type(muscle.path[number]) is PathPoint or number == len(muscle.path) - 1:
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
    points = muscle.path[start : end + 1]
    wraps = [wrap for wrap in muscle.wraps if any(wrap.acts(k) for k in range(start + 1, end + 1))]
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
