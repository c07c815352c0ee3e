"""The muscle of Schutte (1993): its own inverse and equilibrium, OpenSim's numbers, and what a file says of it."""

from dataclasses import replace

import numpy as np
import pytest

import myoquat as mq
from myoquat.analysis.recruitment import static_optimization
from myoquat.joints.functions import SimmSpline
from myoquat.muscle import ActivationDynamics
from myoquat.muscle.evaluate import muscle_forces, muscle_state_rates
from myoquat.muscle.laws import Schutte1993
from tests.data.tables import rejected

COMMON = {"max_isometric_force": 800.0, "optimal_fiber_length": 0.12, "tendon_slack_length": 0.25, "pennation": 0.3}
PLAIN = Schutte1993(**COMMON, max_contraction_velocity=8.0)
CURVED = Schutte1993(
    **COMMON,
    damping=0.05,
    active_curve=SimmSpline((0.0, 0.4, 0.6, 1.0, 1.3, 2.0, 3.0), (0.0, 0.0, 0.3, 1.0, 0.5, 0.1, 0.0)),
    passive_curve=SimmSpline((-5.0, 0.998, 1.1, 1.4, 5.0), (0.0, 0.0, 0.01, 0.6, 2.0)),
)
PATH = """<GeometryPath><PathPointSet><objects>
<PathPoint name="a"><socket_parent_frame>/ground</socket_parent_frame><location>0 0 0</location></PathPoint>
<PathPoint name="b"><socket_parent_frame>/bodyset/block</socket_parent_frame><location>0 0 0</location></PathPoint>
</objects></PathPointSet></GeometryPath><max_isometric_force>800</max_isometric_force>
<optimal_fiber_length>0.12</optimal_fiber_length><tendon_slack_length>0.25</tendon_slack_length>
<pennation_angle_at_optimal>0.3</pennation_angle_at_optimal>"""
FILE = f"""<OpenSimDocument Version="40000"><Model name="slide"><gravity>0 0 0</gravity><BodySet><objects>
<Body name="block"><mass>20</mass><mass_center>0 0 0</mass_center><inertia>1 1 1 0 0 0</inertia></Body>
</objects></BodySet><JointSet><objects><SliderJoint name="slider"><socket_parent_frame>/ground</socket_parent_frame>
<socket_child_frame>/bodyset/block</socket_child_frame><coordinates><Coordinate name="x"/></coordinates></SliderJoint>
</objects></JointSet><ForceSet><objects>
<Schutte1993Muscle_Deprecated name="plain">{PATH}<time_scale>0.125</time_scale></Schutte1993Muscle_Deprecated>
<Schutte1993Muscle_Deprecated name="curved">{PATH}<damping>0.05</damping><activation2>1.5</activation2>
<passive_force_length_curve><SimmSpline><x>-5 0.998 1.1 1.4 5</x><y>0 0 0.01 0.6 2</y></SimmSpline>
</passive_force_length_curve><SimmSpline name="active_force_length_curve"><x>0 0.4 0.6 1 1.3 2 3</x>
<y>0 0 0.3 1 0.5 0.1 0</y></SimmSpline></Schutte1993Muscle_Deprecated></objects></ForceSet></Model></OpenSimDocument>"""

