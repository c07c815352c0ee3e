"""OpenSim's ExternalLoads, .xml: which columns of a data file act on which bodies, in which frames."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lxml import etree

from myoquat.core import frozen
from myoquat.joints import ModelError
from myoquat.joints.errors import errors_in

from .files import beside
from .xml import Element, add, boolean, complain, document_text, last_name, parse_opensim, text

# --------------------------------------------------------------------------------------------------------------
#
# Reading OpenSim's ExternalLoads, .xml: which columns of a data file act on which bodies, in which frames.


@frozen
class LoadEntry:
    """One ExternalForce: the body, the frames of force and point, and its line in the file.

    `force`, `point` and `torque` are the beginnings of the columns' names, "" for a quantity that it lacks.
    """

    name: str
    body: str
    force_frame: str
    point_frame: str
    force: str
    point: str
    torque: str
    line: int


def read_external_loads(path: str | Path, loads: Element | None = None) -> tuple[list[LoadEntry], Path, int]:
    """The loads that apply, the data file (relative paths start at the file's own folder) and the line that names it.

    loads: an <ExternalLoads> inside the file, which is another document then. ModelError with file and line for another
    document and a missing data file name. A load without force and torque, or with a data source of its own, is an
    error too.
    """
    path = Path(path)
    if loads is None:
        root = parse_opensim(path)
        loads = root.find("ExternalLoads") if root.tag == "OpenSimDocument" else None
        if loads is None:
            raise ModelError("this is no OpenSim document with <ExternalLoads>", file=path, line=root.sourceline)
    with errors_in(path):
        forces = loads.findall("objects/ExternalForce")
        entries = [load_entry(force) for force in forces if _applies(force)]
        if not entries:
            complain(loads, "no <ExternalForce> applies")
        name, named = text(loads, "datafile"), loads.find("datafile")
    return entries, beside(path.parent, name), (0 if named is None else named.sourceline) or 0


def _applies(force: Any) -> bool:
    """appliesForce, or isDisabled of older documents."""
    return boolean(force, "appliesForce", True) and not boolean(force, "isDisabled", False)


def load_entry(force: Any) -> LoadEntry:
    """What an <ExternalForce> says; a force without a point acts at the origin of the body, as in OpenSim.

    ModelError with its line where it has neither force nor torque.
    """
    identifiers = {key: text(force, f"{key}_identifier", "") for key in ("force", "point", "torque")}
    identifiers = {key: "" if value == "Unassigned" else value for key, value in identifiers.items()}
    if not identifiers["force"] and not identifiers["torque"]:
        complain(force, "a load needs a <force_identifier> or a <torque_identifier>")
    body = last_name(text(force, "applied_to_body"))
    return LoadEntry(
        str(force.get("name") or identifiers["force"] or identifiers["torque"]),
        body,
        last_name(text(force, "force_expressed_in_body", "ground")),
        last_name(text(force, "point_expressed_in_body", "ground")) if identifiers["point"] else body,
        **identifiers,
        line=int(force.sourceline),
    )


# ---- Writing OpenSim's ExternalLoads, .xml ------------------------------------------------------------------------


def external_loads_text(entries: Sequence[LoadEntry], data_file: str) -> str:
    """The document of these loads, whose numbers are in another file."""
    root = etree.Element("OpenSimDocument", Version="40000")
    loads = add(root, "ExternalLoads", name="external_loads")
    holder = add(loads, "objects")
    for entry in entries:
        force = add(holder, "ExternalForce", name=entry.name)
        add(force, "applied_to_body", entry.body)
        add(force, "force_expressed_in_body", entry.force_frame)
        add(force, "point_expressed_in_body", entry.point_frame)
        for key in ("force", "point", "torque"):
            add(force, f"{key}_identifier", getattr(entry, key))
    add(loads, "datafile", data_file)
    return document_text(root)
