"""The types of motions that the viewer accepts and plays; modules that read motions are imported elsewhere."""

from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.data.motions import MotionLike

__all__ = ["Film", "Loads", "MotionSource"]


class Table(Protocol):
    """A DataFrame: coordinates by name over the time."""

    @property
    def columns(self) -> Any: ...
    @property
    def index(self) -> Any: ...


class Loads(Protocol):
    """Recorded loads, above all `myoquat.data.Forces`: forces [N] and points [m] (t, n, 3) in the axes of frames."""

    @property
    def time(self) -> Array: ...
    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def force(self) -> Array: ...
    @property
    def point(self) -> Array: ...
    @property
    def force_frames(self) -> tuple[str, ...]: ...
    @property
    def point_frames(self) -> tuple[str, ...]: ...


MotionSource: TypeAlias = MotionLike | Table | str | Path


@dataclass(frozen=True)
class Film:
    """A motion of the model to show.

    name    for the page
    time    (t,) [s]
    q       (t, nq) coordinates of the model
    values  (t, m) each, by name: what colours muscles
    loads   of the motion, None if they are not known
    """

    name: str
    time: Array
    q: Array
    values: dict[str, Array]
    loads: Loads | None = None

    def shares(self, strengths: Array) -> Array:
        """(t, m) tensions over the muscles' greatest (m,) [N], NaN where they are not known. A muscle without a bound
        is compared with its own greatest."""
        tension = self.values.get("force [N]")
        if tension is None:
            return np.full((len(self.time), len(strengths)), np.nan)
        own = np.nanmax(np.abs(tension), axis=0, initial=0.0)
        found: Array = tension / np.maximum(np.where(strengths > 0, strengths, own), 1e-9)
        return found

    def at(self, t: float) -> int:
        """The row nearest to a time [s]."""
        i = int(np.searchsorted(self.time, t))
        if i == 0:
            return 0
        return i - 1 if i == len(self.time) or t - self.time[i - 1] <= self.time[i] - t else i
