"""Between the caller's arrays, one row per state, and the frame, one slot of W lanes per component.

Blocks of C x W numbers (C the largest power of two that fits) go through registers: load rows, transpose by shuffles,
store slots. Where C does not divide the row's length the rest is a narrower block if it is a power of two; else the
last block overlaps the one before it and writes the same values again. Reading asks the memory for later rows, so that
they are on their way. In the last block of states, lanes beyond the end read and write the last state's row: they hold
the same state and hence the same results, so no lane ever works on invented numbers and nothing needs a mask.
"""

from myoquat.kernels.codegen.ir import Builder, Module

__all__ = ["move_packed", "read_rows", "write_rows"]

_MAX_UNROLLED_BLOCKS = 4  # column blocks beyond which they are walked in a loop
_CACHE_LINE_BYTES = 64  # bytes of memory that come together
_PREFETCHED_ROWS = 64  # rows between the one that is read and the one that is asked for


def read_rows(module: Module, length: int) -> str:
    """Name of `void (ptr rows, i64 stride, i64 first, i64 last, ptr slots)`: W rows from `first` into `length` slots.

    Row k begins at rows + k stride (bytes); rows beyond `last` are taken as `last`.
    """
    name = f"read_rows_{length}"
    return module.once(name, lambda: _define(module, name, length, reading=True))


def write_rows(module: Module, length: int) -> str:
    """Name of the way back, with the same arguments."""
    name = f"write_rows_{length}"
    return module.once(name, lambda: _define(module, name, length, reading=False))


def move_packed(b: Builder, rows: str, first: str, slots: str, length: int, reading: bool) -> None:
    """Inline: W rows that lie one after the other, from row `first` on, into slots or back."""
    begin = b.offset(rows, b.let(f"mul i64 {first}, {8 * length}"))
    if length == 1:
        source, target = (begin, slots) if reading else (slots, begin)
        b.store(b.load(source), target)
        return
    addresses = [b.offset(begin, 8 * length * lane) for lane in range(b.lanes)]
    _Transfer(b, length, slots, packed=True).move(addresses, reading)


def _define(module: Module, name: str, length: int, reading: bool) -> None:
    """One of the two functions."""
    b = module.builder()
    _Transfer(b, length, "%slots").move(_row_addresses(b), reading)
    b.line("ret void")
    module.define(name, "void", "ptr %rows, i64 %stride, i64 %first, i64 %last, ptr %slots", b)


def _row_addresses(b: Builder) -> list[str]:
    """Rows `stride` apart; those beyond the last are the last."""
    addresses = []
    for lane in range(b.lanes):
        row = b.let(f"add i64 %first, {lane}")
        inside = b.let(f"icmp slt i64 {row}, %last")
        row = b.let(f"select i1 {inside}, i64 {row}, i64 %last")
        addresses.append(b.offset("%rows", b.let(f"mul i64 {row}, %stride")))
    return addresses


