"""Model files are data from strangers: every mistake is one ModelError that says where."""

import contextlib
import re
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from myoquat.data import load_model
from myoquat.joints import ArticulatedSystem, Body, ModelError
from myoquat.joints.multibody.body import Shape
from myoquat.joints.types import JOINT_FACTS, Dependent, GimbalJoint, RevoluteJoint
from myoquat.muscle import Model
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
    model = Model(system, name="all")
    model.save(tmp_path / "all.toml")
    again = load_model(tmp_path / "all.toml")
    assert again == model
    assert again.content_key == model.content_key


def test_the_example_is_a_model(tmp_path):
    model = load(tmp_path, GOOD)
    assert model.muscle_names == ("m1", "m2")
    assert model.system.nq == 7


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ('body = "ground"', 'body = "chest"', 21, "muscle 'm1': body 'chest' does not exist; known: ground, A, B"),
        ('name = "m2"', 'name = "m1"', 26, "muscle 'm1': the name 'm1' is taken twice"),
        ('name = "B"', 'name = "A"', 13, "body 'A': the name 'A' is taken twice"),
        ('parent = "A"', 'parent = "C"', 13, "body 'B': parent 'C' is not a body"),
        ('parent = "ground"', 'parent = "B"', 6, "body 'A': a cycle of parents: A -> B -> A"),
        ('body = "A", point = [1.0, 0.0, 0.0]', 'body = "B", point = [0.0, 0.1, 0.0]', 26, "the same point"),
        ("mass = 1.0", "mas = 1.0", 6, "body 'A': unknown key mas; allowed"),
        ("mass = 1.0", "mass = nan", 6, "body 'A': mass must be a finite number, not nan"),
        ("mass = 1.0", "mass = -1.0", 6, "mass must be finite and not negative"),
        ("mass = 1.0", "mass = true", 6, "mass must be a finite number"),
        ("-1.0]", "inf]", 13, "position must be a finite number, not inf"),
        ("-1.0]", "]", 13, "position must be 3 finite numbers"),
        ('"YZX"', '"YZZ"', 13, "body 'B': joint: unknown Euler sequence 'YZZ'"),
        ('"spherical"', '"ball"', 6, "joint.type 'ball' is unknown"),
        ('type = "B", ', 'type = "C", ', 21, "muscle 'm1': law.type 'C' is unknown; known: A, B"),
        ('type = "B", ', 'type = "Thelen", ', 21, "law.type 'Thelen' is unknown, perhaps 'Thelen2003'; known: A, B"),
        ("optimal_length = 1.0", "optimal_length = 0.0", 21, "optimal_length must be positive"),
        ("optimal_length = 1.0, ", "", 21, "the key law.optimal_length is missing"),
        ("version = 1", "version = 2", 1, "this reads 'myoquat-model' version 1"),
        ('format = "myoquat-model"\n', "", 1, "the key format is missing"),
        ("mass = 1.0", "mass = ", 8, "not valid TOML"),
        ('name = "m2"\n', "", 25, "muscle number 2: the key name is missing"),
    ],
)
def test_mistakes_are_named_with_file_element_and_line(tmp_path, old, new, line, message):
    assert old in GOOD
    with pytest.raises(ModelError, match=re.escape(message)) as caught:
        load(tmp_path, GOOD.replace(old, new, 1))
    assert caught.value.line == line
    assert str(caught.value).startswith(str(tmp_path / "model.toml"))


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
