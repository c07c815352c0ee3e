"""Fits of path lengths over a set of poses, lengths and Jacobians together."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from myoquat.analysis.fits.arguments import chosen_muscles, given_poses
from myoquat.analysis.fits.basis import Basis, greatest_degree
from myoquat.analysis.fits.crossing import Crossing, crossings
from myoquat.analysis.fits.selection import Moments, Selection, all_terms, select_terms
from myoquat.analysis.fits.settings import FitSettings
from myoquat.analysis.fits.solved import SolvedPaths, allowed_motions, solved_paths
from myoquat.core.arguments import check_types
from myoquat.core.lazy_imports import scipy
from myoquat.core.typing import Array, ArrayLike
from myoquat.muscle import FittedPoint, FittedSet, Model, PathFlag, PathPoint, PoseFunction, PoseVariables, fitted_path
from myoquat.muscle.fitted import powers_up_to

__all__ = ["PathFit", "PathFits", "fit_paths"]

SET_DEGREE, SET_WEIGHT = 2, 1e-6  # of the terms that describe the set of poses, and their regularisation
MAX_TRIMMINGS = 4  # searches for poses beyond a jump, by fits of each degree
TRIMMING_TERMS = 250  # of the fits that find them
OUTLIER_FACTOR = 5.0  # times the median error: poses with more may be beyond a jump
MIN_POSES = 10  # usable ones that the fit of a muscle needs


@dataclass(frozen=True)
class PathFit:
    """The fit of one path.

    path           for a `Muscle`
    terms, degree  how many terms were chosen, and the degree of those they were chosen from
    length_error   [m] root mean square on the held-out poses
    arm_error      [m] the same of moment arms
    excluded       (k,) numbers of the poses that were left out: near a jump, or without a solved path
    beyond         (k,) numbers of the poses beyond a jump, that were left out too: there the solved path is another one
    branch         [m] the error from which a pose counts as beyond a jump, infinite for a path that does not jump
    motions        how many independent motions change the length

    >>> import myoquat as mq
    >>> from myoquat.analysis.fits import fit_paths, range_poses
    >>> model = mq.load_model("two_link")
    >>> fit = fit_paths(model, range_poses(model, 1000), muscles=("m1",)).fits["m1"]
    >>> fit.path[0].body, fit.length_error < 0.05  # [m]
    ('ground', True)
    """

    path: tuple[PathPoint, FittedPoint]
    terms: int
    degree: int
    length_error: float
    arm_error: float
    excluded: Array
    beyond: Array
    branch: float
    motions: int


class PathFits(Mapping[str, tuple[PathPoint, FittedPoint]]):
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

    def __getitem__(self, name: str) -> tuple[PathPoint, FittedPoint]:
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
    """The lengths of a model's paths as smooth functions of the coordinates that they cross, for
    `Model.with_fitted_paths`.

    A length is a sum of even polynomials on the sphere of each ball joint's quaternion, times polynomials of scalar
    coordinates (`PoseFunction`), fitted to lengths and spatial Jacobians at `poses` (n, nq) together, by default 4,000
    of `range_poses`. With constraints and couplers only allowed motions count, and only independent coordinates are
    variables. The fit holds on the constraints. Terms are chosen one by one until the errors on held-out poses are
    those of the `settings`. Poses near a jump of the length are left out, muscle by muscle.

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
    solved, allowed = solved_paths(model, q, settings.near), allowed_motions(model, q)
    usable = solved.usable
    slopes = np.abs(np.where(usable[..., None], solved.jacobian, 0.0)).max(axis=0, initial=0.0)
    able = [k for k in chosen if usable[:, k].sum() >= MIN_POSES]
    found: dict[str, PathFit] = {}
    for crossing in crossings(model.system, able, q, slopes, allowed):
        for muscle, fit in _Group(model, crossing, solved, allowed, settings).fits():
            found[model.muscle_names[muscle]] = fit
    ordered = {name: found[name] for name in names if name in found}
    return PathFits(ordered, tuple(name for name in names if name not in found), settings.near)


