"""From the model to the file."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree
from numpy.polynomial import Polynomial

from myoquat.core import Array
from myoquat.data.files import check_output, write_text
from myoquat.data.mjcf.reading.bodies import SLIP_SPEEDS
from myoquat.data.mjcf.reading.softness import SOLIMP, Softness
from myoquat.data.mjcf.reading.tendons import SLIP_SPEED, Combination, on_offset_path
from myoquat.data.mjcf.written_bodies import Bodies, Joints, Sites, why_no_tendon
from myoquat.data.reports import UnwrittenParts
from myoquat.data.xml import Element, add_with, document_text, written
from myoquat.joints import ArticulatedSystem, ModelError, convert_velocities
from myoquat.joints.constraints import PointLoop, PolynomialCoupler, Weld
from myoquat.joints.functions import AxisFunction, coefficients_of
from myoquat.joints.multibody.system import Poses
from myoquat.joints.types import SphericalJoint
from myoquat.joints.vectors import congruent, cross, matvec
from myoquat.muscle import ActivationDynamics, CoordinateLimit, LengthPoint, Model, Muscle, MusclePath, path_jacobian
from myoquat.muscle.actuators import (
    ActivationCoordinateActuator,
    Actuator,
    CoordinateActuator,
    IntegratingCoordinateActuator,
    PointActuator,
    TorqueActuator,
)
from myoquat.muscle.coordinates import Coordinate
from myoquat.muscle.forces import CoordinateFriction, CoordinateSpring, GravityCompensation, PassiveForce, RotationLimit
from myoquat.muscle.laws import (
    AffinePath,
    ForceLaw,
    MujocoMuscle,
    PathActuator,
    PathFriction,
    PathLimit,
    PathSpring,
    SlackSpring,
)
from myoquat.muscle.laws.path_affine import ClippedForce

__all__ = ["write_model"]


def write_model(model: Model, path: str | Path, strict: bool = False, overwrite: bool = False) -> None:
    """Write a model as a MuJoCo file.

    Raises FileExistsError for an existing file unless `overwrite` is True; if writing fails it is left as it was.

    Ball joints stay quaternions. A floating body on the ground itself becomes a free joint, whose linear velocity is
    that of the world. Other joints are rows of slides and hinges named after the coordinates, in the order in which
    they move the body. This order may differ from the model's; the joints' names show it. Paths are spatial tendons;
    the start is the keyframe "start". An axis that a coordinate moves by a function has a joint of its own, held by an
    equality constraint. It is exact where the function is a polynomial of degree four at most, else fitted to it over
    the coordinate's range.

    One UnwrittenWarning reports what MuJoCo cannot represent, or ModelError if `strict`:

    - laws of muscles that MuJoCo has not, and activation dynamics other than MuJoCo's
    - actuators of several coordinates or bodies; those of coordinates, points and axes of a body are written
    - muscles on moving or conditional points, or around other surfaces than a sphere or a cylinder at a time
    - ends of cylinders, and fitted functions
    - the side of a `WrapCylinder`: in MuJoCo a path with both ends behind that clears the cylinder runs straight
    - limits with another stiffness at each end, or of coordinates that are no joints
    - springs of Euler joints, and couplers of angles that a quaternion has replaced
    - meshes

    Limits become soft constraints with the resting stiffness of the model's. Ranges without one are written as such
    and not enforced. A locked coordinate is held by an equality constraint. Raises ModelError for joints and inertias
    that MuJoCo refuses, and for constraints other than couplers, points that coincide and welds. So do passive forces
    other than limits of ball joints, dry friction, gravity compensation, and springs of actuators.
    """
    path, unwritten = check_output(path, overwrite), UnwrittenParts()
    root = etree.Element("mujoco", model=model.name)
    _add_model(root, model, unwritten)
    unwritten.report(path, strict)
    write_text(path, document_text(root))


def _add_model(root: Element, model: Model, unwritten: UnwrittenParts) -> None:
    system, coordinates = model.system, {c.name: c for c in model.coordinates}
    biases, frictions = _forces(model)
    carried: dict[str, float] = {}
    for force in model.forces:
        if isinstance(force, GravityCompensation):
            carried[force.body] = carried.get(force.body, 0.0) + force.fraction
    held: dict[str, float] = {}
    loops: list[PointLoop | Weld] = []
    for constraint in model.constraints:
        if isinstance(constraint, Weld) or (isinstance(constraint, PointLoop) and constraint.axes == "xyz"):
            loops.append(constraint)
        elif isinstance(constraint, PolynomialCoupler) and not np.any(constraint.powers):
            held[constraint.dependent] = constraint.scale * sum(constraint.coefficients)
        else:
            raise ModelError("MuJoCo's files have no constraint of this type", element=constraint.label)
    unwritten.count_parts({"inputs over time": model.inputs, "groups of muscles": model.groups})
    add_with(root, "compiler", angle="radian", autolimits=False, inertiafromgeom="false", balanceinertia=False)
    add_with(root, "option", gravity=system.gravity)
    fixed = {muscle.name for muscle in model.muscles if combination_of(muscle) is not None}
    spatial = [m for m in model.muscles if m.name not in fixed and _has_tendon(m, unwritten)]
    u = np.zeros(system.nu) if model.start_u is None else np.array(model.start_u)
    u = convert_velocities(system, replace(system, velocity_frame="child"), model.start, u)
    coupled = {coupler.dependent: coupler for coupler in model.couplers}
    joints, sites = Joints(unwritten, system.ground, coordinates, coupled), Sites(spatial, model.markers, unwritten)
    driven = [actuator for actuator in model.actuators if _is_written(actuator, system)]
    for actuator in driven:
        if isinstance(actuator, (PointActuator, TorqueActuator)):
            sites.of_actuator(actuator)
    ends = [sites.of_constraint(loop, number) for number, loop in enumerate(loops, start=1)]
    Bodies(system, (model.start, u), joints, sites, unwritten).add(add_with(root, "worldbody"))
    for element in root.iter("body"):
        if fraction := carried.get(str(element.get("name"))):
            element.set("gravcomp", written(fraction))
    kept = {muscle.name for muscle in spatial}
    for muscle in model.muscles:
        combination = combination_of(muscle)
        if combination is not None and set(combination[0]) <= set(joints.refs):
            kept.add(muscle.name)
        elif combination is not None:
            unwritten.count("muscles along functions of coordinates that are no joints, left out", muscle.name)
    actuators = Actuators(root, unwritten)
    mobilities, written_paths = Mobilities(system, joints.refs), [m for m in model.muscles if m.name in kept]
    add_tendons(root, written_paths, sites, actuators, mobilities.of_muscle, unwritten)
    for actuator in model.actuators:
        if actuator in driven and getattr(actuator, "coordinate", None) in (None, *joints.refs):
            actuators.add_actuator(actuator, biases.get(actuator.name), sites)
        else:
            unwritten.count("actuators", actuator.name)
    _add_friction(root, frictions, joints, unwritten)
    start = dict(zip(system.coordinate_names, map(float, model.start), strict=True))
    held |= {name: start[name] for name, c in coordinates.items() if c.locked and name in start}
    add_equalities(root, joints, coordinates, held, unwritten)
    holder = add_with(root, "equality") if loops else root
    for loop, (first, second) in zip(loops, ends, strict=True):
        tag = "weld" if isinstance(loop, Weld) else "connect"
        add_with(holder, tag, name=loop.name or None, site1=first, site2=second)
    add_limits(root, model, joints, mobilities, unwritten)
    if joints.qpos:
        ctrl, act = tuple(actuators.ctrl) or None, tuple(actuators.act) or None
        keyframe = add_with(root, "keyframe")
        add_with(keyframe, "key", name="start", qpos=tuple(joints.qpos), qvel=tuple(joints.qvel), ctrl=ctrl, act=act)


def _forces(model: Model) -> tuple[dict[str, CoordinateSpring], list[CoordinateFriction]]:
    """The springs that belong to actuators, by the names of these, and the dry friction of coordinates. ModelError for
    a force that MuJoCo's files have not, because the model would move otherwise."""
    drives = {f"{a.name}_bias": a for a in model.actuators if isinstance(a, CoordinateActuator)}
    biases: dict[str, CoordinateSpring] = {}
    frictions = []
    for force in model.forces:
        drive = drives.get(force.name)
        if isinstance(force, CoordinateFriction):
            frictions.append(force)
        elif isinstance(force, CoordinateSpring) and drive is not None and drive.coordinate == force.coordinate:
            biases[drive.name] = force
        elif not isinstance(force, GravityCompensation) and not _is_ball_limit(force, model.system):
            raise ModelError("passive forces are not written to MuJoCo's files", element=force.element)
    return biases, frictions


