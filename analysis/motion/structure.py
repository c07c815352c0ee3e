"""The structure of a pose: coordinates that are free, locked, coupled, bounded, and on constraints.

The curvature of a least-squares cost: what the second derivatives of the poses add to its normal matrix.

With residuals r_k = x_k - p_k of weights w_k, half the Hessian of sum w_k |r_k|^2 is J^T W J - sum w_k r_k . d2p_k. The
second term is the geometric stiffness of the forces f_k = w_k r_k, held constant in the world.

For a joint i that carries a joint j, d2p = omega_i x dp/dv_j. The term is therefore a motion of joint i times a moment
on the bodies that j carries. With S_i the subspaces, W_j the wrench that joint j transmits and x the cross product of
motions,

    (Hessian / 2)_ij = S_i . I_j S_j + W_j . (S_j x S_i) / 2

I_j is a composite inertia, as in the normal matrix, but points have other moments under a force f:

    first moment        w p + f / 2
    rotational inertia  w (|p|^2 1 - p p^T) + (p . f) 1 - (p f^T + f p^T) / 2

These follow the rule of parallel axes, as inertias do. The change of a joint's own subspace as it moves adds -W .
drift(q, u) to the quadratic form of its velocities u.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np

from myoquat.core import Array, Pair as MotionPair, content_key, frozen, lasting_content
from myoquat.dynamics.composite import Inertia, matrix
from myoquat.dynamics.constraints.equations import Constraints, as_constraint
from myoquat.dynamics.rows import Rows, pose_tolerance
from myoquat.joints.constraints import Constraint, Holonomic
from myoquat.joints.constraints.loops import Pair
from myoquat.joints.evaluation import compiled
from myoquat.joints.motion import Motion
from myoquat.joints.multibody import state
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.types import Joint
from myoquat.joints.vectors import components, cross, dot, joined, steiner, vecmat, vector
from myoquat.kernels import Kernel, while_loop
from myoquat.kernels.tracing.derivatives import jacobian_at
from myoquat.muscle.coordinates import Coupler, Marker, in_order

from .task_coordinates import (
    Place,
    coordinate_rates,
    coordinate_value,
    driving_velocities,
    task_coordinates,
    velocity_of,
)

_NEXT, _LAST = [1, 2, 0], [2, 0, 1]


class PointLoads:
    """Inertias and forces of weighted points, summed on the links of a system.

    The forces (n, f) are at the links' origins, in the links' axes.
    """

    def __init__(self, system: ArticulatedSystem) -> None:
        self.inertias: list[Inertia] = [(0.0, np.zeros(3), np.zeros(6)) for _ in system.tree.links]
        self.forces: list[MotionPair] = [(np.zeros(3), np.zeros(3)) for _ in system.tree.links]

    def add(self, link: int, force: MotionPair, inertia: Inertia) -> None:
        """Add a force and an inertia to those of a link."""
        self.forces[link] = self.forces[link][0] + force[0], self.forces[link][1] + force[1]
        own = self.inertias[link]
        self.inertias[link] = own[0] + inertia[0], own[1] + inertia[1], own[2] + inertia[2]

    def add_point(self, link: int, w: Array, p: Array, f: Array, bent: Array | float) -> None:
        """Add a point of weight w (..., 1) at p (3,) under a force f (..., 3).

        Where `bent` is 1, its inertia is that under the force, (w, w p + f / 2, ...); where it is 0, of a point mass.
        """
        force, (a, b) = bent * f, ([0, 0, 1], [1, 2, 2])
        products = p * force
        diagonal = products[..., _NEXT] + products[..., _LAST]
        mixed = -0.5 * (p[..., a] * force[..., b] + p[..., b] * force[..., a])
        second = w * steiner(p, 1.0) + joined([diagonal, mixed])
        self.add(link, (cross(p, f), f), (w, w * p + 0.5 * force, second))


def matrix_of_points(
    system: ArticulatedSystem, q: Array, motion: Motion, inertias: list[Inertia], wrenches: list[MotionPair] | None
) -> Array:
    """(..., nu, nu) the normal matrix of points, or half their Hessian if the wrenches that joints transmit are given.

    The Hessian leaves out the curvature of frames that follow a ball joint.
    """
    found = matrix(system, motion, inertias, wrenches)
    if wrenches is not None:
        for link, wrench in zip(system.tree.links, wrenches, strict=True):
            if link.joint.nu > 0:  # frames that follow other joints have none; their curvature is left out
                drift = drift_matrix(link.joint, q[..., link.q], wrench)
                found[..., link.u, link.u] = found[..., link.u, link.u] - drift
    return found


def drift_matrix(joint: Joint, q: Array, wrench: MotionPair) -> Array:
    """(..., k, k) the symmetric D with u^T D u = wrench . drift(q, u), which is a quadratic form in u (..., k)."""

    def form(u: Array) -> Array:
        c_omega, c_v = joint.drift(q, u + 0.0 * q[..., :1])
        return (dot(wrench[0], c_omega) + dot(wrench[1], c_v))[..., None]

    rows = [0.5 * jacobian_at(form, unit, like=q)[..., 0, :] for unit in np.eye(joint.nu)]  # half of the slopes
    return np.stack(np.broadcast_arrays(*rows, subok=True), axis=-2)


MAX_NEWTON_STEPS = 50  # onto constraints
ON_THEM = 1e-15  # [rad or m] change of a coordinate by which they end


@frozen
class Sensor:
    """An inertial sensor on a body: `orientation` (4,), a unit quaternion, takes the sensor's components to the
    body's.

    >>> from myoquat.analysis.motion import Sensor
    >>> Sensor("thigh_imu", "thigh", (1.0, 0.0, 0.0, 0.0)).body
    'thigh'
    """

    name: str
    body: str
    orientation: tuple[float, float, float, float]


class Data(NamedTuple):
    """The wanted values of each frame: positions (..., n, 3), rotations (..., s, 4), values (..., c), with weights. The
    sum of these, and the time [s], zero where no constraint needs it."""

    positions: Array
    position_weights: Array
    rotations: Array
    rotation_weights: Array
    values: Array
    value_weights: Array
    scale: Array
    time: Array


class Driven(NamedTuple):
    """A velocity that a coupler drives, the coupler, where its driver is, and the velocities on which that depends."""

    velocity: int
    coupler: Coupler
    driver: Place
    drivers: range


@frozen
class Projection:
    """A pose q (..., nq) on its way onto constraints, and the largest change (...) of a coordinate in the last step."""

    q: Array
    change: Array


@frozen(eq=False)
class PoseStructure:
    """The parts of a model that are fitted to data.

    markers      that are fitted
    sensors      that are fitted
    tasks        coordinates with wanted values, by name
    couplers     that are followed
    locked       indices of velocities
    bounds       (velocity, coordinate, lower, upper) of bounded coordinates
    constraints  that hold
    pulling      constraints as residuals, with their weights
    """

    system: ArticulatedSystem
    markers: tuple[Marker, ...] = ()
    sensors: tuple[Sensor, ...] = ()
    tasks: tuple[str, ...] = ()
    couplers: tuple[Coupler, ...] = ()
    locked: frozenset[int] = frozenset()
    bounds: tuple[tuple[int, int, float, float], ...] = ()
    constraints: tuple[Constraint, ...] = ()
    pulling: tuple[tuple[Constraint, float], ...] = ()

    @property
    def key(self) -> tuple[object, ...]:
        """Everything that the formulas depend on."""
        own = (self.markers, self.sensors, self.tasks, self.couplers, self.locked, self.bounds)
        return (self.system.content_key, *own, content_key(self.constraints), content_key(self.pulling))

    @cached_property
    def lasting(self) -> bool:
        """Whether all formulas are of this package."""
        return lasting_content(self.key) is not None

    # ---- structure ------------------------------------------------------------------------------------------

    @cached_property
    def driven(self) -> list[Driven]:
        """The coordinates that couplers drive, in dependency order. Drivers may be angles of a quaternion."""
        rates, tasks = velocity_of(self.system), task_coordinates(self.system)
        found = []
        for c in self.couplers:
            driver = tasks[c.independent]
            found.append(Driven(rates[c.dependent], c, driver, driving_velocities(driver)))
        return found

    @cached_property
    def free(self) -> list[int]:
        """The velocities that are neither locked nor driven."""
        driven = {d.velocity for d in self.driven}
        return [k for k in range(self.system.nu) if k not in self.locked and k not in driven]

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each part of the data of one frame."""
        m, s, c, timed = len(self.markers), len(self.sensors), len(self.tasks), bool(self.constraints or self.pulling)
        return {"positions": (m, 3), "position_weights": (m,), "rotations": (s, 4), "rotation_weights": (s,),
                "values": (c,), "value_weights": (c,), "scale": (), "time": () if timed else (0,)}  # fmt: skip

    @property
    def size(self) -> int:
        """How many numbers the data of one frame have."""
        return sum(map(math.prod, self.shapes.values()))

    def unpacked(self, data: Array) -> Data:
        """The parts of the data (..., size) of a frame."""
        parts, start = dict[str, Array](), 0
        for name, shape in self.shapes.items():
            stop = start + math.prod(shape)
            parts[name], start = data[..., start:stop].reshape((*data.shape[:-1], *shape)), stop
        if self.shapes["time"]:
            parts["time"] = 0.0 * parts["scale"]
        return Data(**parts)

    def open_to(self, q: Array, f: Array) -> Array:
        """(..., n) for the free velocities: 0 where f (..., n) presses a coordinate against its bound, 1 elsewhere."""
        found: list[Array] = [np.ones(())] * len(self.free)
        for k, i, lower, upper in self.bounds:
            row = self.free.index(k)
            pressed = ((q[..., i] <= lower) & (f[..., row] < 0)) | ((q[..., i] >= upper) & (f[..., row] > 0))
            found[row] = np.where(pressed, 0.0, 1.0)
        return vector(found)

    # ---- constraints ----------------------------------------------------------------------------------------

    @cached_property
    def equations(self) -> Constraints | None:
        """The constraints that hold, together."""
        return Constraints(self.system, self.constraints) if self.constraints else None

    @cached_property
    def touched(self) -> list[int]:
        """Indices of the free velocities on which constraints depend.

        A constraint between two bodies depends on the joints from them to their last common ancestor, as it holds their
        relative pose. Other constraints depend on all velocities. Couplers add the coordinates that drive these.
        """
        near: set[int] = set()
        for constraint in self.constraints:
            near |= touched_by(self.system, constraint)
        for dependent, _, _, drivers in self.driven[::-1]:
            near |= {*drivers} if dependent in near else set()
        return [place for place, k in enumerate(self.free) if k in near]

    def constraint_rows(self, q: Array, time: Array) -> tuple[Array, Array]:
        """(phi (..., k), A (..., k, n) on the free velocities, couplers followed), zero where not touched."""
        assert self.equations is not None
        return self.equations.position(q, time), _placed(self._touched_rows(q, time), self.touched, len(self.free))

    def _touched_rows(self, q: Array, time: Array) -> Array:
        """(..., k, c) the rows of the constraints on the velocities that are touched."""
        assert self.equations is not None
        A = self.equations.position_jacobian(q, time).copy()
        for dependent, driver, slope in self._slopes(q):
            A[..., driver] = A[..., driver] + slope[..., None] * A[..., dependent]
        return A[..., [self.free[place] for place in self.touched]]

    def constraint_curvature(self, q: Array, time: Array, forces: Array) -> Array:
        """(..., n, n) sum of forces (..., k) times the second derivatives of the constraints by the free velocities,
        couplers followed; a formula of symbols. The order of two velocities of a rotation matters: the mean of both."""

        def pulled(v: Array) -> Array:
            return vecmat(forces, self._touched_rows(state.displaced(self.system, q, self._on_all(q, v)), time))

        n, touched = len(self.free), np.array(self.touched)
        H = jacobian_at(pulled, np.zeros(len(touched)), like=q)
        found: Array = np.zeros((*q.shape[:-1], n, n)) + 0.0 * H[..., :1, :1]
        found[..., touched[:, None], touched] = 0.5 * (H + H.mT)
        return found

    def on_free(self, q: Array, force: Array, normal: Array, bent: Array | None = None) -> tuple[Array, Array]:
        """C^T f and C^T N C with u = C u_free.

        In states whose `bent` (...) is 1, the forces times the curvature of couplers on coordinates of one velocity are
        subtracted.
        """
        f, N = force.copy(), normal.copy()
        curvature = {} if bent is None else self.coupler_curvature(q)
        for dependent, driver, slope in self._slopes(q):
            if dependent in curvature:
                N[..., driver, driver] = N[..., driver, driver] - bent * f[..., dependent] * curvature[dependent]
            f[..., driver] = f[..., driver] + slope * f[..., dependent]
            N[..., driver, :] = N[..., driver, :] + slope[..., None] * N[..., dependent, :]
            N[..., :, driver] = N[..., :, driver] + slope[..., None] * N[..., :, dependent]
        return f[..., self.free], N[..., self.free, :][..., self.free]

    def _on_all(self, q: Array, v: Array) -> Array:
        """(..., nu) velocities that are v (..., c) where touched, follow couplers, and are zero elsewhere."""
        columns: list[Array] = [0.0 * v[..., 0]] * self.system.nu
        for k, place in enumerate(self.touched):
            columns[self.free[place]] = v[..., k]
        for dependent, driver, slope in list(self._slopes(q))[::-1]:
            columns[dependent] = slope * columns[driver]
        return vector(columns)

    def pseudo_inverse(self, q: Array, time: Array, open_: Array | None = None) -> tuple[Array, Array]:
        """(A^+ (..., n, k), I - A^+ A (..., n, n)) on the free velocities, those whose open_ (..., n) is 0 left out. On
        floats."""
        n = len(self.free)
        if self.equations is None:
            return np.zeros((*q.shape[:-1], n, 0)), np.broadcast_to(np.eye(n), (*q.shape[:-1], n, n))
        _, A = self.constraint_rows(q, time)
        rows = Rows((A if open_ is None else A * open_[..., None, :]).mT)
        back = rows.multiplier_columns(np.eye(n)).mT  # (A^+)^T = (A^T)^+
        return back, np.eye(n) - rows.projector

    def corrected(self, q: Array, time: Array, locked: bool = False) -> Array:
        """(..., nq) after the smallest step of Newton's method onto the constraints; bounds kept, couplers followed.

        Coordinates that would leave their bounds take no part, nor do any at their bounds if these are `locked`.
        """
        phi, A = self.constraint_rows(q, time)
        step = -_least_motion(A, phi)
        if self.bounds:
            open_ = self.open_to(q, step)
            if locked:
                open_ = open_ * self.open_to(q, -step)
            step = -_least_motion(A * open_[..., None, :], phi)
        return self.moved(q, step)

    def brought(self, q: Array, time: Array) -> Array:
        """(..., nq) poses brought onto the constraints by Newton's method."""
        if self.equations is None:
            return q

        def newton(search: Projection, time: Array) -> Projection:
            moved = self.corrected(search.q, time)
            return Projection(moved, reduce(np.maximum, np.moveaxis(np.abs(moved - search.q), -1, 0)))

        start = Projection(q, 0.0 * q[..., 0] + np.inf)
        found = while_loop(lambda search: search.change > ON_THEM, newton, start, time, max_steps=MAX_NEWTON_STEPS)
        return found.q

    @property
    def bring(self) -> Kernel:
        """The kernel of `brought`."""
        sizes = {"q": self.system.nq, "t": ()}
        return compiled(("pose_brought", self.key), lambda q, t: self.brought(q, t), sizes, ["q_new"])

    def moved(self, q: Array, v: Array) -> Array:
        """(..., nq) coordinates after the step v (..., n) of the free velocities: bounds kept, couplers followed."""
        return self.allowed(state.integrate(self.system, q, _placed(v, self.free, self.system.nu)))

    def allowed(self, q: Array) -> Array:
        """(..., nq) coordinates with bounds kept and couplers followed."""
        entries = [q[..., i] for i in range(self.system.nq)]
        for _, i, lower, upper in self.bounds:
            entries[i] = np.minimum(np.maximum(entries[i], lower), upper)
        names = self.system.coordinate_names
        for _, coupler, driver, _ in self.driven:
            x = coordinate_value(driver, entries)
            entries[names.index(coupler.dependent)] = coupler.scale * coupler.function.value(x)
        return vector(entries)

    def coupler_curvature(self, q: Array) -> dict[int, Array]:
        """{velocity: second derivative (...) of its coupler}, for drivers of one velocity; for angles of a quaternion
        the normal matrix stays without it."""
        entries, single = components(q), [d for d in self.driven if d.driver.ball is None and d.driver.floating is None]
        return {
            d.velocity: d.coupler.scale * d.coupler.function.curvature(coordinate_value(d.driver, entries))
            for d in single
        }

    def _slopes(self, q: Array) -> Iterator[tuple[int, int, Array]]:
        """(velocity, a velocity that drives it, their ratio (...)), what is driven by others before these."""
        entries = components(q)
        for dependent, coupler, driver, drivers in self.driven[::-1]:
            slope = coupler.scale * coupler.function.slope(coordinate_value(driver, entries))
            for k, rate in zip(drivers, coordinate_rates(driver, q), strict=True):
                yield dependent, k, slope * rate


