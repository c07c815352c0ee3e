"""Muscle Jacobians mapped between parameterizations, and torques.

A row of a muscle Jacobian is the gradient of a path length l [m] for one joint. It has four forms:

    J       spatial: dl/dt = J omega
    J_Q     quaternion: dl/dQ
    J*_Q    constrained: dl/dQ*, with component k of Q eliminated
    J_phi   Euler: dl/dphi

Rows lie on the last axis. Batch axes of the row and of the pose broadcast, so J (..., m, 3) goes with Q (..., 1, 4).
The forms are related by, for |Q| = 1:

    J = J_Q G^T / 2          J = J*_Q E^-1          J = J_phi B^-1
    2 J G = J_Q (I4 - Q Q^T)                        the tangent part of J_Q, which is all that torques see
    J*_Q = J E = J_Q T       J_phi = J B

A tension F pulls with the child-frame torque tau_E = -J^T F [N m].
"""

import numpy as np

from myoquat.core import Array, ArrayLike
from myoquat.joints import E, E_inverse, G, T, euler_rate_inverse, euler_rate_matrix
from myoquat.kernels import as_array, formula

from .vectors import QUATERNION, VECTOR3, transpose, vecmat


@formula(J_Q=(4,), Q=QUATERNION)
def quaternion_to_spatial(J_Q: ArrayLike, Q: ArrayLike) -> Array:
    """(..., 3) J = J_Q G^T / 2. The same for every extension of l off the unit sphere, since G Q = 0.

    >>> from myoquat import joints
    >>> joints.quaternion_to_spatial([0, 2.0, 0, 0], [1.0, 0, 0, 0])
    array([1., 0., 0.])
    """
    return vecmat(as_array(J_Q), transpose(G(Q))) / 2


@formula(J=VECTOR3, Q=QUATERNION)
def spatial_to_quaternion(J: ArrayLike, Q: ArrayLike) -> Array:
    """(..., 4) 2 J G = J_Q (I4 - Q Q^T): the tangent part of J_Q.

    The radial part J_Q Q depends on how l is extended off the unit sphere and is not in J. It is zero for the
    normalized extension l(Q/|Q|), whose J_Q is returned exactly.

    >>> from myoquat import joints
    >>> joints.spatial_to_quaternion([1.0, 0, 0], [1.0, 0, 0, 0])
    array([0., 2., 0., 0.])
    """
    return 2 * vecmat(as_array(J), G(Q))


@formula(J_Q=(4,), Q=QUATERNION)
def quaternion_tangent(J_Q: ArrayLike, Q: ArrayLike) -> Array:
    """(..., 4) tangent part J_Q (I4 - Q Q^T) of J_Q: what spatial, constrained and Euler Jacobians determine.

    >>> from myoquat import joints
    >>> joints.quaternion_tangent([5.0, 2.0, 0, 0], [1.0, 0, 0, 0])
    array([0., 2., 0., 0.])
    """
    return as_array(J_Q) - quaternion_radial(J_Q, Q)[..., None] * as_array(Q)


@formula(J_Q=(4,), Q=QUATERNION)
def quaternion_radial(J_Q: ArrayLike, Q: ArrayLike) -> Array:
    """(...) radial part J_Q Q of J_Q: lost on the way to J, without effect on any torque.

    >>> from myoquat import joints
    >>> joints.quaternion_radial([5.0, 2.0, 0, 0], [1.0, 0, 0, 0])
    np.float64(5.0)
    """
    return np.sum(as_array(J_Q) * as_array(Q), axis=-1)


@formula(J_star=VECTOR3, Q=QUATERNION)
def constrained_to_spatial(J_star: ArrayLike, Q: ArrayLike, eliminated: ArrayLike = 0) -> Array:
    """(..., 3) J = J*_Q E^-1; E^-1 exists everywhere.

    >>> from myoquat import joints
    >>> joints.constrained_to_spatial([2.0, 0, 0], [1.0, 0, 0, 0])
    array([1., 0., 0.])
    """
    return vecmat(as_array(J_star), E_inverse(Q, eliminated))


