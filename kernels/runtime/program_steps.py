"""The stages of a program in Python, and as stages of `myoquat.kernels.codegen.program_stages`.

In Python they evaluate one state on floats or symbols, or many side by side on floats.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from myoquat.core.typing import Array
from myoquat.kernels.codegen.body import Straight
from myoquat.kernels.codegen.program_stages import FormulaStage, RepeatStage, Stage, TableStage, ZeroStage
from myoquat.kernels.symbolic.arrays import SymbolArray, as_array, is_symbolic
from myoquat.kernels.tracing.trace import Formula
from myoquat.kernels.tracing.traced import Shape

__all__ = [
    "FormulaStep",
    "Link",
    "RepeatStep",
    "ReserveStep",
    "TableStep",
    "ViewStep",
    "ZeroStep",
    "numbers_or_symbols",
    "stages_of",
]


@dataclass(frozen=True)
class Link:
    """Rows (count,) or (count, k) of a buffer, and the shape that an element sees of them."""

    buffer: str
    rows: np.ndarray
    element_shape: Shape


@dataclass(frozen=True)
class FormulaStep:
    function: Formula
    body: Straight

    def stage(self) -> FormulaStage:
        return FormulaStage(self.body)

    def advance(self, buffers: dict[str, Array], shapes: Mapping[str, Shape]) -> None:
        result = self.function(*(buffers[key] for key in self.body.signature.inputs))
        named = self.body.signature.outputs
        for (key, shape), value in zip(named.items(), _values(result, list(named)), strict=True):
            batch = next(iter(buffers.values())).shape[0]
            buffers[key] = np.array(np.broadcast_to(value, (batch, *shape)), dtype=float)

    def evaluate(self, buffers: dict[str, np.ndarray], shapes: Mapping[str, Shape]) -> None:
        names = list(self.body.signature.outputs)
        result = self.function(*(numbers_or_symbols(buffers[key]) for key in self.body.signature.inputs))
        for key, value in zip(names, _values(result, names), strict=True):
            buffers[key] = np.asarray(as_array(value)).astype(object)


@dataclass(frozen=True)
class ZeroStep:
    buffers: tuple[str, ...]

    def stage(self) -> ZeroStage:
        return ZeroStage(self.buffers)

    def advance(self, buffers: dict[str, Array], shapes: Mapping[str, Shape]) -> None:
        _zeroed(buffers, shapes, self.buffers)

    def evaluate(self, buffers: dict[str, np.ndarray], shapes: Mapping[str, Shape]) -> None:
        for key in self.buffers:
            buffers[key] = np.full(shapes[key], 0.0, dtype=object)


@dataclass(frozen=True)
class ReserveStep:
    """NaN until it is written."""

    buffers: tuple[str, ...]

    def advance(self, buffers: dict[str, Array], shapes: Mapping[str, Shape]) -> None:
        batch = next(iter(buffers.values())).shape[0]
        for key in self.buffers:
            buffers[key] = np.full((batch, *shapes[key]), np.nan)

    def evaluate(self, buffers: dict[str, np.ndarray], shapes: Mapping[str, Shape]) -> None:
        for key in self.buffers:
            buffers[key] = np.full(shapes[key], np.nan, dtype=object)


@dataclass(frozen=True)
class ViewStep:
    name: str
    buffer: str
    shape: Shape

    def advance(self, buffers: dict[str, Array], shapes: Mapping[str, Shape]) -> None:
        there = buffers[self.buffer]
        buffers[self.name] = there.reshape(len(there), *self.shape)

    def evaluate(self, buffers: dict[str, np.ndarray], shapes: Mapping[str, Shape]) -> None:
        buffers[self.name] = buffers[self.buffer].reshape(self.shape)  # of the same memory


@dataclass(frozen=True)
class TableStep:
    element: Callable[..., Any]
    body: Straight
    count: int
    gathered: Mapping[str, Link]
    parameters: Mapping[str, np.ndarray]
    shared: tuple[str, ...]
    written: Mapping[str, Mapping[str, Link]]
    zeroes: tuple[str, ...]

    def stage(self) -> TableStage:
        written = {
            write_mode: {key: (link.buffer, link.rows) for key, link in links.items()}
            for write_mode, links in self.written.items()
        }
        return TableStage(
            self.body,
            self.count,
            {key: (link.buffer, link.rows) for key, link in self.gathered.items()},
            dict(self.parameters),
            self.shared,
            written["store"],
            written["add"],
            written["least"],
            self.zeroes,
        )

    def advance(self, buffers: dict[str, Array], shapes: Mapping[str, Shape]) -> None:
        _zeroed(buffers, shapes, self.zeroes)
        inputs = {key: buffers[link.buffer][:, link.rows] for key, link in self.gathered.items()}
        inputs.update({key: value[None] for key, value in self.parameters.items()})
        inputs.update({key: buffers[key][:, None] for key in self.shared})
        names = list(self.body.signature.outputs)
        values = dict(zip(names, _values(self.element(**inputs), names), strict=True))
        for write_mode, links in self.written.items():
            for key, link in links.items():
                _scatter_all(buffers[link.buffer], link, values[key], _ACCUMULATION[write_mode])

    def evaluate(self, buffers: dict[str, np.ndarray], shapes: Mapping[str, Shape]) -> None:
        for key in self.zeroes:
            buffers[key] = np.full(shapes[key], 0.0, dtype=object)
        names = list(self.body.signature.outputs)
        for k in range(self.count):
            inputs = {
                key: numbers_or_symbols(buffers[link.buffer][link.rows[k]]) for key, link in self.gathered.items()
            }
            inputs.update({key: value[k] for key, value in self.parameters.items()})
            inputs.update({key: numbers_or_symbols(buffers[key]) for key in self.shared})
            values = dict(zip(names, _values(self.element(**inputs), names), strict=True))
            for write_mode, links in self.written.items():
                for key, link in links.items():
                    _scatter(buffers[link.buffer], link.rows[k], values[key], _ACCUMULATION[write_mode])


@dataclass(frozen=True)
class RepeatStep:
    steps: list[Any]
    count: int
    running: str
    carry: Mapping[str, str]

    def stage(self) -> RepeatStage:
        return RepeatStage(stages_of(self.steps), self.count, self.running, dict(self.carry))

    def advance(self, buffers: dict[str, Array], shapes: Mapping[str, Shape]) -> None:
        for _ in range(self.count):
            if not buffers[self.running].any():
                break
            for step in self.steps:
                step.advance(buffers, shapes)
            for key, source in self.carry.items():
                buffers[key] = buffers[source].copy()

    def evaluate(self, buffers: dict[str, np.ndarray], shapes: Mapping[str, Shape]) -> None:
        for _ in range(self.count):
            running = numbers_or_symbols(buffers[self.running])
            if is_symbolic(running):
                raise TypeError("stages that repeat run on floats and in kernels, not on symbols")
            if not running.any():
                break
            for step in self.steps:
                step.evaluate(buffers, shapes)
            for key, source in self.carry.items():
                buffers[key] = buffers[source].copy()


_ACCUMULATION: dict[str, np.ufunc | None] = {"store": None, "add": np.add, "least": np.minimum}


def stages_of(steps: Sequence[Any]) -> tuple[Stage, ...]:
    return tuple(step.stage() for step in steps if not isinstance(step, (ReserveStep, ViewStep)))


def _zeroed(buffers: dict[str, Array], shapes: Mapping[str, Shape], names: Sequence[str]) -> None:
    batch = next(iter(buffers.values())).shape[0]
    for key in names:
        buffers[key] = np.zeros((batch, *shapes[key]))


def _scatter_all(buffer: Array, link: Link, value: Array, together: np.ufunc | None) -> None:
    """What all elements give, (batch, count, ...), into the rows of a buffer (batch, ...)."""
    given = np.broadcast_to(value, (len(buffer), len(link.rows), *link.element_shape))
    if together is None:
        buffer[:, link.rows] = given
    elif (link.rows == link.rows[:1]).all():
        buffer[:, link.rows[0]] = together(buffer[:, link.rows[0]], together.reduce(given, axis=1))
    else:
        selection: Any = (slice(None), link.rows)
        together.at(buffer, selection, given)


def _scatter(buffer: np.ndarray, rows: Any, value: Any, together: np.ufunc | None) -> None:
    array = np.asarray(as_array(value)).astype(object)
    pairs = zip(rows, array, strict=True) if np.ndim(rows) else [(rows, array)]
    for row, piece in pairs:
        if together:
            piece = np.asarray(together(numbers_or_symbols(buffer[row]), numbers_or_symbols(piece)))
        buffer[row] = piece if buffer.ndim > 1 else np.asarray(piece).item()


def _values(result: Any, names: list[str]) -> list[Any]:
    if isinstance(result, Mapping):
        return [result[key] for key in names] if set(names) == set(result) else list(result.values())
    return list(result) if isinstance(result, tuple) else [result]


def numbers_or_symbols(array: Any) -> Any:
    """An object array as floats where it holds only floats, else as symbols."""
    array = np.asarray(array)
    if all(isinstance(x, (float, int, np.floating, np.bool_)) for x in array.flat):
        return array.astype(float)
    return array.view(SymbolArray) if array.dtype == object else as_array(array.item())
