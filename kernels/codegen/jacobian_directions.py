"""Compressed Jacobians in machine code: one direction as a function, in a loop over a table of seeds."""

from myoquat.kernels.codegen.driver import Port
from myoquat.kernels.codegen.ir import Builder, Module
from myoquat.kernels.codegen.parts import Cost, InnerCall, WriteFormula, slots_of, take_ports
from myoquat.kernels.codegen.stack import slots
from myoquat.kernels.codegen.stack.stack_frames import Frame
from myoquat.kernels.control_flow.compressed_jacobian import CompressedJacobian

__all__ = ["write_directions"]


def write_directions(
    module: Module, name: str, frame: Frame, evaluation: CompressedJacobian, write: WriteFormula
) -> InnerCall:
    """Define `void name(ptr frame)`: every direction in turn."""
    (shared, width), (length,) = evaluation.formula.signature.input_sizes, evaluation.formula.signature.output_sizes
    count = len(evaluation.seeds)
    ports = take_ports(frame, {"shared": shared, "seed": width, "result": length, "results": count * length})
    inputs = {key: ports[key] for key in ("shared", "seed")}
    cost = write(evaluation.formula, module, f"{name}_direction", frame, inputs, {"result": ports["result"]})
    module.constants(f"{name}_seeds", evaluation.seeds)
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
