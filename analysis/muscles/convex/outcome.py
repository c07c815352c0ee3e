"""How a program ended."""

from enum import IntEnum

__all__ = ["Status"]


class Status(IntEnum):
    """How a program ended; `sentence` says it."""

    SOLVED = 0
    INFEASIBLE = 1
    UNSETTLED = 2

    @property
    def sentence(self) -> str:
        return _SENTENCES[self]


_SENTENCES = {
    Status.SOLVED: "all conditions are met and nothing better is possible",
    Status.INFEASIBLE: "no solution meets all conditions; the one given violates them the least",
    Status.UNSETTLED: "neither a solution nor a proof that there is none was found",
}
