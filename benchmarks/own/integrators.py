"""What every method keeps over many steps, no timing: |Q| over 1e7 steps, the energy over 1e6.

The double ball pendulum of `two_link`, without friction and muscles. Energy errors are relative to the span of the
kinetic energy. The trend is the change of a straight line fitted to them over the whole run.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from myoquat.data import load_model
from myoquat.dynamics import simulate

SPEEDS = np.array([1.0, 2.0, 3.0, -2.0, 1.0, 0.5])
NORM = (
    ("rk4", "projection"), ("rk4", "baumgarte"), ("rk4", "none"), ("lie_rk4", "none"), ("lie_rk4", "projection"),
)  # fmt: skip
ENERGY = (
    ("rk4", "projection"),
    ("lie_rk4", "projection"),
    ("variational", "projection"),
    ("semi_implicit_euler", "projection"),
)


def run(norm_steps: int = 10_000_000, energy_steps: int = 1_000_000, step: float = 1e-3) -> list[dict[str, Any]]:
    """A row per method and quantity."""
    model = load_model("two_link")
    system = replace(model.system, bodies=tuple(replace(body, damping=0.0) for body in model.system.bodies))
    start = np.array(model.start_q)
    found = []
    for method, stabilization in NORM:
        way = _way(system, start, method, stabilization, norm_steps, step)
        found.append(
            {"work": f"||Q| - 1| over {norm_steps:.0e} steps", "route": f"{method}, {stabilization}"}
            | {"worst": np.nanmax(np.abs(way.norm_drift)), "reason": way.reason}
        )
    for method, stabilization in ENERGY:
        way = _way(system, start, method, stabilization, energy_steps, step)
        error = (way.energy - way.energy[0]) / np.nanmax(way.kinetic_energy)
        good = np.isfinite(error)
        trend = np.polyfit(way.time[good], error[good], 1)[0] * way.time[-1]
        found.append(
            {"work": f"energy over {energy_steps:.0e} steps", "route": f"{method}, {stabilization}"}
            | {"worst": np.nanmax(np.abs(error)), "trend": trend, "reason": way.reason}
        )
    return found


def _way(system: Any, start: np.ndarray, method: str, stabilization: str, steps: int, step: float) -> Any:
    duration = steps * step
    return simulate(
        system, start, SPEEDS, duration, step, method=method, stabilization=stabilization, output_step=duration / 1000
    )
