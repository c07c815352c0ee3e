"""Linear systems about a trajectory, and models and their derivatives as functions of arrays."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from myoquat.core import Array, ArrayLike, check_types
from myoquat.dynamics.constraints import Constraint
from myoquat.dynamics.integrators import StateEquations
from myoquat.dynamics.simulation.controls import Inputs
from myoquat.dynamics.simulation.methods import MethodChoice
from myoquat.joints.evaluation import SystemLike, compiled, system_of
from myoquat.joints.multibody import state
from myoquat.joints.vectors import joined, matvec, spread
from myoquat.kernels import Differentiable
from myoquat.muscle import Model, path_jacobian, path_lengths

from .points import (
    DynamicsVariables,
    StatePoint,
    StateTangent,
    changed_inputs,
    check_curved_paths,
    derivatives_by_change,
    one_sided_paths,
)
from .steps import differentiated_step

# ---- `linearize`: the equations of motion beside a state, as matrices A and B on the tangent space ----------------


class Linearization(NamedTuple):
    """dx/dt = rate + A dx + B dv to first order, for small changes dx of the state and dv of the inputs.

    rate         (..., n)
    A, B         (..., n, n), (..., n, m)
    state_names  (n,) of dx = (small motion, du, changes of muscles' states); three numbers for each quaternion
    input_names  (m,) of dv
    one_sided    (..., muscles), where it was asked for

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.dynamics import linearize
    >>> bob = mq.Body("bob", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0, center_of_mass=(0, 0, -0.5))
    >>> found = linearize(mq.ArticulatedSystem((bob,)), [0.0], [0.0])
    >>> found.A.round(3), found.state_names
    (array([[  0.  ,   1.  ],
           [-19.62,   0.  ]]), ('dbob.speed', 'bob.speed'))
    """

    rate: Array
    A: Array
    B: Array
    state_names: tuple[str, ...]
    input_names: tuple[str, ...]
    one_sided: Array | None = None


def linearize(
    model: SystemLike, q: ArrayLike | None = None, u: ArrayLike | None = None, *, inputs: Inputs | None = None,
    constraints: Sequence[Constraint] = (), time: float = 0.0, one_sided: bool = False,
) -> Linearization:  # fmt: skip
    """The equations of motion of a Model or an ArticulatedSystem beside the state q (..., nq), u (..., nu).

    inputs       `Inputs` at `time`: activations or excitations, controls, torques on u, muscle_states; those of
                 `simulate` by default.
    constraints  as for `simulate`, beside the model's own.

    Muscles, actuators, springs, limits, passive forces and constraints act as in `simulate`; all arrays may have
    leading axes. The inputs of B are the muscles' excitations (activations without activation dynamics), controls of
    actuators, and torques on u.

    A state need not be an equilibrium. Beside a motion, a small change of a ball joint's pose in the child's frame
    moves by d(dq)/dt = -omega x dq + du. Under constraints, accelerations are those with multipliers. Where a path has
    a kink or jumps, A is that of one side: `one_sided` reports it for every muscle (by `myoquat.muscle.path_flags`).

    Raises as `simulate` does, and ValueError for a model without coordinates.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.dynamics import Inputs, linearize
    >>> found = linearize(mq.load_model("two_link"), inputs=Inputs(activation=np.full(6, 0.3)))
    >>> found.A.shape, found.B.shape, found.input_names[:2]
    ((12, 12), (12, 12), ('m1', 'm2'))
    """
    check_curved_paths(model)
    point = StatePoint.of(model, (q, u), inputs or Inputs(), constraints, time)
    equations = point.equations
    tangent, sizes = StateTangent(equations), {"t": (), "x": equations.size, **equations.inputs}
    formula, n = partial(_rate_beside, tangent), tangent.size
    rate, D = derivatives_by_change(
        ("linearize", equations.key), formula, sizes, (point.time, point.x, *point.values),
        n + sum(equations.inputs.values()),
    )  # fmt: skip
    sides = one_sided_paths(model, equations.split(point.x)[0]) if one_sided else None
    return Linearization(rate, D[..., :n], D[..., n:], tangent.names, point.input_names, sides)


def _rate_beside(tangent: StateTangent, t: Array, x: Array, *given: Array) -> Array:
    """(size,) the rate beside the state x (n,) and the inputs, after a small change of both, to first order."""
    equations, (*values, change) = tangent.equations, given
    moved = tangent.moved(x, change[..., : tangent.size])
    acting = equations.given(t, moved, changed_inputs(equations, values, change[..., tangent.size :]))
    q, u = equations.split(moved)
    pose_rate = u + matvec(tangent.structure(x), change[..., : equations.system.nu])
    return joined([pose_rate, equations.acceleration(t, q, u, acting), *equations.own_rate(q, u, acting)])


# --------------------------------------------------------------------------------------------------------------
#
# `model_function`: a function of a model with its derivatives, for automatic differentiation elsewhere.


NAMES = ("path_lengths", "forward_dynamics", "inverse_dynamics", "step")


def model_function(
    model: SystemLike, name: str, *, forces: bool = False, step: float = 1e-3, method: str = "lie_rk4",
    stabilization: str = "projection",
) -> Differentiable:  # fmt: skip
    """A function of a model as `myoquat.kernels.as_jax` and `as_torch` take it, with its exact derivatives.

    "path_lengths"      (q) -> lengths (..., m).
    "forward_dynamics"  (q, u, tau) -> udot (..., nu); "inverse_dynamics" (q, u, udot) -> tau. With `forces`, muscles,
                        limits, passive forces, contact, actuators and constraints act too; their inputs follow:
                        activation or excitation, controls, muscle_states.
    "step"              (q, u, muscle_states, activation or excitation, controls, torque) -> (q, u, muscle_states) after
                        `step` [s] by `method`, as `simulate` makes it. What the model does not have is left out.

    Derivatives are by the components of q. Of a quaternion only changes along the unit sphere count. States are not
    checked: the caller keeps |Q| = 1, as `step` does. Raises ValueError for unknown names and as `simulate` does.

    >>> import myoquat as mq
    >>> from myoquat.dynamics import model_function
    >>> bob = mq.Body("bob", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0, center_of_mass=(0, 0, -0.5))
    >>> function = model_function(mq.ArticulatedSystem((bob,)), "forward_dynamics")
    >>> by_q, by_u, by_tau = function.jacobians().value([0.0], [0.0], [1.0])
    >>> by_q.round(3), by_tau  # -g / l and 1 / (m l^2)
    (array([[-19.62]]), array([[2.]]))
    """
    check_types(name=(name, str), forces=(forces, bool), method=(method, str))
    system_of(model)
    if name not in NAMES:
        raise ValueError(f"a model has no function {name!r} here; there are: {', '.join(NAMES)}")
    if name == "path_lengths":
        return _path_lengths(model)
    if name == "step":
        return _step(model, step, method, stabilization)
    return _dynamics(model, name, forces)


def _path_lengths(model: SystemLike) -> Differentiable:
    if not isinstance(model, Model):
        raise TypeError(f"path_lengths: a Model has muscles, not {type(model).__name__}")
    shapes, count = {"q": (model.system.nq,)}, len(model.muscles)
    derivative = partial(
        Differentiable, shapes, {"dlength/dq": (count, model.system.nq)},
        lambda q: (path_jacobian(model, q, "coordinates"),), None, "derivative of path_lengths",
    )  # fmt: skip
    return Differentiable(shapes, {"length": (count,)}, lambda q: (path_lengths(model, q),), derivative, "path_lengths")


def _dynamics(model: SystemLike, name: str, forces: bool) -> Differentiable:
    point = StatePoint.of(model, (None, None), Inputs(), external_torque=False) if forces else None
    equations = StateEquations(system_of(model)) if point is None else point.equations
    variables = DynamicsVariables(equations, name == "forward_dynamics", forces, False, None)
    system, shapes = variables.system, variables.shapes
    result = "udot" if variables.forward else "tau"

    def value(*arrays: Array) -> tuple[Array, ...]:
        key = "model function", name, variables.key
        formula = lambda *x: variables.value(variables.named(x))[..., : system.nu]  # noqa: E731
        return Differentiable.of(compiled(key, formula, shapes, [result], name=name)).value(*arrays)

    def jacobians(*arrays: Array) -> tuple[Array, ...]:
        found = variables.evaluated_derivatives(f"{name}_jacobians", arrays)[..., : system.nu, :]
        by_q, *parts = np.split(found, np.cumsum([*variables.sizes.values()])[:-1], axis=-1)
        return (by_q @ state.rate_inverse(system, np.asarray(arrays[0], dtype=float)), *parts)

    entries = {f"d{result}/d{variable}": (system.nu, *shape) for variable, shape in shapes.items()}
    derivative = partial(Differentiable, shapes, entries, jacobians, None, f"derivative of {name}")
    return Differentiable(shapes, {result: (system.nu,)}, value, derivative, name)


def _step(model: SystemLike, h: float, method: str, stabilization: str) -> Differentiable:
    choice = MethodChoice.of(method, stabilization, None)
    point = StatePoint.of(model, (None, None), Inputs(), choice=choice)
    equations = point.equations
    stepped, constants = differentiated_step(method, equations, stabilization, h)
    parts = {"q": equations.system.nq, "u": equations.system.nu}
    parts |= {"muscle_states": len(equations.own)} if equations.own else {}
    shapes = {name: (n,) for name, n in (parts | equations.inputs).items()}
    ends, cuts = (np.cumsum([*sizes.values()])[:-1] for sizes in (parts, parts | equations.inputs))

    def together(*arrays: Array) -> tuple[Array, ...]:
        """The parts of the state after the step, then the blocks of its derivatives."""
        given = spread(*(np.asarray(x, dtype=float) for x in arrays))
        x, J = stepped(0.0, h, np.concatenate(given[: len(parts)], axis=-1), given[len(parts) :], constants)
        rows = np.split(J, ends, axis=-2)
        return (*np.split(x, ends, axis=-1), *(block for row in rows for block in np.split(row, cuts, axis=-1)))

    outputs = {name: (n,) for name, n in parts.items()}
    entries = {f"d{y}/d{x}": (*n, *m) for y, n in outputs.items() for x, m in shapes.items()}
    derivative = partial(
        Differentiable, shapes, entries, lambda *x: together(*x)[len(parts) :], None, "derivative of step"
    )
    return Differentiable(shapes, outputs, lambda *x: together(*x)[: len(parts)], derivative, "step", together)
