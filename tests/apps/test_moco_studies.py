"""Problems of OpenSim Moco, .omoco: what is read, what is reported, and the optimum beside Moco's own."""

import dataclasses
import re
import shutil

import numpy as np
import pandas as pd
import pytest

import myoquat as mq
from myoquat.analysis.control import (
    BoundaryConstraint,
    Gauss,
    HermiteSimpson,
    Ipopt,
    PathConstraint,
    Radau,
    Trapezoid,
    load_moco_trajectory,
    moco_trajectory,
)
from myoquat.apps.command import main
from myoquat.apps.moco import load_moco_study
from myoquat.apps.moco.models import Reading
from myoquat.apps.opensim_tools import run_setup
from myoquat.data import UnsupportedWarning
from myoquat.data.omoco import matching, read_moco
from myoquat.data.reports import UnsupportedElements
from myoquat.joints.errors import ModelError
from myoquat.muscle import ActivationDynamics, PathPoint
from myoquat.muscle.actuators import CoordinateActuator
from myoquat.muscle.coordinates import Coordinate, Coupler, Marker
from myoquat.muscle.laws import DeGrooteFregly2016, Millard2012, PathActuator
from tests.bodies import on_hinge, on_slide

STUDY = """<OpenSimDocument Version="40600"><MocoStudy name="slide"><MocoProblem>
<MocoPhase name="phases">
<ModelProcessor name="model"><filepath>slide.osim</filepath><operators>{operators}</operators></ModelProcessor>
<MocoInitialBounds name="time_initial_bounds"><bounds>{start}</bounds></MocoInitialBounds>
<MocoFinalBounds name="time_final_bounds"><bounds>{end}</bounds></MocoFinalBounds>
<state_infos>{states}</state_infos>
<control_infos_pattern><MocoVariableInfo name=".*"><bounds>-50 50</bounds></MocoVariableInfo></control_infos_pattern>
<parameters>{parameters}</parameters><goals>{goals}</goals><path_constraints>{paths}</path_constraints>
</MocoPhase></MocoProblem><MocoCasADiSolver name="solver">{solver}</MocoCasADiSolver></MocoStudy></OpenSimDocument>"""
STATES = """<MocoVariableInfo name="/jointset/slider/x/value"><bounds>-5 5</bounds><initial_bounds>0</initial_bounds>
<final_bounds>1</final_bounds></MocoVariableInfo>
<MocoVariableInfo name="/jointset/slider/x/speed"><bounds>-50 50</bounds>
<initial_bounds>0</initial_bounds><final_bounds>0</final_bounds></MocoVariableInfo>"""
FAST = """<MocoFinalTimeGoal name="time"/><MocoControlGoal name="effort"><weight>0.5</weight></MocoControlGoal>"""
MASS = """<MocoParameter name="mass"><MocoBounds><bounds>1 3</bounds></MocoBounds><component_paths>/bodyset/block
</component_paths><property_name>mass</property_name></MocoParameter>"""
REFERENCE = """<TableProcessor name="reference"><filepath>way.sto</filepath><operators/></TableProcessor>"""
FEW = """<num_mesh_intervals>5</num_mesh_intervals><optim_convergence_tolerance>1e-6</optim_convergence_tolerance>
<parallel>0</parallel>"""
DEFAULTS = {
    "operators": "", "start": "0", "end": "0 5", "states": STATES, "parameters": "", "goals": FAST, "paths": "",
    "solver": "<num_mesh_intervals>10</num_mesh_intervals>",
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The file of a mass of 2 kg on a slider with a motor, and that of a way of it."""
    place = tmp_path_factory.mktemp("moco")
    block = on_slide("block", "x", "x", mass=2.0, joint_name="slider")
    system = mq.ArticulatedSystem((block,), gravity=(0.0, 0.0, 0.0))
    marker = Marker("tip", "block", (0.0, 0.1, 0.0))
    motor = CoordinateActuator("motor", "x", optimal_force=1.0, lower=-50.0, upper=50.0)
    mq.Model(system, actuators=(motor,), markers=(marker,)).save(place / "slide.osim")
    time = np.linspace(0.0, 1.0, 21)
    table = mq.data.motion_from_states(system, time, np.sin(time)[:, None])
    mq.data.save_table(table.rename(columns={"x": "/jointset/slider/x/value"}), place / "way.sto")
    mq.data.save_table(0 * table.rename(columns={"x": "/jointset/slider/x/speed"}), place / "still.sto")
    return place


def read(folder, text, strict=True, name="study", **options):
    path = folder / f"{name}.omoco"
    path.write_text(text)
    return load_moco_study(path, strict, **options)


@pytest.fixture
def study(folder):
    """Writes a study with these parts, and reads it."""
    return lambda strict=True, **parts: read(folder, STUDY.format(**DEFAULTS | parts), strict)


def test_a_study_has_the_optimum_by_hand(study):
    """A mass m goes 1 m from rest to rest: T + 6 m^2 / T^3 is least at T^4 = 18 m^2, with the lightest mass, 1 kg."""
    found = study(parameters=MASS)
    solution = found.solve()
    assert found.name == "slide"
    assert not found.left_out
    assert solution.success
    assert solution.duration == pytest.approx(18.0**0.25, rel=1e-5)
    assert solution.parameters["bodies.block.mass"] == pytest.approx(1.0, abs=1e-6)
    assert solution.goals == pytest.approx({"time": 18.0**0.25, "effort": 6 / 18.0**0.75}, rel=1e-4)


def test_the_command_solves_a_study_and_writes_its_solution(study, folder, capsys):
    """Beside the file, as Moco names it; a model belongs to the file itself."""
    study()
    assert not main(["run", str(folder / "study.omoco"), "--report", str(folder / "study.html")])
    assert "Moco 'slide'" in capsys.readouterr().out
    solution = load_moco_trajectory(folder / "slide_solution.sto")
    assert solution.header["status"] == "solved"
    assert solution.states["/jointset/slider/x/value"][-1] == pytest.approx(1.0)
    assert "slide" in (folder / "study.html").read_text()
    with pytest.raises(ValueError, match="a problem of Moco names its model itself"):
        run_setup(folder / "study.omoco", model=folder / "slide.osim")


def test_settings_of_the_solver(study):
    """Where Moco leaves a tolerance to IPOPT it is IPOPT's own."""
    found = study()
    assert found.solver == Ipopt(1e-8, 1e-4, 3000, "limited-memory")
    assert found.problem.method == HermiteSimpson(linear_controls=True)
    tags = {"optim_convergence_tolerance": 1e-3, "optim_max_iterations": 7, "optim_hessian_approximation": "exact",
            "transcription_scheme": "legendre-gauss-radau-4", "mesh": "0 0.25 1"}  # fmt: skip
    other = study(solver="".join(f"<{tag}>{value}</{tag}>" for tag, value in tags.items()))
    assert other.solver == Ipopt(1e-3, 1e-4, 7, "exact")
    assert other.problem.method == Radau(4, linear_controls=True)
    assert other.problem.mesh.tolist() == [0.0, 0.25, 1.0]
    for scheme, method in (("legendre-gauss-2", Gauss(2, linear_controls=True)), ("trapezoidal", Trapezoid())):
        assert study(solver=f"<transcription_scheme>{scheme}</transcription_scheme>").problem.method == method


def test_goals_of_the_ends_are_constraints_or_costs(study):
    """A periodic motion with a change of sign, an average speed, and a marker at the end."""
    pair = (
        "<{0}><MocoPeriodicityGoalPair><initial_variable>{1}</initial_variable><final_variable>{1}</final_variable>{2}\
    </MocoPeriodicityGoalPair></{0}>"
    )
    states = pair.format("state_pairs", "/jointset/slider/x/speed", "<negate>true</negate>")
    controls = pair.format("control_pairs", "/forceset/motor", "")
    goals = f"""<MocoPeriodicityGoal name="periodic">{states}{controls}</MocoPeriodicityGoal>
    <MocoAverageSpeedGoal name="speed"><desired_average_speed>1.5</desired_average_speed></MocoAverageSpeedGoal>
    <MocoAverageSpeedGoal name="slow"><mode>cost</mode><weight>2</weight></MocoAverageSpeedGoal>
    <MocoMarkerFinalGoal name="there"><point_name>/markerset/tip</point_name>
    <reference_location>1 0.1 0</reference_location></MocoMarkerFinalGoal>"""
    problem = study(goals=goals, states="", end="2").problem
    periodic, speed = problem.constraints
    assert all(isinstance(c, BoundaryConstraint) for c in (periodic, speed))
    assert [name for *_, name in periodic.formula.pairs] == [-1.0, 1.0]
    values = problem.goal_values({"x": [0.0, 3.0], "x_dot": [1.0, -1.0]})
    assert values == pytest.approx({"slow": 2 * 1.5**2, "there": 4.0})


def test_path_constraints_become_those_of_a_problem(study):
    bounds = "<lower_bound><Constant><value>-1</value></Constant></lower_bound>"
    paths = f"""<MocoControlBoundConstraint name="weak"><control_paths>/forceset/motor</control_paths>{bounds}
    </MocoControlBoundConstraint><MocoFrameDistanceConstraint name="near"><frame_pairs><MocoFrameDistanceConstraintPair>
    <frame1_path>/bodyset/block</frame1_path><frame2_path>/ground</frame2_path><minimum_distance>0.1</minimum_distance>
    <maximum_distance>5</maximum_distance></MocoFrameDistanceConstraintPair></frame_pairs></MocoFrameDistanceConstraint>"""
    weak, near = study(paths=paths).problem.constraints
    assert all(isinstance(c, PathConstraint) for c in (weak, near))
    assert (weak.lower, weak.upper) == ((-1.0,), (np.inf,))
    assert near.interval.ravel() == pytest.approx([0.01, 25.0])
    for number in ("1e200", "1_5", "nan"):  # the square of the first overflows, Python reads the second as 15
        with pytest.raises(ModelError, match=r"<maximum_distance> must be 0 to 2 finite numbers.* or Inf, not"):
            study(paths=paths.replace(">5<", f">{number}<"))


def test_what_has_no_equal_is_reported(study):
    """With the line, or as an error; nothing is left out in silence."""
    goals = (
        FAST
        + "\n<MocoOutputGoal name='power'/>\n<MocoFinalTimeGoal name='twice'><divide_by_displacement>true\
    </divide_by_displacement></MocoFinalTimeGoal>"
    )
    with pytest.warns(UnsupportedWarning, match=r"1 MocoOutputGoal \(goal\), line 12"):
        found = study(strict=False, goals=goals, start="0 1")
    assert len(found.left_out) == 3
    assert any("a free initial time, taken as 0 s" in line for line in found.left_out)
    with pytest.raises(ModelError, match="its division by the displacement"):
        study(goals=goals)


EMPTY = '<TableProcessor name="reference"></TableProcessor>'
STILL = """<scale_weights_with_range>true</scale_weights_with_range><TableProcessor name="reference">
<filepath>still.sto</filepath><operators/></TableProcessor>"""
BROKEN = {
    "operator": ({"operators": "<ModOpReplaceMuscles/>"}, "has no equal here; known: ModOpAdd"),
    "state": ({"states": '<MocoVariableInfo name="/jointset/slider/y/value"/>'}, "no state '/jointset/slider/y/value'"),
    "bounds": ({"end": "0 1 2"}, "<bounds> must be 0 to 2 finite numbers or Inf, not"),
    "time": ({"end": ""}, "<time_final_bounds> has no bounds"),
    "transcription": ({"solver": "<transcription_scheme>euler</transcription_scheme>"}, "'euler' is not known"),
    "table in memory": ({"goals": f'<MocoStateTrackingGoal name="way">{EMPTY}</MocoStateTrackingGoal>'},
                        'name the file in <TableProcessor name="reference"><filepath>'),
    "markers in memory": ({"goals": '<MocoMarkerTrackingGoal name="way"/>'}, "name the file in <MarkersReference"),
    "loads in memory": ({"goals": '<MocoContactTrackingGoal name="push"/>'}, "neither <external_loads_file> nor"),
    "constant column": ({"goals": f'<MocoStateTrackingGoal name="way">{STILL}</MocoStateTrackingGoal>'},
                        "'/jointset/slider/x/speed' is constant, so its range cannot divide its weight"),
    "no number": ({"solver": "<optim_max_iterations>many</optim_max_iterations>"}, "<optim_max_iterations>"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_rejected_with_the_line(study, name):
    parts, words = BROKEN[name]
    with pytest.raises(ModelError, match=re.escape(words)) as caught:
        study(**parts)
    assert caught.value.file.name == "study.omoco"
    assert caught.value.line


def test_other_documents_are_rejected(folder):
    with pytest.raises(ModelError, match="one of MocoStudy, MocoTrack, MocoInverse is wanted, not <ScaleTool>"):
        read(folder, '<OpenSimDocument Version="40600"><ScaleTool/></OpenSimDocument>')
    with pytest.raises(ModelError, match="no such file"):
        load_moco_study(folder / "none.omoco")


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(x+)+y", "may take too long"),
        ("(x|x)*y", "may take too long"),
        (".*" * 12 + "y", "may take too long"),
        ("x?" * 40 + "x" * 40, "may take too long"),
        ("(", "no regular expression"),
        ("x{99999999999}", "no regular expression"),
        ("(" * 5000 + ")" * 5000, "no regular expression"),
    ],
)
def test_patterns_of_a_file_are_matched_in_a_limited_time(folder, study, pattern, message):
    """Some would take years: the number of ways to match grows exponentially."""
    with pytest.raises(ModelError, match=message) as caught:
        study(goals=f'<MocoSumSquaredStateGoal name="still"><pattern>{pattern}</pattern></MocoSumSquaredStateGoal>')
    assert caught.value.file == folder / "study.omoco"


def test_usual_patterns_match_as_they_are_written():
    speed, value = "/jointset/slider/x/speed", "/jointset/slider/x/value"
    for pattern, found in (
        (".*", [True, True]), (".*/(value|rate)", [False, True]), (r"/jointset/[^/]*/\w+/s.*", [True, False]),
        ("(?!.*speed).*", [False, True]), (r".*[*+?(]+.*", [False, False]), ("/jointset/.*/.*/v.{4}", [False, True]),
    ):  # fmt: skip
        assert matching(pattern, [speed, value]) == found


@pytest.mark.parametrize("name", ["x/../../planted", "a\\b", "a&#9;b"])
def test_the_name_of_a_problem_cannot_lead_elsewhere(folder, tmp_path, name):
    """It is part of the name of the file of the solution."""
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "slide.osim").write_bytes((folder / "slide.osim").read_bytes())
    (inside / "study.omoco").write_text(STUDY.format(**DEFAULTS).replace('"slide"', f'"{name}"'))
    with pytest.raises(ModelError, match="would be that of a file"):
        run_setup(inside / "study.omoco")
    assert [path.name for path in tmp_path.iterdir()] == ["inside"]


