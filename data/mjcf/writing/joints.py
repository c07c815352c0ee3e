"""Our joints as MuJoCo's: balls, free joints, and rows of slides and hinges on one body."""

import math
from dataclasses import field
from typing import Any

import numpy as np

from myoquat.core.records import dataclass
from myoquat.data.mjcf.elements import add
from myoquat.data.reports import UnwrittenParts
from myoquat.data.xml import Element
from myoquat.joints.conversion.balls import as_axes
from myoquat.joints.errors import ModelError
from myoquat.joints.functions import AxisFunction, Multiplier, coefficients_of
from myoquat.joints.multibody.body import Body
from myoquat.joints.quaternion import rotation_matrix
from myoquat.joints.types import CustomJoint, EulerJoint, FixedJoint, FloatingJoint, SphericalJoint
from myoquat.joints.types.custom import Axis
from myoquat.muscle.coordinates import Coordinate, Coupler

__all__ = ["Follower", "Joints"]

UNIT_SLOPE_TOLERANCE = 1e-12  # by which a slope may miss 1


@dataclass(frozen=True)
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

    def offset(self, body: Body) -> np.ndarray:
        """(3,) [m] what constant slides add to the place of a joint, in the parent's frame."""
        if not isinstance(body.joint, CustomJoint):
            return np.zeros(3)
        still = [axis for axis in body.joint.translations if axis.coordinate is None]
        step = sum((np.array(a.direction) * a.function.value(np.zeros(())) for a in still), start=np.zeros(3))
        return np.asarray(rotation_matrix(np.array(body.orientation)) @ step)

    def add(self, parent: Element, body: Body, q: np.ndarray, u: np.ndarray) -> None:
        """The joints of a body, with what acts in them; q, u of the body at the start, u in the child's frame.

        ModelError for a motion that MuJoCo's joints do not have.
        """
        joint = body.joint
        if isinstance(joint, FixedJoint):
            return
        if isinstance(joint, SphericalJoint):
            self._add(parent, "ball", body.joint_name or body.name, q, u, **self._passive(body))
        elif isinstance(joint, FloatingJoint):
            self._add_floating(parent, body, q, u)
        else:
            self._add_row(parent, body, _axes(body), q, u)

    def _add(self, parent: Element, joint_type: str, name: str, q: Any, u: Any, **attributes: Any) -> None:
        add(parent, "joint", name=name, type=joint_type, **attributes)
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
        if isinstance(body.joint, EulerJoint) and (body.damping or body.stiffness):
            self.unwritten.count("springs and dampers of Euler joints", body.name)
        rows = [("slide", axis) for axis in joint.translations if axis.coordinate is not None]
        rows += [("hinge", axis) for axis in self._turns(joint, f"body {body.name!r}")]
        for number, (joint_type, axis) in enumerate(rows, start=1):
            i = axis.coordinate or 0
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
        used = {axis.coordinate for _, axis in rows}
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
        if isinstance(body.joint, EulerJoint):
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
