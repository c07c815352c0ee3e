"""Locked and prescribed coordinates in all that moves or writes a model.

Two pins in one plane carry 1 kg and 0.5 kg. Motions from rest are those of OpenSim 4.6 (Manager, accuracy 1e-8), for
q1 = 0.2 + 0.5 sin(3 t) and for q1 locked at 0.3, every 0.1 s.
"""

from dataclasses import replace

import numpy as np
import pytest

import myoquat as mq
from myoquat.data.reports import UnwrittenWarning
from myoquat.dynamics.constraints import Distance, assemble
from myoquat.environments import PoseTask, VectorEnvironment
from myoquat.joints import ArticulatedSystem, Body, RevoluteJoint
from myoquat.joints.functions import Linear, Sine
from myoquat.muscle.actuators import CoordinateActuator
from myoquat.muscle.coordinates import Coordinate, Coupler

UPPER = {"mass": 1.0, "center_of_mass": (0.0, -0.2, 0.0), "inertia": (0.02, 0.01, 0.02, 0.0, 0.0, 0.0)}
LOWER = {"mass": 0.5, "center_of_mass": (0.0, -0.1, 0.0), "inertia": (0.01, 0.004, 0.01, 0.0, 0.0, 0.0)}
PIN = RevoluteJoint((0.0, 0.0, 1.0))
SYSTEM = ArticulatedSystem(
    (Body("a", "ground", PIN, coordinate_names=("q1",), **UPPER),
     Body("b", "a", PIN, (0.0, -0.4, 0.0), coordinate_names=("q2",), **LOWER)), gravity=(0.0, -9.81, 0.0),
)  # fmt: skip
WAVE = Sine(0.5, 3.0, 0.0, 0.2)
PRESCRIBED = mq.Model(SYSTEM, coordinates=(Coordinate("q1", prescribed=WAVE), Coordinate("q2")))
LOCKED = mq.Model(SYSTEM, coordinates=(Coordinate("q1", locked=True), Coordinate("q2")), start_q=(0.3, 0.0))
OPENSIM = {
    "prescribed": (PRESCRIBED, [0.0, -0.0342, -0.1353, -0.2847, -0.4489, -0.5898]),
    "locked": (LOCKED, [0.0, -0.0471, -0.1738, -0.3405, -0.4943, -0.5868]),
}


def expected_first(model, time):
    return 0.2 + 0.5 * np.sin(3 * time) if model is PRESCRIBED else 0.3 + 0.0 * time


@pytest.mark.parametrize("mode", OPENSIM)
@pytest.mark.parametrize("solver", [{}, {"rtol": 1e-8}, {"method": "lie_rk4"}])
def test_simulations_move_as_opensim_does(mode, solver):
    model, second = OPENSIM[mode]
    way = mq.simulate(model, duration=0.5, output_step=0.1, **solver)
    np.testing.assert_allclose(way.q[:, 0], expected_first(model, way.time), atol=1e-12)
    np.testing.assert_allclose(way.q[:, 1], second, atol=5.1e-5)


def roped():
    """Four links, the second locked, of which a rope holds the last."""
    names, parents = ("q1", "q2", "q3", "q4"), ("ground", "q1", "q2", "q3")
    bodies = tuple(Body(name, parent, PIN, (0.3, -0.1, 0.0), coordinate_names=(name,), **UPPER)
                   for name, parent in zip(names, parents, strict=True))  # fmt: skip
    system, start = ArticulatedSystem(bodies, gravity=(0.0, -9.81, 0.0)), (0.2, 0.5, 0.3, -0.4)
    R, p = system.poses(np.array(start))["q4"]
    length = float(np.linalg.norm(p + R @ [0.0, -0.3, 0.0] - [1.0, 0.4, 0.0]))
    rope = Distance("q4", "ground", (0.0, -0.3, 0.0), (1.0, 0.4, 0.0), distance=length)
    return mq.Model(system, coordinates=(Coordinate("q2", locked=True),), start_q=start, constraints=(rope,))


@pytest.mark.parametrize(
    "solver", [{"method": name, "step": 0.02} for name in ("rk4", "lie_rk4", "semi_implicit_euler")] + [{"rtol": 1e-4}]
)
def test_steps_onto_other_constraints_do_not_move_a_lock(solver):
    """Projections moved all coordinates: 4e-3 in a second of the semi-implicit method."""
    way = mq.simulate(roped(), duration=1.0, **solver)
    np.testing.assert_allclose(way.q[:, 1], 0.5, atol=1e-12)
    assert np.ptp(way.q[:, 0]) > 0.1


