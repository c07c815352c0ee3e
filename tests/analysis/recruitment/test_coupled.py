"""Whole trials as one problem: between frames by themselves and one after the other, at certified optima."""

from dataclasses import replace

import numpy as np
import pytest

from myoquat.analysis.recruitment import Coupled, Effort, JointCone, MetabolicEffort, Reserve, Sequential, redundancy
from myoquat.analysis.recruitment.convex import Status
from myoquat.analysis.recruitment.redundancy.coupled import _widened
from myoquat.analysis.recruitment.redundancy.solving import reachable
from myoquat.data import Motion
from myoquat.muscle import ActivationDynamics, CubicExponentialMuscle
from myoquat.muscle.laws import Millard2012
from myoquat.muscle.laws.thelen import Thelen2003
from tests.analysis.recruitment.shoulders import shoulder, turning
from tests.bodies import with_muscles

CONVEX = ActivationDynamics(0.02, 0.08, form="quadratic")


def arm(dynamics=CONVEX, law=None, frames=24):
    """A ball joint with eight muscles, shaken back and forth so fast that relaxing takes time, and its reserves."""
    model = shoulder(lambda k: law or CubicExponentialMuscle(0.3, 300.0 + 20 * k), dynamics=dynamics)
    system, t = model.system, 0.01 * np.arange(frames)
    swing = np.stack([0.1 * np.sin(25 * t), 0.15 * np.sin(35 * t + 1), 0.1 * np.cos(30 * t)], axis=-1)
    return model, turning(system, t, swing), [Reserve(name, 20.0, 5.0) for name in system.velocity_names]


def solved(model, motion, reserves, dynamics, **arguments):
    return redundancy(model, motion, reserves=reserves, dynamics=dynamics, backend="numpy", **arguments)


@pytest.mark.parametrize("form", ["quadratic", "piecewise", "smooth"])
def test_the_sum_is_between_frames_by_themselves_and_one_after_the_other(form):
    """Never below the one, never above the other; no activation is out of reach; the convex form is certain."""
    model, motion, reserves = arm(ActivationDynamics(0.02, 0.08, form=form))
    for cones in ((), (JointCone("arm", (-1.0, 0.2, 0.0), 0.9),)):
        free, after = (solved(model, motion, reserves, d, cones=cones) for d in (None, Sequential()))
        found = solved(model, motion, reserves, Coupled(), cones=cones)
        trial = found.trial
        assert trial.status == (Status.SOLVED if form == "quadratic" else trial.status)
        assert trial.status in (Status.SOLVED, Status.LOCAL)
        assert trial.gap < (1e-8 if form == "quadratic" else 0.2)
        assert trial.effort == pytest.approx(found.effort.sum())
        assert free.effort.sum() * (1 + 1e-3) < trial.effort < after.effort.sum() * (1 - 1e-3)
        assert trial.bound > free.effort.sum() * (1 + 1e-3)
        assert (found.effort >= found.bound * (1 - 1e-8)).all()
        assert np.abs(found.residual).max() < 1e-8
        low, high = reachable(model, found.activation[:-1], np.diff(motion.time))
        assert (low - found.activation[1:]).max() < 1e-8
        assert (found.activation[1:] - high).max() < 1e-8
        if cones:
            assert found.margin.min() > -1e-7


def test_dynamics_that_take_no_time_leave_frames_as_they_are():
    model, motion, reserves = arm(ActivationDynamics(1e-4, 2e-4, form="piecewise"))
    free, found = (solved(model, motion, reserves, d) for d in (None, Coupled()))
    np.testing.assert_allclose(found.activation, free.activation, atol=1e-9)
    assert found.trial.status == Status.SOLVED
    assert found.trial.linked == 0
    still = with_muscles(model, activation_dynamics=None)
    np.testing.assert_array_equal(solved(still, motion, reserves, Coupled()).activation, free.activation)


def test_a_single_frame_has_nothing_beside_it():
    model, motion, reserves = arm()
    one = Motion(motion.system, *(getattr(motion, name)[:1] for name in ("time", "q", "u", "udot")))
    free, found = (solved(model, one, reserves, d) for d in (None, Coupled(rates=1e-4)))
    np.testing.assert_array_equal(found.activation, free.activation)
    assert found.trial.status == Status.SOLVED
    assert found.trial.effort == pytest.approx(free.effort.sum())


@pytest.mark.parametrize(("power", "frames"), [(1.0, 24), (1.5, 24), (4.0, 24), (4.0, 18)])
def test_other_powers(power, frames):
    """In 18 frames Clarabel stops before its own conditions are met, at a point within the tolerances of the bound."""
    model, motion, reserves = arm(frames=frames)
    free, after, found = (
        solved(model, motion, reserves, d, effort=Effort(power)) for d in (None, Sequential(), Coupled())
    )
    assert found.trial.status == Status.SOLVED
    assert free.effort.sum() < found.trial.effort < after.effort.sum()


