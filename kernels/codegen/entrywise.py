"""Formulas of single numbers on arrays, component by component."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from myoquat.core.content import digest
from myoquat.kernels.codegen.driver import Port
from myoquat.kernels.codegen.ir import Builder, Module
from myoquat.kernels.codegen.lower import emit_values
from myoquat.kernels.codegen.parts import Cost, Ports, price
from myoquat.kernels.codegen.stack import slots
from myoquat.kernels.codegen.stack.stack_frames import Frame
from myoquat.kernels.tracing.rewrite import rewritten
from myoquat.kernels.tracing.traced import Signature, Traced

__all__ = ["Entrywise"]


@dataclass(frozen=True)
class Entrywise:
    """A formula of single numbers as a body on arrays: every component by itself, but for inputs of one number."""

    formula: Traced
    size: int

    @property
    def signature(self) -> Signature:
        """That of the formula."""
        return self.formula.signature

    @property
    def multi_block(self) -> bool:
        return False

    def identity(self) -> str:
        return digest("entrywise", self.formula.identity(), str(self.size))

    def write(self, module: Module, name: str, frame: Frame, inputs: Ports, outputs: Ports) -> Cost:
        tape = rewritten(self.formula.tape, fused=True)
        ports, (result,) = [inputs[key] for key in self.signature.inputs], outputs.values()
        b = slots.over(module, self.size)
        for at in slots.turns(b, self.size):
            leaf = functools.partial(_component, b, at, ports, self.size)
            (value,) = emit_values(b, tape, leaf)
            b.store(value, at(result))
        b.line("ret void")
        module.define(name, "void", "ptr %frame", b)
        cost = price(tape)
        return Cost(cost.operations * self.size, cost.price * self.size)


def _component(b: Builder, at: slots.At, ports: Sequence[Port], size: int, index: int) -> str:
    """The component of an input, or its one number."""
    port = ports[index]
    return b.load(at(port)) if port.length == size else slots.shared(b, port.slot)
