"""Writing OpenSim's ExternalLoads, .xml."""

from collections.abc import Sequence

from lxml import etree

from myoquat.data.elements import add
from myoquat.data.external_loads.read import LoadEntry

__all__ = ["external_loads_text"]


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
    text: str = etree.tostring(root, pretty_print=True, encoding="unicode")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + text
