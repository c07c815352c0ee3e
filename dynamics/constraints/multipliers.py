"""The forces of a model's constraints along a motion, from the generalized forces that the motion lacks without them.

Let r = M udot + b - tau be what the motion needs beyond all known forces tau. Constraints, couplers and locks have the
rows A and exert A^T lambda. The lambda minimise |r - A^T lambda| in the metric of M^-1:

    A M^-1 A^T lambda = A M^-1 r.

If the known forces and those of the constraints produce the motion, that is the lambda with A^T lambda = r. Otherwise,
if the motion satisfies the constraints (A udot = b), it is the lambda of the motion that the known forces would cause.
The normal equation is that of Gauss's principle of least constraint. The missing forces then cause no acceleration
across the constraints. The result does not depend on the coordinates. Source: F. E. Udwadia, R. E. Kalaba, A new
perspective on constrained motion, Proc. R. Soc. Lond. A 439, 1992.

Redundant constraints leave a null space: multipliers n with A^T n = 0 change no motion. Whatever n changes, such as the
reaction of a joint within a loop, is not determined; the rest is.
"""

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np

from myoquat.core.typing import Array
from myoquat.dynamics.constraints.equations import Constraints
from myoquat.dynamics.constraints.evaluate import ConstraintArrays
from myoquat.dynamics.constraints.own import constraints_of
from myoquat.dynamics.rows import RANK_TOLERANCE, Rows
from myoquat.joints.constraints import Constraint, CoordinateCoupler, Holonomic, Locked, PolynomialCoupler, Prescribed
from myoquat.joints.errors import ModelError
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.vectors import cross, matvec, vecmat
from myoquat.muscle.model import Model

__all__ = ["ConstrainedMotion", "acts_in_joints", "carried_wrenches"]

IN_JOINTS = (CoordinateCoupler, Locked, PolynomialCoupler, Prescribed)
NULL_VECTOR_TOLERANCE = 1e-6  # of the greatest effect of a unit multiplier: null vectors that do more change a reaction


def acts_in_joints(constraint: Constraint) -> bool:
    """Whether a constraint is one on coordinates, whose force acts within their joints and on no body."""
    return isinstance(constraint, IN_JOINTS)


