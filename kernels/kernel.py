"""`compile` and `Kernel`: a NumPy formula as machine code, called on batches of states."""

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

import casadi
import numpy as np

from kernels import batch as _batch
from kernels.build import Code, Recipe, Size, assembly, build
from kernels.cache import digest
from kernels.driver import PROTOTYPE, Port, write_driver
from kernels.elementary import ARITY
from kernels.ir import Module
from kernels.lower import Frame, emit_straight
from kernels.rewrite import rewritten
from kernels.run import FramePool, split_and_run
from kernels.settings import Target, cache_folder, lane_count, target, thread_count
from kernels.tape import Tape, read_tape
from kernels.trace import Formula, Shape, Signature, as_list, trace

__all__ = ["Kernel", "calls", "compile"]

_PRICE = 0.05  # nanoseconds per operation and state, about, on eight lanes
_PRICE_ELEMENTARY = 1.5
_PRICE_PORT = 0.2
_total_calls = 0


def calls() -> int:
    """How many kernel calls this process has made."""
    return _total_calls


def compile(
    function: Formula | Sequence[Formula],
    inputs: Mapping[str, Any],
    outputs: Sequence[str] | Mapping[str, Any] | None = None,
    *,
    name: str | None = None,
    lanes: int | None = None,
    threads: int | None = None,
    cache: str | os.PathLike[str] | None = None,
) -> "Kernel":
    """Compile a NumPy formula, or several with the same inputs, into one Kernel.

    function   called once, with one SymbolArray per input in order; returns an array, a tuple or a dict of arrays.
    inputs     name -> shape per state: n, a tuple, or () for a scalar.
    outputs    names, or name -> shape to be checked; without: 'output0', ... or the keys of the dict.
    lanes      states side by side: 1, 2, 4, 8; threads: of a call; cache: folder or 'off'. Defaults in
               `kernels.settings`, by environment variable.

    Raises TypeError where the formula branches on a value or uses what cannot be traced (with the formula's line), and
    ValueError for shapes and names that do not fit and for operations that cannot be compiled.
    """
    start = time.perf_counter()
    traced, signature = trace(function, inputs, outputs, name)
    kernel = Kernel(traced, signature, lanes=lanes, threads=threads, cache=cache, formulas=as_list(function))
    kernel.build_seconds = time.perf_counter() - start
    return kernel


class StraightRecipe:
    """One `casadi.Function`, evaluated once per state."""

    def __init__(self, function: Any, signature: Signature) -> None:
        self.function = function
        self.signature = signature

    def identity(self) -> str:
        return digest("straight", str(self.signature), self.function.serialize())

    def write(self, module: Module) -> Size:
        tape = rewritten(read_tape(self.function), fused=True)
        frame = Frame()
        inputs = [Port(frame.take(n), n) for n in self.signature.input_sizes()]
        outputs = [Port(frame.take(n), n) for n in self.signature.output_sizes()]
        emit_straight(module, "formula", tape, frame, _slots(inputs), _slots(outputs))
        write_driver(module, "formula", inputs, outputs)
        return Size(frame.slots, tape.operations, price(tape) + _PRICE_PORT * (tape.inputs + len(tape.outputs)))


def _slots(ports: Sequence[Port]) -> list[int]:
    return [port.slot + k for port in ports for k in range(port.length)]


def price(tape: Tape) -> float:
    """Rough nanoseconds per state, to decide whether threads are worth it."""
    elementary = sum(node.operation in ARITY for node in tape.nodes)
    return _PRICE * (tape.operations - elementary) + _PRICE_ELEMENTARY * elementary