def _is_ball_limit(force: PassiveForce, system: ArticulatedSystem) -> bool:
    if not isinstance(force, RotationLimit):
        return False
    return isinstance(system.bodies[system.indices.body(force.body)].joint, SphericalJoint)


def _is_written(actuator: Actuator, system: ArticulatedSystem) -> bool:
    """Whether MuJoCo has such an actuator of a joint or a site."""
    if isinstance(actuator, TorqueActuator):
        return actuator.second == system.ground and not actuator.in_world
    if isinstance(actuator, PointActuator):
        return not actuator.point_in_world and not actuator.direction_in_world
    return type(actuator) in (CoordinateActuator, ActivationCoordinateActuator, IntegratingCoordinateActuator)


def _add_friction(
    root: Element, frictions: list[CoordinateFriction], joints: Joints, unwritten: UnwrittenParts
) -> None:
    elements = {str(element.get("name")): element for element in root.iter("joint")}
    for force in frictions:
        joint = elements.get(force.coordinate) if force.coordinate in joints.refs else None
        if joint is None or joint.get("frictionloss"):
            raise ModelError("MuJoCo's files have one dry friction of a hinge or a slide", element=force.element)
        joint.set("frictionloss", written(force.friction))
        if force.slip_speed != SLIP_SPEEDS[str(joint.get("type"))]:
            unwritten.count("speeds of slip, which MuJoCo's dry friction has not", force.name)


