"""Lines as tubes that a scene can draw."""

import numpy as np

from myoquat.core.typing import Array

__all__ = ["pieces", "tubes"]


def pieces(lines: list[Array]) -> tuple[Array, Array, Array]:
    """`tubes` of all straight pieces of lines (..., k, 3), one line after the other."""
    if not lines:
        return np.zeros((0, 3)), np.zeros((0, 4)), np.zeros(0)
    starts, ends = ([line[..., part, :] for line in lines] for part in (slice(-1), slice(1, None)))
    return tubes(np.concatenate(starts, axis=-2), np.concatenate(ends, axis=-2))


def tubes(start: Array, end: Array) -> tuple[Array, Array, Array]:
    """From points to points (..., 3): middles (..., 3), unit quaternions (..., 4) that turn z along, lengths [m]."""
    along = end - start
    length = np.linalg.norm(along, axis=-1)
    d = np.divide(along, length[..., None], out=np.zeros_like(along), where=length[..., None] > 0)
    Q = np.stack([1 + d[..., 2], -d[..., 1], d[..., 0], np.zeros(d.shape[:-1])], axis=-1)
    norm = np.linalg.norm(Q, axis=-1, keepdims=True)
    turned = np.divide(Q, norm, out=np.broadcast_to((0.0, 1.0, 0.0, 0.0), Q.shape).copy(), where=norm > 1e-9)
    return (start + end) / 2, turned, length
