"""Joint reactions against Newton's and Euler's equations of every single body."""

import numpy as np
import pytest

from myoquat.dynamics import joint_reactions
from myoquat.joints import frame_acceleration, frame_pose, frame_velocity
from myoquat.joints.multibody.sampling import random_system
from myoquat.joints.vectors import full


@pytest.fixture(params=[0, 1, 2, 3])
def case(request):
    """A tree, a state, udot and outer wrenches: joints of every type, welds too, with dampers and springs."""
    rng = np.random.default_rng(request.param)
    system = random_system(7, rng, passive=True, velocity_frame=("child", "parent")[request.param % 2])
    q, (u, udot) = system.random(1, rng)[0], rng.normal(size=(2, system.nu))
    return system, q, u, udot, rng.normal(size=(len(system.bodies), 6))


def _moment(wrench, at, about):
    """The moment of a wrench (force, torque) at a point about another one."""
    return wrench[3:] + np.cross(at - about, wrench[:3])


def test_every_body_obeys_newton_and_euler(case):
    """m a = weight + f_ext + own joint - joints of the children, and the same for moments about the centre of mass."""
    system, q, u, udot, f_ext = case
    wrenches = joint_reactions(system, q, u, udot, f_ext, backend="numpy")
    poses = {name: frame_pose(system, q, name, backend="numpy") for name in system.body_names}
    for i, body in enumerate(system.bodies):
        R, origin = poses[body.name]
        center = origin + R @ np.array(body.center_of_mass)
        a = frame_acceleration(system, q, u, udot, body.name, body.center_of_mass, backend="numpy")
        omega = frame_velocity(system, q, u, body.name, backend="numpy")[3:]
        inertia = R @ full(np.array(body.inertia)) @ R.T
        children = [k for k, other in enumerate(system.bodies) if other.parent == body.name]
        acting = [(wrenches[i], origin), (f_ext[i], origin)]
        acting += [(-wrenches[k], poses[system.body_names[k]][1]) for k in children]
        force = sum(w[:3] for w, _ in acting) + body.mass * np.array(system.gravity)
        scale = max(np.abs(wrenches).max(), 1.0)
        np.testing.assert_allclose(force, body.mass * a[:3], atol=1e-12 * scale)
        moment = sum(_moment(w, at, center) for w, at in acting)
        expected = inertia @ a[3:] + np.cross(omega, inertia @ omega)
        np.testing.assert_allclose(moment, expected, atol=1e-12 * scale)
