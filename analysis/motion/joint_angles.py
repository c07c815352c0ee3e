"""Angles of joints in the conventions that clinicians read, from the rotations of a motion.

Conventions in which clinicians read rotations of a joint: the recommendations of the ISB, group by group.

Axes of every segment: x forward, y up, z to the right. R takes components of the distal segment to those of the
proximal one. It is a sequence of turns about the proximal, the floating and the distal axis [E. S. Grood, W. J. Suntay,
A joint coordinate system for the clinical description of three-dimensional motions, J. Biomech. Eng. 105, 1983]. Each
group names its three angles by the direction in which they are positive, on the right side. On the left side the same
names hold for the mirrored segments.

Sources:

- G. Wu et al., ISB recommendation on definitions of joint coordinate system of various joints for the reporting of
  human joint motion, part I: ankle, hip, and spine, J. Biomech. 35, 2002
- part II: shoulder, elbow, wrist and hand, J. Biomech. 38, 2005
- knee: Grood and Suntay, with the axes of the hip's segments
"""

from typing import Any

import numpy as np

from myoquat.core import Array, ArrayLike, Curve, Curves, check_types, frozen, indices_of, pandas as pd, time_table
from myoquat.data.motions import Motion, MotionLike, motion_of
from myoquat.data.motions.angles import nearest_branch
from myoquat.data.motions.orientations import continuous_quaternions
from myoquat.data.motions.series import axes_rotation
from myoquat.joints import ArticulatedSystem, Body
from myoquat.joints.quaternion import quaternion_conjugate, quaternion_from_matrix, quaternion_log, quaternion_multiply
from myoquat.joints.ranges import check_array
from myoquat.joints.sequences import SEQUENCES, condition_euler, euler_from_quaternion


@frozen
class Convention:
    """An Euler sequence, the names of its angles, the signs by which those follow from the turns, and a source."""

    sequence: str
    names: tuple[str, str, str]
    signs: tuple[float, float, float] = (1.0, 1.0, 1.0)
    source: str = ""


PART_I, PART_II, GROOD = "Wu 2002", "Wu 2005", "Grood and Suntay 1983"
SHOULDER = Convention("YXY", ("plane_of_elevation", "elevation", "internal_rotation"), (1.0, -1.0, 1.0), PART_II)
SCAPULA = Convention("YXZ", ("protraction", "medial_rotation", "posterior_tilt"), source=PART_II)
TRUNK = ("extension", "right_bending", "left_rotation")

ISB: dict[str, Convention] = {
    "hip": Convention("ZXY", ("flexion", "adduction", "internal_rotation"), source=PART_I),
    "knee": Convention("ZXY", ("extension", "adduction", "internal_rotation"), source=GROOD),
    "ankle": Convention("ZXY", ("dorsiflexion", "inversion", "internal_rotation"), source=PART_I),
    "spine": Convention("ZXY", TRUNK, source=PART_I),
    "thorax": Convention("ZXY", TRUNK, source=PART_II),
    "sternoclavicular": Convention("YXZ", ("protraction", "depression", "backward_rotation"), source=PART_II),
    "acromioclavicular": SCAPULA,
    "scapulothoracic": SCAPULA,
    "glenohumeral": SHOULDER,
    "thoracohumeral": SHOULDER,
    "elbow": Convention("ZXY", ("flexion", "carrying_angle", "pronation"), source=PART_II),
    "wrist": Convention("ZXY", ("flexion", "ulnar_deviation", "pronation"), source=PART_II),
}


SIDES = ("right", "left")
MIRROR = np.array([1.0, -1.0, -1.0, 1.0])  # of a quaternion, by z -> -z


