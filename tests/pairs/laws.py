"""Laws that need no reference, on formulas that NumPy evaluates: nothing is compiled here.

A law takes a case. It raises `Broken` where it does not hold, and `NotHere` where the case has nothing that it speaks
of.
"""

import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from myoquat import load_model
from myoquat.dynamics import articulated, composite, factor, inverse
from myoquat.joints import ModelError
from myoquat.joints.conversion.convert import convert_coordinates, convert_velocities
from myoquat.joints.multibody.body import Body
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.types import EulerJoint, FloatingJoint, GimbalJoint, SphericalJoint
from myoquat.joints.vectors import matvec
from myoquat.muscle import Model, Muscle, MusclePath, PathFlag, PathPoint, acting, path_flags, states
from myoquat.muscle.acting import Instant
from myoquat.muscle.forces import (
    BushingExpressions,
    CoordinateExpression,
    CoordinateFriction,
    PointExpression,
    PrescribedForce,
)
from myoquat.muscle.segments.lengths import lengths, velocity_jacobian

from . import analyses, compiled
from .case import POINTS, STEP, WEIGHTS, Case
from .checks import Broken, NotHere, close, close_to_slope
from .features import FEATURES


def along(case: Case, function: Callable[[np.ndarray, np.ndarray], np.ndarray], share: float = 1.0) -> np.ndarray:
    """(STATES, ...) d/dt of a function of (q, u) along the motion, by central differences; share of the usual step."""
    s = share * STEP * POINTS[:, None]
    return np.tensordot(WEIGHTS, function(*case.flow(s)), 1) / (share * STEP)


# ---- joints and bodies --------------------------------------------------------------------------------------------


def inverse_and_forward(case: Case) -> None:
    """Forward and inverse dynamics cancel; mass matrix, its inverse, factors and the kinetic energy belong together."""
    s, q, u, tau, f = case.system, case.q, case.u, case.torque, case.f_ext
    udot = articulated.forward(s, q, u, tau, f)
    close("torque of the acceleration", inverse.inverse(s, q, u, udot, f), tau)
    close("acceleration by M", factor.forward(s, q, u, tau, f), udot, 1e-7)
    M, inverted = composite.mass(s, q), factor.inverse_mass(s, q)
    close("M^-1 M", inverted @ M, np.eye(s.nu) + 0 * M, 1e-7)
    close("kinetic energy", inverse.kinetic(s, q, u), np.sum(u * matvec(M, u), axis=-1) / 2)
    close("equation of motion", matvec(M, udot) + inverse.bias(s, q, u) - inverse.external(s, q, f), tau)


def momentum(case: Case) -> None:
    """The forces on bodies from outside, through joints with the ground too, are the rate of linear and angular
    momentum."""
    s, f = case.system, case.f_ext
    if any(b.rotor_inertia for b in s.bodies):
        raise NotHere("rotors have a momentum of their own")
    through = inverse.joint_wrenches(s, case.q, case.u, case.udot, f)
    poses = s.poses(case.q)
    force, torque = np.zeros(3), np.zeros(3)
    for i, body in enumerate(s.bodies):
        R, p = poses[body.name]
        weight = body.mass * np.array(s.gravity)
        at = np.cross(p + R @ np.array(body.center_of_mass), weight)
        wrench = f[:, i] + (through[:, i] if body.parent == s.ground else 0.0)
        force = force + weight + wrench[:, :3]
        torque = torque + at + wrench[:, 3:] + np.cross(p, wrench[:, :3])
    found = np.concatenate([force, torque], axis=-1)
    close_to_slope("rate of momentum", found, partial(along, case, partial(_momentum, s)), 1e-7)


def _momentum(s: Any, q: np.ndarray, u: np.ndarray) -> np.ndarray:
    poses = s.poses(q)
    shifts = s.shifts(q, u, poses, s.ground)
    total = np.zeros(6)
    for body in s.bodies:
        (R, p), (omega, v) = poses[body.name], shifts[body.name]
        c = R @ np.array(body.center_of_mass)
        xx, yy, zz, xy, xz, yz = body.inertia
        inertia = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ np.swapaxes(R, -1, -2)
        linear = body.mass * (v + np.cross(omega, c))
        total = total + np.concatenate([linear, np.cross(p + c, linear) + matvec(inertia, omega)], axis=-1)
    return total


