"""Our tree as MuJoCo's nested bodies, with the sites and surfaces on them."""

import math
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np

from myoquat.core import Array, free_name
from myoquat.data.reports import UnwrittenParts
from myoquat.data.xml import Element, add_with
from myoquat.joints import (
    Body,
    CustomJoint,
    ModelError,
    Shape,
    convert_velocities,
    quaternion_from_matrix,
    rotation_matrix,
)
from myoquat.joints.conversion.balls import as_axes
from myoquat.joints.functions import AxisFunction, Multiplier, MultivariatePolynomial, coefficients_of
from myoquat.joints.multibody.body import check_inertia, principal_moments
from myoquat.joints.vectors import full
from myoquat.muscle import Model, Muscle, MusclePath, PathPoint, Wrap

from .reading.bodies import FIRST_HIDDEN_GROUP, HALVED

UNIT_SLOPE_TOLERANCE = 1e-12  # by which a slope may miss 1
MIN_INERTIA = 1e-15  # of mass and principal inertia of a moving body: MuJoCo's mjMINVAL
SITE_RADIUS_M = 0.005  # [m] radius in pictures
ENDLESS_HALF_LENGTH_M = 1.0  # [m] half the length in pictures of a cylinder without ends
SIDE_SITE_RADII = 3.0  # radii from the axis at which the site lies that tells a tendon its side
UNTURNED = (1.0, 0.0, 0.0, 0.0)
Follower = tuple[str, str, tuple[Multiplier, ...]]  # a joint, its driver, and functions from the one to the other


