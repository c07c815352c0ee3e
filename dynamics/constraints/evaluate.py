"""Constraints evaluated on arrays through kernels, and the forms that redundant constraints need."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from myoquat.core import Array, ArrayLike, Pair, check_unmasked, real_array, warn_user
from myoquat.dynamics import composite
from myoquat.dynamics.equations import bias_force, forward_dynamics, joint_reactions, mass_matrix
from myoquat.dynamics.regularity import check_pose
from myoquat.dynamics.rows import RANK_TOLERANCE, Rows
from myoquat.dynamics.udwadia_kalaba import Constrained, augmented, working
from myoquat.joints import ArticulatedSystem, ConstraintWarning, ModelError
from myoquat.joints.constraints import Constraint, Holonomic, Locked
from myoquat.joints.evaluation import compiled
from myoquat.joints.vectors import cross, dot, matvec, spread, transpose, vecmat
from myoquat.muscle import Model
from myoquat.muscle.forces.base import wrenches_of_work

from .equations import Constraints, constraints_of

MAX_START_VIOLATION = 1e-6  # beyond it a start is refused
MIN_INDEPENDENT_PART = 1e-2  # of a row across the others, below which rows are solved with pivots
MAX_NEWTON_STEPS = 20  # of Newton's method for a start; it ends when a step no longer helps


class ConstraintArrays:
    """phi, phidot, A, b of `constraints` on batches: q (..., nq), u (..., nu), t (...).

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.dynamics.constraints import ConstraintArrays, Constraints, CoordinateCoupler
    >>> bodies = [mq.Body(name, "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=1.0) for name in ("a", "b")]
    >>> couple = CoordinateCoupler("b.position", "a.position")
    >>> arrays = ConstraintArrays(Constraints(mq.ArticulatedSystem(tuple(bodies)), [couple]))
    >>> arrays.motion(np.zeros(2), np.zeros(2), np.array([4.0, 0.0]), 0.0).acceleration  # 4 N move both
    array([2., 2.])
    """

    def __init__(self, constraints: Constraints) -> None:
        self.constraints = constraints
        self.system = constraints.system

    @property
    def count(self) -> int:
        """k, the number of rows of A."""
        return int(self.rate(self.system.neutral(), np.zeros(self.system.nu), 0.0).shape[-1])

    def position(self, q: ArrayLike, t: ArrayLike) -> Array:
        """(..., h) phi."""
        return self._evaluated("phi", self.constraints.position, q=q, t=t)

    def position_jacobian(self, q: ArrayLike, t: ArrayLike) -> Array:
        """(..., h, nu) derivative of phi along the velocities."""
        return self._evaluated("P", self.constraints.position_jacobian, q=q, t=t)

    def rate(self, q: Array, u: Array, t: ArrayLike) -> Array:
        """(..., k) phidot and psi."""
        return self._evaluated("rate", self.constraints.rate, q=q, u=u, t=t)

    def jacobian(self, q: ArrayLike, t: ArrayLike) -> Array:
        """(..., k, nu) A."""
        return self._evaluated("A", self.constraints.jacobian, q=q, t=t)

    def tolerance(self, q: ArrayLike, t: ArrayLike) -> Array:
        """(...) of the rank of A at a pose."""
        return self._evaluated("tolerance", self.constraints.tolerance, q=q, t=t)

    def bias(self, q: Array, u: Array, t: ArrayLike) -> Array:
        """(..., k) b."""
        return self._evaluated("b", self.constraints.bias, q=q, u=u, t=t)

    def wrenches(self, q: ArrayLike, t: ArrayLike, multipliers: Array) -> Array:
        """(..., bodies, 6) forces on the bodies, as `constraint_wrenches`."""
        formula = lambda q, t, f: constraint_wrenches(self.constraints, q, t, f)  # noqa: E731
        return self._evaluated("wrenches", formula, q=q, t=t, multipliers=multipliers)

    def motion(self, q: Array, u: Array, tau: Array, t: ArrayLike) -> Constrained:
        """Accelerations and forces of states (..., nq), (..., nu) under generalized forces tau (..., nu), at times t
        (...).

        They come from the working form of `myoquat.dynamics.udwadia_kalaba`. Where the mass matrix is singular, they
        come from the augmented form. Constraints may be redundant. Where they contradict each other, `residual` is not
        zero.
        """
        A, b = self.jacobian(q, t), self.bias(q, u, t)
        if self.constraints.weightless:
            M = self._evaluated("M", lambda q: composite.mass(self.system, q), q=q)
            return augmented(M, tau - bias_force(self.system, q, u), A, b, self.tolerance(q, t))
        M = mass_matrix(self.system, q)
        return working(M, matvec(M, forward_dynamics(self.system, q, u, tau)), A, b, self.tolerance(q, t))

    def joint_reactions(self, q: Array, u: Array, tau: Array, t: ArrayLike, f_ext: Array | None = None) -> Array:
        """(..., bodies, 6) what the joints transmit beside the constraints, with arguments as for `motion`. The motion
        does not determine the forces of redundant constraints, so the least forces are taken. `f_ext`: wrenches on the
        bodies, whose generalized forces are part of tau."""
        found = self.motion(q, u, tau, t)
        rows = Rows(transpose(self.jacobian(q, t)), self.tolerance(q, t))
        wrenches = self.wrenches(q, t, rows.multipliers(found.force))
        return joint_reactions(self.system, q, u, found.acceleration, wrenches if f_ext is None else wrenches + f_ext)

    def rank(self, q: ArrayLike, t: ArrayLike) -> int:
        """Rank of A at one pose, in the metric of M; ModelError where the motion is not determined there."""
        return int(Rows(self._scaled(self.jacobian(q, t), q, t)[1], self.tolerance(q, t)).rank)

    def dependent(self, q: ArrayLike, t: ArrayLike) -> bool:
        """Whether less than a hundredth of a row is left across others at a pose. Such rows need pivots: the pivots of
        S = A M^-1 A^T lose twice the digits."""
        return bool(Rows(self._scaled(self.jacobian(q, t), q, t)[1], MIN_INDEPENDENT_PART).rank < self.count)

    def check(self, q: Array, u: Array, t: float = 0.0) -> None:
        """ValueError, saying by how much, for a state (..., nq), (..., nu) off the constraints by more than 1e-6."""
        fix = (
            "project_start=True (--project-start) moves it there"
            if self.system.nu
            else "the model has no coordinate that could change it"
        )
        self._refuse(q, u, t, "the start violates the constraints", fix)

    def _refuse(self, q: Array, u: Array, t: float, what: str, fix: str) -> None:
        rate = self.rate(q, u, t) if self.system.nu else np.zeros(0)
        for name, values in (("position", self.position(q, t)), ("velocity", rate)):
            worst = float(np.abs(values).max(initial=0.0))
            if not worst <= MAX_START_VIOLATION:
                row = int(np.argwhere(np.abs(values) == worst)[0][-1]) if np.isfinite(worst) else 0
                raise ValueError(
                    f"{what}: {name} row {row} is off by {worst:.3g}, allowed is {MAX_START_VIOLATION:g}; {fix}"
                )

    def warn_contradictions(self, q: Array, u: Array, t: ArrayLike) -> bool:
        """True, with a ConstraintWarning, where there is a `contradiction`."""
        found = self.contradiction(q, u, t)
        if found is not None:
            warn_user(found, ConstraintWarning)
        return found is not None

    def contradiction(self, q: Array, u: Array, t: ArrayLike) -> str | None:
        """A sentence if no acceleration satisfies the rows A udot = b at a state (..., nq), (..., nu), to 1e-6 of b and
        to the distance of the state from the constraints. States that are not finite are left out."""
        time = real_array("t", t)
        q, u, times = (x.reshape(-1, x.shape[-1]) for x in spread(q, u, time[..., None]))
        finite = np.isfinite(q).all(axis=-1) & np.isfinite(u).all(axis=-1)
        q, u, times = q[finite], u[finite], times[finite, 0]
        b, tolerance = self.bias(q, u, times), self.tolerance(q, times)
        Y = np.linalg.solve(np.linalg.cholesky(self.metric(q, times)), transpose(self.jacobian(q, times)))
        off = np.abs(vecmat(Rows(Y, tolerance).motion(b), Y) - b)
        allowed = np.maximum(MAX_START_VIOLATION, tolerance) * (1 + np.abs(b).max(axis=-1, initial=0.0))
        bad = off > allowed[:, None]
        if not bad.any():
            return None
        first = int(np.argmax(bad.any(axis=-1)))
        row = int(np.argmax(off[first]))
        parts = zip(self.constraints.parts, self.constraints.row_slices(), strict=True)
        part = next(part for part, rows in parts if row < rows.stop)
        return (
            f"constraints contradict each other at {times[first]:g} s: the acceleration that comes nearest to all "
            f"misses that of {part.label} by {off[first, row]:.3g}"
        )

    def nearest(self, q: Array, u: Array, t: float = 0.0) -> Pair:
        """A state (nq,), (nu,) moved onto the constraints, along M^-1 A^T, rank-revealing; ValueError if
        Newton's method does not converge."""
        q, u, left = q.copy(), u.copy(), np.inf
        for _ in range(MAX_NEWTON_STEPS):
            wanted = self._evaluated("closing", lambda q, t: self.constraints.closing(q, t)[1], q=q, t=t)
            error = float(np.abs(wanted).max(initial=0.0))
            if error == 0.0 or (error < 1e-12 and error >= 0.5 * left):
                break
            left = error
            rows = self._evaluated("closing rows", lambda q, t: self.constraints.closing(q, t)[0], q=q, t=t)
            q = self.system.integrate(q, self._least(rows, q, t, wanted))
        u = u + self._least(self.jacobian(q, t), q, t, -self.rate(q, u, t))
        self._refuse(q, u, t, "no state on the constraints is found nearby", "give one that is closer to them")
        return q, u

    def metric(self, q: ArrayLike, t: ArrayLike) -> Array:
        """(..., nu, nu) M, or M + A^T A where the mass matrix is singular in every pose."""
        check_unmasked("t", t)
        M = composite.mass(self.system, real_array("q", q))
        if not self.constraints.weightless:
            return M
        A = self.jacobian(q, t)
        return M + transpose(A) @ A

    # ---- parts -----------------------------------------------------------------------------------------------

    def _least(self, A: Array, q: Array, t: float, wanted: Array) -> Array:
        """The smallest motion in the metric of M with A motion = wanted; ModelError where that is not determined."""
        L, Y = self._scaled(A, q, t)
        return np.linalg.solve(L.T, Rows(Y, self.tolerance(q, t)).motion(wanted))

    def _scaled(self, A: Array, q: ArrayLike, t: ArrayLike) -> Pair:
        """L of the metric L L^T of a pose, and L^-1 A^T; ModelError where the motion is not determined."""
        M = self.metric(real_array("q", q), t)
        check_pose(self.system, M)
        L = np.linalg.cholesky(M)
        return L, np.linalg.solve(L, A.T)

    def _evaluated(self, name: str, formula: Any, **given: ArrayLike) -> Array:
        """A formula of these arguments in this order, times t (...) and others (..., n), through its kernel. For one
        state, as at the start of a simulation, the kernel has a single lane and compiles in a fifth of the time."""
        system = self.system
        known: dict[str, tuple[int, ...]] = {"q": (system.nq,), "u": (system.nu,), "t": ()}
        sizes = {key: known.get(key, np.shape(value)[-1:]) for key, value in given.items()}
        lanes = 1 if all(np.ndim(value) == len(sizes[key]) for key, value in given.items()) else None
        key = "constraints", name, self.constraints.key, lanes
        return compiled(key, formula, sizes, [name], name=f"constraints_{name}", lanes=lanes)(*given.values())


# ---- Forces of constraints on the bodies that they hold -----------------------------------------------------------


def constraint_wrenches(constraints: Constraints, q: Array, t: Array, multipliers: Array) -> Array:
    """(..., bodies, 6) force [N] and torque [N m] of the constraints on each body, at its origin in world axes.

    multipliers (..., k) with Q_c = A^T multipliers. The virtual work on a body is multipliers . dphi for the motion of
    that body alone. A constraint on coordinates acts within their joints, on no body from outside; so does a lock.
    Raises NotImplementedError for constraints on velocities, which do not say at which body they act.
    """
    system, parts = constraints.system, constraints.parts
    for part in parts:
        if holds_velocities(part):
            raise NotImplementedError(f"{type(part).__name__} holds velocities: its force on bodies is not known")
    slices = zip(parts, constraints.row_slices(q, t), strict=True)
    held = [(part, rows) for part, rows in slices if isinstance(part, Holonomic)]
    multipliers = multipliers[..., [i for _, rows in held for i in range(rows.start, rows.stop)]]

    def work(bodies: ArticulatedSystem) -> Array:
        phi = np.concatenate([part.position(bodies, q, t) for part, _ in held] or [q[..., :0]], axis=-1)
        return dot(multipliers, phi)

    return wrenches_of_work(system, q, work)


# --------------------------------------------------------------------------------------------------------------
#
# The forces of a model's constraints along a motion, from the generalized forces that the motion lacks without them.
#
# Let r = M udot + b - tau be what the motion needs beyond all known forces tau. Constraints, couplers and locks have
# the rows A and exert A^T lambda. The lambda minimise |r - A^T lambda| in the metric of M^-1:
#
#     A M^-1 A^T lambda = A M^-1 r.
#
# If the known forces and those of the constraints produce the motion, that is the lambda with A^T lambda = r.
# Otherwise, if the motion satisfies the constraints (A udot = b), it is the lambda of the motion that the known
# forces would cause. The normal equation is that of Gauss's principle of least constraint. The missing forces then
# cause no acceleration across the constraints. The result does not depend on the coordinates. Source: F. E. Udwadia,
# R. E. Kalaba, A new perspective on constrained motion, Proc. R. Soc. Lond. A 439, 1992.
#
# Redundant constraints leave a null space: multipliers n with A^T n = 0 change no motion. Whatever n changes, such as
# the reaction of a joint within a loop, is not determined; the rest is.


NULL_VECTOR_TOLERANCE = 1e-6  # of the greatest effect of a unit multiplier: null vectors that do more change a reaction


def holds_velocities(constraint: Constraint) -> bool:
    """Whether a constraint is one on velocities alone, which does not say on which bodies it acts. A lock does."""
    return not isinstance(constraint, Holonomic | Locked)


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
            if holds_velocities(constraint):
                raise ModelError("it holds velocities: its force on bodies is not known", element=constraint.label)
        own = constraints_of(model)
        self.model, self.q, self.time = model, np.asarray(q, dtype=float), np.asarray(time, dtype=float)
        self.on_bodies = tuple(c for c in own if c.driven is None)  # others act within joints and on no body
        self.constraints = (*self.on_bodies, *(c for c in own if c.driven is not None))
        none = np.zeros((len(self.q), 0, model.system.nu))
        self.rows: Array = self._arrays.jacobian(self.q, self.time) if own else none
        # with M = L L^T, the rows in this metric: the map (L^-1 A^T)^+ L^-1, and the null space of A^T
        M = self._arrays.metric(self.q, self.time)
        try:
            L = np.linalg.cholesky(M)
        except np.linalg.LinAlgError:
            frame = int(np.argmax(np.linalg.cond(M)))
            raise ValueError(f"frame {frame}: the mass matrix is singular, so that no force is determined") from None
        self._back = np.linalg.inv(L)
        self._tolerance = self._arrays.tolerance(self.q, self.time) if self.constraints else RANK_TOLERANCE
        rows = Rows(self._back @ transpose(self.rows), self._tolerance)
        self.rank, self.null = rows.rank, rows.null
        self.map: Array = rows.multiplier_columns(self._back)

    @cached_property
    def _arrays(self) -> ConstraintArrays:
        return ConstraintArrays(Constraints(self.model.system, self.constraints))

    # ---- forces ------------------------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """The number of rows of constraints on bodies."""
        return self.row_slices[len(self.on_bodies) - 1].stop if self.on_bodies else 0

    @cached_property
    def row_slices(self) -> tuple[slice, ...]:
        """The rows of each of `constraints`."""
        return self._arrays.constraints.row_slices()

    def multipliers(self, lacking: Array) -> Array:
        """(t, k) lambda of what a motion lacks, r (t, nu)."""
        return matvec(self.map, lacking)

    def shared(self, lacking: Array, driven: Sequence[int]) -> Array:
        """(t, k) lambda where motors on the velocities `driven` give the rest of what a motion lacks, r (t, nu).

        ValueError, with the frame, where motors and constraints give the same forces, so that their shares are open.
        """
        n = len(self.q)
        motors = np.broadcast_to(self._back[..., list(driven)], (n, self.model.system.nu, len(driven)))
        held = self._back @ transpose(self.rows)
        rows = Rows(np.concatenate([motors, held], axis=-1), self._tolerance)
        short = rows.rank < len(driven) + self.rank
        if short.any():
            raise ValueError(f"at frame {int(np.argmax(short))} they push against the constraints, so that neither is "
                             "determined; name fewer")  # fmt: skip
        return rows.multipliers(matvec(self._back, lacking))[:, len(driven) :]

    def force(self, multipliers: Array, rows: slice = slice(None)) -> Array:
        """(t, nu) the generalized forces A^T lambda of some rows."""
        return np.einsum("tkn,tk->tn", self.rows[:, rows], multipliers[:, rows])

    def wrenches(self, multipliers: Array) -> Array:
        """(t, bodies, 6) force [N] and torque [N m] of all constraints on each body, at its origin in world axes."""
        if not self.on_bodies:
            return np.zeros((len(self.q), len(self.model.system.bodies), 6))
        return self._wrenches(self.q, self.time, multipliers[..., : self.count])

    def _wrenches(self, q: Array, time: Array, multipliers: Array) -> Array:
        return ConstraintArrays(Constraints(self.model.system, self.on_bodies)).wrenches(q, time, multipliers)

    def acceleration(self, u: Array, force: Array) -> Array:
        """(t, nu) the accelerations udot with M udot = Q + A^T lambda. Q (t, nu) are all forces of the motion without
        constraints, u (t, nu) its velocities."""
        none = np.zeros((len(self.q), 0))
        b = self._arrays.bias(self.q, u, self.time) if self.constraints else none
        if self._arrays.constraints.weightless:
            force = force + self.force(b)
        free = vecmat(matvec(self._back, force), self._back)
        return free + vecmat(b - matvec(self.rows, free), self.map)

    # ---- what is determined ------------------------------------------------------------------------------------

    @cached_property
    def unit_wrenches(self) -> Array:
        """(t, k', bodies, 6) what a unit multiplier of each row of constraints on bodies does to the bodies."""
        n, k = len(self.q), self.count
        unit = np.tile(np.eye(k), (n, 1))
        found = self._wrenches(np.repeat(self.q, k, axis=0), np.repeat(self.time, k), unit) if k else np.zeros(0)
        return np.reshape(found, (n, k, len(self.model.system.bodies), 6))

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
        return change > NULL_VECTOR_TOLERANCE * size[:, None]

    @cached_property
    def undetermined_rows(self) -> Array:
        """(t, k) where a multiplier is not determined."""
        return np.abs(self.null).max(axis=-1, initial=0.0) > NULL_VECTOR_TOLERANCE


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
