"""From the model to the file."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from lxml import etree
from numpy.polynomial import Polynomial

from myoquat.core import Array
from myoquat.data.reports import UnwrittenParts
from myoquat.data.xml import Element, add_with, document_text, set_with, written
from myoquat.joints import ArticulatedSystem, ModelError, quaternion_from_euler
from myoquat.joints.constraints import PointLoop, PolynomialCoupler, Weld
from myoquat.joints.functions import AxisFunction, coefficients_of
from myoquat.joints.types import SphericalJoint
from myoquat.joints.vectors import congruent, cross, full, matvec
from myoquat.muscle import ActivationDynamics, LengthPoint, Model, Muscle, MusclePath, path_jacobian
from myoquat.muscle.actuators import (
    ActivationCoordinateActuator,
    Actuator,
    CoordinateActuator,
    IntegratingCoordinateActuator,
    PointActuator,
    TorqueActuator,
)
from myoquat.muscle.forces import CoordinateFriction, CoordinateSpring, GravityCompensation, RotationLimit
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
from myoquat.muscle.loads import named_bodies

from .reading.bodies import SLIP_SPEEDS
from .reading.softness import SOLIMP, Softness
from .reading.tendons import SLIP_SPEED, Combination, on_offset_path
from .written_bodies import Tree, why_no_tendon

NO_SLIP = "speeds of slip, which MuJoCo's dry friction has not"


def model_text(model: Model, unwritten: UnwrittenParts) -> str:
    """The text of a MuJoCo file of a model.

    Ball joints stay quaternions. A floating body on the ground itself becomes a free joint, whose linear velocity is
    that of the world. Other joints are rows of slides and hinges named after the coordinates, in the order in which
    they move the body. This order may differ from the model's; the joints' names show it. Paths are spatial tendons;
    the start is the keyframe "start". An axis that a coordinate moves by a function has a joint of its own, held by an
    equality constraint. It is exact where the function is a polynomial of degree four at most, else fitted to it over
    the coordinate's range.

    What MuJoCo cannot represent is noted:

    - laws of muscles that MuJoCo has not, and activation dynamics other than MuJoCo's
    - actuators of several coordinates or bodies; those of coordinates, points and axes of a body are written
    - muscles on moving or conditional points, or around other surfaces than a sphere or a cylinder at a time
    - ends of cylinders, and fitted functions
    - the side of a `WrapCylinder`: in MuJoCo a path with both ends behind that clears the cylinder runs straight
    - limits with another stiffness at each end, or of coordinates that are no joints
    - springs of Euler joints, and couplers of angles that a quaternion has replaced
    - bounds of controls and activations on one side alone
    - meshes

    Limits become soft constraints with the resting stiffness of the model's. Ranges without one are written as such
    and not enforced. A locked coordinate is held by an equality constraint. Raises ModelError for joints and inertias
    that MuJoCo refuses, and for constraints other than couplers, points that coincide and welds. So do passive forces
    other than limits of ball joints, dry friction, gravity compensation, and springs of actuators.
    """
    system = model.system
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
    pulling: list[tuple[Muscle, Offset | None]] = []
    for muscle in model.muscles:
        combination = combination_of(muscle)
        if combination is None and (reason := why_no_tendon(muscle)) is not None:
            unwritten.count(f"muscles {reason}, left out", muscle.name)
        else:
            pulling.append((muscle, combination))
    spatial = [muscle for muscle, combination in pulling if combination is None]
    driven = [actuator for actuator in model.actuators if _is_written(actuator, system)]
    root: Element = etree.Element("mujoco", model=model.name)
    add_with(root, "compiler", angle="radian", autolimits=False, inertiafromgeom="false", balanceinertia=False)
    add_with(root, "option", gravity=system.gravity)
    tree = Tree(root, model, named_bodies(spatial, (*model.markers, *driven, *loops)), unwritten)
    biases, mobilities, actuators = _add_forces(model, tree), Mobilities(system, tree.refs), Actuators(tree)
    add_tendons(pulling, tree, actuators, mobilities)
    for marker in model.markers:
        actuators.sites[marker.body, marker.position] = tree.add_site(marker.name, marker.body, marker.position)
    for actuator in model.actuators:
        if actuator in driven and getattr(actuator, "coordinate", None) in (None, *tree.refs):
            actuators.add_actuator(actuator, biases.get(actuator.name))
        else:
            unwritten.count("actuators", actuator.name)
    start, locked = dict(zip(system.coordinate_names, map(float, model.start), strict=True)), model.coordinates
    add_equalities(tree, held | {c.name: start[c.name] for c in locked if c.locked and c.name in start})
    for number, loop in enumerate(loops, start=1):
        tag, (first, second) = "weld" if isinstance(loop, Weld) else "connect", _ends(tree, loop, f"loop_{number}")
        add_with(tree.section("equality"), tag, name=loop.name or None, site1=first, site2=second)
    add_limits(model, tree, mobilities)
    qpos, qvel = tree.nest()
    if qpos:
        inputs = {"ctrl": actuators.ctrl or None, "act": actuators.act or None}
        add_with(tree.section("keyframe"), "key", name="start", qpos=qpos, qvel=qvel, **inputs)
    return document_text(root)


def _ends(tree: Tree, loop: PointLoop | Weld, name: str) -> list[str]:
    """The sites on both bodies that a constraint holds together."""
    names = []
    for k, end in enumerate(("first", "second"), start=1):
        angles = getattr(loop, f"{end}_angles", (0.0, 0.0, 0.0))
        Q = quaternion_from_euler(angles, "XYZ") if any(angles) else None
        site = f"{loop.name or name}-site{k}"
        names.append(tree.add_site(site, getattr(loop, end), getattr(loop, f"{end}_point"), Q))
    return names


def _is_written(actuator: Actuator, system: ArticulatedSystem) -> bool:
    """Whether MuJoCo has such an actuator of a joint or a site."""
    if isinstance(actuator, TorqueActuator):
        return actuator.second == system.ground and not actuator.in_world
    if isinstance(actuator, PointActuator):
        return not actuator.point_in_world and not actuator.direction_in_world
    return type(actuator) in (CoordinateActuator, ActivationCoordinateActuator, IntegratingCoordinateActuator)


def _add_forces(model: Model, tree: Tree) -> dict[str, CoordinateSpring]:
    """Dry friction of hinges and slides, and what carries the weight of bodies. Returns the springs that belong to
    actuators, by the names of these. ModelError for a force that MuJoCo's files have not, because the model would move
    otherwise."""
    drives = {f"{a.name}_bias": a for a in model.actuators if isinstance(a, CoordinateActuator)}
    balls = {body.name for body in model.system.bodies if isinstance(body.joint, SphericalJoint)}
    biases: dict[str, CoordinateSpring] = {}
    carried: dict[str, float] = {}
    for force in model.forces:
        drive = drives.get(force.name)
        if isinstance(force, CoordinateSpring) and drive is not None and drive.coordinate == force.coordinate:
            biases[drive.name] = force
        elif isinstance(force, GravityCompensation):
            carried[force.body] = carried.get(force.body, 0.0) + force.fraction
        elif isinstance(force, CoordinateFriction):
            joint = tree.joints[force.coordinate][0] if force.coordinate in tree.refs else None
            if joint is None or joint.get("frictionloss"):
                raise ModelError("MuJoCo's files have one dry friction of a hinge or a slide", element=force.element)
            joint.set("frictionloss", written(force.friction))
            if force.slip_speed != SLIP_SPEEDS[str(joint.get("type"))]:
                tree.unwritten.count(NO_SLIP, force.name)
        elif not (isinstance(force, RotationLimit) and force.body in balls):
            raise ModelError("passive forces are not written to MuJoCo's files", element=force.element)
    for name, fraction in carried.items():
        if fraction:
            tree.bodies[name].set("gravcomp", written(fraction))
    return biases


# --------------------------------------------------------------------------------------------------------------
#
# Limits of coordinates and ball joints as limits of MuJoCo's joints, with `solref` for their stiffness and damping.


MARGIN_TOLERANCE = 1e-12  # [rad or m] by which the two ends of a range may be narrowed differently


def add_limits(model: Model, tree: Tree, mobilities: "Mobilities") -> None:
    """Give the joints in the file the limits of the model. Those of coordinates that are no joints, or with another
    stiffness at each end, are noted."""
    limited = set[str]()
    ranges = {coordinate.name: coordinate.range for coordinate in model.coordinates}
    for limit in model.limits:
        name = limit.coordinate
        if name not in tree.refs or name in limited or limit.lower_stiffness != limit.upper_stiffness:
            tree.unwritten.count("limits of coordinates", limit.name)
            continue
        limited.add(name)
        # the range of the coordinate, with a margin if the limit narrows both ends alike
        known, ends, margin = ranges.get(name), (limit.lower, limit.upper), 0.0
        if known is not None:
            first, second = limit.lower - known[0], known[1] - limit.upper
            if first >= 0 and math.isclose(first, second, rel_tol=0.0, abs_tol=MARGIN_TOLERANCE):
                ends, margin = known, first
        softness = limit.upper_stiffness, limit.damping, limit.transition
        soft = soft_limit(ends, softness, mobilities.of_coordinate(name))
        set_with(tree.joints[name][0], margin=margin or None, **soft)
    names = {body.name: body.joint_name or body.name for body in model.system.bodies}
    for force in model.forces:
        if isinstance(force, RotationLimit):
            softness = force.stiffness, force.damping, force.transition
            soft = soft_limit((0.0, force.upper), softness, mobilities.of_rotation(force.body))
            set_with(tree.joints[names[force.body]][0], **soft)


def soft_limit(ends: tuple[float, float], softness: tuple[float, float, float], mobility: float) -> dict[str, Any]:
    """Attributes of a limit of a joint or tendon with a stiffness, a damping and an onset: `Softness.spring` the other
    way round."""
    (stiffness, damping, onset), rest = softness, 1.0 - Softness().impedance
    solref = -stiffness * rest * mobility, -damping * math.sqrt(rest) * mobility
    return {"range": ends, "limited": True, "solreflimit": solref, "solimplimit": (*SOLIMP[:2], onset)}


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
    def _inverse(self) -> Array:
        """(nu, nu) M^-1, the pseudo-inverse where bodies without mass make M singular. M is twice the kinetic energy of
        unit speeds."""
        system, poses = self.system, self.system.poses(self._q)
        shifts = system.shifts(self._q, np.eye(system.nu), poses, system.ground)
        M = np.diag(np.concatenate([np.full(body.joint.nu, body.rotor_inertia) for body in system.bodies]))
        for body in system.bodies:
            R, _ = poses[body.name]
            omega, v = shifts[body.name]
            center = v + cross(omega, matvec(R, np.array(body.center_of_mass)))
            tensor = full(congruent(R, np.array(body.inertia)))
            omega, center = (np.broadcast_to(x, (system.nu, 3)) for x in (omega, center))
            M += body.mass * center @ center.T + omega @ tensor @ omega.T
        return np.linalg.pinv(M, hermitian=True)

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


# --------------------------------------------------------------------------------------------------------------
#
# Joints that follow others: MuJoCo holds them by polynomials of degree four, to which other functions are fitted.


MAX_DEGREE = 4
DEFAULT_RANGE = (-np.pi / 2, np.pi / 2)  # of a coordinate without one
FIT_POINTS = 401
ROUND_OFF = 1e-13


def add_equalities(tree: Tree, held: dict[str, float]) -> None:
    """An <equality> for every axis that a coordinate moves by a function, every coupler, and every coordinate that is
    locked or held.

    These stay at the values `held`. The others satisfy
    y - y0 = sum of a_i (x - x0)^i, x0 and y0 the values that MuJoCo calls ref.
    """
    followers, ranges = tree.driven(), {c.name: c.range for c in tree.model.coordinates}
    for coordinate in tree.model.coordinates:
        if coordinate.prescribed is not None:
            tree.unwritten.count("coordinates prescribed over time", coordinate.name)
    rows: dict[str, tuple[str | None, Any]] = {}
    for name, driver, functions in followers:
        polynomial, miss = _fitted(functions, *(ranges.get(driver) or DEFAULT_RANGE))
        if miss:
            tree.unwritten.count("functions, fitted by quartics", f"{name} to {miss:.1e}")
        rows[name] = driver, polynomial(Polynomial([tree.refs[driver], 1.0])) - tree.refs[name]
    for name, x in held.items():
        if name in tree.refs:
            rows.setdefault(name, (None, Polynomial([x - tree.refs[name]])))
    couplers = tree.model.couplers
    taken = Counter([*(c.name for c in couplers), *(c.name for c in tree.model.constraints)])  # MuJoCo's are distinct
    names = {coupler.dependent: coupler.name for coupler in couplers if taken[coupler.name] == 1}
    for name, (leader, polynomial) in rows.items():
        given = np.zeros(MAX_DEGREE + 1)
        given[: len(polynomial.coef)] = polynomial.coef
        equality = {"name": names.get(name), "joint1": name, "joint2": leader, "polycoef": given}
        add_with(tree.section("equality"), "joint", **equality)


def _fitted(functions: Sequence[AxisFunction], low: float, high: float) -> tuple[Any, float]:
    """The polynomial, and by how much it misses within the range; zero for functions that make one."""
    steps: list[Any] = [coefficients_of(function) for function in functions]
    if None not in steps:
        exact = Polynomial([0.0, 1.0])
        for step in steps:
            exact = Polynomial(step)(exact)
        if exact.degree() <= MAX_DEGREE:
            return exact, 0.0
    x = np.linspace(low, high, FIT_POINTS)
    y = x
    for function in functions:
        y = np.asarray(function.value(y), dtype=float)
    fitted = Polynomial.fit(x, y, MAX_DEGREE).convert()
    miss = float(np.abs(fitted(x) - y).max())
    return fitted, miss if miss > ROUND_OFF * max(1.0, np.abs(y).max()) else 0.0


# --------------------------------------------------------------------------------------------------------------
#
# What pulls on tendons, drives joints and pushes at sites, as MuJoCo's actuators; mirrors `reading.actuators`.


SCALE = 200.0  # of a muscle, by which MuJoCo would choose its peak force; it has one


@dataclass
class Actuators:
    """The <actuator> section. ctrl, act: the controls, and the activations of those that have one, at the start. sites:
    at which actuators act, by their bodies and positions, those of markers among them."""

    tree: Tree
    sites: dict[tuple[str, tuple[float, ...]], str] = field(default_factory=dict)
    ctrl: list[float] = field(default_factory=list)
    act: list[float] = field(default_factory=list)

    def _add(self, tag: str, name: str, start: float, **attributes: Any) -> None:
        add_with(self.tree.section("actuator"), tag, name=name, **attributes)
        delayed = "dyntype" in attributes
        self.ctrl.append(0.0 if delayed else start)
        self.act += [start] if delayed else []

    def add_muscle(self, muscle: Muscle, law: Mapping[str, Any], tendon: str) -> None:
        """The actuator of a muscle on a tendon."""
        dynamics, control = muscle.activation_dynamics, (0.0, 1.0)
        delay = {} if dynamics is None else _activation(dynamics)
        if delay is None:
            self.tree.unwritten.count("activation dynamics of actuators", muscle.name)
        if dynamics is not None and dynamics.form == "integral":
            control = -1.0 / dynamics.deactivation_time, 1.0 / dynamics.activation_time
        attributes = {"tendon": tendon, **law, **(delay or {}), "ctrllimited": True, "ctrlrange": control}
        tag = "motor" if "gaintype" not in law and not delay else "general"
        self._add(tag, muscle.name, muscle.activation or 0.0, **attributes)

    def add_actuator(self, actuator: Any, spring: CoordinateSpring | None) -> None:
        """An actuator of a joint, with the spring that belongs to it, or of a site."""
        attributes: dict[str, Any]
        pushes = isinstance(actuator, PointActuator)
        if pushes or isinstance(actuator, TorqueActuator):
            key = (actuator.body, actuator.point) if pushes else (actuator.first, (0.0, 0.0, 0.0))
            if key not in self.sites:
                self.sites[key] = self.tree.add_site(f"{actuator.name}-site", *key)
            push = np.array(actuator.direction if pushes else actuator.axis)
            gear, none = actuator.optimal_force * push / np.linalg.norm(push), (0.0, 0.0, 0.0)
            attributes = {"site": self.sites[key], "gear": (*gear, *none) if pushes else (*none, *gear)}
        else:
            attributes = {"joint": actuator.coordinate, "gainprm": (actuator.optimal_force, 0.0, 0.0)}
            if spring is not None:
                k, c = spring.stiffness, spring.damping
                attributes |= {"biastype": "affine", "biasprm": (k * spring.rest, -k, -c)}
            if isinstance(actuator, ActivationCoordinateActuator):
                attributes |= {"dyntype": "filter", "dynprm": actuator.activation_time}
            elif actuator.delayed:
                attributes |= {"dyntype": "integrator", "dynprm": 1.0}
        bounds = actuator.lower, actuator.upper
        for what, word, ends in (("activations", "act", actuator.activation_bounds), ("controls", "ctrl", bounds)):
            if all(map(math.isfinite, ends)):
                attributes |= {f"{word}limited": True, f"{word}range": ends}
            elif any(map(math.isfinite, ends)):
                self.tree.unwritten.count(f"{what} that are bounded on one side", actuator.name)
        self._add("general", actuator.name, actuator.activation if "dyntype" in attributes else 0.0, **attributes)


def law_of(law: ForceLaw | None) -> dict[str, Any] | None:
    """The gain and the bias of a law of a tendon's length, whose activation is the control; None for another law."""
    found: dict[str, Any] = {}
    if isinstance(law, PathActuator):
        return {"gear": -law.max_isometric_force}
    if isinstance(law, AffinePath):
        for word in ("gain", "bias"):
            numbers = tuple(0.0 - getattr(law, f"{word}_{k}") for k in range(3))
            found |= {f"{word}type": "affine", f"{word}prm": numbers}
    elif isinstance(law, MujocoMuscle):
        low, high = law.lowest, law.highest
        start = law.passive_offset + low * law.passive_scale
        passive = start, start + law.passive_scale * (high - low)
        sign = -1.0 if law.max_isometric_force < 0 else 1.0  # of the gear
        others = law.active_from, law.active_to, law.max_speed, law.passive_force, law.eccentric_force
        shared = sign * law.max_isometric_force, SCALE, *others
        found = {
            "gaintype": "muscle", "gainprm": (low, high, *shared),
            "biastype": "muscle", "biasprm": (*passive, *shared),
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


# ---- Paths as tendons, and the force laws that MuJoCo has for them ------------------------------------------------


Offset = tuple[Combination, float]  # a combination of coordinates, and what is added to it


def combination_of(muscle: Muscle) -> Offset | None:
    """The coefficients by coordinate and the offset of a path whose length is linear in coordinates; None for another
    path."""
    end = muscle.path.points[-1]
    if len(muscle.path.points) != 2 or not isinstance(end, LengthPoint) or end.length.order != 1:
        return None
    offset, *coefficients = end.length.coefficients
    return dict(zip(end.coordinates, reversed(coefficients), strict=True)), offset


RANKS = ("springlength", "frictionloss", "range")  # of a tendon, in the order in which they are read after actuators


def add_tendons(
    muscles: Sequence[tuple[Muscle, Offset | None]], tree: Tree, actuators: Actuators, mobilities: Mobilities
) -> None:
    """A <spatial> or <fixed> tendon for every path, with the actuators, spring, friction and limit along it.

    A muscle joins the tendon of an earlier one where it gets its name back from there; else it has a tendon of its own.
    Other laws are noted: their tendons pull nothing."""
    tendons: dict[MusclePath, tuple[Element, int, int]] = {}  # how many forces each has, and the rank of the last
    for muscle, combination in muscles:
        coefficients, offset = combination or ({}, 0.0)
        if not set(coefficients) <= set(tree.refs):
            tree.unwritten.count("muscles along functions of coordinates that are no joints, left out", muscle.name)
            continue
        law = muscle.law
        if combination is not None and law is not None:
            law = on_offset_path(law, -offset)
        passive, driven = _passive(law, muscle, mobilities, tree.unwritten), law_of(law)
        rank = len(RANKS) if not (driven or passive) else next((k for k, x in enumerate(RANKS, 1) if x in passive), 0)
        tendon, count, last = tendons.get(muscle.path, (None, 0, 0))
        joins = tendon is not None and muscle.name == f"{tendon.get('name')}_{count + 1}"
        if tendon is None or not joins or not (rank > last or rank == last == 0):
            count, tag = 0, "spatial" if combination is None else "fixed"
            tendon = add_with(tree.section("tendon"), tag, name=muscle.name)
            for name, coefficient in coefficients.items():
                add_with(tendon, "joint", joint=name, coef=coefficient)
            if combination is None:
                _add_path(tendon, muscle, tree)
        tendons[muscle.path] = tendon, count + 1, rank
        set_with(tendon, **passive)
        if driven is not None:
            actuators.add_muscle(muscle, driven, str(tendon.get("name")))
        elif not passive:
            law_name = "without a law" if law is None else f"with law {law.kind!r}"
            tree.unwritten.count(f"muscles {law_name}, whose tendons pull nothing", muscle.name)


def _add_path(tendon: Element, muscle: Muscle, tree: Tree) -> None:
    """What a tendon runs over. Sites and surfaces are named by the first muscle on its path, and written with it."""
    path = muscle.path
    if path not in tree.paths:
        sites = [tree.add_site(f"{muscle.name}-P{k}", x.body, x.position) for k, x in enumerate(path.points, start=1)]
        for k, wrap in enumerate(path.wraps, start=1):
            tree.add_surface(wrap.surface, f"{muscle.name}-W{k}")
        tree.paths[path] = sites
    divisors = {pulley.point: pulley.divisor for pulley in path.pulleys}
    for k, site in enumerate(tree.paths[path]):
        if k in divisors:
            add_with(tendon, "pulley", divisor=divisors[k])
        for wrap in path.acting[k - 1] if k else ():
            geom, side = tree.surfaces[wrap.surface]
            add_with(tendon, "geom", geom=geom, sidesite=side)
        add_with(tendon, "site", site=site)


def _passive(law: ForceLaw | None, muscle: Muscle, mobilities: Mobilities, unwritten: UnwrittenParts) -> dict[str, Any]:
    """Attributes of a tendon that pulls by its length and speed."""
    if isinstance(law, PathLimit):
        softness = law.stiffness, law.damping, law.transition_length
        return soft_limit((law.shortest_length, law.longest_length), softness, mobilities.of_muscle(muscle))
    if isinstance(law, PathSpring) and not law.dissipation:
        return {"stiffness": law.stiffness, "springlength": (0.0, law.resting_length)}
    if isinstance(law, SlackSpring):
        ends = law.shortest_length, law.longest_length
        return {"stiffness": law.stiffness, "damping": law.damping or None, "springlength": ends}
    if isinstance(law, PathFriction):
        if law.slip_speed != SLIP_SPEED:
            unwritten.count(NO_SLIP, muscle.name)
        return {"frictionloss": law.friction}
    return {}
