"""Model files are data from strangers: every mistake is one ModelError that says where."""

import contextlib
from dataclasses import replace
from enum import IntEnum

import numpy as np
import pytest
from hypothesis import given, strategies as st

from myoquat.data import ImplausibleWarning, UnsupportedWarning, UnwrittenWarning, load_model, load_table
from myoquat.data.toml.models import entries
from myoquat.joints import ArticulatedSystem, Body, ModelError
from myoquat.joints.multibody.body import Shape
from myoquat.joints.types import JOINT_FACTS, Dependent, GimbalJoint, RevoluteJoint
from myoquat.muscle import Model
from tests.data.tables import rejected
from tests.every_part import MIXED, joints

GOOD = """\
format = "myoquat-model"
version = 1
name = "arm"

[[bodies]]
name = "A"
parent = "ground"
mass = 1.0
[bodies.joint]
type = "spherical"

[[bodies]]
name = "B"
parent = "A"
[bodies.joint]
type = "euler"
sequence = "YZX"
position = [0.0, 0.0, -1.0]

[[muscles]]
name = "m1"
path = [{ body = "ground", point = [1.0, 0.0, 0.0] }, { body = "B", point = [0.0, 0.1, 0.0] }]
law = { type = "B", optimal_length = 1.0, max_isometric_force = 10.0 }

[[muscles]]
name = "m2"
path = [{ body = "A", point = [1.0, 0.0, 0.0] }, { body = "B", point = [0.0, 0.1, 0.0] }]
"""


def load(tmp_path, text):
    file = tmp_path / "model.toml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_model(file)


def test_every_joint_type_and_field_goes_through_a_file(tmp_path):
    """Joints, springs and rotors of `every_part`, with names, shapes and another ground: nothing is dropped."""
    ball = Shape("sphere", (0.2,), (0.0, 0.1, 0.0), purpose="collision", color=(1.0, 0.0, 0.0, 1.0))
    dependents, ranges = (Dependent("glide", 1, 0.5, 0.1),), ((-1.0, 1.0), (-0.5, 2.0), (-3.0, 3.0))
    oblique = replace(MIXED, dependents=dependents, ranges=ranges)
    first, *others = joints().system.bodies
    bodies = [
        replace(first, joint_name="shoulder", shapes=(ball, Shape("box", (1.0, 2.0, 3.0)))),
        *others,
        Body("knee", "ground", RevoluteJoint(), coordinate_names=("knee",), mass=1.0),
        Body("last", "ground", GimbalJoint(oblique), mass=1.0),
    ]
    assert {body.joint.kind for body in bodies} == set(JOINT_FACTS)
    bodies = [replace(body, parent="world") if body.parent == "ground" else body for body in bodies]
    system = ArticulatedSystem(tuple(bodies), "world", (0.0, -9.8, 0.0), "parent", "all")
    model = Model(system, name="all", start_u=np.linspace(0, 1, system.nu).astype(np.longdouble))
    model.save(tmp_path / "all.toml")
    again = load_model(tmp_path / "all.toml")
    assert again == model
    assert again.content_key == model.content_key
    assert entries({"one": IntEnum("Choice", "one").one, "two": [True, -0.0]}) == ["one = 1", "two = [true, -0.0]"]


def test_the_example_is_a_model(tmp_path):
    model = load(tmp_path, GOOD)
    assert model.muscle_names == ("m1", "m2")
    assert model.system.nq == 7


