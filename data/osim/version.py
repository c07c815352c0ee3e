"""The document: parsed, and its version, with which its schema changes."""

import re
from pathlib import Path

from myoquat.data.osim.older import OLDEST, modernize
from myoquat.data.xml import Element, parse
from myoquat.joints.errors import ModelError

__all__ = ["read_document"]

LAST_OLDER, FIRST, NEWEST = 30000, 40000, 49999  # between them lie documents of unreleased versions
_COLONS = re.compile(r"(</?\w+)::(?=\w)")  # OpenSim writes C++ names into tags, which XML takes for namespaces


def read_document(path: Path) -> Element:
    """The element <Model> of a file, in the schema of version 40000; ModelError with the line for anything else, or
    another document version."""
    root = parse(path, lambda content: _COLONS.sub(r"\1..", content))
    if root.tag != "OpenSimDocument":
        raise ModelError(f"<OpenSimDocument> is wanted, not <{root.tag}>", file=path, line=root.sourceline)
    given = root.get("Version", "")
    version = int(given) if given.isdigit() else 0
    if not (OLDEST <= version <= LAST_OLDER or FIRST <= version <= NEWEST):
        raise ModelError(
            f"document version {given or 'missing'} is not read; open the model in OpenSim 4 and save it again "
            "(opensim.Model(file).printToXML(file)), which writes version 40000 or later",
            file=path,
            line=root.sourceline,
        )
    model = root.find("Model")
    if model is None:
        raise ModelError("<OpenSimDocument> holds no <Model>", file=path, line=root.sourceline)
    if version <= LAST_OLDER:
        modernize(model)
    return model
