"""All constraints of a system together: residuals, Jacobian and bias, and the motion that satisfies them.

The formulas here have no branches. Rows that are independent are solved by S = A M^-1 A^T, factorized without pivoting.
Constraints may be declared redundant. `myoquat.dynamics.rows` then finds their rank at each pose, and gives
the least forces, and the motion that comes nearest to rows that contradict each other.

Velocities that many couplers and locks give as functions of others are eliminated first: pivots over all rows would be
millions of operations. Eliminated rows hold exactly, and the others as nearly as these allow. Eliminated rows exert
what is left of the force after the least multipliers of the others.

Where bodies without mass make M singular, M + A^T A stands for M, and Q + A^T b for the forces Q. All motions with A a
= b satisfy the same equations with these. The motion is determined if M + A^T A is regular. Source: F. E. Udwadia, A.
D. Schutte, Equations of motion for general constrained systems in Lagrangian mechanics, Acta Mech. 213, 2010; J. Appl.
Mech. 77, 2010.
"""

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property, partial
from graphlib import TopologicalSorter
from itertools import accumulate, pairwise

import numpy as np

from myoquat.core import Array, Pair, check_items, content_key
from myoquat.dynamics import composite, factor, inverse
from myoquat.dynamics.factor import Metric, solve_small
from myoquat.dynamics.regularity import singular_velocity
from myoquat.dynamics.rows import Elimination, Rows, filled_entries, pose_tolerance
from myoquat.joints import ArticulatedSystem
from myoquat.joints.constraints import CoordinateCoupler
from myoquat.joints.constraints.base import Constraint
from myoquat.joints.evaluation import SystemLike, system_of
from myoquat.joints.multibody import state
from myoquat.joints.vectors import joined, joined_matrices, matvec, transpose, vecmat
from myoquat.kernels.tracing.trace import trace
from myoquat.muscle import Model
from myoquat.muscle.coordinates import Coupler, in_order

MIN_ELIMINATED_ROWS = 8  # of rows that give a velocity as a function of others: fewer are solved with all others


