"""Run a formula once on symbols: from a NumPy function to a tape and the shapes of its arrays."""

import functools
import linecache
import math
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from myoquat.core.lazy_imports import casadi
from myoquat.core.typing import Array
from myoquat.kernels.control_flow.map_rows import Element, PendingRows, partly_evaluated, written_out
from myoquat.kernels.control_flow.out_of_line_call import PendingCall
from myoquat.kernels.control_flow.table_lookup import Lookup, PendingLookup
from myoquat.kernels.control_flow.traced_tree_scan import Recursive
from myoquat.kernels.control_flow.tree_scan import PendingRecursion
from myoquat.kernels.control_flow.tree_scan_tracing import recursive_of
from myoquat.kernels.control_flow.while_loop import Pending, gathering
from myoquat.kernels.symbolic.arrays import as_array, symbols_of
from myoquat.kernels.symbolic.terms import Recording, Term
from myoquat.kernels.tracing.memoize import memory
from myoquat.kernels.tracing.tape import Tape

__all__ = [
    "Formula",
    "Function",
    "Loop",
    "Shape",
    "Signature",
    "Traced",
    "as_list",
    "casadi_function",
    "name_of",
    "shape_of",
    "trace",
    "traced_together",
]

Shape = tuple[int, ...]
Formula = Callable[..., Any]
PendingInner: TypeAlias = Pending | PendingRows | PendingCall | PendingLookup | PendingRecursion
_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Signature:
    """Name of a kernel and the names and shapes (per state) of its inputs and outputs, in order."""

    name: str
    inputs: dict[str, Shape]
    outputs: dict[str, Shape]

    @functools.cached_property
    def input_sizes(self) -> list[int]:
        """Numbers per state of each input."""
        return [math.prod(shape) for shape in self.inputs.values()]

    @functools.cached_property
    def output_sizes(self) -> list[int]:
        """Numbers per state of each output."""
        return [math.prod(shape) for shape in self.outputs.values()]

    def notes(self) -> dict[str, Any]:
        """The signature in words of JSON, in order."""
        return {"name": self.name, "inputs": [*self.inputs.items()], "outputs": [*self.outputs.items()]}

    @classmethod
    def of(cls, notes: Mapping[str, Any]) -> "Signature":
        """The signature from its notes."""
        inputs, outputs = ({name: tuple(shape) for name, shape in notes[key]} for key in ("inputs", "outputs"))
        return cls(str(notes["name"]), inputs, outputs)

    def __str__(self) -> str:
        return (
            f"{self.name}({', '.join(map(_shown, self.inputs.items()))}) -> "
            f"({', '.join(map(_shown, self.outputs.items()))})"
        )


class Loop(NamedTuple):
    """A step (state, constants) -> state, taken so many `times`, or until a state is done; see `iterate`."""

    step: "Traced"
    times: int
    settle: float
    left: int | None


class Function(NamedTuple):
    """A formula that is called: one input, one output."""

    formula: "Traced"


InnerPart: TypeAlias = Loop | Element | Function | Lookup | Recursive


class Traced(NamedTuple):
    """A formula as a tape.

    With loops, tables of rows, recursions and functions inside, the tape takes what they give as further inputs, after
    those of the signature, and gives what they take as further outputs: of a loop the start, the constants and which
    states it is for, of a table column after column, of a recursion member after member. They run in order: what one
    takes depends on no later one.
    """

    tape: Tape
    signature: Signature
    inner: tuple[InnerPart, ...] = ()


def _shown(item: tuple[str, Shape]) -> str:
    name, shape = item
    return f"{name} {shape}"


def shape_of(owner: str, name: str, shape: Any) -> Shape:
    """`shape` as a tuple: n means (n,). ValueError for anything but whole numbers from 0 up."""
    try:
        axes = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
        result = tuple(int(n) for n in axes)
        valid = all(n >= 0 for n in result) and result == axes
    except (TypeError, ValueError):
        valid = False
    if not valid:
        raise ValueError(f"kernel '{owner}': shape of '{name}' is {shape!r}; a number or a tuple is needed")
    return result


def trace(
    function: Formula | Sequence[Formula],
    inputs: Mapping[str, Any],
    outputs: Sequence[str] | Mapping[str, Any] | None = None,
    name: str | None = None,
) -> Traced:
    """A formula, or several with the same inputs, run once on symbols.

    Raises TypeError if a formula branches on a value or uses what has no meaning on symbols, with the formula's line,
    and ValueError for shapes or names that disagree with `outputs`.
    """
    formulas = as_list(function)
    name = name or name_of(formulas[0])
    shapes = {key: shape_of(name, key, shape) for key, shape in inputs.items()}
    recording = Recording()
    symbols = {key: symbols_of(recording, shape) for key, shape in shapes.items()}
    pending: list[PendingInner] = []
    tokens = gathering.set(pending), memory.set({})
    try:
        results = _named_results(name, [_run(name, f, symbols) for f in formulas], outputs)
    finally:
        gathering.reset(tokens[0])
        memory.reset(tokens[1])
    signature = Signature(name, shapes, {key: value.shape for key, value in results.items()})
    taken = [x for array in symbols.values() for x in np.asarray(array).flat]
    given = [x for value in results.values() for x in np.asarray(value).flat]
    needed = _needed(given, pending)
    for inner in needed:
        taken, given = [*taken, *inner.given], [*given, *inner.taken]
    try:
        tape = recording.tape(taken, given)
    except ValueError as error:
        raise ValueError(f"kernel '{name}': {error}") from None
    if not needed:
        return Traced(tape, signature)
    if _memo.get() is not None:
        return Traced(tape, signature, tuple(map(_inner, needed)))
    with traced_together():
        return Traced(tape, signature, tuple(map(_inner, needed)))


