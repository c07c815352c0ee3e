"""Solvers inside formulas: a step that is taken again and again, as a loop in the machine code.

`iterate` runs a plain NumPy step so many times. While a kernel is traced the loop is not unrolled: the formula goes on
with fresh symbols for its result, and the kernel holds the step once, called where the result is needed.
"""

from collections.abc import Callable, Set
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, ClassVar

import numpy as np

from myoquat.core.arguments import CALLABLE, check_kinds, check_unmasked
from myoquat.core.digests import digest
from myoquat.core.lazy_imports import casadi
from myoquat.core.typing import Array
from myoquat.kernels.symbolic.arrays import SymbolArray, is_symbolic, symbols_of
from myoquat.kernels.symbolic.elements import is_casadi, is_term, is_traced
from myoquat.kernels.symbolic.terms import Scalar, Term
from myoquat.kernels.tracing.context import gathering
from myoquat.kernels.tracing.sharing import kept_trace
from myoquat.kernels.tracing.tape import Ends, Inner
from myoquat.kernels.tracing.trace import name_of, trace
from myoquat.kernels.tracing.traced import Traced

__all__ = ["Loop", "Pending", "iterate"]

MAX_STEPS_KEPT = 256  # traced steps of loops, for kernels that share them
OPERATIONS_PER_MOVED_NUMBER = 8  # of a step, for each number of its state and constants, from where moving lanes pays

Step = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Pending:
    """A loop met while a formula was traced: its step, how often, when a state is done (see `iterate`), what goes in,
    which states it is for (1 or 0), and the symbols that stand for what comes out."""

    step: Step
    count: int
    settle: float
    left: int | None
    start: list[Scalar]
    constants: list[Scalar]
    where: Scalar
    result: list[Term]

    @property
    def taken(self) -> list[Scalar]:
        """What goes in."""
        return [*self.start, *self.constants, self.where]

    @property
    def given(self) -> list[Term]:
        """What comes out."""
        return self.result

    def kept(self, live: Set[Term]) -> "Pending | None":
        """The loop, if one of its results is among the terms that are needed."""
        return None if live.isdisjoint(self.result) else self

    def traced(self) -> "Loop":
        """The loop with its step traced, once for all loops that share it."""
        step, inputs = self.step, {"state": len(self.start), "constants": len(self.constants)}
        parts = (step.func, step.args, tuple(step.keywords.items())) if isinstance(step, partial) else (step,)
        key = (*parts, *inputs.values())
        traced = kept_trace(
            "steps", key, MAX_STEPS_KEPT,
            lambda: trace(step, inputs, {"state": inputs["state"]}, f"{name_of(step)}_step"),
        )  # fmt: skip
        return Loop(traced, self.count, self.settle, self.left)


@dataclass(frozen=True)
class Loop:
    """A step (state, constants) -> state, taken at most `count` times, or until a state is done; see `iterate`."""

    step: Traced
    count: int
    settle: float
    left: int | None
    has_solver: ClassVar[bool] = True

    @property
    def ends(self) -> Ends:
        """How many numbers it gives and takes."""
        state, constants = self.step.signature.input_sizes
        return Ends(state, state + constants + 1)

    @property
    def several(self) -> bool:
        """Whether lanes that are done make room for others, where a kernel takes several blocks of states."""
        sizes = self.step.signature.input_sizes
        return self.step.several or self.step.operations >= OPERATIONS_PER_MOVED_NUMBER * sum(sizes)

    def identity(self) -> str:
        """Text that two loops share only if they write the same code."""
        return digest("repeated", self.step.identity(), str(self.count), str(self.settle), str(self.left))

    def unrolled(self) -> Inner:
        """TypeError: how often a step is taken depends on the state."""
        raise TypeError("a solver inside a formula is no straight-line program")


