"""Legendre-Gauss-Radau collocation: Radau IIA."""

from functools import cached_property
from typing import ClassVar

import numpy as np

from myoquat.analysis.control.transcriptions.collocation import StagedCollocation
from myoquat.core.records import dataclass

__all__ = ["Radau"]


@dataclass(frozen=True)
class Radau(StagedCollocation):
    """Collocation at the `stages` roots of P_(s-1) - P_s on [0, 1], the last of which is the end of the interval. It
    has order 2 s - 1 and damps stiff equations [D. Garg et al., Comput. Optim. Appl. 49, 2011; Hairer and Wanner,
    Solving Ordinary Differential Equations II, 1996, section IV.5]. Controls are polynomials that may jump at nodes.

    >>> import numpy as np
    >>> from myoquat.analysis.control import Radau
    >>> np.round(Radau(2).points, 4), Radau(2).order
    (array([0.3333, 1.    ]), 3)
    """

    title: ClassVar[str] = "radau"

    @property
    def order(self) -> int:
        return 2 * self.stages - 1

    @cached_property
    def points(self) -> tuple[float, ...]:
        legendre = np.polynomial.legendre.Legendre
        difference = legendre.basis(self.stages) - legendre.basis(self.stages - 1)
        roots = (np.sort(difference.roots().real) + 1) / 2
        return (*map(float, roots[:-1]), 1.0)
