"""MuJoCo's path lengths and Jacobians in a compiled loop, for `benchmarks.paths`."""

import ctypes
import subprocess
import tempfile
from pathlib import Path

import mujoco
import numpy as np

from joints.types import SphericalJoint
from muscle import Model

__all__ = ["PathLoop", "mjcf"]

_LOOP = r"""
#include <mujoco/mujoco.h>
#include <string.h>

void paths(const mjModel *m, mjData *d, const double *q, long n, double *length, double *jacobian)
{
    for (long i = 0; i < n; i++) {
        memcpy(d->qpos, q + i * m->nq, m->nq * sizeof(double));
        mj_kinematics(m, d);
        mj_comPos(m, d);
        mj_tendon(m, d);
        memcpy(length + i * m->ntendon, d->ten_length, m->ntendon * sizeof(double));
        if (jacobian)
            memcpy(jacobian + i * m->ntendon * m->nv, d->ten_J, m->nJten * sizeof(double));
    }
}
"""


def mjcf(model: Model) -> str:
    """The model as MuJoCo reads it: ball joints, a site per path point, a spatial tendon per muscle."""
    sites: dict[str, list[str]] = {}
    tendons = []
    for i, muscle in enumerate(model.muscles):
        names = [f"s{i}_{k}" for k in range(len(muscle.path))]
        for name, point in zip(names, muscle.path, strict=True):
            position = " ".join(map(repr, point.position))
            sites.setdefault(point.body, []).append(f'<site name="{name}" pos="{position}"/>')
        tendons.append("<spatial>" + "".join(f'<site site="{name}"/>' for name in names) + "</spatial>")

    def children(parent: str) -> str:
        text = "".join(sites.get(parent, []))
        for body in model.system.bodies:
            if body.parent != parent:
                continue
            if not isinstance(body.joint, SphericalJoint):
                raise ValueError(f"body {body.name!r}: only ball joints are compared")
            inertia = " ".join(map(repr, body.inertia))
            text += (
                f'<body name="{body.name}" pos="{" ".join(map(repr, body.position))}"><joint type="ball"/>'
                f'<inertial pos="{" ".join(map(repr, body.center_of_mass))}" mass="{body.mass}" '
                f'fullinertia="{inertia}"/>'
                f"{children(body.name)}</body>"
            )
        return text

    world = children(model.system.ground)
    return f"<mujoco><worldbody>{world}</worldbody><tendon>{''.join(tendons)}</tendon></mujoco>"


class PathLoop:
    """MuJoCo's engine on one model, many poses in one C call."""

    def __init__(self, model: Model) -> None:
        self.model = mujoco.MjModel.from_xml_string(mjcf(model))
        self.data = mujoco.MjData(self.model)
        package = Path(mujoco.__file__).parent
        library = next(package.glob("libmujoco.so*"))
        with tempfile.TemporaryDirectory() as folder:
            source, output = Path(folder, "loop.c"), Path(folder, "loop.so")
            source.write_text(_LOOP)
            flags = ["-O3", "-march=native", "-shared", "-fPIC", f"-I{package / 'include'}", str(library)]
            subprocess.run(["cc", str(source), *flags, f"-Wl,-rpath,{package}", "-o", str(output)], check=True)
            self._function = ctypes.CDLL(str(output)).paths

    def __call__(self, q: np.ndarray, length: np.ndarray, jacobian: np.ndarray | None) -> None:
        """Fill length (n, m) and jacobian (n, m, nv) for poses q (n, nq), all C-order float64.

        The Jacobian is as MuJoCo stores it, the entries of each tendon's own columns in a row; see `dense`.
        """
        pointer = ctypes.c_void_p
        self._function(
            pointer(self.model._address),
            pointer(self.data._address),
            pointer(q.ctypes.data),
            ctypes.c_long(len(q)),
            pointer(length.ctypes.data),
            pointer(None if jacobian is None else jacobian.ctypes.data),
        )

    def dense(self, jacobian: np.ndarray) -> np.ndarray:
        """(n, m, nv) Jacobian with its zeros, from what a call filled."""
        full, flat = np.zeros_like(jacobian), jacobian.reshape(len(jacobian), -1)
        rows = zip(self.model.ten_J_rowadr, self.model.ten_J_rownnz, strict=True)
        for i, (start, count) in enumerate(rows):
            entries = slice(start, start + count)
            full[:, i, self.model.ten_J_colind[entries]] = flat[:, entries]
        return full
