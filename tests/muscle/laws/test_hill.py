"""Hill-type muscles: their own inverses and equilibria, and OpenSim's numbers at given fiber states."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from myoquat import kernels
from myoquat.joints.errors import ModelError
from myoquat.kernels import formula
from myoquat.muscle.laws import DeGrooteFregly2016, Millard2012, Schutte1993, Thelen2003

COMMON = {
    "max_isometric_force": 800.0,
    "optimal_fiber_length": 0.12,
    "tendon_slack_length": 0.25,
    "pennation": 0.3,
    "max_contraction_velocity": 9.0,
}
LAW_TYPES = (Thelen2003, DeGrooteFregly2016, Millard2012)
LAWS = {law_type.kind: law_type(**COMMON) for law_type in LAW_TYPES}
RIGID = {name: type(law)(**COMMON, tendon="rigid") for name, law in LAWS.items()}


@pytest.fixture(params=list(LAWS))
def law(request):
    return LAWS[request.param]


def fibers(law, n, rng):
    """(length, activation, state): the tendon from slack to 6 % stretched."""
    fiber = rng.uniform(0.5, 1.5, n) * law.optimal_fiber_length
    cosine = np.sqrt(1 - (law.width / fiber) ** 2)
    length = fiber * cosine + rng.uniform(0.98, 1.06, n) * law.tendon_slack_length
    return length, rng.uniform(0.02, 1, n), fiber[:, None]


INVERSES = [
    *((law, 0.01, 1e-7) for law in LAWS.values()),
    (DeGrooteFregly2016(**COMMON, damping=0.1), 0.01, 1e-9),
    *((Millard2012(**COMMON, damping=damping), 0.0, 1e-10) for damping in (0.001, 0.01, 0.1, 1.0)),
    *((Schutte1993(**COMMON, damping=damping), 0.0, 1e-12) for damping in (0.05, 0.1)),
]


@pytest.mark.parametrize(("law", "least", "error"), INVERSES, ids=lambda x: type(x).__name__)
@given(length=st.floats(0.45, 1.8), speed=st.floats(-1.4, 1.4), share=st.floats(0, 1))
def test_the_speed_is_the_inverse_of_the_force(law, least, error, length, speed, share):
    """Millard's damped fiber has no singularity without activation; Schutte's never pushes."""
    activation = least + (1 - least) * share
    force = law.fiber_force(length, speed, activation)
    passive = law.passive_force(length)
    if isinstance(law, Schutte1993) and force < passive:
        speed = law.fiber_speed(length, passive, activation)
    with np.errstate(over="ignore"):  # of De Groote's first guess, before it is held
        assert law.fiber_speed(length, force, activation) == pytest.approx(speed, abs=error)


@pytest.mark.parametrize("law", [*LAWS.values(), Schutte1993(**COMMON)], ids=lambda law: law.kind)
def test_laws_say_whether_their_slope_jumps_at_rest(law):
    """From the slope over the speed on either side of zero, where fibers shorten and lengthen."""
    force, h = law.fiber_force(1.0, np.array([-1e-7, 0.0, 1e-7]), 0.5), 1e-7
    below, above = np.diff(force) / h
    assert law.kinked_at_rest == (abs(above / below - 1) > 0.1)


def test_a_damping_of_whole_zero_is_none():
    """The closed form reaches any force; Newton's method would stop at its bounds."""
    whole, none = (DeGrooteFregly2016(**COMMON, damping=zero) for zero in (0, 0.0))
    assert whole.fiber_speed(1.1, 3.0, 0.5) == none.fiber_speed(1.1, 3.0, 0.5)


def test_a_stiff_tendon_comes_close_to_a_rigid_one(rng):
    for name, rigid in RIGID.items():
        stiff = type(rigid)(**COMMON, tendon_strain=1e-6)
        length = 0.25 + rng.uniform(0.08, 0.14, 10)
        activation = rng.uniform(0.1, 1, 10)
        state = stiff.equilibrium(length, 0.0, activation)
        force = stiff.force(length, 0.0, activation, state)
        np.testing.assert_allclose(rigid.force(length, np.zeros(10), activation), force, rtol=2e-4, err_msg=name)