class Kernel:
    """A compiled formula. Made by `compile` and by the derivatives of another kernel.

    Called with one array (..., *shape) per input, by position or by name. Leading axes broadcast. float64 arrays with
    contiguous rows are read where they lie; anything else is converted at every call: `conversions` counts such
    arrays, and one of more than 1 MiB raises a ConversionWarning. Results are fresh C-order float64 arrays, or `out`.
    A state with NaN or infinities gives what the formula makes of it and touches no other state. A lane's bits depend
    neither on the number of lanes nor on threads, but on whether the processor has a fused multiply-add.
    """

    def __init__(
        self,
        function: Any,
        signature: Signature,
        *,
        lanes: int | None = None,
        threads: int | None = None,
        cache: str | os.PathLike[str] | None = None,
        formulas: Sequence[Formula] | None = None,
    ) -> None:
        self._function = function
        self._signature = signature
        self._formulas = formulas
        self._options = {"lanes": lanes, "threads": threads, "cache": None if cache is None else os.fspath(cache)}
        self._recipe: Recipe = StraightRecipe(function, signature)
        self._target: Target = target()
        self._threads = thread_count(threads)
        self._code: Code = build(
            self._recipe, PROTOTYPE, self._target, lane_count(lanes, self._target), cache_folder(cache)
        )
        self.lanes = lane_count(lanes, self._target)
        self._frames = FramePool(self._code.size.slots, self.lanes)
        self.build_seconds = self._code.seconds
        self.calls = 0
        self.conversions = 0

    # ---- call -----------------------------------------------------------------------------------------------

    def __call__(
        self,
        *arrays: Any,
        out: Any = None,
        threads: int | None = None,
        check: bool = False,
        **named: Any,
    ) -> Any:
        """The output (..., *shape), or a tuple of outputs, for every state of the batch.

        `out`: array or tuple of arrays that receive the results. `check`: raise FloatingPointError, naming the first
        batch indices, if a result is not finite. Raises ValueError for shapes that do not fit.
        """
        global _total_calls
        batch = _batch.gather(self._signature, _batch.bind(self._signature, arrays, named))
        outputs = _batch.results(self._signature, batch, out)
        self.calls += 1
        _total_calls += 1
        self.conversions += batch.converted
        if batch.states:
            self._run(batch, outputs, self._threads if threads is None else thread_count(threads))
        if check:
            self._refuse_nonfinite(outputs)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _run(self, batch: _batch.Batch, outputs: list[np.ndarray], threads: int) -> None:
        rows = [
            *batch.rows,
            *((a.__array_interface__["data"][0], a.nbytes // batch.states) for a in outputs),
        ]
        table = np.array(rows, dtype=np.int64)
        entry, frames = self._code.entry, self._frames
        split_and_run(
            lambda begin, end: frames.run(entry, table, begin, end),
            batch.states,
            self.lanes,
            threads,
            batch.states * self._code.size.price,
        )

    def nonfinite(self, *outputs: np.ndarray) -> np.ndarray:
        """Batch indices (k, batch axes) of the states for which one of `outputs` holds NaN or an infinity."""
        bad: Any = False
        for array, shape in zip(outputs, self._signature.outputs.values(), strict=True):
            axes = tuple(range(array.ndim - len(shape), array.ndim))
            bad = bad | ~np.isfinite(array).all(axis=axes)
        return np.argwhere(bad)

    def _refuse_nonfinite(self, outputs: list[np.ndarray]) -> None:
        where = self.nonfinite(*outputs)
        if len(where):
            first = ", ".join(str(tuple(int(i) for i in index)) for index in where[:5])
            raise FloatingPointError(
                f"kernel '{self.name}': {len(where)} states are not finite, first at batch index {first}"
            )

    # ---- what it is -----------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return self._signature.name

    @property
    def inputs(self) -> dict[str, Shape]:
        """Name -> shape per state."""
        return dict(self._signature.inputs)

    @property
    def outputs(self) -> dict[str, Shape]:
        """Name -> shape per state."""
        return dict(self._signature.outputs)

    @property
    def threads(self) -> int:
        """Threads that a call may use if it has work enough."""
        return self._threads

    @property
    def instructions(self) -> int:
        """Operations per state after rewriting."""
        return self._code.size.operations

    @property
    def source(self) -> str:
        """'compiled' or 'cache': where the machine code came from."""
        return self._code.source

    @property
    def ir(self) -> str:
        """The LLVM assembly, written anew."""
        return assembly(self._recipe, self._target, self.lanes)

    @property
    def casadi_function(self) -> Any:
        """The traced `casadi.Function`: columns in, dense columns out (C order)."""
        return self._function

    def numpy(self, *arrays: Any, **named: Any) -> Any:
        """The formula itself in NumPy, state after state: slow, the reference for the compiled one.

        Raises RuntimeError if there is no formula: a derivative, or a kernel that came through pickle.
        """
        if self._formulas is None:
            raise RuntimeError(f"kernel '{self.name}' has no NumPy formula; evaluate its casadi_function")
        batch = _batch.gather(self._signature, _batch.bind(self._signature, arrays, named))
        outputs = _batch.results(self._signature, batch, None)
        rows = [
            np.broadcast_to(a, batch.shape + shape).reshape(batch.states, *shape)
            for a, shape in zip(batch.arrays, self._signature.inputs.values(), strict=True)
        ]
        flat = [o.reshape(batch.states, *s) for o, s in zip(outputs, self.outputs.values(), strict=True)]
        for k in range(batch.states):
            for target_rows, value in zip(flat, self._once([r[k] for r in rows]), strict=True):
                target_rows[k] = value
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _once(self, state: list[np.ndarray]) -> list[Any]:
        values: list[Any] = []
        for formula in self._formulas or ():
            result = formula(*state)
            if isinstance(result, Mapping):
                keys = [key for key in self._signature.outputs if key in result]
                values += [result[key] for key in keys]
            else:
                values += result if isinstance(result, tuple) else (result,)
        return values

    def __repr__(self) -> str:
        return f"<Kernel {self._signature}, {self.instructions} operations, {self.lanes} lanes, {self.source}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self._function.serialize(), self._signature, self._options)


def _restore(serialized: str, signature: Signature, options: dict[str, Any]) -> Kernel:
    """A kernel from its pickled parts, built for the machine that it arrives on."""
    return Kernel(casadi.Function.deserialize(serialized), signature, **options)
