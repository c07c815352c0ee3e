"""The demands of a motion on its muscles: equations on the free velocities, affine in activations and reserves."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import copy
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, Self

import numpy as np

from myoquat.analysis.motion.inverse_dynamics import JointTorques, inverse_dynamics_of_motion
from myoquat.analysis.motion.prescribed import prescribed_activations, prescribed_controls
from myoquat.analysis.recruitment.convex import Programs, Solutions, solve_minimax, solve_programs
from myoquat.analysis.recruitment.convex.program import in_one_pass
from myoquat.analysis.recruitment.free import free_velocities, led_velocities
from myoquat.analysis.recruitment.stability import SearchedRule, StabilityRule
from myoquat.analysis.recruitment.tolerances import TORQUE_RESIDUAL
from myoquat.core import Array, ArrayLike, frozen, indices_of, real_array
from myoquat.data.motions import Forces, Motion
from myoquat.dynamics import joint_reactions
from myoquat.dynamics.constraints import ConstrainedMotion
from myoquat.dynamics.constraints.evaluate import carried_wrenches
from myoquat.joints.errors import ModelError
from myoquat.joints.evaluation import compiled
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.vectors import joined, matvec, vecmat, vector
from myoquat.kernels.symbolic.arrays import is_symbolic
from myoquat.kernels.tracing.derivatives import jacobian_at
from myoquat.muscle import Model, acting_wrenches, law_forces, path_jacobian, path_lengths
from myoquat.muscle.laws import ForceLaw
from myoquat.muscle.laws.hill import HillLaw
from myoquat.muscle.laws.shared_structure import of_laws
from myoquat.muscle.path import MusclePath
from myoquat.muscle.segments.lengths import carried_bodies, carried_wrenches as muscle_wrenches

from .actuators import AnyReserve, Reserves, reserve_columns, reserve_wrenches, reserves_of

Tensions = Callable[[Array], Array]  # (poses, m) tensions of activations (poses, m)


class LawParameters(NamedTuple):
    """A model's laws as a function of their parameters.

    bind  bind(p) is the model with parameters p (n,), floats or symbols
    key   distinguishes the function from others
    p     (n,) the parameters
    """

    bind: Callable[[Array], Model]
    key: Hashable
    p: Array

    def tensions(self, lengths: Array, speeds: Array, a: Array, p: Array) -> Array:
        """(..., m, 3) the tensions of all muscles at (..., m), and their two derivatives in the activation.

        At a kink of a law they are those of the branch that it takes there. Of equal numbers the first is the maximum
        and the minimum, as in all derivatives of kernels: at its `minimum_activation` a law has the slope above it. On
        floats a kernel of the formula runs, because derivatives do not nest there.
        """
        if not is_symbolic(a):
            m, size = a.shape[-1], self.p.shape[-1]
            sizes = {"lengths": m, "speeds": m, "a": m, "p": size}
            kernel: Any = compiled(("law_derivatives", self.key), self.tensions, sizes, ["tensions"])
            found: Array = kernel(lengths, speeds, a, np.broadcast_to(p, (*a.shape[:-1], size)))
            return found
        laws: Any = [muscle.law for muscle in self.bind(p).muscles]
        rows = [vector([x[..., i] for x in (lengths, speeds, a)]) for i in range(len(laws))]
        return np.stack(
            np.broadcast_arrays(*of_laws(laws, _with_derivatives, rows, lambda law: 3), subok=True), axis=-2
        )


def least_activations(model: Model) -> Array:
    """(m,) `minimum_activation` of a muscle's law, or 0."""
    return np.array([m.law.minimum_activation if isinstance(m.law, HillLaw) else 0.0 for m in model.muscles])


def strengths(model: Model) -> Array:
    """(m,) the greatest isometric force of every muscle [N]; ModelError for a law without one, or with none at all."""
    forces = [getattr(m.law, "max_isometric_force", None) for m in model.muscles]
    for muscle, force in zip(model.muscles, forces, strict=True):
        if not force:
            law = type(muscle.law).__name__
            raise ModelError(f"muscle {muscle.name!r}: its law {law} has no greatest isometric force, of which its "
                             "stress is a share")  # fmt: skip
    return np.array(forces, dtype=float)