@pytest.mark.filterwarnings("ignore:overflow")  # of the rate of De Groote's fiber behind a slack tendon
@pytest.mark.parametrize("law", [*LAWS.values(), Schutte1993(**COMMON)], ids=lambda law: law.kind)
def test_all_number_types_give_the_same(scalar, law, rng):
    """Also where the tendon is slack."""
    length, activation, state = fibers(law, 6, rng)
    short = np.array([0.1, 0.25, 0.28])
    state = np.concatenate([state, law.equilibrium(short, 0.0, activation[:3])])
    x = np.column_stack([np.concatenate([length, short]), np.concatenate([activation, activation[:3]]), state])
    rigid = replace(law, tendon="rigid")

    @formula(x=(3,))
    def forces(x):
        l, a, state = x[..., 0], x[..., 1], x[..., 2:]
        force = law.force(l, 0.0 * l, a, state)
        if scalar.__name__ == "_sympy":  # for which rates, and Millard's curves multiplied, are too deep
            return np.stack([force] if law.kind == "millard2012" else [force, rigid.force(l, 0.0 * l, a)], axis=-1)
        return np.stack([force, rigid.force(l, 0.0 * l, a), law.state_rate(l, 0.0 * l, a, state)[..., 0]], axis=-1)

    found = scalar(forces, x)
    np.testing.assert_allclose(found, forces(x)[..., : found.shape[-1]], rtol=1e-11, atol=1e-9)


def test_length_pennation_and_speed_of_a_fiber_take_one_tendon_force(monkeypatch, rng):
    law, asked = LAWS["thelen2003"], []
    tendon_force = type(law).tendon_force
    monkeypatch.setattr(type(law), "tendon_force", lambda self, x: asked.append(x) or tendon_force(self, x))
    length, activation, state = fibers(law, 5, rng)
    asked.clear()
    *_, rate = law.fiber(length, 0.0, activation, state)
    assert len(asked) == 1
    np.testing.assert_array_equal(rate, law.state_rate(length, 0.0, activation, state)[..., 0])


def test_the_shortest_fiber_lengthens_and_does_not_shorten(law):
    """Behind a tendon that pulls, and behind a slack one."""
    state = np.full((2, 1), float(law.shortest))
    stretched, slack = float(law.shortest_along) + np.array([1.05, 0.9]) * law.tendon_slack_length
    with np.errstate(over="ignore"):
        rate = law.state_rate(np.array([stretched, slack]), np.zeros(2), np.array([0.1, 0.9]), state)[:, 0]
    assert rate[0] > 0
    assert rate[1] == 0


@pytest.mark.parametrize("name", LAWS)
def test_the_derivative_by_the_fiber_length_is_finite_everywhere(name, rng):
    law = LAWS[name]
    kernel = kernels.compile(
        lambda x: law.state_rate(x[..., 0], 0.0, x[..., 1], x[..., 2:]), {"x": 3}, ["rate"], cache="off"
    ).jacobian("rate", "x")
    length, activation, state = fibers(law, 200, rng)
    J = kernel(np.column_stack([length, activation, state]))
    assert np.isfinite(J).all()


def test_a_tendon_is_elastic_or_rigid(law):
    with pytest.raises(ModelError, match="'elastic' or 'rigid', not 'soft'"):
        replace(law, tendon="soft").check("muscle 'm'")


def test_the_least_activation_acts_below_it(law, rng):
    """At activation 0 the fiber's speed has a value, the one at the least activation."""
    length, _, state = fibers(law, 20, rng)
    least = np.full(20, law.minimum_activation)
    state = law.equilibrium(length, 0.0, least) * rng.uniform(0.999, 1.001, (20, 1))
    for activation in (np.zeros(20), least / 2):
        np.testing.assert_array_equal(
            law.state_rate(length, 0.0, activation, state), law.state_rate(length, 0.0, least, state)
        )
        np.testing.assert_array_equal(law.equilibrium(length, 0.0, activation), law.equilibrium(length, 0.0, least))
    rigid = RIGID[law.kind]
    assert rigid.force(0.37, 0.1, 0.0) == rigid.force(0.37, 0.1, rigid.minimum_activation)
    assert np.isfinite(law.state_rate(length, 0.0, np.zeros(20), state)).all()
    with pytest.raises(ModelError, match="minimum_activation must be in"):
        replace(law, minimum_activation=1.0).check("muscle 'm'")
    undamped = {"damping": 0.0, **UNDAMPED} if law.kind == "millard2012" else {}
    boundless = replace(law, minimum_activation=0.0, **undamped)
    boundless.check("muscle 'm'")
    with pytest.raises(ModelError, match=r"muscle 'm': minimum_activation is 0, .* set minimum_activation to 0.01"):
        boundless.check_rates("muscle 'm'")
    replace(boundless, tendon="rigid").check_rates("muscle 'm'")
    assert np.isfinite(boundless.equilibrium(length, 0.0, np.zeros(20))).all()


