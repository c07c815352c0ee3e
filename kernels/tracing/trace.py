"""Run a formula once on symbols: from a NumPy function to a tape and the shapes of its arrays."""

import functools
import linecache
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from myoquat.kernels.symbolic.arrays import as_array, symbols_of
from myoquat.kernels.symbolic.terms import Term, Tracer

from .context import memoized_results, pending_constructs, sharing, unmoved_solutions
from .tape import PlacedConstruct, Shape, Signature, Traced, closed_over, tape_of

Formula = Callable[..., Any]
_KERNELS = Path(__file__).parents[1]


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
    closed: list[Term] | None = None,
) -> Traced:
    """A formula, or several with the same inputs, run once on symbols.

    closed: receives the terms of another tracing over which the formula closes; the tape takes them after its inputs.

    Raises TypeError if a formula branches on a value or uses what has no meaning on symbols, with the formula's line.
    Raises ValueError for shapes or names that disagree with `outputs`.
    """
    formulas = as_list(function)
    name = name or name_of(formulas[0])
    shapes = {key: shape_of(name, key, shape) for key, shape in inputs.items()}
    tracer = Tracer()
    symbols = {key: symbols_of(tracer, shape) for key, shape in shapes.items()}
    pending: list[PlacedConstruct] = []
    around = unmoved_solutions.get()
    unmoved = [] if around is None else around
    tokens = pending_constructs.set(pending), memoized_results.set({}), unmoved_solutions.set(unmoved)
    with sharing():
        try:
            named = _named_results(name, [_run(name, f, symbols) for f in formulas], outputs)
        finally:
            pending_constructs.reset(tokens[0])
            memoized_results.reset(tokens[1])
            unmoved_solutions.reset(tokens[2])
        results = [x for value in named.values() for x in np.asarray(value).flat]
        needed = needed_constructs(results, pending)
        inner = tuple(construct.traced() for construct in needed)
    signature = Signature(name, shapes, {key: value.shape for key, value in named.items()})
    operands = [x for array in symbols.values() for x in np.asarray(array).flat]
    given = [x for construct in needed for x in construct.results]
    results += [x for construct in needed for x in construct.operands]
    try:
        tape = tape_of(tracer, [*operands, *given], results)
    except ValueError as error:
        if closed is None:
            raise ValueError(f"kernel '{name}': {error}") from None
        closed += closed_over([*operands, *given], results)
        tape = tape_of(tracer, [*operands, *closed, *given], results, closed)
    return Traced(tape, signature, inner, moves=not unmoved)


def needed_constructs(results: Sequence[Any], pending: Sequence[PlacedConstruct]) -> list[PlacedConstruct]:
    """The constructs on which the results depend, without the results of theirs that nothing needs."""
    live: set[Term] = set()
    _mark(results, live)
    found: list[PlacedConstruct] = []
    for construct in reversed(pending):
        if not live.isdisjoint(construct.results):
            kept = construct.pruned(live) if construct.pruned else construct
            if kept.read:
                kept = replace(kept, operands=[kept.operands[k] for k in kept.read()], read=None)
            found.append(kept)
            _mark(kept.operands, live)
    return found[::-1]


def _mark(wanted: Sequence[Any], live: set[Term]) -> None:
    """Add terms, and all terms that they need."""
    waiting: list[Term | None] = [x for x in wanted if type(x) is Term]
    while waiting:
        term = waiting.pop()
        if term is not None and term not in live:
            live.add(term)
            waiting += (term.a, term.b, term.c)


def as_list(function: Formula | Sequence[Formula]) -> list[Formula]:
    """One formula or several, as a list."""
    return [function] if callable(function) else list(function)


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
        error_type, reason = type(error), str(error)
        if error_type is NotImplementedError and _is_raised_by_casadi(
            error
        ):  # its functions, on symbols that are not theirs
            error_type, reason = TypeError, f"{reason.partition(chr(10))[0]} Keep the formula in NumPy's functions."
        raise error_type(f"kernel '{name}'{_place(error.__traceback__)}: {reason}") from error


def _is_raised_by_casadi(error: BaseException) -> bool:
    trail = error.__traceback__
    while trail is not None and trail.tb_next is not None:
        trail = trail.tb_next
    return trail is not None and "casadi" in Path(trail.tb_frame.f_code.co_filename).parts


def _place(trail: TracebackType | None) -> str:
    """', file:line: source' of the innermost line that is neither of `kernels` nor of a library."""
    found = ""
    while trail is not None:
        code = trail.tb_frame.f_code
        path = Path(code.co_filename)
        if _KERNELS not in path.parents and not {"site-packages", "dist-packages"} & {*path.parts}:
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
