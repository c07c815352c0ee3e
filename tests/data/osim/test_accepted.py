"""What OpenSim accepts though it cannot be, or stands in no other model: read with one warning, and equal forces."""

import re

import numpy as np
import pytest

from myoquat.data import ImplausibleWarning, UnsupportedWarning, load_model
from myoquat.dynamics import forward_dynamics, mass_matrix
from myoquat.joints import ModelError
from myoquat.muscle import muscle_forces, path_lengths
from myoquat.muscle.laws import Millard2012
from tests.data.tables import write

PATH = """<GeometryPath><PathPointSet><objects><PathPoint name="a"><socket_parent_frame>/ground</socket_parent_frame>
<location>0 0 0.02</location></PathPoint><PathPoint name="b"><socket_parent_frame>/bodyset/b</socket_parent_frame>
<location>0 0.01 0</location></PathPoint></objects></PathPointSet></GeometryPath><max_isometric_force>100
</max_isometric_force><optimal_fiber_length>0.1</optimal_fiber_length><tendon_slack_length>0</tendon_slack_length>
<pennation_angle_at_optimal>0.2</pennation_angle_at_optimal><default_activation>0.3</default_activation>
<ignore_tendon_compliance>{rigid}</ignore_tendon_compliance>"""
TEXT = f"""<?xml version="1.0" encoding="UTF-8"?>
<OpenSimDocument Version="40600"><Model name="odd"><BodySet><objects><Body name="b"><mass>1</mass>
<mass_center>0 0 0.1</mass_center><inertia>0.0003 0.0002 -0.000004 0 0 0</inertia></Body></objects></BodySet>
<JointSet><objects><UniversalJoint name="j"><socket_parent_frame>/ground</socket_parent_frame>
<socket_child_frame>/bodyset/b</socket_child_frame><coordinates><Coordinate name="x"/><Coordinate name="y"/>
</coordinates></UniversalJoint></objects></JointSet><ForceSet><objects>
<Millard2012EquilibriumMuscle name="millard">{PATH.format(rigid="true")}</Millard2012EquilibriumMuscle>
<DeGrooteFregly2016Muscle name="degroote">{PATH.format(rigid="true")}</DeGrooteFregly2016Muscle>
</objects></ForceSet></Model></OpenSimDocument>""".replace("0 0 0.02", "0 0 -0.1")
ELASTIC = TEXT.replace("<ignore_tendon_compliance>true", "<ignore_tendon_compliance>false")

OPENSIM = """
model = opensim.Model(arguments[0])
state = model.initSystem()
answer = {"F": [], "M": []}
for row in arguments[1]:
    for k, name in enumerate("xy"):
        model.getCoordinateSet().get(name).setValue(state, row[k], False)
        model.getCoordinateSet().get(name).setSpeedValue(state, row[2 + k])
    muscles = [model.getMuscles().get(i) for i in range(2)]
    for muscle in muscles:
        muscle.setActivation(state, row[4])
    model.realizeDynamics(state)
    answer["F"].append([muscle.getTendonForce(state) for muscle in muscles])
    M = opensim.Matrix()
    model.getMatterSubsystem().calcM(state, M)
    answer["M"].append([[M.get(i, j) for j in range(2)] for i in range(2)])
"""


def test_an_inertia_that_no_body_can_have_is_reported_and_refused_if_strict(tmp_path):
    path = write(tmp_path, TEXT)
    with pytest.warns(ImplausibleWarning, match=r"the inertia of bodies \(b\)") as caught:
        model = load_model(path)
    assert len(caught) == 1
    assert model.system.bodies[0].lenient_inertia
    with pytest.raises(ModelError, match=r"the inertia of bodies \(b\)"):
        load_model(path, strict=True)
    q, tau = np.zeros(2), np.array([0.1, 0.2])
    assert np.isfinite(forward_dynamics(model, q, np.zeros(2), tau)).all()


@pytest.mark.filterwarnings("ignore::myoquat.data.ImplausibleWarning")
def test_a_mass_matrix_that_it_makes_indefinite_is_refused(tmp_path):
    model = load_model(write(tmp_path, TEXT.replace("0.0003 0.0002", "-0.3 0.0002")))
    assert path_lengths(model, np.zeros(2)).shape == (2,)
    with pytest.raises(ModelError, match=r"mass matrix is not positive definite.*: b"):
        mass_matrix(model, np.zeros(2))


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore::myoquat.data.ImplausibleWarning")
def test_opensim_agrees_on_tendons_of_length_zero(tmp_path, rng, in_opensim):
    path = write(tmp_path, TEXT)
    model = load_model(path)
    x = np.column_stack([rng.uniform(-0.6, 0.6, (40, 2)), rng.uniform(-2, 2, (40, 2)), rng.uniform(0.05, 1, 40)])
    answer = in_opensim(OPENSIM, path, x)
    forces = muscle_forces(model, x[:, :2], x[:, 2:4], x[:, 4:] * np.ones(2))
    np.testing.assert_allclose(forces, answer["F"], rtol=1e-9)
    np.testing.assert_allclose(mass_matrix(model, x[:, :2]), answer["M"], rtol=1e-12, atol=1e-16)


