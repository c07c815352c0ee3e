"""Two bodies with five coordinates, and what OpenSim accelerates the bodies of a file with, for tests of its forces."""

import json
from dataclasses import fields, is_dataclass

import numpy as np

from myoquat.data import load_model
from myoquat.dynamics import forward_dynamics
from myoquat.joints import ArticulatedSystem, Body
from myoquat.joints.types import EulerJoint, UniversalJoint

OPENSIM = """
model = opensim.Model(arguments[0])
state = model.initSystem()
coordinates = [model.getCoordinateSet().get(i) for i in range(model.getNumCoordinates())]
answer = []
for q, u in zip(*json.loads(arguments[1])):
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
    states = json.dumps([x.tolist() for x in (q, u, *more)])
    answer = np.array(in_opensim(script, str(folder / f"{model.name}.osim"), states))
    np.testing.assert_allclose(forward_dynamics(model, q, u, tau), answer, atol=1e-9 * np.abs(answer).max())


def is_like(a, b):
    """Whether two records are equal, numbers to round-off."""
    if is_dataclass(a):
        return type(a) is type(b) and all(is_like(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(is_like, a, b))
    return abs(a - b) < 1e-14 if isinstance(a, float) else a == b
