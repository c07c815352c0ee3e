"""Stream compaction: several blocks of states in a kernel, whose active lanes move side by side.

States need different numbers of steps of a solver, so that most lanes of a block of W states wait for a few. Kernels
with such loops take several blocks together and move the states that still iterate side by side (`compact_loops`), as
on graphics processors. The result of a state depends on its own numbers alone, wherever it lies.

Functions over several blocks have the form `void name(ptr frame, i64 count, ptr array, i64 stride, ...)`. `count` is
the number of states, the first of which is in block 0. Of every array they take its first block and the bytes from
block to block. Here are those that move numbers of lanes; the index of a lane counts W for every block before its own.
"""

from collections.abc import Callable, Sequence

import numpy as np

from myoquat.kernels.codegen.ir import Builder, Module

__all__ = [
    "BLOCKS_PER_CALL",
    "block_count",
    "copied",
    "entered",
    "filled",
    "handed",
    "lane_indices",
    "padded",
    "partitioned",
    "returned",
]

BLOCKS_PER_CALL = 32  # of W states that go together: of 256 enough need a rare step to fill the registers with them
_NUMBERS_PER_ITERATION = 4  # numbers of a lane that are moved in one turn of a loop


def block_count(b: Builder, count: str) -> str:
    """Register of the number of blocks that hold so many states."""
    return b.let(f"udiv i64 {b.let(f'add i64 {count}, {b.lanes - 1}')}, {b.lanes}")


def handed(arrays: Sequence[tuple[str, str | int]]) -> str:
    """Arrays, each with its bytes from block to block, as they are handed to a function over several blocks."""
    return "".join(f", ptr {pointer}, i64 {stride}" for pointer, stride in arrays)


def entered(module: Module) -> str:
    """`i1 name(i64 count, ptr origins, ptr where, i64 stride)`: the start of a loop. It sets the origin of every state
    to its own lane, and returns whether the flags of all states are not zero."""

    def write(b: Builder) -> None:
        def stays(block: str) -> str:
            first = b.splat(b.let(f"mul i64 {block}, {b.lanes}"), "i64")
            lane_indices = b.integer("add", first, b.numbered())
            b.store(lane_indices, b.offset("%origins", b.let(f"mul i64 {block}, {8 * b.lanes}")), b.I)
            beyond = b.integer_compare("sge", lane_indices, b.splat("%count", "i64"))
            runs = b.truth(b.load(b.offset("%where", b.let(f"mul i64 {block}, %where_stride"))))
            return b.number(b.negate(b.logic("or", runs, beyond)))

        some_stay = b.any(b.truth(b.summed(block_count(b, "%count"), 1, stays)))
        b.line(f"ret i1 {b.let(f'xor i1 {some_stay}, true')}")

    head = "i64 %count, ptr %origins, ptr %where, i64 %where_stride"
    return _function(module, "lanes_entered", "i1", head, write)


def copied(module: Module) -> str:
    """`void name(i64 count, i64 length, array, array)`: so many numbers of the blocks of so many states, from an array
    to another one."""

    def write(b: Builder) -> None:
        with b.loop(0, block_count(b, "%count")) as block:
            here, there = (b.offset(f"%{x}", b.let(f"mul i64 {block}, %{x}_stride")) for x in ("here", "there"))
            _move(b, here, there, "%length", b.T)
        b.line("ret void")

    head = "i64 %count, i64 %length, ptr %here, i64 %here_stride, ptr %there, i64 %there_stride"
    return _function(module, "lanes_copied", "void", head, write)


def partitioned(module: Module) -> str:
    """`i64 name(i64 count, ptr going, ptr done, ptr flags, i64 stride)`: indices of the lanes whose flag is not
    zero, and of the others, in lists; how many are in the first."""

    def write(b: Builder) -> None:
        before = b.block
        head, body, end = map(b.label, ("head", "body", "end"))
        b.jump(head)
        b.begin(head)
        b.line(f"%place = phi i64 [0, %{before}], [%next, %{body}]")
        b.line(f"%some = phi i64 [0, %{before}], [%more, %{body}]")
        b.fork(b.let("icmp slt i64 %place, %count"), body, end)
        b.begin(body)
        flag = b.load(_address(b, "flags", "%place"), "double")
        for name, first in (("going", "%some"), ("done", b.let("sub i64 %place, %some"))):
            b.store("%place", _listed(b, name, first), "i64")
        goes = b.let(f"fcmp une double {flag}, 0.0")
        b.line(f"%more = add i64 %some, {b.let(f'zext i1 {goes} to i64')}")
        b.line("%next = add i64 %place, 1")
        b.jump(head)
        b.begin(end)
        b.line("ret i64 %some")

    head = "i64 %count, ptr %going, ptr %done, ptr %flags, i64 %flags_stride"
    return _function(module, "lanes_partitioned", "i64", head, write)