def test_elastic_tendons_of_length_zero_are_rigid_and_reported(tmp_path):
    with pytest.warns(ImplausibleWarning, match=r"elastic tendons of length 0, taken as rigid \(millard, degroote\)"):
        model = load_model(write(tmp_path, ELASTIC))
    assert [muscle.law.tendon for muscle in model.muscles] == ["rigid", "rigid"]
    with pytest.raises(ModelError, match="one of length 0 is tendon='rigid'"):
        Millard2012(100.0, 0.1, 0.0).check("muscle 'm'")


def test_text_in_another_encoding_is_reported_unless_declared(tmp_path):
    path = tmp_path / "odd.osim"
    text = TEXT.replace("0.0003", "0.0001").replace('name="odd">', 'name="odd"><credits>Z\xfcrich</credits>')
    path.write_bytes(text.encode("latin-1"))
    with pytest.warns(ImplausibleWarning, match=r"text that is not UTF-8, taken as Latin-1 \(byte \d+\)"):
        assert load_model(path).description == "Zürich"
    with pytest.raises(ModelError, match="not UTF-8"):
        load_model(path, strict=True)
    declared = text.replace("UTF-8", "Windows-1252").replace("rich", "rich \u2013 \u20ac")
    path.write_bytes(declared.encode("cp1252"))
    with pytest.warns(ImplausibleWarning, match="though it cannot be: the inertia of bodies") as caught:
        assert load_model(path).description == "Zürich \u2013 \u20ac"
    assert not any("Latin-1" in str(warning.message) for warning in caught)


@pytest.mark.filterwarnings("ignore::myoquat.data.ImplausibleWarning")
def test_vectors_may_have_commas_as_opensim_reads_them(tmp_path):
    text = re.sub(r"<location>(\S+) (\S+) (\S+)</location>", r"<location>\1, \2,\t\3</location>", TEXT)
    assert text != TEXT
    assert load_model(write(tmp_path, text)) == load_model(write(tmp_path, TEXT))


@pytest.mark.filterwarnings("ignore::myoquat.data.ImplausibleWarning")
def test_a_file_in_utf_16_is_read(tmp_path):
    plain, wide = write(tmp_path, TEXT), tmp_path / "wide.osim"
    wide.write_bytes(plain.read_text(encoding="utf-8").replace("UTF-8", "UTF-16", 1).encode("utf-16"))
    assert load_model(wide) == load_model(plain)


def test_components_of_the_model_itself_are_sorted_into_its_sets(tmp_path):
    """Programs put bodies, joints and forces there; all are read as if they stood in the sets."""
    plain = TEXT.replace("-0.000004", "0.0004")
    loose = plain
    for name in ("BodySet", "JointSet", "ForceSet"):
        loose = loose.replace(f"<{name}><objects>", "<components>").replace(f"</objects></{name}>", "</components>")
    loose = loose.replace("</components><components>", "").replace("/bodyset/b", "/b")
    loose = loose.replace("</components>", '<Bhargava2004SmoothedMuscleMetabolics name="cost"/></components>', 1)
    with pytest.warns(UnsupportedWarning, match=r"1 Bhargava2004SmoothedMuscleMetabolics \(ComponentSet\)"):
        model = load_model(write(tmp_path, loose))
    assert model == load_model(write(tmp_path, plain))


def test_a_model_of_the_ground_alone_is_read(tmp_path):
    path = write(tmp_path, '<OpenSimDocument Version="40600"><Model name="empty"/></OpenSimDocument>')
    assert load_model(path, rotations="quaternion").system.nq == 0


@pytest.mark.filterwarnings("ignore:.*surfaces that hold a point of their body")
def test_a_wrapping_path_may_move_on_the_ground(tmp_path):
    axis = "<{0}_location><LinearFunction><coefficients>0.1 0.2</coefficients></LinearFunction></{0}_location>"
    axis += "<socket_{0}_coordinate>x</socket_{0}_coordinate>"
    moving = f"""<MovingPathPoint name="a"><socket_parent_frame>/ground</socket_parent_frame>
{"".join(map(axis.format, "xyz"))}</MovingPathPoint>"""
    text = re.sub('<PathPoint name="a">.*?</PathPoint>', moving, TEXT.replace("-0.000004", "0.0004"), flags=re.DOTALL)
    ball = (
        """<WrapObjectSet><objects><WrapSphere name="s"><radius>0.05</radius></WrapSphere></objects></WrapObjectSet>"""
    )
    text = text.replace("</inertia>", f"</inertia>{ball}").replace(
        "</GeometryPath>",
        """<PathWrapSet><objects><PathWrap
name="w"><wrap_object>s</wrap_object></PathWrap></objects></PathWrapSet></GeometryPath>""",
    )
    assert [wrap.name for wrap in load_model(write(tmp_path, text)).muscles[0].path.wraps] == ["s"]


