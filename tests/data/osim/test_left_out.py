"""What is not read: one table in the documents, and what `myoquat info` says of a file."""

import ast
import re
import warnings
from pathlib import Path
from xml.etree import ElementTree

import pytest

from myoquat.apps.command import main
from myoquat.data import UnsupportedWarning, load_model
from myoquat.data.osim.read import CHANGES, COSMETIC, change_of
from myoquat.joints import ModelError
from tests.data.tables import changed

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "tests" / "data" / "small_leg.osim").read_text()


def test_the_documents_hold_the_table():
    rows = [row.strip("| ").split(" | ") for row in (ROOT / "docs" / "formats" / "opensim.md").read_text().splitlines()]
    reported = {tag: row[1] for row in rows if len(row) == 2 for tag in re.findall(r"[A-Z]\w+", row[0])}
    assert {tag: reported.get(tag) for tag in CHANGES} == CHANGES


def test_info_says_what_is_left_out_and_what_it_changes(tmp_path, capsys):
    path = tmp_path / "x.osim"
    more = '<ExternalForce name="push"/>\n<ElasticFoundationForce name="mesh"/>'
    path.write_text(TEXT.replace("</objects></ForceSet>", more + "</objects></ForceSet>"))
    assert not main(["info", str(path)])
    reported = capsys.readouterr().out
    assert "left out of the file:" in reported
    assert re.search(r"1 ExternalForce \(force\), line \d+: moves the bodies in OpenSim, not here", reported)
    assert re.search(r"1 ElasticFoundationForce \(force\), line \d+: bodies pass through", reported)
    assert change_of("Strange") == "what it does in OpenSim is missing here"


def test_a_model_lists_what_its_file_has_beyond_it(tmp_path, capsys):
    """The converted file lacks it: here an unused surface, publications and the colors of a path."""
    path = tmp_path / "x.osim"
    ball = '<WrapSphere name="ball"><Appearance><color>1 0 0</color></Appearance></WrapSphere>'
    text = TEXT.replace("<BodySet", f"<publications>here</publications><Ground><WrapObjectSet><objects>{ball}</objects>"
                        "</WrapObjectSet></Ground><BodySet", 1)  # fmt: skip
    path.write_text(text)
    own = set(load_model(path).left_out) - set(load_model(ROOT / "tests" / "data" / "small_leg.osim").left_out)
    assert sorted(re.sub(r", line.*", "", line) for line in own) == [
        "1 Appearance (changes no motion)", "1 WrapSphere (no path names it)", "1 publications (changes no motion)",
    ]  # fmt: skip
    assert not main(["convert", str(path), str(tmp_path / "x.toml")])
    assert "left out: 1 WrapSphere (no path names it), line " in capsys.readouterr().out


CLASSES = """Body Coordinate PinJoint SliderJoint WeldJoint BallJoint FreeJoint CustomJoint UniversalJoint PlanarJoint
GimbalJoint EllipsoidJoint ScapulothoracicJoint ConstantCurvatureJoint PhysicalOffsetFrame Marker PathPoint
ConditionalPathPoint MovingPathPoint GeometryPath FunctionBasedPath Scholz2015GeometryPath PathWrap WrapSphere
WrapCylinder WrapEllipsoid WrapTorus Thelen2003Muscle Millard2012EquilibriumMuscle DeGrooteFregly2016Muscle
RigidTendonMuscle PathActuator PathSpring Ligament Blankevoort1991Ligament SpringGeneralizedForce CoordinateLimitForce
PointToPointSpring BushingForce FunctionBasedBushingForce ExpressionBasedCoordinateForce
ExpressionBasedPointToPointForce ExpressionBasedBushingForce PrescribedForce ExternalForce HuntCrossleyForce
SmoothSphereHalfSpaceForce ContactHalfSpace ContactSphere ContactEllipsoid ContactCylinder ContactTorus
CoordinateActuator ActivationCoordinateActuator TorqueActuator PointActuator BodyActuator PointToPointActuator
CoordinateCouplerConstraint PointConstraint WeldConstraint ConstantDistanceConstraint PointOnLineConstraint
PrescribedController TransformAxis Constant LinearFunction SimmSpline PiecewiseLinearFunction
PiecewiseConstantFunction PolynomialFunction GCVSpline Sine StepFunction MultiplierFunction
MultivariatePolynomialFunction Model"""
PROPERTIES = """
answer = {}
for name in arguments[0].split():
    thing = opensim.OpenSimObject.newInstanceOfType(name)
    answer[name] = [thing.getPropertyByIndex(i).getName() for i in range(thing.getNumProperties())]
"""
BUILT = re.compile(
    r"socket_(frame|body_)[12]|location_body_[12]|(rotation|translation)[123]|(force|point|torque)_identifier"
)


@pytest.mark.peers
def test_every_property_of_opensims_classes_is_read_or_known_not_to_matter(in_opensim):
    """The names of the properties of default objects stand in the sources, in COSMETIC, or are made of a number or an
    axis there (BUILT). Of later versions of OpenSim, new properties are listed here."""
    words = set(COSMETIC)
    for path in (ROOT / "data").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):  # texts, and the rows of `same`
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "same":
                words |= {keyword.arg for keyword in node.keywords}
            elif isinstance(node, ast.Constant):
                words.add(node.value)
    unknown = {
        f"{name}.{tag}"
        for name, tags in in_opensim(PROPERTIES, CLASSES).items()
        for tag in tags
        if tag not in words and not BUILT.fullmatch(tag)
    }
    # the first two belong together; weights are those of a spline that smooths, which is refused
    assert unknown <= {"Coordinate.prescribed", "Coordinate.prescribed_function", "GCVSpline.weights"}


