"""Constraints on path lengths: ropes that are held, and pairs of ropes that drive each other."""

from typing import ClassVar

from myoquat.core import Array, frozen
from myoquat.joints import ArticulatedSystem, ModelError
from myoquat.joints.constraints import Holonomic
from myoquat.joints.vectors import matvec
from myoquat.muscle.path import MusclePath
from myoquat.muscle.segments.lengths import lengths, velocity_jacobian


@frozen
class PathLengthConstraint(Holonomic):
    """phi = l - l0 - sum over i of c_i (m - m0)^i (1): the length l of a path, as a polynomial of that of another, m.

    rest_length l0, other_rest_length m0 [m]; coefficients c; without `other` c_0 alone counts. MuJoCo's equality
    constraint of tendons, which is soft there. Paths may wrap around surfaces whose contacts have a closed form,
    spheres and cylinders, one between two points. ModelError for other surfaces, whose contacts a solver finds, since
    second derivatives are not available. It is raised too for coefficients of powers of a path that is not there. What
    the constraint does is smooth except where a path comes to touch a surface.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.muscle import MusclePath, PathPoint
    >>> from myoquat.muscle.constraints import PathLengthConstraint
    >>> slider = mq.Body("bead", "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=1.0)
    >>> rope = MusclePath((PathPoint("ground", (0.0, 3.0, 0.0)), PathPoint("bead", (0.0, 0.0, 0.0))))
    >>> held = PathLengthConstraint(rope, rest_length=4.0, coefficients=(1.0,))
    >>> held.position(mq.ArticulatedSystem((slider,)), np.array([4.0]), np.zeros(()))  # the rope is 5 m long
    array([0.])
    """

    constants: ClassVar[tuple[str, ...]] = ("path", "other")
    path: MusclePath
    rest_length: float
    coefficients: tuple[float, ...] = (0.0, 1.0)
    other: MusclePath | None = None
    other_rest_length: float = 0.0

    @property
    def _paths(self) -> tuple[MusclePath, ...]:
        return (self.path,) if self.other is None else (self.path, self.other)

    def check(self, system: ArticulatedSystem) -> None:
        for path in self._paths:
            path.check(system, self.label)
            if (surface := solved_surface(path)) is not None:
                raise ModelError(
                    f"its path wraps around {surface}, where a solver finds the contact", element=self.label
                )
        if self.other is None and len(self.coefficients) != 1:
            raise ModelError("without another path there is one coefficient, not "
                             f"{len(self.coefficients)}", element=self.label)  # fmt: skip

    def position(self, system: ArticulatedSystem, q: Array, t: Array) -> Array:
        """(..., 1) phi [m]."""
        phi, _ = self._followed(lengths(system, self._paths, q))
        return phi[..., None]

    def position_jacobian(self, system: ArticulatedSystem, q: Array, t: Array) -> Array:
        """(..., 1, nu) by the Jacobian of the paths: contacts stay where they are to first order."""
        J = velocity_jacobian(system, self._paths, q)
        if self.other is None:
            return J
        _, slope = self._followed(lengths(system, self._paths, q))
        return (J[..., 0, :] - slope[..., None] * J[..., 1, :])[..., None, :]

    def rate(self, system: ArticulatedSystem, q: Array, u: Array, t: Array) -> Array:
        return matvec(self.position_jacobian(system, q, t), u)

    def _followed(self, found: Array) -> tuple[Array, Array]:
        """phi (...) at lengths (..., 1) or (..., 2), and the derivative (...) of the polynomial."""
        phi = found[..., 0] - self.rest_length
        x = found[..., 1] - self.other_rest_length if self.other is not None else 0.0 * phi
        value, slope = 0.0 * phi, 0.0 * phi
        for coefficient in reversed(self.coefficients):  # Horner's scheme
            slope = slope * x + value
            value = value * x + coefficient
        return phi - value, slope


def solved_surface(path: MusclePath, derivatives: int = 3) -> str | None:
    """The name of a surface past which the length of a path has fewer `derivatives`; None where it has all of them.

    Where a solver finds the contact, of another form than a sphere or cylinder or of one of several surfaces between
    two points, the length has two derivatives, and past a torus one.
    """
    for acting in path.acting:
        for wrap in acting:
            fewer = derivatives > 2 or any(other.ring for other in acting)
            if fewer and (wrap.solved or len(acting) > 1):
                return wrap.name or f"{'an' if wrap.kind[0] in 'aeiou' else 'a'} {wrap.kind}"
    return None
