"""Programs: kernels in stages, with loops over tables of repeated elements.

    program = Program("tree", {"q": 30, "a": 50})
    program.formula(poses, ["q"], {"pose": (12, 18)})
    program.table(
        muscle, 50,
        gather={"ends": ("pose", ends), "activation": ("a", range(50))},   # ends: (50, 2) rows of pose
        parameters={"strength": strengths},
        add={"wrench": ("load", ends)},                                   # into the rows of a zeroed buffer (12, 6)
        buffers={"load": (12, 6)},
    )
    program.formula(accelerations, ["q", "load"], ["qdd"])
    kernel = program.compile(["qdd"])

Stages pass values through named buffers, whose first axis is the row that tables gather from and scatter to. A table
stage is one loop in the machine code, however many elements it has: build time and code size do not grow. Elements run
in order, each seeing what earlier ones stored, so that a table can walk a chain. A Program is itself a formula: called
on floats or symbols it evaluates its stages in NumPy, and `myoquat.kernels.compile(program, program.inputs)`
unrolls it.
"""

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from myoquat.kernels.arrays import SymbolArray, as_array
from myoquat.kernels.body import Body, DeferredBody, Straight, StraightRecipe
from myoquat.kernels.cache import digest
from myoquat.kernels.compiled import Compiled
from myoquat.kernels.notice import waiting
from myoquat.kernels.sources import sources_digest
from myoquat.kernels.staged import FormulaStage, Staged, TableStage, ZeroStage
from myoquat.kernels.trace import Formula, Shape, Signature, shape_of, trace

__all__ = ["Program", "compile_program"]

Links = Mapping[str, tuple[str, Any]]  # input or output of an element -> (buffer, rows)


