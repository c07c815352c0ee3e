"""Rewriting of tapes: shared reciprocals and fused multiply-adds.

Every rule keeps a result within rounding of the original, and none changes which lanes are finite. A fused a b - c d of
equal products keeps their rounding error instead of cancelling to zero. At x = y that would make sqrt(x x - y y) NaN.
So sums under a root, a logarithm, an inverse sine or cosine or a power are fused only where this cannot occur.
"""

from collections import Counter
from collections.abc import Iterator

from myoquat.kernels.symbolic.operations import MARKS, OPERATIONS
from myoquat.kernels.symbolic.terms import Scalar, Tracer

from .tape import Node, Tape, in_terms, interpret, tape_of

_new = tuple.__new__  # a Node of five values that are there, in half the time


def rewritten(tape: Tape) -> Tape:
    """The tape as it should be compiled, without marks for derivatives."""
    if not MARKS.isdisjoint(tape.counts):
        tape = _unmarked(tape)
    old, new = tape.nodes, list[Node]()
    shared = _shared_divisors(tape)
    joined = dict(_multiply_adds(tape, shared))
    absorbed = {product for _, product, _ in joined.values()}
    moved = [-1] * (len(old) + 1)  # of every node where it is in the new tape; the last is that of no node
    inverses: dict[int, int] = {}

    def append(operation: str, *operands: int) -> int:
        new.append(Node(operation, *operands))
        return len(new) - 1

    def inverse(divisor: int) -> int:
        if divisor not in inverses:
            inverses[divisor] = append("inv", moved[divisor])
        return inverses[divisor]

    def factors(product: int) -> tuple[int, int]:
        operation, a, b, _, _ = old[product]
        return moved[a], inverse(b) if operation == "div" else moved[a if operation == "sq" else b]

    for index, (operation, a, b, c, number) in enumerate(old):
        if index in absorbed:
            continue
        if index in joined:
            operation, product, other = joined[index]
            moved[index] = append(operation, *factors(product), moved[other])
        elif a in shared and operation == "inv":
            moved[index] = inverse(a)
        elif b in shared and operation == "div":
            moved[index] = inverse(b) if _is_one(old[a]) else append("mul", *factors(index))
        else:
            moved[index] = len(new)
            new.append(_new(Node, (operation, moved[a], moved[b], moved[c], number)))
    return Tape(new, [moved[i] for i in tape.outputs], tape.inputs)


def _unmarked(tape: Tape) -> Tape:
    """The tape without marks, in whose place the first argument of each takes, and without what only marks needed."""
    tracer = Tracer()
    inputs, again = tracer.inputs(tape.inputs), in_terms(tracer)

    def apply(node: Node, *values: Scalar) -> Scalar:
        return values[0] if node.operation in MARKS else again(node, *values)

    return tape_of(tracer, inputs, interpret(tape, inputs, apply))


def _is_one(node: Node) -> bool:
    return node.operation == "const" and node.number == 1.0


def _shared_divisors(tape: Tape) -> set[int]:
    """Nodes by which several others are divided: these share one reciprocal."""
    if tape.counts["div"] + tape.counts["inv"] < 2:
        return set()
    quotients = (node for node in tape.nodes if node[0] in _QUOTIENTS)
    divisors = Counter(b if operation == "div" else a for operation, a, b, _, _ in quotients)
    return {divisor for divisor, count in divisors.items() if count > 1}


_QUOTIENTS = frozenset(("div", "inv"))
_EDGED = frozenset(row.name for row in OPERATIONS.values() if row.domain_edge)
_PASSING = frozenset(("add", "sub", "neg", "twice", "if", "not", "min", "max", "select"))


def _multiply_adds(tape: Tape, shared: set[int]) -> Iterator[tuple[int, tuple[str, int, int]]]:
    """Of sums with a product that nothing else takes: 'fma' (a b + c), 'fms' (a b - c) or 'fnma' (c - a b), the product
    and the other term."""
    nodes, delicate, squares = tape.nodes, _delicate(tape.nodes), _squares(tape.nodes)
    uses = [0] * (len(nodes) + 1)  # the last is that of no node
    for index in tape.outputs:
        uses[index] += 1
    for _, a, b, c, _ in nodes:
        uses[a] += 1
        uses[b] += 1
        uses[c] += 1
    for index, (operation, a, b, _, _) in enumerate(nodes):
        if operation not in ("add", "sub"):
            continue
        # A delicate sum keeps the sign of a rounded one where the other term is exact, or both are squares and added.
        exact = any(nodes[i].operation in ("const", "input") for i in (a, b))
        if index in delicate and not (exact or (operation == "add" and squares[a] and squares[b])):
            continue
        first, second = ("fma", "fma") if operation == "add" else ("fms", "fnma")
        for product, other, name in ((a, b, first), (b, a, second)):
            factor = nodes[product]
            quotient = factor.operation == "div" and factor.b in shared and not _is_one(nodes[factor.a])
            if uses[product] == 1 and (quotient or factor.operation in ("mul", "sq")):
                yield index, (name, product, other)
                break


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
