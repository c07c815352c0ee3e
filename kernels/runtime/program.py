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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import signature
from typing import Any

import numpy as np

from myoquat.core.arguments import real_array
from myoquat.core.typing import Array
from myoquat.kernels.codegen.program_stages import (
    FillStage,
    FormulaStage,
    Link,
    RepeatStage,
    Stage,
    Staged,
    TableStage,
    ViewStage,
)
from myoquat.kernels.runtime.build import Recipe
from myoquat.kernels.runtime.compiled import Compiled
from myoquat.kernels.tracing.context import unrolled_constructs
from myoquat.kernels.tracing.tape import Shape, Signature
from myoquat.kernels.tracing.trace import Formula, shape_of, trace

__all__ = ["Program"]

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
        self._stages.append(FormulaStage(function, body))

    def zeros(self, buffers: Mapping[str, Any]) -> None:
        """New buffers, name -> shape, zero for every state, for tables to add to."""
        self._fill(buffers, 0.0)

    def reserve(self, buffers: Mapping[str, Any]) -> None:
        """New buffers, name -> shape, whose numbers mean nothing before tables have stored them, every row."""
        self._fill(buffers, np.nan)

    def _fill(self, buffers: Mapping[str, Any], value: float) -> None:
        for key, shape in buffers.items():
            self._create(key, shape_of(self.name, key, shape))
        self._stages.append(FillStage(tuple(buffers), value))

    def view(self, name: str, buffer: str, shape: int | Sequence[int]) -> None:
        """Another name and shape for the numbers of a buffer, in C order: what is written to one is in the other."""
        wanted, there = shape_of(self.name, name, shape), self._buffer(buffer)
        if math.prod(wanted) != math.prod(there):
            raise ValueError(f"program '{self.name}': '{buffer}' {there} has no view of the shape {wanted}")
        self._create(name, wanted)
        self.views[name] = self.views.get(buffer, buffer)
        self._stages.append(ViewStage(name, buffer, wanted))

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
        least: Links | None = None,
        buffers: Mapping[str, Any] | None = None,
    ) -> None:
        """A loop of `count` elements. `element` is called by name, once on symbols; it returns an array or a dict.

        gather      input -> (buffer, rows): rows (count,) gives the element one row of the buffer, (count, k) gives
                    it k rows, stacked.
        parameters  input -> numbers (count, ...), constant for all states.
        shared      whole buffers that every element sees under their own names.
        store, add, least  output -> (buffer, rows): overwrite the rows, add to them, or keep the smaller numbers; a
                    single array is named 'output0'.
        buffers     name -> shape of buffers that this stage makes, zeroed for every state.

        Raises ValueError for unknown buffers, rows out of range, and shapes that do not fit.
        """
        for key, shape in (buffers or {}).items():
            self._create(key, shape_of(self.name, key, shape))
        gathered = {key: self._link(count, key, *link) for key, link in (gather or {}).items()}
        tables = {key: self._parameter(count, key, value) for key, value in (parameters or {}).items()}
        whole = {key: self._buffer(key) for key in shared}
        inputs: dict[str, Shape] = {key: link.element_shape for key, link in gathered.items()}
        inputs |= whole | {key: value.shape[1:] for key, value in tables.items()}
        names = list(inputs)
        stage = self._stage_name(element)
        with unrolled_constructs():
            traced = trace(lambda *symbols: element(**dict(zip(names, symbols, strict=True))), inputs, None, stage)
        if traced.inner:
            raise ValueError(f"kernel '{stage}': a solver inside an element of a table is not supported")
        written = {
            write_mode: {key: self._link(count, key, *link) for key, link in (links or {}).items()}
            for write_mode, links in (("store", store), ("add", add), ("least", least))
        }
        self._check_outputs(traced.signature, {key: link for links in written.values() for key, link in links.items()})
        self._stages.append(
            TableStage(element, traced, count, gathered, tables, tuple(shared), written, zeroes=tuple(buffers or ()))
        )

    @contextmanager
    def repeat(self, count: int, running: str, carry: Mapping[str, str] | None = None) -> Iterator[None]:
        """The stages added inside run `count` times, or until the buffer `running` () is zero in all states that are
        evaluated side by side. After every iteration each buffer of `carry` takes over what its partner holds. A state
        whose own `running` is zero is carried along until then: what it must keep, its formulas keep.

        >>> import numpy as np
        >>> from myoquat.kernels import Program
        >>> program = Program("root", {"a": (), "x": ()})
        >>> program.formula(lambda a: {"off": 0.0 * a + 1.0})
        >>> with program.repeat(50, "off", carry={"x": "better", "off": "still"}):
        ...     program.formula(lambda a, x: {"better": 0.5 * (x + a / x), "still": np.abs(x * x - a) > 1e-12})
        >>> program.compile(["better"])(2.0, 1.0).round(9)
        np.float64(1.414213562)
        """
        outside, self._stages = self._stages, []
        yield
        inside, self._stages = self._stages, outside
        carried = dict(carry or {})
        for key in (running, *carried, *carried.values()):
            self._buffer(key)
        self._stages.append(RepeatStage(tuple(inside), count, running, carried))

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
        return Link(buffer, indices.astype(np.int64), indices.shape[1:] + shape[1:])

    def _parameter(self, count: int, key: str, value: Any) -> np.ndarray:
        array = real_array(f"program '{self.name}': parameter '{key}'", value)
        if array.ndim < 1 or len(array) != count:
            raise ValueError(
                f"program '{self.name}': parameter '{key}' has shape {array.shape}; ({count}, ...) is needed"
            )
        return np.ascontiguousarray(array)

    def _check_outputs(self, signature: Signature, links: dict[str, Link]) -> None:
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
        return Staged(signature, dict(self.buffers), tuple(self._stages), dict(self.views))

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

    def side_by_side(self, arrays: Mapping[str, Array], outputs: Sequence[str]) -> tuple[Array, ...]:
        """The stages in NumPy for many states at once: inputs (k, *shape) or (1, *shape), buffers (k, *shape). For
        formulas that run on leading axes, and tables of which no element reads what another has written."""
        batch = max(len(arrays[key]) for key in self.inputs)
        buffers = {
            key: np.array(np.broadcast_to(real_array(key, arrays[key]), (batch, *shape)))
            for key, shape in self.inputs.items()
        }
        for stage in self._stages:
            stage.advance(buffers, self.buffers)
        return tuple(buffers[key] for key in outputs)