def test_the_reaction_of_a_lock_is_within_its_joint():
    """The force is that of a weld, as a lock pulls on no body from outside."""
    way = mq.simulate(LOCKED, duration=0.1, output_step=0.1)
    weld = ArticulatedSystem((replace(SYSTEM.bodies[0], joint=mq.joints.FixedJoint(), coordinate_names=None,
                                      orientation=(np.cos(0.15), 0.0, 0.0, np.sin(0.15))),
                              SYSTEM.bodies[1]), gravity=SYSTEM.gravity)  # fmt: skip
    udot = mq.forward_dynamics(weld, [0.0], [0.0], [0.0])
    np.testing.assert_allclose(way.acceleration[0], [0.0, udot[0]], atol=1e-12)
    wrench = mq.dynamics.joint_reactions(weld, [0.0], [0.0], udot)[0]
    np.testing.assert_allclose(way.reactions[0, 0, :3], wrench[:3], atol=1e-12)


def test_poses_are_assembled_at_their_time_and_carry_couplers_along():
    double = replace(PRESCRIBED, couplers=(Coupler("double", "q2", "q1", Linear(2.0)),))
    at = WAVE.value(np.array(0.3))
    np.testing.assert_allclose(assemble(double, [0.0, 0.0], time=0.3), [at, 2 * at], atol=1e-10)
    way = mq.simulate(double, duration=0.1, output_step=0.1)
    np.testing.assert_allclose(way.q[:, 1], 2 * way.q[:, 0], atol=1e-12)


@pytest.mark.peers
def test_mujoco_holds_a_locked_coordinate_and_cannot_prescribe_one(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    LOCKED.save(tmp_path / "locked.xml")
    m = mujoco.MjModel.from_xml_path(str(tmp_path / "locked.xml"))
    d = mujoco.MjData(m)
    mujoco.mj_resetDataKeyframe(m, d, 0)
    for _ in range(100):
        mujoco.mj_step(m, d)
    assert abs(d.qpos[0] - 0.3) < 1e-3  # its constraints are soft
    with pytest.warns(UnwrittenWarning, match="prescribed over time"):
        PRESCRIBED.save(tmp_path / "prescribed.xml")


def test_urdf_fixes_a_locked_joint(tmp_path):
    with pytest.warns(UnwrittenWarning):
        LOCKED.save(tmp_path / "locked.urdf")
    found = mq.load_model(tmp_path / "locked.urdf").system
    assert found.coordinate_names == ("b_joint",)  # URDF names joints, not coordinates
    expected = SYSTEM.poses(np.array([0.3, 0.2]))["b"]
    for part, other in zip(found.poses(np.array([0.2]))["b"], expected, strict=True):
        np.testing.assert_allclose(part, other, atol=1e-12)


@pytest.mark.parametrize("options", [{"step": 1e-3}, {"rtol": 1e-9}], ids=["steps", "adaptive"])
def test_numbers_of_prescribed_functions_move_the_start_of_each_run(options):
    """q2 follows q1 by a coupler and starts with it; q0 that are given are replaced as without parameters."""
    model = replace(PRESCRIBED, couplers=(Coupler("geared", "q2", "q1", Linear(0.5, 0.1)),))
    name, values = "coordinates.q1.prescribed.amplitude", np.array([0.5, 0.8])
    options |= {"duration": 0.05, "start_time": 0.3, "output_step": 0.01}
    run = mq.simulate(model, [0.0, 0.0], [0.0, 0.0], parameters={name: values}, **options)
    for k, value in enumerate(values):
        built = mq.muscle.Parameters.of(model, name).bind([value])
        alone = mq.simulate(built, [0.0, 0.0], [0.0, 0.0], **options)
        assert alone.q[0, 0] == pytest.approx(value * np.sin(0.9) + 0.2, rel=1e-15)
        np.testing.assert_allclose(run.q[k], alone.q, rtol=1e-9)
        np.testing.assert_allclose(run.u[k], alone.u, rtol=1e-8)


def test_studies_and_environments_vary_prescribed_functions():
    motor = CoordinateActuator("motor", "q2", lower=-1.0, upper=1.0)
    model, name = replace(PRESCRIBED, actuators=(motor,)), "coordinates.q1.prescribed.offset"
    study = mq.Study(model, {name: [0.2, 0.6]}, design="grid", duration=0.02)
    aim = {"low": [0.0, 0.0], "high": [0.0, 0.0], "start_low": [0.0, 0.1], "start_high": [0.0, 0.1], "start_time": 0.4}
    envs = VectorEnvironment(PoseTask(model, **aim), 1, randomize={name: (0.6, 0.6)})
    envs.reset(seed=0)
    envs.step([[0.0]])
    built = mq.muscle.Parameters.of(model, name).bind([0.6])
    rows = study.run(progress=False).q_final.values
    np.testing.assert_allclose(rows[1], mq.simulate(built, duration=0.02).q[-1], rtol=1e-12)
    run = mq.simulate(built, [0.0, 0.1], None, 0.02, 0.002, method="semi_implicit_euler", start_time=0.4)
    np.testing.assert_allclose(envs.episodes.x[0], [*run.q[-1], *run.u[-1]], rtol=1e-12)
