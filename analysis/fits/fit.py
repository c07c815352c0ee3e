"""Fits of path lengths over a set of poses, lengths and Jacobians together."""

from collections.abc import Iterator, Mapping

import numpy as np

from myoquat.analysis.fits.arguments import chosen_muscles, given_poses
from myoquat.analysis.fits.basis import Basis, variable_rates
from myoquat.analysis.fits.crossing import crossings
from myoquat.analysis.fits.group import Candidate, Group, MuscleFit
from myoquat.analysis.fits.jumps import inspected_paths
from myoquat.analysis.fits.settings import FitSettings
from myoquat.analysis.fits.solved import SolvedPaths, allowed_motions, straight_paths
from myoquat.core.arguments import check_types
from myoquat.core.lazy_imports import scipy
from myoquat.core.records import dataclass
from myoquat.core.typing import Array, ArrayLike
from myoquat.muscle import (
    FittedPoint,
    FittedSet,
    Model,
    PathPoint,
    PoseFunction,
    PoseVariables,
    SurfaceTerm,
    fitted_path,
)

__all__ = ["PathFit", "PathFits", "fit_paths"]

SET_DEGREE, SET_WEIGHT = 2, 1e-6  # of the terms that describe the set of poses, and their regularisation
MIN_POSES = 10  # usable ones that the fit of a muscle needs


@dataclass(frozen=True)
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
    names, chosen = chosen_muscles("fit_paths", model, muscles)
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
        SurfaceTerm(_function(best.basis, best.chosen, part.coefficients), part.width, part.effect)
        for part in best.parts
        if part.effect is not None
    ]
    length = _function(best.basis, best.chosen, plain[0])
    return fitted_path(length, fitted, ground, straight=best.straight, surfaces=tuple(surfaces))


def _function(basis: Basis, chosen: Array, coefficients: Array) -> PoseFunction:
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
