"""OpenSim files: what they say, what OpenSim makes of them, and what is wrong with broken ones."""

import warnings
from pathlib import Path

import numpy as np
import pytest

from myoquat.data import load_model
from myoquat.data.reports import UnsupportedWarning
from myoquat.dynamics import simulate
from myoquat.joints import ModelError
from myoquat.muscle import (
    ActivationDynamics,
    activation_rates,
    equilibrium_states,
    muscle_forces,
    muscle_state_rates,
    path_jacobian,
    path_lengths,
)
from myoquat.muscle.laws import Millard2012
from tests.data.tables import rejected

FILE = Path(__file__).parents[2] / "data" / "small_leg.osim"

OPENSIM = """
model = opensim.Model(arguments[0])
state = model.initSystem()
coordinates = [model.getCoordinateSet().get(i) for i in range(model.getNumCoordinates())]
names = [c.getName() for c in coordinates]
muscles = [model.getMuscles().get(i) for i in range(model.getMuscles().getSize())]
bodies = [model.getBodySet().get(i) for i in range(model.getBodySet().getSize())]
answer = {"names": names, "lengths": [], "arms": [], "poses": []}
arms_of = arguments[2]
for q in arguments[1]:
    for c in coordinates:
        c.setLocked(state, False)
    for c, x in zip(coordinates, q):
        c.setValue(state, x, False)
    model.realizePosition(state)
    answer["lengths"].append([m.getLength(state) for m in muscles])
    answer["arms"].append([[m.computeMomentArm(state, coordinates[names.index(n)]) for n in arms_of] for m in muscles])
    answer["poses"].append([[b.getTransformInGround(state).R().asMat33().get(i, j) for i in range(3) for j in range(3)]
                            + [b.getTransformInGround(state).p().get(i) for i in range(3)] for b in bodies])
answer["bodies"] = [b.getName() for b in bodies]
"""


@pytest.fixture(scope="module")
def model():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnsupportedWarning)
        return load_model(FILE)


def poses(model, n, rng):
    """Within the range of every coordinate, second angles of balls clear of their lock."""
    low, high = np.array([c.range for c in model.coordinates]).T
    q = rng.uniform(low, high, (n, model.system.nq))
    second = [model.system.coordinate_names.index(name) for name in ("root_ry", "adduction", "back_2", "neck_2")]
    q[:, second] /= 2
    return q


@pytest.mark.peers
def test_opensim_agrees(model, rng, in_opensim):
    q = poses(model, 8, rng)
    q[-2:, model.system.coordinate_names.index("knee")] = -2.3, 2.3  # out of its range, where a moving point rests
    arms = ["root_tx", "flexion", "adduction", "rotation", "knee", "plantar", "inversion", "swing", "slide"]
    theirs = in_opensim(OPENSIM, FILE, q, arms)
    assert theirs["names"] == list(model.system.coordinate_names)
    np.testing.assert_allclose(path_lengths(model, q), theirs["lengths"], atol=1e-12)
    columns = [theirs["names"].index(name) for name in arms]
    found, wanted = -path_jacobian(model, q)[..., columns], np.array(theirs["arms"])
    found[-2:, 1, 4] = wanted[-2:, 1, 4]  # OpenSim's arms of a point at rest are not the slopes of its own lengths
    np.testing.assert_allclose(found, wanted, atol=1e-10)
    mine = model.system.poses(q)
    for i, name in enumerate(theirs["bodies"]):
        pose = np.array(theirs["poses"])[:, i]
        np.testing.assert_allclose(mine[name][0].reshape(-1, 9), pose[:, :9], atol=1e-12)
        np.testing.assert_allclose(mine[name][1], pose[:, 9:], atol=1e-12)


