"""What every passive force can do."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np

from myoquat.core import Array, Pair, frozen
from myoquat.joints import ArticulatedSystem, Body, FixedJoint, ModelError
from myoquat.joints.multibody.tree import WORLD, Frame, Link, Tree
from myoquat.joints.vectors import joined, matvec, vecmat
from myoquat.kernels.tracing.derivatives import jacobian_at
from myoquat.muscle.loads import ActingPart, Load, Poses, generalized_force


@frozen
class PassiveForce(ActingPart):
    """Generalized forces that follow from q, u and, where `timed`, the time.

    Those `in_joints` act within joints, which pass them on, and on no body.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.muscle.forces import CoordinateSpring
    >>> shin = mq.Body("shin", "ground", mq.joints.RevoluteJoint((0, 0, 1)), coordinate_names=("knee",))
    >>> spring = CoordinateSpring("spring", "knee", stiffness=20.0)
    >>> spring.torque(mq.ArticulatedSystem((shin,)), np.array([0.5]), np.array([0.0]))
    array([-10.])
    """

    noun: ClassVar[str] = "force"
    timed: ClassVar[bool] = False

    @abstractmethod
    def torque(self, system: ArticulatedSystem, q: Array, u: Array, t: Array | None = None) -> Array:
        """(..., nu) on the velocities u at the time t (...): the formula, on floats and symbols."""

    def energy(self, system: ArticulatedSystem, q: Array) -> Array:
        """(...) [J] the potential of the elastic part at q (..., nq), zero for a force that has none: the formula, on
        floats and symbols."""
        return np.zeros(())

    def energy_rate(self, system: ArticulatedSystem, q: Array, u: Array) -> Array:
        """(...) [W] the rate of `energy` at velocities u (..., nu): the formula, on floats and symbols."""
        slope = jacobian_at(
            lambda motion: self.energy(system, system.displaced(q, motion))[..., None], np.zeros(system.nu), like=q
        )
        return np.sum(slope[..., 0, :] * u, axis=-1)

    def check_child(self, system: ArticulatedSystem, body: str, lacks: str) -> None:
        """ModelError for the ground, with what it lacks."""
        if body == system.ground:
            raise ModelError(f"the ground has no {lacks}", element=self.element)


class LoadingForce(PassiveForce):
    """Forces and torques on bodies.

    >>> from myoquat.muscle.forces import HuntCrossley, LoadingForce, PrescribedForce
    >>> issubclass(PrescribedForce, LoadingForce), issubclass(HuntCrossley, LoadingForce)
    (True, True)
    """

    @abstractmethod
    def loads(self, poses: Poses, shifts: Poses, t: Array | None = None) -> list[Load]:
        """The loads at the poses of the bodies and their velocities (`ArticulatedSystem.shifts` of u): the formula."""

    def torque(self, system: ArticulatedSystem, q: Array, u: Array, t: Array | None = None) -> Array:
        """(..., nu): the loads by virtual work."""
        return generalized_force(system, q, loads_of(system, [self], q, u, t))


def loads_of(
    system: ArticulatedSystem, forces: Iterable[LoadingForce], q: Array, u: Array, t: Array | None = None
) -> list[Load]:
    """The loads of all these forces at q (..., nq), u (..., nu) and t (...): the formula, on floats and symbols."""
    poses = system.poses(q)
    shifts = system.shifts(q, u, poses, system.ground)
    return [load for force in forces for load in force.loads(poses, shifts, t)]


class MeasuredForce(PassiveForce):
    """Generalized forces f(x, dx/dt) on measures x(q) of the system, such as a length or the angles between two frames.

    On the velocities u they are J^T f with dx/dt = J u. Their power is therefore f . dx/dt, whatever describes the
    joints.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.muscle.forces import CoordinateSpring
    >>> shin = mq.Body("shin", "ground", mq.joints.RevoluteJoint((0, 0, 1)), coordinate_names=("knee",))
    >>> spring = CoordinateSpring("spring", "knee", stiffness=20.0)
    >>> spring.measures(mq.ArticulatedSystem((shin,)), np.array([0.5])), spring.force(0.5, 0.0)
    (array([0.5]), -10.0)
    """

    @abstractmethod
    def measures(self, system: ArticulatedSystem, q: Array) -> Array:
        """(..., k) x [m, rad]: the formula, on floats and symbols."""

    @abstractmethod
    def force(self, x: Array, rate: Array) -> Array:
        """(..., k) f [N, N m] at x and dx/dt: the formula, on floats and symbols."""

    def stored(self, x: Array) -> Array:
        """(...) [J] the potential of the elastic part at x (..., k), zero for a force that has none."""
        return np.zeros(())

    def energy(self, system: ArticulatedSystem, q: Array) -> Array:
        return self.stored(self.measures(system, q))

    def torque(self, system: ArticulatedSystem, q: Array, u: Array, t: Array | None = None) -> Array:
        """(..., nu) J^T f: the formula, on floats and symbols."""
        return vecmat(*measured(system, [self], q, u))

    def wrenches(self, system: ArticulatedSystem, q: Array, u: Array) -> Array:
        """(..., bodies, 6) force [N] and torque [N m] on every body at its origin, in world axes.

        Their virtual work is that of the measures' forces. The formula runs on floats and symbols.
        """
        f, _ = measured(system, [self], q, u)

        return wrenches_of_work(system, q, lambda bodies: np.sum(f * self.measures(bodies, q), axis=-1))


def measured(system: ArticulatedSystem, parts: Sequence[MeasuredForce], q: Array, u: Array) -> tuple[Array, Array]:
    """Forces f (..., k) on the measures x of all parts, and J (..., k, nu) with dx/dt = J u. Their power is f . dx/dt,
    whatever describes joints. The formula runs on floats and symbols."""

    def values(motion: Array) -> Array:
        moved = system.displaced(q, motion)
        return joined([part.measures(system, moved) for part in parts])

    J = jacobian_at(values, np.zeros(system.nu), like=q)
    rate, found, start = matvec(J, u), [], 0
    for part in parts:
        x = part.measures(system, q)
        end = start + x.shape[-1]
        found.append(part.force(x, rate[..., start:end]))
        start = end
    return joined(found), J


# ---- Bodies that move each on its own, as if there were no joints ---------------------------------------------------
# Wrenches on them by virtual work.
#
# A wrench of a body is a row (force [N], torque [N m]) at its origin in world axes.


def wrenches_of_work(system: ArticulatedSystem, q: Array, work: Callable[[ArticulatedSystem], Array]) -> Array:
    """(..., bodies, 6) the wrenches on the bodies whose virtual work is work(bodies) (...), a formula of them as
    `SeparateBodies`."""
    count = len(system.bodies)
    zero = np.zeros((*q.shape[:-1], 6 * count))
    gradient = jacobian_at(lambda motion: work(SeparateBodies(system, motion))[..., None], zero, like=q)[..., 0, :]
    return gradient.reshape((*gradient.shape[:-1], count, 6))


class SeparateBodies(ArticulatedSystem):
    """A stand-in for the system whose bodies move each on its own, as if there were no joints.

    The `displacement` (..., 6 bodies) is the small step [m] and rotation vector [rad] of every body in world axes.
    Formulas of kinematics that ask for poses, or for points and frames (`myoquat.joints.point_position`), get them
    after it, to first order. Those that ask for the shifts of the bodies get the entries of the motion (..., 6 bodies)
    itself. Coordinates stay.
    """

    def __init__(self, system: ArticulatedSystem, displacement: Array) -> None:
        kept = {name: value for name, value in vars(system).items() if name not in ("tree", "unmerged_tree")}
        vars(self).update(kept, _displacement=displacement)

    @cached_property
    def tree(self) -> Tree:
        """Every body on the ground, at the pose that it has now."""
        links = tuple(self._link(i, body) for i, body in enumerate(self.bodies))
        frames = {name: Frame(i, np.eye(3), np.zeros(3)) for i, name in enumerate(self.body_names)}
        return Tree(links, {self.ground: Frame(WORLD, np.eye(3), np.zeros(3)), **frames})

    @cached_property
    def unmerged_tree(self) -> Tree:
        """The tree, which has a link for every body."""
        return self.tree

    def _link(self, i: int, body: Body) -> Link:
        held = _Placed(lambda q: self.poses(q)[body.name])
        still = np.eye(3), np.zeros(3), slice(None), slice(0, 0), 0.0, np.zeros(3), np.zeros(6)
        link = Link(i, body.name, WORLD, held, *still)
        link.add(body, np.eye(3), np.zeros(3))
        return link

    def poses(self, q: Array, motion: Array | None = None) -> dict[str, Pair]:
        """R, p of every body."""
        return super().poses(q, vars(self)["_displacement"] if motion is None else motion)

    def displaced(self, q: Array, motion: Array) -> Array:
        """The coordinates, which stay: a point that moves with them does not move on its body here."""
        return q

    def shifts(self, q: Array, motion: Array, poses: dict[str, Pair], base: str) -> dict[str, Pair]:
        """(rotation vector, step of the origin) of every body, zero of the ground."""
        entries = ((name, slice(6 * i, 6 * i + 6)) for i, name in enumerate(self.body_names))
        moved = {name: (motion[..., s][..., 3:], motion[..., s][..., :3]) for name, s in entries}
        return {self.ground: (np.zeros(3), np.zeros(3)), **moved}


class _Placed(FixedJoint):
    """A joint that holds a body at the pose `where` of all coordinates q (..., nq)."""

    def __init__(self, where: Callable[[Array], Pair]) -> None:
        vars(self)["_where"] = where

    def placed(self, R_frame: Array, p_frame: Array, q: Array) -> Pair:
        return vars(self)["_where"](q)

    def transform(self, q: Array) -> Pair:
        return self.placed(np.eye(3), np.zeros(3), q)
