"""The numbers of variables and of whole programs by name: records of the columns of a program's buffers."""

from typing import NamedTuple

import numpy as np

from myoquat.core.typing import Array

__all__ = ["About", "Balance", "Fixed", "Squares", "State", "Way"]


class Fixed(NamedTuple):
    """What does not change of variables (...): weight, bounds, or zero where there is none, `has` (..., 2), 1 where
    there is a lower and an upper one, a length by which small numbers are told, and the power, where powers differ."""

    weight: Array
    low: Array
    high: Array
    has: Array
    root: Array
    power: Array | None

    @classmethod
    def of(cls, columns: Array) -> "Fixed":
        """The record of columns (..., 6 or 7)."""
        power = columns[..., 6] if columns.shape[-1] > 6 else None
        return cls(columns[..., 0], columns[..., 1], columns[..., 2], columns[..., 3:5], columns[..., 5], power)

    def columns(self) -> Array:
        """Its columns (..., 6 or 7)."""
        parts = (self.weight, self.low, self.high, self.has[..., 0], self.has[..., 1], self.root)
        return np.stack(parts if self.power is None else (*parts, self.power), axis=-1)

    @staticmethod
    def width(with_power: bool) -> int:
        """How many columns there are."""
        return 7 if with_power else 6


class State(NamedTuple):
    """Where variables (...) are: x, `room` (..., 2), the distances from the lower and the upper bound, and `bound`
    (..., 2), the multipliers of these."""

    x: Array
    room: Array
    bound: Array

    @staticmethod
    def width() -> int:
        """How many columns there are."""
        return 5

    @classmethod
    def of(cls, columns: Array) -> "State":
        """The record of columns (..., 5)."""
        return cls(columns[..., 0], columns[..., 1:3], columns[..., 3:5])

    def columns(self) -> Array:
        """Its columns (..., 5)."""
        return np.concatenate([self.x[..., None], self.room, self.bound], axis=-1)


class Way(NamedTuple):
    """The conditions of variables (...), linearized: what the gradient leaves, one over the curvature, what pulls on x,
    and the price."""

    stationary: Array
    softness: Array
    pull: Array
    price: Array

    @staticmethod
    def width() -> int:
        """How many columns there are."""
        return 4

    @classmethod
    def of(cls, columns: Array) -> "Way":
        """The record of columns (..., 4)."""
        return cls(*(columns[..., k] for k in range(cls.width())))


class Balance(NamedTuple):
    """Sums over all variables (...): products of bounds' multipliers and distances; what gradients leave; the
    objective; its least at this price; the greatest price times x; and the size of that."""

    products: Array
    unbalanced: Array
    objective: Array
    least: Array
    most: Array
    size: Array

    @staticmethod
    def width() -> int:
        """How many columns there are."""
        return 6

    @classmethod
    def of(cls, columns: Array) -> "Balance":
        """The record of columns (..., 6)."""
        return cls(*(columns[..., k] for k in range(cls.width())))


class About(NamedTuple):
    """What does not change of a program (...): the number of products, that of bounds, the greatest weight, an
    objective that counts as small, and the mean product that gradients which do not balance stand for."""

    products: Array
    bounds: Array
    greatest: Array
    small: Array
    balance: Array

    @classmethod
    def of(cls, columns: Array) -> "About":
        """The record of columns (..., 5)."""
        return cls(*(columns[..., k] for k in range(5)))


class Squares(NamedTuple):
    """What does not change of variables (...) of a weighted sum of squares: 1 / (2 w), bounds, w and gain."""

    softness: Array
    low: Array
    high: Array
    weight: Array
    gain: Array

    @staticmethod
    def width() -> int:
        """How many columns there are."""
        return 5

    @classmethod
    def of(cls, columns: Array) -> "Squares":
        """The record of columns (..., 5)."""
        return cls(*(columns[..., k] for k in range(cls.width())))
