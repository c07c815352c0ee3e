"""The same system with its ball joints described otherwise: by quaternions or by Euler sequences."""

import warnings
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from myoquat.core.arguments import check_types
from myoquat.core.lazy_imports import difflib
from myoquat.core.records import dataclass
from myoquat.core.typing import Array, ArrayLike
from myoquat.joints.conversion.balls import (
    Ball,
    as_ball,
    ball_joint_obstacle,
    coordinate_indices,
    followed,
    with_ranges,
)
from myoquat.joints.conversion.branches import differs, named_rotations
from myoquat.joints.conversion.chains import Coupling, find_chains
from myoquat.joints.errors import CoordinateWarning, ModelError
from myoquat.joints.multibody.body import Body
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.rates import CONDITION_LIMIT
from myoquat.joints.sequences import (
    SEQUENCES,
)
from myoquat.joints.types import (
    CustomJoint,
    EulerJoint,
    FloatingJoint,
    FollowerJoint,
    GimbalJoint,
    Joint,
    SphericalJoint,
)
from myoquat.joints.types.angles import Angles
from myoquat.joints.types.follower import angles_of
from myoquat.joints.vectors import joined, joined_matrices, matvec, vector
from myoquat.kernels.symbolic.arrays import is_symbolic

__all__ = ["convert_coordinates", "convert_velocities", "with_rotations"]


def with_rotations(
    system: ArticulatedSystem,
    rotations: str | Mapping[str, str],
    ranges: Mapping[str, tuple[float, float]] | None = None,
    couplings: Mapping[str, Coupling] | None = None,
    driven: Collection[str] = (),
    locked: Collection[str] = (),
) -> ArticulatedSystem:
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
    for wanted in (rotations,) if isinstance(rotations, str) else rotations.values():
        _check_wanted(wanted)
    system = _with_chains(system, rotations, couplings or {}, ranges or {}, locked)
    if not isinstance(rotations, str):
        balls = [body.name for body in system.bodies if ball_joint_obstacle(body) is None]
        for name in rotations:
            if name not in balls:
                raise ModelError(f"no ball joint carries a body {name!r}; known: {', '.join(sorted(balls))}")
    stay = {body.name for body in system.bodies if isinstance(rotations, str) and _stays(body, driven, locked)}
    bodies = [
        body if body.name in stay else _redescribed(body, _wanted(rotations, body.name), ranges or {})
        for body in system.bodies
    ]
    return replace(system, bodies=followed(bodies))


def _stays(body: Body, driven: Collection[str], locked: Collection[str]) -> bool:
    """Whether couplers drive all rotations of a body's custom joint, or one of them is locked."""
    joint = body.joint
    if not isinstance(joint, CustomJoint):
        return False
    names = {joint.coordinates[i] for axis in joint.rotations for i in axis.coordinates}
    return bool(names) and (names <= {*driven} or not names.isdisjoint(locked))


def _with_chains(
    system: ArticulatedSystem,
    rotations: str | Mapping[str, str],
    couplings: Mapping[str, Coupling],
    ranges: Mapping[str, tuple[float, float]],
    locked: Collection[str],
) -> ArticulatedSystem:
    """The system with a ball joint for every chain whose last body is wanted in another way than "sequence"."""
    if rotations == "sequence":
        return system
    replaced: dict[str, Body] = {}
    for chain in find_chains(system.bodies, couplings):
        stays = isinstance(rotations, str) and not {*chain.angles.all_names}.isdisjoint(locked)
        if not stays and _wanted(rotations, chain.last) not in (None, "sequence"):
            replaced |= {body.name: body for body in chain.replaced[:-1]}
            replaced[chain.last] = with_ranges(chain.replaced[-1], ranges)
    if not replaced:
        return system
    return replace(system, bodies=followed(replaced.get(body.name, body) for body in system.bodies))


def _check_wanted(wanted: str) -> None:
    """ValueError, with the nearest name that there is, for a description that does not exist."""
    known = ("quaternion", "sequence", *SEQUENCES)
    if wanted not in known:
        near = difflib.get_close_matches(str(wanted).lower(), [name.lower() for name in known], n=1, cutoff=0.5)
        meant = next((f"; did you mean {name!r}?" for name in known if [name.lower()] == near), "")
        raise ValueError(
            f"rotations is 'quaternion', 'sequence' or an Euler sequence such as 'YZY', not {wanted!r}{meant}"
        )


def _wanted(rotations: str | Mapping[str, str], body: str) -> str | None:
    return rotations if isinstance(rotations, str) else rotations.get(body)


