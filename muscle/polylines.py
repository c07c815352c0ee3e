"""Paths of muscles as lines with a fixed number of points, for many poses at once."""

import numpy as np

from myoquat.joints.vectors import vecmat
from myoquat.kernels.typing import Array
from myoquat.muscle.loads import world_point
from myoquat.muscle.model import Model
from myoquat.muscle.path import Muscle, contacts
from myoquat.muscle.wrapping import Piece, Wrap

__all__ = ["Poses", "polylines"]

DRAWN = 9  # points of a path on a surface
Poses = dict[str, tuple[Array, Array]]  # R and p of each body by name


def polylines(model: Model, q: Array, poses: Poses | None = None) -> list[Array]:
    """(t, k, 3) [m] of each muscle at q (t, nq), in world axes; `poses` are the bodies' there, if they are known.

    Points that are off the path, and surfaces that it does not touch, repeat the point before: k is the same at every
    pose.
    """
    poses = model.system.poses(q) if poses is None else poses
    touching = contacts(model.system, model.muscles, q)
    pairs = zip(model.muscles, touching, strict=True)
    return [_line(model, poses, muscle, pieces, q) for muscle, pieces in pairs]


def _line(model: Model, poses: Poses, muscle: Muscle, pieces: tuple[Piece, ...], q: Array) -> Array:
    stops: list[tuple[Array, Array, Wrap | None, Array]] = []  # first and last point, surface, arc
    shape = (*q.shape[:-1], 3)
    ons = []
    for point, piece in zip(muscle.path, (Piece(), *pieces), strict=True):
        for surface, contact in zip(piece.wraps, piece.contacts, strict=True):
            P, Q = (np.broadcast_to(world_point(poses, surface.body, x), shape) for x in (contact.P, contact.Q))
            stops.append((P, Q, surface, np.broadcast_to(contact.arc, shape[:-1])))
            ons.append(np.broadcast_to(contact.on, shape[:-1]))
        x = np.broadcast_to(world_point(poses, point.body, point.local(model.system, q)), shape)
        stops.append((x, x, None, np.zeros(shape[:-1])))
        ons.append(np.broadcast_to(np.asarray(point.active(model.system, q), dtype=bool), shape[:-1]))
    after = _following(stops, ons)
    points = [stops[0][0]]
    for (P, Q, wrap, arc), on, following in zip(stops[1:], ons[1:], after[1:], strict=True):
        last = points[-1]
        new = [P] if wrap is None else _span(wrap, arc, poses, last, (P, Q), following)
        points += [np.where(on[..., None], x, last) for x in new]
    return np.stack(points, axis=-2)


def _following(stops: list[tuple[Array, Array, Wrap | None, Array]], ons: list[Array]) -> list[Array]:
    """The point of the path that comes after each stop."""
    found = [stops[-1][0]]
    for (P, *_), on in zip(stops[:0:-1], ons[:0:-1], strict=True):
        found.append(np.where(on[..., None], P, found[-1]))
    return found[::-1]


def _span(wrap: Wrap, arc: Array, poses: Poses, before: Array, ends: tuple[Array, Array], after: Array) -> list[Array]:
    """Points along a surface: a cubic between the ends with the directions there, brought onto the surface."""
    P, Q = ends
    start, stop = (arc[..., None] * _direction(v) for v in (P - before, after - Q))
    R, p = poses[wrap.body]
    found = []
    for t in np.linspace(0, 1, DRAWN):
        x = (2 * t**3 - 3 * t**2 + 1) * P + (t**3 - 2 * t**2 + t) * start
        x = x + (3 * t**2 - 2 * t**3) * Q + (t**3 - t**2) * stop
        local = wrap.in_body(wrap.onto(wrap.seen(vecmat(x - p, R))))
        found.append(world_point(poses, wrap.body, local))
    return found


def _direction(v: Array) -> Array:
    length = np.linalg.norm(v, axis=-1, keepdims=True)
    unit: Array = np.divide(v, length, out=np.zeros_like(v), where=length > 0)
    return unit
