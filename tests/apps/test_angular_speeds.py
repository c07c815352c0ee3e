"""Speeds in states files that are the angular velocity of a ball joint, and not rates of its angles."""

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.transform import Rotation

from myoquat.analysis.control import Effort, Problem, moco_trajectory
from myoquat.apps.moco import load_moco_study
from myoquat.apps.opensim_tools import run_setup
from myoquat.apps.opensim_tools.moving import state_columns
from myoquat.data import Motion, load_model, load_motion, load_table, save_table, states_from_motion
from myoquat.data.motions.angular_speeds import angular_accelerations, angular_triples, angular_velocities
from myoquat.data.reports import UnsupportedWarning
from myoquat.dynamics import simulate
from myoquat.joints.kinematics import frame_velocity

TIME = np.array([0.0, 0.1, 0.2])
RADII = {
    "EllipsoidJoint": "<radii_x_y_z>0.2 0.3 0.25</radii_x_y_z>",
    "ScapulothoracicJoint": """<thoracic_ellipsoid_radii_x_y_z>0.1 0.2 0.15</thoracic_ellipsoid_radii_x_y_z>
<scapula_winging_axis_origin>0.05 -0.04</scapula_winging_axis_origin>
<scapula_winging_axis_direction>0.4</scapula_winging_axis_direction>""",
}
COUNTS = {"BallJoint": 3, "FreeJoint": 6, "EllipsoidJoint": 3, "ScapulothoracicJoint": 4}
SPEEDS = """
model, answer = opensim.Model(arguments[0]), []
state = model.initSystem()
coordinates = [model.getCoordinateSet().get(i) for i in range(model.getNumCoordinates())]
body = model.getBodySet().get(0)
for q, u in zip(*arguments[1]):
    for c, x, v in zip(coordinates, q, u):
        c.setValue(state, x, False)
        c.setSpeedValue(state, v)
    model.realizeVelocity(state)
    velocity = body.getVelocityInGround(state)
    answer.append([velocity.get(k).get(i) for k in (1, 0) for i in range(3)])
"""


def written(folder, tag):
    names = [f"c{k}" for k in range(COUNTS[tag])]
    coordinates = "".join(f'<Coordinate name="{name}"/>' for name in names)
    frame = '<PhysicalOffsetFrame name="{}"><socket_parent>{}</socket_parent><translation>{}</translation>'
    frames = [
        frame.format("before", "/ground", "0 0 0") + "<orientation>0 0 0</orientation></PhysicalOffsetFrame>",
        frame.format("behind", "/bodyset/b", "0.1 0 0.2") + "<orientation>0.2 0.1 -0.3</orientation>"
        "</PhysicalOffsetFrame>",
    ]
    path = folder / f"{tag}.osim"
    path.write_text(
        f"""<OpenSimDocument Version="40500"><Model name="one"><BodySet><objects><Body name="b"><mass>1</mass>
<mass_center>0 0 0</mass_center><inertia>1 1 1 0 0 0</inertia></Body></objects></BodySet><JointSet><objects>
<{tag} name="j"><socket_parent_frame>before</socket_parent_frame><socket_child_frame>behind</socket_child_frame>
<coordinates>{coordinates}</coordinates><frames>{"".join(frames)}</frames>{RADII.get(tag, "")}</{tag}></objects>
</JointSet></Model></OpenSimDocument>"""
    )
    return path


def states(rng, tag):
    """A table of OpenSim's states: q and u of each coordinate."""
    q, u = rng.uniform(-0.6, 0.6, (3, COUNTS[tag])), rng.uniform(-2, 2, (3, COUNTS[tag]))
    columns = {
        f"/jointset/j/c{k}/{what}": x[:, k] for k in range(COUNTS[tag]) for what, x in (("value", q), ("speed", u))
    }
    return q, u, pd.DataFrame(columns, index=pd.Index(TIME, name="time"))


@pytest.mark.parametrize("rotations", ["file", "quaternion"])
@pytest.mark.parametrize("tag", ["BallJoint", "FreeJoint", "EllipsoidJoint"])
def test_three_speeds_are_the_angular_velocity_of_the_body(tmp_path, rng, tag, rotations):
    """The frame on the parent has the axes of the world."""
    model = load_model(written(tmp_path, tag), rotations)
    _, u, table = states(rng, tag)
    save_table(table, tmp_path / "states.sto", in_degrees=False)
    motion = load_motion(tmp_path / "states.sto", model)
    found = frame_velocity(model, motion.q, motion.u, "b")
    np.testing.assert_allclose(found[:, 3:], u[:, :3], atol=1e-12)


