"""Inverse kinematics: poses against what was put in, SciPy and OpenSim."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from myoquat.analysis.motion import MotionWarning, Sensor, inverse_kinematics
from myoquat.analysis.motion.problem import rotation_vector
from myoquat.data import Markers, Orientations
from myoquat.joints.errors import ModelError
from myoquat.joints.quaternion import random_quaternions
from myoquat.muscle.coordinates import Coordinate
from tests.analysis.motion.conftest import felt, shown, wandering

SENSORS = (
    Sensor("pelvis_imu", "pelvis", (1.0, 0.0, 0.0, 0.0)),
    Sensor("thigh_imu", "thigh", (0.5, 0.5, 0.5, 0.5)),
    Sensor("shank_imu", "shank", (0.6, 0.0, 0.8, 0.0)),
    Sensor("foot_imu", "foot", (0.0, 0.6, 0.0, 0.8)),
)


# ---- the equations -----------------------------------------------------------------------------------------------


def test_rotation_vectors_up_to_half_a_turn(rng):
    v = rng.normal(size=(200, 3))
    v *= rng.choice([1e-9, 1e-3, 1.0, np.pi - 1e-7], (200, 1)) / np.linalg.norm(v, axis=-1, keepdims=True)
    np.testing.assert_allclose(rotation_vector(Rotation.from_rotvec(v).as_matrix()), v, atol=1e-8)


# ---- the poses ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["batch", "sequential"])
def test_exact_markers_give_back_the_motion_through_every_lock(ball_leg, rng, method):
    """Random quaternion motion around the whole sphere: recovered to 1e-9 rad, without a jump."""
    motion = wandering(ball_leg, rng)
    fit = inverse_kinematics(ball_leg, shown(ball_leg, motion), method=method)
    assert fit.converged.all()
    assert np.abs(ball_leg.system.difference(motion.q, fit.q)).max() < 1e-9
    assert fit.marker_error.max() < 1e-9
    steps = np.abs(np.diff(fit.q, axis=0)).max()
    assert steps <= np.abs(np.diff(motion.q, axis=0)).max() + 1e-8  # quaternions keep their sign
    assert fit.undetermined() == ()


def test_the_first_frame_may_face_any_way(model, rng):
    for Q in random_quaternions(4, rng):
        q = model.start
        s = model.system.quaternion_slices()
        if s:
            q[s[0]] = Q
        else:
            q[:3] = Rotation.from_quat(np.roll(Q, -1)).as_euler("ZXY")
        motion = replace(wandering(model, rng, 2), q=np.tile(q, (2, 1)), time=np.array([0.0, 0.01]))
        markers = shown(model, motion)
        fit = inverse_kinematics(
            model, Markers(markers.time, markers.names, markers.positions + np.array([5.0, -3.0, 2.0]))
        )
        assert fit.converged.all()
        assert fit.marker_error.max() < 1e-9
        assert all(fit.q[0, rows] @ model.start[rows] > 0 for rows in s)  # of both signs, that of the start


def test_poses_are_those_of_an_independent_optimizer(leg, rng):
    """SciPy's trust-region solver on angles, its residuals from the system's poses."""
    markers = shown(leg, wandering(leg, rng, 3, speed=0.5), noise=0.01, rng=rng)
    weights = {m.name: float(rng.uniform(0.2, 3)) for m in leg.markers}
    fit = inverse_kinematics(leg, markers, weights)
    w = np.sqrt([weights[m.name] for m in leg.markers])[:, None]
    names = leg.system.coordinate_names
    free = [i for i, name in enumerate(names) if name not in ("toe_angle", "patella_angle")]
    knee = free.index(names.index("shank_angle"))
    low, high = np.full(len(free), -np.inf), np.full(len(free), np.inf)
    low[knee], high[knee] = -2.0, 0.1

    def residuals(x, seen):
        q = leg.start
        q[free] = x
        q[names.index("patella_angle")] = 0.7 * leg.couplers[0].function.value(q[names.index("shank_angle")])
        poses = leg.system.poses(q)
        p = np.stack([poses[m.body][1] + poses[m.body][0] @ np.array(m.position) for m in leg.markers])
        return (w * (seen - p)).ravel()

    for k in range(3):
        found = least_squares(residuals, np.clip(fit.q[k, free] + 0.05, low + 1e-3, high - 1e-3), bounds=(low, high),
                              args=(markers.positions[k],), xtol=1e-14, ftol=1e-14, gtol=1e-14)  # fmt: skip
        np.testing.assert_allclose(fit.q[k, free], found.x, atol=1e-6)
        assert fit.cost[k] <= 2 * found.cost * (1 + 1e-9)


def test_noise_is_what_the_covariance_says(ball_leg, rng):
    """800 frames of one pose with 1 mm in each direction: variances of all velocities within 10 % on the whole."""
    one = wandering(ball_leg, rng, 2)
    n = 800
    motion = replace(one, time=np.arange(n) / 100.0, q=np.tile(one.q[-1], (n, 1)))
    fit = inverse_kinematics(ball_leg, shown(ball_leg, motion, noise=1e-3, rng=rng), weights={"pelvis0": 3.0})
    names, C = fit.covariance(1e-3)
    free = [ball_leg.system.velocity_names.index(name) for name in names]
    away = ball_leg.system.difference(motion.q, fit.q)[:, free]
    measured, said = away.var(axis=0), np.diagonal(C.mean(axis=0))
    assert np.sqrt(measured.mean() / said.mean()) == pytest.approx(1, abs=0.1)
    np.testing.assert_allclose(measured, said, rtol=0.25)
    assert np.abs(away.mean(axis=0)).max() < 5 * np.sqrt(said.max() / n)


def test_sensors_alone_give_rotations(ball_leg, rng):
    motion = wandering(ball_leg, rng, 100)
    fit = inverse_kinematics(ball_leg, felt(ball_leg, motion, SENSORS), sensors=SENSORS)
    rotations = [i for i, n in enumerate(ball_leg.system.velocity_names) if not n.startswith("pelvis.v_")]
    assert np.abs(ball_leg.system.difference(motion.q, fit.q)[:, rotations]).max() < 1e-8
    assert set(fit.undetermined()) == {"pelvis.v_x", "pelvis.v_y", "pelvis.v_z"}
    assert np.abs(fit.q[:, :3]).max() < 1e-9  # what nothing depends on stays
    assert fit.sensor_error.shape == (100, 4)
    assert np.isnan(fit.marker_rms).all()


# ---- what is missing, held, bounded ------------------------------------------------------------------------------


def test_missing_markers_and_empty_frames(model, rng):
    motion = wandering(model, rng, 60, speed=1.0)
    x = shown(model, motion).positions.copy()
    for k in range(x.shape[1]):
        x[rng.random(60) < 0.2, k] = np.nan
    x[20:23] = np.nan
    fit = inverse_kinematics(model, Markers(motion.time, shown(model, motion).names, x))
    assert np.flatnonzero(fit.empty).tolist() == [20, 21, 22]
    full = ~fit.empty
    assert fit.converged[full].all()
    assert not fit.converged[~full].any()
    assert np.isnan(fit.marker_error).sum() == np.isnan(x[..., 0]).sum()
    assert np.nanmax(fit.marker_error) < 1e-9
    assert np.isfinite(fit.q).all()


def test_locked_coordinates_keep_their_start_and_couplers_hold(model, rng):
    markers = shown(model, wandering(model, rng, 50, speed=1.0), noise=0.01, rng=rng)
    fit = inverse_kinematics(model, markers, coordinates={"toe_angle": 0.2})
    names = model.system.coordinate_names
    with pytest.warns(MotionWarning, match=r"locked coordinates stay .*'toe_angle' \(by up to 0\.7\)"):
        again = inverse_kinematics(model, markers, coordinates={"toe_angle": np.linspace(0.2, 0.9, 50)})
    np.testing.assert_allclose(again.q, fit.q, atol=1e-9)
    q = dict(zip(names, fit.q.T, strict=True))
    assert (q["toe_angle"] == 0.2).all()
    np.testing.assert_allclose(q["patella_angle"], 0.7 * model.couplers[0].function.value(q["shank_angle"]), atol=1e-14)
    assert inverse_kinematics(model, markers, locked=()).q[:, names.index("toe_angle")].std() > 1e-3
    held = inverse_kinematics(model, markers, locked=["foot_angle", "toe_angle"])
    assert (held.q[:, names.index("foot_angle")] == 0).all()
    assert (held.cost >= fit.cost).all()
    knee = inverse_kinematics(model, markers, locked=["shank_angle"])  # clamped as well
    assert (knee.q[:, names.index("shank_angle")] == 0).all()


def test_all_angles_of_a_ball_can_be_locked_together(ball_leg, rng):
    markers = shown(ball_leg, wandering(ball_leg, rng, 20), noise=0.01, rng=rng)
    fit = inverse_kinematics(ball_leg, markers, locked=["flexion", "adduction", "rotation"])
    s = ball_leg.system.quaternion_slices()[1]
    np.testing.assert_allclose(fit.q[:, s], np.tile([1.0, 0, 0, 0], (20, 1)), atol=1e-14)
    with pytest.raises(ModelError, match=r"coordinate 'flexion': .*quaternion describes the joint"):
        inverse_kinematics(ball_leg, markers, locked=["flexion"])


def test_clamped_coordinates_stay_in_their_range_at_the_constrained_optimum(model, rng):
    """Beyond the range the cost falls towards it, and nothing else can improve: the gradient on the rest is zero."""
    markers = shown(model, wandering(model, rng, 60, speed=1.0), noise=0.01, rng=rng)
    narrow = replace(model, coordinates=(Coordinate("shank_angle", (-1.2, -0.6), clamped=True), *model.coordinates[1:]))
    fit = inverse_kinematics(narrow, markers)
    knee = fit.q[:, model.system.coordinate_names.index("shank_angle")]
    assert knee.min() == -1.2
    assert knee.max() == -0.6
    assert fit.converged.all()
    problem = fit.problem
    free = replace(problem, bounds=())
    f, N = free.reduced(fit.q, free.terms(fit.q, fit.data))
    row = problem.free.index(problem.bounds[0][0])
    rest = [k for k in range(len(problem.free)) if k != row]
    assert np.abs(f[:, rest] / np.diagonal(N, axis1=1, axis2=2)[:, rest]).max() < 1e-7
    assert (f[knee == -1.2, row] <= 1e-9).all()
    assert (f[knee == -0.6, row] >= -1e-9).all()
    wide = inverse_kinematics(narrow, markers, ranges=False, start=fit.q)
    assert (wide.cost <= fit.cost * (1 + 1e-9)).all()
    assert wide.q[:, model.system.coordinate_names.index("shank_angle")].max() > -0.5


def test_coordinate_tasks_pull(model, rng):
    """A task of great weight is met, that of a small one hardly moves anything, also for angles of a quaternion."""
    motion = wandering(model, rng, 30, speed=0.3)
    markers = shown(model, motion)
    wanted = {"adduction": 0.2 + 0.1 * np.sin(motion.time * 9), "foot_angle": -0.3, "ty": 0.05}
    tight = inverse_kinematics(model, markers, dict.fromkeys(wanted, 1e5), coordinates=wanted)
    assert np.abs(tight.task_error).max() < 1e-4
    np.testing.assert_allclose(tight.angles()["adduction"], wanted["adduction"], atol=1e-4)
    loose = inverse_kinematics(model, markers, dict.fromkeys(wanted, 1e-9), coordinates=wanted)
    assert loose.marker_error.max() < 1e-6
    assert tight.converged.all()
    assert loose.converged.all()


def test_results_as_tables(ball_leg, rng):
    fit = inverse_kinematics(ball_leg, shown(ball_leg, wandering(ball_leg, rng, 30)))
    assert list(fit.errors().columns) == [m.name for m in ball_leg.markers]
    part = fit.between(0.1, 0.2)
    assert len(part.cost) == len(part.time) == len(part.marker_rms) == 11
    assert repr(fit).startswith("<FittedMotion 30 frames, ")


# ---- bad input ---------------------------------------------------------------------------------------------------


def test_wrong_input(leg, ball_leg, rng):
    markers = shown(leg, wandering(leg, rng, 4))
    shifted = Orientations(markers.time + 1, ("thigh_imu",), np.tile([1.0, 0, 0, 0], (4, 1, 1)))
    strangers = Markers(markers.time, ("x", "y"), markers.positions[:, :2])
    cases = [
        ({"data": markers, "weights": {"pelvs0": 1.0}}, "'pelvs0'; nearest: pelvis0"),
        ({"data": markers, "weights": {"pelvis0": -1.0}}, "'pelvis0' must be finite and not negative"),
        ({"data": markers, "method": "magic"}, "'batch' or 'sequential'"),
        ({"data": (markers, shifted), "sensors": SENSORS}, "different times"),
        ({"data": markers, "coordinates": {"knee": 1.0}}, "no coordinate 'knee'"),
        ({"data": markers, "coordinates": {"flexion": [1.0, 2.0]}}, "one for each of 4 frames"),
        ({"data": markers, "locked": ["knee"]}, "no coordinate 'knee'"),
        ({"data": markers, "start": np.zeros((3, leg.system.nq))}, "start has shape"),
        ({"data": markers, "sensors": [Sensor("a", "nose", (1.0, 0, 0, 0))]}, "body 'nose' does not exist"),
        ({"data": markers, "sensors": [Sensor("a", "foot", (1.0, 1.0, 0, 0))]}, "unit quaternion"),
        ({"data": strangers, "weights": {"x": 0.0, "y": 0.0}}, "all of weight zero"),
        ({"data": Markers(markers.time, ("pelvs0",), markers.positions[:, :1])}, r"'pelvs0' \(nearest: pelvis0"),
    ]  # fmt: skip
    for arguments, message in cases:
        with pytest.raises(ValueError, match=message):
            inverse_kinematics(leg, **arguments)
    with pytest.raises(TypeError, match="Markers, Orientations"):
        inverse_kinematics(leg, (markers, markers))
    with pytest.raises(ValueError, match="part of a quaternion"):
        inverse_kinematics(ball_leg, markers, coordinates={"thigh.Q0": 1.0})
    back = replace(leg.couplers[0], dependent="shank_angle", independent="patella_angle")
    with pytest.raises(ModelError, match="drive each other: patella_angle -> shank_angle -> patella_angle"):
        replace(leg, couplers=(*leg.couplers, back))


def test_names_that_the_model_lacks_are_reported_with_the_nearest(leg, rng):
    markers = shown(leg, wandering(leg, rng, 4, speed=0.2))
    renamed = Markers(markers.time, ("pelvs0", *markers.names[1:]), markers.positions)
    with pytest.warns(MotionWarning, match=r"no such marker: 'pelvs0' \(nearest: pelvis0"):
        fit = inverse_kinematics(leg, renamed)
    assert fit.marker_names == markers.names[1:]
    inverse_kinematics(leg, renamed, {"pelvs0": 0.0})
    with pytest.warns(MotionWarning, match="no such marker: 'pelvs0'"):  # again, though its names are known by now
        inverse_kinematics(leg, renamed)
