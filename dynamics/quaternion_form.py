"""Equations of motion in quaternion coordinates: full rates Qdot under |Q|^2 = 1, and the first-order M(Q) xdot = f.

The mass matrix of the rates qdot is N^+T M N^+, 4 G^T I G for one ball: singular along Q, where nothing moves. The
constraint A Qddot = -2 Qdot.Qdot, A = 2 Q^T, makes up for it [B. Graf, Quaternions and Dynamics, arXiv:0811.2889;
F. E. Udwadia, A. D. Schutte, An alternative derivation of the quaternion equations of motion for rigid-body rotational
dynamics, J. Appl. Mech. 77, 2010].
"""

import numpy as np

from myoquat.core.typing import Array, ArrayLike
from myoquat.dynamics import composite, inverse
from myoquat.dynamics.udwadia_kalaba import Constrained, augmented
from myoquat.joints.evaluation import Input, SystemLike, evaluate, system_of
from myoquat.joints.multibody import state
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.ranges import check_array, check_state
from myoquat.joints.vectors import joined, matvec
from myoquat.kernels.symbolic.arrays import is_symbolic
from myoquat.kernels.tracing.derivatives import jacobian_at

__all__ = ["first_order_form", "quaternion_accelerations", "quaternion_form"]


def quaternion_form(
    model: SystemLike, q: ArrayLike, qd: ArrayLike, tau: ArrayLike
) -> tuple[Array, Array, Array, Array]:
    """(M (..., nq, nq), Q (..., nq), A (..., balls, nq), b (..., balls)): M qddot = Q under A qddot = b.

    q (..., nq), rates qd (..., nq) with Qdot perpendicular to Q, tau (..., nu) on the velocities u.

    >>> import myoquat as mq
    >>> ball = mq.Body("ball", "ground", mq.joints.SphericalJoint(), mass=1.0, inertia=(1.0, 1.0, 1.0, 0, 0, 0))
    >>> q, qd, tau = [1.0, 0, 0, 0], [0, 0.5, 0, 0], [0.0, 0, 0]
    >>> M, Q, A, b = mq.dynamics.quaternion_form(mq.ArticulatedSystem((ball,)), q, qd, tau)
    >>> M.diagonal(), A, b  # singular along Q, where the constraint acts
    (array([0., 4., 4., 4.]), array([[2., 0., 0., 0.]]), array([-0.5]))
    """
    system = system_of(model)
    arrays = {
        "q": (system.check_q(q), system.nq),
        "qd": (check_state("qd", qd, system.nq, system.coordinate_names), system.nq),
        "tau": (check_state("tau", tau, system.nu, system.velocity_names), system.nu),
    }
    inputs = {name: Input(array, array, (n,)) for name, (array, n) in arrays.items()}
    nq, balls = system.nq, len(system.quaternion_slices())

    def formula(q: Array, qd: Array, tau: Array) -> Array:
        parts = _parts(system, q, qd, tau)
        batch = q.shape[:-1]
        return joined([part.reshape((*batch, -1)) for part in parts])

    flat = evaluate("quaternion_form", system.content_key, formula, inputs, 1)
    edges = np.cumsum([nq * nq, nq, balls * nq])
    M, Q, A, b = np.split(flat, edges, axis=-1)
    batch = flat.shape[:-1]
    return M.reshape((*batch, nq, nq)), Q, A.reshape((*batch, balls, nq)), b


