"""Against Pinocchio on random trees, conventions converted explicitly.

Its free-flyer has child-frame (linear, angular) velocities as here. Sequences
of turns become composite joints, whose velocities are the rates. Planar joints are left to the other tests: Pinocchio
describes them by (x, y, cos, sin) and body-frame velocities.
"""

import numpy as np
import pytest
from pinocchio_peer import TOLERANCE, Peer, close
from volume import draws

from myoquat.dynamics import (
    bias_force,
    forward_dynamics,
    gravity_force,
    inverse_dynamics,
    kinetic_energy,
    mass_matrix,
    potential_energy,
)
from myoquat.joints.kinematics import (
    center_of_mass,
    center_of_mass_jacobian,
    frame_acceleration,
    frame_jacobian,
    frame_jacobian_rate,
    frame_pose,
    momentum,
)
from myoquat.joints.multibody.sampling import random_system
from myoquat.joints.vectors import full, steiner

pin = pytest.importorskip("pinocchio")
pytestmark = pytest.mark.peers

KINDS = ("fixed", "floating", "revolute", "prismatic", "spherical", "euler", "universal")


def _joint(joint):
    axes = {"X": pin.JointModelRX, "Y": pin.JointModelRY, "Z": pin.JointModelRZ}
    if joint.kind == "revolute":
        return pin.JointModelRevoluteUnaligned(np.array(joint.axis))
    if joint.kind == "prismatic":
        return pin.JointModelPrismaticUnaligned(np.array(joint.axis))
    if joint.kind == "spherical":
        return pin.JointModelSpherical()
    if joint.kind == "floating":
        return pin.JointModelFreeFlyer()
    composite = pin.JointModelComposite()
    if joint.kind == "euler":
        parts = [axes[letter]() for letter in joint.sequence]
    else:
        parts = [pin.JointModelRevoluteUnaligned(np.array(a)) for a in (joint.first, joint.second)]
    for part in parts:
        composite.addJoint(part)
    return composite


def _depth_first(tree):
    """Links branch by branch: Pinocchio wants the velocities of a subtree side by side."""
    children = [[j for j, other in enumerate(tree.links) if other.parent == i] for i in range(len(tree.links))]
    waiting = [i for i, link in enumerate(tree.links) if link.parent < 0]
    while waiting:
        i = waiting.pop()
        yield i
        waiting.extend(children[i])


class Tree(Peer):
    """The same tree in Pinocchio."""

    def __init__(self, system):
        self.system = system
        model = pin.Model()
        model.gravity = pin.Motion(np.array(system.gravity), np.zeros(3))
        ids = [0] * len(system.tree.links)
        for k in _depth_first(system.tree):
            link = system.tree.links[k]
            parent = 0 if link.parent < 0 else ids[link.parent]
            joint = model.addJoint(parent, _joint(link.joint), pin.SE3(link.R, link.p), link.name)
            center = link.moment / link.mass
            inertia = full(link.inertia - steiner(center, link.mass))
            model.appendBodyToJoint(joint, pin.Inertia(link.mass, center, inertia), pin.SE3.Identity())
            ids[k] = joint
        for name, (link, R, p) in system.tree.frames.items():
            if link >= 0:
                model.addFrame(pin.Frame(f"{name}.frame", ids[link], 0, pin.SE3(R, p), pin.FrameType.OP_FRAME))
        links = zip(ids, system.tree.links, strict=True)
        super().__init__(model, [(model.joints[i], link.q, link.u) for i, link in links])
        self.ids = ids

    def forces(self, poses, f_ext):
        """Local wrenches on Pinocchio's joints from f_ext (bodies, 6) in world axes at the body's origin."""
        total = [pin.Force.Zero() for _ in range(self.model.njoints)]
        for i, name in enumerate(self.system.body_names):
            link, _, _ = self.system.tree.frames[name]
            if link < 0:
                continue
            _, p = poses[name]
            R, origin = poses[self.system.tree.links[link].name]
            moment = f_ext[i, 3:] + np.cross(p - origin, f_ext[i, :3])
            total[self.ids[link]] += pin.Force(R.T @ f_ext[i, :3], R.T @ moment)
        return total


