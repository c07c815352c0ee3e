"""Fits of path lengths over a set of poses, and of the forces with which muscles press on a joint.

Lengths and Jacobians are fitted together; a certificate has their errors at other poses. Forces in joints serve limits
of reactions, such as stability cones.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from myoquat.core import Array, ArrayLike, check_types, frozen, pandas as pd, scipy
from myoquat.muscle import (
    FittedPoint,
    FittedSet,
    Model,
    PathPoint,
    PoseFunction,
    PoseVariables,
    SurfaceTerm,
    fitted_path,
    path_jacobian,
    path_lengths,
    unit_wrenches,
)

from .basis import Basis, FitSettings, crossings, variable_values
from .group import Candidate, Group, PathFitter
from .jumps import allowed_motions, beyond_jumps, inspected_paths, solved_paths, straight_paths
from .poses import chosen_muscles, given_poses
from .surface_fit import Part

SET_DEGREE, SET_WEIGHT = 2, 1e-6  # of the terms that describe the set of poses, and their regularisation
MIN_POSES = 10  # usable ones that the fit of a muscle needs


@frozen
class PathFit:
    """The fit of one path.

    path           for a `Muscle`
    terms, degree  how many terms were chosen, and the degree of those they were chosen from
    length_error   [m] root mean square on the held-out poses
    arm_error      [m] the same of moment arms
    excluded       (k,) numbers of the poses that were left out: near a jump of the length or of a moment arm, or
                   without a solved path
    beyond         (k,) numbers of the poses beyond a jump, left out too. The length jumps on a way from the center of
                   the set to them
    motions        how many independent motions change the length

    >>> import myoquat as mq
    >>> from myoquat.analysis.fits import fit_paths, range_poses
    >>> model = mq.load_model("two_link")
    >>> fit = fit_paths(model, range_poses(model, 1000), muscles=("m1",)).fits["m1"]
    >>> fit.path[0].body, fit.length_error < 0.05  # [m]
    ('ground', True)
    """

    path: tuple[PathPoint, ...]
    terms: int
    degree: int
    length_error: float
    arm_error: float
    excluded: Array
    beyond: Array
    motions: int

    @property
    def variables(self) -> PoseVariables:
        """The variables of the fit."""
        end = self.path[-1]
        assert isinstance(end, FittedPoint)
        return end.length.variables


class PathFits(Mapping[str, tuple[PathPoint, ...]]):
    """Fitted paths by the names of their muscles; `fits` says how good they are.

    Muscles whose poses were all excluded are not among them; `unfitted` names these. `near` [m] is that of the
    settings.

    >>> import myoquat as mq
    >>> from myoquat.analysis.fits import FitSettings, fit_paths, range_poses
    >>> model = mq.load_model("two_link")
    >>> fits = fit_paths(model, range_poses(model, 400), settings=FitSettings(degree=2))
    >>> sorted(fits)
    ['m1', 'm2', 'm3', 'm4', 'm5', 'm6']
    """

    def __init__(self, fits: Mapping[str, PathFit], unfitted: tuple[str, ...] = (), near: float = 1e-3) -> None:
        self.fits, self.unfitted, self.near = dict(fits), unfitted, near

    def __getitem__(self, name: str) -> tuple[PathPoint, ...]:
        return self.fits[name].path

    def __iter__(self) -> Iterator[str]:
        return iter(self.fits)

    def __len__(self) -> int:
        return len(self.fits)


def fit_paths(
    model: Model,
    poses: ArrayLike | None = None,
    *,
    muscles: tuple[str, ...] | None = None,
    settings: FitSettings | None = None,
) -> PathFits:
    """The lengths of a model's paths as smooth functions of coordinates, for `Model.with_fitted_paths`.

    A length is a sum of even polynomials on the sphere of each ball joint's quaternion, times polynomials of scalar
    coordinates (`PoseFunction`). It is fitted to lengths and spatial Jacobians at `poses` (n, nq) together, by default
    4,000 of `range_poses`. With constraints and couplers only allowed motions count, and only independent coordinates
    are variables. The fit holds on the constraints. Terms are chosen one by one until the errors on held-out poses are
    those of the `settings`. Where polynomials miss these, the straight path and terms of the surfaces (`SurfaceTerm`)
    are added. A path of fixed points without surfaces is its straight path. Poses near a jump of the length or of a
    moment arm are left out, muscle by muscle. So are poses beyond a jump of the length.

    Raises ValueError for poses off the unit sphere and for names of no muscle.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis.fits import fit_paths, range_poses
    >>> from myoquat.muscle import PathPoint
    >>> arm = mq.ArticulatedSystem((mq.Body("arm", "ground", mq.joints.SphericalJoint()),))
    >>> path = (PathPoint("ground", (-0.3, 0.0, 0.0)), PathPoint("arm", (0.0, 0.0, -0.1)))
    >>> model = mq.Model(arm, (mq.Muscle("deltoid", path),))
    >>> fits = fit_paths(model, range_poses(model, 500))
    >>> fitted, q = model.with_fitted_paths(fits), range_poses(model, 100, seed=9)
    >>> bool(np.abs(mq.path_lengths(fitted, q) - mq.path_lengths(model, q)).max() < 3e-4)
    True
    """
    check_types(model=(model, Model))
    settings = FitSettings() if settings is None else settings
    q = given_poses(model, poses)
    names, chosen = chosen_muscles(model, muscles)
    allowed = allowed_motions(model, q)
    solved = inspected_paths(model, q, allowed, settings.near)
    usable = solved.usable
    slopes = np.abs(np.where(usable[..., None], solved.jacobian, 0.0)).max(axis=0, initial=0.0)
    able = [k for k in chosen if usable[:, k].sum() >= MIN_POSES]
    paths = [(solved.length, solved.finite_jacobian), *([] if settings.polynomials else straight_paths(model, q))]
    groups = crossings(model, able, q, slopes, allowed)
    beyond = beyond_jumps(model, solved, {k: each.variables for each in groups for k in each.muscles}, settings.near)
    found: dict[str, PathFit] = {}
    for crossing in groups:
        group = Group(model, crossing, q, crossing.motions(allowed), settings)
        for k in crossing.muscles:
            used = usable[:, k] & ~beyond[:, k]
            y, *bare = (group.observed(l[:, k], J[:, k]) for l, J in paths)
            fitter = PathFitter(group, model.muscles[k], y, used, bare, two_sides=bool(solved.jumping[:, k].any()))
            best = fitter.best(usable[:, k])
            found[model.muscle_names[k]] = PathFit(
                _path(model, best, q[used]),
                best.terms,
                best.basis.degree,
                *group.errors(y - best.values, used),
                np.flatnonzero(~usable[:, k]),
                np.flatnonzero(usable[:, k] & beyond[:, k]),
                group.motions.shape[-1],
            )
    ordered = {name: found[name] for name in names if name in found}
    return PathFits(ordered, tuple(name for name in names if name not in found), settings.near)


def _path(model: Model, best: Candidate, q: Array) -> tuple[PathPoint, ...]:
    """The path of a fit to poses q (n, nq): its polynomial as one function, other parts as terms of surfaces."""
    plain = [part for part in best.parts if part.effect is None] or [Part(np.zeros(1))]
    surfaces = [
        SurfaceTerm(pose_function(best.basis, part), part.width, part.effect)
        for part in best.parts
        if part.effect is not None
    ]
    fitted = fitted_set(model, best.basis.variables, q)
    return fitted_path(
        pose_function(best.basis, plain[0]),
        fitted,
        model.system.ground,
        straight=best.straight,
        surfaces=tuple(surfaces),
    )


def pose_function(basis: Basis, part: Part) -> PoseFunction:
    """The polynomial of a part as a function of the pose."""
    at = np.flatnonzero(part.coefficients)
    powers = tuple(tuple(power) for power in basis.powers[at].tolist())
    return PoseFunction(basis.variables, powers, tuple(part.coefficients[at].tolist()))


def fitted_set(model: Model, variables: PoseVariables, q: Array) -> FittedSet:
    """The set of poses q (n, nq), as a function of some variables."""
    still = np.zeros((len(q), model.system.nu, 0))
    phi = Basis(variables, SET_DEGREE).evaluated(variable_values(model.system, variables, q, still))[:, 0]
    moments = phi @ phi.T / len(q)
    moments += SET_WEIGHT * np.mean(np.diag(moments)) * np.eye(len(moments))
    L = scipy.linalg.solve_triangular(np.linalg.cholesky(moments), np.eye(len(moments)), lower=True)
    L = L / np.sqrt(np.sum((L @ phi) ** 2, axis=0).max())
    return FittedSet(variables, SET_DEGREE, tuple(L[np.tril_indices(len(L))].tolist()))


POSES, SEED = 100_000, 1_000_003  # of a certificate that is given none; the seed of no fit
BLOCK_POSES = 8192  # whose Jacobians are in memory together, and over which the ways beyond jumps lead


@frozen
class Certificate:
    """Errors of fitted paths at held-out poses.

    table     a row per muscle. `terms`; `length_rms`, `length_greatest`, `arm_rms` and `arm_greatest` [m] at the poses
              that count, and `length_pose`, `arm_pose`, the numbers of those with the greatest errors. `near_jump` and
              `beyond_jump`, the shares of poses that do not count; `length_anywhere` [m], the greatest error at all
              poses beside jumps, those beyond one included
    excluded  by muscle, the numbers of poses near a jump of the length or of a moment arm, or without a solved path
    beyond    by muscle, the numbers of poses beyond a jump: the solved length jumps on the way from the center to them
    poses     (n, nq) all of them

    Moment arms are J along motions of unit size that constraints, couplers and locks allow. Their error at a pose is
    the norm over these, and `arm_rms` is that of one motion, over those that change the length.

    >>> import myoquat as mq
    >>> from myoquat.analysis.fits import FitSettings, certify, fit_paths, range_poses
    >>> model = mq.load_model("two_link")
    >>> fits = fit_paths(model, range_poses(model, 400), muscles=("m1",), settings=FitSettings(degree=2))
    >>> certify(model, fits, range_poses(model, 100, seed=5)).table.index.tolist()
    ['m1']
    """

    table: "pd.DataFrame"
    excluded: Mapping[str, Array]
    beyond: Mapping[str, Array]
    poses: Array


def certify(model: Model, fits: PathFits, poses: ArrayLike | None = None) -> Certificate:
    """Errors of fits at poses (n, nq) that the fits have not seen, by default 100,000 of `range_poses`.

    Raises ValueError for poses off the unit sphere.

    >>> import myoquat as mq
    >>> from myoquat.analysis.fits import certify, fit_paths, range_poses
    >>> model = mq.load_model("two_link")
    >>> fits = fit_paths(model, range_poses(model, 1000), muscles=("m1",))
    >>> bool(certify(model, fits, range_poses(model, 200, seed=5)).table.length_rms["m1"] < 0.05)
    True
    """
    check_types(model=(model, Model), fits=(fits, PathFits))
    q, names = given_poses(model, poses, POSES, SEED), list(fits)
    parts = [_compared(model, fits, q[i : i + BLOCK_POSES]) for i in range(0, len(q), BLOCK_POSES)]
    length, arm, usable, over = (np.concatenate(part) for part in zip(*parts, strict=True))
    off = usable & over
    fitted = pd.DataFrame([(fit.terms, max(1, fit.motions)) for fit in fits.fits.values()], names, ["terms", "motions"])
    table = fitted[["terms"]].rename_axis("muscle")
    for name, values, size in (("length", length, 1), ("arm", arm, fitted.motions)):
        counted = np.where(usable & ~off, values, 0.0)
        table[f"{name}_rms"] = np.sqrt((counted**2).sum(axis=0) / np.maximum(1, size * (usable & ~off).sum(axis=0)))
        table[f"{name}_greatest"], table[f"{name}_pose"] = counted.max(axis=0), counted.argmax(axis=0)
    table["near_jump"], table["beyond_jump"] = (~usable).mean(axis=0), off.mean(axis=0)
    table["length_anywhere"] = np.where(usable, length, 0.0).max(axis=0)
    excluded, beyond = ({name: np.flatnonzero(x[:, k]) for k, name in enumerate(names)} for x in (~usable, off))
    return Certificate(table, excluded, beyond, q)


def _compared(model: Model, fits: PathFits, q: Array) -> tuple[Array, Array, Array, Array]:
    """(n, m) errors of lengths and of moment arms at poses, where the solved paths are usable, and where they are
    beyond a jump among these poses."""
    muscles, allowed = [model.muscle_names.index(name) for name in fits], allowed_motions(model, q)
    solved, fitted = inspected_paths(model, q, allowed, fits.near), model.with_fitted_paths(fits)
    arms = np.linalg.norm((path_jacobian(fitted, q) - solved.finite_jacobian)[:, muscles] @ allowed, axis=-1)
    length = np.abs(path_lengths(fitted, q) - solved.length)[:, muscles]
    variables = dict(zip(muscles, (fit.variables for fit in fits.fits.values()), strict=True))
    return length, arms, solved.usable[:, muscles], beyond_jumps(model, solved, variables, fits.near)[:, muscles]


# ---- Forces in joints --------------------------------------------------------------------------------------------

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
