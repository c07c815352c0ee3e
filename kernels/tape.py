"""A `casadi.Function` over SX as a tape: one node per operation, in an order in which every argument comes first."""

import functools
import importlib
import struct
from dataclasses import dataclass
from typing import Any, NamedTuple

from myoquat.kernels.libraries import casadi

__all__ = ["Node", "Tape", "arguments", "read_tape"]


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

    @property
    def operations(self) -> int:
        """Nodes that compute something."""
        return sum(node.operation not in ("const", "input") for node in self.nodes)


def arguments(node: Node) -> tuple[int, ...]:
    """The nodes that a node takes."""
    if node.c >= 0:
        return (node.a, node.b, node.c)
    if node.b >= 0:
        return (node.a, node.b)
    return (node.a,) if node.a >= 0 else ()


_NAMES = {
    "ADD": "add", "SUB": "sub", "MUL": "mul", "DIV": "div", "NEG": "neg", "INV": "inv", "SQ": "sq", "TWICE": "twice",
    "SQRT": "sqrt", "FABS": "abs", "FLOOR": "floor", "CEIL": "ceil", "SIGN": "sign", "COPYSIGN": "copysign",
    "FMIN": "min", "FMAX": "max", "LT": "lt", "LE": "le", "EQ": "eq", "NE": "ne", "NOT": "not", "AND": "and",
    "OR": "or", "IF_ELSE_ZERO": "if", "SIN": "sin", "COS": "cos", "TAN": "tan", "ASIN": "asin", "ACOS": "acos",
    "ATAN": "atan", "ATAN2": "atan2", "EXP": "exp", "EXPM1": "expm1", "LOG": "log", "LOG1P": "log1p", "SINH": "sinh",
    "COSH": "cosh", "TANH": "tanh", "ASINH": "asinh", "ACOSH": "acosh", "ATANH": "atanh", "ERF": "erf", "POW": "pow",
    "CONSTPOW": "pow", "FMOD": "fmod", "REMAINDER": "remainder", "HYPOT": "hypot",
}  # fmt: skip


@functools.cache
def _by_code() -> dict[int, str]:
    """Our names of CasADi's operations, by its codes."""
    return {getattr(casadi, f"OP_{name}"): ours for name, ours in _NAMES.items()}


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
        taken, given = f.instruction_input(k), f.instruction_output(k)
        if code == casadi.OP_INPUT:
            index = self.first_in[taken[0]] + taken[1]
            work[given[0]] = self.leaf(("input", index), Node("input", number=index))
        elif code == casadi.OP_OUTPUT:
            self.outputs[self.first_out[given[0]] + given[1]] = work[taken[0]]
        elif code == casadi.OP_ASSIGN:
            work[given[0]] = work[taken[0]]
        elif code in _by_code():
            self.nodes.append(Node(_by_code()[code], *(work[i] for i in taken)))
            work[given[0]] = len(self.nodes) - 1
        else:
            raise ValueError(
                f"kernel '{f.name()}': operation {_name_of(code)} cannot be compiled; "
                f"what can: {', '.join(sorted(set(_NAMES.values())))}"
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