MUSCLE_FORCES = """
model = opensim.Model(arguments[0])
model.initSystem()
coordinates = [model.getCoordinateSet().get(i) for i in range(model.getNumCoordinates())]
muscles = [model.getMuscles().get(i) for i in range(model.getMuscles().getSize())]
answer = []
for q, u, activations, fibers, excitations in arguments[1]:
    state = model.initializeState()  # a fresh one: a changed state variable leaves some caches stale
    for c in coordinates:
        c.setLocked(state, False)
    for c, x, v in zip(coordinates, q, u):
        c.setValue(state, x, False)
        c.setSpeedValue(state, v)
    for m, a, f in zip(muscles, activations, fibers):
        path = m.getAbsolutePathString()
        model.setStateVariableValue(state, path + "/activation", a)
        model.setStateVariableValue(state, path + "/fiber_length", f)
    model.realizeVelocity(state)
    model.setControls(state, opensim.Vector(excitations))
    model.realizeAcceleration(state)
    answer.append([[m.getTendonForce(state), m.getFiberVelocity(state), model.getStateVariableDerivativeValue(
        state, m.getAbsolutePathString() + "/activation")] for m in muscles])
"""


@pytest.mark.peers
def test_opensim_agrees_on_forces_and_rates(model, rng, in_opensim):
    """Of Thelen's and Millard's muscles, at given activations and fiber lengths."""
    q, u = poses(model, 8, rng), rng.normal(size=(8, model.system.nu))
    a, e = rng.uniform(0.01, 1, (2, 8, 4))  # OpenSim lets an excitation below the least activation pull on
    l = path_lengths(model, q)
    laws = [muscle.law for muscle in model.muscles]
    stretch = rng.uniform(0.99, 1.05, (8, 4)) * [law.tendon_slack_length for law in laws]
    fibers = np.maximum(np.hypot(np.maximum(l - stretch, 0), [law.width for law in laws]), [x.shortest for x in laws])
    theirs = np.array(in_opensim(MUSCLE_FORCES, FILE, [*zip(q, u, a, fibers, e, strict=True)]))
    np.testing.assert_allclose(muscle_forces(model, q, u, a, fibers), theirs[..., 0], rtol=1e-9, atol=1e-8)
    np.testing.assert_allclose(muscle_state_rates(model, q, u, a, fibers), theirs[..., 1], rtol=1e-9, atol=1e-8)
    np.testing.assert_allclose(activation_rates(model, e, a), theirs[..., 2], rtol=1e-12)


def test_the_numbers_of_millards_curves_are_read(tmp_path):
    """As OpenSim takes them: a damping below 0.001 is none, and then no slope and no value is left at zero."""
    text = FILE.read_text()
    end = "<pennation_angle_at_optimal>0.2</pennation_angle_at_optimal>"
    passive = "<strain_at_one_norm_force>0.6</strain_at_one_norm_force>"
    stiff = "<stiffness_at_low_force>0.3</stiffness_at_low_force><curviness>0.5</curviness>"
    stiff += "<stiffness_at_one_norm_force>4</stiffness_at_one_norm_force>"
    more = (
        "<fiber_damping>0.0005</fiber_damping><minimum_activation>0.02</minimum_activation>"
        f"<ForceVelocityCurve><isometric_slope>6</isometric_slope></ForceVelocityCurve>"
        f"<FiberForceLengthCurve>{passive}{stiff}</FiberForceLengthCurve>"
    )
    law = load(tmp_path, text.replace(end, end + more)).muscles[1].law
    assert law == Millard2012(
        800.0, 0.12, 0.5, 0.2, minimum_activation=0.02, damping=0.0, isometric_slope=6.0, active_lowest=0.1,
        concentric_slope_at_vmax=0.125, eccentric_slope_at_vmax=0.075, passive_strain=0.6, passive_low_stiffness=0.3,
        passive_stiffness_ratio=4 * 0.6, passive_curviness=0.5,
    )  # fmt: skip
    more = "<maximum_pennation_angle>1.2</maximum_pennation_angle>"
    assert load(tmp_path, text.replace(end, end + more)).muscles[1].law.maximum_pennation == 1.2
    part = f"<TendonForceLengthCurve>{stiff[stiff.index('<curv') :]}</TendonForceLengthCurve>"
    with pytest.raises(ModelError, match=r"needs all of .*norm_force_at_toe_end.* or none"):
        load(tmp_path, text.replace(end, end + part))