class ConstrainedMotion:
    """The constraints, couplers and locks of a model at poses q (t, nq) and times (t,), and the map to their forces.

    rows  A (t, k, nu): first those of `Model.constraints` on bodies, `count` of them, then the rest.
    map   (t, k, nu): multipliers = map r, where r are the generalized forces that the motion lacks.
    rank  (t,) of A; null (t, k, k) projects onto the multipliers that change no motion.

    ModelError for a constraint on velocities, whose force on bodies is not known. ValueError, with the frame, where the
    mass matrix is singular.

    >>> import myoquat as mq
    >>> from myoquat.dynamics.constraints import ConstrainedMotion, PointLoop
    >>> bob = mq.Body("bob", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0, center_of_mass=(0.5, 0, 0))
    >>> hook = PointLoop("bob", "ground", (1.0, 0, 0), (1.0, 0, 0), axes="z")  # its end hangs on a hook
    >>> model = mq.Model(mq.ArticulatedSystem((bob,)), constraints=(hook,))
    >>> hung = ConstrainedMotion(model, [[0.0]], [0.0])
    >>> hung.multipliers(mq.dynamics.bias_force(model, [[0.0]], [[0.0]]))  # half of the weight
    array([[9.81]])
    """

    def __init__(self, model: Model, q: Array, time: Array) -> None:
        for constraint in model.constraints:
            if not isinstance(constraint, Holonomic):
                raise ModelError("it holds velocities: its force on bodies is not known", element=constraint.label)
        own = constraints_of(model)
        self.model, self.q, self.time = model, np.asarray(q, dtype=float), np.asarray(time, dtype=float)
        self.on_bodies = tuple(c for c in own if not acts_in_joints(c))
        self.constraints = (*self.on_bodies, *(c for c in own if acts_in_joints(c)))
        none = np.zeros((len(self.q), 0, model.system.nu))
        self.rows: Array = self._arrays.jacobian(self.q, self.time) if own else none
        self._decompose()

    @cached_property
    def _arrays(self) -> ConstraintArrays:
        return ConstraintArrays(Constraints(self.model.system, self.constraints))

    @cached_property
    def _outer(self) -> ConstraintArrays:
        return ConstraintArrays(Constraints(self.model.system, self.on_bodies))

    def _decompose(self) -> None:
        """With M = L L^T, the rows in this metric: the map (L^-1 A^T)^+ L^-1, and the null space of A^T."""
        M = self._arrays.metric(self.q, self.time)
        try:
            L = np.linalg.cholesky(M)
        except np.linalg.LinAlgError:
            frame = int(np.argmax(np.linalg.cond(M)))
            raise ValueError(f"frame {frame}: the mass matrix is singular, so that no force is determined") from None
        self._back = np.linalg.inv(L)
        self._tolerance = self._arrays.tolerance(self.q, self.time) if self.constraints else RANK_TOLERANCE
        rows = Rows(self._back @ np.swapaxes(self.rows, -1, -2), self._tolerance)
        self.rank, self.null = rows.rank, rows.null
        self.map: Array = rows.multiplier_columns(self._back)

    # ---- forces ------------------------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """The number of rows of constraints on bodies."""
        return sum(s.stop - s.start for s in self.row_slices[: len(self.on_bodies)])

    @cached_property
    def row_slices(self) -> tuple[slice, ...]:
        """The rows of each of `constraints`."""
        system = self.model.system
        at_rest = system.neutral(), np.zeros(system.nu), np.zeros(())
        counts = [c.rate(system, *at_rest).shape[-1] for c in self.constraints]
        ends = np.cumsum([0, *counts])
        return tuple(slice(int(a), int(b)) for a, b in pairwise(ends))

    def multipliers(self, lacking: Array) -> Array:
        """(t, k) lambda of what a motion lacks, r (t, nu)."""
        return matvec(self.map, lacking)

    def shared(self, lacking: Array, driven: Sequence[int]) -> Array:
        """(t, k) lambda where motors on the velocities `driven` give the rest of what a motion lacks, r (t, nu).

        ValueError, with the frame, where motors and constraints give the same forces, so that their shares are open.
        """
        n = len(self.q)
        motors = np.broadcast_to(self._back[..., list(driven)], (n, self.model.system.nu, len(driven)))
        held = self._back @ np.swapaxes(self.rows, -1, -2)
        rows = Rows(np.concatenate([motors, held], axis=-1), self._tolerance)
        short = rows.rank < len(driven) + self.rank
        if short.any():
            raise ValueError(f"at frame {int(np.argmax(short))} they push against the constraints, so that neither is "
                             "determined; name fewer")  # fmt: skip
        return rows.multipliers(matvec(self._back, lacking))[:, len(driven) :]

    def force(self, multipliers: Array, rows: slice = slice(None)) -> Array:
        """(t, nu) the generalized forces A^T lambda of some rows."""
        result: Array = np.einsum("tkn,tk->tn", self.rows[:, rows], multipliers[:, rows])
        return result

    def wrenches(self, multipliers: Array) -> Array:
        """(t, bodies, 6) force [N] and torque [N m] of all constraints on each body, at its origin in world axes."""
        if not self.on_bodies:
            return np.zeros((len(self.q), len(self.model.system.bodies), 6))
        return self._outer.wrenches(self.q, self.time, multipliers[..., : self.count])

    def acceleration(self, u: Array, force: Array) -> Array:
        """(t, nu) the accelerations udot with M udot = Q + A^T lambda. Q (t, nu) are all forces of the motion without
        constraints, u (t, nu) its velocities."""
        none = np.zeros((len(self.q), 0))
        b = self._arrays.bias(self.q, u, self.time) if self.constraints else none
        if self._arrays.constraints.weightless:
            force = force + self.force(b)
        free = vecmat(matvec(self._back, force), self._back)
        result: Array = free + vecmat(b - matvec(self.rows, free), self.map)
        return result

    # ---- what is determined ------------------------------------------------------------------------------------

    @cached_property
    def unit_wrenches(self) -> Array:
        """(t, k', bodies, 6) what a unit multiplier of each row of constraints on bodies does to the bodies."""
        n, k = len(self.q), self.count
        unit = np.broadcast_to(np.eye(k), (n, k, k)).reshape(-1, k)
        found = self._outer.wrenches(np.repeat(self.q, k, axis=0), np.repeat(self.time, k), unit) if k else np.zeros(0)
        result: Array = np.reshape(found, (n, k, len(self.model.system.bodies), 6))
        return result

    @cached_property
    def reaction_map(self) -> Array:
        """(t, bodies, 6, k) the change of every joint's reaction on its body with the multipliers."""
        unit = carried_wrenches(self.model.system, self.q[:, None], self.unit_wrenches)
        found = np.zeros((len(self.q), len(self.model.system.bodies), 6, self.rows.shape[-2]))
        found[..., : self.count] = -np.moveaxis(unit, 1, -1)
        return found

    @cached_property
    def undetermined(self) -> Array:
        """(t, bodies) where the reaction of a joint is not determined: redundant constraints may change it."""
        if not self.null.any():
            return np.zeros(self.reaction_map.shape[:2], dtype=bool)
        change = np.abs(np.einsum("tbik,tkn->tbin", self.reaction_map, self.null)).max(axis=(-1, -2), initial=0.0)
        size = np.abs(self.reaction_map).reshape(len(self.q), -1).max(axis=-1, initial=0.0)
        result: Array = change > NULL_VECTOR_TOLERANCE * size[:, None]
        return result

    @cached_property
    def undetermined_rows(self) -> Array:
        """(t, k) where a multiplier is not determined."""
        result: Array = np.abs(self.null).max(axis=-1, initial=0.0) > NULL_VECTOR_TOLERANCE
        return result


def carried_wrenches(system: ArticulatedSystem, q: Array, wrenches: Array) -> Array:
    """(..., bodies, 6) the sum of wrenches (..., bodies, 6) on each body and all that it carries, at its origin, in
    world axes; q (..., nq)."""
    poses, total = system.poses(q), np.array(wrenches, dtype=float)
    numbers = {name: i for i, name in enumerate(system.body_names)}
    for i in reversed(system.topological_order):
        body = system.bodies[i]
        if body.parent not in numbers:
            continue
        parent, arm = numbers[body.parent], poses[body.name][1] - poses[body.parent][1]
        total[..., parent, 3:] += total[..., i, 3:] + cross(arm, total[..., i, :3])
        total[..., parent, :3] += total[..., i, :3]
    return total
