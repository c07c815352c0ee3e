"""The joints of a file as the links of a tree: some are added where bodies have none, others close loops."""

from typing import Any

from lxml import etree

from myoquat.core.records import dataclass
from myoquat.data.document import number, objects
from myoquat.data.osim.frames import GROUND, Frame, Frames
from myoquat.data.osim.tree.graph import Edge, Way, spanning_tree
from myoquat.data.osim.tree.joints import add_coordinates
from myoquat.data.xml import complain

__all__ = ["Link", "Way", "linked"]

WELD, FREE = "WeldJoint", "FreeJoint"


@dataclass(frozen=True)
class Link:
    """A joint, the frames that it links, and its way in the tree."""

    element: Any
    parent: Frame
    child: Frame
    way: Way

    @property
    def ends(self) -> tuple[Frame, Frame]:
        """The frame that carries, and the one that is carried."""
        return (self.child, self.parent) if self.way is Way.BACKWARD else (self.parent, self.child)

    @property
    def cuts(self) -> bool:
        """True where it closes a loop and moves, for which its child is cut into parts."""
        return self.way is Way.LOOP and self.element.tag != WELD


def linked(model: Any, elements: dict[str, Any], frames: Frames) -> tuple[list[Link], tuple[str, ...]]:
    """The joints of a <Model> in their order, then <FreeJoint>s that are added, and the names of the bodies that float.

    These are connected with the ground by no joint of the file; the free joints are theirs.

    elements  all bodies but the ground, by name

    ModelError for a joint that connects a body with itself, or a loop that cannot be cut.
    """
    masses = {name: number(element, "mass", 0.0) for name, element in elements.items()}
    joints = objects(model, "JointSet")
    ends = [_ends(joint, frames) for joint in joints]
    edges = [
        Edge(parent.body, child.body, joint.tag != WELD) for joint, (parent, child) in zip(joints, ends, strict=True)
    ]
    ways, floating = spanning_tree(masses, edges)
    for name in floating:
        joints.append(_free_joint(model, name, elements[name]))
        ends.append(_ends(joints[-1], frames))
        ways = (*ways, Way.FORWARD)
    links = [Link(joint, *frame, way) for joint, frame, way in zip(joints, ends, ways, strict=True)]
    for link in links:
        _check_cut(link)
    return links, floating


def _ends(joint: Any, frames: Frames) -> tuple[Frame, Frame]:
    """The frames of the parent and the child."""
    parent, child = (frames.of(joint, f"socket_{end}_frame") for end in ("parent", "child"))
    if parent.body == child.body:
        complain(joint, f"the joint links {child.body!r} with itself")
    return parent, child


def _free_joint(model: Any, name: str, body: Any) -> Any:
    """A <FreeJoint> from the ground to a body, named as OpenSim names it, on the body's line."""
    holder = model.find("JointSet/objects")
    if holder is None:
        holder = etree.SubElement(etree.SubElement(model, "JointSet"), "objects")
    joint = etree.SubElement(holder, FREE, name=f"free_{name}")
    for end, path in (("parent", f"/{GROUND}"), ("child", f"/bodyset/{name}")):
        etree.SubElement(joint, f"socket_{end}_frame").text = path
    add_coordinates(joint, 6, f"free_{name}")
    joint.sourceline = body.sourceline
    return joint


def _check_cut(link: Link) -> None:
    if link.cuts and link.child.body == GROUND:
        complain(
            link.element, "the joint closes a loop at its child, the ground, which has no parts: make it the parent"
        )
    if link.cuts and link.element.tag == FREE:
        complain(link.element, "the joint closes a loop, where a <FreeJoint> holds nothing: remove it")
