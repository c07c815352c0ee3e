"""Muscles about the glenohumeral joint of small shoulders."""

import numpy as np

from myoquat.muscle import Muscle, PathPoint


def around(law):
    """Eight muscles from a ring on the scapula to one on the humerus."""
    muscles = []
    for k, angle in enumerate(2 * np.pi * np.arange(8) / 8):
        c, s = np.cos(angle), np.sin(angle)
        origin = PathPoint("scapula", (0.12 * c, 0.03 + 0.12 * s, -0.12))
        muscles.append(Muscle(f"m{k}", (origin, PathPoint("humerus", (0.03 * c, -0.05 + 0.03 * s, 0.03))), law))
    return tuple(muscles)
