"""A model as lines in space: bones, joints and muscles at a pose."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from muscle.model import Model
from muscle.points import PathPoint

__all__ = ["Stick", "stick_figure"]


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

    A bone runs from a body's joint to the joints that it carries, or, if it carries none, to the farthest of its centre
    of mass and attachments. Paths are drawn straight from point to point.
    """
    poses = model.system.poses(q)
    muscles = {muscle.name: _path(model, poses, muscle.path, q) for muscle in model.muscles}
    bones = {body.name: _segments(model, poses, body) for body in model.system.bodies}
    joints = np.array([poses[body.name][1] for body in model.system.bodies])
    empty = np.zeros((0, 3))
    return Stick(bones, joints, muscles, np.concatenate([empty, *muscles.values()]))


def _path(model: Model, poses: dict[str, Any], path: tuple[PathPoint, ...], q: np.ndarray) -> np.ndarray:
    points = [point for point in path if np.all(point.active(model.system, q))]
    return np.array([_placed(poses[point.body], point.local(model.system, q)) for point in points])


def _segments(model: Model, poses: dict[str, Any], body: Any) -> list[np.ndarray]:
    start = poses[body.name][1]
    carried = [child for child in model.system.bodies if child.parent == body.name]
    if carried:
        ends = [_placed(poses[body.name], np.array(child.position)) for child in carried]
    else:
        points = [p.position for m in model.muscles for p in m.path if p.body == body.name]
        farthest = max([body.center_of_mass, *points], key=lambda point: float(np.linalg.norm(point)))
        ends = [_placed(poses[body.name], np.array(farthest))]
    return [np.array([start, end]) for end in ends]


def _placed(pose: tuple[np.ndarray, np.ndarray], point: np.ndarray) -> np.ndarray:
    R, p = pose
    return p + R @ point
