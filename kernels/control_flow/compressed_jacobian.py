"""A linear formula in a kernel, run for one column of seeds after the other: derivatives whose code does not grow with
the number of directions.

The formula, traced once, takes numbers that all directions share, the partial derivatives, and the seeds of one
direction. In machine code it is one function, in a loop over the rows of a table of seeds.
"""

from dataclasses import dataclass

from myoquat.core.typing import Array
from myoquat.kernels.codegen import instruction_scheduling, slots
from myoquat.kernels.codegen.driver import Port
from myoquat.kernels.codegen.ir import Builder, Module
from myoquat.kernels.codegen.parts import Body, Cost, InnerCall, slots_of, take_ports
from myoquat.kernels.codegen.stack_frames import Frame
from myoquat.kernels.runtime.cache import digest
from myoquat.kernels.tracing.tape import Apply, Inner, Node, Tape, played

__all__ = ["Sweep", "write_sweep"]


@dataclass(frozen=True)
class Sweep:
    """A formula ('shared' (s,), 'seed' (n,)) -> 'result' (m,) with its tape, for each row of seeds (k, n). It takes
    what is shared, and gives the results of one direction after the other."""

    formula: Body
    tape: Tape
    seeds: Array

    @property
    def ends(self) -> instruction_scheduling.Ends:
        """What it gives and takes."""
        (shared, _), (result,) = self.formula.signature.input_sizes, self.formula.signature.output_sizes
        return instruction_scheduling.Ends(len(self.seeds) * result, shared)

    def identity(self) -> str:
        """Text that two sweeps share only if they write the same code."""
        return digest("sweep", self.formula.identity(), str(self.seeds.shape), self.seeds.tobytes())

    def unrolled(self) -> Inner:
        """The directions one after the other."""

        def function(apply: Apply, taken: list[object]) -> list[object]:
            results: list[object] = []
            for row in self.seeds.tolist():
                results += played(self.tape, [*taken, *(apply(Node("const", number=x)) for x in row)], apply)
            return results

        return Inner(function, *self.ends)


def write_sweep(module: Module, name: str, frame: Frame, sweep: Sweep) -> InnerCall:
    """Define `void name(ptr frame)`: every direction in turn."""
    (shared, width), (length,) = sweep.formula.signature.input_sizes, sweep.formula.signature.output_sizes
    count = len(sweep.seeds)
    ports = take_ports(frame, {"shared": shared, "seed": width, "result": length, "results": count * length})
    inputs = {key: ports[key] for key in ("shared", "seed")}
    cost = sweep.formula.write(module, f"{name}_direction", frame, inputs, {"result": ports["result"]})
    module.constants(f"{name}_seeds", sweep.seeds)
    b = module.builder()
    with b.loop(0, count) as direction:
        _seed(b, f"@{name}_seeds", direction, ports["seed"])
        b.line(f"call void @{name}_direction(ptr %frame)")
        to = b.offset("%frame", b.let(f"mul i64 {direction}, {8 * b.lanes * length}"))
        slots.copy_port(b, ports["result"], Port(ports["results"].slot, length), ("%frame", to))
    b.line("ret void")
    module.define(name, "void", "ptr %frame", b)
    total = Cost(cost.operations * count, cost.price * count)
    return InnerCall(name, slots_of([ports["shared"]]), slots_of([ports["results"]]), total)


def _seed(b: Builder, table: str, row: str, seed: Port) -> None:
    """The seeds of a direction into their slots, the same in every lane."""
    own = b.offset(table, b.let(f"mul i64 {row}, {8 * seed.length}"))
    with b.loop(0, seed.length) as column:
        value = b.splat(b.load(b.offset(own, b.let(f"mul i64 {column}, 8")), "double"))
        to = b.offset("%frame", b.let(f"mul i64 {column}, {8 * b.lanes}"))
        b.store(value, b.slot(to, seed.slot))
