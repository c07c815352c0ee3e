"""Progress of a solver while it runs, and interrupts that stop it at its last iterate."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field
from types import FrameType, NoneType
from typing import Any

import numpy as np

from myoquat.core.arguments import CALLABLE, check_types
from myoquat.core.progress import handled_interrupts
from myoquat.core.records import dataclass
from myoquat.data.motions import Motion

__all__ = ["IterateHistory", "Progress", "Stop", "interruptible"]


@dataclass(frozen=True, eq=False)
class Progress:
    """One iterate of `Problem.solve`, as `watch` sees it: objective, greatest violation of a constraint, time since the
    start and what is left at most [s]. `motion()` is the motion of the iterate, for an animation.

    >>> from myoquat.analysis.control import Duration, Equations, Problem
    >>> cart = Equations(("x",), ("v",), lambda point: (point["v"],))
    >>> problem = Problem(
    ...     cart, (0.1, 9.0), (Duration(),), 4, initial={"x": 0}, final={"x": 1}, bounds={"v": (0, 1)}
    ... )
    >>> seen = []
    >>> solution = problem.solve(watch=lambda progress: seen.append(progress.iteration))
    >>> seen == list(range(solution.iterations + 1))
    True
    """

    iteration: int
    objective: float
    violation: float
    seconds: float
    seconds_left: float
    motion: Callable[[], Motion]

    def __str__(self) -> str:
        return (
            f"iteration {self.iteration}: objective {self.objective:.6g}, violation {self.violation:.2g}, "
            f"{self.seconds:.1f} s, at most {self.seconds_left:.0f} s left"
        )


class Stop:
    """Whether a solver is to stop at its iterate; `came` is set by an interrupt or by who watches."""

    came = False


@contextmanager
def interruptible() -> Iterator[Stop]:
    """While inside, a first interrupt from the keyboard asks the solver to stop at its iterate, a second one raises
    KeyboardInterrupt (`handled_interrupts`)."""
    stop = Stop()

    def ask(number: int, frame: FrameType | None) -> Any:
        if stop.came:
            signal.default_int_handler(number, frame)
        stop.came = True

    with handled_interrupts(ask):
        yield stop


PAUSE = 0.25  # s between one iterate and the next, when they are played


@dataclass(eq=False)
class IterateHistory:
    """A `watch` of `Problem.solve` that keeps the motion of every `every`-th iterate, its objective and its violation.

    every  1 to keep all iterates
    show   called with the `Progress` of every iterate too; it may return True to stop

    `mq.view(model, *history.motions)` has them side by side, `history.motion` plays them one after another.

    >>> import myoquat as mq
    >>> from myoquat.analysis.control import Effort, IterateHistory, Problem
    >>> block = mq.Body("block", "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=1.0, coordinate_names=("x",))
    >>> ends = {"initial": {"x": 0.0, "x_dot": 0.0}, "final": {"x": 1.0, "x_dot": 0.0}}
    >>> problem = Problem(mq.ArticulatedSystem((block,)), 1.0, (Effort(),), 4, torques=("x_dot",), **ends)
    >>> history = IterateHistory()
    >>> solution = problem.solve(watch=history)
    >>> len(history.motions) == solution.iterations + 1
    True
    >>> history.motion
    <Motion q, u of 1 velocities, 10 frames, 0 to 2.25 s>
    """

    every: int = 1
    show: Callable[[Progress], object] | None = None
    motions: list[Motion] = field(default_factory=list, init=False)
    objectives: list[float] = field(default_factory=list, init=False)
    violations: list[float] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        check_types(every=(self.every, int), show=(self.show, (CALLABLE, NoneType)))
        if self.every < 1:
            raise ValueError(f"every must be at least 1, not {self.every}")

    def __call__(self, progress: Progress) -> object:
        if progress.iteration % self.every == 0:
            self.motions.append(progress.motion())
            self.objectives.append(progress.objective)
            self.violations.append(progress.violation)
        return None if self.show is None else self.show(progress)

    @property
    def motion(self) -> Motion:
        """The iterates one after another, from 0 s on, with a pause of 0.25 s between them. ValueError without any."""
        if not self.motions:
            raise ValueError("no iterate was kept; give the history as watch= to Problem.solve")
        times, end = [], 0.0
        for motion in self.motions:
            times.append(motion.time - motion.time[0] + end)
            end = times[-1][-1] + PAUSE
        q, u = (np.concatenate([getattr(motion, name) for motion in self.motions]) for name in ("q", "u"))
        return Motion(self.motions[0].system, np.concatenate(times), q, u)