def _has_tendon(muscle: Muscle, unwritten: UnwrittenParts) -> bool:
    reason = why_no_tendon(muscle)
    if reason is not None:
        unwritten.count(f"muscles {reason}, left out", muscle.name)
    return reason is None


# --------------------------------------------------------------------------------------------------------------
#
# Limits of coordinates and ball joints as limits of MuJoCo's joints, with `solref` for their stiffness and damping.


MARGIN_TOLERANCE = 1e-12  # [rad or m] by which the two ends of a range may be narrowed differently


def add_limits(
    root: Element, model: Model, joints: Joints, mobilities: "Mobilities", unwritten: UnwrittenParts
) -> None:
    """Give the joints in the file the limits of the model. Those of coordinates that are no joints, or with another
    stiffness at each end, are noted."""
    elements = {str(element.get("name")): element for element in root.iter("joint")}
    taken = set[str]()
    for limit in model.limits:
        name = limit.coordinate
        if name not in joints.refs or name in taken or limit.lower_stiffness != limit.upper_stiffness:
            unwritten.count("limits of coordinates", limit.name)
            continue
        taken.add(name)
        known = joints.coordinates.get(name)
        ends, margin = _range(limit, known.range if known else None)
        softness = limit.upper_stiffness, limit.damping, limit.transition
        _set(elements[name], ends, margin, soft_limit(softness, mobilities.of_coordinate(name)))
    bodies = {body.name: body for body in model.system.bodies}
    for force in model.forces:
        if isinstance(force, RotationLimit):
            body = bodies[force.body]
            softness = force.stiffness, force.damping, force.transition
            _set(elements[body.joint_name or body.name], (0.0, force.upper), 0.0,
                 soft_limit(softness, mobilities.of_rotation(force.body)))  # fmt: skip


