"""The force laws of OpenSim's muscles."""

from typing import Any

from muscle.laws import ForceLaw
from muscle.osim.census import Census

__all__ = ["read_law"]


def read_law(element: Any, census: Census) -> ForceLaw | None:
    """The law of a muscle, None (noted) for one that is not known."""
    census.count(element, "force law; its path is read")
    return None
