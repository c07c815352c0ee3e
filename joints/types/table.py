"""The joint types in one table: sizes, units and frames of q and u, as data."""

from myoquat.joints.types import (
    constant_curvature,
    ellipsoid,
    fixed,
    floating,
    follower,
    planar,
    prismatic,
    reversal,
    revolute,
    spherical,
)
from myoquat.joints.types.base import JointFacts
from myoquat.joints.types.turns import EULER, GIMBAL, UNIVERSAL

__all__ = ["JOINT_FACTS", "joint_table"]

CUSTOM = JointFacts(
    "custom", ("c1", "c2", "c3", "c4", "c5", "c6"), ("rad or m",) * 6,
    "given axes (up to six coordinates, names of your own)", velocity_units=("rad/s or m/s",) * 6,
    velocity_frame="given axes"
)  # fmt: skip
_FACTS = (
    fixed.FACTS, floating.FACTS, revolute.FACTS, prismatic.FACTS, spherical.FACTS, EULER, planar.FACTS, UNIVERSAL,
    ellipsoid.FACTS, constant_curvature.FACTS, reversal.FACTS, GIMBAL, follower.FACTS, CUSTOM
)  # fmt: skip

JOINT_FACTS: dict[str, JointFacts] = {facts.kind: facts for facts in _FACTS}


def joint_table() -> list[dict[str, object]]:
    """One row per joint type: kind, |u|, |q|, and names, units and frames of both; the most that a custom or reversed
    joint can have.

    >>> from myoquat.joints import joint_table
    >>> [(row["joint"], row["|q|"], row["|u|"]) for row in joint_table()][:3]
    [('fixed', 0, 0), ('floating', 7, 6), ('revolute', 1, 1)]
    """
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
