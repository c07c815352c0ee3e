"""Legendre-Gauss collocation."""

from functools import cached_property
from typing import ClassVar

import numpy as np

from myoquat.analysis.control.transcriptions.collocation import StagedCollocation
from myoquat.core.records import dataclass

__all__ = ["Gauss"]


@dataclass(frozen=True)
class Gauss(StagedCollocation):
    """Collocation at the `stages` roots of the Legendre polynomial P_s on [0, 1].

    It has order 2 s, is symmetric, and has no point at the nodes [Hairer, Norsett, Wanner, Solving Ordinary
    Differential Equations I, 1993, section II.7]. Controls are polynomials that may jump at nodes.

    >>> import numpy as np
    >>> from myoquat.analysis.control import Gauss
    >>> np.round(Gauss(2).points, 4), Gauss(2).order
    (array([0.2113, 0.7887]), 4)
    """

    title: ClassVar[str] = "gauss"

    @property
    def order(self) -> int:
        return 2 * self.stages

    @cached_property
    def points(self) -> tuple[float, ...]:
        roots, _ = np.polynomial.legendre.leggauss(self.stages)
        return tuple(map(float, (roots + 1) / 2))
