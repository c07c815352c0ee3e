"""Progress of a solver while it runs, and interrupts that stop it at its last iterate."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from myoquat.core.progress import handled_interrupts
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.data.motions import Motion

__all__ = ["Iterate", "Progress", "Stop", "interruptible"]


@dataclass(frozen=True, eq=False)
class Iterate:
    """One iterate of a solver.

    iteration       its number
    x               (n,) the variables
    objective       at x
    violation       the greatest violation of a constraint
    seconds         time since the start
    max_iterations  number of iterations that are allowed
    """

    iteration: int
    x: Array
    objective: float
    violation: float
    seconds: float
    max_iterations: int


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

    @classmethod
    def of(cls, iterate: Iterate, motion: Callable[[], Motion]) -> "Progress":
        """From an iterate of the solver."""
        each = iterate.seconds / max(iterate.iteration, 1)
        left = each * (iterate.max_iterations - iterate.iteration)
        return cls(iterate.iteration, iterate.objective, iterate.violation, iterate.seconds, left, motion)


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
