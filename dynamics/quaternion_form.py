"""Equations of motion in quaternion coordinates: full rates Qdot under |Q|^2 = 1, and the first-order M(Q) xdot = f.

The mass matrix of the rates qdot is N^+T M N^+, 4 G^T I G for one ball: singular along Q, where nothing moves. The
constraint A Qddot = -2 Qdot.Qdot, A = 2 Q^T, makes up for it [B. Graf, Quaternions and Dynamics, arXiv:0811.2889;
F. E. Udwadia, A. D. Schutte, An alternative derivation of the quaternion equations of motion for rigid-body rotational
dynamics, J. Appl. Mech. 77, 2010].
"""

import numpy as np

from myoquat.core.typing import Array, ArrayLike, Pair
from myoquat.dynamics import composite, inverse
from myoquat.dynamics.udwadia_kalaba import Constrained, augmented
from myoquat.joints.evaluation import Call, SystemLike
from myoquat.joints.multibody import state
from myoquat.joints.ranges import check_array
from myoquat.joints.vectors import dot, joined, joined_matrices, matvec, transpose, vecmat
from myoquat.kernels import is_symbolic

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
    call = Call(model).q(q).coordinates("qd", qd).velocities("tau", tau)
    system = call.system
    nq, slices = system.nq, system.quaternion_slices()

    def formula(q: Array, qd: Array, tau: Array) -> Array:
        batch, plus = q.shape[:-1], state.rate_inverse(system, q)  # u = N^+ qdot
        H, u = composite.mass(system, q), matvec(plus, qd)
        turning = state.rate_along(lambda s: state.velocities(system, q + s * qd, qd), q)
        rest = tau - inverse.bias(system, q, u) - matvec(H, turning)
        zero = np.zeros((*batch, nq))
        rows = [joined([zero[..., : s.start], 2 * q[..., s], zero[..., s.stop :]]) for s in slices]
        sides = [-2 * dot(qd[..., s], qd[..., s])[..., None] for s in slices]
        M = transpose(plus) @ H @ plus
        return joined([M.reshape((*batch, nq * nq)), vecmat(rest, plus), *rows, *sides])

    flat = call.run("quaternion_form", formula, 1)
    M, Q, A, b = np.split(flat, np.cumsum([nq * nq, nq, len(slices) * nq]), axis=-1)
    batch = flat.shape[:-1]
    return M.reshape((*batch, nq, nq)), Q, A.reshape((*batch, len(slices), nq)), b


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


def first_order_form(model: SystemLike, q: ArrayLike, u: ArrayLike, tau: ArrayLike) -> Pair:
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
    call = Call(model).q(q).u(u).velocities("tau", tau)
    system, nq = call.system, call.system.nq
    n = nq + system.nu

    def formula(q: Array, u: Array, tau: Array) -> Array:
        M = joined_matrices(
            [np.eye(n)[:nq], joined_matrices([np.zeros((system.nu, nq)), composite.mass(system, q)])], -2
        )
        f = [state.rates(system, q, u), tau - inverse.bias(system, q, u)]
        return joined([M.reshape((*M.shape[:-2], n * n)), *f])

    flat = call.run("first_order_form", formula, 1)
    return flat[..., : n * n].reshape((*flat.shape[:-1], n, n)), flat[..., n * n :]
