"""gamma_q: constraints in explicit form, q = gamma(y), and forward dynamics in the independent coordinates y.

    qdot = G_y ydot, qddot = G_y yddot + g, G_y = dgamma/dy,
    g = Gdot_y ydot + 2/Ts (qdot - qdot0) + 1/Ts^2 (q - q0), from the given q0, qdot0 towards the corrected q, qdot
    qddot = G_y (G_y^T H G_y)^-1 G_y^T (tau - C - H g) + g

[R. Featherstone, Rigid Body Dynamics Algorithms, Springer 2008, sections 3.2, 8.3; his FDgq]. H and C are evaluated at
the corrected q = gamma(gamma^-1(q0)), qdot = G_y ydot. (G_y is his G, not the quaternion's.)
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from myoquat.dynamics import composite, inverse
from myoquat.joints import state
from myoquat.joints.checks import check_state
from myoquat.joints.compiled import Input, evaluate
from myoquat.joints.door import system_of
from myoquat.joints.errors import ModelError
from myoquat.joints.vectors import matvec
from myoquat.kernels.arrays import as_array
from myoquat.kernels.content import content_key
from myoquat.kernels.derivatives import jacobian_at

__all__ = ["Gamma", "forward_dynamics_gamma"]

CHECKED = 1e-8  # both identities of gamma hold within it


@dataclass(frozen=True)
class Gamma:
    """The map from independent coordinates y to all coordinates q, and back.

    gamma           (y (..., ny), q0 (..., nq)) -> q (..., nq), twice differentiable in y; q0, the coordinates as given,
                    may choose between branches, and is a constant in differentiation.
    gamma_inverse   q (..., nq) -> y (..., ny); y need not be a part of q.
    ny              number of independent coordinates.
    time_constant   Ts [s] of the stabilization; None for none.

    Both are plain NumPy formulas. `check` tests gamma^-1(gamma(y)) = y and gamma(gamma^-1(q)) = q on the manifold.
    """

    gamma: Callable[[Any, Any], Any]
    gamma_inverse: Callable[[Any], Any]
    ny: int
    time_constant: float | None = None

    def corrected(self, q0: Any) -> Any:
        """(..., nq) gamma(gamma^-1(q0)): the coordinates on the manifold; where a simulation can start."""
        q0 = as_array(q0)
        return self.gamma(self.gamma_inverse(q0), q0)

    def check(self, q: Any) -> None:
        """ModelError if an identity fails at a pose q (..., nq) on or near the manifold, by more than 1e-8."""
        q = np.asarray(self.corrected(np.asarray(q, dtype=float)))
        y = np.asarray(self.gamma_inverse(q))
        if y.shape != (*q.shape[:-1], self.ny):
            raise ModelError(f"gamma_inverse gives {y.shape}; {(*q.shape[:-1], self.ny)} is needed for ny = {self.ny}")
        again = np.asarray(self.gamma(y, q))
        for name, a, b in (("gamma(gamma_inverse(q)) = q", again, q),
                           ("gamma_inverse(gamma(y)) = y", np.asarray(self.gamma_inverse(again)), y)):  # fmt: skip
            error = float(np.abs(a - b).max(initial=0.0)) if a.shape == b.shape else np.inf
            if not error <= CHECKED:
                raise ModelError(f"gamma: {name} fails by {error:.3g}; allowed is {CHECKED:g}")


def forward_dynamics_gamma(model: Any, gamma: Gamma, q: Any, qd: Any, tau: Any, f_ext: Any = None) -> np.ndarray:
    """(..., nq) qddot of a system whose coordinates obey q = gamma(y), from q, qd (..., nq) as given.

    tau (..., nu) acts on u. Coordinates are the system's own: for quaternions qd = Qdot, and qddot = Qddot, with the
    unit norm as one constraint among others. Raises ModelError if an identity of gamma fails at q, ValueError for
    arrays that do not fit.
    """
    system = system_of(model)
    q = check_state("q", q, system.nq, system.coordinate_names)
    qd = check_state("qd", qd, system.nq, system.coordinate_names)
    tau = check_state("tau", tau, system.nu, system.velocity_names)
    gamma.check(q)
    inputs = {
        "q": Input(q, q, (system.nq,)), "qd": Input(qd, qd, (system.nq,)), "tau": Input(tau, tau, (system.nu,)),
    }  # fmt: skip
    if f_ext is not None:
        shape = (len(system.bodies), 6)
        f_ext = np.asarray(f_ext, dtype=float)
        if f_ext.shape[-2:] != shape:
            raise ValueError(f"f_ext has shape {f_ext.shape}; (..., {shape[0]}, 6) is needed")
        inputs["f_ext"] = Input(f_ext, f_ext, shape)

    def formula(q: Any, qd: Any, tau: Any, f_ext: Any = None) -> Any:
        return _acceleration(system, gamma, q, qd, tau, f_ext)

    content = (system.content_key, content_key(gamma), tuple(inputs))
    return evaluate("forward_dynamics_gamma", content, formula, inputs, 1)


def _acceleration(system: Any, gamma: Gamma, q0: Any, qd0: Any, tau: Any, f_ext: Any) -> Any:
    """(..., nq) qddot: in velocities u, qdot = N u, u = W ydot with W = N^+ G_y."""
    y = gamma.gamma_inverse(q0)
    q = gamma.gamma(y, q0)
    G = jacobian_at(lambda y: gamma.gamma(y, q0), y)
    back = jacobian_at(gamma.gamma_inverse, q0)
    yd = matvec(back, qd0)
    qd = matvec(G, yd)
    drift = _along(lambda s: gamma.gamma(y + s * yd, q0), q0)  # Gdot_y ydot
    g = drift
    if gamma.time_constant is not None:
        Ts = gamma.time_constant
        g = g + 2 / Ts * (qd - qd0) + (q - q0) / (Ts * Ts)
    W = state.rate_inverse(system.layout, q) @ G
    u = matvec(state.rate_inverse(system.layout, q), qd)
    w = _velocity_rate(system, q, qd, g)  # udot = W yddot + w
    H = composite.mass(system, q)
    rest = tau - inverse.inverse(system, q, u, None, f_ext) - matvec(H, w)
    transposed = np.swapaxes(W, -1, -2)
    ydd = _solved(transposed @ H @ W, matvec(transposed, rest))
    return matvec(G, ydd) + g


def _velocity_rate(system: Any, q: Any, qd: Any, qdd: Any) -> Any:
    """(..., nu) d/dt of N^+(q) qdot along qdot and qddot."""
    return jacobian_at(lambda s: state.velocities(system.layout, q + s * qd, qd + s * qdd), np.zeros(1), like=q)[..., 0]


def _along(function: Callable[[Any], Any], like: Any) -> Any:
    """(..., n) second derivative of a formula of one number s at s = 0."""

    def slope(s: Any) -> Any:
        return jacobian_at(function, s, like=like)[..., 0]

    return jacobian_at(slope, np.zeros(1), like=like)[..., 0]


def _solved(A: Any, b: Any) -> Any:
    """x with A x = b, A symmetric positive definite and small, written out."""
    from_left = [[A[..., i, j] for j in range(A.shape[-1])] for i in range(A.shape[-1])]
    x = [b[..., i] for i in range(b.shape[-1])]
    n = len(x)
    for k in range(n):
        for i in range(k + 1, n):
            factor = from_left[i][k] / from_left[k][k]
            x[i] = x[i] - factor * x[k]
            for j in range(k, n):
                from_left[i][j] = from_left[i][j] - factor * from_left[k][j]
    for i in reversed(range(n)):
        x[i] = (x[i] - sum(from_left[i][j] * x[j] for j in range(i + 1, n))) / from_left[i][i]
    return np.stack(x, axis=-1)