def _needed(results: Sequence[Any], pending: Sequence[PendingInner]) -> list[PendingInner]:
    """The loops, tables and calls on which the results depend, tables without columns that nobody asks for."""
    live: set[Term] = set()
    _mark(results, live)
    needed: list[PendingInner] = []
    for inner in reversed(pending):
        kept = inner.kept(live)
        if kept is not None:
            needed.append(kept)
            _mark(kept.taken, live)
    return needed[::-1]


def _mark(wanted: Sequence[Any], live: set[Term]) -> None:
    """Add terms, and all terms that they need."""
    waiting = [x for x in wanted if type(x) is Term]
    while waiting:
        term = waiting.pop()
        if term not in live:
            live.add(term)
            waiting += term.arguments


def _inner(pending: PendingInner) -> InnerPart:
    """What a loop or a table does, traced."""
    if isinstance(pending, PendingLookup):
        return pending.table
    if isinstance(pending, PendingRecursion):
        return recursive_of(pending, functools.partial(_kind, pending))
    if isinstance(pending, Pending):
        return Loop(_step(pending), pending.count, pending.settle, pending.left)
    if isinstance(pending, PendingCall):
        return Function(_function(pending))
    shapes = {"row": pending.rows.shape[1], "numbers": pending.numbers.shape[1]}
    result = {"result": pending.result.shape[1]}
    tape = _inside(pending.element, shapes, result, name_of(pending.formula), "an element of a table")
    return partly_evaluated(tape, shapes["row"], pending.numbers)


def _kind(pending: PendingRecursion, members: list[int], alive: list[Array]) -> tuple[Tape, Array]:
    """The tape of the members of a kind, and the numbers (k, c) in which they differ."""
    first, (formula, numbers) = pending.members[members[0]], pending.kind(members, alive)
    shapes = {"row": len(first.row), **{f"come{k}": int(here.sum()) for k, here in enumerate(alive)}}
    return _inside(formula, {**shapes, "numbers": numbers.shape[1]}, None, name_of(first.make), "a recursion"), numbers


def _inside(formula: Formula, shapes: Mapping[str, Any], outputs: Any, name: str, where: str) -> Tape:
    """The tape of a formula whose code stands in a loop."""
    with written_out():
        traced = trace(formula, shapes, outputs, name)
    if traced.inner:
        raise ValueError(f"kernel '{name}': a solver inside {where} is not supported")
    return traced.tape


_KEPT = 256
_FUNCTIONS = 8  # which are long, and asked for again by the other bodies of a step loop


@dataclass
class _Memo:
    """Steps of loops, by the step and its sizes, and called formulas, by the identity of what they know; the oldest
    goes."""

    steps: OrderedDict[Any, Traced] = field(default_factory=OrderedDict)
    functions: OrderedDict[Any, tuple[Traced, Any]] = field(default_factory=OrderedDict)


_of_package = _Memo()
_memo: ContextVar[_Memo | None] = ContextVar("_memo", default=None)


@contextmanager
def traced_together(content: str | None = None) -> Iterator[None]:
    """Traces inside share the steps and functions that they have in common.

    Where a `content` says what the formulas are, they share them with all other formulas of this package. The code of
    users may do something else the next time without being another object, so its traces share nothing with earlier
    ones.
    """
    around = _memo.get()
    fresh = _Memo() if around is None or around is _of_package else around
    token = _memo.set(fresh if content is None else _of_package)
    try:
        yield
    finally:
        _memo.reset(token)


def _shared() -> _Memo:
    memo = _memo.get()
    assert memo is not None  # `trace` has set one
    return memo


def _step(pending: Pending) -> Traced:
    """The step of a loop, traced once for all loops that share it."""
    steps, step = _shared().steps, pending.step
    inputs = {"state": len(pending.start), "constants": len(pending.constants)}
    parts = (step.func, step.args, tuple(step.keywords.items())) if isinstance(step, functools.partial) else (step,)
    key = (*parts, *inputs.values())
    if key not in steps:
        steps[key] = trace(step, inputs, {"state": inputs["state"]}, f"{name_of(step)}_step")
        while len(steps) > _KEPT:
            steps.popitem(last=False)
    return steps[key]