class Tree:
    """The bodies, joints, sites and surfaces of a file as they are written. ModelError for a motion that MuJoCo's
    joints do not have.

    needed     bodies that have sites and surfaces
    bodies     the elements of bodies by name, the ground's too; several bodies of ours may be one of MuJoCo's
    joints     those of joints by name, with their q and u at the start
    refs       the references of hinges and slides by name
    followers  joints that another one drives: value = f_k(... f_1(value of the driver)) of the functions, each scaled
    surfaces   the geoms of surfaces, and the sites that tell their sides
    paths      the sites of the points of paths
    """

    def __init__(self, root: Element, model: Model, needed: Collection[str], unwritten: UnwrittenParts) -> None:
        self._root, self.model, self.system, self.unwritten, self._needed = root, model, model.system, unwritten, needed
        self.bodies: dict[str, Element] = {self.system.ground: add_with(root, "worldbody")}
        self.joints: dict[str, tuple[Element, list[float], list[float]]] = {}
        self.refs: dict[str, float] = {}
        self.followers: list[Follower] = []
        self.surfaces: dict[Wrap, tuple[str, str | None]] = {}
        self.paths: dict[MusclePath, list[str]] = {}
        self._shapes = set[str]()  # names
        u = np.zeros(self.system.nu) if model.start_u is None else np.array(model.start_u)
        self._u = convert_velocities(self.system, replace(self.system, velocity_frame="child"), model.start, u)
        self._ranges = {coordinate.name: coordinate.range for coordinate in model.coordinates}
        for shape in self.system.shapes:
            self._add_shape(self.system.ground, shape)
        carried = {body.name: child for body in self.system.bodies if (child := self._carried(body)) is not None}
        inner = {child.name for child in carried.values()}
        for body in self.system.bodies:
            if body.name not in inner:
                chain = [body]
                while (child := carried.get(chain[-1].name)) is not None:
                    chain.append(child)
                self._add(chain)

    def nest(self) -> tuple[list[float], list[float]]:
        """Put the bodies into each other, behind what they have, and return q and u at the start, in the order that
        MuJoCo has then."""
        for body in self.system.bodies:
            element, parent = self.bodies[body.name], self.bodies[body.parent]
            if element is not parent:
                parent.append(element)
        starts = {element: start for element, *start in self.joints.values()}
        order = [starts[joint] for joint in self.bodies[self.system.ground].iter("joint")]
        return [x for q, _ in order for x in q], [x for _, u in order for x in u]

    def section(self, tag: str) -> Element:
        """The section of the file, which begins with its first member."""
        found = self._root.find(tag)
        return add_with(self._root, tag) if found is None else found

    # ---- bodies ----------------------------------------------------------------------------------------------

    def _carried(self, body: Body) -> Body | None:
        """The body that is one body in MuJoCo with a massless one without parts that carries it unturned; None if there
        is none. The reader hangs bodies of several joints on such ones."""
        children = [other for other in self.system.bodies if other.parent == body.name]
        if body.mass or body.shapes or body.name in self._needed or len(children) != 1 or not body.joint.nu:
            return None
        (child,) = children
        return (
            child if child.orientation == UNTURNED and body.joint.span != "all" and not _offset(child).any() else None
        )

    def _add(self, chain: list[Body]) -> None:
        """Bodies of ours that are one of MuJoCo's: the last one, on the joints of all."""
        first, body = chain[0], chain[-1]
        steps = np.array([member.position for member in chain[1:]]).reshape(-1, 3)
        anchors = [-steps[k:].sum(axis=0) for k in range(len(chain))]
        place = np.array(first.position) + _offset(first)
        place = place - rotation_matrix(first.orientation) @ anchors[0]
        world = self.bodies[self.system.ground]  # where it is until `nest`
        element = add_with(world, "body", name=body.name, pos=place, quat=first.orientation)
        for member, anchor in zip(chain, anchors, strict=True):
            self.bodies[member.name] = element
            self._add_joints(element, member, anchor)
        if any(member.joint.nu for member in chain):
            self._check_mass(body)
        if body.mass:
            _add_inertial(element, body)
        for shape in body.shapes:
            self._add_shape(body.name, shape)

    def _check_mass(self, body: Body) -> None:
        """ModelError for a moving link that MuJoCo refuses; bodies fixed to this one lend it their mass."""
        frames = self.system.tree.frames
        link = [other for other in self.system.bodies if frames[other.name].link == frames[body.name].link]
        if not any(other.mass > MIN_INERTIA and principal_moments(other.inertia)[0] > MIN_INERTIA for other in link):
            raise ModelError("MuJoCo moves no body without mass and inertia", element=f"body {body.name!r}")

    def _add_shape(self, body: str, shape: Shape) -> None:
        if shape.kind not in HALVED:
            self.unwritten.count("meshes", f"{body}: {shape.file}")
            return
        visual = {} if shape.purpose == "collision" else {"contype": "0", "conaffinity": "0"}
        visual |= {"group": str(FIRST_HIDDEN_GROUP)} if shape.purpose == "hidden" else {}
        sizes = tuple(x / 2 if half else x for x, half in zip(shape.sizes, HALVED[shape.kind], strict=True))
        # MuJoCo refuses geoms of one name, also on different bodies
        name = shape.name and free_name(shape.name, self._shapes)
        self._shapes.add(name)
        add_with(self.bodies[body], "geom", name=name or None, type=shape.kind, size=sizes, pos=shape.position,
            quat=shape.orientation, rgba=shape.color, **visual)  # fmt: skip

    # ---- our joints as MuJoCo's: balls, free joints, and rows of slides and hinges on one body ---------------------

    def _add_joints(self, parent: Element, body: Body, anchor: Array) -> None:
        """The joints of a body, with what acts in them. anchor (3,) [m] is the origin of the joint's frame in that of
        the element."""
        i, joint, name = self.system.indices.body(body.name), body.joint, body.joint_name or body.name
        q, u = self.model.start[self.system.q_slices[i]], self._u[self.system.u_slices[i]]
        at = anchor if anchor.any() else None
        if joint.is_weld:
            return
        if joint.facts.quaternion == 0:
            self._add_joint(parent, "ball", name, q, u, pos=at, **self._passive(body))
        elif joint.span == "all":
            # a free joint on the ground itself, else three slides and a ball: MuJoCo's free joints leave the world
            passive, speed = self._passive(body), rotation_matrix(q[3:]) @ u[:3]
            if body.parent == self.system.ground and not any(body.position) and body.orientation == UNTURNED:
                self._add_joint(parent, "free", name, q, [*speed, *u[3:]], **passive)
                return
            for k, coordinate in enumerate(body.names_of_coordinates[:3]):
                own = {"pos": at, "axis": np.eye(3)[k], "limited": False, **passive}
                self._add_joint(parent, "slide", coordinate, q[k], speed[k], **own)
                self.refs[coordinate] = 0.0
            self._add_joint(parent, "ball", name, q[3:], u[3:], pos=at, **passive)
        else:
            self._add_row(parent, body, q, u, at)

    def _add_joint(self, parent: Element, joint_type: str, name: str, q: Any, u: Any, **attributes: Any) -> None:
        element = add_with(parent, "joint", name=name, type=joint_type, **attributes)
        self.joints[name] = element, np.ravel(q).tolist(), np.ravel(u).tolist()

    def _add_row(self, parent: Element, body: Body, q: Array, u: Array, at: Array | None) -> None:
        """Slides first, as they run along axes of the joint's frame, then hinges, each after the turns before it."""
        joint, element, led = _axes(body), f"body {body.name!r}", set[int]()
        if body.joint.kind == "euler" and (body.damping or body.stiffness):
            self.unwritten.count("springs and dampers of Euler joints", body.name)
        if any(axis.coordinate is None and axis.function.value(np.zeros(())) for axis in joint.rotations):
            raise ModelError("a constant turn in a joint has no equal in MuJoCo", element=element)
        rows = [("slide", axis) for axis in joint.translations] + [("hinge", axis) for axis in joint.rotations]
        rows = [(joint_type, axis) for joint_type, axis in rows if axis.coordinate is not None]
        for number, (joint_type, axis) in enumerate(rows, start=1):
            if isinstance(axis.function, MultivariatePolynomial):
                raise ModelError(
                    "an axis that depends on several coordinates has no equal in MuJoCo, whose equality constraints "
                    "take one joint",
                    element=element,
                )
            (i,) = axis.coordinates
            name, straight = joint.coordinates[i], _straight(axis.function)
            if straight is not None and i not in led:
                led.add(i)
                sign, self.refs[name] = straight
                given = {"ref": self.refs[name] or None, "limited": False, "range": self._ranges.get(name)}
                direction = tuple(sign * x + 0.0 for x in axis.direction)
                passive = self._passive(body, i) | {"axis": direction} | given
                self._add_joint(parent, joint_type, name, q[i], u[i], pos=at, **passive)
            else:
                follower = f"{body.name}_{name}_{number}"
                self.refs[follower] = 0.0
                self.followers.append((follower, name, (Multiplier(axis.function),)))
                value, slope = axis.function.value(q[i]), axis.function.slope(q[i]) * u[i]
                self._add_joint(parent, joint_type, follower, value, slope, pos=at, axis=axis.direction, limited=False)
        used = {i for _, axis in rows for i in axis.coordinates}
        for i, name in enumerate(joint.coordinates):
            if i not in used:
                self.unwritten.count("coordinates that move nothing", name)

    def _passive(self, body: Body, i: int | None = None) -> dict[str, Any]:
        """Attributes for damping, spring and rotor; of coordinate i of a row."""
        found: dict[str, Any] = {"armature": body.rotor_inertia or None}
        if body.joint.kind == "euler":
            return found  # its springs and dampers act on the turn, not on the hinges
        found["damping"] = body.damping or None
        if not body.stiffness:
            return found
        if i is None and body.spring_mount not in (None, tuple(body.joint.neutral())):
            self.unwritten.count("springs of ball joints away from neutral", body.name)
            return found
        rest = 0.0 if i is None or body.spring_mount is None else body.spring_mount[i]
        return found | {"stiffness": body.stiffness, "springref": None if i is None else rest}

    def driven(self) -> list[Follower]:
        """Followers and the joints that drive them, couplers included. A coordinate that moves no axis itself is no
        joint; the coordinate that its coupler makes it depend on replaces it. ModelError if there is none."""
        couplers = {coupler.dependent: coupler for coupler in self.model.couplers}
        steps = {name: Multiplier(coupler.function, coupler.scale) for name, coupler in couplers.items()}
        coupled = [(name, couplers[name].independent, (steps[name],)) for name in couplers if name in self.refs]
        found, passed = [], set[str]()
        for name, driver, functions in (*self.followers, *coupled):
            here: set[str] = set()
            while driver not in self.refs:
                if driver not in couplers or driver in here:
                    raise ModelError(
                        "MuJoCo's joints are their own coordinates, but this one is no angle or length of a joint. A "
                        "quaternion has replaced it, or only functions of it move its body",
                        element=f"coordinate {driver!r}",
                    )
                here.add(driver)
                functions = steps[driver], *functions
                driver = couplers[driver].independent
            passed |= here
            found.append((name, driver, functions))
        for name, coupler in couplers.items():
            if name not in self.refs and name not in passed:
                self.unwritten.count("couplers of angles that a quaternion has replaced, left free", coupler.name)
        return found

    # ---- sites, and the surfaces that tendons wrap around ------------------------------------------------------

    def add_site(self, name: str, body: str, position: Any, quat: Any = None) -> str:
        """A site on a body; its name."""
        add_with(self.bodies[body], "site", name=name, pos=position, quat=quat, size=SITE_RADIUS_M)
        return name

    def add_surface(self, wrap: Any, name: str) -> None:
        """A surface with the site that tells the side, unless it is there already."""
        if wrap in self.surfaces:
            return
        called, sided = wrap.name or name, wrap.quadrant != "all"
        sizes: tuple[float, ...] = (wrap.radius,)
        if wrap.shape == "cylinder":
            endless = not np.isfinite(wrap.length)
            sizes += (ENDLESS_HALF_LENGTH_M if endless else wrap.length / 2,)
            if not endless:
                self.unwritten.count("ends of wrapping cylinders, which have none in MuJoCo", called)
        if wrap.shape == "cylinder" and wrap.rule == "shortest" and sided:
            self.unwritten.count("sides of cylinders by the rule of WrapCylinder, where MuJoCo has its own", called)
        elif wrap.rule == "mujoco3" and sided:
            self.unwritten.count("sides of surfaces by the rule of MuJoCo 3", called)
        add_with(self.bodies[wrap.body], "geom", name=name, type=wrap.shape, size=sizes, pos=wrap.position,
                 quat=wrap.orientation, contype="0", conaffinity="0", mass="0", group="3")  # fmt: skip
        side = np.zeros(3) if wrap.holds_inside else wrap.ahead
        if wrap.hint is not None:
            self.unwritten.count("hints of wrapping surfaces, written as sides", called)
            side = np.where(np.arange(3) < wrap.axes, wrap.hint, 0.0)
            side = side / np.linalg.norm(side)
        site = None
        if side is not None:
            place = np.array(wrap.in_body(SIDE_SITE_RADII * wrap.radius * side), dtype=float)
            site = self.add_site(f"{name}-side", wrap.body, place)
        self.surfaces[wrap] = name, site


