"""Formulas of models on arguments of users: arguments checked once, then symbols or a kernel kept by content."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias, TypeVar, cast

import numpy as np

from myoquat import kernels
from myoquat.core import Array, ArrayLike, BoundedTable, content_key, frozen, lasting_content
from myoquat.kernels import formula, is_symbolic
from myoquat.kernels.tracing.context import code_kept

from .multibody.system import ArticulatedSystem
from .ranges import check_array, check_state, warn_far

# ---- Compiled kernels by content: equal content asks for a kernel once, whoever asks ------------------------------


BACKENDS = ("kernel", "numpy")
MAX_KEPT_KERNELS = 256  # kernels kept in memory; the oldest unused one goes first


class _Traced(Protocol):
    @property
    def program(self) -> str:
        """Text that two kernels share only if they compute the same."""


Compiled = TypeVar("Compiled", bound=_Traced)

_kernels: BoundedTable[Any] = BoundedTable(MAX_KEPT_KERNELS)
_calculation: ContextVar[dict[Hashable, Any] | None] = ContextVar("_calculation", default=None)
_programs: ContextVar[set[str] | None] = ContextVar("_programs", default=None)


def kernel_for(key: Hashable, build: Callable[[str | None], Compiled]) -> Compiled:
    """The kernel (or step loop) kept under `key`, built at its first use.

    `key` must say everything that the kernel depends on: the content of the model and the name of the quantity. `build`
    takes it as a text for the cache of machine code, the argument `content` of `myoquat.kernels.compile`. None where it
    does not outlast this process: it holds functions, or classes whose code is not in this package.

    Such code may read what no key says, for example a global of a notebook that has changed since. It is traced at
    every call, and its machine code is found by the traced program.
    """
    lasting: list[bool] = []

    def make() -> Compiled:
        content = lasting_content(key)
        lasting.append(content is not None)
        return _of_user_code(key, build) if content is None else build(content)

    return _kernels.get(key, make, lambda: lasting[0])


def compiled(
    key: Hashable,
    formula: Callable[..., Any],
    sizes: Mapping[str, Any],
    outputs: Sequence[str] | None = None,
    **options: Any,
) -> kernels.Kernel:
    """The kernel of a formula, kept under `key`; options as for `myoquat.kernels.compile`."""
    return kernel_for(key, lambda content: kernels.compile(formula, sizes, outputs, content=content, **options))


@contextmanager
def traced_once() -> Iterator[None]:
    """One calculation: inside, the code of users is traced once for every key."""
    token = _calculation.set({}) if _calculation.get() is None else None
    try:
        yield
    finally:
        if token is not None:
            _calculation.reset(token)


@contextmanager
def traced_programs() -> Iterator[set[str]]:
    """The programs of users' code that `kernel_for` traces inside."""
    found: set[str] = set()
    token = _programs.set(found)
    try:
        yield found
    finally:
        _programs.reset(token)


def _of_user_code(key: Hashable, build: Callable[[str | None], Compiled]) -> Compiled:
    """The kernel of code that is not this package's: of the program that is traced now, or at its first use in a
    calculation. Machine code comes from memory where another kernel had the same program."""
    calculation, programs, name = _calculation.get(), _programs.get(), content_key(key)
    if calculation is not None and name in calculation:
        return calculation[name]
    with code_kept():
        kernel = build(None)
    if calculation is not None:
        calculation[name] = kernel
    if programs is not None:
        programs.add(kernel.program)
    return kernel


@frozen
class Input:
    """An argument of a formula: what the caller gave, the same as a checked array, and its shape per state."""

    given: ArrayLike
    array: Array
    shape: tuple[int, ...]

    @property
    def batch(self) -> tuple[int, ...]:
        """The leading axes."""
        shape: tuple[int, ...] = self.array.shape
        return shape[: len(shape) - len(self.shape)]


def evaluate(
    quantity: str, content: Hashable, function: Callable[..., Array], inputs: Mapping[str, Input], axes: int, *,
    out: Array | None = None, backend: str = "kernel",
) -> Array:  # fmt: skip
    """A formula through its kernel, in NumPy, or on the caller's symbols; the result is of the same type of symbols.

    content   what, besides `quantity`, distinguishes this formula from all others.
    inputs    the formula's arguments in their order, by name; batch axes broadcast.
    axes      number of axes of the result per state.
    """
    if backend not in BACKENDS:
        raise ValueError(f"backend is one of {', '.join(BACKENDS)}, not {backend!r}")
    arrays, sizes = [x.array for x in inputs.values()], {name: x.shape for name, x in inputs.items()}
    if any(map(is_symbolic, arrays)):
        return formula(**sizes)(function)(*(x.given for x in inputs.values()))
    if backend == "numpy":
        batch, result = np.broadcast_shapes(*(x.batch for x in inputs.values())), np.asarray(function(*arrays))
        out = np.empty(batch + result.shape[result.ndim - axes :], result.dtype) if out is None else out
        out[...] = result
        return out
    kernel = compiled((quantity, content), function, sizes, [quantity], name=quantity)
    return cast("Array", kernel(*arrays, out=out))


