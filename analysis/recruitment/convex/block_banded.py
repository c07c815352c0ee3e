"""Block-banded programs: rows couple each block to the next one.

The primal-dual interior-point method with predictor and corrector of `interior_point_formulas`, on all blocks at once.
There is one mean product, one step length, and one banded system of all multipliers (`coupling_rows`). Its cost is
linear in the number of blocks. Sources: S. Mehrotra, On the implementation of a primal-dual interior point method, SIAM
J. Optim. 2, 1992; L. Vandenberghe, The CVXOPT linear and quadratic cone program solvers, 2010, for the cones."""

from typing import Any

import numpy as np

from myoquat.analysis.recruitment.convex import cones, terms
from myoquat.analysis.recruitment.convex.coupling_rows import BandedRows, CouplingRows
from myoquat.analysis.recruitment.convex.program import Programs, in_one_pass, prices
from myoquat.core.records import dataclass
from myoquat.core.typing import Array

__all__ = ["BlockBandedProgram", "Point", "dual_bound"]

PROXIMAL = 1e-9  # of the greatest weight: least curvature of a variable
NEAR_BOUNDARY = 0.995  # part of the longest feasible step that is taken
MIN_TARGET_PER_DUAL_RESIDUAL = 0.1  # least target product, over the residual of the gradients
MAX_RISE_OVER_MODEL = 0.5  # rise of the objective above its tangent along a step, over that of its curvature
MAX_HALVINGS = 10  # of a step, until the rise is small enough
REFINEMENT_STEPS = 1  # of a solution of the banded system


@dataclass(frozen=True, eq=False)
class Point:
    """A point of the interior-point iteration for k programs.

    x            (k, n)
    distance     (k, n, 2) of x from the bounds
    bound        (k, n, 2) multipliers of the bounds
    multipliers  (k, r) of equations and cones
    s            (k, c, d) of the cones
    pull         (l,) multipliers of the coupling rows
    slack        (l,) of the coupling rows
    """

    x: Array
    distance: Array
    bound: Array
    multipliers: Array
    s: Array
    pull: Array
    slack: Array


def dual_bound(
    p: Programs, coupling: CouplingRows, multipliers: Array, pull: Array, x: Array, B: Array | None = None
) -> tuple[float, float]:
    """The lower bound of the objective and the margin of infeasibility that multipliers prove.

    The multipliers are (k, r), and (l,) of coupling rows. A positive margin proves that there is no solution.
    `Programs.certificates` has both for one program. Rows with a finite weight prove no infeasibility. B: the matrix of
    the programs, where it is known.
    """
    hard, (low, high) = coupling.hard, terms.reach(x, p.lower, p.upper)
    fixed = multipliers * np.concatenate([p.b, -p.h.reshape(len(x), -1)], axis=-1)
    rows = prices(p.B if B is None else B, multipliers)
    power = 2.0 if p.power is None else p.power
    exponents = p.powers if p.power is None else power
    price = rows + coupling.price(pull, x.shape)
    soft = np.where(hard, 0.0, pull**2 * coupling.give / 2)
    least = terms.least(p.weights, exponents, price, low, high).sum()
    bound = fixed.sum() + (pull * coupling.least).sum() - soft.sum() + least
    hard_pull = np.where(hard, pull, 0.0)
    price = rows + coupling.price(hard_pull, x.shape)
    most = terms.most(price, low, high, np.isfinite(p.lower) & np.isfinite(p.upper))
    total = fixed.sum() + (hard_pull * coupling.least).sum()
    size = np.abs(fixed).sum() + np.abs(hard_pull * coupling.least).sum() + np.abs(most).sum()
    return float(bound), float((total - most.sum()) / (size if size > 0 else 1.0))


