"""How a system shows itself: a line of text, and a table of its bodies for Jupyter."""

from collections.abc import Iterable

from myoquat.core.lazy_imports import html
from myoquat.joints.multibody.layout import Layout

__all__ = ["html_table", "system_html"]

COLUMNS = ("body", "parent", "joint", "coordinates", "mass [kg]")


def system_html(layout: Layout, title: str) -> str:
    """The bodies of a system with their joints and coordinates, as HTML."""
    rows = (
        (body.name, body.parent, body.joint.kind, ", ".join(body.names_of_coordinates), f"{body.mass:g}")
        for body in layout.bodies
    )
    return f"<p>{html.escape(title)}</p>{html_table(COLUMNS, rows)}"


def html_table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """An HTML table of texts, escaped: names come from files of others."""
    head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
