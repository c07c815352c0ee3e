"""Joint reactions under constraints: the same mechanism, cut open at different joints."""

import numpy as np
import pytest

from myoquat.dynamics import simulate
from myoquat.dynamics.constraints import PointLoop, PositionFormula, Rolling
from myoquat.joints import ArticulatedSystem, center_of_mass, frame_pose, point_position
from tests.bodies import afloat, on_hinge

CRANK, COUPLER, ROCKER, BASE = 0.3, 0.8, 0.6, (0.7, 0.1, 0.0)


def bar(name, parent, length, position=(0.0, 0.0, 0.0), mass=1.0):
    """A uniform rod along x of its frame, turning about z."""
    inertia = (1e-4, mass * length**2 / 12, mass * length**2 / 12, 0.0, 0.0, 0.0)
    return on_hinge(
        name, parent=parent, position=position, mass=mass, center_of_mass=(length / 2, 0, 0), inertia=inertia
    )


def closed_at_rocker():
    """Crank and coupler in a chain, the rocker on its own; held together at the end of the coupler."""
    bodies = (
        bar("crank", "ground", CRANK),
        bar("coupler", "crank", COUPLER, (CRANK, 0, 0)),
        bar("rocker", "ground", ROCKER, BASE),
    )
    loop = PointLoop("coupler", "rocker", (COUPLER, 0, 0), (ROCKER, 0, 0), axes="xy")
    return ArticulatedSystem(bodies, gravity=(0, -9.81, 0)), (loop,)


def closed_at_crank():
    """Rocker and coupler in a chain, seen from the other end."""
    bodies = (
        bar("crank", "ground", CRANK),
        bar("rocker", "ground", ROCKER, BASE),
        bar("coupler", "rocker", COUPLER, (ROCKER, 0, 0)),
    )
    loop = PointLoop("crank", "coupler", (CRANK, 0, 0), (COUPLER, 0, 0), axes="xy")
    return ArticulatedSystem(bodies, gravity=(0, -9.81, 0)), (loop,)


def angles(system, run):
    """Absolute angles of the bars' directions, crank to coupler end to rocker."""
    poses = {name: [system.poses(q)[name][0] for q in run.q] for name in system.body_names}
    return {name: np.unwrap([np.arctan2(R[1, 0], R[0, 0]) for R in turned]) for name, turned in poses.items()}


@pytest.fixture(scope="module")
def both():
    """The four-bar in both forms, from the same pose."""
    system, loops = closed_at_rocker()
    first = simulate(
        system, [0.5, 0.2, 2.0], duration=0.8, rtol=1e-10, constraints=loops, project_start=True, output_step=0.05
    )
    crank, coupler, rocker = (angles(system, first)[name][0] for name in ("crank", "coupler", "rocker"))
    other, held = closed_at_crank()
    start = [crank, rocker, coupler + np.pi - rocker]
    second = simulate(other, start, duration=0.8, rtol=1e-10, constraints=held, project_start=True, output_step=0.05)
    return (system, first), (other, second)


def test_the_motion_is_the_same(both):
    (system, first), (other, second) = both
    np.testing.assert_allclose(angles(system, first)["crank"], angles(other, second)["crank"], atol=1e-7)
    assert np.ptp(first.q[:, 0]) > 0.5


def test_forces_through_the_same_joints_are_the_same(both):
    """The crank's and the rocker's bearings are joints in both; the coupler's two pins are a joint in one each."""
    (system, first), (other, second) = both
    index, jndex = (list(s.body_names).index for s in (system, other))
    a, b = first.reactions, second.reactions
    scale = np.abs(a).max()
    for name in ("crank", "rocker"):
        np.testing.assert_allclose(a[:, index(name)], b[:, jndex(name)], atol=1e-6 * scale)
    # all that holds the coupler: its pin to the crank, and the other one, which the rocker carries
    weight = np.array([0, -9.81, 0])
    pin = a[:, index("coupler"), :3]
    other_pin = b[:, jndex("coupler"), :3]
    acceleration = _acceleration(system, first)
    np.testing.assert_allclose(pin + other_pin + weight, acceleration, atol=1e-5 * scale)


def _acceleration(system, run):
    """(t, 3) of the coupler's centre of mass, from its position by differences along the motion."""
    found = []
    for q, u, a in zip(run.q, run.u, run.acceleration, strict=True):
        at = lambda s: _middle(system, q + s * u + 0.5 * s * s * a)  # noqa: B023, E731
        h = 1e-4
        found.append((at(h) - 2 * at(0) + at(-h)) / h**2)
    return np.array(found)


def _middle(system, q):
    R, p = system.poses(q)["coupler"]
    return p + R @ np.array([COUPLER / 2, 0, 0])


def test_constraints_on_velocities_are_refused():
    body = afloat("b", mass=2.0, inertia=0.1)
    system = ArticulatedSystem((body,), gravity=(0, 0, -10))
    q0 = np.concatenate([[0.0, 0.0, 0.5], [1.0, 0, 0, 0]])
    run = simulate(system, q0, duration=0.01, step=1e-3, constraints=(Rolling("b", 0.5),))
    with pytest.raises(NotImplementedError, match="Rolling holds velocities"):
        _ = run.reactions


@pytest.mark.parametrize("ask", ["point_position", "frame_pose", "poses", "center_of_mass"])
def test_a_formula_may_ask_the_kinematics_of_the_system(ask):
    """The same loop as a PointLoop and as a formula: the same reactions."""
    system, loops = closed_at_rocker()
    points = {"coupler": (COUPLER, 0.0, 0.0), "rocker": (ROCKER, 0.0, 0.0)}

    def end(bodies, q, name):
        if ask == "point_position":
            return point_position(bodies, q, name, points[name])
        R, p = frame_pose(bodies, q, name) if ask == "frame_pose" else bodies.poses(q)[name]
        return p + R @ np.array(points[name])

    def apart(bodies, q, t):
        extra = 0.0 if ask != "center_of_mass" else 0.0 * center_of_mass(bodies, q)[..., :2]
        return (end(bodies, q, "coupler") - end(bodies, q, "rocker"))[..., :2] + extra

    run = {"q0": np.array([1.0, -0.6, 1.2]), "duration": 0.01, "project_start": True}
    expected = simulate(system, constraints=loops, **run)
    found = simulate(system, constraints=[PositionFormula(apart)], **run)
    np.testing.assert_allclose(found.q, expected.q, atol=1e-12)
    np.testing.assert_allclose(found.reactions, expected.reactions, atol=1e-9)
