"""What a scan over a tree is made of: its members and its passes."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from myoquat.core.typing import Array

__all__ = ["ROOT", "Member", "Pass", "member_by_member"]

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
    """A node of the tree. The steps of the passes are called with the result of make(row, numbers). row (..., n):
    numbers that may depend on the state. `numbers` (c,): those that do not. Members of an equal `type_key` are made by
    the same formula, which reads nothing else that differs between them."""

    type_key: Hashable
    make: Callable[[Array, Array], Any]
    row: Array
    numbers: Array


def member_by_member(
    members: Sequence[Member], parents: Sequence[int], passes: Sequence[Pass], result: Callable[[Any], Array]
) -> list[Array]:
    """The result of every member after all passes, without any loop over a table."""
    made = [member.make(member.row, member.numbers) for member in members]
    for p in passes:
        come: list[Any] = [np.zeros(p.width) if p.start is None else p.start for _ in made]
        gone: list[Any] = list(come)
        order = range(len(made)) if p.down else reversed(range(len(made)))
        for i in order:
            parent = parents[i]
            if p.down and parent != ROOT:
                come[i] = gone[parent]
            gone[i] = p.step(made[i], come[i])
            if not p.down and parent != ROOT:
                come[parent] = come[parent] + gone[i]
    return [result(member) for member in made]