@pytest.mark.parametrize(("width", "message"), [("0", "positive"), ("-1", "positive"), ("1e-300", "100000 intervals")])
def test_the_intervals_of_a_problem_are_limited(folder, study, width, message):
    with pytest.raises(ModelError, match="1 to 100000, not 1000000000"):
        study(solver="<num_mesh_intervals>1e9</num_mesh_intervals>")
    with pytest.raises(ModelError, match=message):
        read(folder, TRACK.replace("<mesh_interval>0.1<", f"<mesh_interval>{width}<"))


# ---- MocoTrack and MocoInverse ---------------------------------------------------------------------------------

TRACK = """<OpenSimDocument Version="40600"><MocoTrack name="follow">
<ModelProcessor name="model"><filepath>slide.osim</filepath><operators>
<ModOpAddReserves><optimal_force>2</optimal_force><bound>9</bound>
<skip_coordinates_with_actuators>false</skip_coordinates_with_actuators></ModOpAddReserves></operators></ModelProcessor>
<TableProcessor name="states_reference"><filepath>way.sto</filepath><operators>
<TabOpLowPassFilter><cutoff_frequency>6</cutoff_frequency></TabOpLowPassFilter></operators></TableProcessor>
<track_reference_position_derivatives>true</track_reference_position_derivatives>
<mesh_interval>0.1</mesh_interval><states_global_tracking_weight>10</states_global_tracking_weight>
</MocoTrack></OpenSimDocument>"""


