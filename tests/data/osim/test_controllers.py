"""Controllers that prescribe controls: read, obeyed as OpenSim obeys them, written again, refused with their line."""

from dataclasses import replace

import numpy as np
import pytest

import myoquat as mq
from myoquat.joints.errors import ModelError
from myoquat.joints.functions import Constant, Linear, PiecewiseLinear
from myoquat.muscle import PrescribedInput

POINTS = """<GeometryPath><PathPointSet><objects>
<PathPoint name="a"><socket_parent_frame>/ground</socket_parent_frame><location>{} 0 0</location></PathPoint>
<PathPoint name="b"><socket_parent_frame>/bodyset/block</socket_parent_frame><location>0 0 0</location></PathPoint>
</objects></PathPointSet></GeometryPath><max_isometric_force>300</max_isometric_force>
<optimal_fiber_length>0.2</optimal_fiber_length><tendon_slack_length>0.1</tendon_slack_length>
<ignore_tendon_compliance>true</ignore_tendon_compliance>"""
FILE = f"""<OpenSimDocument Version="40000"><Model name="tug"><gravity>0 0 0</gravity>
<ControllerSet><objects>
<PrescribedController name="pull">
<actuator_list>left motor</actuator_list>
<FunctionSet name="ControlFunctions"><objects>
<LinearFunction><coefficients>1 0.2</coefficients></LinearFunction>
<PiecewiseLinearFunction><x>0 0.1 0.3 1</x><y>0 1 -1 0</y></PiecewiseLinearFunction></objects></FunctionSet>
</PrescribedController>
<PrescribedController name="more"><actuator_list>motor right</actuator_list>
<FunctionSet name="ControlFunctions"><objects>
<Constant><value>0.25</value></Constant><Constant><value>0.1</value></Constant></objects></FunctionSet>
</PrescribedController>
</objects></ControllerSet><BodySet><objects>
<Body name="block"><mass>20</mass><mass_center>0 0 0</mass_center><inertia>1 1 1 0 0 0</inertia></Body>
</objects></BodySet><JointSet><objects><SliderJoint name="slider"><socket_parent_frame>/ground</socket_parent_frame>
<socket_child_frame>/bodyset/block</socket_child_frame><coordinates><Coordinate name="x"/></coordinates></SliderJoint>
</objects></JointSet><ForceSet><objects>
<Millard2012EquilibriumMuscle name="left">{POINTS.format(-0.3)}<default_activation>0.05</default_activation>
</Millard2012EquilibriumMuscle>
<Millard2012EquilibriumMuscle name="right">{POINTS.format(0.3)}<default_activation>0.3</default_activation>
</Millard2012EquilibriumMuscle>
<CoordinateActuator name="motor"><coordinate>x</coordinate><optimal_force>40</optimal_force></CoordinateActuator>
</objects></ForceSet></Model></OpenSimDocument>"""
INPUTS = (
    PrescribedInput("left", Linear(1.0, 0.2)),
    PrescribedInput("motor", PiecewiseLinear((0.0, 0.1, 0.3, 1.0), (0.0, 1.0, -1.0, 0.0))),
    PrescribedInput("motor", Constant(0.25)),
    PrescribedInput("right", Constant(0.1)),
)
OPENSIM = """
model = opensim.Model(arguments[0])
state = model.initSystem()
manager = opensim.Manager(model)
manager.setIntegratorAccuracy(1e-9)
manager.initialize(state)
end = manager.integrate(0.5)
x = model.getCoordinateSet().get(0)
muscles = [opensim.Muscle.safeDownCast(model.getForceSet().get(name)) for name in ("left", "right")]
answer = [x.getValue(end), x.getSpeedValue(end), *(m.getActivation(end) for m in muscles)]
"""


def write(folder, *changes):
    text = FILE
    for was, now in changes:
        assert was in text
        text = text.replace(was, now)
    (folder / "tug.osim").write_text(text)
    return folder / "tug.osim"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return mq.load_model(write(tmp_path_factory.mktemp("tug")))


def test_functions_go_to_the_actuators_in_their_order(model):
    assert model.inputs == INPUTS


@pytest.mark.parametrize("suffix", [".osim", ".toml"])
def test_what_is_read_is_written_again(model, tmp_path, suffix):
    model.save(tmp_path / f"again{suffix}")
    again = mq.load_model(tmp_path / f"again{suffix}").inputs
    assert sorted(again, key=repr) == sorted(INPUTS, key=repr)


@pytest.mark.peers
def test_a_simulation_obeys_them_as_opensim_does(model, in_opensim):
    """Activations start as the file says."""
    motion = mq.simulate(model, duration=0.5, step=1e-3, output_step=0.5)
    found = [motion.q[-1, 0], motion.u[-1, 0], *motion.activation[-1]]
    np.testing.assert_allclose(found, in_opensim(OPENSIM, str(model.file)), rtol=2e-6)


def test_what_a_call_gives_counts_instead(model):
    motion = mq.simulate(model, duration=0.01, excitation=[0.5, 0.5], controls=[0.1])
    np.testing.assert_array_equal(motion.excitation, 0.5)
    np.testing.assert_array_equal(motion.controls, 0.1)


@pytest.mark.parametrize(
    ("was", "now", "message"),
    [
        ("<actuator_list>left motor", "<actuator_list>left", "2 functions for 1 actuators"),
        ("<actuator_list>left motor", "<actuator_list>left rotor", "names 'rotor', which is no force"),
        ("<x>0 0.1 0.3 1</x>", "<x>0 0.1 0.3</x>", "as many x as y"),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(tmp_path, was, now, message):
    with pytest.raises(ModelError, match=message) as error:
        mq.load_model(write(tmp_path, (was, now)))
    assert 2 <= error.value.line <= 12


@pytest.mark.parametrize(
    ("was", "now", "told"),
    [
        ("<actuator_list>left motor<", "<enabled>false</enabled><actuator_list>left motor<", "enabled is false"),
        ("<LinearFunction>", "<Sine/><LinearFunction>", "a function that is not known"),
        ("<actuator_list>left", "<controls_file>c.sto</controls_file><actuator_list>left", "controls in another file"),
    ],
)
def test_what_is_not_obeyed_is_told(tmp_path, was, now, told):
    with pytest.warns(mq.data.UnsupportedWarning, match=told):
        assert mq.load_model(write(tmp_path, (was, now))).inputs == INPUTS[2:]


def test_a_model_names_what_it_has():
    model = mq.load_model("two_link")
    with pytest.raises(ModelError, match="input 'm9': there is no muscle and no control"):
        mq.Model(model.system, model.muscles, inputs=(PrescribedInput("m9", Constant(0.5)),))


def test_what_no_function_names_is_zero(model):
    motion = mq.simulate(replace(model, inputs=INPUTS[:1]), duration=0.01)
    np.testing.assert_array_equal(motion.excitation[:, 1], 0.0)
    np.testing.assert_array_equal(motion.controls, 0.0)
