"""A model as lines in space, for figures and viewers."""

from collections.abc import Sequence

import numpy as np

from myoquat.core import Array, ArrayLike, frozen, real_array
from myoquat.joints import Body
from myoquat.joints.vectors import vecmat

from .loads import world_point
from .model import Model
from .path import different_paths
from .segments.stops import contacts
from .wrapping import Piece
from .wrapping.route import after, before, in_order

# ---- Paths of muscles as lines with a fixed number of points, for many poses at once --------------------------------


POINTS_PER_ARC = 16  # drawn points of a path on one surface
Poses = dict[str, tuple[Array, Array]]  # R and p of each body by name


def polylines(model: Model, q: Array, poses: Poses | None = None) -> list[Array]:
    """(t, k, 3) [m] of each muscle at q (t, nq), in world axes; `poses` are the bodies' there, if they are known.

    Points that are off the path, and surfaces that it does not touch, repeat the point before: k is the same at every
    pose.
    """
    poses = model.system.poses(q) if poses is None else poses
    touching = contacts(model.system, model.paths, q)
    firsts, numbers = different_paths(model.paths)
    shape, lines = (*q.shape[:-1], 3), list[Array]()
    for k in firsts:
        path = model.paths[k].points
        stops = [np.broadcast_to(world_point(poses, x.body, x.local(model.system, q)), shape) for x in path]
        on = [np.broadcast_to(np.asarray(x.active(model.system, q)), shape[:-1])[..., None] for x in path]
        following = [stops[-1]]
        for x, there in zip(stops[-2:0:-1], on[-2:0:-1], strict=True):
            following.append(np.where(there, x, following[-1]))
        points = [stops[0]]
        for x, there, piece, end in zip(stops[1:], on[1:], touching[k], reversed(following), strict=True):
            for new, touched in [*_spans(piece, poses, points[-1], end), ([x], there)]:
                last = points[-1]
                points += [np.where(touched, y, last) for y in new]
        lines.append(np.stack(points, axis=-2))
    return [lines[number] for number in numbers]


def _spans(piece: Piece, poses: Poses, start: Array, end: Array) -> list[tuple[list[Array], Array]]:
    """Points on the surfaces between two path points, in the path's order, and whether it touches each surface. They
    are evenly spaced along a geodesic that has a closed form."""
    shape = start.shape[:-1]
    numbers = [c.on for c in piece.contacts], piece.order, [c.arc for c in piece.contacts]
    on, order, arcs = ([np.broadcast_to(x, shape) for x in row] for row in numbers)
    P, Q = (
        [world_point(poses, wrap.body, getattr(c, name)) for wrap, c in zip(piece.wraps, piece.contacts, strict=True)]
        for name in ("P", "Q")
    )
    found = []
    for i, wrap in enumerate(piece.wraps):
        (R, p), arc = poses[wrap.body], arcs[i][..., None]
        ends = before(order, on, i, Q, start), P[i], Q[i], after(order, on, i, P, end)
        with np.errstate(invalid="ignore"):  # of a surface that is not touched, whose points are left out
            a, first, last, b = (np.broadcast_to(wrap.seen(vecmat(x - p, R)), (*shape, 3)) for x in ends)
            share = np.linspace(0, 1, POINTS_PER_ARC).reshape(-1, *(1,) * first.ndim)
            away, back = _direction(first - a), _direction(b - last)
            if not wrap.solved:
                place, ahead = (np.broadcast_to(x, (POINTS_PER_ARC, *x.shape)) for x in (first, away))
                along = wrap.geodesic(place, ahead, share * arc).x
                along = along + share * (last - along[-1])  # from an end on the surface no direction is known
            else:  # the cubic with these ends and rates
                along = (2 * share**3 - 3 * share**2 + 1) * first + (share**3 - 2 * share**2 + share) * (arc * away)
                along = along + (3 * share**2 - 2 * share**3) * last + (share**3 - share**2) * (arc * back)
            points = [world_point(poses, wrap.body, wrap.in_body(x)) for x in wrap.onto(along)]
        found.append(np.concatenate([*points, on[i][..., None]], -1))
    ordered, _ = in_order(order, found)
    return [(np.split(x[..., :-1], POINTS_PER_ARC, axis=-1), x[..., -1:] > 0) for x in ordered]


