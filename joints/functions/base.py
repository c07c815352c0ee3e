"""What a function of one coordinate must answer."""

from abc import ABC, abstractmethod

import numpy as np

from myoquat.core import Array, Record
from myoquat.joints.ranges import check_ranges


class AxisFunction(Record, ABC):
    """A function f(x) of a coordinate or the time x (...), floats or symbols, twice differentiable but at its `kinks`.

    Implementations are frozen dataclasses of numbers, so that equal joints have equal descriptions.

    >>> from myoquat.joints.functions import AxisFunction, Linear, Polynomial
    >>> all(isinstance(f, AxisFunction) for f in (Linear(2.0), Polynomial((0.0, 1.0))))
    True
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ranges(self, None, f"{type(self).__name__}: ")

    @property
    def kinks(self) -> tuple[float, ...]:
        """Where the function or its slope jumps, increasing: where an adaptive method does well to stop."""
        return ()

    @property
    def as_polynomial(self) -> tuple[float, ...] | None:
        """Its coefficients as a polynomial, the constant first; None for a function that is none."""
        return None

    @property
    def as_line(self) -> tuple[float, float] | None:
        """(factor, offset) of f(x) = factor x + offset; None for another function."""
        found = self.as_polynomial
        return (found[1], found[0]) if found is not None and len(found) == 2 else None

    @property
    def as_constant(self) -> float | None:
        """The value of a function that does not vary; None for another one."""
        found = self.as_polynomial
        return None if found is None or any(found[1:]) else sum(found[:1])

    @abstractmethod
    def value(self, x: Array) -> Array:
        """(...) f(x)."""

    @abstractmethod
    def slope(self, x: Array) -> Array:
        """(...) df/dx."""

    @abstractmethod
    def curvature(self, x: Array) -> Array:
        """(...) d2f/dx2."""

    def integral(self, x: Array) -> Array:
        """(...) the integral of f from 0 to x; NotImplementedError where a function does not define it."""
        raise NotImplementedError(f"{type(self).__name__} does not define its integral")


# ---- How limits set in: smoothly, as OpenSim's CoordinateLimitForce does ------------------------------------------


def engaged(depth: Array, transition: float) -> Array:
    """(...) s(d) = 10 z^3 - 15 z^4 + 6 z^5, z = d / t within [0, 1]: from 0 to 1 over the transition t."""
    z = np.clip(depth / transition, 0.0, 1.0)
    return z * z * z * (10 - z * (15 - 6 * z))


def engaged_energy(depth: Array, transition: float) -> Array:
    """(...) the integral of s(x) x from 0 to d: t^2 (2 z^5 - 5 z^6 / 2 + 6 z^7 / 7), and (d^2 - t^2) / 2 beyond t."""
    z, beyond = np.clip(depth / transition, 0.0, 1.0), np.maximum(depth, transition)
    inside: Array = transition**2 * z**5 * (2 - z * (2.5 - z * (6 / 7)))
    return inside + (beyond * beyond - transition**2) / 2