@formula(J=VECTOR3, Q=QUATERNION)
def spatial_to_constrained(J: ArrayLike, Q: ArrayLike, eliminated: ArrayLike = 0) -> Array:
    """(..., 3) J*_Q = J E. ValueError past a condition number of 1e12 (Qk = 0).

    >>> from myoquat import joints
    >>> joints.spatial_to_constrained([1.0, 0, 0], [1.0, 0, 0, 0])
    array([2., 0., 0.])
    """
    return vecmat(as_array(J), E(Q, eliminated))


@formula(J_Q=(4,), Q=QUATERNION)
def quaternion_to_constrained(J_Q: ArrayLike, Q: ArrayLike, eliminated: ArrayLike = 0) -> Array:
    """(..., 3) J*_Q = J_Q T. ValueError past a condition number of 1e12 (Qk = 0).

    >>> import numpy as np
    >>> from myoquat.joints import quaternion_to_constrained
    >>> J_Q, Q = [[1.0, 2.0, 3.0, 4.0]], [0.8, 0.0, 0.6, 0.0]
    >>> quaternion_to_constrained(J_Q, Q).round(4)  # dl/dQ1, dl/dQ2, dl/dQ3 while Q0 follows
    array([[2.  , 2.25, 4.  ]])
    """
    return vecmat(as_array(J_Q), T(Q, eliminated))


@formula(J_phi=VECTOR3, phi=VECTOR3)
def euler_to_spatial(J_phi: ArrayLike, phi: ArrayLike, sequence: str) -> Array:
    """(..., 3) J = J_phi B^-1. ValueError past a condition number of 1e12 (gimbal lock).

    >>> from myoquat import joints
    >>> joints.euler_to_spatial([1.0, 2.0, 3.0], [0.0, 0.0, 0.0], "XYZ")
    array([1., 2., 3.])
    """
    return vecmat(as_array(J_phi), euler_rate_inverse(phi, sequence))


@formula(J=VECTOR3, phi=VECTOR3)
def spatial_to_euler(J: ArrayLike, phi: ArrayLike, sequence: str) -> Array:
    """(..., 3) J_phi = J B; moment arms in the biomechanist's sense are -J_phi.

    >>> from myoquat import joints
    >>> joints.spatial_to_euler([1.0, 2.0, 3.0], [0.0, 0.0, 0.0], "XYZ")
    array([1., 2., 3.])
    """
    return vecmat(as_array(J), euler_rate_matrix(phi, sequence))


@formula(J=VECTOR3, tension=())
def spatial_torque(J: ArrayLike, tension: ArrayLike) -> Array:
    """(..., 3) child-frame torque tau_E = -J^T F [N m] of tension F (...) [N].

    >>> from myoquat import joints
    >>> joints.spatial_torque([0.1, 0.2, 0.3], 20.0)  # -J^T F
    array([-2., -4., -6.])
    """
    return -as_array(J) * as_array(tension)[..., None]


@formula(tau_E=VECTOR3, Q=QUATERNION)
def quaternion_torque(tau_E: ArrayLike, Q: ArrayLike) -> Array:
    """(..., 4) 'quaternion torque' tau_G = 2 G^T tau_E: tau_G . Qdot = tau_E . omega.

    >>> from myoquat.joints import G, quaternion_torque
    >>> Q = [0.8, 0.0, 0.6, 0.0]
    >>> quaternion_torque([1.0, 2.0, 3.0], Q)
    array([-2.4,  5.2,  3.2,  3.6])
    """
    return 2 * vecmat(as_array(tau_E), G(Q))


@formula(tau_E=VECTOR3, Q=QUATERNION)
def constrained_torque(tau_E: ArrayLike, Q: ArrayLike, eliminated: ArrayLike = 0) -> Array:
    """(..., 3) tau_G* = E^T tau_E: tau_G* . Qdot* = tau_E . omega. ValueError past a condition number of 1e12.

    >>> from myoquat.joints import E, constrained_torque
    >>> Q = [0.8, 0.0, 0.6, 0.0]
    >>> tau_E = [1.0, 2.0, 3.0]
    >>> constrained_torque(tau_E, Q).round(3)
    array([5.2, 5. , 3.6])
    """
    return vecmat(as_array(tau_E), E(Q, eliminated))
