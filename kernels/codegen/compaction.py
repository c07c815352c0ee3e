"""Stream compaction: several blocks of states in a kernel, whose active lanes move side by side.

States need different numbers of steps of a solver, so that most lanes of a block of W states wait for a few. Kernels
with such loops take several blocks together and move the states that still iterate side by side (`compact_loops`), as
on graphics processors. The result of a state depends on its own numbers alone, wherever it lies.

Functions over several blocks have the form `void name(ptr frame, i64 count, ptr array, i64 stride, ...)`. `count` is
the number of states, the first of which is in block 0. Of every array they take its first block and the bytes from
block to block. Here are those that move numbers of lanes; the index of a lane counts W for every block before its own.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from myoquat.core import frozen
from myoquat.kernels.codegen.ir import Builder, Module

__all__ = [
    "BLOCKS_PER_CALL",
    "block_count",
    "compact_loop",
    "compaction_bytes",
    "copied",
    "entered",
    "filled",
    "handed",
    "lane_indices",
    "padded",
    "partitioned",
    "returned",
]


BLOCKS_PER_CALL = 64  # of W states that go together: of 512 enough need a rare step to fill the registers with them
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


# ---- Loops of solvers over several blocks of states: active lanes move side by side ----------------------------
# Before the first step and after every step, the last active lanes move into lanes that have finished. The states
# that still iterate then lie side by side, and a step is taken for as few blocks as hold them. The loop moves the
# lanes of its own start and constants, which no later code reads. Its code stands once in a kernel, for all steps:
# the step is one of its arguments.


_ALIGNMENT_BYTES = 64  # bytes
_PARAMETERS = "ptr %frame, i64 %count, ptr %own, i64 %own_stride, ptr %step, i64 %state, i64 %constants, i64 %times"

Blocks: TypeAlias = tuple[str, str | int]  # of an array: the address of the first, and the bytes from block to block


def compaction_bytes(lanes: int, state: int, size: int) -> int:
    """Bytes of the frame of a loop over states of so many numbers, whose step's frame takes `size`."""
    states = _Layout(lanes).states + BLOCKS_PER_CALL * 8 * lanes * state
    return _ALIGNMENT_BYTES * -(-states // _ALIGNMENT_BYTES) + size


def compact_loop(module: Module, step: str, multi_block: bool, numbers: tuple[int, int], times: int) -> Builder:
    """A function (ptr %frame, i64 %count, ptr %own, i64 %own_stride): the loop over a step of this name. `multi_block`:
    the step takes several blocks itself, not one. `numbers`: how many a state has, and how many constants there are.
    Their arrays lie at %own one after the other: start, constants, where, result. The rest as in
    `while_loop.WhileLoop`."""
    loop = _CompactLoop(module.builder(), multi_block, times == 1)
    name = "_".join(["lanes_loop", *(word for word in ("multi_block", "once") if getattr(loop, word))])

    def write() -> None:
        loop.write()
        module.define(name, "void", _PARAMETERS, loop.b)

    state, constants = numbers
    own = module.builder()
    which = f"ptr @{step}, i64 {state}, i64 {constants}, i64 {times}"
    own.line(f"call void @{module.once(name, write)}(ptr %frame, i64 %count, ptr %own, i64 %own_stride, {which})")
    own.line("ret void")
    return own


@frozen
class _Layout:
    """Where the frame of a loop holds what, in bytes: how many states are left; where each came from; whether it goes
    on. Lists of those that do and of the others; the states after every other step; behind them the step's frame."""

    lanes: int

    @property
    def block(self) -> int:
        """Bytes of a number of a block."""
        return 8 * self.lanes

    @property
    def origins(self) -> int:
        return _ALIGNMENT_BYTES

    @property
    def going(self) -> int:
        return self.origins + BLOCKS_PER_CALL * self.block

    @property
    def going_list(self) -> int:
        return self.going + BLOCKS_PER_CALL * self.block

    @property
    def done_list(self) -> int:
        return self.going_list + (BLOCKS_PER_CALL + 1) * self.block

    @property
    def states(self) -> int:
        return self.done_list + (BLOCKS_PER_CALL + 1) * self.block


@frozen
class _CompactLoop:
    """A loop that is being written into `b`, with _PARAMETERS: whether its step takes several blocks itself, and
    whether it is taken once."""

    b: Builder
    multi_block: bool
    once: bool

    def write(self) -> None:
        """The whole function."""
        b = self.b
        b.store("%count", "%frame", "i64")
        some, ready, done = (b.label(stem) for stem in ("some", "ready", "done"))
        where, origins = self._own("where"), b.offset("%frame", self._layout.origins)
        b.fork(b.let(f"call i1 @{entered(b.module)}(i64 %count, ptr {origins}{handed([where])})"), ready, some)
        b.begin(some)
        count = self._begun_by_some()
        if self.once:
            taken = b.label("taken")
            b.fork(b.let(f"icmp sgt i64 {count}, 0"), taken, done)
            b.begin(taken)
            self._taken(count, self._own("start"), self._states())
            self._put_back(count, lane_indices(b.module), self._states())
            b.jump(done)
            b.begin(ready)
            self._taken("%count", self._own("start"), self._own("result"))
        else:
            b.jump(ready)
            b.begin(ready)
            self._again()
        b.jump(done)
        b.begin(done)
        b.line("ret void")

    # ---- where things are -----------------------------------------------------------------------------------

    @property
    def _layout(self) -> _Layout:
        return _Layout(self.b.lanes)

    def _own(self, name: str) -> Blocks:
        """The first block of an own array, and the bytes from block to block."""
        b = self.b
        if name == "start":
            return "%own", "%own_stride"
        first = "%state"
        if name != "given":
            behind = 1 if name == "result" else 0
            first = b.let(f"add i64 %state, {b.let(f'add i64 %constants, {behind}')}")
        return b.offset("%own", b.let(f"mul i64 {first}, {self._layout.block}")), "%own_stride"

    def _states(self) -> Blocks:
        """The states after every other step."""
        return self.b.offset("%frame", self._layout.states), self.b.let(f"mul i64 %state, {self._layout.block}")

    def _step_frame(self) -> str:
        """Where the frame of the step begins."""
        b = self.b
        _, stride = self._states()
        behind = b.let(
            f"add i64 {b.let(f'mul i64 {stride}, {BLOCKS_PER_CALL}')}, {self._layout.states + _ALIGNMENT_BYTES - 1}"
        )
        return b.offset("%frame", b.let(f"and i64 {behind}, {-_ALIGNMENT_BYTES}"))

    def _block(self, array: Blocks, number: str) -> str:
        """Address of a block of an array."""
        return self.b.offset(array[0], self.b.let(f"mul i64 {number}, {array[1]}"))

    # ---- who runs -------------------------------------------------------------------------------------------

    def _begun_by_some(self) -> str:
        """States that take no step keep their start, and active ones move side by side; how many are active."""
        b, start, given = self.b, self._own("start"), self._own("given")
        self._all_are_results(start)
        count, _ = self._partitioned("%count", self._own("where"))
        self._fill("%count", count, start)
        for array, length in ((start, "%state"), (given, "%constants")):
            b.line(f"call void @{padded(b.module)}(i64 {count}, i64 {length}{handed([array])})")
        return count

    def _partitioned(self, count: str, flags: Blocks) -> tuple[str, str]:
        """How many of so many states go on, and how many are done."""
        b = self.b
        rest = b.let(f"call i64 @{partitioned(b.module)}(i64 {count}, {self._lists()}{handed([flags])})")
        return rest, b.let(f"sub i64 {count}, {rest}")

    def _lists(self) -> str:
        """Lists of the lanes of states that go on, and that are done."""
        b, at = self.b, self._layout
        return f"ptr {b.offset('%frame', at.going_list)}, ptr {b.offset('%frame', at.done_list)}"

    def _fill(self, count: str, rest: str, states: Blocks) -> None:
        """Of so many states those that go on come first."""
        b, at = self.b, self._layout
        origins = b.offset("%frame", at.origins), at.block
        arrays = (states, "%state"), (self._own("given"), "%constants"), (origins, "1")
        done, lists = b.let(f"sub i64 {count}, {rest}"), self._lists()
        for array, length in arrays:
            b.line(f"call void @{filled(b.module)}(i64 {rest}, i64 {done}, {lists}, i64 {length}{handed([array])})")
        b.store(rest, "%frame", "i64")

    # ---- steps ----------------------------------------------------------------------------------------------

    def _again(self) -> None:
        """Steps as long as a state takes them, from the start to the states and back to where the start was."""
        b, start, states = self.b, self._own("start"), self._states()
        found: dict[str, str] = {}

        def chosen(odd: str, yes: Blocks, no: Blocks) -> tuple[str, str]:
            pointer = b.let(f"select i1 {odd}, ptr {yes[0]}, ptr {no[0]}")
            return pointer, b.let(f"select i1 {odd}, i64 {yes[1]}, i64 {no[1]}")

        def go(turn: str) -> str:
            odd = b.let(f"icmp ne i64 {b.let(f'and i64 {turn}, 1')}, 0")
            found["here"], found["here_stride"] = chosen(odd, states, start)
            found["there"], found["there_stride"] = chosen(odd, start, states)
            found["count"] = b.load("%frame", "i64")
            some = b.let(f"icmp sgt i64 {found['count']}, 0")
            return b.let(f"and i1 {some}, {b.let(f'icmp slt i64 {turn}, %times')}")

        with b.going(go):
            here, there = ((found[key], found[f"{key}_stride"]) for key in ("here", "there"))
            self._taken(found["count"], here, there)
            self._compacted(found["count"], there)
        self._put_back(found["count"], lane_indices(b.module), (found["here"], found["here_stride"]))

    def _taken(self, count: str, here: Blocks, there: Blocks) -> None:
        """A step of so many states, from one array to another."""
        b, arrays = self.b, [here, self._own("given"), there]
        frame = self._step_frame()
        if self.multi_block:
            b.line(f"call void %step(ptr {frame}, i64 {count}{handed(arrays)})")
            return
        with b.loop(0, block_count(b, count)) as block:
            pointers = ", ".join(f"ptr {self._block(array, block)}" for array in arrays)
            b.line(f"call void %step(ptr {frame}, {pointers})")

    def _compacted(self, count: str, there: Blocks) -> None:
        """Active states move side by side; those that take no further step are results."""
        b, at = self.b, self._layout
        going = b.offset("%frame", at.going)

        def done(block: str) -> str:
            last = b.let(f"mul i64 {b.let('sub i64 %state, 1')}, {at.block}")
            goes = b.truth(b.load(b.offset(self._block(there, block), last)))
            b.store(b.number(goes), b.offset(going, b.let(f"mul i64 {block}, {at.block}")))
            return b.number(b.negate(goes))

        look, stay = b.label("look"), b.label("stay")
        b.fork(b.any(b.truth(b.summed(block_count(b, count), 1, done))), look, stay)
        b.begin(look)
        rest, over = self._partitioned(count, (going, at.block))
        self._put_back(over, b.offset("%frame", at.done_list), there)
        self._fill(count, rest, there)
        b.jump(stay)
        b.begin(stay)

    def _all_are_results(self, states: Blocks) -> None:
        """States that lie where they came from."""
        arrays = handed([states, self._own("result")])
        self.b.line(f"call void @{copied(self.b.module)}(i64 %count, i64 %state{arrays})")

    def _put_back(self, count: str, listed: str, states: Blocks) -> None:
        """The states of the first `count` lanes of a list become the results in the lanes where they came from."""
        b, function = self.b, returned(self.b.module)
        lists = f"ptr {listed}, ptr {b.offset('%frame', self._layout.origins)}"
        arrays = handed([states, self._own("result")])
        b.line(f"call void @{function}(i64 {count}, {lists}, i64 %state{arrays})")
