"""Controllers that prescribe controls: read, obeyed as OpenSim obeys them, written again, refused with their line."""

import dataclasses
import re
from dataclasses import replace

import numpy as np
import pytest

import myoquat as mq
from myoquat.joints.errors import ModelError
from myoquat.joints.functions import (
    Constant,
    Linear,
    Multiplier,
    NaturalSpline,
    PiecewiseConstant,
    PiecewiseLinear,
    Sine,
    SmoothStep,
)
from myoquat.muscle import Muscle, PathPoint, PrescribedInput
from myoquat.muscle.actuators import BodyActuator, CoordinateActuator
from tests.bodies import on_slide
from tests.data.tables import changed, rejected, reported

POINTS = """<GeometryPath><PathPointSet><objects>
<PathPoint name="a"><socket_parent_frame>/ground</socket_parent_frame><location>{} 0 0</location></PathPoint>
<PathPoint name="b"><socket_parent_frame>/bodyset/block</socket_parent_frame><location>0 0 0</location></PathPoint>
</objects></PathPointSet></GeometryPath><max_isometric_force>300</max_isometric_force>
<optimal_fiber_length>0.2</optimal_fiber_length><tendon_slack_length>0.1</tendon_slack_length>
<ignore_tendon_compliance>true</ignore_tendon_compliance>"""
TUG = """<OpenSimDocument Version="{}"><Model name="{}"><gravity>0 0 0</gravity>
<ControllerSet><objects>{}</objects></ControllerSet><BodySet><objects>
<Body name="block"><mass>20</mass><mass_center>0 0 0</mass_center><inertia>1 1 1 0 0 0</inertia></Body>
</objects></BodySet><JointSet><objects><SliderJoint name="slider"><socket_parent_frame>/ground</socket_parent_frame>
<socket_child_frame>/bodyset/block</socket_child_frame><coordinates><Coordinate name="x"/></coordinates></SliderJoint>
</objects></JointSet><ForceSet><objects>{}</objects></ForceSet></Model></OpenSimDocument>"""
FILE = TUG.format(
    "40000",
    "tug",
    """
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
""",
    f"""
<Millard2012EquilibriumMuscle name="left">{POINTS.format(-0.3)}<default_activation>0.05</default_activation>
</Millard2012EquilibriumMuscle>
<Millard2012EquilibriumMuscle name="right">{POINTS.format(0.3)}<default_activation>0.3</default_activation>
</Millard2012EquilibriumMuscle>
<CoordinateActuator name="motor"><coordinate>x</coordinate><optimal_force>40</optimal_force></CoordinateActuator>
""",
)
SMOOTHED = """<GCVSpline><half_order>2</half_order><error_variance>0.1</error_variance><x>0 1 2 3</x><y>0 1 0 1</y>
</GCVSpline>"""
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


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return mq.load_model(changed(tmp_path_factory.mktemp("tug") / "tug.osim", FILE, "", "", 0))


def test_functions_go_to_the_actuators_in_their_order(model):
    assert model.inputs == INPUTS


@pytest.mark.peers
def test_a_simulation_obeys_them_as_opensim_does(model, in_opensim):
    """Activations start as the file says."""
    motion = mq.simulate(model, duration=0.5, step=1e-3, output_step=0.5)
    found = [motion.q[-1, 0], motion.u[-1, 0], *motion.activation[-1]]
    np.testing.assert_allclose(found, in_opensim(OPENSIM, model.file), rtol=2e-6)


def test_what_a_call_gives_counts_instead(model):
    motion = mq.simulate(model, duration=0.01, excitation=[0.5, 0.5], controls=[0.1])
    np.testing.assert_array_equal(motion.excitation, 0.5)
    np.testing.assert_array_equal(motion.controls, 0.1)


def test_a_further_function_of_an_actuator_has_a_controller_of_its_own(model, tmp_path):
    model.save(tmp_path / "again.osim")
    text = (tmp_path / "again.osim").read_text()
    assert re.findall("<actuator_list>(.*)</actuator_list>", text) == ["left motor right", "motor"]


