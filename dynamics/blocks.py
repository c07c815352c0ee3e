"""Small symmetric systems written out: what the articulated-body recursion solves at every joint."""

from typing import Any

import numpy as np

from myoquat.joints.stacking import components

__all__ = ["inverse3", "solve_small"]


def inverse3(S: Any) -> Any:
    """(..., 6) inverse of a symmetric 3 x 3 matrix of entries S (..., 6), by its adjugate."""
    xx, yy, zz, xy, xz, yz = components(S)
    A, B, C = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
    D, E, F = xx * zz - xz * xz, xy * xz - xx * yz, xx * yy - xy * xy
    scale = 1.0 / (xx * A + xy * B + xz * C)
    return np.stack([A, D, F, B, C, E], axis=-1) * scale[..., None]


def solve_small(D: Any, B: Any) -> Any:
    """(..., n, m) D^-1 B for a symmetric positive definite D (..., n, n) of a few rows, by D = L L'^T written out."""
    n = D.shape[-1]
    if n == 1:
        return B / D
    rows = [B[..., i, :] for i in range(n)]
    lower: list[list[Any]] = [[D[..., i, j] for j in range(i + 1)] for i in range(n)]
    pivots: list[Any] = []
    for j in range(n):
        pivots.append(1.0 / lower[j][j])
        for i in range(j + 1, n):
            ratio = lower[i][j] * pivots[j]
            for k in range(j + 1, i + 1):
                lower[i][k] = lower[i][k] - ratio * lower[k][j]
            rows[i] = rows[i] - ratio[..., None] * rows[j]
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            rows[i] = rows[i] - lower[k][i][..., None] * rows[k]
        rows[i] = rows[i] * pivots[i][..., None]
    return np.stack(rows, axis=-2)
