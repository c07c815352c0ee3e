"""The same system with its ball joints described otherwise: by quaternions or by Euler sequences."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from myoquat.core import Array, ArrayLike, check_types, difflib, indices_of, real_array, warn_user
from myoquat.joints import (
    SEQUENCES,
    ArticulatedSystem,
    Body,
    CoordinateWarning,
    EulerJoint,
    GimbalJoint,
    Joint,
    ModelError,
    SphericalJoint,
)
from myoquat.joints.multibody import state
from myoquat.joints.rates import CONDITION_LIMIT
from myoquat.joints.types.follower import angles_of, named_coordinates
from myoquat.joints.vectors import spread, vector
from myoquat.kernels import is_symbolic

from .balls import as_ball, ball_joint_obstacle, differs, followed, in_angles, named_rotations, with_ranges
from .chains import Coupling, find_chains


def with_rotations(
    system: ArticulatedSystem, rotations: str | Mapping[str, str],
    ranges: Mapping[str, tuple[float, float]] | None = None, couplings: Mapping[str, Coupling] | None = None,
    driven: Collection[str] = (), locked: Collection[str] = (),
) -> ArticulatedSystem:  # fmt: skip
    """The system with every ball joint described as wanted: by a quaternion or by angles.

    Ball joints are spherical and Euler joints, and custom joints of three rotations about fixed axes through one
    centre. Such a custom joint may also translate freely. `myoquat.joints.ball_joint_obstacle` tells why another joint
    has no such description.

    A chain of bodies on successive rotations about one point becomes one ball joint, if three coordinates drive all of
    them independently (`myoquat.joints.conversion.chains`). The bodies between its ends stay as frames that follow the
    rotation.

    rotations  "quaternion", an Euler sequence, "sequence", or a mapping from body names to these. With "sequence" each
               spherical and Euler joint gets its own sequence, and custom joints stay as they are. Bodies that a
               mapping leaves out stay as they are.
    ranges     of coordinates by name [rad], from a model file. If those of a joint go past its lock, they choose
               between the two triples of angles of a rotation.
    couplings  of coordinates that others drive linearly, by name: (driving coordinate, factor, offset). In a chain
               these follow without a constraint.
    driven     coordinates that couplers drive. A joint whose rotations are all driven stays as it is, since nothing is
               left free in it. A mapping that names its body converts it.
    locked     coordinates that do not move. A joint with such a rotation stays as it is, since an angle of a quaternion
               cannot be locked alone. A mapping that names its body converts it.

    Raises ModelError for a body that does not exist, whose joint is no ball joint, or has a spring or a rotor inertia.
    Raises ValueError for an unknown sequence.

    >>> import myoquat as mq
    >>> ball = mq.ArticulatedSystem((mq.Body("arm", "ground", mq.joints.SphericalJoint("YZY")),))
    >>> mq.joints.with_rotations(ball, "ZXY").coordinate_names
    ('arm.p1', 'arm.p2', 'arm.p3')
    """
    check_types(system=(system, ArticulatedSystem), rotations=(rotations, (str, Mapping)))
    every = isinstance(rotations, str)
    wanted = dict.fromkeys(system.body_names, rotations) if isinstance(rotations, str) else rotations
    for description in (rotations,) if isinstance(rotations, str) else rotations.values():
        _check_wanted(description)
    replaced: dict[str, Body] = {}
    for *followers, last in find_chains(system.bodies, couplings or {}):
        stays = every and not {*angles_of(last.joint).all_names}.isdisjoint(locked)
        if not stays and wanted.get(last.name) not in (None, "sequence"):
            replaced |= {body.name: body for body in (*followers, with_ranges(last, ranges or {}))}
    bodies = followed(replaced.get(body.name, body) for body in system.bodies)
    balls = [body.name for body in bodies if ball_joint_obstacle(body) is None]
    for name in () if every else rotations:
        if name not in balls:
            raise ModelError(f"no ball joint carries a body {name!r}; known: {', '.join(sorted(balls))}")
    return replace(system, bodies=followed(
        body if every and _stays(body, driven, locked) else _redescribed(body, wanted.get(body.name), ranges or {})
        for body in bodies
    ))  # fmt: skip


def _stays(body: Body, driven: Collection[str], locked: Collection[str]) -> bool:
    """Whether couplers drive all rotations of a body's custom joint, or one of them is locked."""
    joint = body.joint
    if joint.span != "some":
        return False
    names = {joint.facts.coordinates[i] for axis in joint.rotations for i in axis.coordinates}
    return bool(names) and (names <= {*driven} or not names.isdisjoint(locked))


