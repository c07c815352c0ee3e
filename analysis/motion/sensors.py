"""Inertial sensors on bodies: their mounting, from a recording of a known pose.

In the calibration pose the body's rotation Q_B is known and the sensor shows Q_S, both to the ground. The sensor's
orientation on the body is therefore conj(Q_B) Q_S. Sensors may agree about the vertical only. Then their ground is
turned about it by the angle between an axis of one of them and its body's x axis [M. Al Borno et al., OpenSense, J.
NeuroEng. Rehabil. 19, 2022]. Both the rule and that angle, in space and not of the horizontal parts, are those of
OpenSim 4's IMUPlacer.
"""

from collections.abc import Mapping

import numpy as np

from myoquat.core import Array, ArrayLike, check_types, indices_of
from myoquat.data.motions import Orientations
from myoquat.joints.errors import ModelError
from myoquat.joints.quaternion import quaternion_conjugate, quaternion_from_matrix, quaternion_multiply, rotation_matrix
from myoquat.muscle.model import Model

from .structure import Sensor

SUFFIX = "_imu"
AXES = {sign + name: (-1.0 if sign else 1.0) * np.eye(3)[k] for sign in ("", "-") for k, name in enumerate("xyz")}


def calibrate_orientations(
    model: Model,
    orientations: Orientations,
    bodies: Mapping[str, str] | None = None,
    *,
    base: str | None = None,
    heading: str = "z",
    pose: ArrayLike | None = None,
) -> tuple[Sensor, ...]:
    """Where sensors are on their bodies, from the first frame of a recording in a known pose.

    orientations  in axes whose y is up, as the model's are: `load_orientations(path, axes="x z -y")` or `turned`.
    bodies        the body of every sensor by name; of all sensors called '<body>_imu', as OpenSim calls them, if None.
    base          the sensor whose heading is that of its body. Its axis `heading` is turned about the vertical towards
                  the body's x axis. None leaves the sensors' ground as it is.
    heading       "x", "-x", "y", ...
    pose          (nq,) coordinates of the model in that frame, its start if None.

    `inverse_kinematics` takes the sensors. Raises ValueError for sensors that do not exist or show nothing in that
    frame, an unknown heading, and a recording without frames. ModelError for bodies that do not exist.

    >>> import myoquat as mq
    >>> from myoquat.analysis.motion import calibrate_orientations
    >>> from myoquat.data import Orientations
    >>> model = mq.Model(mq.ArticulatedSystem((mq.Body("bob", "ground", mq.joints.RevoluteJoint(), mass=1.0),)))
    >>> calibrate_orientations(model, Orientations([0.0], ("bob_imu",), [[[0.6, 0.8, 0.0, 0.0]]]))[0].orientation
    (0.6, 0.8, 0.0, 0.0)
    """
    check_types(model=(model, Model), orientations=(orientations, Orientations))
    if not len(orientations.time):
        raise ValueError("the recording has no frames")
    placed = _bodies(model, orientations, bodies)
    first = dict(zip(orientations.names, orientations.quaternions[0], strict=True))
    for name in placed:
        indices_of("sensor", [name], orientations.names)
        if np.isnan(first[name]).any():
            raise ValueError(f"the sensor {name!r} shows nothing in the first frame")
    poses = model.system.poses(model.start if pose is None else model.system.check_q(pose, "pose"))
    turn = np.array([1.0, 0, 0, 0])
    if base is not None:
        if base not in placed:
            raise ValueError(f"the base sensor {base!r} is on no body; these are: {', '.join(placed)}")
        if heading not in AXES:
            raise ValueError(f"heading is one of {', '.join(AXES)}, not {heading!r}")
        axis = rotation_matrix(np.asarray(first[base], dtype=float)) @ AXES[heading]
        turn = _towards(axis, poses[placed[base]][0][..., 0])
    found = []
    for name, body in placed.items():
        own = quaternion_from_matrix(np.asarray(poses[body][0], dtype=float))
        Q = quaternion_multiply(quaternion_conjugate(own), quaternion_multiply(turn, first[name]))
        found.append(Sensor(name, body, tuple(float(x) for x in Q)))  # type: ignore[arg-type]
    return tuple(found)


def _towards(axis: Array, wanted: Array) -> Array:
    """(4,) the turn about the vertical y by the angle between two directions."""
    angle = np.arccos(np.clip(axis @ wanted, -1.0, 1.0)) * (1.0 if np.cross(axis, wanted)[1] >= 0 else -1.0)
    return np.array([np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0])


def _bodies(model: Model, orientations: Orientations, given: Mapping[str, str] | None) -> dict[str, str]:
    """The body of every sensor."""
    known = model.system.body_names
    if given is None:
        named = {name: name.removesuffix(SUFFIX) for name in orientations.names if name.endswith(SUFFIX)}
        found = {name: body for name, body in named.items() if body in known}
        if not found:
            raise ValueError(
                f"no sensor is called after a body, such as '{known[0]}{SUFFIX}'; bodies={{sensor: body}} says where "
                f"they are; there are {', '.join(orientations.names)}"
            )
        return found
    for name, body in given.items():
        if body not in known:
            raise ModelError(f"body {body!r} does not exist", element=f"sensor {name!r}")
    return dict(given)
