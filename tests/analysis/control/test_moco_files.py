"""Files of OpenSim Moco: solutions come back as they were, OpenSim reads them, and guesses start where they say."""

import re
from dataclasses import replace

import numpy as np
import pytest

import myoquat as mq
from myoquat.analysis.control import (
    Effort,
    Ipopt,
    MocoTrajectory,
    Problem,
    TrackPose,
    load_moco_trajectory,
    moco_trajectory,
)
from myoquat.data import Motion
from myoquat.muscle.actuators import CoordinateActuator
from tests.analysis.control.test_muscles_of_problems import hanging
from tests.bodies import on_ball

STATES = [
    "/jointset/slider/height/value",
    "/jointset/slider/height/speed",
    "/forceset/muscle/activation",
    "/forceset/muscle/normalized_tendon_force",
]
CONTROLS = ["/forceset/muscle", "/forceset/motor", "/forceset/reserve_jointset_slider_height"]


@pytest.fixture(scope="module")
def problem():
    """A mass held by a muscle with an elastic tendon, a motor and a reserve."""
    model = hanging("elastic")
    mass = replace(model.system.bodies[0], joint_name="slider")
    motor = CoordinateActuator("motor", "height", optimal_force=2.0, lower=-1.0, upper=1.0)
    model = replace(model, system=mq.ArticulatedSystem((mass,)), actuators=(motor,))
    lifted = Motion(model, [0.0, 0.5], [[0.155], [0.153]])
    return Problem(
        model, 0.5, (TrackPose(lifted, weight=100.0), Effort(weight=1e-3)), 5, torques={"height_dot": 3.0},
        bounds={"muscle.activation": (0.01, 1.0)},
    )  # fmt: skip


@pytest.fixture(scope="module")
def solution(problem):
    return problem.solve()


@pytest.fixture(scope="module")
def trajectory(solution):
    return moco_trajectory(solution)


def test_names_and_values_are_those_of_the_solution(solution, trajectory):
    """The tension of an elastic tendon is m (g - udot) less the other forces, by Newton's law."""
    assert list(trajectory.states) == STATES
    assert list(trajectory.controls) == CONTROLS
    points = solution.layout.having("u")  # the nodes, and the middles of Hermite-Simpson
    assert len(trajectory.time) == len(points) == 2 * len(solution.time) - 1
    assert np.array_equal(trajectory.states[STATES[0]], solution.sites.q[points, 0])
    assert np.array_equal(trajectory.states[STATES[2]][::2], solution["muscle.activation"])
    udot = solution.sites.fields["udot"][points, 0]
    others = 2.0 * trajectory.controls[CONTROLS[1]] + 3.0 * trajectory.controls[CONTROLS[2]]
    tension = 0.5 * (9.81 - udot) + others
    assert np.allclose(30.0 * trajectory.states[STATES[3]], tension, rtol=1e-6)


def test_file_reads_back_equal(trajectory, tmp_path):
    changed = replace(trajectory, parameters={"mass": 0.5})
    changed.save(tmp_path / "solution.sto")
    again = load_moco_trajectory(tmp_path / "solution.sto")
    assert again.to_dataframe().equals(changed.to_dataframe())
    assert again.parameters == {"mass": 0.5}
    assert again.header["status"] == "solved"
    assert float(again.header["objective"]) == pytest.approx(float(trajectory.header["objective"]))


@pytest.mark.peers
def test_opensim_reads_the_file(trajectory, tmp_path, in_opensim):
    trajectory.save(tmp_path / "solution.sto")
    script = """
moco = opensim.MocoTrajectory(arguments[0])
columns = [list(moco.getStateMat(name)) for name in moco.getStateNames()]
controls = [list(moco.getControlMat(name)) for name in moco.getControlNames()]
answer = [list(moco.getStateNames()), list(moco.getControlNames()), columns, controls]
"""
    states, controls, columns, driven = in_opensim(script, str(tmp_path / "solution.sto"))
    assert states == STATES
    assert controls == CONTROLS
    assert np.allclose(columns, list(trajectory.states.values()), rtol=1e-12)
    assert np.allclose(driven, list(trajectory.controls.values()), rtol=1e-12)


