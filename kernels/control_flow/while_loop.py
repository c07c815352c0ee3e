"""Loops inside formulas: a body that is applied as long as a condition holds, as a loop in the machine code.

`while_loop` runs a plain NumPy body on a record of arrays. While a kernel is traced the loop is not unrolled. The
formula goes on with fresh symbols for its result, and the kernel holds the body once, called where the result is
needed. The columns into which a record is packed there, and a last one that says whether the condition holds, are this
module's own matter.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, reduce
from numbers import Integral
from types import FunctionType
from typing import Any, ClassVar, TypeVar

import numpy as np

from myoquat.core import CALLABLE, Array, casadi, check_types, digest, frozen
from myoquat.kernels.symbolic.arrays import is_symbolic, symbols_of
from myoquat.kernels.symbolic.elements import is_casadi, is_term, is_traced
from myoquat.kernels.symbolic.records import Structure, arrays_if_alike, arrays_of, flattened, numbers_of, structure_of
from myoquat.kernels.symbolic.terms import Term
from myoquat.kernels.tracing.adjoints import no_derivative
from myoquat.kernels.tracing.context import pending_constructs, shared_trace
from myoquat.kernels.tracing.tape import Apply, Ends, OfLoop, PlacedConstruct, Shape, Tape, Traced
from myoquat.kernels.tracing.trace import name_of, trace

MAX_STEPS_KEPT = 256  # traced steps of loops, for kernels that share them

Step = Callable[[Any, Any], Any]
State = TypeVar("State")
_Step = tuple[Traced, list[int], list[Term]]


def _traced_step(step: Step, state: int, constants: int) -> _Step:
    """A step of the constants that it needs, the numbers of these, and the terms of the formula around it that it
    closes over, which are further constants. It is traced once for all loops that share it, but one that closes over
    any for its loop alone."""
    closed: list[Term] = []

    def traced() -> tuple[Traced, list[int]]:
        shapes = {"state": state, "constants": constants}
        found = trace(step, shapes, {"state": state}, f"{_name_of(step)}_step", closed)
        end = state + constants + len(closed)
        used = sorted({int(x.number) for x in found.tape.nodes if x.operation == "input" and state <= x.number < end})
        numbers = dict(zip([*range(state), *used, *range(end, found.tape.inputs)], itertools.count(), strict=False))
        nodes = [x._replace(number=numbers[int(x.number)]) if x.operation == "input" else x for x in found.tape.nodes]
        inputs: dict[str, Shape] = {"state": (state,), "constants": (len(used),)}
        tape, signature = Tape(nodes, found.tape.outputs, len(numbers)), replace(found.signature, inputs=inputs)
        return replace(found, tape=tape, signature=signature), [k - state for k in used]

    key = *_parts(step), state, constants
    return *shared_trace("steps", key, MAX_STEPS_KEPT, traced, lambda: not closed), closed


def _name_of(step: Any) -> str:
    """The name of the formula that is repeated: a function whose first argument is a function repeats that."""
    while isinstance(step, partial):
        first = step.args[1] if step.func is _packed_step else next(iter(step.args), None)
        if not callable(first):
            break
        step = first
    return name_of(step)


def _parts(function: Any) -> tuple[Any, ...]:
    """What two functions share only if they compute the same: partial ones with equal arguments do, arrays included.
    TypeError for an argument that cannot be compared."""
    if isinstance(function, np.ndarray):
        return (
            function.shape,
            *(function.flat if function.dtype == object else (function.dtype.str, function.tobytes())),
        )
    if isinstance(function, partial):
        arguments = (part for argument in function.args for part in _parts(argument))
        named = (part for name, value in function.keywords.items() for part in (name, *_parts(value)))
        return (*_parts(function.func), *arguments, *named)
    if getattr(type(function), "__hash__", None) is None:
        raise TypeError(
            f"the body of a loop is a partial function with a {type(function).__name__}, which cannot be compared: "
            "give it as an array, a tuple or a parameter of the loop"
        )
    return (function,)


@frozen
class WhileLoop:
    """A step (state, constants) -> state, taken at most `count` times. Where that is more than once, the last number of
    a state says whether it takes a further step (1 or 0)."""

    step: Traced
    count: int
    has_solver: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """That of the formula which is repeated."""
        return self.step.signature.name.removesuffix("_step")

    @property
    def ends(self) -> Ends:
        """How many numbers it gives and takes."""
        state, constants = self.step.signature.input_sizes
        return Ends(state, state + constants + 1)

    @property
    def identity(self) -> str:
        """Text that two loops share only if they write the same code."""
        return digest("repeated", self.step.identity, str(self.count))

    def unrolled(self, operands: list[Any], apply: Apply, of_loop: OfLoop | None) -> list[Any]:
        """What `of_loop` makes of it; TypeError without: how often a step is taken depends on the state."""
        if of_loop is not None:
            return of_loop(self, operands)
        raise TypeError("a solver inside a formula is no straight-line program")


def while_loop(
    cond: Callable[[State], Any], body: Callable[..., State], state: State, parameters: Any = None, *,
    max_steps: int, where: Array | bool = True,
) -> State:  # fmt: skip
    """The state after state <- body(state, parameters) as long as cond(state) holds, at most `max_steps` times.

    state       a record of arrays, with the batch axes in front of each: one array, a dict, tuple, named tuple or
                (nested) frozen dataclass
    cond        gives a condition (...) for each state of the batch; where it does not hold, the state stays as it is,
                whatever its neighbours do
    parameters  a record of what else the body needs, with the same batch axes or axes of length 1; None: body(state)
    where       (...), a state for which it is false stays at its start

    In a kernel the two formulas may also close over symbols of the formula around them. On floats the body sees only
    the states that go on: what has batch axes is a parameter. Nothing else that changes may enter the two formulas.

    Use it in formulas that are compiled: the machine code holds the body once. On floats NumPy runs it, and the body
    sees only the states that go on; on CasADi symbols it is unrolled. Raises ValueError where the body changes the
    shape or the names of a state, and where a loop is differentiated. The steps say nothing about the derivative of
    what they converge to. `root` gives it the derivative of an implicit function, and `constant` says that there is
    none. On SymPy symbols TypeError.

    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from myoquat.kernels import while_loop
    >>> @dataclass(frozen=True)
    ... class Search:
    ...     x: np.ndarray
    ...     change: np.ndarray
    >>> def heron(search, a):  # Newton's method for a square root
    ...     x = 0.5 * (search.x + a / search.x)
    ...     return Search(x, np.abs(x - search.x))
    >>> start = Search(np.ones(2), np.full(2, np.inf))
    >>> while_loop(lambda s: s.change > 1e-9, heron, start, np.array([2.0, 9.0]), max_steps=20).x
    array([1.41421356, 3.        ])
    """
    check_types(cond=(cond, CALLABLE), body=(body, CALLABLE), max_steps=(max_steps, int))
    if max_steps < 0:
        raise ValueError(f"max_steps={max_steps}; it must not be negative")
    structure, arrays = flattened(state)
    of_parameters, given = (None, []) if parameters is None else flattened(parameters)
    shapes = structure, of_parameters
    every = [x for array in (*arrays, *given) if is_symbolic(array) for x in np.asarray(array).flat]
    if not all(map(_may_enter, every)):
        raise TypeError("a loop inside a formula runs on floats and in kernels, not on SymPy or MX symbols")
    if any(map(np.iscomplexobj, (*arrays, *given))):
        raise no_derivative(_name_of(body))
    pending = pending_constructs.get()
    tracer = next((x.tracer for x in every if is_term(x)), None)
    if pending is None or tracer is None:
        reached: State = _Batch.of(cond, body, shapes, (arrays, given), where).run(max_steps)
        return reached
    again = max_steps > 1  # a single step needs no column for the condition
    result = symbols_of(tracer, (sum(map(np.size, arrays)) + again,))
    chosen = np.asarray(np.where(np.logical_and(cond(state), where), 1.0, 0.0)).item()
    step = partial(_packed_step, cond if again else None, body, *shapes)
    start, constants = [*_flat(arrays), *[1.0] * again], _flat(given)
    make: Callable[[], _Step] = partial(_traced_step, step, len(start), len(constants))
    flat = list(np.asarray(result).flat)
    if any(map(_may_hold_symbols, _parts(step))):
        traced = make()  # now, since what it closes over goes in
        constants += traced[2]
        make = lambda: traced  # noqa: E731
    operands = [*start, *constants, chosen]

    def read() -> list[int]:
        used = make()[1]
        if used and used[-1] >= len(constants):
            raise ValueError(
                f"loop '{_name_of(body)}': its formulas depend on the formula around them by global variables; "
                "only what they close over and parameters may change"
            )
        return [*range(len(start)), *(len(start) + k for k in used), len(operands) - 1]

    pending.append(PlacedConstruct(operands, flat, lambda: WhileLoop(make()[0], max_steps), _name_of(body), read=read))
    found: State = shapes[0].unpacked(result)
    return found


def _may_hold_symbols(part: Any) -> bool:
    """Whether a part of a step is a symbol, or a function to which symbols of the formula around it may be bound.

    They may be in a closure, be defaults, or be attributes of a callable object.
    """
    if isinstance(part, FunctionType):
        return bool(part.__closure__ or part.__defaults__ or part.__kwdefaults__)
    return is_term(part) or (callable(part) and not isinstance(part, type | np.ufunc))


def _flat(arrays: Sequence[Array]) -> list[Any]:
    return [x for array in arrays for x in np.asarray(numbers_of(array)).flat]


def _packed_step(
    cond: Callable[[Any], Any] | None, body: Callable[..., Any], state: Structure, parameters: Structure | None,
    z: Array, given: Array,
) -> Array:  # fmt: skip
    """The columns of the next state from those of a state, and, with a condition, 1 where it still holds."""
    record = state.unpacked(z)
    new = body(record) if parameters is None else body(record, parameters.unpacked(given))
    columns = [np.reshape(numbers_of(x), -1) for x in _arrays_like(record, new, body)]
    if cond is not None:
        columns.append(np.reshape(np.where(cond(new), 1.0, 0.0), -1))
    return np.concatenate(columns)


def _arrays_like(old: Any, new: Any, body: Callable[..., Any]) -> list[Array]:
    """The arrays of what a body gives; ValueError if they are not those of the state."""
    arrays = arrays_if_alike(old, new)
    if arrays is None:
        state, found = structure_of(old), structure_of(new)
        pairs = zip(state.names(), state.leaves, found.names(), found.leaves, strict=False)
        changed = (f"'{a}' {x.shape} becomes '{b}' {y.shape}" for a, x, b, y in pairs if (a, x.shape) != (b, y.shape))
        named = next(changed, "other types")
        raise ValueError(f"loop '{_name_of(body)}': the body changes the structure of the state: {named}")
    return arrays


@frozen
class _Batch:
    """A loop over records of floats, or unrolled on CasADi symbols: batch axes stand in front of every array."""

    cond: Callable[[Any], Any]
    body: Callable[..., Any]
    shapes: tuple[Structure, Structure | None]
    arrays: list[Array]
    given: list[Array]
    running: Any

    @classmethod
    def of(
        cls, cond: Callable[[Any], Any], body: Callable[..., Any], shapes: tuple[Structure, Structure | None],
        arrays: tuple[list[Array], list[Array]], where: Any,
    ) -> "_Batch":  # fmt: skip
        """The loop with every array on all batch axes, those of the condition; ValueError for one that lacks them."""
        running = np.logical_and(cond(shapes[0].record(arrays[0])), where)
        batch, names = np.shape(running), shapes[0].names("state")
        names += [] if shapes[1] is None else shapes[1].names("parameters")
        spread = []
        for name, array in zip(names, [*arrays[0], *arrays[1]], strict=True):
            try:
                spread.append(np.broadcast_to(array, (*batch, *array.shape[len(batch) :]), subok=True))
            except ValueError:
                raise ValueError(
                    f"loop '{_name_of(body)}': {name} has shape {array.shape}; the batch axes {batch} of the "
                    "condition are needed in front"
                ) from None
        count = len(arrays[0])
        return cls(cond, body, shapes, spread[:count], spread[count:], running)

    def run(self, max_steps: int) -> Any:
        """The state at the end."""
        structure = self.shapes[0]
        running, arrays = self.running, self.arrays
        for _ in range(max_steps):
            if not is_symbolic(running) and not running.any():
                break
            arrays = self._stepped(arrays, running)
            running = np.logical_and(running, self.cond(structure.record(arrays)))
        return structure.record(arrays)

    def _stepped(self, arrays: list[Array], running: Any) -> list[Array]:
        """The states after a step; of floats only those that take it, since nothing is asked of the others' numbers."""
        if any(map(is_symbolic, (running, *arrays, *self.given))):
            return [
                np.where(np.reshape(running, (*np.shape(running), *[1] * (old.ndim - np.ndim(running)))), x, old)
                for x, old in zip(self._body(arrays, self.given), arrays, strict=True)
            ]
        if running.all():
            return self._body(arrays, self.given)
        found = self._body([x[running] for x in arrays], [x[running] for x in self.given])
        new = [x.copy() for x in arrays]
        for target, rows in zip(new, found, strict=True):
            target[running] = rows
        return new

    def _body(self, arrays: list[Array], given: list[Array]) -> list[Array]:
        state, parameters = self.shapes
        record = state.record(arrays)
        new = self.body(record) if parameters is None else self.body(record, parameters.record(given))
        return _arrays_like(record, new, self.body)


