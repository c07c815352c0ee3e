"""Fits of path lengths over a set of poses, lengths and Jacobians together, and their errors at other poses."""

from collections.abc import Iterator, Mapping

import numpy as np

from myoquat.core import Array, ArrayLike, check_types, frozen, pandas as pd, real_array, scipy
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
)

from .basis import Basis, FitSettings, crossings, variable_rates
from .group import Candidate, Group, MuscleFit
from .jumps import SolvedPaths, allowed_motions, beyond_jumps, inspected_paths, straight_paths
from .poses import chosen_muscles, given_poses, range_poses

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
    straight = None if settings.polynomials else straight_paths(model, q)
    found: dict[str, PathFit] = {}
    for crossing in crossings(model, able, q, slopes, allowed):
        group = Group(model, crossing, solved, straight, allowed, settings)
        for k in crossing.muscles:
            found[model.muscle_names[k]] = _path_fit(model, group, group.fit(k), solved)
    ordered = {name: found[name] for name in names if name in found}
    return PathFits(ordered, tuple(name for name in names if name not in found), settings.near)


def _path_fit(model: Model, group: Group, fit: MuscleFit, solved: SolvedPaths) -> PathFit:
    best, order = fit.best, group.order
    fitted = fitted_set(model, group.crossing.variables, solved.q[order[fit.used]])
    excluded, beyond = (np.sort(order[part]) for part in (~fit.smooth, fit.smooth & ~fit.used))
    return PathFit(
        _path(best, fitted, model.system.ground),
        best.terms,
        best.basis.degree,
        *fit.errors,
        excluded,
        beyond,
        group.motions.shape[-1],
    )


def _path(best: Candidate, fitted: FittedSet, ground: str) -> tuple[PathPoint, ...]:
    """The path of a fit: its polynomials as one function, its other parts as terms of surfaces."""
    constant = np.zeros(1)
    plain = [part.coefficients for part in best.parts if part.effect is None] or [constant]
    surfaces = [
        SurfaceTerm(chosen_terms(best.basis, best.chosen, part.coefficients), part.width, part.effect)
        for part in best.parts
        if part.effect is not None
    ]
    length = chosen_terms(best.basis, best.chosen, plain[0])
    return fitted_path(length, fitted, ground, straight=best.straight, surfaces=tuple(surfaces))


def chosen_terms(basis: Basis, chosen: Array, coefficients: Array) -> PoseFunction:
    """The chosen terms, by order, as a function of the pose."""
    assert len(coefficients) <= len(chosen)
    order = np.argsort(chosen[: len(coefficients)])
    powers = tuple(basis.powers[k] for k in chosen[order])
    return PoseFunction(basis.variables, powers, tuple(coefficients[order].tolist()))


def fitted_set(model: Model, variables: PoseVariables, q: Array) -> FittedSet:
    """The set of poses q (n, nq), as a function of some variables."""
    still = np.zeros((len(q), model.system.nu, 0))
    phi = Basis(variables, SET_DEGREE).evaluated(*variable_rates(model.system, variables, q, still))[:, 0]
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
    q = (
        range_poses(model, POSES, seed=SEED)
        if poses is None
        else model.system.check_q(real_array("poses", poses)).reshape(-1, model.system.nq)
    )
    muscles = [model.muscle_names.index(name) for name in fits]
    compared = [_compared(model, fits, muscles, q[i : i + BLOCK_POSES]) for i in range(0, len(q), BLOCK_POSES)]
    length, arm, usable, over = (np.concatenate(parts) for parts in zip(*compared, strict=True))
    rows, excluded, beyond = [], {}, {}
    for k, (name, fit) in enumerate(fits.fits.items()):
        off = usable[:, k] & over[:, k]
        counted = usable[:, k] & ~off
        excluded[name], beyond[name] = np.flatnonzero(~usable[:, k]), np.flatnonzero(off)
        rows.append({"terms": fit.terms, **_errors(length[:, k], arm[:, k], counted, max(1, fit.motions)),
                     "near_jump": np.mean(~usable[:, k]), "beyond_jump": np.mean(off),
                     "length_anywhere": np.where(usable[:, k], length[:, k], 0.0).max(initial=0.0)})  # fmt: skip
    return Certificate(pd.DataFrame(rows, index=pd.Index(list(fits), name="muscle")), excluded, beyond, q)


def _compared(model: Model, fits: PathFits, muscles: list[int], q: Array) -> tuple[Array, Array, Array, Array]:
    """(n, m) errors of lengths and of moment arms at poses, where the solved paths are usable, and where they are
    beyond a jump."""
    allowed = allowed_motions(model, q)
    solved, fitted = inspected_paths(model, q, allowed, fits.near), model.with_fitted_paths(fits)
    J = (path_jacobian(fitted, q) - solved.finite_jacobian)[:, muscles]
    arms = np.linalg.norm(J if allowed is None else J @ allowed, axis=-1)
    length = np.abs(path_lengths(fitted, q) - solved.length)[:, muscles]
    return length, arms, solved.usable[:, muscles], _beyond(model, fits, muscles, solved)


def _beyond(model: Model, fits: PathFits, muscles: list[int], solved: SolvedPaths) -> Array:
    """(n, m) whether poses are beyond a jump, among these poses."""
    groups: dict[PoseVariables, list[int]] = {}
    for k, fit in enumerate(fits.fits.values()):
        groups.setdefault(fit.variables, []).append(k)
    found = np.zeros((len(solved.q), len(muscles)), dtype=bool)
    for variables, own in groups.items():
        found[:, own] = beyond_jumps(model, solved, variables, np.array(muscles)[own], fits.near)
    return found


def _errors(length: Array, arm: Array, counted: Array, motions: int) -> dict[str, float]:
    """Root mean squares and greatest errors of the poses that count, with their poses."""
    found: dict[str, float] = {}
    for name, values, size in (("length", length, 1), ("arm", arm, motions)):
        own = np.where(counted, values, 0.0)
        found[f"{name}_rms"] = float(np.sqrt(np.sum(own**2) / max(1, size * counted.sum())))
        found[f"{name}_greatest"] = float(own.max(initial=0.0))
        found[f"{name}_pose"] = int(np.argmax(own)) if len(own) else -1
    return found
