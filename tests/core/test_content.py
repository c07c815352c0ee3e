"""Digests of content: equal for equal numbers, different for any others, whatever is printed."""

import enum
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from myoquat.core import FOREIGN, Record, content_digest, content_key
from myoquat.joints import RevoluteJoint

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4).map(tuple) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@dataclass(frozen=True)
class Point(Record):
    name: str
    place: tuple[float, ...]
    weight: float = 1.0
    number: int | None = None
    comment: str = field(default="", compare=False)


@dataclass(frozen=True)
class Other(Record):
    name: str
    place: tuple[float, ...]
    weight: float = 1.0
    number: int | None = None


class Colour(enum.IntEnum):
    RED = 1


def _bits(value: object) -> object:
    """The value with types and bits written out, by which digests must tell values apart."""
    if isinstance(value, tuple):
        return ("tuple", *map(_bits, value))
    if isinstance(value, dict):
        return ("dict", frozenset((key, _bits(inner)) for key, inner in value.items()))
    return (type(value).__name__, value.hex() if isinstance(value, float) else value)


@given(plain, plain)
@example(0.0, -0.0)
@example(1, 1.0)
@example(1, True)
@example(0.1, math.nextafter(0.1, 1.0))
def test_digests_are_equal_where_the_bits_are(a: object, b: object) -> None:
    assert (content_digest(a) == content_digest(b)) == (_bits(a) == _bits(b))
    assert content_digest(a, b) != content_digest((a, b), None)


@pytest.mark.parametrize("same", [np.float64(0.5), np.float32(0.5), np.array(0.5), np.float16(0.5)])
def test_numbers_of_numpy_count_as_pythons(same: object) -> None:
    assert content_digest(same) == content_digest(0.5)


def test_arrays_count_as_tuples() -> None:
    assert content_digest(np.array([[1.0, 2.0], [3.0, 4.0]])) == content_digest(((1.0, 2.0), (3.0, 4.0)))
    assert content_digest(np.array([1, 2], dtype=np.int32)) == content_digest((1, 2)) == content_digest([1, 2])
    assert content_digest(np.array(["a"])) == content_digest(("a",))


def test_printing_plays_no_part() -> None:
    many = np.arange(5000.0)
    with np.printoptions(precision=3):
        assert content_digest(np.array([0.5])) != content_digest(np.array([0.5004]))
        assert content_digest(many) != content_digest(np.where(many == 2500, 0.5, many))


def test_nan_is_refused() -> None:
    for value in (np.nan, (1.0, np.nan), np.array([np.nan]), Point("p", (np.nan,))):
        with pytest.raises(ValueError, match="NaN"):
            content_digest(value)


def test_classes_do_not_collide() -> None:
    assert content_digest(Point("p", (1.0,))) != content_digest(Other("p", (1.0,)))
    assert content_digest(Colour.RED) != content_digest(1)
    assert content_digest(("a", "b")) != content_digest("ab", "")


def test_what_is_not_compared_does_not_count() -> None:
    assert content_digest(Point("p", (1.0,), comment="first")) == content_digest(Point("p", (1.0,), comment="second"))


@pytest.mark.parametrize(
    "unknown",
    [np.sin, lambda x: x, object(), {1, 2}, 1j, np.array([1j]), np.longdouble(1), np.ma.array([1.0]), Point],
    ids=lambda unknown: type(unknown).__name__,  # no addresses: every worker must collect the same names
)
def test_value_without_content_raises_an_error_that_names_it(unknown: object) -> None:
    with pytest.raises(TypeError, match="has no content that could be compared"):
        content_digest(("a", unknown))


def test_a_digest_says_that_the_code_of_a_class_is_not_of_the_package() -> None:
    assert content_digest(Point("p", (1.0,))).startswith(FOREIGN)
    assert content_digest(content_digest(Point("p", (1.0,)))).startswith(FOREIGN)
    assert not content_digest(RevoluteJoint((0, 1, 0)), RevoluteJoint, 2.0).startswith(FOREIGN)


@dataclass(frozen=True)
class Formula(Record):
    formula: Callable[[float], float]
    at: tuple[float, ...]


def test_keys_take_functions_by_identity() -> None:
    assert content_key(Formula(np.sin, (1.0,))) == content_key(Formula(np.sin, np.array([1.0])))  # type: ignore[arg-type]
    assert content_key(Formula(np.sin, (0.0,))) != content_key(Formula(np.sin, (-0.0,)))
    assert content_key(Formula(np.sin, (1.0,))) != content_key(Formula(np.cos, (1.0,)))
    assert content_key((Formula(np.sin, ()),)) != content_key(Formula(np.sin, ()))
    assert content_key(Point("p", (1.0,))) == content_digest(Point("p", (1.0,)))


def test_records_hold_pythons_numbers_and_tuples() -> None:
    made = Point("p", np.array([1, 2]), np.int64(3), np.int32(4))  # type: ignore[arg-type]
    assert made == Point("p", (1.0, 2.0), 3.0, 4)
    assert [type(x) for x in (*made.place, made.weight, made.number)] == [float, float, float, int]
    assert content_digest(made) == content_digest(Point("p", [1, 2], 3, 4))  # type: ignore[arg-type]
    assert Point("p", (1.0, 10**400)).place[1] == 10**400, "left to the checks of the class"
    several = np.array([1.0, 2.0])
    assert Point("p", (), several).weight is several, "left to the checks of the class"  # type: ignore[arg-type]
