"""Legendre-Gauss collocation."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from myoquat.analysis.control.transcriptions.collocation import Collocation

__all__ = ["Gauss"]

MAX_POINTS = 9


@dataclass(frozen=True)
class Gauss(Collocation):
    """Collocation at the `stages` roots of the Legendre polynomial P_s on [0, 1]: order 2 s, symmetric, no point at the
    nodes [Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, 1993, section II.7]. Controls are
    polynomials that may jump at nodes.

    >>> import numpy as np
    >>> from myoquat.analysis.control import Gauss
    >>> np.round(Gauss(2).points, 4), Gauss(2).order
    (array([0.2113, 0.7887]), 4)
    """

    title: ClassVar[str] = "gauss"
    stages: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.stages <= MAX_POINTS:
            raise ValueError(f"stages must be between 1 and {MAX_POINTS}, not {self.stages}")

    @property
    def order(self) -> int:
        return 2 * self.stages

    @cached_property
    def points(self) -> tuple[float, ...]:
        roots, _ = np.polynomial.legendre.leggauss(self.stages)
        return tuple(map(float, (roots + 1) / 2))
