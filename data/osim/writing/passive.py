"""Springs and dampers of joints, and limits, as OpenSim's forces on single coordinates."""

from collections.abc import Sequence

from myoquat.data.elements import add, checked_name
from myoquat.data.osim.reading.passive import LIMITED, unit_of
from myoquat.data.osim.writing.joints import forward_joint, joint_name
from myoquat.data.reports import UnwrittenParts
from myoquat.data.xml import Element
from myoquat.joints.multibody.body import Body
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.types import EulerJoint, FloatingJoint, SphericalJoint
from myoquat.muscle.limits import CoordinateLimit

__all__ = ["add_limits", "add_passive"]

BALLS = (SphericalJoint, EulerJoint, FloatingJoint)  # whose springs and dampers act on rotations, not on coordinates


def add_passive(parent: Element, system: ArticulatedSystem, unwritten: UnwrittenParts) -> None:
    """A <SpringGeneralizedForce> for every coordinate with a spring or a damper; what cannot be one is noted."""
    for body in system.bodies:
        if body.rotor_inertia:
            unwritten.count("rotor inertias", joint_name(body))
        if not (body.stiffness or body.damping):
            continue
        if isinstance(forward_joint(body.joint), BALLS):
            unwritten.count("springs and dampers of ball joints", joint_name(body))
        else:
            _add_springs(parent, body)


def _add_springs(parent: Element, body: Body) -> None:
    mount = body.joint.neutral() if body.spring_mount is None else body.spring_mount
    for name, rest in zip(body.names_of_coordinates, mount, strict=True):
        force = add(parent, "SpringGeneralizedForce", name=f"{joint_name(body)}_{name}_spring")
        add(force, "coordinate", name)
        add(force, "stiffness", body.stiffness)
        add(force, "rest_length", rest)
        add(force, "viscosity", body.damping)


def add_limits(parent: Element, system: ArticulatedSystem, limits: Sequence[CoordinateLimit]) -> None:
    """A <CoordinateLimitForce> for every limit; `system` has the coordinates that are written."""
    for limit in limits:
        force = add(parent, "CoordinateLimitForce", name=checked_name(limit.name, f"limit {limit.name!r}"))
        add(force, "coordinate", limit.coordinate)
        unit = unit_of(system.bodies, limit.coordinate) or 1.0
        for ours, (tag, _, power) in LIMITED.items():
            add(force, tag, getattr(limit, ours) / unit**power)
