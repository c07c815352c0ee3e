"""Derivatives of forward and inverse dynamics, by differentiating their recursions.

Derivatives with respect to coordinates are along small motions from the pose, (..., nu) columns: for a ball joint along
the rotation omega dt, not along the four components of its quaternion, in the components of the model's velocity
frame. They are exact where |Q| = 1. Related: J. Carpentier, N. Mansard, Analytical derivatives of rigid body dynamics
algorithms, RSS 2018.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from myoquat.core.typing import Array, ArrayLike
from myoquat.dynamics import articulated, inverse
from myoquat.dynamics.regularity import check_massive, check_regular
from myoquat.joints.locks import check_followed_locks, check_locks
from myoquat.joints.validation import Call, SystemLike
from myoquat.kernels.tracing.derivatives import jacobian_at

__all__ = [
    "ForwardDynamicsDerivatives",
    "InverseDynamicsDerivatives",
    "forward_dynamics_derivatives",
    "inverse_dynamics_derivatives",
]


class ForwardDynamicsDerivatives(NamedTuple):
    """Derivatives (..., nu, nu) of udot by a small motion q, by u and by tau, the last M^-1.

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


class InverseDynamicsDerivatives(NamedTuple):
    """Derivatives (..., nu, nu) of tau by a small motion q, by u and by udot, the last M.

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


def forward_dynamics_derivatives(
    model: SystemLike,
    q: ArrayLike,
    u: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    backend: str = "kernel",
) -> ForwardDynamicsDerivatives:
    """Derivatives of `forward_dynamics` at constant torques tau and wrenches f_ext in world axes. Raises as it does.

    >>> import myoquat as mq
    >>> from myoquat.dynamics import forward_dynamics_derivatives
    >>> bob = mq.Body("bob", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0, center_of_mass=(0, 0, -0.5))
    >>> forward_dynamics_derivatives(mq.ArticulatedSystem((bob,)), [0.0], [0.0], [0.0]).q.round(3)  # -g / l
    array([[-19.62]])
    """
    call = Call(model).q(q).u(u).velocities("tau", tau).wrenches(f_ext)
    check_regular(call.system)
    check_locks(call.system, call.inputs["q"].array, "forward_dynamics_derivatives")
    return ForwardDynamicsDerivatives(*_derivatives(call, "forward_dynamics", articulated.forward, backend))


def inverse_dynamics_derivatives(
    model: SystemLike,
    q: ArrayLike,
    u: ArrayLike,
    udot: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    backend: str = "kernel",
) -> InverseDynamicsDerivatives:
    """Derivatives of `inverse_dynamics` at constant wrenches f_ext in world axes. Raises as it does.

    >>> import myoquat as mq
    >>> from myoquat.dynamics import inverse_dynamics_derivatives
    >>> bob = mq.Body("bob", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0, center_of_mass=(0, 0, -0.5))
    >>> inverse_dynamics_derivatives(mq.ArticulatedSystem((bob,)), [0.0], [0.0], [0.0]).q.round(3)  # m g l
    array([[9.81]])
    """
    call = Call(model).q(q).u(u).velocities("udot", udot).wrenches(f_ext)
    check_followed_locks(call.system, call.inputs["q"].array, "inverse_dynamics_derivatives")
    check_massive(call.system, bool(getattr(model, "couplers", ()) or getattr(model, "constraints", ())))
    return InverseDynamicsDerivatives(*_derivatives(call, "inverse_dynamics", inverse.inverse, backend))


def _derivatives(call: Call, name: str, dynamics: Callable[..., Array], backend: str) -> tuple[Array, Array, Array]:
    """The derivatives of dynamics(system, q, u, w, f_ext) by a small motion, by u and by w."""
    system, nu = call.system, call.system.nu

    def formula(q: Array, u: Array, w: Array, f_ext: Array | None = None) -> Array:
        def moved(x: Array) -> Array:
            parts = (x[..., k * nu : (k + 1) * nu] for k in range(3))
            motion, du, dw = parts
            return dynamics(system, system.displaced(q, motion), u + du, w + dw, f_ext)

        found: Array = jacobian_at(moved, np.zeros(3 * nu), like=q)
        return found

    named = {"tau": lambda q, u, tau, f_ext=None: formula(q, u, tau, f_ext),
             "udot": lambda q, u, udot, f_ext=None: formula(q, u, udot, f_ext)}  # fmt: skip
    chosen = named["tau" if "tau" in call.inputs else "udot"]
    found = call.run(f"{name}_derivatives", chosen, 2, backend=backend)
    rows = ... if isinstance(found, np.ndarray) else slice(None)  # CasADi's matrices have two axes and no others
    return found[rows, :nu], found[rows, nu : 2 * nu], found[rows, 2 * nu :]
