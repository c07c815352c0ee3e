"""What a function of one coordinate must answer."""

from abc import ABC, abstractmethod
from typing import Any

from myoquat.kernels.records import Record

__all__ = ["AxisFunction"]


class AxisFunction(Record, ABC):
    """A twice differentiable function f(x) of a coordinate x (...), floats or symbols.

    Implementations are frozen dataclasses of numbers, so that equal joints have equal descriptions.
    """

    @abstractmethod
    def value(self, x: Any) -> Any:
        """(...) f(x)."""

    @abstractmethod
    def slope(self, x: Any) -> Any:
        """(...) df/dx."""

    @abstractmethod
    def curvature(self, x: Any) -> Any:
        """(...) d2f/dx2."""
