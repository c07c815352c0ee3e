"""The Kalman filter on the group: its covariances are those of its errors, on motions simulated with its own noise."""

import numpy as np
import pytest

import myoquat as mq
from myoquat.analysis import motion as mo
from myoquat.joints import RevoluteJoint, SphericalJoint
from myoquat.joints.functions import Linear
from myoquat.joints.quaternion import quaternion_exp, quaternion_multiply
from myoquat.muscle.coordinates import Coupler, Marker
from tests.bodies import afloat, on_slide

NOISE = mo.FilterNoise(
    marker=0.004, sensor=0.02, angular_acceleration=4.0, linear_acceleration=2.0, start_pose=0.05, start_velocity=0.5
)
STEP, FRAMES = 0.01, 40


def limb():
    """A floating body and a ball joint, with three markers and one sensor."""
    solid = {"mass": 1.0, "inertia": (1, 1, 1, 0, 0, 0)}
    bodies = (
        afloat("trunk", **solid),
        mq.Body("arm", "trunk", SphericalJoint(), (0, 0.2, 0), **solid),
    )
    points = ("trunk", (0.1, 0, 0)), ("trunk", (0, 0.1, 0.1)), ("arm", (0, 0.3, 0))
    markers = tuple(Marker(f"m{i}", body, point) for i, (body, point) in enumerate(points))
    return mq.Model(mq.ArticulatedSystem(bodies), markers=markers)


SENSOR = mo.Sensor("arm_imu", "arm", (0.6, 0.0, 0.8, 0.0))


def simulated(model, rng, runs):
    """Motions (runs, t, ...) by the filter's own model of them, and what markers and the sensor show without noise."""
    system = model.system
    units = [unit for body in system.bodies for unit in body.joint.facts.velocity_units]
    deviation = np.where([unit.startswith("rad") for unit in units], NOISE.angular_acceleration, 2.0)
    root = np.linalg.cholesky([[STEP**3 / 3, STEP**2 / 2], [STEP**2 / 2, STEP]])
    q, u = [system.random(runs, rng)], [rng.normal(size=(runs, system.nu))]
    for _ in range(FRAMES - 1):
        pushed = deviation[:, None] * (rng.normal(size=(runs, system.nu, 2)) @ root.T)
        q.append(system.integrate(q[-1], STEP * u[-1] + pushed[..., 0]))
        u.append(u[-1] + pushed[..., 1])
    q, u = np.stack(q, axis=1), np.stack(u, axis=1)
    positions = np.stack([mq.joints.point_position(system, q, m.body, m.position) for m in model.markers], axis=2)
    return q, u, positions, quaternion_multiply(world_quaternion(system, q), SENSOR.orientation)


def world_quaternion(system, q):
    """(..., 4) of the arm: that of the trunk times its own."""
    first, second = (q[..., s] for s in system.quaternion_slices())
    return quaternion_multiply(first, second)


def filtered(model, motion, rng):
    """What the filter makes of a simulated motion, seen with noise."""
    q, u, positions, own = motion
    time = STEP * np.arange(FRAMES)
    markers = mo.Markers(
        time, [m.name for m in model.markers], positions + rng.normal(size=positions.shape) * NOISE.marker
    )
    seen = quaternion_multiply(own, quaternion_exp(rng.normal(size=(FRAMES, 3)) * NOISE.sensor))
    start = model.system.integrate(q[0], rng.normal(size=9) * NOISE.start_pose)
    start_velocity = u[0] + rng.normal(size=9) * NOISE.start_velocity
    orientations = mo.Orientations(time, ("arm_imu",), seen[:, None])
    options = {"sensors": [SENSOR], "noise": NOISE, "start": start, "start_velocity": start_velocity}
    return mo.kalman_filter(model, (markers, orientations), **options)


def test_covariances_are_those_of_the_errors():
    """Normalised estimation and innovation errors squared of 20 motions have the mean of their chi-squares."""
    model, rng, ratios, innovations = limb(), np.random.default_rng(40), [], []
    for motion in zip(*simulated(model, rng, 20), strict=True):
        found = filtered(model, motion, rng)
        squares, degrees = found.squared_error(*motion[:2])
        assert (degrees == 18).all()
        ratios.append(squares / degrees)
        innovations.append(found.squared_innovation / found.degrees)
    # 20 x 18 degrees of freedom in each frame: a standard deviation of 0.075 there, less in the mean over frames
    assert abs(np.mean(ratios) - 1) < 0.1
    assert abs(np.mean(ratios, axis=0) - 1).max() < 0.35
    assert abs(np.mean(innovations) - 1) < 0.05


def test_missing_markers_make_the_filter_less_certain():
    model, rng = limb(), np.random.default_rng(42)
    q, _, positions, _ = (part[0] for part in simulated(model, rng, 1))
    hidden = positions.copy()
    hidden[20:] = np.nan
    time, names = STEP * np.arange(FRAMES), [m.name for m in model.markers]
    both = [mo.kalman_filter(model, mo.Markers(time, names, x), noise=NOISE, start=q[0]) for x in (positions, hidden)]
    assert (both[0].q[:20] == both[1].q[:20]).all()
    assert (both[1].deviation()[25:] > both[0].deviation()[25:]).all()
    assert (both[1].degrees[20:] == 0).all()


def test_locked_and_coupled_coordinates_stay_as_they_are():
    hinge = RevoluteJoint((0, 0, 1))
    bodies = [mq.Body(f"b{i}", p, hinge, (i and 1.0, 0, 0), mass=1.0) for i, p in enumerate(("ground", "b0", "b1"))]
    slide = on_slide("slide", parent="b2", position=(1.0, 0, 0))
    coordinate = mq.muscle.coordinates.Coordinate("slide.position", locked=True)
    model = mq.Model(
        mq.ArticulatedSystem((*bodies, slide)), markers=(Marker("hand", "slide", (0.5, 0, 0)),),
        couplers=(Coupler("gear", "b1.angle", "b0.angle", Linear(1.0)),), coordinates=(coordinate,),
    )  # fmt: skip
    seen = np.tile([3.0, 1.5, 0.0], (30, 1, 1))
    found = mo.kalman_filter(model, mo.Markers(np.arange(30) / 100, ("hand",), seen))
    assert (found.q[:, 3] == found.q[0, 3]).all()
    assert np.abs(found.q[:, 1] - found.q[:, 0]).max() < 1e-6
    hand = mq.joints.point_position(model.system, found.q[-1], "slide", (0.5, 0, 0))
    assert np.abs(hand - seen[0, 0]).max() < 1e-3


def test_what_is_wrong_is_named():
    with pytest.raises(ValueError, match="sensor"):
        mo.FilterNoise(sensor=0.0)
    with pytest.raises(ValueError, match="frames"):
        mo.kalman_filter(limb(), mo.Markers([], ("m0",), np.zeros((0, 1, 3))))
