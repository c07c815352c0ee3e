"""Ball joints with muscles around them, and motions of them."""

import numpy as np

from myoquat.data import Motion
from myoquat.dynamics import forward_dynamics
from myoquat.joints import ArticulatedSystem, Body
from myoquat.joints.types import RevoluteJoint, SphericalJoint
from myoquat.muscle import Model, Muscle, PathPoint, muscle_torques

X, INERTIA = (1.0, 0.0, 0.0), (0.02, 0.03, 0.015, 0.001, -0.002, 0.003)


def limb(name, parent, joint, at=(0.0, 0.0, 0.0), names=None):
    return Body(name, parent, joint, at, mass=1.5, center_of_mass=(0.02, -0.15, 0.01), inertia=INERTIA,
                coordinate_names=names)  # fmt: skip


def shoulder(law, count=8, trunk=False, dynamics=None):
    """An arm on the ground, or to the side of +x of a trunk that leans, and muscles with the forces of law(k)."""
    arm, carrier, middle = limb("arm", "ground", SphericalJoint()), "ground", (-0.15, 0.0, 0.0)
    bodies = (arm,)
    if trunk:
        carrier, middle = "trunk", (0.05, 0.3, 0.0)
        bodies = (limb("trunk", "ground", RevoluteJoint(X), (0.0, 1.0, 0.0)),
                  limb("arm", "trunk", SphericalJoint(), (0.2, 0.3, 0.0)))  # fmt: skip
    muscles = []
    for k in range(count):
        angle = 2 * np.pi * k / count
        around = np.array([0.0, np.cos(angle), np.sin(angle)])
        origin = PathPoint(carrier, tuple(middle + 0.12 * around))
        end = PathPoint("arm", tuple(0.04 * around + (0.02 + 0.03 * np.cos(2 * angle), -0.06, 0.0)))
        muscles.append(Muscle(f"m{k}", (origin, end), law(k), activation_dynamics=dynamics))
    return Model(ArticulatedSystem(bodies), tuple(muscles))


def caused(model, rng, frames, activations=(0.0, 0.4), turn=0.4, speed=0.3, held=0.0):
    """A motion whose accelerations activations between two ends cause, and these. A motor holds the trunk [N m]."""
    system = model.system
    q = np.array([system.integrate(system.neutral(), v) for v in rng.uniform(-turn, turn, (frames, system.nu))])
    u, a = speed * rng.normal(size=(frames, system.nu)), rng.uniform(*activations, (frames, len(model.muscles)))
    tau = muscle_torques(model, q, u, a)
    tau[:, 0] += held
    return Motion(system, 0.01 * np.arange(frames), q, u, forward_dynamics(system, q, u, tau)), a


def turning(system, time, vectors):
    """A motion by rotation vectors (t, 3) of the only ball joint, with derivatives by differences."""
    u = np.gradient(vectors, time, axis=0)
    q = np.array([system.integrate(system.neutral(), v) for v in vectors])
    return Motion(system, time, q, u, np.gradient(u, time, axis=0))
