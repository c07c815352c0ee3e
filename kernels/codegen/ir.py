"""LLVM assembly, written as text: vectors of W doubles, one lane per state.

A `Builder` writes one function; a `Module` collects functions and the intrinsics they use. Values are register names
(str); a Python float stands for that constant in every lane. No fast-math flags anywhere: one lane and eight give the
same bits, and NaN stays NaN.
"""

import re
import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import numpy as np

from myoquat.core import BoundedTable, digest

T = TypeVar("T")

METADATA = "!0 = !{}"  # of loads of what nothing writes
_TYPES = {"F": "double", "I": "i64", "B": "i1"}  # of lanes: their letter in the name of a type
ALIASES = "\n".join(f"%{k}{n} = type <{n} x {name}>" for n in (2, 4, 8) for k, name in _TYPES.items())

UNIT_CHARACTERS = 200_000  # characters of a unit, about: fewer than a thousand operations
_UNITS_BEFORE_GROWTH = 4  # units after which they grow: each takes its time when the kernel is loaded from the cache
_SYMBOL = re.compile(r"@([\w.]+)")


class Units:
    """Takes the functions of a module as they are written, and gives them away in units, the same ones every time.

    A unit is assembly that can be compiled alone. It has functions, the constants to which they refer, and declarations
    of the functions that are defined elsewhere (`know`). `give` takes a unit, and whether it is `quick`: without
    optimization by LLVM.
    """

    def __init__(self, give: Callable[[str, bool], None]) -> None:
        self._give = give
        self._known: dict[str, str] = {}
        self._waiting = {quick: _Waiting() for quick in (False, True)}
        self._given = 0

    def know(self, name: str, line: str) -> None:
        """How a unit that does not define @name comes to know it."""
        self._known[name] = line

    def define(self, name: str, declaration: str, text: str, shared: bool = False, quick: bool = False) -> None:
        """One more function, and how units know it in which it does not stand. A `shared` one is a unit by itself."""
        self._known[name] = declaration
        unit = _Waiting() if shared else self._waiting[quick]
        unit.add(name, text)
        full = unit.size >= UNIT_CHARACTERS * max(1, self._given // _UNITS_BEFORE_GROWTH)
        if shared:
            self._give_away(unit, quick)
        elif full and unit.wanted <= self._known.keys():
            self._finish(quick)

    def finish(self) -> None:
        """Give away what is there, if anything."""
        for quick in self._waiting:
            self._finish(quick)

    def _finish(self, quick: bool) -> None:
        unit, self._waiting[quick] = self._waiting[quick], _Waiting()
        if unit.functions:
            self._give_away(unit, quick)
            self._given += 1

    def _give_away(self, unit: "_Waiting", quick: bool) -> None:
        """Give a unit away: functions, and how it knows what else they refer to."""
        elsewhere = sorted(name for name in unit.wanted if name not in unit.functions)
        known = [self._known[name] for name in elsewhere if name in self._known]
        self._give("\n".join([ALIASES, *known, *unit.functions.values(), METADATA, ""]), quick)


class _Waiting:
    """Functions that become a unit, the names to which they refer, and how many characters they have."""

    def __init__(self) -> None:
        self.functions: dict[str, str] = {}
        self.wanted: set[str] = set()
        self.size = 0

    def add(self, name: str, text: str) -> None:
        """One more function."""
        self.functions[name] = text
        self.wanted.update(_SYMBOL.findall(text))
        self.size += len(text)


# ---- modules and builders ----------------------------------------------------------------------------------


Value = str | float
_SPLITTER = 134217729.0  # 2^27 + 1: Dekker's constant, halves the digits of a double


def double(x: float) -> str:
    """A constant as LLVM reads it exactly: its 64 bits."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"


_SECTIONS = ("declarations", "constants", "functions")  # of the text of a module


class _Entry(NamedTuple):
    """What a module holds under a name: how units know it in which it does not stand, and its text. A `shared` function
    is a unit by itself; a `quick` one is not worth optimizing."""

    section: str
    name: str
    known: str
    text: str
    shared: bool = False
    quick: bool = False


class _Part(NamedTuple):
    """What is written once: its entries, in order, with those of all that it needs; and what `write` returned."""

    entries: dict[_Entry, None]
    result: Any


_MAX_KEPT_CHARACTERS = 2**26  # parts within parts are counted again
_written: BoundedTable[_Part] = BoundedTable(
    _MAX_KEPT_CHARACTERS, lambda part: sum(len(entry.text) for entry in part.entries)
)


class Module:
    """An LLVM module for W lanes; `fma` says whether the processor has a fused multiply-add.

    width   lanes of the processor's registers; a module for one lane packs elementary functions and rows into them
    blocks  how many blocks of W states go through the kernel together; see `compaction`
    units   receives the functions as they are written
    """

    def __init__(self, lanes: int, fma: bool, width: int = 1, units: Units | None = None) -> None:
        self.lanes = lanes
        self.blocks = 1
        self.fma = fma
        self.width = width
        self._held: dict[str, dict[str, str]] = {section: {} for section in (*_SECTIONS, "expected")}
        self._units = units
        self._parts: dict[str, _Part] = {}
        self._open: dict[_Entry, None] = {}  # the entries of the part that is being written

    def builder(self, lanes: int | None = None) -> "Builder":
        """A builder for one more function of this module, of its own lanes unless others are named."""
        return Builder(self, self.lanes if lanes is None else lanes)

    def _add(self, entry: _Entry) -> None:
        """Hold one more entry, unless it is there."""
        self._open[entry] = None
        held = self._held[entry.section]
        if entry.name in held:
            return
        held[entry.name] = entry.text
        if self._units and entry.section == "functions":
            self._units.define(entry.name, entry.known, entry.text, entry.shared, entry.quick)
        elif self._units:
            self._units.know(entry.name, entry.known)

    def declare(self, result: str, name: str, arguments: Iterable[str]) -> None:
        """Name a function from outside: an intrinsic or one of libm."""
        line = f"declare {result} @{name}({', '.join(arguments)})"
        self._add(_Entry("declarations", name, line, line))

    def define(
        self,
        name: str,
        result: str,
        parameters: str,
        body: "Builder",
        facts: str = "",
        shared: bool = False,
        quick: bool = False,
    ) -> None:
        """Add the function that `body` holds, with more attributes if need be. The body ends with its own `ret`.
        A `shared` function is the same in all kernels: a unit of its own, which a process compiles once. A `quick` one
        is not worth optimizing."""
        head = _head(name, result, parameters, facts)
        text = "\n".join([f"define {head} {{", *body.lines, "}"])
        self._add(_Entry("functions", name, f"declare {head}", text, shared, quick))

    def expect(self, name: str, parameters: str = "ptr %frame") -> None:
        """A function without a result that is defined later."""
        self._add(_Entry("expected", name, f"declare {_head(name, 'void', parameters)}", ""))

    def once(self, name: str, write: Callable[[], T]) -> T:
        """What `write` returns, which defines the function @name and all that it needs, at its first use.

        The name says what the function depends on beside the lanes and the processor: a process writes it for the first
        kernel, and copies it into others.
        """
        part = self._parts.get(name)
        if part is None:
            key = name, self.lanes, self.blocks, self.fma, self.width
            part = self._parts[name] = _written.get(key, lambda: self._wrote(write))
            for entry in part.entries:
                self._add(entry)
        self._open |= part.entries  # of the part around it too
        result: T = part.result
        return result

    def _wrote(self, write: Callable[[], Any]) -> _Part:
        around, self._open = self._open, {}
        part = _Part(self._open, write())
        self._open = around
        return part

    def constants(self, values: np.ndarray) -> str:
        """Name of a constant array of float64 or int64 numbers, in C order, which says what they are.

        Its bytes are one word of the assembly, in this machine's order: a word for every number takes long to read.
        """
        data = np.ascontiguousarray(values).tobytes()
        name = f"numbers_{digest(data)[:16]}"
        written = "\\" + data.hex("\\") if data else ""
        line = f'@{name} = internal constant [{len(data)} x i8] c"{written}", align 64'
        self._add(_Entry("constants", name, line, line))
        return name

    def text(self) -> str:
        """The whole module as assembly."""
        return "\n".join([ALIASES, *("\n".join(self._held[x].values()) for x in _SECTIONS), METADATA, ""])


def _head(name: str, result: str, parameters: str, facts: str = "") -> str:
    """A function that other object files may take the address of: a hidden one would have to lie within 2 GiB."""
    return f"{result} @{name}({parameters}) noinline nounwind alignstack(64) {facts}"


class Builder:
    """Writes one function, instruction by instruction, in single-assignment form.

    Types: `T` float64 lanes, `I` int64 lanes, `B` truth lanes; with one lane they are plain scalars. Registers have
    numbers for names, and types short ones: LLVM reads them in 60 % of the time.
    """

    def __init__(self, module: Module, lanes: int) -> None:
        self.module = module
        self.lanes = lanes
        self.T, self.I, self.B = (name if lanes == 1 else f"%{k}{lanes}" for k, name in _TYPES.items())
        self.lines: list[str] = []
        self.block = "entry"
        self._count = 0
        self._suffix = "f64" if lanes == 1 else f"v{lanes}f64"
        self._intrinsics: dict[str, str] = {}  # the beginning of a call of each that is declared, by name
        self.line("entry:")

    # ---- text -----------------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        """One line as it is."""
        self.lines.append(text)

    def let(self, expression: str) -> str:
        """A new register holding `expression`."""
        self._count += 1
        name = f"%{self._count}"
        self.lines.append(f"{name} = {expression}")
        return name

    def label(self, stem: str) -> str:
        """A fresh label."""
        self._count += 1
        return f"{stem}{self._count}"

    def begin(self, label: str) -> None:
        """Start the block `label`."""
        self.lines.append(f"{label}:")
        self.block = label

    def jump(self, label: str) -> None:
        """End the block: go to `label`."""
        self.line(f"br label %{label}")

    def fork(self, condition: str, yes: str, no: str) -> None:
        """End the block: go to `yes` or `no`; the condition is one i1."""
        self.line(f"br i1 {condition}, label %{yes}, label %{no}")

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """Code that runs where a condition, one i1, holds."""
        inside, after = self.label("when"), self.label("after")
        self.fork(condition, inside, after)
        self.begin(inside)
        yield
        self.jump(after)
        self.begin(after)

    # ---- float lanes ----------------------------------------------------------------------------------------

    def split(self, never_negative: str) -> None:
        """A new block of code, which LLVM joins with none: it would compute early what then waits long in memory. The
        condition, that an i64 is not negative, is one that it does not see through."""
        after, never = self.label("after"), self.label("never")
        self.fork(self.let(f"icmp sge i64 {never_negative}, 0"), after, never)
        self.begin(never)
        self.line("ret void")
        self.begin(after)

    def constant(self, x: float) -> str:
        """The same float in every lane."""
        return double(x) if self.lanes == 1 else f"splat (double {double(x)})"

    def _float(self, x: Value) -> str:
        return x if isinstance(x, str) else self.constant(float(x))

    def _binary(self, operation: str, a: Value, b: Value) -> str:
        a = a if type(a) is str else self.constant(float(a))
        b = b if type(b) is str else self.constant(float(b))
        return self.let(f"{operation} {self.T} {a}, {b}")

    def add(self, a: Value, b: Value) -> str:
        return self._binary("fadd", a, b)

    def sub(self, a: Value, b: Value) -> str:
        return self._binary("fsub", a, b)

    def mul(self, a: Value, b: Value) -> str:
        return self._binary("fmul", a, b)

    def div(self, a: Value, b: Value) -> str:
        return self._binary("fdiv", a, b)

    def neg(self, a: Value) -> str:
        return self.let(f"fneg {self.T} {self._float(a)}")

    def inv(self, a: Value) -> str:
        return self.div(1.0, a)

    def square(self, a: Value) -> str:
        return self.mul(a, a)

    def twice(self, a: Value) -> str:
        return self.add(a, a)

    def intrinsic(self, name: str, *arguments: Value) -> str:
        """An LLVM intrinsic on float lanes: sqrt, fabs, copysign, floor, ceil, fma."""
        begin = self._intrinsics.get(name)
        if begin is None:
            full = f"llvm.{name}.{self._suffix}"
            self.module.declare(self.T, full, [self.T] * len(arguments))
            begin = self._intrinsics[name] = f"call {self.T} @{full}({self.T} "
        listed = f", {self.T} ".join([a if type(a) is str else self.constant(float(a)) for a in arguments])
        return self.let(f"{begin}{listed})")

    def abs(self, a: Value) -> str:
        return self.intrinsic("fabs", a)

    def sqrt(self, a: Value) -> str:
        return self.intrinsic("sqrt", a)

    def copysign(self, magnitude: Value, sign: Value) -> str:
        return self.intrinsic("copysign", magnitude, sign)

    def fma(self, a: Value, b: Value, c: Value) -> str:
        """a b + c, rounded once where the processor can, else twice."""
        if self.module.fma:
            return self.intrinsic("fma", a, b, c)
        return self.add(self.mul(a, b), c)

    def fms(self, a: Value, b: Value, c: Value) -> str:
        """a b - c."""
        return self.fma(a, b, self.neg(c))

    def fnma(self, a: Value, b: Value, c: Value) -> str:
        """c - a b."""
        return self.fma(self.neg(a), b, c)

    def product_error(self, a: Value, b: Value, product: Value) -> str:
        """a b - product exactly, for product = a b rounded, without overflow or underflow on the way."""
        if self.module.fma:
            return self.intrinsic("fma", a, b, self.neg(product))
        a1, a2 = self._halves(a)
        b1, b2 = self._halves(b)
        error = self.sub(self.mul(a1, b1), product)
        error = self.add(self.add(error, self.mul(a1, b2)), self.mul(a2, b1))
        return self.add(error, self.mul(a2, b2))

    def residual(self, c: Value, a: Value, b: Value) -> str:
        """c - a b without rounding a b, for c near a b."""
        if self.module.fma:
            return self.intrinsic("fma", self.neg(a), b, c)
        product = self.mul(a, b)
        return self.sub(self.sub(c, product), self.product_error(a, b, product))

    def _halves(self, a: Value) -> tuple[str, str]:
        scaled = self.mul(a, _SPLITTER)
        high = self.sub(scaled, self.sub(scaled, a))
        return high, self.sub(a, high)

    def compare(self, predicate: str, a: Value, b: Value) -> str:
        """Truth lanes of an LLVM comparison: oeq, olt, ogt, uno, ..."""
        return self.let(f"fcmp {predicate} {self.T} {self._float(a)}, {self._float(b)}")

    def select(self, condition: str, a: Value, b: Value) -> str:
        return self.let(f"select {self.B} {condition}, {self.T} {self._float(a)}, {self.T} {self._float(b)}")

    def only_if(self, condition: str, a: Value) -> str:
        """a where the condition holds, 0 elsewhere."""
        return self.select(condition, a, 0.0)

    def extreme(self, predicate: str, a: str, b: str) -> str:
        """The smaller (olt) or the larger (ogt) of two; NaN if one is NaN, as np.minimum and np.maximum."""
        chosen = self.select(self.compare(predicate, a, b), a, b)
        return self.select(self.compare("uno", a, a), a, chosen)

    def sign(self, a: str) -> str:
        """-1, 1, or the number itself, a zero or NaN."""
        negative = self.select(self.compare("olt", a, 0.0), -1.0, a)
        return self.select(self.compare("ogt", a, 0.0), 1.0, negative)

    def polynomial(self, x: Value, coefficients: list[float]) -> Value:
        """sum of coefficients[k] x^k by Horner's rule."""
        result: Value = coefficients[-1]
        for c in reversed(coefficients[:-1]):
            result = self.fma(result, x, c)
        return result

    def polynomial_wide(self, x: Value, coefficients: list[float]) -> Value:
        """The same by Estrin's scheme: shorter chains, for long polynomials."""
        terms: list[Value] = list(coefficients)
        while len(terms) > 1:
            pairs: list[Value] = [self.fma(terms[k + 1], x, terms[k]) for k in range(0, len(terms) - 1, 2)]
            if len(terms) % 2:
                pairs.append(terms[-1])
            terms = pairs
            if len(terms) > 1:
                x = self.mul(x, x)
        return terms[0]

    # ---- bits and truth -------------------------------------------------------------------------------------

    def bits(self, a: Value) -> str:
        return self.let(f"bitcast {self.T} {self._float(a)} to {self.I}")

    def float_of(self, bits: str) -> str:
        return self.let(f"bitcast {self.I} {bits} to {self.T}")

    def integer(self, operation: str, a: str | int, b: str | int) -> str:
        """An operation on int64 lanes: add, sub, and, xor, shl, lshr, ashr."""
        return self.let(f"{operation} {self.I} {self._integer(a)}, {self._integer(b)}")

    def integer_compare(self, predicate: str, a: str | int, b: str | int) -> str:
        return self.let(f"icmp {predicate} {self.I} {self._integer(a)}, {self._integer(b)}")

    def _integer(self, x: str | int) -> str:
        if isinstance(x, str):
            return x
        return str(x) if self.lanes == 1 else f"splat (i64 {x})"

    def logic(self, operation: str, a: str, b: str) -> str:
        """and, or, xor of truth lanes."""
        return self.let(f"{operation} {self.B} {a}, {b}")

    def negate(self, a: str) -> str:
        return self.logic("xor", a, "true" if self.lanes == 1 else "splat (i1 true)")

    def truth(self, a: Value) -> str:
        """Lanes that are not zero (NaN counts as true, as in C)."""
        return self.compare("une", a, 0.0)

    def number(self, truth: str) -> str:
        """Truth lanes as 0.0 and 1.0."""
        return self.let(f"uitofp {self.B} {truth} to {self.T}")

    def any(self, truth: str) -> str:
        """One i1: true if it is true in a lane."""
        if self.lanes == 1:
            return truth
        return self.let(f"icmp ne i64 {self.bitmask(truth)}, 0")

    def bitmask(self, truth: str) -> str:
        """One i64 with a bit for every lane, the first one lowest."""
        return self.let(f"zext i{self.lanes} {self.let(f'bitcast {self.B} {truth} to i{self.lanes}')} to i64")

    # ---- lanes and memory -----------------------------------------------------------------------------------

    def splat(self, scalar: str, llvm_type: str = "double") -> str:
        """A scalar register, double or i64, in every lane."""
        if self.lanes == 1:
            return scalar
        wide = f"<{self.lanes} x {llvm_type}>"
        first = self.let(f"insertelement {wide} poison, {llvm_type} {scalar}, i64 0")
        return self.let(f"shufflevector {wide} {first}, {wide} poison, <{self.lanes} x i32> zeroinitializer")

    def numbered(self) -> str:
        """Constant int64 lanes, each its number."""
        return "0" if self.lanes == 1 else f"<{', '.join(f'i64 {k}' for k in range(self.lanes))}>"

    def lane(self, a: str, index: int) -> str:
        return a if self.lanes == 1 else self.let(f"extractelement {self.T} {a}, i64 {index}")

    def with_lane(self, a: str, scalar: str, index: int) -> str:
        if self.lanes == 1:
            return scalar
        return self.let(f"insertelement {self.T} {a}, double {scalar}, i64 {index}")

    def offset(self, pointer: str, size: int | str) -> str:
        """The pointer moved on by bytes."""
        return self.let(f"getelementptr i8, ptr {pointer}, i64 {size}") if size else pointer

    def slot(self, frame: str, index: int) -> str:
        """Address of slot `index` (W doubles) of a frame."""
        return self.offset(frame, index * self.lanes * 8)

    def load(self, address: str, llvm_type: str | None = None) -> str:
        return self.let(f"load {llvm_type or self.T}, ptr {address}, align 8")

    def load_unchanging(self, frame: str, index: int) -> str:
        """Slot `index` of a frame, which nothing in this function writes."""
        address = self.slot(frame, index)
        return self.let(f"load {self.T}, ptr {address}, align 8, !invariant.load !0")

    def store(self, a: Value, address: str, llvm_type: str | None = None) -> None:
        self.line(f"store {llvm_type or self.T} {self._float(a)}, ptr {address}, align 8")

    @contextmanager
    def loop(self, first: str | int, last: str | int, step: int = 1) -> Iterator[str]:
        """The i64 counter of a loop: first, first + step, ... below last; the body is not entered if first >= last."""
        with self.going(lambda counter: self.let(f"icmp slt i64 {counter}, {last}"), first, step) as counter:
            yield counter

    def count(self, truth: str) -> str:
        """One i64: the number of lanes in which something is true."""
        self.module.declare("i64", "llvm.ctpop.i64", ["i64"])
        return self.let(f"call i64 @llvm.ctpop.i64(i64 {self.bitmask(truth)})")

    @contextmanager
    def lanes_where(self, truth: str) -> Iterator[str]:
        """The i64 number of each lane in which something is true, in a loop."""
        mask = self.bitmask(truth)

        def at_or_after(lane: str) -> str:
            left = self.let(f"and i64 {mask}, {self.let(f'shl i64 -1, {lane}')}")
            self.module.declare("i64", "llvm.cttz.i64", ["i64", "i1"])
            return self.let(f"call i64 @llvm.cttz.i64(i64 {left}, i1 false)")

        go = lambda lane: self.let(f"icmp ult i64 {lane}, {self.lanes}")  # noqa: E731
        with self.going(go, at_or_after("0"), lambda lane: at_or_after(self.let(f"add i64 {lane}, 1"))) as lane:
            yield lane

    @contextmanager
    def going(
        self, go: Callable[[str], str], first: str | int = 0, step: int | Callable[[str], str] = 1
    ) -> Iterator[str]:
        """The i64 counter first, first + step, ... of a loop that is left as soon as go(counter), one i1, is false.
        A `step` may give the next from the last. What `go` has computed stays known behind the loop."""
        head, body, end = (self.label(stem) for stem in ("head", "body", "end"))
        counter = f"%i_{head}"
        before = self.block
        self.jump(head)
        self.begin(head)
        at = len(self.lines)
        self.fork(go(counter), body, end)
        self.begin(body)
        yield counter
        successor = step(counter) if callable(step) else self.let(f"add i64 {counter}, {step}")
        self.lines.insert(at, f"{counter} = phi i64 [{first}, %{before}], [{successor}, %{self.block}]")
        self.jump(head)
        self.begin(end)