def test_locked_coordinate_stays_at_its_value_whatever_its_range(folder):
    """Moco itself rejects models with locked coordinates."""
    whole = mq.load_model(folder / "slide.osim")
    post = on_hinge("post", "z", "y", parent="block")
    system = dataclasses.replace(whole.system, bodies=(*whole.system.bodies, post))
    locked = Coordinate("y", (-1.0, 1.0), locked=True)
    model = dataclasses.replace(
        whole, system=system, coordinates=(*whole.coordinates, locked), start_q=(0.0, 1.3), start_u=None
    )
    model.save(folder / "locked.osim", overwrite=True)
    found = read(folder, STUDY.format(**DEFAULTS).replace("slide.osim", "locked.osim")).solve()
    assert found.success
    np.testing.assert_allclose(found["y"], 1.3, atol=1e-9)


def test_a_track_follows_values_and_speeds(folder):
    found = read(folder, TRACK)
    tracking, effort = found.problem.goals
    assert tracking.names == ("x", "x_dot")
    assert (tracking.weight, effort.weight) == (10.0, 1e-3)
    assert np.allclose(np.array(tracking.values)[5:-5, 1], np.cos(np.array(tracking.time)[5:-5]), atol=1e-2)
    assert found.problem.torques == {"x_dot": 2.0}
    assert found.problem.bounds["x_dot.torque"] == (-9.0, 9.0)
    assert len(found.problem.mesh) == 11
    assert np.allclose(found.guess["x"][[0, -1]], [0.0, np.sin(1.0)], atol=1e-3)
    inside = '<TableProcessor name="markers_reference"></TableProcessor></MocoTrack>'
    with pytest.warns(UnsupportedWarning, match="no file of markers_reference: Moco does not write"):
        read(folder, TRACK.replace("</MocoTrack>", inside), strict=False)


