"""When a joint is stable: rules on the direction of the force in it."""

from myoquat.analysis.recruitment.stability.border import GLENOID_POLYNOMIAL, BorderCone
from myoquat.analysis.recruitment.stability.cone import JointCone
from myoquat.analysis.recruitment.stability.ellipse import EllipticCone
from myoquat.analysis.recruitment.stability.line import CentralForce
from myoquat.analysis.recruitment.stability.penalties import (
    ConditionalPenalty,
    CurvedPenalty,
    PlanarPenalty,
)
from myoquat.analysis.recruitment.stability.published import published_rules
from myoquat.analysis.recruitment.stability.rule import SearchedRule, StabilityRule, margins_of
from myoquat.analysis.recruitment.stability.socket_markers import SocketMarkers

__all__ = [
    "GLENOID_POLYNOMIAL",
    "BorderCone",
    "CentralForce",
    "ConditionalPenalty",
    "CurvedPenalty",
    "EllipticCone",
    "JointCone",
    "PlanarPenalty",
    "SearchedRule",
    "SocketMarkers",
    "StabilityRule",
    "margins_of",
    "published_rules",
]