@frozen(eq=False)
class JointAngles(Curves):
    """Angles of a joint over time, continuous from frame to frame.

    time        (t,) [s]
    names       (n,) of the angles
    values      (t, n) [rad]
    condition   (t,) the greatest change of the angles by a small rotation, over that rotation. It is 1 far from the
                lock of the convention, and infinite at it.
    convention  its name and source

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis import motion as mo
    >>> arm = mq.Body("arm", "ground", mq.joints.RevoluteJoint(), mass=2.0, center_of_mass=(0.5, 0.0, 0.0))
    >>> time = np.linspace(0.0, 1.0, 21)
    >>> motion = mo.Motion(mq.ArticulatedSystem((arm,)), time, time[:, None])
    >>> angles = mo.joint_angles(motion, "arm", "ZXY")
    >>> angles.names, angles.values[-1].round(6) + 0.0
    (('first_Z', 'second_X', 'third_Y'), array([1., 0., 0.]))
    """

    time: Array
    names: tuple[str, ...]
    values: Array
    condition: Array
    convention: str

    def __repr__(self) -> str:
        return f"<JointAngles {', '.join(self.names)} ({self.convention}), {len(self.time)} frames>"

    def to_dataframe(self, *, in_degrees: bool = False) -> "pd.DataFrame":
        """A column per angle and the condition, over the index time [s]."""
        values = np.degrees(self.values) if in_degrees else self.values
        frame = time_table(self.time, values, self.names)
        frame["condition"] = self.condition
        frame.attrs = {"name": self.convention, "in_degrees": in_degrees}
        return frame

    def curves(self) -> dict[str, Curve]:
        """rotation over (time, angle), and the condition."""
        return {"rotation": Curve(("time", "angle"), self.values, "rad"), "condition": Curve(("time",), self.condition)}

    def labels(self) -> dict[str, Any]:
        """Times and names of the angles."""
        return {"time": self.time, "angle": list(self.names)}


def joint_angles(
    motion: MotionLike,
    joint: str | tuple[str, str],
    convention: str = "ZXY",
    *,
    side: str = "right",
    relative_to: MotionLike | ArrayLike | None = None,
    axes: tuple[ArrayLike | str, ArrayLike | str] | None = None,
) -> JointAngles:
    """The rotation of a joint as angles.

    joint        a joint or the body that it carries, for the rotation against the parent body. Or two bodies,
                 (proximal, distal), with any joints between them; the ground among them.
    convention   one of these. A group of the ISB, "hip" or "ISB hip" (see `myoquat.analysis.motion.joint_angles`). An
                 Euler sequence such as "ZXY" (intrinsic, from the proximal to the distal body). The names "swing-twist
                 x" or "tilt-torsion x", about an axis x, y or z of the distal body. The name "helical", for the
                 rotation vector in the proximal body's axes.
    side         "left" mirrors the bodies, z to -z, so that groups read alike on both sides.
    relative_to  a static pose in which the angles are zero: a motion, for its mean rotation, or q (nq,).
    axes         of the proximal and the distal body: the directions of x forward, y up, z right in them. They are words
                 such as "x z -y" or rotations (see `axes_rotation`). The bodies' own axes if None.

    Of the angles of the same rotation each frame has the nearest to the frame before. Raises ValueError for joints,
    bodies (with the nearest ones), conventions and sides that do not exist.

    >>> import myoquat as mq
    >>> from myoquat.analysis.motion import Motion, joint_angles
    >>> model = mq.load_model("two_link")
    >>> joint_angles(Motion(model, [0.0], [model.start]), "B", "swing-twist z").names
    ('swing_x', 'swing_y', 'twist')
    """
    check_types(joint=(joint, (str, tuple)))
    motion = motion_of(motion)
    if side not in SIDES:
        raise ValueError(f"side is 'right' or 'left', not {side!r}")
    proximal, distal = _bodies(motion, joint)
    Q = _rotation(motion, motion.q, proximal, distal, axes)
    if relative_to is not None:
        rest = _rest(motion, relative_to, (proximal, distal), axes)
        Q = quaternion_multiply(Q, quaternion_conjugate(rest))
    Q = Q * MIRROR if side == "left" else Q
    with np.errstate(divide="ignore", invalid="ignore"):  # conditions at the lock
        names, values, condition = _read(convention, continuous_quaternions(Q))
    source = ISB[group].source if (group := convention.removeprefix("ISB ")) in ISB else ""
    return JointAngles(motion.time, names, values, condition, f"{convention}, {source}" if source else convention)


