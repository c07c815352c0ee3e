"""Names of components, made unique within each set by the rules of OpenSim."""

import re
from typing import Any

from myoquat.data.reports import ImplausibleValues

__all__ = ["close_names", "part_from_ground", "settle_names"]

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
