"""Programs: kernels in stages, with loops over tables of repeated elements.

    program = Program("tree", {"q": 30, "a": 50})
    program.formula(poses, ["q"], {"pose": (12, 18)})
    program.table(
        spring, 50,
        gather={"ends": ("pose", ends), "activation": ("a", range(50))},   # ends: (50, 2) rows of pose
        parameters={"strength": strengths},
        add={"wrench": ("load", ends)},                                   # into the rows of a zeroed buffer (12, 6)
        buffers={"load": (12, 6)},
    )
    program.formula(accelerations, ["q", "load"], ["qdd"])
    kernel = program.compile(["qdd"])

Stages pass values through named buffers, whose first axis is the row that tables gather from and scatter to. A table
stage is one loop in the machine code, however many elements it has: build time and code size do not grow. Elements run
in order, each seeing what earlier ones stored, so that a table can walk a chain.
"""

import math
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import signature
from typing import Any, ClassVar, NamedTuple

import numpy as np

from myoquat.core import CALLABLE, check_types, digest, frozen, real_array, uncollected, waiting
from myoquat.kernels.codegen import slots
from myoquat.kernels.codegen.constructs import write_formula
from myoquat.kernels.codegen.ir import Module
from myoquat.kernels.codegen.lower import write_rows
from myoquat.kernels.codegen.parts import Call, CallForm, Cost, Ports, take_ports, write_calls
from myoquat.kernels.codegen.slots import Frame
from myoquat.kernels.control_flow.table_loop import Block, TracedRows
from myoquat.kernels.tracing.context import sharing_traces, unrolled_constructs
from myoquat.kernels.tracing.tape import Shape, Signature, Traced
from myoquat.kernels.tracing.trace import Formula, shape_of, trace

from .build import Recipe
from .compiled import Compiled

Links = Mapping[str, tuple[str, Any]]  # input or output of an element -> (buffer, rows)


# ---- stages --------------------------------------------------------------------------------------------------
# A stage is a call of a function on the frame (`write`). Two share an `identity` only if they write the same code.


@frozen
class FormulaStage:
    """A straight formula between buffers of the names in its signature."""

    formula: Traced

    @property
    def has_solver(self) -> bool:
        """Whether a step is repeated inside."""
        return self.formula.has_solver

    def identity(self) -> str:
        return self.formula.identity()

    def write(self, module: Module, name: str, frame: Frame, buffers: Ports) -> Call:
        cost = write_formula(self.formula, module, name, frame, buffers, buffers)
        return Call(name, cost=cost, form=CallForm.TOGETHER)


class Link(NamedTuple):
    """Rows (count,) or (count, k) of a buffer, which has this shape here."""

    buffer: str
    shape: Shape
    rows: np.ndarray

    @property
    def element_shape(self) -> Shape:
        """That in which an element sees its rows."""
        return self.rows.shape[1:] + self.shape[1:]

    def blocks(self, buffers: Ports) -> list[Block]:
        """The slots that each element takes or gives."""
        length = math.prod(self.shape[1:])
        columns = self.rows.reshape(len(self.rows), -1).T
        return [Block(buffers[self.buffer].slot + column * length, np.arange(length)) for column in columns]


@frozen
class TableStage:
    """A loop over elements; the fields are those of `Program.table`. written: where each output goes, and whether it is
    added."""

    formula: Traced
    gathered: Mapping[str, Link]
    parameters: Mapping[str, np.ndarray]
    written: Mapping[str, tuple[bool, Link]]
    count: int
    has_solver: ClassVar[bool] = False

    def identity(self) -> str:
        parts: list[bytes | str] = ["table", str(self.count), self.formula.identity()]
        for added, link in [*((None, link) for link in self.gathered.values()), *self.written.values()]:
            parts += [str(added), link.buffer, str((link.shape, link.rows.shape)), link.rows.tobytes()]
        for values in self.parameters.values():
            parts += [str(values.shape), values.tobytes()]
        return digest(*parts)

    def write(self, module: Module, name: str, frame: Frame, buffers: Ports) -> Call:
        takes = [block for link in self.gathered.values() for block in link.blocks(buffers)]
        gives = [(block, added) for added, link in self.written.values() for block in link.blocks(buffers)]
        numbers = [np.zeros((self.count, 0)), *(v.reshape(self.count, -1) for v in self.parameters.values())]
        rows = TracedRows(
            self.formula.tape, np.concatenate(numbers, axis=1), tuple(takes), tuple(block for block, _ in gives),
            tuple(added for _, added in gives),
        )  # fmt: skip
        cost = write_rows(module, f"{name}_rows", frame, rows)
        b = module.builder()
        b.line(f"call void @{name}_rows(ptr %frame, i64 0, i64 {self.count})")
        b.line("ret void")
        module.define(name, "void", "ptr %frame", b)
        return Call(name, cost=cost, arrays=(0,))


