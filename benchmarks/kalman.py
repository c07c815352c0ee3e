"""The Kalman filter on the group: frames per second, and whether its covariances are consistent.

A body with two legs and two arms (27 velocities, 33 coordinates, 36 markers, 12 sensors) moves by the filter's own
noise. The result is the normalised estimation error squared over its expectation, 1 where the covariance is right.
MYOQUAT_IMU names a folder with a recording of inertial sensors (OpenSense's subject07). The deviation of the sensors is
set so that the normalised innovations of the first half have their expectation. Those of the second half are judged.
"""

import os
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import myoquat as mq
from benchmarks.own.systems import person
from myoquat.analysis import motion as mo
from myoquat.joints.quaternion import quaternion_exp, quaternion_from_matrix, quaternion_multiply
from myoquat.muscle.coordinates import Marker

FRAMES, STEP = 400, 0.01
NOISE = mo.FilterNoise(marker=0.003, sensor=0.02, angular_acceleration=4.0, linear_acceleration=2.0, start_pose=0.02)
FIRST_JUDGED = 20  # frames after which the start does not matter


def run() -> list[dict[str, Any]]:
    """Rows with frames per second and the ratio of squared errors to their expectation."""
    rows = [_simulated()]
    if folder := os.environ.get("MYOQUAT_IMU"):
        rows.append(_recorded(Path(folder)))
    return rows


def _simulated() -> dict[str, Any]:
    """One motion of the tree of 12 bodies."""
    rng, system = np.random.default_rng(0), person()
    points = np.array([[0.1, 0, 0], [0, 0.1, 0], [0, 0, -0.2]])
    markers = tuple(Marker(f"{name}_{k}", name, tuple(p)) for name in system.body_names for k, p in enumerate(points))
    model = mq.Model(system, markers=markers)
    q, u = _wandering(system, rng)
    shown = np.stack([mq.joints.point_position(system, q, m.body, m.position) for m in markers], axis=1)
    turned = quaternion_from_matrix(np.stack([system.poses(q)[name][0] for name in system.body_names], axis=1))
    seen = quaternion_multiply(turned, quaternion_exp(NOISE.sensor * rng.normal(size=(*turned.shape[:-1], 3))))
    at = STEP * np.arange(FRAMES)
    sensors = [mo.Sensor(name, name, (1.0, 0.0, 0.0, 0.0)) for name in system.body_names]
    data = (
        mo.Markers(at, tuple(m.name for m in markers), shown + NOISE.marker * rng.normal(size=shown.shape)),
        mo.Orientations(at, system.body_names, seen),
    )
    start = {"start": q[0], "start_velocity": u[0], "noise": NOISE, "sensors": sensors}
    mo.kalman_filter(model, data, **start)
    began = time.perf_counter()
    found = mo.kalman_filter(model, data, **start)
    seconds = time.perf_counter() - began
    squares, degrees = found.squared_error(q, u)
    ratio = float(np.mean(squares[FIRST_JUDGED:] / degrees[FIRST_JUDGED:]))
    return {"work": f"filter of {system.name}", "frames per second": FRAMES / seconds, "asked": 100.0} | {
        "ratio": ratio
    }


def _wandering(system: Any, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """q (t, nq) and u (t, nu) under white accelerations."""
    units = [unit for body in system.bodies for unit in body.joint.facts.velocity_units]
    turns = np.array([unit.startswith("rad") for unit in units])
    deviation = np.where(turns, NOISE.angular_acceleration, NOISE.linear_acceleration)
    root = np.linalg.cholesky([[STEP**3 / 3, STEP**2 / 2], [STEP**2 / 2, STEP]])
    q, u = [system.random(1, rng)[0]], [rng.normal(size=system.nu)]
    for _ in range(FRAMES - 1):
        pushed = deviation[:, None] * (rng.normal(size=(system.nu, 2)) @ root.T)
        q.append(system.integrate(q[-1], STEP * u[-1] + pushed[:, 0]))
        u.append(u[-1] + pushed[:, 1])
    return np.array(q), np.array(u)


def _recorded(folder: Path) -> dict[str, Any]:
    """A recording of eight inertial sensors."""
    model = mq.load_model(folder / "subject07.osim")
    axes = {"axes": "x z -y"}
    placed = mo.load_orientations(folder / "imuOrientations.sto", **axes)
    sensors = mo.calibrate_orientations(model, placed, base="pelvis_imu", heading="z")
    seen = mo.load_orientations(next(folder.glob("MT_*.sto")), **axes)
    half, noise = len(seen.time) // 2, mo.FilterNoise()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mo.MotionWarning)
        first = mo.kalman_filter(model, seen, sensors=sensors, noise=noise)
        scale = np.sqrt(np.mean(first.squared_innovation[FIRST_JUDGED:half] / first.degrees[FIRST_JUDGED:half]))
        began = time.perf_counter()
        found = mo.kalman_filter(model, seen, sensors=sensors, noise=replace(noise, sensor=float(noise.sensor * scale)))
        seconds = time.perf_counter() - began
    ratio = float(np.mean(found.squared_innovation[half:] / found.degrees[half:]))
    work = f"filter of {model.system.nu} velocities, {len(sensors)} recorded sensors of {noise.sensor * scale:.3f} rad"
    row = {"work": work, "frames per second": len(seen.time) / seconds, "asked": 100.0, "ratio": ratio}
    return row | {"headings since calibration [deg]": _headings(placed, seen, "pelvis_imu")}


def _headings(placed: mo.Orientations, seen: mo.Orientations, base: str) -> dict[str, int]:
    """By how much each sensor has turned about the vertical from calibration to the first frame, beside the base. A
    person who stands straight in both has nearly zero everywhere, where the sensors have kept their headings."""
    turned = {}
    for name in seen.names:
        before = placed.quaternions[0, placed.names.index(name)]
        w, _, y, _ = quaternion_multiply(seen.quaternions[0, seen.names.index(name)], before * (1, -1, -1, -1))
        turned[name] = float(np.degrees(2 * np.arctan2(y, w)))
    return {name: round((angle - turned[base] + 180) % 360 - 180) for name, angle in turned.items()}
