"""The file's own angles of ball joints that a model describes by quaternions, both ways, and their rates.

Here R = R(a1, f1) R(a2, f2) R(a3, f3). The f_k are linear functions of the coordinates x, the a_k fixed axes (see
`myoquat.joints.Angles`). The child's angular velocity in its own axes is omega = sum of b_k fdot_k. The b_k are b_3 =
a3, b_2 = R3^T a2, b_1 = R3^T R2^T a1. Det [b1 b2 b3] is zero in gimbal lock.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from myoquat.core import Array, pandas as pd
from myoquat.joints import Angles, ArticulatedSystem, rotation_matrix
from myoquat.joints.evaluation import SystemLike, system_of
from myoquat.joints.ranges import check_state
from myoquat.joints.vectors import vecmat

from .coordinates import coordinate_labels, motion_table

GIMBAL_LOCK_DET = 1e-12  # |det B| of unit factors below which rates of angles have no value


class BallAngles(NamedTuple):
    """A quaternion joint with named angles.

    body               its place among the bodies
    quaternion, omega  its quaternion in q, and its angular velocity in u
    in_child           whether the angular velocity is in child axes
    """

    body: int
    quaternion: slice
    omega: slice
    in_child: bool
    angles: Angles


def balls(system: ArticulatedSystem) -> Iterator[BallAngles]:
    """The quaternion joints of a system that have named angles."""
    for i, (body, iq, iu) in enumerate(zip(system.bodies, system.q_slices, system.u_slices, strict=True)):
        joint: Any = body.joint
        if joint.facts.quaternion is not None and joint.angles is not None:
            yield BallAngles(i, slice(iq.stop - 4, iq.stop), slice(iu.stop - 3, iu.stop), joint.in_child, joint.angles)


def angle_table(system: ArticulatedSystem, time: Array, q: Array, u: Array | None, in_degrees: bool) -> "pd.DataFrame":
    """Columns of the file's own coordinates and speeds; see `Motion.angles`."""
    labels, balls_by_body = coordinate_labels(system), {ball.body: ball for ball in balls(system)}
    columns: dict[str, Array] = {}
    speeds: dict[str, Array] = {}
    for i, (iq, iu) in enumerate(zip(system.q_slices, system.u_slices, strict=True)):
        ball = balls_by_body.get(i)
        columns |= {labels["q"][k]: q[:, k] for k in range(iq.start, ball.quaternion.start if ball else iq.stop)}
        if u is not None:
            speeds |= {labels["u"][k]: u[:, k] for k in range(iu.start, ball.omega.start if ball else iu.stop)}
        if ball:
            x = unwrapped_angles(ball.angles, q[:, ball.quaternion])
            columns |= {name: ball.angles.coordinate(x, k) for k, name in enumerate(ball.angles.all_names)}
        if ball and u is not None:
            rates = _rates(ball, q[:, ball.quaternion], u[:, ball.omega], x)
            speeds |= {f"{name}_u": rates[:, k] for k, name in enumerate(ball.angles.names)}
            speeds |= {f"{d.name}_u": d.factor * rates[:, d.place] for d in ball.angles.dependents}
    return motion_table(system, time, columns | speeds, in_degrees)


def unwrapped_angles(angles: Angles, Q: Array) -> Array:
    """(t, 3) angles x [rad] of Q (t, 4), continuous from frame to frame. Each frame has the triple that is nearest to
    the frame before, of the two triples of its rotation and all full turns. The first is nearest to `Angles.values`."""
    first = angles.rotations(angles.values(Q[:1]))
    return angles.coordinates(nearest_branch(angles.triple(Q), angles.triple(Q, second=True), first))