def filled(module: Module) -> str:
    """`void name(i64 going, i64 done, ptr going, ptr done, i64 length, ptr array, i64 stride)`: so many numbers of the
    last lanes that go on move to where lanes before them are done. The lists and their lengths are of `partitioned`."""

    def write(b: Builder) -> None:
        def more(turn: str) -> str:
            place = b.load(_listed(b, "done_list", turn), "i64")
            before = b.let(f"icmp slt i64 {place}, %going")
            return b.let(f"and i1 {before}, {b.let(f'icmp slt i64 {turn}, %done')}")

        with b.going(more) as turn:
            place = b.load(_listed(b, "done_list", turn), "i64")
            last = b.let(f"sub i64 {b.let(f'sub i64 %going, {turn}')}, 1")
            source = b.load(_listed(b, "going_list", last), "i64")
            _move(b, _address(b, "array", source), _address(b, "array", place), "%length")
        b.line("ret void")

    head = "i64 %going, i64 %done, ptr %going_list, ptr %done_list, i64 %length, ptr %array, i64 %array_stride"
    return _function(module, "lanes_filled", "void", head, write)


def returned(module: Module) -> str:
    """`void name(i64 count, ptr list, ptr origins, i64 length, there, result)`: so many numbers of the lanes of a list
    of so many become results where they came from."""

    def write(b: Builder) -> None:
        with b.loop(0, "%count") as number:
            place = b.load(_listed(b, "list", number), "i64")
            home = b.load(_listed(b, "origins", place), "i64")
            _move(b, _address(b, "there", place), _address(b, "result", home), "%length")
        b.line("ret void")

    head = "i64 %count, ptr %list, ptr %origins, i64 %length, ptr %there, i64 %there_stride, ptr %result, "
    return _function(module, "lanes_returned", "void", head + "i64 %result_stride", write)


def padded(module: Module) -> str:
    """`void name(i64 count, i64 length, ptr array, i64 stride)`: lanes of the last block that hold none of so many
    states hold what the last one does."""

    def write(b: Builder) -> None:
        over, last = b.let(f"urem i64 %count, {b.lanes}"), b.let(f"udiv i64 %count, {b.lanes}")
        some, done = b.label("some"), b.label("done")
        b.fork(b.let(f"icmp ne i64 {over}, 0"), some, done)
        b.begin(some)
        held = b.let(f"icmp slt {b.I} {b.numbered()}, {b.splat(over, 'i64')}")
        block = b.offset("%array", b.let(f"mul i64 {last}, %array_stride"))
        behind = b.let(f"mul i64 {b.let(f'sub i64 {over}, 1')}, 8")
        with b.loop(0, "%length") as number:
            address = b.offset(block, b.let(f"mul i64 {number}, {8 * b.lanes}"))
            value = b.splat(b.load(b.offset(address, behind), "double"))
            b.store(b.select(held, b.load(address), value), address)
        b.jump(done)
        b.begin(done)
        b.line("ret void")

    head = "i64 %count, i64 %length, ptr %array, i64 %array_stride"
    return _function(module, "lanes_padded", "void", head, write)


def lane_indices(module: Module) -> str:
    """The list of all lane indices."""
    name = "lane_indices"
    if name not in module.shared:
        module.shared[name] = None
        module.constants(name, np.arange(BLOCKS_PER_CALL * module.lanes))
    return f"@{name}"


def _function(module: Module, name: str, result: str, head: str, write: Callable[[Builder], None]) -> str:
    """The name of a function that is written at its first use."""

    def define() -> None:
        b = module.builder()
        write(b)
        module.define(name, result, head, b, shared=True)

    return module.once(name, define)


def _address(b: Builder, name: str, place: str) -> str:
    """Of the first number of the lane of an index, in the array at %name."""
    block, lane = b.let(f"udiv i64 {place}, {b.lanes}"), b.let(f"urem i64 {place}, {b.lanes}")
    own = b.offset(f"%{name}", b.let(f"mul i64 {block}, %{name}_stride"))
    return b.offset(own, b.let(f"mul i64 {lane}, 8"))


def _listed(b: Builder, name: str, number: str) -> str:
    """Address of an entry of the list at %name."""
    return b.offset(f"%{name}", b.let(f"mul i64 {number}, 8"))


def _move(b: Builder, source: str, target: str, length: str, llvm_type: str = "double") -> None:
    """So many numbers of a lane, or of all lanes of a block, from address to address."""
    size = 8 * b.lanes
    end = b.let(f"mul i64 {length}, {size}")
    whole = b.let(f"and i64 {end}, {-size * _NUMBERS_PER_ITERATION}")
    for first, last, count in (("0", whole, _NUMBERS_PER_ITERATION), (whole, end, 1)):
        with b.loop(first, last, size * count) as at:
            here, there = (b.offset(base, at) for base in (source, target))
            numbers = [b.load(b.offset(here, size * k), llvm_type) for k in range(count)]
            for k, number in enumerate(numbers):
                b.store(number, b.offset(there, size * k), llvm_type)