def _function(pending: PendingCall) -> Traced:
    """The formula of a call, traced once for all calls in the kernels of a model."""
    functions, formula, sizes = _shared().functions, pending.formula, (len(pending.taken), len(pending.given))
    key = (formula.func, *map(id, formula.args), *sizes)
    if key not in functions:
        traced = trace(formula, {"given": sizes[0]}, {"result": sizes[1]}, name_of(formula))
        functions[key] = traced, formula  # which keeps alive what the key names
        while len(functions) > _FUNCTIONS:
            functions.popitem(last=False)
    return functions[key][0]


def casadi_function(signature: Signature, inputs: Sequence[Any], outputs: Sequence[Any]) -> Any:
    """A `casadi.Function` of columns with the signature's names, common subexpressions shared."""
    names = _port_names(signature)
    return casadi.Function(_identifier(signature.name), list(inputs), list(outputs), *names, {"cse": True})


def as_list(function: Formula | Sequence[Formula]) -> list[Formula]:
    """One formula or several, as a list."""
    return [function] if callable(function) else list(function)


def _port_names(signature: Signature) -> tuple[list[str], list[str]]:
    """Names of a casadi.Function's arguments: ours, where CasADi allows them."""
    inputs = [_identifier(key) for key in signature.inputs]
    outputs = [_identifier(key) for key in signature.outputs]
    if len(set(inputs + outputs)) < len(inputs) + len(outputs):
        return [f"i{k}" for k in range(len(inputs))], [f"o{k}" for k in range(len(outputs))]
    return inputs, outputs


def _identifier(text: str) -> str:
    """`text` as a name that CasADi accepts: a letter first, single underscores, none of its own words."""
    cleaned = re.sub(r"_+", "_", re.sub(r"\W", "_", text, flags=re.ASCII)).strip("_")
    return cleaned if re.match(r"[A-Za-z]", cleaned) and cleaned not in ("null", "jac", "hess") else "x" + cleaned


def name_of(function: Any) -> str:
    """The name of a formula, where it has one that a kernel can bear."""
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", "kernel")
    return name if name.isidentifier() else "kernel"


def _run(name: str, formula: Formula, symbols: Mapping[str, Any]) -> Any:
    try:
        return formula(*symbols.values())
    except (TypeError, ValueError, NotImplementedError) as error:
        kind, reason = type(error), str(error)
        if kind is NotImplementedError and _is_raised_by_casadi(error):  # its functions, on symbols that are not theirs
            kind, reason = TypeError, f"{reason.partition(chr(10))[0]} Keep the formula in NumPy's functions."
        raise kind(f"kernel '{name}'{_place(error.__traceback__)}: {reason}") from error


def _is_raised_by_casadi(error: BaseException) -> bool:
    trail = error.__traceback__
    while trail is not None and trail.tb_next is not None:
        trail = trail.tb_next
    return trail is not None and "casadi" in Path(trail.tb_frame.f_code.co_filename).parts


def _place(trail: TracebackType | None) -> str:
    """', file:line: source' of the innermost line that is neither of this room nor of a library."""
    found = ""
    while trail is not None:
        code = trail.tb_frame.f_code
        path = Path(code.co_filename)
        if path.parent != _HERE and "site-packages" not in path.parts:
            source = linecache.getline(code.co_filename, trail.tb_lineno).strip()
            found = f", {path.name}:{trail.tb_lineno} `{source}`" if source else f", {path.name}:{trail.tb_lineno}"
        trail = trail.tb_next
    return found


def _named_results(name: str, results: list[Any], outputs: Any) -> dict[str, Any]:
    """Every result as a symbol array under its name, checked against `outputs`."""
    given: dict[str, Any] = {}
    for result in results:
        items = result.items() if isinstance(result, Mapping) else _numbered(result, len(given))
        for key, value in items:
            if key in given:
                raise ValueError(f"kernel '{name}': two outputs are named '{key}'")
            given[key] = as_array(value)
    if outputs is None:
        return given
    named_by_formula = any(isinstance(result, Mapping) for result in results)
    given = _renamed(name, given, [str(key) for key in outputs], named_by_formula)
    if isinstance(outputs, Mapping):
        for key, wanted in outputs.items():
            if given[key].shape != shape_of(name, key, wanted):
                raise ValueError(
                    f"kernel '{name}': output '{key}' has shape {given[key].shape}; "
                    f"{shape_of(name, key, wanted)} was announced"
                )
    return given


def _numbered(result: Any, first: int) -> list[tuple[str, Any]]:
    parts = result if isinstance(result, tuple) else (result,)
    return [(f"output{first + k}", value) for k, value in enumerate(parts)]


def _renamed(name: str, given: dict[str, Any], wanted: list[str], by_key: bool) -> dict[str, Any]:
    """The outputs in the wanted order (a formula that names them), or under the wanted names."""
    if len(wanted) != len(given) or len(set(wanted)) != len(wanted) or (by_key and set(wanted) != set(given)):
        raise ValueError(f"kernel '{name}': the formula gives {len(given)} outputs {list(given)}; announced: {wanted}")
    if by_key:
        return {key: given[key] for key in wanted}
    return dict(zip(wanted, given.values(), strict=True))
