"""Short descriptions of what is simulated, for representations in a console and in Jupyter."""

from collections.abc import Mapping

from myoquat.core.lazy_imports import html
from myoquat.joints.evaluation import SystemLike, system_of

__all__ = ["counted", "described", "html_table"]


def described(model: SystemLike) -> str:
    """A model in a few words: its name, and how many bodies, velocities and muscles it has."""
    system, muscles = system_of(model), len(getattr(model, "muscles", ()))
    name = getattr(model, "name", "") or system.name or "unnamed"
    parts = [counted(len(system.bodies), "body", "bodies"), counted(system.nu, "velocity", "velocities")]
    parts += [counted(muscles, "muscle", "muscles")] if muscles else []
    return f"{name!r} ({', '.join(parts)})"


def counted(count: int, singular: str, plural: str) -> str:
    """A number of things."""
    return f"{count} {singular if count == 1 else plural}"


def html_table(rows: Mapping[str, str]) -> str:
    """A table of two columns, names and values as plain text."""
    cells = (f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>" for name, value in rows.items())
    return f"<table>{''.join(cells)}</table>"
