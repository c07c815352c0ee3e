"""Soft constraints of MuJoCo, which have a time constant and an impedance, as springs and dampers.

MuJoCo's constraint at depth r and speed v satisfies a1 + d (b v + k r) = (1 - d) a0. Here a1 is the acceleration, a0
the one without the constraint, and d the impedance. The numbers b and k follow from `solref` (MuJoCo's documentation,
Computation, Solver parameters). At rest it holds like a spring of stiffness k d / ((1 - d) A), with A = J M^-1 J^T at
the pose of the file. That stiffness and the damping ratio of the constraint are taken over, with d at its greatest,
dmax of `solimp`. The solver, and impedances that vary with depth, are not.
"""

import math
from collections.abc import Sequence

import numpy as np

from myoquat.core import frozen
from myoquat.data.mjcf.source import Part

SOLREF, SOLIMP = (0.02, 1.0), (0.9, 0.95, 0.001, 0.5, 2.0)
MIN_IMPEDANCE, MAX_IMPEDANCE = 0.0001, 0.9999  # MuJoCo keeps impedances within
MIN_WIDTH = 1e-6  # [m or rad] over which a force sets in


@frozen
class Softness:
    """solref: (time constant [s], damping ratio), or (-stiffness [1/s^2], -damping [1/s]); the greatest impedance; the
    width [m or rad] over which the impedance rises."""

    solref: tuple[float, ...] = SOLREF
    impedance: float = SOLIMP[1]
    width: float = SOLIMP[2]

    def spring(self, mobility: float) -> tuple[float, float]:
        """(stiffness, damping) of the force of a constraint with J M^-1 J^T = mobility."""
        d = min(max(self.impedance, MIN_IMPEDANCE), MAX_IMPEDANCE)
        first, second = self.solref
        k, b = (-first / d**2, -second / d) if first <= 0 else (1.0 / (d * first * second) ** 2, 2.0 / (d * first))
        stiffness = k * d * d / ((1.0 - d) * mobility)
        return stiffness, b * d / math.sqrt(1.0 - d) / mobility

    @classmethod
    def of(cls, part: Part, suffix: str = "") -> "Softness":
        """Of `solref` and `solimp` of a part; ModelError for signs that differ or a zero."""
        solref, solimp = getattr(part, f"solref{suffix}"), getattr(part, f"solimp{suffix}")
        if (solref[0] > 0) != (solref[1] > 0) or not solref[0]:
            part.complain(f"solref must be two positive or two negative numbers, not {solref}")
        return cls(solref, solimp[1], solimp[2])

    @property
    def onset(self) -> float:
        """[m or rad] over which a force sets in."""
        return max(self.width, MIN_WIDTH)


def mixed_softness(pair: Sequence[Softness], weights: Sequence[float]) -> Softness:
    """That of two geoms: means by weight; of stiffness and damping, the less negative ones count less."""
    total = sum(weights)
    share = weights[0] / total if total > 0 else 0.5
    first, second = (np.array([*softness.solref, softness.impedance, softness.width]) for softness in pair)
    mean = share * first + (1 - share) * second
    if min(first[0], second[0]) <= 0:
        mean[:2] = np.minimum(first, second)[:2]
    *solref, impedance, width = mean.tolist()
    return Softness(tuple(solref), impedance, width)
