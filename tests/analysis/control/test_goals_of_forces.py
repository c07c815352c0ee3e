"""Goals of forces, powers, changes and sensors have the values of the package's own routines."""

import numpy as np
import pytest

import myoquat as mq
from myoquat.analysis.control import (
    Accelerations,
    ControlRates,
    Effort,
    Equations,
    Ipopt,
    Jerk,
    JointMoments,
    MetabolicEnergy,
    OwnGoal,
    Problem,
    TrackContactForces,
    TrackCoordinates,
    TrackMoments,
    TrackOrientations,
)
from myoquat.analysis.control.points import interpolated_rows
from myoquat.analysis.motion import Sensor
from myoquat.analysis.recruitment import metabolic_power
from myoquat.data import Emg, Orientations
from myoquat.joints import quaternion_exp, rotation_matrix
from myoquat.muscle import PathPoint
from myoquat.muscle.forces import ContactHalfSpace, ContactSphere, SmoothSphereHalfSpace
from myoquat.muscle.laws import Thelen2003
from tests.bodies import on_ball, on_hinge, on_slide, pushing

SLOW = {"weight": 1e-6}
EMG = Emg([0.0, 0.2, 0.4], ("biceps",), [[0.2], [0.6], [0.1]], "1")


def forearm():
    """A rod on a hinge, one muscle with a rigid tendon."""
    rod = on_hinge("rod", "y", "elbow", mass=2.0, center_of_mass=(0.15, 0, 0), inertia=(0.001, 0.02, 0.02))
    path = PathPoint("ground", (0.0, 0.0, 0.4)), PathPoint("rod", (0.05, 0.0, 0.0))
    law = Thelen2003(900.0, optimal_fiber_length=0.15, tendon_slack_length=0.25, tendon="rigid")
    return mq.Model(mq.ArticulatedSystem((rod,)), (mq.Muscle("biceps", path, law),))


@pytest.fixture(scope="module")
def lifted():
    """A lift with all goals of forces and changes, after a few steps towards its solution by Hermite-Simpson."""
    goals = (
        Effort(weight=1e-3), MetabolicEnergy(mean=True, **SLOW), JointMoments(**SLOW), Jerk(**SLOW),
        Accelerations(**SLOW), ControlRates(**SLOW), TrackMoments(("elbow_dot",), [0.0, 0.4], [[10.0], [0.0]], **SLOW),
        TrackCoordinates(EMG.names, EMG.time, EMG.signal, name="EMG", **SLOW),
    )  # fmt: skip
    problem = Problem(
        forearm(), 0.4, goals, 8, torques=("elbow_dot",), initial={"elbow": 0.3, "elbow_dot": 0},
        final={"elbow": -0.6, "elbow_dot": 0}, bounds={"biceps": (0.05, 1)},
    )  # fmt: skip
    return problem, problem.solve(solver=Ipopt(max_iterations=3, hessian="limited-memory"))


def simpson(values, duration):
    """The integral by Simpson's rule over nodes and middles."""
    weights = np.ones(len(values))
    weights[1:-1:2], weights[2:-1:2] = 4, 2
    return duration / (3 * (len(values) - 1)) * weights @ values


def test_goals_of_forces_have_the_values_of_the_packages_routines(lifted):
    problem, solution = lifted
    sites = solution.sites
    muscle, torque = solution.controls.T
    force = mq.muscle.muscle_forces(problem.model, sites.q, sites.fields["u"], muscle[:, None])[:, 0]
    moment = torque - mq.muscle.path_jacobian(problem.model, sites.q)[:, 0, 0] * force
    found = {name: value / 1e-6 for name, value in solution.goals.items()}
    assert found["JointMoments"] == pytest.approx(simpson(moment**2, 0.4), rel=1e-9)
    wanted = 10.0 * (1 - solution.control_time / 0.4)
    assert found["TrackMoments"] == pytest.approx(simpson((moment - wanted) ** 2, 0.4), rel=1e-9)
    shown = interpolated_rows(EMG.time, EMG.signal, solution.control_time)[:, 0]
    assert found["EMG"] == pytest.approx(simpson((muscle - shown) ** 2, 0.4), rel=1e-9)
    motion = mq.data.Motion(problem.model.system, solution.control_time, sites.q, sites.fields["u"])
    power = metabolic_power(
        problem.model, motion, muscle[:, None], cost=MetabolicEnergy().cost, basal_coefficient=0.0
    ).power[:, 0]
    assert found["MetabolicEnergy"] == pytest.approx(simpson(power, 0.4) / 0.4, rel=1e-9)


