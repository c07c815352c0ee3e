"""Ranges of a model's numbers, stated beside each number: in the type of its field.

    mass: NotNegative = 0.0
    pennation: Annotated[float, Range(0.0, math.pi / 2, open_high=True)] = 0.0

`check_ranges` holds a record to them, whatever file or program the record comes from. All numbers of files and models
are also at most MAX_NUMBER in size. No quantity comes near in SI units, and products of ten of them are finite.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from myoquat.core import Array, ArrayLike, frozen, holds_masked, warn_user
from myoquat.kernels import SymbolArray, as_array, is_symbolic

from .errors import CoordinateWarning, ModelError, OffSphereError

MAX_NUMBER = 1e30  # size of a number in a file or a model


def is_plausible(x: float) -> bool:
    """Whether a number of a file or a model is finite and at most MAX_NUMBER in size.

    >>> is_plausible(-9.81), is_plausible(1e308), is_plausible(float("nan"))
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


@frozen
class Range:
    """The finite numbers from low to high, or infinite ones too; an end belongs to the range unless it is open."""

    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False
    infinite: bool = False

    def holds(self, x: float) -> bool:
        """Whether x is in the range; NaN never is."""
        above = x > self.low if self.open_low else x >= self.low
        below = x < self.high if self.open_high else x <= self.high
        return above and below and (self.infinite or math.isfinite(x))

    def __str__(self) -> str:
        """What a number must be: 'finite and not negative', 'in [0, 1)'."""
        if math.isfinite(self.low) and math.isfinite(self.high):
            return f"in {'(' if self.open_low else '['}{self.low:.6g}, {self.high:.6g}{')' if self.open_high else ']'}"
        if math.isfinite(self.high):
            return f"finite and {'below' if self.open_high else 'at most'} {self.high:.6g}"
        if self.low == 0.0:
            words = "positive" if self.open_low else "not negative"
            return words if self.infinite else "positive and finite" if self.open_low else "finite and not negative"
        if math.isfinite(self.low):
            return f"finite and {'above' if self.open_low else 'at least'} {self.low:.6g}"
        return "a number" if self.infinite else "finite"


Bound = Annotated[float, Range(infinite=True)]
NotNegative = Annotated[float, Range(0.0)]
Positive = Annotated[float, Range(0.0, open_low=True)]
Fraction = Annotated[float, Range(0.0, 1.0)]
BelowOne = Annotated[float, Range(0.0, 1.0, open_high=True)]
AboveOne = Annotated[float, Range(1.0, open_low=True)]
AcuteAngle = Annotated[float, Range(0.0, math.pi / 2, open_high=True)]


@cache
def ranges_of(record_type: type) -> dict[str, tuple[Range, bool]]:
    """Of every field of a class that holds one float: its range, and whether it may be None."""
    return {name: (_stated(facts), optional) for name, (hint, facts, optional) in _hints(record_type) if hint is float}


@cache
def vectors_of(record_type: type) -> dict[str, tuple[Range, int | None, bool, bool]]:
    """Of every field of a class that holds floats in a tuple: their range, their number, None for any, whether they are
    in tuples of it, and whether it may be None. Two are an interval, whose ends may be infinite."""
    found = {}
    for name, (hint, facts, optional) in _hints(record_type):
        args = get_args(hint) if get_origin(hint) is tuple else ()
        nested = bool(args) and get_origin(args[0]) is tuple
        inner = get_args(args[0]) if nested else args
        if inner and {*inner} <= {float, Ellipsis}:
            sizes = [fact for fact in facts if isinstance(fact, int)]
            size = sizes[0] if sizes else None if Ellipsis in inner else len(inner)
            found[name] = _stated(facts), size, nested, optional
    return found


def _hints(record_type: type) -> Iterator[tuple[str, tuple[Any, tuple[Any, ...], bool]]]:
    """Of every field the type, what is annotated, and whether it may be None."""
    for name, hint in get_type_hints(record_type, include_extras=True).items():
        parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        own, *others = [part for part in parts if part is not NoneType] or [None]
        annotated = get_origin(own) is Annotated
        if not others:
            yield name, (get_args(own)[0] if annotated else own, get_args(own)[1:] * annotated, NoneType in parts)


def _stated(facts: tuple[Any, ...]) -> Range:
    return next((fact for fact in facts if isinstance(fact, Range)), Range())


def check_ranges(record: Any, element: str | None, what: str = "") -> None:
    """ModelError, or ValueError without an element, for the first number of a record that is outside its range, alone
    or in a vector; `what` stands before its name. A class may have pairs of fields, `ordered`, of which the first must
    not be above the second."""
    if message := _outside(record):
        raise ValueError(what + message) if element is None else ModelError(what + message, element=element)