@pytest.mark.parametrize("in_degrees", [False, True])
def test_rates_are_those_of_the_rotation(tmp_path, rng, in_degrees):
    """By difference quotients of SciPy's rotations; angles that the table lacks are those of the start."""
    model, h, degree = load_model(written(tmp_path, "BallJoint")), 1e-5, np.pi / 180 if in_degrees else 1.0
    q, omega, table = states(rng, "BallJoint")
    start = np.array([0.4, -0.5, 0.1])
    _, there = states_from_motion(model, table / degree, in_degrees=in_degrees)
    _, lacking = states_from_motion(model, table.filter(like="speed"), in_degrees=False, start=start)
    for angles, rates in ((q, there), (start, lacking)):
        before, after = (Rotation.from_euler("XYZ", angles + step * rates) for step in (-h, h))
        np.testing.assert_allclose((after * before.inv()).as_rotvec() / (2 * h), omega, atol=1e-8)
    with pytest.raises(ValueError, match="the speeds of c0, c1, c2 are an angular velocity: all three are needed"):
        states_from_motion(model, table.drop(columns="/jointset/j/c1/speed"), in_degrees=False, start=start)


@pytest.mark.parametrize("tag", COUNTS)
def test_states_that_are_written_are_read_again(tmp_path, rng, tag):
    model = load_model(written(tmp_path, tag))
    _, u, table = states(rng, tag)
    assert [name for three in angular_triples(model) for name in three] == ["c0", "c1", "c2"]
    motion = Motion(model, TIME, *states_from_motion(model, table, in_degrees=False))
    columns = state_columns(model, motion.q, motion.u)
    for name, column in table.drop(columns=table.filter(like="c3")).items():  # a joint of its own of a shoulder blade
        np.testing.assert_allclose(columns[name], column, atol=1e-13)
    h, udot = 1e-6, rng.normal(size=u.shape)
    (after, before) = (angular_velocities(model, motion.q + s * motion.u, motion.u + s * udot) for s in (h, -h))
    slopes = angular_accelerations(model, motion.q, motion.u, udot)
    np.testing.assert_allclose(slopes, (after - before) / (2 * h), atol=1e-7)
    model.save(tmp_path / "model.toml")
    assert angular_triples(load_model(tmp_path / "model.toml")) == angular_triples(model)


def test_analyses_of_states_give_their_speeds_again(tmp_path, rng):
    """And the differences of these along the free motion that starts there."""
    path = written(tmp_path, "BallJoint")
    _, u, table = states(rng, "BallJoint")
    save_table(table, tmp_path / "states.sto", in_degrees=False)
    (tmp_path / "setup.xml").write_text(
        f"""<OpenSimDocument Version="40500"><AnalyzeTool name="run"><model_file>{path.name}</model_file>
<results_directory>results</results_directory><initial_time>0</initial_time><final_time>0.2</final_time>
<AnalysisSet name="a"><objects><Kinematics name="Kinematics"><in_degrees>false</in_degrees>
<coordinates>all</coordinates></Kinematics></objects></AnalysisSet><states_file>states.sto</states_file></AnalyzeTool>
</OpenSimDocument>"""
    )
    run_setup(tmp_path / "setup.xml")
    speeds, accelerations = (load_table(tmp_path / f"results/run_Kinematics_{what}.sto") for what in ("u", "dudt"))
    np.testing.assert_allclose(speeds, u, atol=1e-12)
    model, h = load_model(path), 1e-4
    for k, row in enumerate(zip(*states_from_motion(model, table, in_degrees=False), strict=True)):
        free = simulate(model, *row, 2 * h, step=h / 10, output_step=h)
        w0, w1, w2 = angular_velocities(model, free.q, free.u)
        np.testing.assert_allclose(accelerations.to_numpy()[k], (4 * w1 - 3 * w0 - w2) / (2 * h), atol=1e-5)