class Mobilities:
    """J M^-1 J^T of coordinates and paths: how easily they move, MuJoCo's `invweight0`.

    The pose is that of the file, in which hinges and slides are at their `ref`.
    """

    def __init__(self, system: ArticulatedSystem, refs: dict[str, float]) -> None:
        self.system, self._q = system, np.array(system.neutral(), dtype=float)
        for name, ref in refs.items():
            if name in system.coordinate_names:
                self._q[system.coordinate_names.index(name)] = ref

    @cached_property
    def _poses(self) -> Poses:
        return self.system.poses(self._q)

    @cached_property
    def _shifts(self) -> Poses:
        system = self.system
        return system.shifts(self._q, np.eye(system.nu), self._poses, system.ground)

    @cached_property
    def _inverse(self) -> Array:
        """(nu, nu) M^-1, the pseudo-inverse where bodies without mass make M singular."""
        return np.linalg.pinv(self._mass_matrix(), hermitian=True)

    def _mass_matrix(self) -> Array:
        """(nu, nu): twice the kinetic energy of unit speeds."""
        system = self.system
        M = np.diag(np.concatenate([np.full(body.joint.nu, body.rotor_inertia) for body in system.bodies]))
        for body in system.bodies:
            R, _ = self._poses[body.name]
            omega, v = self._shifts[body.name]
            center = v + cross(omega, matvec(R, np.array(body.center_of_mass)))
            xx, yy, zz, xy, xz, yz = congruent(R, np.array(body.inertia))
            tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            omega, center = (np.broadcast_to(x, (system.nu, 3)) for x in (omega, center))
            M += body.mass * center @ center.T + omega @ tensor @ omega.T
        return M

    def of_coordinate(self, name: str) -> float:
        """[1/kg or 1/(kg m^2)] of a hinge or a slide."""
        row = self.system.rate_matrix(self._q)[self.system.coordinate_names.index(name)]
        return float(row @ self._inverse @ row)

    def of_rotation(self, name: str) -> float:
        """[1/(kg m^2)] the mean over the axes of a body's ball joint."""
        end = self.system.u_slices[self.system.indices.body(name)].stop
        return float(np.mean([self._inverse[k, k] for k in range(end - 3, end)]))  # turns come last

    def of_muscle(self, muscle: Muscle) -> float:
        """[1/kg] of the length of a path."""
        model = Model(self.system, (muscle,))
        row = path_jacobian(model, self._q, backend="numpy")[0]
        return float(row @ self._inverse @ row)


def _range(limit: CoordinateLimit, known: tuple[float, float] | None) -> tuple[tuple[float, float], float]:
    """The range of a joint and the margin at its ends: that of the coordinate, if the limit narrows both ends alike."""
    if known is not None:
        first, second = limit.lower - known[0], known[1] - limit.upper
        if first >= 0 and math.isclose(first, second, rel_tol=0.0, abs_tol=MARGIN_TOLERANCE):
            return known, first
    return (limit.lower, limit.upper), 0.0


def soft_limit(softness: tuple[float, float, float], mobility: float) -> dict[str, Any]:
    """`solref` and `solimp` of a stiffness, a damping and an onset: `Softness.spring` the other way round."""
    stiffness, damping, onset = softness
    rest = 1.0 - Softness().impedance
    return {
        "solreflimit": (-stiffness * rest * mobility, -damping * math.sqrt(rest) * mobility),
        "solimplimit": (*SOLIMP[:2], onset),
    }


def _set(joint: Element, ends: tuple[float, float], margin: float, soft: dict[str, Any]) -> None:
    given = {"range": ends, "limited": True, **({"margin": margin} if margin else {}), **soft}
    for key, value in given.items():
        joint.set(key, written(value))


# --------------------------------------------------------------------------------------------------------------
#
# Joints that follow others: MuJoCo holds them by polynomials of degree four, to which other functions are fitted.


MAX_DEGREE = 4
DEFAULT_RANGE = (-np.pi / 2, np.pi / 2)  # of a coordinate without one
FIT_POINTS = 401
ROUND_OFF = 1e-13


def add_equalities(
    root: Element, joints: Joints, coordinates: dict[str, Coordinate], held: dict[str, float],
    unwritten: UnwrittenParts,
) -> None:  # fmt: skip
    """An <equality> for every axis that a coordinate moves by a function, every coupler, and every coordinate that is
    locked or held.

    These stay at the values `held`. The others satisfy
    y - y0 = sum of a_i (x - x0)^i, x0 and y0 the values that MuJoCo calls ref.
    """
    followers = joints.driven()
    for coordinate in coordinates.values():
        if coordinate.prescribed is not None:
            unwritten.count("coordinates prescribed over time", coordinate.name)
    driven = {follower.name for follower in followers}
    fixed = {name: x for name, x in held.items() if name in joints.refs and name not in driven}
    if not followers and not fixed:
        return
    holder = add_with(root, "equality")
    for follower in followers:
        known = coordinates.get(follower.driver)
        low, high = DEFAULT_RANGE if known is None or known.range is None else known.range
        polynomial, miss = _fitted(follower.functions, low, high)
        if miss:
            unwritten.count("functions, fitted by quartics", f"{follower.name} to {miss:.1e}")
        around = polynomial(Polynomial([joints.refs[follower.driver], 1.0])) - joints.refs[follower.name]
        given = np.zeros(MAX_DEGREE + 1)
        given[: len(around.coef)] = around.coef
        add_with(holder, "joint", joint1=follower.name, joint2=follower.driver, polycoef=tuple(given))
    for name, x in fixed.items():
        add_with(holder, "joint", joint1=name, polycoef=(x - joints.refs[name], 0.0, 0.0, 0.0, 0.0))


