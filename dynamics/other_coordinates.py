"""Equations of motion in other coordinates: independent ones, quaternions with their norm, and the first-order form."""

from collections.abc import Callable

import numpy as np

from myoquat.core import Array, ArrayLike, Pair, content_key, frozen, real_array
from myoquat.dynamics import composite, inverse
from myoquat.joints import ArticulatedSystem, ModelError
from myoquat.joints.evaluation import Call, SystemLike
from myoquat.joints.multibody import state
from myoquat.joints.ranges import check_array
from myoquat.joints.vectors import dot, joined, joined_matrices, matvec, transpose, vecmat
from myoquat.kernels import is_symbolic
from myoquat.kernels.tracing.derivatives import jacobian_at

from .factor import solve_small
from .udwadia_kalaba import Constrained, augmented

# --------------------------------------------------------------------------------------------------------------
#
# gamma_q: constraints in explicit form, q = gamma(y), and forward dynamics in the independent coordinates y.
#
#     qdot = G_y ydot, qddot = G_y yddot + g, G_y = dgamma/dy,
#     g = Gdot_y ydot + 2/Ts (qdot - qdot0) + 1/Ts^2 (q - q0), from the given q0, qdot0 towards the corrected q, qdot
#     qddot = G_y (G_y^T H G_y)^-1 G_y^T (tau - C - H g) + g
#
# [R. Featherstone, Rigid Body Dynamics Algorithms, Springer 2008, sections 3.2, 8.3; his FDgq]. H and C are evaluated
# at the corrected q = gamma(gamma^-1(q0)), qdot = G_y ydot. (G_y is his G, not the quaternion's.)


IDENTITY_TOLERANCE = 1e-8  # both identities of gamma hold within it


@frozen
class Gamma:
    """The map from independent coordinates y to all coordinates q, and back.

    gamma           (y (..., ny), q0 (..., nq)) -> q (..., nq), twice differentiable in y; q0, the coordinates as given,
                    may choose between branches, and is a constant in differentiation.
    gamma_inverse   q (..., nq) -> y (..., ny); y need not be a part of q.
    ny              number of independent coordinates.
    time_constant   Ts [s] of the stabilization; None for none.

    Both are plain NumPy formulas. `check` tests gamma^-1(gamma(y)) = y and gamma(gamma^-1(q)) = q on the manifold.

    >>> import numpy as np
    >>> from myoquat.dynamics import Gamma
    >>> double = Gamma(lambda y, q0: np.stack([y[..., 0], 2 * y[..., 0]], axis=-1), lambda q: q[..., :1], ny=1)
    >>> double.corrected([0.1, 0.5])  # b = 2 a
    array([0.1, 0.2])
    """

    gamma: Callable[[Array, Array], Array]
    gamma_inverse: Callable[[Array], Array]
    ny: int
    time_constant: float | None = None

    def corrected(self, q0: Array) -> Array:
        """(..., nq) gamma(gamma^-1(q0)): the coordinates on the manifold; where a simulation can start."""
        q0 = check_array("q0", q0)
        return self.gamma(self.gamma_inverse(q0), q0)

    def check(self, q: Array) -> None:
        """ModelError if an identity fails at a pose q (..., nq) on or near the manifold, by more than 1e-8."""
        q = np.asarray(self.corrected(real_array("q", q)))
        y = np.asarray(self.gamma_inverse(q))
        if y.shape != (*q.shape[:-1], self.ny):
            raise ModelError(f"gamma_inverse gives {y.shape}; {(*q.shape[:-1], self.ny)} is needed for ny = {self.ny}")
        again = np.asarray(self.gamma(y, q))
        for name, a, b in (("gamma(gamma_inverse(q)) = q", again, q),
                           ("gamma_inverse(gamma(y)) = y", np.asarray(self.gamma_inverse(again)), y)):  # fmt: skip
            error = float(np.abs(a - b).max(initial=0.0)) if a.shape == b.shape else np.inf
            if not error <= IDENTITY_TOLERANCE:
                raise ModelError(f"gamma: {name} fails by {error:.3g}; allowed is {IDENTITY_TOLERANCE:g}")


