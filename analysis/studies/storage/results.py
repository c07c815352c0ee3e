"""Results of a run: the interface that results in memory and in a store share, and the report."""

import errno
from typing import Protocol

import xarray as xr

from myoquat.core.records import dataclass
from myoquat.core.typing import Array

__all__ = ["Done", "Results", "RunReport", "stored"]

Done = tuple[int, float]  # (block, seconds in kernels)


class Results(Protocol):
    """The results of one study, filled block by block."""

    @property
    def blocks(self) -> int:
        """Number of blocks."""

    @property
    def damaged(self) -> dict[int, str]:
        """The blocks that were there and are not as they were written: number -> what is wrong."""

    def span(self, block: int) -> tuple[int, int]:
        """First sample of a block, and the first after it."""

    def pending(self) -> list[int]:
        """The blocks that are still to be computed."""

    def write(self, block: int, arrays: dict[str, Array]) -> None:
        """Put a block in its place."""

    def dataset(self) -> xr.Dataset:
        """What is there."""

    def close(self) -> None:
        """End the writing: what was written is safe when this returns."""


@dataclass
class RunReport:
    """The cost of a run.

    wall     [s] of wall time
    kernel   [s] of kernels, summed over threads
    compile  [s] of compiling
    threads  their number
    blocks   number of computed blocks
    samples  number of computed samples
    damaged  the damaged blocks among them, each with its damage
    """

    wall: float = 0.0
    kernel: float = 0.0
    compile: float = 0.0
    threads: int = 1
    blocks: int = 0
    samples: int = 0
    damaged: dict[int, str] | None = None

    @property
    def kernel_share(self) -> float:
        """Share of the threads' time that was spent in kernels."""
        return self.kernel / (self.wall * self.threads) if self.wall else 0.0


def stored(results: Results, number: int, arrays: dict[str, Array]) -> None:
    """Store a block; OSError saying that the rest is safe if the disk takes no more."""
    try:
        results.write(number, arrays)
    except OSError as error:
        cause = "the disk is full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else str(error)
        text = f"block {number} could not be stored: {cause}. What is stored stays; resume goes on with it"
        raise OSError(error.errno, text) from error