def test_rates_cost_under_the_conditions_of_the_optimum():
    """The more they do, the slower activations change, for more effort. The conditions of the optimum with weights and
    targets: all parts of a derivative are there. What a neighbouring frame adds, beyond the cost of the rates, is zero
    unless the activation is at an end of its reach, which is an exponential in time."""
    model, motion, reserves = arm()
    w, target, h, total, rough = np.linspace(0.5, 2.0, 8), np.linspace(0.0, 0.1, 8), 0.01, [], []
    down, up = np.exp(-h / 0.08), np.exp(-h * (1 / 0.02 + 1 / 0.08))
    for rates in (0.0, 1e-5, 1e-3):
        found = solved(model, motion, reserves, Coupled(rates=rates), effort=Effort(weights=w, target=target))
        a, change = found.activation, np.diff(found.activation, axis=0)
        square = np.sum((change / h) ** 2)
        assert found.trial.status == Status.SOLVED
        assert found.trial.effort == pytest.approx(found.effort.sum() + rates * square)
        total, rough = [*total, found.effort.sum()], [*rough, square]
        shares = found.shares()
        inner = (a > 1e-3) & (a < 1 - 1e-3)
        given = shares.sum(axis=1).to_numpy().reshape(a.shape)
        np.testing.assert_allclose(given[inner], (2 * w * (a - target))[inner], atol=1e-5)
        before, after = ((1, 0), (0, 0)), ((0, 1), (0, 0))
        cost = 2 * rates / h**2 * (np.pad(change, before) - np.pad(change, after))
        links = shares["reach"].to_numpy().reshape(a.shape) + cost
        off = np.minimum(np.abs(a[1:] - down * a[:-1]), np.abs(1 - a[1:] - up * (1 - a[:-1])))
        nearest = np.minimum(*(np.pad(off, ends, constant_values=1.0) for ends in (before, after)))
        assert (np.abs(links) > 1e-3).any()
        assert nearest[np.abs(links) > 1e-3].max() < 1e-5
    assert total == sorted(total)
    assert rough == sorted(rough, reverse=True)


def test_trials_without_solution():
    """A frame that no activations can meet, or none that can be reached: it says so, the others are solved."""
    model, motion, reserves = arm()
    udot = motion.udot.copy()
    udot[9, 1] += 3e4
    weak = [replace(reserve, strength=8.0, lower=-1.0, upper=1.0) for reserve in reserves]
    found = solved(model, replace(motion, udot=udot), weak, Coupled())
    assert found.trial.status == Status.INFEASIBLE
    assert found.trial.frame == 9
    assert found.trial.velocity == motion.system.velocity_names[1]
    assert list(np.flatnonzero(found.status == Status.INFEASIBLE)) == [9]
    assert np.abs(np.delete(found.residual, 9, axis=0)).max() < 1e-7
    assert "frame 9 lacks" in repr(found.trial)
    udot = motion.udot.copy()
    udot[9, 1] += 260.0
    jerked, model = replace(motion, udot=udot), arm(ActivationDynamics(1.0, 5.0, form="quadratic"))[0]
    alone, stiff = (solved(model, jerked, weak, d) for d in (None, Coupled()))
    assert (alone.status == Status.SOLVED).all()
    assert stiff.trial.status == Status.INFEASIBLE
    assert stiff.trial.frame == 9
    lost = stiff.status == Status.INFEASIBLE
    assert lost.any()
    assert np.abs(stiff.residual[~lost]).max(initial=0.0) < 1e-6
    assert np.abs(stiff.residual).max() > 0.01
    assert stiff.failures()["missing"].abs().max() == pytest.approx(abs(stiff.trial.missing))


def test_laws_that_bend_and_tendons_that_stretch():
    """The forces themselves meet the equations."""
    for law, tendons in ((Thelen2003(500.0, 0.08, 0.06, max_contraction_velocity=10.0, tendon="rigid"), "rigid"),
                         (Millard2012(500.0, 0.08, 0.06, tendon="elastic", damping=0.1), "elastic")):  # fmt: skip
        model, motion, reserves = arm(ActivationDynamics(), law)
        found = solved(model, motion, reserves, Coupled(), tendons=tendons)
        assert found.trial.status in (Status.SOLVED, Status.LOCAL), found.trial
        assert np.abs(found.residual).max() < 1e-6
        low, _ = reachable(model, found.activation[:-1], np.diff(motion.time))
        assert (low - found.activation[1:]).max() < 1e-8


def test_bad_questions():
    model, motion, reserves = arm(frames=3)
    for effort, words in (
        (Effort(np.inf), "powers of activations"), (Effort(of="stress"), "powers of activations"),
        (MetabolicEffort(), "powers of activations"), (Effort(1.5, target=0.1), "a power of at least 2"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            solved(model, motion, reserves, Coupled(), effort=effort)
    with pytest.raises(ValueError, match="rates must be"):
        Coupled(rates=-1.0)


def test_steps_as_near_as_allowed_to_one_that_breaks_a_bound_are_chosen(rng):
    """Of the same muscle and the same bound; there may be no steps."""
    broken = rng.random((12, 3, 2)) < 0.1
    for near in (0, 1, 3, 20):
        step, muscle, high = np.indices(broken.shape)
        expected = np.zeros(broken.shape, dtype=bool)
        for k, i, j in np.argwhere(broken):
            expected |= (abs(step - k) <= near) & (muscle == i) & (high == j)
        np.testing.assert_array_equal(_widened(broken, near), expected)
    assert _widened(broken[:0], 2).shape == (0, 3, 2)