def forward_dynamics_gamma(
    model: SystemLike, gamma: Gamma, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None = None
) -> Array:
    """(..., nq) qddot of a system with constrained coordinates q = gamma(y), from q, qd (..., nq) as given.

    tau (..., nu) acts on u. Coordinates are the system's own: for quaternions qd = Qdot, and qddot = Qddot, with the
    unit norm as one constraint among others. Symbols, for which the formulas of gamma must hold too, go in and come
    out. Raises ModelError if an identity of gamma fails at q, ValueError for arrays that do not fit.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.dynamics import Gamma, forward_dynamics_gamma
    >>> bodies = [mq.Body(name, "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=1.0) for name in ("a", "b")]
    >>> double = Gamma(lambda y, q0: np.stack([y[..., 0], 2 * y[..., 0]], axis=-1), lambda q: q[..., :1], ny=1)
    >>> forward_dynamics_gamma(mq.ArticulatedSystem(tuple(bodies)), double, [0.0, 0.0], [0.0, 0.0], [5.0, 0.0])
    array([1., 2.])
    """
    call = Call(model).coordinates("q", q).coordinates("qd", qd).velocities("tau", tau).wrenches(f_ext)
    checked = [call.inputs[name].array for name in ("q", "qd")]
    if not any(map(is_symbolic, checked)):
        gamma.check(checked[0])

    def formula(q: Array, qd: Array, tau: Array, f_ext: Array | None = None) -> Array:
        return _acceleration(call.system, gamma, q, qd, tau, f_ext)

    return call.run("forward_dynamics_gamma", formula, 1, variant=content_key(gamma))


def _acceleration(
    system: ArticulatedSystem, gamma: Gamma, q0: Array, qd0: Array, tau: Array, f_ext: Array | None
) -> Array:
    """(..., nq) qddot: in velocities u, qdot = N u, u = W ydot with W = N^+ G_y."""
    y = gamma.gamma_inverse(q0)
    q = gamma.gamma(y, q0)
    G = jacobian_at(lambda y: gamma.gamma(y, q0), y)
    back = jacobian_at(gamma.gamma_inverse, q0)
    yd = matvec(back, qd0)
    qd = matvec(G, yd)
    g = state.rate_along(
        lambda s: jacobian_at(lambda s: gamma.gamma(y + s * yd, q0), s, like=q0)[..., 0], q0
    )  # Gdot_y ydot
    if gamma.time_constant is not None:
        Ts = gamma.time_constant
        g = g + 2 / Ts * (qd - qd0) + (q - q0) / (Ts * Ts)
    W = state.rate_inverse(system, q) @ G
    u = matvec(state.rate_inverse(system, q), qd)
    moved = lambda s: state.velocities(system, q + s * qd, qd + s * g)  # noqa: E731
    w = state.rate_along(moved, q)  # udot = W yddot + w
    H = composite.mass(system, q)
    rest = tau - inverse.inverse(system, q, u, None, f_ext) - matvec(H, w)
    transposed = transpose(W)
    ydd = solve_small(transposed @ H @ W, matvec(transposed, rest)[..., None])[..., 0]
    return matvec(G, ydd) + g


# --------------------------------------------------------------------------------------------------------------
#
# Equations of motion in quaternion coordinates: full rates Qdot under |Q|^2 = 1, and the first-order M(Q) xdot = f.
#
# The mass matrix of the rates qdot is N^+T M N^+, 4 G^T I G for one ball: singular along Q, where nothing moves. The
# constraint A Qddot = -2 Qdot.Qdot, A = 2 Q^T, makes up for it [B. Graf, Quaternions and Dynamics, arXiv:0811.2889;
# F. E. Udwadia, A. D. Schutte, An alternative derivation of the quaternion equations of motion for rigid-body
# rotational dynamics, J. Appl. Mech. 77, 2010].


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
