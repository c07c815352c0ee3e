"""Every path length has an answer in every law with a tendon: slack tendons, shortest fibers, paths far too long."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from myoquat.data import load_model
from myoquat.dynamics import simulate
from myoquat.muscle import equilibrium_states, muscle_forces, muscle_state_rates, muscle_state_residuals, path_lengths
from myoquat.muscle.laws import DeGrooteFregly2016, Millard2012, RigidTendonMuscle, Thelen2003

LAW_TYPES = (Thelen2003, DeGrooteFregly2016, Millard2012)
PARTS = np.linspace(0.2, 2.0, 19)  # of optimal fiber length and tendon slack length together
ACTIVATIONS = np.array([0.0, 0.01, 0.3, 1.0])
SPEEDS = np.array([-1.0, 0.0, 1.0])
SHAPES = [(0.1, 0.2, 0.0), (0.1, 0.2, 0.5), (0.05, 0.4, 0.2), (0.3, 0.02, 0.1), (0.1, 0.1, 1.4)]


def excess(law, length, activation, fiber):
    """By how much a resting fiber pulls harder than its tendon, over F0, from the curves alone."""
    cosine = np.sqrt(1 - (law.width / fiber) ** 2)
    with np.errstate(over="ignore"):
        force = law.fiber_force(fiber / law.optimal_fiber_length, 0.0, max(activation, law.minimum_activation))
        tendon = law.tendon_force((length - fiber * cosine) / law.tendon_slack_length)
    return np.clip(force * cosine - tendon, -1e15, 1e15)


@given(
    law_type=st.sampled_from(LAW_TYPES),
    optimal=st.floats(0.01, 0.5),
    slack=st.floats(0.005, 0.5),
    pennation=st.floats(0, 1.2),
    part=st.floats(0.2, 2.0),
    activation=st.floats(0, 1),
)
def test_equilibria_of_any_muscle(law_type, optimal, slack, pennation, part, activation):
    law = law_type(800.0, optimal, slack, pennation)
    found = law.equilibrium(part * (optimal + slack), 0.0, activation)[0]
    miss = excess(law, part * (optimal + slack), activation, found)
    steep = abs(excess(law, part * (optimal + slack), activation, found * (1 + 1e-9)) - miss) / 1e-9
    assert found >= law.shortest
    assert abs(miss) <= 1e-11 * (1 + steep) or (found == law.shortest and miss > 0)


@pytest.mark.parametrize("law_type", LAW_TYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_rates_and_forces_over_all_path_lengths(law_type, shape):
    """From the equilibrium nothing moves or, at the shortest fiber, only outwards; where the tendon is slack F = 0."""
    law = law_type(1000.0, *shape)
    lengths = np.append(PARTS * sum(shape[:2]), shape[1] / 2)
    length, activation, speed = (x.ravel() for x in np.meshgrid(lengths, ACTIVATIONS, SPEEDS))
    state = law.equilibrium(length, speed, activation)
    with np.errstate(over="ignore"):  # De Groote's fiber is drawn in infinitely fast, before it is held
        rate = law.state_rate(length, speed, activation, state)[:, 0]
    ended = state[:, 0] <= law.shortest
    active = law.active_force(state[:, 0] / law.optimal_fiber_length) > 1e-3
    assert np.isfinite(rate[ended | active]).all()
    if law_type is Millard2012:  # the damped one has no singularity
        assert np.abs(rate).max() < 1e-6 * law.max_contraction_velocity
    assert (rate[ended] >= 0).all()
    force = law.force(length, speed, activation, state)
    slack = ended & (length - law.tendon_slack_length <= law.shortest_along)
    assert slack.any()
    assert (force[slack] == 0).all()
    assert (
        force >= -1e-4 * law.max_isometric_force
    ).all()  # De Groote's passive fiber pushes that much at its shortest
    rigid = replace(law, tendon="rigid")
    force = rigid.force(length, speed, activation)
    assert np.isfinite(force).all()
    assert (force[length - law.tendon_slack_length <= law.shortest_along] == 0).all()


@pytest.mark.parametrize("pennation", [0.0, 0.3])
def test_a_slack_rigid_tendon_muscle_does_what_opensims_does(pennation):
    """Nothing with a pennation; without one the force of a fiber of length zero (OpenSim's numbers: test_osim.py)."""
    law = RigidTendonMuscle(1000.0, 0.1, 0.2, pennation)
    length, activation, speed = (x.ravel() for x in np.meshgrid(PARTS * 0.3, ACTIVATIONS, SPEEDS))
    force = law.force(length, speed, activation)
    assert np.isfinite(force).all()
    slack = length <= 0.2
    wanted = 0.0 if pennation else law.force(0.2 + 0 * length, speed, activation)[slack]
    np.testing.assert_array_equal(force[slack], wanted)
    assert (force[(length > 0.21) & (activation > 0) & (speed < 1)] >= 0).all()


@pytest.fixture(scope="module")
def slack_model():
    """two_link with three elastic tendons that are slack at the start."""
    base = load_model("two_link")
    l = path_lengths(base, np.array(base.start_q))
    parts = ((Millard2012, 0.9), (Thelen2003, 1.1), (DeGrooteFregly2016, 1.1))
    laws = [law_type(30.0, 0.5 * l[i], part * l[i], 0.1) for i, (law_type, part) in enumerate(parts)]
    muscles = [replace(m, law=law) for m, law in zip(base.muscles, laws, strict=False)]
    return replace(base, muscles=(*muscles, *base.muscles[3:]))


def test_a_model_with_slack_tendons_starts_and_moves(slack_model, rng):
    q, a = np.array(slack_model.start_q), np.full(6, 0.3)
    state = equilibrium_states(slack_model, q, a)
    np.testing.assert_array_equal(state[:3], [m.law.shortest for m in slack_model.muscles[:3]])
    u = rng.normal(size=6)
    for backend in ("kernel", "numpy"):
        assert (muscle_forces(slack_model, q, u, a, state, backend=backend)[:3] == 0).all()
        with np.errstate(over="ignore"):
            assert (muscle_state_rates(slack_model, q, u, a, state, backend=backend) >= 0).all()
        residual = muscle_state_residuals(slack_model, q, u, a, state, 0 * state, backend=backend)
        assert np.isfinite(residual).all()
    way = simulate(slack_model, duration=0.02, activation=a)
    assert way.complete
    assert np.isfinite(way.forces).all()


OPENSIM = """
law, lengths = arguments[0], arguments[1]
model = opensim.Model()
block = opensim.Body("block", 1.0, opensim.Vec3(0), opensim.Inertia(1, 1, 1))
model.addBody(block)
slider = opensim.SliderJoint("slider", model.getGround(), block)
model.addJoint(slider)
muscle = opensim.Millard2012EquilibriumMuscle("m", *law)
muscle.set_ignore_tendon_compliance(arguments[2] == "rigid")
muscle.addNewPathPoint("a", model.getGround(), opensim.Vec3(0))
muscle.addNewPathPoint("b", block, opensim.Vec3(0))
model.addForce(muscle)
state = model.initSystem()
answer = []
for length in lengths:
    state = model.initializeState()
    slider.get_coordinates(0).setValue(state, length, False)
    muscle.setActivation(state, 0.5)
    muscle.computeFiberEquilibrium(state, True)
    model.realizeAcceleration(state)
    answer.append([muscle.getTendonForce(state), muscle.getFiberLength(state)])
"""


@pytest.mark.peers
@pytest.mark.parametrize("tendon", ["elastic", "rigid"])
def test_opensim_has_the_same_shortest_fiber_and_no_force(in_opensim, tendon):
    law = Millard2012(1000.0, 0.1, 0.2, tendon=tendon)
    lengths = np.array([0.15, 0.2, 0.23, 0.244, 0.26, 0.3])
    theirs = np.array(in_opensim(OPENSIM, [1000, 0.1, 0.2, 0.0], lengths, tendon))
    state = law.equilibrium(lengths, 0.0, 0.5) if tendon == "elastic" else None
    np.testing.assert_allclose(law.force(lengths, 0.0, 0.5, state), theirs[:, 0], rtol=1e-5, atol=1e-5)
    if state is not None:
        np.testing.assert_allclose(state[:, 0], theirs[:, 1], rtol=1e-5)