test_what_cannot_be_is_refused_with_its_line = rejected(
    FILE, "tug.osim",
    ("<actuator_list>left motor", "<actuator_list>left", "2 functions for 1 actuators"),
    ("<actuator_list>left motor", "<actuator_list>left rotor", "names 'rotor', which is no force"),
    ("<x>0 0.1 0.3 1</x>", "<x>0 0.1 0.3</x>", "as many x as y"),
)  # fmt: skip


test_what_is_not_obeyed_is_reported = reported(
    FILE, "tug.osim",
    ("<actuator_list>left motor<", "<enabled>false</enabled><actuator_list>left motor<", "enabled is false"),
    ("<LinearFunction>", "<Wave/><LinearFunction>", "a function that is not known"),
    ("<LinearFunction>", f"{SMOOTHED}<LinearFunction>", "a function that is not known"),
    ("<actuator_list>left", "<controls_file>c.sto</controls_file><actuator_list>left", "no file c.sto"),
    holds=lambda model: model.inputs == INPUTS[2:],
)  # fmt: skip


def test_a_model_names_what_it_has():
    model = mq.load_model("two_link")
    with pytest.raises(ModelError, match="input 'm9': no muscle and no control has this name"):
        mq.Model(model.system, model.muscles, inputs=(PrescribedInput("m9", Constant(0.5)),))
    sled = mq.ArticulatedSystem((on_slide("sled", "x", "m1"),))
    twice, path = (CoordinateActuator("m1", "m1"),), (PathPoint("ground", (1, 0, 0)), PathPoint("sled", (0, 0, 0)))
    with pytest.raises(ModelError, match="input 'm1': both a muscle and a control have this name"):
        mq.Model(sled, (Muscle("m1", path),), actuators=twice, inputs=(PrescribedInput("m1", Constant(0.5)),))


def test_one_of_several_controls_of_an_actuator_is_not_written(tmp_path):
    """OpenSim 4.6 refuses such a file: "number of control functions does not match the number of actuators"."""
    sled = on_slide("sled")
    ramp = (PrescribedInput("push.force_x", Linear(2.0)),)
    model = mq.Model(mq.ArticulatedSystem((sled,)), actuators=(BodyActuator("push", "sled"),), inputs=ramp)
    with pytest.raises(ModelError, match=r"input 'push.force_x': OpenSim prescribes actuators that have one control"):
        model.save(tmp_path / "sled.osim")


def test_what_no_function_names_is_zero(model):
    motion = mq.simulate(replace(model, inputs=INPUTS[:1]), duration=0.01)
    np.testing.assert_array_equal(motion.excitation[:, 1], 0.0)
    np.testing.assert_array_equal(motion.controls, 0.0)


# ---- functions of every type, and tables -------------------------------------------------------------------

X, Y = (0.0, 0.11, 0.2, 0.35, 0.5, 0.7), (0.2, -0.3, 0.8, 0.1, -0.5, 0.4)
POINTS_XY = f"<x>{' '.join(map(str, X))}</x><y>{' '.join(map(str, Y))}</y>"
KINDS = {
    f"<PiecewiseConstantFunction>{POINTS_XY}</PiecewiseConstantFunction>": PiecewiseConstant(X, Y),
    f"<GCVSpline><half_order>2</half_order>{POINTS_XY}</GCVSpline>": NaturalSpline(X, Y),
    f"<GCVSpline><half_order>3</half_order>{POINTS_XY}</GCVSpline>": NaturalSpline(X, Y, degree=5),
    """<StepFunction><transition_start_time>0.1</transition_start_time><transition_end_time>0.3</transition_end_time>
    <start_value>0.5</start_value><end_value>-1</end_value></StepFunction>""": SmoothStep(0.1, 0.3, 0.5, -1.0),
    "<Sine><amplitude>0.7</amplitude><omega>9</omega><phase>0.4</phase><offset>0.1</offset></Sine>": Sine(
        0.7, 9.0, 0.4, 0.1
    ),
    "<MultiplierFunction><function><Sine/></function><scale>0.3</scale></MultiplierFunction>": Multiplier(Sine(), 0.3),
}
MOTOR = '<CoordinateActuator name="{}"><coordinate>x</coordinate><optimal_force>{}</optimal_force></CoordinateActuator>'
CONTROLLER = """<PrescribedController name="c{}"><socket_actuators>{}</socket_actuators>
<FunctionSet name="ControlFunctions"><objects>{}</objects></FunctionSet>{}</PrescribedController>"""
RAN = """
model = opensim.Model(arguments[0])
state = model.initSystem()
manager = opensim.Manager(model)
manager.setIntegratorAccuracy(1e-10)
manager.initialize(state)
answer = []
for time in arguments[1]:
    end = manager.integrate(time)
    x = model.getCoordinateSet().get(0)
    answer.append([x.getValue(end), x.getSpeedValue(end)])
"""