def _redescribed(body: Body, wanted: str | None, ranges: Mapping[str, tuple[float, float]]) -> Body:
    """The body on another description of its ball joint; any other body as it is."""
    if wanted is None or ball_joint_obstacle(body) is not None or isinstance(body.joint, FloatingJoint):
        return body
    if isinstance(body.joint, (CustomJoint, GimbalJoint)):
        if wanted == "sequence":
            return body
        body = with_ranges(as_ball(body), ranges)
        if wanted == "quaternion" or isinstance(body.joint, FloatingJoint):
            return body
    joint = _described(body, wanted)
    if joint == body.joint or type(joint) is type(body.joint) is SphericalJoint:
        return body
    if body.stiffness or body.rotor_inertia:
        raise ModelError(
            "a spring or a rotor inertia acts on the joint's own velocities and has no equal in another description",
            element=f"body {body.name!r}",
        )
    return with_ranges(replace(body, joint=joint, spring_mount=None, coordinate_names=_names(body, joint)), ranges)


def _described(body: Body, wanted: str) -> Joint:
    joint: Any = body.joint
    if wanted == "quaternion":
        return SphericalJoint(sequence=joint.sequence, angles=_angles(body))
    sequence, angles = joint.sequence if wanted == "sequence" else wanted, _angles(body)
    return EulerJoint(sequence, None if angles is None or angles.are_of(sequence) else angles)


def _angles(body: Body) -> Angles | None:
    """The named angles of a ball joint; None where its coordinates have no names of their own."""
    joint: Any = body.joint
    if isinstance(joint, SphericalJoint) or joint.angles is not None:
        return joint.angles
    if body.coordinate_names is None:
        return None
    first, second, third = (tuple(np.eye(3)["XYZ".index(letter)].tolist()) for letter in joint.sequence)
    return Angles((*body.coordinate_names,), (first, second, third))  # type: ignore[arg-type]


def _names(body: Body, joint: Joint) -> tuple[str, ...] | None:
    """The names of the coordinates on another joint: those of the file's angles where they are its coordinates."""
    angles = _angles(body)
    if isinstance(joint, EulerJoint) and joint.angles is None and angles is not None:
        return angles.names
    return None


def _pairs(source: ArticulatedSystem, target: ArticulatedSystem) -> Any:
    if source.body_names != target.body_names:
        raise ValueError(f"the systems have different bodies: {source.body_names} and {target.body_names}")
    return zip(source.bodies, target.bodies, source.q_slices, source.u_slices, strict=True)


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
    parts = [
        _coordinates(a.joint, b.joint, q[..., iq]) if (named := _of_chain(source, target, i)) is None else named.q(q)
        for i, (a, b, iq, _) in enumerate(_pairs(source, target))
    ]
    there = np.concatenate([q[..., :0], *parts], axis=-1)
    if not is_symbolic(there):
        _warn_of_other_branch(source, target, q, there)
    return there


def _warn_of_other_branch(source: ArticulatedSystem, target: ArticulatedSystem, q: Array, there: Array) -> None:
    """A CoordinateWarning for angles of the source that the target takes for the other triple of the same rotation,
    although they lie in their ranges."""
    for body, x, Q in named_rotations(source, target, q, there):
        angles: Angles = body.joint.angles  # type: ignore[attr-defined]
        lost = angles.is_open(Q) & differs(angles, angles.values(Q), x)
        if np.any(lost):
            first = tuple(int(i) for i in np.argwhere(lost)[0])
            pose = f" of pose {list(first)}" if first else ""
            given, taken = (np.round(values[first], 4).tolist() for values in (x, angles.values(Q)))
            warnings.warn(
                f"body {body.name!r}: the rotation{pose} has two triples of {', '.join(angles.names)} in their ranges. "
                f"The quaternion stands for {taken} rad, not for {given}; `with_branches` chooses another branch",
                CoordinateWarning,
                stacklevel=3,
            )


@dataclass(frozen=True)
class _Named:
    """The state of a body's joint, read from other coordinates of the same names.

    The joint is a ball joint in one system where the other system has a chain, or it is a joint of that chain.
    """

    source: ArticulatedSystem
    joint: Joint
    names: tuple[str, ...]

    def q(self, q: Array) -> Array:
        """(..., nq of the joint), from q (..., nq) of the source."""
        x = [self.source.coordinate(name, q) for name in self.names]
        if not x:
            return q[..., :0]
        stacked = vector(x)
        if not isinstance(self.joint, Ball):
            return stacked
        return _coordinates(GimbalJoint(angles_of(self.joint)), self.joint, stacked)

    def u(self, q: Array, u: Array) -> Array:
        """(..., nu of the joint), from q (..., nq) and u (..., nu) of the source."""
        rates = [self._rate(name, q, u) for name in self.names]
        if not rates:
            return u[..., :0]
        stacked = vector(rates)
        if not isinstance(self.joint, Ball):
            return stacked
        x = np.stack([self.source.coordinate(name, q) for name in self.names], axis=-1)
        return _velocities(GimbalJoint(angles_of(self.joint)), self.joint, x, stacked)

    def _rate(self, name: str, q: Array, u: Array) -> Array:
        """(...) the rate of a coordinate of the source."""
        source = self.source
        if name in source.coordinate_names:
            return u[..., source.velocity_names.index(f"{name}_dot")]
        i, place = source.angle_names[name]
        joint: Any = source.bodies[i].joint
        own = q[..., source.q_slices[i]], u[..., source.u_slices[i]]
        gimbal = GimbalJoint(joint.angles)
        rates = own[1] if isinstance(joint, GimbalJoint) else _velocities(joint, gimbal, *own)
        if place < 3:
            return rates[..., place]
        dependent = joint.angles.dependents[place - 3]
        return dependent.factor * rates[..., dependent.place]


