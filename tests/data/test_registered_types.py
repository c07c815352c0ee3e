"""Joint and force types of other packages in TOML files: registered ones are read again, others raise an error."""

import importlib
import subprocess
import sys
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest

import myoquat as mq
from myoquat.data import load_model
from myoquat.data.toml import records
from myoquat.dynamics.simulation.results.trajectory_files import constraints_text, parse_constraints
from myoquat.joints import ModelError, RevoluteJoint
from myoquat.muscle.laws import ExponentialMuscle, PathSpring

MODULE = """
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from myoquat.joints import CoordinateJoint, JointFacts, RevoluteJoint
from myoquat.joints.constraints import Weld
from myoquat.muscle.forces import CoordinateSpring
from myoquat.muscle.laws import PathSpring

FACTS = JointFacts("lift", ("height",), ("m",), "joint z", ("speed",), ("m/s",), "joint z")


@dataclass(frozen=True)
class Lift(CoordinateJoint):
    kind: ClassVar[str] = "lift"
    gear: float = 1.0

    @property
    def facts(self):
        return FACTS

    def transform(self, q):
        return np.eye(3), self.gear * np.array([0.0, 0.0, 1.0]) * q[..., :1]

    def subspace(self, q):
        return np.zeros((3, 1)), np.array([[0.0], [0.0], [self.gear]])


@dataclass(frozen=True)
class Bungee(PathSpring):
    kind: ClassVar[str] = "bungee"


@dataclass(frozen=True)
class Band(CoordinateSpring):
    pass


@dataclass(frozen=True)
class Glue(Weld):
    pass


class Plain(Lift):
    kind = "plain"


@dataclass(frozen=True)
class ExponentialMuscle(PathSpring):
    kind: ClassVar[str] = "B"
"""
ENTRIES = """
[myoquat.joints]
lift = straps.parts:Lift
glue = straps.parts:Glue
plain = straps.parts:Plain
elevator = straps.parts:Lift
broken = straps.broken:Broken
missing = straps.parts:Missing
bungee = straps.parts:Bungee

[myoquat.forces]
bungee = straps.parts:Bungee
band = straps.parts:Band

[console_scripts]
tool = straps.broken:main
"""


@pytest.fixture
def straps(tmp_path, monkeypatch):
    """The module of an installed distribution that registers a joint, a constraint, a force and a force law."""
    package, metadata = tmp_path / "straps", tmp_path / "straps-1.0.dist-info"
    package.mkdir()
    metadata.mkdir()
    (package / "__init__.py").touch()
    (package / "parts.py").write_text(MODULE)
    (package / "broken.py").write_text("raise RuntimeError('no licence')")
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: straps\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(ENTRIES)
    monkeypatch.syspath_prepend(tmp_path)
    records._found_entry_point.cache_clear()
    yield importlib.import_module("straps.parts")
    records._found_entry_point.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "straps"]:
        del sys.modules[name]


def model_with(joint=None, law=None, forces=()):
    body = mq.Body("rod", "ground", joint or RevoluteJoint((0, 1, 0)), mass=1.0, inertia=(1, 1, 1, 0, 0, 0))
    path = (mq.muscle.PathPoint("ground", (0.1, 0.0, 0.4)), mq.muscle.PathPoint("rod", (0.3, 0.0, 0.0)))
    return mq.Model(mq.ArticulatedSystem((body,)), (mq.Muscle("biceps", path, law),), forces=forces)


# ---- registered types --------------------------------------------------------------------------------------


def test_registered_types_are_read_as_they_were_written(straps, tmp_path):
    forces = (straps.Band("strap", "rod.height", stiffness=3.0),)
    model = model_with(straps.Lift(gear=2.0), straps.Bungee(50.0, 0.2), forces)
    model.save(tmp_path / "own.toml")
    again = load_model(tmp_path / "own.toml")
    assert again == model
    assert type(again.muscles[0].law) is straps.Bungee
    np.testing.assert_allclose(mq.path_lengths(again, [0.3]), [np.hypot(0.2, 0.2)], rtol=1e-15)


def test_a_new_process_reads_registered_types(straps, tmp_path):
    """It imports the module when the file names the type, not before."""
    model_with(straps.Lift(gear=2.0)).save(tmp_path / "own.toml")
    code = (
        "import sys, myoquat as mq; mq.load_model('two_link'); assert 'straps' not in sys.modules; "
        "print(mq.load_model('own.toml').system.bodies[0].joint)"
    )
    call = [sys.executable, "-c", f"import sys; sys.path.insert(0, '.'); {code}"]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, encoding="utf-8", check=True)
    assert done.stdout.strip() == "Lift(gear=2.0)"


