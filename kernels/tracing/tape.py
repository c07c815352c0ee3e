"""Tapes: a formula as one node per operation, every argument before what takes it; to CasADi and back."""

import functools
import importlib
import struct
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from myoquat.core.content import digest
from myoquat.core.lazy_imports import casadi
from myoquat.kernels.symbolic.operations import OPERATIONS
from myoquat.kernels.symbolic.terms import Scalar, Term, Tracer, ordered

__all__ = [
    "Apply",
    "Ends",
    "Inner",
    "Node",
    "Tape",
    "arguments",
    "in_casadi",
    "in_terms",
    "interpret",
    "levels",
    "read_tape",
    "tape_of",
]


_new = tuple.__new__  # a Node of five values that are there, in half the time


class Node(NamedTuple):
    """One operation: its name, the nodes it takes (-1: none); `number` of a 'const', or index of an 'input'."""

    operation: str
    a: int = -1
    b: int = -1
    c: int = -1
    number: float = 0.0


@dataclass(frozen=True)
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

    def identity(self) -> str:
        """Text that two tapes share only if they are the same."""
        return self._identity  # asked for once for each of the many loops that take a step

    @functools.cached_property
    def _identity(self) -> str:
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


@functools.cache
def _by_code() -> dict[int, str]:
    """Our names of CasADi's operations, by its codes."""
    return {getattr(casadi, f"OP_{code}"): row.name for row in OPERATIONS.values() for code in row.codes}


def _name_of(code: int) -> str:
    """CasADi's name of an operation."""
    named = vars(importlib.import_module("casadi")).items()
    return next((name[3:] for name, value in named if name.startswith("OP_") and value == code), str(code))


class _Reader:
    """Walks the instructions once; `work` maps CasADi's work vector to nodes."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.first_in = _offsets([function.nnz_in(i) for i in range(function.n_in())])
        self.first_out = _offsets([function.nnz_out(i) for i in range(function.n_out())])
        self.nodes: list[Node] = []
        self.outputs = [-1] * self.first_out[-1]
        self.work: dict[int, int] = {}
        self.leaves: dict[tuple[str, bytes | int], int] = {}

    def leaf(self, key: tuple[str, bytes | int], node: Node) -> int:
        """The node of a constant or an input, made once."""
        if key not in self.leaves:
            self.leaves[key] = len(self.nodes)
            self.nodes.append(node)
        return self.leaves[key]

    def instruction(self, k: int, code: int) -> None:
        f, work = self.function, self.work
        if code == casadi.OP_CONST:
            value = f.instruction_constant(k)
            key = ("const", struct.pack("<d", value))
            work[f.instruction_output(k)[0]] = self.leaf(key, Node("const", number=value))
            return
        operands, given = f.instruction_input(k), f.instruction_output(k)
        if code == casadi.OP_INPUT:
            index = self.first_in[operands[0]] + operands[1]
            work[given[0]] = self.leaf(("input", index), Node("input", number=index))
        elif code == casadi.OP_OUTPUT:
            self.outputs[self.first_out[given[0]] + given[1]] = work[operands[0]]
        elif code == casadi.OP_ASSIGN:
            work[given[0]] = work[operands[0]]
        elif code in _by_code():
            self.nodes.append(Node(_by_code()[code], *(work[i] for i in operands)))
            work[given[0]] = len(self.nodes) - 1
        else:
            raise ValueError(
                f"kernel '{f.name()}': operation {_name_of(code)} cannot be compiled; "
                f"what can: {', '.join(sorted(row.name for row in OPERATIONS.values() if row.codes))}"
            )


def _offsets(sizes: list[int]) -> list[int]:
    total, offsets = 0, [0]
    for size in sizes:
        total += size
        offsets.append(total)
    return offsets


def read_tape(function: Any) -> Tape:
    """The tape of a `casadi.Function` over SX with dense outputs.

    Raises ValueError naming the operation if it holds one that kernels do not know.
    """
    reader = _Reader(function)
    codes = function.instruction_id
    for k in range(function.n_instructions()):
        reader.instruction(k, codes(k))
    if -1 in reader.outputs:
        raise ValueError(f"kernel '{function.name()}': an output is sparse; densify it")
    return Tape(reader.nodes, reader.outputs, reader.first_in[-1])


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


class Inner(NamedTuple):
    """A function in the middle of a tape, on whatever the tape is played on: how many numbers it gives and takes."""

    function: Callable[[Apply, list[Any]], list[Any]]
    gives: int
    takes: int


def interpret(tape: Tape, inputs: Sequence[Any], apply: Apply, calls: Sequence[Inner] = ()) -> list[Any]:
    """The outputs of a tape on other types of numbers, without those of its calls: `apply` does an operation.

    A call gives its results for the last inputs of the tape, and takes its last outputs, in order.
    """
    level = levels(tape, [call.gives for call in calls])
    own = len(tape.outputs) - sum(call.takes for call in calls)
    given = [*inputs, *[None] * sum(call.gives for call in calls)]
    values: list[Any] = [None] * len(tape.nodes)
    first_in, first_out = len(inputs), own
    for number in range(len(calls) + 1):
        if number:
            call = calls[number - 1]
            operands = [values[i] for i in tape.outputs[first_out : first_out + call.takes]]
            given[first_in : first_in + call.gives] = call.function(apply, operands)
            first_in, first_out = first_in + call.gives, first_out + call.takes
        for index, node in enumerate(tape.nodes):
            if level[index] != number:
                continue
            if node.operation == "input":
                values[index] = given[int(node.number)]
            else:
                values[index] = apply(node, *(values[i] for i in arguments(node)))
    return [values[i] for i in tape.outputs[:own]]


def tape_of(tracer: Tracer, inputs: Sequence[Term], outputs: Sequence[Scalar]) -> Tape:
    """What the outputs need of a tracer, the flat inputs in order. ValueError for a symbol that is none of them."""
    wanted = [x if type(x) is Term else tracer.constant(x) for x in outputs]  # type: ignore[arg-type]
    input_indices = {term: k for k, term in enumerate(inputs)}
    nodes: list[Node] = []
    at: dict[Term | None, int] = {None: -1}
    for term in ordered(wanted):
        number: float = term.number
        if term.operation == "input":
            if term not in input_indices:
                raise ValueError("the formula uses a symbol that is not among its arguments")
            number = input_indices[term]
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