def _fitted(functions: Sequence[AxisFunction], low: float, high: float) -> tuple[Any, float]:
    """The polynomial, and by how much it misses within the range; zero for functions that make one."""
    exact = _composed([coefficients_of(function) for function in functions])
    if exact is not None and exact.degree() <= MAX_DEGREE:
        return exact, 0.0
    x = np.linspace(low, high, FIT_POINTS)
    y = x
    for function in functions:
        y = np.asarray(function.value(y), dtype=float)
    fitted = Polynomial.fit(x, y, MAX_DEGREE).convert()
    miss = float(np.abs(fitted(x) - y).max())
    return fitted, miss if miss > ROUND_OFF * max(1.0, np.abs(y).max()) else 0.0


def _composed(steps: Sequence[tuple[float, ...] | None]) -> Any:
    whole: Any = Polynomial([0.0, 1.0])
    for step in steps:
        if step is None:
            return None
        whole = Polynomial(step)(whole)
    return whole if isinstance(whole, Polynomial) else Polynomial([whole])


# --------------------------------------------------------------------------------------------------------------
#
# What pulls on tendons, drives joints and pushes at sites, as MuJoCo's actuators; mirrors `reading.actuators`.


SCALE = 200.0  # of a muscle, by which MuJoCo would choose its peak force; it has one


@dataclass
class Actuators:
    """The <actuator> section, made with its first member. ctrl, act: the controls, and the activations of those that
    have one, at the start."""

    root: Element
    unwritten: UnwrittenParts
    ctrl: list[float] = field(default_factory=list)
    act: list[float] = field(default_factory=list)
    _section: Element | None = None

    def _add(self, tag: str, name: str, **attributes: Any) -> None:
        if self._section is None:
            self._section = add_with(self.root, "actuator")
        add_with(self._section, tag, name=name, **attributes)

    def add_muscle(self, muscle: Muscle, law: Mapping[str, Any], tendon: str) -> None:
        """The actuator of a muscle on a tendon."""
        dynamics, control = self._dynamics(muscle)
        tag = "motor" if "gaintype" not in law and "dyntype" not in dynamics else "general"
        self._add(tag, muscle.name, tendon=tendon, **law, **dynamics, ctrllimited=True, ctrlrange=control)
        start = muscle.activation or 0.0
        self.ctrl.append(0.0 if "dyntype" in dynamics else start)
        if "dyntype" in dynamics:
            self.act.append(start)

    def _dynamics(self, muscle: Muscle) -> tuple[dict[str, Any], tuple[float, float]]:
        """How the activation follows the control, and the range of that."""
        dynamics = muscle.activation_dynamics
        found = None if dynamics is None else _activation(dynamics)
        if dynamics is not None and found is None:
            self.unwritten.count("activation dynamics of actuators", muscle.name)
        if dynamics is not None and dynamics.form == "integral":
            return found or {}, (-1.0 / dynamics.deactivation_time, 1.0 / dynamics.activation_time)
        return found or {}, (0.0, 1.0)

    def add_actuator(self, actuator: Actuator, spring: CoordinateSpring | None, sites: Sites) -> None:
        """An actuator of a joint, with the spring that belongs to it, or of a site."""
        if isinstance(actuator, (PointActuator, TorqueActuator)):
            push = np.array(actuator.direction if isinstance(actuator, PointActuator) else actuator.axis)
            gear = actuator.optimal_force * push / np.linalg.norm(push)
            row = (*gear, 0.0, 0.0, 0.0) if isinstance(actuator, PointActuator) else (0.0, 0.0, 0.0, *gear)
            attributes: dict[str, Any] = {"site": sites.of_actuator(actuator), "gear": tuple(map(float, row))}
        else:
            assert isinstance(actuator, CoordinateActuator)
            attributes = {"joint": actuator.coordinate, "gainprm": (actuator.optimal_force, 0.0, 0.0)}
            if spring is not None:
                k, c = spring.stiffness, spring.damping
                attributes |= {"biastype": "affine", "biasprm": (k * spring.rest, -k, -c)}
            attributes |= _delayed(actuator)
        assert isinstance(actuator, (CoordinateActuator, PointActuator, TorqueActuator))
        bounds = actuator.lower, actuator.upper
        if all(map(math.isfinite, bounds)):
            attributes |= {"ctrllimited": True, "ctrlrange": bounds}
        elif any(map(math.isfinite, bounds)):
            self.unwritten.count("controls that are bounded on one side", actuator.name)
        self._add("general", actuator.name, **attributes)
        self.ctrl.append(0.0)
        if "dyntype" in attributes:
            self.act.append(actuator.activation)  # type: ignore[union-attr]