class Constraints:
    """Formulas of several constraints on a system, in their order, `redundant` if they may imply each other. ModelError
    for one that names what is not there. `weightless` says it for a system of symbols, of which it cannot be found and
    which is not checked.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.dynamics.constraints import Constraints, CoordinateCoupler
    >>> bodies = [mq.Body(name, "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=1.0) for name in ("a", "b")]
    >>> couple = CoordinateCoupler("b.position", "a.position")
    >>> held = Constraints(mq.ArticulatedSystem(tuple(bodies)), [couple])
    >>> held.position(np.array([0.2, 0.5]), 0.0), held.jacobian(np.zeros(2), 0.0)
    (array([0.3]), array([[-1.,  1.]]))
    """

    def __init__(
        self, system: ArticulatedSystem, constraints: Sequence[Constraint], redundant: bool = False,
        weightless: bool | None = None,
    ) -> None:  # fmt: skip
        for constraint in constraints if weightless is None else ():
            constraint.check(system)
        self.system, self.parts, self.redundant = system, tuple(constraints), redundant
        self._weightless = weightless

    @property
    def weightless(self) -> bool:
        """True where the system's own mass matrix is singular in every pose, as found or as given."""
        return singular_velocity(self.system) is not None if self._weightless is None else self._weightless

    @property
    def key(self) -> Hashable:
        """Equal for equal constraints on equal systems: kernels are kept by it."""
        return (self.system.content_key, content_key(self.parts), self.redundant)

    def position(self, q: Array, t: Array) -> Array:
        """(..., h) phi of all."""
        return joined([c.position(self.system, q, t) for c in self.parts])

    def rate(self, q: Array, u: Array, t: Array) -> Array:
        """(..., k) phidot and psi of all."""
        return joined([c.rate(self.system, q, u, t) for c in self.parts])

    def jacobian(self, q: Array, t: Array) -> Array:
        """(..., k, nu) A."""
        return joined_matrices([c.jacobian(self.system, q, t) for c in self.parts], -2)

    def bias(self, q: Array, u: Array, t: Array) -> Array:
        """(..., k) b: A udot = b."""
        return joined([c.bias(self.system, q, u, t) for c in self.parts])

    # ---- motions on the constraints ----------------------------------------------------------------------------

    def acceleration(self, q: Array, u: Array, t: Array, tau: Array, rest: Array | None = None) -> Pair:
        """(udot (..., nu), lambda (..., k)) under generalized forces tau (..., nu).

        Of the motions with A udot = b, udot is the one nearest to the free motion in the metric M (Gauss's principle).
        The forces A^T lambda produce it. `rest` (..., k) is added to b: stabilization.
        """
        if self.redundant:  # rows that are zero for |Q| = 1 are not in the stages of a method, and would count
            q = state.normalized(self.system, q)
        b = self.bias(q, u, t) if rest is None else self.bias(q, u, t) + rest
        A, force = self.jacobian(q, t), tau - inverse.inverse(self.system, q, u, None)
        return self._solver(q, t)(A, b, force + vecmat(b, A) if self.weightless else force, (q, t))

    def carried(self, q: Array, t: Array, force: Array) -> Pair:
        """(A^T lambda (..., nu), lambda (..., k)): the part of a generalized force (..., nu) that the constraints
        carry. The lambda leave least of it in the metric of M^-1: A M^-1 A^T lambda = A M^-1 force."""
        A = self.jacobian(q, t)
        _, multipliers = self._solver(q, t)(A, 0.0 * A[..., 0], force, (q, t))
        return vecmat(-multipliers, A), -multipliers

    def stabilization(self, q: Array, u: Array, t: Array, time_constant: Array) -> Array:
        """(..., k) -2/T phidot - phi/T^2, critically damped; -psi/T on velocities alone.

        Source: J. Baumgarte, Stabilization of constraints and integrals of motion in dynamical systems, Comput. Methods
        Appl. Mech. Engrg. 1, 1972.
        """
        T, parts = time_constant, []
        for c in self.parts:
            phi, rate = c.position(self.system, q, t), c.rate(self.system, q, u, t)
            whole = phi.shape[-1] == rate.shape[-1]
            parts.append(-2 / T * rate - phi / (T * T) if whole else -rate / T)
        return joined(parts)

    def nearest(self, q: Array, u: Array, t: Array, newton_steps: int = 2) -> Pair:
        """(q, u) projected onto the constraints along M^-1 A^T: `newton_steps` for q, then u at once. A is that of each
        pose, M that of the first one. Poses move by the error of a step. Another M would therefore change the point on
        the constraints by the product of that and its own size, not the distance from them. Motions of poses obey
        constraints on velocities alone: what is locked stays."""
        solver, still = self._solver(q, t), np.zeros(self.system.nu)
        for _ in range(newton_steps if self.position(q, t).shape[-1] else 0):
            q = state.integrate(self.system, q, solver(*self.closing(q, t), still, (q, t))[0])
        return q, u + solver(self.jacobian(q, t), -self.rate(q, u, t), still, (q, t))[0]

    def tolerance(self, q: Array, t: Array) -> Array:
        """(...) of the rank of the rows at a pose: `pose_tolerance`."""
        return pose_tolerance(self.position(q, t), self.position_jacobian(q, t))

    def _solver(self, q: Array, t: Array) -> Callable[[Array, Array, Array, Pair], Pair]:
        """solver(A, wanted, force, pose) -> (x (..., nu), lambda (..., k)) in the metric M(q).

        x is the motion with A x = wanted (..., k) that is nearest to M^-1 force, and M x = force + A^T lambda. A
        belongs to a pose (q, t) nearby.
        """
        if len(self._explicit) < MIN_ELIMINATED_ROWS:
            return partial(self._unreduced, self._metric(q, t))
        return partial(self._reduced, self._inertia(q, t))

    def _unreduced(self, metric: Metric, A: Array, wanted: Array, force: Array, pose: Pair) -> Pair:
        """`_solver` with all rows in the metric."""
        free = metric.solve(force)
        change, multipliers = self._solved(metric, A, wanted - matvec(A, free), pose)
        return free + change, multipliers

    def _solved(self, metric: Metric, A: Array, wanted: Array, pose: Pair, lengths: Array | None = None) -> Pair:
        """(M^-1 A^T lambda (..., nu), lambda (..., k)): the least motion with A (...) = wanted (..., k) at a pose and
        time, and the multipliers that cause it. `lengths` as of `Rows`."""
        if not self.redundant:
            multipliers = solve_small(metric.inverse_product(A), wanted[..., None])[..., 0]
            return metric.solve(vecmat(multipliers, A)), multipliers
        rows = Rows(metric.halved(A), self.tolerance(*pose), lengths)
        x = rows.motion(wanted)
        return metric.motion(x), rows.multipliers(x)

    # ---- velocities that rows give as functions of others -----------------------------------------------------------
    #
    # x = N y + c satisfies these rows, whatever y. Without other rows N^T M N y = N^T (force - M c), and others are R =
    # A N of y in the metric N^T M N. Where rows act along the branches of a tree, this matrix keeps its zeros.

    @cached_property
    def _explicit(self) -> dict[int, int]:
        """The velocity that a part gives as a function of others, by the number of the part."""
        found = dict[int, int]()
        for i, part in enumerate(self.parts):
            if part.driven in self.system.coordinate_names:
                velocity, *more = self.system.indices.velocities_of_coordinate(part.driven)
                found |= {} if more else {i: int(velocity)}
        return found

    def _eliminated(self, A: Array, pose: Pair) -> dict[int, tuple[int, list[int]]]:
        """(driven velocity, others) by the row of A (..., k, nu) that is eliminated: the first one that drives a
        velocity, unless this drives one of the others. Those that drive others come first."""
        rows, others, filled = dict[int, int](), dict[int, list[int]](), filled_entries(A)

        def leads_to(k: int, driven: int) -> bool:
            return k == driven or any(leads_to(j, driven) for j in others.get(k, ()))

        slices = self.row_slices(*pose)
        for i, driven in self._explicit.items():
            given = [j for j in np.flatnonzero(filled[slices[i].start]).tolist() if j != driven]
            if driven not in rows and not any(leads_to(j, driven) for j in given):
                rows[driven], others[driven] = slices[i].start, given
        return {rows[k]: (k, others[k]) for k in TopologicalSorter(others).static_order() if k in rows}

    def _reduced(self, M: Array, A: Array, wanted: Array, force: Array, pose: Pair) -> Pair:
        """`_solver` with rows eliminated, in the metric M."""
        eliminated = self._eliminated(A, pose)
        rows, left = [*eliminated], [i for i in range(A.shape[-2]) if i not in eliminated]
        scales = A[..., rows, [driven for driven, _ in eliminated.values()]]
        values, B, multipliers = wanted[..., rows] / scales, A[..., left, :], np.zeros(len(left))
        elimination = Elimination(self.system.nu, [
            (driven, [(j, A[..., row, j] / scales[..., i]) for j in others])
            for i, (row, (driven, others)) in enumerate(eliminated.items())
        ])  # fmt: skip
        y = np.zeros(len(elimination.free))
        c = elimination.whole(y, values)
        if elimination.free:
            metric = Metric.of(elimination.folded(transpose(elimination.folded(M))))
            y = metric.solve(elimination.folded((force - matvec(M, c))[..., None, :])[..., 0, :])
        if left and elimination.free:
            R = elimination.folded(B)
            missing = wanted[..., left] - matvec(B, c) - matvec(R, y)
            change, multipliers = self._solved(metric, R, missing, pose, metric.lengths(R, elimination.sizes(B)))
            y = y + change
        x = elimination.whole(y, values)
        of_rows = elimination.multipliers(matvec(M, x) - force - vecmat(multipliers, B)) / scales
        return x, joined([of_rows, multipliers])[..., np.argsort([*rows, *left])]

    def position_jacobian(self, q: Array, t: Array) -> Array:
        """(..., h, nu) d phi / d motion."""
        return joined_matrices([c.position_jacobian(self.system, q, t) for c in self.parts], -2)

    def closing(self, q: Array, t: Array) -> Pair:
        """(rows (..., k, nu), wanted (..., k)): motions of a pose onto the constraints have rows motion = wanted.

        Those of phi, and for constraints on velocities alone those of psi, to which such a motion adds nothing.
        """
        rows, wanted = [], []
        for c in self.parts:
            phi = c.position(self.system, q, t)
            on_poses = phi.shape[-1] > 0
            A = c.position_jacobian(self.system, q, t) if on_poses else c.jacobian(self.system, q, t)
            rows.append(A)
            wanted.append(-phi if on_poses else 0.0 * A[..., 0])
        return joined_matrices(rows, -2), joined(wanted)

    def _metric(self, q: Array, t: Array) -> Metric:
        """M; M + A^T A where M is singular."""
        if not self.weightless:
            return Metric(factor.ancestors(self.system), factor.mass_factor(self.system, q))
        return Metric.of(self._inertia(q, t))

    def _inertia(self, q: Array, t: Array) -> Array:
        """(..., nu, nu) the matrix of the same metric."""
        M = composite.mass(self.system, q)
        if not self.weightless:
            return M
        A = self.jacobian(q, t)
        return M + transpose(A) @ A

    def row_slices(self, q: Array | None = None, t: Array | None = None) -> tuple[slice, ...]:
        """The rows of each of `parts` among those of all, which no pose changes. A formula that is traced gives its q
        and t; otherwise the rates are traced here, because at any pose of numbers named angles may be in a lock."""

        def rates(q: Array, u: Array, t: Array) -> tuple[Array, ...]:
            return tuple(c.rate(self.system, q, u, t) for c in self.parts)

        if q is None or t is None:
            names = [str(k) for k in range(len(self.parts))]
            traced = trace(rates, {"q": self.system.nq, "u": self.system.nu, "t": ()}, names)
            counts = [shape[-1] for shape in traced.signature.outputs.values()]
        else:
            counts = [rate.shape[-1] for rate in rates(q, np.zeros(self.system.nu), t)]
        return tuple(slice(a, b) for a, b in pairwise(accumulate(counts, initial=0)))