def _with_derivatives(law: ForceLaw, row: Array) -> Array:
    """(..., 3) tension, slope and curvature of a law at length, speed and activation (..., 3)."""

    def force(a: Array) -> Array:
        return law.force(row[..., 0], row[..., 1], a[..., 0])[..., None]

    def with_slope(a: Array) -> Array:
        return joined([force(a), jacobian_at(force, a)[..., 0]])

    a = row[..., 2:]
    return joined([force(a), jacobian_at(with_slope, a)[..., 0]])


def secants(forces: Tensions, lower: Array, poses: int) -> tuple[Array, Array]:
    """F0, F1 (poses, m): F0 + F1 a is F = forces(a) at the least activation and at 1, and in between where the law is
    affine."""
    least = np.broadcast_to(lower, (poses, len(lower)))
    low = forces(least)
    slope = (forces(np.ones(least.shape)) - low) / (1 - least)
    return low - slope * least, slope


class Paths(NamedTuple):
    """Paths of muscles, and the forces of unit tensions in some joints.

    lengths   (t, m)
    jacobian  (t, m, nu)
    lines     (t, c, m, 3) forces on the parents of the joints, in the parents' axes, of a unit tension of every muscle
    parents   (t, c, 3, 3) orientations of the parents
    """

    lengths: Array
    jacobian: Array
    lines: Array
    parents: Array


def paths_along(model: Model, q: Array, joints: Sequence[int]) -> Paths:
    """At poses q (t, nq), of the joints of these bodies, by their numbers."""
    system, count, m = model.system, len(joints), len(model.muscles)
    lines, parents = np.zeros((len(q), 0, m, 3)), np.zeros((len(q), 0, 3, 3))
    if count:
        bones = model.paths_on_bones

        def formula(q: Array) -> tuple[Array, ...]:
            return tuple(x for i in joints for x in joint_lines(system, bones, q, i))

        names = [f"{name}{i}" for i in joints for name in ("lines", "parent")]
        kernel: Any = compiled(("joint_lines", model.content_key, tuple(joints)), formula, {"q": (system.nq,)}, names)
        rows = kernel(q)
        lines, parents = np.stack(rows[::2], axis=1), np.stack(rows[1::2], axis=1)
    return Paths(path_lengths(model, q), path_jacobian(model, q), lines, parents)


def joint_lines(system: ArticulatedSystem, paths: tuple[MusclePath, ...], q: Array, body: int) -> tuple[Array, Array]:
    """(..., m, 3) forces of unit tensions on the parent of a body's joint, and (..., 3, 3) the parent's orientation.

    Forces are in the parent's axes. This is the formula, on floats and symbols.
    """
    carried = carried_bodies(system, system.body_names[body])
    R = system.poses(q)[system.bodies[body].parent][0] + 0.0 * q[..., :1, None]
    return muscle_wrenches(system, paths, q, carried)[..., :3] @ R, R


def joints_of(model: Model, cones: Sequence[StabilityRule]) -> tuple[int, ...]:
    """The numbers of the bodies that the joints of the rules carry."""
    return tuple(int(model.system.indices.body(cone.joint)) for cone in cones)


def rest_forces(passing: Array, joints: Sequence[int], parents: Array) -> Array:
    """(t, c, 3) the forces on the parents of joints, in their axes, without muscles.

    `passing` (t, bodies, 6) are the wrenches through all joints, and `parents` (t, c, 3, 3) the parents' orientations.
    """
    return -vecmat(passing[:, list(joints), :3], parents)