# --------------------------------------------------------------------------------------------------------------
#
# Argument validation of public functions: they take a model or a system; formulas get checked arrays.


class HasSystem(Protocol):
    """Anything that has an articulated system, above all a Model, which this package cannot import."""

    @property
    def system(self) -> ArticulatedSystem: ...


if TYPE_CHECKING:
    SystemLike: TypeAlias = ArticulatedSystem | HasSystem
else:

    class SystemLike:
        """A system, or a model that has one: what functions take where muscles play no part. One word in `help`."""

        __module__ = "builtins"


def system_of(model: SystemLike) -> ArticulatedSystem:
    """The articulated system of a model, or the system itself; TypeError for anything else."""
    system = getattr(model, "system", model)
    if not isinstance(system, ArticulatedSystem):
        raise TypeError(f"a Model or an ArticulatedSystem is wanted, not {type(model).__name__}")
    return system


class Call:
    """The arguments of one call, checked as they are named; `run` evaluates a formula of them in their order."""

    def __init__(self, model: SystemLike) -> None:
        self.system = system_of(model)
        self.inputs: dict[str, Input] = {}

    def q(self, q: ArrayLike) -> Self:
        """Coordinates (..., nq), quaternions of unit length."""
        checked = self.system.check_q(q)
        warn_far(checked, self.system.angles)
        return self.put("q", q, checked)

    def u(self, u: ArrayLike) -> Self:
        """Velocities (..., nu)."""
        return self.velocities("u", u)

    def coordinates(self, name: str, value: ArrayLike) -> Self:
        """Anything with an entry per coordinate (..., nq), such as qdot."""
        return self.vector(name, value, self.system.coordinate_names)

    def velocities(self, name: str, value: ArrayLike) -> Self:
        """Anything with an entry per velocity (..., nu): udot, tau."""
        return self.vector(name, value, self.system.velocity_names)

    def vector(self, name: str, value: ArrayLike, names: tuple[str, ...] = ("x", "y", "z")) -> Self:
        """Named components (..., n)."""
        return self.put(name, value, check_state(name, value, names))

    def wrenches(self, f_ext: ArrayLike | None) -> Self:
        """f_ext (..., bodies, 6), or nothing if it is None."""
        if f_ext is None:
            return self
        array, shape = check_array("f_ext", f_ext), (len(self.system.bodies), 6)
        if array.ndim < 2 or array.shape[-2:] != shape:
            raise ValueError(
                f"f_ext has shape {array.shape}; expected (..., {shape[0]}, 6): (force, torque) on each "
                f"of the bodies {', '.join(self.system.body_names)}"
            )
        if not is_symbolic(array) and not np.isfinite(array).all():
            where = [int(i) for i in np.argwhere(~np.isfinite(array))[0]]
            raise ValueError(f"f_ext{where} is {array[tuple(where)]}; finite numbers are needed")
        return self.put("f_ext", f_ext, array, axes=2)

    def put(self, name: str, given: ArrayLike, array: Array, axes: int = 1) -> Self:
        """An argument as the caller gave it, and the same as a checked array with so many axes per state."""
        self.inputs[name] = Input(given, array, array.shape[array.ndim - axes :])
        return self

    def frame(self, which: str | int) -> str:
        """Name of a frame given by name or index; KeyError, IndexError or TypeError otherwise."""
        indices = self.system.indices
        return indices.name(indices.frame(which))

    def run(
        self, quantity: str, function: Callable[..., Array], axes: int, *, variant: Hashable = None,
        out: Array | None = None, backend: str = "kernel",
    ) -> Array:  # fmt: skip
        """The formula function(**arguments). `variant` distinguishes formulas of one quantity."""
        content = (self.system.content_key, variant, tuple(self.inputs))
        return evaluate(quantity, content, function, self.inputs, axes, out=out, backend=backend)

    @property
    def symbolic(self) -> bool:
        """Whether symbols are among the arguments, so that the result consists of symbols too."""
        return any(is_symbolic(x.array) for x in self.inputs.values())
