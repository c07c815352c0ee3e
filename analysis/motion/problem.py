"""The least-squares problem of a pose: its residuals, their normal equations, and one damped Gauss-Newton step.

minimise  c(q) = sum_k w_k |x_k - p_k(q)|^2 + sum_s w_s |theta_s(q)|^2 + sum_j w_j (y_j - y_j(q))^2

over the coordinates that are free. Markers at p_k(q) are seen at x_k [m]. The rotation vector theta_s [rad] leads from
the sensor on the model to the recorded one. The y_j are wanted values of coordinates. Steps are taken in the tangent
space: velocities v over unit time, integrated by each joint's own exponential.

For points on a body, J^T W J is the mass matrix of point masses w_k. For turning sensors it is that of a rotational
inertia w_s 1. (For the rotation vector, J^T theta = theta exactly, and 1 bounds the curvature of |theta|^2 / 2 from
above.) Composite rigid bodies therefore give the normal matrix, and the recursion of forces its right-hand side, in
time linear in the number of markers. The matrix keeps the zeros between branches of the tree, and so do its factors L^T
D L.

Where the last step was short, half the Hessian takes the place of the normal matrix, so that the search ends with
Newton's method (`myoquat.analysis.motion.structure`). It has the curvature of markers, couplers, constraints that hold,
and wanted coordinates. Sensors, angles of ball joints and constraints with weights keep their normal matrix. Where the
Hessian is not positive definite, the step is found again without it. Steps must then be shorter before it is tried
again.

Where constraints phi(q, t) = 0 hold, poses stay on them: the step minimises the same cost along their tangent space.
The next step removes the phi that remains, and the cost is judged as it will be then, to second order in phi. This is
sequential quadratic programming, with R. Fletcher's merit function (A class of methods for nonlinear programming III,
in Numerical Methods for Nonlinear Optimization, 1972). Constraints with a weight are residuals: sum w |phi|^2.

With A = d phi / dv, such a step solves

    minimise  v^T N v / 2 - f^T v   subject to   A v = -phi

in the metric of N = L^T D L: with Z = D^-1/2 L^-T A^T and g = D^-1/2 L^-T f, the step is v = L^-1 D^-1/2 (g - x). Here
x is the least vector with Z^T x = Z^T g + phi [J. Nocedal, S. J. Wright, Numerical Optimization, 2nd ed., Springer
2006, eq. 16.4]. `myoquat.dynamics.rows` finds it, also where rows depend on each other.

Sources: Levenberg, Quart. Appl. Math. 2, 1944, for the damping; composite bodies and L^T D L as in
`myoquat.dynamics.composite` and `myoquat.dynamics.factor`; bounds by projection as in D. P. Bertsekas, SIAM J. Control
Optim. 20, 1982.
"""

from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np

from myoquat.core import Array, Pair, frozen
from myoquat.dynamics.factor import Metric
from myoquat.dynamics.inverse import generalized, transmitted
from myoquat.dynamics.rows import Rows, pose_tolerance
from myoquat.joints import frames
from myoquat.joints.motion import kinematics, world_poses
from myoquat.joints.multibody.tree import WORLD
from myoquat.joints.quaternion import quaternion_from_matrix, quaternion_log, rotation_matrix
from myoquat.joints.vectors import components, dot, joined, matvec, vecmat, vector
from myoquat.muscle.coordinates import Marker

from .structure import Data, PointLoads, PoseStructure, Sensor, matrix_of_points
from .task_coordinates import (
    Place,
    angle_period,
    coordinate_rates,
    coordinate_value,
    driving_velocities,
    task_coordinates,
)

