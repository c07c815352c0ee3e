"""A Runge-Kutta step of `two_link` with all six muscles: compiled loops beside MuJoCo's.

MuJoCo has the same bodies, joints and paths, and on every path a muscle of its own, whose force curves are not law B.
Both are checked first on the bodies alone, where they must move alike.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.measure import Route, alternate, rows
from benchmarks.mujoco.steps import StepLoop
from myoquat.data import load_model
from myoquat.dynamics import Simulator

STEP, STEPS, MANY = 1e-3, 4_000, 8


def run() -> list[dict[str, Any]]:
    """ns per step and state on one thread; one state, and eight side by side."""
    model = load_model("two_link")
    q, u = np.array(model.start_q), np.array(model.start_u)
    _agree(model, q, u)
    activation = np.array([muscle.activation for muscle in model.muscles])
    mujoco, simulator = StepLoop(model, STEP), Simulator(model)
    eight = np.tile(q, (MANY, 1))

    def peer() -> None:
        mujoco.start(q, u, activation)
        mujoco(STEPS)

    def ours(start: np.ndarray) -> Any:
        return lambda: simulator(start, u, STEP * STEPS, step=STEP, output_step=STEP * STEPS)

    routes = {
        "MuJoCo, RK4 in a C loop": Route(peer, STEPS),
        "myoquat, one state": Route(ours(q), STEPS),
        f"myoquat, {MANY} states side by side": Route(ours(eight), STEPS * MANY),
    }
    return rows("two_link, RK4 step with 6 muscles", alternate(routes), "MuJoCo, RK4 in a C loop")


def _agree(model: Any, q: np.ndarray, u: np.ndarray) -> None:
    """AssertionError unless the bodies alone move alike; their friction of 1e-8 is left out."""
    bodies = tuple(replace(body, damping=0.0) for body in model.system.bodies)
    system = replace(model.system, bodies=bodies)
    mujoco = StepLoop(replace(model, system=system), STEP, muscles=False)
    mujoco.start(q, u)
    mine = Simulator(system)(q, u, 0.5, step=STEP, output_step=0.5)
    np.testing.assert_allclose(mine.final_q, mujoco(500), atol=1e-9)
