"""Solutions of what a motion asks of its muscles: on straight lines for the force laws, tangents where laws bend, and
frame after frame where activation dynamics bound how far an activation gets."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from myoquat.analysis.muscles.convex import Programs, Solutions, Status, solve_greatest, solve_programs
from myoquat.analysis.muscles.recruitment.equations import Demands, Effort
from myoquat.analysis.muscles.recruitment.lines import chords, tangents
from myoquat.kernels.typing import Array
from myoquat.muscle import ActivationDynamics
from myoquat.muscle.model import Model

__all__ = ["Recruitment", "reachable"]

AFFINE = 1e-9  # of the greatest force: a law that bends less than this is taken as affine
MET = 1e-9  # of the greatest torque: what the forces of bent laws may miss
ROUNDS = 50  # of tangents
FINE = 0.1  # of the shortest time constant: the steps by which activations are integrated


@dataclass
class Recruitment:
    """The solutions of all frames, with activations for their x, and the slopes (t, m) of the forces there."""

    demands: Demands
    effort: Effort
    backend: str

    def __post_init__(self) -> None:
        demands, m = self.demands, len(self.demands.model.muscles)
        self.centre = np.pad(self.effort.targets(len(demands.torque), m), ((0, 0), (0, len(demands.reserves))))
        self.F0, self.slopes = chords(demands.tensions, demands.lower, len(demands.torque))
        middle = np.broadcast_to((1 + demands.lower) / 2, self.F0.shape)
        off = np.abs(demands.tensions(middle) - self.F0 - self.slopes * middle).max(axis=-1, initial=0.0)
        self.bent = off > AFFINE * np.abs(self.slopes).max(initial=1.0)
        self.found = self._of(np.arange(len(self.F0)), demands)

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

    def _of(self, frames: Array, demands: Demands) -> Solutions:
        """Solutions on the chords of the force laws, and, of frames at which a law is bent, on tangents."""
        m, F0, F1 = len(demands.model.muscles), self.F0[frames], self.slopes[frames]
        centre = self.centre[frames]
        found = self._on_lines(demands, F0, F1, centre)
        open_ = np.flatnonzero(self.bent[frames] & (found.status == Status.SOLVED))
        size = np.maximum(np.abs(demands.torque).max(axis=-1, initial=0.0), 1.0)
        for _ in range(ROUNDS):
            if not len(open_):
                break
            forces = partial(demands.tensions, frames=open_)
            F0[open_], F1[open_] = tangents(forces, found.x[open_, :m], demands.lower)
            found.put(open_, self._on_lines(demands.taken(open_), F0[open_], F1[open_], centre[open_]))
            off = np.abs(demands.missing(demands.tensions(found.x[:, :m]), found.x[:, m:])).max(axis=-1, initial=0.0)
            open_ = open_[(off[open_] > MET * size[open_]) & (found.status[open_] == Status.SOLVED)]
        found.status[open_] = Status.UNSETTLED
        self.slopes[frames] = F1
        return found

    def _on_lines(self, demands: Demands, F0: Array, F1: Array, centre: Array) -> Solutions:
        """Where the tensions are F0 + F1 a (t, m), and the effort is that of x - centre (t, m + r)."""
        m = len(demands.model.muscles)
        solve = solve_greatest if self.effort.power == np.inf else solve_programs
        programs = demands.programs(F0, F1, self.effort, demands.model.muscle_names)
        found = solve(_around(centre, programs) if centre.any() else programs, backend=self.backend)
        found.x[:] += centre
        found.x[:, :m] = demands.activations(found.x[:, :m], F0, F1, self.effort)
        return found


def _around(centre: Array, programs: Programs) -> Programs:
    """The programs whose variables are x - centre (k, n)."""
    return replace(
        programs,
        b=-programs.residual(centre),
        h=programs.cone_values(centre),
        lower=programs.lower - centre,
        upper=programs.upper - centre,
    )


def reachable(model: Model, a: Array, step: float) -> tuple[Array, Array]:
    """(m,) the least and the greatest activation to which a (m,) gets in `step` [s], the excitation being 0 or 1 all
    the while; of muscles without activation dynamics all from -inf to inf. By Runge and Kutta's method of fourth
    order, to about 1e-6."""
    low, high = np.full(len(a), -np.inf), np.full(len(a), np.inf)
    kinds = [muscle.activation_dynamics for muscle in model.muscles]
    for dynamics in {kind for kind in kinds if kind is not None}:
        rows = np.array([kind == dynamics for kind in kinds])
        low[rows], high[rows] = (_after(dynamics, e, a[rows], step) for e in (0.0, 1.0))
    return low, high


def _after(dynamics: ActivationDynamics, e: float, a: Array, step: float) -> Array:
    """(m,) activations after a constant excitation."""
    shortest = min(dynamics.activation_time, dynamics.deactivation_time) / 2
    count = max(int(np.ceil(step / (FINE * shortest))), 1)
    h, excitation = step / count, np.full(len(a), e)
    for _ in range(count):
        a = dynamics.advanced(a, (excitation, excitation, excitation), h)
    return a
