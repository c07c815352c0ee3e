"""Solutions of the muscle redundancy of a motion, by affine force models, and frame after frame where activation
dynamics limit the activations.

Force laws that are affine in the activation make every frame a convex program. Of other laws tangents find a local
solution, `LOCAL` and without a bound. They start from a convex program of the frame in which forces are lines over the
ranges of the tensions. Where a muscle has a cheaper activation at the multipliers of the solution, the convex envelopes
of the effort give other starting points (`posed`), and the solution of least effort is kept.

Stability rules that are not convex are searched over the parameter for which they are. For one value of it a rule is a
convex cone with equations, and V(p), the least effort there, comes with a bound. What is minimal is V(p) + cost(p).
Along a grid the values are compared; then the intervals beside the best one are halved. Where V never rises
and the cost never falls with p, V(p2) + cost(p1) is a bound for all p between p1 and p2. The search continues where
that bound is least. The bound of a border is the effort within the round cone about it. A rule's solution is SOLVED
where it meets its bound, and LOCAL where a better one is not excluded. It is UNSOLVED where no parameter that was tried
has one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from myoquat.analysis.recruitment.convex import Solutions, Status, are_met
from myoquat.analysis.recruitment.stability import SearchedRule, StabilityRule
from myoquat.analysis.recruitment.tolerances import GLOBAL_GAP
from myoquat.core import Array, ArrayLike, check_items, real_array
from myoquat.joints.vectors import joined
from myoquat.muscle.model import Model

from .equations import Demands, Effort, secants
from .posed import PosedFrames
from .sequential_program import SequentialProgramming

MAX_STEP_PER_TIME_CONSTANT = 0.1  # of the integration, in the shortest time constant


def reachable(model: Model, a: Array, step: ArrayLike) -> tuple[Array, Array]:
    """(..., m) the least and the greatest activation that a (..., m) reaches in `step` (...) [s].

    The excitations are constant, 0 and 1. Muscles without activation dynamics have -inf and inf. The method is the
    Runge-Kutta method of order 4, with an error of about 1e-6.
    """
    reach, ends = Reach(model), (np.full(a.shape, -np.inf), np.full(a.shape, np.inf))
    lagging = np.flatnonzero(reach.dynamics_index >= 0)
    steps = np.broadcast_to(real_array("step", step)[..., None], (*a.shape[:-1], len(lagging)))
    for excitation, end in enumerate(ends):
        end[..., lagging] = reach.after(lagging, np.full(len(lagging), float(excitation)), a[..., lagging], steps)
    return ends


class Reach:
    """The activation dynamics of a model's muscles: `dynamics`, all that differ, and `dynamics_index` (m,), the number
    of each muscle's, -1 for none."""

    def __init__(self, model: Model) -> None:
        each = [muscle.activation_dynamics for muscle in model.muscles]
        self.dynamics = list(dict.fromkeys(own for own in each if own is not None))
        self.dynamics_index = np.array([-1 if own is None else self.dynamics.index(own) for own in each], dtype=int)

    @property
    def least(self) -> Array:
        """(m,) the least activation that a muscle's dynamics know; 0 where it has none."""
        return np.array([0.0 if k < 0 else self.dynamics[k].minimum_activation for k in self.dynamics_index])

    def after(self, muscle: Array, excitation: Array, a: Array, step: Array) -> Array:
        """(..., l) activations of muscles (l,), from a (..., l), after steps (..., l) [s] of excitations (l,)."""
        found = a.copy()
        for number, dynamics in enumerate(self.dynamics):
            rows = self.dynamics_index[muscle] == number
            shortest = min(dynamics.activation_time, dynamics.deactivation_time) / 2
            longest = step[..., rows].max(initial=0.0)
            count = max(int(np.ceil(longest / (MAX_STEP_PER_TIME_CONSTANT * shortest))), 1)
            e = np.broadcast_to(excitation[rows], found[..., rows].shape)
            for _ in range(count):
                found[..., rows] = dynamics.advanced(found[..., rows], (e, e, e), step[..., rows] / count)
        return found