def _outside(record: Any) -> str:
    """What is wrong with the first number that is outside its range; empty if there is none."""
    record_type: Any = type(record)
    for name, (allowed, optional) in ranges_of(record_type).items():
        value = getattr(record, name)
        if value is None and optional:
            continue
        if not isinstance(value, (int, float, np.integer, np.floating)) or not allowed.holds(float(value)):
            return f"{name} must be {allowed}, not {value!r}"
        if math.isfinite(value) and not is_plausible(float(value)):
            return f"{name} must be at most {MAX_NUMBER:g} in size, not {value!r}"
    for name, (allowed, size, nested, optional) in vectors_of(record_type).items():
        value = getattr(record, name)
        if holds_masked(value):
            return f"{name} must be numbers, not a masked array"
        if value is None and optional:
            continue
        for row in value if nested and isinstance(value, tuple) else (value,):
            if not isinstance(row, tuple):
                return f"{name} must be numbers, not {row!r}"
            if size == 2:
                if len(row) != 2 or not row[0] <= row[1]:
                    return f"{name} must be (low, high) with low <= high, not {row}"
            elif not all(isinstance(x, (int, float)) and is_plausible(x) for x in row) or size not in (None, len(row)):
                needed = f"{size} finite numbers" if size else "finite"
                return f"{name} must be {needed}{size_limit(row)}, not {row}"
            elif not all(map(allowed.holds, row)):
                return f"{name} must be {allowed}, not {row}"
    for low, high in getattr(record_type, "ordered", ()):
        first, second = getattr(record, low), getattr(record, high)
        if not first <= second:
            return f"{low} must not be above {high}, not {first} and {second}"
    return ""


# ---- Argument validation of a system: its arrays and numbers ------------------------------------------------------


UNIT_TOLERANCE = 1e-6  # bound of | |Q| - 1 | of a pose that enters a model
MAX_CHECKED_POSES = 64  # so many may have been typed or read from a file; more belong to a computed motion
MAX_PLAUSIBLE_ANGLE_RAD = 4 * np.pi  # [rad] no joint of a body gets there, degrees do soon

_warned: set[str] = set()


def warn_far(q: Array, angles: Sequence[tuple[int, str]]) -> None:
    """A CoordinateWarning, once for each name, if an angle (place in q, name) of a few poses is beyond two turns."""
    if is_symbolic(q) or q.size > MAX_CHECKED_POSES * q.shape[-1]:
        return
    for place, name in angles:
        most = np.abs(q[..., place]).max(initial=0.0)
        if most > MAX_PLAUSIBLE_ANGLE_RAD and name not in _warned:
            _warned.add(name)
            warn_user(
                f"coordinate {name!r} is {most:.4g} rad, {most / (2 * np.pi):.1f} turns: are these degrees? "
                "np.deg2rad(...) gives radians",
                CoordinateWarning,
            )


def check_array(name: str, x: ArrayLike) -> Array:
    """x as an array of float64 or of symbols; ValueError, with the name and what came, for anything else."""
    try:
        return as_array(x)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def check_state(name: str, x: ArrayLike, names: tuple[str, ...]) -> Array:
    """x as a finite float64 array (..., n) with `names` of its entries, or ValueError naming one. Symbols pass."""
    if isinstance(x, SymbolArray):
        return x
    array = check_array(name, x)
    if array.ndim == 0 or array.shape[-1] != len(names):
        raise ValueError(f"{name} has shape {array.shape}; expected (..., {len(names)})")
    if not is_symbolic(array) and not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name}{list(where)} ({names[where[-1]]}) is {array[where]}; finite numbers are needed")
    return array


def check_units(q: Array, indices: Array, names: tuple[str, ...], name: str = "q") -> None:
    """OffSphereError if a quaternion of q, at indices (k, 4), is off the unit sphere by more than the tolerance.

    `name` is that of q in the message.
    """
    if is_symbolic(q) or not len(indices):
        return
    Q = q[..., indices]
    defect = np.abs(np.sqrt(np.einsum("...i,...i", Q, Q)) - 1)
    if defect.max(initial=0.0) > UNIT_TOLERANCE:
        *where, k = (int(i) for i in np.argwhere(defect > UNIT_TOLERANCE)[0])
        raise OffSphereError(
            f"{name}{where or ''}: the quaternion ({names[indices[k, 0]]} ... {names[indices[k, 3]]}) has length "
            f"{np.linalg.norm(Q[(*where, k)]):.9g}; it must be 1 to within {UNIT_TOLERANCE:g} "
            "(joints.normalize makes it so; scalar first: joints.quaternion_from_scalar_last converts)"
        )