Stage = FormulaStage | TableStage


@frozen
class Staged:
    """A Program as a body."""

    signature: Signature
    shapes: Mapping[str, Shape]
    stages: tuple[Stage, ...]

    def identity(self) -> str:
        described = (str(self.signature), str(dict(self.shapes)))
        return digest("staged", *described, *(s.identity() for s in self.stages))

    def write(self, module: Module, name: str, frame: Frame, inputs: Ports, outputs: Ports) -> Cost:
        missing = {k: math.prod(s) for k, s in self.shapes.items() if k not in {*inputs, *outputs}}
        buffers = {**take_ports(frame, missing), **outputs, **inputs}
        calls = [stage.write(module, f"{name}_stage{k}", frame, buffers) for k, stage in enumerate(self.stages)]
        b = module.builder()
        for key in self.signature.outputs:  # an input may be asked for as an output
            if key in inputs:
                slots.copy_port(b, inputs[key], outputs[key])
        b.line("ret void")
        module.define(f"{name}_copies", "void", "ptr %frame", b)
        calls.append(Call(f"{name}_copies", arrays=(0,)))
        write_calls(module, name, frame, ("%frame",), calls, module.blocks > 1)
        return Cost.total(call.cost for call in calls)

    @property
    def has_solver(self) -> bool:
        """Whether a kernel takes several blocks of states together."""
        return any(stage.has_solver for stage in self.stages)


