"""Refinement of the mesh by the error that is measured in every interval."""

import numpy as np

from myoquat.core.records import Record, dataclass
from myoquat.core.typing import Array

__all__ = ["MeasuredMesh", "Refinement", "mesh_lines", "refined"]


@dataclass(frozen=True)
class Refinement(Record):
    """Solve again on finer meshes until the error of every interval is at most `tolerance`.

    tolerance    the greatest error that is allowed
    repetitions  the greatest number of finer meshes
    parts        the greatest number of parts of an interval from one mesh to the next

    The error of an interval is measured: its controls are simulated from the state at its start, and compared with the
    state at its end. It is the greatest difference of a coordinate, velocity or state, each over 1 plus its greatest
    value along the motion.

    An interval whose error e is too large is divided into equal parts, ceil((e / tolerance)^(1 / (p + 1))) of them.
    Here p is the order of the transcription [J. T. Betts, Practical Methods for Optimal Control and Estimation Using
    Nonlinear Programming, 2nd ed., 2010, section 4.7]. ValueError for a tolerance that is not positive, repetitions
    below 1 and parts below 2.

    >>> from myoquat.analysis.control import Refinement
    >>> Refinement(1e-6).repetitions
    5
    """

    tolerance: float = 1e-5
    repetitions: int = 5
    parts: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.tolerance > 0 and self.repetitions >= 1 and self.parts >= 2):
            raise ValueError("a refinement needs a positive tolerance, at least 1 repetition and at least 2 parts")


@dataclass(frozen=True, eq=False)
class MeasuredMesh:
    """A mesh (n + 1,), ends of the intervals as fractions of the duration, and the measured error (n,) of each.

    >>> import numpy as np
    >>> from myoquat.analysis.control import MeasuredMesh
    >>> MeasuredMesh(np.array([0.0, 0.5, 1.0]), np.array([1e-3, 1e-6])).largest
    0.001
    """

    mesh: Array
    errors: Array

    @property
    def largest(self) -> float:
        """The greatest error."""
        return float(self.errors.max(initial=0.0))


def refined(found: MeasuredMesh, order: int, settings: Refinement) -> Array | None:
    """The ends of the intervals of the next mesh; None where all errors are small enough."""
    excess = np.where(np.isfinite(found.errors), found.errors / settings.tolerance, np.inf)
    if np.all(excess <= 1.0):
        return None
    with np.errstate(over="ignore"):
        wanted = np.ceil(np.maximum(excess, 1.0) ** (1 / (order + 1)))
    parts = np.clip(np.where(excess > 1.0, np.maximum(wanted, 2), 1), 1, settings.parts).astype(int)
    pieces = [np.linspace(a, b, n + 1)[:-1] for a, b, n in zip(found.mesh[:-1], found.mesh[1:], parts, strict=True)]
    return np.append(np.concatenate(pieces), 1.0)


def mesh_lines(meshes: tuple[MeasuredMesh, ...]) -> list[str]:
    """The meshes in words."""
    return [
        f"Mesh of {len(m.errors)} intervals: greatest error of an interval {m.largest:.2g}, from "
        f"{m.mesh[(k := int(np.argmax(m.errors)))]:.3g} to {m.mesh[k + 1]:.3g} of the duration"
        for m in meshes
    ]