def split_couplers(
    system: ArticulatedSystem, couplers: Iterable[Coupler]
) -> tuple[tuple[Coupler, ...], tuple[Holonomic, ...]]:
    """The couplers that can be followed, and the others as constraints.

    Each followed coupler comes after those that drive its driver. The others drive an angle of a quaternion, which has
    no velocity of its own.
    """
    rates, tasks = velocity_of(system), task_coordinates(system)
    followed = [c for c in couplers if c.dependent in rates and c.independent in tasks]
    return in_order(followed), tuple(as_constraint(c) for c in couplers if c not in followed)


def _placed(values: Array, indices: Sequence[int], count: int) -> Array:
    """(..., count) values (..., k) at these indices, zero elsewhere."""
    columns: list[Array] = [np.zeros(values.shape[:-1])] * count
    for k, index in enumerate(indices):
        columns[index] = values[..., k]
    return vector(columns)


def _least_motion(A: Array, phi: Array) -> Array:
    """(..., n) the smallest v with A v = phi."""
    return Rows(A.mT, pose_tolerance(phi, A)).motion(phi)


def touched_by(system: ArticulatedSystem, constraint: Constraint) -> set[int]:
    """The velocities on which a constraint can depend."""
    if isinstance(constraint, Pair):
        ends = constraint.first, constraint.second
        base = system.lowest_common_ancestor(ends)
        return {k for name in ends for k in system.velocities_moving(name)} - {*system.velocities_moving(base)}
    return set(range(system.nu))
