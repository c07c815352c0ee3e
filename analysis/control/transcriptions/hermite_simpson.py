"""Hermite-Simpson: Lobatto IIIA with three points."""

from typing import ClassVar

from myoquat.analysis.control.transcriptions.collocation import Collocation
from myoquat.core.records import dataclass

__all__ = ["HermiteSimpson"]


@dataclass(frozen=True)
class HermiteSimpson(Collocation):
    """x_1 = x_0 + h (f_0 + 4 f_c + f_1) / 6, x_c = (x_0 + x_1) / 2 + h (f_0 - f_1) / 8, of order 4. States and controls
    are at the nodes and in the middle of every interval, in the separated form of Moco and others [M. Kelly, An
    introduction to trajectory optimization, SIAM Review 59, 2017, section 4].

    linear_controls: the control in the middle is the mean of those at both nodes, as Moco has it by default. Controls
    then have no part that alternates within an interval, and jumps of loads are tracked less closely.

    >>> from myoquat.analysis.control import HermiteSimpson
    >>> HermiteSimpson().points
    (0.0, 0.5, 1.0)
    """

    title: ClassVar[str] = "hermite_simpson"
    linear_controls: bool = False

    @property
    def straight(self) -> bool:
        return self.linear_controls

    @property
    def order(self) -> int:
        return 4

    @property
    def points(self) -> tuple[float, ...]:
        return (0.0, 0.5, 1.0)
