"""Descriptions of ball joints: by quaternions, by a file's named angles and their branches, by rotations about axes."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar, cast

import numpy as np

from myoquat.core import Array, check_types, warn_user
from myoquat.joints import (
    Angles,
    ArticulatedSystem,
    Axis,
    Body,
    CoordinateWarning,
    CustomJoint,
    EulerJoint,
    GimbalJoint,
    Joint,
    ModelError,
    ReversedJoint,
    rotation_matrix,
)
from myoquat.joints.evaluation import SystemLike, system_of
from myoquat.joints.functions import Linear
from myoquat.joints.types.angles import Branch, Vector3
from myoquat.joints.types.base import opposite
from myoquat.joints.types.follower import angles_of

WIDEST_RANGE = 2 * np.pi + 1e-6  # [rad] wider ranges are no statement about the joint
FULL_TURN = 2 * np.pi - 1e-6  # [rad] ranges of full turns hold both triples of a rotation
RANGE_SAMPLES = 25  # second angles of a range at which the first solution is compared
SAME_ANGLE = 1e-6  # [rad]
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def ball_joint_obstacle(body: Body) -> str | None:
    """Why a body's joint cannot become a quaternion joint; None if it can, or is one.

    >>> import myoquat as mq
    >>> print(mq.joints.ball_joint_obstacle(mq.Body("knee", "ground", mq.joints.RevoluteJoint((0, 0, 1)))))
    a revolute joint is no ball joint
    >>> print(mq.joints.ball_joint_obstacle(mq.Body("hip", "ground", mq.joints.EulerJoint("ZXY"))))
    None
    """
    check_types(body=(body, Body))
    reason = body.joint.ball_obstacle
    if reason is None and body.joint.span == "some" and (body.damping or body.stiffness or body.rotor_inertia):
        return "a damper, a spring or a rotor acts on its own coordinates"
    return reason


def as_ball(body: Body) -> Body:
    """The body on a spherical or a floating joint that remembers its angles; ModelError if that is impossible."""
    reason, joint, ball = ball_joint_obstacle(body), body.joint, body.joint.ball_joint
    if reason is not None or ball is None:
        raise ModelError(f"no ball joint: {reason}", element=f"body {body.name!r}")
    if joint.by_sequence:
        return body
    names = [body.names_of_coordinates[i] for axis in joint.translations if axis.constant is None
             for i in axis.coordinates]  # fmt: skip
    names += [f"{body.name}.{suffix}" for suffix in ball.facts.coordinates[len(names) :]] if names else []
    _, centre = joint.transform(np.zeros(joint.nq))
    p = np.array(body.position) + rotation_matrix(np.array(body.orientation)) @ centre
    return replace(body, joint=ball, position=tuple(map(float, p)), coordinate_names=tuple(names) or None)


def followed(bodies: Iterable[Body]) -> tuple[Body, ...]:
    """The bodies, whose followers know the joint that carries their leader as it is now."""
    bodies = tuple(bodies)
    joints = {body.name: body.joint for body in bodies}
    return tuple(
        body if (leader := body.joint.follows) is None else replace(body, joint=body.joint.behind(joints[leader]))
        for body in bodies
    )


def with_ranges(body: Body, ranges: Mapping[str, tuple[float, float]]) -> Body:
    """The body, whose angles know the ranges of their coordinates if these go past the lock.

    The ranges then choose between the two triples of angles of a rotation.
    """
    joint: Any = body.joint
    angles = joint.named
    if angles is None or not all(name in ranges for name in angles.names):
        return body
    own = tuple(ranges[name] for name in angles.names)
    widths = [high - low for low, high in own]
    if max(widths) > WIDEST_RANGE or min(widths) > FULL_TURN:
        return body
    ends = [np.array([own[0][0], x, own[2][0]]) for x in np.linspace(*own[1], RANGE_SAMPLES)]
    seconds = np.array([angles.rotations(x)[1] for x in ends])
    plain = replace(angles, ranges=())
    x = np.array([plain.coordinates(np.array([0.5, f2, 0.5])) for f2 in seconds])
    first = plain.triple(plain.quaternion(x))[:, 1]
    if np.abs(np.exp(1j * first) - np.exp(1j * seconds)).max() < SAME_ANGLE:
        return body
    return replace(body, joint=replace(joint, angles=replace(angles, ranges=own)))


# ---- Joints as rotations about and translations along axes: the form in which other programs' files hold them ------


def with_angles(body: Body) -> Body:
    """The body with angles where it has a quaternion, the inverse of `myoquat.joints.conversion.balls.as_ball`.

    A spherical joint, or the rotation of a floating one, gets the angles that it remembers. If it remembers none, it
    gets those of the sequence XYZ, named '<body>.rx', '<body>.ry', '<body>.rz'. An Euler joint gets the angles that it
    remembers. Any other body is returned as it is. `convert_coordinates` converts the states.
    """
    joint, angles = body.joint, body.joint.named
    if not joint.by_sequence or (angles is None and joint.own_angles is not None):
        return body
    x, y, z = names = tuple(f"{body.name}.r{letter}" for letter in "xyz")
    if angles is None and joint.span == "rotations":
        return replace(body, joint=EulerJoint("XYZ"), coordinate_names=names, spring_mount=None)
    angles = angles or Angles((x, y, z), (X, Y, Z))
    if angles.mixing is not None or angles.dependents:
        return _on_gimbal(body)
    lines = zip(angles.axes, angles.factors, angles.offsets, strict=True)
    rotations = tuple(Axis(axis, k, Linear(*line)) for k, (axis, *line) in enumerate(lines))
    slid = 3 if joint.span == "all" else 0
    translations = tuple(Axis(axis, 3 + k) for k, axis in enumerate((X, Y, Z)))[:slid]
    names = (*angles.names, *body.names_of_coordinates[:slid])
    custom = CustomJoint(names, rotations, translations, (*angles.units, *("m",) * slid))
    return replace(body, joint=custom, coordinate_names=names, spring_mount=None)


def in_angles(system: ArticulatedSystem, names: Collection[str]) -> ArticulatedSystem:
    """The system with a model file's angles in place of each quaternion that has one, or the speed of one, in names."""
    named = {system.bodies[i].name for name, (i, _) in system.angle_names.items() if {name, f"{name}_u"} & {*names}}
    if not named:
        return system
    led = {body.joint.follows for body in system.bodies}
    return replace(system, bodies=followed(
        body if body.name not in named else _on_gimbal(body) if body.name in led else with_angles(body)
        for body in system.bodies
    ))  # fmt: skip


