"""The length of one path from where its points and its spans on surfaces are: straight lines and geodesics."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.multibody.system import Poses
from myoquat.joints.stacking import joined
from myoquat.joints.vectors import cross, matvec
from myoquat.kernels.symbolic.arrays import as_array
from myoquat.muscle.wrapping.order_along_path import in_order

__all__ = ["Span", "moved_point", "path_length", "stops_length"]


@dataclass(frozen=True)
class Span:
    """A stretch of a path on a surface: from P to Q (..., 3) in the world, where `on`."""

    on: Array
    P: Array
    Q: Array
    arc: Array
    place: Array | float = 0.0

    @classmethod
    def unpacked(cls, x: Array) -> "Span":
        """From its numbers (..., 8), 1 where it is on among them."""
        return cls(x[..., 7] > 0, x[..., :3], x[..., 3:6], x[..., 6])

    def packed(self) -> Array:
        """(..., 8) its numbers but the place."""
        return joined([self.P, self.Q, as_array(self.arc)[..., None], as_array(np.where(self.on, 1.0, 0.0))[..., None]])


def _along(spans: list[Span]) -> list[Span]:
    """Spans in the order of the path."""
    if len(spans) < 2:
        return spans
    order = [as_array(span.place) for span in spans]
    found, _ = in_order(order, [span.packed() for span in spans])
    return [Span.unpacked(x) for x in found]


def moved_point(poses: Poses, moved: Poses, body: str, local: Array) -> Array:
    """A point of a body in the world, after the shift of the body if there is one."""
    R, p = poses[body]
    arm = matvec(R, local)
    position: Array = p + arm
    if body not in moved:
        return position
    rotation, translation = moved[body]
    result: Array = position + (translation + cross(rotation, arm))
    return result


def path_length(
    points: list[Array], active: list[Array | bool], spans: list[list[Span]], shares: Sequence[float] = ()
) -> Array:
    """The sum of the pieces between the points that are active, straight but for their spans on surfaces; with
    `shares`, by which each piece counts."""
    if shares:
        return _branches_length(points, active, spans, shares)
    total: Array = np.zeros(())
    last = points[0]
    for point, on, touched in zip(points[1:], active[1:], spans, strict=True):
        for span in _along(touched):
            total, _ = _advanced(total, last, span.P, span.on)
            total, last = total + np.where(span.on, span.arc, 0.0), np.where(span.on[..., None], span.Q, last)
        total, last = _advanced(total, last, point, on)
    return total


def _branches_length(
    points: list[Array], active: list[Array | bool], spans: list[list[Span]], shares: Sequence[float]
) -> Array:
    """`path_length` of the branches, each times its share."""
    first, total = 0, np.zeros(())
    ends = [k for k, share in enumerate(shares) if not share]
    for end in [*ends, len(shares)]:
        branch = slice(first, end + 1)
        total = total + shares[first] * path_length(points[branch], active[branch], spans[first:end])
        first = end + 1
    return total


def stops_length(stops: Sequence[tuple[Array, ...]], on: Sequence[Array | bool]) -> Array:
    """(...) the length of a path by its stops, those that are `on`: points (x,) and spans on surfaces (P, Q, arc,
    place)."""
    points: list[Array] = []
    active: list[Array | bool] = []
    spans: list[list[Span]] = [[]]
    for (x, *span), there in zip(stops, on, strict=True):
        if span:
            spans[-1].append(Span(cast(Array, there), x, *span))  # a contact's flag, never True alone
        else:
            points.append(x)
            active.append(there)
            spans.append([])
    return path_length(points, active, spans[1:-1])


def _advanced(total: Array, last: Array, point: Array, on: Array | bool) -> tuple[Array, Array]:
    """Length and end of the path after a straight line to a point, where `on`."""
    d = point - last
    if isinstance(on, bool):
        return total + np.sqrt(np.sum(d * d, axis=-1)), point
    square = np.sum(d * d, axis=-1)
    apart = on & (square != 0)  # a root of zero would spoil the derivative where the point is off, or on the one before
    return total + np.where(apart, np.sqrt(np.where(apart, square, 1.0)), 0.0), np.where(on[..., None], point, last)