OPENSIM = """
model = opensim.Model(arguments[0])
muscles = [opensim.Muscle.safeDownCast(model.getForceSet().get(name)) for name in ("plain", "curved")]
x = model.getCoordinateSet().get(0)
model.initSystem()
answer = []
for row in arguments[1]:
    state = model.initializeState()
    x.setValue(state, row[0])
    x.setSpeedValue(state, row[1])
    for muscle, a, fiber in zip(muscles, row[2:4], row[6:8]):
        muscle.setActivation(state, a)
        model.setStateVariableValue(state, f"/forceset/{muscle.getName()}/fiber_length", fiber)
    model.realizeVelocity(state)
    model.setControls(state, opensim.Vector(row[4:6]))
    model.realizeAcceleration(state)
    answer.append([f(m) for f in (
        lambda m: m.getTendonForce(state),
        lambda m: model.getStateVariableDerivativeValue(state, f"/forceset/{m.getName()}/fiber_length"),
        lambda m: model.getStateVariableDerivativeValue(state, f"/forceset/{m.getName()}/activation"),
    ) for m in muscles])
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("schutte") / "slide.osim"
    path.write_text(FILE)
    return mq.load_model(path)


def fibers(n, rng):
    """(length, activation, fiber length): the tendon from slack to 4 % stretched."""
    fiber = rng.uniform(0.45, 1.6, n) * PLAIN.optimal_fiber_length
    cosine = np.sqrt(1 - (PLAIN.width / fiber) ** 2)
    return fiber * cosine + rng.uniform(0.99, 1.04, n) * PLAIN.tendon_slack_length, rng.uniform(0, 1, n), fiber


def test_a_file_gives_the_law_and_its_activation(model):
    plain, curved = model.muscles
    assert (plain.law, curved.law) == (PLAIN, CURVED)
    assert plain.activation_dynamics == ActivationDynamics(0.125 / 7.667, 0.125 / 1.459854, "quadratic")
    assert curved.activation_dynamics == ActivationDynamics(0.1 / 7.667, 0.1 / 1.5, "quadratic")


test_numbers_that_cannot_be_name_their_line = rejected(
    FILE, "bad.osim",
    ("<time_scale>0.125", "<time_scale>0", "time_scale> must be positive"),
    ("<activation2>1.5", "<activation2>-1", "activation2> must be positive"),
    ("<damping>0.05", "<damping>0", "damping must be positive"),
)  # fmt: skip


def test_older_files_have_the_muscle_without_the_word_deprecated(tmp_path, model):
    (tmp_path / "old.osim").write_text(
        FILE.replace("Schutte1993Muscle_Deprecated", "Schutte1993Muscle").replace("40000", "30000")
        .replace("<JointSet>", "").replace("</JointSet>", "")
    )  # fmt: skip
    text = (tmp_path / "old.osim").read_text()
    joint = text[text.index("<objects><SliderJoint") : text.index("</SliderJoint>") + 24]
    text = text.replace(joint, "").replace(
        "</Body>",
        "<Joint><SliderJoint><parent_body>ground</parent_body><CoordinateSet><objects><Coordinate name='x'/></objects>"
        "</CoordinateSet></SliderJoint></Joint></Body>",
    )
    (tmp_path / "old.osim").write_text(text.replace("<BodySet><objects>", "<BodySet><objects><Body name='ground'/>"))
    assert [m.law for m in mq.load_model(tmp_path / "old.osim").muscles] == [PLAIN, CURVED]


def test_equilibrium_is_where_nothing_moves(model, rng):
    """Each muscle with its own curves, although the two laws are of one class."""
    length, activation, _ = fibers(40, rng)
    a = np.column_stack([activation, activation[::-1]])
    state = mq.muscle.equilibrium_states(model, length[:, None], a)
    rate = muscle_state_rates(model, length[:, None], np.zeros((40, 1)), a, state, backend="numpy")
    tense = state > PLAIN.shortest
    assert tense.sum() > 50
    np.testing.assert_allclose(rate[tense], 0, atol=1e-9)


def test_static_optimization_has_a_rigid_tendon(model):
    """What both muscles pull is the torque that is asked for, and the stronger one, for its activation, pulls more."""
    found = static_optimization(model, [0.37], [0.0], [-500.0])
    F = muscle_forces(
        replace(model, muscles=tuple(replace(m, law=replace(m.law, tendon="rigid")) for m in model.muscles)),
        [0.37], [0.0], found.activation, backend="numpy",
    )  # fmt: skip
    assert F.sum() == pytest.approx(500.0, rel=1e-6)


@pytest.mark.peers
def test_opensim_agrees(model, rng, in_opensim):
    n = 200
    length, _, fiber = fibers(n, rng)
    other = np.clip(fiber * rng.uniform(0.98, 1.02, n), 1.01 * PLAIN.shortest, None)
    states, a, e = np.column_stack([fiber, other]), rng.uniform(0, 1, (n, 2)), rng.uniform(0, 1, (n, 2))
    u = rng.normal(0, 0.3, (n, 1))
    rows = np.column_stack([length, u, a, e, states])
    theirs = in_opensim(OPENSIM, model.file, rows)
    forces, lengthening, activating = np.moveaxis(np.reshape(theirs, (n, 3, 2)), 1, 0)
    q = length[:, None]
    np.testing.assert_allclose(muscle_forces(model, q, u, a, states, backend="numpy"), forces, rtol=1e-9, atol=1e-9)
    ours = muscle_state_rates(model, q, u, a, states, backend="numpy")
    np.testing.assert_allclose(ours, lengthening, rtol=1e-9, atol=1e-12)
    for i, muscle in enumerate(model.muscles):
        rate = muscle.activation_dynamics.rate(e[:, i], a[:, i])
        np.testing.assert_allclose(rate, activating[:, i], rtol=1e-12)
