"""Residual reduction: the motion and the masses nearest to recorded ones that need almost no force at the root.

Recorded motions, measured ground reactions and estimated masses contradict each other. Inverse dynamics then needs a
residual at the root: a force and a torque on the pelvis that nothing exerts. With a motion q0, changes x of it along
its free velocities, and changes p of the model's masses:

    minimise    mean_t { sum_j w_j [ (x_j / a_j)^2 + (x_j'' / b_j)^2 ] + s |residual / bounds|^2 } + sum_i (p_i / c_i)^2
    subject to  |residual(q0 + x, p)| <= bounds  at every time

The changes are quintic B-splines of the time, so that all derivatives are exact. The residual is linear in
accelerations and masses, and nearly linear in x. Each iteration linearises it, d residual = r_q x + r_u x' + r_a x'' +
r_p p, solves the convex program, and halves the step until the cost falls. Three or four iterations suffice. The whole
trial is one program, while OpenSim's tool decides forces step by step [S. L. Delp et al., OpenSim: open-source software
to create and analyze dynamic simulations of movement, IEEE Trans. Biomed. Eng. 54, 2007].

Of the masses there are two changes: a common factor of all masses and inertias, and a shift of one body's center of
mass, which OpenSim's tool makes too, while the inertia about it stays.
"""

import importlib
from collections.abc import Mapping
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from myoquat.analysis.motion import differentiate, external_wrenches, inverse_dynamics_of_motion
from myoquat.analysis.motion.smoothing import stencil_derivatives
from myoquat.core import (
    Array,
    Solved,
    by_pattern,
    check_types,
    clarabel,
    frozen,
    indices_of,
    pandas as pd,
    scipy,
    time_table,
    xarray as xr,
)
from myoquat.data.motions import Forces, Motion, MotionLike, motion_of
from myoquat.data.motions.series import even_times
from myoquat.dynamics import inverse_dynamics, inverse_dynamics_derivatives
from myoquat.dynamics.constraints import constraints_of
from myoquat.joints import ArticulatedSystem, frames
from myoquat.joints.ranges import NotNegative, Positive, check_ranges
from myoquat.joints.vectors import matvec, skew, vector
from myoquat.muscle.model import Model

from .free import free_velocities
from .redundancy import consistent_motion

if TYPE_CHECKING:
    from matplotlib.figure import Figure


COMPONENTS = ("FX", "FY", "FZ", "MX", "MY", "MZ")
UNITS = ("N", "N", "N", "N m", "N m", "N m")
DEGREE = 5  # of the splines
EXCESS_COST = 1e4  # of a residual beyond its bound, as a part of it: no change of a motion is worth that much
BOUND_TOLERANCE = 1e-3  # relative
STEP_TOLERANCE = 1e-6  # of the changes over their deviations
MAX_HALVINGS = 6  # of a step that costs more than the linearised residual says
DIFFERENCE = 1e-6  # [rad, m] of the loads' derivative by the pose


@frozen
class ResidualOptions:
    """What `dynamically_consistent` may change, and how far.

    force, torque       bounds of each component of the residual [N], [N m], in the ground's axes, about the center of
                        mass of the root
    angle, length       deviations a of the changes [rad], [m]
    residual            cost s of the residual beside that of the changes; at 0 it fills its bounds
    acceleration        deviation b of their second derivatives, [rad/s^2] and [m/s^2]
    weights             by name or pattern of a velocity or a coordinate: how many times as costly its changes are, 0.1
                        for ten times as cheap
    interval            [s] between the knots of the splines
    body                whose center of mass is shifted; None for none
    shift, mass_factor  deviations of the shift [m] and of the logarithm of the factor of all masses; 0 for none
    max_iterations      of the linearised programs

    >>> from myoquat.analysis.recruitment import ResidualOptions
    >>> ResidualOptions(force=2.0, body="torso").torque
    3.0
    """

    force: Positive = 3.0
    torque: Positive = 3.0
    angle: Positive = 0.0175
    length: Positive = 0.005
    acceleration: Positive = 20.0
    weights: Mapping[str, float] = field(default_factory=dict)
    residual: NotNegative = 0.1
    interval: Positive = 0.02
    body: str | None = None
    shift: NotNegative = 0.02
    mass_factor: NotNegative = 0.0
    max_iterations: int = 8

    def __post_init__(self) -> None:
        check_ranges(self, None)

    @property
    def bounds(self) -> Array:
        """(6,) of the components of the residual."""
        return np.repeat([self.force, self.torque], 3)


