"""Traced formulas: a tape of operations, the shapes of its inputs and outputs, and the constructs inside.

A tape is a formula as one node per operation, every argument before what takes it.
"""

import functools
import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import field
from operator import itemgetter
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from myoquat.core import casadi, digest, frozen
from myoquat.kernels.symbolic.operations import OPERATIONS
from myoquat.kernels.symbolic.terms import Scalar, Term, Tracer, ordered

_new = tuple.__new__  # a Node of five values that are there, in half the time


class Node(NamedTuple):
    """One operation: its name, the nodes it takes (-1: none); `number` of a 'const', or index of an 'input'."""

    operation: str
    a: int = -1
    b: int = -1
    c: int = -1
    number: float = 0.0


@frozen
class Tape:
    """Nodes, the node behind each flat output, and the number of flat inputs."""

    nodes: list[Node]
    outputs: list[int]
    inputs: int

    @functools.cached_property
    def counts(self) -> Counter[str]:
        """How many nodes every operation has."""
        return Counter(map(itemgetter(0), self.nodes))

    @functools.cached_property
    def operands(self) -> list[tuple[int, ...]]:
        """The nodes that every node takes."""
        return [(a, b, c) if c >= 0 else (a, b) if b >= 0 else (a,) if a >= 0 else () for _, a, b, c, _ in self.nodes]

    @property
    def operations(self) -> int:
        """Nodes that compute something."""
        return len(self.nodes) - self.counts["const"] - self.counts["input"]

    @functools.cached_property
    def identity(self) -> str:
        """Text that two tapes share only if they are the same."""
        names = sorted({node.operation for node in self.nodes})
        codes = {name: k for k, name in enumerate(names)}
        operands = np.array([(codes[node.operation], node.a, node.b, node.c) for node in self.nodes], dtype=np.int64)
        numbers = np.array([node.number for node in self.nodes])
        outputs = np.array(self.outputs, dtype=np.int64)
        return digest(" ".join(names), str(self.inputs), operands.tobytes(), numbers.tobytes(), outputs.tobytes())


def arguments(node: Node) -> tuple[int, ...]:
    """The nodes that a node takes."""
    if node.c >= 0:
        return (node.a, node.b, node.c)
    if node.b >= 0:
        return (node.a, node.b)
    return (node.a,) if node.a >= 0 else ()


def levels(tape: Tape, gives: Sequence[int]) -> list[int]:
    """After how many calls every node can be computed, of calls that give so many of the last inputs each, in order."""
    if not any(gives):
        return [0] * len(tape.nodes)
    given: dict[int, int] = {}
    first = tape.inputs - sum(gives)
    for number, count in enumerate(gives, start=1):
        given.update(dict.fromkeys(range(first, first + count), number))
        first += count
    found: list[int] = []
    for node, operands in zip(tape.nodes, tape.operands, strict=True):
        level = given.get(int(node.number), 0) if node.operation == "input" else 0
        for i in operands:
            if found[i] > level:
                level = found[i]
        found.append(level)
    return found


Apply: TypeAlias = Callable[..., Any]  # of a node that is no input, and of its arguments: what it gives


class Ends(NamedTuple):
    """Of a call in the middle of a tape: how many of the last inputs it gives, and of the last outputs it takes."""

    gives: int
    takes: int


def interpret(
    tape: Tape, inputs: Sequence[Any], apply: Apply, inner: "Sequence[Construct]" = (), of_loop: "OfLoop | None" = None
) -> list[Any]:
    """The outputs of a tape on other types of numbers, without those of the constructs inside: `apply` does an
    operation, and `of_loop` a loop; without it, a loop is a TypeError.

    A construct gives its results for the last inputs of the tape, and takes its last outputs, in order.
    """
    level = levels(tape, [construct.ends.gives for construct in inner])
    own = len(tape.outputs) - sum(construct.ends.takes for construct in inner)
    given = [*inputs, *[None] * sum(construct.ends.gives for construct in inner)]
    values: list[Any] = [None] * len(tape.nodes)
    first_in, first_out = len(inputs), own
    for number in range(len(inner) + 1):
        if number:
            gives, takes = inner[number - 1].ends
            operands = [values[i] for i in tape.outputs[first_out : first_out + takes]]
            given[first_in : first_in + gives] = inner[number - 1].unrolled(operands, apply, of_loop)
            first_in, first_out = first_in + gives, first_out + takes
        for index, node in enumerate(tape.nodes):
            if level[index] != number:
                continue
            if node.operation == "input":
                values[index] = given[int(node.number)]
            else:
                values[index] = apply(node, *(values[i] for i in arguments(node)))
    return [values[i] for i in tape.outputs[:own]]