LOW_PASSED = """
processor = opensim.TableProcessor(arguments[0])
processor.append(opensim.TabOpLowPassFilter(6.0))
table = processor.process()
answer = table.getMatrix().to_numpy().tolist()
"""


def test_operators_filter_the_markers_of_a_track_as_moco_does(folder, rng, in_opensim):
    """Moco reads columns of components, but no .trc, though both hold the same here."""
    time, name = np.linspace(0.0, 1.0, 101), ("tip", "other")
    markers = mq.data.Markers(time, name, np.cumsum(rng.normal(size=(101, 2, 3)), axis=0) * 0.01)
    labels = [f"{marker}_{axis}" for marker in name for axis in "123"]
    flat = pd.DataFrame(markers.positions.reshape(101, 6), pd.Index(time, name="time"), labels)
    mq.data.save_table(flat, folder / "tip.sto", overwrite=True)
    markers.save(folder / "tip.trc", overwrite=True)
    wanted = np.array(in_opensim(LOW_PASSED, folder / "tip.sto")).reshape(101, 2, 3)
    operator = "<operators><TabOpLowPassFilter><cutoff_frequency>{}</cutoff_frequency></TabOpLowPassFilter></operators>"
    part = '<TableProcessor name="markers_reference"><filepath>{}</filepath>{}</TableProcessor></MocoTrack>'
    for file in ("tip.sto", "tip.trc"):
        for cutoff, expected in ((6, wanted), (-1, markers.positions)):
            text = TRACK.replace("</MocoTrack>", part.format(file, operator.format(cutoff)))
            (goal,) = [g for g in read(folder, text).problem.goals if g.name == "marker_tracking"]
            np.testing.assert_allclose(goal.markers.positions, expected, atol=1e-12)
    gap = dataclasses.replace(markers, positions=np.where(time[:, None, None] == 0.5, np.nan, markers.positions))
    gap.save(folder / "tip.trc", overwrite=True)
    with pytest.raises(ModelError, match=r"'tip', 'x'.* has gaps, which this filter cannot pass"):
        read(folder, TRACK.replace("</MocoTrack>", part.format("tip.trc", operator.format(6))))