@pytest.mark.peers
def test_the_inertia_of_a_body_without_mass_is_passed_over_as_in_opensim(tmp_path, in_opensim):
    """The body hangs between the ground and one that has a mass."""
    text = re.sub("<ForceSet>.*</ForceSet>", "", TEXT.replace("-0.000004", "0.0004"), flags=re.DOTALL)
    text = text.replace(
        "</Body>",
        """</Body><Body name="tip"><mass>0</mass><mass_center>0 0 0</mass_center><inertia>1 2 2 0 0 0
</inertia></Body>""",
    ).replace(
        "</UniversalJoint>",
        """</UniversalJoint><WeldJoint name="w"><socket_parent_frame>/bodyset/b
</socket_parent_frame><socket_child_frame>/bodyset/tip</socket_child_frame></WeldJoint>""",
    )
    path = write(tmp_path, text)
    with pytest.warns(ImplausibleWarning, match=r"an inertia without mass, taken as zero \(tip\)"):
        model = load_model(path)
    q = np.array([[0.3, -0.4], [0.1, 0.9]])
    mass = OPENSIM.replace("range(2)]\n    for muscle in", "range(0)]\n    for muscle in")
    answer = in_opensim(mass, path, [[*row, 0.0, 0.0, 0.0] for row in q])
    np.testing.assert_allclose(mass_matrix(model, q), answer["M"], rtol=1e-12, atol=1e-15)


def test_coordinates_of_one_name_are_called_after_their_joints(tmp_path):
    """OpenSim tells them apart by their paths; a bare name of theirs is no coordinate."""
    body, joint = TEXT[TEXT.index("<Body ") :].split("</objects>")[0], TEXT[TEXT.index("<UniversalJoint") :]
    joint = joint.split("</objects>")[0]
    second = (
        joint.replace('"j"', '"k"')
        .replace("/ground", "/bodyset/b")
        .replace("bodyset/b</socket_child", "bodyset/c</socket_child")
    )
    second = second.replace('name="y"', 'name="z"')
    text = (
        TEXT.replace(body, body + body.replace('"b"', '"c"'))
        .replace(joint, joint + second)
        .replace("-0.000004", "0.0002")
    )
    model = load_model(write(tmp_path, text), strict=True)
    assert model.system.coordinate_names == ("j.x", "y", "k.x", "z")
    model.save(tmp_path / "again.osim")
    assert load_model(tmp_path / "again.osim", strict=True).system.coordinate_names == ("j.x", "y", "k.x", "z")
    spring = '<SpringGeneralizedForce name="s"><coordinate>x</coordinate></SpringGeneralizedForce><Millard'
    with pytest.raises(ModelError, match="'x', but the model has /jointset/j/x, /jointset/k/x"):
        load_model(write(tmp_path, text.replace("<Millard", spring, 1)))


@pytest.mark.parametrize(
    ("written_range", "read"),
    [
        ("-Inf Inf", None),
        ("-inf +Infinity", None),
        ("-Inf 1.5", (-np.inf, 1.5)),
        ("0 <!-- - -- - -->inf", (0.0, np.inf)),
    ],
)
def test_ranges_without_limits_are_read(tmp_path, written_range, read):
    """`Coordinate::printToXML` of OpenSim 4.6 writes -Inf and Inf."""
    ranged = TEXT.replace('<Coordinate name="x"/>', f'<Coordinate name="x"><range>{written_range}</range></Coordinate>')
    with pytest.warns(ImplausibleWarning):
        model = load_model(write(tmp_path, ranged))
    assert next(c.range for c in model.coordinates if c.name == "x") == read
    for wrong in ("one 1", "-1e400 1"):
        with pytest.raises(ModelError, match=f"<range> must be 2 finite numbers or Inf, not '{wrong}'"):
            load_model(write(tmp_path, ranged.replace(written_range, wrong)))


@pytest.mark.parametrize("empty", ["1 -1", "nan 1", "-1 nan", "inf -inf", " "])
def test_ranges_that_no_value_is_in_are_left_out_with_a_warning_unless_clamped(tmp_path, empty):
    """OpenSim 4.6 ignores them, and refuses a clamped coordinate: "Maximum coordinate range less than minimum"."""
    ranged = TEXT.replace('<Coordinate name="x"/>', f'<Coordinate name="x"><range>{empty}</range></Coordinate>')
    with pytest.warns(ImplausibleWarning, match=r"ranges that no value is in, left out \(x\)"):
        model = load_model(write(tmp_path, ranged))
    assert next(c.range for c in model.coordinates if c.name == "x") is None
    with pytest.raises(ModelError, match="range"):
        load_model(write(tmp_path, ranged.replace("</range>", "</range><clamped>true</clamped>")))