@frozen(eq=False)
class ConsistentMotion(Solved):
    """A motion that obeys the equations of motion up to bounds, and the model that it belongs to.

    model      with its changed masses
    motion     q, u and udot
    recorded   the motion before
    residual   (t, 6) force [N] and torque [N m] on the root about its center of mass, in the ground's axes
    before     the same of the recorded motion and the model before
    mass_factor, shift   of all masses, and of the center of mass of `options.body` (3,) [m]

    >>> import numpy as np
    >>> from myoquat.analysis.recruitment import ConsistentMotion, ResidualOptions
    >>> import myoquat as mq
    >>> model = mq.load_model("two_link")
    >>> still = mq.data.Motion(model, [0.0, 0.1], [model.start] * 2)
    >>> ConsistentMotion(model, still, still, np.zeros((2, 6)), np.ones((2, 6)), 1.0, np.zeros(3), ResidualOptions(), 3)
    <ConsistentMotion 2 frames, residual at most 0 N and 0 N m (before: 1, 1), 3 iterations>
    """

    model: Model
    motion: Motion
    recorded: Motion
    residual: Array
    before: Array
    mass_factor: float
    shift: Array
    options: ResidualOptions
    iterations: int

    def __repr__(self) -> str:
        now, was = (np.abs(r).max(axis=0, initial=0.0) for r in (self.residual, self.before))
        most = f"{now[:3].max():.3g} N and {now[3:].max():.3g} N m (before: {was[:3].max():.3g}, {was[3:].max():.3g})"
        end = "" if self.success else ", MORE THAN ITS BOUNDS"
        frames = len(self.motion.time)
        return f"<ConsistentMotion {frames} frames, residual at most {most}, {self.iterations} iterations{end}>"

    @property
    def success(self) -> bool:
        """Whether the residual meets its bounds."""
        return bool((np.abs(self.residual) <= self.options.bounds * (1 + BOUND_TOLERANCE)).all())

    def reasons(self) -> list[str]:
        """A sentence for each component of the residual beyond its bound, and one where the recorded motion cannot be
        meant: its residual forces exceed the weight."""
        if self.success:
            return []
        over = np.abs(self.residual).max(axis=0, initial=0.0)
        found = [
            f"{name}: {most:.3g} {unit}, more than its bound of {bound:.3g} {unit}"
            for name, unit, most, bound in zip(COMPONENTS, UNITS, over, self.options.bounds, strict=True)
            if most > bound * (1 + BOUND_TOLERANCE)
        ]
        system = self.recorded.system
        weight = sum(body.mass for body in system.bodies) * float(np.linalg.norm(system.gravity))
        was = float(np.abs(self.before[:, :3]).max(initial=0.0))
        if was > weight > 0:
            found.append(
                f"the recorded motion needs {was:.3g} N, more than the weight of {weight:.3g} N: filter it "
                "(`smooth`), and check the forces and their times"
            )
        return found

    def changes(self) -> "pd.DataFrame":
        """The change of each coordinate of the file over the index time [s], angles in degrees; `attrs["units"]`."""
        now, was = (motion.angles(in_degrees=True)[list(self._coordinates)] for motion in (self.motion, self.recorded))
        units = self.motion.system.coordinate_units
        found = now - was
        found.attrs = {"units": {name: "deg" if units[name] == "rad" else units[name] for name in self._coordinates}}
        return found

    @property
    def _coordinates(self) -> tuple[str, ...]:
        units = self.motion.system.coordinate_units
        return tuple(name for name in map(str, self.motion.angles()) if name in units)

    def to_dataframe(self) -> "pd.DataFrame":
        """The residual, "FX" ... "MZ", over the index time [s], with its units in `attrs["units"]`."""
        return time_table(self.motion.time, self.residual, COMPONENTS, units=dict(zip(COMPONENTS, UNITS, strict=True)))

    def to_xarray(self) -> "xr.Dataset":
        """The residual, now and before, over (time, component), with the units of the components."""
        parts = {"residual": self.residual, "before": self.before}
        coordinates = {
            "time": ("time", self.motion.time, {"units": "s"}),
            "component": list(COMPONENTS),
            "units": ("component", list(UNITS)),
        }
        attributes = {"mass_factor": self.mass_factor, "shift": list(map(float, self.shift))}
        return xr.Dataset({k: (("time", "component"), x) for k, x in parts.items()}, coordinates, attributes)

    def masses(self) -> "pd.DataFrame":
        """Mass [kg] and center of mass [m] of each body after the changes."""
        rows = [(body.mass, *body.center_of_mass) for body in self.model.system.bodies]
        index = pd.Index(self.model.system.body_names, name="body")
        return pd.DataFrame(rows, index, ["mass", "x", "y", "z"])

    def plot(self) -> "Figure":
        """A matplotlib Figure of the residual, now and before, and of the changes of the coordinates."""
        figures = importlib.import_module("myoquat.core.figures")  # matplotlib takes half a second
        panels = [
            figures.Panel(name, UNITS[k], ("before", "now"), vector([self.before[:, k], self.residual[:, k]]))
            for k, name in enumerate(COMPONENTS)
        ]
        changes = self.changes()
        for unit in dict.fromkeys(changes.attrs["units"].values()):
            names = tuple(name for name in changes if changes.attrs["units"][name] == unit)
            panels.append(figures.Panel("changes", unit, names, changes[list(names)].to_numpy()))
        return figures.draw_panels(self.motion.time, panels)