def law_of(law: ForceLaw | None) -> dict[str, Any] | None:
    """The gain and the bias of a law of a tendon's length, whose activation is the control; None for another law."""
    found: dict[str, Any]
    if isinstance(law, PathActuator):
        return {"gear": -law.max_isometric_force}
    if isinstance(law, AffinePath):
        gain, bias = ([f"{word}_{k}" for k in range(3)] for word in ("gain", "bias"))
        found = {
            "gaintype": "affine", "gainprm": tuple(0.0 - getattr(law, key) for key in gain),
            "biastype": "affine", "biasprm": tuple(0.0 - getattr(law, key) for key in bias),
        }  # fmt: skip
    elif isinstance(law, MujocoMuscle):
        low, high = law.lowest, law.highest
        others = law.active_from, law.active_to, law.max_speed, law.passive_force, law.eccentric_force
        start = law.passive_offset + low * law.passive_scale
        passive = start, start + law.passive_scale * (high - low)
        sign = -1.0 if law.max_isometric_force < 0 else 1.0  # of the gear
        found = {
            "gaintype": "muscle", "gainprm": (low, high, sign * law.max_isometric_force, SCALE, *others),
            "biastype": "muscle", "biasprm": (*passive, sign * law.max_isometric_force, SCALE, *others),
            "lengthrange": (sign * law.shortest_length, sign * law.longest_length),
        } | ({} if sign > 0 else {"gear": sign})  # fmt: skip
    else:
        return None
    if isinstance(law, ClippedForce):  # MuJoCo's force pushes where ours pulls, unless the gear is negative
        ends = (0.0 - law.greatest_force, 0.0 - law.least_force)
        found |= {"forcelimited": True, "forcerange": (-ends[1], -ends[0]) if "gear" in found else ends}
    return found


def _activation(dynamics: ActivationDynamics) -> dict[str, Any] | None:
    rise, fall = dynamics.activation_time, dynamics.deactivation_time
    if dynamics.minimum_activation:
        return None
    if dynamics.form in ("quintic", "piecewise"):
        smooth = dynamics.smoothing if dynamics.form == "quintic" else 0.0
        return {"dyntype": "muscle", "dynprm": (rise, fall, smooth)}
    if dynamics.form == "linear" and rise == fall:
        return {"dyntype": "filter", "dynprm": rise}
    if dynamics.form == "integral":
        return {"dyntype": "integrator", "dynprm": 1.0, "actlimited": True, "actrange": (0.0, 1.0)}
    return None


def _delayed(actuator: CoordinateActuator) -> dict[str, Any]:
    if isinstance(actuator, ActivationCoordinateActuator):
        return {"dyntype": "filter", "dynprm": actuator.activation_time}
    if isinstance(actuator, IntegratingCoordinateActuator):
        limits = actuator.activation_bounds
        limited = {"actlimited": True, "actrange": limits} if all(map(math.isfinite, limits)) else {}
        return {"dyntype": "integrator", "dynprm": 1.0, **limited}
    return {}


# ---- Paths as tendons, and the force laws that MuJoCo has for them ------------------------------------------------


