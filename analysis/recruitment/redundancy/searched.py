"""Stability rules that are not convex: a search over the parameter for which they are.

For one value of its parameter a rule is a convex cone with equations, and V(p), the least effort there, comes with a
bound. What is minimal is V(p) + cost(p). Along a grid the values are compared; between the neighbours of the best the
golden section goes on. Where V never rises and the cost never falls with p, V(p2) + cost(p1) is a bound for all p
between p1 and p2. The search continues where that bound is least. The bound of a border is the effort within the round
cone about it. A rule's solution is SOLVED where it meets its bound, and LOCAL where a better one is not excluded. It is
UNSOLVED where no parameter that was tried has one.
"""

from collections.abc import Callable, Sequence

import numpy as np

from myoquat.analysis.recruitment.convex import Solutions, Status, are_met
from myoquat.analysis.recruitment.redundancy.equations import Demands
from myoquat.analysis.recruitment.redundancy.solving import Recruitment
from myoquat.analysis.recruitment.stability import SearchedRule, StabilityRule
from myoquat.analysis.recruitment.tolerances import GLOBAL_GAP
from myoquat.core.records import dataclass
from myoquat.core.typing import Array

__all__ = ["SearchedRecruitment", "check_searched"]

GOLDEN_RATIO = (np.sqrt(5) - 1) / 2
FULL_TURN = 2 * np.pi
GOLDEN_SECTIONS = 20  # golden sections of a bracket: to 1e-4 of its width, where an effort is off by about 1e-8
BISECTIONS = 20  # of the interval whose bound is least


def check_searched(rules: Sequence[StabilityRule], whole: bool) -> None:
    """ValueError for two rules that are searched, and for one over a whole trial."""
    searched = [rule for rule in rules if isinstance(rule, SearchedRule)]
    if len(searched) > 1:
        names = ", ".join(f"{type(rule).__name__} of {rule.joint!r}" for rule in searched)
        raise ValueError(f"one rule at most can be searched, not {names}; the others must be cones")
    if searched and whole:
        rule = type(searched[0]).__name__
        raise ValueError(f"a coupled trial takes cones and lines, not a {rule}, which is searched")


class SearchedRecruitment(Recruitment):
    """The solutions of all frames under a rule that has a parameter, `parameter` (t,) of each frame."""

    parameter: Array

    def __post_init__(self) -> None:
        self.parameter = np.zeros(self.demands.count)
        super().__post_init__()

    def solutions_of(self, frames: Array, demands: Demands) -> Solutions:
        """Solutions of frames by themselves, at the best parameters."""

        def solve(rows: Array, part: Demands, alternatives: bool = True) -> Solutions:
            self.alternatives = alternatives
            return Recruitment.solutions_of(self, frames[rows], part)

        search = _Search(demands.with_rules(), solve)
        self.parameter[frames] = search.parameter
        return search.found


