"""A model as lines in space: bones, joints and muscles at a pose."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from myoquat.muscle.model import Model
from myoquat.muscle.path import Muscle, contacts
from myoquat.muscle.wrapping import Piece, Wrap

__all__ = ["Stick", "stick_figure"]

DRAWN = 9  # points of a path on a surface


@dataclass(frozen=True)
class Stick:
    """World points [m]: of each body a list of segments (2, 3) by name, of each joint (n, 3), of each muscle's path
    (k, 3), of all attachments (n, 3)."""

    bones: dict[str, list[np.ndarray]]
    joints: np.ndarray
    muscles: dict[str, np.ndarray]
    attachments: np.ndarray


def stick_figure(model: Model, q: np.ndarray) -> Stick:
    """The stick figure at coordinates q (nq,).

    A bone runs from a body's joint to the bodies that it carries, where they are at the pose, or, if it carries none,
    to the farthest of its centre of mass and attachments. Paths run straight from point to point, and along the
    surfaces that they wrap.
    """
    poses = model.system.poses(q)
    touching = contacts(model.system, model.muscles, q)
    pairs = zip(model.muscles, touching, strict=True)
    muscles = {muscle.name: _path(model, poses, muscle, pieces, q) for muscle, pieces in pairs}
    bones = {body.name: _segments(model, poses, body) for body in model.system.bodies}
    joints = np.array([poses[body.name][1] for body in model.system.bodies])
    attached = [p for m in model.muscles for p in m.path if np.all(p.active(model.system, q))]
    points = [_placed(poses[p.body], p.local(model.system, q)) for p in attached]
    return Stick(bones, joints, muscles, np.array(points).reshape(-1, 3))


def _path(model: Model, poses: dict[str, Any], muscle: Muscle, pieces: tuple[Piece, ...], q: np.ndarray) -> np.ndarray:
    stops: list[tuple[np.ndarray, ...]] = []  # points, and pairs of them on a surface
    spans: dict[int, tuple[Wrap, float]] = {}
    for point, piece in zip(muscle.path, (Piece(), *pieces), strict=True):
        for wrap, contact in zip(piece.wraps, piece.contacts, strict=True):
            if np.all(contact.on):
                spans[len(stops)] = wrap, float(contact.arc)
                stops.append(tuple(_placed(poses[wrap.body], x) for x in (contact.P, contact.Q)))
        if np.all(point.active(model.system, q)):
            stops.append((_placed(poses[point.body], point.local(model.system, q)),))
    points: list[np.ndarray] = []
    for i, stop in enumerate(stops):
        if i in spans:
            points += _span(*spans[i], poses, stops[i - 1][-1], stop, stops[i + 1][0])
        else:
            points.append(stop[0])
    return np.array(points)


def _span(wrap: Wrap, arc: float, poses: Any, before: np.ndarray, ends: Any, after: np.ndarray) -> list[np.ndarray]:
    """Points along a surface: a cubic between the ends with the directions there, brought onto the surface."""
    P, Q = ends
    start, stop = (arc * v / np.linalg.norm(v) for v in (P - before, after - Q))
    R, p = poses[wrap.body]
    found = []
    for t in np.linspace(0, 1, DRAWN):
        x = (2 * t**3 - 3 * t**2 + 1) * P + (t**3 - 2 * t**2 + t) * start
        x = x + (3 * t**2 - 2 * t**3) * Q + (t**3 - t**2) * stop
        local = wrap.in_body(wrap.onto(wrap.seen(R.T @ (x - p))))
        found.append(_placed((R, p), local))
    return found


def _segments(model: Model, poses: dict[str, Any], body: Any) -> list[np.ndarray]:
    start = poses[body.name][1]
    carried = [child for child in model.system.bodies if child.parent == body.name]
    if carried:
        ends = [poses[child.name][1] for child in carried]  # also of joints that shift, such as knees
    else:
        points = [p.position for m in model.muscles for p in m.path if p.body == body.name]
        farthest = max([body.center_of_mass, *points], key=lambda point: float(np.linalg.norm(point)))
        ends = [_placed(poses[body.name], np.array(farthest))]
    return [np.array([start, end]) for end in ends]


def _placed(pose: tuple[np.ndarray, np.ndarray], point: np.ndarray) -> np.ndarray:
    R, p = pose
    placed: np.ndarray = p + R @ point
    return placed
