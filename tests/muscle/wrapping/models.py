"""A shoulder and an elbow with every type of wrapping, one muscle per case."""

from dataclasses import replace

import numpy as np

from myoquat.joints import ArticulatedSystem, Body
from myoquat.joints.types import PrismaticJoint
from myoquat.muscle import (
    ConditionalPoint,
    Model,
    Muscle,
    MusclePath,
    PathPoint,
    WrapCylinder,
    WrapEllipsoid,
    WrapSphere,
    WrapTorus,
    path_jacobian,
    path_lengths,
)
from myoquat.muscle.laws import ExponentialMuscle
from tests.bodies import on_ball, on_hinge

TURNED = tuple(np.array([0.8, 0.3, -0.4, 0.33]) / np.linalg.norm([0.8, 0.3, -0.4, 0.33]))
ORIGIN, INSERTION = PathPoint("ground", (0.05, 0.0, 0.12)), PathPoint("upper", (0.03, 0.02, -0.12))
FAR = PathPoint("lower", (0.02, 0.01, -0.1))

SPHERE = WrapSphere(body="ground", position=(0.01, 0.0, 0.0), radius=0.035)
CYLINDER = WrapCylinder(body="ground", position=(0.02, 0.0, 0.0), orientation=TURNED, radius=0.03)
ELLIPSOID = WrapEllipsoid(body="upper", position=(0.01, 0.0, 0.0), orientation=TURNED, radii=(0.02, 0.035, 0.03))
RING = WrapTorus(body="ground", position=(0.03, 0.01, 0.03), ring_radius=0.04, tube_radius=0.012)
ELBOW = WrapCylinder(body="upper", position=(0.0, 0.0, -0.25), orientation=(0.5, 0.5, 0.5, 0.5), radius=0.025)
HEAD = WrapSphere(body="lower", position=(0.03, 0.005, -0.05), radius=0.02)

CASES = {
    "sphere": ((ORIGIN, INSERTION), (SPHERE,)),
    "sphere_side": ((ORIGIN, INSERTION), (replace(SPHERE, quadrant="+x"),)),
    "cylinder": ((ORIGIN, INSERTION), (CYLINDER,)),
    "cylinder_side": ((ORIGIN, INSERTION), (replace(CYLINDER, quadrant="-y"),)),
    "cylinder_other_side": ((ORIGIN, INSERTION), (replace(CYLINDER, quadrant="+y"),)),
    "ellipsoid": ((ORIGIN, INSERTION), (ELLIPSOID,)),
    "torus": ((ORIGIN, INSERTION), (RING,)),
    "torus_and_cylinder": ((ORIGIN, FAR), (RING, ELBOW)),
    "two": ((ORIGIN, FAR), (CYLINDER, ELBOW)),
    "sphere_and_cylinder": ((ORIGIN, FAR), (SPHERE, ELBOW)),
    "ellipsoid_and_cylinder": ((ORIGIN, FAR), (ELLIPSOID, ELBOW)),
    "three": ((ORIGIN, FAR), (CYLINDER, ELBOW, HEAD)),
    "via": (
        (ORIGIN, PathPoint("upper", (0.04, 0.0, -0.14)), FAR),
        (replace(CYLINDER, points=(0, 1)), replace(ELBOW, points=(1, 2)), replace(HEAD, points=(1, 2))),
    ),
    "conditional": ((ORIGIN, ConditionalPoint("upper", (0.04, 0.0, -0.14), "elbow", (0.3, 3.0)), FAR), (SPHERE, ELBOW)),
}


def system():
    """A ball joint and a hinge."""
    upper = on_ball("upper", mass=2.0, center_of_mass=(0, 0, -0.12), inertia=0.02)
    lower = on_hinge("lower", "y", "elbow", "upper", (0.0, 0.0, -0.25), center_of_mass=(0, 0, -0.1), inertia=0.01)
    return ArticulatedSystem((upper, lower))


def past(wraps, start=None):
    """A path over surfaces to a point that slides along x, y and z of the ground. It begins at `start` on the ground,
    or at another point that slides. The positions of the points that slide are q."""
    slides = []
    for end in ("from_", "") if start is None else ("",):
        parent = "ground"
        for axis, direction in zip("xyz", np.eye(3), strict=True):
            joint, name = PrismaticJoint(axis=tuple(direction)), f"{end}{axis}"
            slides.append(Body(name, parent, joint, coordinate_names=(f"t{name}",), mass=1.0))
            parent = name
    first = PathPoint("from_z", (0.0, 0.0, 0.0)) if start is None else PathPoint("ground", tuple(start))
    path = (first, PathPoint("z", (0.0, 0.0, 0.0)))
    return Model(ArticulatedSystem(tuple(slides)), (Muscle("m", MusclePath(path, wraps=tuple(wraps))),))


def model(*names):
    """The model with the named cases as muscles, all of them without names."""
    law = ExponentialMuscle(optimal_length=0.3, max_isometric_force=100.0)
    cases = [(name, *CASES[name]) for name in names or CASES]
    return Model(system(), tuple(Muscle(name, MusclePath(path, wraps=wraps), law) for name, path, wraps in cases))


def poses(n, seed=1):
    """(n, 5) turns of the shoulder by up to about 2 rad, and of the elbow."""
    rng = np.random.default_rng(seed)
    v = rng.normal(size=(n, 3))
    v *= (rng.uniform(0, 2.0, n) / np.linalg.norm(v, axis=1))[:, None]
    angle = np.linalg.norm(v, axis=1, keepdims=True)
    Q = np.concatenate([np.cos(angle / 2), np.sin(angle / 2) * v / angle], axis=1)
    return np.concatenate([Q, rng.uniform(-2.0, 2.0, (n, 1))], axis=1)


def length_over(contact, A, B):
    """(...) length of the path from A to B (..., 3) over a contact."""
    c = contact
    size = [np.linalg.norm(x, axis=-1) for x in (A - c.P, c.Q - B, A - B)]
    return np.where(c.on, size[0] + c.arc + size[1], size[2])


def slopes(model, q, h):
    """(..., m, nu) central differences of lengths by small motions, of order 4."""
    moves = h * np.eye(model.system.nu)
    l = [path_lengths(model, model.system.integrate(q[..., None, :], k * moves)) for k in (-1.0, -0.5, 0.5, 1.0)]
    return np.swapaxes(8 * (l[2] - l[1]) - (l[3] - l[0]), -1, -2) / (6 * h)


def missed(model, q):
    """(..., m) by how much the Jacobian is not the slope of the length, with steps of the best of several sizes."""
    J = path_jacobian(model, q)
    return np.min([np.abs(slopes(model, q, h) - J).max(axis=-1) for h in (1e-4, 1e-5, 1e-6)], axis=0)