def dynamically_consistent(
    model: Model, motion: MotionLike, forces: Forces | None = None, *, options: ResidualOptions | None = None
) -> ConsistentMotion:
    """The motion and the masses nearest to recorded ones whose residual at the root meets its bounds.

    motion   at even times, with u and udot (`smooth`, `differentiate`), or without, when they are found here
    forces   all external loads, interpolated by straight lines
    options  bounds, deviations, and what may change

    Couplers, locks and constraints of the model hold. The result says in `success` whether the bounds are met; where
    they cannot be, the excess is least. Raises ValueError for a model without one body on the ground that moves, for
    unknown bodies and velocities in the options, and as `inverse_dynamics_of_motion` does.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment import ResidualOptions, dynamically_consistent
    >>> box = mq.Body("box", "ground", mq.joints.FloatingJoint(), mass=2.0, inertia=(0.1, 0.1, 0.1, 0, 0, 0))
    >>> model = mq.Model(mq.ArticulatedSystem((box,)))
    >>> time = np.linspace(0.0, 0.5, 51)
    >>> fall = np.zeros((51, 7))
    >>> fall[:, 2], fall[:, 3] = -4.8 * time**2, 1.0  # gravity is 9.81 m/s^2
    >>> found = dynamically_consistent(model, mq.data.Motion(model, time, fall), options=ResidualOptions(force=0.1))
    >>> found.success, bool(np.abs(found.motion.q - fall).max() < 0.01)
    (True, True)
    """
    options = ResidualOptions() if options is None else options
    check_types(model=(model, Model), options=(options, ResidualOptions))
    motion = motion_of(motion)
    model = motion.check_system(model)
    even_times(motion.time)
    if motion.u is None or motion.udot is None:
        motion = differentiate(motion)
    if constraints_of(model):
        motion = consistent_motion(model, motion)
    if options.body is not None:
        indices_of("body", [options.body], model.system.body_names)
    changes = _Changes.of(model, motion, options)
    before = _residual(model, motion, forces, _root(model))
    x = np.zeros(changes.size)
    now, moved, residual, steps = model, motion, before, 0
    while steps < options.max_iterations:
        steps += 1
        slope = _slopes(now, moved, forces, changes, x, residual)
        step, before_step = changes.solved(slope, residual, x) - x, changes.cost(x, residual)
        for share in 0.5 ** np.arange(MAX_HALVINGS):
            tried = x + share * step
            now, moved = changes.model(tried), changes.motion(tried)
            residual = _residual(now, moved, forces, _root(model))
            if changes.cost(tried, residual) <= before_step * (1 + STEP_TOLERANCE):
                break
        x, step = tried, tried - x
        met = (np.abs(residual) <= options.bounds * (1 + BOUND_TOLERANCE)).all()
        if np.abs(step / changes.scale).max(initial=0.0) < STEP_TOLERANCE or (met and steps > 2):
            break
    masses = changes.masses(x)
    return ConsistentMotion(now, moved, motion, residual, before, masses[0], masses[1:], options, steps)


def _root(model: Model) -> int:
    """The body on the ground that carries the others."""
    system = model.system
    roots = [i for i, body in enumerate(system.bodies) if body.parent == system.ground and body.joint.nu]
    if len(roots) != 1:
        names = ", ".join(system.bodies[i].name for i in roots) or "none"
        raise ValueError(f"a residual is that of one root: one body that moves on the ground is needed, not {names}")
    return roots[0]