@pytest.fixture(scope="module")
def sled(tmp_path_factory):
    """A motor for each type of function, of strengths that nothing hides behind another, and two tables."""
    folder = tmp_path_factory.mktemp("sled")
    rows = "\n".join(f"{x}\t{y}\t{-y}" for x, y in zip(X, Y, strict=True))
    table = folder / "controls.sto"
    table.write_text(f"controls\nversion=1\nnRows=6\nnColumns=3\nendheader\ntime\ttable\t/forceset/other\n{rows}\n")
    names = [f"motor{k}" for k in range(len(KINDS))]
    given = [CONTROLLER.format("", "/forceset/" + " /forceset/".join(names), "".join(KINDS), "")]
    given += [
        CONTROLLER.format(
            k, "", "", f"<controls_file>{table}</controls_file><interpolation_method>{k}</interpolation_method>"
        )
        for k in (0, 1, 3)
    ]
    motors = [MOTOR.format(name, 10 * 1.3**k) for k, name in enumerate([*names, "table", "other"])]
    (folder / "sled.osim").write_text(TUG.format("40600", "sled", "".join(given), "".join(motors)))
    return mq.load_model(folder / "sled.osim")


def contents(given):
    """What tells inputs apart: the words for a function do not."""
    return given.name, type(given.function).__name__, str(dataclasses.astuple(given.function))


def test_functions_of_every_type_and_tables_are_read(sled, tmp_path):
    names = [f"motor{k}" for k in range(len(KINDS))]
    want = [PrescribedInput(name, function) for name, function in zip(names, KINDS.values(), strict=True)]
    less = tuple(-y for y in Y)
    for columns in (PiecewiseConstant(X, Y), PiecewiseConstant(X, less)), (
        NaturalSpline(X, Y, 1), NaturalSpline(X, less, 1)), (NaturalSpline(X, Y), NaturalSpline(X, less)):  # fmt: skip
        want += map(PrescribedInput, ("table", "other"), columns)
    assert list(sled.inputs) == want
    for suffix in (".osim", ".toml"):
        sled.save(tmp_path / f"again{suffix}")
        again = mq.load_model(tmp_path / f"again{suffix}").inputs
        assert sorted(again, key=contents) == sorted(want, key=contents)


@pytest.mark.peers
@pytest.mark.parametrize(("options", "close"), [({"method": "dop853", "rtol": 1e-10}, 1e-7), ({"step": 1e-4}, 1e-4)])
def test_a_simulation_follows_functions_of_every_type_as_opensim_does(sled, in_opensim, options, close):
    """Stairs make fixed steps less exact."""
    motion = mq.simulate(sled, [0.0], [0.0], duration=0.6, output_step=0.1, **options)
    theirs = in_opensim(RAN, sled.file, motion.time[1:])
    np.testing.assert_allclose(np.column_stack([motion.q, motion.u])[1:], theirs, atol=close)


def test_columns_of_a_table_name_actuators(sled, tmp_path):
    """A table without a name of the model is refused."""
    text = sled.file.read_text().replace("controls.sto", "others.sto")
    (sled.file.parent / "others.sto").write_text("nRows=1\nnColumns=2\nendheader\ntime\tpush\n0\t1\n")
    (tmp_path / "sled.osim").write_text(text)
    with pytest.raises(ModelError, match="'push', which is no force of the model"):
        mq.load_model(tmp_path / "sled.osim")
