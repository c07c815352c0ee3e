"""Closed-loop benchmark mechanisms: error against the reference, energy, violation of the constraints, steps, time.

Andrews' angles end 1.4e-9 from the reference at any accuracy: all seven as if 1.0e-12 s early, dop853
and radau alike.
"""

import time
from typing import Any

import numpy as np

from benchmarks.own.mechanisms import (
    ANDREWS_END,
    andrews,
    andrews_start,
    bricard,
    four_bars,
    governor,
    governor_reference,
)
from myoquat.dynamics import Trajectory, simulate


def run() -> list[dict[str, Any]]:
    """A row per mechanism and accuracy. The first run of each compiles; the second is timed."""
    found = []
    model, loops, torque = andrews()
    for rtol in (1e-6, 1e-8, 1e-10, 1e-12):
        options: dict[str, Any] = {"activation": [0.0], "torque": torque, "project_start": True}
        way, seconds = _timed(model, andrews_start(), None, 0.03, rtol, loops, **options)
        error = float(np.abs(way.q[-1] - andrews_start(ANDREWS_END)).max())
        found.append(_row("Andrews, 0.03 s", rtol, way, seconds) | {"error of the angles": error})
    for count in (1, 2, 10):
        system, held, q0, u0 = four_bars(count)
        found.append(_row(f"{count} four-bar loops, 10 s", 1e-9, *_timed(system, q0, u0, 10.0, 1e-9, held)))
    system, closed, q0 = bricard()
    found.append(_row("Bricard, 10 s", 1e-9, *_timed(system, q0, None, 10.0, 1e-9, closed)))
    for stiff in (False, True):
        model, held, q0, u0 = governor(stiff)
        name = f"flyball governor, {'stiff' if stiff else 'rigid'} couplers, 10 s"
        options = {"activation": [0.0, 0.0], "method": "radau"} if stiff else {}
        way, seconds = _timed(model, q0, u0, 10.0, 1e-9, held, **options)
        error = float(np.abs(way.q[-1] - governor_reference(10.0, stiff)).max())
        found.append(_row(name, 1e-9, way, seconds, kept=not stiff) | {"error of the coordinates": error})
    return found


def _timed(*arguments: Any, **options: Any) -> tuple[Trajectory, float]:
    model, q0, u0, duration, rtol, constraints = arguments
    for _ in range(2):
        begin = time.perf_counter()
        way = simulate(model, q0, u0, duration, rtol=rtol, constraints=constraints, **options)
        seconds = time.perf_counter() - begin
    return way, seconds


def _row(name: str, rtol: float, way: Trajectory, seconds: float, kept: bool | None = None) -> dict[str, Any]:
    kept = not name.startswith("Andrews") if kept is None else kept  # a motor and a spring move that one
    energy = float(np.abs(way.energy - way.energy[0]).max() / np.ptp(way.kinetic_energy)) if kept else np.nan
    violation = float(np.abs(way.constraint_drift).max(initial=0.0))
    return {
        "work": name, "route": f"{way.method.split(',')[0]}, rtol {rtol:g}", "steps": int(way.steps),
        "seconds": seconds, "energy, relative": energy, "violation": violation, "end": way.reason,
    }  # fmt: skip