class Program:
    """Stages over named buffers, the first of which are the inputs, name -> shape per state. See the module.

    >>> import numpy as np
    >>> from myoquat.kernels import Program
    >>> program = Program("springs", {"x": 3})
    >>> program.table(
    ...     lambda ends, k: {"force": k * (ends[1] - ends[0]) * np.array([1.0, -1.0])},
    ...     2,  # springs between neighbours, whose code stands once
    ...     gather={"ends": ("x", [[0, 1], [1, 2]])},
    ...     parameters={"k": [10.0, 20.0]},
    ...     add={"force": ("load", [[0, 1], [1, 2]])},
    ...     buffers={"load": (3,)},
    ... )
    >>> program.compile(["load"])([0.0, 0.1, 0.3])
    array([ 1.,  3., -4.])
    """

    def __init__(self, name: str, inputs: Mapping[str, Any]) -> None:
        self.name = name
        self.inputs: dict[str, Shape] = {key: shape_of(name, key, shape) for key, shape in inputs.items()}
        self.buffers: dict[str, Shape] = dict(self.inputs)
        self.views: dict[str, str] = {}
        self._steps: list[_FormulaStep | _TableStep | _ZeroStep | _ViewStep] = []
        self.__name__ = name

    # ---- stages ---------------------------------------------------------------------------------------------

    def formula(
        self, function: Formula, reads: Sequence[str], writes: Sequence[str] | Mapping[str, Any] | None = None
    ) -> None:
        """A straight stage: `function` of the buffers `reads`, in order; its outputs become new buffers.

        `writes` as `outputs` of `compile`. Raises ValueError for a buffer that is not there, or there twice.
        """
        inputs = {key: self._buffer(key) for key in reads}
        body = Straight.of(trace(function, inputs, writes, self._stage_name(function)))
        for key, shape in body.signature.outputs.items():
            self._create(key, shape)
        self._steps.append(_FormulaStep(function, body))

    def zeros(self, buffers: Mapping[str, Any]) -> None:
        """New buffers, name -> shape, zero for every state, for tables to add to."""
        for key, shape in buffers.items():
            self._create(key, shape_of(self.name, key, shape))
        self._steps.append(_ZeroStep(tuple(buffers)))

    def view(self, name: str, buffer: str, shape: int | Sequence[int]) -> None:
        """Another name and shape for the numbers of a buffer, in C order: what is written to one is in the other."""
        wanted, there = shape_of(self.name, name, shape), self._buffer(buffer)
        if math.prod(wanted) != math.prod(there):
            raise ValueError(f"program '{self.name}': '{buffer}' {there} has no view of the shape {wanted}")
        self._create(name, wanted)
        self.views[name] = self.views.get(buffer, buffer)
        self._steps.append(_ViewStep(name, buffer, wanted))

    def table(
        self,
        element: Formula,
        count: int,
        *,
        gather: Links | None = None,
        parameters: Mapping[str, Any] | None = None,
        shared: Sequence[str] = (),
        store: Links | None = None,
        add: Links | None = None,
        buffers: Mapping[str, Any] | None = None,
    ) -> None:
        """A loop of `count` elements. `element` is called by name, once on symbols; it returns an array or a dict.

        gather      input -> (buffer, rows): rows (count,) gives the element one row of the buffer, (count, k) gives
                    it k rows, stacked.
        parameters  input -> numbers (count, ...), constant for all states.
        shared      whole buffers that every element sees under their own names.
        store, add  output -> (buffer, rows): overwrite the rows, or add to them; a single array is named 'output0'.
        buffers     name -> shape of buffers that this stage makes, zeroed for every state.

        Raises ValueError for unknown buffers, rows out of range, and shapes that do not fit.
        """
        for key, shape in (buffers or {}).items():
            self._create(key, shape_of(self.name, key, shape))
        gathered = {key: self._link(count, key, *link) for key, link in (gather or {}).items()}
        tables = {key: self._parameter(count, key, value) for key, value in (parameters or {}).items()}
        whole = {key: self._buffer(key) for key in shared}
        inputs: dict[str, Shape] = {key: link.element_shape for key, link in gathered.items()}
        inputs.update({key: value.shape[1:] for key, value in tables.items()})
        inputs.update(whole)
        names = list(inputs)
        stage = self._stage_name(element)
        traced = trace(lambda *symbols: element(**dict(zip(names, symbols, strict=True))), inputs, None, stage)
        if traced.inner:
            raise ValueError(f"kernel '{stage}': a solver inside an element of a table is not supported")
        written = {
            kind: {key: self._link(count, key, *link) for key, link in (links or {}).items()}
            for kind, links in (("store", store), ("add", add))
        }
        self._check_outputs(traced.signature, {**written["store"], **written["add"]})
        body = Straight.of(traced)
        self._steps.append(
            _TableStep(element, body, count, gathered, tables, tuple(shared), written, zeroes=tuple(buffers or ()))
        )

    def _stage_name(self, function: Formula) -> str:
        name = getattr(function, "__name__", "")
        return f"{self.name}_{name if name.isidentifier() else f'stage{len(self._steps)}'}"

    def _buffer(self, key: str) -> Shape:
        if key not in self.buffers:
            raise ValueError(f"program '{self.name}' has no buffer '{key}'; there are: {list(self.buffers)}")
        return self.buffers[key]

    def _create(self, key: str, shape: Shape) -> None:
        if key in self.buffers:
            raise ValueError(f"program '{self.name}' already has a buffer '{key}' {self.buffers[key]}")
        self.buffers[key] = shape

    def _link(self, count: int, key: str, buffer: str, rows: Any) -> "_Link":
        shape = self._buffer(buffer)
        if not shape:
            raise ValueError(f"program '{self.name}': buffer '{buffer}' has no rows; pass it as shared")
        indices = np.asarray(rows)
        if indices.dtype.kind not in "iu" or indices.ndim not in (1, 2) or len(indices) != count:
            raise ValueError(
                f"program '{self.name}': rows of '{key}' are {indices.dtype} {indices.shape}; "
                f"whole numbers ({count},) or ({count}, k) are needed"
            )
        if indices.size and not (indices.min() >= 0 and indices.max() < shape[0]):
            raise ValueError(
                f"program '{self.name}': rows of '{key}' reach from {indices.min()} to {indices.max()}; "
                f"'{buffer}' has rows 0 to {shape[0] - 1}"
            )
        return _Link(buffer, indices.astype(np.int64), indices.shape[1:] + shape[1:])

    def _parameter(self, count: int, key: str, value: Any) -> np.ndarray:
        array = np.asarray(value, dtype=float)
        if array.ndim < 1 or len(array) != count:
            raise ValueError(
                f"program '{self.name}': parameter '{key}' has shape {array.shape}; ({count}, ...) is needed"
            )
        return np.ascontiguousarray(array)

    def _check_outputs(self, signature: Signature, links: dict[str, "_Link"]) -> None:
        if set(links) != set(signature.outputs):
            raise ValueError(
                f"kernel '{signature.name}' gives {list(signature.outputs)}; store and add name {list(links)}"
            )
        for key, link in links.items():
            if link.element_shape != signature.outputs[key]:
                raise ValueError(
                    f"kernel '{signature.name}': output '{key}' has shape {signature.outputs[key]}; "
                    f"its rows of '{link.buffer}' have {link.element_shape}"
                )

    # ---- use ------------------------------------------------------------------------------------------------

    def body(self, outputs: Sequence[str]) -> Staged:
        """The program as a body with the named buffers, none of them a view, as outputs."""
        if set(outputs) & set(self.views):
            raise ValueError(f"program '{self.name}': an output is no view; give the buffer {self.views}")
        signature = Signature(self.name, self.inputs, {key: self._buffer(key) for key in outputs})
        stages = [step.stage() for step in self._steps if not isinstance(step, _ViewStep)]
        return Staged(signature, dict(self.buffers), tuple(stages), dict(self.views))

    def compile(
        self,
        outputs: Sequence[str],
        *,
        lanes: int | None = None,
        threads: int | None = None,
        cache: str | os.PathLike[str] | None = None,
    ) -> Compiled:
        """The program as a kernel that returns the named buffers; options as for `myoquat.kernels.compile`."""
        body = self.body(outputs)
        return Compiled(StraightRecipe(body), lanes=lanes, threads=threads, cache=cache)

    def __call__(self, *arrays: Any, outputs: Sequence[str] | None = None) -> dict[str, Any]:
        """The stages in NumPy for one state, on floats or symbols: the buffers `outputs` (all but inputs) by name."""
        buffers: dict[str, np.ndarray] = {}
        for key, array in zip(self.inputs, arrays, strict=True):
            buffers[key] = np.asarray(as_array(array)).astype(object)
        for step in self._steps:
            step.evaluate(buffers, self.buffers)
        wanted = [key for key in buffers if key not in self.inputs] if outputs is None else outputs
        return {key: _settled(buffers[key]) for key in wanted}