class BlockBandedProgram:
    """The programs, with rows of A and G of length about 1, their coupling rows, and the steps towards their solution.
    Multipliers and curvatures are relative to the greatest weight."""

    def __init__(self, programs: Programs, coupling: CouplingRows, max_weight: float) -> None:
        self.p, self.coupling = p, coupling = programs, coupling
        k, e, n = p.A.shape
        self.e, self.c, self.d = e, *p.h.shape[1:]
        self.p_of = float(p.power) if p.power is not None else p.powers
        self.fixed = p.lower == p.upper
        self.has = np.stack([np.isfinite(p.lower) & ~self.fixed, np.isfinite(p.upper) & ~self.fixed], axis=-1)
        self.every = p.B
        self.B = np.where(self.fixed[:, None], 0.0, self.every) if self.fixed.any() else self.every
        self.hard = coupling.hard
        self.max_weight = max_weight
        self.count = self.has.sum() + self.c * k + self.hard.sum()
        if isinstance(self.p_of, float) and self.p_of == 2:
            self.root = np.ones((k, n))
        else:
            self.root = terms.power_of(np.where(p.weights > 0, p.weights, self.max_weight), -1.0 / self.p_of)
        self.banded = BandedRows(k, e + self.c * self.d, coupling)

    def start(self) -> Point:
        """A point strictly within the bounds."""
        p, (low, high) = self.p, np.moveaxis(self.has, -1, 0)
        bottom, top = np.where(low, p.lower, 0.0), np.where(high, p.upper, 0.0)
        x = np.where(high, np.where(low, (bottom + top) / 2, top - 1), np.where(low, bottom + 1, 0.0))
        x = np.where(self.fixed, p.lower, x)
        distance = np.stack([np.where(low, x - bottom, 1.0), np.where(high, top - x, 1.0)], axis=-1)
        values = p.cone_values(x)
        one = cones.identity(self.d)
        s = np.maximum(np.sqrt(np.sum(values**2, axis=-1)), 1.0)[..., None] * one
        begin = max(self.max_weight, float(p.weights.max(initial=0.0)))
        z = np.broadcast_to(begin * one, s.shape)
        rows = np.concatenate([np.zeros(p.b.shape), z.reshape(len(x), -1)], axis=-1)
        slack = np.where(self.hard, np.maximum(self.coupling.values(x), 0.1), 1.0)
        return Point(x, distance, begin * self.has, rows, s, begin * self.hard, slack)

    def objective(self, x: Array) -> float:
        """The sum over all programs and coupling rows."""
        return float(self.p.objective(x).sum() + self.coupling.objective(x).sum())

    def products(self, at: Point) -> float:
        """The mean product of distances and multipliers."""
        z = self._of_cones(at.multipliers)
        total = np.sum(at.distance * at.bound) + np.sum(at.s * z) + np.sum((at.slack * at.pull)[self.hard])
        return float(total / max(self.count, 1))

    def residuals(self, at: Point) -> tuple[Array, Array]:
        """(k, r) and (l,) the residuals of the rows."""
        p, coupling = self.p, self.coupling
        off = np.concatenate([p.residual(at.x), (p.cone_values(at.x) - at.s).reshape(len(at.x), -1)], axis=-1)
        return off, coupling.values(at.x) - np.where(self.hard, at.slack, -coupling.give * at.pull)

    def step(self, at: Point) -> Point:
        """The next point; LinAlgError where rounding errors make the system singular."""
        way = _Way(self, at)
        first = way.to(0.0, None)
        share = self._longest(at, first, 1.0)
        tried = self._moved(at, first, share)
        here = self.products(at)
        sigma = np.clip(self.products(tried) / here, 0.0, 1.0) ** 3 if here > 0 else 0.0
        second = way.to(max(float(sigma) * here, MIN_TARGET_PER_DUAL_RESIDUAL * way.unbalanced), first)
        share = self._longest(at, second, NEAR_BOUNDARY)
        return self._moved(at, second, self._trusted(at, second, share, here))

    # ---- parts -----------------------------------------------------------------------------------------------

    def curvature(self, x: Array, mu: float) -> Array:
        """(k, n) of the objective. For powers other than 2 each |x| is at least that where the term is mu."""
        w, p = self.p.weights, self.p_of
        if isinstance(p, float) and p == 2:
            own: Array = 2 * w
        else:
            small = mu ** (1 / p) * self.root
            own = terms.curvature(w, p, np.maximum(np.abs(x), small))
        return np.maximum(own, PROXIMAL * self.max_weight)

    def _of_cones(self, rows: Array) -> Array:
        """(k, c, d) of rows (k, r)."""
        found: Array = rows[:, self.e :].reshape(self.p.h.shape)
        return found

    def _longest(self, at: Point, to: Point, share: float) -> float:
        """The longest step, at most 1; `share` is the part of the way to the boundary that it may take."""
        ratios = [to.distance / at.distance, (to.bound / np.where(at.bound > 0, at.bound, 1.0))[self.has]]
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
        """The step length, halved while the objective rises far more along the way than its curvature predicts."""
        if isinstance(self.p_of, float) and self.p_of in (1.0, 2.0):
            return share
        w, p, x = self.p.weights, self.p_of, at.x
        bend = np.sum(self.curvature(x, mu) * to.x**2)
        slope = terms.slope(w, p, x)
        for _ in range(MAX_HALVINGS):
            part = share * to.x
            rise = np.sum(terms.cost(w, p, x + part) - terms.cost(w, p, x) - part * slope)
            if rise <= MAX_RISE_OVER_MODEL * share**2 * bend + mu * max(self.count, 1):
                break
            share /= 2
        return share


