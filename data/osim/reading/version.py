"""The document: parsed, and its version, with which its schema changes."""

import re
from pathlib import Path

from myoquat.data.lenient import mended
from myoquat.data.osim.document.names import close_names, part_from_ground, settle_names
from myoquat.data.osim.document.older import OLDEST_VERSION, modernize
from myoquat.data.osim.reading.components import sort_components
from myoquat.data.reports import ImplausibleValues
from myoquat.data.xml import Element, parse
from myoquat.joints.errors import ModelError

__all__ = ["in_current_schema", "read_document", "read_root"]

LAST_NESTED = 30000  # the last version whose joints are children of bodies
FIRST_DRAFT, FIRST_RELEASE, NEWEST_VERSION = 30500, 40000, 49999
_COLONS = re.compile(r"(</?\w+)::(?=\w)")  # OpenSim writes C++ names into tags, which XML takes for namespaces


def read_document(path: Path, implausible: ImplausibleValues) -> Element:
    """The element <Model> of a file, in the schema of version 40000; ModelError with the line for anything else, or
    another document version. Text that is not UTF-8, or no XML, and names that are not unique are noted."""
    root = read_root(path, implausible)
    model = root.find("Model")
    if model is None:
        raise ModelError("<OpenSimDocument> holds no <Model>", file=path, line=root.sourceline)
    return in_current_schema(model, int(root.get("Version", "0")), implausible)


def read_root(path: Path, implausible: ImplausibleValues) -> Element:
    """The element <OpenSimDocument> of a file, of a version that is read."""

    def decoded(content: bytes) -> str:
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            implausible.count("text that is not UTF-8, taken as Latin-1", f"byte {error.start}")
            return content.decode("latin-1")

    root = parse(path, lambda content: mended(_COLONS.sub(r"\1..", content), implausible), decode=decoded)
    if root.tag != "OpenSimDocument":
        raise ModelError(f"<OpenSimDocument> is wanted, not <{root.tag}>", file=path, line=root.sourceline)
    given = root.get("Version", "")
    version = int(given) if given.isdigit() else 0
    if not (OLDEST_VERSION <= version <= LAST_NESTED or FIRST_DRAFT <= version <= NEWEST_VERSION):
        raise ModelError(
            f"document version {given or 'missing'} is not read, {OLDEST_VERSION} to {NEWEST_VERSION} are; open an "
            "older model in OpenSim 3.3 and save it again, which writes version 30000",
            file=path,
            line=root.sourceline,
        )
    return root


def in_current_schema(model: Element, version: int, implausible: ImplausibleValues) -> Element:
    """A <Model> of a document version, changed in place into the schema of version 40000."""
    if version <= LAST_NESTED:
        close_names(model, implausible)
    if version < FIRST_RELEASE:
        modernize(model)
    part_from_ground(model, implausible)
    sort_components(model)
    settle_names(model, implausible)
    return model
