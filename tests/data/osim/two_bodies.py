"""Two bodies with five coordinates, and what OpenSim accelerates the bodies of a file with, for tests of its forces."""

from dataclasses import fields, is_dataclass

import numpy as np
import pytest

from myoquat.data import load_model
from myoquat.dynamics import forward_dynamics
from myoquat.dynamics.constraints import ConstraintArrays, Constraints, assemble, constraints_of
from myoquat.joints import ArticulatedSystem, Body
from myoquat.joints.types import EulerJoint, UniversalJoint

OPENSIM = """
model = opensim.Model(arguments[0])
state = model.initSystem()
coordinates = [model.getCoordinateSet().get(i) for i in range(model.getNumCoordinates())]
answer = []
for q, u in zip(*arguments[1]):
    for c, x, v in zip(coordinates, q, u):
        c.setValue(state, x, False)
        c.setSpeedValue(state, v)
    model.realizeAcceleration(state)
    answer.append([c.getAccelerationValue(state) for c in coordinates])
"""


def body(name, parent, joint, at, names, center=(0.02, -0.15, 0.01)):
    """A body of 1.5 kg, its joint placed and its coordinates named."""
    inertia = (0.02, 0.03, 0.015, 0.001, -0.002, 0.003)
    return Body(name, parent, joint, at, mass=1.5, center_of_mass=center, inertia=inertia,
                joint_name=f"{name}_joint", coordinate_names=names)  # fmt: skip


SYSTEM = ArticulatedSystem(
    (
        body("A", "ground", EulerJoint("XYZ"), (0.0, 1.0, 0.0), ("a1", "a2", "a3")),
        body("B", "A", UniversalJoint((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)), (0.0, -0.4, 0.0), ("b1", "b2")),
    ),
    gravity=(0.0, -9.80665, 0.0),
)


def comes_back(model, folder, suffix="osim"):
    """The model that is written to a file and read, both strictly."""
    path = folder / f"{model.name}.{suffix}"
    model.save(path, strict=True)
    return load_model(path, strict=True)


def check_accelerations(in_opensim, folder, model, q, u, tau, script=OPENSIM, *more):
    """Accelerations by forces tau at states are those that OpenSim gives the file of the model, to 1e-9 of the
    greatest."""
    answer = np.array(in_opensim(script, folder / f"{model.name}.osim", [q, u, *more]))
    np.testing.assert_allclose(forward_dynamics(model, q, u, tau), answer, atol=1e-9 * np.abs(answer).max())


def on_constraints(model, count, size, rng):
    """What holds a model, poses on it with coordinates of about this size, and velocities along it."""
    q = assemble(model, rng.uniform(-size, size, (count, model.system.nq)))
    held = ConstraintArrays(Constraints(model.system, constraints_of(model)))
    u = rng.uniform(-1, 1, (count, model.system.nu))
    if model.constraints:
        A = held.jacobian(q, 0.0)
        u -= (np.linalg.pinv(A, rcond=1e-8) @ (A @ u[..., None]))[..., 0]
    return held, q, u


def check_like(a, b, where=""):
    """Two records are equal, numbers to round-off."""
    assert type(a) is type(b), where
    if is_dataclass(a):
        for f in fields(a):
            if f.compare and f.name != "sequence":  # the angles in which a quaternion is shown have no place in a file
                check_like(getattr(a, f.name), getattr(b, f.name), f"{where}.{f.name}")
    elif isinstance(a, tuple):
        assert len(a) == len(b), where
        for i, pair in enumerate(zip(a, b, strict=True)):
            check_like(*pair, f"{where}[{i}]")
    else:
        assert a == (pytest.approx(b, rel=1e-13, abs=1e-14) if isinstance(a, float) else b), where