def compile_program(
    make: Callable[[], Program],
    outputs: Sequence[str],
    *,
    name: str,
    content: str | None = None,
    lanes: int | None = None,
    threads: int | None = None,
    cache: str | os.PathLike[str] | None = None,
) -> Compiled:
    """The kernel of a program that is made only where the cache has no machine code for it; see `compile`.

    >>> from myoquat.kernels import Program, compile_program
    >>> def make():
    ...     program = Program("double", {"x": 2})
    ...     program.formula(lambda x: x + x, ["x"], {"twice": 2})
    ...     return program
    >>> compile_program(make, ["twice"], name="double")([1.0, 2.0])
    array([2., 4.])
    """
    start = time.perf_counter()
    sources = None if content is None else sources_digest()

    def body() -> Body:
        return make().body(outputs)

    with waiting(f"compiling {name}"):
        if content is None or sources is None:
            found = body()
        else:
            key = digest("program", sources, np.__version__, content, name, str(list(outputs)))
            found = DeferredBody(key, body)
        kernel = Compiled(StraightRecipe(found), lanes=lanes, threads=threads, cache=cache)
    kernel.build_seconds = time.perf_counter() - start
    return kernel


@dataclass(frozen=True)
class _Link:
    """Rows (count,) or (count, k) of a buffer, and the shape that an element sees of them."""

    buffer: str
    rows: np.ndarray
    element_shape: Shape


