"""One motion's demands on models that differ in numbers: what the numbers do not change is computed once.

Parameters of bodies change torques and reactions, those of paths lengths, arms and lines, those of laws tensions. Each
of the three has kernels that take the parameters as inputs, made only where such parameters are among them. Only
muscles whose paths change go through the kernels of paths.
"""

from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property
from typing import Any, cast

import numpy as np

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
from myoquat.core.typing import Array
from myoquat.data.motions import Forces, Motion
from myoquat.dynamics import joint_reactions
from myoquat.dynamics.constraints import ConstrainedMotion
from myoquat.dynamics.inverse import inverse, joint_wrenches
from myoquat.joints.evaluation import kernel_for
from myoquat.joints.vectors import matvec, vecmat
from myoquat.kernels import Kernel, compile
from myoquat.muscle import Model, Parameters, acting_wrenches, path_jacobian
from myoquat.muscle.model import check_laws
from myoquat.muscle.path import paths_on_bones
from myoquat.muscle.segments.lengths import lengths, velocity_jacobian, wrenches
from myoquat.muscle.states import forces_of_laws

__all__ = ["VariedDemands", "check_varied"]

OF_BODIES = ("mass", "center_of_mass", "inertia", "damping", "stiffness", "rotor_inertia")
OF_PATHS = ("path", "wraps")


def _part_changed(steps: Sequence[str | int]) -> str:
    """The part of a model that a parameter changes: "bodies", "paths" or "laws"; "" if a recorded motion forbids it."""
    if steps[:2] == ("system", "gravity") or (steps[:2] == ("system", "bodies") and steps[3] in OF_BODIES):
        return "bodies"
    if steps[0] == "muscles":
        return "paths" if steps[2] in OF_PATHS else "laws" if steps[2] == "law" else ""
    return ""