def swing_twist(Q: ArrayLike, axis: int) -> tuple[Array, Array]:
    """(swing (..., 3), twist (...)) [rad] with Q = exp(swing) exp(twist a), the swing across the axis a = 0, 1 or 2.

    twist = 2 atan2(Q.a, Q0), within (-pi, pi]; where the swing is half a turn, the twist is not determined, and zero.

    >>> from myoquat.analysis.motion import swing_twist
    >>> swing, twist = swing_twist([0.6, 0.0, 0.0, 0.8], 2)  # a rotation about the third axis
    >>> swing, float(twist.round(6))
    (array([0., 0., 0.]), 1.85459)
    """
    check_types(axis=(axis, (int, np.integer)))
    Q = check_array("Q", Q)
    if Q.shape[-1:] != (4,):
        raise ValueError(f"Q has shape {Q.shape}; expected (..., 4)")
    if axis not in (0, 1, 2):
        raise ValueError(f"axis must be 0, 1 or 2, not {axis!r}")
    Q = np.where(Q[..., :1] < 0, -Q, Q)
    w, x = Q[..., 0], Q[..., axis + 1]
    twist = 2 * np.arctan2(x, w)
    back = np.zeros(Q.shape)
    back[..., 0], back[..., axis + 1] = np.cos(twist / 2), -np.sin(twist / 2)
    swing = quaternion_log(quaternion_multiply(Q, back))
    swing[..., axis] = 0.0
    return swing, np.where(twist <= -np.pi, twist + 2 * np.pi, twist)


def tilt_torsion(Q: ArrayLike, axis: int) -> Array:
    """(..., 3) azimuth, tilt and torsion [rad]: R = R(azimuth) S(tilt) R(torsion - azimuth).

    The axis tilts by `tilt` towards `azimuth`, measured from the next axis to the one after it. The body turns by
    `torsion` about the axis [I. A. Bonev, D. Zlatanov, C. M. Gosselin, Advantages of the modified Euler angles ...,
    Proc. PKM 2002].

    >>> from myoquat.analysis.motion import tilt_torsion
    >>> tilt_torsion([0.6, 0.8, 0.0, 0.0], 2).round(6) + 0.0  # a tilt of the third axis
    array([-1.570796,  1.85459 ,  0.      ])
    """
    swing, twist = swing_twist(Q, axis)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    tilt = np.hypot(swing[..., i], swing[..., j])
    azimuth = np.arctan2(-swing[..., i], swing[..., j])  # turning about axis j tilts towards axis i
    return np.stack([azimuth, tilt, twist], axis=-1)


# ---- rotations ----------------------------------------------------------------------------------------------


def _bodies(motion: Motion, joint: str | tuple[str, str]) -> tuple[str, str]:
    system = motion.system
    known = (system.ground, *system.body_names)
    if not isinstance(joint, str):
        indices_of("body", joint, known)
        return joint[0], joint[1]
    bodies = {b.name: b for b in system.bodies} | {b.joint_name: b for b in system.bodies if b.joint_name}
    indices_of("joint", [joint], list(bodies))
    body = bodies[joint]
    if body.parent != system.ground:
        above = bodies[body.parent]
        if body.joint.is_weld and not body.joint_name and above.joint_name:
            return above.parent, body.name  # the body hangs on the frame of its own joint
    return body.parent, carried_by(system, body)


def carried_by(system: ArticulatedSystem, body: Body) -> str:
    """The name of the body that a body's joint carries: itself, or the only one on what is the frame of the joint."""
    carried = [b.name for b in system.bodies if b.parent == body.name and not b.joint_name and b.joint.is_weld]
    return carried[0] if body.name == f"{body.joint_name}_frame" and len(carried) == 1 else body.name


