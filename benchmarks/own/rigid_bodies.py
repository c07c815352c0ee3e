"""Rigid bodies with exact solutions: error against steps for every method and both formulations, no timing.

One motion is a free body, omega = (a cn, b sn, c dn)(p t | m) in its principal axes. Source: L. D. Landau, E. M.
Lifshitz, Mechanics, section 37. The other is a heavy top in steady precession. There are two formulations:

- body rates u with Qdot = G^T u / 2, by `simulate`
- full quaternion velocities, x = (Q, Qdot), with the singular mass matrix 4 G^T I G and |Q|^2 = 1 as a constraint, by
  RK4 or SciPy's solvers. Wherever the accelerations are evaluated, Q is divided by its length and Qdot made
  perpendicular to it.

`order` is that between a row and the one before it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import ellipj

from myoquat.dynamics import quaternion_accelerations, simulate
from myoquat.dynamics.integrators import FIXED_STEP
from myoquat.joints import G
from myoquat.joints.multibody.body import Body
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.types import SphericalJoint

SOLVERS = {"dop853": "DOP853", "rk45": "RK45", "radau": "Radau"}  # ours: SciPy's name


@dataclass(frozen=True)
class Problem:
    """A body, its start and duration [s], the steps tried, and the error of an end (Q (4,), u (3,))."""

    name: str
    system: ArticulatedSystem
    Q: np.ndarray
    u: np.ndarray
    duration: float
    steps: tuple[int, ...]
    error: Callable[[np.ndarray, np.ndarray], float]


def run(tolerances: tuple[float, ...] = (1e-6, 1e-8, 1e-10), scale: int = 1, counts: int = 4) -> list[dict[str, Any]]:
    """A row per problem, formulation, method and number of steps or tolerance. Steps of full velocities are taken in
    Python, so they have only `counts` of the four numbers of steps."""
    rows = []
    for problem in (free_body(scale), heavy_top(scale)):
        for method in FIXED_STEP:
            rows += _series(problem, "body rates", method, problem.steps, _by_steps)
        rows += _series(problem, "quaternion velocities", "rk4", problem.steps[:counts], _runge_kutta)
        for method in SOLVERS:
            rows += _series(problem, "body rates", method, tolerances, _by_tolerance)
            rows += _series(problem, "quaternion velocities", method, tolerances, _solved)
    return rows


def free_body(scale: int = 1) -> Problem:
    """Moments 1, 2, 3 kg m^2, turning about the axis of the greatest one with a swing."""
    I1, I2, I3 = 1.0, 2.0, 3.0
    w1, w3, duration = 0.8, 1.0, 5.0
    E2, M2 = I1 * w1**2 + I3 * w3**2, (I1 * w1) ** 2 + (I3 * w3) ** 2
    p = np.sqrt((I3 - I2) * (M2 - E2 * I1) / (I1 * I2 * I3))
    m = (I2 - I1) * (E2 * I3 - M2) / ((I3 - I2) * (M2 - E2 * I1))
    sn, cn, dn, _ = ellipj(p * duration, m)
    swing = np.sqrt((E2 * I3 - M2) / (I2 * (I3 - I2)))
    exact = np.array([w1 * cn, swing * sn, w3 * dn])
    body = Body("body", "ground", SphericalJoint(), mass=1.0, inertia=(I1, I2, I3, 0.0, 0.0, 0.0))
    system = ArticulatedSystem((body,), gravity=(0.0, 0.0, 0.0))
    start = np.array([w1, 0.0, w3])
    steps = tuple(n * scale for n in (125, 250, 500, 1000))
    error = lambda Q, u: float(np.abs(u - exact).max())  # noqa: E731
    return Problem("free body, 5 s", system, np.array([1.0, 0, 0, 0]), start, duration, steps, error)


def heavy_top(scale: int = 1) -> Problem:
    """Spin 60 rad/s, axis .6 rad off the vertical: it precesses at W, I1 W^2 cos - I3 w3 W + m g l = 0."""
    I1, I3, l, g, theta, w3, duration = 0.05, 0.02, 0.3, 9.81, 0.6, 60.0, 0.5
    a, b, c = (I1 + l * l) * np.cos(theta), -I3 * w3, g * l
    W = (-b - np.sqrt(b * b - 4 * a * c)) / (2 * a)
    body = Body(
        "top", "ground", SphericalJoint(), mass=1.0, center_of_mass=(0.0, 0.0, l), inertia=(I1, I1, I3, 0.0, 0.0, 0.0)
    )
    system = ArticulatedSystem((body,), gravity=(0.0, 0.0, -g))
    axis = np.array([np.sin(theta) * np.cos(W * duration), np.sin(theta) * np.sin(W * duration), np.cos(theta)])

    def error(Q: np.ndarray, u: np.ndarray) -> float:
        w, x, y, z = Q / np.linalg.norm(Q)
        return float(np.abs([2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y)] - axis).max())

    Q = np.array([np.cos(theta / 2), 0.0, np.sin(theta / 2), 0.0])
    u = np.array([-W * np.sin(theta), 0.0, w3])
    steps = tuple(n * scale for n in (250, 500, 1000, 2000))
    return Problem("heavy top, 0.5 s", system, Q, u, duration, steps, error)


def _series(problem: Problem, form: str, method: str, settings: Any, solve: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for setting in settings:
        Q, u, steps = solve(problem, method, setting)
        error = problem.error(Q, u)
        row = {"work": problem.name, "route": f"{form}, {method}", "setting": setting, "steps": steps, "error": error}
        if rows:
            before = rows[-1]
            row["order"] = np.log(before["error"] / error) / np.log(steps / before["steps"])
        rows.append(row | {"| |Q| - 1 |": abs(float(np.linalg.norm(Q)) - 1)})
    return rows


def _by_steps(problem: Problem, method: str, steps: int) -> tuple[np.ndarray, np.ndarray, int]:
    h = problem.duration / steps
    way = simulate(
        problem.system, problem.Q, problem.u, problem.duration, h, method=method, output_step=problem.duration
    )
    return way.q[-1], way.u[-1], steps


def _by_tolerance(problem: Problem, method: str, rtol: float) -> tuple[np.ndarray, np.ndarray, int]:
    way = simulate(
        problem.system, problem.Q, problem.u, problem.duration, rtol=rtol, method=method, output_step=problem.duration
    )
    return way.q[-1], way.u[-1], int(way.steps)


# ---- full quaternion velocities ----------------------------------------------------------------------------


def _begin(problem: Problem) -> np.ndarray:
    return np.concatenate([problem.Q, 0.5 * G(problem.Q).T @ problem.u])


def _rate(problem: Problem, x: np.ndarray) -> np.ndarray:
    Q = x[:4] / np.linalg.norm(x[:4])
    rate = x[4:] - Q * (Q @ x[4:])
    return np.concatenate([rate, quaternion_accelerations(problem.system, Q, rate, np.zeros(3)).acceleration])


def _end(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return x[:4], 2 * G(x[:4]) @ x[4:]


def _runge_kutta(problem: Problem, method: str, steps: int) -> tuple[np.ndarray, np.ndarray, int]:
    x, h = _begin(problem), problem.duration / steps
    for _ in range(steps):
        k1 = _rate(problem, x)
        k2 = _rate(problem, x + h / 2 * k1)
        k3 = _rate(problem, x + h / 2 * k2)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + _rate(problem, x + h * k3))
    return *_end(x), steps


def _solved(problem: Problem, method: str, rtol: float) -> tuple[np.ndarray, np.ndarray, int]:
    found = solve_ivp(
        lambda t, x: _rate(problem, x), (0, problem.duration), _begin(problem), SOLVERS[method], rtol=rtol, atol=rtol
    )
    return *_end(found.y[:, -1]), len(found.t) - 1