def _may_enter(x: Any) -> bool:
    return is_traced(x) or (is_casadi(x) and isinstance(x, casadi.SX))


# ---- Loops with a given condition: a function that is called where one holds, and a fixed-point iteration ------
# Both are `while_loop`s. The machine code holds the function once, for all calls with records of the same structure.


def call_where(function: Callable[..., State], parameters: Any, where: Array | bool, otherwise: State) -> State:
    """function(parameters) where a condition (...) holds, elsewhere `otherwise`: two records of one structure.

    The machine code holds the function once, for all calls with the same structures. On floats it is evaluated for
    the states for which the condition holds. Parameters, batch axes and errors are those of `while_loop`.

    >>> import numpy as np
    >>> from myoquat.kernels import call_where
    >>> x = np.array([4.0, -1.0])
    >>> call_where(np.sqrt, x, x > 0, np.zeros(2))
    array([2., 0.])
    """
    if where is None:
        raise TypeError("where must be a condition, not None")
    return while_loop(_always, partial(_called, function), otherwise, parameters, max_steps=1, where=where)


def fixed_point(
    body: Callable[..., State], state: State, parameters: Any = None, *, tolerance: float = 0.0, max_steps: int,
    where: Array, watched: Callable[[State], Any] | None = None,
) -> State:  # fmt: skip
    """The state after state <- body(state, parameters) until no number of it changes by more than a tolerance.

    It takes at most `max_steps` steps, only where the condition `where` (...) holds, which has all batch axes.
    `watched` gives the part of a state whose changes count, by default the whole state. A number that is NaN does not
    change. State, parameters and errors are those of `while_loop`.

    >>> import numpy as np
    >>> from myoquat.kernels import fixed_point
    >>> heron = lambda x, a: 0.5 * (x + a / x)
    >>> fixed_point(heron, np.ones(2), np.array([4.0, 9.0]), tolerance=1e-9, max_steps=20, where=np.ones(2) > 0)
    array([2., 3.])
    """
    check_types(max_steps=(max_steps, Integral))
    if max_steps == 1:
        return while_loop(_always, body, state, parameters, max_steps=1, where=where)
    never = np.zeros(np.shape(where)) > 0
    step = partial(_fixed_point_step, body, watched, tolerance, parameters is None)
    start = _FixedPoint(state, never)
    found = while_loop(
        _changes, step, start, () if parameters is None else parameters, max_steps=max_steps, where=where
    )
    reached: State = found.state
    return reached


