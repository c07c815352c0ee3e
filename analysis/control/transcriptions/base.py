"""The interface of all transcriptions, and the indices of their variables."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from myoquat.analysis.control.plants import Plant
from myoquat.core.records import Record, dataclass
from myoquat.core.typing import Array

__all__ = ["FIELDS", "STATE", "Between", "Layout", "RowsAndTerms", "Slot", "Transcription", "Values", "split"]

# chart, velocities, states, their rates, controls, forces of constraints, moves onto constraints
FIELDS = ("z", "u", "w", "udot", "wdot", "controls", "multipliers", "moves")
STATE = ("z", "u", "w")

Values = list[dict[str, Array]]  # of the fields of each slot
RowsAndTerms = tuple[list[Array], list[Array]]


class Slot(NamedTuple):
    """A group of variables of an instance of a formula: the site of each instance, and the fields that it takes."""

    sites: Array  # (b,)
    fields: tuple[str, ...]


# the formula of the instances of a block, of slots, data, duration and statement
Between = Callable[[Values, Sequence[Array], Array, Any], RowsAndTerms]


def split(x: Array, widths: Sequence[int]) -> list[Array]:
    """Parts (..., n) of an array, one behind the other: the formula."""
    return [x[..., end - n : end] for n, end in zip(widths, np.cumsum(widths), strict=True)]


@dataclass(frozen=True, eq=False)
class Layout:
    """The sites of a mesh in the order of time: nodes at the ends of intervals, and points inside them.

    fractions (s,) of the duration; nodes (n + 1,) and inner (n, m) are sites; fields of every site.
    """

    fractions: Array
    nodes: Array
    inner: Array
    fields: tuple[tuple[str, ...], ...]

    @classmethod
    def with_middles(
        cls, mesh: Array, first: tuple[str, ...], middle: tuple[str, ...], node: tuple[str, ...]
    ) -> "Layout":
        """Nodes and one point in the middle of every interval, with the fields of the first node, of the middles and of
        the other nodes."""
        n = len(mesh) - 1
        fractions = np.empty(2 * n + 1)
        fractions[::2], fractions[1::2] = mesh, (mesh[:-1] + mesh[1:]) / 2
        return cls(
            fractions, np.arange(0, 2 * n + 1, 2), np.arange(1, 2 * n + 1, 2)[:, None], (first, *(middle, node) * n)
        )

    @property
    def steps(self) -> Array:
        """(n,) length of each interval as a fraction of the duration."""
        result: Array = np.diff(self.fractions[self.nodes])
        return result

    def having(self, field: str) -> Array:
        """The sites that have a field."""
        return np.array([i for i, fields in enumerate(self.fields) if field in fields], dtype=int)


@dataclass(frozen=True)
class Transcription(Record, ABC):
    """How a motion becomes finitely many unknowns: points in every interval of the mesh, and equations between them.

    >>> from myoquat.analysis.control import TRANSCRIPTIONS
    >>> {name: method.order for name, method in TRANSCRIPTIONS.items()}
    {'midpoint': 2, 'trapezoid': 2, 'hermite_simpson': 4, 'gauss': 6, 'radau': 5, 'shooting': 4}
    """

    title: ClassVar[str]

    @property
    @abstractmethod
    def order(self) -> int:
        """Of the error of the states at the nodes, in the length of the intervals, for smooth solutions."""

    def check(self, plant: Plant) -> None:
        """ValueError for a plant that it cannot do."""

    @abstractmethod
    def layout(self, mesh: Array) -> Layout:
        """The sites of a mesh (n + 1,) of fractions of the duration, from 0 to 1."""

    @abstractmethod
    def quadrature(self, layout: Layout) -> Array:
        """(k,) the weight, as a fraction of the duration, of every site with equations in integrals."""
