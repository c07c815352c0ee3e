"""What is not read of an .osim file, and what that changes: by the tags of the elements."""

from typing import Any

from myoquat.data.reports import UnsupportedElements
from myoquat.data.xml import objects

from .document import GEOMETRY
from .geometry import SOLIDS
from .wraps import OBSTACLE

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


COSMETIC = {  # properties of OpenSim's objects that are not read, because lengths and motions do not depend on them
    *("frame_geometry", "moment_visual_scale", "force_visual_scale", "visual_aspect_ratio", "ModelVisualPreferences"),
    *("force_visualization_radius", "force_visualization_scale_factor", "publications", "length_units", "force_units"),
    "compute_dissipation_energy",  # whether a force adds up what it dissipates
    "assembly_accuracy",  # of the solver: closer here
    "is_free_to_satisfy_constraints",  # of the assembly, which moves free coordinates alone here
    "tendon_compliance_dynamics_mode",  # how a solver states the same equations
    *("default_fiber_length", "default_normalized_tendon_force"),  # first guesses: fibers start in equilibrium
}


LOOKS = ("FrameGeometry", "WrapDisplay", "VisibleObject")
SHAPES = ("Mesh", *SOLIDS)  # whose colors are read


def change_of(tag: str) -> str:
    """What leaving an element out changes; a general word for one that is not in the table."""
    return CHANGES.get(tag, "what it does in OpenSim is missing here")


def count_unseen(model: Any, unsupported: UnsupportedElements) -> None:
    """Note what changes no length and no motion: surfaces that no path names, the looks of paths and surfaces, and the
    entries in `COSMETIC`, unless they are empty."""
    used = {(name.text or "").strip() for name in model.iter("wrap_object")}
    for holder in model.iter("WrapObjectSet"):
        for surface in objects(holder.getparent(), "WrapObjectSet"):
            if surface.get("name") not in used:
                unsupported.count(surface, "no path names it")
    for look in model.iter("Appearance"):
        if look.getparent().tag not in SHAPES:
            unsupported.count(look, SEEN)
    for element in model.iter(*sorted(COSMETIC), *LOOKS):
        if (element.text or "").strip() not in ("", "Unassigned") or len(element):
            unsupported.count(element, SEEN)
