"""The demands of a motion on its muscles: equations on the free velocities, affine in activations and reserves."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Literal, NamedTuple, Self

import numpy as np

from myoquat.analysis.motion.inverse_dynamics import JointTorques, inverse_dynamics_of_motion
from myoquat.analysis.recruitment.convex import Programs
from myoquat.analysis.recruitment.convex.program import in_one_pass
from myoquat.analysis.recruitment.free import free_velocities
from myoquat.analysis.recruitment.prescribed import prescribed_activations, prescribed_controls
from myoquat.analysis.recruitment.redundancy.actuators import AnyReserve, reserve_columns, reserves_of
from myoquat.analysis.recruitment.redundancy.affine_forces import LawParameters, least_activations, strengths
from myoquat.analysis.recruitment.redundancy.joint_forces import (
    constraint_lines,
    joints_of,
    reserve_lines,
    rest_forces,
)
from myoquat.analysis.recruitment.redundancy.paths import Paths, paths_along
from myoquat.analysis.recruitment.stability import SearchedRule, StabilityRule
from myoquat.core.arguments import real_array
from myoquat.core.records import dataclass
from myoquat.core.typing import Array, ArrayLike
from myoquat.data.motions import Forces, Motion
from myoquat.dynamics import joint_reactions
from myoquat.joints.vectors import matvec
from myoquat.muscle import acting_wrenches, actuator_forces, law_forces
from myoquat.muscle.model import Model

__all__ = ["Demands", "Effort", "picked"]


@dataclass(frozen=True)
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
            unknown = [name for name in given if name not in names]
            if unknown:
                raise ValueError(f"weights: no muscle {unknown[0]!r}; these are {', '.join(names)}")
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


def picked(J: Array, C: Array) -> Array:
    """(t, m, e) J C of J (t, m, nu) or (m, nu) and C (t, nu, e).

    If C only picks some columns of J, these are returned, or J itself if C picks all.
    """
    constant = len(C) and (not C.strides[0] or (C[0] == C).all())
    if constant and ((C[0] == 0) | (C[0] == 1)).all() and (C[0].sum(axis=0) == 1).all():
        columns = C[0].argmax(axis=0)
        whole = len(columns) == J.shape[-1] and (columns == np.arange(len(columns))).all()
        few: Array = J if whole else J[..., columns]
        return np.broadcast_to(few, (len(C), *few.shape[-2:]))
    result: Array = J @ C
    return result


def _as_slice(frames: Array) -> Array | slice:
    """Numbers of frames as a slice where they are evenly apart: what it takes of an array is no copy."""
    if len(frames) < 2:
        return frames
    step = int(frames[1] - frames[0])
    even = step > 0 and (frames == frames[0] + step * np.arange(len(frames))).all()
    return slice(int(frames[0]), int(frames[-1]) + 1, step) if even else frames


def _given(arms: Array, x: Array) -> Array:
    """(t, e) what x (t, n) gives at once, each of which gives arms (t, n, e) by itself, without a copy of the arms."""
    return in_one_pass(np.swapaxes(arms, -1, -2), x)


def _beside(own: Array, more: Sequence[Array]) -> Array:
    """Columns beside others; the array itself without any."""
    more = [part for part in more if part.shape[-1]]
    return np.concatenate([own, *more], axis=-1) if more else own


class Units(NamedTuple):
    """The tensions F0 + F1 x of variables x that reach from low to high, (t, m) each."""

    F0: Array
    F1: Array
    low: Array
    high: Array


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
        reserves: float | Sequence[AnyReserve],
        cones: Sequence[StabilityRule] = (),
        paths: Paths | None = None,
    ) -> None:
        q, u = poses
        self.names, self.C = free_velocities(model, q)
        self.torque = picked(torque[:, None], self.C)[:, 0]
        self.reserves, self.cones = reserves_of(reserves, self.names), tuple(cones)
        joints = joints_of(model, self.cones)
        self.lengths, J, self.lines, self.parents = paths_along(model, q, joints) if paths is None else paths
        self.model, self.speeds = model, in_one_pass(J, u)
        self.arms = picked(-J, self.C)
        self.columns = reserve_columns(model.system, self.reserves, q)
        self.helps = picked(np.swapaxes(self.columns, -1, -2), self.C)
        self.pushes = reserve_lines(model, q, self.reserves, joints, self.parents)
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
        reserves: float | Sequence[AnyReserve],
        cones: Sequence[StabilityRule],
    ) -> Self:
        """Those of a motion (q, u, udot) under external loads, forces of constraints included."""
        model = motion.check_system(model)
        needed = inverse_dynamics_of_motion(model, motion, loads)
        assert motion.u is not None
        controls = prescribed_controls(model, motion.time)
        if controls is not None:
            torque = needed.torque - actuator_forces(model, motion.q, motion.u, controls)
            needed = replace(needed, torque=torque)
        joints = joints_of(model, tuple(cones))
        paths = paths_along(model, motion.q, joints)
        found = cls(model, (motion.q, motion.u), needed.torque, reserves, cones, paths)
        found.needed, found.controls = needed, controls
        found._prescribe(prescribed_activations(model, motion.time))
        found._press(motion, joints, paths.jacobian)
        return found.with_rules()

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
        part.arms = _beside(self.arms[..., :e], [self.lines[:, j] @ np.swapaxes(E, -1, -2) for j, E in lines])
        part.helps = _beside(self.helps[..., :e], [self.pushes[:, j] @ np.swapaxes(E, -1, -2) for j, E in lines])
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

    def _prescribe(self, activation: Array | None) -> None:
        """Fix the activations (t, m) of muscles that are prescribed, NaN for others."""
        if activation is not None:
            known = ~np.isnan(activation)
            self.low, self.high = np.where(known, activation, self.low), np.where(known, activation, self.high)

    def _press(self, motion: Motion, joints: tuple[int, ...], J: Array) -> None:
        """Add what forces of constraints and the motion itself press on the parents of the joints."""
        model = self.model
        self.through = constraint_lines(model, motion, joints, self.parents)
        self.outer = self.needed.wrenches
        if joints:
            assert motion.u is not None
            assert motion.udot is not None
            self.outer = self.outer + acting_wrenches(model, motion.q, motion.u, motion.time, controls=self.controls)
            passing = joint_reactions(model.system, motion.q, motion.u, motion.udot, self.outer)
            self.rest = self.beside(rest_forces(passing, joints, self.parents), self.needed.torque)
        if self.through is not None:
            self.lines = self.lines + J[:, None] @ self.through
            self.pushes = self.pushes - np.swapaxes(self.columns, -1, -2)[..., None, :, :] @ self.through

    def beside(self, rest: Array, torque: Array) -> Array:
        """(t, c, 3) forces on the parents of joints without muscles and reserves, with those of constraints.

        The constraints hold the motion against all of the torque (t, nu) that it needs.
        """
        if self.through is None:
            return rest
        result: Array = rest + np.einsum("tn,tcni->tci", torque, self.through)
        return result

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
        found: Array = values[self.numbers]
        return found

    def units(self, F0: Array, F1: Array, effort: Effort) -> "Units":
        """The variables of the programs, where the tensions are F0 + F1 a (t, m)."""
        low, high = self.low, self.high
        if effort.of == "activation":
            return Units(F0, F1, low, high)
        strength = strengths(self.model)
        return Units(np.zeros(F0.shape), np.broadcast_to(strength, F0.shape), (F0 + F1 * low) / strength,
                     np.maximum(F0 + F1 * high, F0 + F1 * low) / strength)  # fmt: skip

    def programs(self, F0: Array, F1: Array, effort: Effort) -> Programs:
        """Where the tensions are F0 + F1 a (t, m)."""
        k, r = len(F0), len(self.reserves)
        F0, F1, low, high = self.units(F0, F1, effort)
        G = self.turn @ np.swapaxes(self.lines * F1[:, None, :, None], -1, -2)
        A = np.empty((k, len(self.names), F0.shape[1] + r))
        np.multiply(np.swapaxes(self.arms, -1, -2), F1[:, None, :], out=A[..., : F0.shape[1]])
        A[..., F0.shape[1] :] = np.swapaxes(self.helps, -1, -2)
        weights = self.weights(effort)
        of_reserves = np.broadcast_to([reserve.weight for reserve in self.reserves], (k, r))
        return Programs.of(
            A,
            self.torque - _given(self.arms, F0),
            weights=np.concatenate([weights, of_reserves], axis=-1),
            powers=2.0 if effort.power == np.inf else effort.power,
            lower=self._with_reserves(low, [reserve.lower for reserve in self.reserves]),
            upper=self._with_reserves(high, [reserve.upper for reserve in self.reserves]),
            G=np.concatenate([G, self.turn @ np.swapaxes(self.pushes, -1, -2)], axis=-1),
            h=matvec(self.turn, self.pressed(F0)),
        )

    def activations(self, x: Array, F0: Array, F1: Array, effort: Effort) -> Array:
        """(t, m) of the programs' variables x (t, m)."""
        if effort.of == "activation":
            return x
        pulls = np.abs(F1) > 0
        a = (x * strengths(self.model) - F0) / np.where(pulls, F1, 1.0)
        return np.where(pulls, np.clip(a, self.low, self.high), self.low)

    def _with_reserves(self, muscles: Array, reserves: Sequence[float]) -> Array:
        """(t, m + r), or (1, m + r) where all frames have the same."""
        rows = muscles[:1] if (muscles == muscles[:1]).all() else muscles
        return np.concatenate([rows, np.broadcast_to(reserves, (len(rows), len(reserves)))], axis=-1)

    def pull(self, multipliers: Array) -> Array:
        """(t, c, 3) multipliers of the standard cones as vectors in the parents' axes."""
        return np.asarray(np.einsum("tcji,tcj->tci", self.turn, multipliers))

    def pressed(self, tensions: Array, controls: Array | None = None) -> Array:
        """(t, c, 3) forces on the parents of the joints with cones, in their axes; controls (t, r), None for 0."""
        found = np.asarray(np.einsum("tcmi,tm->tci", self.lines, tensions) + self.rest)
        return found if controls is None else found + np.asarray(np.einsum("tcri,tr->tci", self.pushes, controls))

    def missing(self, tensions: Array, controls: Array) -> Array:
        """(t, e) what muscles and reserves give beyond what is needed [N m, N]."""
        return _given(self.arms, tensions) + _given(self.helps, controls) - self.torque