COST_ROUNDOFF_M = 1e-14  # [m] change of the root mean square of residuals that is round-off
MIN_DAMPING, MAX_DAMPING = 1e-9, 1e12
MIN_DAMPING_AFTER_REJECTION = 1e-6
DAMPING_DECREASE, DAMPING_INCREASE = 0.1, 10.0  # factors of the damping after an accepted and a rejected step
REJECTED_STEP_FACTOR = 0.25  # part of a rejected step that is tried next
MIN_FIRST_STEP, MAX_FIRST_STEP = 0.3, 2.0  # bounds on the part of a step that is tried first
UNKNOWN_COST = 1e300  # cost before the first evaluation
UNDETERMINED_PIVOT = 1e-12  # pivot of the normal matrix, over the weights, below which a velocity is not determined
MAX_CONSTRAINT_STEP = 3.0  # [rad or m] change of a coordinate in one step along constraints
NEWTON_STEP_LENGTH = 0.1  # [rad or m] step below which the curvature of the residuals is taken into account
INDEFINITE_STEP_FACTOR = 0.1  # part of a step with an indefinite Hessian below which Newton's is tried again
REPEATED_STEP = 2.0  # marks a step that is computed again
MIN_MOVEMENT = 1e-9  # [rad or m] movement of a step below which a search ends
ACTIVE_SET_ITERATIONS = 2  # of constraint forces and active bounds


VIOLATION_WEIGHT = 100.0  # of the squared distance x^T x of phi in the merit of a pose, which rejects poses off phi = 0


class Step(NamedTuple):
    """A step along the constraints and across them.

    v       (..., n) the step
    force   (..., n) the force that remains along the constraints
    change  (...) of the cost, as expected from the part of the step across the constraints
    pivot   (...) the least one of the step's matrix, which is positive definite if it is above zero
    """

    v: Array
    force: Array
    change: Array
    pivot: Array


def multipliers(A: Array, f: Array, open_: Array) -> Array:
    """(..., k) the lambda for which f - A^T lambda (..., n) is least in the squares of the entries whose open_ is 1."""
    return Rows((A * open_[..., None, :]).mT).multipliers(f * open_)


def constrained_step(N: Array, f: Array, A: Array, phi: Array) -> Step:
    """The step under linearised constraints A v = -phi.

    N (..., n, n) is the normal matrix, already damped, f (..., n) the force, A (..., k, n) and phi (..., k) those of
    the constraints.

    The part of v across the constraints comes from the least x with Z^T x = phi. The cost is expected to change by
    2 g . x + x . x along it.
    """
    metric = Metric.of(N)
    pivots, F, diagonal = metric.inverse_pivots, metric.F.copy(), np.arange(f.shape[-1])
    F[..., diagonal, diagonal] = np.where(pivots > 0, pivots, 1.0)  # of other pivots the step is rejected
    metric = metric._replace(F=F)
    Y = metric.halved(np.concatenate([f[..., None, :], A], axis=-2))
    g, Z = Y[..., 0], Y[..., 1:]
    rows = Rows(Z, pose_tolerance(phi, A))
    across = rows.motion(phi)
    along = g - rows.motion(vecmat(g, Z) + phi)
    return Step(metric.motion(along), f, dot(2 * g + VIOLATION_WEIGHT * across, across), _least(pivots))


class Terms(NamedTuple):
    """The cost c (...), -grad c / 2 (..., nu) and the normal matrix (..., nu, nu)."""

    cost: Array
    force: Array
    normal: Array


class Search(NamedTuple):
    """The state of a search.

    q        (..., nq) the best pose so far
    v        (..., n) the step that is tried from it
    slope    -dc/dv / 2 along the step
    share    the part of the step that is tried
    damping  of the normal matrix
    cost     at q
    reach    length of a step below which the next one is Newton's
    left     how far the pose that is tried next moves; 0 below a limit
    """

    q: Array
    v: Array
    slope: Array
    share: Array
    damping: Array
    cost: Array
    reach: Array
    left: Array


