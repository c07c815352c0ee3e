"""Loops of solvers over several blocks of states: lanes that are done make room for others.

Before the first step, and after every one, the last lanes move to where others have nothing left to do, so that the
states that go on lie side by side: a step is taken for as few blocks as hold them. The loop moves the lanes of its own
start and constants, which nobody reads after it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from myoquat.kernels import slots
from myoquat.kernels.compaction import (
    BLOCKS,
    block_count,
    copied,
    entered,
    filled,
    handed,
    padded,
    places,
    returned,
    told_apart,
)
from myoquat.kernels.driver import Port
from myoquat.kernels.ir import Builder

__all__ = ["PAYS", "CompactLoop", "room"]

PAYS = 8  # operations of a step for each number of its state and constants, from where moving lanes pays
_ALIGNED = 64  # bytes

Blocks: TypeAlias = tuple[str, str | int]  # of an array: the address of the first, and the bytes from block to block


def room(lanes: int, state: int, size: int) -> int:
    """Bytes of the frame of a loop over states of so many numbers, whose step's frame takes `size`."""
    return _Room(lanes, state).step + size


@dataclass(frozen=True)
class _Room:
    """Where the frame of a loop holds what, in bytes: how many states are left; where each came from; whether it goes
    on; lists of those that do and of the others; the states after every other step; behind them the step's frame."""

    lanes: int
    state: int

    @property
    def block(self) -> int:
        """Bytes of a number of a block."""
        return 8 * self.lanes

    @property
    def origins(self) -> int:
        return _ALIGNED

    @property
    def going(self) -> int:
        return self.origins + BLOCKS * self.block

    @property
    def going_list(self) -> int:
        return self.going + BLOCKS * self.block

    @property
    def done_list(self) -> int:
        return self.going_list + (BLOCKS + 1) * self.block

    @property
    def states(self) -> int:
        return self.done_list + (BLOCKS + 1) * self.block

    @property
    def step(self) -> int:
        return _ALIGNED * -(-(self.states + BLOCKS * self.stride) // _ALIGNED)

    @property
    def stride(self) -> int:
        """Bytes from block to block of the states."""
        return self.block * self.state


@dataclass(frozen=True)
class CompactLoop:
    """A loop that is being written into `b`, a function (ptr %frame, i64 %count, ptr %own, i64 %own_stride): `lengths`
    of its arrays, one after the other at %own; the name of its step, and whether that takes several blocks itself;
    how often it is taken, by how much a state that is not settled moves, and which number says what is left."""

    b: Builder
    lengths: Mapping[str, int]
    step: str
    several: bool
    count: int
    settle: float
    left: int | None

    def write(self) -> None:
        """The whole function."""
        b = self.b
        b.store("%count", "%frame", "i64")
        some, ready, done = (b.label(stem) for stem in ("some", "ready", "done"))
        origins = b.offset("%frame", self._room.origins)
        handed_on = f"i64 %count, ptr {origins}{handed([self._own('where')])}"
        b.fork(b.let(f"call i1 @{entered(b.module)}({handed_on})"), ready, some)
        b.begin(some)
        self._begun_by_some()
        if self.count == 1:
            self._step_once_by_some()
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
    def _room(self) -> _Room:
        return _Room(self.b.lanes, self.lengths["start"])

    def _own(self, name: str) -> Blocks:
        """The first block of an own array, and the bytes from block to block."""
        first = 0
        for key, length in self.lengths.items():
            if key == name:
                return self.b.slot("%own", first), "%own_stride"
            first += length
        raise KeyError(name)

    def _states(self) -> Blocks:
        """The states after every other step."""
        return self.b.offset("%frame", self._room.states), self._room.stride

    def _block(self, array: Blocks, number: str) -> str:
        """Address of a block of an array."""
        return self.b.offset(array[0], self.b.let(f"mul i64 {number}, {array[1]}"))

    # ---- who runs -------------------------------------------------------------------------------------------

    def _begun_by_some(self) -> None:
        """Those that take no step keep their start, and make room for the others."""
        b, start, given = self.b, self._own("start"), self._own("given")
        self._all_are_results(start)
        count, _ = self._told_apart("%count", self._own("where"))
        self._fill("%count", count, start)
        for array, length in ((start, self.lengths["start"]), (given, self.lengths["given"])):
            b.line(f"call void @{padded(b.module)}(i64 {count}, i64 {length}{handed([array])})")

    def _told_apart(self, count: str, flags: Blocks) -> tuple[str, str]:
        """How many of so many states go on, and how many are done."""
        b = self.b
        rest = b.let(f"call i64 @{told_apart(b.module)}(i64 {count}, {self._lists()}{handed([flags])})")
        return rest, b.let(f"sub i64 {count}, {rest}")

    def _lists(self) -> str:
        """Of the places of states that go on, and that are done."""
        b, at = self.b, self._room
        return f"ptr {b.offset('%frame', at.going_list)}, ptr {b.offset('%frame', at.done_list)}"

    def _fill(self, count: str, rest: str, states: Blocks) -> None:
        """Of so many states those that go on come first."""
        b, at = self.b, self._room
        arrays = [(states, self.lengths["start"]), (self._own("given"), self.lengths["given"])]
        arrays += [((b.offset("%frame", at.origins), at.block), 1)]
        done, lists = b.let(f"sub i64 {count}, {rest}"), self._lists()
        for array, length in arrays:
            b.line(f"call void @{filled(b.module)}(i64 {rest}, i64 {done}, {lists}, i64 {length}{handed([array])})")
        b.store(rest, "%frame", "i64")

    # ---- steps ----------------------------------------------------------------------------------------------

    def _step_once_by_some(self) -> None:
        """One step of those that take it."""
        count = self.b.load("%frame", "i64")
        self._taken(count, self._own("start"), self._states())
        self._put_back(count, places(self.b.module), self._states())

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
            return b.let(f"and i1 {some}, {b.let(f'icmp slt i64 {turn}, {self.count}')}")

        with b.going(go):
            here, there = ((found[key], found[f"{key}_stride"]) for key in ("here", "there"))
            self._taken(found["count"], here, there)
            self._made_room(found["count"], here, there)
        self._put_back(found["count"], places(b.module), (found["here"], found["here_stride"]))

    def _taken(self, count: str, here: Blocks, there: Blocks) -> None:
        """A step of so many states, from one array to another."""
        b, arrays = self.b, [here, self._own("given"), there]
        frame = b.offset("%frame", self._room.step)
        if self.several:
            b.line(f"call void @{self.step}(ptr {frame}, i64 {count}{handed(arrays)})")
            return
        with b.loop(0, block_count(b, count)) as block:
            pointers = ", ".join(f"ptr {self._block(array, block)}" for array in arrays)
            b.line(f"call void @{self.step}(ptr {frame}, {pointers})")

    def _made_room(self, count: str, here: Blocks, there: Blocks) -> None:
        """States that have moved no further, or have nothing left to do, make room for the last ones."""
        b, at = self.b, self._room
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
        rest, over = self._told_apart(count, (going, at.block))
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
        self._put_back(done, b.offset("%frame", self._room.done_list), there)
        b.jump(on)
        b.begin(on)

    def _all_are_results(self, states: Blocks) -> None:
        """States that lie where they came from."""
        b, length = self.b, self.lengths["start"]
        arrays = handed([states, self._own("result")])
        b.line(f"call void @{copied(b.module)}(i64 %count, i64 {length}{arrays})")

    def _goes(self, before: str, after: str) -> str:
        """Which lanes go on."""
        b, length = self.b, self.lengths["start"]

        def moved(old: str, new: str) -> str:
            return b.compare("ogt", b.abs(b.sub(b.load(new), b.load(old))), self.settle)

        if self.left is None:
            port = Port(0, length)
            term = lambda at: b.number(moved(at(port, before), at(port, after)))  # noqa: E731
            return b.compare("ogt", slots.summed(b, length, term), 0.0)
        old, new = (b.slot(base, self.left % length) for base in (before, after))
        return b.logic("and", b.compare("one", b.load(new), 0.0), moved(old, new))

    def _put_back(self, count: str, places: str, states: Blocks) -> None:
        """States at so many places of a list are the results where they came from."""
        b, function = self.b, returned(self.b.module)
        lists = f"ptr {places}, ptr {b.offset('%frame', self._room.origins)}"
        arrays = handed([states, self._own("result")])
        b.line(f"call void @{function}(i64 {count}, {lists}, i64 {self.lengths['start']}{arrays})")
