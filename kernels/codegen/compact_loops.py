"""Loops of solvers over several blocks of states: active lanes move side by side.

Before the first step and after every step, the last active lanes move into lanes that have finished. The states that
still iterate then lie side by side, and a step is taken for as few blocks as hold them. The loop moves the lanes of its
own start and constants, which no later code reads. Its code stands once in a kernel, for all steps: the step is one of
its arguments.
"""

from dataclasses import dataclass
from typing import TypeAlias

from myoquat.kernels.codegen.compaction import (
    BLOCKS_PER_CALL,
    block_count,
    copied,
    entered,
    filled,
    handed,
    lane_indices,
    padded,
    partitioned,
    returned,
)
from myoquat.kernels.codegen.ir import Builder, Module, double

__all__ = ["compact_loop", "compaction_bytes"]

_ALIGNMENT_BYTES = 64  # bytes
_PARAMETERS = (
    "ptr %frame, i64 %count, ptr %own, i64 %own_stride, ptr %step, i64 %state, i64 %constants, i64 %times, "
    "double %settle, i64 %left"
)

Blocks: TypeAlias = tuple[str, str | int]  # of an array: the address of the first, and the bytes from block to block


def compaction_bytes(lanes: int, state: int, size: int) -> int:
    """Bytes of the frame of a loop over states of so many numbers, whose step's frame takes `size`."""
    states = _Layout(lanes).states + BLOCKS_PER_CALL * 8 * lanes * state
    return _ALIGNMENT_BYTES * -(-states // _ALIGNMENT_BYTES) + size


def compact_loop(
    module: Module, step: str, multi_block: bool, numbers: tuple[int, int], times: int, settle: float, left: int | None
) -> Builder:
    """A function (ptr %frame, i64 %count, ptr %own, i64 %own_stride): the loop over a step of this name. `multi_block`:
    the step takes several blocks itself, not one. `numbers`: how many a state has, and how many constants there are.
    Their arrays lie at %own one after the other: start, constants, where, result. The rest as in
    `while_loop.WhileLoop`."""
    loop = _CompactLoop(module.builder(), multi_block, times == 1, left is None)
    name = "_".join(["lanes_loop", *(word for word in ("multi_block", "once", "whole") if getattr(loop, word))])

    def write() -> None:
        loop.write()
        module.define(name, "void", _PARAMETERS, loop.b)

    state, constants = numbers
    own = module.builder()
    which = f"ptr @{step}, i64 {state}, i64 {constants}, i64 {times}, double {double(settle)}"
    own.line(
        f"call void @{module.once(name, write)}(ptr %frame, i64 %count, ptr %own, i64 %own_stride, {which}, "
        f"i64 {0 if left is None else left % state})"
    )
    own.line("ret void")
    return own


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class _CompactLoop:
    """A loop that is being written into `b`, with _PARAMETERS: whether its step takes several blocks itself. Whether it
    is taken once. Whether all numbers of a state tell that it goes on, or the one that says what is left."""

    b: Builder
    multi_block: bool
    once: bool
    whole: bool

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
            self._compacted(found["count"], here, there)
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

    def _compacted(self, count: str, here: Blocks, there: Blocks) -> None:
        """Active states move side by side; those that have converged, or have nothing left to do, are results."""
        b, at = self.b, self._layout
        going = b.offset("%frame", at.going)

        def done(block: str) -> str:
            goes = self._goes(self._block(here, block), self._block(there, block))
            b.store(b.number(goes), b.offset(going, b.let(f"mul i64 {block}, {at.block}")))
            return b.number(b.negate(goes))

        blocks = block_count(b, count)
        lanes_done = b.let(f"fptosi double {b.reduced(b.summed(blocks, 1, done))} to i64")
        look, every, leave, stay = map(b.label, ("look", "every", "leave", "stay"))
        b.fork(b.let(f"icmp sgt i64 {lanes_done}, 0"), look, stay)
        b.begin(look)
        home = b.let(f"icmp eq i64 {count}, %count")
        all_done = b.let(f"icmp eq i64 {lanes_done}, {b.let(f'mul i64 {blocks}, {b.lanes}')}")
        b.fork(b.let(f"and i1 {home}, {all_done}"), every, leave)
        b.begin(every)  # as states do that are alike
        self._all_are_results(there)
        b.store("0", "%frame", "i64")
        b.jump(stay)
        b.begin(leave)
        rest, over = self._partitioned(count, (going, at.block))
        self._return(home, over, blocks, there)
        self._fill(count, rest, there)
        b.jump(stay)
        b.begin(stay)

    def _return(self, home: str, done: str, blocks: str, there: Blocks) -> None:
        """States that are done become results: all states at once, for now, where they are at `home`, where they came
        from, and many are done."""
        b = self.b
        many = b.let(f"and i1 {home}, {b.let(f'icmp sge i64 {done}, {blocks}')}")
        together, each, on = b.label("together"), b.label("each"), b.label("on")
        b.fork(many, together, each)
        b.begin(together)
        self._all_are_results(there)
        b.jump(on)
        b.begin(each)
        self._put_back(done, b.offset("%frame", self._layout.done_list), there)
        b.jump(on)
        b.begin(on)

    def _all_are_results(self, states: Blocks) -> None:
        """States that lie where they came from."""
        arrays = handed([states, self._own("result")])
        self.b.line(f"call void @{copied(self.b.module)}(i64 %count, i64 %state{arrays})")

    def _goes(self, before: str, after: str) -> str:
        """Which lanes go on."""
        b, settle = self.b, self.b.splat("%settle")

        def at(base: str, number: str) -> str:
            return b.load(b.offset(base, b.let(f"mul i64 {number}, {self._layout.block}")))

        def moved(number: str) -> str:
            return b.compare("ogt", b.abs(b.sub(at(after, number), at(before, number))), settle)

        if self.whole:
            return b.compare("ogt", b.summed("%state", 1, lambda number: b.number(moved(number))), 0.0)
        return b.logic("and", b.compare("one", at(after, "%left"), 0.0), moved("%left"))

    def _put_back(self, count: str, listed: str, states: Blocks) -> None:
        """The states of the first `count` lanes of a list become the results in the lanes where they came from."""
        b, function = self.b, returned(self.b.module)
        lists = f"ptr {listed}, ptr {b.offset('%frame', self._layout.origins)}"
        arrays = handed([states, self._own("result")])
        b.line(f"call void @{function}(i64 {count}, {lists}, i64 %state{arrays})")