def _constraint_lines(model: Model, motion: Motion, joints: Sequence[int], parents: Array) -> Array | None:
    """(t, c, nu, 3) the forces on the parents of joints, in their axes, that constraints pass there.

    They are those for a unit of what a motion lacks without constraints (see
    `myoquat.dynamics.constraints.evaluate`). None without constraints on bodies.

    ModelError for a constraint on velocities, whose force on bodies is not known. ValueError, with the frame, for a
    joint whose reaction redundant constraints leave open.
    """
    if not joints or not model.constraints:
        return None
    held = ConstrainedMotion(model, motion.q, motion.time)
    if not held.count:
        return None
    for i in joints:
        if held.undetermined[:, i].any():
            raise ValueError(
                f"the load of the joint of {model.system.body_names[i]!r} is not determined at frame "
                f"{int(np.argmax(held.undetermined[:, i]))}: constraints that act beside it are redundant"
            )
    passing = held.reaction_map[:, list(joints), :3] @ held.map[:, None]
    return -(parents.mT @ passing).mT


def _reserve_lines(
    model: Model, q: Array, reserves: Sequence[AnyReserve], joints: Sequence[int], parents: Array
) -> Array:
    """(t, c, r, 3) the forces on the parents of joints, in their axes, of reserves at c = 1 that act on bodies."""
    found = np.zeros((len(q), len(joints), len(reserves), 3))
    if not joints:
        return found
    for k, reserve in enumerate(reserves):
        wrenches = reserve_wrenches(model.system, reserve, q, np.ones(len(q)))
        if wrenches is not None:
            force = carried_wrenches(model.system, q, wrenches)[:, list(joints), :3]
            found[:, :, k] = vecmat(force, parents)
    return found


@frozen
class Effort:
    """sum_i w_i |a_i - t_i|^p + sum_j w_j |c_j|^p over activations a of muscles and controls c of reserves.

    power    p; if it is infinite, the effort is the greatest of all w_i |a_i - t_i| and w_j |c_j|. Of the solutions
             with the same effort, the one with the least sum of squares is taken.
    weights  of the muscles, one for all, in their order or by name (1 for those not named)
    of       "activation", or "stress": a_i is then the muscle's force over its greatest isometric force. It is the
             stress in a fibre, up to a factor that is the same for all. It has no target.
    target   the activations t that cost nothing, one for all, (m,) or (t, m)

    >>> from myoquat.analysis.recruitment import Effort
    >>> Effort(power=3.0, weights={"biceps": 2.0}).of_muscles(["biceps", "triceps"])
    array([2., 1.])
    """

    power: float = 2.0
    weights: ArrayLike | Mapping[str, float] = 1.0
    of: Literal["activation", "stress"] = "activation"
    target: ArrayLike = 0.0

    def of_muscles(self, names: Sequence[str]) -> Array:
        """(m,) or (t, m) the weights; ValueError for one that is negative or of no muscle, and a power outside
        [1, 10] other than infinity."""
        if not (1 <= self.power <= 10 or self.power == np.inf):
            raise ValueError(f"power must lie in [1, 10] or be infinite, not {self.power}")
        if self.of not in ("activation", "stress"):
            raise ValueError(f'the effort is that of "activation" or "stress", not of {self.of!r}')
        given = self.weights
        if isinstance(given, Mapping):
            indices_of("muscle for weights:", given, names)
            given = [float(given.get(name, 1.0)) for name in names]
        weights = real_array("weights", given)
        if not (np.isfinite(weights).all() and (weights >= 0).all()):
            raise ValueError("weights must be finite and not negative")
        if weights.ndim > 2 or weights.shape[-1:] not in ((), (len(names),)):
            raise ValueError(f"weights has shape {weights.shape}; one for each of the {len(names)} muscles is needed")
        return weights

    def targets(self, frames: int, muscles: int) -> Array:
        """(t, m) the activations that cost nothing; ValueError for a shape that does not fit, and numbers outside
        [0, 1]."""
        target = real_array("target", self.target)
        if target.shape not in ((), (muscles,), (frames, muscles)):
            raise ValueError(f"target has shape {target.shape}; ({muscles},) or ({frames}, {muscles}) is needed")
        if not ((target >= 0) & (target <= 1)).all():
            raise ValueError("target must lie in [0, 1]")
        if self.of != "activation" and target.any():
            raise ValueError(f"a target is one of activations; the effort is of {self.of}")
        return np.broadcast_to(target, (frames, muscles))

    # ---- what an effort has a way of its own for --------------------------------------------------------------

    is_smooth: ClassVar[bool] = True  # whether local solutions by tangents of force laws exist

    def solved(self, demands: "Demands", programs: Programs, centre: Array, backend: str) -> Solutions:
        """The solutions of frames with affine forces; `programs` of these demands have the effort of x - centre."""
        solve = solve_minimax if self.power == np.inf else solve_programs
        found = solve(programs.around(centre), backend=backend)
        found.x[:] += centre
        return found

    def curves(self, demands: "Demands", backend: str) -> "EffortCurves | None":
        """The parts of the effort as functions of one activation each, where they are no powers."""
        return None

    def check_coupled(self) -> None:
        """ValueError if a coupled trial cannot have this effort."""
        if self.of != "activation" or self.power == np.inf or not self.is_smooth:
            raise ValueError("a coupled trial has an effort of powers of activations: not of stress, not the greatest, "
                             "not metabolic")  # fmt: skip
        if self.power < 2 and np.any(real_array("target", self.target)):
            raise ValueError(f"targets in a coupled trial need a power of at least 2, not {self.power}")


