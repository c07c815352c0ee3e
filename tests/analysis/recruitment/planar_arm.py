"""A planar arm of two links and six muscles, whose numbers are made up, and fast motions of it."""

import numpy as np

from myoquat.analysis.recruitment import Reserve
from myoquat.data import Motion
from myoquat.joints import ArticulatedSystem
from myoquat.muscle import Model, Muscle, PathPoint, path_lengths
from myoquat.muscle.laws import Millard2012, Thelen2003
from tests.bodies import on_hinge

STRENGTH = 8.0  # [N m] of the reserves
LEAST = 0.01
ENDS = (  # of arm muscles across the shoulder, the elbow, or both: bodies and points
    ("ground", (0.05, -0.02), "upper", (0.02, -0.15)), ("ground", (-0.05, -0.02), "upper", (-0.02, -0.15)),
    ("upper", (0.025, -0.12), "lower", (0.02, -0.06)), ("upper", (-0.025, -0.12), "lower", (-0.025, 0.02)),
    ("ground", (0.04, 0.0), "lower", (0.025, -0.05)), ("ground", (-0.04, -0.01), "lower", (-0.022, 0.02)),
)  # fmt: skip


def arm(law_name, **changes):
    """Two links in a plane, hinges, and six muscles, with fast and slow fibers."""
    lower = {"position": (0, -0.29, 0), "center_of_mass": (0, -0.18, 0), "inertia": (0.02, 0.001, 0.02)}
    upper = on_hinge("upper", mass=1.8, center_of_mass=(0, -0.14, 0), inertia=(0.01, 0.002, 0.01))
    system = ArticulatedSystem((upper, on_hinge("lower", parent="upper", mass=1.2, **lower)))
    middle = np.array([[0.5, 1.0]])
    points = [tuple(PathPoint(body, (*at, 0.0)) for body, at in ((e[0], e[1]), (e[2], e[3]))) for e in ENDS]
    bare = Model(system, tuple(Muscle(f"m{k}", path, Thelen2003(1.0, 0.1, 0.1)) for k, path in enumerate(points)))
    muscles = []
    for k, (path, length) in enumerate(zip(points, path_lengths(bare, middle)[0], strict=True)):
        numbers = (500.0 + 60 * k, 0.5 * length, 0.5 * length)
        common = {"max_contraction_velocity": 6.0 + k % 3, "tendon": "rigid", "minimum_activation": LEAST} | changes
        law = Millard2012(*numbers, damping=0.1, **common) if law_name == "millard" else Thelen2003(*numbers, **common)
        muscles.append(Muscle(f"m{k}", path, law))
    return Model(system, tuple(muscles))


def smooth(model, rate, frames):
    """Swings of both joints [Hz], so fast that some fibers shorten at more than their greatest speed."""
    t, w = np.linspace(0.0, 1.1 / rate, frames), 2 * np.pi * rate
    turn = w * t[:, None] + np.array([0.0, 0.8])
    size, middle = np.array([0.55, 0.9]), np.array([0.4, 1.1])
    return Motion(model, t, middle + size * np.sin(turn), size * w * np.cos(turn), -size * w**2 * np.sin(turn))


def frames_of(motion, rows):
    return Motion(motion.system, *(getattr(motion, name)[rows] for name in ("time", "q", "u", "udot")))


def reserves_of(model):
    return [Reserve(name, STRENGTH) for name in model.system.velocity_names]
