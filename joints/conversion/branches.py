"""The branch of a ball joint's angles: which of the two triples that describe a rotation is meant.

R(a1, f1) R(a2, f2) R(a3, f3) has two triples for each rotation. If the axes are orthogonal, the second one is (f1 + pi,
-f2, f3 + pi) for equal outer axes, and (f1 + pi, pi - f2, f3 + pi) for different ones. They meet in gimbal lock.
Points, limits and functions of a model file may depend on the angles, and they differ between the two. A quaternion
does not say which triple is meant, so the model's description does (`Angles.branch`, `Angles.ranges`). Along a motion
the branch is continuous.
"""

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar, cast

import numpy as np

from myoquat.core.arguments import check_types
from myoquat.core.typing import Array
from myoquat.joints import ArticulatedSystem, Body, CoordinateWarning, ModelError
from myoquat.joints.conversion.balls import followed
from myoquat.joints.evaluation import SystemLike, system_of
from myoquat.joints.types.angles import Angles, Branch

__all__ = ["branch_message", "continuous_branches", "differs", "on_branches_of", "start_branches", "with_branches"]

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
    warnings.warn(
        f"the angles {', '.join(angles.names)} of a motion are on two branches at neighboring rotations: {len(missed)} "
        f"of {len(Q)} frames have other angles than the motion before and after them",
        CoordinateWarning,
        stacklevel=2,
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
