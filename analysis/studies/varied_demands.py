"""One motion's demands on models that differ in numbers: what the numbers do not change is computed once.

Parameters of bodies, forces, limits, actuators and inputs change torques and reactions, those of paths lengths, arms
and lines, those of laws tensions, and those of joints all but tensions. Each of the three has kernels that take the
parameters as inputs, made only where such parameters are among them. Only muscles whose paths change go through the
kernels of paths. Controls and activations that the model prescribes over time are found anew where their numbers
change.
"""

from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property
from typing import Any, cast

import numpy as np

from myoquat.analysis.motion.prescribed import prescribed_activations, prescribed_controls
from myoquat.analysis.recruitment.free import check_recorded
from myoquat.analysis.recruitment.redundancy.actuators import Reserves, reserve_wrenches
from myoquat.analysis.recruitment.redundancy.equations import (
    Demands,
    LawParameters,
    joint_lines,
    joints_of,
    least_activations,
    picked,
    rest_forces,
)
from myoquat.analysis.recruitment.stability import StabilityRule
from myoquat.core import Array
from myoquat.data.motions import Forces, Motion
from myoquat.dynamics import joint_reactions
from myoquat.dynamics.constraints import ConstrainedMotion
from myoquat.dynamics.inverse import inverse, joint_wrenches
from myoquat.joints.evaluation import kernel_for
from myoquat.joints.vectors import matvec, vecmat
from myoquat.kernels import Kernel, compile
from myoquat.muscle import Model, Parameters, acting_wrenches, muscle_wrenches, path_jacobian
from myoquat.muscle.acting import Instant, check_placed, torques, wrenches
from myoquat.muscle.loads import LoadFrames
from myoquat.muscle.model import check_laws
from myoquat.muscle.path import paths_on_bones
from myoquat.muscle.segments.lengths import lengths, velocity_jacobian
from myoquat.muscle.segments.path_segments import wrenches as wrenches_of_paths
from myoquat.muscle.states import forces_of_laws

OF_MUSCLES = {"path": "paths", "wraps": "paths", "law": "laws"}


def _kernel(formula: Callable[..., Any]) -> Callable[..., Any]:
    """From a method that is a formula of a model and arrays by name to one of parameters p (n,) and these arrays, with
    a kernel that is made on first use."""

    def run(demands: "VariedDemands", p: Array, **arrays: Array) -> Any:
        def bound(*given: Array) -> Any:
            *rows, p = given
            return formula(demands, demands.parameters.bind(p), **dict(zip(arrays, rows, strict=True)))

        def build(content: str | None) -> Kernel:
            shapes: Any = {name: x.shape[-2 if name == "f_ext" else -1 :] for name, x in arrays.items()}
            return compile(bound, {**shapes, "p": p.shape}, name="trial", content=content)

        key = formula.__name__, demands.frames, demands.bodies, tuple(arrays), *demands.key
        kernel: Any = kernel_for(key, build)
        return kernel(**arrays, p=p)

    return run


