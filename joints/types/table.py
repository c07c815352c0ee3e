"""The joint types in one table: sizes, units and frames of q and u, as data."""

from joints.types import euler, fixed, floating, planar, prismatic, revolute, spherical, universal
from joints.types.base import JointFacts

__all__ = ["JOINT_FACTS", "joint_table"]

CUSTOM = JointFacts(
    "custom", ("up to six",) * 6, ("rad or m",) * 6, "given axes", ("rates",) * 6, ("rad/s or m/s",) * 6, "given axes"
)
_MODULES = (fixed, floating, revolute, prismatic, spherical, euler, planar, universal)

JOINT_FACTS: dict[str, JointFacts] = {m.FACTS.kind: m.FACTS for m in _MODULES} | {"custom": CUSTOM}


def joint_table() -> list[dict[str, object]]:
    """One row per joint type: kind, |u|, |q|, and names, units and frames of both; a custom joint's at most."""
    return [
        {
            "joint": facts.kind,
            "|u|": facts.nu,
            "|q|": facts.nq,
            "q": ", ".join(facts.coordinates),
            "q units": ", ".join(facts.coordinate_units),
            "q frame": facts.coordinate_frame,
            "u": ", ".join(facts.velocities),
            "u units": ", ".join(facts.velocity_units),
            "u frame": facts.velocity_frame,
        }
        for facts in JOINT_FACTS.values()
    ]