def check_varied(parameters: Parameters) -> None:
    """ValueError for a parameter that a trial cannot vary."""
    for name, place in zip(parameters.names, parameters.locations, strict=True):
        if not _part_changed(place.steps):
            raise ValueError(
                f"{name!r} cannot vary in a study of a trial, whose motion is that of the model's own joints and "
                "constraints. Masses and inertias of bodies, gravity, and paths and laws of muscles can vary"
            )


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
        check_varied(parameters)
        check_laws(model, parameters.names)
        self.parameters, self.given = parameters, (model, loads, actuators)
        parts = [_part_changed(place.steps) for place in parameters.locations]
        self.columns = {part: [k for k, own in enumerate(parts) if own == part] for part in ("bodies", "paths", "laws")}
        self._move(motion)
        steps_of_paths = [parameters.locations[k].steps for k in self.columns["paths"]]
        self.moved = sorted({int(steps[1]) for steps in steps_of_paths})
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
        part = copy(self.base)
        if stress or self.least:
            bound: Any = self.parameters.bind(p)
            part.model, part.lower = bound, least_activations(bound)
            fixed = part.low == part.high  # prescribed activations
            part.low = np.where(fixed, part.low, part.lower)
        if self.columns["bodies"]:
            self._of_bodies(part, p)
        if self.columns["paths"]:
            self._of_paths(part, p)
        if self.columns["laws"]:
            own = p[self.columns["laws"]]
            part.law = lambda lengths, speeds, a: self._laws(lengths=lengths, speeds=speeds, activation=a, p=own)
            chosen = self._chosen("laws")
            part.laws = LawParameters(self._bound, ("trial", chosen.model.content_key, chosen.names), own)
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
        assert motion.u is not None
        pulls = self.needed.wrenches + acting_wrenches(
            model, motion.q, motion.u, motion.time, tensions=still, controls=self.base.controls
        )
        if moved:
            pulls = pulls + self._pulls(q=motion.q, tensions=force[:, moved], p=p[self.columns["paths"]])
        for k, reserve in enumerate(self.base.reserves):
            acting = reserve_wrenches(model.system, reserve, motion.q, controls[:, k])
            pulls = pulls if acting is None else pulls + acting
        if self._constrained is None:
            return self._passing(pulls, p)
        lacking = self.torque(p) + vecmat(force, self._arms(p)) - (self.base.columns @ controls[..., None])[..., 0]
        found = self._passing(pulls + self._constrained.wrenches(self._constrained.multipliers(lacking)), p)
        found[self._constrained.undetermined] = np.nan
        return found

    # ---- parts -----------------------------------------------------------------------------------------------

    def _of_bodies(self, part: Demands, p: Array) -> None:
        torque = self.torque(p)
        part.torque = vecmat(torque, self.C)
        passing = self._passing(self.base.outer, p)
        part.rest = part.beside(rest_forces(passing, self.bodies, self.base.parents), torque)

    def torque(self, p: Array) -> Array:
        """(t, nu) that the motion needs by inverse dynamics."""
        if not self.columns["bodies"]:
            return self.needed.torque
        motion, own = self.motion, p[self.columns["bodies"]]
        given = {"q": motion.q, "u": motion.u, "udot": motion.udot, "f_ext": self.needed.wrenches}
        result: Array = (
            self.needed.torque + self._torques(**given, p=own) - self._torques(**given, p=self._defaults("bodies"))
        )
        return result

    def _arms(self, p: Array) -> Array:
        """(t, m, nu) J of the paths."""
        J = path_jacobian(self.base.model, self.motion.q)
        if self.moved:
            J[:, self.moved] = self._paths(q=self.motion.q, p=p[self.columns["paths"]])[1]
        return J

    @cached_property
    def _constrained(self) -> ConstrainedMotion | None:
        model = self.base.model
        return ConstrainedMotion(model, self.motion.q, self.motion.time) if model.constraints else None

    def _of_paths(self, part: Demands, p: Array) -> None:
        motion, own, moved = self.motion, p[self.columns["paths"]], self.moved
        length, J, *lines = self._paths(q=motion.q, p=own)
        assert motion.u is not None
        part.lengths, part.speeds = part.lengths.copy(), part.speeds.copy()
        part.arms = part.arms[..., : self.C.shape[-1]].copy()  # the equations of rules follow from all the rest
        part.lines = part.lines.copy()
        part.lengths[:, moved], part.speeds[:, moved] = length, matvec(J, motion.u)
        part.arms[:, moved] = -picked(J, self.C)
        for j, line in enumerate(lines):
            part.lines[:, j, moved] = line if part.through is None else line + J @ part.through[:, j]

    def _passing(self, pulls: Array, p: Array) -> Array:
        """(t, bodies, 6) through the joints, with wrenches on the bodies."""
        motion = self.motion
        if not self.columns["bodies"]:
            return joint_reactions(self.base.model, motion.q, motion.u, motion.udot, pulls)  # type: ignore[arg-type]
        given = {"q": motion.q, "u": motion.u, "udot": motion.udot, "f_ext": pulls}
        found: Array = self._reactions(**given, p=p[self.columns["bodies"]])
        return found

    def _defaults(self, part: str) -> Array:
        found: Array = self.parameters.defaults[self.columns[part]]
        return found

    # ---- kernels ---------------------------------------------------------------------------------------------

    @cached_property
    def _torques(self) -> Any:
        def formula(system: Any, q: Array, u: Array, udot: Array, f_ext: Array) -> Array:
            return inverse(system, q, u, udot, f_ext)

        return self._of_system("torques", formula)

    @cached_property
    def _reactions(self) -> Any:
        return self._of_system("reactions", joint_wrenches)

    def _of_system(self, name: str, formula: Callable[..., Array]) -> Any:
        system = self.base.model.system
        shapes = {"q": (system.nq,), "u": (system.nu,), "udot": (system.nu,), "f_ext": (len(system.bodies), 6)}
        return self._kernel(name, "bodies", shapes, lambda bound, *given: formula(bound.system, *given))

    @cached_property
    def _paths(self) -> Any:
        def formula(bound: Any, q: Array) -> tuple[Array, ...]:
            muscles = [bound.muscles[k] for k in self.moved]
            paths = tuple(muscle.path for muscle in muscles)
            bones = paths_on_bones(muscles) if self.bodies else ()
            lines = [joint_lines(bound.system, bones, q, i)[0] for i in self.bodies]
            return lengths(bound.system, paths, q), velocity_jacobian(bound.system, paths, q), *lines

        return self._kernel(f"paths {self.bodies}", "paths", {"q": (self.base.model.system.nq,)}, formula)

    @cached_property
    def _pulls(self) -> Any:
        system = self.base.model.system

        def formula(bound: Any, q: Array, tensions: Array) -> Array:
            return wrenches(bound.system, paths_on_bones(bound.muscles[k] for k in self.moved), q, tensions)

        return self._kernel("pulls", "paths", {"q": (system.nq,), "tensions": (len(self.moved),)}, formula)

    @cached_property
    def _laws(self) -> Any:
        m = len(self.base.model.muscles)
        return self._kernel("laws", "laws", {"lengths": (m,), "speeds": (m,), "activation": (m,)}, forces_of_laws)

    def _bound(self, p: Array) -> Model:
        """The model with numbers of its laws, floats or symbols."""
        found: Any = self._chosen("laws").bind(p)
        return cast(Model, found)

    def _chosen(self, part: str) -> Parameters:
        """The parameters of a part."""
        own, given = self.columns[part], self.parameters
        return Parameters(self.base.model, tuple(given.names[k] for k in own), tuple(given.locations[k] for k in own))

    def _kernel(self, name: str, part: str, shapes: dict[str, tuple[int, ...]], formula: Callable[..., Any]) -> Any:
        """The kernel of a formula of the model with its parameters of a part, and arrays by name; p is the last."""
        chosen = self._chosen(part)
        size = len(chosen.names)

        def bound(*given: Array) -> Any:
            *arrays, p = given
            return formula(chosen.bind(p), *arrays)

        def build(content: str | None) -> Kernel:
            return compile(bound, {**shapes, "p": (size,)}, name="trial", content=content)

        kernel: Any = kernel_for(("trial", name, chosen.model.content_key, chosen.names), build)

        def run(p: Array, **arrays: Array) -> Any:
            leading = next(iter(arrays.values())).shape[:-1]
            return kernel(**arrays, p=np.broadcast_to(p, (*leading, size)))

        return run
