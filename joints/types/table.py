"""The joint types in one table: sizes, units and frames of q and u, as data."""

from myoquat.joints.types import (
    ConstantCurvatureJoint,
    EllipsoidJoint,
    EulerJoint,
    FixedJoint,
    FloatingJoint,
    FollowerJoint,
    PlanarJoint,
    PrismaticJoint,
    RevoluteJoint,
    SphericalJoint,
    UniversalJoint,
)

from .base import JointFacts
from .turns import GIMBAL

REVERSED = JointFacts(
    "reversed", ("c1", "c2", "c3", "c4", "c5", "c6"), ("rad or m",) * 6,
    "as of the joint that is reversed (up to six coordinates)", velocity_units=("rad/s or m/s",) * 6,
    velocity_frame="as of the joint that is reversed"
)  # fmt: skip
CUSTOM = JointFacts(
    "custom", ("c1", "c2", "c3", "c4", "c5", "c6"), ("rad or m",) * 6,
    "given axes (up to six coordinates, names of your own)", velocity_units=("rad/s or m/s",) * 6,
    velocity_frame="given axes"
)  # fmt: skip
_FACTS = (
    FixedJoint.facts, FloatingJoint.facts, RevoluteJoint.facts, PrismaticJoint.facts, SphericalJoint.facts,
    EulerJoint.facts, PlanarJoint.facts, UniversalJoint.facts, EllipsoidJoint.facts, ConstantCurvatureJoint.facts,
    REVERSED, GIMBAL, FollowerJoint.facts, CUSTOM
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
