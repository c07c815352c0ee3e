"""Bodies and points of which both types of written models are made."""

import numpy as np

from myoquat.joints import Body
from myoquat.muscle import PathPoint

SLANTED = (0.48, 0.6, 0.64)


def body(name, parent, joint, **given):
    """A body with mass, its joint anywhere, each from its name."""
    rng = np.random.default_rng(sum(name.encode()))
    Q = rng.normal(size=4)
    place = {"position": tuple(rng.normal(size=3) / 5), "orientation": tuple((Q / np.linalg.norm(Q)).tolist())}
    place |= {"mass": 1.5, "center_of_mass": (0.02, -0.1, 0.03), "inertia": (0.02, 0.025, 0.03, 0.001, -0.002, 0.003)}
    return Body(name, parent, joint, **(place | given))


def point(name, *at):
    """A point of a path."""
    return PathPoint(name, at)
