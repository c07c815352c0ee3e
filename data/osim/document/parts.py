"""Parts of a model that stand elsewhere in OpenSim's files: default objects, and objects in files of their own."""

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

from myoquat.data.included import IncludedFiles
from myoquat.data.osim.document.older import modernize_names
from myoquat.data.xml import BASE, Element, complain

__all__ = ["FIRST_RELEASE", "LAST_NESTED", "complete", "include_files"]

LAST_NESTED = 30000  # the last version whose joints are children of bodies
FIRST_RELEASE = 40000  # of OpenSim 4
NO_FILE = ("", "Unassigned")
ReadRoot = Callable[[Path], tuple[Element, int]]  # an object in a file, and the version of its document


def complete(holder: Element, version: int) -> None:
    """Give the objects in an element the entries that they leave out and that <defaults> of the element has for their
    class. The <defaults> are then removed."""
    if version < FIRST_RELEASE:
        modernize_names(holder)
    for defaults in list(holder.iterchildren("defaults")):
        holder.remove(defaults)
        for default in defaults.iterchildren("*"):
            for element in holder.iter(default.tag):
                entries = {entry.tag for entry in element.iterchildren("*")}
                for entry in default.iterchildren("*"):
                    if entry.tag not in entries:
                        element.append(deepcopy(entry))


def include_files(model: Element, version: int, path: Path, read: ReadRoot, files: IncludedFiles) -> list[Element]:
    """Put the objects of other files in place of those that name them by the attribute `file`, and return the sets
    whose files have an older version than the model. Those wait to be modernized on their own.

    Raises ModelError with file and line for a file that may not be read, and for one with an object of another class.
    """
    older: list[Element] = []
    for element in [found for found in model.iter("*") if (found.get("file") or "").strip() not in NO_FILE]:
        file = files.path(element, path)
        found, its_version = read(file)
        if found.tag != element.tag:
            complain(element, f"<{element.tag}> names the file {file.name}, which holds a <{found.tag}>")
        complete(found, its_version)
        include_files(found, its_version, file, read, files)
        for child in found.iterchildren("*"):
            child.set(BASE, str(file))
        name, parent = element.get("name") or found.get("name"), element.getparent()
        if name:
            found.set("name", name)
        if parent is None:
            complain(element, f"<{element.tag}> names another file")
        if its_version < FIRST_RELEASE <= version and parent is model and model.tag == "Model":
            parent.remove(element)
            older.append(found)
        else:
            parent[parent.index(element) : parent.index(element) + 1] = [found]
    return older
