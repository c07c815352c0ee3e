"""MuJoCo's forward and inverse dynamics and its mass matrix in a compiled loop, for `benchmarks.chains`.

MuJoCo writes quaternions as here; a free joint's linear velocity is in world axes there and in the child frame here.
"""

import ctypes

import mujoco
import numpy as np

from benchmarks.mujoco.model import engine, loop
from benchmarks.native import pointer
from myoquat.joints import ArticulatedSystem, rotation_matrix


class DynamicsLoop:
    """MuJoCo's engine on one system; states (q, v, x) are C-order float64 in MuJoCo's conventions."""

    def __init__(self, system: ArticulatedSystem) -> None:
        self.system = system
        self.model = engine(system)
        self.data = mujoco.MjData(self.model)
        library = loop()
        self._functions = {"ABA": library.forward, "RNEA": library.inverse, "CRBA": library.mass}

    def out(self, algorithm: str, count: int) -> np.ndarray:
        """Memory for the results of `count` states."""
        return np.empty((count, self.model.nC if algorithm == "CRBA" else self.model.nv))

    def __call__(self, algorithm: str, q: np.ndarray, v: np.ndarray, x: np.ndarray, out: np.ndarray) -> None:
        self._functions[algorithm](
            ctypes.c_void_p(self.model._address),
            ctypes.c_void_p(self.data._address),
            pointer(q),
            pointer(v),
            pointer(x),
            pointer(out),
            ctypes.c_long(len(q)),
        )

    def _to_world(self, q: np.ndarray, v: np.ndarray, drift: np.ndarray | None = None) -> np.ndarray:
        """v with the floating base's linear part in world axes: R v, or R (vdot + omega x v) of an acceleration."""
        v = v.copy()
        for body, place in zip(self.system.bodies, self.system.u_slices, strict=True):
            if body.joint.span == "all":
                R = rotation_matrix(q[:, 3:7])  # it is the first body
                linear = v[:, place.start : place.start + 3]
                if drift is not None:
                    linear = linear + np.cross(drift[:, 3:6], drift[:, :3])
                v[:, place.start : place.start + 3] = np.einsum("nij,nj->ni", R, linear)
        return v

    def state(self, algorithm: str, q: np.ndarray, u: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, ...]:
        """(q, u, x) of `myoquat` in MuJoCo's conventions; x is tau, or udot for RNEA. Forces turn as velocities do."""
        return q, self._to_world(q, u), self._to_world(q, x, u if algorithm == "RNEA" else None)

    def filled(self, algorithm: str, out: np.ndarray) -> np.ndarray:
        """The entries of `out` that mean something: all."""
        return out

    def result(self, algorithm: str, q: np.ndarray, u: np.ndarray, value: np.ndarray) -> np.ndarray:
        """What a kernel computed, as MuJoCo stores it."""
        if algorithm == "ABA":
            return self._to_world(q, value, u)
        if algorithm == "RNEA":
            return self._to_world(q, value)
        rows, starts = self.model.M_rownnz, self.model.M_rowadr
        turning = np.swapaxes(self._to_world_matrix(q), -1, -2)
        M = np.swapaxes(turning, -1, -2) @ value @ turning
        stored = np.empty((len(q), self.model.nC))
        for i, (count, start) in enumerate(zip(rows, starts, strict=True)):
            columns = self.model.M_colind[start : start + count]
            stored[:, start : start + count] = M[:, i, columns]
        return stored

    def _to_world_matrix(self, q: np.ndarray) -> np.ndarray:
        """(n, nv, nv) matrix of `_to_world`."""
        return np.stack([self._to_world(q, np.broadcast_to(e, (len(q), len(e)))) for e in np.eye(self.system.nu)], -1)