def _on_gimbal(body: Body) -> Body:
    """The body on its joint's named angles, in the form that frames can follow."""
    angles = angles_of(body.joint)
    return replace(body, joint=GimbalJoint(angles), coordinate_names=angles.names, spring_mount=None)


def as_axes(body: Body) -> CustomJoint:
    """The body's joint as rotations about and translations along axes.

    The coordinates are the same, by the names that the body gives them. ValueError for a joint with a quaternion, or a
    fixed one.
    """
    joint = body.joint
    if not joint.made_of_axes:
        raise ValueError(f"a {joint.kind} joint is not made of rotations and translations along axes")
    return CustomJoint(body.names_of_coordinates, joint.rotations, joint.translations, joint.facts.coordinate_units)


def turned_around(body: Body) -> Joint:
    """The joint of a body as it would carry the body's parent: the same coordinates, the opposite motion.

    Rotations alone stay rotations, the last one first and about the opposite axes; slides and turns together become a
    `ReversedJoint`. ValueError for a joint with a quaternion.
    """
    if (same_type := body.joint.opposite()) is not None:
        return same_type
    if not body.joint.made_of_axes or body.joint.translations:
        return ReversedJoint(body.joint)  # type: ignore[arg-type]
    axes = as_axes(body)
    turns = (replace(axis, direction=opposite(axis.direction)) for axis in reversed(axes.rotations))
    return replace(axes, rotations=tuple(turns))


def completed(directions: list[Vector3]) -> list[Vector3]:
    """Three directions: those given, and unit vectors along axes that make the set as independent as can be."""
    found = list(directions)
    while len(found) < 3:
        found.append(max((X, Y, Z), key=lambda axis: float(np.linalg.svd(np.array([*found, axis]))[1][-1])))
    return found


# ---- The branch of a ball joint's angles: which of the two triples that describe a rotation is meant ----------------
#
# R(a1, f1) R(a2, f2) R(a3, f3) has two triples for each rotation. If the axes are orthogonal, the second one is (f1 +
# pi, -f2, f3 + pi) for equal outer axes, and (f1 + pi, pi - f2, f3 + pi) for different ones. They meet in gimbal
# lock. Points, limits and functions of a model file may depend on the angles, and they differ between the two. A
# quaternion does not say which triple is meant, so the model's description does (`Angles.branch`, `Angles.ranges`).
# Along a motion the branch is continuous.


SystemT = TypeVar("SystemT", bound=SystemLike)
Choice = tuple[tuple[tuple[float, float], ...], Branch]  # `Angles.ranges` and `Angles.branch`