class EffortCurves(Protocol):
    """Parts of an effort at activations (k, m, p) of frames (k,), and their corners (t, m, q)."""

    def __call__(self, rows: Array, a: Array) -> Array: ...
    def corners(self) -> Array: ...


def picked(J: Array, C: Array) -> Array:
    """(t, m, e) J C of J (t, m, nu) or (m, nu) and C (t, nu, e).

    If C only picks some columns of J, these are returned, or J itself if C picks all.
    """
    constant = C.size and (not C.strides[0] or (C[0] == C).all())
    if constant and ((C[0] == 0) | (C[0] == 1)).all() and (C[0].sum(axis=0) == 1).all():
        columns = C[0].argmax(axis=0)
        whole = len(columns) == J.shape[-1] and (columns == np.arange(len(columns))).all()
        few: Array = J if whole else J[..., columns]
        return np.broadcast_to(few, (len(C), *few.shape[-2:]))
    return J @ C


def _as_slice(frames: Array) -> Array | slice:
    """Numbers of frames as a slice where they are evenly apart: what it takes of an array is no copy."""
    if len(frames) < 2:
        return frames
    step = int(frames[1] - frames[0])
    even = step > 0 and (frames == frames[0] + step * np.arange(len(frames))).all()
    return slice(int(frames[0]), int(frames[-1]) + 1, step) if even else frames


def _given(arms: Array, x: Array) -> Array:
    """(t, e) what x (t, n) gives at once, each of which gives arms (t, n, e) by itself, without a copy of the arms."""
    return in_one_pass(arms.mT, x)


def _beside(own: Array, more: Sequence[Array]) -> Array:
    """Columns beside others; the array itself without any."""
    more = [part for part in more if part.shape[-1]]
    return joined([own, *more]) if more else own


