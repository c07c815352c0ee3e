"""Soft constraints of MuJoCo, which have a time constant and an impedance, as springs and dampers.

MuJoCo's constraint at depth r and speed v satisfies a1 + d (b v + k r) = (1 - d) a0. Here a1 is the acceleration, a0
the one without the constraint, and d the impedance. The numbers b and k follow from `solref` (MuJoCo's documentation,
Computation, Solver parameters). At rest it holds like a spring of stiffness k d / ((1 - d) A), with A = J M^-1 J^T at
the pose of the file. That stiffness and the damping ratio of the constraint are taken over, with d at its greatest,
dmax of `solimp`. The solver, and impedances that vary with depth, are not.
"""

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.data.mjcf.document import Values
from myoquat.data.xml import MOBILITY, Element, complain
from myoquat.joints.multibody.body import Body
from myoquat.joints.multibody.system import ArticulatedSystem, Poses
from myoquat.joints.vectors import congruent, cross, matvec
from myoquat.muscle.evaluate import path_jacobian
from myoquat.muscle.model import Model
from myoquat.muscle.path import Muscle
from myoquat.muscle.segments.lengths import lengths

__all__ = ["Mobilities", "Softness", "given_mobility", "mixed_softness", "read_softness"]

SOLREF, SOLIMP = (0.02, 1.0), (0.9, 0.95, 0.001, 0.5, 2.0)
MIN_IMPEDANCE, MAX_IMPEDANCE = 0.0001, 0.9999  # MuJoCo keeps impedances within
MIN_WIDTH = 1e-6  # [m or rad] over which a force sets in


@dataclass(frozen=True)
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

    @property
    def onset(self) -> float:
        """[m or rad] over which a force sets in."""
        return max(self.width, MIN_WIDTH)


def read_softness(values: Values, suffix: str = "", default: Softness | None = None) -> Softness:
    """Of `solref` and `solimp`, with a suffix such as "limit"; ModelError for signs that differ or a zero."""
    default = default or Softness()
    solref = values.numbers(f"solref{suffix}", 1, 2, default.solref)
    solref = (*solref, default.solref[1]) if len(solref) == 1 else solref
    solimp = values.numbers(f"solimp{suffix}", 1, 5, ())
    if (solref[0] > 0) != (solref[1] > 0) or not solref[0]:
        complain(values.element, f"solref{suffix} must be two positive or two negative numbers, not {solref}")
    impedance = solimp[1] if len(solimp) > 1 else default.impedance
    return Softness(solref, impedance, solimp[2] if len(solimp) > 2 else default.width)


def mixed_softness(pair: Sequence[Softness], weights: Sequence[float]) -> Softness:
    """That of two geoms: means by weight; of stiffness and damping, the less negative ones count less."""
    total = sum(weights)
    share = weights[0] / total if total > 0 else 0.5

    def mean(a: float, b: float) -> float:
        return share * a + (1 - share) * b

    first, second = pair
    standard = first.solref[0] > 0 and second.solref[0] > 0
    solref = tuple(mean(a, b) if standard else min(a, b) for a, b in zip(first.solref, second.solref, strict=True))
    return Softness(solref, mean(first.impedance, second.impedance), mean(first.width, second.width))


def given_mobility(element: Element) -> float | None:
    """J M^-1 J^T that a compiled model states of a part of it."""
    text = element.get(MOBILITY)
    return None if text is None else float(text)


class Mobilities:
    """J M^-1 J^T of bodies, coordinates and paths at a pose: how easily they move. MuJoCo's `invweight0`."""

    def __init__(self, system: ArticulatedSystem, q: Array) -> None:
        self.system, self._q = system, q
        self._bodies: dict[str, float] = {}

    @cached_property
    def _poses(self) -> Poses:
        return self.system.poses(self._q)

    @cached_property
    def _shifts(self) -> Poses:
        system = self.system
        return system.shifts(self._q, np.eye(system.nu), self._poses, system.ground)

    @cached_property
    def _inverse(self) -> Array:
        """(nu, nu) M^-1, the pseudo-inverse where bodies without mass make M singular."""
        inverse: Array = np.linalg.pinv(self._mass_matrix(), hermitian=True)
        return inverse

    def _mass_matrix(self) -> Array:
        """(nu, nu): twice the kinetic energy of unit speeds."""
        system = self.system
        M = np.diag(np.concatenate([np.full(body.joint.nu, body.rotor_inertia) for body in system.bodies]))
        for body in system.bodies:
            R, _ = self._poses[body.name]
            omega, v = self._shifts[body.name]
            center = v + cross(omega, matvec(R, np.array(body.center_of_mass)))
            xx, yy, zz, xy, xz, yz = congruent(R, np.array(body.inertia))
            tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            omega, center = (np.broadcast_to(x, (system.nu, 3)) for x in (omega, center))
            M += body.mass * center @ center.T + omega @ tensor @ omega.T
        return M

    def of_body(self, name: str) -> float:
        """[1/kg] the mean over directions of a body's centre of mass; 0 for the ground."""
        if name == self.system.ground:
            return 0.0
        if name not in self._bodies:
            self._bodies[name] = self._of_body(next(body for body in self.system.bodies if body.name == name))
        return self._bodies[name]

    def _of_body(self, body: Body) -> float:
        name = body.name
        omega, v = self._shifts[name]
        center = v + cross(omega, matvec(self._poses[name][0], np.array(body.center_of_mass)))
        J = np.broadcast_to(center, (self.system.nu, 3)).T
        return float(np.trace(J @ self._inverse @ J.T) / 3)

    def of_coordinate(self, name: str) -> float:
        """[1/kg or 1/(kg m^2)] of a hinge or a slide."""
        row = self.system.rate_matrix(self._q)[self.system.coordinate_names.index(name)]
        return float(row @ self._inverse @ row)

    def of_rotation(self, name: str) -> float:
        """[1/(kg m^2)] the mean over the axes of a body's ball joint."""
        end = self.system.u_slices[self.system.indices.body(name)].stop
        return float(np.mean([self._inverse[k, k] for k in range(end - 3, end)]))  # turns come last

    def length_of(self, muscle: Muscle) -> float:
        """[m] of a path."""
        return float(lengths(self.system, (muscle,), self._q)[0])

    def of_muscle(self, muscle: Muscle) -> float:
        """[1/kg] of the length of a path."""
        model = Model(self.system, (muscle,))
        row = path_jacobian(model, self._q, backend="numpy")[0]
        return float(row @ self._inverse @ row)