def quaternion_accelerations(model: SystemLike, q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> Constrained:
    """qddot (..., nq) of `quaternion_form` by the augmented mass matrix, which its singular M needs, and the force that
    keeps |Q| = 1. Raises TypeError for symbols: a pseudo-inverse needs numbers, `quaternion_form` takes both.

    >>> import myoquat as mq
    >>> ball = mq.Body("ball", "ground", mq.joints.SphericalJoint(), mass=1.0, inertia=(1.0, 1.0, 1.0, 0, 0, 0))
    >>> system = mq.ArticulatedSystem((ball,))
    >>> q, qd = [1.0, 0, 0, 0], [0, 0.5, 0, 0]  # 1 rad/s about x
    >>> mq.dynamics.quaternion_accelerations(system, q, qd, [0.0] * 3).acceleration.round(6) + 0.0
    array([-0.25,  0.  ,  0.  ,  0.  ])
    """
    if any(is_symbolic(check_array(name, x)) for name, x in (("q", q), ("qd", qd), ("tau", tau))):
        raise TypeError("quaternion_accelerations takes numbers, not symbols; quaternion_form takes both")
    return augmented(*quaternion_form(model, q, qd, tau))


def first_order_form(model: SystemLike, q: ArrayLike, u: ArrayLike, tau: ArrayLike) -> tuple[Array, Array]:
    """(M (..., n, n), f (..., n)), n = nq + nu, of the equations of motion M(Q) xdot = f with x = (q, u).

    The muscle Jacobian study (GenFM code) states the equations of motion in this form. The upper rows are qdot = N u,
    the lower ones M udot = tau - b. Solving gives the same motion as forward dynamics.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> ball = mq.Body("ball", "ground", mq.joints.SphericalJoint(), mass=1.0, inertia=(1.0, 2.0, 2.5, 0, 0, 0))
    >>> M, f = mq.dynamics.first_order_form(mq.ArticulatedSystem((ball,)), [1.0, 0, 0, 0], [0.1, 0.2, 0.3], [0.0] * 3)
    >>> np.linalg.solve(M, f).round(3) + 0.0  # Qdot and the angular acceleration
    array([ 0.   ,  0.05 ,  0.1  ,  0.15 , -0.03 ,  0.023, -0.008])
    """
    system = system_of(model)
    q, u = system.check_q(q), system.check_u(u)
    tau = check_state("tau", tau, system.nu, system.velocity_names)
    inputs = {"q": Input(q, q, (system.nq,)), "u": Input(u, u, (system.nu,)), "tau": Input(tau, tau, (system.nu,))}
    nq, n = system.nq, system.nq + system.nu

    def formula(q: Array, u: Array, tau: Array) -> Array:
        batch = np.broadcast_shapes(q.shape[:-1], u.shape[:-1], tau.shape[:-1])
        H = np.broadcast_to(composite.mass(system, q), (*batch, system.nu, system.nu), subok=True)
        upper = np.broadcast_to(np.eye(n)[:nq], (*batch, nq, n))
        lower = np.concatenate([np.zeros((*batch, system.nu, nq)), H], axis=-1)
        M = np.concatenate([upper, lower], axis=-2)
        f = joined([state.rates(system, q, u), tau - inverse.bias(system, q, u)])
        return joined([M.reshape((*batch, n * n)), f])

    flat = evaluate("first_order_form", system.content_key, formula, inputs, 1)
    return flat[..., : n * n].reshape((*flat.shape[:-1], n, n)), flat[..., n * n :]


def _parts(system: ArticulatedSystem, q: Array, qd: Array, tau: Array) -> tuple[Array, ...]:
    """M, Q, A and b of `quaternion_form`."""
    plus = state.rate_inverse(system, q)  # u = N^+ qdot
    transposed = np.swapaxes(plus, -1, -2)
    H = composite.mass(system, q)
    u = matvec(plus, qd)
    turning = jacobian_at(lambda s: state.velocities(system, q + s * qd, qd), np.zeros(1), like=q)[..., 0]
    rest = tau - inverse.bias(system, q, u) - matvec(H, turning)
    rows, sides = [], []
    for s in system.quaternion_slices():
        before, after = np.zeros((*q.shape[:-1], s.start)), np.zeros((*q.shape[:-1], system.nq - s.stop))
        rows.append(joined([before, 2 * q[..., s], after]))
        sides.append(-2 * np.sum(qd[..., s] * qd[..., s], axis=-1))
    batch = q.shape[:-1]
    A = np.stack(rows, axis=-2) if rows else np.zeros((*batch, 0, system.nq))
    b = np.stack(sides, axis=-1) if sides else np.zeros((*batch, 0))
    return transposed @ H @ plus, matvec(transposed, rest), A, b
