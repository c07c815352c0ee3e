"""Limits of coordinates and ball joints as limits of MuJoCo's joints, with `solref` for their stiffness and damping."""

import math
from typing import Any

import numpy as np

from myoquat.core.typing import Array
from myoquat.data.elements import written
from myoquat.data.mjcf.reading.softness import SOLIMP, Mobilities, Softness
from myoquat.data.mjcf.writing.joints import Joints
from myoquat.data.reports import UnwrittenParts
from myoquat.data.xml import Element
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.muscle.forces import RotationLimit
from myoquat.muscle.limits import CoordinateLimit
from myoquat.muscle.model import Model

__all__ = ["add_limits", "file_pose", "soft_limit"]

MARGIN_TOLERANCE = 1e-12  # [rad or m] by which the two ends of a range may be narrowed differently


def add_limits(root: Element, model: Model, joints: Joints, unwritten: UnwrittenParts) -> None:
    """Give the joints in the file the limits of the model. Those of coordinates that are no joints, or with another
    stiffness at each end, are noted."""
    if not model.limits and not any(isinstance(force, RotationLimit) for force in model.forces):
        return
    elements = {str(element.get("name")): element for element in root.iter("joint")}
    mobilities, taken = Mobilities(model.system, file_pose(model.system, joints.refs)), set[str]()
    for limit in model.limits:
        name = limit.coordinate
        if name not in joints.refs or name in taken or limit.lower_stiffness != limit.upper_stiffness:
            unwritten.count("limits of coordinates", limit.name)
            continue
        taken.add(name)
        known = joints.coordinates.get(name)
        ends, margin = _range(limit, known.range if known else None)
        softness = limit.upper_stiffness, limit.damping, limit.transition
        _set(elements[name], ends, margin, soft_limit(softness, mobilities.of_coordinate(name)))
    bodies = {body.name: body for body in model.system.bodies}
    for force in model.forces:
        if isinstance(force, RotationLimit):
            body = bodies[force.body]
            softness = force.stiffness, force.damping, force.transition
            _set(elements[body.joint_name or body.name], (0.0, force.upper), 0.0,
                 soft_limit(softness, mobilities.of_rotation(force.body)))  # fmt: skip


def file_pose(system: ArticulatedSystem, refs: dict[str, float]) -> Array:
    """(nq,) the pose of the file, in which hinges and slides are at their `ref`."""
    q = np.array(system.neutral(), dtype=float)
    for name, ref in refs.items():
        if name in system.coordinate_names:
            q[system.coordinate_names.index(name)] = ref
    return q


def _range(limit: CoordinateLimit, known: tuple[float, float] | None) -> tuple[tuple[float, float], float]:
    """The range of a joint and the margin at its ends: that of the coordinate, if the limit narrows both ends alike."""
    if known is not None:
        first, second = limit.lower - known[0], known[1] - limit.upper
        if first >= 0 and math.isclose(first, second, rel_tol=0.0, abs_tol=MARGIN_TOLERANCE):
            return known, first
    return (limit.lower, limit.upper), 0.0


def soft_limit(softness: tuple[float, float, float], mobility: float) -> dict[str, Any]:
    """`solref` and `solimp` of a stiffness, a damping and an onset: `Softness.spring` the other way round."""
    stiffness, damping, onset = softness
    rest = 1.0 - Softness().impedance
    return {
        "solreflimit": (-stiffness * rest * mobility, -damping * math.sqrt(rest) * mobility),
        "solimplimit": (*SOLIMP[:2], onset),
    }


def _set(joint: Element, ends: tuple[float, float], margin: float, soft: dict[str, Any]) -> None:
    given = {"range": ends, "limited": True, **({"margin": margin} if margin else {}), **soft}
    for key, value in given.items():
        joint.set(key, written(value))
