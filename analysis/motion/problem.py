"""The least-squares problem of a pose: its residuals, their normal equations, and one damped Gauss-Newton step.

minimise  c(q) = sum_k w_k |x_k - p_k(q)|^2 + sum_s w_s |theta_s(q)|^2 + sum_j w_j (y_j - y_j(q))^2

over the coordinates that are free, with markers at p_k(q) and seen at x_k [m], theta_s the rotation vector [rad] from
the sensor that the model carries to the recorded one, and wanted values y_j of coordinates. Steps are taken in the
tangent space: velocities v over unit time, integrated by each joint's own exponential.

J^T W J of points on a body is the mass matrix of point masses w_k, and of turning sensors that of a rotational inertia
w_s 1 (for the rotation vector, J^T theta = theta exactly, and 1 bounds the curvature of |theta|^2 / 2 from above), so
that composite rigid bodies give the normal matrix and the recursion of forces its right-hand side, in time linear in
the number of markers. It keeps the zeros between branches of the tree, and so do its factors L^T D L.

Sources: Levenberg, Quart. Appl. Math. 2, 1944, for the damping; composite bodies and L^T D L as in
`myoquat.dynamics.composite` and `myoquat.dynamics.factor`; bounds by projection as in D. P. Bertsekas, SIAM J. Control
Optim. 20, 1982.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from myoquat.data.motions.angles import BallAngles, angle_axes, balls
from myoquat.dynamics.composite import Inertia, matrix
from myoquat.dynamics.factor import ancestors, factor, solve
from myoquat.dynamics.inverse import generalized, transmitted
from myoquat.joints import frames, state
from myoquat.joints.motion import Motion, Pair, kinematics, world_poses
from myoquat.joints.quaternion import quaternion_from_matrix, quaternion_log, rotation_matrix
from myoquat.joints.system import ArticulatedSystem
from myoquat.joints.tree import WORLD
from myoquat.joints.types import FloatingJoint
from myoquat.joints.vectors import cross, dot, matvec, row_cross, steiner, vecmat
from myoquat.kernels.typing import Array
from myoquat.muscle.coordinates import Coupler, Marker

__all__ = ["PoseProblem", "Sensor", "elimination_order"]

ROUNDING = 1e-14  # [m] root mean square of residuals by which one that is no better still counts as equal
LOW, HIGH, JUMP = 1e-9, 1e12, 1e-6  # damping: the least, the most, the least after a step that was refused
FALL, RISE = 0.1, 10.0  # its factors after a step that was taken, and one that was refused
SHORTER = 0.25  # how much of a step is tried after it was refused
SHORTEST, LONGEST = 0.3, 2.0  # of a step that is tried at first
QUIET = 1e-12  # unit in which that is kept, so that its changes alone do not keep a search going
UNKNOWN = 1e300  # cost before the first look


@dataclass(frozen=True)
class Sensor:
    """An inertial sensor on a body: `orientation` (4,), a unit quaternion, takes the sensor's components to the
    body's."""

    name: str
    body: str
    orientation: tuple[float, float, float, float]


class Place(NamedTuple):
    """A coordinate task: where its coordinate and its velocity are; or the ball joint and which of its angles it is; or
    the floating joint, its velocities in u, and along which of its axes it goes."""

    q: int = 0
    u: int = 0
    ball: BallAngles | None = None
    floating: FloatingJoint | None = None
    velocities: slice = slice(0)
    axis: int = 0


class Terms(NamedTuple):
    """The cost c (...), -grad c / 2 (..., nu) and the normal matrix (..., nu, nu)."""

    cost: Array
    force: Array
    normal: Array


class Data(NamedTuple):
    """What is wanted in each frame: positions (..., n, 3), rotations (..., s, 4), values (..., c), with weights."""

    positions: Array
    position_weights: Array
    rotations: Array
    rotation_weights: Array
    values: Array
    value_weights: Array
    scale: Array


