"""The keyframe at which a model starts."""

from dataclasses import replace

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.data.mjcf.document import Document, Values, unit
from myoquat.data.xml import Element
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.quaternion import rotation_matrix
from myoquat.joints.types import FloatingJoint
from myoquat.joints.vectors import vecmat

__all__ = ["Start", "read_start"]

NAME = "start"


@dataclass(frozen=True)
class Start:
    """q (nq,), u (nu,), the actuators' controls and their activations at the start; None for what no keyframe says."""

    q: Array
    u: Array | None = None
    controls: tuple[float, ...] | None = None
    activations: tuple[float, ...] | None = None


def read_start(document: Document, system: ArticulatedSystem, standing: Array, counts: tuple[int, int]) -> Start:
    """The keyframe "start", else the first one; without any, the model starts at the pose of the file. Other keyframes
    are noted. counts: of actuators, and of those with an activation."""
    keys = list(document.sections("keyframe"))
    chosen = next((key for key in keys if key.get("name") == NAME), keys[0] if keys else None)
    for key in keys:
        if key is not chosen:
            document.unsupported.count(key, "another keyframe")
    return Start(standing) if chosen is None else _read_key(chosen, document, system, Start(standing), counts)


def _read_key(
    key: Element, document: Document, system: ArticulatedSystem, start: Start, counts: tuple[int, int]
) -> Start:
    values = document.values(key)
    if values.has("qpos"):
        start = replace(start, q=_checked(values, system, values.numbers("qpos", 0, system.nq)))
    if values.has("qvel"):
        start = replace(start, u=_in_child(system, start.q, values.numbers("qvel", 0, system.nu)))
    if values.has("ctrl"):
        start = replace(start, controls=values.numbers("ctrl", counts[0], counts[0]))
    if values.has("act"):
        start = replace(start, activations=values.numbers("act", counts[1], counts[1]))
    document.finish(values, "name", "time")
    return start


def _checked(values: Values, system: ArticulatedSystem, given: tuple[float, ...]) -> Array:
    """q with quaternions of length one. Missing numbers at the end are zero, missing quaternions the neutral one."""
    q = np.array([*given, *(0.0,) * (system.nq - len(given))])
    for slice_ in system.quaternion_slices():
        q[slice_.start] = q[slice_.start] if slice_.start < len(given) else 1.0
        q[slice_] = unit(tuple(q[slice_]), values, "qpos")
    return q


def _in_child(system: ArticulatedSystem, q: Array, given: tuple[float, ...]) -> Array:
    """u: the linear velocity of a floating joint is that of the parent's frame in MuJoCo, of the child's here."""
    u = np.array([*given, *(0.0,) * (system.nu - len(given))])
    for body, iq, iu in zip(system.bodies, system.q_slices, system.u_slices, strict=True):
        if isinstance(body.joint, FloatingJoint):
            linear = slice(iu.start, iu.start + 3)
            u[linear] = vecmat(u[linear], rotation_matrix(q[iq][3:]))
    return u