def test_registered_constraints_of_a_trajectory_are_read(straps, tmp_path):
    glue = straps.Glue("ground", "rod")
    assert parse_constraints(constraints_text([glue]), tmp_path) == (glue,)


# ---- errors when a model is saved --------------------------------------------------------------------------


OWN = SimpleNamespace(__name__=__name__)  # the types of the module, which no package registers
exec(MODULE, vars(OWN))


class Derived(ExponentialMuscle):
    """Not a dataclass itself."""


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (model_with(OWN.Lift()), ["body 'rod'", "'lift'", "class Lift", '"myoquat.joints"]: lift = "']),
        (
            model_with(law=OWN.Bungee(1.0, 0.1)),
            ["muscle 'biceps'", "'bungee'", '"myoquat.forces"]: bungee = "', "Bungee"],
        ),
        (model_with(forces=(OWN.Band("t", "rod.angle", 1.0),)), ["force 't'", "'band'", '"myoquat.forces"]: band = "']),
        (replace(model_with(), constraints=(OWN.Glue("ground", "rod"),)), ["constraint number 1", "'glue'"]),
        (
            model_with(law=OWN.ExponentialMuscle(1.0, 0.1)),
            ["muscle 'biceps'", "ExponentialMuscle has this type", "a `kind` of its own"],
        ),
        (model_with(law=Derived(1.0, 1.0)), ["muscle 'biceps'", "class Derived", "ExponentialMuscle has this type"]),
    ],
    ids=["joint", "law", "force", "constraint", "type of the package", "no dataclass"],
)
def test_an_unregistered_type_raises_when_saved(model, words, tmp_path):
    with pytest.raises(ModelError) as raised:
        model.save(tmp_path / "own.toml")
    assert all(word in str(raised.value) for word in words), raised.value
    assert not (tmp_path / "own.toml").exists()


def test_an_unregistered_constraint_of_a_trajectory_raises():
    with pytest.raises(ModelError, match="constraint 1: its type 'glue'"):
        constraints_text([OWN.Glue("ground", "rod")])


def test_a_class_that_takes_the_type_of_a_registered_one_raises_when_saved(straps, tmp_path):
    taken = dataclass(frozen=True)(type("Bungee", (PathSpring,), {"kind": "bungee"}))
    with pytest.raises(ModelError, match=r"bungee = 'straps.parts:Bungee' of straps .* registers another class"):
        model_with(law=taken(1.0, 0.1)).save(tmp_path / "own.toml")


# ---- errors when a file is read ----------------------------------------------------------------------------


def read_with(tmp_path, model, old, new):
    """Save, change a type in the text, load."""
    model.save(tmp_path / "own.toml")
    text = (tmp_path / "own.toml").read_text()
    assert old in text
    (tmp_path / "own.toml").write_text(text.replace(old, new))
    return load_model(tmp_path / "own.toml")


@pytest.mark.parametrize("kind", ["hoist", "tool", "band", "straps.broken:Broken", "os:system", "../broken"])
def test_a_file_cannot_name_what_is_not_registered_for_it(straps, tmp_path, kind):
    """Neither classes of this process, nor entry points of other groups, nor modules; nothing is imported."""
    with pytest.raises(ModelError, match=r"own\.toml:\d+: body 'rod': joint\.type .* is unknown; .*'myoquat\.joints'"):
        read_with(tmp_path, model_with(), 'type = "revolute"', f'type = "{kind}"')
    assert "straps.broken" not in sys.modules


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("broken", "cannot be imported: RuntimeError: no licence"),
        ("missing", "cannot be imported: AttributeError"),
        ("bungee", "must name a concrete dataclass that extends Joint"),
        ("plain", "must name a concrete dataclass that extends Joint"),
        ("elevator", "must have the name 'lift'"),
    ],
)
def test_a_wrong_entry_point_raises_when_a_file_names_it(straps, tmp_path, kind, words):
    with pytest.raises(ModelError, match=f"body 'rod': the entry point {kind} = .* of straps .*{words}"):
        read_with(tmp_path, model_with(), 'type = "revolute"', f'type = "{kind}"')


def test_two_classes_registered_under_one_type_raise(straps, tmp_path):
    other = tmp_path / "belts-1.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: belts\nVersion: 1.0\n")
    (other / "entry_points.txt").write_text("[myoquat.joints]\nlift = belts:Lift\n")
    importlib.invalidate_caches()
    with pytest.raises(ModelError, match="several entry points register this type: "):
        read_with(tmp_path, model_with(), 'type = "revolute"', 'type = "lift"')
