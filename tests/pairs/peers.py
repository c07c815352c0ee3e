"""What other engines say of the files that are written: accelerations of MuJoCo and OpenSim."""

import json
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from myoquat import load_model
from myoquat.joints import CustomJoint
from myoquat.joints.quaternion import rotation_matrix
from myoquat.joints.vectors import matvec

from .case import Case
from .checks import NotHere, close
from .laws import IN_MJCF, IN_OSIM, redescribed, saved

IN_OPENSIM = """
answer = []
for path in arguments:
    asked = json.load(open(path + '.json'))
    model = opensim.Model(path)
    state = model.initSystem()
    found = []
    for row in asked:
        state.setTime(row['t'])
        for c in (model.getCoordinateSet().get(i) for i in range(model.getCoordinateSet().getSize())):
            c.setValue(state, row['q'][c.getName()], False)
            c.setSpeedValue(state, row['u'][c.getName()])
        for name, value in row['states'].items():
            model.setStateVariableValue(state, name, value)
        model.realizeVelocity(state)
        controls = opensim.Vector(row['controls']) if row['controls'] else opensim.Vector()
        model.setControls(state, controls)
        model.realizeAcceleration(state)
        found.append({n: model.getCoordinateSet().get(n).getAccelerationValue(state) for n in row['q']})
    answer.append(found)
"""


OPENSIM = IN_OSIM | {  # what it is asked for: accelerations of models whose muscles start from known states
    "lock": ("none",),
    # beside a surface, its moment arm of a moving point is not the slope of its own length, which equals ours
    "path": ("straight", "via", "conditional", "polynomial"),
    "actuator": ("none", "coordinate", "body", "point", "torque", "two points"),
    "activation": ("piecewise",),
    "law": ("none", "thelen elastic", "millard elastic", "spring", "ligament", "blankevoort"),
    "wrap": ("none", "sphere"),  # its path around a cylinder is longer, by up to 1e-3
}


MUJOCO = IN_MJCF | {  # its couplers are soft, it is given no controls, and a free body inside a tree has several joints
    "coupler": ("none",),
    "lock": ("none",),
    "actuator": ("none",),
    "law": ("none",),
    "joint": ("revolute", "fixed", "prismatic", "spherical", "universal", "custom ball"),
}


def in_mujoco(case: Case) -> None:
    """MuJoCo's accelerations of the file that is written."""
    mujoco = pytest.importorskip("mujoco")
    with tempfile.TemporaryDirectory() as folder:
        path = saved(case, Path(folder) / "model.xml")
        described, engine = redescribed(case, load_model(path)), mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(engine)
    for i in range(len(described.q)):
        expected = []
        for body, at_q, at_u in zip(
            described.system.bodies, described.system.q_slices, described.system.u_slices, strict=True
        ):
            x, v, a = _in_axes_of_frames(described.q[i, at_q], described.u[i, at_u], described.udot[i, at_u])
            first = engine.body(body.name).jntadr[0]
            if first >= 0:
                q, u = engine.jnt_qposadr[first], engine.jnt_dofadr[first]
                data.qpos[q : q + len(x)], data.qvel[u : u + len(v)] = x, v
                expected.append((u, a))
        mujoco.mj_forward(engine, data)
        for u, a in expected:
            close(f"MuJoCo's acceleration in state {i}", a, data.qacc[u : u + len(a)], 1e-6)


def _in_axes_of_frames(x: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, ...]:
    """(qpos, qvel, qacc) of a joint: velocities of a free body are in the axes of the frame there, here in its own."""
    if len(x) != 7:
        return x, v, a
    R, omega = rotation_matrix(x[3:]), v[3:]
    linear = (matvec(R, v[:3]), matvec(R, a[:3] + np.cross(omega, v[:3])))
    return x, np.concatenate([linear[0], omega]), np.concatenate([linear[1], a[3:]])


def written(case: Case, path: Path) -> list[dict[str, float]]:
    """Write the model and, beside it, the states that OpenSim is asked for; the accelerations that are expected."""
    saved(case, path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        described = redescribed(case, load_model(path))
    system, names = described.system, described.system.coordinate_names
    if system.nq != system.nu:
        raise NotHere("a quaternion")
    custom = [body.joint for body in system.bodies if isinstance(body.joint, CustomJoint)]
    if any(len(axis.coordinates) > 1 for joint in custom for axis in (*joint.rotations, *joint.translations)):
        # at rest: OpenSim takes first derivatives of polynomials of several coordinates for second ones
        described = described.of(u=0.0 * described.u)
    rows: list[dict[str, Any]] = []
    for i in range(len(described.q)):
        states = {
            f"/forceset/{name.replace('.', '/')}": value
            for name, value in zip(described.equations.own, described.own[i].tolist(), strict=True)
        }
        controls = [
            described.given()[name][i].tolist() for name in ("excitation", "controls") if name in described.inputs
        ]
        rows.append(
            {
                "t": float(described.t[i]),
                "q": dict(zip(names, described.q[i].tolist(), strict=True)),
                "u": dict(zip(names, described.u[i].tolist(), strict=True)),
                "states": states,
                "controls": [x for part in controls for x in part],
            }
        )
    Path(f"{path}.json").write_text(json.dumps(rows))
    return [dict(zip(names, row.tolist(), strict=True)) for row in described.udot]