# ---- programs ----------------------------------------------------------------------------------------------


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
        self.views: dict[str, tuple[str, Shape]] = {}
        self._reserved: dict[str, Shape] = {}
        self._stages: list[Stage] = []
        self.__name__ = name

    # ---- stages ---------------------------------------------------------------------------------------------

    def formula(
        self,
        function: Formula,
        reads: Iterable[str] | None = None,
        writes: Sequence[str] | Mapping[str, Any] | None = None,
    ) -> None:
        """A straight stage: `function` of the buffers `reads`, in order; its outputs become new buffers.

        Without `reads` these are the buffers that its parameters are named after. `writes` as `outputs` of `compile`.
        Raises ValueError for a buffer that is not there, or there twice.
        """
        inputs = {key: self._buffer(key) for key in (signature(function).parameters if reads is None else reads)}
        body = trace(function, inputs, writes, self._stage_name(function))
        for key, shape in body.signature.outputs.items():
            self._create(key, shape)
        self._stages.append(FormulaStage(body))

    def zeros(self, buffers: Mapping[str, Any]) -> None:
        """New buffers, name -> shape, zero for every state, for tables to add to."""
        if buffers:
            self.formula(lambda: {key: np.zeros(shape) for key, shape in buffers.items()}, (), buffers)

    def reserve(self, buffers: Mapping[str, Any]) -> None:
        """New buffers, name -> shape, whose numbers mean nothing before tables have stored them, every row."""
        for key, shape in buffers.items():
            self._create(key, shape_of(self.name, key, shape))
            self._reserved[key] = self.buffers[key]

    def view(self, name: str, buffer: str, shape: int | Sequence[int]) -> None:
        """Another name and shape, for tables, of the numbers of a buffer in C order."""
        wanted, there = shape_of(self.name, name, shape), self._buffer(buffer)
        if math.prod(wanted) != math.prod(there):
            raise ValueError(f"program '{self.name}': '{buffer}' {there} has no view of the shape {wanted}")
        self.views[name] = buffer, wanted

    def table(
        self,
        element: Formula,
        count: int,
        *,
        gather: Links | None = None,
        parameters: Mapping[str, Any] | None = None,
        store: Links | None = None,
        add: Links | None = None,
        buffers: Mapping[str, Any] | None = None,
    ) -> None:
        """A loop of `count` elements. `element` is called by name, once on symbols; it returns an array or a dict.

        gather      input -> (buffer, rows): rows (count,) gives the element one row of the buffer, (count, k) gives
                    it k rows, stacked.
        parameters  input -> numbers (count, ...), constant for all states.
        store, add  output -> (buffer, rows): overwrite the rows, or add to them; a single array is named 'output0'.
        buffers     name -> shape of buffers that this stage makes, zeroed for every state.

        Raises ValueError for unknown buffers, rows out of range, and shapes that do not fit.
        """
        self.zeros(buffers or {})
        gathered = {key: self._link(count, key, *link) for key, link in (gather or {}).items()}
        tables = {key: self._parameter(count, key, value) for key, value in (parameters or {}).items()}
        inputs: dict[str, Shape] = {key: link.element_shape for key, link in gathered.items()}
        inputs |= {key: value.shape[1:] for key, value in tables.items()}
        names = list(inputs)
        stage = self._stage_name(element)
        with unrolled_constructs():
            traced = trace(lambda *symbols: element(**dict(zip(names, symbols, strict=True))), inputs, None, stage)
        if traced.inner:
            raise ValueError(f"kernel '{stage}': a solver inside an element of a table is not supported")
        written = {
            key: (added, self._link(count, key, *link))
            for added, links in ((False, store), (True, add))
            for key, link in (links or {}).items()
        }
        self._check_outputs(traced.signature, written)
        written = {key: written[key] for key in traced.signature.outputs}
        self._stages.append(TableStage(traced, gathered, tables, written, count))

    def _stage_name(self, function: Formula) -> str:
        name = getattr(function, "__name__", "")
        return f"{self.name}_{name if name.isidentifier() else f'stage{len(self._stages)}'}"

    def _buffer(self, key: str) -> Shape:
        if key not in self.buffers:
            raise ValueError(f"program '{self.name}' has no buffer '{key}'; there are: {list(self.buffers)}")
        return self.buffers[key]

    def _create(self, key: str, shape: Shape) -> None:
        if key in self.buffers:
            raise ValueError(f"program '{self.name}' already has a buffer '{key}' {self.buffers[key]}")
        self.buffers[key] = shape

    def _link(self, count: int, key: str, buffer: str, rows: Any) -> Link:
        buffer, shape = self.views.get(buffer) or (buffer, self._buffer(buffer))
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
        return Link(buffer, shape, indices.astype(np.int64))

    def _parameter(self, count: int, key: str, value: Any) -> np.ndarray:
        array = real_array(f"program '{self.name}': parameter '{key}'", value)
        if array.ndim < 1 or len(array) != count:
            raise ValueError(
                f"program '{self.name}': parameter '{key}' has shape {array.shape}; ({count}, ...) is needed"
            )
        return np.ascontiguousarray(array)

    def _check_outputs(self, signature: Signature, links: Mapping[str, tuple[bool, Link]]) -> None:
        if set(links) != set(signature.outputs):
            raise ValueError(
                f"kernel '{signature.name}' gives {list(signature.outputs)}; store and add name {list(links)}"
            )
        for key, (_, link) in links.items():
            if link.element_shape != signature.outputs[key]:
                raise ValueError(
                    f"kernel '{signature.name}': output '{key}' has shape {signature.outputs[key]}; "
                    f"its rows of '{link.buffer}' have {link.element_shape}"
                )

    # ---- use ------------------------------------------------------------------------------------------------

    def body(self, outputs: Sequence[str]) -> Staged:
        """The program as a body with the named buffers as outputs."""
        signature = Signature(self.name, self.inputs, {key: self._buffer(key) for key in outputs})
        return Staged(signature, dict(self.buffers), tuple(self._stages))

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
        return Compiled(Recipe.of_body(lambda: body), lanes=lanes, threads=threads, cache=cache)


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
    check_types(make=(make, CALLABLE), name=(name, str))
    start = time.perf_counter()

    def body() -> Staged:
        with sharing_traces(content):
            return make().body(outputs)

    with waiting(f"compiling {name}"), uncollected():
        key = None if content is None else digest("program", content, name, str(list(outputs)))
        kernel = Compiled(Recipe.of_body(body, key), lanes=lanes, threads=threads, cache=cache)
    kernel.build_seconds = time.perf_counter() - start
    return kernel
