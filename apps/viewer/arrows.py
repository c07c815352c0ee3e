"""Recorded loads as arrows in the scene, such as ground reactions: each from its point along its force."""

from typing import Any

import numpy as np

from myoquat.apps.viewer.frame_cache import Frame
from myoquat.apps.viewer.sources import Loads
from myoquat.core.typing import Array
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.quaternion import rotation_matrix

__all__ = ["Arrows", "arrow_ends", "arrow_unit", "check_frames"]

COLOR = (60, 170, 90)
MAX_ARROW = 0.5  # of the figure's size: the arrow of the greatest force of the record
MIN_FORCE = 1e-6  # of the greatest force: smaller ones have no arrow


def check_frames(forces: Loads, system: ArticulatedSystem) -> None:
    """ValueError for loads in the axes of a body that the system lacks."""
    known = (system.ground, "ground", *system.body_names)
    for name in (*forces.force_frames, *forces.point_frames):
        if name not in known:
            raise ValueError(f"the loads are in the axes of {name!r}, which the model lacks")


class Arrows:
    """The arrows of loads in the scene of a viser server."""

    def __init__(self, server: Any, forces: Loads, size: float) -> None:
        self.forces, self.unit = forces, arrow_unit(forces, size)
        self.handle = server.scene.add_arrows(
            "/loads",
            np.zeros((len(forces.names), 2, 3), dtype=np.float32),
            COLOR,
            shaft_radius=0.006 * size,
            head_radius=0.016 * size,
            head_length=0.04 * size,
            visible=False,
        )

    def show(self, frame: Frame, t: float) -> None:
        """Move to the time t [s] and a frame of the motion; nothing is shown at times that were not recorded."""
        time = self.forces.time
        recorded = bool(len(time)) and time[0] <= t <= time[-1]
        if recorded:
            ends = arrow_ends(self.forces, frame, int(np.abs(time - t).argmin()), self.unit)
            seen = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=-1) > MIN_FORCE * self.unit * _greatest(self.forces)
            recorded = bool(seen.any())
            self.handle.points = ends[seen].astype(np.float32)
        self.handle.visible = recorded


def arrow_unit(forces: Loads, size: float) -> float:
    """[m/N] the scale at which the greatest force's arrow is half as long as the figure."""
    return MAX_ARROW * size / max(_greatest(forces), 1e-300)


def arrow_ends(forces: Loads, frame: Frame, row: int, unit: float) -> Array:
    """(n, 2, 3) [m] the ends of every load's arrow in world axes, `unit` metres per newton."""
    found = []
    for k, (force_frame, point_frame) in enumerate(zip(forces.force_frames, forces.point_frames, strict=True)):
        R, _ = _pose(frame, force_frame)
        R_point, p = _pose(frame, point_frame)
        start = p + R_point @ forces.point[row, k]
        found.append((start, start + unit * (R @ forces.force[row, k])))
    return np.array(found).reshape(-1, 2, 3)


def _pose(frame: Frame, name: str) -> tuple[Array, Array]:
    if name not in frame.bodies:  # "ground", by whatever name the system has it
        return np.eye(3), np.zeros(3)
    Q, p = frame.bodies[name]
    return np.asarray(rotation_matrix(Q)), p


def _greatest(forces: Loads) -> float:
    return float(np.linalg.norm(forces.force, axis=-1).max(initial=0.0))
