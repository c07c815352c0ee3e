"""Bounds of the controls of forces in a model file."""

from pathlib import Path

from myoquat.data.lenient import parse_opensim
from myoquat.data.osim.reading.actuators import BOUNDS, control_bound

__all__ = ["read_control_bounds"]


def read_control_bounds(path: Path) -> dict[str, tuple[float | None, float | None]]:
    """(least, greatest) control of every force by name, as far as the file says it. Tools ask for it: a muscle's
    activation is bounded by its law."""
    found = {}
    for force in parse_opensim(path).iter():
        if isinstance(force.tag, str) and any(force.find(tag) is not None for tag, _ in BOUNDS.values()):
            low, high = (None if force.find(tag) is None else control_bound(force, tag, default)
                         for tag, default in BOUNDS.values())  # fmt: skip
            found[force.get("name") or ""] = (low, high)
    return found
