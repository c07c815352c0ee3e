"""A mass on two sliders, held on a circle by a rod, beside a hinge. At 45 degrees the rod comes to drive the other."""

import numpy as np

from myoquat.data import Motion
from myoquat.dynamics.constraints import Distance
from myoquat.joints import ArticulatedSystem
from myoquat.muscle import Model
from tests.bodies import on_hinge, on_slide

MASS, INERTIA, DURATION = 2.0, 0.3, 0.6


def on_a_circle(frames=61):
    """(model, motion, forces (t, 2)): the angle is 0.6 + t^2, past 45 degrees, and the hinge turns by t^3. The forces
    are the moment at the hinge and the force along y alone that cause this."""
    slow = {"mass": MASS, "inertia": (INERTIA,) * 3 + (0,) * 3}
    bodies = (
        on_slide("x", "x", "x", mass=0.0),
        on_hinge("h", "z", "h", **slow),
        on_slide("y", "y", "y", parent="x", **slow),
    )
    model = Model(ArticulatedSystem(bodies), constraints=(Distance("y", "ground", distance=1.0),))
    t = np.linspace(0.0, DURATION, frames)
    angle, rate = 0.6 + t**2, 2 * t
    c, s = np.cos(angle), np.sin(angle)
    q = np.stack([c, t**3, s], axis=-1)
    u = np.stack([-s * rate, 3 * t**2, c * rate], axis=-1)
    udot = np.stack([-c * rate**2 - 2 * s, 6 * t, -s * rate**2 + 2 * c], axis=-1)
    return model, Motion(model, t, q, u, udot), forces_on_a_circle(t)


def forces_on_a_circle(t):
    """(t, 2) the moment [N m] at the hinge and the force [N] along y: m angle'' / cos(angle) along the circle."""
    return np.stack([INERTIA * 6 * t, MASS * 2 / np.cos(0.6 + t**2)], axis=-1)