MOMENTS = """<MocoGeneralizedForceTrackingGoal name="moments"><weight>2</weight>{parts}
<TableProcessor name="reference"><filepath>moments.sto</filepath><operators/></TableProcessor>
</MocoGeneralizedForceTrackingGoal>"""


@pytest.mark.parametrize("shifted", [False, True])
def test_moments_of_inverse_dynamics_are_tracked(folder, shifted):
    """By their columns, with weights by pattern and name; errors over peaks, of which OpenSim may take a wrong one."""
    leg, foot = on_hinge("leg", "z", "hip", inertia=1), on_slide("foot", "y", "reach", "leg")
    motors = tuple(CoordinateActuator(f"{name}_motor", name) for name in ("hip", "reach"))
    mq.Model(mq.ArticulatedSystem((leg, foot)), actuators=motors).save(folder / "two.osim", overwrite=True)
    time = np.linspace(0.0, 1.0, 6)
    table = {"hip_moment": 0 * time + 4.0, "reach_force": np.sin(time), "knee_moment": time}
    mq.data.save_table(pd.DataFrame(table, pd.Index(time, name="time")), folder / "moments.sto", overwrite=True)
    weights = """<MocoWeightSet name="generalized_force_weights"><objects><MocoWeight name="WHICH"><weight>3</weight>
    </MocoWeight></objects></MocoWeightSet><allow_unused_references>true</allow_unused_references>"""
    zero = weights.replace("force_weights", "force_weights_pattern").replace("WHICH", "hip.*").replace(">3<", ">0<")

    def goal(parts, **options):
        text = STUDY.format(**DEFAULTS | {"states": "", "goals": MOMENTS.format(parts=parts), "end": "1"})
        (found,) = read(folder, text.replace("slide.osim", "two.osim"), **options).problem.goals
        return found

    plain = goal(weights.replace("WHICH", "reach_force"))
    assert plain.names == ("hip_dot", "reach_dot")
    assert plain.weights == {"hip_dot": 1.0, "reach_dot": 3.0}
    np.testing.assert_array_equal(plain.values, np.stack([table["hip_moment"], table["reach_force"]], axis=1))
    normal = "<normalize_tracking_error>true</normalize_tracking_error>"
    one = goal(zero + normal, shifted_normalization=shifted)
    assert (one.names, one.weight) == (("reach_dot",), 2.0)
    assert one.weights["reach_dot"] == pytest.approx(1 / (4.0 if shifted else np.sin(1.0)) ** 2)
    with pytest.raises(ModelError, match="no generalized force 'knee_moment' of a free coordinate; known: hip_moment"):
        goal("")
    with pytest.raises(ModelError, match="'hip_motor', which is among its force paths"):
        goal(f"{zero}<force_paths>.*hip_motor</force_paths>")


@pytest.fixture(scope="module")
def lift(folder):
    """A muscle of Millard that carries a mass, and the motion that it makes."""
    mass = on_slide("mass", (0.0, -1.0, 0.0), "height", mass=0.5, joint_name="hang")
    law = Millard2012(30.0, optimal_fiber_length=0.10, tendon_slack_length=0.05, tendon="rigid")
    path = PathPoint("ground", (0, 0, 0)), PathPoint("mass", (0, 0, 0))
    dynamics = ActivationDynamics(form="piecewise", minimum_activation=0.01)
    muscle = mq.Muscle("muscle", path, law, activation_dynamics=dynamics)
    system = mq.ArticulatedSystem((mass,), gravity=(0.0, -9.81, 0.0))
    model = mq.Model(system, (muscle,), start_q=(0.15,))
    model.save(folder / "lift.osim")
    time = np.linspace(0.0, 0.5, 26)
    table = mq.data.motion_from_states(system, time, 0.15 + 0.01 * np.cos(4 * time)[:, None])
    table = table.rename(columns={"height": "/jointset/hang/height/value"})
    mq.data.save_table(table, folder / "lift.sto")
    return folder


INVERSE = """<OpenSimDocument Version="40600"><MocoInverse name="lift">
<ModelProcessor name="model"><filepath>lift.osim</filepath><operators>
<ModOpReplaceMusclesWithDeGrooteFregly2016/><ModOpIgnorePassiveFiberForcesDGF/>
<ModOpAddReserves><optimal_force>1</optimal_force></ModOpAddReserves></operators></ModelProcessor>
<TableProcessor name="kinematics"><filepath>lift.sto</filepath><operators/></TableProcessor>
<initial_time>0.1</initial_time><final_time>0.4</final_time><mesh_interval>0.05</mesh_interval>
<convergence_tolerance>1e-5</convergence_tolerance><constraint_tolerance>1e-5</constraint_tolerance>
</MocoInverse></OpenSimDocument>"""


