"""MuJoCo on the files of these tests."""

import mujoco
import numpy as np

from myoquat.data import load_model
from myoquat.joints import FloatingJoint, rotation_matrix


def write(folder, text):
    """A file of this text."""
    path = folder / "x.xml"
    path.write_text(text)
    return path


def read(folder, text, **options):
    """The model of this text."""
    return load_model(write(folder, text), **options)


def opened(path):
    """MuJoCo's model of a file, and its numbers at the neutral state."""
    engine = mujoco.MjModel.from_xml_path(str(path))
    engine.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    data = mujoco.MjData(engine)
    mujoco.mj_forward(engine, data)
    return engine, data


def forward(engine, data, **state):
    """MuJoCo's numbers where parts of the state (qpos, qvel, ctrl, act) have these values, the others none."""
    mujoco.mj_resetData(engine, data)
    for name, values in state.items():
        getattr(data, name)[:] = values
    mujoco.mj_forward(engine, data)


def tendon_jacobian(engine, data):
    """(tendon, speed) at the last state; MuJoCo's numbers are sparse from version 3.6 on."""
    holder = engine if hasattr(engine, "ten_J_rownnz") else data
    columns, J = np.asarray(holder.ten_J_colind).ravel(), np.zeros((engine.ntendon, engine.nv))
    for row, count, start in zip(J, holder.ten_J_rownnz, holder.ten_J_rowadr, strict=True):
        row[columns[start : start + count]] = np.ravel(data.ten_J)[start : start + count]
    return J


def from_mujoco(system, q):
    """(nu, nu) T with u = T qvel: linear velocities of floating bodies are there those of the parent's frame."""
    T = np.eye(system.nu)
    for link, iq, iu in zip(system.bodies, system.q_slices, system.u_slices, strict=True):
        if isinstance(link.joint, FloatingJoint):
            T[iu.start : iu.start + 3, iu.start : iu.start + 3] = rotation_matrix(q[iq][3:]).T
    return T


def in_axes_of_bodies(system, q, v, a):
    """(u, udot) of MuJoCo's qvel and qacc: linear velocities of floating bodies are here in the body's axes."""
    u, udot = v.copy(), a.copy()
    for body, at, iu in zip(system.bodies, system.q_slices, system.u_slices, strict=True):
        if isinstance(body.joint, FloatingJoint):
            R, first = rotation_matrix(q[at][3:]).T, slice(iu.start, iu.start + 3)
            u[first] = R @ v[first]
            udot[first] = R @ udot[first] - np.cross(v[iu.start + 3 : iu.stop], u[first])
    return u, udot


def mass_matrix(engine, data):
    """At the last state."""
    M = np.zeros((engine.nv, engine.nv))
    mujoco.mj_fullM(engine, data, M)
    return M
