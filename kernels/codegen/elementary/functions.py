"""Elementary functions of a kernel: own vector code where it matters, the C library lane by lane elsewhere.

Every function becomes one internal function of the module, written at its first use. A lane's bits therefore depend
neither on the caller nor on the number of lanes.
"""

from collections.abc import Callable

from myoquat.kernels.codegen.elementary import exponential, trigonometric
from myoquat.kernels.codegen.ir import Builder
from myoquat.kernels.symbolic.operations import OPERATIONS

__all__ = ["ARITY", "PACKABLE", "call", "call_packed", "call_sincos"]

_VECTOR: dict[str, Callable[..., str]] = {
    **trigonometric.FUNCTIONS,
    "exp": exponential.exp,
    "expm1": exponential.expm1,
    "log": exponential.log,
    "log1p": exponential.log1p,
    "sinh": exponential.sinh,
    "cosh": exponential.cosh,
    "tanh": exponential.tanh,
}
ARITY: dict[str, int] = {row.name: row.arity for row in OPERATIONS.values() if row.emit is None}

PACKABLE = frozenset([*_VECTOR, "sincos"])  # those that compute all lanes at the price of one


def call(b: Builder, name: str, *arguments: str) -> str:
    """The elementary function `name` (a key of ARITY) of float lanes."""
    function = b.module.once(_named(b, name), lambda: _write(b, name))
    listed = ", ".join(f"{b.T} {a}" for a in arguments)
    return b.let(f"call {b.T} @{function}({listed})")


def call_sincos(b: Builder, x: str) -> tuple[str, str]:
    """sin and cos of one argument at the price of little more than one; the same bits as the two apart."""
    function = b.module.once(_named(b, "sincos"), lambda: _write_sincos(b))
    pair = b.let(f"call {{{b.T}, {b.T}}} @{function}({b.T} {x})")
    sine, cosine = (b.let(f"extractvalue {{{b.T}, {b.T}}} {pair}, {k}") for k in (0, 1))
    return sine, cosine


def call_packed(b: Builder, name: str, rows: list[list[str]]) -> list[list[str]]:
    """A function in PACKABLE of several argument lists of a builder with one lane, up to the module's width: one call
    on a vector. The results of each list; two, sine and cosine, for "sincos". Lanes are independent, so the bits are
    those of single calls."""
    width = b.module.width
    vector = f"<{width} x double>"
    packed = b.module.once(_named(b, name, width), lambda: _write(b, name, width))
    columns = [_vector(b, vector, [row[k] for row in rows]) for k in range(len(rows[0]))]
    results = 2 if name == "sincos" else 1
    llvm_type = f"{{{vector}, {vector}}}" if results == 2 else vector
    value = b.let(f"call {llvm_type} @{packed}({', '.join(f'{vector} {c}' for c in columns)})")
    parts = [b.let(f"extractvalue {llvm_type} {value}, {k}") for k in range(2)] if results == 2 else [value]
    return [[b.let(f"extractelement {vector} {part}, i64 {i}") for part in parts] for i in range(len(rows))]


def _vector(b: Builder, vector: str, scalars: list[str]) -> str:
    """The scalars in the first lanes; the others hold the first one, a valid argument."""
    value = b.let(f"insertelement {vector} poison, double {scalars[0]}, i64 0")
    zeros = f"<{b.module.width} x i32> zeroinitializer"
    value = b.let(f"shufflevector {vector} {value}, {vector} poison, {zeros}")
    for i, scalar in enumerate(scalars[1:], start=1):
        value = b.let(f"insertelement {vector} {value}, double {scalar}, i64 {i}")
    return value


def _named(b: Builder, name: str, lanes: int | None = None) -> str:
    """The function's name in the module, for a builder's lanes or others."""
    wanted = b.lanes if lanes is None else lanes
    if wanted == b.module.home:
        return f"lanes_{name}"
    return f"packed_{name}" if wanted == b.module.width else f"packed{wanted}_{name}"


def _write(caller: Builder, name: str, lanes: int | None = None) -> None:
    if name == "sincos":
        _write_sincos(caller, lanes)
        return
    b = caller.module.builder(caller.lanes if lanes is None else lanes)
    arguments = [f"%x{k}" for k in range(ARITY[name])]
    write = _VECTOR.get(name)
    result = write(b, *arguments) if write else trigonometric.per_lane(b, name, *arguments)
    b.line(f"ret {b.T} {result}")
    b.module.define(_named(b, name), b.T, ", ".join(f"{b.T} {a}" for a in arguments), b, shared=True)


def _write_sincos(caller: Builder, lanes: int | None = None) -> None:
    b = caller.module.builder(caller.lanes if lanes is None else lanes)
    sine, cosine = trigonometric.sincos(b, "%x")
    pair = f"{{{b.T}, {b.T}}}"
    first = b.let(f"insertvalue {pair} poison, {b.T} {sine}, 0")
    both = b.let(f"insertvalue {pair} {first}, {b.T} {cosine}, 1")
    b.line(f"ret {pair} {both}")
    b.module.define(_named(b, "sincos"), pair, f"{b.T} %x", b, shared=True)
