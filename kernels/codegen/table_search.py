"""Look-ups in machine code: a search by halves in a table of constants."""

from myoquat.kernels.codegen.ir import Builder, Module
from myoquat.kernels.codegen.parts import NANOSECONDS_PER_OPERATION, Cost, InnerCall, slots_of, take_ports
from myoquat.kernels.codegen.stack.stack_frames import Frame
from myoquat.kernels.control_flow.table_lookup import Lookup

__all__ = ["write_lookup", "write_search"]


def write_search(module: Module, name: str, frame: Frame, table: Lookup) -> InnerCall:
    """Define a search in a table on slots of its own."""
    own = take_ports(frame, {"x": 1, "entries": table.gives})
    b = module.builder()
    x, entries = (b.slot("%frame", own[key].slot) for key in ("x", "entries"))
    b.line(f"call void @{write_lookup(module, table)}(ptr {x}, ptr {entries})")
    b.line("ret void")
    module.define(name, "void", "ptr %frame", b)
    steps = len(table.knots).bit_length() + table.gives
    return InnerCall(
        name, slots_of([own["x"]]), slots_of([own["entries"]]), Cost(steps, NANOSECONDS_PER_OPERATION * steps)
    )


def write_lookup(module: Module, table: Lookup) -> str:
    """The name of `void name(ptr x, ptr entries)`, written at first use: for every lane of x, the entries one after the
    other in slots of as many lanes."""
    name = f"lookup_{table.identity()[:16]}_{module.lanes}"

    def write() -> None:
        numbers = table.halved()
        module.constants(f"{name}_table", numbers)
        b = module.builder(1)
        with b.loop(0, module.lanes) as lane:
            own = b.let(f"mul i64 {lane}, 8")
            where = _search(b, f"@{name}_table", b.load(b.offset("%x", own)), numbers.shape[1])
            entry = b.offset(f"@{name}_table", b.let(f"mul i64 {where}, 8"))
            target = b.offset("%entries", own)
            for k in range(table.gives):
                found = b.load(b.offset(entry, 8 * numbers.shape[1] * (k + 1)))
                b.store(found, b.offset(target, 8 * module.lanes * k))
        b.line("ret void")
        module.define(name, "void", "ptr %x, ptr %entries", b)

    return module.once(name, write)


def _search(b: Builder, table: str, x: str, size: int) -> str:
    """The index, as i64, of the last of `size` knots, a power of two, that is not above x; 0 if all but the first
    are."""
    found, half = "0", size // 2
    while half:
        next_one = b.let(f"add i64 {found}, {half}")
        knot = b.load(b.offset(table, b.let(f"mul i64 {next_one}, 8")))
        found = b.let(f"select i1 {b.compare('oge', x, knot)}, i64 {next_one}, i64 {found}")
        half //= 2
    return found
