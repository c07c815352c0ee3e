"""Which numbers that go from member to member of a scan are zero in every state, whatever the rows are."""

from collections.abc import Sequence

import numpy as np

from myoquat.core.typing import Array
from myoquat.kernels.symbolic.operations import OPERATIONS
from myoquat.kernels.tracing.tape import Tape

__all__ = ["possibly_nonzero"]


def possibly_nonzero(tapes: Sequence[Tape], row: Sequence[int], starts: Sequence[Array]) -> list[Array]:
    """Which numbers between members may be other than zero, an array (width,) for every pass.

    tapes: those of all types. Each takes a row of `row` numbers, then what comes in every pass, and gives first what
    goes to other members in every pass. `starts`: the numbers before the first pass.
    """
    found = [start != 0.0 for start in starts]
    while True:
        before = np.concatenate(found)
        for tape, length in zip(tapes, row, strict=True):
            gone = _living(tape, length, np.concatenate(found))
            found = [a | b for a, b in zip(found, np.split(gone, np.cumsum([len(a) for a in found])[:-1]), strict=True)]
        if np.array_equal(np.concatenate(found), before):
            return found


def _living(tape: Tape, row: int, come: Array) -> Array:
    """(n,) which of the first n outputs may be other than zero, n the length of `come`, which says so of the inputs."""
    lives: list[bool] = []
    for operation, a, b, c, number in tape.nodes:
        if operation == "input":
            place = int(number) - row
            lives.append(not 0 <= place < len(come) or bool(come[place]))
        elif operation == "const":
            lives.append(number != 0.0)
        elif operation in ("mul", "if"):
            lives.append(lives[a] and lives[b])
        elif operation in ("add", "sub", "min", "max"):
            lives.append(lives[a] or lives[b])
        elif operation == "select":
            lives.append(lives[b] or lives[c])
        else:
            lives.append(lives[a] if operation == "div" or OPERATIONS[operation].zero_at_zero else True)
    return np.array([lives[i] for i in tape.outputs[: len(come)]])
