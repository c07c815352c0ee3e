"""A checked state with its inputs, at which derivatives are asked for."""

from collections.abc import Iterable, Sequence

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array, ArrayLike
from myoquat.dynamics.constraints import Constraint, constraints_of
from myoquat.dynamics.integrators import StateEquations
from myoquat.dynamics.simulation.controls import Inputs, check_no_feedback
from myoquat.dynamics.simulation.methods import MethodChoice
from myoquat.dynamics.simulation.problem import Problem
from myoquat.dynamics.simulation.start import Start
from myoquat.joints.evaluation import SystemLike, system_of
from myoquat.joints.locks import check_followed_locks, check_locks
from myoquat.joints.vectors import joined
from myoquat.muscle.constraints.path_length import solved_surface
from myoquat.muscle.evaluate import path_flags
from myoquat.muscle.model import Model
from myoquat.muscle.segments.flags import PathFlag

__all__ = ["StatePoint", "check_curved_paths", "checked_start", "one_sided_paths"]


ONE_SIDED = PathFlag.JUMP | PathFlag.UNSOLVED | PathFlag.COINCIDENT | PathFlag.LOCKED


def one_sided_paths(model: SystemLike, q: ArrayLike) -> Array:
    """(..., m) bool: muscles whose path at q has a jump or a kink nearby, or no certain solution: bits of ONE_SIDED."""
    if not isinstance(model, Model):
        return np.zeros((*np.shape(q)[:-1], 0), dtype=bool)
    found: Array = (path_flags(model, q) & int(ONE_SIDED)) != 0
    return found


def check_curved_paths(model: SystemLike) -> None:
    """ValueError for a muscle whose path a solver finds: it has first derivatives, and a motion's need second ones."""
    for muscle in model.muscles if isinstance(model, Model) else ():
        if (surface := solved_surface(muscle)) is not None:
            raise ValueError(
                f"muscle {muscle.name!r}: a solver finds its path around {surface}. Lengths and moment arms have exact "
                "values there, but derivatives of forces need second derivatives of lengths, which only points, one "
                "sphere or cylinder between two points, and fitted paths have: "
                "model.with_fitted_paths(fit_paths(model, poses)) replaces the path"
            )


def checked_start(
    model: SystemLike, given: tuple[ArrayLike | None, ArrayLike | None], constraints: Sequence[Constraint],
    choice: MethodChoice, *, parameters: Iterable[str] = (), external_torque: bool = True, time: float = 0.0,
) -> tuple[Problem, Start]:  # fmt: skip
    """The equations of motion, and a state on their constraints and clear of locks. Raises as `simulate` does."""
    held = constraints_of(model, constraints) if system_of(model).nu else ()
    start = Start.of(model, *given, held, project=False, time=time)
    problem = Problem(model, choice, held, parameters, external_torque, start.redundant)
    (check_followed_locks if held else check_locks)(problem.system, start.q, "the state")
    return problem, start


@dataclass(frozen=True)
class StatePoint:
    """The states x (..., n) of equations of motion at a time, and the values of their inputs, (..., k) each."""

    equations: StateEquations
    time: float
    x: Array
    values: tuple[Array, ...]

    @classmethod
    def of(
        cls, model: SystemLike, given: tuple[ArrayLike | None, ArrayLike | None], inputs: Inputs,
        constraints: Sequence[Constraint] = (), time: float = 0.0, choice: MethodChoice | None = None,
        external_torque: bool = True,
    ) -> "StatePoint":  # fmt: skip
        """The state from the arguments of `simulate`, with torques on u among the inputs unless said otherwise. Raises
        as that does."""
        check_no_feedback(inputs)
        chosen = choice or MethodChoice("rk4", "none")
        problem, start = checked_start(model, given, constraints, chosen, external_torque=external_torque, time=time)
        controls = problem.controls(inputs)
        at_start = problem.at_start(controls, inputs, time, (start.q, start.u))
        own = problem.own_start(start.q, at_start, inputs)
        x = joined([start.q, start.u, *own])
        return cls(problem.equations, time, x, tuple(at_start.values()))

    @property
    def input_names(self) -> tuple[str, ...]:
        """The name of every component of the inputs, in order."""
        equations = self.equations
        names = {
            "excitation": () if not equations.muscles else equations.muscled.muscle_names,
            "activation": () if not equations.muscles else equations.muscled.muscle_names,
            "controls": () if not equations.actuated else equations.muscled.control_names,
            "torque": tuple(f"torque.{name}" for name in equations.system.velocity_names),
        }
        return tuple(name for key in equations.inputs for name in names[key])