AFFINITY_TOLERANCE = 1e-9  # of the greatest force: laws that deviate less from their secant are affine
INDEPENDENT_SPACING = 16  # frames from one that is solved independently to the next; others start from neighbours
MAX_TANGENT_ITERATIONS = 50
INNER_SAMPLES, END_SAMPLES = (0.37,), (0.0, 1.0)  # of a range of activations: compared with secants, and tangents


@dataclass
class Recruitment:
    """The solutions of all frames, with activations for their x, and the slopes (t, m) of the forces there."""

    demands: Demands
    effort: Effort
    backend: str
    alternatives: bool = True  # False: one local solution per frame where laws are not affine, from one start
    neighbours: bool = True  # whether frames of long motions start from the solutions beside them
    whole: None = None
    parameter: Array | None = None  # (t,) of a rule that is searched

    def __post_init__(self) -> None:
        demands = self.demands
        self.centre = np.pad(demands.targets(self.effort), ((0, 0), (0, len(demands.reserves))))
        self.slopes = np.empty(demands.lengths.shape)
        laws = bool(demands.model.muscles) and self.effort.is_smooth
        self.warm_starts = laws and SequentialProgramming.applies(demands, self.effort)
        self.found = self._along()

    def follow(self, time: Array) -> None:
        """Solve frame after frame, with activations that the dynamics reach from the frame before. A frame within this
        range keeps its solution: if the optimum of a relaxation is feasible, it is optimal."""
        m, model = len(self.demands.model.muscles), self.demands.model
        for k in range(1, len(time)):
            low, high = reachable(model, self.found.x[k - 1, :m], float(time[k] - time[k - 1]))
            a = self.found.x[k, :m]
            if ((a < low) | (a > high)).any():
                frame = np.array([k])
                self.found.put(
                    frame, self.solutions_of(frame, self.demands.subset(frame).within(low[None], high[None]))
                )

    def _along(self) -> Solutions:
        """Solutions of all frames: some independent ones, the others from interpolated starts, with neighbours closer
        and closer."""
        k, step = len(self.slopes), INDEPENDENT_SPACING
        if not (self.neighbours and self.warm_starts) or k <= 2 * step:
            return self.solutions_of(np.arange(k), self.demands)
        few = np.append(np.arange(0, k - 1, step), k - 1)
        known = self.solutions_of(few, self.demands.subset(few))
        found = Solutions(**{name: np.empty((k, *v.shape[1:]), v.dtype) for name, v in vars(known).items()})
        found.put(few, known)
        while step > 1:
            step //= 2
            self._between(found, np.arange(step, k - 1, 2 * step), step)
        return found

    def _between(self, found: Solutions, frames: Array, step: int) -> None:
        """Put into `found` the solutions of frames from those of the two `step` frames away, and of the next two."""
        x, y = (_interpolated(v, frames, step) for v in (found.x, found.y))
        left, right = frames - step, np.minimum(frames + step, len(found.x) - 1)
        near = are_met(found.status[left]) & are_met(found.status[right])
        open_ = frames[~near]
        if near.any():
            rows = frames[near]
            known, tangent = self._warm_started(rows, x[near], y[near])
            bent = are_bent(self.demands.subset(rows), *tangent, END_SAMPLES)
            nonlinear = np.flatnonzero(are_met(known.status) & bent)
            if len(nonlinear):
                posed = self._posed(self.demands.subset(rows[nonlinear]))
                local = posed.measured(known.subset(nonlinear))
                if self.alternatives:
                    local.status[posed.improvable(local)] = Status.UNSOLVED
                known.put(nonlinear, local)
            found.put(rows, known)
            open_ = np.concatenate([open_, rows[~are_met(known.status)]])
        if len(open_):
            found.put(open_, self.solutions_of(open_, self.demands.subset(open_)))

    def _warm_started(
        self, frames: Array, x: Array, y: Array, demands: Demands | None = None
    ) -> tuple[Solutions, tuple[Array, Array]]:
        """The solutions of `SequentialProgramming` near x and y, and the tangents F0, F1 of the forces there."""
        given = demands or self.demands.subset(frames)
        found, tangent = SequentialProgramming(given, self.effort, self.backend).solved(x, y)
        self.slopes[frames] = slope = tangent[..., 1]
        return found, (tangent[..., 0] - slope * found.x[:, : slope.shape[1]], slope)

    def solutions_of(self, frames: Array, demands: Demands) -> Solutions:
        """Solutions of frames by themselves."""
        F0, F1 = secants(demands.tensions, demands.lower, len(frames))
        bent = np.flatnonzero(are_bent(demands, F0, F1))
        if not len(bent):
            self.slopes[frames] = F1
            return self._on_lines(demands, F0, F1, self.centre[frames])
        posed = self._posed(demands.subset(bent))
        F0[bent], F1[bent] = posed.lines
        found = self._on_lines(demands, F0, F1, self.centre[frames])
        m, start = demands.lengths.shape[1], found.subset(bent)
        tensions = F0[bent] + F1[bent] * start.x[:, :m]
        start.x[:, :m] = posed.activations(np.arange(len(bent)), tensions[..., None])[..., 0]
        found.put(bent, self._of_bent(posed, frames[bent], start))
        F1[bent] = posed.demands.tangents(found.x[bent, :m])[1]
        self.slopes[frames] = F1
        return found

    def _of_bent(self, posed: PosedFrames, frames: Array, start: Solutions) -> Solutions:
        """Solutions of frames whose laws are not affine, from those with lines for their forces: feasible where these
        are, and infeasible where these are."""
        open_ = np.flatnonzero(are_met(start.status))
        if self.effort.of == "stress" or not len(open_):  # then the lines are exact
            return start
        if self.effort.power == np.inf:
            new = self._by_tangents(frames[open_], posed.demands.subset(open_), start.x[open_])
            new.status[:] = np.where(new.status == Status.SOLVED, Status.LOCAL, Status.UNSOLVED)
            new.bound[:] = np.nan
            start.put(open_, new)
            return start
        start.status[open_], start.bound[open_] = Status.UNSOLVED, np.nan
        for attempt in (self._near, self._anywhere):
            part = posed.subset(open_)
            for new in attempt(part, frames[open_], start.subset(open_)):
                start.put(open_, part.cheaper(start.subset(open_), part.measured(new)))
            known = start.subset(open_)
            again = ~are_met(known.status)
            if self.alternatives:
                again |= part.improvable(known)
            open_ = open_[again]
            if not len(open_):
                break
        return start

    def _near(self, posed: PosedFrames, frames: Array, start: Solutions) -> Iterator[Solutions]:
        """Local solutions near a start."""
        if not self.effort.is_smooth:
            return
        if not self.warm_starts:
            yield self._by_tangents(frames, posed.demands, start.x)
            return
        found, _ = self._warm_started(frames, start.x, start.y, posed.demands)
        left = np.flatnonzero(found.status != Status.SOLVED)
        if len(left):
            found.put(left, self._by_tangents(frames[left], posed.demands.subset(left), start.x[left]))
        yield found

    def _anywhere(self, posed: PosedFrames, frames: Array, start: Solutions) -> Iterator[Solutions]:
        """Local solutions near those of the convex envelopes, and these themselves."""
        found = posed.solved()
        best = None
        for x in (found.x, *posed.alternatives(found)):
            for new in self._near(posed, frames, replace(found, x=x)):
                new = posed.measured(new)
                best = new if best is None else posed.cheaper(best, new)
        if best is not None:
            yield best
        yield found

    def _by_tangents(self, frames: Array, demands: Demands, x: Array) -> Solutions:
        """Solutions at which the forces are their tangents, from activations and reserves x; UNSOLVED where tangents
        do not lead to forces that meet the equations."""
        m, centre, found = demands.lengths.shape[1], self.centre[frames], None
        x, open_ = x.copy(), np.arange(len(frames))
        for _ in range(MAX_TANGENT_ITERATIONS):
            part = demands.subset(open_)
            F0, F1 = part.tangents(x[open_, :m])
            new = self._on_lines(part, F0, F1, centre[open_])
            if found is None:
                found = new
            found.put(open_, new)
            met, exact = are_met(new.status), part.are_met(new.x)
            x[open_[met]] = new.x[met]
            found.status[open_] = np.where(met & exact, Status.SOLVED, Status.UNSOLVED)
            open_ = open_[met & ~exact]
            if not len(open_):
                break
        assert found is not None
        return found

    def _posed(self, demands: Demands) -> PosedFrames:
        return PosedFrames(demands, self.effort, self.backend)

    def _on_lines(self, demands: Demands, F0: Array, F1: Array, centre: Array) -> Solutions:
        """Where the tensions are F0 + F1 a (t, m), and the effort is that of x - centre (t, m + r)."""
        m = len(demands.model.muscles)
        programs = demands.programs(F0, F1, self.effort)
        found = self.effort.solved(demands, programs, centre, self.backend)
        found.x[:, :m] = demands.activations(found.x[:, :m], F0, F1, self.effort)
        return found


