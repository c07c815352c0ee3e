"""Operations that are needed only where a condition holds: a block of code that is left out if it holds in no lane.

A selection `c ? x : 0` of lanes computes x in all of them. Where the code of x is long, such as that of a contact which
a path may not have, a branch around it pays. States side by side mostly agree. Results keep their bits. Source: J.
Shin, Introducing control flow into vectorized code, Parallel Architectures and Compilation Techniques (PACT) 2007,
branches on superword condition codes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from myoquat.kernels.codegen.elementary.functions import ARITY
from myoquat.kernels.tracing.tape import Node, Tape, arguments

__all__ = ["SkippedRegion", "skipped_region"]

MIN_COST = 60  # of a region, in additions, from which a branch pays
MAX_OPERATIONS = 1000  # of a tape that is searched: the search grows with the square
_COSTS = {"sqrt": 8, "div": 8, "inv": 8} | dict.fromkeys(ARITY, 30)  # of an operation, in additions


class SkippedRegion(NamedTuple):
    """Operations of a tape in their order: those before a condition is known, those inside that only its lanes need,
    and those after. `ends`: the nodes inside whose values are read behind it."""

    condition: int
    before: list[int]
    inside: list[int]
    after: list[int]
    ends: list[int]


def skipped_region(tape: Tape) -> SkippedRegion | None:
    """The region of a tape that a branch skips, or None where no branch pays. Of the conditions that save at least half
    of the most that any of them saves, the narrowest is chosen. It is skipped most often."""
    if tape.operations > MAX_OPERATIONS:
        return None
    uses = _Uses(tape)
    costs = {condition: uses.cost(condition) for condition in uses.conditions()}
    least = max(MIN_COST, max(costs.values(), default=0) // 2)
    paying = [condition for condition, cost in costs.items() if cost >= least]
    regions = map(uses.region, sorted(paying, key=lambda condition: (-uses.comparisons(condition), condition)))
    return next((region for region in regions if region is not None), None)


@dataclass(frozen=True)
class _Uses:
    """What needs the nodes of a tape."""

    tape: Tape

    def conditions(self) -> set[int]:
        """The conditions of selections, and those that these imply."""
        nodes = self.tape.nodes
        selected = {node.a for node in nodes if node.operation in ("if", "select")}
        return {implied for condition in selected for implied in _implied(nodes, condition)}

    def comparisons(self, condition: int) -> int:
        """Of a condition."""
        nodes = self.tape.nodes
        return sum(nodes[implied].operation != "and" for implied in _implied(nodes, condition))

    def cost(self, condition: int) -> int:
        """Of the operations that lanes without the condition do not need, in additions."""
        needed, nodes = self.needed(condition), self.tape.nodes
        return sum(_COSTS.get(node.operation, 1) for i, node in enumerate(nodes) if not needed[i] and _computes(node))

    def needed(self, condition: int) -> list[bool]:
        """Of every node, whether lanes without the condition need it."""
        nodes = self.tape.nodes
        found = [False] * len(nodes)
        for index in self.tape.outputs:
            found[index] = True
        for index in reversed(range(len(nodes))):
            if found[index]:
                for argument in _needed_arguments(nodes, nodes[index], condition):
                    found[argument] = True
        return found

    def region(self, condition: int) -> SkippedRegion | None:
        """That of a condition; None where an operation inside needs one that follows from others inside."""
        nodes, needed = self.tape.nodes, self.needed(condition)
        region = SkippedRegion(condition, [], [], [], [])
        late = [False] * len(nodes)
        ends: set[int] = set()
        for index, node in enumerate(nodes):
            if not _computes(node):
                continue
            inside = {i for i in arguments(node) if not needed[i] and _computes(nodes[i])}
            follows = any(late[i] for i in arguments(node))
            if not needed[index]:
                if follows:
                    return None
                region.inside.append(index)
                continue
            ends |= inside
            late[index] = follows or bool(inside)
            (region.after if late[index] else region.before).append(index)
        region.ends.extend(sorted(ends))
        return None if late[condition] else region


def _computes(node: Node) -> bool:
    return node.operation not in ("const", "input")


def _implied(nodes: list[Node], condition: int) -> Iterator[int]:
    """A condition and those that hold where it holds."""
    yield condition
    node = nodes[condition]
    if node.operation == "and":
        yield from _implied(nodes, node.a)
        yield from _implied(nodes, node.b)


def _needed_arguments(nodes: list[Node], node: Node, condition: int) -> tuple[int, ...]:
    """The arguments of a node that lanes without the condition need."""
    if node.operation in ("if", "select") and condition in _implied(nodes, node.a):
        return (node.a,) if node.operation == "if" else (node.a, node.c)
    if node.operation == "and":
        for first, second in ((node.a, node.b), (node.b, node.a)):
            if condition in _implied(nodes, first) and condition not in _implied(nodes, second):
                return (first,)
    return arguments(node)
