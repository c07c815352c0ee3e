"""Whether a path over several surfaces is a saddle point of the length, by Jacobi's condition.

Rays that leave one end of a path in all directions within its surfaces form a thin pencil. Its width y is zero at that
end, with the rate 1. It obeys y'' = -K y with the Gaussian curvature K of the surface; K = 0 on straight pieces. A path
is a minimum if the width stays positive up to the other end [W. Klingenberg, Riemannian Geometry, 2.5]. Otherwise a
path beside it is shorter. The fixed-point iteration may stay at such a path, since it sees no direction in which to go.
"""

from collections.abc import Sequence

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.kernels import call_where, choose
from myoquat.muscle.wrapping.contact_solve import SolvedContact
from myoquat.muscle.wrapping.newton import NewtonProblem, follow, in_world, newton_start
from myoquat.muscle.wrapping.order_along_path import in_order
from myoquat.muscle.wrapping.route import Route
from myoquat.muscle.wrapping.surfaces.vectors import always, size

__all__ = ["is_saddle_point"]

MIN_WIDTH = 3e-4  # [1/rad] of the pencil over the segment's size, below which a minimum is about to end


@dataclass(frozen=True)
class _Path:
    """The surfaces of a path, and its contacts in their frames."""

    problem: NewtonProblem
    contacts: tuple[SolvedContact, ...]


def is_saddle_point(route: Route, contacts: Sequence[SolvedContact], where: Array) -> Array:
    """(...) whether a path that solves its surfaces is no minimum of the length, or one that is about to end, `where`
    (...) that is asked."""
    segment = route.segment
    problem = NewtonProblem(segment.surfaces, tuple(route.on), route.order, (segment.start, segment.end))
    return call_where(_is_saddle_point, _Path(problem, tuple(contacts)), where, ~always(where))


def _is_saddle_point(path: _Path) -> Array:
    problem = path.problem
    begin = newton_start(problem, path.contacts)
    along, _ = in_order(problem.order, in_world(problem, follow(problem, begin, begin.turn)))
    x, end = problem.ends
    zero = 0.0 * x[..., 0]
    width, rate, least = zero, zero + 1.0, zero + 1.0
    for surface in along:
        on, fields = surface.on, surface.segment
        before = width + rate * size(fields.P.x - x)
        after = fields.a * before + fields.r * rate, fields.da * before + fields.dr * rate
        width, rate = choose(on, after, (width, rate))
        least, x = np.where(on, np.minimum(least, width), least), np.where(on[..., None], fields.Q.x, x)
    result: Array = np.minimum(least, width + rate * size(end - x)) <= MIN_WIDTH
    return result