def are_bent(demands: Demands, F0: Array, F1: Array, parts: tuple[float, ...] = INNER_SAMPLES) -> Array:
    """(t,) whether a law deviates from a line F0 + F1 a (t, m) at some parts of the range of activations.

    The range is from the least activation to 1. Parts inside test a secant, parts at the ends a tangent.
    """
    off = np.zeros(len(F0))
    for part in parts:
        a = np.broadcast_to(demands.lower + part * (1 - demands.lower), F0.shape)
        off = np.maximum(off, np.abs(demands.tensions(a) - F0 - F1 * a).max(axis=-1, initial=0.0))
    return np.asarray(off > AFFINITY_TOLERANCE * np.abs(F1).max(axis=-1, initial=1.0))


def _interpolated(values: Array, frames: Array, step: int) -> Array:
    """Values (k, n) of frames that are 2 steps apart, from the frames one step before and after each.

    They follow a cubic through these and the next two. At the ends, and where the very last frame is nearer than a
    step, they follow a straight line.
    """
    count, first = len(frames), int(frames[0])
    whole = count - bool(frames[-1] + step >= len(values))  # frames whose neighbours are both a step away
    known = values[first - step : first + 2 * step * whole : 2 * step]
    line = np.empty((count, values.shape[1]))
    np.add(known[:whole], known[1:], out=line[:whole])
    line[:whole] *= 0.5
    if whole > 2:
        line[1 : whole - 1] -= (known[:-3] - known[1:-2] - known[2:-1] + known[3:]) / 16
    if whole < count:
        part = step / (len(values) - 1 - (frames[-1] - step))
        line[-1] = (1 - part) * values[frames[-1] - step] + part * values[-1]
    return line


