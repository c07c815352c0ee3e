"""Our tree as OpenSim's bodies and joints: a joint's own frame, a body in our tree, becomes a frame."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from myoquat.data.elements import add, add_set, checked_name
from myoquat.data.osim.frames import GROUND, Frame
from myoquat.data.osim.writing.geometry import add_geometry
from myoquat.data.osim.writing.joints import Placed, add_joint
from myoquat.data.reports import UnwrittenParts
from myoquat.data.xml import Element
from myoquat.joints.errors import ModelError
from myoquat.joints.multibody.body import Body
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.types import FixedJoint
from myoquat.muscle.coordinates import Coordinate

__all__ = ["add_bodies", "add_joints", "named_as_ground", "placed_joints"]


def named_as_ground(system: ArticulatedSystem) -> ArticulatedSystem:
    """The system on a ground of OpenSim's name; ModelError where a body has that name."""
    if system.ground == GROUND:
        return system
    if GROUND in system.body_names:
        raise ModelError("'ground' is the name of OpenSim's ground", element=f"body {GROUND!r}")
    bodies = (replace(b, parent=GROUND) if b.parent == system.ground else b for b in system.bodies)
    return replace(system, bodies=tuple(bodies), ground=GROUND)


def placed_joints(system: ArticulatedSystem, needed: Iterable[str]) -> list[Placed]:
    """The joints in order. A massless body that only carries another one, fixed to it, becomes the frame of its joint
    on that body. It stays a body if it is `needed` by name."""
    needed = set(needed)
    carrying: dict[str, list[Body]] = {}
    for body in system.bodies:
        carrying.setdefault(body.parent, []).append(body)
    result, done = [], set()
    for body in system.bodies:
        children = carrying.get(body.name, [])
        if body.name in done:
            continue
        if len(children) == 1 and _is_frame(body, children[0]) and body.name not in needed:
            back = Frame.of(children[0].name, children[0].position, children[0].orientation).inverse
            result.append(Placed(body, children[0].name, (back.position, back.orientation)))
            done.add(children[0].name)
        else:
            result.append(Placed(body, body.name))
    return result


def _is_frame(body: Body, child: Body) -> bool:
    empty = not body.mass and not any(body.inertia) and not any(body.center_of_mass) and not body.shapes
    plain = isinstance(child.joint, FixedJoint) and not child.joint_name
    named = body.name == f"{body.joint_name}_frame"
    return empty and plain and (named or not isinstance(body.joint, FixedJoint))


def add_bodies(
    parent: Element, system: ArticulatedSystem, placed: list[Placed], wraps: Any, unwritten: UnwrittenParts
) -> None:
    """The <BodySet>, and the <Ground> before it; wraps: what adds the wrap objects of a body."""
    ground = add(parent, "Ground", name=GROUND)
    wraps(ground, GROUND)
    add_geometry(ground, GROUND, system.shapes, unwritten)
    bodies, written = add_set(parent, "BodySet"), {joint.carried for joint in placed}
    for body in system.bodies:
        if body.name not in written:
            continue
        element = add(bodies, "Body", name=checked_name(body.name, f"body {body.name!r}"))
        add(element, "mass", body.mass)
        add(element, "mass_center", body.center_of_mass)
        add(element, "inertia", body.inertia)
        wraps(element, body.name)
        add_geometry(element, body.name, body.shapes, unwritten)


def add_joints(
    parent: Element, system: ArticulatedSystem, placed: list[Placed], start: Any, coordinates: dict[str, Coordinate]
) -> None:
    """The <JointSet>; start: q (nq,) and u (nu,)."""
    joints = add_set(parent, "JointSet")
    indices = {b.name: i for i, b in enumerate(system.bodies)}
    for joint in placed:
        i = indices[joint.moving.name]
        values = start[0][system.q_slices[i]], start[1][system.u_slices[i]]
        add_joint(joints, joint, values, coordinates)
