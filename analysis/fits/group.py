"""The fits of muscles that cross the same joints: polynomials, and candidates with surfaces."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property

import numpy as np

from myoquat.core import Array, frozen
from myoquat.muscle import Model, Muscle, PathPoint

from .basis import Basis, Crossing, FitSettings, largest_degree, select_terms, variable_values
from .jumps import straight_points
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
