"""Inputs that change with time: rows of a table, interpolated, into the frame."""

from myoquat.kernels.codegen.driver import Port
from myoquat.kernels.codegen.ir import Builder, Module
from myoquat.kernels.codegen.row_transfer import read_rows
from myoquat.kernels.codegen.stack.slots import turns

__all__ = ["read_sample"]

_PARAMETERS = (
    "ptr %rows, i64 %stride, i64 %first, i64 %last, ptr %slots, ptr %spare, ptr %loaded, i64 %index, double %weight"
)


def read_sample(module: Module, length: int) -> str:
    """Name of a function (rows, stride, first, last, slots, spare, loaded, index, weight).

    Puts (1 - weight) row[index] + weight row[index + 1] of W states' tables into `length` slots. `loaded` remembers the
    index of a row taken as it is, so that a constant input is read once. `spare`: `length` slots to work in.
    """
    name = f"read_sample_{length}"
    return module.once(name, lambda: _define(module, name, length))


def _define(module: Module, name: str, length: int) -> None:
    b = module.builder()
    fresh, mixed, end = (b.label(stem) for stem in ("fresh", "mixed", "end"))
    exact = b.let("fcmp oeq double %weight, 0.0")
    held = b.let(f"icmp eq i64 {b.load('%loaded', 'i64')}, %index")
    b.fork(b.let(f"and i1 {exact}, {held}"), end, fresh)
    b.begin(fresh)
    row = b.offset("%rows", b.let(f"mul i64 %index, {8 * length}"))
    read_rows(b, row, "%stride", "%first", "%last", "%slots", length)
    b.store(b.let(f"select i1 {exact}, i64 %index, i64 -1"), "%loaded", "i64")
    b.fork(exact, end, mixed)
    b.begin(mixed)
    read_rows(b, b.offset(row, 8 * length), "%stride", "%first", "%last", "%spare", length)
    _mix(b, length)
    b.jump(end)
    b.begin(end)
    b.line("ret void")
    module.define(name, "void", _PARAMETERS, b)


def _mix(b: Builder, length: int) -> None:
    weight, row = b.splat("%weight"), Port(0, length)
    for at in turns(b, length):
        low, high = b.load(at(row, "%slots")), b.load(at(row, "%spare"))
        b.store(b.fma(weight, b.sub(high, low), low), at(row, "%slots"))
