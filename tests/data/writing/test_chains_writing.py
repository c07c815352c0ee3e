"""Ball joints that frames follow, written as the chain of bodies that an OpenSim file had in their place."""

from dataclasses import replace

import numpy as np
import pytest

import myoquat as mq
from myoquat.joints import CustomJoint, convert_coordinates, rotation_matrix
from myoquat.joints.conversion.chains import with_chains_restored
from myoquat.joints.errors import ModelError
from myoquat.joints.types import Turn
from myoquat.muscle.laws import PathActuator
from tests.joints.phantom_arm import arm, states

TURNED = (0.5, 0.5, -0.5, 0.5)
POSES = """
model = opensim.Model(arguments[0])
state = model.initSystem()
bodies = [model.getBodySet().get(name) for name in arguments[3]]
names, answer = arguments[2], []
for q in arguments[1]:
    for name, x in zip(names, q):
        model.getCoordinateSet().get(name).setValue(state, x, False)
    model.realizePosition(state)
    frames = [body.getTransformInGround(state) for body in bodies]
    answer.append([[[f.R().get(i, j) for j in range(3)] + [f.p().get(i)] for i in range(3)] for f in frames])
"""


@pytest.fixture(params=[False, True], ids=["straight", "turned frames"])
def pair(request):
    """The arm in its file's angles, and with a quaternion; its frames turned against each other, or not."""
    model = arm(0.05)
    model = replace(model, muscles=tuple(replace(muscle, law=PathActuator(10.0)) for muscle in model.muscles[:2]))
    if request.param:
        system = model.system
        R = rotation_matrix(np.array(TURNED))
        axial = system.bodies[3].joint.rotations[0]
        joint = CustomJoint(("axial",), (replace(axial, direction=tuple(R.T @ np.array(axial.direction))),))
        system = system.with_body("ghost2", orientation=TURNED).with_body("arm", orientation=TURNED, joint=joint)
        model = replace(model, system=system)
    return model, model.with_rotations("quaternion")


def test_a_chain_is_read_as_it_was(pair, tmp_path, rng):
    model, ball = pair
    assert ball.system.nq == model.system.nq
    ball.save(tmp_path / "arm.osim")
    back = mq.load_model(tmp_path / "arm.osim")
    assert back.system.coordinate_names == model.system.coordinate_names
    assert {(c.dependent, c.independent) for c in back.couplers} == {("back", "plane"), ("glide", "elev")}
    q, _, _ = states(model, 6, rng)
    np.testing.assert_allclose(mq.path_lengths(back, q), mq.path_lengths(model, q), atol=1e-14)
    np.testing.assert_allclose(mq.mass_matrix(back, q), mq.mass_matrix(model, q), atol=1e-13)
    np.testing.assert_allclose(back.start, convert_coordinates(ball.system, model.system, ball.start), atol=1e-14)


@pytest.mark.peers
def test_opensim_moves_the_chain_as_the_ball_joint(pair, tmp_path, rng, in_opensim):
    model, ball = pair
    ball.save(tmp_path / "arm.osim")
    q, _, _ = states(model, 4, rng)
    q[:, 2] = rng.uniform(0.3, 0.6, 4)  # on this side of the lock, turned frames too
    names = model.system.body_names
    theirs = np.array(in_opensim(POSES, tmp_path / "arm.osim", q, model.system.coordinate_names, names))
    poses = ball.system.poses(convert_coordinates(model.system, ball.system, q))
    for k, name in enumerate(names):
        np.testing.assert_allclose(theirs[:, k, :, :3], poses[name][0], atol=1e-12)
        np.testing.assert_allclose(theirs[:, k, :, 3], np.broadcast_to(poses[name][1], (4, 3)), atol=1e-12)


def test_a_frame_off_the_joint_s_rotations_is_rejected():
    system = arm().with_rotations("quaternion").system
    ghost = system.bodies[1]
    other = replace(ghost.joint, turns=(Turn((1.0, 0.0, 0.0), row=(1.0, 0.0, 0.0)),))
    with pytest.raises(ModelError, match="'ghost1': it follows other rotations than the frames after it"):
        with_chains_restored(system.with_body("ghost1", joint=other))
    last = replace(system.bodies[2].joint, turns=other.turns)
    alone = tuple(body for body in system.bodies if body.name != "ghost1")
    with pytest.raises(ModelError, match="'ghost2': it follows other rotations than those of the joint"):
        with_chains_restored(replace(system, bodies=alone).with_body("ghost2", joint=last))