test_mistakes_are_named_with_file_element_and_line = rejected(
    GOOD, "model.toml",
    ('body = "ground"', 'body = "chest"', "muscle 'm1': body 'chest' does not exist; known: ground, A, B", 21),
    ('name = "m2"', 'name = "m1"', "muscle 'm1': the name 'm1' is taken twice", 26),
    ('name = "B"', 'name = "A"', "body 'A': the name 'A' is taken twice", 13),
    ('parent = "A"', 'parent = "C"', "body 'B': parent 'C' is not a body", 13),
    ('parent = "ground"', 'parent = "B"', "body 'A': a cycle of parents: A -> B -> A", 6),
    ('body = "A", point = [1.0, 0.0, 0.0]', 'body = "B", point = [0.0, 0.1, 0.0]', "the same point", 26),
    ("mass = 1.0", "mas = 1.0", "body 'A': unknown key mas; allowed", 6),
    ("mass = 1.0", "mass = nan", "body 'A': mass must be a finite number, not nan", 6),
    ("mass = 1.0", "mass = -1.0", "mass must be finite and not negative", 6),
    ("mass = 1.0", "mass = true", "mass must be a finite number", 6),
    ("-1.0]", "inf]", "position must be a finite number, not inf", 13),
    ("-1.0]", "]", "position must be 3 finite numbers", 13),
    ('"YZX"', '"YZZ"', "body 'B': joint: unknown Euler sequence 'YZZ'", 13),
    ('"spherical"', '"ball"', "joint.type 'ball' is unknown", 6),
    ('type = "B", ', 'type = "C", ', "muscle 'm1': law.type 'C' is unknown; known: A, B", 21),
    ('type = "B", ', 'type = "Thelen", ', "law.type 'Thelen' is unknown, perhaps 'Thelen2003'; known: A, B", 21),
    ("optimal_length = 1.0", "optimal_length = 0.0", "optimal_length must be positive", 21),
    ("optimal_length = 1.0, ", "", "the key law.optimal_length is missing", 21),
    ("version = 1", "version = 2", "this reads 'myoquat-model' version 1", 1),
    ('format = "myoquat-model"\n', "", "the key format is missing", 1),
    ("mass = 1.0", "mass = ", "not valid TOML", 8),
    ('name = "m2"\n', "", "muscle number 2: the key name is missing", 25),
    times=1,
)  # fmt: skip


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b" \n\n", "the file is empty"),
        (b"\xff\xfd\x00\x01", "not a text file"),
        (b"\xff\xfea", "not a text file"),
        (b"a = " + b"[" * 100_000, "not valid TOML"),
        (b'{"format": 1}', "not valid TOML"),
        (b"bodies = 3\nformat = 'myoquat-model'\nversion = 1", "bodies must be an array of tables"),
        (
            b"format = 'myoquat-model'\nversion = 1\nbodies = []\nmuscles = [{name = 'm', path = {points = [], wraps = "
            b"[{type = 'side_cylinder'}]}}]",
            "wraps.type 'side_cylinder' is unknown.*`quadrant` and `rule` say on which side",
        ),
    ],
)
def test_files_that_are_no_models(tmp_path, content, message):
    with pytest.raises(ModelError, match=message):
        load(tmp_path, content)


def test_a_huge_file_a_directory_and_nothing(tmp_path):
    huge = tmp_path / "huge.toml"
    with huge.open("wb") as stream:
        stream.truncate(100 * 2**20)
    with pytest.raises(ModelError, match="100 MiB"):
        load_model(huge)
    with pytest.raises(ModelError, match="a directory"):
        load_model(tmp_path)
    with pytest.raises(ModelError, match="no such model file"):
        load_model(tmp_path / "missing.toml")


values = st.one_of(
    st.sampled_from(["true", "nan", "-inf", '""', "[]", "{}", "[[1]]", "1e400", "-1", '"A"', "1979-05-27", "0x10"]),
    st.integers().map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
)


@given(st.data(), values)
def test_a_mutated_file_is_a_model_or_a_model_error(tmp_path_factory, data, value):
    lines = GOOD.splitlines()
    at = data.draw(st.integers(0, len(lines) - 1))
    key = lines[at].split("=")[0]
    lines[at] = data.draw(st.sampled_from([f"{key} = {value}", f"{lines[at]}\n{lines[at]}", "", value]))
    with contextlib.suppress(ModelError):  # any other exception is a defect
        assert isinstance(load(tmp_path_factory.mktemp("fuzz"), "\n".join(lines)), Model)


def test_types_may_have_the_names_of_their_classes(tmp_path):
    """`ExponentialMuscle` is "B" in files, `SphericalJoint` "spherical"."""
    named = GOOD.replace('type = "B"', 'type = "ExponentialMuscle"').replace('"spherical"', '"SphericalJoint"')
    assert named != GOOD
    (tmp_path / "python").mkdir()
    assert load(tmp_path / "python", named).system == load(tmp_path, GOOD).system
    assert load(tmp_path / "python", named).muscles == load(tmp_path, GOOD).muscles


def test_warnings_name_the_line_that_calls_the_package(tmp_path):
    """However many functions of the package lie between."""
    (tmp_path / "arm.urdf").write_text('<robot><link name="arm"/><transmission name="drive"/></robot>')
    (tmp_path / "angles.csv").write_bytes(b"time,h\xfcfte\n0,1\n")
    for category, meet in (
        (UnsupportedWarning, lambda: load_model(tmp_path / "arm.urdf")),
        (UnwrittenWarning, lambda: load_model("two_link").save(tmp_path / "arm.xml")),
        (ImplausibleWarning, lambda: load_table(tmp_path / "angles.csv")),
    ):
        with pytest.warns(category) as caught:
            meet()
        assert [warning.filename for warning in caught] == [__file__]
