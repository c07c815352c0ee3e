"""Rewriting of tapes: shared reciprocals, selections and fused multiply-adds that CasADi does not express.

Every rule keeps a result within rounding of the original, and none changes which lanes are finite. A fused a b - c d of
equal products keeps their rounding error instead of cancelling to zero. At x = y that would make sqrt(x x - y y) NaN.
So sums under a root, a logarithm, an inverse sine or cosine or a power are fused only where this cannot occur.
"""

from collections import Counter

from myoquat.kernels.symbolic.operations import MARKS, OPERATIONS
from myoquat.kernels.tracing.tape import Node, Tape

__all__ = ["rewritten"]


def rewritten(tape: Tape, fused: bool) -> Tape:
    """The tape as it should be compiled; `fused` says whether multiply-adds are joined."""
    tape = _shared_reciprocals(_unmarked(tape))
    tape = _selections(tape)
    if fused:
        tape = _fused(tape)
    return _live(tape)


_new = tuple.__new__  # a Node of five values that are there, in half the time


class _Copy:
    """A tape under construction, and the new index of every old node. The old nodes follow in their order. `keep_to`
    takes the nodes before one over as they are; `put` gives the new index of the next one; `drop` leaves it out."""

    def __init__(self, tape: Tape) -> None:
        self.old = tape
        self.nodes: list[Node] = []
        self.moved = [-1] * (len(tape.nodes) + 1)
        self._next = 0
        self._moved_none = True

    def append(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def keep_to(self, stop: int) -> None:
        """Take the next nodes over as they are, up to one."""
        nodes, moved, old, first = self.nodes, self.moved, self.old.nodes, self._next
        if self._moved_none:
            nodes += old[first:stop]
            moved[first:stop] = range(first, stop)
        else:
            for count, index in enumerate(range(first, stop), start=len(nodes)):
                operation, a, b, c, number = old[index]
                moved[index] = count
                nodes.append(_new(Node, (operation, moved[a], moved[b], moved[c], number)))  # moved[-1] is -1
        self._next = stop

    def put(self, where: int) -> None:
        """The next old node is the new one there."""
        self._moved_none &= where == self._next
        self.moved[self._next] = where
        self._next += 1

    def drop(self) -> None:
        """Leave the next node out: no other takes it."""
        self._moved_none = False
        self._next += 1

    def finish(self) -> Tape:
        self.keep_to(len(self.old.nodes))
        return Tape(self.nodes, [self.moved[i] for i in self.old.outputs], self.old.inputs)


def _unmarked(tape: Tape) -> Tape:
    """The tape without marks for derivatives: the first argument of each takes its place."""
    if MARKS.isdisjoint(tape.counts):
        return tape
    copy = _Copy(tape)
    for index, node in enumerate(tape.nodes):
        if node.operation in MARKS:
            copy.keep_to(index)
            copy.put(copy.moved[node.a])
    return _live(copy.finish())


def _shared_reciprocals(tape: Tape) -> Tape:
    """a/d, b/d, ... with one divisor become one 1/d and products: CasADi turns every x (1/d) into x/d."""
    if tape.counts["div"] + tape.counts["inv"] < 2:
        return tape
    divisors: Counter[int] = Counter()
    for operation, a, b, _, _ in tape.nodes:
        if operation == "div":
            divisors[b] += 1
        elif operation == "inv":
            divisors[a] += 1
    if all(count == 1 for count in divisors.values()):
        return tape
    copy = _Copy(tape)
    inverses: dict[int, int] = {}

    def inverse(divisor: int) -> int:
        if divisor not in inverses:
            inverses[divisor] = copy.append(Node("inv", copy.moved[divisor]))
        return inverses[divisor]

    for index, (operation, a, b, _, _) in enumerate(tape.nodes):
        if operation == "inv" and divisors[a] > 1:
            copy.keep_to(index)
            copy.put(inverse(a))
        elif operation == "div" and divisors[b] > 1:
            copy.keep_to(index)
            factor = inverse(b)
            numerator = tape.nodes[a]
            one = numerator.operation == "const" and numerator.number == 1.0
            copy.put(factor if one else copy.append(Node("mul", copy.moved[a], factor)))
    return copy.finish()


def _selections(tape: Tape) -> Tape:
    """(c ? a : 0) + (not c ? b : 0) becomes c ? a : b."""
    if tape.counts["if"] < 2:
        return tape
    nodes, copy = tape.nodes, _Copy(tape)
    for index, node in enumerate(nodes):
        if node[0] == "add" and (selection := _selection(nodes, node)) is not None:
            copy.keep_to(index)
            copy.put(copy.append(Node("select", *(copy.moved[i] for i in selection))))
    return copy.finish()


def _selection(nodes: list[Node], node: Node) -> tuple[int, int, int] | None:
    """(condition, if true, if false) of an addition that is a selection."""
    first, second = nodes[node[1]], nodes[node[2]]
    if first[0] != "if" or second[0] != "if":
        return None
    if nodes[second.a].operation == "not" and nodes[second.a].a == first.a:
        return first.a, first.b, second.b
    if nodes[first.a].operation == "not" and nodes[first.a].a == second.a:
        return second.a, second.b, first.b
    return None


def _fused(tape: Tape) -> Tape:
    """a b + c, a b - c and c - a b, for products used once, as 'fma', 'fms' and 'fnma'."""
    if not (tape.counts["mul"] + tape.counts["sq"] and tape.counts["add"] + tape.counts["sub"]):
        return tape
    nodes = tape.nodes
    uses = [0] * (len(nodes) + 1)  # the last is that of no node
    for index in tape.outputs:
        uses[index] += 1
    for _, a, b, c, _ in nodes:
        uses[a] += 1
        uses[b] += 1
        uses[c] += 1
    delicate, squares = _delicate(nodes), _squares(nodes)
    copy = _Copy(tape)
    for index, node in enumerate(nodes):
        found = _multiply_add(nodes, node, uses) if node[0] in ("add", "sub") else None
        if found is not None and (index not in delicate or _keeps_sign(nodes, squares, node)):
            operation, *operands = found
            copy.keep_to(index)
            copy.put(copy.append(Node(operation, *(copy.moved[i] for i in operands))))
    return copy.finish()


_EDGED = frozenset(row.name for row in OPERATIONS.values() if row.domain_edge)
_PASSING = frozenset(("add", "sub", "neg", "twice", "if", "not", "min", "max", "select"))


def _delicate(nodes: list[Node]) -> set[int]:
    """Nodes that reach an operation with an edged domain through sums and selections only."""
    found: set[int] = set()
    for index in range(len(nodes) - 1, -1, -1):
        operation, a, b, c, _ = nodes[index]
        if operation in _EDGED or (index in found and operation in _PASSING):
            found.update((a, b, c))
    return found


def _squares(nodes: list[Node]) -> list[bool]:
    """Of each node, whether its form says that it is not negative: a square, a root, or a sum of such."""
    found: list[bool] = []
    for operation, a, b, _, number in nodes:
        if operation == "const":
            found.append(number >= 0)
        elif operation == "add":
            found.append(found[a] and found[b])
        elif operation == "twice":
            found.append(found[a])
        else:
            found.append(operation in ("sq", "abs", "sqrt", "exp") or (operation == "mul" and a == b))
    return found


def _keeps_sign(nodes: list[Node], squares: list[bool], node: Node) -> bool:
    """Whether a sum with a fused product has the sign of the sum with a rounded one. That is so if the other term is
    exact, or if both are squares and added."""
    terms = (node.a, node.b)
    exact = any(nodes[i].operation in ("const", "input") for i in terms)
    return exact or (node.operation == "add" and all(squares[i] for i in terms))


def _multiply_add(nodes: list[Node], node: Node, uses: list[int]) -> tuple[str, int, int, int] | None:
    subtract = node.operation == "sub"
    for product, other, name in (
        (node.a, node.b, "fms" if subtract else "fma"),
        (node.b, node.a, "fnma" if subtract else "fma"),
    ):
        factor = nodes[product]
        if uses[product] == 1 and factor.operation in ("mul", "sq"):
            return name, factor.a, factor.a if factor.operation == "sq" else factor.b, other
    return None


def _live(tape: Tape) -> Tape:
    """Only the nodes that an output needs."""
    live = [False] * (len(tape.nodes) + 1)
    for index in tape.outputs:
        live[index] = True
    for index in range(len(tape.nodes) - 1, -1, -1):
        if live[index]:
            _, a, b, c, _ = tape.nodes[index]
            live[a] = live[b] = live[c] = True  # live[-1] is that of no node
    del live[-1]
    if all(live):
        return tape
    copy = _Copy(tape)
    for index, is_live in enumerate(live):
        if not is_live:
            copy.keep_to(index)
            copy.drop()
    return copy.finish()
