"""The shoulder of a published arm in small: phantom bodies and couplers that together are a ball joint."""

from dataclasses import replace

import numpy as np

import myoquat as mq
from myoquat.joints import ArticulatedSystem, Body, CustomJoint
from myoquat.joints.functions import Linear, SimmSpline
from myoquat.joints.types.base import Axis
from myoquat.muscle import CoordinateLimit, MovingPoint, PathPoint
from myoquat.muscle.coordinates import Coordinate, Coupler
from tests.bodies import on_hinge

A, B = (0.0048, 0.99908918, 0.04240001), (-0.99826136, 0.0023, 0.05889802)  # not quite orthogonal, as published
CHEST = ("r_x", "r_y", "r_z", "t_x", "t_y", "t_z")
INERTIA = (0.02, 0.03, 0.025, 0.001, -0.002, 0.003)


def arm(phantom=0.0):
    """The shoulder of the published arm on a hinged blade: plane, elevation, back by a coupler, and axial rotation."""
    ghost = {"mass": 1e-4, "inertia": (phantom,) * 3 + (0.0,) * 3, "lenient_inertia": True} if phantom else {}
    two = CustomJoint(("elev", "back"), (Axis(B, 0), Axis(A, 1)))
    bodies = (
        on_hinge("blade", (0.1, 0.2, 1.0), "glide", position=(0.0, 0.1, 0.0), mass=1.5, center_of_mass=(0.1, 0, 0.02),
                 inertia=INERTIA),
        Body("ghost1", "blade", CustomJoint(("plane",), (Axis(A, 0),)), (0.2, 0.0, 0.1), (0.6, 0.0, 0.8, 0.0),
             coordinate_names=("plane",), **ghost),
        Body("ghost2", "ghost1", two, coordinate_names=("elev", "back"), **ghost),
        Body("arm", "ghost2", CustomJoint(("axial",), (Axis(A, 0, Linear(1.0)),)), mass=2.0,
             center_of_mass=(0.01, -0.15, 0.02), inertia=INERTIA, coordinate_names=("axial",)),
        on_hinge("fore", "z", "elbow", "arm", (0.0, -0.3, 0.0), center_of_mass=(0, -0.1, 0), inertia=INERTIA),
    )  # fmt: skip
    system = ArticulatedSystem(bodies, gravity=(0.0, -9.81, 0.0))
    moving = MovingPoint("arm", (0.02, -0.05, 0.0), ("elev",) * 3, (Linear(0.01), Linear(0.0, 0.01), Linear(-0.005)))
    muscles = (
        mq.Muscle("over", (PathPoint("blade", (0.1, 0.05, 0.0)), PathPoint("ghost1", (0.03, 0.02, 0.01)),
                           PathPoint("ghost2", (0.02, -0.03, 0.03)), PathPoint("arm", (0.02, -0.1, 0.01)))),
        mq.Muscle("under", (PathPoint("ghost2", (-0.02, -0.03, 0.03)), PathPoint("fore", (0.02, -0.1, 0.01)))),
        mq.Muscle("moves", (PathPoint("ground", (-0.02, 0.2, 0.03)), moving)),
    )  # fmt: skip
    return mq.Model(
        system,
        muscles,
        couplers=(Coupler("follows", "back", "plane", SimmSpline((-1.5708, 3.14159), (1.5708, -3.14159))),
                  Coupler("rhythm", "glide", "elev", Linear(0.3, 0.05))),
        coordinates=tuple(Coordinate(n, r) for n, r in (
            ("plane", (-1.6, 2.2)), ("elev", (0.0, 3.1)), ("back", (-99.0, 99.0)), ("axial", (-1.5, 2.0)))),
        limits=(CoordinateLimit("stop", "elev", 0.2, 0.9, 5.0, 7.0, 0.2, damping=0.3),),
        start_q=(0.23, 0.4, 0.6, -0.4, 0.3, 0.5),
    )  # fmt: skip


def states(model, n, rng):
    """q, u and udot that obey the chain's coupler, clear of the lock."""
    q = np.column_stack([rng.uniform(-1.4, 1.4, (n, model.system.nq))])
    q[:, 2] = rng.uniform(0.3, 2.6, n)
    u, udot = rng.normal(size=(2, n, model.system.nu))
    for x in (q, u, udot):
        x[:, 3] = -x[:, 1]
    return q, u, udot


def on_chest():
    """The arm, its blade on a chest that floats without mass, as published."""
    model = arm(0.05)
    floating = CustomJoint(
        CHEST,
        tuple(Axis(axis, i) for i, axis in enumerate(np.eye(3).tolist())),
        tuple(Axis(axis, 3 + i) for i, axis in enumerate(np.eye(3).tolist())),
    )
    chest = Body("chest", "ground", floating, coordinate_names=CHEST)
    bodies = (chest, replace(model.system.bodies[0], parent="chest"), *model.system.bodies[1:])
    system = replace(model.system, bodies=bodies)
    return replace(model, system=system, muscles=(), start_q=(0.2, 0.3, -0.1, 0.0, 0.1, 0.0, *model.start))
