"""Frames of a motion: positions of bodies and muscles at every pose, computed in blocks of poses."""

import numpy as np

from myoquat.apps.viewer.tubes import pieces
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.quaternion import quaternion_from_matrix
from myoquat.muscle import Model
from myoquat.muscle.display.polylines import polylines

__all__ = ["Frame", "FrameCache", "frames"]

BLOCK_POSES, MAX_BLOCKS = 64, 40  # poses that are computed together, and blocks that are kept


@dataclass(frozen=True)
class Frame:
    """Bodies (unit quaternion, position [m]) by name, and the muscles' pieces: middles (n, 3), quaternions (n, 4),
    lengths (n,) [m]."""

    bodies: dict[str, tuple[Array, Array]]
    pieces: tuple[Array, Array, Array]


def frames(model: Model, q: Array, lines: list[Array] | None = None) -> list[Frame]:
    """The frames at q (t, nq); `lines` are the `polylines` there, if they are known."""
    count, poses = len(q), model.system.poses(q)
    bodies = {
        name: (
            np.broadcast_to(quaternion_from_matrix(np.asarray(R)), (count, 4)),
            np.broadcast_to(p, (count, 3)),
        )
        for name, (R, p) in poses.items()
    }
    lines = polylines(model, q, poses) if lines is None else lines
    parts = tuple(np.broadcast_to(x, (count, *x.shape[-d:])) if not x.size else x
                  for x, d in zip(pieces(lines), (2, 2, 1), strict=True))  # fmt: skip
    return [
        Frame({n: (Q[i], p[i]) for n, (Q, p) in bodies.items()}, (parts[0][i], parts[1][i], parts[2][i]))
        for i in range(count)
    ]


class FrameCache:
    """The frames of q (t, nq); a block is computed when one of its frames is needed."""

    def __init__(self, model: Model, q: Array) -> None:
        self.model, self.q = model, q
        self._blocks: dict[int, list[Frame]] = {}

    def __getitem__(self, row: int) -> Frame:
        block = row // BLOCK_POSES
        if block not in self._blocks:
            while len(self._blocks) >= MAX_BLOCKS:
                self._blocks.pop(next(iter(self._blocks)))
            self._blocks[block] = frames(self.model, self.q[block * BLOCK_POSES : (block + 1) * BLOCK_POSES])
        return self._blocks[block][row % BLOCK_POSES]