def _direction(v: Array) -> Array:
    length = np.linalg.norm(v, axis=-1, keepdims=True)
    return np.divide(v, length, out=np.zeros_like(v), where=length > 0)


# ---- A model as lines in space --------------------------------------------------------------------------------------
# Bones, joints and muscles at a pose.


@frozen
class Stick:
    """World points [m].

    bones        of each body by name, a list of segments (2, 3)
    joints       (n, 3) of each joint
    muscles      (k, 3) of each muscle's path by name
    attachments  (n, 3) of all attachments
    """

    bones: dict[str, list[Array]]
    joints: Array
    muscles: dict[str, Array]
    attachments: Array


def stick_figure(model: Model, q: ArrayLike) -> Stick:
    """The stick figure at coordinates q (nq,); see `stick_figures`."""
    return stick_figures(model, real_array("q", q)[None])[0]


def stick_figures(model: Model, q: ArrayLike) -> list[Stick]:
    """The stick figures at coordinates q (t, nq).

    A bone runs from a body's joint to the bodies that it carries, where they are at the pose. If it carries none, the
    bone runs to the farthest of its centre of mass and attachments. Paths run straight from point to point, and along
    the surfaces that they wrap. Points and surfaces that a path passes by are left out.
    """
    q = real_array("q", q)
    poses = model.system.poses(q)
    paths = dict(zip(model.muscle_names, polylines(model, q, poses), strict=True))
    segments = {body.name: _segments(model, poses, body) for body in model.system.bodies}
    joints = [poses[body.name][1] for body in model.system.bodies]
    attached = [(world_point(poses, p.body, p.local(model.system, q)), p.active(model.system, q))
                for muscle in model.muscles for p in muscle.path.points]  # fmt: skip
    return [
        Stick(
            {name: [np.stack([_at(i, x, 2) for x in ends]) for ends in bones] for name, bones in segments.items()},
            np.array([_at(i, p, 2) for p in joints]),
            {  # without the points that repeat the one before
                name: path[i][np.r_[True, (np.diff(path[i], axis=0) != 0).any(axis=-1)]] for name, path in paths.items()
            },
            np.array([_at(i, x, 2) for x, on in attached if _at(i, on, 1)]).reshape(-1, 3),
        )
        for i in range(len(q))
    ]


def _segments(model: Model, poses: Poses, body: Body) -> list[tuple[Array, Array]]:
    """Both ends of each of a body's segments, at all poses."""
    start = poses[body.name][1]
    carried = [child for child in model.system.bodies if child.parent == body.name]
    if carried:
        return [(start, poses[child.name][1]) for child in carried]  # also of joints that shift, such as knees
    return [(start, world_point(poses, body.name, farthest_point(model, body)))]


def farthest_point(model: Model, body: Body) -> Sequence[float]:
    """[m] in the body's frame: the farthest of its centre of mass and attachments from its joint."""
    points = [p.position for m in model.muscles for p in m.path.points if p.body == body.name]
    return max([body.center_of_mass, *points], key=lambda point: float(np.linalg.norm(point)))


def up_of(model: Model) -> Array:
    """(3,) unit vector against gravity; z where there is none."""
    g = np.array(model.system.gravity)
    strength = np.linalg.norm(g)
    return -g / strength if strength > 0 else np.array([0.0, 0.0, 1.0])


def _at(i: int, values: ArrayLike, ndim: int) -> Array:
    """The entry of pose i: values with an axis of poses have `ndim` axes, others are the same at every pose."""
    values = np.asarray(values)
    return values[i] if values.ndim == ndim else values