def test_minimum_activation_of_zero_is_rejected_only_where_fiber_speeds_divide_by_it(tmp_path):
    """Lengths, forces, equilibria and rigid tendons do without a least activation; rates and simulations name it."""
    text = FILE.read_text()
    end = "<pennation_angle_at_optimal>0.1</pennation_angle_at_optimal>"
    model = load(tmp_path, text.replace(end, end + "<minimum_activation>0</minimum_activation>"))
    assert model.muscles[0].law.minimum_activation == 0
    q, u, a = np.array(model.start_q), np.zeros(model.system.nu), np.zeros(len(model.muscles))
    fibers = equilibrium_states(model, q, a)
    assert np.isfinite(muscle_forces(model, q, u, a, fibers)).all()
    rigid = model.with_rigid_tendons()
    law, l = rigid.muscles[0].law, path_lengths(rigid, q)[0]
    fiber, cosine, _ = law.fiber(l, 0.0, 0.0)
    passive = law.max_isometric_force * law.passive_force(fiber / law.optimal_fiber_length) * cosine
    assert law.force(l, 0.0, 0.0) == pytest.approx(passive, abs=1e-12)
    words = rf"muscle '{model.muscles[0].name}': minimum_activation is 0, .* set minimum_activation to 0.01"
    with pytest.raises(ModelError, match=words):
        muscle_state_rates(model, q, u, a, fibers)
    with pytest.raises(ModelError, match=words):
        simulate(model, duration=0.01, step=0.001, activation=a + 0.5, project_start=True)
    motion = simulate(rigid, duration=0.002, step=0.001, activation=a, project_start=True)
    assert np.isfinite(motion.q).all()


def test_other_numbers_of_thelens_and_de_grootes_muscles(tmp_path):
    text = FILE.read_text()
    end = "<pennation_angle_at_optimal>0.1</pennation_angle_at_optimal>"
    more = "<fv_linear_extrap_threshold>0.9</fv_linear_extrap_threshold>"
    assert load(tmp_path, text.replace(end, end + more)).muscles[0].law.straight_from == 0.9
    with pytest.raises(ModelError, match="straight_from must lie between"):
        load(tmp_path, text.replace(end, end + more.replace("0.9", "0.6")))
    other = text.replace("Thelen2003Muscle", "DeGrooteFregly2016Muscle")
    more = "<ignore_passive_fiber_force>true</ignore_passive_fiber_force><fiber_damping>0.02</fiber_damping>"
    law = load(tmp_path, other.replace(end, end + more)).muscles[0].law
    assert (law.passive_force(1.4), law.minimum_activation, law.damping) == (0.0, 0.0, 0.02)
    assert load(tmp_path, other).muscles[0].law.minimum_activation == 0.01
    smooth = load(tmp_path, other).muscles[0].activation_dynamics
    assert smooth == ActivationDynamics(0.015, 0.06, "smooth", 0.1)
    more = "<ignore_activation_dynamics>true</ignore_activation_dynamics>"
    assert load(tmp_path, text.replace(end, end + more)).muscles[0].activation_dynamics is None


@pytest.mark.peers
def test_ligaments_and_muscles_of_rigid_tendon_agree_with_opensim(tmp_path, rng, in_opensim):
    """With OpenSim's own curves and with a curve of the file's."""
    start, points = FILE.read_text().split("<ForceSet><objects>")
    path = points[points.index("<GeometryPath") : points.index("</GeometryPath>")] + "</GeometryPath>"
    spline = "<SimmSpline><x>0 1 1.2 2</x><y>0 0 0.3 2</y></SimmSpline>"
    numbers = "<optimal_fiber_length>0.1</optimal_fiber_length><tendon_slack_length>0.16</tendon_slack_length>"
    forces = "".join(
        f'<RigidTendonMuscle name="r{k}">{path}{numbers}<pennation_angle_at_optimal>{pennation}'
        f"</pennation_angle_at_optimal>{curve}</RigidTendonMuscle>"
        for k, (pennation, curve) in enumerate(
            [(0, ""), (0.3, f"<active_force_length_curve>{spline}</active_force_length_curve>")]
        )
    )
    bands = "".join(
        f'<Ligament name="l{k}">{path.replace("<GeometryPath", "<path><GeometryPath")}</path>'
        f"<resting_length>0.2</resting_length><pcsa_force>300</pcsa_force>{curve}</Ligament>"
        for k, curve in enumerate(["", f"<force_length_curve>{spline}</force_length_curve>"])
    )
    model = load(tmp_path, f"{start}<ForceSet><objects>{forces}{bands}{points}")
    q, u = poses(model, 10, rng), rng.normal(size=(10, model.system.nu))
    a = rng.uniform(0.1, 1, (10, 2))
    theirs = np.array(in_opensim(OTHER_FORCES, tmp_path / "x.osim", [*zip(q, u, a, strict=True)]))
    l = path_lengths(model, q)[:, 0]
    speed = (path_jacobian(model, q)[:, 0] * u).sum(axis=-1)
    laws = [muscle.law for muscle in model.muscles[:4]]
    mine = np.stack([law.force(l, speed, a[:, min(k, 1)]) for k, law in enumerate(laws)], axis=-1)
    assert (mine > 0).any(axis=0).all()
    np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-8)


