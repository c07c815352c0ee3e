"""Poses, states and runs of a batch share no number: each gives the same bits alone and among others.

Other solvers have tests elsewhere:

- recruitment in `tests/analysis/recruitment/test_batch_independence.py`
- environments in `tests/environments`
- simulations and forward dynamics: the law of batches in `tests/pairs`

Results of a whole trial are no functions of one frame. These are smoothing, the Kalman filter, scales, computed muscle
control, redundancy with activation dynamics, and problems of optimal control. Inverse kinematics without a start for
each frame is one too.
"""

from dataclasses import replace

import numpy as np
import pytest

from myoquat.analysis.motion import Sensor, inverse_kinematics
from myoquat.analysis.recruitment import joint_loads
from myoquat.data import Markers, Motion, Orientations
from myoquat.dynamics.constraints import ConstrainedMotion, Distance, assemble
from myoquat.joints import ArticulatedSystem, random_quaternions
from myoquat.joints.quaternion import quaternion_from_matrix
from myoquat.muscle import (
    Model,
    Muscle,
    MusclePath,
    PathPoint,
    PoseFunction,
    PoseVariables,
    WrapCylinder,
    WrapEllipsoid,
    WrapSphere,
    WrapTorus,
    fitted_path,
    limit_torques,
    path_flags,
    path_jacobian,
    path_lengths,
)
from myoquat.muscle.coordinates import Marker
from myoquat.muscle.forces import ContactCapsule, LinearContact
from tests.bodies import afloat, on_hinge

FRAMES = 9  # more than one block of lanes, and not whole blocks
RNG = np.random.default_rng
SURFACES = {
    "sphere": WrapSphere(body="ground", position=(0.0, 0.0, 0.03), radius=0.05),
    "ellipsoid": WrapEllipsoid(body="ground", position=(0.06, 0.05, 0.1), radii=(0.03, 0.05, 0.04)),
    "cylinder": WrapCylinder(body="ground", position=(0.04, -0.06, 0.1), radius=0.03),
    "bore": WrapSphere(body="ground", position=(0.02, 0.0, 0.05), radius=0.02, rule="inside"),
    "ring": WrapTorus(body="ground", position=(0.1, 0.0, 0.1), ring_radius=0.06, tube_radius=0.015),
}


def chain(held=True):
    """Three links; a rod holds the last one to the ground."""
    links = [
        on_hinge(f"b{k}", "y", parent=f"b{k - 1}" if k else "ground", position=(0, 0, -0.3 * (k > 0)),
                 center_of_mass=(0, 0, -0.15), inertia=0.02) for k in range(3)
    ]  # fmt: skip
    rod = Distance("b2", "ground", (0.0, 0.0, -0.3), (0.2, 0.0, -0.6), distance=0.25)
    markers = tuple(Marker(f"m{k}", f"b{k}", (0.05, 0.02 * k, -0.2)) for k in range(3))
    return Model(ArticulatedSystem(tuple(links)), constraints=(rod,) if held else (), markers=markers)


def states():
    """Poses on the constraint of the chain, and velocities, most of which it stops."""
    model = chain()
    return model, assemble(model, RNG(1).uniform(-0.6, 0.6, (FRAMES, 3))), RNG(2).normal(size=(FRAMES, 3))


def paths(*names):
    model, start = chain(held=False), PathPoint("ground", (0.03, -0.02, 0.2))
    muscle = Muscle(
        "cord", MusclePath((start, PathPoint("b0", (-0.02, 0.03, -0.2))), wraps=tuple(SURFACES[n] for n in names))
    )
    model, q = replace(model, muscles=(muscle,)), RNG(3).uniform(-2.0, 2.0, (4 * FRAMES, 3))
    assert len(np.unique(path_flags(model, q))) > 1
    return lambda rows: (path_lengths(model, q[rows]), path_jacobian(model, q[rows]), path_flags(model, q[rows]))


def held():
    model, q, u = states()
    time = np.arange(float(FRAMES))

    def solve(rows):
        loads = joint_loads(model, Motion(model, time[rows], q[rows], u[rows], 0.0 * u[rows]))
        wrench = loads.of("b1")
        return ConstrainedMotion(model, q[rows], time[rows]).multipliers(u[rows]), wrench.force, wrench.moment

    return solve