REGISTRY = """
answer, names = {}, opensim.ArrayStr()
opensim.OpenSimObject.getRegisteredTypenames(names)
for name in (names.get(i) for i in range(names.getSize())):
    thing = None if name == "Model" else opensim.OpenSimObject.newInstanceOfType(name)
    for base in ("Controller", "Probe", "Force", "Constraint"):
        if thing is not None and getattr(opensim, base).safeDownCast(thing) is not None and name not in answer:
            thing.setName("thing")
            answer[name] = base, thing.dump()
"""


def seen(path, text):
    """What is read of a file, and what is said of it."""
    path.write_text(text)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            model = load_model(path)
        except ModelError as error:
            return "", str(error)
    parts = (
        model.content_key,
        model.coordinates,
        model.markers,
        model.start_q,
        model.forces,
        model.muscles,
        model.constraints,
    )
    said = [re.sub(r"line \d+", "", str(x)) for x in (*model.left_out, *(w.message for w in found))]
    return repr(parts), " ".join(said)


@pytest.mark.peers
def test_every_force_constraint_controller_and_probe_of_opensim_is_read_or_named(tmp_path, in_opensim):
    """OpenSim's default of each class is put into a file: it changes the model, or an error or a report names it."""
    path, found = tmp_path / "x.osim", in_opensim(REGISTRY)
    assert len(found) > 50
    points = re.search("<GeometryPath.*?</GeometryPath>", TEXT, re.DOTALL)[0]
    plain, silent = seen(path, TEXT)[0], []
    for name, (base, text) in found.items():
        thing = re.sub(
            "<GeometryPath.*?</GeometryPath>", lambda _: points, re.sub(r"<\?.*?\?>", "", text), flags=re.DOTALL
        )
        end = f"</objects></{base}Set>"
        text = TEXT if end in TEXT else TEXT.replace("</Model>", f"<{base}Set><objects>{end}</Model>")
        parts = seen(path, text.replace(end, thing + end))
        silent += [name] if parts[0] == plain and name not in parts[1] else []
    assert silent == ["PrescribedController"]  # by default without controls


def test_every_number_of_a_file_changes_the_model_or_is_named(tmp_path):
    root = ElementTree.fromstring(TEXT)
    before, tried = seen(tmp_path / "x.osim", ElementTree.tostring(root, "unicode")), set()
    for parent in root.iter():
        for leaf in parent:
            own, tags = (leaf.text or "").strip(), (parent.tag, leaf.tag)
            if len(leaf) or tags in tried or not re.fullmatch(r"true|false|[-+.\deE ]+", own):
                continue
            tried.add(tags)
            leaf.text = {"true": "false", "false": "true"}.get(own) or " ".join(
                f"{1.07 * float(x) + 0.013}" for x in own.split()
            )
            assert seen(tmp_path / "x.osim", ElementTree.tostring(root, "unicode")) != before, tags
            leaf.text = own
    assert len(tried) > 30


def actuator(tag):
    """The text with muscles of another class."""
    return re.sub(r"<(/?)Thelen2003Muscle\b", rf"<\1{tag}", TEXT)


FORCE = "<max_isometric_force>"
BOUNDS = [
    (TEXT, "<min_control>0.2</min_control>", r"1 \w+ \(min_control", "1"),
    (TEXT, "<max_control>0.7</max_control>", r"1 \w+ \(max_control: its activation goes", "1"),
    *((actuator(tag), "<max_control>0.7</max_control>", rf"1 {tag} \(max_control: its activation goes", "Inf")
      for tag in ("PathActuator", "RigidTendonMuscle")),
]  # fmt: skip


@pytest.mark.parametrize(("text", "bound", "words", "usual"), BOUNDS)
def test_bounds_of_controls_are_reported(tmp_path, text, bound, words, usual):
    path = tmp_path / "x.osim"
    with pytest.warns(UnsupportedWarning, match=words):
        load_model(changed(path, text, FORCE, bound + FORCE, 1))
    load_model(changed(path, text, FORCE, f"<max_control>{usual}</max_control>{FORCE}", 1))


@pytest.mark.parametrize(("tag", "bound"), [("min_control", "-3"), ("max_control", "4")])
def test_controls_of_path_actuators_beyond_an_activation_are_reported(tmp_path, tag, bound):
    """OpenSim's actuator of this bound pushes, or pulls four times as much."""
    path = changed(tmp_path / "x.osim", actuator("PathActuator"), FORCE, f"<{tag}>{bound}</{tag}>{FORCE}", 1)
    with pytest.warns(UnsupportedWarning, match=r"1 PathActuator \(control beyond 0 to 1: its activation goes from 0"):
        model = load_model(path)
    model.save(tmp_path / "again.osim")
    assert "<max_control>1.0</max_control>" in (tmp_path / "again.osim").read_text()
    load_model(tmp_path / "again.osim")
