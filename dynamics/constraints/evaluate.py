"""Constraints evaluated on arrays through kernels, and the forms that redundant constraints need."""

import warnings
from typing import Any

import numpy as np

from myoquat import kernels
from myoquat.core.arguments import check_unmasked, real_array
from myoquat.core.typing import Array, ArrayLike
from myoquat.dynamics import composite
from myoquat.dynamics.constraints.equations import Constraints
from myoquat.dynamics.constraints.wrenches import constraint_wrenches
from myoquat.dynamics.equations import bias_force, forward_dynamics, joint_reactions, mass_matrix
from myoquat.dynamics.regularity import check_pose
from myoquat.dynamics.rows import Rows
from myoquat.dynamics.udwadia_kalaba import Constrained, augmented, working
from myoquat.joints.errors import ConstraintWarning
from myoquat.joints.evaluation import kernel_for
from myoquat.joints.vectors import matvec, vecmat

__all__ = ["MAX_START_VIOLATION", "ConstraintArrays"]

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
        return self._evaluated("phi", lambda q, t: self.constraints.position(q, t), q=q, t=t)

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
        rows = Rows(np.swapaxes(self.jacobian(q, t), -1, -2), self.tolerance(q, t))
        wrenches = self.wrenches(q, t, rows.multipliers(found.force))
        return joint_reactions(self.system, q, u, found.acceleration, wrenches if f_ext is None else wrenches + f_ext)

    def rank(self, q: ArrayLike, t: ArrayLike) -> int:
        """Rank of A at one pose, in the metric of M; ModelError where the motion is not determined there."""
        return int(Rows(np.linalg.solve(self._factor(q, t), self.jacobian(q, t).T), self.tolerance(q, t)).rank)

    def dependent(self, q: ArrayLike, t: ArrayLike) -> bool:
        """Whether less than a hundredth of a row is left across others at a pose. Such rows need pivots: the pivots of
        S = A M^-1 A^T lose twice the digits."""
        L = self._factor(q, t)
        return bool(Rows(np.linalg.solve(L, self.jacobian(q, t).T), MIN_INDEPENDENT_PART).rank < self.count)

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

    def warn_contradictions(self, q: Array, u: Array, t: ArrayLike) -> None:
        """A ConstraintWarning if no acceleration satisfies the rows A udot = b at a state (..., nq), (..., nu), to 1e-6
        of b and to the distance of the state from the constraints. States that are not finite are left out."""
        time = real_array("t", t)
        batch = np.broadcast_shapes(q.shape[:-1], time.shape)
        q, u = (np.broadcast_to(x, (*batch, x.shape[-1])).reshape(-1, x.shape[-1]) for x in (q, u))
        finite = np.isfinite(q).all(axis=-1) & np.isfinite(u).all(axis=-1)
        q, u, times = q[finite], u[finite], np.broadcast_to(time, batch).reshape(-1)[finite]
        b, tolerance = self.bias(q, u, times), self.tolerance(q, times)
        Y = np.linalg.solve(np.linalg.cholesky(self.metric(q, times)), np.swapaxes(self.jacobian(q, times), -1, -2))
        off = np.abs(vecmat(Rows(Y, tolerance).motion(b), Y) - b)
        allowed = np.maximum(MAX_START_VIOLATION, tolerance) * (1 + np.abs(b).max(axis=-1, initial=0.0))
        bad = off > allowed[:, None]
        if bad.any():
            first = int(np.argmax(bad.any(axis=-1)))
            row = int(np.argmax(off[first]))
            sizes = [c.rate(self.system, q[first], u[first], times[first]).shape[-1] for c in self.constraints.parts]
            part = self.constraints.parts[int(np.searchsorted(np.cumsum(sizes), row, side="right"))]
            warnings.warn(
                f"constraints contradict each other at {times[first]:g} s: the acceleration that comes nearest to all "
                f"misses that of {part.label} by {off[first, row]:.3g}",
                ConstraintWarning,
                stacklevel=5,
            )

    def nearest(self, q: Array, u: Array, t: float = 0.0) -> tuple[Array, Array]:
        """A state (nq,), (nu,) moved onto the constraints, along M^-1 A^T, rank-revealing; ValueError if
        Newton's method does not converge."""
        q, u, left = q.copy(), u.copy(), np.inf
        for _ in range(MAX_NEWTON_STEPS):
            phi = self.position(q, t)
            error = float(np.abs(phi).max(initial=0.0))
            if error == 0.0 or (error < 1e-12 and error >= 0.5 * left):
                break
            left = error
            q = self.system.integrate(q, self._least(self.position_jacobian(q, t), q, t, -phi))
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
        heavy: Array = M + np.swapaxes(A, -1, -2) @ A
        return heavy

    # ---- parts -----------------------------------------------------------------------------------------------

    def _least(self, A: Array, q: Array, t: float, wanted: Array) -> Array:
        """The smallest motion in the metric of M with A motion = wanted; ModelError where that is not determined."""
        L = self._factor(q, t)
        found: Array = np.linalg.solve(L.T, Rows(np.linalg.solve(L, A.T), self.tolerance(q, t)).motion(wanted))
        return found

    def _factor(self, q: ArrayLike, t: ArrayLike) -> Array:
        """L of the metric L L^T of a pose; ModelError where the motion is not determined."""
        M = self.metric(real_array("q", q), t)
        check_pose(self.system, M)
        return np.linalg.cholesky(M)

    def _evaluated(self, name: str, formula: Any, **given: ArrayLike) -> Array:
        """A formula of these arguments in this order, times t (...) and others (..., n), through its kernel. For one
        state, as at the start of a simulation, the kernel has a single lane and compiles in a fifth of the time."""
        system = self.system
        known: dict[str, tuple[int, ...]] = {"q": (system.nq,), "u": (system.nu,), "t": ()}
        sizes = {key: known.get(key, np.shape(value)[-1:]) for key, value in given.items()}
        lanes = 1 if all(np.ndim(value) == len(sizes[key]) for key, value in given.items()) else None
        kernel = kernel_for(
            ("constraints", name, self.constraints.key, lanes),
            lambda content: kernels.compile(
                formula, sizes, [name], name=f"constraints_{name}", lanes=lanes, content=content
            ),
        )
        result: Array = kernel(*given.values())
        return result