def test_an_inverse_prescribes_the_motion(lift):
    """The curves are those of De Groote and Fregly, excitations start at 0.01, and forces add up to the weight."""
    found = read(lift, INVERSE)
    law = found.problem.model.muscles[0].law
    assert isinstance(law, DeGrooteFregly2016)
    assert law.passive_scale == 0.0
    assert found.problem.bounds["muscle"] == (0.01, 1.0)
    solution = found.solve()
    assert solution.success
    t, a = solution.time, solution["muscle.activation"]
    force = law.force(0.15 + 0.01 * np.cos(4 * t), -0.04 * np.sin(4 * t), a)
    needed = 0.5 * (9.81 + 0.16 * np.cos(4 * t))  # m (g - height'')
    assert np.allclose(force + solution["height_dot.torque"][::2] * -1.0, needed, atol=0.02)


# ---- beside Moco -----------------------------------------------------------------------------------------------


AT_ROOT = """
import os

os.chdir(arguments[0])
model = opensim.Model()
block = opensim.Body("block", 2.0, opensim.Vec3(0), opensim.Inertia(0))
joint = opensim.SliderJoint("slider", model.getGround(), block)
joint.updCoordinate().setName("x")
for part in (block, joint):
    model.addComponent(part)
motor = opensim.ActivationCoordinateActuator()
motor.setName("motor")
motor.set_coordinate("x")
motor.set_activation_time_constant(0.01)
motor.setMinControl(-50)
motor.setMaxControl(50)
model.addComponent(motor)
model.finalizeConnections()
model.printToXML("root.osim")
study = opensim.MocoStudy()
study.setName("root")
problem = study.updProblem()
problem.setModelAsCopy(model)
problem.setTimeBounds(0, 1)
problem.setStateInfo("/slider/x/value", [-5, 5], 0, 1)
problem.setStateInfo("/slider/x/speed", [-50, 50], 0, 0)
problem.addGoal(opensim.MocoControlGoal("effort"))
solver = study.initCasADiSolver()
solver.set_num_mesh_intervals(5)
study.printToXML("root.omoco")
solution = study.solve()
solution.write("theirs.sto")
answer = [list(solution.getStateNames()), list(solution.getControlNames()), solution.getObjective()]
"""