def test_trajectories_of_moco_have_the_angular_velocity(tmp_path):
    model = load_model(written(tmp_path, "BallJoint"))
    torques = dict.fromkeys(model.system.velocity_names, 1.0)
    ends = {"initial": {"q": [0.3, 0.4, -0.2], "u": [1.0, -2.0, 0.5]}, "final": {"q": [0.5, 0.1, -0.1]}}
    solution = Problem(model, 0.2, (Effort(),), 4, torques=torques, **ends).solve()
    assert solution.success
    trajectory = moco_trajectory(solution)
    q, u = states_from_motion(model, pd.DataFrame(trajectory.states, trajectory.time), in_degrees=False)
    speeds = np.stack([trajectory.states[f"/jointset/j/c{k}/speed"] for k in range(3)], axis=-1)
    np.testing.assert_allclose(frame_velocity(model, q, u, "b")[:, 3:], speeds, atol=1e-12)
    np.testing.assert_allclose(u[0], [1.0, -2.0, 0.5], atol=1e-8)


STUDY = """<OpenSimDocument Version="40600"><MocoStudy name="turn"><MocoProblem><MocoPhase name="phase">
<ModelProcessor name="model"><filepath>{model}</filepath><operators><ModOpAddReserves><optimal_force>1</optimal_force>
</ModOpAddReserves></operators></ModelProcessor>
<MocoInitialBounds name="time_initial_bounds"><bounds>0</bounds></MocoInitialBounds>
<MocoFinalBounds name="time_final_bounds"><bounds>0.5</bounds></MocoFinalBounds>{default}
<state_infos>{states}</state_infos><goals><MocoControlGoal name="effort"/></goals></MocoPhase></MocoProblem>
<MocoCasADiSolver name="solver"><num_mesh_intervals>10</num_mesh_intervals></MocoCasADiSolver></MocoStudy>
</OpenSimDocument>"""
INFO = """<MocoVariableInfo name="/jointset/j/c{k}/{what}"><bounds>{path}</bounds>
<initial_bounds>{first}</initial_bounds><final_bounds>{last}</final_bounds></MocoVariableInfo>"""
DEFAULT = '<MocoBounds name="default_speed_bounds"><bounds>-1.2 1.2</bounds></MocoBounds>'


@pytest.mark.parametrize("default", ["", DEFAULT])
def test_bounds_of_speeds_in_moco_files_are_of_the_angular_velocity(tmp_path, default):
    """Fixed at the start, open at the end, between bounds that the path reaches. Zero at an end needs no constraint."""
    model, ends = load_model(written(tmp_path, "BallJoint")), [(0.3, 0.5), (0.4, 0.9), (-0.2, 0.2)]
    path = "" if default else "-1.2 1.2"

    def read(speeds):
        states = "".join(
            INFO.format(k=k, what="value", path="-2 2", first=a, last=b)
            + INFO.format(k=k, what="speed", path=path, first=speeds[k], last="")
            for k, (a, b) in enumerate(ends)
        )
        (tmp_path / "turn.omoco").write_text(STUDY.format(model="BallJoint.osim", states=states, default=default))
        return load_moco_study(tmp_path / "turn.omoco")

    first = (0.8, -0.5, 0.3)
    study = read(first)
    assert not study.left_out
    assert [c.name for c in study.problem.constraints] == ["angular velocity of c0", "initial angular velocity of c0"]
    motion = study.solve().motion
    turning = frame_velocity(model, motion.q, motion.u, "b")[:, 3:]
    np.testing.assert_allclose(turning[0], first, atol=1e-6)
    assert np.abs(turning).max() == pytest.approx(1.2, abs=1e-3)
    assert np.abs(motion.u).max() > 1.25
    assert [c.name for c in read((0, 0, 0)).problem.constraints] == ["angular velocity of c0"]
    path = tmp_path / "turn.omoco"
    squares = '<MocoSumSquaredStateGoal name="still"><pattern>.*speed</pattern></MocoSumSquaredStateGoal>'
    path.write_text(path.read_text().replace('<MocoControlGoal name="effort"/>', squares))
    with pytest.warns(UnsupportedWarning, match="c0_dot, c1_dot, c2_dot are an angular velocity there"):
        load_moco_study(path)


@pytest.mark.peers
@pytest.mark.parametrize("tag", COUNTS)
def test_bodies_move_as_in_opensim(tmp_path, rng, tag, in_opensim):
    model = load_model(written(tmp_path, tag))
    q, u, table = states(rng, tag)
    answer = in_opensim(SPEEDS, written(tmp_path, tag), [q, u])
    poses, rates = states_from_motion(model, table, in_degrees=False)
    np.testing.assert_allclose(frame_velocity(model, poses, rates, "b"), answer, atol=1e-12)