FULL_TURN = 2 * np.pi
HALVINGS = 18  # of the intervals beside the best parameter, and of the one whose bound is least


def check_searched(rules: Sequence[StabilityRule], whole: bool) -> None:
    """ValueError for two rules that are searched, and for one over a whole trial."""
    searched = [rule for rule in check_items("cones", rules, StabilityRule) if isinstance(rule, SearchedRule)]
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
        """Solutions of frames by themselves, at the best parameters, with what the rule adds to the effort."""
        demands, everything, m = demands.with_rules(), np.arange(len(frames)), demands.lengths.shape[1]
        assert demands.searched is not None
        rule = demands.cones[demands.searched]
        assert isinstance(rule, SearchedRule)
        outer = self._at(frames, everything, demands)
        force = demands.pressed(demands.tensions(outer.x[:, :m]), outer.x[:, m:])[:, demands.searched]
        parameter, bound, refuted = rule.parameter_of(force), _known(outer.bound), outer.status == Status.INFEASIBLE
        allowed = (rule.margin(force) >= 0) & (rule.cost(parameter) == 0)
        rows = np.flatnonzero(are_met(outer.status) & ~allowed)

        def values(at: Array) -> Array:
            """(3, n, g) parameters (n, g) of `rows`, the efforts there with the rule's cost, and bounds of the efforts
            without it; infinite where there is no solution."""
            each, flat = np.repeat(rows, at.shape[1]), at.ravel()
            found = self._at(frames, each, demands.subset(each).with_rules(flat), alternatives=False)
            met = are_met(found.status)
            total = np.where(met, found.objective + rule.cost(flat), np.inf)
            least = np.where(met, _known(found.bound), np.where(found.status == Status.INFEASIBLE, np.inf, -np.inf))
            return np.stack([flat, total, least]).reshape(3, *at.shape)

        if len(rows):
            parameter[rows], least = _searched(rule, values, bound[rows])
            bound[rows] = np.maximum(bound[rows], least)
        self.parameter[frames] = parameter
        found = self._at(frames, everything, demands.with_rules(parameter))
        found.objective[:] += rule.cost(parameter)
        bound = np.where(refuted, np.inf, np.minimum(bound, found.objective))
        above = found.objective - bound > GLOBAL_GAP * np.abs(found.objective)
        found.bound[:] = np.where(np.isneginf(bound), np.nan, bound)
        found.status[(found.status == Status.SOLVED) & above] = Status.LOCAL
        found.status[(found.status == Status.INFEASIBLE) & ~refuted] = Status.UNSOLVED
        return found

    def _at(self, frames: Array, rows: Array, demands: Demands, alternatives: bool = True) -> Solutions:
        """Solutions of some of the frames, whose demands have cones and equations in place of the rule."""
        self.alternatives = alternatives
        return super().solutions_of(frames[rows], demands)


