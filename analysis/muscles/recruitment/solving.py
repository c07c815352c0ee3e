"""Solutions of what a motion asks of its muscles: on straight lines for the force laws, tangents where laws bend, and
frame after frame where activation dynamics bound how far an activation gets."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from myoquat.analysis.muscles.convex import Solutions, Status, are_met, solve_greatest, solve_programs
from myoquat.analysis.muscles.recruitment.equations import Demands, Effort
from myoquat.analysis.muscles.recruitment.lines import chords, tangents
from myoquat.analysis.muscles.recruitment.metabolic import MetabolicEffort
from myoquat.analysis.muscles.recruitment.reach import reachable
from myoquat.analysis.muscles.recruitment.settling import Settling
from myoquat.kernels.typing import Array

__all__ = ["MET", "ROUNDS", "Recruitment", "are_bent"]

AFFINE = 1e-9  # of the greatest force: a law that bends less than this is taken as affine
MET = 1e-9  # of the greatest torque: what the forces of bent laws may miss
APART = 16  # frames that are solved by themselves
ROUNDS = 50  # of tangents


@dataclass
class Recruitment:
    """The solutions of all frames, with activations for their x, and the slopes (t, m) of the forces there."""

    demands: Demands
    effort: Effort
    backend: str
    whole: None = None

    def __post_init__(self) -> None:
        demands = self.demands
        self.centre = np.pad(demands.targets(self.effort), ((0, 0), (0, len(demands.reserves))))
        self.slopes = np.empty(demands.lengths.shape)
        self.settles = not isinstance(self.effort, MetabolicEffort) and Settling.applies(demands, self.effort)
        self.found = self._along()

    def follow(self, time: Array) -> None:
        """Frame after frame, activations no further from those of the frame before than dynamics let them get. A frame
        whose activations are anyway within that stays as it is: what is best of more is best of less."""
        m, model = len(self.demands.model.muscles), self.demands.model
        for k in range(1, len(time)):
            low, high = reachable(model, self.found.x[k - 1, :m], float(time[k] - time[k - 1]))
            a = self.found.x[k, :m]
            if ((a < low) | (a > high)).any():
                frame = np.array([k])
                self.found.put(frame, self._of(frame, self.demands.taken(frame).within(low[None], high[None])))

    def _along(self) -> Solutions:
        """Solutions of all frames: of some by themselves, of those between from what the two beside have, nearer and
        nearer ones."""
        k, step = len(self.slopes), APART
        if not self.settles or k <= 2 * step:
            return self._of(np.arange(k), self.demands)
        few = np.append(np.arange(0, k - 1, step), k - 1)
        known = self._of(few, self.demands.taken(few))
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
        near = (found.status[left] == Status.SOLVED) & (found.status[right] == Status.SOLVED)
        open_ = frames[~near]
        if near.any():
            known, lost = self._settle(frames[near], x[near], y[near])
            found.put(frames[near], known)
            open_ = np.concatenate([open_, frames[near][lost]])
        if len(open_):
            found.put(open_, self._of(open_, self.demands.taken(open_)))

    def _settle(self, frames: Array, x: Array, y: Array, demands: Demands | None = None) -> tuple[Solutions, Array]:
        """What `Settling` finds near x and y, and where it finds nothing, by their numbers."""
        given = demands or self.demands.taken(frames)
        found, slopes = Settling(given, self.effort, self.backend).settled(x, y)
        self.slopes[frames] = slopes
        return found, np.flatnonzero(found.status != Status.SOLVED)

    def _of(self, frames: Array, demands: Demands) -> Solutions:
        """Solutions on the chords of the force laws, and, of frames at which a law is bent, on tangents."""
        m, centre = len(demands.model.muscles), self.centre[frames]
        F0, F1 = chords(demands.tensions, demands.lower, len(frames))
        found = self._on_lines(demands, F0, F1, centre)
        open_ = np.flatnonzero(are_bent(demands, F0, F1) & are_met(found.status))
        if self.settles and len(open_):
            near, left = self._settle(frames[open_], found.x[open_], found.y[open_], demands.taken(open_))
            found.put(open_[near.status == Status.SOLVED], near.taken(near.status == Status.SOLVED))
            F1[open_], open_ = self.slopes[frames[open_]], open_[left]
        size = np.maximum(np.abs(demands.torque).max(axis=-1, initial=0.0), 1.0)
        for _ in range(ROUNDS):
            if not len(open_):
                break
            forces = partial(demands.tensions, frames=open_)
            F0[open_], F1[open_] = tangents(forces, found.x[open_, :m], demands.lower)
            found.put(open_, self._on_lines(demands.taken(open_), F0[open_], F1[open_], centre[open_]))
            off = np.abs(demands.missing(demands.tensions(found.x[:, :m]), found.x[:, m:])).max(axis=-1, initial=0.0)
            open_ = open_[(off[open_] > MET * size[open_]) & are_met(found.status[open_])]
        found.status[open_] = Status.UNSETTLED
        self.slopes[frames] = F1
        return found

    def _on_lines(self, demands: Demands, F0: Array, F1: Array, centre: Array) -> Solutions:
        """Where the tensions are F0 + F1 a (t, m), and the effort is that of x - centre (t, m + r)."""
        m = len(demands.model.muscles)
        programs = demands.programs(F0, F1, self.effort)
        if isinstance(self.effort, MetabolicEffort):
            return self.effort.solved(demands, programs, self.backend)
        solve = solve_greatest if self.effort.power == np.inf else solve_programs
        found = solve(programs.around(centre) if centre.any() else programs, backend=self.backend)
        found.x[:] += centre
        found.x[:, :m] = demands.activations(found.x[:, :m], F0, F1, self.effort)
        return found


def are_bent(demands: Demands, F0: Array, F1: Array) -> Array:
    """(t,) whether a law is off its chord F0 + F1 a (t, m)."""
    middle = np.broadcast_to((1 + demands.lower) / 2, F0.shape)
    off = np.abs(demands.tensions(middle) - F0 - F1 * middle).max(axis=-1, initial=0.0)
    return np.asarray(off > AFFINE * np.abs(F1).max(axis=-1, initial=1.0))


def _interpolated(values: Array, frames: Array, step: int) -> Array:
    """Values (k, n) of frames 2 steps apart from those a step before and after each: along a cubic through these and
    the next two; at the ends, and where the last frame of all is nearer than a step, along a straight line."""
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
