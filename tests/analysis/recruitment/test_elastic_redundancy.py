"""Muscle redundancy with elastic tendons: fibers and tendons that pull alike all along a motion."""

from dataclasses import replace

import numpy as np
import pytest

from myoquat.analysis.recruitment import MetabolicEffort, Reserve, Sequential, forward_check, redundancy, track
from myoquat.analysis.recruitment.convex import Status, are_met
from myoquat.analysis.recruitment.redundancy import tendons
from myoquat.analysis.recruitment.redundancy.solving import reachable
from myoquat.data import Motion
from myoquat.dynamics import inverse_dynamics
from myoquat.joints import ArticulatedSystem
from myoquat.muscle import ActivationDynamics, CubicExponentialMuscle, Model, Muscle, PathPoint, muscle_torques
from myoquat.muscle.laws import DeGrooteFregly2016, Millard2012, Thelen2003
from myoquat.muscle.states import rates
from tests.bodies import on_hinge, with_muscles

LAWS = [law(600.0, optimal_fiber_length=0.1, tendon_slack_length=0.2)
        for law in (Millard2012, Thelen2003, DeGrooteFregly2016)]  # fmt: skip


def forearm(law):
    """A hinge with two flexors and an extensor of a law, and one without a tendon of its own."""
    inertia = (0.01, 0.04, 0.04, 0.0, 0.0, 0.0)
    rod = on_hinge("rod", "y", mass=2.0, center_of_mass=(0.2, 0, 0), inertia=inertia)
    ends = {"long": (0.3, 0.045), "short": (0.28, 0.06), "back": (-0.31, 0.025)}
    muscles = [Muscle(name, (PathPoint("ground", (0.0, 0.0, z)), PathPoint("rod", (x, 0.0, 0.0))), law)
               for name, (z, x) in ends.items()]  # fmt: skip
    other = Muscle(
        "other",
        (PathPoint("ground", (0.0, 0.0, 0.29)), PathPoint("rod", (0.05, 0.0, 0.0))),
        CubicExponentialMuscle(0.3, 80.0),
    )
    return Model(ArticulatedSystem((rod,)), (*muscles, other))


def swing(model, frames):
    """A motion of which neighbouring frames are a little apart."""
    t = np.linspace(0.0, 0.4, frames)
    q, u, udot = (np.stack([x], axis=-1) for x in (0.3 * np.sin(6 * t), 1.8 * np.cos(6 * t), -10.8 * np.sin(6 * t)))
    return Motion(model.system, t, q, u, udot)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_fibers_and_tendons_pull_alike(law):
    """The fibers change as fast as the law has it at their lengths and activations: that is how their lengths change
    from frame to frame. The tendons' pulls, by the law's states, give the torques that the motion needs."""
    model = forearm(law)
    motion = swing(model, 41)
    found = redundancy(model, motion, reserves=5.0, tendons="elastic")
    assert are_met(found.status).all()
    assert found.states.shape == (41, 3)
    tau = muscle_torques(model, motion.q, motion.u, found.activation, found.states) + found.reserve
    needed = inverse_dynamics(model.system, motion.q, motion.u, motion.udot)
    np.testing.assert_allclose(tau, needed, atol=1e-4)  # 1e-7 of 600 N in each muscle
    np.testing.assert_allclose(found.residual, 0.0, atol=1e-7)
    v = rates(model, motion.q, motion.u, found.activation, found.states)
    moving = np.gradient(found.states, motion.time, axis=0, edge_order=2)
    np.testing.assert_allclose(v, moving, atol=0.02 * np.abs(v).max())
    rigid = redundancy(model, motion, reserves=5.0)
    assert rigid.states.shape == (41, 0)
    assert np.abs(found.activation - rigid.activation).max() > 0.002


@pytest.mark.parametrize("law", LAWS[::2], ids=lambda law: type(law).__name__)
def test_frames_that_are_nearer_change_less_and_less(law):
    """Halved twice, the distance between frames changes activations and lengths by a quarter each time."""
    model = forearm(law)
    found = [redundancy(model, swing(model, n), reserves=5.0, tendons="elastic") for n in (11, 21, 41)]
    for name in ("activation", "states"):
        coarse, fine, finest = (getattr(f, name)[:: 2**k] for k, f in enumerate(found))
        ratio = np.abs(coarse - finest)[2:-2].max() / np.abs(fine - finest)[2:-2].max()
        assert 4.0 < ratio < 6.0  # (1 - 1 / 16) / (1 / 4 - 1 / 16) = 5 of second order


def test_what_is_found_moves_the_model():
    """Simulated forward with its elastic tendons, from their equilibrium, the activations follow the motion with
    hardly any help; those of rigid tendons need more."""
    model = forearm(LAWS[2])
    motion = swing(model, 41)
    found = {t: redundancy(model, motion, reserves=5.0, tendons=t) for t in ("elastic", "rigid")}
    forward = forward_check(found["elastic"], bandwidth=10.0, step=5e-4)
    assert forward.errors().rms_degrees.max() < 0.3
    other = found["rigid"]
    stiff = track(model, motion, other.activation, other.reserve, bandwidth=10.0, step=5e-4, elastic=True)
    assert forward.share < stiff.share / 2


def test_stiff_tendons_equal_rigid_ones():
    model = forearm(replace(LAWS[2], tendon_strain=1e-4))
    motion = swing(model, 15)
    elastic, rigid = (redundancy(model, motion, reserves=5.0, tendons=t, backend="numpy").activation
                      for t in ("elastic", "rigid"))  # fmt: skip
    np.testing.assert_allclose(elastic, rigid, atol=5e-3)


def test_with_activation_dynamics():
    slow = ActivationDynamics(activation_time=10.0, deactivation_time=10.0)
    model = with_muscles(forearm(LAWS[2]), activation_dynamics=slow)
    motion = swing(model, 15)
    free, found = (redundancy(model, motion, reserves=20.0, tendons="elastic", dynamics=d, backend="numpy")
                   for d in (None, Sequential()))  # fmt: skip
    assert are_met(found.status).all()
    held = []
    for k in range(1, 15):
        low, high = reachable(model, found.activation[k - 1], float(motion.time[k] - motion.time[k - 1]))
        assert (found.activation[k] >= low - 1e-9).all()
        assert (found.activation[k] <= high + 1e-9).all()
        held.append((np.abs(found.activation[k] - low) < 1e-6) | (np.abs(found.activation[k] - high) < 1e-6))
    assert np.any(held)
    assert found.effort.sum() > free.effort.sum()


def test_frames_that_do_not_agree_say_so(monkeypatch):
    model = forearm(LAWS[0])
    monkeypatch.setattr(tendons, "MAX_OUTER_ITERATIONS", 2)
    found = redundancy(model, swing(model, 15), reserves=5.0, tendons="elastic", backend="numpy")
    assert (found.status == Status.UNSOLVED).all()


def test_bad_questions():
    model = forearm(LAWS[0])
    motion = swing(model, 3)
    with pytest.raises(ValueError, match='tendons are "rigid" or "elastic", not \'soft\''):
        redundancy(model, motion, tendons="soft")
    hill = replace(model, muscles=model.muscles[:3])
    with pytest.raises(ValueError, match="takes all tendons as rigid"):
        redundancy(hill, motion, tendons="elastic", effort=MetabolicEffort(), reserves=[Reserve("rod.speed", 5.0)])
