"""Traced formulas: a tape, the shapes of its inputs and outputs, and the constructs inside."""

import functools
import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from myoquat.core.content import digest
from myoquat.core.lazy_imports import casadi
from myoquat.kernels.symbolic.terms import Scalar, Term
from myoquat.kernels.tracing.tape import Ends, Inner, Tape, in_casadi, interpret

__all__ = ["Construct", "OfLoop", "Pattern", "PendingConstruct", "Shape", "Signature", "Traced"]

Shape = tuple[int, ...]
Pattern = tuple[np.ndarray, np.ndarray]  # rows, columns of the entries that are not structurally zero


@dataclass(frozen=True)
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


class PendingConstruct(Protocol):
    """A construct met while a formula is traced: the formula goes on with fresh symbols for its results."""

    @property
    def operands(self) -> list[Scalar]:
        """The numbers that go in."""

    @property
    def results(self) -> list[Term]:
        """The symbols that stand for the results."""

    def pruned(self, live: Set[Term]) -> "PendingConstruct | None":
        """The construct with the results that are among the terms that are needed, None if there are none."""

    def traced(self) -> "Construct":
        """The construct with the formulas inside traced."""


class Construct(Protocol):
    """A construct of control flow inside a traced formula: a loop, a map, a scan, a call or a look-up."""

    @property
    def ends(self) -> Ends:
        """How many numbers it gives and takes."""

    @property
    def has_solver(self) -> bool:
        """Whether a step is repeated inside, so that there is no straight-line program."""

    @property
    def multi_block(self) -> bool:
        """Whether a kernel evaluates several blocks of states together for it."""

    def identity(self) -> str:
        """Text that two constructs share only if they write the same code."""

    def unrolled(self, of_loop: "OfLoop | None" = None) -> Inner:
        """The construct as straight-line code, loops inside as `of_loop` gives them; TypeError without."""


OfLoop = Callable[[Any], Inner]  # of a loop: what stands for it in straight-line code


@dataclass(frozen=True)
class Traced:
    """A formula as a tape.

    With constructs inside, the tape takes their results as further inputs, after those of the signature. It gives their
    operands as further outputs:

    - of a loop the start, the constants and which states it is for
    - of a map column after column
    - of a scan member after member

    They run in order: the operands of one depend on no later one.

    patterns   of an output that holds some entries of a matrix, which ones
    gradients  of an output that is the derivative of one number by an input, that input; its derivative by it is
               symmetric
    """

    tape: Tape
    signature: Signature
    inner: tuple[Construct, ...] = ()
    patterns: Mapping[str, Pattern] = field(default_factory=dict)
    gradients: Mapping[str, str] = field(default_factory=dict)

    @property
    def operations(self) -> int:
        """Those of the formula itself, without the constructs inside."""
        return self.tape.operations

    @functools.cached_property
    def multi_block(self) -> bool:
        """Whether a kernel evaluates several blocks of states together for a construct inside."""
        return any(construct.multi_block for construct in self.inner)

    @property
    def has_solver(self) -> bool:
        """Whether a step is repeated inside."""
        return any(construct.has_solver for construct in self.inner)

    def unrolled(self, of_loop: OfLoop | None = None) -> list[Inner]:
        """The constructs inside as straight-line code; TypeError if there is a loop and nothing that stands for it."""
        return [construct.unrolled(of_loop) for construct in self.inner]

    @functools.cached_property
    def function(self) -> Any:
        """The formula as a `casadi.Function`: columns in, dense columns out (C order); TypeError with a solver."""
        columns = [casadi.SX.sym(f"x{k}", n) for k, n in enumerate(self.signature.input_sizes)]
        inputs = [x for column in columns for x in casadi.vertsplit(column)]
        flat = iter(interpret(self.tape, inputs, in_casadi, self.unrolled()))
        outputs = [casadi.vertcat(casadi.SX(0, 1), *itertools.islice(flat, n)) for n in self.signature.output_sizes]
        return _casadi_function(self.signature, columns, list(map(casadi.densify, outputs)))

    def identity(self) -> str:
        """Text that two formulas share only if they write the same code."""
        return self._identity

    @functools.cached_property
    def _identity(self) -> str:
        return digest("straight", str(self.signature), self.tape.identity(), *(x.identity() for x in self.inner))


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