def combination_of(muscle: Muscle) -> tuple[Combination, float] | None:
    """The coefficients by coordinate and the offset of a path whose length is linear in coordinates; None for another
    path."""
    end = muscle.path.points[-1]
    if len(muscle.path.points) != 2 or not isinstance(end, LengthPoint) or end.length.order != 1:
        return None
    offset, *coefficients = end.length.coefficients
    return dict(zip(end.coordinates, reversed(coefficients), strict=True)), offset


RANKS = ("springlength", "frictionloss", "range")  # of a tendon, in the order in which they are read after actuators


def add_tendons(
    root: Element, muscles: Sequence[Muscle], sites: Sites, actuators: Actuators, mobility: Callable[[Muscle], float],
    unwritten: UnwrittenParts,
) -> None:  # fmt: skip
    """A <spatial> or <fixed> tendon for every path, with the actuators, spring, friction and limit along it.

    A muscle joins the tendon of an earlier one where it gets its name back from there; else it has a tendon of its own.
    Other laws are noted: their tendons pull nothing. mobility: J M^-1 J^T of a path in the pose of the file."""
    if not muscles:
        return
    holder = add_with(root, "tendon")
    tendons: dict[MusclePath, tuple[Element, int, int]] = {}  # how many forces each has, and the rank of the last
    for muscle in muscles:
        combination, law = combination_of(muscle), muscle.law
        if combination is not None and law is not None:
            law = on_offset_path(law, -combination[1])
        passive = {key: value for key, value in _passive(law, muscle, mobility, unwritten).items() if value is not None}
        driven = law_of(law)
        rank = len(RANKS) if not (driven or passive) else next((k for k, x in enumerate(RANKS, 1) if x in passive), 0)
        tendon, count, last = tendons.get(muscle.path, (None, 0, 0))
        joins = tendon is not None and muscle.name == f"{tendon.get('name')}_{count + 1}"
        if tendon is None or not joins or not (rank > last or rank == last == 0):
            tendon, count = _add_tendon(holder, muscle, combination, sites), 0
        tendons[muscle.path] = tendon, count + 1, rank
        for key, value in passive.items():
            tendon.set(key, written(value))
        if driven is not None:
            actuators.add_muscle(muscle, driven, str(tendon.get("name")))
        elif not passive:
            law_name = "without a law" if law is None else f"with law {law.kind!r}"
            unwritten.count(f"muscles {law_name}, whose tendons pull nothing", muscle.name)


def _add_tendon(
    holder: Element, muscle: Muscle, combination: tuple[Combination, float] | None, sites: Sites
) -> Element:
    if combination is not None:
        fixed = add_with(holder, "fixed", name=muscle.name)
        for name, coefficient in combination[0].items():
            add_with(fixed, "joint", joint=name, coef=coefficient)
        return fixed
    path, tendon = muscle.path, add_with(holder, "spatial", name=muscle.name)
    divisors = {pulley.point: pulley.divisor for pulley in path.pulleys}
    for k in range(len(path.points)):
        if k in divisors:
            add_with(tendon, "pulley", divisor=divisors[k])
        for wrap in path.acting[k - 1] if k else ():
            geom, side = sites.surface(wrap)
            add_with(tendon, "geom", geom=geom, sidesite=side)
        add_with(tendon, "site", site=sites.of(path, k))
    return tendon


def _passive(
    law: ForceLaw | None, muscle: Muscle, mobility: Callable[[Muscle], float], unwritten: UnwrittenParts
) -> dict[str, Any]:
    """Attributes of a tendon that pulls by its length and speed."""
    if isinstance(law, PathLimit):
        softness, ends = (law.stiffness, law.damping, law.transition_length), (law.shortest_length, law.longest_length)
        return {"limited": True, "range": ends, **soft_limit(softness, mobility(muscle))}
    if isinstance(law, PathSpring) and not law.dissipation:
        return {"stiffness": law.stiffness, "springlength": (0.0, law.resting_length)}
    if isinstance(law, SlackSpring):
        ends = law.shortest_length, law.longest_length
        return {"stiffness": law.stiffness, "damping": law.damping or None, "springlength": ends}
    if isinstance(law, PathFriction):
        if law.slip_speed != SLIP_SPEED:
            unwritten.count("speeds of slip, which MuJoCo's dry friction has not", muscle.name)
        return {"frictionloss": law.friction}
    return {}