def _searched(rule: SearchedRule, values: Callable[[Array], Array], bound: Array) -> tuple[Array, Array]:
    """(n,) parameters at which the least effort is known, and bounds of the efforts at all parameters.

    `values` are those of parameters (n, g), and `bound` (n,) the efforts' bounds without the rule. The intervals beside
    the best parameter are halved. So is the one whose bound is least, for a rule that is monotone.
    """
    tried, lines = values(np.tile(rule.grid, (len(bound), 1))), np.arange(len(bound))[:, None]

    def intervals() -> Array:
        """(n, g + 1) bounds of what is minimal below, between and beyond the parameters that were tried."""
        cost = rule.cost(np.nextafter(tried[0], np.inf))
        return np.pad(cost, ((0, 0), (1, 0))) + joined([tried[2], bound[:, None]])

    for _ in range(HALVINGS):
        at = tried[0]
        best = at[lines, tried[1].argmin(axis=-1)[:, None]]
        ends = (best, best) if rule.monotone else (at[:, -1:] - FULL_TURN, at[:, :1] + FULL_TURN)
        left = np.where(at < best, at, -np.inf).max(axis=-1, keepdims=True)
        right = np.where(at > best, at, np.inf).min(axis=-1, keepdims=True)
        beside = [np.where(np.isfinite(x), x, end) for x, end in zip((left, right), ends, strict=True)]
        new = [(best + x) / 2 for x in beside]
        if rule.monotone and np.isfinite(bound).any():
            place = intervals()[:, 1:-1].argmin(axis=-1)[:, None]
            new.append(np.sqrt(at[lines, place] * at[lines, place + 1]))
        tried = joined([tried, values(joined(new))])
        tried = tried[:, lines, np.argsort(tried[0], axis=-1, kind="stable")]
    least = intervals().min(axis=-1) if rule.monotone else np.full(len(bound), -np.inf)
    return tried[0][lines[:, 0], tried[1].argmin(axis=-1)], least


def _known(bounds: Array) -> Array:
    """(n,) bounds, minus infinity in place of NaN, which stands for none."""
    return np.asarray(np.where(np.isnan(bounds), -np.inf, bounds))