class Demands:
    """The demands of a motion in every frame.

        torque (t, e)          that muscles and reserves have to give on the free velocities `names`
        arms (t, m, e)         the part of it of a unit tension of each muscle
        helps (t, r, e)        the part of it of each reserve at c = 1
        lines (t, c, m, 3)     forces on the parents of the joints with cones, per tension
        pushes (t, c, r, 3)    those forces per reserve
        rest (t, c, 3)         those forces without muscles and reserves
        through (t, c, nu, 3)  those of constraints per unit of what the motion lacks, None without constraints
        columns (t, nu, r)     reserves at c = 1 on all velocities, or (nu, r) for all frames

    The forces include those of constraints. Demands(model, (q, u), torque, ...) are those of torques (t, nu) in poses q
    (t, nq) at speeds u (t, nu). `of_motion` also knows `needed`, the torques of inverse dynamics.
    """

    needed: JointTorques
    outer: Array
    through: Array | None = None
    controls: Array | None = None

    def __init__(
        self,
        model: Model,
        poses: tuple[Array, Array],
        torque: Array,
        reserves: Reserves,
        cones: Sequence[StabilityRule] = (),
        paths: Paths | None = None,
        untracked: Array | None = None,
        time: Array | float = 0.0,
        free: Sequence[str] | None = None,
    ) -> None:
        q, u = poses
        self.names, self.C = (
            free_velocities(model, q, time, free)
            if untracked is None
            else led_velocities(model, q, untracked, time, free)
        )
        self.torque = picked(torque[:, None], self.C)[:, 0]
        self.reserves, self.cones = reserves_of(reserves, self.names), tuple(cones)
        joints = joints_of(model, self.cones)
        self.lengths, J, self.lines, self.parents = paths_along(model, q, joints) if paths is None else paths
        self.model, self.speeds = model, in_one_pass(J, u)
        self.arms = picked(-J, self.C)
        self.help(model, q, joints)
        self.rest = np.zeros((len(q), len(joints), 3))
        self.turn = self._turns(None)
        self.lower = least_activations(model)
        self.law: Callable[[Array, Array, Array], Array] = partial(law_forces, model)
        self.laws = LawParameters(lambda p: model, model.content_key, np.zeros(0))
        self.count, self.numbers = len(q), np.arange(len(q))
        self.low = np.broadcast_to(self.lower, self.lengths.shape)
        self.high = np.ones(self.lengths.shape)

    @classmethod
    def of_motion(
        cls,
        model: Model,
        motion: Motion,
        loads: Forces | None,
        reserves: Reserves,
        cones: Sequence[StabilityRule],
        *,
        controls: Array | None = None,
        activation: Array | None = None,
        untracked: Array | None = None,
        free: Sequence[str] | None = None,
    ) -> Self:
        """Those of a motion (q, u, udot) under external loads, forces of constraints included.

        controls    (t, k) act; None for those that the model prescribes.
        activation  (t, m) is fixed where it is not NaN; None for those that the model prescribes.
        untracked   (nu,) velocities whose accelerations are left open, as in `led_velocities`.
        free        the free velocities; None for those of the first frame.
        """
        model = motion.check_system(model)
        controls = prescribed_controls(model, motion.time) if controls is None else controls
        needed = inverse_dynamics_of_motion(model, motion, loads, controls=controls)
        joints = joints_of(model, cones)
        paths = paths_along(model, motion.q, joints)
        found = cls(
            model, (motion.q, motion.speeds), needed.torque, reserves, cones, paths, untracked, motion.time, free
        )
        found.needed, found.controls = needed, controls
        found.prescribe(prescribed_activations(model, motion.time) if activation is None else activation)
        found._press(motion, joints, paths.jacobian)
        return found.with_rules()

    def help(self, model: Model, q: Array, joints: Sequence[int]) -> None:
        """What the reserves give in a model at poses q (t, nq), without forces of constraints."""
        self.columns = reserve_columns(model.system, self.reserves, q)
        self.helps = picked(self.columns.mT, self.C)
        self.pushes = _reserve_lines(model, q, self.reserves, joints, self.parents)

    @property
    def searched(self) -> int | None:
        """The number of the rule that has a parameter; None where all are convex."""
        searched = [j for j, rule in enumerate(self.cones) if isinstance(rule, SearchedRule)]
        return searched[0] if searched else None

    def with_rules(self, parameter: Array | None = None) -> Self:
        """With the cones and the equations of all rules.

        The searched rule has its parameters (t,). Without them, only the convex cone around it holds. Equations of
        rules follow those of the velocities.
        """
        part, e = copy(self), self.C.shape[-1]
        part.turn, lines, names = self._turns(parameter), [], list(self.names[:e])
        for j, rule in enumerate(self.cones):
            if isinstance(rule, SearchedRule) and parameter is None:
                continue
            E = rule.equations(np.zeros(len(self.torque)) if parameter is None else parameter)
            lines.append((j, E))
            names += [f"{rule.joint}.across_{i + 1}" for i in range(rule.equation_count)]
        part.names = tuple(names)
        part.arms = _beside(self.arms[..., :e], [self.lines[:, j] @ E.mT for j, E in lines])
        part.helps = _beside(self.helps[..., :e], [self.pushes[:, j] @ E.mT for j, E in lines])
        part.torque = _beside(self.torque[..., :e], [-matvec(E, self.rest[:, j]) for j, E in lines])
        return part

    def _turns(self, parameter: Array | None) -> Array:
        """(t, c, 3, 3) take forces on the joints' parents to coordinates in which the cones of the rules are the
        standard one."""
        count = len(self.lengths)
        if not self.cones:
            return np.zeros((count, 0, 3, 3))
        if parameter is None:
            each = [rule.outer() for rule in self.cones]
            return np.broadcast_to(np.stack(each), (count, len(each), 3, 3))
        return np.stack([rule.cones(parameter) for rule in self.cones], axis=1)

    def prescribe(self, activation: Array | None) -> None:
        """Fix the activations (t, m) of muscles that are prescribed, NaN for others."""
        if activation is not None:
            known = ~np.isnan(activation)
            self.low, self.high = np.where(known, activation, self.low), np.where(known, activation, self.high)

    def _press(self, motion: Motion, joints: tuple[int, ...], J: Array) -> None:
        """Add what forces of constraints and the motion itself press on the parents of the joints."""
        model = self.model
        self.through = _constraint_lines(model, motion, joints, self.parents)
        self.outer = self.needed.wrenches
        if joints:
            self.outer = self.outer + acting_wrenches(
                model, motion.q, motion.speeds, motion.time, controls=self.controls
            )
            passing = joint_reactions(model.system, motion.q, motion.speeds, motion.accelerations, self.outer)
            self.rest = self.beside(rest_forces(passing, joints, self.parents), self.needed.torque)
        if self.through is not None:
            self.lines = self.lines + J[:, None] @ self.through
            self.pushes = self.pushes - self.columns.mT[..., None, :, :] @ self.through

    def beside(self, rest: Array, torque: Array) -> Array:
        """(t, c, 3) forces on the parents of joints without muscles and reserves, with those of constraints.

        The constraints hold the motion against all of the torque (t, nu) that it needs.
        """
        if self.through is None:
            return rest
        return rest + vecmat(torque[:, None], self.through)

    def subset(self, frames: Array) -> Self:
        """Some of the frames, by their numbers."""
        part, rows = copy(self), _as_slice(frames)
        for name in (
            "torque",
            "arms",
            "helps",
            "lengths",
            "speeds",
            "lines",
            "pushes",
            "rest",
            "turn",
            "low",
            "high",
            "numbers",
        ):
            values = getattr(self, name)
            alike = not values.strides[0] and len(values)
            setattr(part, name, np.broadcast_to(values[0], (len(frames), *values.shape[1:])) if alike else values[rows])
        return part

    def within(self, low: Array, high: Array) -> Self:
        """Activations within (t, m), as far as they are there anyway."""
        part = copy(self)
        part.low = np.clip(low, self.low, self.high)
        part.high = np.clip(high, part.low, self.high)
        return part

    def tensions(self, activation: Array, frames: Array | slice = slice(None)) -> Array:
        """(t, m) [N] of activations, at some of the frames."""
        return self.law(self.lengths[frames], self.speeds[frames], activation)

    def tangents(self, a: Array, frames: Array | slice = slice(None)) -> tuple[Array, Array]:
        """F0, F1 (t, m): F0 + F1 a touches the tensions at activations a (t, m), at some of the frames."""
        laws = self.laws
        F, slope, _ = np.moveaxis(laws.tensions(self.lengths[frames], self.speeds[frames], a, laws.p), -1, 0)
        return F - slope * a, slope

    def weights(self, effort: Effort) -> Array:
        """(t, m) of the muscles; without strides along the frames where all have the same."""
        return self._of_frames("weights", effort.of_muscles(self.model.muscle_names))

    def targets(self, effort: Effort) -> Array:
        """(t, m) the activations that cost nothing."""
        return self._of_frames("target", effort.targets(self.count, self.lengths.shape[1]))

    def _of_frames(self, name: str, values: Array) -> Array:
        """(t, m) of these frames, of values (), (m,) or (all frames, m)."""
        if values.ndim < 2 or not values.strides[0]:
            return np.broadcast_to(values[0] if values.ndim == 2 else values, self.lengths.shape)
        if len(values) != self.count:
            raise ValueError(f"{name} has shape {values.shape}; there are {self.count} frames")
        return values[self.numbers]

    def programs(self, F0: Array, F1: Array, effort: Effort) -> Programs:
        """Where the tensions are F0 + F1 a (t, m), programs of the activations, or of the stresses in an effort of
        these."""
        low, high = self.low, self.high
        if effort.of == "stress":
            strength, ends = strengths(self.model), (F0 + F1 * low, F0 + F1 * high)
            low, high = ends[0] / strength, np.maximum(*ends) / strength
            F0, F1 = np.zeros(F0.shape), np.broadcast_to(strength, F0.shape)
        G = self.turn @ (self.lines * F1[:, None, :, None]).mT
        A = np.empty((len(F0), len(self.names), F0.shape[1] + len(self.reserves)))
        np.multiply(self.arms.mT, F1[:, None, :], out=A[..., : F0.shape[1]])
        A[..., F0.shape[1] :] = self.helps.mT
        return Programs.of(
            A,
            self.torque - _given(self.arms, F0),
            weights=self.all_weights(effort),
            powers=2.0 if effort.power == np.inf else effort.power,
            lower=self.with_reserves(low, "lower"),
            upper=self.with_reserves(high, "upper"),
            G=joined([G, self.turn @ self.pushes.mT]),
            h=matvec(self.turn, self.pressed(F0)),
        )

    def activations(self, x: Array, F0: Array, F1: Array, effort: Effort) -> Array:
        """(t, m) of the programs' variables x (t, m)."""
        if effort.of == "activation":
            return x
        pulls = np.abs(F1) > 0
        a = (x * strengths(self.model) - F0) / np.where(pulls, F1, 1.0)
        return np.where(pulls, np.clip(a, self.low, self.high), self.low)

    def all_weights(self, effort: Effort) -> Array:
        """(t, m + r) of muscles and reserves, or (1, m + r)."""
        return self.with_reserves(self.weights(effort), "weight")

    def with_reserves(self, muscles: Array, name: str) -> Array:
        """(t, m + r), or (1, m + r) where all frames have the same, of a field of the reserves, 0 for one they lack."""
        rows = muscles[:1] if (muscles == muscles[:1]).all() else muscles
        reserves = [getattr(reserve, name, 0.0) for reserve in self.reserves]
        return joined([rows, np.broadcast_to(reserves, (len(rows), len(reserves)))])

    def pull(self, multipliers: Array) -> Array:
        """(t, c, 3) multipliers of the standard cones as vectors in the parents' axes."""
        return vecmat(multipliers, self.turn)

    def pressed(self, tensions: Array, controls: Array | None = None) -> Array:
        """(t, c, 3) forces on the parents of the joints with cones, in their axes; controls (t, r), None for 0."""
        found: Array = vecmat(tensions[:, None], self.lines) + self.rest
        return found if controls is None else found + vecmat(controls[:, None], self.pushes)

    def missing(self, tensions: Array, controls: Array) -> Array:
        """(t, e) what muscles and reserves give beyond what is needed [N m, N]."""
        return _given(self.arms, tensions) + _given(self.helps, controls) - self.torque

    @property
    def allowed_residual(self) -> Array:
        """(t,) [N m, N] what may be missing."""
        return TORQUE_RESIDUAL * np.maximum(np.abs(self.torque).max(axis=-1, initial=0.0), 1.0)

    def are_met(self, x: Array) -> Array:
        """(t,) whether activations and controls x (t, m + r) meet the equations."""
        m = self.lengths.shape[1]
        missing = self.missing(self.tensions(x[:, :m]), x[:, m:])
        return np.asarray(np.abs(missing).max(axis=-1, initial=0.0) <= self.allowed_residual)
