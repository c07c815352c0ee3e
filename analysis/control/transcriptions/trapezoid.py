"""The trapezoidal rule: Lobatto IIIA with two points."""

from typing import ClassVar

from myoquat.analysis.control.transcriptions.collocation import Collocation
from myoquat.core.records import dataclass

__all__ = ["Trapezoid"]


@dataclass(frozen=True)
class Trapezoid(Collocation):
    """x_1 = x_0 + h (f_0 + f_1) / 2, of order 2: states and controls at the nodes, controls linear between them.

    >>> from myoquat.analysis.control import Trapezoid
    >>> Trapezoid().points
    (0.0, 1.0)
    """

    title: ClassVar[str] = "trapezoid"

    @property
    def order(self) -> int:
        return 2

    @property
    def points(self) -> tuple[float, ...]:
        return (0.0, 1.0)
