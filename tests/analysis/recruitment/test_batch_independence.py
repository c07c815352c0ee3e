"""A frame's result does not depend on the frames that are solved with it.

It is equal to the bit where no frame starts from another, and to the solver's tolerance where it does.
"""

import numpy as np
import pytest

from myoquat.analysis.recruitment import Effort, MetabolicEffort, redundancy, static_optimization
from myoquat.data import Motion
from myoquat.dynamics import inverse_dynamics
from myoquat.muscle import ExponentialMuscle, equilibrium_states
from myoquat.muscle.metabolics import Bhargava2004
from tests.analysis.recruitment.planar_arm import arm, frames_of, reserves_of, smooth
from tests.bodies import with_muscles

FRAMES = 12
LONG = 40  # frames, of which most start from others
WEIGHTS = np.random.default_rng(3).uniform(0.5, 2.0, (LONG, 6))


def affine():
    return with_muscles(arm("thelen"), law=ExponentialMuscle(0.3, 500.0))


def recruited(model, frames, effort_of=None, **options):
    """Solutions (activations, efforts) of a function of rows."""
    motion = smooth(model, 2.5, frames)

    def solve(rows):
        part = frames_of(motion, rows)
        own = {} if effort_of is None else {"effort": effort_of(rows)}
        found = redundancy(model, part, reserves=reserves_of(model), **{"backend": "numpy", **options, **own})
        return found.activation, found.effort[:, None], found.status[:, None].astype(float)

    return solve


def statically(model):
    motion = smooth(model, 1.5, FRAMES)
    torque = inverse_dynamics(model, motion.q, motion.u, motion.udot)

    def solve(rows):
        found = static_optimization(model, motion.q[rows], motion.u[rows], torque[rows], reserves=8.0)
        return found.activation, found.force, found.effort[:, None]

    return solve


def equilibrium():
    model = arm("millard", tendon="elastic")
    rng = np.random.default_rng(5)
    q, a = rng.uniform(0.0, 1.5, (FRAMES, 2)), rng.uniform(0.0, 1.0, (FRAMES, 6))
    return lambda rows: (equilibrium_states(model, q[rows], a[rows]),)


def stretched():
    """Poses held still: elastic tendons link frames in time, by the speeds of their fibers, and by nothing else."""
    model = arm("thelen", tendon="elastic")
    q, zero = np.tile([0.4, 0.9], (FRAMES, 1)), np.zeros((FRAMES, 2))

    def solve(rows):
        part = Motion(model, 0.01 * np.arange(len(q))[rows], q[rows], zero[rows], zero[rows])
        found = redundancy(model, part, reserves=reserves_of(model), tendons="elastic", backend="numpy")
        return found.activation, found.effort[:, None], found.states

    return solve


SOLVERS = {  # what solves frames, how many of them, and a tolerance, 0 for equal bits
    "redundancy, affine laws": (lambda: recruited(affine(), FRAMES), FRAMES, 0.0),
    "redundancy, Millard's law": (lambda: recruited(arm("millard"), FRAMES), FRAMES, 0.0),
    "redundancy, Thelen's law": (lambda: recruited(arm("thelen"), FRAMES), FRAMES, 0.0),
    "redundancy, Thelen's law, power 1.5": (
        lambda: recruited(arm("thelen"), FRAMES, effort=Effort(1.5)), FRAMES, 0.0),
    "redundancy, Thelen's law, stress": (
        lambda: recruited(arm("thelen"), FRAMES, effort=Effort(3.0, of="stress")), FRAMES, 0.0),
    "redundancy, Millard's law, minimax": (
        lambda: recruited(arm("millard"), FRAMES, effort=Effort(np.inf)), FRAMES, 0.0),
    "redundancy, Millard's law, metabolic": (
        lambda: recruited(arm("millard"), 4, effort=MetabolicEffort(cost=Bhargava2004()), backend="kernel"), 4, 0.0),
    "redundancy, affine laws, frames that start from others": (lambda: recruited(affine(), LONG), LONG, 1e-8),
    "redundancy, Millard's law, frames that start from others": (lambda: recruited(arm("millard"), LONG), LONG, 1e-7),
    "redundancy, Thelen's law, frames that start from others": (lambda: recruited(arm("thelen"), LONG), LONG, 1e-7),
    "redundancy, affine laws, weights and targets of each frame": (
        lambda: recruited(affine(), LONG, lambda k: Effort(2.0, WEIGHTS[k], target=WEIGHTS[k] / 20)), LONG, 1e-8),
    "redundancy, Millard's law, weights of each frame": (
        lambda: recruited(arm("millard"), LONG, lambda k: Effort(2.0, WEIGHTS[k])), LONG, 1e-7),
    "redundancy, Millard's law, targets of each frame": (
        lambda: recruited(arm("millard"), FRAMES, lambda k: Effort(2.0, target=WEIGHTS[k] / 20)), 4, 0.0),
    "redundancy, elastic tendons at rest": (stretched, FRAMES, 1e-6),
    "static optimization, Thelen's law": (lambda: statically(arm("thelen")), FRAMES, 0.0),
    "equilibria of elastic tendons": (equilibrium, FRAMES, 0.0),
}  # fmt: skip


@pytest.mark.parametrize("name", SOLVERS)
def test_a_frame_alone_and_among_others_has_one_result(name):
    make, frames, tolerance = SOLVERS[name]
    solve = make()
    together = solve(np.arange(frames))
    for k in range(0, frames, frames // 2):
        for whole, single in zip(together, solve(np.arange(k, k + 1)), strict=True):
            if tolerance:  # an activation is known to the root of what the effort is known to
                loose = tolerance if whole.shape[1] == 1 else np.sqrt(tolerance)
                np.testing.assert_allclose(single[0], whole[k], rtol=loose, atol=loose)
            else:
                np.testing.assert_array_equal(single[0], whole[k])
