"""Properties that OpenSim does not write since they have its defaults: `printToXML` leaves them out."""

import numpy as np
import pytest

import myoquat as mq
from myoquat.dynamics import forward_dynamics

MADE = """
model = opensim.Model()
model.setName("made")
ground = model.getGround()
rod = opensim.Body("rod", 2.0, opensim.Vec3(0.1, -0.2, 0.0), opensim.Inertia(1.0, 1.0, 1.0))
model.addBody(rod)
transform = opensim.SpatialTransform()
transform.updTransformAxis(0).setCoordinateNames(opensim.ArrayStr("turn", 1))
functions = opensim.LinearFunction(), opensim.Constant()  # of the transform from now on
for axis, function in zip((0, 3), functions):
    function.thisown = False
    transform.updTransformAxis(axis).setFunction(function)
model.addJoint(opensim.CustomJoint("joint", ground, rod, transform))
for name, surface in (("ball", opensim.WrapSphere()), ("egg", opensim.WrapEllipsoid())):
    surface.thisown = False
    surface.setName(name)
    rod.addWrapObject(surface)
push = opensim.PrescribedForce("push", rod)
push.setForceFunctions(opensim.Constant(), opensim.LinearFunction(), opensim.Sine())
push.setPointFunctions(opensim.Constant(), opensim.Constant(0.3), opensim.StepFunction())
model.addForce(push)
for name in ("ball", "egg"):
    muscle = opensim.Thelen2003Muscle(name + "_muscle", 100.0, 0.1, 0.2, 0.0)
    muscle.addNewPathPoint("first", ground, opensim.Vec3(-0.2, 0.01, 0.01))
    muscle.addNewPathPoint("last", rod, opensim.Vec3(0.2, -0.02, 0.02))
    muscle.updGeometryPath().addPathWrap(rod.getWrapObject(name))
    model.addForce(muscle)
model.finalizeConnections()
model.printToXML(arguments[0])
model = opensim.Model(arguments[0])
state = model.initSystem()
turn = model.getCoordinateSet().get(0)
answer = []
for x in arguments[1]:
    turn.setValue(state, x)
    turn.setSpeedValue(state, 0.5)
    for k in range(2):
        model.getMuscles().get(k).setAppliesForce(state, False)
    model.realizeAcceleration(state)
    answer.append([turn.getAccelerationValue(state), *(model.getMuscles().get(k).getLength(state) for k in range(2))])
"""


@pytest.mark.peers
def test_a_scripted_model_reads_as_opensim_reads_it(tmp_path, in_opensim):
    q = np.array([-0.5, 0.1, 0.6])
    path = tmp_path / "made.osim"
    theirs = np.array(in_opensim(MADE, path, q))
    assert "<radius>" not in path.read_text()
    model = mq.load_model(path, strict=True)
    torque = mq.muscle.limit_torques(model, q[:, None], np.full((3, 1), 0.5), np.zeros(3))
    udot = forward_dynamics(model, q[:, None], np.full((3, 1), 0.5), torque)[:, 0]
    np.testing.assert_allclose(udot, theirs[:, 0], rtol=1e-10)
    np.testing.assert_allclose(mq.path_lengths(model, q[:, None]), theirs[:, 1:], atol=1e-4)