def test_goals_of_changes_are_sums_of_squared_differences(lifted):
    _, solution = lifted
    h, udot = np.diff(solution.control_time), solution.sites.fields["udot"][:, 0]
    found = {name: value / 1e-6 for name, value in solution.goals.items()}
    assert found["Jerk"] == pytest.approx(np.sum(np.diff(udot) ** 2 / h), rel=1e-9)
    assert found["ControlRates"] == pytest.approx(
        np.sum(np.diff(solution.controls, axis=0) ** 2 / h[:, None]), rel=1e-9
    )
    assert found["Accelerations"] == pytest.approx(simpson(udot**2, 0.4), rel=1e-9)


def test_least_jerk_is_a_polynomial_of_degree_five():
    """The motion is from rest to rest with free accelerations at both ends, where the jerk then vanishes. By the
    calculus of variations x = 5/2 t^2 - 5/2 t^4 + t^5, with an integral of 120."""
    block = on_slide("block", "x", "x")
    rest = {"x": 0.0, "x_dot": 0.0}, {"x": 1.0, "x_dot": 0.0}
    solution = Problem(
        mq.ArticulatedSystem((block,)), 1.0, (Jerk(),), 40, "midpoint", torques=("x_dot",), initial=rest[0],
        final=rest[1],
    ).solve()  # fmt: skip
    t = solution.time
    assert np.allclose(solution["x"], 2.5 * t**2 - 2.5 * t**4 + t**5, atol=2e-4)
    assert solution.goals["Jerk"] == pytest.approx(120.0, rel=1e-5)


def test_a_goal_that_is_averaged_is_the_integral_over_the_duration():
    cart = Equations(("x",), ("v",), lambda point: (point["v"],))
    speed = [OwnGoal(lambda point: point["v"] ** 2, mean=mean, name="speed") for mean in (True, False)]
    found = Problem(cart, 4.0, speed, 4, initial={"x": 0.0}, final={"x": 2.0}).solve().goals
    assert np.allclose([found["speed"], found["speed 2"]], [0.25, 1.0])


def ball():
    body = on_slide("ball", "z", "height")
    floor = ContactHalfSpace("floor", "ground", normal=(0.0, 0.0, 1.0))
    force = SmoothSphereHalfSpace("contact", ContactSphere("round", "ball", radius=0.1), floor, 1e5, dissipation=0.5)
    return mq.Model(mq.ArticulatedSystem((body,)), forces=(force,))


def test_contact_forces_follow_a_plate_and_carry_the_weight():
    model = ball()
    assert mq.muscle.contact_forces(model, [0.05], [0.0])[0, 2] > 100.0
    plate = pushing("ball", [0.0, 0.3], (0.0, 0.0, 20.0))
    problem = Problem(
        model, 0.3, (TrackContactForces(plate),), 5, torques={"height_dot": 10.0},
        initial={"height_dot": 0.0}, bounds={"height": (0.05, 0.2)},
    )  # fmt: skip
    solution = problem.solve({"height": 0.098})
    assert solution.success
    pressed = mq.muscle.contact_forces(model, solution.q, solution.u)[:, 0, 2]
    assert np.allclose(pressed, 20.0, atol=0.01)
    with pytest.raises(ValueError, match="no contact acts on ball"):
        Problem(mq.Model(model.system), 0.3, (TrackContactForces(plate),), 4)


def test_orientations_of_sensors_are_followed_by_their_angle():
    """A body on a ball joint turns as a sensor shows it that is mounted askew."""
    body = on_ball("arm", inertia=1)
    model = mq.Model(mq.ArticulatedSystem((body,), gravity=(0, 0, 0)))
    time = np.linspace(0.0, 1.0, 11)
    mount = quaternion_exp([0.3, -0.2, 0.5])
    Q = np.array([mq.joints.quaternion_multiply(quaternion_exp([0, 0, 0.5 * t]), mount) for t in time])
    recorded = Orientations(time, ("wrist",), Q[:, None])
    goal = TrackOrientations(recorded, (Sensor("wrist", "arm", tuple(mount)),))
    solution = Problem(
        model, 1.0, (goal, Effort(weight=1e-8)), 5, "midpoint", torques=model.system.velocity_names
    ).solve()
    assert solution.success
    turned = np.trace(rotation_matrix(solution.q[-1]) @ rotation_matrix(quaternion_exp([0, 0, 0.5])).T)
    assert np.arccos(np.clip((turned - 1) / 2, -1, 1)) < 1e-3
    with pytest.raises(ValueError, match="elbow"):
        Problem(model, 1.0, (TrackOrientations(recorded, (Sensor("elbow", "arm", tuple(mount)),)),), 5)
