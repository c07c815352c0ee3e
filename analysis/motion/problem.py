"""The least-squares problem of a pose: its residuals, their normal equations, and one damped Gauss-Newton step.

minimise  c(q) = sum_k w_k |x_k - p_k(q)|^2 + sum_s w_s |theta_s(q)|^2 + sum_j w_j (y_j - y_j(q))^2

over the coordinates that are free, with markers at p_k(q) and seen at x_k [m], theta_s the rotation vector [rad] from
the sensor that the model carries to the recorded one, and wanted values y_j of coordinates. Steps are taken in the
tangent space: velocities v over unit time, integrated by each joint's own exponential.

J^T W J of points on a body is the mass matrix of point masses w_k, and of turning sensors that of a rotational inertia
w_s 1 (for the rotation vector, J^T theta = theta exactly, and 1 bounds the curvature of |theta|^2 / 2 from above), so
that composite rigid bodies give the normal matrix and the recursion of forces its right-hand side, in time linear in
the number of markers. It keeps the zeros between branches of the tree, and so do its factors L^T D L.

Where constraints phi(q, t) = 0 hold, poses stay on them: the step minimises the same cost along their tangent space
(`myoquat.analysis.motion.tangent`). What phi is where it leads to is taken off by the next step, and the cost is judged
by what it will be then, to second order in phi: sequential quadratic programming, with R. Fletcher's merit function (A
class of methods for nonlinear programming III, in Numerical Methods for Nonlinear Optimization, 1972).
Constraints with a weight are residuals: sum w |phi|^2.

Sources: Levenberg, Quart. Appl. Math. 2, 1944, for the damping; composite bodies and L^T D L as in
`myoquat.dynamics.composite` and `myoquat.dynamics.factor`; bounds by projection as in D. P. Bertsekas, SIAM J. Control
Optim. 20, 1982.
"""

from dataclasses import dataclass
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np

from myoquat.analysis.motion.places import Place, angle_row, places_of
from myoquat.analysis.motion.structure import Data, PoseStructure, Sensor, elimination_order
from myoquat.analysis.motion.tangent import Step, constrained_step, multipliers
from myoquat.core.typing import Array
from myoquat.dynamics.composite import Inertia, matrix
from myoquat.dynamics.factor import factor, solve
from myoquat.dynamics.inverse import generalized, transmitted
from myoquat.joints import frames
from myoquat.joints.motion import Motion, Pair, kinematics, world_poses
from myoquat.joints.multibody.tree import WORLD
from myoquat.joints.quaternion import quaternion_from_matrix, quaternion_log, rotation_matrix
from myoquat.joints.vectors import cross, dot, matvec, row_cross, steiner, vecmat
from myoquat.muscle.coordinates import Marker

__all__ = ["PoseProblem", "Sensor", "elimination_order", "rotation_vector"]

ROUNDING = 1e-14  # [m] root mean square of residuals by which one that is no better still counts as equal
LOW, HIGH, JUMP = 1e-9, 1e12, 1e-6  # damping: the least, the most, the least after a step that was refused
FALL, RISE = 0.1, 10.0  # its factors after a step that was taken, and one that was refused
SHORTER = 0.25  # how much of a step is tried after it was refused
SHORTEST, LONGEST = 0.3, 2.0  # of a step that is tried at first
QUIET = 1e-12  # unit in which that is kept, so that its changes alone do not keep a search going
UNKNOWN = 1e300  # cost before the first look
UNSEEN = 1e-12  # entry of the normal matrix, in those of the weights, at which a velocity is not determined
FARTHEST = 3.0  # [rad or m] that a step along constraints may move a coordinate, however ill they are conditioned
TURNS = 2  # of forces of constraints, and which bounds are pressed by them


class Terms(NamedTuple):
    """The cost c (...), -grad c / 2 (..., nu) and the normal matrix (..., nu, nu)."""

    cost: Array
    force: Array
    normal: Array


