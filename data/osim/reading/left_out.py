"""What is not read of an .osim file, and what that changes: by the tags of the elements."""

from myoquat.data.osim.reading.components import GEOMETRY
from myoquat.data.osim.reading.obstacles import OBSTACLE

__all__ = ["CHANGES", "change_of"]

MOVES = "moves the bodies in OpenSim, not here"
SEEN = "changes no motion"
CHANGES: dict[str, str] = {
    **dict.fromkeys(("ClutchedPathSpring", "PrescribedForce", "ExternalForce"), MOVES),
    **dict.fromkeys(("HuntCrossleyForce", "ElasticFoundationForce"), "bodies pass through each other"),
    "RollingOnSurfaceConstraint": "the body is not held to the surface",
    **dict.fromkeys(GEOMETRY, SEEN),
    OBSTACLE: "the path passes the obstacle otherwise",
    **dict.fromkeys(("PrescribedController", "ControlSetController"), "controls are given with the simulation"),
    "ObjectGroup": SEEN,
    "Delp1990Muscle_Deprecated": "the path has no force law",
}  # fmt: skip


def change_of(tag: str) -> str:
    """What leaving an element out changes; a general word for one that is not in the table."""
    return CHANGES.get(tag, "what it does in OpenSim is missing here")
