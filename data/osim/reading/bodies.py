"""The tree: a body of ours for every joint of the file, and one more where a joint is not at its body's origin."""

import sys
from collections import Counter
from dataclasses import replace
from typing import Any

from myoquat.core.records import dataclass
from myoquat.data.document import number, numbers
from myoquat.data.osim.frames import Frame, Frames
from myoquat.data.osim.reading.constraints import weld
from myoquat.data.osim.reading.geometry import geometry_of
from myoquat.data.osim.tree.joints import OsimJoint, read_joint
from myoquat.data.osim.tree.links import Way, linked
from myoquat.data.osim.tree.scapula import TAG, scapular_bodies
from myoquat.joints.constraints import Weld
from myoquat.joints.errors import ModelError
from myoquat.joints.multibody.body import Body, check_inertia
from myoquat.joints.multibody.scaling import PART_INFIX
from myoquat.joints.types import FixedJoint
from myoquat.muscle.coordinates import Coordinate

__all__ = ["Skeleton", "is_massless", "read_skeleton"]


@dataclass(frozen=True)
class Skeleton:
    """Bodies in the order of the file's joints, and what belongs to them.

    coordinates       in the same order
    start_q, start_u  where they start
    welds             those that close loops
    floating          the bodies that no joint of the file connects with the ground
    """

    bodies: tuple[Body, ...]
    coordinates: tuple[Coordinate, ...]
    start_q: tuple[float, ...]
    start_u: tuple[float, ...]
    welds: tuple[Weld, ...]
    floating: tuple[str, ...]


def read_skeleton(model: Any, frames: Frames) -> Skeleton:
    """Bodies and joints of a <Model>; ModelError for a frame that is missing, or a loop that cannot be cut.

    A joint whose child hangs on another one already, or is the ground, carries its parent instead. A body that no joint
    links with the ground floats: it hangs there by a joint of six coordinates, as in OpenSim.

    A joint between two bodies that hang on others closes a loop. It then carries a part of its child, which is welded
    to the rest. The parts of a body are equal, in mass, center of mass and inertia. The further ones are called
    BODY_slave_0 and so on, as in OpenSim. A joint that is itself a weld becomes a constraint.
    """
    elements = {element.get("name"): element for element in model.findall("BodySet/objects/Body")}
    links, floating = linked(model, elements, frames)
    parts = Counter(link.child.body for link in links if link.cuts)
    bodies: list[Body] = []
    joints: list[OsimJoint] = []
    welds: list[Weld] = []
    cut = Counter[str]()
    for link in links:
        name = str(link.element.get("name"))
        if link.way is Way.LOOP and not link.cuts:
            welds.append(weld(link.parent, link.child, f"{name}_Loop"))
            continue
        joints.append(read_joint(link.element, link.way is Way.BACKWARD))
        inner, outer = link.ends
        mass = _mass(elements[outer.body], parts[outer.body] + 1)
        if link.cuts:
            part = f"{outer.body}{PART_INFIX}{cut[outer.body]}"
            cut[outer.body] += 1
            welds.append(Weld(outer.body, part, name=f"{part}_weld"))
            outer, mass["shapes"] = replace(outer, body=part), ()
        bodies += _bodies(link.element, joints[-1], inner, outer, mass)
    return Skeleton(
        tuple(bodies),
        tuple(c for joint in joints for c in joint.coordinates),
        tuple(x for joint in joints for x in joint.defaults),
        tuple(x for joint in joints for x in joint.speeds),
        tuple(welds),
        floating,
    )


def _mass(element: Any, parts: int) -> dict[str, Any]:
    """What a body weighs and shows, or one of its `parts`, which are equal."""
    inertia = numbers(element, "inertia", 6, (0.0,) * 6)
    mass: dict[str, Any] = {
        "mass": number(element, "mass", 0.0) / parts,
        "center_of_mass": numbers(element, "mass_center", 3, (0.0,) * 3),
        "inertia": (0.0,) * 6 if is_massless(element) else tuple(x / parts for x in inertia),
        "shapes": geometry_of(element),
    }
    return mass | {"lenient_inertia": not _possible(Body("", "", FixedJoint(), **mass))}


def _bodies(joint_element: Any, joint: OsimJoint, parent: Frame, child: Frame, mass: dict[str, Any]) -> list[Body]:
    """The body on its joint. Where the joint's child frame is not the body's own, the joint carries that frame, and the
    body is fixed to it. A joint of several parts has a body for each."""
    place: dict[str, Any] = {"position": parent.position, "orientation": parent.orientation}
    if joint_element.tag == TAG:
        return scapular_bodies(joint_element, joint, parent, child, mass)
    name, names = joint_element.get("name"), tuple(c.name for c in joint.coordinates) or None
    if child.is_body:
        return [Body(child.body, parent.body, joint.joint, joint_name=name, coordinate_names=names, **place, **mass)]
    frame = f"{name}_frame"
    back = child.inverse
    return [
        Body(frame, parent.body, joint.joint, joint_name=name, coordinate_names=names, **place),
        Body(child.body, frame, FixedJoint(), back.position, back.orientation, **mass),
    ]


def is_massless(element: Any) -> bool:
    """Whether a <Body> has no mass: OpenSim passes over its inertia then."""
    return number(element, "mass", 0.0) <= sys.float_info.epsilon


def _possible(body: Body) -> bool:
    """Whether a rigid body can have this inertia; OpenSim takes any."""
    try:
        check_inertia(body)
    except ModelError:
        return False
    return True