class _Transfer:
    """Moves W rows of `length` numbers between their addresses and slots."""

    def __init__(self, b: Builder, length: int, slots: str, packed: bool = False) -> None:
        self.b = b
        self.length = length
        self.slots = slots
        self.packed = packed
        self.width = 1
        while 2 * self.width <= min(length, b.lanes):
            self.width *= 2

    def move(self, rows: list[str], reading: bool) -> None:
        """All blocks of columns."""
        b, width = self.b, self.width
        move = self._read if reading else self._write
        blocks = self.length // width
        if blocks <= _MAX_UNROLLED_BLOCKS:
            for k in range(blocks):
                move(rows, str(k * width))
        else:
            with b.loop(0, blocks * width, width) as column:
                move(rows, column)
        rest = self.length - blocks * width
        if rest:
            if rest & (rest - 1) == 0:
                self.width = rest
            move(rows, str(self.length - self.width))
        self.width = width

    def _slot(self, column: str, k: int) -> str:
        """Address of slot column + k."""
        first = self.b.offset(self.slots, self.b.let(f"mul i64 {column}, {8 * self.b.lanes}"))
        return self.b.slot(first, k)

    def _read(self, rows: list[str], column: str) -> None:
        b, width = self.b, self.width
        start = b.let(f"mul i64 {column}, 8")
        llvm_type = _vector(width)
        addresses = [b.offset(row, start) for row in rows]
        loaded = [b.load(address, llvm_type) for address in addresses]
        self._ask(addresses, rows[0], column)
        groups = [self._joined(loaded[k::width]) for k in range(width)]
        for k, value in enumerate(self._transposed(groups)):
            b.store(value, self._slot(column, k))

    def _ask(self, addresses: list[str], first: str, column: str) -> None:
        """Ask for later rows: of packed ones each line of memory once, else every row."""
        b = self.b
        if not self.packed:
            ahead = b.let(f"mul i64 %stride, {_PREFETCHED_ROWS}")
            for address in addresses:
                b.prefetch(b.offset(address, ahead))
            return
        lines = b.offset(first, b.let(f"mul i64 {column}, {8 * b.lanes}"))  # W columns are W rows' share of the lines
        for k in range(0, 8 * b.lanes * self.width, _CACHE_LINE_BYTES):
            b.prefetch(b.offset(lines, 8 * self.length * _PREFETCHED_ROWS + k))

    def _write(self, rows: list[str], column: str) -> None:
        b, width = self.b, self.width
        start = b.let(f"mul i64 {column}, 8")
        llvm_type = _vector(width)
        groups = self._transposed([b.load(self._slot(column, k)) for k in range(width)])
        for k, group in enumerate(groups):
            for position, lane in enumerate(range(k, b.lanes, width)):
                piece = self._shuffle(group, group, b.lanes, range(position * width, (position + 1) * width))
                b.store(piece, b.offset(rows[lane], start), llvm_type)

    def _joined(self, pieces: list[str]) -> str:
        """Short vectors one after the other in one of W lanes."""
        size = self.width
        while len(pieces) > 1:
            pieces = [
                self._shuffle(a, b, size, range(2 * size)) for a, b in zip(pieces[::2], pieces[1::2], strict=True)
            ]
            size *= 2
        return pieces[0]

    def _transposed(self, v: list[str]) -> list[str]:
        """In every segment of C lanes, the C x C block that C registers hold, transposed."""
        lanes, width = self.b.lanes, self.width
        distance = width // 2
        while distance:
            # Element k of a pair (a, b): the half of a segment below `distance` comes from a, the other from b.
            upper = [bool(k & distance) for k in range(lanes)]
            low = [lanes + k - distance if up else k for k, up in enumerate(upper)]
            high = [lanes + k if up else k + distance for k, up in enumerate(upper)]
            v = self._exchanged(v, distance, low, high)
            distance //= 2
        return v

    def _exchanged(self, v: list[str], distance: int, low: list[int], high: list[int]) -> list[str]:
        result = list(v)
        for k in range(len(v)):
            if not k & distance:
                result[k] = self._shuffle(v[k], v[k + distance], self.b.lanes, low)
                result[k + distance] = self._shuffle(v[k], v[k + distance], self.b.lanes, high)
        return result

    def _shuffle(self, a: str, b: str, size: int, order: "range | list[int]") -> str:
        """Elements of a (0 ... size-1) and b (size ...) in the given order."""
        if size == 1 and len(order) == 1:
            return a
        llvm_type = _vector(size)
        if size == 1:  # scalars become a vector
            first = self.b.let(f"insertelement <2 x double> poison, double {a}, i64 0")
            return self.b.let(f"insertelement <2 x double> {first}, double {b}, i64 1")
        if len(order) == 1:
            return self.b.let(f"extractelement {llvm_type} {a}, i64 {order[0]}")
        mask = ", ".join(f"i32 {k}" for k in order)
        return self.b.let(f"shufflevector {llvm_type} {a}, {llvm_type} {b}, <{len(order)} x i32> <{mask}>")


def _vector(size: int) -> str:
    return "double" if size == 1 else f"<{size} x double>"
