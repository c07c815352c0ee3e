"""The solution of a whole trial: the least sum of the efforts of all frames, coupled by activation dynamics.

Within a step h an activation a reaches all values between L(a) and H(a). These follow from a' = f(a, e) with the
constant excitations 0 and 1. If L is convex and H concave the trial is a convex program. For the "quadratic" form both
are affine: H = 1 - (1 - a) exp(-h (1 / tau_a + 1 / tau_d)) and L = a exp(-h / tau_d). In general H has the curvature of
f(., 1), and L that of f(., 0). For the "piecewise" form L = a / (E + 3 a (E - 1)), E = exp(h / (2 tau_d)), is concave.
Its H is convex, the root of -1.5 H - 2 ln(1 - H) = -1.5 a - 2 ln(1 - a) + h / tau_a. "smooth" has some of both. L and H
are replaced by their tangents at the current solution until nothing changes. For a convex H and a concave L the
tangents exclude part of the reachable values and add none [A. L. Yuille, A. Rangarajan, The concave-convex procedure,
Neural Comput. 15, 2003]. Bound tightening gives a lower bound of all other solutions.

Frames without an active coupling keep the solution of the independent frame: if the optimum of a relaxation is
feasible, it is optimal. Steps are coupled where solutions break their bounds, and near there.

Bound tightening: a lower bound of the effort of a coupled trial with nonlinear limits L and H of the activations.

Within ranges of the activations L is replaced by a line at or below it, H by a line at or above it. The bound of that
convex program holds for the trial. In the dual, replace the term of one activation by its value at a point. A better
solution is only where this is not above the known effort. That gives ranges of all activations, first from independent
frames, then from the program within the last ranges. Lines over narrower ranges are nearer to L and H [H. S. Ryoo, N.
V. Sahinidis, A branch-and-reduce approach to global optimization, J. Global Optim. 8, 1996].
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from myoquat.analysis.recruitment.convex import CouplingRows, Programs, Status, solve_coupled, terms
from myoquat.analysis.recruitment.convex.program import joined_rows
from myoquat.analysis.recruitment.tolerances import GLOBAL_GAP
from myoquat.core import Array, frozen, scipy
from myoquat.joints.vectors import vecmat, vector
from myoquat.kernels.tracing.derivatives import jacobian_at

from .equations import Demands, Effort, secants
from .solving import Reach, Recruitment, SearchedRecruitment, are_bent, reachable


@frozen
class FrameCoupling:
    """How the activations of a frame depend on those of its neighbours: `Sequential` or `Coupled`.

    >>> from myoquat.analysis.recruitment import Coupled, FrameCoupling, Sequential
    >>> isinstance(Sequential(), FrameCoupling), isinstance(Coupled(), FrameCoupling)
    (True, True)
    """


@frozen
class Sequential(FrameCoupling):
    """The frames of a motion one after the other, for `redundancy`. From one frame to the next, the activation of a
    muscle with `activation_dynamics` changes no more than with an excitation between 0 and 1.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment import Sequential, redundancy
    >>> from myoquat.data import Motion
    >>> from myoquat.muscle import ActivationDynamics, ExponentialMuscle, PathPoint
    >>> rod = mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0, center_of_mass=(0.5, 0, 0))
    >>> path = (PathPoint("ground", (0.0, 0.0, 0.4)), PathPoint("rod", (0.3, 0.0, 0.0)))
    >>> law = ExponentialMuscle(0.5, 100.0)
    >>> muscle = mq.Muscle("biceps", path, law, activation_dynamics=ActivationDynamics())
    >>> model = mq.Model(mq.ArticulatedSystem((rod,)), (muscle,))
    >>> held = Motion(model, [0.0, 0.005], [[0.0]] * 2, [[0.0]] * 2, [[-9.0], [0.0]])  # lift, then hold
    >>> free, slow = (redundancy(model, held, dynamics=d, reserves=50.0) for d in (None, Sequential()))
    >>> bool(slow.activation[1, 0] > free.activation[1, 0])  # it cannot fall faster
    True
    """


@frozen
class Coupled(FrameCoupling):
    """The frames of a motion as one problem, for `redundancy`. The sum of their efforts is the least that activation
    dynamics allow: an activation rises before it is needed and falls in time.

    rates  [s^2] weight, in that sum, of the squares of all (a_k+1 - a_k) / (t_k+1 - t_k) of the muscles.

    Activations are not below the `minimum_activation` of their dynamics. Efforts are those of activations, with a
    finite power, of at least 2 where there are targets.

    >>> from myoquat.analysis.recruitment import Coupled
    >>> Coupled(rates=1e-4)
    Coupled(rates=0.0001)
    """

    rates: float = 0.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.rates) and self.rates >= 0):
            raise ValueError(f"rates must be finite and not negative, not {self.rates}")


@frozen(eq=False)
class WholeTrial:
    """The solution of the frames of a motion as one problem (`Coupled`).

    effort  the sum of the frames' efforts, with that of the rates; `bound`, a lower bound of it; `gap`, their
            difference, relative to the effort.
    status  `SOLVED` where the gap is at most 1e-7; `LOCAL` where it is more, and no activations near are better.
            `INFEASIBLE` where the frames of this status have no solution that activations can reach. They violate their
            conditions the least, and the others have the least effort that this leaves.
    frame, velocity, missing  where the equations are missed the most, and by how much [N m, N].
    beyond  how far activations are beyond what they can reach, at most.
    linked, outer_iterations  the number of frames that dynamics or rates couple to a neighbour, and of solved programs.
    reach_price  (t, m) the part of the frames beside in the derivative of an activation's effort (`Redundancy.shares`).

    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment import Coupled, redundancy
    >>> from myoquat.data import Motion
    >>> from myoquat.muscle import ActivationDynamics, ExponentialMuscle, PathPoint
    >>> rod = mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0, center_of_mass=(0.5, 0, 0))
    >>> path = (PathPoint("ground", (0.0, 0.0, 0.4)), PathPoint("rod", (0.3, 0.0, 0.0)))
    >>> muscle = mq.Muscle("biceps", path, ExponentialMuscle(0.5, 100.0), activation_dynamics=ActivationDynamics())
    >>> model = mq.Model(mq.ArticulatedSystem((rod,)), (muscle,))
    >>> held = Motion(model, [0.0, 0.1], [[0.0], [0.0]], [[0.0], [0.0]], [[0.0], [0.0]])
    >>> redundancy(model, held, dynamics=Coupled()).trial
    <WholeTrial solved: effort 0.334, gap 0>
    """

    effort: float
    bound: float
    status: Status
    frame: int
    velocity: str
    missing: float
    beyond: float
    linked: int
    outer_iterations: int
    reach_price: Array

    def __repr__(self) -> str:
        state = self.status.name.lower()
        if self.status == Status.INFEASIBLE:
            return f"<WholeTrial {state}: frame {self.frame} lacks {self.missing:.3g} of {self.velocity!r}>"
        return f"<WholeTrial {state}: effort {self.effort:.3g}, gap {max(self.gap, 0.0):.1g}>"

    @property
    def gap(self) -> float:
        """By how much the effort is above its bound, relative to it."""
        return (self.effort - self.bound) / self.effort if self.effort > 0 else self.effort - self.bound


Ends = Callable[[Array], Array]  # activations (p, l) of coupling rows to the values of L or H there
RowsOverRanges = Callable[[Array, Array], CouplingRows]  # of ranges (k, m)

RANGE_POINTS = 17  # of a range: a line is beyond L or H at all of them
MAX_TIGHTENINGS = 8
TIGHTENING_GAP = 1e-8  # of the effort: ranges are narrow enough if it exceeds its bound by no more
MAX_REMAINING_GAP = 0.8  # of the gap before a tightening: if more remains, the tightening ends
BELOW_ONE = np.nextafter(1.0, 0.0)  # the greatest activation at which an excitation of 1 is above it, as dynamics ask
MAX_HALVINGS = 50  # of an interval that brackets the end of a range


def outer_lines(ends: Ends, high: Array, low: Array, top: Array) -> tuple[Array, Array]:
    """(l,) values at 0 and slopes of lines over ranges [low, top] (l,), parallel to the secant.

    At all sampled points, lines are at or below L, or at or above H where `high` (l,) is set.
    """
    a = low + (top - low) * np.linspace(0.0, 1.0, RANGE_POINTS)[:, None]
    values = ends(a)
    slope = terms.ratio(values[-1] - values[0], top - low)
    rest = values - slope * a
    return np.where(high, rest.max(axis=0), rest.min(axis=0)), slope


def _narrowed(programs: Programs, m: int, price: Array, left: float) -> Programs:
    """Programs whose first m variables are where w |x|^p - price x exceeds its least value by at most `left`."""
    w, power, price = programs.weights[:, :m], float(programs.power or 2.0), price[:, :m]
    ends = programs.lower[:, :m], programs.upper[:, :m]

    def value(x: Array) -> Array:
        return terms.cost(w, power, x) - price * x

    tried = np.stack([*ends, np.clip(terms.cheapest(w, power, price), *ends)])
    least = np.take_along_axis(tried, np.argmin(value(tried), axis=0)[None], axis=0)[0]
    most, bounds = value(least) + left, []
    for end, whole in zip(ends, (programs.lower, programs.upper), strict=True):
        inner, outer = least, end
        for _ in range(MAX_HALVINGS):
            middle = (inner + outer) / 2
            within = value(middle) <= most
            inner, outer = np.where(within, middle, inner), np.where(within, outer, middle)
        bounds.append(np.concatenate([np.where(value(end) <= most, end, outer), whole[:, m:]], axis=-1))
    return replace(programs, lower=bounds[0], upper=bounds[1])


def trial_bound(
    programs: Programs, alone: tuple[Array, Array, Array], effort: float, lines: RowsOverRanges, m: int
) -> float:
    """A lower bound of the sum of the objectives of programs that are coupled in their first m variables.

    alone: x (k, n), y and z of the solutions of the independent programs. effort: that of a solution. `lines`(low, top)
    returns the coupling rows of lines over ranges (k, m) of the first m variables.
    """
    x, y, z = alone
    rows = joined_rows(y, z)
    price = vecmat(rows, programs.B)
    bound = float(programs.certificates(x, rows, price)[0].sum())
    for _ in range(MAX_TIGHTENINGS):
        programs = _narrowed(programs, m, price, max(effort - bound, 0.0) + TIGHTENING_GAP * abs(effort))
        coupling = lines(programs.lower[:, :m], programs.upper[:, :m])
        found = solve_coupled(programs, coupling)
        if found.status != Status.SOLVED:
            break
        before, bound = bound, max(bound, found.bound)
        if effort - bound <= TIGHTENING_GAP * abs(effort) or effort - bound > MAX_REMAINING_GAP * (effort - before):
            break
        price = vecmat(joined_rows(found.y, found.z), programs.B) + coupling.price(found.pull, x.shape)
    return bound


# Steps, muscles, and 0 for L or 1 for H, (l,) each, to values at 0 and slopes of lines.
Lines = Callable[[Array, Array, Array], tuple[Array, Array]]

MAX_OUTER_ITERATIONS = 40  # of coupled programs on tangents
REACH_TOLERANCE = 1e-9  # of an activation: it exceeds the reachable range by no more
EFFORT_TOLERANCE = 1e-9  # of the sum of efforts: a smaller change ends the iteration
FIRST_NEIGHBOURHOOD = 25  # steps coupled on either side of a broken bound; doubles in every outer iteration


@dataclass
class CoupledRecruitment:
    """The solution of a trial at times (t,) [s], in the fields of `Recruitment`, and `whole`."""

    demands: Demands
    effort: Effort
    backend: str
    time: Array
    coupled: Coupled
    whole: WholeTrial = field(init=False)
    parameter: None = None

    def __post_init__(self) -> None:
        demands = self.demands
        self.reach = Reach(demands.model)
        low = np.broadcast_to(self.reach.least, demands.lengths.shape)
        self.demands = demands = demands.within(low, np.ones(low.shape))
        self.m, self.step = low.shape[1], np.diff(self.time)
        single = Recruitment(demands, self.effort, self.backend)
        self.found, self.slopes, self.centre = single.found, single.slopes, single.centre
        self.F0, F1 = secants(demands.tensions, demands.lower, len(self.time))
        self.bent = np.flatnonzero(are_bent(demands, self.F0, F1))
        self._straighten(self.bent)
        self.single = tuple(v.copy() for v in (self.found.x, self.found.y, self.found.z))
        self.alone = self.lost = self.found.status == Status.INFEASIBLE
        self.status = Status.SOLVED
        self.chosen = np.zeros((len(self.step), self.m, 2), dtype=bool)  # steps of muscles with L, H coupled
        self.pull = np.zeros(self.chosen.shape)
        self.rate_pull = np.zeros(self.chosen.shape[:2])
        self.whole = self._solved()

    def _solved(self) -> WholeTrial:
        """Outer iterations until all activations are within reach and nothing changes."""
        total, broken, iterations = self._objective(), self._beyond() > REACH_TOLERANCE, 0
        going = broken.any() or (self.coupled.rates > 0 and len(self.step) > 0)
        while going and iterations < MAX_OUTER_ITERATIONS:
            self.chosen |= _widened(broken & ~self.chosen, FIRST_NEIGHBOURHOOD * 2**iterations)
            self._iterate()
            before, total, broken, iterations = (
                total,
                self._objective(),
                self._beyond() > REACH_TOLERANCE,
                iterations + 1,
            )
            going = broken.any() or abs(total - before) > EFFORT_TOLERANCE * abs(total) or not self._are_met().all()
        if (self.lost & ~self.alone).any() and not self._refuted():
            self.status, self.lost = Status.UNSOLVED, self.alone
        return self._certified(iterations)

    # ---- a round ---------------------------------------------------------------------------------------------

    def _iterate(self) -> None:
        """Solve the coupled frames, on tangents of their force laws and of L and H."""
        frames, found, m = self._coupled_frames(), self.found, self.m
        self._straighten(np.intersect1d(frames, self.bent))
        programs, centre = self._programs(frames)
        rows, at = self._coupling_rows(frames, self._tangents)
        new = solve_coupled(programs, rows.shifted(centre), self.alone[frames])
        found.x[frames], found.y[frames], found.z[frames] = new.x + centre, new.y, new.z
        found.x[frames, :m] = np.clip(found.x[frames, :m], self.demands.low[frames], self.demands.high[frames])
        found.residual[frames], found.steps[frames] = new.residual, new.steps
        self.lost = self.alone.copy()
        self.lost[frames], self.status = new.lost, new.status
        self.pull[at] = new.pull[rows.hard]
        self.rate_pull[:] = new.pull[~rows.hard].reshape(self.rate_pull.shape) if self.coupled.rates else 0.0

    def _refuted(self) -> bool:
        """Whether lines beyond L and H prove that there is no solution. Force laws that are not affine have no such
        lines."""
        frames = self._coupled_frames()
        if np.isin(frames, self.bent).any():
            return False
        programs, centre = self._programs(frames)
        rows = self._outside(frames, self.demands.low[frames], self.demands.high[frames])
        found = solve_coupled(programs, rows.shifted(centre), self.alone[frames])
        return bool((found.lost & ~self.alone[frames]).any())

    def _straighten(self, frames: Array) -> None:
        """The tangents of the force laws at the activations of some frames."""
        if len(frames):
            self.F0[frames], self.slopes[frames] = self.demands.tangents(self.found.x[frames, : self.m], frames)

    def _coupled_frames(self) -> Array:
        """The numbers of the frames that are coupled to a neighbour."""
        steps = self.chosen.any(axis=(1, 2)) | (self.coupled.rates > 0)
        return np.flatnonzero(np.append(steps, False) | np.append(False, steps))

    def _programs(self, frames: Array) -> tuple[Programs, Array]:
        """Programs of x - centre, and the centre (k, n)."""
        part, centre = self.demands.subset(frames), self.centre[frames]
        programs = part.programs(self.F0[frames], self.slopes[frames], self.effort)
        return programs.around(centre), centre

    def _coupling_rows(self, frames: Array, lines: Lines) -> tuple[CouplingRows, tuple[Array, ...]]:
        """The coupling rows of all chosen steps, L and H being lines, and the indices of these steps."""
        place = np.zeros(len(self.time), dtype=int)
        place[frames] = np.arange(len(frames))
        at = np.nonzero(self.chosen)
        step, muscle, high = at
        value, slope = lines(step, muscle, high)
        sign, one = np.where(high > 0, -1.0, 1.0), np.ones(len(step))
        hard = CouplingRows(place[step], muscle, -sign * slope, sign, sign * value, np.inf * one)
        if not self.coupled.rates:
            return hard, at
        each, muscles = (v.ravel() for v in np.indices((len(self.step), self.m)))
        weight, one = self.coupled.rates / self.step[each] ** 2, np.ones(len(each))
        return CouplingRows.joined(hard, CouplingRows(each, muscles, -one, one, 0.0 * one, weight)), at

    def _tangents(self, step: Array, muscle: Array, high: Array) -> tuple[Array, Array]:
        """(l,) values at 0 and slopes of the tangents of L or H at the activations."""

        def after(a: Array) -> Array:
            return self.reach.after(muscle, high.astype(float), a[..., 0], self.step[step])[..., None]

        a = self.found.x[step, muscle][:, None]
        slope = jacobian_at(after, np.minimum(a, BELOW_ONE))[:, 0]
        return (after(a) - slope * a)[:, 0], slope[:, 0]

    def _outside(self, frames: Array, low: Array, top: Array) -> CouplingRows:
        """The coupling rows of lines beyond L and H, over ranges (k, m) of the activations at the coupled frames."""

        def lines(step: Array, muscle: Array, high: Array) -> tuple[Array, Array]:
            row = np.searchsorted(frames, step)
            after = partial(self.reach.after, muscle, high.astype(float), step=self.step[step])
            return outer_lines(after, high > 0, low[row, muscle], top[row, muscle])

        return self._coupling_rows(frames, lines)[0]

    def _bound(self, effort: float) -> float:
        """A lower bound of the effort for activations within L and H. NaN if force laws are not affine."""
        frames, m = self._coupled_frames(), self.m
        rest = self.found.bound.sum() - self.found.bound[frames].sum()
        if len(self.bent):
            return float("nan")
        if not len(frames):
            return float(rest)
        programs, centre = self._programs(frames)
        x, y, z = (v[frames] for v in self.single)

        def lines(low: Array, top: Array) -> CouplingRows:
            return self._outside(frames, low + centre[:, :m], top + centre[:, :m]).shifted(centre)

        return float(rest) + trial_bound(programs, (x - centre, y, z), effort - float(rest), lines, m)

    # ---- what holds of a trial -------------------------------------------------------------------------------

    def _beyond(self) -> Array:
        """(t - 1, m, 2) how far activations are below L and above H of the frame before."""
        before, after = self.found.x[:-1, : self.m], self.found.x[1:, : self.m]
        low, high = reachable(self.demands.model, before, self.step)
        return vector([low - after, after - high])

    def _objective(self) -> float:
        a = self.found.x[:, : self.m]
        rates = self.coupled.rates * np.sum(np.diff(a, axis=0) ** 2 / self.step[:, None] ** 2)
        return float(self._efforts().sum() + rates)

    def _efforts(self) -> Array:
        """(t,) of every frame."""
        weights = self.demands.all_weights(self.effort)
        return terms.cost(weights, float(self.effort.power), self.found.x - self.centre).sum(axis=-1)

    def _are_met(self) -> Array:
        """(t,) whether they meet the equations, or are known to have no solution."""
        return self.demands.are_met(self.found.x) | self.lost

    def _certified(self, iterations: int) -> WholeTrial:
        found, demands, effort = self.found, self.demands, self._objective()
        missing = demands.missing(demands.tensions(found.x[:, : self.m]), found.x[:, self.m :])
        beyond = max(float(self._beyond().max(initial=0.0)), 0.0)
        met = beyond <= REACH_TOLERANCE and self._are_met().all() and (found.status != Status.UNSOLVED).all()
        met = met and (self.status == Status.SOLVED or self.lost.any())
        bound, status = np.inf, Status.SOLVED if met else Status.UNSOLVED
        if not self.lost.any():
            bound = self._bound(effort)
            status = Status.LOCAL if met and not effort - bound <= GLOBAL_GAP * abs(effort) else status
        found.objective[:] = self._efforts()
        found.status[:] = np.where(self.lost, Status.INFEASIBLE, status)
        found.bound[self.lost] = np.inf
        worst = np.unravel_index(np.argmax(np.abs(missing)), missing.shape) if missing.size else None
        return WholeTrial(
            effort=effort,
            bound=bound,
            status=Status.INFEASIBLE if self.lost.any() else status,
            frame=0 if worst is None else int(worst[0]),
            velocity="" if worst is None else self.demands.names[int(worst[1])],
            missing=0.0 if worst is None else float(-missing[worst]),
            beyond=beyond,
            linked=len(self._coupled_frames()),
            outer_iterations=iterations,
            reach_price=self._reach_price(),
        )

    def _reach_price(self) -> Array:
        """(t, m) the sum of the coupling rows' slopes times their multipliers."""
        rows, at = self._coupling_rows(np.arange(len(self.time)), self._tangents)
        pull = np.empty(len(rows.step))
        pull[rows.hard] = self.pull[at]
        if self.coupled.rates:
            pull[~rows.hard] = self.rate_pull.ravel()
        return rows.price(pull, self.demands.low.shape)


