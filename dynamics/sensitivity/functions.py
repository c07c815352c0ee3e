"""`model_function`: a function of a model with its derivatives, for automatic differentiation elsewhere."""

import itertools
import math
from collections.abc import Callable, Mapping
from functools import partial
from numbers import Real
from typing import Any

import numpy as np

from myoquat import kernels
from myoquat.core.arguments import check_types
from myoquat.core.typing import Array
from myoquat.dynamics.integrators import StateEquations
from myoquat.dynamics.sensitivity.points import StatePoint
from myoquat.dynamics.sensitivity.steps import differentiated_step
from myoquat.dynamics.sensitivity.variables import DynamicsVariables
from myoquat.dynamics.simulation.controls import Inputs
from myoquat.dynamics.simulation.methods import BAUMGARTE_STEPS, MethodChoice
from myoquat.joints.evaluation import SystemLike, kernel_for, system_of
from myoquat.joints.multibody import state
from myoquat.kernels import Differentiable, Kernel
from myoquat.kernels.symbolic.arrays import as_array
from myoquat.muscle.evaluate import path_jacobian, path_lengths
from myoquat.muscle.model import Model

__all__ = ["model_function"]

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
        if not (isinstance(step, Real) and 0 < step < math.inf):
            raise ValueError(f"step must be positive and finite [s], not {step!r}")
        return _step(model, float(step), method, stabilization)
    return _dynamics(model, name, forces)


def _path_lengths(model: SystemLike) -> Differentiable:
    if not isinstance(model, Model):
        raise TypeError(f"path_lengths: a Model has muscles, not {type(model).__name__}")
    count, nq = len(model.muscles), model.system.nq
    derivative = Differentiable(
        {"q": (nq,)}, {"dlength/dq": (count, nq)}, lambda q: (path_jacobian(model, q, "coordinates"),), None,
        "derivative of path_lengths",
    )  # fmt: skip
    return Differentiable(
        {"q": (nq,)}, {"length": (count,)}, lambda q: (path_lengths(model, q),), lambda: derivative, "path_lengths"
    )


def _dynamics(model: SystemLike, name: str, forces: bool) -> Differentiable:
    point = StatePoint.of(model, (None, None), Inputs(), external_torque=False) if forces else None
    equations = StateEquations(system_of(model)) if point is None else point.equations
    variables = DynamicsVariables(equations, name == "forward_dynamics", forces, False, None)
    system, shapes = variables.system, variables.shapes
    result = "udot" if variables.forward else "tau"

    def value(*arrays: Array) -> Array:
        found: Array = variables.value(0.0, dict(zip(shapes, arrays, strict=True)))[..., : system.nu]
        return found

    def jacobians(*arrays: Array) -> tuple[Array, ...]:
        found = as_array(variables.derivatives(0.0, dict(zip(shapes, arrays, strict=True))))[..., : system.nu, :]
        ends = np.cumsum([0, *variables.sizes.values()])
        parts = [found[..., i:j] for i, j in itertools.pairwise(ends)]
        return (parts[0] @ state.rate_inverse(system.layout, arrays[0]), *parts[1:])

    key = ("model function", name, variables.key)
    names = [f"d{result}/d{name}" for name in shapes]
    first = _lazy(key, name, value, shapes, [result])
    second = _lazy((*key, "jacobians"), f"{name}_jacobians", jacobians, shapes, names)
    derivative = Differentiable(
        shapes, {n: (system.nu, *shape) for n, shape in zip(names, shapes.values(), strict=True)}, second, None,
        f"derivative of {name}",
    )  # fmt: skip
    return Differentiable(shapes, {result: (system.nu,)}, first, lambda: derivative, name)


def _lazy(
    key: tuple[Any, ...], name: str, formula: Callable[..., Any], shapes: Mapping[str, Any], outputs: list[str]
) -> Callable[..., tuple[Array, ...]]:
    """The formula through its kernel, compiled when it is first called."""

    def call(*arrays: Array) -> tuple[Array, ...]:
        kernel: Kernel = kernel_for(
            key, lambda content: kernels.compile(formula, shapes, outputs, name=name, content=content)
        )
        return Differentiable.of(kernel).value(*arrays)

    return call


def _step(model: SystemLike, h: float, method: str, stabilization: str) -> Differentiable:
    choice = MethodChoice.of(method, stabilization, None)
    point = StatePoint.of(model, (None, None), Inputs(), choice=choice)
    equations, stepped = point.equations, differentiated_step(method, point.equations, stabilization)
    constants = (BAUMGARTE_STEPS * h,) if equations.baumgarte else ()
    parts = {"q": equations.system.nq, "u": equations.system.nu}
    parts |= {"muscle_states": len(equations.own)} if equations.own else {}
    shapes = {name: (n,) for name, n in (parts | equations.inputs).items()}
    ends = np.cumsum([0, *parts.values()])
    cuts = np.cumsum([0, *(n for (n,) in shapes.values())])

    def both(*arrays: Array) -> tuple[Array, Array]:
        given = [np.asarray(x, dtype=float) for x in arrays]
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in given))
        given = [np.broadcast_to(x, (*batch, x.shape[-1])) for x in given]
        x = np.concatenate(given[: len(parts)], axis=-1)
        return stepped(0.0, h, x, given[len(parts) :], constants)

    def value(*arrays: Array) -> tuple[Array, ...]:
        return _pieces(both(*arrays)[0], ends)

    def blocks(J: Array) -> tuple[Array, ...]:
        return tuple(piece for i, j in itertools.pairwise(ends) for piece in _pieces(J[..., i:j, :], cuts))

    def jacobians(*arrays: Array) -> tuple[Array, ...]:
        return blocks(both(*arrays)[1])

    def together(*arrays: Array) -> tuple[Array, ...]:
        x, J = both(*arrays)
        return (*_pieces(x, ends), *blocks(J))

    outputs = {name: (n,) for name, n in parts.items()}
    entries = {f"d{y}/d{x}": (*n, *m) for y, n in outputs.items() for x, m in shapes.items()}
    derivative = partial(Differentiable, shapes, entries, jacobians, None, "derivative of step")
    return Differentiable(shapes, outputs, value, derivative, "step", together)


def _pieces(array: Array, ends: Array) -> tuple[Array, ...]:
    """The array, cut along its last axis."""
    return tuple(array[..., i:j] for i, j in itertools.pairwise(ends))