@dataclass(frozen=True, eq=False)
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
            back = np.swapaxes(R, -1, -2) @ rotation_matrix(data.rotations[..., k, :]) @ R_sensor.T
            found.append(rotation_vector(back))
        return found

    def task_residuals(self, q: Array, data: Data) -> list[Array]:
        """(...) y_j - y_j(q) of every coordinate task; of angles in place of a quaternion, within half a turn."""
        found = []
        for j, place in enumerate(self.task_places):
            wanted = data.values[..., j]
            if place.ball is None:
                found.append(wanted - q[..., place.q])
                continue
            x = place.ball.angles.values(q[..., place.ball.quaternion])[..., place.axis]
            unit = 2 * np.pi / place.ball.angles.periods[place.axis]
            turned = unit * (wanted - x)
            found.append(np.arctan2(np.sin(turned), np.cos(turned)) / unit)
        return found

    def cost(self, q: Array, data: Array) -> Array:
        """(...) c(q)."""
        given = self.unpacked(data)
        poses = world_poses(self.system.tree, kinematics(self.system.tree, q))
        return self._cost(q, poses, given)

    def _cost(self, q: Array, poses: list[Pair], given: Data) -> Array:
        parts = [given.position_weights[..., k] * dot(r, r) for k, r in enumerate(self.marker_residuals(poses, given))]
        thetas = self.sensor_residuals(poses, given)
        parts += [given.rotation_weights[..., k] * dot(r, r) for k, r in enumerate(thetas)]
        parts += [given.value_weights[..., k] * r * r for k, r in enumerate(self.task_residuals(q, given))]
        for constraint, weight in self.pulling:
            phi = constraint.position(self.system, q, given.time)
            parts.append(weight * dot(phi, phi))
        total: Array = sum(parts[1:], start=parts[0])
        return total

    def errors(self, q: Array, data: Array) -> tuple[Array, Array, Array]:
        """(markers (..., n) [m], sensors (..., s) [rad], tasks (..., c)): lengths of the residuals."""
        given = self.unpacked(data)
        poses = world_poses(self.system.tree, kinematics(self.system.tree, q))
        lengths = [
            [np.sqrt(dot(r, r)) for r in self.marker_residuals(poses, given)],
            [np.sqrt(dot(r, r)) for r in self.sensor_residuals(poses, given)],
            [np.abs(r) for r in self.task_residuals(q, given)],
        ]
        markers, sensors, tasks = (_stacked(part, q) for part in lengths)
        return markers, sensors, tasks

    def violation(self, q: Array, data: Array) -> Array:
        """(...) the greatest |phi| of the constraints."""
        if self.equations is None:
            return 0.0 * q[..., 0]
        phi = self.equations.position(q, self.unpacked(data).time)
        return _longest(phi)

    # ---- normal equations -----------------------------------------------------------------------------------

    def terms(self, q: Array, data: Array) -> Terms:
        """Cost, right-hand side and normal matrix, on all velocities."""
        given, tree = self.unpacked(data), self.system.tree
        motion = kinematics(tree, q)
        poses = world_poses(tree, motion)
        inertias: list[Inertia] = [(0.0, np.zeros(3), np.zeros(6)) for _ in tree.links]
        forces: list[Pair] = [(np.zeros(3), np.zeros(3)) for _ in tree.links]
        for k, r in enumerate(self.marker_residuals(poses, given)):
            link, p = self._spot(self.markers[k])
            if link != WORLD:
                w = given.position_weights[..., k, None]
                f = vecmat(w * r, poses[link][0])
                _add(forces, link, cross(p, f), f)
                _weigh(inertias, link, w, w * p, w * steiner(p, 1.0))
        for k, theta in enumerate(self.sensor_residuals(poses, given)):
            link, _ = self._mount(self.sensors[k])
            if link != WORLD:
                w = given.rotation_weights[..., k, None]
                _add(forces, link, w * theta, np.zeros(3))
                _weigh(inertias, link, 0.0, np.zeros(3), w * np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0]))
        force = generalized(self.system, motion, transmitted(tree, motion, forces))
        normal = matrix(self.system, motion, inertias)
        force, normal = self._with_pull(q, given, *self._with_tasks(q, given, force, normal, motion))
        return Terms(self._cost(q, poses, given), force, normal)

    def _with_tasks(self, q: Array, given: Data, force: Array, normal: Array, motion: Motion) -> tuple[Array, Array]:
        """What the coordinate tasks add."""
        if not self.tasks:
            return force, normal
        batch = np.broadcast_shapes(q.shape[:-1], given.value_weights.shape[:-1])
        rows = []
        for place in self.task_places:
            row: Array = np.zeros((*batch, self.system.nu)) + 0.0 * q[..., :1]
            if place.ball is not None:
                row[..., place.ball.omega] = angle_row(place.ball, q[..., place.ball.quaternion], place.axis)
            elif place.floating is not None:
                N = place.floating.rate_matrix(q[..., place.q - place.axis : place.q - place.axis + 7])
                row[..., place.velocities] = N[..., place.axis, :]
            else:
                row[..., place.u] = 1.0
            rows.append(row)
        for j, (row, r) in enumerate(zip(rows, self.task_residuals(q, given), strict=True)):
            w = given.value_weights[..., j, None]
            force = force + w * r[..., None] * row
            normal = normal + (w * row)[..., :, None] * row[..., None, :]
        return force, normal

    def _with_pull(self, q: Array, given: Data, force: Array, normal: Array) -> tuple[Array, Array]:
        """What constraints with weights add."""
        for constraint, weight in self.pulling:
            A = constraint.position_jacobian(self.system, q, given.time)
            force = force - weight * vecmat(constraint.position(self.system, q, given.time), A)
            normal = normal + weight * (np.swapaxes(A, -1, -2) @ A)
        return force, normal

    def reduced(self, q: Array, terms: Terms) -> tuple[Array, Array]:
        """Right-hand side (..., n) and normal matrix (..., n, n) on the free velocities: C^T f and C^T N C with
        u = C u_free, and rows of coordinates that press against their bounds taken out."""
        f, N = self._on_free(q, terms)
        return _opened(f, N, self.open_rows(q, f))

    def _on_free(self, q: Array, terms: Terms) -> tuple[Array, Array]:
        """C^T f and C^T N C."""
        f, N = terms.force.copy(), terms.normal.copy()
        for dependent, driver, slope in self._slopes(q):
            f[..., driver] = f[..., driver] + slope * f[..., dependent]
            N[..., driver, :] = N[..., driver, :] + slope[..., None] * N[..., dependent, :]
            N[..., :, driver] = N[..., :, driver] + slope[..., None] * N[..., :, dependent]
        return f[..., self.free], N[..., self.free, :][..., self.free]

    def constrained(self, q: Array, terms: Terms, data: Data, damping: Array) -> Step:
        """The step from q along the constraints. Which coordinates press against their bounds depends on the forces of
        the constraints, and these on which do: both are found in turns."""
        phi, A = self.constraint_rows(q, data.time)
        f, N = self._on_free(q, terms)
        pull, open_ = f[..., self.touched], np.ones(len(self.touched))
        for _ in range(TURNS if self.bounds else 1):
            rest = self.with_touched(pull - vecmat(multipliers(A, pull, open_), A), f)
            open_ = self.open_touched(q, rest)
        f, N = _opened(f, N, self.open_rows(q, rest))
        rows = [self.with_touched(open_ * A[..., i, :], 0.0 * f) for i in range(phi.shape[-1])]
        v, change = constrained_step(self.order, self._damped(N, data, damping), f, np.stack(rows, axis=-2), phi)
        longest = _longest(v)
        v = v * np.where(longest > FARTHEST, FARTHEST / np.where(longest > FARTHEST, longest, 1.0), 1.0)[..., None]
        return Step(v, rest, change)

    def along(self, q: Array, data: Array) -> tuple[Array, Array]:
        """(..., n, n) the projection along the constraints, and the normal matrix, on the free velocities."""
        return self.pseudo_inverse(q, self.unpacked(data).time)[1], self.reduced(q, self.terms(q, data))[1]

    def determined(self, q: Array, data: Array) -> Array:
        """(n,) whether anything that is seen in one of several frames, q (t, nq) and data (t, ...), depends on a free
        velocity, or the constraints leave it no choice."""
        along, normal = self.along(q, data)
        seen = np.diagonal(along @ normal @ along, axis1=-2, axis2=-1).max(axis=0, initial=0.0)
        moves = np.diagonal(along, axis1=-2, axis2=-1).max(axis=0, initial=0.0) > UNSEEN
        known: Array = ~moves | (seen > UNSEEN * self.unpacked(data).scale.max(initial=0.0))
        return known

    # ---- steps ----------------------------------------------------------------------------------------------

    def marker_jacobian(self, q: Array) -> Array:
        """(..., m, 3, n) dp_k/dt = J u of the markers, on the free velocities, couplers followed. On floats."""
        J = np.zeros((*q.shape[:-1], len(self.markers), 3, self.system.nu))
        bodies: dict[str, tuple[Array, Array]] = {}
        for k, marker in enumerate(self.markers):
            if marker.body not in bodies:
                R, _ = frames.pose(self.system, q, marker.body, np.zeros(3))
                bodies[marker.body] = R, frames.jacobian(self.system, q, marker.body, np.zeros(3))
            R, rows = bodies[marker.body]
            arm = matvec(R, np.array(marker.position))
            J[..., k, :, :] = rows[..., :3, :] - row_cross(arm, rows[..., 3:, :])
        for dependent, driver, slope in self._slopes(q):
            J[..., driver] += slope[..., None, None] * J[..., dependent]
        return J[..., self.free]

    def _step(self, q: Array, terms: Terms, data: Data, damping: Array) -> Step:
        """The step of the reduced equations with `damping` times the scale on the diagonal, or that of the constrained
        ones."""
        if self.equations is not None:
            return self.constrained(q, terms, data, damping)
        f, N = self.reduced(q, terms)
        factors = factor(self.order, self._damped(N, data, damping))
        return Step(solve(self.order, factors, f[..., None])[..., 0], f, np.zeros(()))

    def _damped(self, N: Array, data: Data, damping: Array) -> Array:
        damped: Array = N + (damping * data.scale)[..., None, None] * np.eye(len(self.free))
        return damped

    def start(self, q: Array, damping: float) -> Array:
        """(..., nq + n + 4) the search at its beginning: see `step`."""
        rest = np.zeros((*q.shape[:-1], len(self.free) + 4))
        rest[..., -3:] = QUIET, damping, UNKNOWN
        return np.concatenate([q, rest], axis=-1)

    def finished(self, z: Array, small: float) -> Array:
        """The search after its last step, which takes off what is left of the constraints, if that is no longer than
        `small`."""
        if self.equations is None:
            return z
        nq, n = self.system.nq, len(self.free)
        q, v = z[..., :nq], z[..., nq : nq + n]
        moved = np.where((_longest(v) <= small)[..., None], self.moved(q, v), q)
        return np.concatenate([moved, z[..., nq:]], axis=-1)

    def step(self, z: Array, data: Array, far: bool = True) -> Array:
        """One step of the search z = (q, v, slope, share, damping, cost): the best pose so far, the step that is tried
        from it, -dc/dv / 2 along it, how much of it is tried, the damping, and the cost at q.

        Where the cost falls, the pose is taken, a new step found there, and the damping reduced; where it does not, a
        quarter of the step is tried next, and the damping of the next step is larger. Gauss-Newton steps leave out the
        curvature of the residuals and are too long or too short where these are large; how much of the next one is
        tried is what would have been best for the last one, from the slopes at both of its ends.

        far: every pose that is tried is brought towards the constraints first; a search from nearby does without.
        """
        nq, n = self.system.nq, len(self.free)
        q, v = z[..., :nq], z[..., nq : nq + n]
        slope, share, damping, best = (z[..., nq + n + k] for k in range(4))
        share = share / QUIET
        given = self.unpacked(data)
        trial = self.moved(q, share[..., None] * v)
        if far and self.equations is not None:
            trial = self.corrected(trial, given.time, held=True)
        terms = self.terms(trial, data)
        found, f, change = self._step(trial, terms, given, damping)
        cost = np.maximum(terms.cost + change, 0.0)
        equal = np.sqrt(best) * (1 + ROUNDING) + ROUNDING * np.sqrt(given.scale)
        fits = cost <= equal * equal
        less, more = np.maximum(damping * FALL, LOW), np.minimum(np.maximum(damping, JUMP) * RISE, HIGH)
        parts = [
            np.where(fits[..., None], trial, q),
            np.where(fits[..., None], found, v),
            np.where(fits, dot(f, found), slope)[..., None],
            QUIET * np.where(fits, _best_share(slope, dot(f, v), share), share * SHORTER)[..., None],
            np.where(fits, less, more)[..., None],
            np.where(fits, cost, best)[..., None],
        ]
        return np.concatenate(parts, axis=-1)

    # ---- places ---------------------------------------------------------------------------------------------

    def _spot(self, marker: Marker) -> tuple[int, Array]:
        """The link that carries a marker, and where it is on it."""
        frame = self.system.tree.frames[marker.body]
        return frame.link, frame.p + frame.R @ np.array(marker.position)

    def _mount(self, sensor: Sensor) -> tuple[int, Array]:
        """The link that carries a sensor, and R from the sensor's axes to the link's."""
        frame = self.system.tree.frames[sensor.body]
        return frame.link, frame.R @ rotation_matrix(np.array(sensor.orientation))

    @cached_property
    def task_places(self) -> list[Place]:
        """Where the coordinates of the tasks are."""
        return [places_of(self.system)[name] for name in self.tasks]