@frozen(eq=False)
class PoseProblem(PoseStructure):
    """The cost of a pose, its normal equations, and the search for the least."""

    # ---- residuals ------------------------------------------------------------------------------------------

    def marker_residuals(self, poses: list[Pair], data: Data) -> list[Array]:
        """(..., 3) x_k - p_k of every marker [m], in world axes."""
        found = []
        for k, marker in enumerate(self.markers):
            link, p = self._spot(marker)
            R, origin = (np.eye(3), np.zeros(3)) if link == WORLD else poses[link]
            found.append(data.positions[..., k, :] - (origin + matvec(R, p)))
        return found

    def sensor_residuals(self, poses: list[Pair], data: Data) -> list[Array]:
        """(..., 3) theta_s of every sensor [rad], in the axes of its link: log of R_link^T R_seen R_sensor^T."""
        found = []
        for k, sensor in enumerate(self.sensors):
            link, R_sensor = self._mount(sensor)
            R = np.eye(3) if link == WORLD else poses[link][0]
            back = R.mT @ rotation_matrix(data.rotations[..., k, :]) @ R_sensor.T
            found.append(rotation_vector(back))
        return found

    def task_residuals(self, q: Array, data: Data) -> list[Array]:
        """(..., 1) y_j - y_j(q) of every coordinate task; of angles in place of a quaternion, within half a turn."""
        found, entries = [], components(q)
        for j, place in enumerate(self.task_locations):
            off = data.values[..., j] - coordinate_value(place, entries)
            if place.ball is not None:
                unit = 2 * np.pi / angle_period(place)
                off = np.arctan2(np.sin(unit * off), np.cos(unit * off)) / unit
            found.append(off[..., None])
        return found

    def _residuals(self, q: Array, poses: list[Pair], given: Data) -> list[list[tuple[Array, Array]]]:
        """The weights (...) and residuals (..., k) of markers, sensors, tasks, and constraints with weights."""
        parts = (
            (given.position_weights, self.marker_residuals(poses, given)),
            (given.rotation_weights, self.sensor_residuals(poses, given)),
            (given.value_weights, self.task_residuals(q, given)),
        )
        pulled = [(np.array(weight), -c.position(self.system, q, given.time)) for c, weight in self.pulling]
        return [*([(weights[..., k], r) for k, r in enumerate(own)] for weights, own in parts), pulled]

    def cost(self, q: Array, data: Array) -> Array:
        """(...) c(q)."""
        given, poses = self.unpacked(data), world_poses(self.system.tree, kinematics(self.system.tree, q))
        return _cost(self._residuals(q, poses, given))

    def errors(self, q: Array, data: Array) -> list[Array]:
        """Markers (..., n) [m], sensors (..., s) [rad] and tasks (..., c): lengths of the residuals."""
        given, poses = self.unpacked(data), world_poses(self.system.tree, kinematics(self.system.tree, q))
        lengths = [[np.sqrt(dot(r, r)) for _, r in part] for part in self._residuals(q, poses, given)[:3]]
        return [vector(part) if part else 0.0 * q[..., :0] for part in lengths]

    def violation(self, q: Array, data: Array) -> Array:
        """(...) the greatest |phi| of the constraints."""
        if self.equations is None:
            return 0.0 * q[..., 0]
        phi = self.equations.position(q, self.unpacked(data).time)
        return _longest(phi)

    # ---- normal equations -----------------------------------------------------------------------------------

    def terms(self, q: Array, data: Array, bent: Array | None = None) -> Terms:
        """Cost, right-hand side and normal matrix, on all velocities.

        In states whose `bent` (...) is 1, half the Hessian takes the place of the normal matrix, without that of
        couplers.
        """
        given, tree = self.unpacked(data), self.system.tree
        motion = kinematics(tree, q)
        poses = world_poses(tree, motion)
        loads, residuals = PointLoads(self.system), self._residuals(q, poses, given)
        markers, sensors, tasks, pulled = residuals
        for marker, (w, r) in zip(self.markers, markers, strict=True):
            link, p = self._spot(marker)
            if link != WORLD:
                f = vecmat(w[..., None] * r, poses[link][0])
                loads.add_point(link, w[..., None], p, f, 0.0 if bent is None else bent[..., None])
        for sensor, (w, theta) in zip(self.sensors, sensors, strict=True):
            link, w = self._mount(sensor)[0], w[..., None]
            if link != WORLD:
                inertia = np.zeros(1), np.zeros(3), w * np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
                loads.add(link, (w * theta, np.zeros(3)), inertia)
        wrenches = transmitted(tree, motion, loads.forces)
        force = generalized(self.system, motion, wrenches)
        bending = None if bent is None else [(bent[..., None] * n, bent[..., None] * f) for n, f in wrenches]
        normal = matrix_of_points(self.system, q, motion, loads.inertias, bending)
        rows = [(*one, self._task_row(q, place)) for one, place in zip(tasks, self.task_locations, strict=True)]
        rows += [(*one, c.position_jacobian(self.system, q, given.time))
                 for one, (c, _) in zip(pulled, self.pulling, strict=True)]  # fmt: skip
        for w, r, A in rows:
            force = force + w[..., None] * vecmat(r, A)
            normal = normal + w[..., None, None] * (A.mT @ A)
        return Terms(_cost(residuals), force, normal)

    def _task_row(self, q: Array, place: Place) -> Array:
        """(..., 1, nu) the derivative of a coordinate."""
        row: Array = np.zeros((*q.shape[:-1], self.system.nu)) + 0.0 * q[..., :1]
        for k, rate in zip(driving_velocities(place), coordinate_rates(place, q), strict=True):
            row[..., k] = rate
        return row[..., None, :]

    def reduced(self, q: Array, terms: Terms, bent: Array | None = None) -> tuple[Array, Array]:
        """Right-hand side (..., n) and normal matrix (..., n, n) on the free velocities.

        They are C^T f and C^T N C with u = C u_free. Rows of coordinates that press against their bounds are taken out.
        bent: as in `terms`; couplers add their part.
        """
        f, N = self.on_free(q, terms.force, terms.normal, bent)
        return _opened(f, N, self.open_to(q, f)) if self.bounds else (f, N)

    def constrained(self, q: Array, terms: Terms, data: Data, damping: Array, bent: Array | None = None) -> Step:
        """The step from q along the constraints. Which coordinates press against their bounds depends on the forces of
        the constraints, and these on which do: both are found in turns."""
        phi, A = self.constraint_rows(q, data.time)
        f, N = self.on_free(q, terms.force, terms.normal, bent)
        open_: Array = np.ones(len(self.free))
        for _ in range(ACTIVE_SET_ITERATIONS if self.bounds else 1):
            forces = multipliers(A, f, open_)
            rest = f - vecmat(forces, A)
            open_ = self.open_to(q, rest)
        if bent is not None:
            N = N + self.constraint_curvature(q, data.time, bent[..., None] * forces)
        f, N = _opened(f, N, open_)
        step = constrained_step(self._damped(N, data, damping), f, A * open_[..., None, :], phi)
        longest = _longest(step.v)
        shortened = MAX_CONSTRAINT_STEP / np.maximum(longest, MAX_CONSTRAINT_STEP)
        return step._replace(v=step.v * shortened[..., None], force=rest)

    def along(self, q: Array, data: Array) -> tuple[Array, Array]:
        """(..., n, n) the projection along the constraints, and the normal matrix, on the free velocities."""
        return self.pseudo_inverse(q, self.unpacked(data).time)[1], self.reduced(q, self.terms(q, data))[1]

    def determined(self, q: Array, data: Array) -> Array:
        """(n,) whether the data of frames q (t, nq), data (t, ...) or the constraints determine a free velocity.

        A velocity counts as determined if any measurement in one of the frames depends on it.
        """
        along, normal = self.along(q, data)
        seen = np.diagonal(along @ normal @ along, axis1=-2, axis2=-1).max(axis=0, initial=0.0)
        moves = np.diagonal(along, axis1=-2, axis2=-1).max(axis=0, initial=0.0) > UNDETERMINED_PIVOT
        return ~moves | (seen > UNDETERMINED_PIVOT * self.unpacked(data).scale.max(initial=0.0))

    # ---- steps ----------------------------------------------------------------------------------------------

    def marker_jacobian(self, q: Array) -> Array:
        """(..., m, 3, n) dp_k/dt = J u of the markers, on the free velocities, couplers followed. On floats."""
        points = ((m.body, np.array(m.position)) for m in self.markers)
        J = np.stack([frames.jacobian(self.system, q, *point)[..., :3, :] for point in points], axis=-3)
        for dependent, driver, slope in self._slopes(q):
            J[..., driver] += slope[..., None, None] * J[..., dependent]
        return J[..., self.free]

    def _step(self, q: Array, terms: Terms, data: Data, damping: Array, bent: Array | None) -> Step:
        """The step of the reduced equations with `damping` times the scale on the diagonal, or that of the constrained
        ones."""
        if self.equations is not None:
            return self.constrained(q, terms, data, damping, bent)
        f, N = self.reduced(q, terms, bent)
        metric = Metric.of(self._damped(N, data, damping))
        return Step(metric.solve(f), f, np.zeros(()), _least(metric.inverse_pivots))

    def _damped(self, N: Array, data: Data, damping: Array) -> Array:
        return N + (damping * data.scale)[..., None, None] * np.eye(len(self.free))

    @property
    def has_hessian(self) -> bool:
        """Whether `terms` and `reduced` have the whole curvature: there are neither sensors, nor tasks of angles of
        ball joints, nor constraints with weights."""
        flat = all(place.ball is None and place.floating is None for place in self.task_locations)
        return flat and not (self.sensors or self.pulling)

    @property
    def search_size(self) -> int:
        """How many numbers describe a search: see `step`."""
        return self.system.nq + len(self.free) + len(Search._fields) - 2

    def search(self, z: Array) -> "Search":
        """The parts of a search z (..., search_size)."""
        nq, n = self.system.nq, len(self.free)
        rest = [z[..., k] for k in range(nq + n, self.search_size)]
        return Search(z[..., :nq], z[..., nq : nq + n], *rest)

    def start(self, q: Array, damping: float) -> Array:
        """(..., search_size) the search at its beginning, whose first step is one of Gauss and Newton."""
        z = np.zeros((*q.shape[:-1], self.search_size))
        z[..., : self.system.nq] = q
        z[..., self.system.nq : -6] = REPEATED_STEP
        z[..., -4:] = damping, UNKNOWN_COST, NEWTON_STEP_LENGTH, REPEATED_STEP
        return z

    @staticmethod
    def packed(search: "Search") -> Array:
        """(..., search_size) the numbers of a search, which a kernel takes and gives."""
        return joined([search.q, search.v, vector(search[2:])])

    def finished(self, at: "Search", small: float) -> "Search":
        """The search after its last step, if that is no longer than `small`."""
        moved = np.where((_longest(at.v) <= small)[..., None], self.moved(at.q, at.v), at.q)
        return at._replace(q=moved)

    def step(self, at: "Search", data: Array, far: bool = True) -> "Search":
        """One step of a search.

        If the cost falls, the search takes the pose, finds a new step there, and reduces the damping. If not, it tries
        a quarter of the step next, and raises the damping of the next step. Gauss-Newton steps leave out the curvature
        of the residuals, and are too long or too short where these are large. The share of the next step is therefore
        the best one of the last step, by the slopes at both of its ends. Short steps are Newton's.

        far: every pose that is tried is brought towards the constraints first. A search from nearby does without: near
        a singular pose that correction is as large as a step between branches.
        """
        given = self.unpacked(data)
        trial = self.moved(at.q, at.share[..., None] * at.v)
        if far and self.equations is not None:
            trial = self.corrected(trial, given.time, locked=True)
        last = _longest(at.v)
        newton = last < at.reach
        bent = np.where(newton, 1.0, 0.0)
        terms = self.terms(trial, data, bent)
        found, f, change, pivot = self._step(trial, terms, given, at.damping, bent)
        cost = np.maximum(terms.cost + change, 0.0)
        equal = np.sqrt(at.cost) * (1 + COST_ROUNDOFF_M) + COST_ROUNDOFF_M * np.sqrt(given.scale)
        fits = cost <= equal * equal
        again = fits & newton & ~(pivot > 0)
        less = np.maximum(at.damping * DAMPING_DECREASE, MIN_DAMPING)
        more = np.minimum(np.maximum(at.damping, MIN_DAMPING_AFTER_REJECTION) * DAMPING_INCREASE, MAX_DAMPING)
        best = _best_share(at.slope, dot(f, at.v), at.share)
        best = np.where(newton, 1.0, best) if self.has_hessian else best
        v = np.where(again[..., None], REPEATED_STEP, np.where(fits[..., None], found, at.v))
        share = np.where(again, 0.0, np.where(fits, best, at.share * REJECTED_STEP_FACTOR))
        left = share * _longest(v)
        return Search(
            np.where(fits[..., None], trial, at.q),
            v,
            np.where(fits, np.where(again, 0.0, dot(f, found)), at.slope),
            share,
            np.where(fits, less, more),
            np.where(again, UNKNOWN_COST, np.where(fits, cost, at.cost)),
            np.where(again, INDEFINITE_STEP_FACTOR * last, at.reach),
            np.where(again, REPEATED_STEP, np.where(left > MIN_MOVEMENT, left, 0.0)),
        )

    # ---- positions ------------------------------------------------------------------------------------------

    def _spot(self, marker: Marker) -> tuple[int, Array]:
        """The link that carries a marker, and where it is on it."""
        frame = self.system.tree.frames[marker.body]
        return frame.link, frame.p + frame.R @ np.array(marker.position)

    def _mount(self, sensor: Sensor) -> tuple[int, Array]:
        """The link that carries a sensor, and R from the sensor's axes to the link's."""
        frame = self.system.tree.frames[sensor.body]
        return frame.link, frame.R @ rotation_matrix(np.array(sensor.orientation))

    @cached_property
    def task_locations(self) -> list[Place]:
        """Where the coordinates of the tasks are."""
        return [task_coordinates(self.system)[name] for name in self.tasks]


