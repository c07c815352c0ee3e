"""Ranges of a model's numbers, stated beside each number: in the type of its field.

    mass: NotNegative = 0.0
    pennation: Annotated[float, Range(0.0, math.pi / 2, open_high=True)] = 0.0

`check_ranges` holds a record to them, whatever file or program the record comes from. All numbers of files and models
are also at most MAX_NUMBER in size. No quantity comes near in SI units, and products of ten of them are finite.
"""

import math
from collections.abc import Iterable, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from myoquat.core.records import dataclass
from myoquat.joints.errors import ModelError

__all__ = [
    "MAX_NUMBER",
    "Fraction",
    "NotNegative",
    "Positive",
    "Range",
    "check_interval",
    "check_ranges",
    "check_vector",
    "is_plausible",
    "ranges_of",
    "size_limit",
]

MAX_NUMBER = 1e30  # size of a number in a file or a model


def is_plausible(x: float) -> bool:
    """Whether a number of a file or a model is finite and at most MAX_NUMBER in size.

    >>> is_plausible(-9.81), is_plausible(1e308), is_plausible(math.nan)
    (True, False, False)
    """
    return -MAX_NUMBER <= x <= MAX_NUMBER


def size_limit(values: Iterable[object]) -> str:
    """For the message about numbers that are not plausible: their greatest size, if they are finite."""
    finite = all(isinstance(x, (int, float)) and math.isfinite(x) for x in values)
    return f" of at most {MAX_NUMBER:g} in size" if finite else ""


def check_vector(rule: str, values: Sequence[float], size: int = 3, element: str | None = None) -> None:
    """ModelError unless `values` holds as many plausible numbers as `size` says.

    The message begins with the rule, such as "position must be three finite numbers".
    """
    if len(values) != size or not all(map(is_plausible, values)):
        raise ModelError(f"{rule}{size_limit(values)}, not {values}", element=element)


@dataclass(frozen=True)
class Range:
    """The finite numbers from low to high; an end belongs to the range unless it is open."""

    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False

    def holds(self, x: float) -> bool:
        """Whether x is in the range; NaN and infinities never are."""
        above = x > self.low if self.open_low else x >= self.low
        below = x < self.high if self.open_high else x <= self.high
        return above and below and math.isfinite(x)

    def __str__(self) -> str:
        """What a number must be: 'finite and not negative', 'in [0, 1)'."""
        if math.isfinite(self.low) and math.isfinite(self.high):
            return f"in {'(' if self.open_low else '['}{self.low:.6g}, {self.high:.6g}{')' if self.open_high else ']'}"
        if math.isfinite(self.high):
            return f"finite and {'below' if self.open_high else 'at most'} {self.high:.6g}"
        if self.low == 0.0:
            return "positive and finite" if self.open_low else "finite and not negative"
        if math.isfinite(self.low):
            return f"finite and {'above' if self.open_low else 'at least'} {self.low:.6g}"
        return "finite"


NotNegative = Annotated[float, Range(0.0)]
Positive = Annotated[float, Range(0.0, open_low=True)]
Fraction = Annotated[float, Range(0.0, 1.0)]


@cache
def ranges_of(record_type: type) -> dict[str, tuple[Range, bool]]:
    """Of every field of a class that holds one float: its range, and whether it may be None."""
    found = {}
    for name, hint in get_type_hints(record_type, include_extras=True).items():
        parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        numbers = [part for part in parts if part is not NoneType]
        if len(numbers) == 1 and (allowed := _stated(numbers[0])) is not None:
            found[name] = allowed, NoneType in parts
    return found


def _stated(hint: Any) -> Range | None:
    """The range of a float's type; None for another type."""
    if get_origin(hint) is not Annotated:
        return Range() if hint is float else None
    record_type, *facts = get_args(hint)
    if record_type is not float:
        return None
    return next((fact for fact in facts if isinstance(fact, Range)), Range())


def check_ranges(record: Any, element: str | None, what: str = "") -> None:
    """ModelError for the first number of a record that is outside its range; `what` stands before its name."""
    record_type: Any = type(record)
    for name, (allowed, optional) in ranges_of(record_type).items():
        value = getattr(record, name)
        if value is None and optional:
            continue
        if not isinstance(value, (int, float)) or not allowed.holds(value):
            raise ModelError(f"{what}{name} must be {allowed}, not {value!r}", element=element)
        if not is_plausible(value):
            raise ModelError(f"{what}{name} must be at most {MAX_NUMBER:g} in size, not {value!r}", element=element)


def check_interval(interval: tuple[float, ...], element: str, what: str = "range") -> None:
    """ModelError unless (low, high) are two numbers, of which infinite ones are allowed, in this order."""
    if len(interval) != 2 or not interval[0] <= interval[1]:
        raise ModelError(f"{what} must be (low, high) with low <= high, not {interval}", element=element)
