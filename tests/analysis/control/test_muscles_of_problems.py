"""Muscles in optimal control: activation dynamics, rigid and elastic tendons, all with implicit equations."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import myoquat as mq
from myoquat.analysis.control import Duration, Effort, Ipopt, Problem, TrackPose
from myoquat.data import Motion
from myoquat.muscle import ActivationDynamics, PathPoint
from myoquat.muscle.laws import DeGrooteFregly2016, Thelen2003
from tests.bodies import on_slide


def hanging(tendon):
    """A mass that hangs from a muscle."""
    mass = on_slide("mass", "-z", "height", mass=0.5)
    law = DeGrooteFregly2016(30.0, optimal_fiber_length=0.10, tendon_slack_length=0.05, tendon=tendon)
    path = PathPoint("ground", (0, 0, 0)), PathPoint("mass", (0, 0, 0))
    muscle = mq.Muscle("muscle", path, law, activation_dynamics=ActivationDynamics())
    return mq.Model(mq.ArticulatedSystem((mass,)), (muscle,))


def least_time(model):
    """By shooting: full excitation up to a time, then the least, so that the mass stops at 0.14 m."""
    muscle = model.muscles[0]

    def rate(t, x, excitation):
        force = muscle.law.force(np.array(x[0]), np.array(x[1]), np.array(x[2]))
        return x[1], 9.81 - force / 0.5, muscle.activation_dynamics.rate(np.array(excitation), np.array(x[2]))

    def stops(t, x, excitation):
        return x[1]

    stops.terminal, stops.direction = True, 1

    def run(switch):
        up = solve_ivp(rate, (0, switch), [0.15, 0.0, 0.01], args=(1.0,), rtol=1e-9, atol=1e-11)
        return solve_ivp(rate, (switch, 1), up.y[:, -1], args=(0.01,), events=stops, rtol=1e-9, atol=1e-11)

    found = run(brentq(lambda switch: run(switch).y[0, -1] - 0.14, 0.014, 0.03, xtol=1e-10))
    return found.t[-1]


def test_hanging_muscle_lifts_its_mass_as_fast_as_it_can():
    """OpenSim Moco's test problem of this name, from 0.15 to 0.14 m, in the least time. Its controls, run forward, end
    there. A slower lift takes less effort."""
    ends = {"height": 0.15, "height_dot": 0.0, "muscle.activation": 0.01}, {"height": 0.14, "height_dot": 0.0}
    bounds = {"height": (0.1, 0.2), "muscle": (0.01, 1.0), "muscle.activation": (0.01, 1.0)}
    options = {"initial": ends[0], "final": ends[1], "bounds": bounds}
    fastest = Problem(hanging("rigid"), (0.05, 1.0), (Duration(),), 20, **options).solve({"duration": 0.2})
    assert fastest.success
    excitation = fastest.controls_at(fastest.time)[:, 0]
    assert excitation[:4].min() > 0.99  # first as strong as it can
    assert excitation[6:].max() < 0.05  # then as weak
    assert fastest.simulate().largest < 1e-3
    assert fastest.duration == pytest.approx(least_time(hanging("rigid")), rel=5e-4)
    slower = Problem(hanging("rigid"), 0.2, (Effort(),), 20, **options).solve()
    assert slower.success
    assert slower.duration > fastest.duration


def still(form, minimum=0.0):
    """The hanging mass with this form of activation dynamics."""
    model = hanging("rigid")
    dynamics = ActivationDynamics(form=form, minimum_activation=minimum)
    return replace(model, muscles=(replace(model.muscles[0], activation_dynamics=dynamics),))


def test_least_activations_bound_excitations_and_activations():
    """Below its minimum an activation changes nothing, so that unknowns there would be undetermined."""
    model = still("smooth", minimum=0.02)
    problem = Problem(model, 0.2, (Effort(),), 4, "midpoint", initial={"height": 0.15})
    assert problem.plant.control_bounds.tolist() == problem.plant.state_bounds.tolist() == [[0.02, 1.0]]
    with pytest.raises(ValueError, match=r"initial: 'muscle.activation' is 0.01 to 0.01, outside its bounds 0.02 to 1"):
        Problem(model, 0.2, (Effort(),), 4, "midpoint", initial={"muscle.activation": 0.01})
    law = replace(model.muscles[0].law, minimum_activation=0.03)  # which `redundancy` keeps to
    plain = replace(model, muscles=(replace(model.muscles[0], law=law, activation_dynamics=None),))
    assert Problem(plain, 0.2, (Effort(),), 4, "midpoint").plant.control_bounds.tolist() == [[0.03, 1.0]]


def test_a_failure_names_dynamics_that_jump_and_velocities_that_alternate():
    """Without a goal of speeds the midpoint rule does not see poses that go up and down from node to node."""
    model, rest = still("piecewise"), Motion(hanging("rigid"), [0.0, 0.2], [[0.15], [0.15]])
    smooth = model.with_smooth_activation()
    assert smooth.muscles[0].activation_dynamics == ActivationDynamics(form="smooth", smoothing=0.1)
    assert smooth.with_smooth_activation().content_key == smooth.content_key
    problem = Problem(model, 0.2, (TrackPose(rest), Effort()), 8, "midpoint")
    last = problem.solve(rest, Ipopt(max_iterations=0))
    assert "jumps where excitation and activation are equal (1 muscles, such as 'muscle')" in last.explain()
    law = Thelen2003(1000.0, optimal_fiber_length=0.1, tendon_slack_length=0.05, tendon="rigid")
    kinked = replace(model, muscles=(replace(model.muscles[0], law=law),))
    stopped = replace(problem, model=kinked).solve(rest, Ipopt(max_iterations=0))
    assert "jumps where fibers are at rest (1 muscles, such as 'muscle')" in stopped.explain()
    assert "fibers" not in last.explain()
    moved = last.sites.fields | {"u": np.where(np.arange(len(last.sites.q)) % 4 == 0, 1.0, -1.0)[:, None]}
    assert (
        "'height_dot': up and down in every interval"
        in replace(last, sites=replace(last.sites, fields=moved)).explain()
    )
    assert "up and down" not in last.explain()