def _wrench_map(model: Model, motion: Motion, root: int) -> Array:
    """(t, 6, n) from generalized forces on the root's velocities to the force and the torque about its center of mass,
    in the ground's axes, that do their work. They are the least ones at its origin where it has fewer than six."""
    system, body = model.system, model.system.bodies[root]
    W = np.linalg.pinv(frames.jacobian(system, motion.q, body.name, np.zeros(3))[..., system.u_slices[root]].mT)
    at = matvec(system.poses(motion.q)[body.name][0], np.asarray(body.center_of_mass, dtype=float))
    return np.concatenate([W[:, :3], W[:, 3:] - skew(at) @ W[:, :3]], axis=1)


def _residual(model: Model, motion: Motion, forces: Forces | None, root: int) -> Array:
    """(t, 6) what the root needs."""
    torque = inverse_dynamics_of_motion(model, motion, forces).torque[:, model.system.u_slices[root]]
    return matvec(_wrench_map(model, motion, root), torque)


class _Slopes(NamedTuple):
    """Derivatives (t, 6, n) of the residual by x, x' and x'', and (t, 6, k) by the masses."""

    q: Array
    u: Array
    udot: Array
    masses: Array


def _slopes(
    model: Model, motion: Motion, forces: Forces | None, changes: "_Changes", x: Array, residual: Array
) -> _Slopes:
    """At a motion of changes x (size,); the loads stay where they are on the ground, while the bodies move."""
    system, root, C, body = model.system, _root(model), changes.basis, changes.options.body
    state, W = (motion.q, motion.speeds, motion.accelerations), _wrench_map(model, motion, root)
    wrenches = np.zeros((len(motion.time), len(system.bodies), 6))
    loads = partial(external_wrenches, system, loads=forces) if forces is not None else lambda motion: wrenches
    names = [f"bodies.{body}.center_of_mass.{axis}" for axis in "xyz"] if body else []
    found = inverse_dynamics_derivatives(system, *state, loads(motion), parameters=names)
    assert found.f_ext is not None
    q, u, udot, f_ext = (np.einsum("tij,tj...->ti...", W, part[:, system.u_slices[root]])
                         for part in (found.q, found.u, found.udot, found.f_ext))  # fmt: skip
    turn, turn_rate = _frame_turns(motion, C)
    by_pose = q @ C + u @ (turn + changes.rate) + udot @ (turn_rate + changes.bend)
    for k, step in enumerate(DIFFERENCE * np.moveaxis(C, -1, 0)):
        after, before = (loads(replace(motion, q=system.integrate(motion.q, way * step))) for way in (1, -1))
        by_pose[:, :, k] += np.einsum("tibw,tbw->ti", f_ext, (after - before) / (2 * DIFFERENCE))
    light, heavy = (inverse_dynamics(each.system, *state, backend="numpy")
                    for each in (model, changes.model(x, heavier=1.0)))  # fmt: skip
    inertial = [heavy - light, *(found.parameters[name] for name in names)]  # linear in the factor
    masses = W @ vector(inertial)[:, system.u_slices[root], changes.columns]
    if body == system.body_names[root]:  # the moment's reference is its center of mass, which moves with the shift
        R, _ = system.poses(motion.q)[body]  # one (3, 3) where the root does not turn
        moved = np.pad(skew(residual[:, :3]) @ R, ((0, 0), (0, 0), (1, 0)))
        masses[:, 3:] += moved[..., changes.columns]
    return _Slopes(by_pose, u @ C + udot @ (turn + 2 * changes.rate), udot @ C, masses)


def _frame_turns(motion: Motion, C: Array) -> tuple[Array, Array]:
    """(t, nu, n) T and its rate, with du = x' + T x of changes x of a motion: joints whose velocities are components in
    axes that turn add products of velocities and changes. T = 0 for joints whose velocities are rates of coordinates.

    With R -> R exp(x), omega in the child's axes becomes omega + x' + omega x x to first order. With R -> exp(x) R and
    omega in the parent's axes the sign is the other.
    """
    system = motion.system
    T, rate = np.zeros((2, len(motion.time), system.nu, system.nu))
    for body, s in zip(system.bodies, system.u_slices, strict=True):
        quaternion = body.joint.facts.quaternion is not None
        if not quaternion:
            continue
        child = system.velocity_frame == "child"
        ball = slice(s.stop - 3, s.stop)
        slide = slice(s.start, s.start + 3) if s.stop - s.start == 6 else None
        for target, velocity in ((T, motion.speeds), (rate, motion.accelerations)):
            turn = skew(velocity[:, ball])
            target[:, ball, ball] = turn if child else -turn
            if child and slide is not None:
                target[:, slide, slide] = turn
                target[:, slide, ball] = skew(velocity[:, slide])
    return T @ C, rate @ C


