"""OpenSim's reactions, with which the tests of joint loads compare."""

import json

import numpy as np

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
