"""A model as lines in space: bones, joints and muscles at a pose."""

from collections.abc import Sequence

import numpy as np

from myoquat.core.arguments import real_array
from myoquat.core.records import dataclass
from myoquat.core.typing import Array, ArrayLike
from myoquat.joints import Body
from myoquat.muscle.display.polylines import Poses, polylines
from myoquat.muscle.loads import world_point
from myoquat.muscle.model import Model

__all__ = ["Stick", "farthest_point", "stick_figure", "stick_figures", "up_of"]


@dataclass(frozen=True)
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
                for muscle in model.muscles for p in muscle.path]  # fmt: skip
    return [
        Stick(
            {name: [np.stack([_at(i, x, 2) for x in ends]) for ends in bones] for name, bones in segments.items()},
            np.array([_at(i, p, 2) for p in joints]),
            {name: _distinct(path[i]) for name, path in paths.items()},
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
    points = [p.position for m in model.muscles for p in m.path if p.body == body.name]
    return max([body.center_of_mass, *points], key=lambda point: float(np.linalg.norm(point)))


def up_of(model: Model) -> Array:
    """(3,) unit vector against gravity; z where there is none."""
    g = np.array(model.system.gravity)
    strength = np.linalg.norm(g)
    return -g / strength if strength > 0 else np.array([0.0, 0.0, 1.0])


def _at(i: int, values: ArrayLike, ndim: int) -> Array:
    """The entry of pose i: values with an axis of poses have `ndim` axes, others are the same at every pose."""
    values = np.asarray(values)
    found: Array = values[i] if values.ndim == ndim else values
    return found


def _distinct(line: Array) -> Array:
    """A line (k, 3) without the points that repeat the one before."""
    kept: Array = line[np.r_[True, (np.diff(line, axis=0) != 0).any(axis=-1)]]
    return kept
