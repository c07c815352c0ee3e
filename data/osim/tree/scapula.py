"""OpenSim's ScapulothoracicJoint: the shoulder blade glides over the ellipsoid of the ribs and wings away from it."""

import math
from typing import Any

import numpy as np

from myoquat.data.document import number, numbers
from myoquat.data.osim.frames import Frame
from myoquat.data.osim.tree.joints import OsimJoint
from myoquat.joints.multibody.body import Body
from myoquat.joints.sequences import rotation_matrix_from_euler
from myoquat.joints.types import FixedJoint, RevoluteJoint

__all__ = ["TAG", "scapular_bodies"]

TAG = "ScapulothoracicJoint"
UPRIGHT = rotation_matrix_from_euler(np.array([0.0, 0.0, math.pi / 2]), "XYZ")


def scapular_bodies(element: Any, read: OsimJoint, parent: Frame, child: Frame, mass: dict[str, Any]) -> list[Body]:
    """A massless body on the ellipsoid (abduction, elevation, upward rotation), one more on a hinge (winging), and the
    body itself fixed to it.

    The ellipsoid's frame is the parent's, turned by a right angle about z, so that its radii are y, x, z. The hinge's
    axis lies in the plane that touches the ellipsoid, at an angle from that plane's y axis [A. Seth, R. Matias, A. P.
    Veloso, S. L. Delp, A biomechanical model of the scapulothoracic joint ..., PLoS ONE 11, 2016].
    """
    joint, names = str(element.get("name")), tuple(c.name for c in read.coordinates)
    angle = number(element, "scapula_winging_axis_direction", 0.0)
    origin = np.array([*numbers(element, "scapula_winging_axis_origin", 2, (0.0, 0.0)), 0.0])
    ribs = Frame(parent.body, parent.R @ UPRIGHT, parent.p)
    hinge = Frame(f"{joint}_glide", UPRIGHT.T, UPRIGHT.T @ origin)
    back = Frame(f"{joint}_wing", child.R.T, -origin - child.R.T @ child.p)
    axis = (-math.sin(angle), math.cos(angle), 0.0)
    return [
        Body(hinge.body, ribs.body, read.joint, ribs.position, ribs.orientation, joint_name=joint,
             coordinate_names=names[:3]),
        Body(back.body, hinge.body, RevoluteJoint(axis), hinge.position, hinge.orientation,
             joint_name=f"{joint}_winging", coordinate_names=names[3:]),
        Body(child.body, back.body, FixedJoint(), back.position, back.orientation, **mass),
    ]  # fmt: skip
