"""States of a system in the order of a model of Pinocchio, which writes quaternions scalar last."""

import numpy as np

TOLERANCE = 1e-11


class Peer:
    """A model of Pinocchio; `joints` pairs each of its joints with the slices of our q and u."""

    def __init__(self, model, joints):
        self.model, self.data, self.joints = model, model.createData(), joints
        self.velocities = np.concatenate([joint.idx_v + np.arange(joint.nv) for joint, *_ in joints])
        self.ours = np.concatenate([np.arange(at.start, at.stop) for *_, at in joints])

    def q(self, q):
        """A hinge without limits has (cos, sin) there."""
        found = np.zeros(self.model.nq)
        for joint, at, _ in self.joints:
            part = q[at]
            if (joint.nq, joint.nv) == (2, 1):
                part = np.array([np.cos(part[0]), np.sin(part[0])])
            elif joint.nq > joint.nv:
                part = np.concatenate([part[:-4], np.roll(part[-4:], -1)])
            found[joint.idx_q : joint.idx_q + joint.nq] = part
        return found

    def u(self, u):
        found = np.zeros(self.model.nv)
        found[self.velocities] = u[self.ours]
        return found

    def back(self, rows):
        """Rows by Pinocchio's velocities as rows by ours, along the last axis."""
        found = np.zeros_like(rows)
        found[..., self.ours] = rows[..., self.velocities]
        return found

    def matrix(self, upper):
        """A symmetric matrix by our velocities, of which Pinocchio gives the upper triangle."""
        whole = np.triu(upper) + np.triu(upper, 1).T
        return self.back(self.back(whole).T).T


def close(found, expected):
    scale = np.abs(expected).max()
    assert np.abs(found - expected).max() <= TOLERANCE * max(scale, 1e-3), np.abs(found - expected).max() / scale
