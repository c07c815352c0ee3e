"""Ball joints with muscles around them."""

import numpy as np

from myoquat.joints import ArticulatedSystem, Body
from myoquat.joints.types import RevoluteJoint, SphericalJoint
from myoquat.muscle import Model, Muscle, PathPoint

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
