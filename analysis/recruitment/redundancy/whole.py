"""A whole trial as one problem: its settings and its solution."""

import numpy as np

from myoquat.analysis.recruitment.convex import Status
from myoquat.core.records import dataclass
from myoquat.core.typing import Array

__all__ = ["Coupled", "FrameCoupling", "Sequential", "WholeTrial"]


@dataclass(frozen=True)
class FrameCoupling:
    """How the activations of a frame depend on those of its neighbours: `Sequential` or `Coupled`.

    >>> from myoquat.analysis.recruitment import Coupled, FrameCoupling, Sequential
    >>> isinstance(Sequential(), FrameCoupling), isinstance(Coupled(), FrameCoupling)
    (True, True)
    """


@dataclass(frozen=True)
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


@dataclass(frozen=True)
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


@dataclass(frozen=True, eq=False)
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