SMALL_STEP_RAD, LARGE_STEP_RAD = 0.5, 1.0  # between frames: the branch changes where this avoids a large step
NEAR_LOCK_SINE = 1e-6  # beside the lock the outer rotations are not determined one by one
SAME_TRIPLE_RAD = 1e-6
MAX_CENTERS = 32  # triples of reference of a motion
ROUNDING_RAD = 0.1  # of triples of reference, so that similar motions share compiled kernels


def _balls(system: ArticulatedSystem) -> Iterator[tuple[Any, slice]]:
    """The bodies whose joint finds named angles from a rotation, and where their coordinates are in q."""
    for body, s in zip(system.bodies, system.q_slices, strict=True):
        if body.joint.by_sequence and body.joint.named is not None:
            yield body, s


def with_branches(system: ArticulatedSystem, branches: Mapping[str, Branch]) -> ArticulatedSystem:
    """The system with triples of reference (`Angles.branch`) for the ball joints of some bodies, by name.

    Each is one or more triples of the file's coordinates [rad]. Of the two triples of a rotation, that which is nearer
    to one of them is taken, whatever the ranges are. The system itself where nothing changes. Raises ModelError for a
    body that no ball joint with named angles carries.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.joints import Angles, SphericalJoint
    >>> axes = (0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
    >>> angles = Angles(("plane", "elevation", "rotation"), axes)
    >>> system = mq.ArticulatedSystem((mq.Body("arm", "ground", SphericalJoint(angles=angles)),))
    >>> Q = angles.quaternion(np.array([0.2, -0.1, 0.3]))
    >>> float(system.coordinate("elevation", Q).round(6))  # not negative, as no range and no branch says more
    0.1
    >>> beside = mq.joints.with_branches(system, {"arm": ((0.0, 0.0, 0.0),)})
    >>> float(beside.coordinate("elevation", Q).round(6))
    -0.1
    """
    check_types(system=(system, ArticulatedSystem), branches=(branches, Mapping))
    known = [body.name for body, _ in _balls(system)]
    for name in branches:
        if name not in known:
            raise ModelError(f"no ball joint with named angles carries a body {name!r}; known: {', '.join(known)}")
    return _with_choices(system, {name: ((), branch) for name, branch in branches.items()})


def on_branches_of(model: SystemT, other: ArticulatedSystem) -> SystemT:
    """A model or a system with the choices between triples of angles of `other`, a system of the same ball joints."""
    choices = {body.name: _choice(body.joint.angles) for body, _ in _balls(other)}
    own = system_of(model)
    system = _with_choices(own, choices)
    if system is own:
        return model
    changed: Any = system if model is own else replace(model, system=system)  # type: ignore[type-var]
    return cast(SystemT, changed)


def _choice(angles: Angles) -> Choice:
    return angles.ranges, angles.branch


def _with_choices(system: ArticulatedSystem, choices: Mapping[str, Choice]) -> ArticulatedSystem:
    """The system with other ranges and branches for the angles of some bodies; itself where nothing changes."""
    changed: dict[str, Body] = {}
    for body, _ in _balls(system):
        joint: Any = body.joint
        ranges, branch = choices.get(body.name, _choice(joint.angles))
        if (ranges, branch) != _choice(joint.angles):
            angles = replace(joint.angles, ranges=ranges, branch=branch)
            changed[body.name] = replace(body, joint=replace(joint, angles=angles))
    if not changed:
        return system
    return replace(system, bodies=followed(changed.get(body.name, body) for body in system.bodies))


def continuous_branches(
    system: ArticulatedSystem, q: Array, known: Mapping[str, Array] | None = None
) -> ArticulatedSystem:
    """The system on branches that are continuous along q (t, nq), frames in their order in time.

    known: angles x (t, 3) [rad] by body, where they are known; elsewhere the first frame has the branch that the system
    has there. The system itself where its own branches are those. Frames beside a gimbal lock have no say.
    """
    found: dict[str, Choice] = {}
    for body, s in _balls(system):
        angles = body.joint.angles
        branch = _branch_along(angles, body.joint.quaternion(q[:, s]), (known or {}).get(body.name))
        if branch is not None:
            found[body.name] = (), branch
    return _with_choices(system, found)