Recruited = Recruitment | CoupledRecruitment


def check_recruited(effort: Effort, dynamics: FrameCoupling | None, tendons: str) -> None:
    """ValueError for unknown tendons and for options that exclude each other."""
    if tendons not in ("rigid", "elastic"):
        raise ValueError(f'tendons are "rigid" or "elastic", not {tendons!r}')
    if tendons == "elastic" and not effort.is_smooth:  # the least power jumps between muscles, tendon strains with it
        raise ValueError("a metabolic effort takes all tendons as rigid")
    if isinstance(dynamics, Coupled):
        effort.check_coupled()


def recruited(
    demands: Demands,
    effort: Effort,
    backend: str,
    time: Array,
    dynamics: FrameCoupling | None = None,
    alternatives: bool = True,
) -> Recruited:
    """The solutions of demands at times (t,) [s]: of frames by themselves, one after the other, or together.
    `alternatives` as for `Recruitment`. ValueError where there are neither muscles nor reserves."""
    if not demands.model.muscles and not demands.reserves:
        raise ValueError("the model has no muscles, and there are no reserves: nothing can give torques")
    if isinstance(dynamics, Coupled):
        return CoupledRecruitment(demands, effort, backend, time, dynamics)
    solver = Recruitment if demands.searched is None else SearchedRecruitment
    found = solver(demands, effort, backend, alternatives)
    if dynamics is not None:
        found.follow(time)
    return found


def _widened(broken: Array, near: int) -> Array:
    """Steps near those (t, m, 2) that break a bound, and these."""
    width = 2 * min(near, len(broken)) + 1
    return scipy.ndimage.maximum_filter1d(broken.astype(np.uint8), width, axis=0, mode="constant") > 0
