"""Inverse kinematics by OpenSim's solver, in a process of its own, for `benchmarks.opensim.trials`.

    python follow.py MODEL STATES.npz RESULTS.npz

STATES holds times (t,), markers (t, n, 3) [m] with NaN where one is not seen, their names and weights, and the
solver's accuracy. RESULTS holds names of coordinates, values (t, c) and seconds per frame (t,).
"""

import sys
import time
from typing import Any

import numpy as np
import opensim


def main(file: str, states: str, results: str) -> None:
    """Read, follow, write."""
    opensim.Logger.setLevelString("Off")
    with np.load(states) as given:
        data = dict(given)
    model = opensim.Model(file)
    state = model.initSystem()
    coordinates = [model.getCoordinateSet().get(i) for i in range(model.getNumCoordinates())]
    solver = _solver(model, data)
    values, seconds = [], []
    for k, now in enumerate(data["times"]):
        state.setTime(float(now))
        began = time.perf_counter()
        solver.assemble(state) if k == 0 else solver.track(state)
        seconds.append(time.perf_counter() - began)
        values.append([c.getValue(state) for c in coordinates])
    np.savez(results, names=np.array([c.getName() for c in coordinates]), values=values, seconds=seconds)


def _solver(model: Any, data: dict[str, np.ndarray]) -> Any:
    table = opensim.TimeSeriesTableVec3()
    table.setColumnLabels([str(name) for name in data["names"]])
    for now, frame in zip(data["times"], data["markers"], strict=True):
        row = opensim.RowVectorVec3(len(frame), opensim.Vec3(0))
        for i, x in enumerate(frame):
            row[i] = opensim.Vec3(*map(float, x))
        table.appendRow(float(now), row)
    weights = opensim.SetMarkerWeights()
    for name, weight in zip(data["names"], data["weights"], strict=True):
        weights.cloneAndAppend(opensim.MarkerWeight(str(name), float(weight)))
    reference = opensim.MarkersReference(table, weights)
    solver = opensim.InverseKinematicsSolver(model, reference, opensim.SimTKArrayCoordinateReference())
    solver.setConstraintWeight(float("inf"))
    solver.setAccuracy(float(data["accuracy"]))
    return solver


if __name__ == "__main__":
    main(*sys.argv[1:])