def branch_message(system: ArticulatedSystem, time: Array, q: Array) -> str | None:
    """A sentence about a jump to the other triple of angles along q (..., t, nq); None without a jump."""
    for body, s in _balls(system):
        angles = body.joint.angles
        if angles.ranges or angles.branch:
            switched = _switched(angles, *angles.both(body.joint.quaternion(q[..., s])))
            if switched.any():
                return (
                    f"the angles {', '.join(angles.names)} of body {body.name!r} jump to the other triple of the same "
                    f"rotation at {time[np.argwhere(switched)[0, -1]]:.4g} s, and with them what depends on them; "
                    "`myoquat.joints.with_branches` chooses another branch"
                )
    return None


def start_branches(system: ArticulatedSystem, source: ArticulatedSystem, q: Array, start: Array) -> ArticulatedSystem:
    """The system, at q (nq,), with the triples of the `source` at its coordinates `start` as those of reference.

    Only joints get one whose ranges hold both triples of some rotations, or whose own choice is another triple there.
    """
    found: dict[str, Choice] = {}
    for body, x, Q in named_rotations(source, system, start, q):
        angles = body.joint.angles  # type: ignore[attr-defined]
        if angles.ranges or differs(angles, angles.values(Q), x):
            found[body.name] = angles.ranges, (_triple(x, 1e-6),)
    return _with_choices(system, found)


def named_rotations(
    source: ArticulatedSystem, target: ArticulatedSystem, q: Array, there: Array
) -> Iterator[tuple[Body, Array, Array]]:
    """(body, x (..., 3), Q (..., 4)) of the target's ball joints that the source, at q, has as angles x: Q `there`."""
    for body, s in _balls(target):
        names = body.joint.angles.names
        if set(names) <= set(source.coordinate_names):
            x = np.stack([source.coordinate(name, q) for name in names], axis=-1)
            yield body, x, body.joint.quaternion(there[..., s])


def _branch_along(angles: Angles, Q: Array, known: Array | None) -> Branch | None:
    """The branch of angles that has the triples of a motion Q (t, 4): `known` (t, 3), or those that are continuous.
    None where the angles' own choice has these."""
    own, other = angles.both(Q)
    wrong = differs(angles, own, known) if known is not None else _switched(angles, own, other)
    if not wrong.any():
        return None
    wanted = np.where(wrong[:, None], other, own)
    turned = np.exp(2j * np.pi * wanted / angles.periods)
    centers = [_triple(np.angle(turned.mean(axis=0)) * angles.periods / (2 * np.pi), ROUNDING_RAD)]
    while len(centers) < MAX_CENTERS:
        branch = tuple(centers)
        chosen = replace(angles, ranges=(), branch=branch).values(Q)
        missed = np.flatnonzero(differs(angles, chosen, wanted))
        if not len(missed):
            return branch
        x = wanted[missed[len(missed) // 2]]
        rounded = _triple(x, ROUNDING_RAD)
        centers.append(_triple(x, 1e-6) if rounded in centers else rounded)
    warn_user(
        f"the angles {', '.join(angles.names)} of a motion are on two branches at neighboring rotations: {len(missed)} "
        f"of {len(Q)} frames have other angles than the motion before and after them",
        CoordinateWarning,
    )
    return tuple(centers)


def _triple(x: Array, step: float) -> tuple[float, float, float]:
    a, b, c = (float(v) for v in np.round(np.round(x / step) * step, 6) + 0.0)
    return a, b, c


def differs(angles: Angles, x: Array, y: Array) -> Array:
    """(...) whether coordinates x and y (..., 3) are different triples of a rotation, full turns aside. Beside a lock
    the outer rotations are not determined one by one, and no triple differs."""
    apart = np.abs(_turn(angles.rotations(x) - angles.rotations(y))).max(axis=-1) > SAME_TRIPLE_RAD
    return apart & (angles.lock_sine(y) > NEAR_LOCK_SINE)


def _switched(angles: Angles, own: Array, other: Array) -> Array:
    """(..., t) where the continuous triple is the other one. It changes at steps that are small to the other triple and
    large on one's own. Both triples step alike, so that it does not matter from which one a step starts."""
    switched = np.zeros(own.shape[:-1], dtype=bool)
    if own.shape[-2] > 1:
        f, g = np.moveaxis(angles.rotations(own), -2, 0), np.moveaxis(angles.rotations(other), -2, 0)
        stays, changes = (np.abs(_turn(b - a)).max(axis=-1) for a, b in ((f[:-1], f[1:]), (f[:-1], g[1:])))
        steps = np.cumsum((changes < SMALL_STEP_RAD) & (stays > LARGE_STEP_RAD), axis=0)
        switched[..., 1:] = np.moveaxis(steps, 0, -1) % 2 == 1
    return switched


def _turn(f: Array) -> Array:
    return f - 2 * np.pi * np.round(f / (2 * np.pi))