UNDAMPED = {"active_lowest": 0.1, "concentric_slope_at_vmax": 0.125, "eccentric_slope_at_vmax": 0.075}

OPENSIM = """
rigid, rows, common = arguments[1] == "rigid", arguments[2], arguments[3]
model = opensim.Model()
block = opensim.Body("block", 1.0, opensim.Vec3(0), opensim.Inertia(1, 1, 1))
model.addBody(block)
slider = opensim.SliderJoint("slider", model.getGround(), block)
model.addJoint(slider)
muscle = getattr(opensim, arguments[0])()
muscle.setName("m")
muscle.set_max_isometric_force(common["max_isometric_force"])
muscle.set_optimal_fiber_length(common["optimal_fiber_length"])
muscle.set_tendon_slack_length(common["tendon_slack_length"])
muscle.set_pennation_angle_at_optimal(common["pennation"])
muscle.set_max_contraction_velocity(common["max_contraction_velocity"])
muscle.set_ignore_tendon_compliance(rigid)
muscle.set_ignore_activation_dynamics(False)
if arguments[0] == "Thelen2003Muscle":
    muscle.set_FmaxTendonStrain(0.033)
    muscle.set_Flen(1.8)
    muscle.set_Af(0.3)
    muscle.set_KshapeActive(0.5)
    muscle.set_KshapePassive(4.0)
    muscle.set_FmaxMuscleStrain(0.6)
if arguments[0] == "DeGrooteFregly2016Muscle":
    muscle.set_active_force_width_scale(1.0)
    muscle.set_fiber_damping(0.0)
    muscle.set_tendon_strain_at_one_norm_force(0.049)
if arguments[0] == "Millard2012EquilibriumMuscle":
    muscle.set_fiber_damping(common.get("damping", 0.1))
muscle.addNewPathPoint("a", model.getGround(), opensim.Vec3(0))
muscle.addNewPathPoint("b", block, opensim.Vec3(0))
model.addForce(muscle)
state = model.initSystem()
answer = []
for length, speed, activation, fiber in rows:
    state = model.initializeState()  # a fresh one: a changed state variable leaves some caches stale
    slider.get_coordinates(0).setValue(state, length, False)
    slider.get_coordinates(0).setSpeedValue(state, speed)
    muscle.setActivation(state, activation)
    if not rigid and arguments[0] != "DeGrooteFregly2016Muscle":
        muscle.setStateVariableValue(state, "/forceset/m/fiber_length", fiber)
    if not rigid and arguments[0] == "DeGrooteFregly2016Muscle":
        muscle.setStateVariableValue(state, "/forceset/m/normalized_tendon_force", fiber)
    model.realizeAcceleration(state)
    answer.append([muscle.getTendonForce(state), muscle.getFiberVelocity(state), muscle.getFiberLength(state)])
"""


@pytest.mark.peers
@pytest.mark.parametrize(
    ("theirs", "law"),
    [  # OpenSim has no rigid tendon for Thelen's muscle
        ("Thelen2003Muscle", LAWS["thelen2003"]),
        ("Millard2012EquilibriumMuscle", LAWS["millard2012"]),
        ("Millard2012EquilibriumMuscle", Millard2012(**COMMON, damping=0.0, **UNDAMPED)),
        ("Millard2012EquilibriumMuscle", RIGID["millard2012"]),
        ("DeGrooteFregly2016Muscle", LAWS["degroote_fregly2016"]),
        ("DeGrooteFregly2016Muscle", RIGID["degroote_fregly2016"]),
    ],
)
def test_opensim_agrees(rng, in_opensim, theirs, law):
    """At a given fiber length, or at the normalized tendon force that is OpenSim's state of De Groote's muscle."""
    length, activation, state = fibers(law, 30, rng)
    speed = rng.uniform(-0.5, 0.5, 30) * (law.tendon == "rigid")
    force = law.force(length, speed, activation, state)
    by_force = theirs.startswith("De") and law.tendon == "elastic"
    given = force / law.max_isometric_force if by_force else state[:, 0]
    rows = np.column_stack([length, speed, activation, given])
    found = np.array(in_opensim(OPENSIM, theirs, law.tendon, rows, COMMON | {"damping": getattr(law, "damping", None)}))
    np.testing.assert_allclose(found[:, 0], force, rtol=1e-9, atol=1e-9)
    if by_force:
        np.testing.assert_allclose(found[:, 2], state[:, 0], rtol=1e-9)
    elif law.tendon == "elastic":
        rate = law.state_rate(length, 0.0, activation, state)[:, 0]
        np.testing.assert_allclose(found[:, 1], rate, rtol=1e-9, atol=1e-9)