# ---- what acts ----------------------------------------------------------------------------------------------------

STORE_NOTHING = (CoordinateExpression, PointExpression, BushingExpressions, PrescribedForce, CoordinateFriction)


def work(case: Case) -> None:
    """The power of all forces is the change of energy, and static forces are the slope of what they store."""
    m, s = case.model, case.system
    needed = inverse.inverse(s, case.q, case.u, case.udot) if case.constraints else case.force
    power = inverse.work_rate(s, case.q, case.u, needed)

    def total(q: np.ndarray, u: np.ndarray) -> np.ndarray:
        return np.asarray(inverse.kinetic(s, q, u) + inverse.potential(s, q))

    close_to_slope("power", power, partial(along, case, total), 1e-7)
    if case.levels["lock"] != "prescribed":  # which does work
        close("power of constraints", np.sum((needed - case.force) * case.u, axis=-1), 0 * power, 1e-7)
    storing = tuple(f for f in m.forces if not isinstance(f, STORE_NOTHING))
    bands = acting.elastic_muscles(m)
    only = replace(m, forces=storing, actuators=(), inputs=(), muscles=bands)
    tension = states.forces(only, case.q, 0 * case.u, np.zeros((len(case.q), len(bands)))) if bands else None
    static = acting.torques(only, Instant(case.q, 0 * case.u, case.t, tension=tension))
    stored = partial(along, case, lambda q, u: acting.energy(only, q))
    power, rate = -np.sum(static * case.u, axis=-1), acting.energy_rate(only, case.q, case.u)
    close_to_slope("power of what stores energy", power, stored, 1e-5)
    close_to_slope("rate of stored energy", rate, stored, 1e-5)


def wrenches(case: Case) -> None:
    """Loads on bodies, and forces within joints, are the generalized forces of all that acts."""
    m, at = case.model, case.equations.instant(case.t, case.q, case.u, case.given())
    inside = replace(
        m,
        muscles=(),
        inputs=(),
        forces=tuple(f for f in m.forces if f.in_joints),
        actuators=tuple(a for a in m.actuators if a.in_joints),
    )
    try:
        found = acting.wrenches(m, at)
    except ModelError as error:
        raise NotHere(str(error)) from error
    controls = at.controls if inside.actuators else None
    rest = acting.torques(inside, Instant(case.q, case.u, case.t, controls=controls, torque=case.torque))
    close("wrenches and forces in joints", inverse.external(case.system, case.q, found) + rest, case.force)


def path_rate(case: Case) -> None:
    """The rate of a path's length is J u, where it does not jump.

    Where a path begins to touch a surface, its second derivative jumps by about |u|^2 over a radius. A difference
    across that is off by up to `STEP` times the jump, 1e-4, and smaller steps are nearer. A rate that jumps more is a
    fault of the flags.
    """
    m, s = _smooth_paths(case), case.system
    rate = matvec(velocity_jacobian(s, m.paths, case.q), case.u)

    @cache
    def slope(share: float) -> np.ndarray:
        h = share * STEP
        near = s.integrate(case.q, h * POINTS[:, None, None] * case.u)
        return np.tensordot(WEIGHTS, lengths(s, m.paths, near), 1) / h

    close("rate of length", rate, slope(1.0), 1e-4)
    close_to_slope("rate of length", rate, slope, 1e-6)


def _smooth_paths(case: Case) -> Model:
    """The model; NotHere without muscles, or where lengths jump."""
    if not case.model.muscles:
        raise NotHere("no muscles")
    found = path_flags(case.model, case.q, 2e-2, backend="numpy")
    if (found & ~int(PathFlag.WRAPPED)).any():
        raise NotHere("the length is not certain or jumps nearby")
    return case.model