def nearest_branch(f: Array, twin: Array, start: Array | None = None) -> Array:
    """(t, 3) the triples that are nearest to the frame before, among f and twin (t, 3) [rad] and all full turns of each
    angle.

    f and twin give the same rotations. The first triple is that of f, or the one nearest to `start` (1, 3).
    """
    if not len(f):
        return f.copy()
    choices = np.stack([f, twin], axis=1)
    change = _shortest(choices[1:, None] - choices[:-1, :, None])  # (t - 1, from, to, 3)
    followers = (change**2).sum(axis=-1).argmin(axis=-1).tolist()
    taken = [0 if start is None else int((_shortest(choices[0] - start) ** 2).sum(axis=-1).argmin())]
    for follower in followers:
        taken.append(follower[taken[-1]])
    found: Array = choices[np.arange(len(f)), taken]
    if start is not None:
        found -= 2 * np.pi * np.round((found[0] - start) / (2 * np.pi))
    found[1:] -= 2 * np.pi * np.cumsum(np.round(np.diff(found, axis=0) / (2 * np.pi)), axis=0)
    return found


def _shortest(x: Array) -> Array:
    """Angles without full turns, in [-pi, pi]."""
    return x - 2 * np.pi * np.round(x / (2 * np.pi))


def lock_distance(model: SystemLike, q: Array) -> "pd.DataFrame":
    """How far every quaternion joint with named angles is from its gimbal lock at q (t, nq), by body.

    The distance is the sine of the angle from its second rotation to the lock, |cos f2| for orthogonal axes. It is 0 in
    the lock.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> body = mq.Body("arm", "ground", mq.joints.EulerJoint("ZXY"), coordinate_names=("flex", "add", "turn"))
    >>> system = mq.joints.with_rotations(mq.ArticulatedSystem((body,)), "quaternion")
    >>> Q = mq.joints.quaternion_from_euler([[0.0, 0.0, 0.0], [0.0, np.pi / 2, 0.0]], "ZXY")
    >>> mq.data.lock_distance(system, Q).arm.round(6).to_list()  # the second pose is in gimbal lock
    [1.0, 0.0]
    """
    system = system_of(model)
    q = check_state("q", q, system.coordinate_names)
    found = {}
    for ball in balls(system):
        x = ball.angles.values(q[..., ball.quaternion])
        found[system.body_names[ball.body]] = ball.angles.lock_sine(x)
    return pd.DataFrame(found)


def angle_quality(model: SystemLike, q: Array) -> "pd.DataFrame":
    """The quality of the file's angles of every quaternion joint at q (t, nq), two columns by body.

    unreached  [rad] how far the rotation is from the nearest one that the file's axes can reach. The angles are those
               of the nearest one. It is zero where the axes reach the rotation.
    condition  the condition number of omega = B xdot at the angles; infinite, or past 1e15, in gimbal lock.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> axes = (0.0, 1.0, 0.0), (-1.0, 0.0, 0.0), (-0.1, np.sqrt(0.99), 0.0)  # the third is six degrees off
    >>> arm = mq.Body("arm", "ground", mq.joints.SphericalJoint(angles=mq.joints.Angles(("a", "b", "c"), axes)))
    >>> Q = mq.joints.quaternion_exp([[0.3, 0.4, 0.5], [0.0, 0.0, -0.1]])
    >>> mq.data.angle_quality(mq.ArticulatedSystem((arm,)), Q)[("arm", "unreached")].round(4).to_list()
    [0.0, 0.1]
    """
    system = system_of(model)
    q = check_state("q", q, system.coordinate_names)
    found: dict[tuple[str, str], Array] = {}
    for ball in balls(system):
        Q, name = q[..., ball.quaternion], system.body_names[ball.body]
        found[name, "unreached"] = ball.angles.unreached(Q)
        found[name, "condition"] = np.linalg.cond(ball.angles.rate_matrix(ball.angles.values(Q)))
    return pd.DataFrame(found)


def _rates(ball: BallAngles, Q: Array, omega: Array, x: Array) -> Array:
    """(t, 3) rates of the angles; NaN where they are locked."""
    omega = omega if ball.in_child else vecmat(omega, rotation_matrix(Q))
    B = ball.angles.rate_matrix(x)
    free = np.abs(np.linalg.det(B)) > GIMBAL_LOCK_DET * abs(np.linalg.det(ball.angles.matrix))
    result = np.full(x.shape, np.nan)
    result[free] = np.linalg.solve(B[free], omega[free][..., None])[..., 0]
    return result