@frozen
class _FixedPoint:
    """A state of a fixed-point iteration, and whether (...) it converged."""

    state: Any
    converged: Array


def _changes(iterate: _FixedPoint) -> Any:
    return ~iterate.converged


def _fixed_point_step(
    body: Callable[..., Any], watched: Callable[[Any], Any] | None, tolerance: float, bare: bool, iterate: _FixedPoint,
    parameters: Any,
) -> _FixedPoint:  # fmt: skip
    old = iterate.state
    new = body(old) if bare else body(old, parameters)
    pairs = zip(*(arrays_of(x if watched is None else watched(x)) for x in (new, old)), strict=True)
    batch = iterate.converged.ndim
    changes = [change for x, y in pairs for change in _exceeding(numbers_of(x) - numbers_of(y), tolerance, batch)]
    return _FixedPoint(new, ~reduce(np.logical_or, changes))


def _exceeding(x: Array, tolerance: float, batch: int) -> list[Array]:
    """(...) each, whether an element of an array with so many batch axes exceeds a tolerance."""
    flat = x.reshape((*x.shape[:batch], -1))
    return [np.abs(flat[..., i]) > tolerance for i in range(flat.shape[-1])]


def _always(_: Any) -> bool:
    return True


def _called(function: Callable[..., State], _: State, parameters: Any) -> State:
    return function(parameters)
