"""Our tree as MuJoCo's nested bodies, with the sites and surfaces on them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from myoquat.core import free_name, frozen
from myoquat.data.mjcf.reading.bodies import FIRST_HIDDEN_GROUP, HALVED
from myoquat.data.reports import UnwrittenParts
from myoquat.data.xml import Element, add_with
from myoquat.joints import (
    ArticulatedSystem,
    Axis,
    Body,
    CustomJoint,
    ModelError,
    Shape,
    quaternion_from_euler,
    quaternion_from_matrix,
    rotation_matrix,
)
from myoquat.joints.constraints import PointLoop, Weld
from myoquat.joints.conversion.balls import as_axes
from myoquat.joints.functions import AxisFunction, Multiplier, MultivariatePolynomial, coefficients_of
from myoquat.joints.multibody.body import check_inertia, principal_moments
from myoquat.joints.vectors import full
from myoquat.muscle import Muscle, MusclePath, PathPoint, Wrap
from myoquat.muscle.actuators import PointActuator, TorqueActuator
from myoquat.muscle.coordinates import Coordinate, Coupler, Marker

__all__ = ["Bodies", "Joints", "Sites", "why_no_tendon"]


# ---- Our joints as MuJoCo's: balls, free joints, and rows of slides and hinges on one body ------------------------


UNIT_SLOPE_TOLERANCE = 1e-12  # by which a slope may miss 1


@frozen
class Follower:
    """A joint that another one drives: value = f_k(... f_1(value of the driver)) of the functions, each scaled."""

    name: str
    driver: str
    functions: tuple[Multiplier, ...]


@dataclass
class Joints:
    """The joints of a file as they are written.

    qpos, qvel  where the model starts
    refs        of hinges and slides by name
    followers   what equality constraints have to hold
    coupled     couplers, which they hold too, by the coordinate that depends
    """

    unwritten: UnwrittenParts
    ground: str
    coordinates: dict[str, Coordinate]
    coupled: dict[str, Coupler]
    qpos: list[float] = field(default_factory=list)
    qvel: list[float] = field(default_factory=list)
    refs: dict[str, float] = field(default_factory=dict)
    followers: list[Follower] = field(default_factory=list)
    _passed: set[str] = field(default_factory=set)
    _anchor: np.ndarray = field(default_factory=lambda: np.zeros(3))

    def offset(self, body: Body) -> np.ndarray:
        """(3,) [m] what constant slides add to the place of a joint, in the parent's frame."""
        still = [axis for axis in body.joint.translations if axis.coordinate is None]
        step = sum((np.array(a.direction) * a.function.value(np.zeros(())) for a in still), start=np.zeros(3))
        return np.asarray(rotation_matrix(np.array(body.orientation)) @ step)

    def add(self, parent: Element, body: Body, q: np.ndarray, u: np.ndarray, anchor: np.ndarray) -> None:
        """The joints of a body, with what acts in them; q, u of the body at the start, u in the child's frame.

        anchor (3,) [m] is the origin of the joint's frame in that of the element. ModelError for a motion that MuJoCo's
        joints do not have.
        """
        joint, self._anchor = body.joint, anchor
        if joint.is_weld:
            return
        if joint.facts.quaternion == 0:
            self._add(parent, "ball", body.joint_name or body.name, q, u, **self._passive(body))
        elif joint.span == "all":
            self._add_floating(parent, body, q, u)
        else:
            self._add_row(parent, body, _axes(body), q, u)

    def _add(self, parent: Element, joint_type: str, name: str, q: Any, u: Any, **attributes: Any) -> None:
        at = tuple(self._anchor) if joint_type != "free" and self._anchor.any() else None
        add_with(parent, "joint", name=name, type=joint_type, pos=at, **attributes)
        self.qpos += [float(x) for x in np.ravel(q)]
        self.qvel += [float(x) for x in np.ravel(u)]

    # ---- six ways to move ------------------------------------------------------------------------------------

    def _add_floating(self, parent: Element, body: Body, q: np.ndarray, u: np.ndarray) -> None:
        """A free joint on the ground itself, else three slides and a ball: MuJoCo's free joints leave the world."""
        name, passive = body.joint_name or body.name, self._passive(body)
        speed = rotation_matrix(q[3:]) @ u[:3]
        at_origin = not any(body.position) and tuple(body.orientation) == (1.0, 0.0, 0.0, 0.0)
        if body.parent == self.ground and at_origin:
            self._add(parent, "free", name, q, [*speed, *u[3:]], **passive)
            return
        for k, coordinate in enumerate(body.names_of_coordinates[:3]):
            axis = tuple(np.eye(3)[k])
            self._add(parent, "slide", coordinate, q[k], speed[k], axis=axis, limited=False, **passive)
            self.refs[coordinate] = 0.0
        self._add(parent, "ball", name, q[3:], u[3:], **passive)

    # ---- along axes ------------------------------------------------------------------------------------------

    def _add_row(self, parent: Element, body: Body, joint: CustomJoint, q: np.ndarray, u: np.ndarray) -> None:
        """Slides first, as they run along axes of the joint's frame, then hinges, each after the turns before it."""
        led: set[int] = set()
        if body.joint.kind == "euler" and (body.damping or body.stiffness):
            self.unwritten.count("springs and dampers of Euler joints", body.name)
        rows = [("slide", axis) for axis in joint.translations if axis.coordinate is not None]
        rows += [("hinge", axis) for axis in self._turns(joint, f"body {body.name!r}")]
        for number, (joint_type, axis) in enumerate(rows, start=1):
            if isinstance(axis.function, MultivariatePolynomial):
                raise ModelError(
                    "an axis that depends on several coordinates has no equal in MuJoCo, whose equality constraints "
                    "take one joint",
                    element=f"body {body.name!r}",
                )
            (i,) = axis.coordinates
            name, straight = joint.coordinates[i], _straight(axis.function)
            if straight is not None and i not in led:
                led.add(i)
                sign, ref = straight
                self.refs[name] = ref
                given = self._passive(body, i) | {"axis": _times(sign, axis), "ref": ref or None, "limited": False}
                known = self.coordinates.get(name)
                self._add(parent, joint_type, name, q[i], u[i], range=known.range if known else None, **given)
            else:
                follower = f"{body.name}_{name}_{number}"
                self._follow(follower, name, axis.function)
                value, slope = axis.function.value(q[i]), axis.function.slope(q[i]) * u[i]
                self._add(parent, joint_type, follower, value, slope, axis=axis.direction, limited=False)
        used = {i for _, axis in rows for i in axis.coordinates}
        for i, name in enumerate(joint.coordinates):
            if i not in used:
                self.unwritten.count("coordinates that move nothing", name)

    def _follow(self, name: str, driver: str, function: AxisFunction) -> None:
        self.refs[name] = 0.0
        self.followers.append(Follower(name, driver, (Multiplier(function),)))

    def driven(self) -> list[Follower]:
        """Followers and the joints that drive them, couplers included. A coordinate that moves no axis itself is no
        joint; the coordinate that its coupler makes it depend on replaces it. ModelError if there is none."""
        found = [self._through(follower) for follower in self.followers]
        for coupler in self.coupled.values():
            if coupler.dependent in self.refs:
                step = Multiplier(coupler.function, coupler.scale)
                found.append(self._through(Follower(coupler.dependent, coupler.independent, (step,))))
            elif coupler.dependent not in self._passed:
                self.unwritten.count("couplers of angles that a quaternion has replaced, left free", coupler.name)
        return found

    def _through(self, follower: Follower) -> Follower:
        here: set[str] = set()
        while follower.driver not in self.refs:
            coupler = self.coupled.get(follower.driver)
            if coupler is None or coupler.dependent in here:
                raise ModelError(
                    "MuJoCo's joints are their own coordinates, but this one is no angle or length of a joint. A "
                    "quaternion has replaced it, or only functions of it move its body",
                    element=f"coordinate {follower.driver!r}",
                )
            here.add(coupler.dependent)
            self._passed.add(coupler.dependent)
            step = Multiplier(coupler.function, coupler.scale)
            follower = Follower(follower.name, coupler.independent, (step, *follower.functions))
        return follower

    def _turns(self, joint: CustomJoint, element: str) -> list[Axis]:
        turns = []
        for axis in joint.rotations:
            if axis.coordinate is not None:
                turns.append(axis)
            elif axis.function.value(np.zeros(())):
                raise ModelError("a constant turn in a joint has no equal in MuJoCo", element=element)
        return turns

    # ---- what acts in a joint --------------------------------------------------------------------------------

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


