"""The theorems of mechanics on 1,000 random trees: the worst error of each, no timing.

All joint types, up to 30 bodies, dampers, springs and rotors, both velocity frames; relative errors. A mass matrix of
condition number c costs udot 1e-16 c whatever the algorithm. The rows "over cond M / 1e6" divide the error by that
where c > 1e6, the rows before them do not. Trees in which nothing moves are passed over, and for the power those near a
spring's kink. The columns `worst` and `seed` name the worst tree; `over` counts those above what is allowed.
"""

from itertools import count, islice
from typing import Any

import numpy as np

from myoquat.dynamics import articulated, composite, factor, inverse
from myoquat.joints.multibody.sampling import random_system

STENCIL = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))  # sixth-order central difference
STEP = 1e-3
FORWARD = (articulated.forward, factor.forward)


def run(trees: int = 1000) -> list[dict[str, Any]]:
    """A row per theorem: the worst relative error, what is allowed, and the seed of the tree."""
    errors: dict[str, dict[int, float]] = {}
    moving = ((seed, found) for seed in count() if (found := _errors(seed)))
    for seed, found in islice(moving, trees):
        for name, error in found.items():
            errors.setdefault(name, {})[seed] = error
    return [_row(f"{trees} random trees", name, rows) for name, rows in errors.items()]


def _row(work: str, name: str, found: dict[int, float]) -> dict[str, Any]:
    allowed, worst = _ALLOWED[name], max(found, key=lambda seed: found[seed])
    over = sum(not error <= allowed for error in found.values())
    row = {"work": work, "route": name, "worst": found[worst], "allowed": allowed, "over": over}
    return row | {"median": float(np.median(list(found.values()))), "trees": len(found), "seed": worst}


_ALLOWED = {
    "forward(inverse(udot)) = udot, ABA": 1e-10,
    "forward(inverse(udot)) = udot, M = L^T D L": 1e-10,
    "ABA, over cond M / 1e6": 1e-10,
    "M = L^T D L, over cond M / 1e6": 1e-10,
    "M symmetric: |M - M^T|": 0.0,
    "M positive definite: -least eigenvalue / greatest": 0.0,
    "u^T M u / 2 = sum over the bodies": 1e-12,
    "d(KE + PE)/dt = power": 1e-9,
}


def _errors(seed: int) -> dict[str, float]:
    rng = np.random.default_rng(seed)
    bodies = int(rng.integers(1, 31))
    system = random_system(bodies, rng, passive=True, velocity_frame=("child", "parent")[seed % 2])
    if not system.nu:
        return {}
    q = system.random(1, rng)[0]
    u, udot = rng.normal(size=(2, system.nu))
    f_ext = rng.normal(size=(bodies, 6))
    M = composite.mass(system, q)
    tau = inverse.inverse(system, q, u, udot, f_ext)
    granted = max(1.0, float(np.linalg.cond(M)) / 1e6)
    lost = np.array([np.abs(way(system, q, u, tau, f_ext) - udot).max() for way in FORWARD]) / np.abs(udot).max()
    eigenvalues = np.linalg.eigvalsh(M)
    kinetic = inverse.kinetic(system, q, u)
    found = [
        *lost,
        *lost / granted,
        np.abs(M - M.T).max(),
        max(0.0, -eigenvalues[0] / eigenvalues[-1]),
        abs(kinetic - u @ M @ u / 2) / kinetic,
    ]
    errors = dict(zip(_ALLOWED, map(float, found), strict=False))  # the power comes last
    if not _near_half_a_turn(system, q, u):
        errors["d(KE + PE)/dt = power"] = _power_error(system, q, u, udot, tau, f_ext)
    return errors


def _power_error(system: Any, q: Any, u: Any, udot: Any, tau: Any, f_ext: Any) -> float:
    """Against a difference quotient of the energy, over the sum of the powers' sizes and the energy itself."""

    def total(t: float) -> float:
        moved = system.integrate(q, t * u)
        return inverse.kinetic(system, moved, u + t * udot) + inverse.potential(system, moved)

    rate = sum(c * (total(k * STEP) - total(-k * STEP)) for k, c in STENCIL) / STEP
    scale = np.abs(tau * u).sum() + np.abs(f_ext).sum() + abs(total(0.0))
    return float(abs(rate - inverse.work_rate(system, q, u, tau, f_ext)) / scale)


def _near_half_a_turn(system: Any, q: Any, u: Any) -> bool:
    """A spring's energy has a kink at half a turn, which the difference quotient must not pass."""
    for body, iq, iu in zip(system.bodies, system.q_slices, system.u_slices, strict=True):
        if body.stiffness and body.joint.facts.quaternion is not None:
            d = body.joint.deviation(q[iq], body.joint.neutral())[-3:]
            if np.linalg.norm(d) > np.pi - 10 * STEP * np.linalg.norm(u[iu]):
                return True
    return False