def test_guess_starts_at_the_solution(problem, solution, trajectory):
    """At the nodes the guess is the solution; from there the same optimum is found."""
    begun = problem.solve(trajectory, Ipopt(max_iterations=0, options={"bound_push": 1e-12, "bound_frac": 1e-12}))
    assert np.allclose(begun.q, solution.q, atol=1e-9)
    assert np.allclose(begun.u, solution.u, atol=1e-9)
    assert np.allclose(begun["muscle.activation"], solution["muscle.activation"], atol=1e-6)
    assert np.allclose(begun.controls_at(begun.time), solution.controls_at(solution.time), atol=1e-5)
    assert problem.solve(trajectory).objective == pytest.approx(solution.objective, rel=1e-5)
    muscle, columns = replace(problem.model.muscles[0], name="m.1"), ({}, {})
    for renamed, group in zip(columns, (trajectory.states, trajectory.controls), strict=True):
        renamed |= {label.replace("muscle", "m.1"): x for label, x in group.items()}
    model, bounds = replace(problem.model, muscles=(muscle,)), {"m.1.activation": (0.01, 1.0)}
    dotted = replace(problem, model=model, bounds=bounds).posed(MocoTrajectory(trajectory.time, *columns))
    assert np.array_equal(dotted.x, problem.posed(trajectory).x)


def test_guess_of_a_ball_joint_and_a_free_duration_starts_at_the_trajectory():
    """Quaternions stay normalized between the nodes; the duration is the trajectory's."""
    ball = on_ball("ball", inertia=0.1)
    system, time = mq.ArticulatedSystem((ball,)), np.linspace(0.0, 0.8, 9)
    turn = np.stack([np.cos(time), np.sin(time), 0 * time, 0 * time], axis=-1)
    states = {f"/jointset/ball/{name}/value": x for name, x in zip(system.coordinate_names, turn.T, strict=True)}
    torques = dict.fromkeys(system.velocity_names, 1.0)
    free = Problem(system, (0.5, 3.0), (Effort(),), 3, "midpoint", torques=torques)
    begun = free.solve(MocoTrajectory(time, states), Ipopt(max_iterations=0))
    assert begun.duration == pytest.approx(0.8)
    expected = np.stack([np.cos(begun.time), np.sin(begun.time), 0 * begun.time, 0 * begun.time], axis=-1)
    assert np.allclose(begun.q, expected, atol=1e-6)


def test_wrong_files_and_guesses_are_rejected(problem, trajectory, tmp_path):
    short = replace(trajectory, time=trajectory.time / 2)
    with pytest.raises(ValueError, match=r"the trajectory covers 0 to 0.25 s; the motion lasts from 0 to 0.5 s"):
        problem.solve(short)
    with pytest.raises(ValueError, match=re.escape("controls: motor must have the shape (3,), not (2,)")):
        MocoTrajectory([0.0, 1.0, 2.0], controls={"motor": [0.0, 1.0]})
    table = mq.data.motion_from_states(problem.model, [0.0, 1.0], [[0.1], [0.2]])
    mq.data.save_table(table, tmp_path / "motion.sto")
    with pytest.raises(ValueError, match="no num_states and num_controls"):
        load_moco_trajectory(tmp_path / "motion.sto")
    frame = trajectory.to_dataframe()
    for states, in_degrees, words in (
        ("3", None, "the header counts 6 columns, but there are 7"),
        ("1_0", None, "num_states in the header must be a whole number, not '1_0'"),
        ("4", True, "Moco's trajectories are in radians"),
    ):
        header = frame.attrs["header"] | {"num_states": states}
        mq.data.save_table(frame, tmp_path / f"{states}.sto", header=header, in_degrees=in_degrees)
        with pytest.raises(ValueError, match=words):
            load_moco_trajectory(tmp_path / f"{states}.sto")
    with pytest.raises(ValueError, match=r"the entry 'nRows=2' of the header"):
        mq.data.save_table(table, tmp_path / "again.sto", header={"nRows": 2})