class _Group:
    """The fits of muscles that cross the same joints: they share the terms at all poses."""

    def __init__(
        self, model: Model, crossing: Crossing, solved: SolvedPaths, allowed: Array | None, settings: FitSettings
    ) -> None:
        self.model, self.crossing, self.solved, self.settings = model, crossing, solved, settings
        n, variables = len(solved.q), crossing.variables
        degree = greatest_degree(variables, settings.candidates) if settings.degree is None else settings.degree
        self.basis = Basis(model.system, variables, degree)
        self.order = np.random.default_rng(n).permutation(n)  # the poses that are fitted, then those held out
        self.fitted = n - int(settings.held_out * n)
        self.motions = crossing.motions(allowed, n, model.system.nu)[self.order]
        self.terms = self.basis.evaluated(solved.q[self.order], self.motions)  # (t, 1 + r, n)
        self.squares = [self._squares(part) for part in self._parts]

    def fits(self) -> Iterator[tuple[int, PathFit]]:
        """The fit of every muscle, with its number."""
        for muscle in self.crossing.muscles:
            yield muscle, self._fit(muscle)

    def _fit(self, muscle: int) -> PathFit:
        """The fit of one muscle. Where its length jumps, poses beyond the jump are those that are farther off a fit
        than the settings say. They are looked for by fits of low degrees without them. In fits of many terms a fit of
        fewer takes the place of what was observed there, as in expectation maximisation with missing data."""
        smooth, seen = self.solved.usable[self.order, muscle], self._observed(muscle)
        jumps = bool((self.solved.flags[:, muscle] & int(PathFlag.JUMP)).any())
        used, limit, values = self._trimmed(seen, smooth, jumps)
        for _ in range(2 if jumps else 1):
            best = self._selected(np.where(used, seen, values), used)
            values = self._values(best)
            if jumps:
                used, limit = self._near(values, seen, smooth, used)
        fitted = fitted_set(self.model, self.basis.variables, self.solved.q[self.order[used]])
        held = used & (np.arange(len(used)) >= self.fitted)
        length, arm = (_root_mean_square(part) for part in np.split((seen - values)[:, held], [1]))
        excluded, beyond = (np.sort(self.order[part]) for part in (~smooth, smooth & ~used))
        path = fitted_path(_function(self.basis, best), fitted, self.model.system.ground)
        return PathFit(
            path,
            len(best.chosen),
            self.basis.degree,
            length,
            arm,
            excluded,
            beyond,
            float(limit),
            self.motions.shape[-1],
        )

    def _observed(self, muscle: int) -> Array:
        """(1 + r, n) the length at every pose, and its rates along the motions."""
        J = self.solved.finite_jacobian[self.order, muscle]
        rates: Array = np.matvec(np.swapaxes(self.motions, -1, -2), J)
        return np.concatenate([self.solved.length[self.order, muscle][None], rates.T])

    def _trimmed(self, seen: Array, smooth: Array, jumps: bool) -> tuple[Array, float, Array]:
        """Which poses (n,) are used, the error that counts as beyond a jump, and a fit (1 + r, n) of few terms."""
        used, limit, values = smooth, np.inf, seen
        if smooth.all() and not jumps:
            return used, limit, values
        variables = self.basis.variables
        highest = min(self.basis.degree, greatest_degree(variables, TRIMMING_TERMS))
        for degree in range(min(2, highest), highest + 1) if jumps else [highest]:
            t = len(powers_up_to(variables, degree))
            for _ in range(MAX_TRIMMINGS):
                values = self._values(all_terms(self._together(self._moments(0, seen, t, used)), self.settings.weight))
                before = used
                if jumps:
                    used, limit = self._near(values, seen, smooth, used)
                if np.array_equal(before, used):
                    break
        return used, limit, values

    def _near(self, values: Array, seen: Array, smooth: Array, used: Array) -> tuple[Array, float]:
        """Which smooth poses (n,) are not beyond a jump, by how far they are off a fit to the poses that were used; and
        the error from which they count as beyond."""
        off = np.abs(values[0] - seen[0])
        limit = max(self.settings.branch, OUTLIER_FACTOR * float(np.median(off[used])))
        return smooth & (off <= limit), limit

    def _selected(self, y: Array, used: Array) -> Selection:
        """The terms to which observations y (1 + r, n) lead. Of many terms those of all poses count: leaving out those
        that are not `used` (n,) would cost more than all the rest."""
        t, wanted = len(self.basis.powers), (self.settings.length_error, self.settings.arm_error)
        counted = used if t <= TRIMMING_TERMS else np.ones(len(used), dtype=bool)
        fitted, held = (self._moments(k, y, t, counted) for k in range(2))

        def error(chosen: Array, c: Array) -> float:
            return max(m.error(chosen, c) / e for m, e in zip(held, wanted, strict=True))

        return select_terms(self._together(fitted), self.settings.weight, self.settings.terms, error)

    def _together(self, parts: list[Moments]) -> Moments:
        """Lengths and rates in units of their wanted errors, as one problem."""
        weights = [e**-2 for e in (self.settings.length_error, self.settings.arm_error)]
        pairs = zip(*((m.G, m.b, m.s) for m in parts), strict=True)
        return Moments(*(sum(w * part for w, part in zip(weights, pair, strict=True)) for pair in pairs))

    def _moments(self, k: int, y: Array, t: int, used: Array) -> list[Moments]:
        """Of observations y (1 + r, n) at the poses that are fitted, k = 0, or held out, k = 1, those of the lengths
        and of the rates; without poses that are not `used` (n,)."""
        found, poses = [], self._parts[k]
        unused = np.arange(len(used))[poses][~used[poses]]
        for G, rows in zip(self.squares[k], (slice(0, 1), slice(1, None)), strict=True):
            z, phi = np.where(used, y, 0.0)[rows, poses], self.terms[:t, rows, poses]
            less = self.terms[:t, rows][..., unused].reshape(t, -1)
            n = max(1, z.size - less.shape[1])
            kept = (G[:t, :t] * z.size - less @ less.T) / n if less.size else G[:t, :t]
            found.append(Moments(kept, np.einsum("trn,rn->t", phi, z) / n, float(np.sum(z * z)) / n))
        return found

    @property
    def _parts(self) -> tuple[slice, slice]:
        """The poses that are fitted, and those held out."""
        return slice(0, self.fitted), slice(self.fitted, None)

    def _squares(self, part: slice) -> tuple[Array, Array]:
        """Means of phi phi^T over some poses, of lengths and of rates."""
        t, found = len(self.basis.powers), []
        for phi in (self.terms[:, 0, part], self.terms[:, 1:, part].reshape(t, -1)):
            found.append(phi @ phi.T / max(1, phi.shape[1]))
        return found[0], found[1]

    def _values(self, best: Selection) -> Array:
        """(1 + r, n) a selection at every pose."""
        found: Array = np.tensordot(best.coefficients, self.terms[best.chosen], axes=1)
        return found


def fitted_set(model: Model, variables: PoseVariables, q: Array) -> FittedSet:
    """The set of poses q (n, nq), as a function of some variables."""
    basis = Basis(model.system, variables, SET_DEGREE)
    phi = basis.evaluated(q, np.zeros((len(q), model.system.nu, 0)))[:, 0]
    moments = phi @ phi.T / len(q)
    moments += SET_WEIGHT * np.mean(np.diag(moments)) * np.eye(len(moments))
    L = scipy.linalg.solve_triangular(np.linalg.cholesky(moments), np.eye(len(moments)), lower=True)
    L = L / np.sqrt(np.sum((L @ phi) ** 2, axis=0).max())
    return FittedSet(variables, SET_DEGREE, tuple(L[np.tril_indices(len(L))].tolist()))


def _root_mean_square(x: Array) -> float:
    """Of all entries, NaN without any."""
    return float(np.sqrt(np.mean(x * x))) if x.size else np.nan


def _function(basis: Basis, best: Selection) -> PoseFunction:
    """The chosen terms, by order, as a function of the pose."""
    order = np.argsort(best.chosen)
    powers = tuple(basis.powers[k] for k in best.chosen[order])
    return PoseFunction(basis.variables, powers, tuple(best.coefficients[order].tolist()))
