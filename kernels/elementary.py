"""Elementary functions of a kernel: own vector code where it matters, the C library lane by lane elsewhere.

Every function becomes one internal function of the module, written at its first use, so that a lane's bits depend
neither on where it is called from nor on the number of lanes.
"""

from collections.abc import Callable

from kernels import circular, exponential
from kernels.ir import Builder

__all__ = ["ARITY", "call", "call_sincos"]

_VECTOR: dict[str, Callable[..., str]] = {
    **circular.FUNCTIONS,
    "exp": exponential.exp,
    "expm1": exponential.expm1,
    "log": exponential.log,
    "log1p": exponential.log1p,
    "sinh": exponential.sinh,
    "cosh": exponential.cosh,
    "tanh": exponential.tanh,
}
_LIBRARY = ("pow", "fmod", "remainder", "erf", "asinh", "acosh", "atanh", "hypot")
_TWO = ("atan2", "pow", "fmod", "remainder", "hypot")
ARITY: dict[str, int] = {name: 2 if name in _TWO else 1 for name in (*_VECTOR, *_LIBRARY)}


def call(b: Builder, name: str, *arguments: str) -> str:
    """The elementary function `name` (a key of ARITY) of float lanes."""
    function = b.module.once(f"lanes_{name}", lambda: _write(b, name))
    listed = ", ".join(f"{b.T} {a}" for a in arguments)
    return b.let(f"call {b.T} @{function}({listed})")


def call_sincos(b: Builder, x: str) -> tuple[str, str]:
    """sin and cos of one argument at the price of little more than one; the same bits as the two apart."""
    function = b.module.once("lanes_sincos", lambda: _write_sincos(b))
    pair = b.let(f"call {{{b.T}, {b.T}}} @{function}({b.T} {x})")
    sine, cosine = (b.let(f"extractvalue {{{b.T}, {b.T}}} {pair}, {k}") for k in (0, 1))
    return sine, cosine


def _write(caller: Builder, name: str) -> None:
    b = caller.module.builder()
    arguments = [f"%x{k}" for k in range(ARITY[name])]
    write = _VECTOR.get(name)
    result = write(b, *arguments) if write else circular.per_lane(b, name, *arguments)
    b.line(f"ret {b.T} {result}")
    b.module.define(f"lanes_{name}", b.T, ", ".join(f"{b.T} {a}" for a in arguments), b)


def _write_sincos(caller: Builder) -> None:
    b = caller.module.builder()
    sine, cosine = circular.sincos(b, "%x")
    pair = f"{{{b.T}, {b.T}}}"
    first = b.let(f"insertvalue {pair} poison, {b.T} {sine}, 0")
    both = b.let(f"insertvalue {pair} {first}, {b.T} {cosine}, 1")
    b.line(f"ret {pair} {both}")
    b.module.define("lanes_sincos", pair, f"{b.T} %x", b)
