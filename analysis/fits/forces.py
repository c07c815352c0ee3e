"""Fits of the forces with which muscles press on a joint, for limits of its reaction such as stability cones."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from myoquat.core import Array, ArrayLike, check_types, frozen
from myoquat.muscle import Model, PoseFunction, unit_wrenches

from .basis import FitSettings, crossings
from .fit import pose_function
from .group import Group
from .jumps import allowed_motions, solved_paths
from .poses import chosen_muscles, given_poses

MIN_FORCE = 1e-9  # force of a unit tension below which a muscle does not cross the joint


@frozen
class JointForceFits:
    """The force of a unit tension of each muscle on a body and all that it carries, in axes of the joint's parent body.

    functions  by muscle, the three components; times the tension [N] they are the force [N] that passes the joint
    errors     by muscle, the root mean square on held-out poses of the length of the difference

    Magnitude and direction are those of the vector.

    >>> import myoquat as mq
    >>> from myoquat.analysis.fits import fit_joint_forces, range_poses
    >>> model = mq.load_model("two_link")
    >>> fits = fit_joint_forces(model, "B", range_poses(model, 300), error=0.3, muscles=("m6",))
    >>> fits.unit_forces(model, model.start).shape
    (1, 3)
    """

    body: str
    functions: Mapping[str, tuple[PoseFunction, PoseFunction, PoseFunction]]
    errors: Mapping[str, float]

    def unit_forces(self, model: Model, q: ArrayLike) -> Array:
        """(..., m, 3) the forces of unit tensions at coordinates q (..., nq)."""
        checked = model.system.check_q(q)
        rows = [[f.value(model.system, checked) for f in parts] for parts in self.functions.values()]
        return np.moveaxis(np.array(rows).reshape(len(rows), 3, *checked.shape[:-1]), (0, 1), (-2, -1))


def fit_joint_forces(
    model: Model,
    body: str,
    poses: ArrayLike | None = None,
    *,
    error: float = 0.01,
    muscles: tuple[str, ...] | None = None,
    settings: FitSettings | None = None,
) -> JointForceFits:
    """Forces of unit tensions on a joint as functions of the pose, in the basis of `fit_paths`.

    Of muscles that do not cross the joint there are none.

    body     the joint's child; muscles pull on it and on all bodies that it carries (`myoquat.muscle.unit_wrenches`)
    error    wanted root mean square of the force's error, for a unit tension
    poses    (n, nq), by default 4,000 of `range_poses`; those near a jump of the length are left out
    settings `terms`, `candidates`, `degree`, `weight`, `near` and `held_out` as for `fit_paths`

    ValueError as `fit_paths` raises it, and for a body that does not exist.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis.fits import fit_joint_forces, range_poses
    >>> from myoquat.muscle import PathPoint
    >>> arm = mq.ArticulatedSystem((mq.Body("arm", "ground", mq.joints.SphericalJoint()),))
    >>> path = (PathPoint("ground", (-0.3, 0.0, 0.0)), PathPoint("arm", (0.0, 0.0, -0.1)))
    >>> model = mq.Model(arm, (mq.Muscle("deltoid", path),))
    >>> fits = fit_joint_forces(model, "arm", range_poses(model, 500))
    >>> bool(np.abs(np.linalg.norm(fits.unit_forces(model, model.start)[0]) - 1.0) < 0.03)  # pulled by the tension
    True
    """
    check_types(model=(model, Model), body=(body, str))
    settings = FitSettings() if settings is None else settings
    q = given_poses(model, poses)
    names, chosen = chosen_muscles(model, muscles)
    R, _ = model.system.poses(q)[model.system.bodies[model.system.indices.body(body)].parent]
    force = unit_wrenches(model, q, body)[..., :3] @ R  # (n, m, 3) in axes of the parent
    solved, allowed = solved_paths(model, q, settings.near), allowed_motions(model, q)
    usable = solved.usable & np.isfinite(force).all(axis=-1)
    able = [k for k in chosen if np.abs(force[usable[:, k], k]).max(initial=0.0) > MIN_FORCE]
    slopes = np.abs(np.where(usable[..., None], solved.jacobian, 0.0)).max(axis=0, initial=0.0)
    found: dict[str, tuple[PoseFunction, PoseFunction, PoseFunction]] = {}
    errors: dict[str, float] = {}
    # a component of the force in place of a length, without rates
    settings, still = replace(settings, length_error=error / np.sqrt(3.0)), np.zeros((len(q), model.system.nu, 0))
    for crossing in crossings(model, able, q, slopes, allowed, additive=False):
        group = Group(model, crossing, q, still, settings)
        degree = group.degree(settings.candidates)
        for k in crossing.muscles:
            parts, off = zip(*(group.polynomial(degree, y[None], usable[:, k]) for y in force[:, k].T), strict=True)
            x, y, z = (pose_function(group.level(degree)[0], part) for part in parts)
            found[model.muscle_names[k]] = x, y, z
            errors[model.muscle_names[k]] = error * float(np.sqrt(np.mean(np.square(off))))
    return JointForceFits(body, {name: found[name] for name in names if name in found}, errors)
