"""Names of components, settled as OpenSim does when it reads a file, so that no two of a set have the same."""

from typing import Any

from myoquat.data.leftovers import Doubts

__all__ = ["close_names", "settle_names"]


def close_names(model: Any, doubts: Doubts) -> None:
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
        doubts.count("blanks in names, taken out", name)


def settle_names(model: Any, doubts: Doubts) -> None:
    """In every set of a <Model>, a component without a name gets that of its kind in lower case, and one whose name is
    taken a number behind it: NAME_0. References mean the first of several."""
    for holder in (*model.iterfind("*/objects"), *model.iterfind("ForceSet/groups")):
        taken: set[str] = set()
        for element in [child for child in holder if isinstance(child.tag, str)]:
            name = given = element.get("name") or element.tag.lower()
            count = 0
            while name in taken:
                name, count = f"{given}_{count}", count + 1
            if count:
                doubts.count("names of several, which got a number", f"{element.tag} {name}")
            taken.add(name)
            element.set("name", name)