# ---- The constraints that a model holds by itself -----------------------------------------------------------------


def constraints_of(model: SystemLike, given: Sequence[Constraint] = ()) -> tuple[Constraint, ...]:
    """The constraints that a motion of a model satisfies: its `constraints`, its couplers, its locked and prescribed
    coordinates, and those `given` beside them, each once. A locked coordinate that a coupler drives follows that. A
    system alone has no constraints of its own.

    >>> import myoquat as mq
    >>> from myoquat.dynamics.constraints import constraints_of
    >>> constraints_of(mq.load_model("two_link"))
    ()
    """
    system_of(model)
    own: list[Constraint] = []
    if isinstance(model, Model):
        own += model.constraints
        own += map(as_constraint, model.couplers)
        own += modes_of(model)
    return (*own, *(c for c in check_items("constraints", given, Constraint) if c not in own))


def modes_of(model: Model) -> list[Constraint]:
    """The constraints of the locked and the prescribed coordinates that the system has."""
    driven, system = {coupler.dependent for coupler in model.couplers}, model.system
    known = {*system.coordinate_names, *system.angle_names}
    held = (c for c in model.coordinates if c.name in known and not (c.locked and c.name in driven))
    return [constraint for c in held if (constraint := c.constraint) is not None]


def imposed(model: SystemLike, q: Array, u: Array, time: float) -> Pair:
    """The state q (..., nq), u (..., nu) at a time, where prescribed coordinates follow their functions, coordinates
    that these drive by couplers follow them, and locked ones are at rest."""
    if not isinstance(model, Model) or all(c.free for c in model.coordinates):
        return q, u
    index = {name: i for i, name in enumerate(model.system.coordinate_names)}
    velocities = model.system.indices.velocities_of_coordinate
    q, u, moved = np.array(q, dtype=float), np.array(u, dtype=float), set()
    for coordinate in (c for c in model.coordinates if not c.free and c.name in index):
        u[..., list(velocities(coordinate.name))] = 0.0
        if coordinate.prescribed is not None and not coordinate.locked:
            q[..., index[coordinate.name]] = coordinate.prescribed.value(np.asarray(time))
            u[..., list(velocities(coordinate.name))] = coordinate.prescribed.slope(np.asarray(time))
            moved.add(coordinate.name)
    for coupler in in_order(model.couplers):
        if coupler.independent in moved and coupler.dependent in index:
            driver, function = q[..., index[coupler.independent]], coupler.function
            q[..., index[coupler.dependent]] = coupler.scale * function.value(driver)
            rate = u[..., list(velocities(coupler.independent))]
            u[..., list(velocities(coupler.dependent))] = coupler.scale * function.slope(driver)[..., None] * rate
            moved.add(coupler.dependent)
    return q, u


def as_constraint(coupler: Coupler) -> CoordinateCoupler:
    """The constraint that a coupler is."""
    return CoordinateCoupler(coupler.dependent, coupler.independent, coupler.function, coupler.scale, name=coupler.name)