def _longest(v: Array) -> Array:
    """(...) the greatest |v_k|."""
    return reduce(np.maximum, [np.abs(v[..., k]) for k in range(v.shape[-1])])


def _least(pivots: Array) -> Array:
    """(...) the least of some inverse pivots 1/D (..., n); it has the sign of the least D."""
    return reduce(np.minimum, np.moveaxis(pivots, -1, 0))


def _best_share(before: Array, after: Array, share: Array) -> Array:
    """(...) how much of a step is best along it, from the slopes before it and after `share` of it; one if unknown."""
    fall = before - after
    bends = fall > 0
    best = share * before / np.where(bends, fall, 1.0)
    best = np.where(bends, np.minimum(np.maximum(best, MIN_FIRST_STEP), MAX_FIRST_STEP), MAX_FIRST_STEP)
    return np.where(before > 0, best, 1.0)


def rotation_vector(R: Array) -> Array:
    """(..., 3) rotation vector of R (..., 3, 3), of length at most pi."""
    Q = quaternion_from_matrix(R)
    return quaternion_log(np.where(Q[..., :1] < 0, -Q, Q))


def _opened(f: Array, N: Array, open_: Array) -> tuple[Array, Array]:
    """f and N with the velocities taken out whose open_ (..., n) is 0; the diagonal stays."""
    kept = open_[..., :, None] * open_[..., None, :]
    diagonal = np.arange(f.shape[-1])
    kept[..., diagonal, diagonal] = 1.0
    return f * open_, N * kept


def _cost(residuals: list[list[tuple[Array, Array]]]) -> Array:
    """(...) the sum of the squares of all residuals, with their weights."""
    first, *others = [w * dot(r, r) for part in residuals for w, r in part]
    return sum(others, start=first)
