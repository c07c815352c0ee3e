"""MuJoCo's path lengths and Jacobians in a compiled loop, for `benchmarks.paths`."""

import ctypes

import mujoco
import numpy as np

from benchmarks.mujoco.model import engine, loop
from benchmarks.native import pointer
from myoquat.muscle import Model


def tendons(model: Model) -> tuple[dict[str, str], str]:
    """Sites by body, one per path point, and a spatial tendon per muscle."""
    sites: dict[str, str] = {}
    found = []
    for i, muscle in enumerate(model.muscles):
        names = [f"s{i}_{k}" for k in range(len(muscle.path.points))]
        for name, point in zip(names, muscle.path.points, strict=True):
            position = " ".join(map(repr, point.position))
            sites[point.body] = sites.get(point.body, "") + f'<site name="{name}" pos="{position}"/>'
        found.append(f'<spatial name="t{i}">' + "".join(f'<site site="{name}"/>' for name in names) + "</spatial>")
    return sites, f"<tendon>{''.join(found)}</tendon>"


class PathLoop:
    """MuJoCo's engine on one model of ball, hinge and free joints and straight paths, many poses in one C call."""

    def __init__(self, model: Model) -> None:
        self.model = engine(model.system, *tendons(model))
        self.data = mujoco.MjData(self.model)
        self._function = loop().paths

    def __call__(self, q: np.ndarray, length: np.ndarray, jacobian: np.ndarray | None) -> None:
        """Fill length (n, m) and jacobian (n, m, nv) for poses q (n, nq), all C-order float64.

        The Jacobian is as MuJoCo stores it, the entries of each tendon's own columns in a row; see `dense`.
        """
        self._function(
            ctypes.c_void_p(self.model._address),
            ctypes.c_void_p(self.data._address),
            pointer(q),
            ctypes.c_long(len(q)),
            pointer(length),
            ctypes.c_void_p(None) if jacobian is None else pointer(jacobian),
        )

    def dense(self, jacobian: np.ndarray) -> np.ndarray:
        """(n, m, nv) Jacobian with its zeros, from what a call filled."""
        full, flat = np.zeros_like(jacobian), jacobian.reshape(len(jacobian), -1)
        rows = zip(self.model.ten_J_rowadr, self.model.ten_J_rownnz, strict=True)
        for i, (start, count) in enumerate(rows):
            entries = slice(start, start + count)
            full[:, i, self.model.ten_J_colind[entries]] = flat[:, entries]
        return full
