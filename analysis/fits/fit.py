"""Fits of path lengths over a set of poses, and of the forces with which muscles press on a joint.

Muscles that cross the same joints are fitted together: polynomials, and candidates with surfaces. Lengths and Jacobians
have one fit; a certificate has their errors at other poses. Forces in joints serve limits of reactions, such as
stability cones.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property

import numpy as np

from myoquat.core import Array, ArrayLike, check_types, frozen, pandas as pd, scipy
from myoquat.muscle import (
    FittedPoint,
    FittedSet,
    Model,
    Muscle,
    PathPoint,
    PoseFunction,
    PoseVariables,
    SurfaceTerm,
    fitted_path,
    path_jacobian,
    path_lengths,
    unit_wrenches,
)

from .basis import Basis, Crossing, FitSettings, crossings, largest_degree, select_terms, variable_values
from .poses import (
    allowed_motions,
    beyond_jumps,
    chosen_muscles,
    given_poses,
    inspected_paths,
    solved_paths,
    straight_paths,
    straight_points,
)
from .surface_fit import LeastSquares, Part, first_contact, first_sides, part_values

FIRST_CANDIDATES = 250  # terms from which the first polynomials are chosen; those of the settings come after surfaces
SURFACE_TERMS = 210  # the most of one part of a fit with surfaces
SURFACE_DEGREES = (3, 4, 5, 6, 8, 10, 12)
SIDE_DEGREE = 2  # of the first guess of the two sides of a surface
ROWS_PER_TERM, MIN_SURFACE_POSES = 20, 800  # observations of a fit with surfaces
MIN_PROGRESS = 0.9  # of the error from one degree to the next, above which a fit with surfaces ends
GREATEST_FACTOR = 60.0  # of the wanted error of lengths, for the greatest error of a fit
FAR_FACTOR = 1.5  # times the greatest error of the first candidate, that of the others
ACCEPTED = 1.3  # times the wanted errors: where polynomials are below, more surfaces are not tried


class Group:
    """What muscles that cross the same joints share: all terms at poses q (n, nq), with rates along motions (n, nu, r).

    level    the terms up to a degree, as a `Basis` and as (t, 1 + r, n)
    fitted   numbers of the poses that are fitted, in random order
    """

    def __init__(self, model: Model, crossing: Crossing, q: Array, motions: Array, settings: FitSettings) -> None:
        self.crossing, self.motions, self.settings = crossing, motions, settings
        order, k = np.random.default_rng(len(q)).permutation(len(q)), len(q) - int(settings.held_out * len(q))
        self.fitted, self._held = order[:k], np.sort(order[k:])
        self._x = variable_values(model.system, crossing.variables, q, motions)
        self._wanted = settings.length_error, settings.arm_error
        self.level: Callable[[int], tuple[Basis, Array]] = cache(self._new_level)

    def _new_level(self, degree: int) -> tuple[Basis, Array]:
        basis = Basis(self.crossing.variables, degree, self.crossing.blocks)
        return basis, basis.evaluated(self._x)

    def degree(self, candidates: int) -> int:
        """That of the settings, or the highest with so many terms."""
        if self.settings.degree is not None:
            return self.settings.degree
        return largest_degree(self.crossing.variables, min(candidates, self.settings.candidates), self.crossing.blocks)

    def observed(self, length: Array, jacobian: Array) -> Array:
        """(1 + r, n) lengths (n,) and their rates along the motions, from Jacobians (n, nu)."""
        return np.concatenate([length[None], np.matvec(self.motions.mT, jacobian).T])

    def problem(self, terms: Array, y: Array, poses: Array, *, means: bool = False) -> LeastSquares:
        """Observations y (1 + r, n) at some poses by terms, in units of the wanted errors. With `means` lengths count
        as much as all rates together."""
        rates = len(y) - 1
        weights = 1.0 / np.repeat(self._wanted, [1, rates])
        if means:
            weights /= np.sqrt(np.repeat([1, rates], [1, rates]) * max(1, len(poses)))
        return LeastSquares(np.take(terms, poses, axis=-1), y[:, poses], weights[:, None])

    def polynomial(self, degree: int, y: Array, used: Array) -> tuple[Part, float]:
        """The terms to which observations y (1 + r, n) at the poses that are `used` (n,) lead, and their error on
        held-out poses, as a fraction of the wanted one."""
        (_, terms), held = self.level(degree), self._held[used[self._held]]
        problem = self.problem(terms, y, np.sort(self.fitted[used[self.fitted]]), means=True)
        unseen, seen = np.take(terms, held, axis=-1), y[:, held]

        def error(c: Array) -> float:
            return max(self._relative(Part(c).polynomial(unseen) - seen))

        b = problem.moments(problem.y, len(terms))
        c, least = select_terms(problem.gram, b, self.settings.weight, self.settings.terms, error)
        return Part(c), least

    def _relative(self, off: Array) -> list[float]:
        """Root mean squares of errors (1 + r, n), as fractions of the wanted ones; 0 without any."""
        return [np.nan_to_num(x) / e for x, e in zip(_root_mean_squares(off), self._wanted, strict=True)]

    def errors(self, off: Array, used: Array) -> tuple[float, float]:
        """Root mean squares of errors (1 + r, n) of lengths and rates at the used poses that are held out, NaN without
        any."""
        return _root_mean_squares(off[:, self._held[used[self._held]]])

    def error(self, off: Array, used: Array) -> float:
        """Those as fractions of the wanted errors, and the greatest error of length of all used poses as one of
        GREATEST_FACTOR times that. Terms of surfaces are not linear, so that a few poses may be far off."""
        held = off[:, self._held[used[self._held]]]
        return max(*self._relative(held), _greatest(off, used) / (GREATEST_FACTOR * self._wanted[0]))


@frozen
class Candidate:
    """A fit of one muscle: parts by the terms of a basis, and the points of straight pieces beside them. `error` is
    that of held-out poses over the wanted one, `values` are (1 + r, n)."""

    basis: Basis
    parts: tuple[Part, ...]
    straight: tuple[PathPoint, ...]
    error: float
    values: Array

    @property
    def terms(self) -> int:
        """The number of coefficients."""
        return sum(int(np.count_nonzero(part.coefficients)) for part in self.parts)


class PathFitter:
    """The fit of one muscle to observations y (1 + r, n) at the poses that are `used` (n,).

    straight    observations of the straight pieces between the `straight_points`, and of the whole path without its
                surfaces; nothing for polynomials alone
    two_sides   whether the path may change to the other side of a surface
    """

    def __init__(
        self, group: Group, muscle: Muscle, y: Array, used: Array, straight: Sequence[Array], *, two_sides: bool
    ) -> None:
        self._group, self._path, self._y, self._used, self._straight = group, muscle.path, y, used, straight
        self._points, self._two_sides = straight_points(muscle), two_sides
        self._contact: list[Part] = []  # with which fits of a contact and a polynomial begin

    def best(self, smooth: Array) -> Candidate:
        """The candidate with the least error: polynomials, the straight path with a contact, polynomials of more terms.
        Where all miss the wanted errors by far, fits with more surfaces. No candidate is much farther off at all
        `smooth` poses (n,), those beyond a jump included, than the first one."""
        best = self._polynomial(FIRST_CANDIDATES)
        most = FAR_FACTOR * _greatest(best.values - self._y, smooth)
        for enough, candidates in self._stages():
            while best.error > enough and (each := next(candidates, None)) is not None:
                if _greatest(each.values - self._y, smooth) <= most:
                    best = min(best, each, key=lambda x: x.error)
        return best

    def _stages(self) -> list[tuple[float, Iterator[Candidate]]]:
        """Candidates, and the errors at which they are not tried."""
        more = 1.0, self._more_terms()
        if not self._straight:
            return [more]
        sides, rest = ((ACCEPTED, self._with_surfaces(plan)) for plan in ("sides", "rest"))
        if self._points == self._path.points:
            alone = self._candidate(self._level, (), straight=True)
            return [(1.0, iter((alone,))), (1.0, self._with_surfaces("contact")), more, sides, rest]
        return [(1.0, self._beside_straight()), more, rest, sides]

    def _candidate(self, level: tuple[Basis, Array], parts: Sequence[Part], *, straight: bool) -> Candidate:
        basis, terms = level
        values = part_values(parts, terms) + (self._straight[0] if straight else 0.0)
        points = self._points if straight else ()
        return Candidate(basis, tuple(parts), points, self._group.error(values - self._y, self._used), values)

    def _polynomial(self, candidates: int, *, straight: bool = False) -> Candidate:
        degree, y = self._group.degree(candidates), self._y - (self._straight[0] if straight else 0.0)
        part, _ = self._group.polynomial(degree, y, self._used)
        return self._candidate(self._group.level(degree), (part,), straight=straight)

    def _more_terms(self) -> Iterator[Candidate]:
        """Polynomials of as many terms as the settings allow, unless they are those of the first candidate."""
        most = self._group.settings.candidates
        if self._group.degree(most) > self._group.degree(FIRST_CANDIDATES):
            yield self._polynomial(most)

    def _beside_straight(self) -> Iterator[Candidate]:
        """Polynomials beside the straight pieces between points that are fixed on their bodies."""
        for candidates in (FIRST_CANDIDATES, self._group.settings.candidates) if self._points else ():
            yield self._polynomial(candidates, straight=True)

    @cached_property
    def _level(self) -> tuple[Basis, Array]:
        return self._group.level(self._group.degree(FIRST_CANDIDATES))

    @cached_property
    def _counts(self) -> list[int]:
        """Numbers of terms of fits with surfaces."""
        basis, _ = self._level
        counts = [int((basis.orders <= d).sum()) for d in SURFACE_DEGREES if d <= basis.degree]
        return [count for count in counts if count <= SURFACE_TERMS]

    @cached_property
    def _surfaces(self) -> tuple[LeastSquares, Array]:
        """What the straight path does not explain, by the first terms, and by how much surfaces make the path longer
        (k,). Both are at as many of the fitted poses as two parts need."""
        (_, terms), count = self._level, max(self._counts)
        poses = self._group.fitted[self._used[self._group.fitted]]
        poses = np.sort(poses[: max(MIN_SURFACE_POSES, ROWS_PER_TERM * 2 * count // len(self._y))])
        fixed, free = self._straight
        return self._group.problem(terms[:count], self._y - fixed, poses), (self._y - free)[0, poses]

    def _with_surfaces(self, plan: str) -> Iterator[Candidate]:
        """Fits by a contact beside the straight path, by this and a polynomial, or by two sides, of growing degree as
        long as it helps."""
        parts: list[Part] = []
        last = np.inf
        for count in self._counts if self._path.wraps and (plan != "sides" or self._two_sides) else ():
            parts = parts or self._first_parts(plan, count)
            if not parts:
                return
            parts = self._surfaces[0].fitted([part.widened(count) for part in parts])
            if plan == "contact":
                self._contact = parts
            found = self._candidate(self._level, parts, straight=True)
            yield found
            if found.error > MIN_PROGRESS * last:
                return
            last = found.error

    def _first_parts(self, plan: str, count: int) -> list[Part]:
        """The first guess of a fit with surfaces, nothing where there is none."""
        problem, longer = self._surfaces
        if plan == "sides":
            basis, _ = self._level
            return first_sides(problem, int((basis.orders <= SIDE_DEGREE).sum()))
        contact = [part.widened(count) for part in self._contact] or first_contact(problem, longer, count)
        if plan == "contact" or not contact:
            return contact
        rest = problem.linear(problem.y - part_values(contact, problem.terms), count)
        return [*contact, Part(rest)]


def _greatest(off: Array, poses: Array) -> float:
    """The greatest error of length at some poses, of errors (1 + r, n)."""
    return float(np.abs(off[0, poses]).max(initial=0.0))


def _root_mean_squares(off: Array) -> tuple[float, float]:
    """Of errors (1 + r, n), those of lengths and of rates, NaN without any."""
    a, b = (float(np.sqrt(np.mean(x * x))) if x.size else np.nan for x in (off[:1], off[1:]))
    return a, b


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