def closed_over(inputs: Sequence[Term], outputs: Sequence[Scalar]) -> list[Term]:
    """The terms behind outputs that depend on other symbols than the inputs, and on none of these, as near to the
    outputs as they are."""
    moving, outside = set(inputs), set[Term]()
    found: dict[Term, None] = {}
    wanted = [x for x in outputs if type(x) is Term]
    for term in ordered(wanted):
        if term in moving:
            continue
        if any(x in moving for x in term.arguments):
            moving.add(term)
            found |= dict.fromkeys(x for x in term.arguments if x in outside)
        elif term.operation == "input" or any(x in outside for x in term.arguments):
            outside.add(term)
    return list(found | dict.fromkeys(x for x in wanted if x in outside))


def tape_of(tracer: Tracer, inputs: Sequence[Term], outputs: Sequence[Scalar], closed: Sequence[Term] = ()) -> Tape:
    """What the outputs need of a tracer, the flat inputs in order, those among them that are `closed` over whatever
    they are. ValueError for a symbol that is none of them."""
    wanted = [x if type(x) is Term else tracer.constant(x) for x in outputs]  # type: ignore[arg-type]
    input_indices = {term: k for k, term in enumerate(inputs)}
    nodes: list[Node] = []
    at: dict[Term | None, int] = {None: -1}
    for term in ordered(wanted, closed):
        number: float = term.number
        if term.operation == "input" or (closed and term in input_indices):
            if term not in input_indices:
                raise ValueError("the formula uses a symbol that is not among its arguments")
            at[term] = len(nodes)
            nodes.append(_new(Node, ("input", -1, -1, -1, input_indices[term])))
            continue
        at[term] = len(nodes)
        nodes.append(_new(Node, (term.operation, at[term.a], at[term.b], at[term.c], number)))
    return Tape(nodes, [at[term] for term in wanted], len(inputs))


def in_terms(tracer: Tracer) -> Apply:
    """What does an operation of a tape on terms of a tracer."""

    def apply(node: Node, *values: Scalar) -> Scalar:
        return node.number if node.operation == "const" else tracer.again(node.operation, *values)

    return apply


def in_casadi(node: Node, *values: Any) -> Any:
    """A node that is no input on SX expressions."""
    if node.operation == "const":
        return casadi.SX(node.number)
    row = OPERATIONS[node.operation]
    function = row.casadi or row.spellings[0].casadi
    return (getattr(casadi, function) if isinstance(function, str) else function)(*values)


# ---- traced formulas and their constructs ------------------------------------------------------------------


Shape = tuple[int, ...]
Pattern = tuple[np.ndarray, np.ndarray]  # rows, columns of the entries that are not structurally zero


@frozen
class Signature:
    """Name of a kernel and the names and shapes (per state) of its inputs and outputs, in order."""

    name: str
    inputs: dict[str, Shape]
    outputs: dict[str, Shape]

    @functools.cached_property
    def input_sizes(self) -> list[int]:
        """Numbers per state of each input."""
        return [math.prod(shape) for shape in self.inputs.values()]

    @functools.cached_property
    def output_sizes(self) -> list[int]:
        """Numbers per state of each output."""
        return [math.prod(shape) for shape in self.outputs.values()]

    def notes(self) -> dict[str, Any]:
        """The signature in words of JSON, in order."""
        return {"name": self.name, "inputs": [*self.inputs.items()], "outputs": [*self.outputs.items()]}

    @classmethod
    def of(cls, notes: Mapping[str, Any]) -> "Signature":
        """The signature from its notes."""
        inputs, outputs = ({name: tuple(shape) for name, shape in notes[key]} for key in ("inputs", "outputs"))
        return cls(str(notes["name"]), inputs, outputs)

    def __str__(self) -> str:
        return (
            f"{self.name}({', '.join(map(_shown, self.inputs.items()))}) -> "
            f"({', '.join(map(_shown, self.outputs.items()))})"
        )


def _shown(item: tuple[str, Shape]) -> str:
    name, shape = item
    return f"{name} {shape}"