@dataclass(frozen=True, eq=False)
class PoseProblem:
    """What of a model is fitted to what: markers, sensors and coordinate tasks by name, couplers that are followed,
    velocities that are held, and (velocity, coordinate, lower, upper) of bounded coordinates."""

    system: ArticulatedSystem
    markers: tuple[Marker, ...] = ()
    sensors: tuple[Sensor, ...] = ()
    tasks: tuple[str, ...] = ()
    couplers: tuple[Coupler, ...] = ()
    held: frozenset[int] = frozenset()
    bounds: tuple[tuple[int, int, float, float], ...] = ()

    @property
    def key(self) -> tuple[object, ...]:
        """Everything that the formulas depend on."""
        own = (self.markers, self.sensors, self.tasks, self.couplers, self.held, self.bounds)
        return (self.system.content_key, *own)

    # ---- structure ------------------------------------------------------------------------------------------

    @cached_property
    def driven(self) -> list[tuple[int, int, Coupler]]:
        """(velocity, the velocity that drives it, coupler), what drives others after what drives it."""
        place = velocity_of(self.system)
        return [(place[c.dependent], place[c.independent], c) for c in self.couplers]

    @cached_property
    def free(self) -> list[int]:
        """The velocities that are neither held nor driven."""
        driven = {d for d, _, _ in self.driven}
        return [k for k in range(self.system.nu) if k not in self.held and k not in driven]

    @cached_property
    def order(self) -> list[tuple[int, list[int]]]:
        """The order of elimination of the free velocities, as `myoquat.dynamics.factor` takes it."""
        near: dict[int, set[int]] = {k: set() for k in range(self.system.nu)}
        for k, above in ancestors(self.system):
            for i in above:
                near[k].add(i)
                near[i].add(k)
        for dependent, driver, _ in reversed(self.driven):
            for i in (near[dependent] | {driver}) - {dependent}:
                near[i].add(driver)
                near[driver].add(i)
        place = {k: i for i, k in enumerate(self.free)}
        return elimination_order([{place[i] for i in near[k] - {k} if i in place} for k in self.free])

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of each part of the data of one frame."""
        m, s, c = len(self.markers), len(self.sensors), len(self.tasks)
        return 3 * m, m, 4 * s, s, c, c, 1

    def unpacked(self, data: Array) -> Data:
        """The parts of the data (..., sum of sizes) of a frame."""
        edges = [0, *np.cumsum(self.sizes).tolist()]
        parts = [data[..., a:b] for a, b in pairwise(edges)]
        parts[0] = parts[0].reshape((*data.shape[:-1], len(self.markers), 3))
        parts[2] = parts[2].reshape((*data.shape[:-1], len(self.sensors), 4))
        positions, weights, rotations, turning, values, pulling, scale = parts
        return Data(positions, weights, rotations, turning, values, pulling, scale[..., 0])

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
        for j, place in enumerate(self._places):
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
        return Terms(self._cost(q, poses, given), *self._with_tasks(q, given, force, normal, motion))

    def _with_tasks(self, q: Array, given: Data, force: Array, normal: Array, motion: Motion) -> tuple[Array, Array]:
        """What the coordinate tasks add."""
        if not self.tasks:
            return force, normal
        batch = np.broadcast_shapes(q.shape[:-1], given.value_weights.shape[:-1])
        rows = []
        for place in self._places:
            row: Array = np.zeros((*batch, self.system.nu)) + 0.0 * q[..., :1]
            if place.ball is not None:
                row[..., place.ball.omega] = _angle_row(place.ball, q[..., place.ball.quaternion], place.axis)
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

    def reduced(self, q: Array, terms: Terms) -> tuple[Array, Array]:
        """Right-hand side (..., n) and normal matrix (..., n, n) on the free velocities: C^T f and C^T N C with
        u = C u_free, and rows of coordinates that press against their bounds taken out."""
        f, N = terms.force.copy(), terms.normal.copy()
        for dependent, driver, slope in self._slopes(q):
            f[..., driver] = f[..., driver] + slope * f[..., dependent]
            N[..., driver, :] = N[..., driver, :] + slope[..., None] * N[..., dependent, :]
            N[..., :, driver] = N[..., :, driver] + slope[..., None] * N[..., :, dependent]
        f, N = f[..., self.free], N[..., self.free, :][..., self.free]
        for row, open_ in self.open_rows(q, f):
            f[..., row] = f[..., row] * open_
            diagonal = N[..., row, row]
            N[..., row, :] = N[..., row, :] * open_[..., None]
            N[..., :, row] = N[..., :, row] * open_[..., None]
            N[..., row, row] = diagonal
        return f, N

    def open_rows(self, q: Array, f: Array) -> list[tuple[int, Array]]:
        """Of every bounded coordinate: its row among the free velocities, and 0 where f (..., n) presses it against its
        bound, 1 elsewhere."""
        found = []
        for k, i, lower, upper in self.bounds:
            row = self.free.index(k)
            pressed = ((q[..., i] <= lower) & (f[..., row] < 0)) | ((q[..., i] >= upper) & (f[..., row] > 0))
            found.append((row, np.where(pressed, 0.0, 1.0)))
        return found

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

    def moved(self, q: Array, v: Array) -> Array:
        """(..., nq) coordinates after the step v (..., n) of the free velocities: bounds kept, couplers followed."""
        columns: list[Array] = [np.zeros(v.shape[:-1])] * self.system.nu
        for row, k in enumerate(self.free):
            columns[k] = v[..., row]
        step = np.stack(np.broadcast_arrays(*columns, subok=True), axis=-1)
        return self.allowed(state.integrate(self.system.layout, q, step))

    def allowed(self, q: Array) -> Array:
        """(..., nq) coordinates with bounds kept and couplers followed."""
        entries = [q[..., i] for i in range(self.system.nq)]
        for _, i, lower, upper in self.bounds:
            entries[i] = np.minimum(np.maximum(entries[i], lower), upper)
        names = self.system.coordinate_names
        for _, _, coupler in self.driven:
            driver = entries[names.index(coupler.independent)]
            entries[names.index(coupler.dependent)] = coupler.scale * coupler.function.value(driver)
        return np.stack(np.broadcast_arrays(*entries, subok=True), axis=-1)

    def newton(self, f: Array, N: Array, data: Array, damping: Array) -> Array:
        """(..., n) step of the reduced equations with `damping` times the scale on the diagonal."""
        damped = N + (damping * self.unpacked(data).scale)[..., None, None] * np.eye(len(self.free))
        step: Array = solve(self.order, factor(self.order, damped), f[..., None])[..., 0]
        return step

    def start(self, q: Array, damping: float) -> Array:
        """(..., nq + n + 4) the search at its beginning: see `step`."""
        rest = np.zeros((*q.shape[:-1], len(self.free) + 4))
        rest[..., -3:] = QUIET, damping, UNKNOWN
        return np.concatenate([q, rest], axis=-1)

    def step(self, z: Array, data: Array) -> Array:
        """One step of the search z = (q, v, slope, share, damping, cost): the best pose so far, the step that is tried
        from it, -dc/dv / 2 along it, how much of it is tried, the damping, and the cost at q.

        Where the cost falls, the pose is taken, a new step found there, and the damping reduced; where it does not, a
        quarter of the step is tried next, and the damping of the next step is larger. Gauss-Newton steps leave out the
        curvature of the residuals and are too long or too short where these are large; how much of the next one is
        tried is what would have been best for the last one, from the slopes at both of its ends.
        """
        nq, n = self.system.nq, len(self.free)
        q, v = z[..., :nq], z[..., nq : nq + n]
        slope, share, damping, best = (z[..., nq + n + k] for k in range(4))
        share = share / QUIET
        trial = self.moved(q, share[..., None] * v)
        terms = self.terms(trial, data)
        equal = np.sqrt(best) * (1 + ROUNDING) + ROUNDING * np.sqrt(self.unpacked(data).scale)
        fits = terms.cost <= equal * equal
        f, N = self.reduced(trial, terms)
        found = self.newton(f, N, data, damping)
        less, more = np.maximum(damping * FALL, LOW), np.minimum(np.maximum(damping, JUMP) * RISE, HIGH)
        parts = [
            np.where(fits[..., None], trial, q),
            np.where(fits[..., None], found, v),
            np.where(fits, dot(f, found), slope)[..., None],
            QUIET * np.where(fits, _best_share(slope, dot(f, v), share), share * SHORTER)[..., None],
            np.where(fits, less, more)[..., None],
            np.where(fits, terms.cost, best)[..., None],
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
    def _places(self) -> list[Place]:
        return [places_of(self.system)[name] for name in self.tasks]

    def _slopes(self, q: Array) -> Iterator[tuple[int, int, Array]]:
        """(velocity, the velocity that drives it, their ratio (...)), what is driven by others before these."""
        for dependent, driver, coupler in self.driven[::-1]:
            x = q[..., self.system.coordinate_names.index(coupler.independent)]
            yield dependent, driver, coupler.scale * coupler.function.slope(x)


def elimination_order(near: Sequence[set[int]]) -> list[tuple[int, list[int]]]:
    """An order in which a symmetric matrix with entries at (k, near[k]) is eliminated with little fill-in.

    Each step takes the row with the fewest neighbours left, and joins them (minimum degree; the leaves of a tree first,
    without any fill-in). Returned in the form of `myoquat.dynamics.factor.ancestors`: the last eliminated first, each
    with its neighbours that are eliminated after it, in that order.
    """
    near = [set(row) for row in near]
    left, steps = set(range(len(near))), list[tuple[int, set[int]]]()
    while left:
        k = min(left, key=lambda i: (len(near[i] & left), -i))
        left.remove(k)
        rest = near[k] & left
        for i in rest:
            near[i] |= rest - {i}
        steps.append((k, rest))
    rank = {k: i for i, (k, _) in enumerate(reversed(steps))}
    return [(k, sorted(rest, key=rank.__getitem__)) for k, rest in reversed(steps)]


def velocity_of(system: ArticulatedSystem) -> dict[str, int]:
    """The velocity that is the rate of a coordinate, by the coordinate's name; quaternions have none."""
    found: dict[str, int] = {}
    for iq, iu, body in zip(system.q_slices, system.u_slices, system.bodies, strict=True):
        if body.joint.facts.quaternion is None and iq.stop - iq.start == iu.stop - iu.start:
            found.update(zip(system.coordinate_names[iq], range(iu.start, iu.stop), strict=True))
    return found


