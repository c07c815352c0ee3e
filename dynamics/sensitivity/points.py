"""A checked state with its inputs, at which derivatives are asked for."""

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array, ArrayLike, Pair
from myoquat.dynamics.constraints import Constraint, constraints_of
from myoquat.dynamics.integrators import StateEquations
from myoquat.dynamics.simulation.controls import Inputs, check_no_feedback
from myoquat.dynamics.simulation.methods import MethodChoice
from myoquat.dynamics.simulation.problem import Problem, Start
from myoquat.joints.evaluation import SystemLike, compiled, system_of
from myoquat.joints.locks import check_followed_locks, check_locks
from myoquat.joints.multibody import state
from myoquat.joints.vectors import joined
from myoquat.kernels import Kernel
from myoquat.kernels.tracing.derivatives import jacobian_at
from myoquat.muscle.constraints.path_length import solved_surface
from myoquat.muscle.evaluate import path_flags
from myoquat.muscle.model import Model
from myoquat.muscle.segments.flags import PathFlag

__all__ = [
    "StatePoint", "StateTangent", "changed_inputs", "check_curved_paths", "checked_start", "one_sided_paths",
    "state_tangent"
]  # fmt: skip


WRAP_FRAME = ("position", "orientation")  # what derivatives are known by, of surfaces past which a solver finds paths
ONE_SIDED = PathFlag.JUMP | PathFlag.UNSOLVED | PathFlag.COINCIDENT | PathFlag.LOCKED


def one_sided_paths(model: SystemLike, q: ArrayLike) -> Array:
    """(..., m) bool: muscles whose path at q has a jump or a kink nearby, or no certain solution: bits of ONE_SIDED."""
    if not isinstance(model, Model):
        return np.zeros((*np.shape(q)[:-1], 0), dtype=bool)
    return (path_flags(model, q) & int(ONE_SIDED)) != 0


def check_curved_paths(model: SystemLike, derivatives: int = 2, parameters: Iterable[str] = ()) -> None:
    """ValueError for a muscle whose path a solver finds, if its length has fewer `derivatives` than are needed: two for
    the derivatives of forces, three for their Hessians. So for `parameters` that are sizes of its surfaces."""
    for muscle in model.muscles if isinstance(model, Model) else ():
        if (surface := solved_surface(muscle.path, derivatives)) is not None:
            wanted = ("derivatives of forces need second", "Hessians of forces need third")[derivatives - 2]
            raise ValueError(
                f"muscle {muscle.name!r}: a solver finds its path around {surface}. Lengths and moment arms have exact "
                f"values there, but {wanted} derivatives of lengths. Fitted paths have them: "
                "model.with_fitted_paths(fit_paths(model, poses)) replaces the path"
            )
        if (surface := solved_surface(muscle.path)) is not None:
            for name in parameters:
                if name.startswith(f"muscles.{muscle.name}.wraps.") and name.split(".")[-2] not in WRAP_FRAME:
                    raise ValueError(
                        f"parameters: {name!r} is a size of a surface. A solver finds the path around {surface}, and "
                        "derivatives by sizes are not known there"
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
        names: dict[str, Sequence[str]] = {"torque": [f"torque.{name}" for name in equations.system.velocity_names]}
        if isinstance(model := equations.model, Model):
            names |= dict.fromkeys(("excitation", "activation"), model.muscle_names) | {"controls": model.control_names}
        return tuple(name for key in equations.inputs for name in names[key])


# --------------------------------------------------------------------------------------------------------------
#
# The tangent space of the state x = (q, u, w): small changes, with three numbers for each quaternion.


@dataclass(frozen=True)
class StateTangent:
    """Small changes (dq, du, dw) of states: a small motion (nu), velocities (nu) and the states of muscles."""

    equations: StateEquations

    @property
    def size(self) -> int:
        """Number of components."""
        return 2 * self.equations.system.nu + len(self.equations.own)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the components: small motions, velocities, states of muscles and actuators."""
        velocities = self.equations.system.velocity_names
        return (*(f"d{name}" for name in velocities), *velocities, *self.equations.own)

    def moved(self, x: Array, change: Array) -> Array:
        """(..., n) x after a small change (..., size), exact to first order."""
        q, *others = self.equations.parts(x)
        dq, *changes = self.split(change)
        moved = (part + d for part, d in zip(others, changes, strict=False))
        return joined([state.displaced(self.equations.system, q, dq), *moved])

    def split(self, change: Array) -> tuple[Array, Array, Array]:
        """(dq, du, dw) of a change (..., size)."""
        nu = self.equations.system.nu
        return change[..., :nu], change[..., nu : 2 * nu], change[..., 2 * nu :]

    def components(self, x: Array, dx: Array) -> Array:
        """(..., size) the change whose x moves by dx (..., n), a tangent vector at x."""
        q, _ = self.equations.split(x)
        dq, *others = self.equations.parts(dx)
        return joined([state.velocities(self.equations.system, q, dq), *others])

    def structure(self, x: Array) -> Array:
        """(..., nu, nu) C(q, u): beside a motion, a small change of pose moves by ddq/dt = C dq + du.

        Let N(q) u = qdot. Then C dq is the Lie bracket of the two fields. It is N^+ times the derivative of N u along N
        dq, minus that of N dq along N u. For a ball joint with velocities in the child's frame it is -omega x dq, for
        coordinates zero.
        """
        layout = self.equations.system
        q, u = self.equations.split(x)
        moved = partial(state.displaced, layout, q)
        turned = jacobian_at(lambda d: state.rates(layout, moved(d), u), np.zeros(layout.nu), like=q)
        carried = jacobian_at(lambda s: state.rate_matrix(layout, moved(s * u)), np.zeros(1), like=q)[..., 0]
        return state.rate_inverse(layout, q) @ (turned - carried)


def changed_inputs(equations: StateEquations, values: Sequence[Array], change: Array) -> list[Array]:
    """The inputs, the first of the values, plus a change (..., m) of all their components."""
    ends = np.cumsum([0, *equations.inputs.values()])
    return [v + change[..., i:j] for v, i, j in zip(values, ends, ends[1:], strict=False)]


def state_tangent(equations: StateEquations) -> Kernel:
    """The kernel of x (n,) -> how the components of x move with a change (n, size), and the converse (size, n)."""
    tangent = StateTangent(equations)

    def formula(x: Array) -> Pair:
        basis = jacobian_at(lambda d: tangent.moved(x, d), np.zeros(tangent.size), like=x)
        components = jacobian_at(lambda d: tangent.components(x, d), np.zeros(equations.size), like=x)
        return basis, components

    key, sizes = ("state tangent", equations.key), {"x": equations.size}
    return compiled(key, formula, sizes, ["basis", "components"], name="state_tangent")