class VariedDemands:
    """The demands of a motion on a model with other values of some parameters, one set after the other."""

    def __init__(
        self,
        model: Model,
        motion: Motion,
        loads: Forces | None,
        actuators: tuple[Reserves, Sequence[StabilityRule]],
        parameters: Parameters,
    ) -> None:
        check_recorded(parameters)
        check_laws(model, parameters.names)
        self.parameters, self.given = parameters, (model, loads, actuators)
        self.key = "trial", parameters.model.content_key, parameters.names
        self.of_joints = any(place.moves_joint for place in parameters.locations)
        self.changes = {"paths"} if self.of_joints else set[str]()  # "inputs": what follows a prescribed input
        moved = set[int]()
        for place in parameters.locations:
            if place.steps[0] != "muscles":
                self.changes |= {"torques", "inputs"} if place.steps[0] in ("actuators", "inputs") else {"torques"}
                continue
            part = OF_MUSCLES.get(str(place.steps[2]), "inputs")
            self.changes.add(part)
            moved |= {int(place.steps[1])} if part == "paths" else set()
        # what is prescribed over time, or starts and follows it with a delay
        self.prescribes = bool(model.inputs) and "inputs" in self.changes
        self.frames = LoadFrames() if loads is None else loads.frames
        self._move(motion)
        self.moved = list(range(len(model.muscles))) if self.of_joints else sorted(moved)
        self.least = any(place.steps[-1] == "minimum_activation" for place in parameters.locations)
        self.bodies = joints_of(model, self.base.cones)

    def _move(self, motion: Motion) -> None:
        model, loads, actuators = self.given
        self.motion, self.base = motion, Demands.of_motion(model, motion, loads, *actuators)
        self.needed, self.C = self.base.needed, self.base.C

    def along(self, motion: Motion) -> "VariedDemands":
        """Those of another motion, with the same kernels."""
        other = copy(self)
        vars(other).pop("_constrained", None)
        other._move(motion)
        return other

    def of(self, p: Array, *, stress: bool = False) -> Demands:
        """With parameters p (n,), which are not checked; stress: for an effort that reads strengths off the model."""
        part, motion, moved = copy(self.base), self.motion, self.moved
        if stress or self.least or self.prescribes:
            bound: Any = self.parameters.bind(p)
            part.model, part.lower = bound, least_activations(bound)
            part.low, part.high = np.broadcast_to(part.lower, part.lengths.shape), np.ones(part.lengths.shape)
            part.prescribe(prescribed_activations(bound, motion.time))
        if "paths" in self.changes:
            length, J, *rows = self._paths(p, q=motion.q)
            part.lengths, part.speeds = part.lengths.copy(), part.speeds.copy()
            part.arms = part.arms[..., : self.C.shape[-1]].copy()  # the equations of rules follow from all the rest
            part.lines = part.lines.copy()
            part.lengths[:, moved], part.speeds[:, moved] = length, matvec(J, motion.speeds)
            part.arms[:, moved] = -picked(J, self.C)
            for j, line in enumerate(rows[::2]):
                part.lines[:, j, moved] = line if part.through is None else line + J @ part.through[:, j]
            if self.of_joints:
                part.parents = np.stack(rows[1::2], axis=1) if rows else part.parents
                part.help(self._model(p), motion.q, self.bodies)
        if "torques" in self.changes:
            torque = self.torque(p)
            part.torque = vecmat(torque, self.C)
            passing = self._passing(self._outer(p), p) if self.bodies else self.base.outer
            part.rest = part.beside(rest_forces(passing, self.bodies, part.parents), torque)
        if "laws" in self.changes:
            bind: Any = self.parameters.bind
            part.law = lambda lengths, speeds, a: self._laws(p, lengths=lengths, speeds=speeds, activation=a)
            part.laws = LawParameters(bind, self.key, p)
        return part.with_rules() if part.cones else part

    def reactions(self, force: Array, controls: Array, p: Array) -> Array:
        """(t, bodies, 3) [N] the force that each body gets through its joint, in world axes, with tensions (t, m) and
        reserves at controls (t, r). NaN where redundant constraints leave it open."""
        return self.joint_wrenches(force, controls, p)[..., :3]

    def joint_wrenches(self, force: Array, controls: Array, p: Array) -> Array:
        """(t, bodies, 6) the same with the torques [N m] at the bodies' origins."""
        motion, moved, model = self.motion, self.moved, self.base.model
        still = force.copy()
        still[:, moved] = 0.0
        pulls = self._outer(p) + muscle_wrenches(model, motion.q, still)
        if moved:
            pulls = pulls + self._pulls(p, q=motion.q, tensions=force[:, moved])
        for k, reserve in enumerate(self.base.reserves):
            acting = reserve_wrenches(self._model(p).system, reserve, motion.q, controls[:, k])
            pulls = pulls if acting is None else pulls + acting
        if self._constrained is None:
            return self._passing(pulls, p)
        J = path_jacobian(model, motion.q)
        if moved:
            J[:, moved] = self._paths(p, q=motion.q)[1]
        lacking = self.torque(p) + vecmat(force, J) - (self.base.columns @ controls[..., None])[..., 0]
        found = self._passing(pulls + self._constrained.wrenches(self._constrained.multipliers(lacking)), p)
        found[self._constrained.undetermined] = np.nan
        return found

    # ---- parts -----------------------------------------------------------------------------------------------

    def torque(self, p: Array) -> Array:
        """(t, nu) that the motion needs by inverse dynamics."""
        if "torques" not in self.changes:
            return self.needed.torque
        return self._torques(p, **self._given(p), udot=self.motion.udot)

    def _outer(self, p: Array) -> Array:
        """(t, bodies, 6) on the bodies by all but muscles and reserves."""
        if "torques" in self.changes:
            check_placed(self.base.model)
            return self._wrenches(p, **self._given(p))
        q, u, time = self.motion.q, self.motion.speeds, self.motion.time
        return self.needed.wrenches + acting_wrenches(self.base.model, q, u, time, controls=self.base.controls)

    def _given(self, p: Array) -> dict[str, Any]:
        """The motion with loads and controls, and the parameters of torques."""
        motion, controls, (_, loads, _) = self.motion, self.base.controls, self.given
        given = {"q": motion.q, "u": motion.u, "t": motion.time[:, None]}
        if loads is not None:
            given["loads"] = loads.resampled(motion.time).numbers
        if controls is not None:
            bound = self._model(p)
            changed: Any = prescribed_controls(bound, motion.time) if self.prescribes else controls
            given["controls"] = bound.check_controls(changed, acting=True)
        return given

    def _model(self, p: Array) -> Model:
        found: Any = self.parameters.bind(p) if self.prescribes or self.of_joints else self.base.model
        return cast(Model, found)

    @cached_property
    def _constrained(self) -> ConstrainedMotion | None:
        model = self.base.model
        return ConstrainedMotion(model, self.motion.q, self.motion.time) if model.constraints else None

    def _passing(self, pulls: Array, p: Array) -> Array:
        """(t, bodies, 6) through the joints, with wrenches on the bodies."""
        motion = self.motion
        if "torques" not in self.changes:
            return joint_reactions(self.base.model, motion.q, motion.speeds, motion.accelerations, pulls)
        return self._reactions(p, q=motion.q, u=motion.u, udot=motion.udot, f_ext=pulls)

    # ---- kernels ---------------------------------------------------------------------------------------------

    def _instant(self, bound: Model, q: Array, u: Array, t: Array, **given: Array) -> Instant:
        loads = self.frames.acting(bound.system, q, given["loads"]) if "loads" in given else []
        return Instant(q, u, t[..., 0], controls=given.get("controls"), loads=loads)

    @_kernel
    def _torques(self, bound: Any, udot: Array, **given: Array) -> Array:
        needed = inverse(bound.system, given["q"], given["u"], udot)
        return needed - torques(bound, self._instant(bound, **given))

    @_kernel
    def _wrenches(self, bound: Any, **given: Array) -> Array:
        return wrenches(bound, self._instant(bound, **given))

    @_kernel
    def _reactions(self, bound: Any, **given: Array) -> Array:
        return joint_wrenches(bound.system, **given)

    @_kernel
    def _paths(self, bound: Any, q: Array) -> tuple[Array, ...]:
        muscles = [bound.muscles[k] for k in self.moved]
        paths = tuple(muscle.path for muscle in muscles)
        bones = paths_on_bones(muscles) if self.bodies else ()
        lines = [x for i in self.bodies for x in joint_lines(bound.system, bones, q, i)]
        return lengths(bound.system, paths, q), velocity_jacobian(bound.system, paths, q), *lines

    @_kernel
    def _pulls(self, bound: Any, q: Array, tensions: Array) -> Array:
        return wrenches_of_paths(bound.system, paths_on_bones(bound.muscles[k] for k in self.moved), q, tensions)

    @_kernel
    def _laws(self, bound: Any, lengths: Array, speeds: Array, activation: Array) -> Array:
        return forces_of_laws(bound, lengths, speeds, activation)
