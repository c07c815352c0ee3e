"""What a URDF says of joints beyond the mechanics: ranges, efforts, joints that mimic others; and what is left out."""

from myoquat.data.reports import UnsupportedElements
from myoquat.data.urdf import xml
from myoquat.data.xml import Element
from myoquat.joints.functions import Linear
from myoquat.muscle.actuators import CoordinateActuator
from myoquat.muscle.coordinates import Coordinate, Coupler

__all__ = ["CHANGES", "UNLIMITED", "read_actuators", "read_coordinates", "read_couplers", "tell_left_out"]

Joints = dict[str, Element]  # the elements of hinges and sliders, by their names, which are those of their coordinates
UNLIMITED = 1e9  # from here on a limit is none: what is written where URDF demands a number and there is no limit
CHANGES = {
    "dynamics": "the joint moves without dry friction",
    "limit": "the joint may move faster",
    "safety_controller": "no controller holds the joint",
    "transmission": "actuators act on the joints themselves",
    "gazebo": "what it does in Gazebo is missing here",
}


def read_coordinates(joints: Joints) -> tuple[Coordinate, ...]:
    """The coordinates that a <limit> gives a range: an end that it does not name is 0, as URDF has it."""
    ranges = {name: _range(joint) for name, joint in joints.items()}
    return tuple(Coordinate(name, ends) for name, ends in ranges.items() if ends is not None)


def _range(joint: Element) -> tuple[float, float] | None:
    limit = xml.child(joint, "limit")
    if limit is None or joint.get("type") == "continuous" or limit.get("lower") is limit.get("upper") is None:
        return None
    low, high = (xml.number(limit, key, 0.0) for key in ("lower", "upper"))
    if low > high:
        xml.complain(limit, f"lower is above upper: {low:g} > {high:g}")
    return None if low <= -UNLIMITED and high >= UNLIMITED else (low, high)


def read_actuators(joints: Joints) -> tuple[CoordinateActuator, ...]:
    """A drive for every joint with an effort: its control is the force or torque [N, N m], the effort its bound."""
    found = []
    for name, joint in joints.items():
        effort = xml.not_negative(xml.child(joint, "limit"), "effort")
        if 0 < effort < UNLIMITED:
            found.append(CoordinateActuator(name, name, lower=-effort, upper=effort))
    return tuple(found)


def read_couplers(joints: Joints) -> tuple[Coupler, ...]:
    """Of every joint that mimics another: its coordinate is multiplier times the other's, plus offset."""
    found = []
    for name, joint in joints.items():
        mimic = xml.child(joint, "mimic")
        if mimic is not None:
            other = xml.text_of(mimic, "joint")
            if other not in joints:
                xml.complain(mimic, f"there is no hinge or slider {other!r} to mimic; known: {', '.join(joints)}")
            line = Linear(xml.number(mimic, "multiplier", 1.0), xml.number(mimic, "offset", 0.0))
            found.append(Coupler(f"{name}_mimics_{other}", name, other, line))
    return tuple(found)


def tell_left_out(robot: Element, unsupported: UnsupportedElements) -> None:
    """Note what is not read: friction and greatest speeds of joints, and the elements of other tools."""
    for joint in xml.children(robot, "joint"):
        for tag, key in (("dynamics", "friction"), ("limit", "velocity")):
            element = xml.child(joint, tag)
            if 0 < xml.not_negative(element, key) < UNLIMITED:
                unsupported.count(element, key)
        for element in xml.children(joint, "safety_controller"):
            unsupported.count(element, "of a joint")
    for tag in ("transmission", "gazebo"):
        for element in xml.children(robot, tag):
            unsupported.count(element, "of another tool")