def places_of(system: ArticulatedSystem) -> dict[str, Place]:
    """Every coordinate that a task can name: all but entries of quaternions, and the named angles in their place."""
    q_of = {name: i for i, name in enumerate(system.coordinate_names)}
    found = {name: Place(q_of[name], u) for name, u in velocity_of(system).items()}
    for iq, iu, body in zip(system.q_slices, system.u_slices, system.bodies, strict=True):
        if isinstance(body.joint, FloatingJoint):
            names = system.coordinate_names[iq.start : iq.start + 3]
            found |= {n: Place(iq.start + k, floating=body.joint, velocities=iu, axis=k) for k, n in enumerate(names)}
    for ball in balls(system):
        found |= {name: Place(ball=ball, axis=k) for k, name in enumerate(ball.angles.names)}
    return found


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


def _angle_row(ball: BallAngles, Q: Array, angle: int) -> Array:
    """(..., 3) derivative of a named angle along the angular velocity of its joint; zero in its gimbal lock."""
    B = angle_axes(ball.angles, ball.angles.values(Q))
    row: Array = cross(B[..., (angle + 1) % 3], B[..., (angle + 2) % 3])
    volume = dot(B[..., angle], row)
    row = row * (np.where(volume == 0, 0.0, 1.0) / np.where(volume == 0, 1.0, volume))[..., None]
    if not ball.in_child:
        row = matvec(rotation_matrix(Q), row)
    return row


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
