"""The document: parsed, and its version, with which its schema changes."""

from pathlib import Path

from lxml import etree

from myoquat.data.included import IncludedFiles
from myoquat.data.lenient import parse_opensim
from myoquat.data.osim.document.names import close_names, part_coordinates, part_from_ground, settle_names
from myoquat.data.osim.document.older import OLDEST_VERSION, modernize
from myoquat.data.osim.document.parts import FIRST_RELEASE, LAST_NESTED, complete, include_files
from myoquat.data.osim.reading.components import sort_components
from myoquat.data.osim.tree.joints import complete_joint
from myoquat.data.reports import ImplausibleValues
from myoquat.data.xml import BASE, Element
from myoquat.joints.errors import ModelError

__all__ = ["in_current_schema", "read_document", "read_root"]

FIRST_DRAFT, NEWEST_VERSION = 30500, 49999


def read_document(path: Path, implausible: ImplausibleValues, anywhere: bool = False) -> Element:
    """The element <Model> of a file, in the schema of version 40000, with its default objects applied and the files
    that it names included. ModelError with the line for anything else, or another document version. Text that is not
    UTF-8, or no XML, and names that are not unique are noted. `anywhere`: those files may lie outside its folder."""
    root = read_root(path, implausible)
    model = root.find("Model")
    if model is None:
        raise ModelError("<OpenSimDocument> holds no <Model>", file=path, line=root.sourceline)
    return in_current_schema(model, int(root.get("Version", "0")), path, implausible, anywhere)


def read_root(path: Path, implausible: ImplausibleValues) -> Element:
    """The element <OpenSimDocument> of a file, of a version that is read."""
    root = parse_opensim(path, implausible)
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


def in_current_schema(
    model: Element, version: int, path: Path, implausible: ImplausibleValues, anywhere: bool = False
) -> Element:
    """A <Model> of a document version, changed in place into the schema of version 40000. What it names by the
    attribute `file` is included, and its <defaults> are applied."""

    def read(file: Path) -> tuple[Element, int]:
        if parse_opensim(file, implausible).tag != "OpenSimDocument":  # of before versions were written
            return parse_opensim(file, implausible), LAST_NESTED
        root = read_root(file, implausible)
        return next(iter(root.iterchildren("*")), root), int(root.get("Version", "0"))

    older = include_files(model, version, path, read, IncludedFiles(path, anywhere))
    complete(model, version)
    if version <= LAST_NESTED:
        close_names(model, implausible)
    if version < FIRST_RELEASE:
        modernize(model)
    for holder in older:
        _add_older(model, holder, implausible)
    part_from_ground(model, implausible)
    sort_components(model)
    settle_names(model, implausible)
    for joint in model.findall("JointSet/objects/*"):
        complete_joint(joint)
    part_coordinates(model)
    return model


def _add_older(model: Element, holder: Element, implausible: ImplausibleValues) -> None:
    """A set of an older version in a model of today: modernized in a model of its own, whose sets join the others."""
    part: Element = etree.Element("Model")
    part.sourceline = holder.sourceline
    part.append(holder)
    close_names(part, implausible)
    modernize(part)
    for made in part.iterchildren("*"):
        existing = model.find(made.tag)
        if existing is None:
            model.append(made)
            continue
        for name in ("objects", "groups"):
            target, source = existing.find(name), made.find(name)
            if target is None and source is not None:
                existing.append(source)
            elif target is not None and source is not None:
                for child in list(source.iterchildren("*")):
                    child.set(BASE, child.base or "")
                    target.append(child)
