"""How a program ended."""

from enum import IntEnum

import numpy as np

from myoquat.core.typing import Array

__all__ = ["Status", "are_met"]


class Status(IntEnum):
    """How a program ended; `sentence` says it."""

    SOLVED = 0
    INFEASIBLE = 1
    UNSOLVED = 2
    LOCAL = 3

    @property
    def sentence(self) -> str:
        return _SENTENCES[self]


_SENTENCES = {
    Status.SOLVED: "all conditions are met and nothing better is possible",
    Status.INFEASIBLE: "no solution meets all conditions; the one given violates them the least",
    Status.UNSOLVED: "neither a solution nor a proof that there is none was found",
    Status.LOCAL: "all conditions are met and nothing near is better; the bound says how much better all else could be",
}


def are_met(status: Array) -> Array:
    """Where all conditions are met."""
    return np.isin(status, (Status.SOLVED, Status.LOCAL))
