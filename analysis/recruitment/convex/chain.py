"""Programs that are linked one to the next, solved as one program.

The primal-dual interior-point method with predictor and corrector of `interior`, on all programs at once: one mean
product, one length of the step, and one banded system of all multipliers (`links`), whose cost is linear in the number
of programs. Sources: S. Mehrotra, On the implementation of a primal-dual interior point method, SIAM J. Optim. 2, 1992;
L. Vandenberghe, The CVXOPT linear and quadratic cone program solvers, 2010, for the cones.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from myoquat.analysis.recruitment.convex import cones, terms
from myoquat.analysis.recruitment.convex.links import BandedRows, Links
from myoquat.analysis.recruitment.convex.program import Programs, in_one_pass, prices
from myoquat.core.typing import Array

__all__ = ["Chain", "Point", "chain_bound"]

PROXIMAL = 1e-9  # curvature, of the greatest weight, against which variables without one of their own move
NEAR_BOUNDARY = 0.995  # of the step to the boundary that is taken
BRISK = 0.1  # of the mean product that gradients which do not balance stand for
BENT = 0.5  # times its curvature that the objective may bend along a step
HALVINGS = 10
REFINED = 1  # times a solution of the banded system is improved


@dataclass(frozen=True, eq=False)
class Point:
    """x (k, n), its distances from the bounds and their multipliers (k, n, 2); multipliers of equations and cones (k,
    r), s of the cones (k, c, d); multipliers and slacks of the links (l,)."""

    x: Array
    room: Array
    bound: Array
    multipliers: Array
    s: Array
    pull: Array
    slack: Array


def chain_bound(
    p: Programs, links: Links, multipliers: Array, pull: Array, x: Array, B: Array | None = None
) -> tuple[float, float]:
    """What multipliers (k, r) and those of links (l,) prove: what no solution's objective is below, and by how much
    they refute that there is one, as `Programs.certificates` has them for one program. Rows that give way refute
    nothing. B: that of the programs, where it is known."""
    hard, (low, high) = links.hard, terms.reach(x, p.lower, p.upper)
    fixed = multipliers * np.concatenate([p.b, -p.h.reshape(len(x), -1)], axis=-1)
    rows = prices(p.B if B is None else B, multipliers)
    power = 2.0 if p.power is None else p.power
    exponents = p.powers if p.power is None else power
    price = rows + links.price(pull, x.shape)
    soft = np.where(hard, 0.0, pull**2 * links.give / 2)
    least = terms.least(p.weights, exponents, price, low, high).sum()
    bound = fixed.sum() + (pull * links.least).sum() - soft.sum() + least
    held = np.where(hard, pull, 0.0)
    price = rows + links.price(held, x.shape)
    most = terms.most(price, low, high, np.isfinite(p.lower) & np.isfinite(p.upper))
    total = fixed.sum() + (held * links.least).sum()
    size = np.abs(fixed).sum() + np.abs(held * links.least).sum() + np.abs(most).sum()
    return float(bound), float((total - most.sum()) / (size if size > 0 else 1.0))


class Chain:
    """The programs, with rows of A and G of length about 1, their links, and the steps towards their solution; the
    greatest weight is what multipliers and curvatures are measured by."""

    def __init__(self, programs: Programs, links: Links, greatest: float) -> None:
        self.p, self.links = p, links = programs, links
        k, e, n = p.A.shape
        self.e, self.c, self.d = e, *p.h.shape[1:]
        self.p_of = float(p.power) if p.power is not None else p.powers
        self.held = p.lower == p.upper
        self.has = np.stack([np.isfinite(p.lower) & ~self.held, np.isfinite(p.upper) & ~self.held], axis=-1)
        self.every = p.B
        self.B = np.where(self.held[:, None], 0.0, self.every) if self.held.any() else self.every
        self.hard = links.hard
        self.greatest = greatest
        self.count = self.has.sum() + self.c * k + self.hard.sum()
        if isinstance(self.p_of, float) and self.p_of == 2:
            self.root = np.ones((k, n))
        else:
            self.root = terms.power_of(np.where(p.weights > 0, p.weights, self.greatest), -1.0 / self.p_of)
        self.banded = BandedRows(k, e + self.c * self.d, links)

    def start(self) -> Point:
        """A point strictly within the bounds."""
        p, (low, high) = self.p, np.moveaxis(self.has, -1, 0)
        bottom, top = np.where(low, p.lower, 0.0), np.where(high, p.upper, 0.0)
        x = np.where(high, np.where(low, (bottom + top) / 2, top - 1), np.where(low, bottom + 1, 0.0))
        x = np.where(self.held, p.lower, x)
        room = np.stack([np.where(low, x - bottom, 1.0), np.where(high, top - x, 1.0)], axis=-1)
        values = p.cone_values(x)
        one = cones.identity(self.d)
        s = np.maximum(np.sqrt(np.sum(values**2, axis=-1)), 1.0)[..., None] * one
        begin = max(self.greatest, float(p.weights.max(initial=0.0)))
        z = np.broadcast_to(begin * one, s.shape)
        rows = np.concatenate([np.zeros(p.b.shape), z.reshape(len(x), -1)], axis=-1)
        slack = np.where(self.hard, np.maximum(self.links.values(x), 0.1), 1.0)
        return Point(x, room, begin * self.has, rows, s, begin * self.hard, slack)

    def objective(self, x: Array) -> float:
        """Of all programs and links."""
        return float(self.p.objective(x).sum() + self.links.objective(x).sum())

    def products(self, at: Point) -> float:
        """The mean product of distances and multipliers."""
        z = self._of_cones(at.multipliers)
        total = np.sum(at.room * at.bound) + np.sum(at.s * z) + np.sum((at.slack * at.pull)[self.hard])
        return float(total / max(self.count, 1))

    def residuals(self, at: Point) -> tuple[Array, Array]:
        """(k, r) and (l,) what is missing of the rows."""
        p, links = self.p, self.links
        off = np.concatenate([p.residual(at.x), (p.cone_values(at.x) - at.s).reshape(len(at.x), -1)], axis=-1)
        return off, links.values(at.x) - np.where(self.hard, at.slack, -links.give * at.pull)

    def step(self, at: Point) -> Point:
        """The next point; LinAlgError where rounding leaves no way to it."""
        way = _Way(self, at)
        first = way.to(0.0, None)
        share = self._longest(at, first, 1.0)
        tried = self._moved(at, first, share)
        here = self.products(at)
        sigma = np.clip(self.products(tried) / here, 0.0, 1.0) ** 3 if here > 0 else 0.0
        second = way.to(max(float(sigma) * here, BRISK * way.unbalanced), first)
        share = self._longest(at, second, NEAR_BOUNDARY)
        return self._moved(at, second, self._trusted(at, second, share, here))

    # ---- parts -----------------------------------------------------------------------------------------------

    def curvature(self, x: Array, mu: float) -> Array:
        """(k, n) of the objective, of powers other than 2 as if no variable were so small that it adds less than mu."""
        w, p = self.p.weights, self.p_of
        if isinstance(p, float) and p == 2:
            own: Array = 2 * w
        else:
            small = mu ** (1 / p) * self.root
            own = terms.curvature(w, p, np.maximum(np.abs(x), small))
        return np.maximum(own, PROXIMAL * self.greatest)

    def _of_cones(self, rows: Array) -> Array:
        """(k, c, d) of rows (k, r)."""
        found: Array = rows[:, self.e :].reshape(self.p.h.shape)
        return found

    def _longest(self, at: Point, to: Point, share: float) -> float:
        """The longest step, at most 1, of which `share` stays off the boundary."""
        ratios = [to.room / at.room, (to.bound / np.where(at.bound > 0, at.bound, 1.0))[self.has]]
        ratios += [(to.slack / at.slack)[self.hard], (to.pull / np.where(self.hard, at.pull, 1.0))[self.hard]]
        least = min(float(r.min(initial=0.0)) for r in ratios)
        longest = -1.0 / min(least, -share)
        for x, dx in ((at.s, to.s), (self._of_cones(at.multipliers), self._of_cones(to.multipliers))):
            if x.size:
                longest = min(longest, float(cones.longest_step(x, dx).min()))
        return share * min(longest, 1.0 / share)

    def _moved(self, at: Point, to: Point, share: float) -> Point:
        return Point(**{name: value + share * getattr(to, name) for name, value in vars(at).items()})

    def _trusted(self, at: Point, to: Point, share: float, mu: float) -> float:
        """The share halved while the objective bends much more along the way than its curvature has it."""
        if isinstance(self.p_of, float) and self.p_of in (1.0, 2.0):
            return share
        w, p, x = self.p.weights, self.p_of, at.x
        bend = np.sum(self.curvature(x, mu) * to.x**2)
        slope = terms.slope(w, p, x)
        for _ in range(HALVINGS):
            part = share * to.x
            rise = np.sum(terms.cost(w, p, x + part) - terms.cost(w, p, x) - part * slope)
            if rise <= BENT * share**2 * bend + mu * max(self.count, 1):
                break
            share /= 2
        return share


class _Way:
    """The conditions linearized at a point, factored."""

    def __init__(self, chain: Chain, at: Point) -> None:
        self.chain, self.at = chain, at
        p, links, e = chain.p, chain.links, chain.e
        z = chain._of_cones(at.multipliers)
        self.B, self.scale = chain.B, None
        give = np.zeros(at.multipliers.shape)
        if chain.c:
            self.scale = cones.scaling(at.s, z)
            turned = np.swapaxes(self.scale.V, -1, -2) @ chain.B[:, e:].reshape(*p.h.shape, -1)
            self.B = np.concatenate([chain.B[:, :e], turned.reshape(len(at.x), -1, at.x.shape[-1])], axis=1)
            give[:, e:] = (self.scale.values**2).reshape(len(give), -1)
            self.middle = self.scale.times(z)
        self.off, self.link_off = chain.residuals(at)
        price = prices(chain.B, at.multipliers) + np.where(chain.held, 0.0, links.price(at.pull, at.x.shape))
        self.stationary = terms.slope(p.weights, chain.p_of, at.x) - price - at.bound[..., 0] + at.bound[..., 1]
        self.stationary = np.where(chain.held, 0.0, self.stationary)
        stiff = np.sum(at.bound / at.room, axis=-1)
        curvature = chain.curvature(at.x, chain.products(at)) + stiff
        self.softness = np.where(chain.held, 0.0, 1 / curvature)
        link_give = np.where(chain.hard, at.slack / np.where(chain.hard, at.pull, 1.0), links.give)
        self.give, self.link_give = give, link_give
        self.factor = chain.banded.factored(self.B, self.softness, give, link_give)
        span = np.min(np.where(chain.has, at.room, 1.0 + at.room), axis=-1)
        self.unbalanced = float(np.sum(np.abs(self.stationary) * span)) / max(chain.count, 1)

    def to(self, aim: float, tried: Point | None) -> Point:
        """The change to products of `aim`, corrected by what a change that was tried leaves."""
        chain, at, links, e = self.chain, self.at, self.chain.links, self.chain.e
        wanted = chain.has * aim - at.room * at.bound
        held = np.where(chain.hard, aim - at.slack * at.pull, 0.0)
        if tried is not None:
            wanted, held = wanted - tried.room * tried.bound, held - np.where(chain.hard, tried.slack * tried.pull, 0)
        per = wanted / at.room
        pull = -self.stationary + per[..., 0] - per[..., 1]
        loose = self.softness * pull
        loosened = in_one_pass(self.B, loose)
        rows = -self.off - loosened
        if chain.c:
            rows[:, e:] = self._cone_rows(aim, tried) - loosened[:, e:]
        link_rows = held / np.where(chain.hard, at.pull, 1.0) - self.link_off - links.of(loose)
        change, pulled = self._solved(rows, link_rows)
        dx = self.softness * (pull + prices(self.B, change) + links.price(pulled, at.x.shape))
        room = chain.has * np.stack([dx, -dx], axis=-1)
        bound = chain.has * (wanted - at.bound * room) / at.room
        ds = np.zeros(at.s.shape)
        if chain.c:
            ds = in_one_pass(chain.B[:, e:], dx).reshape(at.s.shape) + chain._of_cones(self.off)
            back = self._scale.back(change[:, e:].reshape(at.s.shape))
            change = np.concatenate([change[:, :e], back.reshape(len(dx), -1)], axis=-1)
        slack = np.where(chain.hard, links.of(dx) + self.link_off, 0.0)
        return Point(dx, room, bound, change, ds, pulled, slack)

    def _solved(self, rows: Array, link_rows: Array) -> tuple[Array, Array]:
        """The changes of the multipliers to right sides, improved by what rounding left of these."""
        chain, links = self.chain, self.chain.links
        change, pulled = chain.banded.solved(self.factor, rows, link_rows)
        for _ in range(REFINED):
            dx = self.softness * (prices(self.B, change) + links.price(pulled, self.at.x.shape))
            left = rows - in_one_pass(self.B, dx) - self.give * change
            link_left = link_rows - links.of(dx) - self.link_give * pulled
            more = chain.banded.solved(self.factor, left, link_left)
            change, pulled = change + more[0], pulled + more[1]
        return change, pulled

    @property
    def _scale(self) -> Any:
        assert self.scale is not None
        return self.scale

    def _cone_rows(self, aim: float, tried: Point | None) -> Array:
        """(k, c d) what the rows of the cones, along the axes of the scalings, are to change by."""
        scale, middle = self._scale, self.middle
        wanted = aim * cones.identity(self.chain.d) - cones.product(middle, middle)
        if tried is not None:
            z = self.chain._of_cones(tried.multipliers)
            wanted = wanted - cones.product(scale.divides(tried.s), scale.times(z))
        pulls = scale.times(cones.divided(middle, wanted))
        lack: Array = scale.along(pulls - self.chain._of_cones(self.off))
        return lack.reshape(len(middle), -1)
