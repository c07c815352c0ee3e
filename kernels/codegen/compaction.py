"""Loops of solvers, with stream compaction: states whose steps go on move side by side.

States need different numbers of steps of a solver, so that most lanes of a block of W states would wait for a few.
After every step the last states that go on therefore take the lanes of those that do not. A step is taken for as few
blocks as hold the rest. The result of a state depends on its own numbers alone, wherever it lies. Kernels with such
loops take several blocks together, as graphics processors do.

Functions over several blocks have the form `void name(ptr frame, i64 count, ptr array, i64 stride, ...)`. `count` is
the number of states, the first of which is in block 0. Of every array they take its first block and the bytes from
block to block. The index of a lane counts W for every block before its own.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from .ir import Builder, Module

BLOCKS_PER_CALL = 64  # of W states that go together: of 512 enough need a rare step to fill the registers with them
_MOVED_AT_ONCE = 4  # numbers, of which reading and writing overlap
_HEADER_BYTES = 64  # at the beginning of a loop's frame: how many states go on, and which of them moved last, 8 each

Blocks: TypeAlias = tuple[str, str | int]  # of an array: the address of the first, and the bytes from block to block


def block_count(b: Builder, count: str) -> str:
    """Register of the number of blocks that hold so many states."""
    return b.let(f"udiv i64 {b.let(f'add i64 {count}, {b.lanes - 1}')}, {b.lanes}")


def handed(arrays: Sequence[Blocks]) -> str:
    """Arrays, each with its bytes from block to block, as they are handed to a function over several blocks."""
    return "".join(f", ptr {pointer}, i64 {stride}" for pointer, stride in arrays)


def padded(module: Module) -> str:
    """`void name(i64 count, i64 length, ptr array, i64 stride)`: lanes of the last block that hold none of so many
    states hold what the last one does."""

    def write(b: Builder) -> None:
        over, last = b.let(f"urem i64 %count, {b.lanes}"), b.let(f"udiv i64 %count, {b.lanes}")
        with b.when(b.let(f"icmp ne i64 {over}, 0")):
            held = b.let(f"icmp slt {b.I} {b.numbered()}, {b.splat(over, 'i64')}")
            block = b.offset("%array", b.let(f"mul i64 {last}, %array_stride"))
            behind = b.let(f"mul i64 {b.let(f'sub i64 {over}, 1')}, 8")
            with b.loop(0, "%length") as number:
                address = b.offset(block, b.let(f"mul i64 {number}, {8 * b.lanes}"))
                value = b.splat(b.load(b.offset(address, behind), "double"))
                b.store(b.select(held, b.load(address), value), address)

    return _function(module, "lanes_padded", "i64 %count, i64 %length, ptr %array, i64 %array_stride", write)


def block_loop(module: Module, arrays: int) -> str:
    """`void name(i64 blocks, ptr function, ptr array, i64 stride, ...)`: a function of so many arrays for one block
    after the other. Code that calls it holds no loop of its own."""

    def write(b: Builder) -> None:
        with b.loop(0, "%blocks") as block:
            at = [b.offset(pointer, b.let(f"mul i64 {block}, {stride}")) for pointer, stride in own]
            b.line(f"call void %function({', '.join(f'ptr {pointer}' for pointer in at)})")

    own: list[Blocks] = [(f"%array{k}", f"%stride{k}") for k in range(arrays)]
    return _function(module, f"lanes_in_turn{arrays}", f"i64 %blocks, ptr %function{handed(own)}", write)


def _ended(module: Module) -> str:
    """`void name(ptr left, i64 count, i1 all, ...)`: of so many states, those whose flag is zero, or all, become
    results in the lanes from which they came, at once in blocks that did not move. How many go on is stored at `left`.
    The last of these move into the lanes of the others before that many: the first numbers of their states that the
    step reads (`read`), their constants and origins."""

    def write(b: Builder) -> None:
        def at(name: str, block: str, within: str = "0") -> str:
            """Address of the first number of a lane of a block in the array at %name."""
            begin = b.offset(f"%{name}", b.let(f"mul i64 {block}, %{name}_stride"))
            return b.offset(begin, b.let(f"mul i64 {within}, 8"))

        def lane(index: str) -> tuple[str, str]:
            return b.let(f"udiv i64 {index}, {b.lanes}"), b.let(f"urem i64 {index}, {b.lanes}")

        def ended(block: str, count: str) -> tuple[str, str, str]:
            """Of a block the indices of its lanes, which are not below a count, and which others do not go on."""
            own = b.integer("add", b.splat(b.let(f"mul i64 {block}, {b.lanes}"), "i64"), b.numbered())
            goes = b.logic("and", b.truth(b.load(at("flags", block))), b.splat(b.let("xor i1 %all, true"), "i1"))
            beyond = b.integer_compare("sge", own, b.splat(count, "i64"))
            return own, beyond, b.negate(b.logic("or", goes, beyond))

        def lowered(address: str, by: str = "1") -> str:
            less = b.let(f"sub i64 {b.load(address, 'i64')}, {by}")
            b.store(less, address, "i64")
            return less

        b.store("%count", "%left", "i64")
        with b.loop(0, block_count(b, "%count")) as block:
            own, beyond, done = ended(block, "%count")
            with b.when(b.any(done)):
                moved = b.integer_compare("ne", b.load(at("origins", block), b.I), own)
                moved = b.any(b.logic("or", moved, beyond))
                with b.when(b.let(f"xor i1 {moved}, true")):  # states that go on become results again later
                    _move(b, at("states", block), at("result", block), "%state", b.T)
                with b.when(moved), b.lanes_where(done) as within:
                    origin = b.load(at("origins", block, within), "i64")
                    _move(b, at("states", block, within), at("result", *lane(origin)), "%state")
                lowered("%left", b.count(done))
        left, last = b.load("%left", "i64"), b.offset("%left", 8)
        b.store("%count", last, "i64")
        with b.loop(0, block_count(b, left)) as block:
            done = ended(block, left)[2]
            with b.lanes_where(done) as within:

                def stands(_: str) -> str:
                    found.append(lane(lowered(last)))
                    return b.let(f"fcmp oeq double {b.load(at('flags', *found[0]), 'double')}, 0.0")

                found: list[tuple[str, str]] = []
                with b.going(stands):
                    pass
                for name, length in (("states", "%read"), ("constants", "%given"), ("origins", "1")):
                    _move(b, at(name, *found[0]), at(name, block, within), length)

    arrays = ("flags", "states", "constants", "origins", "result")
    head = "ptr %left, i64 %count, i1 %all, i64 %state, i64 %read, i64 %given"
    return _function(module, "lanes_ended", head + handed([(f"%{x}", f"%{x}_stride") for x in arrays]), write)


def _move(b: Builder, source: str, target: str, length: str, llvm_type: str = "double") -> None:
    """So many numbers of a lane, or of all lanes of a block, from address to address."""
    size, whole = 8 * b.lanes, b.let(f"and i64 {length}, {-_MOVED_AT_ONCE}")
    whole, end = (b.let(f"mul i64 {count}, {size}") for count in (whole, length))
    for first, last, together in ((0, whole, _MOVED_AT_ONCE), (whole, end, 1)):
        with b.loop(first, last, together * size) as at:
            here, there = b.offset(source, at), b.offset(target, at)
            values = [b.load(b.offset(here, k * size), llvm_type) for k in range(together)]
            for k, value in enumerate(values):
                b.store(value, b.offset(there, k * size), llvm_type)


def _function(module: Module, name: str, head: str, write: Callable[[Builder], None], shared: bool = True) -> str:
    """The name of a function that is written at its first use."""

    def define() -> None:
        b = module.builder()
        write(b)
        b.line("ret void")
        module.define(name, "void", head, b, shared=shared)

    module.once(name, define)
    return name


# ---- the loop ----------------------------------------------------------------------------------------------
# Its code stands once in a kernel, for all steps: the step is one of its arguments. A step reads the state and the
# constants where they lie, and writes the next state where the one before lay, so that nothing is copied. Its arrays
# lie one after the other: start, constants, where, result. Behind the header its frame holds the lane from which every
# state came, the states after every other step, and the frame of the step. The lanes of the start and of the constants
# are moved, since no later code reads them.


def loop_bytes(lanes: int, state: int, step: int) -> int:
    """Bytes of the frame of a loop with states of so many numbers, whose step's frame takes `step`."""
    return _HEADER_BYTES + 8 * lanes * BLOCKS_PER_CALL * (1 + state) + step