def _rotation(motion: Motion, q: Array, proximal: str, distal: str, axes: tuple[ArrayLike | str, ...] | None) -> Array:
    """(t, 4) from the distal body's axes to the proximal one's, or from and to other axes on them."""
    poses = motion.system.poses(q)
    R = poses[proximal][0].mT @ poses[distal][0]
    if axes is not None:
        first, second = (axes_rotation(a) for a in axes)
        R = first @ R @ second.T
    return quaternion_from_matrix(np.broadcast_to(R, (*q.shape[:-1], 3, 3)))


def _rest(
    motion: Motion, pose: MotionLike | ArrayLike, bodies: tuple[str, str], axes: tuple[ArrayLike | str, ...] | None
) -> Array:
    """(4,) the rotation of the static pose: the eigenvector of sum Q Q^T, the mean of many."""
    motions = hasattr(pose, "to_motion")
    q = motion_of(pose).q if motions else motion.system.check_q(pose, "relative_to")[None]  # type: ignore[arg-type]
    Q = _rotation(motion, q, *bodies, axes)
    return np.linalg.eigh(Q.T @ Q)[1][:, -1]


# ---- conventions --------------------------------------------------------------------------------------------

Reading = tuple[tuple[str, ...], Array, Array]


def _read(convention: str, Q: Array) -> Reading:
    """The names of the angles, (t, 3) their values and (t,) their condition."""
    group = convention.removeprefix("ISB ")
    name, _, axis = convention.partition(" ")
    if group in ISB:
        return _euler(Q, ISB[group])
    if convention in SEQUENCES:
        first, second, third = list(convention)
        return _euler(Q, Convention(convention, (f"first_{first}", f"second_{second}", f"third_{third}")))
    if convention == "helical":
        return _helical(Q)
    if name in ("swing-twist", "tilt-torsion") and axis in ("x", "y", "z"):
        return (_swings if name == "swing-twist" else _tilts)(Q, "xyz".index(axis))
    raise ValueError(
        f"unknown convention {convention!r}; known: {', '.join(ISB)}, a sequence such as 'ZXY', 'swing-twist x', "
        "'tilt-torsion x' (about x, y or z), 'helical'"
    )


def _euler(Q: Array, convention: Convention) -> Reading:
    f = euler_from_quaternion(Q, convention.sequence)
    proper = convention.sequence[0] == convention.sequence[2]
    middle = -f[:, 1] if proper else np.pi - f[:, 1]
    twin = np.stack([f[:, 0] + np.pi, middle, f[:, 2] + np.pi], axis=-1)
    if convention.signs[1] < 0:  # of a proper sequence: the middle turn is negative at the start
        f, twin = np.stack([f[:, 0] - np.pi, -f[:, 1], f[:, 2] - np.pi], axis=-1), f
        f = np.where(f <= -np.pi, f + 2 * np.pi, f)
    values = nearest_branch(f, twin)
    return convention.names, values * np.array(convention.signs), condition_euler(values, convention.sequence)


def _swings(Q: Array, axis: int) -> Reading:
    swing, twist = swing_twist(Q, axis)
    across = [i for i in range(3) if i != axis]
    size = np.linalg.norm(swing, axis=-1)
    values = np.column_stack([swing[:, across], np.unwrap(twist)])
    return (*(f"swing_{'xyz'[i]}" for i in across), "twist"), values, 1 / np.maximum(np.cos(size / 2), 0.0)


def _tilts(Q: Array, axis: int) -> Reading:
    values = tilt_torsion(Q, axis)
    values[:, 0], values[:, 2] = np.unwrap(values[:, 0]), np.unwrap(values[:, 2])
    return ("azimuth", "tilt", "torsion"), values, 1 / np.abs(np.sin(values[:, 1]))


def _helical(Q: Array) -> Reading:
    """The rotation vector, whose angle may pass half a turn: continuous with the quaternion's sign."""
    v = quaternion_log(np.where(Q[:1, :1] < 0, -Q, Q)) if len(Q) else np.zeros((0, 3))
    half = np.linalg.norm(v, axis=-1) / 2
    condition = np.where(half < 1e-6, 1.0, half / np.abs(np.sin(half)))
    return ("helical_x", "helical_y", "helical_z"), v, condition