class _Way:
    """The conditions linearized at a point, factored."""

    def __init__(self, chain: BlockBandedProgram, at: Point) -> None:
        self.chain, self.at = chain, at
        p, coupling, e = chain.p, chain.coupling, chain.e
        z = chain._of_cones(at.multipliers)
        self.B, self.scale = chain.B, None
        give = np.zeros(at.multipliers.shape)
        if chain.c:
            self.scale = cones.scaling(at.s, z)
            turned = np.swapaxes(self.scale.V, -1, -2) @ chain.B[:, e:].reshape(*p.h.shape, -1)
            self.B = np.concatenate([chain.B[:, :e], turned.reshape(len(at.x), -1, at.x.shape[-1])], axis=1)
            give[:, e:] = (self.scale.values**2).reshape(len(give), -1)
            self.middle = self.scale.times(z)
        self.off, self.coupling_residual = chain.residuals(at)
        price = prices(chain.B, at.multipliers) + np.where(chain.fixed, 0.0, coupling.price(at.pull, at.x.shape))
        self.stationary = terms.slope(p.weights, chain.p_of, at.x) - price - at.bound[..., 0] + at.bound[..., 1]
        self.stationary = np.where(chain.fixed, 0.0, self.stationary)
        stiff = np.sum(at.bound / at.distance, axis=-1)
        curvature = chain.curvature(at.x, chain.products(at)) + stiff
        self.softness = np.where(chain.fixed, 0.0, 1 / curvature)
        coupling_give = np.where(chain.hard, at.slack / np.where(chain.hard, at.pull, 1.0), coupling.give)
        self.give, self.coupling_give = give, coupling_give
        self.factor = chain.banded.factored(self.B, self.softness, give, coupling_give)
        span = np.min(np.where(chain.has, at.distance, 1.0 + at.distance), axis=-1)
        self.unbalanced = float(np.sum(np.abs(self.stationary) * span)) / max(chain.count, 1)

    def to(self, aim: float, tried: Point | None) -> Point:
        """The change to products of `aim`, corrected for the second-order terms of a tried change."""
        chain, at, coupling, e = self.chain, self.at, self.chain.coupling, self.chain.e
        wanted = chain.has * aim - at.distance * at.bound
        wanted_pull = np.where(chain.hard, aim - at.slack * at.pull, 0.0)
        if tried is not None:
            wanted, wanted_pull = (
                wanted - tried.distance * tried.bound,
                wanted_pull - np.where(chain.hard, tried.slack * tried.pull, 0),
            )
        per = wanted / at.distance
        pull = -self.stationary + per[..., 0] - per[..., 1]
        loose = self.softness * pull
        loosened = in_one_pass(self.B, loose)
        rows = -self.off - loosened
        if chain.c:
            rows[:, e:] = self._cone_rows(aim, tried) - loosened[:, e:]
        coupling_right = wanted_pull / np.where(chain.hard, at.pull, 1.0) - self.coupling_residual - coupling.of(loose)
        change, pulled = self._solved(rows, coupling_right)
        dx = self.softness * (pull + prices(self.B, change) + coupling.price(pulled, at.x.shape))
        distance = chain.has * np.stack([dx, -dx], axis=-1)
        bound = chain.has * (wanted - at.bound * distance) / at.distance
        ds = np.zeros(at.s.shape)
        if chain.c:
            ds = in_one_pass(chain.B[:, e:], dx).reshape(at.s.shape) + chain._of_cones(self.off)
            back = self._scale.back(change[:, e:].reshape(at.s.shape))
            change = np.concatenate([change[:, :e], back.reshape(len(dx), -1)], axis=-1)
        slack = np.where(chain.hard, coupling.of(dx) + self.coupling_residual, 0.0)
        return Point(dx, distance, bound, change, ds, pulled, slack)

    def _solved(self, rows: Array, coupling_right: Array) -> tuple[Array, Array]:
        """The changes of the multipliers for right sides, with iterative refinement."""
        chain, coupling = self.chain, self.chain.coupling
        change, pulled = chain.banded.solved(self.factor, rows, coupling_right)
        for _ in range(REFINEMENT_STEPS):
            dx = self.softness * (prices(self.B, change) + coupling.price(pulled, self.at.x.shape))
            left = rows - in_one_pass(self.B, dx) - self.give * change
            coupling_left = coupling_right - coupling.of(dx) - self.coupling_give * pulled
            more = chain.banded.solved(self.factor, left, coupling_left)
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
