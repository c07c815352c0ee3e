"""The solution of a whole trial: the least sum of all frames' efforts, activations being linked from frame to frame.

Within a step h an activation gets from a to anything between L(a) and H(a), where the excitation is 0 or 1 all the
while; both follow from a' = f(a, e). Where L is convex and H concave the trial is a convex program: for the "quadratic"
form both are straight, H = 1 - (1 - a) exp(-h (1 / tau_a + 1 / tau_d)) and L = a exp(-h / tau_d). In general H bends as
f(., 1) does and L as f(., 0). For the "piecewise" form it is therefore the other way about: L = a / (E + 3 a (E - 1)),
E = exp(h / (2 tau_d)), is concave, and H convex, the root of -1.5 H - 2 ln(1 - H) = -1.5 a - 2 ln(1 - a) + h / tau_a;
"smooth" has some of both. L and H are taken as their tangents at the current solution until nothing changes: of a
convex H and a concave L these leave out part of what can be reached and add nothing [A. L. Yuille, A. Rangarajan, The
concave-convex procedure, Neural Comput. 15, 2003]. `enclosure` says what no other solution is below.

Frames of which no activation is linked to one beside it by what binds keep the solution that they have by themselves:
what is best of more is best of less. Steps are linked where solutions break their bounds, and near there.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from myoquat.analysis.recruitment.convex import Links, Programs, Status, solve_linked, terms
from myoquat.analysis.recruitment.redundancy.enclosure import enclosed, outer_lines
from myoquat.analysis.recruitment.redundancy.equations import Demands, Effort
from myoquat.analysis.recruitment.redundancy.lines import chords, tangents
from myoquat.analysis.recruitment.redundancy.metabolic import MetabolicEffort
from myoquat.analysis.recruitment.redundancy.reach import Reach
from myoquat.analysis.recruitment.redundancy.searched import SearchedRecruitment
from myoquat.analysis.recruitment.redundancy.solving import MET, Recruitment, are_bent
from myoquat.analysis.recruitment.redundancy.whole import Coupled, FrameCoupling, WholeTrial
from myoquat.core.arguments import real_array
from myoquat.core.typing import Array

__all__ = ["CoupledRecruitment", "Recruited", "check_recruited", "recruited"]

# Steps, muscles, and 0 for L or 1 for H, (l,) each, to values at 0 and slopes of lines.
Lines = Callable[[Array, Array, Array], tuple[Array, Array]]

ROUNDS = 40
KEPT = 1e-9  # of an activation: what it may be beyond its reach
STILL = 1e-9  # of the sum of efforts: a change by less is none
CERTAIN = 1e-7  # of the sum: what it may be above its bound
NEAR = 25  # steps to either side of one that breaks a bound which are linked too; twice as many in every round


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
        self.F0, F1 = chords(demands.tensions, demands.lower, len(self.time))
        self.bent = np.flatnonzero(are_bent(demands, self.F0, F1))
        self._straighten(self.bent)
        self.single = tuple(v.copy() for v in (self.found.x, self.found.y, self.found.z))
        self.alone = self.lost = self.found.status == Status.INFEASIBLE
        self.status = Status.SOLVED
        self.chosen = np.zeros((len(self.step), self.m, 2), dtype=bool)  # steps of muscles with L, H linked
        self.pull = np.zeros(self.chosen.shape)
        self.rate_pull = np.zeros(self.chosen.shape[:2])
        self.whole = self._solved()

    def _solved(self) -> WholeTrial:
        """Rounds until nothing is beyond its reach and nothing changes."""
        total, broken, rounds = self._objective(), self._beyond() > KEPT, 0
        going = broken.any() or (self.coupled.rates > 0 and len(self.step) > 0)
        while going and rounds < ROUNDS:
            self.chosen |= _widened(broken & ~self.chosen, NEAR * 2**rounds)
            self._round()
            before, total, broken, rounds = total, self._objective(), self._beyond() > KEPT, rounds + 1
            going = broken.any() or abs(total - before) > STILL * abs(total) or not self._are_met().all()
        if (self.lost & ~self.alone).any() and not self._refuted():
            self.status, self.lost = Status.UNSETTLED, self.alone
        return self._certified(rounds)

    # ---- a round ---------------------------------------------------------------------------------------------

    def _round(self) -> None:
        """The linked frames, on tangents of their laws and of what can be reached."""
        frames, found, m = self._linked(), self.found, self.m
        self._straighten(np.intersect1d(frames, self.bent))
        programs, centre = self._programs(frames)
        links, at = self._links(frames, self._tangents)
        new = solve_linked(programs, links.shifted(centre), self.alone[frames])
        found.x[frames], found.y[frames], found.z[frames] = new.x + centre, new.y, new.z
        found.x[frames, :m] = np.clip(found.x[frames, :m], self.demands.low[frames], self.demands.high[frames])
        found.residual[frames], found.steps[frames] = new.residual, new.steps
        self.lost = self.alone.copy()
        self.lost[frames], self.status = new.lost, new.status
        self.pull[at] = new.pull[links.hard]
        self.rate_pull[:] = new.pull[~links.hard].reshape(self.rate_pull.shape) if self.coupled.rates else 0.0

    def _refuted(self) -> bool:
        """Whether there is no solution within lines that nothing within reach is beyond. Of laws that are not affine no
        such lines are known."""
        frames = self._linked()
        if np.isin(frames, self.bent).any():
            return False
        programs, centre = self._programs(frames)
        links = self._outside(frames, self.demands.low[frames], self.demands.high[frames])
        found = solve_linked(programs, links.shifted(centre), self.alone[frames])
        return bool((found.lost & ~self.alone[frames]).any())

    def _straighten(self, frames: Array) -> None:
        """The tangents of the force laws at the activations of some frames."""
        if len(frames):
            forces = partial(self.demands.tensions, frames=frames)
            lines = tangents(forces, self.found.x[frames, : self.m], self.demands.lower)
            self.F0[frames], self.slopes[frames] = lines

    def _linked(self) -> Array:
        """The numbers of the frames that are linked to one beside them."""
        steps = self.chosen.any(axis=(1, 2)) | (self.coupled.rates > 0)
        found: Array = np.flatnonzero(np.append(steps, False) | np.append(False, steps))
        return found

    def _programs(self, frames: Array) -> tuple[Programs, Array]:
        """Programs of x - centre, and the centre (k, n)."""
        part, centre = self.demands.taken(frames), self.centre[frames]
        programs = part.programs(self.F0[frames], self.slopes[frames], self.effort)
        return (programs.around(centre) if centre.any() else programs), centre

    def _links(self, frames: Array, lines: Lines) -> tuple[Links, tuple[Array, ...]]:
        """The links of all chosen steps, L and H being lines, and their places."""
        place = np.zeros(len(self.time), dtype=int)
        place[frames] = np.arange(len(frames))
        at = np.nonzero(self.chosen)
        step, muscle, high = at
        value, slope = lines(step, muscle, high)
        sign, one = np.where(high > 0, -1.0, 1.0), np.ones(len(step))
        hard = Links(place[step], muscle, -sign * slope, sign, sign * value, np.inf * one)
        if not self.coupled.rates:
            return hard, at
        each, muscles = (v.ravel() for v in np.indices((len(self.step), self.m)))
        weight, one = self.coupled.rates / self.step[each] ** 2, np.ones(len(each))
        return Links.joined(hard, Links(each, muscles, -one, one, 0.0 * one, weight)), at

    def _tangents(self, step: Array, muscle: Array, high: Array) -> tuple[Array, Array]:
        """(l,) values at 0 and slopes of the tangents of L or H at the activations."""
        after = partial(self.reach.after, muscle, high.astype(float), step=self.step[step])
        return tangents(after, self.found.x[step, muscle], self.demands.low[step, muscle])

    def _outside(self, frames: Array, low: Array, top: Array) -> Links:
        """The links with lines beyond L and H over ranges (k, m) of the activations at the linked frames."""

        def lines(step: Array, muscle: Array, high: Array) -> tuple[Array, Array]:
            row = np.searchsorted(frames, step)
            after = partial(self.reach.after, muscle, high.astype(float), step=self.step[step])
            return outer_lines(after, high > 0, low[row, muscle], top[row, muscle])

        return self._links(frames, lines)[0]

    def _bound(self, effort: float) -> float:
        """What no activations within L and H are below. Of linked frames whose laws are not affine it is the sum of
        the frames' own bounds: lines that are nowhere beyond these laws are not known."""
        frames, m = self._linked(), self.m
        rest = self.found.bound.sum() - self.found.bound[frames].sum()
        if not len(frames):
            return float(rest)
        if np.isin(frames, self.bent).any():
            return float(rest + self.found.bound[frames].sum())
        programs, centre = self._programs(frames)
        x, y, z = (v[frames] for v in self.single)

        def lines(low: Array, top: Array) -> Links:
            return self._outside(frames, low + centre[:, :m], top + centre[:, :m]).shifted(centre)

        return float(rest) + enclosed(programs, (x - centre, y, z), effort - float(rest), lines, m)

    # ---- what holds of a trial -------------------------------------------------------------------------------

    def _beyond(self) -> Array:
        """(t - 1, m, 2) how far activations are below and above what those of the frame before reach."""
        a = self.found.x[:, : self.m]
        step, muscle = (v.ravel() for v in np.indices(a[1:].shape))
        found = np.full((*a[1:].shape, 2), -np.inf)
        kept = self.reach.kind[muscle] >= 0
        step, muscle = step[kept], muscle[kept]
        for high, sign in ((0, 1.0), (1, -1.0)):
            ends = self.reach.after(muscle, np.full(len(step), float(high)), a[step, muscle], self.step[step])
            found[step, muscle, high] = sign * (ends - a[step + 1, muscle])
        return found

    def _objective(self) -> float:
        a = self.found.x[:, : self.m]
        rates = self.coupled.rates * np.sum(np.diff(a, axis=0) ** 2 / self.step[:, None] ** 2)
        return float(self._efforts().sum() + rates)

    def _efforts(self) -> Array:
        """(t,) of every frame."""
        weights = np.concatenate([self.demands.weights(self.effort), self._of_reserves], axis=-1)
        found: Array = terms.cost(weights, float(self.effort.power), self.found.x - self.centre).sum(axis=-1)
        return found

    @property
    def _of_reserves(self) -> Array:
        weights = [reserve.weight for reserve in self.demands.reserves]
        return np.broadcast_to(weights, (len(self.time), len(weights)))

    def _missing(self) -> Array:
        """(t, e) what the forces themselves give beyond what is needed."""
        x, m = self.found.x, self.m
        return self.demands.missing(self.demands.tensions(x[:, :m]), x[:, m:])

    def _are_met(self) -> Array:
        """(t,) whether they meet the equations, of frames of which it is known that they cannot too."""
        size = np.maximum(np.abs(self.demands.torque).max(axis=-1, initial=0.0), 1.0)
        found: Array = (np.abs(self._missing()).max(axis=-1, initial=0.0) <= MET * size) | self.lost
        return found

    def _certified(self, rounds: int) -> WholeTrial:
        found, missing, effort = self.found, self._missing(), self._objective()
        beyond = max(float(self._beyond().max(initial=0.0)), 0.0)
        met = beyond <= KEPT and self._are_met().all() and (found.status != Status.UNSETTLED).all()
        met = met and (self.status == Status.SOLVED or self.lost.any())
        bound, status = np.inf, Status.SOLVED if met else Status.UNSETTLED
        if not self.lost.any():
            bound = self._bound(effort)
            status = Status.LOCAL if met and effort - bound > CERTAIN * abs(effort) else status
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
            linked=len(self._linked()),
            rounds=rounds,
            reach_price=self._reach_price(),
        )

    def _reach_price(self) -> Array:
        """(t, m) the sum of the links' slopes times their multipliers."""
        step, muscle, high = np.nonzero(self.chosen)
        _, slope = self._tangents(step, muscle, high)
        pull, price = self.pull[step, muscle, high] * np.where(high > 0, -1.0, 1.0), np.zeros(self.demands.low.shape)
        np.add.at(price, (step + 1, muscle), pull)
        np.add.at(price, (step, muscle), -slope * pull)
        price[1:] += self.rate_pull
        price[:-1] -= self.rate_pull
        return price