def iterate(
    step: Step, start: Array, constants: Array, count: int, settle: float = 0.0, where: Array | bool = True,
    left: int | None = None,
) -> Array:  # fmt: skip
    """(..., n) z after `count` times z <- step(z, constants), from z = `start` (..., n), with constants (..., c).

    settle: a state of which no number has moved by more than this takes no further step; it is done by itself, whatever
    its neighbours in a batch do, and the loop ends when all are. Zero: only one that stands still. A number that is NaN
    does not move.
    where (...): a state for which it is false takes no step at all and stays at its start.
    left: which number of a state says what is left to do, such as a way to go, where there is one. A state is done when
    this is 0, NaN or not moved, which takes no step more to be seen; the other numbers
    are then not looked at.

    The result counts as a constant in differentiation: give it where only the value matters, as at a stationary point,
    or correct it by one step whose derivative you know. The step may depend on nothing that changes but its two
    arguments. On SymPy symbols TypeError: the loop would fill pages.

    >>> import numpy as np
    >>> from myoquat.kernels import iterate
    >>> def heron(z, constants):  # Newton's method for a square root
    ...     return 0.5 * (z + constants / z)
    >>> iterate(heron, np.array([1.0]), np.array([2.0]), 6)
    array([1.41421356])
    """
    check_kinds(step=(step, CALLABLE), start=(start, np.ndarray), constants=(constants, np.ndarray), count=(count, int))
    check_unmasked("start", start)
    check_unmasked("constants", constants)
    if not (is_symbolic(start) or is_symbolic(constants)):
        start, constants = np.real(start), np.real(constants)
        batch = np.broadcast_shapes(start.shape[:-1], constants.shape[:-1], np.shape(where))
        start = np.broadcast_to(start, (*batch, start.shape[-1]))
        return _run(step, start, constants, count, (settle, left), where)
    taken, given = list(np.asarray(start).flat), list(np.asarray(constants).flat)
    if not all(map(_may_enter, (*taken, *given))):
        raise TypeError("a solver inside a formula runs on floats and in kernels, not on SymPy or MX symbols")
    pending = gathering.get()
    recording = next((x.recording for x in (*taken, *given) if is_term(x)), None)
    if pending is None or recording is None:
        return _run(step, start, constants, count, (settle, left), where)
    result = symbols_of(recording, start.shape)
    chosen = np.asarray(np.where(_goes(start, left) & where, 1.0, 0.0)).item()
    pending.append(Pending(step, count, settle, left, taken, given, chosen, list(np.asarray(result).flat)))
    return result.view(SymbolArray)


def _may_enter(x: Any) -> bool:
    return is_traced(x) or (is_casadi(x) and isinstance(x, casadi.SX))


def _run(
    step: Step, z: Array, constants: Array, count: int, done: tuple[float, int | None], where: Array | bool
) -> Array:
    """The loop itself, on floats and unrolled on symbols."""
    settle, left = done
    running: Any = (np.ones(z.shape[:-1]) > 0) & _goes(z, left) & where
    for _ in range(count):
        if not is_symbolic(running) and not running.any():
            break
        new = _stepped(step, z, constants, running)
        looked = new - z if left is None else (new - z)[..., left, None]
        moved = np.any(np.abs(looked) > settle, axis=-1) if not is_symbolic(new) else _moved(looked, settle)
        z = np.where(running[..., None], new, z)
        running = running & moved & _goes(z, left)
    return z


def _stepped(step: Step, z: Array, constants: Array, running: Any) -> Array:
    """The states after a step; of floats only those that take it, since nothing is asked of the others' numbers."""
    if is_symbolic(z) or is_symbolic(constants) or running.all():
        whole: Array = step(z, constants)
        return whole
    new = z.copy()
    new[running] = step(z[running], np.broadcast_to(constants, (*z.shape[:-1], constants.shape[-1]))[running])
    return new


def _goes(z: Array, left: int | None) -> Any:
    """(...) whether there is something left to do, as far as a state says so."""
    return True if left is None else np.abs(z[..., left]) > 0


def _moved(d: Any, settle: float) -> Any:
    return reduce(np.logical_or, [np.abs(d[..., i]) > settle for i in range(d.shape[-1])])