@dataclass(frozen=True)
class _FormulaStep:
    function: Formula
    body: Straight

    def stage(self) -> FormulaStage:
        return FormulaStage(self.body)

    def evaluate(self, buffers: dict[str, np.ndarray], shapes: Mapping[str, Shape]) -> None:
        names = list(self.body.signature.outputs)
        result = self.function(*(_settled(buffers[key]) for key in self.body.signature.inputs))
        for key, value in zip(names, _values(result, names), strict=True):
            buffers[key] = np.asarray(as_array(value)).astype(object)


@dataclass(frozen=True)
class _ZeroStep:
    buffers: tuple[str, ...]

    def stage(self) -> ZeroStage:
        return ZeroStage(self.buffers)

    def evaluate(self, buffers: dict[str, np.ndarray], shapes: Mapping[str, Shape]) -> None:
        for key in self.buffers:
            buffers[key] = np.full(shapes[key], 0.0, dtype=object)


@dataclass(frozen=True)
class _ViewStep:
    name: str
    buffer: str
    shape: Shape

    def evaluate(self, buffers: dict[str, np.ndarray], shapes: Mapping[str, Shape]) -> None:
        buffers[self.name] = buffers[self.buffer].reshape(self.shape)  # of the same memory


@dataclass(frozen=True)
class _TableStep:
    element: Callable[..., Any]
    body: Straight
    count: int
    gathered: Mapping[str, _Link]
    parameters: Mapping[str, np.ndarray]
    shared: tuple[str, ...]
    written: Mapping[str, Mapping[str, _Link]]
    zeroes: tuple[str, ...]

    def stage(self) -> TableStage:
        return TableStage(
            self.body,
            self.count,
            {key: (link.buffer, link.rows) for key, link in self.gathered.items()},
            dict(self.parameters),
            self.shared,
            {key: (link.buffer, link.rows) for key, link in self.written["store"].items()},
            {key: (link.buffer, link.rows) for key, link in self.written["add"].items()},
            self.zeroes,
        )

    def evaluate(self, buffers: dict[str, np.ndarray], shapes: Mapping[str, Shape]) -> None:
        for key in self.zeroes:
            buffers[key] = np.full(shapes[key], 0.0, dtype=object)
        names = list(self.body.signature.outputs)
        for k in range(self.count):
            inputs = {key: _settled(buffers[link.buffer][link.rows[k]]) for key, link in self.gathered.items()}
            inputs.update({key: value[k] for key, value in self.parameters.items()})
            inputs.update({key: _settled(buffers[key]) for key in self.shared})
            values = dict(zip(names, _values(self.element(**inputs), names), strict=True))
            for kind, links in self.written.items():
                for key, link in links.items():
                    _scatter(buffers[link.buffer], link.rows[k], values[key], add=kind == "add")


def _scatter(buffer: np.ndarray, rows: Any, value: Any, add: bool) -> None:
    array = np.asarray(as_array(value)).astype(object)
    pairs = zip(rows, array, strict=True) if np.ndim(rows) else [(rows, array)]
    for row, piece in pairs:
        if add:
            piece = np.asarray(np.add(_settled(buffer[row]), _settled(piece)))
        buffer[row] = piece if buffer.ndim > 1 else np.asarray(piece).item()


def _values(result: Any, names: list[str]) -> list[Any]:
    if isinstance(result, Mapping):
        return [result[key] for key in names] if set(names) == set(result) else list(result.values())
    return list(result) if isinstance(result, tuple) else [result]


def _settled(array: Any) -> Any:
    """An object array as floats where it holds only floats, else as symbols."""
    array = np.asarray(array)
    if all(isinstance(x, (float, int, np.floating, np.bool_)) for x in array.flat):
        return array.astype(float)
    return array.view(SymbolArray) if array.dtype == object else as_array(array.item())
