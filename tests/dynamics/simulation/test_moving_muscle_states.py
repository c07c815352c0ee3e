"""Activations and fiber lengths as states of a simulation: a mass that hangs on one muscle, in every method."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import cumulative_simpson, quad_vec, solve_ivp

from myoquat.data import load_model
from myoquat.dynamics import SimulationWarning, StiffnessWarning, simulate
from myoquat.dynamics.constraints import Prescribed
from myoquat.joints import ArticulatedSystem, ModelError
from myoquat.muscle import ActivationDynamics, Model, Muscle, PathPoint, equilibrium_states, muscle_state_rates
from myoquat.muscle.laws import DeGrooteFregly2016, ExponentialMuscle, Millard2012, Thelen2003
from tests.bodies import on_slide

MASS, GRAVITY = 20.0, 9.81
NUMBERS = (800.0, 0.1, 0.2, 0.2)  # F0, optimal fiber, slack tendon, pennation
DYNAMICS = ActivationDynamics(0.015, 0.05, "piecewise", minimum_activation=0.01)
START = 0.301  # [m] length of the path


def hanging(law, dynamics=DYNAMICS):
    """The mass below the ground, q its depth and the length of the muscle."""
    body = on_slide("mass", "-z", mass=MASS, inertia=1.0)
    path = (PathPoint("ground", (0.0, 0.0, 0.0)), PathPoint("mass", (0.0, 0.0, 0.0)))
    muscle = Muscle("m", path, law, 0.3, dynamics)
    return Model(ArticulatedSystem((body,)), (muscle,), start_q=(START,))


def excitation(t):
    return np.array([0.3 + 0.25 * np.sin(12 * t)])


@pytest.fixture(scope="module")
def thelen():
    return hanging(Thelen2003(*NUMBERS))


# ---- against plain formulas --------------------------------------------------------------------------------


def plain(t, x):
    """Depth, speed, activation and fiber length of the mass on Thelen's muscle, from the paper's equations."""
    l, v, a, fiber = x
    F0, l0, slack, pennation = NUMBERS
    e = excitation(t)[0]
    tau = 0.015 * (0.5 + 1.5 * a) if e > a else 0.05 / (0.5 + 1.5 * a)
    cosine = np.sqrt(1 - (l0 * np.sin(pennation) / fiber) ** 2)
    strain = (l - fiber * cosine) / slack - 1
    toe = 99 * 0.033 * np.exp(3) / (166 * np.exp(3) - 67)
    tendon = 0.33 * np.expm1(3 * strain / toe) / np.expm1(3) if strain < toe else 0.33 + 0.67 * (strain - toe) / (
        0.033 - toe)  # fmt: skip
    active = np.exp(-((fiber / l0 - 1) ** 2) / 0.5)
    passive = np.expm1(4 * max(fiber / l0 - 1, 0.0) / 0.6) / np.expm1(4)
    pull = tendon / cosine - passive
    below = pull <= a * active
    b = a * active + pull / 0.3 if below else (2 + 2 / 0.3) * (a * active * 1.8 - pull) / 0.8
    rate = (0.25 + 0.75 * a) * 10 * l0 * (pull - a * active) / b
    return [v, GRAVITY - F0 * tendon / MASS, (e - a) / tau, rate]


@pytest.fixture(scope="module")
def reference(thelen):
    a0 = excitation(0.0)
    fiber = equilibrium_states(thelen, [START], a0)[0]
    way = solve_ivp(
        plain, (0, 0.3), [START, 0.0, a0[0], fiber], "Radau", np.linspace(0, 0.3, 4), rtol=1e-10, atol=1e-12
    )
    return way.y.T


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"method": "radau", "rtol": 1e-9}, 1e-7),
        ({"method": "dop853", "rtol": 1e-10}, 1e-7),
        ({"method": "rk4", "step": 1e-4}, 1e-7),
        ({"method": "lie_rk4", "step": 1e-4}, 1e-7),
        ({"method": "semi_implicit_euler", "step": 1e-5}, 1e-3),
    ],
)
def test_every_method_finds_the_reference(thelen, reference, options, error):
    way = simulate(thelen, duration=0.3, output_step=0.1, excitation=excitation, **options)
    assert way.complete
    found = np.concatenate([way.q, way.u, way.activation, way.muscle_states], axis=-1)
    assert np.ptp(reference, axis=0).min() > 0.01  # something happens
    np.testing.assert_allclose(found, reference, atol=error)
    np.testing.assert_allclose(way.excitation[:, 0], [excitation(t)[0] for t in way.time])


# ---- theorems ----------------------------------------------------------------------------------------------

LAWS = {
    "thelen2003": Thelen2003(*NUMBERS),
    "millard2012": Millard2012(*NUMBERS),
    "degroote_fregly2016": DeGrooteFregly2016(*NUMBERS, damping=0.05),
}


@pytest.mark.parametrize("name", LAWS)
def test_an_equilibrium_stays_one(name):
    """The mass hangs where the muscle carries it: nothing moves."""
    model = hanging(LAWS[name])
    start = simulate(model, duration=1e-3)
    torque = start.forces[0] - MASS * GRAVITY  # what the muscle does not carry
    way = simulate(model, duration=0.2, step=1e-4, output_step=0.05, torque=torque)
    assert np.abs(way.q - START).max() < 1e-12
    assert np.ptp(way.muscle_states) < 1e-9
    assert np.ptp(way.activation) == 0


@pytest.mark.parametrize("name", LAWS)
def test_the_work_of_the_muscle_is_that_of_fiber_and_tendon(name):
    """dE/dt = -F dl/dt = -d(tendon's energy)/dt - f_M dl_M/dt, with energies by quadrature of the tendon's curve."""
    law = LAWS[name]
    model = hanging(law)
    way = simulate(model, duration=0.3, rtol=1e-9, output_step=1e-3, excitation=excitation)
    fiber, a = way.muscle_states[:, 0], way.activation[:, 0]
    cosine = np.sqrt(1 - (law.width / fiber) ** 2)
    tendon = (way.lengths[:, 0] - fiber * cosine) / law.tendon_slack_length
    scale = law.max_isometric_force * law.tendon_slack_length
    stored = [scale * quad_vec(law.tendon_force, 1.0, x, epsabs=1e-12)[0] for x in tendon[[0, -1]]]
    rate = muscle_state_rates(model, way.q, way.u, way.activation, way.muscle_states)[:, 0]
    f = law.fiber_force(fiber / law.optimal_fiber_length, rate / (10 * law.optimal_fiber_length), a)
    work = cumulative_simpson(law.max_isometric_force * f * rate, x=way.time)[-1]
    lost = way.energy[0] - way.energy[-1]
    assert abs(lost) > 1
    assert lost == pytest.approx(stored[1] - stored[0] + work, abs=2e-4)


@pytest.mark.parametrize("twice", [1, 2])
def test_a_held_muscle_relaxes_to_its_equilibrium(thelen, twice):
    """Under a constraint, also one said twice: isometric, with a new excitation."""
    held = [Prescribed("mass.q", lambda t: START + 0.0 * t)] * twice
    name = thelen.system.coordinate_names[0]
    held = [replace(c, coordinate=name) for c in held]
    way = simulate(
        thelen, duration=1.5, rtol=1e-7, output_step=0.5, excitation=[0.8], activation=[0.1], constraints=held
    )
    assert way.activation[0, 0] == 0.1
    assert way.activation[-1, 0] == pytest.approx(0.8, abs=1e-5)
    np.testing.assert_allclose(way.muscle_states[0], equilibrium_states(thelen, [START], [0.1]))
    np.testing.assert_allclose(way.muscle_states[-1], equilibrium_states(thelen, [START], [0.8]), atol=1e-6)


# ---- shapes, files, refusals -------------------------------------------------------------------------------


def test_diverging_state_is_reported_with_its_acceleration(thelen):
    too_long = pytest.warns(StiffnessWarning, match="too fast for steps of 0.05 s")
    with too_long, pytest.warns(SimulationWarning, match=r"stopped at t = .*\|udot\| = \d"):
        way = simulate(thelen, duration=5.0, step=0.05, excitation=excitation)
    assert not way.complete
    assert np.isnan(way.muscle_states[-1]).all()
    assert np.isnan(way.forces[-1]).all()


def test_figures_show_them(thelen):
    figure = simulate(thelen, duration=0.01, excitation=excitation).plot()
    titles = [ax.get_title(loc="left") for ax in figure.axes if ax.get_visible()]
    assert {"activations", "fiber lengths"} <= {*titles}


def test_a_motion_goes_on_where_it_ended(thelen):
    """In two parts the same as in one."""
    whole = simulate(thelen, duration=0.1, step=1e-3, excitation=[0.5], activation=[0.2])
    end = whole.q[50], whole.u[50]
    rest = simulate(thelen, *end, 0.05, step=1e-3, excitation=[0.5], activation=whole.activation[50],
                    muscle_states=whole.muscle_states[50])  # fmt: skip
    np.testing.assert_array_equal(rest.muscle_states, whole.muscle_states[50:])
    np.testing.assert_array_equal(rest.q, whole.q[50:])


def test_muscles_without_activation_dynamics_act_as_they_are_excited(thelen):
    other = replace(thelen.muscles[0], name="b", law=ExponentialMuscle(0.3, 50.0), activation_dynamics=None)
    both = replace(thelen, muscles=(*thelen.muscles, other))
    way = simulate(both, duration=0.05, activation=[0.2, 0.9], excitation=lambda t: np.array([0.5, 0.1 + t]))
    assert way.activation[0, 0] == 0.2
    np.testing.assert_allclose(way.activation[:, 1], 0.1 + way.time)
    plain = simulate(replace(both, muscles=[replace(m, activation_dynamics=None) for m in both.muscles]), duration=0.01,
                     activation=[0.2, 0.9])  # fmt: skip
    assert plain.excitation is None
    assert plain.muscle_states.shape == (11, 1)


def test_what_does_not_fit_is_named(thelen):
    rigid = hanging(replace(LAWS["thelen2003"], tendon="rigid"), None)
    with pytest.raises(ValueError, match=r"activation: a state of muscle 'm'.*excitation= takes"):
        simulate(thelen, duration=0.01, activation=excitation)
    with pytest.raises(ValueError, match="no muscle has activation dynamics"):
        simulate(rigid, duration=0.01, activation=[0.1], excitation=[0.1])
    with pytest.raises(ValueError, match="muscle_states: this model's muscles have none"):
        simulate(rigid, duration=0.01, muscle_states=[0.1])
    with pytest.raises(ValueError, match=r"muscle_states has shape \(2,\)"):
        simulate(thelen, duration=0.01, muscle_states=[0.1, 0.1])
    with pytest.raises(ValueError, match=r"'variational' moves no states of muscles and actuators \(m.activation"):
        simulate(thelen, duration=0.01, method="variational")
    with pytest.raises(ValueError, match="no muscles"):
        simulate(thelen.system, duration=0.01, excitation=[0.1])
    lawless = replace(rigid, muscles=(replace(rigid.muscles[0], law=None),))
    with pytest.raises(ModelError, match="no force law is given"):
        simulate(lawless, duration=0.01)


# ---- beside OpenSim ----------------------------------------------------------------------------------------

OPENSIM = """
model = opensim.Model()
model.setGravity(opensim.Vec3(9.81, 0, 0))
block = opensim.Body("block", 20.0, opensim.Vec3(0), opensim.Inertia(1, 1, 1))
model.addBody(block)
slider = opensim.SliderJoint("slider", model.getGround(), block)
slider.updCoordinate().setName("depth")
slider.updCoordinate().setDefaultValue(0.301)
model.addJoint(slider)
for k, type_name in enumerate(("Thelen2003Muscle", "Millard2012EquilibriumMuscle", "DeGrooteFregly2016Muscle")):
    muscle = getattr(opensim, type_name)()
    muscle.setName(f"m{k}")
    muscle.set_max_isometric_force(300.0)
    muscle.set_optimal_fiber_length(0.1)
    muscle.set_tendon_slack_length(0.2)
    muscle.set_pennation_angle_at_optimal(0.2)
    muscle.set_ignore_tendon_compliance(k == 2)
    muscle.addNewPathPoint("a", model.getGround(), opensim.Vec3(0, 0.02 * k, 0))
    muscle.addNewPathPoint("b", block, opensim.Vec3(0, -0.01, 0))
    model.addForce(muscle)
model.finalizeConnections()
model.printToXML(arguments[0])
controller = opensim.PrescribedController()
for k, e in enumerate((0.4, 0.2, 0.6)):
    controller.addActuator(model.getMuscles().get(k))
    controller.prescribeControlForActuator(f"/forceset/m{k}", opensim.Constant(e))
model.addController(controller)
state = model.initSystem()
for k in range(3):
    model.getMuscles().get(k).setActivation(state, 0.3)
for k, fiber in enumerate((0.098, 0.099)):
    model.setStateVariableValue(state, f"/forceset/m{k}/fiber_length", fiber)
manager = opensim.Manager(model)
manager.setIntegratorAccuracy(1e-10)
manager.initialize(state)
state = manager.integrate(0.3)
names = ["/jointset/slider/depth/value", "/jointset/slider/depth/speed"]
names += [f"/forceset/m{k}/activation" for k in range(3)] + [f"/forceset/m{k}/fiber_length" for k in range(2)]
answer = [model.getStateVariableValue(state, name) for name in names]
"""


@pytest.mark.peers
def test_opensim_moves_likewise(tmp_path, in_opensim):
    """The model that OpenSim wrote, read and moved here: every state after 0.3 s."""
    path = tmp_path / "block.osim"
    theirs = in_opensim(OPENSIM, str(path))
    model = load_model(path)
    way = simulate(model, duration=0.3, rtol=1e-10, output_step=0.3, activation=[0.3] * 3,
                   excitation=[0.4, 0.2, 0.6], muscle_states=[0.098, 0.099])  # fmt: skip
    mine = np.concatenate([way.q[-1], way.u[-1], way.activation[-1], way.muscle_states[-1]])
    assert abs(way.q[-1, 0] - 0.301) > 0.01
    np.testing.assert_allclose(mine, theirs, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("length", [-0.1, 0.0])
@pytest.mark.parametrize("options", [{"method": "rk4"}, {"rtol": 1e-6}], ids=str)
def test_a_fiber_starts_with_a_length(length, options):
    model = hanging(Thelen2003(*NUMBERS))
    with pytest.raises(
        ValueError, match=f"muscle_states: 'm.fiber_length' must be positive and finite .*, not {length:g}"
    ):
        simulate(model, muscle_states=[[0.1], [length]], duration=0.01, output_step=0.01, **options)
