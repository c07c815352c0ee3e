"""An arm on a ball joint, and the paths of five muscles around it."""

import numpy as np

from myoquat.joints import ArticulatedSystem, Body, SphericalJoint
from myoquat.muscle import PathPoint


def shoulder():
    """The system, and (origin, end) of every path."""
    inertia = (0.02, 0.03, 0.015, 0.0, 0.0, 0.0)
    arm = Body("arm", "ground", SphericalJoint(), mass=1.5, center_of_mass=(0.02, -0.15, 0.01), inertia=inertia)
    paths = []
    for angle in 2 * np.pi * np.arange(5) / 5:
        origin = PathPoint("ground", (-0.15, 0.12 * np.cos(angle), 0.12 * np.sin(angle)))
        paths.append((origin, PathPoint("arm", (0.02, -0.06 + 0.04 * np.cos(angle), 0.04 * np.sin(angle)))))
    return ArticulatedSystem((arm,)), paths
