"""Derivatives of forward and inverse dynamics, by everything that they depend on, of first and second order.

Derivatives with respect to coordinates are along small motions from the pose, (..., nu) columns. For a ball joint they
are along the rotation omega dt, in the components of the model's velocity frame. They are not along the four components
of its quaternion. They are exact where |Q| = 1. Those of joints and bodies come from the recursions in
`myoquat.dynamics.sensitivity.recursions`.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from myoquat.core import Array, ArrayLike, frozen
from myoquat.joints.evaluation import Call, SystemLike, compiled, kernel_for
from myoquat.joints.locks import check_followed_locks, check_locks
from myoquat.joints.ranges import check_state
from myoquat.joints.vectors import joined
from myoquat.muscle import Parameters

from .constraints import Constraint
from .integrators import StateEquations
from .regularity import check_massive, check_regular, is_constrained
from .sensitivity.points import (
    DynamicsVariables,
    StatePoint,
    check_curved_paths,
    one_sided_paths,
    second_order_displaced,
)
from .simulation.controls import Inputs

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
    return _Request.of(
        "forward_dynamics_derivatives", model, (q, u, tau, f_ext), inputs, constraints, parameters
    ).derivatives(ForwardDynamicsDerivatives, one_sided, backend)


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
    return _Request.of(
        "inverse_dynamics_derivatives", model, (q, u, udot, f_ext), inputs, constraints, parameters
    ).derivatives(InverseDynamicsDerivatives, one_sided, backend)


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
    return _Request.of(
        "forward_dynamics_hvp", model, (q, u, tau, f_ext), inputs, constraints, parameters
    ).hessian_product(weights, direction)


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
    return _Request.of(
        "inverse_dynamics_hvp", model, (q, u, udot, f_ext), inputs, constraints, parameters
    ).hessian_product(weights, direction)


@frozen
class _Request:
    """Checked values of all variables, in order, and the public function that asks for derivatives."""

    name: str
    model: SystemLike
    inputs: Inputs | None
    variables: DynamicsVariables
    call: Call
    values: Mapping[str, Array]

    @classmethod
    def of(
        cls, name: str, model: SystemLike, given: tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike | None],
        inputs: Inputs | None, constraints: Sequence[Constraint], parameters: str | Iterable[str],
    ) -> "_Request":  # fmt: skip
        """From the arguments of the public function; `given` are q, u, tau or udot, and f_ext."""
        forward = name.startswith("forward")
        call = Call(model).q(given[0]).u(given[1]).velocities("tau" if forward else "udot", given[2]).wrenches(given[3])
        system, values = call.system, {key: x.array for key, x in call.inputs.items()}
        if not system.nu:
            raise ValueError(f"{name}: the model has no coordinates, so that there is nothing to differentiate")
        if not forward:
            check_followed_locks(system, values["q"], name)
            check_massive(system, is_constrained(model))
        elif inputs is None:
            check_regular(system)
            check_locks(system, values["q"], name)
        names = Parameters.of(model, parameters).acting("q, u, inputs", states=True)
        varied, own = names if names.names else None, list[str]()  # own: inputs that the model's functions give
        if inputs is None:
            if constraints:
                raise ValueError("constraints: they act with the model's forces; give inputs=Inputs(...) too")
            equations = StateEquations(system)
        else:
            if inputs.torque is not None or inputs.parameters:
                raise ValueError("inputs: torque and parameters are arguments of their own: tau, parameters")
            check_curved_paths(model, 3 if name.endswith("hvp") else 2, names.names)
            point = StatePoint.of(model, (values["q"], values["u"]), inputs, constraints, external_torque=False)
            equations = point.equations
            values |= dict(zip(equations.inputs, point.values, strict=True))
            if equations.own:
                values["muscle_states"] = equations.rest(point.x)
            if inputs.excitation is None:
                own += ["excitation"] if inputs.activation is not None else ["excitation", "activation"]
            own += ["controls"] if inputs.controls is None else []
        if varied is not None:
            values["parameters"] = varied.defaults
            if missing := [name for name, x in zip(varied.names, varied.defaults, strict=True) if np.isnan(x)]:
                raise ValueError(f"parameters: the model has no value for {', '.join(missing)}")
        variables = DynamicsVariables(equations, forward, inputs is not None, "f_ext" in values, varied, tuple(own))
        return cls(name, model, inputs, variables, call, {key: values[key] for key in variables.shapes})

    def derivatives(self, record: Any, one_sided: bool, backend: str) -> Any:
        """The record of the derivatives in columns, its multipliers those of the rows beyond nu."""
        variables, nu = self.variables, self.call.system.nu
        sides = None
        if one_sided:
            if self.inputs is None:
                raise ValueError("one_sided: it tells of the paths of muscles, which act with inputs=Inputs(...)")
            sides = one_sided_paths(self.model, self.values["q"])
        if not variables.acting and variables.varied is None:
            formula = lambda *arrays: variables.derivatives(variables.named(arrays))  # noqa: E731
            found = self.call.run(self.name, formula, 2, backend=backend)
        elif backend != "kernel":
            raise ValueError(f"backend={backend!r}: with inputs or parameters derivatives are compiled")
        else:
            found = variables.evaluated_derivatives(self.name, [*self.values.values()])
        rows = ... if isinstance(found, np.ndarray) else slice(None)  # CasADi's matrices have two axes and no others
        parts, start = {}, 0
        for name, size in variables.sizes.items():
            parts[name] = found[rows, start : start + size]
            start += size
        if not variables.constrained:
            return self._recorded(record, parts)._replace(one_sided=sides)
        first, multipliers = (self._recorded(record, {name: part[..., s, :] for name, part in parts.items()})
                              for s in (slice(nu), slice(nu, None)))  # fmt: skip
        return first._replace(multipliers=multipliers, one_sided=sides)

    def _recorded(self, record: Any, parts: dict[str, Array]) -> Any:
        names = self.variables.varied.names if self.variables.varied is not None else ()
        by_parameter, f_ext = (parts.pop(name, None) for name in ("parameters", "f_ext"))
        if isinstance(f_ext, np.ndarray):
            f_ext = f_ext.reshape((*f_ext.shape[:-1], *self.variables.shapes["f_ext"]))
        joints = [parts.pop(name) for name in list(parts)[:3]]
        numbers = {name: by_parameter[..., i] for i, name in enumerate(names)} if by_parameter is not None else {}
        return record(*joints, f_ext, parts, numbers)

    def hessian_product(self, weights: ArrayLike, direction: tuple[ArrayLike, ...]) -> DynamicsHessianProduct:
        """The Hessian of weights . value times a direction, by the first three variables and the parameters."""
        nu, velocities, variables = self.call.system.nu, self.call.system.velocity_names, self.variables
        names = () if variables.varied is None else variables.varied.names
        wanted = 4 if names else 3
        if not isinstance(direction, tuple) or len(direction) != wanted:
            raise ValueError(f"direction must be a tuple of {wanted} arrays, not {direction!r}: three (..., {nu})"
                             f"{f', and (..., {len(names)}) of parameters' if names else ''}")  # fmt: skip
        parts = [check_state(f"direction[{i}]", part, velocities) for i, part in enumerate(direction[:3])]
        parts += [check_state("direction[3]", part, names) for part in direction[3:]]
        weights, along = check_state("weights", weights, velocities), joined(parts)
        first, size = 3 * nu, along.shape[-1]
        between = np.zeros(sum(variables.sizes.values()) - size)

        def number(*given: Array) -> Array:
            *arrays, weights, d = given
            whole = joined([d[..., :first], between, d[..., first:]])
            changed = variables.changed(variables.named(arrays), whole, second_order_displaced)
            return np.sum(weights * variables.value(changed)[..., :nu], axis=-1)

        sizes: dict[str, Any] = {**variables.shapes, "weights": nu, "change": size}
        key = self.name, variables.key
        kernel = compiled(key, number, sizes, ["number"], name=self.name)
        product = kernel_for(("hvp", *key), lambda _: kernel.hvp(wrt="change"))
        found = np.asarray(product(*self.values.values(), weights, np.zeros(size), along))
        by_q, by_u, by_force, numbers = np.split(found, [nu, 2 * nu, first], axis=-1)
        return DynamicsHessianProduct(by_q, by_u, by_force, {name: numbers[..., k] for k, name in enumerate(names)})
