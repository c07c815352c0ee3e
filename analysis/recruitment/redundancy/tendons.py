"""Muscles with elastic tendons along a motion.

A fiber of constant width on a path of length l has a tendon with the elongation s. With a rigid tendon on a path of
length l - s and speed dl/dt - ds/dt, its length and speed are the same. The elongation follows from the tension by the
tendon's curve, and ds/dt from the elongations of neighbouring frames, by differences of second order. So frames are
solved side by side with rigid tendons on shortened paths, until tensions and elongations agree. Anderson mixing
combines the elongations of several iterations [D. G. Anderson, Iterative procedures for nonlinear integral equations,
J. ACM 12, 1965].
"""

from collections.abc import Callable
from copy import copy
from itertools import pairwise

import numpy as np

from myoquat.analysis.recruitment.convex import Status, are_met, terms
from myoquat.core import Array
from myoquat.muscle.laws import HillLaw
from myoquat.muscle.laws.equilibrium import tendon_forces, tendon_strains
from myoquat.muscle.laws.shared_structure import stacked_laws
from myoquat.muscle.model import Model

from .coupled import Recruited
from .equations import Demands

MAX_OUTER_ITERATIONS = 100  # of solutions with rigid tendons
MAX_COMBINED_ITERATIONS = 20  # of Anderson mixing
MIXING = 0.5  # of the remaining change, in an iteration: with 1, differences of close frames oscillate
TENSION_TOLERANCE = 1e-7  # of the greatest isometric force: difference of fiber and tendon force
ROUNDING_LEVEL = 1e-14  # of the greatest eigenvalue of combined changes: smaller ones are rounding errors
MAX_STRAIN_FACTOR = 10.0  # greatest tendon strain, over the strain at F0


class Tendons:
    """The elastic tendons of a model, in the order of its muscles."""

    def __init__(self, model: Model) -> None:
        laws = {i: muscle.law for i, muscle in enumerate(model.muscles) if isinstance(muscle.law, HillLaw)}
        laws = {i: law for i, law in laws.items() if law.states}
        self.members = np.array(list(laws), dtype=int)
        self.laws: list[tuple[list[int], HillLaw]] = stacked_laws(list(laws.values()))
        self.strength = np.array([law.max_isometric_force for law in laws.values()])

    def elongations(self, tensions: Array) -> Array:
        """(t, s) [m] the tendon elongations at tensions (t, s): zero where tensions are not positive, at most 10 times
        the strain at F0."""
        unit = terms.ratio(tensions, self.strength)  # without strength there is no tension
        found = np.zeros(tensions.shape)
        for members, law in self.laws:
            strains = tendon_strains(law, unit[:, members], MAX_STRAIN_FACTOR * law.tendon_strain)
            found[:, members] = strains * law.tendon_slack_length
        return found

    def pulls(self, elongations: Array) -> Array:
        """(t, s) [N] the tendon forces at elongations (t, s) [m]."""
        found = np.zeros(elongations.shape)
        for members, law in self.laws:
            strains = np.maximum(elongations[:, members], 0.0) / law.tendon_slack_length
            found[:, members] = self.strength[members] * tendon_forces(law, strains)
        return found

    def fibers(self, demands: Demands) -> Array:
        """(t, s) [m] the fiber lengths on the shortened paths."""
        found = np.zeros((len(demands.lengths), len(self.members)))
        for members, law in self.laws:
            along = demands.lengths[:, self.members[members]] - law.tendon_slack_length
            found[:, members] = np.hypot(np.maximum(along, law.shortest_along), law.width)
        return found

    def solved(self, demands: Demands, time: Array, solve: Callable[..., Recruited]) -> tuple[Demands, Recruited]:
        """Demands on the shortened paths, and their solutions: UNSOLVED at frames where the forces of fiber and tendon
        differ. Other starting points are tried once tensions agree."""
        stretch = np.zeros((len(time), len(self.members)))
        inputs: list[Array] = []
        changes: list[Array] = []
        alternatives = False
        for number in range(MAX_OUTER_ITERATIONS):
            part = self._shortened(demands, time, stretch)
            alternatives = alternatives or number == MAX_OUTER_ITERATIONS - 1
            found = solve(part, alternatives=alternatives)
            tension = part.tensions(found.found.x[:, : part.lengths.shape[1]])[:, self.members]
            off = np.abs(np.maximum(tension, 0.0) - self.pulls(stretch)).max(axis=-1, initial=0.0)
            apart = off > TENSION_TOLERANCE * self.strength.max(initial=1.0)
            if not apart.any():
                if alternatives:
                    break
                alternatives = True
                continue
            wanted = self.elongations(tension)
            inputs, changes = (
                [*inputs, stretch][-MAX_COMBINED_ITERATIONS:],
                [*changes, wanted - stretch][-MAX_COMBINED_ITERATIONS:],
            )
            stretch = np.maximum(_combined(inputs, changes), 0.0)
        status = found.found.status
        status[apart & are_met(status)] = Status.UNSOLVED
        return part, found

    def _shortened(self, demands: Demands, time: Array, stretch: Array) -> Demands:
        part = copy(demands)
        part.lengths, part.speeds = demands.lengths.copy(), demands.speeds.copy()
        part.lengths[:, self.members] -= stretch
        if len(time) > 1:
            part.speeds[:, self.members] -= np.gradient(stretch, time, axis=0, edge_order=2 if len(time) > 2 else 1)
        return part


def _combined(inputs: list[Array], changes: list[Array]) -> Array:
    """The next input of Anderson mixing, from inputs and their changes. It is the combination with the least change of
    a linear model, plus a part of that change."""
    steps, moves = (np.array([(b - a).ravel() for a, b in pairwise(x)]).reshape(len(x) - 1, inputs[-1].size).T
                    for x in (changes, inputs))  # fmt: skip
    size, V = np.linalg.eigh(steps.T @ steps)
    kept = size > ROUNDING_LEVEL * size.max(initial=0.0)
    share = V[:, kept] @ ((V[:, kept].T @ (steps.T @ changes[-1].ravel())) / size[kept])
    return inputs[-1] + MIXING * changes[-1] - ((moves + MIXING * steps) @ share).reshape(inputs[-1].shape)
