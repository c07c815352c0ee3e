"""Muscle paths along a motion, by one kernel: contacts are searched once for all quantities."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.compiled import kernel_for
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.kernels import Kernel, compile
from myoquat.muscle import path_jacobian, path_lengths
from myoquat.muscle.argument_validation import MuscleCall
from myoquat.muscle.model import Model
from myoquat.muscle.path import Muscle, on_bones
from myoquat.muscle.segments.lengths import carried_bodies, carried_wrenches as muscle_wrenches, lengths, velocity_jacobian
from myoquat.muscle.segments.tables import tables_pay

__all__ = ["Paths", "joint_lines", "paths_along"]


class Paths(NamedTuple):
    """Paths of muscles, and the forces of unit tensions in some joints.

    lengths   (t, m)
    jacobian  (t, m, nu)
    lines     (t, c, m, 3) forces on the parents of the joints, in the parents' axes, of a unit tension of every muscle
    parents   (t, c, 3, 3) orientations of the parents
    """

    lengths: Array
    jacobian: Array
    lines: Array
    parents: Array


def paths_along(model: Model, q: Array, joints: Sequence[int]) -> Paths:
    """At poses q (t, nq), of the joints of these bodies, by their numbers."""
    system, count, m = model.system, len(joints), len(model.muscles)
    q = MuscleCall(model).q(q).inputs["q"].array
    if count:
        on_bones(model.muscles)
    apart = tables_pay(model.muscles)  # then lengths and J have programs of their own
    if apart and not count:
        return Paths(path_lengths(model, q), path_jacobian(model, q), np.zeros((len(q), 0, m, 3)),
                     np.zeros((len(q), 0, 3, 3)))  # fmt: skip

    def formula(q: Array) -> tuple[Array, ...]:
        own = () if apart else (lengths(system, model.muscles, q), velocity_jacobian(system, model.muscles, q))
        return *own, *(x for i in joints for x in joint_lines(system, model.muscles, q, i))

    def build(content: str | None) -> Kernel:
        return compile(formula, {"q": (system.nq,)}, name="trial_paths", content=content)

    kernel: Any = kernel_for(("trial_paths", model.content_key, tuple(joints)), build)
    found = kernel(q)
    own, rows = ((path_lengths(model, q), path_jacobian(model, q)), found) if apart else (found[:2], found[2:])
    lines, parents = np.reshape(rows[::2], (count, len(q), m, 3)), np.reshape(rows[1::2], (count, len(q), 3, 3))
    return Paths(own[0], own[1], np.swapaxes(lines, 0, 1), np.swapaxes(parents, 0, 1))


def joint_lines(system: ArticulatedSystem, muscles: tuple[Muscle, ...], q: Array, body: int) -> tuple[Array, Array]:
    """(..., m, 3) forces of unit tensions on the parent of a body's joint, and (..., 3, 3) the parent's orientation.

    Forces are in the parent's axes. This is the formula, on floats and symbols.
    """
    carried = carried_bodies(system, system.body_names[body])
    R = system.poses(q)[system.bodies[body].parent][0] + 0.0 * q[..., :1, None]
    return muscle_wrenches(system, muscles, q, carried)[..., :3] @ R, R