@frozen(eq=False)
class PlacedConstruct:
    """A construct met while a formula is traced, or opened up. The formula goes on with fresh symbols for its results.

    operands, results  the numbers that go in, and the symbols that stand for what comes out
    traced             traces the formulas inside
    name               of a loop
    pruned             the construct for those results that are among the terms that are needed, where it can be less
    read               the numbers of the operands that the traced construct takes, where others are given too
    """

    operands: Sequence[Scalar]
    results: Sequence[Term]
    traced: Callable[[], "Construct"]
    name: str = "loop"
    pruned: "Callable[[Set[Term]], PlacedConstruct] | None" = None
    read: Callable[[], Sequence[int]] | None = None


class Construct(Protocol):
    """A construct of control flow inside a traced formula: a loop, a call or a look-up."""

    @property
    def ends(self) -> Ends:
        """How many numbers it gives and takes."""

    @property
    def has_solver(self) -> bool:
        """Whether a step is repeated inside, so that there is no straight-line program."""

    @property
    def identity(self) -> str:
        """Text that two constructs share only if they write the same code."""

    def unrolled(self, operands: list[Any], apply: Apply, of_loop: "OfLoop | None") -> list[Any]:
        """What it gives by straight-line code, loops inside as `of_loop` gives it; TypeError without."""


OfLoop = Callable[[Any, list[Any]], list[Any]]  # of a loop and what goes in: what stands for its results


@frozen
class Traced:
    """A formula as a tape.

    With constructs inside, the tape takes their results as further inputs, after those of the signature. It gives their
    operands as further outputs:

    - of a loop of steps the start, the constants and which states it is for
    - of a loop over tables the cells that are known at the start

    They run in order: the operands of one depend on no later one.

    patterns   of an output that holds some entries of a matrix, which ones
    gradients  of an output that is the derivative of one number by an input, that input; its derivative by it is
               symmetric
    moves      whether solutions that loops find have derivatives (`kernels.tracing.context.differentiated`)
    """

    tape: Tape
    signature: Signature
    inner: tuple[Construct, ...] = ()
    patterns: Mapping[str, Pattern] = field(default_factory=dict)
    gradients: Mapping[str, str] = field(default_factory=dict)
    moves: bool = True

    @property
    def has_solver(self) -> bool:
        """Whether a step is repeated inside."""
        return any(construct.has_solver for construct in self.inner)

    def notes(self) -> dict[str, Any]:
        """What is to be known of its kernel, in words of JSON."""
        listed = [[name, rows.tolist(), columns.tolist()] for name, (rows, columns) in self.patterns.items()]
        return self.signature.notes() | ({"patterns": listed} if listed else {})

    @functools.cached_property
    def function(self) -> Any:
        """The formula as a `casadi.Function`: columns in, dense columns out (C order); TypeError with a solver."""
        columns = [casadi.SX.sym(f"x{k}", n) for k, n in enumerate(self.signature.input_sizes)]
        inputs = [x for column in columns for x in casadi.vertsplit(column)]
        flat = iter(interpret(self.tape, inputs, in_casadi, self.inner))
        outputs = [casadi.vertcat(casadi.SX(0, 1), *itertools.islice(flat, n)) for n in self.signature.output_sizes]
        return _casadi_function(self.signature, columns, list(map(casadi.densify, outputs)))

    @functools.cached_property
    def identity(self) -> str:
        """Text that two formulas share only if they write the same code."""
        return digest("straight", str(self.signature), self.tape.identity, *(x.identity for x in self.inner))


def _casadi_function(signature: Signature, inputs: Sequence[Any], outputs: Sequence[Any]) -> Any:
    """A `casadi.Function` of columns with the signature's names, common subexpressions shared."""
    names = _port_names(signature)
    return casadi.Function(_identifier(signature.name), list(inputs), list(outputs), *names, {"cse": True})


def _port_names(signature: Signature) -> tuple[list[str], list[str]]:
    """Names of a casadi.Function's arguments: ours, where CasADi allows them."""
    inputs = [_identifier(key) for key in signature.inputs]
    outputs = [_identifier(key) for key in signature.outputs]
    if len(set(inputs + outputs)) < len(inputs) + len(outputs):
        return [f"i{k}" for k in range(len(inputs))], [f"o{k}" for k in range(len(outputs))]
    return inputs, outputs


def _identifier(text: str) -> str:
    """`text` as a name that CasADi accepts: a letter first, single underscores, none of its own words."""
    cleaned = re.sub(r"_+", "_", re.sub(r"\W", "_", text, flags=re.ASCII)).strip("_")
    return cleaned if re.match(r"[A-Za-z]", cleaned) and cleaned not in ("null", "jac", "hess") else "x" + cleaned
