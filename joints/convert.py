"""The same system with its ball joints described otherwise: by quaternions or by Euler sequences."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from joints._layout import joined, row_times, transpose
from joints.body import Body
from joints.errors import ModelError
from joints.euler import (
    euler_from_quaternion,
    euler_rate_inverse,
    quaternion_from_euler,
)
from joints.system import ArticulatedSystem
from joints.types import EulerJoint, FloatingJoint, Joint, SphericalJoint
from joints.vectors import turn, turn_back

__all__ = ["convert_coordinates", "convert_velocities", "with_rotations"]

Ball = SphericalJoint | EulerJoint


def with_rotations(system: ArticulatedSystem, rotations: str | Mapping[str, str]) -> ArticulatedSystem:
    """The system with every spherical and Euler-sequence joint turned into the wanted description.

    rotations: "quaternion", an Euler sequence, "sequence" (each joint's own sequence), or a mapping from body names
    to these, where bodies that it leaves out stay as they are. Raises ModelError for a body that does not exist or
    whose joint is no ball joint, or has a spring or a rotor inertia, ValueError for an unknown sequence.
    """
    if not isinstance(rotations, str):
        balls = {body.name for body in system.bodies if isinstance(body.joint, Ball)}
        for name in rotations:
            if name not in balls:
                raise ModelError(f"no ball joint carries a body {name!r}; known: {', '.join(sorted(balls))}")
    bodies = [
        _redescribed(body, _described(body.joint, _wanted(rotations, body.name)))
        if isinstance(body.joint, Ball)
        else body
        for body in system.bodies
    ]
    return replace(system, bodies=tuple(bodies))


def _wanted(rotations: str | Mapping[str, str], body: str) -> str | None:
    return rotations if isinstance(rotations, str) else rotations.get(body)


def _redescribed(body: Body, joint: Joint) -> Body:
    """The body on another description of its ball joint."""
    if joint == body.joint or type(joint) is type(body.joint) is SphericalJoint:
        return body
    if body.stiffness or body.rotor_inertia:
        raise ModelError(
            "a spring or a rotor inertia acts on the joint's own velocities and has no equal in another description",
            element=f"body {body.name!r}",
        )
    names = body.coordinate_names if joint.nq == body.joint.nq else None
    return replace(body, joint=joint, spring_mount=None, coordinate_names=names)


def _described(joint: Ball, wanted: str | None) -> Joint:
    if wanted is None:
        return joint
    if wanted == "quaternion":
        return SphericalJoint(sequence=joint.sequence)
    return EulerJoint(sequence=joint.sequence if wanted == "sequence" else wanted)


def _pairs(source: ArticulatedSystem, target: ArticulatedSystem) -> Any:
    if source.body_names != target.body_names:
        raise ValueError(f"the systems have different bodies: {source.body_names} and {target.body_names}")
    return zip(source.bodies, target.bodies, source.q_slices, source.u_slices, strict=True)


def convert_coordinates(source: ArticulatedSystem, target: ArticulatedSystem, q: Any) -> np.ndarray:
    """(..., target.nq) coordinates of the same pose: q (..., source.nq) of `source` as coordinates of `target`.

    Euler angles come in their principal range, quaternions continuous in the angles (Q0 of either sign).
    """
    q = source.check_q(q)
    parts = [_coordinates(a.joint, b.joint, q[..., iq]) for a, b, iq, _ in _pairs(source, target)]
    return np.concatenate(parts, axis=-1)


def _coordinates(source: Joint, target: Joint, q: np.ndarray) -> np.ndarray:
    if source == target or not isinstance(source, Ball):
        return q
    Q = q if isinstance(source, SphericalJoint) else quaternion_from_euler(q, source.sequence)
    return Q if not isinstance(target, EulerJoint) else euler_from_quaternion(Q, target.sequence)


def convert_velocities(source: ArticulatedSystem, target: ArticulatedSystem, q: Any, u: Any) -> np.ndarray:
    """(..., target.nu) velocities of the same motion, from u (..., source.nu) at q (..., source.nq).

    The systems may differ in the description of their ball joints and in their velocity frame.

    Raises ValueError where the target's sequence is in gimbal lock.
    """
    q, u = source.check_q(q), source.check_u(u)
    parts = [_velocities(a.joint, b.joint, q[..., iq], u[..., iu]) for a, b, iq, iu in _pairs(source, target)]
    return joined(parts)


def _velocities(source: Joint, target: Joint, q: np.ndarray, u: np.ndarray) -> np.ndarray:
    if source == target:
        return u
    if isinstance(source, FloatingJoint) and isinstance(target, FloatingJoint):
        R, _ = source.transform(q)
        turned = turn if source.in_child else turn_back
        return joined([turned(R, u[..., :3]), turned(R, u[..., 3:])])
    if not isinstance(source, Ball):
        return u
    S_omega, _ = source.subspace(q)
    return _ball_velocities(target, _coordinates(source, target, q), turn(S_omega, u))


def _ball_velocities(target: Joint, q: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """Velocities of a ball joint at q from its child-frame angular velocity."""
    if isinstance(target, EulerJoint):
        return row_times(omega, transpose(euler_rate_inverse(q, target.sequence)))
    if isinstance(target, SphericalJoint) and not target.in_child:
        R, _ = target.transform(q)
        return turn(R, omega)
    return omega