Recruited = Recruitment | CoupledRecruitment


def check_recruited(effort: Effort, dynamics: FrameCoupling | None, tendons: str) -> None:
    """ValueError for tendons of another kind, and what does not go together."""
    if tendons not in ("rigid", "elastic"):
        raise ValueError(f'tendons are "rigid" or "elastic", not {tendons!r}')
    metabolic = isinstance(effort, MetabolicEffort)
    if metabolic and tendons == "elastic":  # the least power jumps from muscle to muscle, and stretches with it
        raise ValueError("a metabolic effort takes all tendons as rigid")
    if not isinstance(dynamics, Coupled):
        return
    if metabolic or effort.of != "activation" or effort.power == np.inf:
        raise ValueError("a coupled trial has an effort of powers of activations: not of stress, not the greatest, "
                         "not metabolic")  # fmt: skip
    if effort.power < 2 and np.any(real_array("target", effort.target)):
        raise ValueError(f"targets in a coupled trial need a power of at least 2, not {effort.power}")


def recruited(
    demands: Demands,
    effort: Effort,
    backend: str,
    time: Array,
    dynamics: FrameCoupling | None = None,
    certified: bool = True,
) -> Recruited:
    """The solutions of demands at times (t,) [s]: of frames by themselves, one after the other, or together.
    `certified` as for `Recruitment`; frames together always are."""
    if isinstance(dynamics, Coupled):
        return CoupledRecruitment(demands, effort, backend, time, dynamics)
    kind = Recruitment if demands.searched is None else SearchedRecruitment
    found = kind(demands, effort, backend, certified)
    if dynamics is not None:
        found.follow(time)
    return found


def _widened(broken: Array, near: int) -> Array:
    """Steps near those (t, m, 2) that break a bound, and these."""
    count = np.cumsum(np.pad(broken.astype(int), ((1, 0), (0, 0), (0, 0))), axis=0)
    each = np.arange(len(broken))
    found: Array = count[np.minimum(each + near + 1, len(broken))] > count[np.maximum(each - near, 0)]
    return found