def _offset(body: Body) -> Array:
    """(3,) [m] what constant slides add to the place of a joint, in the parent's frame."""
    still = [axis for axis in body.joint.translations if axis.coordinate is None]
    step = sum((np.multiply(a.direction, a.function.value(np.zeros(()))) for a in still), start=np.zeros(3))
    return rotation_matrix(body.orientation) @ step


def _axes(body: Body) -> CustomJoint:
    try:
        return as_axes(body)
    except ValueError as error:
        raise ModelError(f"MuJoCo has no joint like this: {error}", element=f"body {body.name!r}") from None


def _straight(function: AxisFunction) -> tuple[float, float] | None:
    """(sign, ref) of a function sign (x - ref); None for any other."""
    c = coefficients_of(function)
    if c is None or len(c) != 2 or not math.isclose(abs(c[1]), 1.0, rel_tol=UNIT_SLOPE_TOLERANCE):
        return None
    sign = math.copysign(1.0, c[1])
    return sign, -sign * c[0] + 0.0


def _add_inertial(parent: Element, body: Body) -> None:
    """Mass and inertia; ModelError for one that no rigid body has. MuJoCo takes a vanishing moment only on axes."""
    check_inertia(body)
    given: dict[str, Any] = {"fullinertia": body.inertia}
    if principal_moments(body.inertia)[0] <= MIN_INERTIA:
        moments, axes = np.linalg.eigh(full(np.array(body.inertia)))
        axes = axes * np.array([1.0, 1.0, np.sign(np.linalg.det(axes))])
        given = {"diaginertia": np.maximum(moments, 0.0), "quat": quaternion_from_matrix(axes)}
    add_with(parent, "inertial", pos=body.center_of_mass, mass=body.mass, **given)


def why_no_tendon(muscle: Muscle) -> str | None:
    """Why MuJoCo has no tendon through the points of this path; None if it has."""
    if any(type(point) is not PathPoint for point in muscle.path.points):
        return "on moving or conditional points"
    if any(wrap.shape not in ("sphere", "cylinder") for wrap in muscle.path.wraps):
        return "around ellipsoids or tori"
    if any(len(acting) > 1 for acting in muscle.path.acting):
        return "around several surfaces at once"
    return None
