"""Poses, states and runs of a batch share no number: each gives the same bits alone and among others.

Solvers of recruitment and `assemble` are in `tests/analysis/recruitment/test_batch_independence.py`, inverse kinematics
without constraints in `tests/analysis/motion/test_continuity.py`. Results that use a whole trial (smoothing, scales,
inverse kinematics without a start for each frame) are no functions of one frame.
"""

from dataclasses import replace

import numpy as np
import pytest

from myoquat.analysis.motion import inverse_kinematics
from myoquat.analysis.recruitment import joint_loads
from myoquat.data import Markers, Motion
from myoquat.dynamics import forward_dynamics, inverse_dynamics, joint_reactions, simulate
from myoquat.dynamics.constraints import Distance, HeldMotion, assemble
from myoquat.joints import ArticulatedSystem, Body
from myoquat.joints.types import RevoluteJoint
from myoquat.muscle import (
    Model,
    Muscle,
    PathPoint,
    WrapCylinder,
    WrapEllipsoid,
    WrapSphere,
    WrapTorus,
    path_flags,
    path_jacobian,
    path_lengths,
)
from myoquat.muscle.coordinates import Marker

FRAMES = 9  # more than one block of lanes, and not whole blocks
RNG = np.random.default_rng
SURFACES = {
    "sphere": WrapSphere(body="ground", position=(0.0, 0.0, 0.03), radius=0.05),
    "ellipsoid": WrapEllipsoid(body="ground", position=(0.06, 0.05, 0.1), radii=(0.03, 0.05, 0.04)),
    "cylinder": WrapCylinder(body="ground", position=(0.04, -0.06, 0.1), radius=0.03),
    "ring": WrapTorus(body="ground", position=(0.1, 0.0, 0.1), ring_radius=0.06, tube_radius=0.015),
}


def chain(held=True):
    """Three links; a rod holds the last one to the ground."""
    links = [Body(f"b{k}", f"b{k - 1}" if k else "ground", RevoluteJoint((0, 1, 0)), (0, 0, -0.3 * (k > 0)), mass=1.0,
                  center_of_mass=(0, 0, -0.15), inertia=(0.02,) * 3 + (0.0,) * 3) for k in range(3)]  # fmt: skip
    rod = Distance("b2", "ground", (0.0, 0.0, -0.3), (0.2, 0.0, -0.6), distance=0.25)
    markers = tuple(Marker(f"m{k}", f"b{k}", (0.05, 0.02 * k, -0.2)) for k in range(3))
    return Model(ArticulatedSystem(tuple(links)), constraints=(rod,) if held else (), markers=markers)


def states():
    """Poses on the constraint of the chain, and velocities, most of which it stops."""
    model = chain()
    return model, assemble(model, RNG(1).uniform(-0.6, 0.6, (FRAMES, 3))), RNG(2).normal(size=(FRAMES, 3))


def paths(*names):
    model, start = chain(held=False), PathPoint("ground", (0.03, -0.02, 0.2))
    muscle = Muscle("cord", (start, PathPoint("b0", (-0.02, 0.03, -0.2))), wraps=tuple(SURFACES[n] for n in names))
    model, q = replace(model, muscles=(muscle,)), RNG(3).uniform(-2.0, 2.0, (4 * FRAMES, 3))
    assert len(np.unique(path_flags(model, q))) > 1
    return lambda rows: (path_lengths(model, q[rows]), path_jacobian(model, q[rows]), path_flags(model, q[rows]))


def simulated(**options):
    model, q, u = states()

    def solve(rows):
        found = simulate(model, q[rows], u[rows], 0.05, output_step=0.025, project_start=True, **options)
        return found.q, found.u

    return solve


def dynamic():
    model, q, u = states()
    tau = RNG(4).normal(size=u.shape)

    def solve(rows):
        udot = forward_dynamics(model, q[rows], u[rows], tau[rows])
        given = model, q[rows], u[rows], udot
        return udot, inverse_dynamics(*given), joint_reactions(*given)

    return solve


def held():
    model, q, u = states()
    time = np.arange(float(FRAMES))

    def solve(rows):
        loads = joint_loads(model, Motion(model, time[rows], q[rows], u[rows], 0.0 * u[rows]))
        wrench = loads.of("b1")
        return HeldMotion(model, q[rows], time[rows]).multipliers(u[rows]), wrench.force, wrench.moment

    return solve


def fitted():
    model, q, _ = states()
    shown = np.stack([p + (R @ m.position) for m in model.markers for R, p in [model.system.poses(q)[m.body]]], axis=1)
    shown = shown + 1e-3 * RNG(5).normal(size=shown.shape)

    def solve(rows):
        names = [m.name for m in model.markers]
        return (inverse_kinematics(model, Markers(0.01 * rows, names, shown[rows]), start=q[rows]).q,)

    return solve


SOLVERS = {
    "paths past three surfaces": lambda: paths("sphere", "cylinder", "ellipsoid"),
    "paths through a ring": lambda: paths("ring", "cylinder"),
    "simulation, rk4": lambda: simulated(step=5e-3),
    "simulation, lie_rk4": lambda: simulated(step=5e-3, method="lie_rk4"),
    "simulation, dop853": lambda: simulated(rtol=1e-8),
    "simulation, radau": lambda: simulated(rtol=1e-5, method="radau"),
    "forward and inverse dynamics, reactions": dynamic,
    "forces of constraints, loads of joints": held,
    "inverse kinematics with constraints": fitted,
}


@pytest.mark.parametrize("name", SOLVERS)
def test_a_state_alone_and_among_others_has_the_same_bits(name):
    solve = SOLVERS[name]()
    together = solve(np.arange(FRAMES))
    for k in (0, 4, FRAMES - 1):
        for whole, single in zip(together, solve(np.arange(k, k + 1)), strict=True):
            np.testing.assert_array_equal(single[0], whole[k])