@frozen(eq=False)
class _Changes:
    """The unknowns: coefficients (n, K) of the splines of n free velocities, then those of the masses.

    basis (t, nu, n), rate and bend: u = basis u_free, and its derivatives by the time
    splines  (3, t, K) the splines and their first and second derivatives
    columns  which of the factor of the masses (0) and the shift (1, 2, 3) are unknown
    scale    (size,) the deviation of each unknown
    """

    start: Model
    recorded: Motion
    options: ResidualOptions
    basis: Array
    rate: Array
    bend: Array
    splines: Array
    columns: tuple[int, ...]
    scale: Array
    quadratic: Any

    @classmethod
    def of(cls, model: Model, motion: Motion, options: ResidualOptions) -> "_Changes":
        time = motion.time
        names, C = free_velocities(model, motion.q, time)
        rate = np.gradient(C, time, axis=0) if len(time) > 1 else 0 * C
        bend = np.gradient(rate, time, axis=0) if len(time) > 1 else 0 * C
        splines = _splines(time, options.interval)
        if _has_quaternions(model.system):  # as `differentiate` finds the rates of the changed motion
            values = splines[0]
            splines[1:] = stencil_derivatives(even_times(time), lambda rows: values[rows] - values[:, None])
        n, count = len(names), splines.shape[2]
        units = dict(zip(model.system.velocity_names, _units(motion), strict=True))
        deviation = np.array([options.length if units[name].startswith("m") else options.angle for name in names])
        weights = _weights(model.system, names, options.weights)
        gram, bent = (splines[k].T @ splines[k] / len(time) for k in (0, 2))
        blocks = [w * (gram / a**2 + bent / options.acceleration**2) for w, a in zip(weights, deviation, strict=True)]
        columns = (*((0,) if options.mass_factor else ()), *((1, 2, 3) if options.body and options.shift else ()))
        masses = np.array([options.mass_factor if k == 0 else options.shift for k in columns])
        sparse = scipy.sparse
        quadratic = sparse.block_diag([*map(sparse.csc_matrix, blocks), sparse.diags(1 / masses**2)], format="csc")
        scale = np.concatenate([np.repeat(deviation, count), masses])
        assert quadratic.shape[0] == n * count + len(columns)
        return cls(model, motion, options, C, rate, bend, splines, columns, scale, quadratic)

    def cost(self, x: Array, residual: Array) -> float:
        """What the program minimises, at the residual (t, 6) that the changes x leave."""
        r = residual / self.options.bounds
        excess = max(0.0, float(np.abs(r).max(initial=0.0)) - 1.0)
        kept = float(x @ (self.quadratic @ x)) + self.options.residual * float(np.sum(r * r)) / len(r)
        return kept + EXCESS_COST * excess

    @property
    def size(self) -> int:
        """The number of unknowns."""
        return len(self.scale)

    def masses(self, x: Array) -> Array:
        """(4,) the factor of all masses, and the shift [m]."""
        found = np.zeros(4)
        found[list(self.columns)] = x[self.size - len(self.columns) :]
        found[0] += 1.0
        return found

    def model(self, x: Array, heavier: float = 0.0) -> Model:
        """The model with changed masses, whose factor is greater by `heavier`."""
        factor, *shift = self.masses(x)
        factor += heavier
        bodies = []
        for body in self.start.system.bodies:
            center = np.asarray(body.center_of_mass, dtype=float) + (shift if body.name == self.options.body else 0.0)
            inertia = tuple(float(factor * value) for value in body.inertia)
            bodies.append(replace(body, mass=factor * body.mass, inertia=inertia, center_of_mass=tuple(center)))
        return replace(self.start, system=replace(self.start.system, bodies=tuple(bodies)))

    def motion(self, x: Array) -> Motion:
        """The changed motion of the changed model."""
        old, model = self.recorded, self.model(x)
        coefficients = x[: self.size - len(self.columns)].reshape(self.basis.shape[2], -1)
        value, first, second = (S @ coefficients.T for S in self.splines)
        q = old.system.integrate(old.q, matvec(self.basis, value))
        if _has_quaternions(old.system):
            found = differentiate(Motion(model.system, old.time, q))
        else:
            u = old.speeds + matvec(self.basis, first) + matvec(self.rate, value)
            udot = old.accelerations + matvec(self.basis, second) + 2 * matvec(self.rate, first)
            udot += matvec(self.bend, value)
            found = Motion(model.system, old.time, q, u, udot)
        return consistent_motion(model, found) if constraints_of(model) else found

    def solved(self, slopes: _Slopes, residual: Array, x: Array) -> Array:
        """(size,) the solution of the linearised program: minimise x_new^T P x_new + s |y|^2 / t + EXCESS_COST e, with
        |y| <= 1 + e, e >= 0 and y = (residual + slope (x_new - x)) / bounds. It is x where the solver fails."""
        sparse, size, count = scipy.sparse, self.size, residual.size
        each = [sparse.csr_matrix(np.repeat(S, 6, axis=0)) for S in self.splines]
        columns = [
            sum(sparse.diags(part[:, :, j].ravel()) @ S for part, S in zip(slopes[:3], each, strict=True))
            for j in range(self.basis.shape[2])
        ]
        bounds = np.tile(self.options.bounds, len(residual))
        G = sparse.diags(1 / bounds) @ sparse.hstack(
            [*columns, sparse.csr_matrix(slopes.masses.reshape(count, -1))], format="csr"
        )
        r, excess = residual.ravel() / bounds - G @ x, sparse.csc_matrix(-np.ones((count, 1)))
        A = sparse.vstack([
            sparse.hstack([G, excess]), sparse.hstack([-G, excess]),
            sparse.csc_matrix(([-1.0], ([0], [size])), shape=(1, size + 1)),
        ], format="csc")  # fmt: skip
        b = np.concatenate([1 - r, 1 + r, [0.0]])
        weight = self.options.residual / len(residual)
        P = sparse.block_diag([2 * (self.quadratic + weight * G.T @ G), sparse.csc_matrix((1, 1))], format="csc")
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_threads = False, 1
        cost = np.append(2 * weight * (G.T @ r), EXCESS_COST)
        cones = [clarabel.NonnegativeConeT(2 * count + 1)]
        found = clarabel.DefaultSolver(sparse.csc_matrix(sparse.triu(P)), cost, A, b, cones, settings).solve()
        new = np.array(found.x)[:size]
        return new if np.isfinite(new).all() else x


