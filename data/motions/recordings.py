"""Recordings of other programs: suits of Xsens (.mvnx), and motions of skeletons for animation (.bvh)."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from myoquat.core import PATH, ArrayLike, check_types, free_name, frozen, pandas as pd
from myoquat.data.bvh import POSITIONS, BvhJoint, read_bvh, write_bvh
from myoquat.data.files import check_output, existing
from myoquat.data.mvnx import read_mvnx
from myoquat.joints import (
    SEQUENCES,
    ArticulatedSystem,
    Body,
    FixedJoint,
    FloatingJoint,
    ModelError,
    SphericalJoint,
    euler_from_quaternion,
    quaternion_from_matrix,
    quaternion_multiply,
)
from myoquat.joints.errors import errors_in
from myoquat.joints.sequences import axis_quaternion

from .markers import Markers
from .motion import Motion, MotionLike, motion_of
from .orientations import Orientations, orientations_in
from .series import axes_rotation, even_times, frames_in

STILL = 1e-9  # [m] by which an offset may change and still is constant


@frozen(eq=False)
class SuitRecording:
    """What a suit of inertial sensors recorded.

    segments      orientations of the segments, as the program of the suit has found them
    origins       positions [m] of their origins
    sensors       orientations of the sensors themselves, None where the file has none
    joint_angles  [deg] columns "<joint>_x", ... over the index time [s], None where the file has none
    poses         orientations of the segments in calibration poses, one frame each: "tpose", "npose", "identity"

    >>> import numpy as np
    >>> from myoquat.data import Markers, Orientations, SuitRecording
    >>> still = Orientations([0.0, 0.1], ("Pelvis",), [[[1.0, 0, 0, 0]]] * 2)
    >>> SuitRecording(still, Markers([0.0, 0.1], ("Pelvis",), np.zeros((2, 1, 3))), None, None, {})
    <SuitRecording 1 segments, 0 sensors, 2 frames, 0 to 0.1 s, poses: none>
    """

    segments: Orientations
    origins: Markers
    sensors: Orientations | None
    joint_angles: "pd.DataFrame | None"
    poses: Mapping[str, Orientations]

    def __repr__(self) -> str:
        sensors = 0 if self.sensors is None else len(self.sensors.names)
        poses = ", ".join(self.poses) or "none"
        frames = frames_in(self.segments.time)
        return f"<SuitRecording {len(self.segments.names)} segments, {sensors} sensors, {frames}, poses: {poses}>"


def load_suit(path: str | Path, axes: ArrayLike | str | None = None) -> SuitRecording:
    """A recording of Xsens MVN, .mvnx.

    axes: how the axes of the laboratory lie in those of the model, "x z -y" for a model whose y is up (see
    `axes_rotation`). Without it they stay the file's, whose z is up. Raises ModelError with file and line for a file
    that is broken or of another type.

    The segments serve as sensors of a model. A calibration pose says where they are on its bodies:

    >>> import pathlib, tempfile
    >>> from myoquat.data import load_suit
    >>> text = '''<mvnx version="4"><subject frameRate="100"><segments><segment label="Pelvis"/></segments><frames>
    ... <frame type="tpose"><orientation>1 0 0 0</orientation><position>0 0 0.9</position></frame>
    ... <frame type="normal" time="0" index="0"><orientation>1 0 0 0</orientation><position>0 0 0.9</position></frame>
    ... </frames></subject></mvnx>'''
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "walk.mvnx"
    >>> _ = path.write_text(text)
    >>> walk = load_suit(path, axes="x z -y")
    >>> walk, walk.origins.positions[0, 0].tolist()
    (<SuitRecording 1 segments, 0 sensors, 1 frames, 0 to 0 s, poses: tpose>, [0.0, 0.9, 0.0])
    """
    path = existing(path)
    if path.suffix.lower() != ".mvnx":
        raise ModelError("recordings of suits are read from .mvnx files", file=path)
    content = read_mvnx(path)
    segments, origins = orientations_in(content), Markers.from_dataframe(content.origins())
    sensors = orientations_in(content, "sensor") if "sensorOrientation" in content.values else None
    poses = {
        pose: orientations_in(replace(content, time=np.zeros(1), values=values))
        for pose, values in content.poses.items()
        if "orientation" in values
    }
    angles = content.joint_angles() if "jointAngle" in content.values else None
    if axes is not None:
        R = axes_rotation(axes)
        segments, origins, poses = segments.turned(R), origins.turned(R), {k: v.turned(R) for k, v in poses.items()}
        sensors = None if sensors is None else sensors.turned(R)
    return SuitRecording(segments, origins, sensors, angles, poses)


def save_bvh(
    motion: MotionLike, path: str | Path, *, order: str = "ZXY", scale: float = 100.0, overwrite: bool = False
) -> None:
    """Write the motion of the bodies as a .bvh file, which programs for animation read.

    order  of the rotations about body axes
    scale  units of the file in a meter: 100 for centimeters

    Every body is a joint. One that only turns on its parent has a constant offset. One that also slides, as many knees
    do, has position channels, and the offset 0. Where several bodies are on the ground, it is the root. The file
    has one time step and begins at 0. ValueError for times that are not even, and an unknown order. FileExistsError for
    an existing file unless `overwrite`.

    >>> import tempfile
    >>> import myoquat as mq
    >>> from myoquat.data import Motion, load_bvh, save_bvh
    >>> model = mq.load_model("two_link")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_bvh(Motion(model, [0.0, 0.1], [model.start] * 2), f"{folder}/still.bvh")
    ...     again = load_bvh(f"{folder}/still.bvh")
    >>> again.system.body_names, again.time.tolist()
    (('A', 'B'), [0.0, 0.1])
    """
    check_types(path=(path, PATH))
    motion = motion_of(motion)
    if order not in SEQUENCES or len(set(order)) != 3:
        raise ValueError(f"order is three different axes such as 'ZXY', not {order!r}")
    path, even = check_output(path, overwrite), even_times(motion.time, 2)
    system, poses = motion.system, motion.system.poses(motion.q)
    shape = (len(motion.time), 3, 3)
    poses = {n: (np.broadcast_to(R, shape), np.broadcast_to(p, shape[:2])) for n, (R, p) in poses.items()}
    on_ground = [body.name for body in system.bodies if body.parent == system.ground]
    names = [system.bodies[i].name for i in system.topological_order]
    names = names if len(on_ground) == 1 else [system.ground, *names]
    bodies = {body.name: body for body in system.bodies}
    parents = {name: body.parent for name, body in bodies.items()}
    parents[on_ground[0] if len(on_ground) == 1 else system.ground] = ""
    turned = tuple(f"{axis}rotation" for axis in order)
    joints, columns = [], []
    for name in names:
        R_parent, p_parent = poses[parents[name] or system.ground]
        R = np.swapaxes(R_parent, 1, 2) @ poses[name][0]
        p = scale * np.einsum("tji,tj->ti", R_parent, poses[name][1] - p_parent)
        slides = not parents[name] or np.ptp(p, axis=0).max(initial=0.0) > STILL * scale
        offset = np.zeros(3) if slides else p.mean(axis=0)
        end = None
        if name not in parents.values() and name in bodies:
            end = scale * np.array(bodies[name].center_of_mass)
        label, parent = "_".join(name.split()), names.index(parents[name]) if parents[name] else -1
        joints.append(BvhJoint(label, parent, offset, (*(POSITIONS if slides else ()), *turned), end))
        angles = euler_from_quaternion(quaternion_from_matrix(R), order)
        columns += [*([p] if slides else []), np.degrees(np.unwrap(angles, axis=0))]
    write_bvh(path, joints, float(even[-1] - even[0]) / (len(even) - 1), np.concatenate(columns, axis=1))


def load_bvh(path: str | Path, *, scale: float = 0.01) -> Motion:
    """The motion of the skeleton in a .bvh file: bodies without mass, on ball joints as unit quaternions.

    scale: meters of a unit of the file, 0.01 for centimeters. A joint with position channels floats. The model of the
    motion is its `system`, whose ground is "ground_" where a joint has the name "ground". Raises ModelError with file
    and line for a file that is broken or of another type.

    >>> import pathlib, tempfile
    >>> from myoquat.data import load_bvh
    >>> text = "HIERARCHY\\nROOT hip\\n{\\nOFFSET 0 90 0\\nCHANNELS 3 Zrotation Xrotation Yrotation\\n}\\nMOTION\\n"
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "turn.bvh"
    >>> _ = path.write_text(text + "Frames: 2\\nFrame Time: 0.1\\n0 0 0\\n60 0 0\\n")
    >>> motion = load_bvh(path)
    >>> motion.q[1].round(4).tolist(), motion.system.bodies[0].position
    ([0.866, 0.0, 0.0, 0.5], (0.0, 0.9, 0.0))
    """
    joints, step, rows = read_bvh(path)
    bodies, parts, first, ground = [], [], 0, free_name("ground", [joint.name for joint in joints])
    for joint in joints:
        values = dict(zip(joint.channels, rows[:, first : first + len(joint.channels)].T, strict=True))
        first += len(joint.channels)
        Q = np.broadcast_to([1.0, 0.0, 0.0, 0.0], (len(rows), 4))
        for channel, column in values.items():
            if channel.endswith("rotation"):
                Q = quaternion_multiply(Q, axis_quaternion(np.radians(column), np.eye(3)["XYZ".index(channel[0])]))
        slides = [values.get(name, np.zeros(len(rows))) * scale for name in POSITIONS]
        floats = any(name in values for name in POSITIONS)
        parent = joints[joint.parent].name if joint.parent >= 0 else ground
        joint_type = FloatingJoint() if floats else SphericalJoint() if values else FixedJoint()
        offset: Any = scale * np.array(joint.offset)
        bodies.append(Body(joint.name, parent, joint_type, offset))
        parts += [*([np.stack(slides, axis=-1)] if floats else []), *([Q] if values else [])]
    with errors_in(path):
        q = np.concatenate([np.zeros((len(rows), 0)), *parts], axis=1)
        return Motion(ArticulatedSystem(tuple(bodies), ground), step * np.arange(len(rows)), q)