def projected():
    q = RNG(6).uniform(-0.8, 0.8, (FRAMES, 3))
    return lambda rows: (assemble(chain(), q[rows]),)


def fitted(held=True):
    model, q = chain(held), states()[1]
    shown = np.stack([p + (R @ m.position) for m in model.markers for R, p in [model.system.poses(q)[m.body]]], axis=1)
    shown = shown + 1e-3 * RNG(5).normal(size=shown.shape)

    def solve(rows):
        names = [m.name for m in model.markers]
        return (inverse_kinematics(model, Markers(0.01 * rows, names, shown[rows]), start=q[rows]).q,)

    return solve


def sensed():
    """Orientations alone, one of them missing."""
    model, q = chain(held=False), RNG(6).uniform(-0.6, 0.6, (FRAMES, 3))
    sensors = [Sensor(f"s{k}", f"b{k}", (1.0, 0.0, 0.0, 0.0)) for k in range(3)]
    Q = np.stack([quaternion_from_matrix(R) for R, _ in list(model.system.poses(q).values())[-3:]], axis=1)
    Q[4, 1] = np.nan

    def solve(rows):
        seen = Orientations(0.01 * rows, [sensor.name for sensor in sensors], Q[rows])
        return (inverse_kinematics(model, seen, sensors=sensors, start=q[rows] + 0.1).q,)

    return solve


def touching():
    """Capsules apart and inside each other."""
    Q = tuple(tuple(map(float, row)) for row in random_quaternions(2, RNG(7)))
    rod = ContactCapsule("rod", "a", (0.0, 0.0, 0.1), Q[0], 0.25, 0.2)
    post = ContactCapsule("post", "ground", (0.0, 0.1, 0.0), Q[1], 0.3, 0.2)
    free = ArticulatedSystem((afloat("a"),))
    model = Model(free, forces=(LinearContact("touch", rod, post, stiffness=1e4),))
    q, u = free.random(FRAMES, RNG(8)), RNG(9).normal(size=(FRAMES, 6))
    q[:, :3] *= np.linspace(0.1, 0.8, FRAMES)[:, None]
    torque = limit_torques(model, q, u)
    assert 0 < np.count_nonzero(np.abs(torque).max(axis=-1)) < FRAMES
    return lambda rows: (limit_torques(model, q[rows], u[rows]),)


def fitted_lengths():
    """A path whose length is a polynomial of two angles."""
    model, q = chain(held=False), RNG(10).uniform(-1.0, 1.0, (FRAMES, 3))
    names = model.system.coordinate_names[:2]
    function = PoseFunction(
        PoseVariables(coordinates=names, intervals=((-1.0, 1.0),) * 2), ((0, 0), (2, 1)), (1.0, 0.1)
    )
    model = replace(model, muscles=(Muscle("cord", fitted_path(function)),))
    return lambda rows: (path_lengths(model, q[rows]), path_jacobian(model, q[rows]), path_flags(model, q[rows]))


SOLVERS = {
    "paths past three surfaces": lambda: paths("sphere", "cylinder", "ellipsoid"),
    "paths through a ring": lambda: paths("ring", "cylinder"),
    "paths through a bore": lambda: paths("bore"),
    "fitted paths": fitted_lengths,
    "contacts of capsules": touching,
    "forces of constraints, loads of joints": held,
    "poses moved onto constraints": projected,
    "inverse kinematics": lambda: fitted(held=False),
    "inverse kinematics with constraints": fitted,
    "inverse kinematics of sensors": sensed,
}


@pytest.mark.parametrize("name", SOLVERS)
def test_a_state_alone_and_among_others_has_the_same_bits(name):
    solve = SOLVERS[name]()
    together = solve(np.arange(FRAMES))
    for k in (0, 4, FRAMES - 1):
        for whole, single in zip(together, solve(np.arange(k, k + 1)), strict=True):
            np.testing.assert_array_equal(single[0], whole[k])
