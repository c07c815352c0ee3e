"""The rules of glenohumeral stability that were compared with forces measured in an instrumented shoulder."""

import numpy as np

from myoquat.analysis.recruitment.stability.border import BorderCone
from myoquat.analysis.recruitment.stability.cone import JointCone
from myoquat.analysis.recruitment.stability.ellipse import EllipticCone
from myoquat.analysis.recruitment.stability.line import CentralForce
from myoquat.analysis.recruitment.stability.penalties import ConditionalPenalty, CurvedPenalty, PlanarPenalty
from myoquat.analysis.recruitment.stability.rule import StabilityRule
from myoquat.analysis.recruitment.stability.socket_markers import SocketMarkers
from myoquat.core.arguments import check_types
from myoquat.muscle.model import Model

__all__ = ["published_rules"]

RATIO = 0.5  # stability ratio of the circle and of the conditional penalty
RATIOS = (0.34, 0.61)  # along and across the line to the posterior edge, of the ellipse
WEIGHT = 3.0  # of the penalties
CAVITY_RADIUS = 0.1  # [m] of the sphere of the glenoid
CAVITY_DEPTH = 0.09  # [m] from the centre of the glenoid to that of its sphere, as the published program has it


def published_rules(model: Model, joint: str, head: str, centre: str, rim: str) -> dict[str, StabilityRule]:
    """The published rules "point", "circle", "ellipse", "polynomial", "conditional", "planar" and "curve".

    Their source is I. M. I. Hasan et al., IEEE TNSRE, 2025, 10.1109/TNSRE.2025.3635012. Markers in the model's start
    pose give the socket. ValueError for a marker that does not exist.

    head    marker at the centre of the humeral head
    centre  marker at the centre of the glenoid
    rim     marker on the posterior edge of the glenoid

    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment import published_rules
    >>> from myoquat.muscle.coordinates import Marker
    >>> arm = mq.Body("arm", "ground", mq.joints.SphericalJoint())
    >>> points = {"head": (0.0, 0.0, 0.0), "centre": (0.0, 0.0, 0.03), "rim": (0.02, 0.0, 0.03)}
    >>> markers = tuple(Marker(name, "ground", at) for name, at in points.items())
    >>> model = mq.Model(mq.ArticulatedSystem((arm,)), markers=markers)
    >>> list(published_rules(model, "arm", "head", "centre", "rim"))
    ['point', 'circle', 'ellipse', 'polynomial', 'conditional', 'planar', 'curve']
    """
    names = {"joint": joint, "head": head, "centre": centre, "rim": rim}
    check_types(model=(model, Model), **{name: (value, str) for name, value in names.items()})
    socket = SocketMarkers.of(model, joint, head, centre, rim)
    into, axis = socket.direction, socket.axis
    return {
        "point": CentralForce(joint, into),
        "circle": JointCone(joint, into, float(np.arctan(RATIO))),
        "ellipse": EllipticCone(joint, into, axis, RATIOS),
        "polynomial": BorderCone(joint, into, axis),
        "conditional": ConditionalPenalty(joint, into, WEIGHT, RATIO),
        "planar": PlanarPenalty(joint, into, WEIGHT),
        "curve": CurvedPenalty(joint, into, WEIGHT, CAVITY_RADIUS, CAVITY_DEPTH - socket.distance),
    }