@pytest.mark.peers
def test_parts_outside_the_sets_of_a_model_have_mocos_names(tmp_path, in_opensim):
    """In solutions that are written, and in those of Moco as a guess. The activation of a motor has the bounds of its
    control, at which it is here, since the intervals are long for its time constant."""
    states, controls, objective = in_opensim(AT_ROOT, tmp_path)
    study = load_moco_study(tmp_path / "root.omoco")
    found = study.solve()
    assert found.objective == pytest.approx(objective, rel=1e-5)
    trajectory = moco_trajectory(found)
    assert sorted(trajectory.states) == sorted(states)
    assert list(trajectory.controls) == controls
    theirs = load_moco_trajectory(tmp_path / "theirs.sto")
    begun = study.problem.solve(theirs, dataclasses.replace(study.solver, max_iterations=0))
    np.testing.assert_allclose(begun["x"], theirs.states["/slider/x/value"][:: len(theirs.time) // 5], atol=1e-3)


OPERATED = """
import os

os.chdir(arguments[0])
model = opensim.Model("lift.osim")
table = opensim.TableProcessor("lift.sto")
for operator in (opensim.TabOpAppendCoupledCoordinateValues(), opensim.TabOpAppendCoordinateValueDerivativesAsSpeeds()):
    table.append(operator)
found = opensim.ModelProcessor(model)
found.append(opensim.ModOpReplaceMusclesWithPathActuators())
track = opensim.MocoTrack()
track.setModel(found)
track.setStatesReference(table)
track.printToXML("operated.omoco")
model, table = opensim.ModelProcessor(opensim.Model("lift.osim")).process(), table.process(model)
opensim.ModelFactory.replaceMusclesWithPathActuators(model)
actuator = opensim.PathActuator.safeDownCast(model.getForceSet().get("muscle"))
columns = {name: table.getDependentColumn(name).to_numpy().tolist() for name in table.getColumnLabels()}
answer = [columns, actuator.getOptimalForce(), actuator.getMinControl()]
"""


@pytest.mark.peers
def test_operators_change_models_and_tables_as_opensim_does(lift, tmp_path, in_opensim):
    """A muscle becomes an actuator of its strength, and a table gets driven coordinates and speeds."""
    model = mq.load_model(lift / "lift.osim")
    arm = on_hinge("arm", "z", "turn", parent="mass")
    system = dataclasses.replace(model.system, bodies=(*model.system.bodies, arm))
    driven = Coupler("drive", "turn", "height", mq.joints.functions.Polynomial((0.1, 2.0, -3.0)))
    model = dataclasses.replace(model, system=system, couplers=(driven,), start_q=None, coordinates=())
    model.save(tmp_path / "lift.osim")
    shutil.copy(lift / "lift.sto", tmp_path)
    columns, strength, least = in_opensim(OPERATED, tmp_path)
    moco, unsupported = read_moco(tmp_path / "operated.omoco"), UnsupportedElements()
    found = Reading.of(moco, moco.root, unsupported, False)
    assert found.model.muscles[0].law == PathActuator(strength)
    assert found.bounds["muscle"][0] == least
    table = found.table(moco.root, "states_reference")
    assert sorted(table) == sorted(columns)
    for name in columns:
        np.testing.assert_allclose(table[name], columns[name], atol=1e-9, err_msg=name)


PUSHED = """
import os

os.chdir(arguments[0])
loads = opensim.ExternalLoads()
loads.setDataFileName("push.sto")
push = opensim.ExternalForce()
push.setName("push")
push.set_applied_to_body("block")
push.set_force_expressed_in_body("ground")
push.set_force_identifier("f_v")
loads.cloneAndAppend(push)
loads.printToXML("push.xml")
model = opensim.Model("slide.osim")
model.addComponent(loads.clone())
study = opensim.MocoStudy()
problem = study.updProblem()
problem.setModelAsCopy(model)
problem.setTimeBounds(0, 1)
problem.setStateInfo("/jointset/slider/x/value", [-5, 5], 0)
tracking, effort = opensim.MocoStateTrackingGoal("way"), opensim.MocoControlGoal("effort", 0.1)
tracking.setReference(opensim.TableProcessor("way.sto"))
contact = opensim.MocoContactTrackingGoal("contact")
contact.setExternalLoads(loads)
contact.setEnabled(False)
for goal in (tracking, effort, contact):
    problem.addGoal(goal)
study.initCasADiSolver().set_num_mesh_intervals(10)
study.printToXML("pushed.omoco")
answer = study.solve().getObjective()
"""


@pytest.mark.peers
def test_a_study_that_moco_writes_with_external_loads_has_its_optimum(folder, in_opensim):
    """The model stands in the file, with its loads, whose data are beside it."""
    time = np.linspace(0.0, 1.0, 21)
    push = {f"f_v{axis}": 4 * np.cos(5 * time) * (axis == "x") for axis in "xyz"}
    mq.data.save_table(pd.DataFrame(push, pd.Index(time, name="time")), folder / "push.sto")
    theirs = in_opensim(PUSHED, folder)
    assert load_moco_study(folder / "pushed.omoco", strict=True).solve().objective == pytest.approx(theirs, rel=1e-5)


ALL_GOALS = """
import os

os.chdir(arguments[0])
model, way, paths = opensim.Model(), "/jointset/base/", opensim.StdVectorString
foot = opensim.Body("foot", 2.0, opensim.Vec3(0, 0.05, 0), opensim.Inertia(0.1, 0.1, 0.1))
model.addBody(foot)
base = opensim.PlanarJoint("base", model.getGround(), foot)
model.addJoint(base)
for k, (name, force) in enumerate((("rz", 20), ("tx", 100), ("ty", 100))):
    base.upd_coordinates(k).setName(name)
    base.upd_coordinates(k).setRangeMin(-3)
    base.upd_coordinates(k).setRangeMax(3)
    motor = opensim.CoordinateActuator(name)
    motor.setName("motor_" + name)
    motor.setOptimalForce(force)
    model.addForce(motor)
floor = opensim.ContactHalfSpace(opensim.Vec3(0), opensim.Vec3(0, 0, -np.pi / 2), model.getGround(), "floor")
model.addContactGeometry(floor)
for name, x in (("heel", -0.1), ("toe", 0.2)):
    model.addMarker(opensim.Marker(name, foot, opensim.Vec3(x, 0.01, 0.03)))
    ball = opensim.ContactSphere(0.05, opensim.Vec3(x, 0, 0), foot, "ball_" + name)
    model.addContactGeometry(ball)
    contact = opensim.SmoothSphereHalfSpaceForce("contact_" + name, ball, floor)
    for coefficient in ("static_friction", "dynamic_friction", "viscous_friction"):
        getattr(contact, "set_" + coefficient)(0.5)
    model.addForce(contact)
model.finalizeConnections()
model.printToXML("foot.osim")
study = opensim.MocoStudy()
problem = study.updProblem()
problem.setModelProcessor(opensim.ModelProcessor("foot.osim"))
problem.setTimeBounds(0, 0.8)
problem.setStateInfo(way + "tx/value", [-3, 3], 0.0, 0.8)
problem.setStateInfo(way + "ty/value", [0.0, 1], 0.05)
problem.setStateInfoPattern(".*/speed", [-20, 20])
problem.setControlInfoPattern(".*", [-1, 1])


def goal(name, title, weight, **settings):
    found = getattr(opensim, f"Moco{name}Goal")(title)
    found.setWeight(weight)
    for verb, values in settings.items():
        getattr(found, verb)(*values)
    problem.addGoal(found)
    return found


pose = [opensim.TableProcessor("pose.sto")]
effort = goal("Control", "effort", 0.3, setExponent=[3], setWeightForControl=["/forceset/motor_tx", 5.0])
effort.setWeightForControlPattern(".*t.*", 2.0)
goal("Control", "averaged", 0.3, setDivideByDuration=[True])
goal("Control", "by_mass", 0.3, setDivideByMass=[True])
goal("StateTracking", "states", 2.0, setReference=pose, setWeightForState=[way + "rz/value", 3.0])
goal("StateTracking", "by_range", 2.0, setReference=pose, setScaleWeightsWithRange=[True])
goal("ControlTracking", "controls", 2.0, setReference=[opensim.TableProcessor("motors.sto")])
weights = opensim.SetMarkerWeights()
weights.cloneAndAppend(opensim.MarkerWeight("heel", 3.0))
goal("MarkerTracking", "markers", 7.0, setMarkersReference=[opensim.MarkersReference("markers.trc", weights)])
goal("OrientationTracking", "turn", 2.0, setStatesReference=pose, setFramePaths=[paths(["/bodyset/foot"])])
goal("SumSquaredState", "squares", 0.5, setPattern=[".*speed"], setWeightForState=[way + "tx/speed", 2.0])
contacts = paths(["/forceset/contact_heel", "/forceset/contact_toe"])
goal("ContactTracking", "contact", 0.01, setExternalLoadsFile=["plate.xml"], addContactGroup=[contacts, "plate"])
for title in ("moments", "by_peak"):
    found = goal("GeneralizedForceTracking", title, 0.02, setReference=[opensim.TableProcessor("moments.sto")])
    found.setForcePaths(paths([".*contact.*"]))
    found.setWeightForGeneralizedForce("rz_moment", 3.0)
    found.setNormalizeTrackingError(title == "by_peak")
goal("FinalTime", "time", 0.7)
goal("MarkerFinal", "final", 3.0, setPointName=["/markerset/toe"], setReferenceLocation=[opensim.Vec3(1.1, 0.1, 0)])
goal("AverageSpeed", "speed", 1.5, set_desired_average_speed=[1.2], setMode=["cost"])
pair = opensim.MocoPeriodicityGoalPair(way + "rz/value")
goal("Periodicity", "periodic", 2.5, addStatePair=[pair], setMode=["cost"])
solver = study.initCasADiSolver()
solver.set_num_mesh_intervals(12)
solver.set_optim_max_iterations(5)
study.printToXML("all.omoco")
solution = study.solve()
solution.unseal()
solution.write("all.sto")
answer = {name: solution.getObjectiveTerm(name) for name in solution.getObjectiveTermNames()}
"""


@pytest.mark.peers
def test_every_goal_costs_what_moco_says(tmp_path, in_opensim):
    """Term by term, of a motion that is still far from an optimum."""
    t = np.linspace(0.0, 1.0, 41)
    base, zero = "/jointset/base/", 0 * t
    tables = {
        "pose": {f"{base}rz/value": 0.2 * np.sin(2 * t), f"{base}tx/value": t, f"{base}tx/speed": 1 + t,
                 f"{base}ty/value": 0.05 + 0.01 * np.cos(5 * t)},
        "motors": {"/forceset/motor_rz": 0.1 * np.sin(t), "/forceset/motor_tx": 0.2 + zero},
        "moments": {"rz_moment": 3 * np.sin(3 * t), "tx_force": 10 + zero, "ty_force": 20 + 5 * t},
    }  # fmt: skip
    for name, columns in tables.items():
        mq.data.save_table(pd.DataFrame(columns, pd.Index(t, name="time")), tmp_path / f"{name}.sto", in_degrees=False)
    push = np.stack([3 * np.sin(4 * t), 15 + 5 * np.sin(3 * t), 0.5 * t], axis=1)[:, None]
    mq.data.Forces(t, ("plate",), ("foot",), push, 0 * push, 0 * push).save(tmp_path / "plate.xml")
    shown = np.stack([t, 0.06 + 0.01 * np.sin(3 * t), 0.02 + zero], axis=1)
    at = np.stack([shown - np.array([0.1, 0, 0]), shown + np.array([0.2, 0, 0])], axis=1)
    mq.data.Markers(t, ("heel", "toe"), at).save(tmp_path / "markers.trc")
    theirs = in_opensim(ALL_GOALS, tmp_path)
    study = load_moco_study(tmp_path / "all.omoco", strict=True)
    ours = study.problem.goal_values(load_moco_trajectory(tmp_path / "all.sto"))
    assert ours == pytest.approx(theirs, rel=1e-5)


@pytest.mark.peers
def test_optima_are_those_of_moco(folder, lift, study, in_opensim):
    """Moco solves the files that are read here, a study and an inverse problem."""
    script = """
import os

os.chdir(arguments[0])
study = opensim.MocoStudy("study.omoco").solve()
inverse = opensim.MocoInverse.safeDownCast(opensim.OpenSimObject.makeObjectFromFile("inverse.omoco")).solve()
answer = study.getObjective(), inverse.getMocoSolution().getObjective()
"""
    ours, found = study(solver=FEW), read(lift, INVERSE, name="inverse")
    theirs = in_opensim(script, folder)
    assert ours.solve().objective == pytest.approx(theirs[0], rel=1e-5)
    assert found.solve().objective == pytest.approx(theirs[1], rel=2e-3)
