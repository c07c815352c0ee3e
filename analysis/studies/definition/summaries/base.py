"""The interface of all summaries."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.muscle.acting import Instant

__all__ = ["Moment", "Summary"]


@dataclass(frozen=True)
class Moment(Instant):
    """A state of a run and all that acts there, with the coordinates at its `start` (..., nq)."""

    activation: Any = None
    start: Any = None


class Summary(ABC):
    """One row of numbers per run: `observe` is a formula of a state, `reduce` sums up its values along the run."""

    name: ClassVar[str]
    along: ClassVar[str]  # the dimension of a row: "muscle", "velocity" or "body"
    unit: ClassVar[str]
    description: ClassVar[str]

    @abstractmethod
    def observe(self, model: Any, at: Moment) -> Any:
        """(..., n) what to look at in one moment of a run: the formula, on floats and symbols."""

    @abstractmethod
    def reduce(self, times: Array, values: Array) -> Array:
        """(samples, n) the summary of observed values (samples, times, n)."""
