"""What a model file says of its coordinates beyond their places in q: ranges, locks, couplings; and its markers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from myoquat.joints.functions import AxisFunction
from myoquat.kernels.records import Record

__all__ = ["Coordinate", "Coupler", "Marker", "follow"]


@dataclass(frozen=True)
class Coordinate(Record):
    """A coordinate: its range [rad or m], whether it is held where it starts, and whether it stays in its range.

    Kept as data: the equations of motion leave every coordinate free, locked ones too.
    """

    name: str
    range: tuple[float, float] | None = None
    locked: bool = False
    clamped: bool = False


@dataclass(frozen=True)
class Coupler(Record):
    """dependent = scale function(independent): a constraint on two coordinates, by name."""

    name: str
    dependent: str
    independent: str
    function: AxisFunction
    scale: float = 1.0


def follow(couplers: Iterable[Coupler], names: Sequence[str], q: np.ndarray) -> None:
    """Set what couplers drive in q (..., nq), whose coordinates have these names, one coupler after the other."""
    for coupler in couplers:
        driver = q[..., names.index(coupler.independent)]
        q[..., names.index(coupler.dependent)] = coupler.scale * coupler.function.value(driver)


@dataclass(frozen=True)
class Marker(Record):
    """A named point of a body: position [m] in the body's frame."""

    name: str
    body: str
    position: tuple[float, ...]