def _has_quaternions(system: ArticulatedSystem) -> bool:
    return any(body.joint.facts.quaternion is not None for body in system.bodies)


def _units(motion: Motion) -> tuple[str, ...]:
    return tuple(unit for body in motion.system.bodies for unit in body.joint.facts.velocity_units)


def _weights(system: ArticulatedSystem, names: tuple[str, ...], given: Mapping[str, float]) -> Array:
    """(n,) the last weight whose name or pattern fits each velocity, or a coordinate whose rate it is, else 1."""
    free = {name: {system.velocity_names[row] for row in system.indices.velocities_of_coordinate(name)} & {*names}
            for name in system.coordinate_names} | {name: {name} for name in names}  # fmt: skip
    weights = dict.fromkeys(names, 1.0)
    for pattern, weight in given.items():
        fitting = by_pattern("free velocity or coordinate", {pattern: weight}, [name for name in free if free[name]])
        if not 0 < weight < np.inf:
            raise ValueError(f"the weight of {pattern!r} must be positive, not {weight}")
        weights |= {velocity: weight for name in fitting for velocity in free[name]}
    return np.array([*weights.values()])


def _splines(time: Array, interval: float) -> Array:
    """(3, t, K) quintic B-splines on even knots over the times, and their first two derivatives."""
    pieces = max(1, round((time[-1] - time[0]) / interval))
    inner = np.linspace(time[0], time[-1], pieces + 1)
    knots = np.concatenate([np.repeat(time[0], DEGREE), inner, np.repeat(time[-1], DEGREE)])
    spline = scipy.interpolate.BSpline(knots, np.eye(pieces + DEGREE), DEGREE)
    return np.stack([spline(time), *(spline.derivative(k)(time) for k in (1, 2))])
