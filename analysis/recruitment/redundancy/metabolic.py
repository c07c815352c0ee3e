"""Metabolic power as an effort: the power of every muscle at an activation, for the fiber state of the motion."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from itertools import combinations
from typing import Any

import numpy as np

from myoquat.analysis.recruitment.convex import Programs, Solutions, solve_separable
from myoquat.analysis.recruitment.metabolic_power import MuscleFibers
from myoquat.core import Array, frozen, real_array
from myoquat.joints.evaluation import compiled
from myoquat.joints.vectors import joined, rows_of, vector
from myoquat.muscle.laws.shared_structure import of_laws
from myoquat.muscle.metabolics import Fiber, MetabolicCost, Umberger2010

from .equations import Demands, Effort

GRID_POINTS = 33  # activations; between neighbours, at most one corner of each pair of heats is found
MAX_HALVINGS = 40  # of the interval around a corner
CORNERS = 2  # of each sort, at the least activation where there are fewer: no frame's points depend on other frames


@frozen
class MetabolicEffort(Effort):
    """sum_i w_i P_i(a_i) + sum_j w_j |c_j|^p [W], where P_i is the metabolic power of a muscle.

    Its excitation equals its activation; length and speed of its fiber are those of the motion.

    cost         `myoquat.muscle.metabolics.Umberger2010` (the default) or `Bhargava2004`.
    slow_twitch  share of slow-twitch fibers in [0, 1], one for all or by muscle (0.5 for others).
    masses       [kg] by muscle; of the others they follow from strength and fiber length.
    weights, power  as in `Effort`; the power is that of the reserves, whose weights are in [W].

    P is not convex in the activation: Umberger's heat goes with a^0.6, and both models recruit slow fibers first. A
    frame is `SOLVED` if the lower convex envelopes of all P prove that no other activations cost less, by more than
    1e-7. Otherwise its status is `LOCAL`: no activations nearby cost less, and `bound` is a lower bound of the cost.

    >>> from myoquat.analysis.recruitment import MetabolicEffort
    >>> from myoquat.muscle.metabolics import Bhargava2004
    >>> effort = MetabolicEffort(cost=Bhargava2004(), slow_twitch={"soleus": 0.8}, weights={"soleus": 2.0})
    >>> effort.of_muscles(["soleus", "gastrocnemius"])
    array([2., 1.])
    """

    cost: MetabolicCost = field(default_factory=Umberger2010)
    slow_twitch: float | Mapping[str, float] = 0.5
    masses: Mapping[str, float] | None = None

    def of_muscles(self, names: Sequence[str]) -> Array:
        if self.of != "activation" or np.any(real_array("target", self.target)) or self.power == np.inf:
            raise ValueError("a metabolic effort is of power: it has no `of`, no target, and no infinite power")
        return super().of_muscles(names)

    is_smooth = False

    def curves(self, demands: Demands, backend: str) -> "MetabolicCurves":
        return MetabolicCurves(self, demands, backend)

    def solved(self, demands: Demands, programs: Programs, centre: Array, backend: str) -> Solutions:
        if not demands.model.muscles:  # reserves alone have powers of controls
            return Effort.solved(self, demands, programs, centre, backend)
        curves = self.curves(demands, backend)
        return solve_separable(programs, curves, curves.corners(), backend=backend)


class MetabolicCurves:
    """The metabolic power of the muscles at some frames."""

    def __init__(self, effort: MetabolicEffort, demands: Demands, backend: str) -> None:
        self.demands, self.cost, self.backend = demands, effort.cost, backend
        self.slow = MuscleFibers.of(demands.model, effort.cost, effort.slow_twitch, effort.masses).slow
        self.masses = dict(effort.masses or {})
        self.weights = demands.weights(effort)

    def __call__(self, rows: Array, a: Array) -> Array:
        """(k, m, p) [W] at activations (k, m, p) of frames (k,)."""
        return self.weights[rows][..., None] * self._powers(rows, a)[..., 0]

    def corners(self) -> Array:
        """(t, m, q) activations at which two of the heats and their lower limits are equal, or one of the cost's own
        `corners` changes its sign. These are corners of the effort. The least activation where there is none."""
        low, high = self.demands.low[..., None], self.demands.high[..., None]
        rows, part = np.arange(len(low)), np.linspace(0.0, 1.0, GRID_POINTS)
        grid = low * (1 - part) + high * part
        signs = self._powers(rows, grid)[..., 1:] > 0
        found = [np.empty((*low.shape[:2], 0))]
        for number in range(signs.shape[-1]):
            positive = signs[..., number]
            change = positive[..., 1:] != positive[..., :-1]
            for k in range(max(CORNERS, int(change.sum(axis=-1).max(initial=0)))):
                here = np.argsort(~change, axis=-1, kind="stable")[..., k : k + 1]
                ends = [np.take_along_axis(grid, here + off, axis=-1) for off in (0, 1)]
                start = np.take_along_axis(positive, here, axis=-1)
                changes = np.take_along_axis(change, here, axis=-1)
                at = self._changing(rows, number, ends, start) if changes.any() else low
                found.append(np.where(changes, at, low))
        return joined(found)

    def _changing(self, rows: Array, number: int, ends: list[Array], start: Array) -> Array:
        """(k, m, 1) where, between the ends, one of the numbers behind the power changes its sign from `start`."""
        left, right = ends
        for _ in range(MAX_HALVINGS):
            middle = (left + right) / 2
            same = (self._powers(rows, middle)[..., 1 + number] > 0) == start
            left, right = np.where(same, middle, left), np.where(same, right, middle)
        return right

    def _powers(self, rows: Array, a: Array) -> Array:
        """(k, m, p, c) power [W], and numbers whose change of sign is a corner of it, at activations (k, m, p)."""
        flat = a.mT
        l, v = (np.broadcast_to(x[rows][:, None], flat.shape) for x in (self.demands.lengths, self.demands.speeds))
        return np.moveaxis(np.asarray(self._formula_or_kernel(l, v, flat)), 1, 2)

    def _formula_or_kernel(self, lengths: Array, speeds: Array, a: Array) -> Array:
        laws = self.demands.laws
        if self.backend == "numpy":
            return self._formula(lengths, speeds, a, laws.p)
        shapes = {"lengths": a.shape[-1], "speeds": a.shape[-1], "a": a.shape[-1], "p": laws.p.shape[-1]}
        key = ("metabolic", laws.key, self.cost, tuple(self.slow), tuple(self.masses.items()))
        kernel: Any = compiled(key, self._formula, shapes, ["powers"], name="metabolic_power")
        return kernel(lengths, speeds, a, np.broadcast_to(laws.p, (*lengths.shape[:-1], shapes["p"])))

    def _formula(self, lengths: Array, speeds: Array, a: Array, p: Array) -> Array:
        """(..., m, c) the formula, on floats and symbols."""
        model = self.demands.laws.bind(p)
        laws: list[Any] = [muscle.law for muscle in model.muscles]
        masses = [self.masses.get(name) or self.cost.mass(law.max_isometric_force, law.optimal_fiber_length)
                  for name, law in zip(model.muscle_names, laws, strict=True)]  # fmt: skip
        rows = []
        for i, (slow, mass) in enumerate(zip(self.slow, masses, strict=True)):
            at = [x[..., i] for x in (lengths, speeds, a)]
            rows.append(vector([*at, *(0.0 * at[0] + x for x in (slow, mass))]))
        found = of_laws(laws, self._of_law, rows, lambda law: len(self._heats(law, rows[0])))
        return rows_of(found)

    def _of_law(self, law: Any, row: Array) -> Array:
        return vector(self._heats(law, row))

    def _heats(self, law: Any, row: Array) -> list[Array | float]:
        l, v, a, slow, mass = (row[..., k] for k in range(5))
        fiber = Fiber.of(law, (l, v, a), a, mass=mass, slow=slow)
        heats = [self.cost.heat(fiber), *self.cost.least_heats(fiber)]
        return [self.cost.power(fiber), *(x - y for x, y in combinations(heats, 2)), *self.cost.corners(fiber)]
