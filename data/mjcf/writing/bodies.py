"""Our tree as MuJoCo's nested bodies, with the sites and surfaces on them."""

from typing import Any

import numpy as np

from myoquat.data.mjcf.elements import add
from myoquat.data.mjcf.reading.geoms import FIRST_HIDDEN_GROUP
from myoquat.data.mjcf.shapes import HALVED, file_sizes
from myoquat.data.mjcf.writing.joints import Joints
from myoquat.data.mjcf.writing.sites import Sites
from myoquat.data.reports import UnwrittenParts
from myoquat.data.xml import Element
from myoquat.joints.errors import ModelError
from myoquat.joints.multibody.body import Body, Shape, check_inertia, principal_moments
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.quaternion import quaternion_from_matrix
from myoquat.joints.types import FloatingJoint
from myoquat.joints.vectors import full

__all__ = ["Bodies"]

MIN_INERTIA = 1e-15  # of mass and principal inertia of a moving body: MuJoCo's mjMINVAL


class Bodies:
    """What every body of a file is made of; start: q (nq,) and u (nu,), in child frames."""

    def __init__(
        self, system: ArticulatedSystem, start: Any, joints: Joints, sites: Sites, unwritten: UnwrittenParts
    ) -> None:
        self._system = system
        self._start = start
        self._joints = joints
        self._sites = sites
        self._unwritten = unwritten
        self._indices = {body.name: i for i, body in enumerate(system.bodies)}

    def add(self, world: Any) -> None:
        """All bodies below <worldbody>, depth first, which is also MuJoCo's order of coordinates."""
        for shape in self._system.shapes:
            self._add_shape(world, self._system.ground, shape)
        self._sites.add(world, self._system.ground)
        self._add_children(world, self._system.ground)

    def _add_children(self, parent: Element, name: str) -> None:
        for body in self._system.bodies:
            if body.parent == name:
                self._add(parent, body)

    def _add(self, parent: Element, body: Body) -> None:
        place = np.array(body.position) + self._joints.offset(body)
        chain = self._carried(body)
        element = add(parent, "body", name=chain[-1].name, pos=tuple(place), quat=body.orientation)
        (q, u), body = self._start, chain[-1]
        for member in chain:
            i = self._indices[member.name]
            self._joints.add(element, member, q[self._system.q_slices[i]], u[self._system.u_slices[i]])
        if any(member.joint.nu for member in chain):
            self._check_mass(body)
        if body.mass:
            _add_inertial(element, body)
        for shape in body.shapes:
            self._add_shape(element, body.name, shape)
        self._sites.add(element, body.name)
        self._add_children(element, body.name)

    def _carried(self, body: Body) -> list[Body]:
        """The bodies that are one body in MuJoCo: massless ones without parts that each carry the next in place, such
        as those that the reader hangs a body on whose joints are several here."""
        children = [other for other in self._system.bodies if other.parent == body.name]
        if body.mass or body.shapes or self._sites.on(body.name) or len(children) != 1:
            return [body]
        (child,) = children
        in_place = not any(child.position) and tuple(child.orientation) == (1.0, 0.0, 0.0, 0.0)
        moves = not isinstance(body.joint, FloatingJoint) and not self._joints.offset(child).any()
        return [body, *self._carried(child)] if body.joint.nu and in_place and moves else [body]

    def _check_mass(self, body: Body) -> None:
        """ModelError for a moving link that MuJoCo refuses; bodies fixed to this one lend it their mass."""
        frames = self._system.tree.frames
        link = [other for other in self._system.bodies if frames[other.name].link == frames[body.name].link]
        if not any(other.mass > MIN_INERTIA and principal_moments(other.inertia)[0] > MIN_INERTIA for other in link):
            raise ModelError("MuJoCo moves no body without mass and inertia", element=f"body {body.name!r}")

    def _add_shape(self, parent: Element, body: str, shape: Shape) -> None:
        if shape.kind not in HALVED:
            self._unwritten.count("meshes", f"{body}: {shape.file}")
            return
        visual = {} if shape.purpose == "collision" else {"contype": "0", "conaffinity": "0"}
        visual |= {"group": str(FIRST_HIDDEN_GROUP)} if shape.purpose == "hidden" else {}
        sizes = file_sizes(shape.kind, shape.sizes)
        add(parent, "geom", name=shape.name or None, type=shape.kind, size=sizes, pos=shape.position,
            quat=shape.orientation, rgba=shape.color, **visual)  # fmt: skip


def _add_inertial(parent: Element, body: Body) -> None:
    """Mass and inertia; ModelError for one that no rigid body has. MuJoCo takes a vanishing moment only on axes."""
    check_inertia(body)
    given: dict[str, Any] = {"fullinertia": body.inertia}
    if principal_moments(body.inertia)[0] <= MIN_INERTIA:
        moments, axes = np.linalg.eigh(full(np.array(body.inertia)))
        axes = axes * np.array([1.0, 1.0, np.sign(np.linalg.det(axes))])
        given = {"diaginertia": tuple(np.maximum(moments, 0.0)), "quat": tuple(quaternion_from_matrix(axes))}
    add(parent, "inertial", pos=body.center_of_mass, mass=body.mass, **given)
