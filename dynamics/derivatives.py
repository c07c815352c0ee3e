"""Derivatives of forward and inverse dynamics, by everything that they depend on, of first and second order.

Derivatives with respect to coordinates are along small motions from the pose, (..., nu) columns. For a ball joint they
are along the rotation omega dt, in the components of the model's velocity frame. They are not along the four components
of its quaternion. They are exact where |Q| = 1. Those of joints and bodies come from the recursions in
`myoquat.dynamics.sensitivity.recursions`.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from myoquat import kernels
from myoquat.core.records import dataclass
from myoquat.core.typing import Array, ArrayLike
from myoquat.dynamics.constraints import Constraint
from myoquat.dynamics.integrators import StateEquations
from myoquat.dynamics.regularity import check_massive, check_regular
from myoquat.dynamics.sensitivity.points import StatePoint, check_curved_paths, one_sided_paths
from myoquat.dynamics.sensitivity.variables import DynamicsVariables, second_order_displaced
from myoquat.dynamics.simulation.controls import Inputs
from myoquat.joints.evaluation import Call, SystemLike, kernel_for
from myoquat.joints.locks import check_followed_locks, check_locks
from myoquat.joints.ranges import check_state
from myoquat.joints.vectors import joined
from myoquat.kernels.tracing.derivatives import jacobian_at
from myoquat.muscle.parameters import Parameters

__all__ = [
    "DynamicsHessianProduct",
    "ForwardDynamicsDerivatives",
    "InverseDynamicsDerivatives",
    "forward_dynamics_derivatives",
    "forward_dynamics_hvp",
    "inverse_dynamics_derivatives",
    "inverse_dynamics_hvp",
]

NOTHING: Mapping[str, Array] = MappingProxyType({})


class ForwardDynamicsDerivatives(NamedTuple):
    """Derivatives of udot: (..., nu, nu) by a small motion q, by u and by tau, the last M^-1.

    f_ext        (..., nu, bodies, 6), with external wrenches.
    inputs       name -> (..., nu, n): activation, controls and muscle_states, where the model's forces act.
    parameters   name -> (..., nu): numbers of the model.
    multipliers  the same of the multipliers (..., k) of the constraints.
    one_sided    (..., muscles), where it was asked for: the derivative by the pose is that of one side of a jump.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.dynamics import forward_dynamics_derivatives
    >>> model = mq.load_model("two_link")
    >>> found = forward_dynamics_derivatives(model, model.start_q, np.zeros(6), np.zeros(6))
    >>> bool(np.allclose(found.tau @ mq.mass_matrix(model, model.start_q), np.eye(6)))
    True
    """

    q: Array
    u: Array
    tau: Array
    f_ext: Array | None = None
    inputs: Mapping[str, Array] = NOTHING
    parameters: Mapping[str, Array] = NOTHING
    multipliers: "ForwardDynamicsDerivatives | None" = None
    one_sided: Array | None = None


class InverseDynamicsDerivatives(NamedTuple):
    """Derivatives of tau: (..., nu, nu) by a small motion q, by u and by udot, the last M. The rest as for
    `ForwardDynamicsDerivatives`.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.dynamics import inverse_dynamics_derivatives
    >>> model = mq.load_model("two_link")
    >>> found = inverse_dynamics_derivatives(model, model.start_q, np.zeros(6), np.zeros(6))
    >>> bool(np.allclose(found.udot, mq.mass_matrix(model, model.start_q)))
    True
    """

    q: Array
    u: Array
    udot: Array
    f_ext: Array | None = None
    inputs: Mapping[str, Array] = NOTHING
    parameters: Mapping[str, Array] = NOTHING
    multipliers: "InverseDynamicsDerivatives | None" = None
    one_sided: Array | None = None


class DynamicsHessianProduct(NamedTuple):
    """The Hessian of a number times a direction.

    q, u, force  (..., nu) by a small motion q, by u, and by tau or udot
    parameters   (...) by each of the parameters

    >>> from myoquat.dynamics import DynamicsHessianProduct
    >>> DynamicsHessianProduct([1.0], [0.0], [2.0]).force
    [2.0]
    """

    q: Array
    u: Array
    force: Array
    parameters: Mapping[str, Array] = NOTHING


def forward_dynamics_derivatives(
    model: SystemLike, q: ArrayLike, u: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None = None, *,
    inputs: Inputs | None = None, constraints: Sequence[Constraint] = (), parameters: str | Iterable[str] = (),
    one_sided: bool = False, backend: str = "kernel",
) -> ForwardDynamicsDerivatives:  # fmt: skip
    """Derivatives of `forward_dynamics` at torques tau and wrenches f_ext in world axes.

    inputs       None: joints and bodies alone, as `forward_dynamics` has them. `Inputs`: muscles, limits, passive
                 forces, contact, actuators and the model's couplers and constraints act too, as in `simulate`.
    constraints  beside the model's own, with `inputs`; the state lies on them.
    parameters   names or patterns of numbers of the model, as `myoquat.muscle.Parameters.of` takes them.
    one_sided    with `inputs`: also report of every muscle whether its path has a kink or jumps at q
                 (`myoquat.muscle.path_flags`). The derivative is then that of one side.

    Solutions of solvers for fibers have implicit derivatives. Raises ValueError for a muscle around a surface where a
    solver finds its path, and otherwise as `forward_dynamics` and `simulate` do.

    >>> import myoquat as mq
    >>> from myoquat.dynamics import forward_dynamics_derivatives
    >>> bob = mq.Body("bob", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0, center_of_mass=(0, 0, -0.5))
    >>> system = mq.ArticulatedSystem((bob,))
    >>> found = forward_dynamics_derivatives(system, [0.0], [0.0], [1.0], parameters="bodies.bob.mass")
    >>> found.q.round(3), found.parameters  # -g / l, and -tau / (m l)^2
    (array([[-19.62]]), {'bodies.bob.mass': array([-1.])})
    """
    call = _forward_call(model, (q, u, tau, f_ext), inputs, "forward_dynamics_derivatives")
    asked = _Request.of(model, call, "tau", inputs, constraints, parameters)
    found = asked.evaluated("forward_dynamics_derivatives", backend)
    record: ForwardDynamicsDerivatives = asked.split(ForwardDynamicsDerivatives, found)
    return record._replace(one_sided=_sides(model, call, inputs, one_sided))


def inverse_dynamics_derivatives(
    model: SystemLike, q: ArrayLike, u: ArrayLike, udot: ArrayLike, f_ext: ArrayLike | None = None, *,
    inputs: Inputs | None = None, constraints: Sequence[Constraint] = (), parameters: str | Iterable[str] = (),
    one_sided: bool = False, backend: str = "kernel",
) -> InverseDynamicsDerivatives:  # fmt: skip
    """Derivatives of `inverse_dynamics` at wrenches f_ext in world axes; arguments as `forward_dynamics_derivatives`
    has them.

    With `inputs`, tau is what the motion needs beyond the model's own forces. Constraints carry what they can of it:
    tau + A^T lambda with the lambda that leave least in the metric of M^-1. Raises as `inverse_dynamics` does.

    >>> import myoquat as mq
    >>> from myoquat.dynamics import inverse_dynamics_derivatives
    >>> bob = mq.Body("bob", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0, center_of_mass=(0, 0, -0.5))
    >>> inverse_dynamics_derivatives(mq.ArticulatedSystem((bob,)), [0.0], [0.0], [0.0]).q.round(3)  # m g l
    array([[9.81]])
    """
    call = _inverse_call(model, (q, u, udot, f_ext), "inverse_dynamics_derivatives")
    asked = _Request.of(model, call, "udot", inputs, constraints, parameters)
    found = asked.evaluated("inverse_dynamics_derivatives", backend)
    record: InverseDynamicsDerivatives = asked.split(InverseDynamicsDerivatives, found)
    return record._replace(one_sided=_sides(model, call, inputs, one_sided))


def forward_dynamics_hvp(
    model: SystemLike, q: ArrayLike, u: ArrayLike, tau: ArrayLike, weights: ArrayLike,
    direction: tuple[ArrayLike, ...], f_ext: ArrayLike | None = None, *, inputs: Inputs | None = None,
    constraints: Sequence[Constraint] = (), parameters: str | Iterable[str] = (),
) -> DynamicsHessianProduct:  # fmt: skip
    """The Hessian of weights . udot times a direction (dq, du, dtau), each (..., nu), by small motions, u and tau.

    The small motion dq is the pose after unit time at constant velocity dq, for a ball joint Q exp(dq / 2). In these
    coordinates the Hessian is symmetric, also where the gradient is not zero. With `inputs` the model's own forces act,
    and `constraints` and `parameters` are as for `forward_dynamics_derivatives`. With parameters the direction has a
    fourth part (..., n), their changes in order. Raises as that does.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.dynamics import forward_dynamics_hvp
    >>> bob = mq.Body("bob", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0, center_of_mass=(0, 0, -0.5))
    >>> one, zero, system = [1.0], [0.0], mq.ArticulatedSystem((bob,))
    >>> forward_dynamics_hvp(system, [np.pi / 2], zero, zero, one, (one, zero, zero)).q.round(3)  # g sin(q) / l
    array([19.62])
    """
    call = _forward_call(model, (q, u, tau, f_ext), inputs, "forward_dynamics_hvp")
    if inputs is not None:
        check_curved_paths(model, 3)
    return _Request.of(model, call, "tau", inputs, constraints, parameters).hessian_product(
        "forward_dynamics_hvp", weights, direction
    )


def inverse_dynamics_hvp(
    model: SystemLike, q: ArrayLike, u: ArrayLike, udot: ArrayLike, weights: ArrayLike,
    direction: tuple[ArrayLike, ...], f_ext: ArrayLike | None = None, *, inputs: Inputs | None = None,
    constraints: Sequence[Constraint] = (), parameters: str | Iterable[str] = (),
) -> DynamicsHessianProduct:  # fmt: skip
    """The Hessian of weights . tau times a direction (dq, du, dudot), as `forward_dynamics_hvp` has that of udot.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.dynamics import inverse_dynamics_hvp
    >>> bob = mq.Body("bob", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0, center_of_mass=(0, 0, -0.5))
    >>> one, zero, system = [1.0], [0.0], mq.ArticulatedSystem((bob,))
    >>> inverse_dynamics_hvp(system, [np.pi / 2], zero, zero, one, (one, zero, zero)).q.round(3)  # -m g l sin(q)
    array([-9.81])
    """
    call = _inverse_call(model, (q, u, udot, f_ext), "inverse_dynamics_hvp")
    if inputs is not None:
        check_curved_paths(model, 3)
    return _Request.of(model, call, "udot", inputs, constraints, parameters).hessian_product(
        "inverse_dynamics_hvp", weights, direction
    )


def _forward_call(
    model: SystemLike, given: tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike | None], inputs: Inputs | None, name: str
) -> Call:
    """The checked arguments (q, u, tau, f_ext) of forward dynamics."""
    q, u, tau, f_ext = given
    call = Call(model).q(q).u(u).velocities("tau", tau).wrenches(f_ext)
    if inputs is None:
        check_regular(call.system)
        check_locks(call.system, call.inputs["q"].array, name)
    return call


def _inverse_call(
    model: SystemLike, given: tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike | None], name: str
) -> Call:
    """The checked arguments (q, u, udot, f_ext) of inverse dynamics."""
    q, u, udot, f_ext = given
    call = Call(model).q(q).u(u).velocities("udot", udot).wrenches(f_ext)
    check_followed_locks(call.system, call.inputs["q"].array, name)
    check_massive(call.system, bool(getattr(model, "couplers", ()) or getattr(model, "constraints", ())))
    return call


def _sides(model: SystemLike, call: Call, inputs: Inputs | None, asked: bool) -> Array | None:
    if not asked:
        return None
    if inputs is None:
        raise ValueError("one_sided: it tells of the paths of muscles, which act with inputs=Inputs(...)")
    return one_sided_paths(model, call.inputs["q"].array)


@dataclass(frozen=True)
class _Request:
    """Checked values of all variables, in order, and the function of which derivatives are asked for."""

    variables: DynamicsVariables
    call: Call
    time: float
    values: Mapping[str, Array]

    @classmethod
    def of(
        cls, model: SystemLike, call: Call, last: str, inputs: Inputs | None, constraints: Sequence[Constraint],
        parameters: str | Iterable[str],
    ) -> "_Request":  # fmt: skip
        """From the arguments of the public functions."""
        names = Parameters.of(model, parameters).acting("q, u, inputs", states=True)
        varied = names if names.names else None
        values = {name: x.array for name, x in call.inputs.items()}
        if inputs is None:
            if constraints:
                raise ValueError("constraints: they act with the model's forces; give inputs=Inputs(...) too")
            equations = StateEquations(call.system)
        else:
            if inputs.torque is not None or inputs.parameters:
                raise ValueError("inputs: torque and parameters are arguments of their own: tau, parameters")
            check_curved_paths(model, parameters=names.names)
            point = StatePoint.of(model, (call.inputs["q"].array, call.inputs["u"].array), inputs, constraints,
                                  external_torque=False)  # fmt: skip
            equations = point.equations
            values |= dict(zip(equations.inputs, point.values, strict=True))
            if equations.own:
                values["muscle_states"] = equations.rest(point.x)
        variables = DynamicsVariables(equations, last == "tau", inputs is not None, "f_ext" in call.inputs, varied,
                                      _left_to_model(inputs))  # fmt: skip
        if varied is not None:
            values["parameters"] = _known(varied)
        return cls(variables, call, 0.0, {name: values[name] for name in variables.shapes})

    def evaluated(self, name: str, backend: str) -> Array:
        """(..., rows, directions) all derivatives."""
        variables = self.variables
        if not variables.acting and variables.varied is None:
            return self.call.run(
                name, _by_name(self.values, lambda v: variables.derivatives(0.0, v)), 2, backend=backend
            )
        if backend != "kernel":
            raise ValueError(f"backend={backend!r}: with inputs or parameters derivatives are compiled")
        return self._compiled(name, variables.derivatives, {})

    def hessian_product(
        self, name: str, weights: ArrayLike, direction: tuple[ArrayLike, ...]
    ) -> DynamicsHessianProduct:
        """The Hessian of weights . value times a direction, by the first three variables and the parameters."""
        nu, velocities = self.call.system.nu, self.call.system.velocity_names
        names = () if self.variables.varied is None else self.variables.varied.names
        wanted = 4 if names else 3
        if not isinstance(direction, tuple) or len(direction) != wanted:
            raise ValueError(f"direction must be a tuple of {wanted} arrays, not {direction!r}: three (..., {nu})"
                             f"{f', and (..., {len(names)}) of parameters' if names else ''}")  # fmt: skip
        parts = [check_state(f"direction[{i}]", part, nu, velocities) for i, part in enumerate(direction[:3])]
        parts += [check_state("direction[3]", part, len(names), names) for part in direction[3:]]
        given = {"weights": check_state("weights", weights, nu, velocities), "direction": joined(parts)}
        found = self._compiled(name, self._hessian_product, given)
        numbers = {key: found[..., 3 * nu + k] for k, key in enumerate(names)}
        return DynamicsHessianProduct(found[..., :nu], found[..., nu : 2 * nu], found[..., 2 * nu : 3 * nu], numbers)

    def _hessian_product(self, t: Any, values: dict[str, Any]) -> Array:
        variables, nu = self.variables, self.call.system.nu
        weights, direction = values["weights"], values["direction"]
        first, size = 3 * nu, direction.shape[-1]
        between = np.zeros(sum(variables.sizes.values()) - size)

        def number(d: Array) -> Array:
            whole = joined([d[..., :first], between, d[..., first:]])
            changed = variables.changed(t, values, whole, second_order_displaced)
            return np.sum(weights * variables.value(t, changed)[..., :nu], axis=-1)[..., None]

        def slope(d: Array) -> Array:
            found: Array = jacobian_at(lambda s: number(d + s * direction), np.zeros(1), like=direction)
            return found[..., 0]

        result: Array = jacobian_at(slope, np.zeros(size), like=direction)
        return result[..., 0, :]

    def _compiled(self, name: str, formula: Callable[[Any, dict[str, Any]], Array], more: Mapping[str, Array]) -> Array:
        """The formula of (time, values) and more arguments, through its kernel."""
        sizes = {**self.variables.shapes, **{key: (x.shape[-1],) for key, x in more.items()}}

        def function(t: Array, *arrays: Array) -> Array:
            return formula(t, dict(zip(sizes, arrays, strict=True)))

        kernel: kernels.Kernel = kernel_for(
            (name, self.variables.key),
            lambda content: kernels.compile(function, {"t": (), **sizes}, ["derivatives"], name=name, content=content),
        )
        return kernel(self.time, *self.values.values(), *more.values())

    def split(self, record: Any, found: Array) -> Any:
        """The record of the derivatives in columns, its multipliers those of the rows beyond nu."""
        rows = ... if isinstance(found, np.ndarray) else slice(None)  # CasADi's matrices have two axes and no others
        nu, parts, start = self.call.system.nu, {}, 0
        for name, size in self.variables.sizes.items():
            parts[name] = found[rows, start : start + size]
            start += size
        if not self.variables.constrained:
            return self._recorded(record, parts)
        first, multipliers = ({name: part[..., s, :] for name, part in parts.items()}
                              for s in (slice(nu), slice(nu, None)))  # fmt: skip
        return self._recorded(record, first)._replace(multipliers=self._recorded(record, multipliers))

    def _recorded(self, record: Any, parts: dict[str, Array]) -> Any:
        names = self.variables.varied.names if self.variables.varied is not None else ()
        by_parameter = parts.pop("parameters", None)
        f_ext = parts.pop("f_ext", None)
        if isinstance(f_ext, np.ndarray):
            f_ext = f_ext.reshape((*f_ext.shape[:-1], *self.variables.shapes["f_ext"]))
        joints = [parts.pop(name) for name in list(parts)[:3]]
        numbers = {name: by_parameter[..., i] for i, name in enumerate(names)} if by_parameter is not None else {}
        return record(*joints, f_ext, parts, numbers)


def _by_name(values: Mapping[str, Array], formula: Callable[[dict[str, Any]], Array]) -> Callable[..., Array]:
    """The formula of the values by name as a function of as many arguments, given by name or in order."""
    parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in values]

    def function(*arrays: Any, **named: Any) -> Array:
        return formula(dict(zip(values, arrays, strict=False)) | named)

    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return function


def _left_to_model(inputs: Inputs | None) -> tuple[str, ...]:
    """The inputs that the model's own functions give, where there are any, since the call does not."""
    if inputs is None:
        return ()
    muscles = () if inputs.excitation is not None else ("excitation",) + ("activation",) * (inputs.activation is None)
    return muscles if inputs.controls is not None else (*muscles, "controls")


def _known(varied: Parameters) -> Array:
    """(n,) the model's own values; ValueError for one that it leaves open."""
    missing = [name for name, value in zip(varied.names, varied.defaults, strict=True) if np.isnan(value)]
    if missing:
        raise ValueError(f"parameters: the model has no value for {', '.join(missing)}")
    return varied.defaults