@pytest.fixture(params=range(draws(4, 8)))
def case(request):
    rng = np.random.default_rng(request.param)
    system = random_system(int(rng.integers(2, 13)), rng, KINDS)
    if not system.nu:
        pytest.skip("nothing moves in this tree")
    q, (u, udot) = system.random(1, rng)[0], rng.normal(size=(2, system.nu))
    return system, Tree(system), q, u, udot, rng.normal(size=(len(system.bodies), 6))


def test_dynamics(case):
    system, peer, q, u, udot, f_ext = case
    x, v, a = peer.q(q), peer.u(u), peer.u(udot)
    M = peer.matrix(pin.crba(peer.model, peer.data, x))
    close(mass_matrix(system, q), M)
    close(bias_force(system, q, u), peer.back(pin.nonLinearEffects(peer.model, peer.data, x, v)))
    close(gravity_force(system, q), peer.back(pin.computeGeneralizedGravity(peer.model, peer.data, x)))
    close(inverse_dynamics(system, q, u, udot), peer.back(pin.rnea(peer.model, peer.data, x, v, a)))
    outside = peer.forces({name: frame_pose(system, q, name) for name in system.body_names}, f_ext)
    tau = pin.rnea(peer.model, peer.data, x, v, a, outside)
    close(inverse_dynamics(system, q, u, udot, f_ext), peer.back(tau))
    expected = peer.back(pin.aba(peer.model, peer.data, x, v, tau, outside))
    limit = max(1.0, np.linalg.cond(M) / 1e5)  # both lose what the condition number takes
    for method in ("aba", "crba"):
        found = forward_dynamics(system, q, u, peer.back(tau), f_ext, method=method)
        assert np.abs(found - expected).max() <= TOLERANCE * limit * np.abs(expected).max()


def test_energies_and_centre_of_mass(case):
    system, peer, q, u, _, _ = case
    x, v = peer.q(q), peer.u(u)
    close(kinetic_energy(system, q, u), pin.computeKineticEnergy(peer.model, peer.data, x, v))
    rest = system.neutral()
    ours = potential_energy(system, q) - potential_energy(system, rest)  # bodies on the ground are not Pinocchio's
    theirs = [pin.computePotentialEnergy(peer.model, peer.data, peer.q(y)) for y in (q, rest)]
    assert abs(ours - (theirs[0] - theirs[1])) <= TOLERANCE * max(np.abs(theirs))
    close(center_of_mass(system, q), pin.centerOfMass(peer.model, peer.data, x))
    close(center_of_mass_jacobian(system, q), peer.back(pin.jacobianCenterOfMass(peer.model, peer.data, x)))
    h = pin.computeCentroidalMomentum(peer.model, peer.data, x, v)
    close(momentum(system, q, u), np.concatenate([h.linear, h.angular]))


@pytest.mark.parametrize("axes", ["world", "local"])
def test_frames(case, axes):
    system, peer, q, u, udot, _ = case
    x, v, a = peer.q(q), peer.u(u), peer.u(udot)
    reference = pin.LOCAL_WORLD_ALIGNED if axes == "world" else pin.LOCAL
    pin.forwardKinematics(peer.model, peer.data, x, v, a)
    pin.computeJointJacobiansTimeVariation(peer.model, peer.data, x, v)
    pin.updateFramePlacements(peer.model, peer.data)
    for name in system.body_names[:4]:
        if system.tree.frames[name].link < 0:
            continue
        frame = peer.model.getFrameId(f"{name}.frame")
        R, p = frame_pose(system, q, name)
        close(R, peer.data.oMf[frame].rotation)
        close(p, peer.data.oMf[frame].translation)
        J = peer.back(pin.getFrameJacobian(peer.model, peer.data, frame, reference))
        close(frame_jacobian(system, q, name, axes=axes), J)
        acceleration = pin.getFrameClassicalAcceleration(peer.model, peer.data, frame, reference).vector
        close(frame_acceleration(system, q, u, udot, name, axes=axes), acceleration)
        # Pinocchio's rates are not those of the moving point in world axes, and leave composite joints out
        path = {system.tree.links[i].joint.kind for i in system.tree.path(system.tree.frames[name].link)}
        if axes == "local" and path.isdisjoint({"euler", "universal"}):
            J_rate = peer.back(pin.getFrameJacobianTimeVariation(peer.model, peer.data, frame, reference))
            close(frame_jacobian_rate(system, q, u, name, axes=axes), J_rate)
