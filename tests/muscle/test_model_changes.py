"""Models that methods change as Moco's operators do."""

from dataclasses import replace

import pytest

import myoquat as mq
from myoquat.analysis.control import reserve_torques
from myoquat.joints.errors import ModelError
from myoquat.joints.functions import Constant
from myoquat.muscle import ActivationDynamics, Muscle, PathPoint, PrescribedInput
from myoquat.muscle.actuators import CoordinateActuator
from myoquat.muscle.coordinates import Coordinate, Coupler
from myoquat.muscle.laws import DeGrooteFregly2016, Thelen2003


def arm():
    hinge = mq.joints.RevoluteJoint((0, 1, 0))
    bodies = (
        mq.Body("upper", "ground", hinge, mass=1.0, joint_name="shoulder", coordinate_names=("s",)),
        mq.Body("fore", "upper", hinge, (0.3, 0, 0), mass=1.0, joint_name="elbow", coordinate_names=("e",)),
    )
    path = (PathPoint("ground", (0.0, 0.0, 0.4)), PathPoint("fore", (0.1, 0.0, 0.0)))
    law = Thelen2003(900.0, optimal_fiber_length=0.2, tendon_slack_length=0.3, pennation=0.1)
    muscle = Muscle("biceps", path, law, activation_dynamics=ActivationDynamics(0.02, 0.05))
    return mq.Model(mq.ArticulatedSystem(bodies), (muscle,), start_q=(0.2, 0.5))


def test_welds_hold_at_zero_and_other_coordinates_keep_their_start():
    welded = arm().with_welds(["shoulder"])
    assert welded.system.coordinate_names == ("e",)
    assert list(welded.start) == [0.5]
    assert welded.system.poses(welded.start)["fore"][1] == pytest.approx((0.3, 0.0, 0.0))
    with pytest.raises(ModelError, match="no joint 'wrist'; known: elbow, shoulder"):
        arm().with_welds(["wrist"])


def test_muscles_are_replaced_or_removed():
    (muscle,) = arm().with_degroote_fregly_muscles().muscles
    assert isinstance(muscle.law, DeGrooteFregly2016)
    assert (muscle.law.max_isometric_force, muscle.law.pennation) == (900.0, 0.1)
    assert muscle.activation_dynamics == ActivationDynamics(0.02, 0.05)
    inputs = PrescribedInput(muscle.name, Constant(0.5)), PrescribedInput("motor", Constant(2.0))
    driven = replace(arm(), actuators=(CoordinateActuator("motor", "s"),), inputs=inputs).without_muscles()
    assert (driven.muscles, driven.inputs) == ((), inputs[1:])
    with pytest.raises(ModelError, match="'m1': its law is no Hill-type muscle"):
        mq.load_model("two_link").with_degroote_fregly_muscles()


def test_a_model_tells_driven_and_locked_coordinates():
    coordinates = Coordinate("s", locked=True), Coordinate("e", (-1.0, 1.0))
    assert replace(arm(), coordinates=coordinates).locked == {"s"}
    coupled = replace(arm(), couplers=(Coupler("knot", "e", "s", Constant(0.5)),))
    assert coupled.driven == {"e"}
    assert coupled.locked == arm().driven == frozenset()
    assert reserve_torques(coupled) == {"s_dot": 1.0}


def test_reserves_act_where_nothing_else_does():
    model = arm()
    assert reserve_torques(model, 3.0) == {"s_dot": 3.0, "e_dot": 3.0}
    assert reserve_torques(model, 3.0, ground=False) == {"e_dot": 3.0}
    driven = replace(model, actuators=(CoordinateActuator("motor", "s"),), coordinates=(Coordinate("e", locked=True),))
    assert reserve_torques(driven) == {}
    assert reserve_torques(mq.Model(mq.load_model("two_link").system)) == {}
    with pytest.raises(ValueError, match="strength must be positive, not 0"):
        reserve_torques(model, 0.0)
