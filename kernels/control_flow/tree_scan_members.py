"""What a scan over a tree is made of: its members and its passes."""

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from myoquat.core.typing import Array

__all__ = ["ROOT", "Member", "Pass"]

ROOT = -1  # the parent of a member that has none


class Pass(NamedTuple):
    """One way through the tree: step(member, what comes (..., width)) -> what goes (..., width). Downwards roots take
    `start` (width,); upwards, where there is none, members take the sum of what their children give, zero at leaves."""

    step: Callable[[Any, Array], Array]
    width: int
    start: Array | None = None

    @property
    def down(self) -> bool:
        """Whether parents come first."""
        return self.start is not None


class Member(NamedTuple):
    """What stands at one place of the tree: make(row, numbers) is what the steps of the passes are called with, of
    numbers that may depend on the state, row (..., n), and others that do not, numbers (c,). Members of an equal `kind`
    are made by the same formula, which knows nothing else that differs between them."""

    kind: Hashable
    make: Callable[[Array, Array], Any]
    row: Array
    numbers: Array