class _Search:
    """The solutions `found` of frames, and their parameters (k,)."""

    def __init__(self, demands: Demands, solve: Callable[..., Solutions]) -> None:
        assert demands.searched is not None
        self.demands, self.solve = demands, solve
        rule = demands.cones[demands.searched]
        assert isinstance(rule, SearchedRule)
        self.rule = rule
        everything = np.arange(len(demands.torque))
        outer = solve(everything, demands)
        m = demands.lengths.shape[1]
        force = demands.pressed(demands.tensions(outer.x[:, :m]), outer.x[:, m:])[:, demands.searched]
        self.parameter, self.bound = self.rule.parameter_of(force), _known(outer.bound)
        self.refuted = outer.status == Status.INFEASIBLE
        allowed = (self.rule.margin(force) >= 0) & (self.rule.cost(self.parameter) == 0)
        rows = np.flatnonzero(are_met(outer.status) & ~allowed)
        if len(rows):
            self._search(rows)
        self.found = self._solutions_of_all(everything)

    def _solutions_of_all(self, everything: Array) -> Solutions:
        """The solutions at the parameters that were found, with what the rule adds to the effort."""
        found = self.solve(everything, self.demands.with_rules(self.parameter))
        found.objective[:] += self.rule.cost(self.parameter)
        bound = np.where(self.refuted, np.inf, np.minimum(self.bound, found.objective))
        above = found.objective - bound > GLOBAL_GAP * np.abs(found.objective)
        found.bound[:] = np.where(np.isneginf(bound), np.nan, bound)
        found.status[(found.status == Status.SOLVED) & above] = Status.LOCAL
        found.status[(found.status == Status.INFEASIBLE) & ~self.refuted] = Status.UNSOLVED
        return found

    def _search(self, rows: Array) -> None:
        """The best parameters of frames."""
        grid = np.broadcast_to(self.rule.grid, (len(rows), len(self.rule.grid)))
        totals, bounds = (v.reshape(grid.shape) for v in self._values(np.repeat(rows, grid.shape[1]), grid.ravel()))
        tried = _Tried(grid, totals, bounds)
        bounded = self.rule.monotone and np.isfinite(self.bound[rows]).any()
        for _ in range(BISECTIONS if bounded else 0):
            middle = tried.middle_of_least(self._of_intervals(rows, tried))
            tried = tried.joined(middle, *self._values(rows, middle))
        tried = self._sections(rows, tried, None if self.rule.monotone else FULL_TURN)
        self.parameter[rows] = tried.best
        if self.rule.monotone:
            self.bound[rows] = np.maximum(self.bound[rows], self._of_intervals(rows, tried).min(axis=-1))

    def _sections(self, rows: Array, tried: "_Tried", period: float | None) -> "_Tried":
        """With the parameters that the golden section tries in the brackets of the best ones."""
        left, right = tried.bracket(period)
        first, second = right - GOLDEN_RATIO * (right - left), left + GOLDEN_RATIO * (right - left)
        at_first, at_second = self._values(rows, first), self._values(rows, second)
        tried = tried.joined(first, *at_first).joined(second, *at_second)
        of_first, of_second = at_first[0], at_second[0]
        for _ in range(GOLDEN_SECTIONS):
            falls = of_second < of_first
            left, right = np.where(falls, first, left), np.where(falls, right, second)
            width = GOLDEN_RATIO * (right - left)
            new = np.where(falls, left + width, right - width)
            values = self._values(rows, new)
            tried = tried.joined(new, *values)
            first, second = np.where(falls, second, new), np.where(falls, new, first)
            of_first, of_second = np.where(falls, of_second, values[0]), np.where(falls, values[0], of_first)
        return tried

    def _values(self, rows: Array, parameter: Array) -> tuple[Array, Array]:
        """(n,) the efforts of frames at parameters (n,), the rule's cost included, and bounds of the efforts without;
        infinite where there is no solution."""
        found = self.solve(rows, self.demands.subset(rows).with_rules(parameter), alternatives=False)
        cost = self.rule.cost(parameter)
        total = np.where(are_met(found.status), found.objective + cost, np.inf)
        unknown = ~are_met(found.status) & (found.status != Status.INFEASIBLE)
        bound = np.where(are_met(found.status), _known(found.bound), np.where(unknown, -np.inf, np.inf))
        return total, bound

    def _of_intervals(self, rows: Array, tried: "_Tried") -> Array:
        """(n, p + 1) bounds of what is minimal below, between and beyond the parameters that were tried."""
        cost = self.rule.cost(np.nextafter(tried.parameter, np.inf))
        before = np.concatenate([np.zeros((len(cost), 1)), cost], axis=-1)
        found: Array = before + np.concatenate([tried.bound, self.bound[rows][:, None]], axis=-1)
        return found


@dataclass(frozen=True)
class _Tried:
    """Parameters (n, p) in ascending order, with what is minimal there, and bounds of the efforts."""

    parameter: Array
    total: Array
    bound: Array

    def joined(self, parameter: Array, total: Array, bound: Array) -> "_Tried":
        """With one more parameter (n,)."""
        pairs = ((self.parameter, parameter), (self.total, total), (self.bound, bound))
        parts = [np.concatenate([own, more[:, None]], axis=-1) for own, more in pairs]
        order = np.argsort(parts[0], axis=-1, kind="stable")
        return _Tried(*(np.take_along_axis(part, order, axis=-1) for part in parts))

    @property
    def best(self) -> Array:
        """(n,) the parameters at which least is known."""
        place = np.argmin(self.total, axis=-1)
        return np.asarray(self.parameter[np.arange(len(place)), place])

    def middle_of_least(self, intervals: Array) -> Array:
        """(n,) the geometric mean of the interval between two parameters whose bound is least."""
        place, rows = np.argmin(intervals[:, 1:-1], axis=-1), np.arange(len(intervals))
        return np.asarray(np.sqrt(self.parameter[rows, place] * self.parameter[rows, place + 1]))

    def bracket(self, period: float | None) -> tuple[Array, Array]:
        """(n,), (n,) the parameters beside the best one; past the ends those of the next period, or the ends."""
        place, last = np.argmin(self.total, axis=-1), self.parameter.shape[-1] - 1
        rows = np.arange(len(place))
        left = self.parameter[rows, np.maximum(place - 1, 0)]
        right = self.parameter[rows, np.minimum(place + 1, last)]
        if period is None:
            return left, right
        left = np.where(place == 0, self.parameter[:, -1] - period, left)
        return left, np.where(place == last, self.parameter[:, 0] + period, right)


def _known(bounds: Array) -> Array:
    """(n,) bounds, minus infinity in place of NaN, which stands for none."""
    return np.asarray(np.where(np.isnan(bounds), -np.inf, bounds))
