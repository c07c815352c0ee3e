"""Muscles with elastic tendons along a motion.

A fiber of constant width on a path of length l, whose tendon is stretched by s, is as long and as fast as it would be
with a rigid tendon on a path of length l - s and of speed dl/dt - ds/dt. The stretch follows from the tension alone, by
the tendon's curve, and ds/dt from the stretches of neighbouring frames, by differences of second order. So frames are
solved side by side with rigid tendons, on paths that are shorter by what the tensions stretch the tendons by, again
until tensions and stretches agree. Stretches of several rounds are combined so that they would agree if they depended
on each other linearly [D. G. Anderson, Iterative procedures for nonlinear integral equations, J. ACM 12, 1965].
"""

from collections.abc import Callable
from copy import copy
from itertools import pairwise
from typing import Any

import numpy as np

from myoquat.analysis.recruitment.convex import Status, are_met
from myoquat.analysis.recruitment.redundancy.coupled import Recruited
from myoquat.analysis.recruitment.redundancy.equations import Demands
from myoquat.core.typing import Array
from myoquat.muscle.laws import HillLaw
from myoquat.muscle.laws.equilibrium import LawType, law_type_of, numbers_of
from myoquat.muscle.laws.shared_structure import stacked_laws
from myoquat.muscle.laws.stretched import tendon_forces, tendon_strains
from myoquat.muscle.model import Model

__all__ = ["Tendons"]

ROUNDS = 100
KEPT = 20  # rounds that are combined
PART = 0.5  # of the change that is left which the next round takes: differences of frames that are near make it swing
AGREED = 1e-7  # of the greatest isometric force: how far apart fiber and tendon may pull
ROUNDED = 1e-14  # of the greatest: squares of combined rounds below it are rounding
LONGEST = 10.0  # times its strain at F0: tendons are stretched no farther


class Tendons:
    """The elastic tendons of a model, in the order of its muscles."""

    def __init__(self, model: Model) -> None:
        laws = {i: muscle.law for i, muscle in enumerate(model.muscles) if isinstance(muscle.law, HillLaw)}
        laws = {i: law for i, law in laws.items() if law.states}
        self.members = np.array(list(laws), dtype=int)
        self.kinds: list[tuple[list[int], Any]] = list(stacked_laws(list(laws.values())))
        self.alike: dict[LawType, list[int]] = {}
        for k, law in enumerate(laws.values()):
            self.alike.setdefault(law_type_of(law), []).append(k)
        self.numbers = {kind: numbers_of(kind, [list(laws.values())[k] for k in places])
                        for kind, places in self.alike.items()}  # fmt: skip
        self.strength = np.array([law.max_isometric_force for law in laws.values()])

    def stretches(self, tensions: Array) -> Array:
        """(t, s) [m] by which tensions (t, s) stretch the tendons: none where they do not pull, 10 times the strain at
        F0 where they pull harder than that."""
        unit = tensions / np.where(self.strength > 0, self.strength, 1.0)  # without strength there is no tension
        found = np.zeros(tensions.shape)
        for kind, members in self.alike.items():
            numbers = self.numbers[kind]
            strains = tendon_strains(kind, numbers, unit[:, members], LONGEST * numbers["tendon_strain"])
            found[:, members] = strains * numbers["tendon_slack_length"]
        return found

    def pulls(self, stretches: Array) -> Array:
        """(t, s) [N] of tendons stretched by (t, s) [m]."""
        found = np.zeros(stretches.shape)
        for kind, members in self.alike.items():
            numbers = self.numbers[kind]
            strains = np.maximum(stretches[:, members], 0.0) / numbers["tendon_slack_length"]
            found[:, members] = self.strength[members] * tendon_forces(kind, numbers, strains)
        return found

    def fibers(self, demands: Demands) -> Array:
        """(t, s) [m] the fiber lengths on the shortened paths."""
        found = np.zeros((len(demands.lengths), len(self.members)))
        for members, law in self.kinds:
            along = demands.lengths[:, self.members[members]] - law.tendon_slack_length
            found[:, members] = np.hypot(np.maximum(along, law.shortest_along), law.width)
        return found

    def solved(self, demands: Demands, time: Array, solve: Callable[..., Recruited]) -> tuple[Demands, Recruited]:
        """Demands on the shortened paths, and their solutions: UNSETTLED at frames where fiber and tendon are not
        brought to pull alike. Bounds, and the better solutions that they lead to, are sought once tensions agree."""
        stretch = np.zeros((len(time), len(self.members)))
        inputs: list[Array] = []
        changes: list[Array] = []
        certified = False
        for number in range(ROUNDS):
            part = self._shortened(demands, time, stretch)
            certified = certified or number == ROUNDS - 1
            found = solve(part, certified=certified)
            tension = part.tensions(found.found.x[:, : part.lengths.shape[1]])[:, self.members]
            off = np.abs(np.maximum(tension, 0.0) - self.pulls(stretch)).max(axis=-1, initial=0.0)
            apart = off > AGREED * self.strength.max(initial=1.0)
            if not apart.any():
                if certified:
                    break
                certified = True
                continue
            wanted = self.stretches(tension)
            inputs, changes = [*inputs, stretch][-KEPT:], [*changes, wanted - stretch][-KEPT:]
            stretch = np.maximum(_combined(inputs, changes), 0.0)
        status = found.found.status
        status[apart & are_met(status)] = Status.UNSETTLED
        return part, found

    def _shortened(self, demands: Demands, time: Array, stretch: Array) -> Demands:
        part = copy(demands)
        part.lengths, part.speeds = demands.lengths.copy(), demands.speeds.copy()
        part.lengths[:, self.members] -= stretch
        if len(time) > 1:
            part.speeds[:, self.members] -= np.gradient(stretch, time, axis=0, edge_order=2 if len(time) > 2 else 1)
        return part


def _combined(inputs: list[Array], changes: list[Array]) -> Array:
    """The next input from inputs and how they were to change: a part of the way on from that for which changes, if
    linear, would be least."""
    steps, moves = (np.array([(b - a).ravel() for a, b in pairwise(x)]).reshape(len(x) - 1, inputs[-1].size).T
                    for x in (changes, inputs))  # fmt: skip
    size, V = np.linalg.eigh(steps.T @ steps)
    kept = size > ROUNDED * size.max(initial=0.0)
    share = V[:, kept] @ ((V[:, kept].T @ (steps.T @ changes[-1].ravel())) / size[kept])
    found: Array = inputs[-1] + PART * changes[-1] - ((moves + PART * steps) @ share).reshape(inputs[-1].shape)
    return found