def _check_wanted(wanted: str) -> None:
    """ValueError, with the nearest name that there is, for a description that does not exist."""
    known = ("quaternion", "sequence", *SEQUENCES)
    if wanted not in known:
        near = difflib.get_close_matches(str(wanted).lower(), [name.lower() for name in known], n=1, cutoff=0.5)
        meant = next((f"; did you mean {name!r}?" for name in known if [name.lower()] == near), "")
        raise ValueError(
            f"rotations is 'quaternion', 'sequence' or an Euler sequence such as 'YZY', not {wanted!r}{meant}"
        )


def _redescribed(body: Body, wanted: str | None, ranges: Mapping[str, tuple[float, float]]) -> Body:
    """The body on another description of its ball joint; any other body as it is."""
    if wanted is None or ball_joint_obstacle(body) is not None:
        return body
    if not body.joint.by_sequence and wanted != "sequence":
        body = with_ranges(as_ball(body), ranges)
    joint: Any = body.joint
    is_quaternion = joint.facts.quaternion is not None
    if joint.span == "all" or not joint.by_sequence or (is_quaternion and wanted == "quaternion"):
        return body
    angles, names = joint.named, None
    if angles is None and not is_quaternion and body.coordinate_names is not None:
        angles = replace(joint.own_angles, names=body.coordinate_names)
    sequence = joint.sequence if wanted in ("quaternion", "sequence") else wanted
    if wanted == "quaternion":
        described: Joint = SphericalJoint(sequence=sequence, angles=angles)
    elif angles is not None and angles.are_of(sequence):
        described, names = EulerJoint(sequence), angles.names
    else:
        described = EulerJoint(sequence, angles)
    if described == joint:
        return body
    if body.stiffness or body.rotor_inertia:
        raise ModelError(
            "a spring or a rotor inertia acts on the joint's own velocities and has no equal in another description",
            element=f"body {body.name!r}",
        )
    return with_ranges(replace(body, joint=described, spring_mount=None, coordinate_names=names), ranges)


def convert_coordinates(source: ArticulatedSystem, target: ArticulatedSystem, q: ArrayLike) -> Array:
    """(..., target.nq) coordinates of the same pose: q (..., source.nq) of `source` as coordinates of `target`.

    Euler angles come in their principal range, quaternions continuous in the angles (Q0 of either sign).

    A CoordinateWarning tells where angles in their ranges become a quaternion whose angles are another triple, also in
    their ranges (`myoquat.joints.with_branches`).

    >>> import numpy as np
    >>> import myoquat as mq
    >>> model = mq.load_model("two_link")
    >>> euler = model.with_rotations("sequence")
    >>> mq.joints.convert_coordinates(model.system, euler.system, np.array(model.start_q)).shape
    (6,)
    """
    check_types(source=(source, ArticulatedSystem), target=(target, ArticulatedSystem))
    q = source.check_q(q)
    there = same_pose(source, target, q)
    if not is_symbolic(there):
        _warn_of_other_branch(source, target, q, there)
    return there


def same_pose(source: ArticulatedSystem, target: ArticulatedSystem, q: Array) -> Array:
    """`convert_coordinates` of coordinates that are checked, on whichever branches.

    Each joint of the target has its coordinates from that of the same body. Where one system has a ball joint and the
    other one a chain, it has them by the names of coordinates of the source.
    """
    if source.body_names != target.body_names:
        raise ValueError(f"the systems have different bodies: {source.body_names} and {target.body_names}")
    led = {body.joint.follows for system in (source, target) for body in system.bodies}
    parts = [q[..., :0]]
    for a, b, iq in zip(source.bodies, target.bodies, source.q_slices, strict=True):
        plain = a.joint.follows == b.joint.follows and a.name not in led
        if plain or {a.joint.span, b.joint.span} == {"rotations"}:
            parts.append(_coordinates(a.joint, b.joint, q[..., iq]))
        elif names := angles_of(b.joint).names if b.joint.span == "rotations" else b.names_of_coordinates:
            x = vector([source.coordinate(name, q) for name in names])
            ball = b.joint.span != "some"
            parts.append(_coordinates(GimbalJoint(angles_of(b.joint)), b.joint, x) if ball else x)
    return np.concatenate(parts, axis=-1)


