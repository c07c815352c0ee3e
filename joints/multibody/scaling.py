"""Bodies of another size: frames, masses and inertias of a system whose bodies are scaled along their axes.

The rules are those of OpenSim's scaling (Model::scale and Body::scaleInertialProperties of OpenSim 4.6). Everything
that is fixed to a body is scaled by the body's factors s = (sx, sy, sz). The place of a joint on its parent is scaled
by the parent's factors. A mass m becomes |sx sy sz| m. An inertia I that is scaled alike in all directions becomes s^2
(m'/m) I, where m' is the new mass. Otherwise it is that of a solid cylinder along the axis of the least moment I_a. The
cylinder's length l and radius r, which are scaled, follow from two moments. I_a is m r^2 / 2, and the moment about the
first of the other axes is m (l^2 / 12 + r^2 / 4).
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from myoquat.core import Array, real_array
from myoquat.joints import ArticulatedSystem, Body, rotation_matrix

Factors = Mapping[str, Array]
PART_INFIX = "_slave_"  # between the name of a body and the number of a part of it
FACTOR_TOLERANCE = 1e-14  # relative difference of factors that count as equal
FIRST_OTHER = (1, 0, 0)  # the axis whose moment tells the length of a cylinder along x, y, z


def scaled_system(
    system: ArticulatedSystem, factors: Factors, mass: float | None, keep_masses: bool
) -> ArticulatedSystem:
    """The system whose bodies, by name, are scaled by factors (3,) along their axes; others stay as they are.

    mass [kg]: what all bodies weigh together afterwards; keep_masses: masses are not changed before that. A massless
    body that stands for the frame of a joint on another body, as readers of files make it, follows that body. So does
    NAME_slave_0, the part of a body that closes a loop.
    """
    known = {body.name: body for body in system.bodies}
    carried = {body.parent: body.name for body in system.bodies}
    every = dict(factors)
    for body in system.bodies:
        owner = body.name
        while _is_frame(known[owner]) and owner in carried:
            owner = carried[owner]
        whole, part, number = owner.rpartition(PART_INFIX)  # a part of a body by its name (`myoquat.data.osim.tree`)
        owner = whole if part and whole in known and number.isdigit() else owner
        if owner in factors:
            every[body.name] = factors[owner]
    bodies = [_scaled(body, known, every, keep_masses) for body in system.bodies]
    if mass is not None:
        share = mass / sum(body.mass for body in bodies)
        bodies = [replace(b, mass=b.mass * share, inertia=tuple(share * x for x in b.inertia)) for b in bodies]
    return replace(system, bodies=tuple(bodies))


def _is_frame(body: Body) -> bool:
    """Whether a body stands for the frame of its joint on the body that it carries (`myoquat.data.osim`)."""
    joint = body.joint_name
    names = (f"{joint}_frame", f"{joint}_glide", joint.removesuffix("ing"))
    return bool(joint) and not body.mass and body.name in names and body.name != joint


def _scaled(body: Body, known: Mapping[str, Body], factors: Factors, keep_masses: bool) -> Body:
    parent, own = known.get(body.parent), factors.get(body.name, np.ones(3))
    position = np.array(body.position)
    if parent is not None and _is_frame(parent):
        # the frame is at p and R on the body, the axis of a hinge between two frames of one joint at h in the frame, so
        # that the position -h - R^T p becomes -s h - R^T (s p)
        grand, hinge, back = known.get(parent.parent), np.zeros(3), rotation_matrix(np.array(body.orientation))
        if grand is not None and _is_frame(grand):
            hinge = rotation_matrix(np.array(parent.orientation)).T @ np.array(parent.position)
        p = -back.T @ (position + hinge)
        position, above = -own * hinge - back @ (own * p), np.ones(3)
    else:
        above = factors.get(body.parent, np.ones(3))
        position = above * position
    if body.name == f"{body.joint_name}_glide":
        above = above[[1, 0, 2]]  # its frame is turned about z by a right angle
    joint = body.joint.scaled(tuple(map(float, above)), tuple(map(float, own)))
    center = tuple(own * np.array(body.center_of_mass))
    new_mass = body.mass if keep_masses else body.mass * float(abs(np.prod(own)))
    inertia = scaled_inertia(np.array(body.inertia), body.mass, new_mass, own)
    shapes = tuple(shape.scaled(own) for shape in body.shapes)
    return replace(body, position=tuple(position), joint=joint, mass=new_mass, center_of_mass=center,
                   inertia=tuple(inertia), shapes=shapes)  # fmt: skip


def scaled_inertia(inertia: Array, mass: float, new_mass: float, factors: Array) -> Array:
    """(6,) inertia (xx, yy, zz, xy, xz, yz) about the centre of mass of a scaled body, as the module tells.

    Zero for a body without mass.
    """
    if new_mass <= np.finfo(float).eps or mass <= 0:
        return np.zeros(6)
    grown, s = new_mass / mass, real_array("factors", factors)
    if np.ptp(s) <= FACTOR_TOLERANCE * np.abs(s).max():
        return grown * s[0] ** 2 * inertia
    axis = int(np.argmin(inertia[:3]))
    across = [i for i in range(3) if i != axis]
    square = max(2 * inertia[axis] / mass, 0.0)  # of the radius
    length = max(12 * (inertia[FIRST_OTHER[axis]] / mass - square / 4), 0.0) * s[axis] ** 2
    square *= s[across[0]] * s[across[1]]
    moments = np.full(3, new_mass * (length / 12 + square / 4))
    moments[axis] = new_mass * square / 2
    products = grown * inertia[3:] * np.array([s[0] * s[1], s[0] * s[2], s[1] * s[2]])
    return np.concatenate([moments, products])
