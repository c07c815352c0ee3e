"""Names of components, made unique within each set by the rules of OpenSim."""

import re
from collections import defaultdict
from typing import Any

from myoquat.data.document import last_name
from myoquat.data.reports import ImplausibleValues
from myoquat.data.xml import complain

__all__ = ["close_names", "part_coordinates", "part_from_ground", "settle_names"]

GROUND_BODY = "ground_body"
_GROUND_PATH = re.compile(r"(?<=bodyset/)ground(?=/|$)")


def close_names(model: Any, implausible: ImplausibleValues) -> None:
    """Take the blanks out of names, as OpenSim 4 does with older documents, and wherever they are referred to."""
    changed: dict[str, str] = {}
    for element in model.iter():
        name = element.get("name") if isinstance(element.tag, str) and element.tag != "ObjectGroup" else None
        if name and name != (closed := "".join(name.split())):
            element.set("name", closed)
            if name.strip() != closed:
                changed[name.strip()] = closed
    if not changed:
        return
    for element in model.iter():
        words = (element.text or "").strip()
        if isinstance(element.tag, str) and words in changed and not len(element):
            element.text = changed[words]
    for name in changed:
        implausible.count("blanks in names, taken out", name)


def settle_names(model: Any, implausible: ImplausibleValues) -> None:
    """Make the names in every set of a <Model> unique. A component without a name gets its tag in lower case, and one
    whose name is taken gets a number behind it: NAME_0. References mean the first of several."""
    for holder in (*model.iterfind("*/objects"), *model.iterfind("ForceSet/groups")):
        taken: set[str] = set()
        for element in [child for child in holder if isinstance(child.tag, str)]:
            name = given = element.get("name") or element.tag.lower()
            count = 0
            while name in taken:
                name, count = f"{given}_{count}", count + 1
            if count:
                implausible.count("names of several, which got a number", f"{element.tag} {name}")
            taken.add(name)
            element.set("name", name)


def part_from_ground(model: Any, implausible: ImplausibleValues) -> None:
    """Call a <Body> that has the ground's name ground_body, also wherever a path refers to it. OpenSim 4 distinguishes
    the two by their paths, /ground and /bodyset/ground."""
    bodies = [body for body in model.iterfind("BodySet/objects/Body") if body.get("name") == "ground"]
    if not bodies:
        return
    bodies[0].set("name", GROUND_BODY)
    implausible.count("a body with the name of the ground, called otherwise", GROUND_BODY)
    for element in model.iter():
        if isinstance(element.tag, str) and not len(element) and "bodyset/ground" in (element.text or ""):
            element.text = _GROUND_PATH.sub(GROUND_BODY, element.text.strip())


def part_coordinates(model: Any) -> None:
    """Call coordinates of one name in several joints, which OpenSim allows, after their joints: joint.name. Entries
    that refer to them by path get that name, and so do bare names within a joint, which mean its own coordinate.

    ModelError for another bare name, which could mean any of them, and for a path to a joint without such a coordinate.
    """
    owners: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for coordinate in model.iterfind("JointSet/objects/*/coordinates/Coordinate[@name]"):
        owners[coordinate.get("name")][coordinate.getparent().getparent().get("name")].append(coordinate)
    shared = {name: joints for name, joints in owners.items() if len(joints) > 1}
    if not shared:
        return
    for element in model.iter("*"):
        words = (element.text or "").split()
        if "coordinate" in element.tag and not len(element) and any(last_name(word) in shared for word in words):
            element.text = " ".join(_parted(element, word, shared) for word in words)
    for name, joints in shared.items():
        for joint, coordinates in joints.items():
            for coordinate in coordinates:
                coordinate.set("name", f"{joint}.{name}")


def _parted(element: Any, word: str, shared: dict[str, dict[str, list[Any]]]) -> str:
    """The name that a reference to a coordinate, by path or bare, has when coordinates are called after joints."""
    *path, name = word.strip("/").split("/")
    if name not in shared:
        return word
    joint = path[-1] if path else next((x.get("name") for x in element.iterancestors() if _is_joint(x)), None)
    if joint in shared[name]:
        return f"{joint}.{name}"
    paths = ", ".join(f"/jointset/{x}/{name}" for x in shared[name])
    complain(element, f"<{element.tag}> names {word!r}, but the model has {paths}: give one of these paths")


def _is_joint(element: Any) -> bool:
    """True for what stands in the set of joints."""
    holders = [holder.tag for holder in element.iterancestors()]
    return holders[:2] == ["objects", "JointSet"]