OTHER_FORCES = """
model = opensim.Model(arguments[0])
model.initSystem()
coordinates = [model.getCoordinateSet().get(i) for i in range(model.getNumCoordinates())]
muscles = [model.getMuscles().get(f"r{k}") for k in (0, 1)]
ligaments = [opensim.Ligament.safeDownCast(model.getForceSet().get(f"l{k}")) for k in (0, 1)]
answer = []
for q, u, activations in arguments[1]:
    state = model.initializeState()
    for c in coordinates:
        c.setLocked(state, False)
    for c, x, v in zip(coordinates, q, u):
        c.setValue(state, x, False)
        c.setSpeedValue(state, v)
    model.realizeVelocity(state)
    model.setControls(state, opensim.Vector(activations + [0.5] * (model.getNumControls() - 2)))
    model.realizeDynamics(state)
    answer.append([m.getTendonForce(state) for m in muscles] + [x.getTension(state) for x in ligaments])
"""


test_impossible_muscles_are_named_with_their_line = rejected(
    FILE, "x.osim",
    ("<optimal_fiber_length>0.1<", "<optimal_fiber_length>0<", "'straight': .*length must be positive", 112),
    ("<max_isometric_force>500<", "<max_isometric_force>-5<", "'straight': .*force must be finite", 112),
)  # fmt: skip


def load(tmp_path, text):
    path = tmp_path / "x.osim"
    path.write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnsupportedWarning)
        return load_model(path)


test_broken_files_are_named = rejected(
    FILE, "x.osim",
    ('Version="40600"', 'Version="10900"', "document version 10900 is not read, 10901 to 49999 are; open an older"),
    ("<OpenSimDocument", "<!DOCTYPE x [<!ENTITY a 'b'>]><OpenSimDocument", "document types and entities are"),
    ("</Model>", "", "not valid XML"),
    ("/bodyset/thigh</socket_parent>", "/bodyset/hand</socket_parent>", "names 'hand', which is no frame"),
    ("/bodyset/pelvis</socket_parent_frame>", "/bodyset/hand</socket_parent_frame>", "no body and no frame"),
    ("<coordinates>adduction</coordinates>", "<coordinates>x</coordinates>", "depends on 'x', which is no coord"),
    ("/jointset/knee_j/knee</socket_coordinate>", "/k</socket_coordinate>", "coordinate 'k' does not exist"),
    ("<BallJoint", "<ConstantVelocityJoint", "not valid XML"),
    ("<mass>7</mass>", "<mass>-7</mass>", "mass must be finite and not negative"),
    ("<mass>7</mass>", "<mass>x</mass>", "<mass> must be 1 finite number, not 'x'"),
    ("<location>0 0.05 0.1</location>", "<location>0 nan 0.1</location>", "must be 3 finite numbers"),
    ("<range>-3 -0.4</range>", "<range>-0.4 -3</range>", r"range must be \(low, high\)"),
    (">back_1</independent", ">spine</independent", "coordinate 'spine' does not exist"),
    ('<SimmSpline name="function"><x>-2 -1 0 1 2</x>', "<SimmSpline><x>-2 -1 -1 1 2</x>", "must increase"),
    ("<Constant", "<Constant2", "not valid XML"),
    times=1,
)  # fmt: skip


test_what_would_change_the_motion_is_refused_with_its_line = rejected(
    FILE, "x.osim",
    ("UniversalJoint", "ConstantVelocityJoint", "<ConstantVelocityJoint> is not supported; known: WeldJoint", 59),
    ("PolynomialFunction", "SineFunction", "the function <SineFunction> is not supported", 56),
    ("ConditionalPathPoint", "StrangePathPoint", "the point <StrangePathPoint> is not supported", 140),
)  # fmt: skip