def _longest(v: Array) -> Array:
    """(...) the greatest |v_k|."""
    longest: Array = reduce(np.maximum, [np.abs(v[..., k]) for k in range(v.shape[-1])])
    return longest


def _best_share(before: Array, after: Array, share: Array) -> Array:
    """(...) how much of a step is best along it, from the slopes before it and after `share` of it; one if unknown."""
    fall = before - after
    bends = fall > 0
    best = share * before / np.where(bends, fall, 1.0)
    best = np.where(bends, np.minimum(np.maximum(best, SHORTEST), LONGEST), LONGEST)
    share_: Array = np.where(before > 0, best, 1.0)
    return share_


def rotation_vector(R: Array) -> Array:
    """(..., 3) rotation vector of R (..., 3, 3), of length at most pi."""
    Q = quaternion_from_matrix(R)
    vector: Array = quaternion_log(np.where(Q[..., :1] < 0, -Q, Q))
    return vector


def _opened(f: Array, N: Array, rows: list[tuple[int, Array]]) -> tuple[Array, Array]:
    """f and N with rows, 1 or 0 of each, taken out where they are 0; the diagonal stays."""
    for row, open_ in rows:
        f[..., row] = f[..., row] * open_
        diagonal = N[..., row, row]
        N[..., row, :] = N[..., row, :] * open_[..., None]
        N[..., :, row] = N[..., :, row] * open_[..., None]
        N[..., row, row] = diagonal
    return f, N


def _add(forces: list[Pair], link: int, n: Array, f: Array) -> None:
    forces[link] = forces[link][0] + n, forces[link][1] + f


def _weigh(inertias: list[Inertia], link: int, m: Array | float, h: Array, inertia: Array) -> None:
    own = inertias[link]
    inertias[link] = own[0] + m, own[1] + h, own[2] + inertia


def _stacked(entries: list[Array], q: Array) -> Array:
    """(..., n) of entries (...), or (..., 0)."""
    if not entries:
        return np.zeros((*q.shape[:-1], 0))
    return np.stack(np.broadcast_arrays(*entries, subok=True), axis=-1)