def compact_loop(module: Module) -> str:
    """`void name(ptr frame, i64 count, ptr own, i64 stride, ptr step, i64 state, i64 read, i64 given, i64 times)`: the
    loop over states of `state` numbers and `given` constants each, whose arrays lie at `own`. `read` is `state`, or 0
    for a step that reads none of its state. `times` as `count` of `while_loop.WhileLoop`."""
    size = 8 * module.lanes

    def write(b: Builder) -> None:
        behind = b.let(f"add i64 %state, {b.let('add i64 %given, 1')}")
        firsts = {"constants": "%state", "where": b.let("add i64 %state, %given"), "result": behind}
        own: dict[str, Blocks] = {"start": ("%own", "%stride")}
        for name, first in firsts.items():
            own[name] = b.offset("%own", b.let(f"mul i64 {first}, {size}")), "%stride"
        origins = b.offset("%frame", _HEADER_BYTES)
        length = b.let(f"mul i64 %state, {size}")
        states = b.offset(origins, size * BLOCKS_PER_CALL), length
        step_frame = b.offset(states[0], b.let(f"mul i64 {length}, {BLOCKS_PER_CALL}"))

        def settle(count: str, every: str, flags: Blocks, states: Blocks) -> None:
            arrays = handed([flags, states, own["constants"], (origins, size), own["result"]])
            numbers = f"ptr %frame, i64 {count}, i1 {every}, i64 %state, i64 %read, i64 %given"
            b.line(f"call void @{_ended(module)}({numbers}{arrays})")

        with b.loop(0, b.let(f"mul i64 {block_count(b, '%count')}, {b.lanes}"), b.lanes) as lane:
            numbers = b.integer("add", b.splat(lane, "i64"), b.numbered())
            b.store(numbers, b.offset(origins, b.let(f"mul i64 {lane}, 8")), b.I)
        settle("%count", b.let("icmp eq i64 %times, 0"), own["where"], own["start"])
        for name, numbers in (("start", "%read"), ("constants", "%given")):
            begun = b.load("%frame", "i64")
            b.line(f"call void @{padded(module)}(i64 {begun}, i64 {numbers}{handed([own[name]])})")
        counts: list[str] = []

        def go(_: str) -> str:
            counts.append(b.load("%frame", "i64"))
            return b.let(f"icmp sgt i64 {counts[0]}, 0")

        with b.going(go) as turn:
            odd = b.let(f"icmp ne i64 {b.let(f'and i64 {turn}, 1')}, 0")
            last = b.let(f"icmp eq i64 {b.let(f'add i64 {turn}, 1')}, %times")
            whole = b.let(f"and i1 {last}, {b.let(f'icmp eq i64 {counts[0]}, %count')}")  # each lies where it began

            def chosen(condition: str, yes: Blocks, no: Blocks) -> Blocks:
                pointer = b.let(f"select i1 {condition}, ptr {yes[0]}, ptr {no[0]}")
                return pointer, b.let(f"select i1 {condition}, i64 {yes[1]}, i64 {no[1]}")

            here = chosen(odd, states, own["start"])
            there = chosen(whole, own["result"], chosen(odd, own["start"], states))
            b.line(f"call void %step(ptr {step_frame}, i64 {counts[0]}{handed([here, own['constants'], there])})")
            b.store("0", "%frame", "i64")
            with b.when(b.let(f"xor i1 {whole}, true")):
                goes = b.offset(there[0], b.let(f"sub i64 {length}, {size}"))
                settle(counts[0], last, (goes, there[1]), there)

    head = "ptr %frame, i64 %count, ptr %own, i64 %stride, ptr %step, i64 %state, i64 %read, i64 %given, i64 %times"
    return _function(module, "lanes_loop", head, write, shared=False)
