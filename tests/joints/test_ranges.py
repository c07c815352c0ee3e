"""Numbers and names that no system can have are refused in one sentence: the name, what is allowed, what came."""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
import pytest

from myoquat.joints import ArticulatedSystem, Body, EulerJoint, RevoluteJoint
from myoquat.joints.errors import ModelError
from myoquat.joints.ranges import Positive, Range, check_ranges
from tests.bodies import on_hinge

BODY = on_hinge("a", inertia=1.0)


def test_an_inertia_is_taken_as_it_stands_where_that_is_said():
    flat = replace(BODY, inertia=(1.0, 1.0, 3.0, 0.0, 0.0, 0.0), lenient_inertia=True)
    assert ArticulatedSystem((flat,)).bodies[0].inertia[2] == 3.0


def test_a_flat_body_and_rounded_numbers_pass():
    for inertia in ((1.0, 1.0, 2.0, 0.0, 0.0, 0.0), (1.0, 1.0, 2.000001, 0.0, 0.0, 0.0), (0.0,) * 6):
        ArticulatedSystem((replace(BODY, inertia=inertia),))


@pytest.mark.parametrize("second", [RevoluteJoint(), EulerJoint("XYZ")])
def test_two_coordinates_of_one_name(second):
    names = ("x", "y", "z")[: second.nq]
    bodies = (replace(BODY, coordinate_names=("x",)), Body("b", "a", second, coordinate_names=names))
    with pytest.raises(ModelError, match="body 'b': the coordinate 'x' is taken: body 'a' has one of this name"):
        ArticulatedSystem(bodies)


def test_one_joint_with_a_name_twice():
    with pytest.raises(ModelError, match="the coordinate 'x' is taken"):
        ArticulatedSystem((Body("a", "ground", EulerJoint("XYZ"), coordinate_names=("x", "y", "x")),))


@dataclass(frozen=True)
class Numbers:
    constant: ClassVar[float] = -1.0
    plain: float = 0.0
    size: Positive = 1.0
    angle: Annotated[float, Range(0.0, 1.5, open_high=True)] = 0.5
    above: Annotated[float, Range(1.0, open_low=True)] = 2.0
    below: Annotated[float, Range(high=3.0)] = 2.0
    open: Positive | None = None
    radii: Annotated[tuple[float, ...], Range(0.0, open_low=True)] = (1.0,)
    place: Annotated[tuple[float, ...], 3] | None = None
    span: tuple[float, float] | None = (-np.inf, np.inf)
    length: Annotated[float, Range(0.0, open_low=True, infinite=True)] = np.inf
    name: str = "n"


@pytest.mark.parametrize("number", [1, 1.0, np.int64(1), np.float32(1.0), np.float64(1.0)], ids=lambda x: str(type(x)))
def test_numbers_of_numpy_are_numbers(number):
    check_ranges(Numbers(plain=number, size=number, open=number), "e")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"plain": float("nan")}, "e: plain must be finite, not nan"),
        ({"size": 0.0}, "e: size must be positive and finite, not 0.0"),
        ({"angle": 1.5}, r"e: angle must be in \[0, 1.5\), not 1.5"),
        ({"angle": -1e-9}, r"e: angle must be in \[0, 1.5\), not -1e-09"),
        ({"above": 1.0}, "e: above must be finite and above 1, not 1.0"),
        ({"below": 3.1}, "e: below must be finite and at most 3, not 3.1"),
        ({"open": -1.0}, "e: open must be positive and finite, not -1.0"),
        ({"plain": None}, "e: plain must be finite, not None"),
        ({"plain": 1j}, "e: plain must be finite, not 1j"),
        ({"size": "1"}, "e: size must be positive and finite, not '1'"),
        ({"radii": None}, "e: radii must be numbers, not None"),
        ({"radii": np.ma.masked_array([1.0])}, "e: radii must be numbers, not a masked array"),
        ({"length": 0.0}, "e: length must be positive, not 0.0"),
        ({"radii": (1.0, 0.0)}, r"e: radii must be positive and finite, not \(1.0, 0.0\)"),
        ({"place": (0.0, 1.0)}, "e: place must be 3 finite numbers of at most 1e.30 in size, not .0.0, 1.0."),
        ({"place": (0.0, 1.0, np.nan)}, r"e: place must be 3 finite numbers, not \(0.0, 1.0, nan\)"),
        *[
            ({"span": x}, r"e: span must be \(low, high\) with low <= high, not .*")
            for x in [(1.0, 0.0), (0.0,), (np.nan, 1.0), (0.0, np.nan)]
        ],
    ],
)
def test_a_number_outside_its_range(changes, message):
    check_ranges(Numbers(), "e")
    with pytest.raises(ModelError, match=f"^{message}$"):
        check_ranges(Numbers(**changes), "e")


@pytest.mark.parametrize(
    ("given", "came"),
    [
        (np.zeros(1) + 0j, "complex128"),
        ([1j], "complex128"),
        ("0.5", "<U3"),
        (["0.5"], "<U3"),
        (np.ma.masked_array([0.5], mask=[True]), "a masked array"),
        (np.ma.masked_array([0.5]), "a masked array"),
        ([None], "it holds None"),
        (np.zeros(1, dtype="M8[s]"), "datetime64"),
    ],
    ids=["complex", "complex list", "text", "texts", "masked", "unmasked", "None", "times"],
)
def test_coordinates_that_are_no_numbers(given, came):
    system = ArticulatedSystem((BODY,))
    with pytest.raises(ValueError, match=f"^q: an array of real numbers or symbols is needed.*{came}"):
        system.check_q(given)