# ---- charts -------------------------------------------------------------------------------------------------------


def charts(case: Case) -> None:
    """Lengths, powers and accelerations are the same whatever describes the ball joints."""
    wanted = case.options["chart"]
    try:
        other = case.model.with_rotations(wanted)
    except ModelError as error:
        raise NotHere(str(error)) from error
    if other.system == case.system:
        raise NotHere("no other description")
    described = redescribed(case, other)
    if case.model.muscles:
        close("lengths", *(lengths(c.system, c.model.paths, c.q) for c in (described, case)))
    close("power", *(np.sum((c.force - c.torque) * c.u, axis=-1) for c in (described, case)), 1e-7)
    same_motion(case, described)


def redescribed(case: Case, other: Model) -> Case:
    """The case with another description of the same model."""
    if set(other.system.body_names) != set(case.system.body_names):
        raise NotHere(f"other bodies: {other.system.body_names}")
    q, u = in_system(case.system, other.system, case.q, case.u)
    made = case.of(model=other, q=q, u=u)
    made.torque = np.zeros(u.shape)
    return made


def same_motion(case: Case, described: Case, tolerance: float = 1e-6) -> None:
    """Both have the same accelerations without external torques, in the description of `described`."""
    plain = case.of()
    plain.torque = 0.0 * case.torque
    rate = partial(along, plain, lambda q, u: in_system(case.system, described.system, q, u)[1])
    close_to_slope("accelerations", described.udot, rate, tolerance)


ROTATIONS = (SphericalJoint, FloatingJoint, EulerJoint, GimbalJoint)