def _warn_of_other_branch(source: ArticulatedSystem, target: ArticulatedSystem, q: Array, there: Array) -> None:
    """A CoordinateWarning for angles of the source that the target takes for the other triple of the same rotation."""
    for body, x, Q in named_rotations(source, target, q, there):
        angles = angles_of(body.joint)
        lost = differs(angles, angles.values(Q), x)
        if np.any(lost):
            first = tuple(int(i) for i in np.argwhere(lost)[0])
            pose = f" of pose {list(first)}" if first else ""
            given, taken = (np.round(values[first], 4).tolist() for values in (x, angles.values(Q)))
            warn_user(
                f"body {body.name!r}: the rotation{pose} has two triples of {', '.join(angles.names)}. The quaternion "
                f"stands for {taken} rad, not for {given}; `with_branches` chooses another branch",
                CoordinateWarning,
            )


def _coordinates(source: Joint, target: Joint, q: Array) -> Array:
    if source == target:
        return q
    return target.from_ball(source.to_ball(q), source.named)


def convert_velocities(source: ArticulatedSystem, target: ArticulatedSystem, q: ArrayLike, u: ArrayLike) -> Array:
    """(..., target.nu) velocities of the same motion, from u (..., source.nu) at q (..., source.nq).

    The systems may differ in the description of their ball joints and in their velocity frame.

    Raises ValueError where the target's sequence, or its custom joint, is in gimbal lock.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> ball = mq.ArticulatedSystem((mq.Body("arm", "ground", mq.joints.SphericalJoint("ZYX")),))
    >>> euler = mq.joints.with_rotations(ball, "sequence")
    >>> q, omega = ball.neutral(), [0.1, 0.2, 0.3]
    >>> mq.joints.convert_velocities(ball, euler, q, omega)  # rates of the angles about z, y, x
    array([0.3, 0.2, 0.1])
    """
    check_types(source=(source, ArticulatedSystem), target=(target, ArticulatedSystem))
    return same_speeds(source, target, source.check_q(q), source.check_u(u))


def same_speeds(
    source: ArticulatedSystem, target: ArticulatedSystem, q: Array, u: Array, there: Array | None = None
) -> Array:
    """`convert_velocities` of what is checked, from the rates of the converted coordinates. `there` (..., target.nq)
    are these coordinates, where they are known."""
    q, u = spread(q, u)
    there = same_pose(source, target, q) if there is None else there
    rates = state.rate_along(lambda s: same_pose(source, target, state.displaced(source, q, s * u)), q)
    found = state.velocities(target, there, rates)
    parts = [found[..., :0]]
    for i, (a, b) in enumerate(zip(source.bodies, target.bodies, strict=True)):
        equal = a.joint == b.joint
        parts.append(u[..., source.u_slices[i]] if equal else found[..., target.u_slices[i]])
        if equal or is_symbolic(q):
            continue
        sines = []  # of the angles whose rates are found
        if b.joint.own_angles is not None:
            sines.append(b.joint.own_angles.lock_sine(there[..., target.q_slices[i]][..., [*b.joint.turning]]))
        elif a.joint.span == "rotations" and b.joint.span == "some":
            sines.append(angles_of(a.joint).lock_sine(named_coordinates(a.joint, q[..., source.q_slices[i]])))
        for where in (pose.tolist() for sine in sines for pose in np.argwhere(sine <= 1 / CONDITION_LIMIT)):
            raise ValueError(f"convert_velocities: the {b.joint.kind} joint is in gimbal lock at pose {where}")
    return np.concatenate(parts, axis=-1)


# ---- Coordinates by name: a pose from a few of them, the angles that quaternions have replaced among them -----------


def named_system(system: ArticulatedSystem, names: Collection[str]) -> ArticulatedSystem:
    """The system in which every one of these names is a coordinate: a file's angles in place of quaternions.

    Raises ValueError, with the nearest names, for one that is neither.
    """
    indices_of("coordinate", names, (*system.coordinate_names, *system.angle_names))
    return in_angles(system, names)


def by_name(system: ArticulatedSystem, values: Mapping[str, ArrayLike], start: ArrayLike) -> Array:
    """(..., nq) q of `start` (..., nq) with the named coordinates set to `values` [rad, m], which broadcast.

    Raises ValueError for a name that is unknown, and where the result is no state of the system.
    """
    named = named_system(system, values)
    arrays, there = {name: real_array(name, x) for name, x in values.items()}, convert_coordinates(system, named, start)
    shape = np.broadcast_shapes(there.shape[:-1], *(x.shape for x in arrays.values()))
    q = np.array(np.broadcast_to(there, (*shape, named.nq)))
    for name, x in arrays.items():
        q[..., named.coordinate_names.index(name)] = x
    return convert_coordinates(named, system, named.check_q(q))
