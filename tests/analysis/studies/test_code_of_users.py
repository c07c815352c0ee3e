"""Studies of laws that a user writes: what such code reads belongs to what a store's blocks were computed with."""

import functools
import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import myoquat as mq
from myoquat.analysis.studies import StoreError, Study
from myoquat.analysis.studies.cluster import ClusterError, _sent
from myoquat.analysis.studies.engine import user_code
from myoquat.muscle.laws import ForceLaw
from tests.bodies import with_muscles

GAIN = 10.0
STREAM = np.random.default_rng(0)
THIS = sys.modules[__name__]


def rising(x, slope=2.0):
    return slope * x


@dataclass(frozen=True)
class Cord(ForceLaw):
    kind: ClassVar[str] = "cord"
    stiffness: ClassVar[float] = 5.0

    def force(self, length, speed, activation, state=None):
        return self.stiffness * GAIN * rising(length)


class Noise:
    """A stiffness that no two calls share."""

    def __get__(self, owner, cls):
        return float(STREAM.random())


@dataclass(frozen=True)
class Unrepeatable(Cord):
    stiffness: ClassVar = Noise()


def study_of(law):
    model = with_muscles(mq.load_model("two_link"), law=law)
    vary = {"bodies.B.mass": {"uniform": [4.0, 6.0]}}
    return Study(model, vary, samples=4, duration=0.01, summaries=("peak_force",), activation=[0.0] * 6)


def half_done(path, law):
    """A store with the first of two blocks."""
    study_of(law).run(path, block=2, threads=1)
    (path / "status" / "c" / "1").unlink()
    return path


CHANGES = {
    "a class attribute": (Cord, "stiffness", 7.0),
    "a global": (THIS, "GAIN", 20.0),
    "a helper": (THIS, "rising", lambda x: 3.0 * x),
    "a default": (rising, "__defaults__", (4.0,)),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_study_whose_own_code_changed_is_not_resumed(tmp_path, monkeypatch, what):
    target, name, value = CHANGES[what]
    path = half_done(tmp_path / "results", Cord())
    monkeypatch.setattr(target, name, value)
    with pytest.raises(StoreError, match="holds results of other code") as error:
        study_of(Cord()).run(path, resume=True)
    assert "user code: programs: " in str(error.value)


def test_a_study_whose_own_code_is_the_same_is_resumed(tmp_path):
    whole = study_of(Cord()).run()
    path = half_done(tmp_path / "results", Cord())
    again = study_of(Cord()).run(path, resume=True)
    np.testing.assert_array_equal(again.peak_force, whole.peak_force)


def test_a_study_in_memory_follows_a_class_attribute(monkeypatch):
    before = study_of(Cord()).run().peak_force
    monkeypatch.setattr(Cord, "stiffness", 10.0)
    after = study_of(Cord()).run().peak_force
    assert (after / before).values == pytest.approx(2.0, rel=0.1)


def test_code_that_is_another_at_every_call_is_not_resumed(tmp_path):
    path = half_done(tmp_path / "results", Unrepeatable())
    with pytest.raises(StoreError, match="holds results of other code"):
        study_of(Unrepeatable()).run(path, resume=True)


def test_studies_of_the_package_alone_have_no_code_of_users():
    assert user_code(Study("two_link", {"bodies.B.mass": {"uniform": [4.0, 6.0]}}, samples=4, duration=0.01)) == {}


def test_a_worker_with_other_code_of_users_says_so(monkeypatch):
    study = study_of(Cord())
    code = user_code(study)
    monkeypatch.setattr("myoquat.analysis.studies.cluster.arguments_of", lambda _: {})
    monkeypatch.setattr("myoquat.analysis.studies.cluster.Specification", functools.partial(study_of, Cord()))
    assert _sent("{}", code).model.content_key == study.model.content_key
    monkeypatch.setattr(Cord, "stiffness", 7.0)
    with pytest.raises(ClusterError, match="other code of users: programs"):
        _sent("{}", code)