def in_system(
    a: ArticulatedSystem, b: ArticulatedSystem, q: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(q, u) of the same bodies with joints of another description or order: coordinates of a ball joint that is
    described otherwise are converted, the others are the same."""
    by_body = {body.name: (body, *at) for body, *at in zip(a.bodies, a.q_slices, a.u_slices, strict=True)}
    parts = []
    for body in b.bodies:
        own, at_q, at_u = by_body[body.name]
        x, v = q[..., at_q], u[..., at_u]
        if own.joint != body.joint and any(isinstance(one.joint, ROTATIONS) for one in (own, body)):
            pair = [
                ArticulatedSystem((replace(one, parent="ground"),), velocity_frame=s.velocity_frame)
                for one, s in ((own, a), (body, b))
            ]
            flat = x.reshape(-1, x.shape[-1])
            turned = convert_velocities(*pair, flat, v.reshape(-1, v.shape[-1])).reshape(*x.shape[:-1], -1)
            x, v = convert_coordinates(*pair, flat).reshape(*x.shape[:-1], -1), turned
        parts.append((x, v))
    return tuple(np.concatenate(part, axis=-1) for part in zip(*parts, strict=True))  # type: ignore[return-value]


# ---- files --------------------------------------------------------------------------------------------------------


def toml(case: Case) -> None:
    """A TOML file keeps the model."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.toml"
        case.model.save(path)
        again = load_model(path)
    for f in fields(Model):
        if f.compare and getattr(again, f.name) != getattr(case.model, f.name):
            raise Broken(f"{f.name}: {getattr(again, f.name)!r}, not {getattr(case.model, f.name)!r}"[:600])


def saved(case: Case, path: Path) -> Path:
    """The model in a file; NotHere where the writer says that it cannot keep everything."""
    muscles = tuple(replace(muscle, activation=None) for muscle in case.model.muscles)  # which no file has
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            replace(case.model, muscles=muscles).save(path, strict=True)
        except ModelError as error:
            raise NotHere(str(error)) from error
    return path


def _written(case: Case, name: str) -> Case:
    """The case of the model that a file gives back."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = load_model(saved(case, Path(folder) / name))
    return redescribed(case, again)


def osim(case: Case) -> None:
    """An OpenSim file keeps accelerations."""
    same_motion(case, _written(case, "model.osim"))


def mjcf(case: Case) -> None:
    """An MJCF file keeps accelerations."""
    same_motion(case, _written(case, "model.xml"))


def urdf(case: Case) -> None:
    """A URDF file keeps accelerations. It holds no start, and what is read has a link for the ground."""
    plain = case.of(model=replace(case.model, start_q=None, start_u=None))
    plain.torque = 0.0 * case.torque
    with tempfile.TemporaryDirectory() as folder:
        again = load_model(saved(plain, Path(folder) / "model.urdf"))
    a, b = case.system, again.system
    columns = {body.name: at for body, *at in zip(a.bodies, a.q_slices, a.u_slices, strict=True)}

    def picked(values: np.ndarray, sort: int) -> np.ndarray:
        return np.concatenate([values[:, columns[c.name][sort]] for c in b.bodies if c.name in columns], axis=-1)

    other = case.of(model=again, q=picked(case.q, 0), u=picked(case.u, 1))
    other.torque = np.zeros(other.u.shape)
    close("accelerations", other.udot, picked(plain.udot, 1), 1e-9)


# ---- paths --------------------------------------------------------------------------------------------------------


def path_symmetry(case: Case) -> None:
    """A path and its reverse, its mirror image and its scaled copy have one length."""
    m = _smooth_paths(case)
    (muscle,) = m.muscles
    if any(type(p) is not PathPoint for p in muscle.path.points):
        raise NotHere("points that move")
    length = lengths(case.system, m.paths, case.q)
    if not muscle.path.pulleys:
        last = len(muscle.path.points) - 1
        back = tuple(
            replace(w, points=None if w.points is None else (last - w.points[1], last - w.points[0]))
            for w in reversed(muscle.path.wraps)
        )
        turned = replace(muscle, path=MusclePath(muscle.path.points[::-1], back))
        close("length backwards", lengths(case.system, (turned.path,), case.q), length, 1e-7)
    bodies = _loose(case)
    q = np.concatenate([x for body in case.system.bodies for x in _place(case, body.name)], axis=-1)
    close("length on loose bodies", lengths(bodies, m.paths, q), length, 1e-9)
    mirrored = q * np.tile([1.0, 1, -1, 1, -1, -1, 1], len(bodies.bodies))
    image = _mapped(muscle, lambda p: (p[0], p[1], -p[2]), True)
    close("length in a mirror", lengths(bodies, (image.path,), mirrored), length, 1e-7)
    scaled = q * np.tile([3.0, 3, 3, 1, 1, 1, 1], len(bodies.bodies))
    large = _mapped(muscle, lambda p: tuple(3.0 * x for x in p), False, 3.0)
    close("length of a larger copy", lengths(bodies, (large.path,), scaled) / 3.0, length, 1e-7)


def _loose(case: Case) -> ArticulatedSystem:
    return ArticulatedSystem(tuple(Body(b.name, "ground", FloatingJoint()) for b in case.system.bodies))


def _place(case: Case, body: str) -> tuple[np.ndarray, np.ndarray]:
    R, p = case.system.poses(case.q)[body]
    R, p = np.broadcast_to(R, (len(case.q), 3, 3)), np.broadcast_to(p, (len(case.q), 3))
    return p, Rotation.from_matrix(R).as_quat(scalar_first=True)


def _mapped(muscle: Muscle, point: Callable[[Any], Any], mirrored: bool, size: float = 1.0) -> Muscle:
    """The muscle with its points and surfaces mapped."""
    path = tuple(replace(p, position=point(p.position)) for p in muscle.path.points)
    wraps = []
    for wrap in muscle.path.wraps:
        w, x, y, z = wrap.orientation
        turn = (w, -x, -y, z) if mirrored else wrap.orientation
        sizes = {
            k: _times(getattr(wrap, k), size)
            for k in ("radius", "radii", "ring_radius", "tube_radius")
            if hasattr(wrap, k)
        }
        wraps.append(replace(wrap, position=point(wrap.position), orientation=turn, **sizes))
    return replace(muscle, path=MusclePath(path, tuple(wraps), muscle.path.pulleys))


def _times(value: Any, factor: float) -> Any:
    return tuple(factor * x for x in value) if isinstance(value, tuple) else factor * value


class Law(NamedTuple):
    """What holds, and the levels of features of which it speaks."""

    check: Callable[[Case], None]
    levels: Mapping[str, Sequence[str]] = MappingProxyType({})

    def speaks(self, row: Mapping[str, str]) -> bool:
        """Whether all levels of a row are those of the law."""
        return all(row[name] in levels for name, levels in self.levels.items())


class Group(NamedTuple):
    """Rows over some levels of features, and laws that are checked there alone, by turns; others are checked wherever
    they speak of a row."""

    levels: Mapping[str, Sequence[str]]
    laws: Sequence[str] = ()
    rows: int = 1  # in each cycle of the groups

    @property
    def factors(self) -> dict[str, Sequence[str]]:
        """The levels of every feature."""
        return factors(self.levels)


def factors(levels: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """These levels, and all of other features."""
    return {name: levels.get(name, tuple(every)) for name, every in FEATURES.items()}


BALLS = (
    "spherical",
    "spherical with angles",
    "euler",
    "gimbal",
    "floating with angles",
    "custom ball",
    "follower",
)
IN_OSIM = {
    "joint": ("revolute", "fixed", "prismatic", "spherical", "spherical with angles", "euler", "floating",
              "floating with angles", "planar", "universal", "custom", "custom ball"),
    "passive": ("none", "tip"),
    "constraint": ("none", "point", "rod", "line", "weld"),
    "coupler": ("none", "linear", "polynomial", "spline"),
    "limit": ("none", "coordinate"),
    "spring": ("none", "coordinate", "expression", "points", "points by expression"),
    "contact": ("none", "hertz", "smooth"),
    "actuator": ("none", "coordinate", "body", "point", "torque", "two points", "delayed"),
    "path": ("straight", "via", "moving", "conditional", "polynomial"),
    "timed": ("none", "world", "body", "point in world"),
    "activation": ("none", "smooth", "piecewise"),
    "law": ("none", "thelen elastic", "thelen rigid", "millard elastic", "millard rigid", "degroote elastic",
            "degroote rigid", "schutte", "path actuator", "spring", "ligament", "blankevoort"),
}  # fmt: skip
IN_MJCF = dict.fromkeys(("limit", "constraint", "spring", "bushing", "contact", "timed", "activation"), ("none",)) | {
    "joint": ("revolute", "fixed", "prismatic", "spherical", "floating", "universal", "custom ball"),
    "tree": ("chain", "branch", "children first"),
    "passive": ("none", "damping", "rotor"),
    "coupler": ("none", "linear", "polynomial"),
    "actuator": ("none", "coordinate"),
    "path": ("straight", "via", "pulley"),
    "wrap": ("none", "sphere"),
    "law": ("none", "path actuator", "mujoco"),
    "input": ("none",),
}
NOT_IN_URDF = ("limit", "constraint", "spring", "bushing", "contact", "timed", "activation", "actuator", "law", "input",
               "lock", "wrap")  # fmt: skip
IN_URDF = dict.fromkeys(NOT_IN_URDF, ("none",)) | {
    "frame": ("child",),
    "joint": ("revolute", "fixed", "prismatic", "floating"),
    "tree": ("chain", "branch", "children first"),
    "passive": ("none", "damping"),
    "coupler": ("none", "linear"),
    "path": ("straight",),
}
# Paths past two surfaces on one piece need a solver that takes a second in NumPy: only laws of paths have them.
ONE_SURFACE = {"wrap": tuple(name for name in FEATURES["wrap"] if name != "two")}
POINTS_ONLY = {"path": ("straight", "via", "pulley")}
MUSCLES = {"law": tuple(name for name in FEATURES["law"] if name != "none")}

DIFFERENCES = ("derivatives", "linearize", "steps", "Hessian")
FEW = {"root": ("hinge", "weld", "slide")}  # velocities, since kernels are as large as matrices over them
FREE = {"constraint": ("none",), "coupler": ("none",), "lock": ("none",)}
SMOOTH = FEW | {
    "joint": tuple(name for name in FEATURES["joint"] if name not in ("custom", "reversed")),
    "path": ("straight", "via", "moving", "pulley", "polynomial", "fitted"),
    "wrap": ("none", "sphere", "cylinder"),
    "activation": ("none", "smooth", "quintic"),
    "contact": ("none", "smooth"),
    "law": ("none", "degroote elastic", "degroote rigid", "exponential", "cubic", "path actuator", "spring"),
    "integrator": ("rk4", "lie_rk4", "semi_implicit_euler", "variational", "radau"),
    "start": ("zero",),
}
ON_BONES = {"path": ("straight", "via", "conditional", "pulley")}
RECRUITED = {
    "law": ("thelen elastic", "thelen rigid", "millard elastic", "millard rigid", "degroote elastic", "degroote rigid",
            "rigid tendon", "exponential", "cubic", "mujoco", "path actuator"),
}  # fmt: skip
BOUNDED = {"actuator": tuple(name for name in FEATURES["actuator"] if name != "body")}  # controls that have bounds
CONTROLLED = ONE_SURFACE | FREE | FEW | ON_BONES | {
    "law": ("millard rigid", "degroote rigid", "rigid tendon", "exponential", "cubic", "mujoco", "path actuator"),
    **dict.fromkeys(("activation", "actuator", "input"), ("none",)),
    "transcription": tuple(name for name in FEATURES["transcription"] if name != "shooting"),
}  # fmt: skip

LAWS: dict[str, Law] = {
    "inverse": Law(inverse_and_forward, ONE_SURFACE),
    "momentum": Law(momentum, ONE_SURFACE | {"passive": ("none", "damping", "stiffness", "tip")}),
    "work": Law(work, ONE_SURFACE),
    "wrenches": Law(wrenches, ONE_SURFACE | ON_BONES),
    "rate": Law(path_rate, MUSCLES),
    "charts": Law(charts, ONE_SURFACE | {"joint": BALLS, "passive": ("none", "tip")}),
    "toml": Law(toml, ONE_SURFACE),
    "osim": Law(osim, ONE_SURFACE | IN_OSIM),
    "mjcf": Law(mjcf, ONE_SURFACE | IN_MJCF),
    "symmetry": Law(path_symmetry, MUSCLES | POINTS_ONLY),
    "joint loads": Law(compiled.loads_in_joints, ONE_SURFACE | ON_BONES),
    "redundancy": Law(compiled.recruitment, ONE_SURFACE | RECRUITED),
    "batches": Law(compiled.batches, ONE_SURFACE),
    "parameters": Law(compiled.parameters, ONE_SURFACE),
    "derivatives": Law(compiled.derivatives, SMOOTH),
    "steps": Law(compiled.steps, SMOOTH),
    "linearize": Law(compiled.linearization, SMOOTH),
    "Hessian": Law(compiled.second_derivatives, SMOOTH),
    "control": Law(analyses.prescribed_motion, CONTROLLED),
    "solution": Law(analyses.solution_forward, SMOOTH | FREE),
    "studies": Law(analyses.studies, ONE_SURFACE),
    "environment": Law(analyses.environment, ONE_SURFACE | BOUNDED),
}
GROUPS: dict[str, Group] = {
    "any": Group(ONE_SURFACE, rows=6),
    "osim": Group(ONE_SURFACE | IN_OSIM, rows=3),
    "mjcf": Group(ONE_SURFACE | IN_MJCF, rows=3),
    "paths": Group(MUSCLES | POINTS_ONLY, rows=2),
    "recruited": Group(ONE_SURFACE | ON_BONES | RECRUITED, ("joint loads", "redundancy"), 2),
    "simulated": Group(ONE_SURFACE | FEW, ("batches", "parameters", "studies", "environment"), 2),
    "controlled": Group(CONTROLLED, ("control",)),
    "smooth": Group(SMOOTH | FREE, (*DIFFERENCES, "solution"), 2),
    "smooth and held": Group(SMOOTH, DIFFERENCES),
}
