"""Torques with which a motion was simulated come back from it, whatever else acts and holds."""

from dataclasses import replace

import numpy as np
import pytest

import myoquat as mq
from myoquat.analysis.recruitment import computed_muscle_control, forward_check, redundancy
from myoquat.data import Forces, Motion
from myoquat.joints import functions as fn
from myoquat.muscle import PrescribedInput
from myoquat.muscle.actuators import CoordinateActuator
from myoquat.muscle.coordinates import Coordinate, Coupler
from myoquat.muscle.forces import PrescribedForce

START = 3.2  # [s]
SOLID = {"inertia": (0.1, 0.12, 0.09, 0.01, 0, 0), "center_of_mass": (0.1, 0.1, 0.2)}
TORQUE = np.array([0.7, -0.4])  # [N m] on qa and qb


def arm():
    hinge, slide = mq.joints.RevoluteJoint, mq.joints.PrismaticJoint
    joints = ("a", "ground", hinge((0, 1, 0))), ("b", "a", hinge((0, 0, 1))), ("c", "b", slide((1, 0, 0)))
    joints += ("d", "c", hinge((1, 0, 0))), ("e", "a", hinge((1, 0, 0)))
    bodies = [mq.Body(name, parent, joint, (0.1, 0.1, 0.3), mass=1.0, coordinate_names=(f"q{name}",), **SOLID)
              for name, parent, joint in joints]  # fmt: skip
    coordinates = Coordinate("qd", locked=True), Coordinate("qe", prescribed=fn.Sine(0.3, 3.0, 0.1, 0.2))
    follower = Coupler("c", "qc", "qb", fn.Polynomial((0.0, 0.3, 0.1)))
    return mq.Model(mq.ArticulatedSystem(tuple(bodies)), coordinates=coordinates, couplers=(follower,))


def simulated(model):
    """A motion from the start with the torques."""
    angle = 3.0 * START + 0.1
    q = [0.3, 0.2, 0.3 * 0.2 + 0.1 * 0.2**2, 0.25, 0.3 * np.sin(angle) + 0.2]
    u = [0.4, 0.5, (0.3 + 0.2 * 0.2) * 0.5, 0.0, 0.9 * np.cos(angle)]
    run = mq.simulate(model, q, u, 0.05, step=1e-3, start_time=START, torque=np.array([*TORQUE, 0, 0, 0]))
    return run.time, run.q, run.u, run.acceleration


def check(model, motion, loads=None):
    found = redundancy(model, motion, loads, reserves=1.0)
    np.testing.assert_allclose(found.reserve, np.tile(TORQUE, (len(motion.time), 1)), atol=1e-12)
    np.testing.assert_allclose(forward_check(found, loads).q[-1], motion.q[-1], atol=1e-6)
    controlled = computed_muscle_control(model, motion, loads, reserves=1.0)
    np.testing.assert_allclose(controlled.reserve, np.tile(TORQUE, (len(controlled.time), 1)), atol=1e-3)


def test_torques_come_back_past_a_coupler_a_lock_a_prescribed_coordinate_and_forces_of_time():
    zero = fn.Constant(0.0)
    wind = (fn.Linear(2.0, 1.0), fn.Sine(3.0, 5.0, 0.2, 0.0), zero), (zero, fn.Linear(0.1, 0.0), zero)
    model = replace(arm(), forces=(PrescribedForce("wind", "c", *wind, (fn.Linear(0.3, 0.0),) * 3),),
                    actuators=(CoordinateActuator("motor", "qa", optimal_force=2.0),),
                    inputs=(PrescribedInput("motor", fn.Linear(1.0, 0.2)),))  # fmt: skip
    check(model, Motion(model, *simulated(model)))


def test_torques_come_back_under_loads_in_several_frames():
    """Forces of the model with constant components, points and moments in frames of other bodies, given as loads."""
    frames = ("p", "c", "a", "b"), ("w", "b", "ground", "b")  # names, bodies, axes of forces, frames of points
    numbers = np.array([[[3.0, -2, 1], [0.1, 0.2, 0], [0.3, 0.1, 0.2]], [[1, 2, -3], [0.1, 0, 0.2], [0, 0.1, 0.2]]])
    forces = tuple(PrescribedForce(name, body, *(tuple(map(fn.Constant, x)) for x in own), force_frame=axes,
                                   point_frame=place)
                   for (name, body, axes, place), own in zip(frames, numbers.tolist(), strict=True))  # fmt: skip
    model = arm()
    motion = Motion(model, *simulated(replace(model, forces=forces)))
    names, bodies, *others = zip(*frames, strict=True)
    columns = np.broadcast_to(numbers.swapaxes(0, 1)[:, None], (3, len(motion.time), 2, 3))
    check(model, motion, Forces(motion.time, names, bodies, *columns, *others))


@pytest.mark.parametrize("recruit", [redundancy, computed_muscle_control])
def test_model_of_which_nothing_can_act_is_an_error(recruit):
    model = arm()
    with pytest.raises(ValueError, match="the model has no muscles, and there are no reserves"):
        recruit(model, Motion(model, *simulated(model)))