def _times(sign: float, axis: Axis) -> tuple[float, ...]:
    return tuple(sign * x + 0.0 for x in axis.direction)


# ---- What paths and markers need on a body: sites, and the surfaces that tendons wrap around ----------------------


SITE_RADIUS_M = 0.005  # [m] radius in pictures
ENDLESS_HALF_LENGTH_M = 1.0  # [m] half the length in pictures of a cylinder without ends
SIDE_SITE_RADII = 3.0  # radii from the axis at which the site lies that tells a tendon its side


def why_no_tendon(muscle: Muscle) -> str | None:
    """Why MuJoCo has no tendon through the points of this path; None if it has."""
    if any(type(point) is not PathPoint for point in muscle.path.points):
        return "on moving or conditional points"
    if any(wrap.shape not in ("sphere", "cylinder") for wrap in muscle.path.wraps):
        return "around ellipsoids or tori"
    if any(len(acting) > 1 for acting in muscle.path.acting):
        return "around several surfaces at once"
    return None


class Sites:
    """Sites and surfaces by body, named after the first muscle on each path and markers."""

    def __init__(self, muscles: Sequence[Muscle], markers: Sequence[Marker], unwritten: UnwrittenParts) -> None:
        self._bodies: dict[str, list[tuple[str, dict[str, Any]]]] = {}
        self._surfaces: dict[Wrap, str] = {}
        self._sides: dict[Wrap, str] = {}
        self._paths: dict[MusclePath, str] = {}
        for muscle in muscles:
            if muscle.path in self._paths:
                continue
            self._paths[muscle.path] = muscle.name
            for k, point in enumerate(muscle.path.points):
                self._put(point.body, "site", name=self.of(muscle.path, k), pos=point.position, size=SITE_RADIUS_M)
            for k, wrap in enumerate(muscle.path.wraps, start=1):
                self._add_surface(wrap.surface, f"{muscle.name}-W{k}", unwritten)
        self._named = {(marker.body, tuple(marker.position)): marker.name for marker in markers}
        for marker in markers:
            self._put(marker.body, "site", name=marker.name, pos=marker.position, size=SITE_RADIUS_M)

    def of_actuator(self, actuator: PointActuator | TorqueActuator) -> str:
        """The site at which an actuator acts: that of a marker, or one of its own, which `add` then writes."""
        point = isinstance(actuator, PointActuator)
        body, place = (actuator.body, actuator.point) if point else (actuator.first, (0.0, 0.0, 0.0))  # type: ignore[union-attr]
        key = body, tuple(place)
        if key not in self._named:
            self._named[key] = f"{actuator.name}-site"
            self._put(body, "site", name=self._named[key], pos=place, size=SITE_RADIUS_M)
        return self._named[key]

    def of_constraint(self, loop: PointLoop | Weld, number: int) -> tuple[str, str]:
        """The sites on both bodies that a constraint holds together."""
        names = []
        for k, end in enumerate(("first", "second"), start=1):
            names.append(f"{loop.name or f'loop_{number}'}-site{k}")
            angles = getattr(loop, f"{end}_angles", (0.0, 0.0, 0.0))
            Q = tuple(map(float, quaternion_from_euler(np.array(angles), "XYZ"))) if any(angles) else None
            place = getattr(loop, f"{end}_point")
            self._put(getattr(loop, end), "site", name=names[-1], pos=place, quat=Q, size=SITE_RADIUS_M)
        return names[0], names[1]

    def of(self, path: MusclePath, k: int) -> str:
        """The site of point k of a path."""
        return f"{self._paths[path]}-P{k + 1}"

    def surface(self, wrap: Wrap) -> tuple[str, str | None]:
        """The geom of a surface, and the site that tells the side."""
        return self._surfaces[wrap.surface], self._sides.get(wrap.surface)

    def on(self, body: str) -> bool:
        """Whether a body has any."""
        return body in self._bodies

    def add(self, parent: Element, body: str) -> None:
        """What a body has."""
        for tag, attributes in self._bodies.get(body, ()):
            add_with(parent, tag, **attributes)

    def _put(self, body: str, tag: str, **attributes: Any) -> None:
        self._bodies.setdefault(body, []).append((tag, attributes))

    def _add_surface(self, wrap: Any, name: str, unwritten: UnwrittenParts) -> None:
        if wrap in self._surfaces:
            return
        self._surfaces[wrap] = name
        sizes: tuple[float, ...] = (wrap.radius,)
        if wrap.shape == "cylinder":
            sizes += (wrap.length / 2 if np.isfinite(wrap.length) else ENDLESS_HALF_LENGTH_M,)
            if np.isfinite(wrap.length):
                unwritten.count("ends of wrapping cylinders, which have none in MuJoCo", wrap.name or name)
        if wrap.shape == "cylinder" and wrap.rule == "shortest" and wrap.quadrant != "all":
            rule = "sides of cylinders by the rule of WrapCylinder, where MuJoCo has that of SideCylinder"
            unwritten.count(rule, wrap.name or name)
        elif wrap.rule == "mujoco3" and wrap.quadrant != "all":
            unwritten.count("sides of surfaces by the rule of MuJoCo 3", wrap.name or name)
        self._put(wrap.body, "geom", name=name, type=wrap.shape, size=sizes, pos=wrap.position, quat=wrap.orientation,
                  contype="0", conaffinity="0", mass="0", group="3")  # fmt: skip
        side = np.zeros(3) if wrap.holds_inside else wrap.ahead
        if wrap.hint is not None:
            unwritten.count("hints of wrapping surfaces, written as sides", wrap.name or name)
            side = np.array(wrap.hint) * wrap.across
            side = side / np.linalg.norm(side)
        if side is not None:
            self._sides[wrap] = f"{name}-side"
            place = np.array(wrap.in_body(SIDE_SITE_RADII * wrap.radius * side), dtype=float)
            self._put(wrap.body, "site", name=self._sides[wrap], pos=tuple(place), size=SITE_RADIUS_M)


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
        self._named: set[str] = set()  # shapes
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
        chain = self._carried(body)
        steps = np.array([member.position for member in chain[1:]]).reshape(-1, 3)
        anchors = [-steps[k:].sum(axis=0) for k in range(len(chain))]
        place = np.array(body.position) + self._joints.offset(body)
        place = place - rotation_matrix(np.array(body.orientation)) @ anchors[0]
        element = add_with(parent, "body", name=chain[-1].name, pos=tuple(place), quat=body.orientation)
        (q, u), body = self._start, chain[-1]
        for member, anchor in zip(chain, anchors, strict=True):
            i = self._indices[member.name]
            self._joints.add(element, member, q[self._system.q_slices[i]], u[self._system.u_slices[i]], anchor)
        if any(member.joint.nu for member in chain):
            self._check_mass(body)
        if body.mass:
            _add_inertial(element, body)
        for shape in body.shapes:
            self._add_shape(element, body.name, shape)
        self._sites.add(element, body.name)
        self._add_children(element, body.name)

    def _carried(self, body: Body) -> list[Body]:
        """The bodies that are one body in MuJoCo: massless ones without parts that each carry the next unturned, such
        as those that the reader hangs a body on whose joints are several here."""
        children = [other for other in self._system.bodies if other.parent == body.name]
        if body.mass or body.shapes or self._sites.on(body.name) or len(children) != 1:
            return [body]
        (child,) = children
        unturned = tuple(child.orientation) == (1.0, 0.0, 0.0, 0.0)
        moves = body.joint.span != "all" and not self._joints.offset(child).any()
        return [body, *self._carried(child)] if body.joint.nu and unturned and moves else [body]

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
        sizes = tuple(x / 2 if half else x for x, half in zip(shape.sizes, HALVED[shape.kind], strict=True))
        # MuJoCo refuses geoms of one name, also on different bodies
        name = shape.name and free_name(shape.name, self._named)
        self._named.add(name)
        add_with(parent, "geom", name=name or None, type=shape.kind, size=sizes, pos=shape.position,
            quat=shape.orientation, rgba=shape.color, **visual)  # fmt: skip


def _add_inertial(parent: Element, body: Body) -> None:
    """Mass and inertia; ModelError for one that no rigid body has. MuJoCo takes a vanishing moment only on axes."""
    check_inertia(body)
    given: dict[str, Any] = {"fullinertia": body.inertia}
    if principal_moments(body.inertia)[0] <= MIN_INERTIA:
        moments, axes = np.linalg.eigh(full(np.array(body.inertia)))
        axes = axes * np.array([1.0, 1.0, np.sign(np.linalg.det(axes))])
        given = {"diaginertia": tuple(np.maximum(moments, 0.0)), "quat": tuple(quaternion_from_matrix(axes))}
    add_with(parent, "inertial", pos=body.center_of_mass, mass=body.mass, **given)
