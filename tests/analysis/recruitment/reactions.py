"""What the tests of joint loads compare them with: Newton and Euler at every body, and OpenSim's reactions."""

import json

import numpy as np

from myoquat.joints import frame_acceleration, frame_velocity
from myoquat.joints.vectors import full


def momentum_missing(model, motion, wrenches, gravity):
    """(t, bodies, 6) the sum of forces on each body less the rate of its momentum, about its centre of mass. `wrenches`
    are (force, moment about the origin) on each body, joints and their reactions among them."""
    system, q, u, udot = model.system, motion.q, motion.u, motion.udot
    poses, rows = system.poses(q), []
    for i, body in enumerate(system.bodies):
        R, _ = poses[body.name]
        arm = R @ np.array(body.center_of_mass)
        a = frame_acceleration(system, q, u, udot, body.name, body.center_of_mass)
        omega = frame_velocity(system, q, u, body.name)[..., 3:]
        inertia = R @ full(np.array(body.inertia)) @ np.swapaxes(R, -1, -2)
        spin = (inertia @ omega[..., None])[..., 0]
        rate = (inertia @ a[..., 3:, None])[..., 0] + np.cross(omega, spin)
        force, moment = wrenches[:, i, :3], wrenches[:, i, 3:] - np.cross(arm, wrenches[:, i, :3])
        rows.append(np.concatenate([force + body.mass * np.array(gravity) - body.mass * a[..., :3], moment - rate], -1))
    return np.stack(rows, axis=1)


def on_bodies(model, motion, wrench):
    """(t, bodies, 6) of joints (t, bodies, 6) on their children, what they do to children and parents."""
    system, poses = model.system, model.system.poses(motion.q)
    total = wrench.copy()
    for k, body in enumerate(system.bodies):
        if body.parent != system.ground:
            j = system.body_names.index(body.parent)
            arm = poses[body.name][1] - poses[body.parent][1]
            total[:, j, :3] -= wrench[:, k, :3]
            total[:, j, 3:] -= wrench[:, k, 3:] + np.cross(arm, wrench[:, k, :3])
    return total


OPENSIM = """
model = opensim.Model(arguments[0])
model.initSystem()
coordinates = [model.getCoordinateSet().get(i) for i in range(model.getNumCoordinates())]
muscles = [model.getMuscles().get(i) for i in range(model.getMuscles().getSize())]
joints = [model.getJointSet().get(i) for i in range(model.getJointSet().getSize())]
answer = dict(names=[c.getName() for c in coordinates], joints=[j.getName() for j in joints], rows=[])
numbers = lambda v: [v.get(k) for k in range(3)]
for q, u, tensions in json.loads(arguments[1]):
    state = model.initializeState()
    for c, x, v in zip(coordinates, q, u):
        if arguments[2] == "released":
            c.setLocked(state, False)
        c.setValue(state, x, False)
        c.setSpeedValue(state, v)
    for m, f in zip(muscles, tensions):
        m.overrideActuation(state, True)
        m.setOverrideActuation(state, f)
    model.realizeAcceleration(state)
    loads = []
    for j in joints:
        w = j.calcReactionOnChildExpressedInGround(state)
        p = j.calcReactionOnParentExpressedInGround(state)
        loads.append([numbers(w.get(1)) + numbers(w.get(0)), numbers(p.get(1)) + numbers(p.get(0))])
    answer["rows"].append([[c.getAccelerationValue(state) for c in coordinates], loads])
"""


def of_opensim(in_opensim, file, model, motion, tensions, locks="kept"):
    """Its accelerations (t, nu), the names of its joints, and their reactions (t, joints, child and parent, 6), with
    tensions overridden; locks "kept" or "released"."""
    model.save(file)
    rows = [[x.tolist() for x in row] for row in zip(motion.q, motion.u, tensions, strict=True)]
    theirs = in_opensim(OPENSIM, str(file), json.dumps(rows), locks)
    assert theirs["names"] == list(model.system.coordinate_names)
    udot, reactions = (np.array(part) for part in zip(*theirs["rows"], strict=True))
    return udot, theirs["joints"], reactions
