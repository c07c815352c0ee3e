"""The fits of muscles that cross the same joints."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, cached_property, partial
from itertools import chain
from typing import NamedTuple

import numpy as np

from myoquat.core import Array, frozen
from myoquat.muscle import Model, PathPoint

from .basis import Basis, Crossing, FitSettings, Moments, greatest_degree, select_terms, term_count, variable_rates
from .jumps import SolvedPaths, StraightPaths, beyond_jumps, straight_points
from .surface_fit import Part, SurfaceProblem, first_contact, first_sides, part_values, widened

FIRST_CANDIDATES = 250  # terms from which the first polynomials are chosen; those of the settings come after surfaces
SURFACE_TERMS = 210  # the most of one part of a fit with surfaces
SURFACE_DEGREES = (3, 4, 5, 6, 8, 10, 12)
SIDE_DEGREE = 2  # of the first guess of the two sides of a surface
ROWS_PER_TERM, MIN_SURFACE_POSES = 20, 800  # observations of a fit with surfaces
MIN_PROGRESS = 0.9  # of the error from one degree to the next, above which a fit with surfaces ends
GREATEST_FACTOR = 60.0  # of the wanted error of lengths, for the greatest error of a fit with surfaces
FAR_FACTOR = 1.5  # times the greatest error of the first candidate, that of the others
ACCEPTED = 1.3  # times the wanted errors: where polynomials are below, more surfaces are not tried


@frozen
class Candidate:
    """A fit of one muscle: parts by the chosen terms of a basis, and the points of straight pieces beside them. `error`
    is that of held-out poses over the wanted one, `values` are (1 + r, n)."""

    basis: Basis
    chosen: Array
    parts: tuple[Part, ...]
    straight: tuple[PathPoint, ...]
    error: float
    values: Array

    @property
    def terms(self) -> int:
        """The number of coefficients."""
        return sum(len(part.coefficients) for part in self.parts)


@frozen
class MuscleFit:
    """The best candidate; which poses, in the order of the group, are smooth and which of them are used. Root mean
    squares of length and moment arm on held-out poses [m]."""

    best: Candidate
    smooth: Array
    used: Array
    errors: tuple[float, float]


class _Level(NamedTuple):
    """All terms up to a degree (t, 1 + r, n) at the poses of a group, those that are fitted and those held out."""

    basis: Basis
    fitted: Array
    held: Array

    def sum_of(self, parts: Sequence[Part]) -> Array:
        """(1 + r, n) the sum of parts at every pose."""
        return np.concatenate([part_values(parts, terms) for terms in self[1:]], axis=-1)

    def moments(self, y: Array, used: Array) -> list[Moments]:
        """Of observations y (1 + r, n) at the fitted poses that are `used`, those of the lengths and of the rates."""
        found = []
        for rows in (slice(1), slice(1, None)):
            phi, z = self.fitted[:, rows, used].reshape(len(self.fitted), -1), y[rows, used].ravel()
            count = max(1, z.size)
            found.append(Moments(phi @ phi.T / count, phi @ z / count, float(z @ z) / count))
        return found


class Group:
    """The fits of muscles that cross the same joints: they share the terms at all poses.

    straight  None for fits of polynomials alone
    rates     whether lengths have rates along motions; forces have none
    """

    def __init__(
        self,
        model: Model,
        crossing: Crossing,
        solved: SolvedPaths,
        straight: StraightPaths | None,
        allowed: Array | None,
        settings: FitSettings,
        *,
        rates: bool = True,
    ) -> None:
        self.model, self.crossing, self.settings = model, crossing, settings
        self._solved, self._straight, n = solved, straight, len(solved.q)
        self.order = np.random.default_rng(n).permutation(n)  # the poses that are fitted, then those held out
        self._fitted = n - int(settings.held_out * n)
        motions = crossing.motions(allowed, n, model.system.nu) if rates else np.zeros((n, model.system.nu, 0))
        self.motions = motions[self.order]
        self._variables = variable_rates(model.system, crossing.variables, solved.q[self.order], self.motions)
        self._wanted = settings.length_error, settings.arm_error
        self._level = cache(self._new_level)

    @cached_property
    def _beyond(self) -> Array:
        """(n, k) poses of the set beyond a jump."""
        muscles = np.array(self.crossing.muscles)
        return beyond_jumps(self.model, self._solved, self.crossing.variables, muscles, self.settings.near)

    def fit(self, muscle: int) -> MuscleFit:
        """The fit of one muscle to the poses that are neither near a jump nor beyond one."""
        solved = self._solved
        smooth = solved.usable[self.order, muscle]
        used = smooth & ~self._beyond[self.order, self.crossing.muscles.index(muscle)]
        seen = self._observed(solved.length, solved.finite_jacobian, muscle)
        best = self._best(muscle, seen, smooth, used)
        return MuscleFit(best, smooth, used, self._errors(seen - best.values, used))

    def _new_level(self, degree: int) -> _Level:
        basis = Basis(self.crossing.variables, degree, self.crossing.blocks)
        (x, dx), k = self._variables, self._fitted
        return _Level(basis, basis.evaluated(x[:, :k], dx[..., :k]), basis.evaluated(x[:, k:], dx[..., k:]))

    def degree(self, candidates: int) -> int:
        """That of the settings, or the highest with so many terms."""
        if self.settings.degree is not None:
            return self.settings.degree
        return greatest_degree(self.crossing.variables, min(candidates, self.settings.candidates), self.crossing.blocks)

    def _count(self, degree: int) -> int:
        """The number of terms up to a degree."""
        return term_count(self.crossing.variables, degree, self.crossing.blocks)

    def _observed(self, length: Array, jacobian: Array, muscle: int) -> Array:
        """(1 + r, n) the length of a path at every pose, and its rates along the motions."""
        rates: Array = np.matvec(self.motions.mT, jacobian[self.order, muscle])
        return np.concatenate([length[self.order, muscle][None], rates.T])

    # ---- candidates ------------------------------------------------------------------------------------------

    def _best(self, muscle: int, y: Array, smooth: Array, used: Array) -> Candidate:
        """The candidate with the least error: polynomials, the straight path with a contact, polynomials of more terms.
        Where all miss the wanted errors by far, fits with more surfaces. No candidate is much farther off beyond a jump
        than the first one."""
        path, best = self.model.muscles[muscle], self.polynomial(self.degree(FIRST_CANDIDATES), y, used)
        most = FAR_FACTOR * _greatest(best.values - y, smooth)
        contact: list[Part] = []
        stages: list[tuple[float, Iterator[Candidate]]] = [(1.0, self._more_terms(y, used))]
        if self._straight is not None:
            surfaces = partial(self._with_surfaces, muscle, y, used, contact=contact)
            if straight_points(path) == path.path.points:
                stages.insert(0, (1.0, chain(self._straight_alone(muscle, y, used), surfaces(("contact",)))))
                stages.append((ACCEPTED, surfaces(("sides", "rest"))))
            else:
                stages.insert(0, (1.0, self._beside_straight(muscle, y, used)))
                stages.append((ACCEPTED, surfaces(("rest", "sides"))))
        for enough, candidates in stages:
            while best.error > enough and (each := next(candidates, None)) is not None:
                if _greatest(each.values - y, smooth) <= most:
                    best = min(best, each, key=lambda x: x.error)
        return best

    def _more_terms(self, y: Array, used: Array) -> Iterator[Candidate]:
        """Polynomials of as many terms as the settings allow, unless they are those of the first candidate."""
        degree = self.degree(self.settings.candidates)
        if degree > self.degree(FIRST_CANDIDATES):
            yield self.polynomial(degree, y, used)

    def _beside_straight(self, muscle: int, y: Array, used: Array) -> Iterator[Candidate]:
        """Polynomials beside the straight pieces between points that are fixed on their bodies."""
        assert self._straight is not None
        points = straight_points(self.model.muscles[muscle])
        base = self._observed(*self._straight.fixed, muscle)
        for candidates in (FIRST_CANDIDATES, self.settings.candidates) if points else ():
            found = self.polynomial(self.degree(candidates), y - base, used)
            yield replace(found, straight=points, values=found.values + base)

    def polynomial(self, degree: int, y: Array, used: Array) -> Candidate:
        """The terms to which observations y (1 + r, n) at the poses that are `used` (n,) lead."""
        level, k = self._level(degree), self._fitted

        def whole(chosen: Array, c: Array) -> tuple[Part]:
            full = np.zeros(len(level.basis.powers))
            full[chosen] = c
            return (Part(full),)

        def error(chosen: Array, c: Array) -> float:
            off = (part_values(whole(chosen, c), level.held) - y[:, k:])[:, used[k:]]
            found = _root_mean_square(off[:1]), _root_mean_square(off[1:])
            return max(np.nan_to_num(x) / e for x, e in zip(found, self._wanted, strict=True))

        together = self._together(level.moments(y[:, :k], used[:k]))
        best = select_terms(together, self.settings.weight, self.settings.terms, error)
        values = level.sum_of(whole(best.chosen, best.coefficients))
        return Candidate(level.basis, best.chosen, (Part(best.coefficients),), (), best.error, values)

    def _together(self, parts: list[Moments]) -> Moments:
        """Lengths and rates in units of their wanted errors, as one problem."""
        weights = [e**-2 for e in self._wanted]
        pairs = zip(*((m.G, m.b, m.s) for m in parts), strict=True)
        return Moments(*(sum(w * part for w, part in zip(weights, pair, strict=True)) for pair in pairs))

    def _straight_alone(self, muscle: int, y: Array, used: Array) -> Iterator[Candidate]:
        """The path without its surfaces."""
        assert self._straight is not None
        level, base = self._level(self.degree(FIRST_CANDIDATES)), self._observed(*self._straight.fixed, muscle)
        points = self.model.muscles[muscle].path.points
        yield Candidate(level.basis, np.arange(1), (Part(np.zeros(1)),), points, self._error(base - y, used), base)

    def _with_surfaces(
        self, muscle: int, y: Array, used: Array, plans: Sequence[str], contact: list[Part]
    ) -> Iterator[Candidate]:
        """Fits by a contact beside the straight path, by this and a polynomial, and by two sides, of growing degree as
        long as it helps. The first one replaces `contact`, with which the second begins."""
        if not self.model.muscles[muscle].path.wraps or self._straight is None:
            return
        base, free = (self._observed(*each, muscle) for each in (self._straight.fixed, self._straight.free))
        level, points = self._level(self.degree(FIRST_CANDIDATES)), straight_points(self.model.muscles[muscle])
        counts = [self._count(d) for d in SURFACE_DEGREES]
        counts = [c for c in counts if c <= min(SURFACE_TERMS, len(level.basis.powers))]
        problem, poses = self._problem(level, y - base, used, max(counts, default=0))
        first = self._count(min(SIDE_DEGREE, level.basis.degree))
        for plan in plans:
            parts: list[Part] | None = None
            last = np.inf
            if plan == "sides" and not self._solved.jumping[self.order, muscle].any():
                continue
            for count in counts:
                if parts is None:
                    parts = _first_parts(plan, problem, count, first, contact, (y - free)[:, poses])
                else:
                    parts = widened(parts, count)
                if parts is None:
                    break
                parts = problem.fitted(parts)
                values = base + level.sum_of(parts)
                error = self._error(values - y, used)
                if plan == "contact":
                    contact[:] = parts
                chosen = np.arange(max(len(part.coefficients) for part in parts))
                yield Candidate(level.basis, chosen, tuple(parts), points, error, values)
                if error > MIN_PROGRESS * last:
                    break
                last = error

    def _problem(self, level: _Level, y: Array, used: Array, count: int) -> tuple[SurfaceProblem, Array]:
        """Of the first terms, at as many of the poses that are fitted as two parts of them need; these poses."""
        poses = np.flatnonzero(used[: self._fitted])
        poses = poses[: max(MIN_SURFACE_POSES, ROWS_PER_TERM * 2 * count // len(y))]
        weights = np.full((len(y), 1), 1.0 / self._wanted[1])
        weights[0] = 1.0 / self._wanted[0]
        terms = np.take(level.fitted[:count], poses, axis=-1)  # side by side in memory
        return SurfaceProblem(terms, y[:, poses], weights), poses

    def _error(self, off: Array, used: Array) -> float:
        """Held-out errors as a fraction of those wanted, and the greatest error of length of all used poses as one of
        GREATEST_FACTOR times that. Terms of surfaces are not linear, so that a few poses may be far off."""
        greatest = _greatest(off, used) / GREATEST_FACTOR
        errors = (*self._errors(off, used), greatest)
        return max(x / e for x, e in zip(errors, (*self._wanted, self._wanted[0]), strict=True))

    def _errors(self, off: Array, used: Array) -> tuple[float, float]:
        """Root mean squares of lengths and rates at the used poses that are held out."""
        held = off[:, self._fitted :][:, used[self._fitted :]]
        return _root_mean_square(held[:1]), _root_mean_square(held[1:])


def _first_parts(
    plan: str, problem: SurfaceProblem, count: int, first: int, contact: list[Part], longer: Array
) -> list[Part] | None:
    """The first guess of a fit with surfaces, None where there is none. Surfaces make the path so much `longer`."""
    if plan == "sides":
        return first_sides(problem, problem.y, count, first)
    found = None if contact else first_contact(problem, longer, count)
    parts = widened(contact, count) if contact else [] if found is None else [found]
    if plan == "rest" and parts:
        parts.append(Part(problem.linear(problem.y - part_values(parts, problem.terms), count)))
    return parts or None


def _greatest(off: Array, poses: Array) -> float:
    """The greatest error of length at some poses, of errors (1 + r, n)."""
    return float(np.abs(off[0, poses]).max(initial=0.0))


def _root_mean_square(x: Array) -> float:
    """Of all entries, NaN without any."""
    return float(np.sqrt(np.mean(x * x))) if x.size else np.nan