def _of_chain(source: ArticulatedSystem, target: ArticulatedSystem, i: int) -> _Named | None:
    """How the state of a body's joint in the target comes from other bodies' joints in the source; None if it comes
    from its own."""
    a, b = source.bodies[i].joint, target.bodies[i].joint
    led = {body.joint.leader for s in (source, target) for body in s.bodies if isinstance(body.joint, FollowerJoint)}
    if isinstance(a, FollowerJoint) == isinstance(b, FollowerJoint) and source.bodies[i].name not in led:
        return None
    if isinstance(a, Ball) and isinstance(b, Ball):
        return None
    names = angles_of(b).names if isinstance(b, Ball) else target.bodies[i].names_of_coordinates
    return _Named(source, b, names)


def _coordinates(source: Joint, target: Joint, q: Array) -> Array:
    if source == target:
        return q
    if isinstance(source, CustomJoint) or isinstance(target, CustomJoint):
        return _custom_coordinates(source, target, q)
    if not isinstance(source, Ball):
        return q
    Q = source.quaternion(q)
    return target.from_quaternion(Q) if isinstance(target, Ball) else Q


def _custom_coordinates(source: Joint, target: Joint, q: Array) -> Array:
    """Between a custom joint and the quaternion joint in its place, or any Euler joint by way of that."""
    if isinstance(source, CustomJoint):
        ball = _ball_of(source)
        angles, offsets = coordinate_indices(source, ball.angles)
        Q = joined([q[..., offsets], ball.angles.quaternion(q[..., angles])])
        return Q if type(target) is type(ball) else _coordinates(ball, target, Q)
    ball = _ball_of(target)
    angles, offsets = coordinate_indices(target, ball.angles)  # type: ignore[arg-type]
    Q = q if type(source) is type(ball) else _coordinates(source, ball, q)
    result = np.empty((*Q.shape[:-1], target.nq))
    own = getattr(source, "angles", None)  # which may know ranges
    known = own if own is not None and replace(own, ranges=(), branch=()) == ball.angles else ball.angles
    result[..., angles], result[..., offsets] = known.values(Q[..., -4:]), Q[..., : len(offsets)]
    return result


def _ball_of(joint: Joint) -> Any:
    """The quaternion joint in place of a custom one; ModelError if it is no ball joint."""
    return as_ball(Body("joint", "parent", joint)).joint


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
    q, u = source.check_q(q), source.check_u(u)
    parts = [
        _velocities(a.joint, b.joint, q[..., iq], u[..., iu])
        if (named := _of_chain(source, target, i)) is None
        else named.u(q, u)
        for i, (a, b, iq, iu) in enumerate(_pairs(source, target))
    ]
    return joined(parts)


def _velocities(source: Joint, target: Joint, q: Array, u: Array) -> Array:
    if source == target or (source.span == "some" and not isinstance(source, CustomJoint)):
        return u
    S_omega, S_v = source.subspace(q)
    omega = matvec(S_omega, u)
    there = _coordinates(source, target, q)
    if target.span == "rotations" and not isinstance(target, GimbalJoint):
        return matvec(target.subspace_inverse(there), omega)
    T_omega, T_v = target.subspace(there)
    if target.nu == 3:
        return _solved(T_omega, omega, target)
    return _solved(joined_matrices([T_v, T_omega], -2), joined([matvec(S_v, u), omega]), target)


def _solved(S: Array, motion: Array, target: Joint) -> Array:
    """u with S u = motion; ValueError past a condition number of 1e12."""
    condition = np.linalg.cond(S)
    if np.any(condition > CONDITION_LIMIT):
        where = [int(i) for i in np.argwhere(condition > CONDITION_LIMIT)[0]]
        raise ValueError(f"convert_velocities: the {target.kind} joint is in gimbal lock at pose {where}")
    batch = np.broadcast_shapes(S.shape[:-2], motion.shape[:-1])
    S, motion = np.broadcast_to(S, (*batch, *S.shape[-2:])), np.broadcast_to(motion, (*batch, motion.shape[-1]))
    return np.linalg.solve(S, motion[..., None])[..., 0]
