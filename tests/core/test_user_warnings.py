"""Warnings name the user's line, whatever of the standard library stands between it and the package."""

import warnings
from dataclasses import dataclass, replace

import pytest

import myoquat as mq
from myoquat.data import Motion
from myoquat.dynamics import simulate
from myoquat.dynamics.simulation.results import trajectory
from myoquat.joints import CoordinateWarning
from myoquat.joints.types import RevoluteJoint
from myoquat.muscle.coordinates import Coordinate


@dataclass(frozen=True)
class NamedMotion(Motion):
    """A class of a user, whose initializer `dataclasses` writes."""

    title: str = ""


def locked_arm():
    """A model that locks its only coordinate at zero."""
    arm = mq.Body("arm", "ground", RevoluteJoint(), coordinate_names=("hip",))
    return mq.Model(mq.ArticulatedSystem((arm,)), coordinates=(Coordinate("hip", locked=True),), start_q=(0.0,))


@pytest.mark.parametrize("make", [
    lambda model, motion: replace(motion, system=model),
    lambda model, motion: NamedMotion(model, motion.time, motion.q),
])  # fmt: skip
def test_classes_of_the_standard_library_are_passed_over(make):
    model = locked_arm()
    with pytest.warns(CoordinateWarning) as caught:
        make(model, Motion(model.system, [0.0, 0.1], [[1.0], [1.0]]))
    assert [warning.filename for warning in caught] == [__file__]


def test_cached_properties_are_passed_over(monkeypatch):
    monkeypatch.setattr(trajectory, "push_message", lambda *_: "a muscle pushes")
    model = mq.load_model("two_link")
    found = simulate(model, model.start, [0.0] * model.system.nu, 0.01)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert found.forces.size
    assert [warning.filename for warning in caught] == [__file__]
