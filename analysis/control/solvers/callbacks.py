"""Compiled programs as functions of CasADi, which read and write CasADi's own arrays."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from myoquat.analysis.control.program import Pattern
from myoquat.core.lazy_imports import casadi
from myoquat.core.typing import Array

__all__ = ["NONE", "Evaluation", "Timed", "sparsity_of"]

Evaluation = Callable[[Sequence[Array], Sequence[Array]], None]  # of arguments and results, () for those left out
NONE = np.zeros(0)


class Timed:
    """Makes functions of CasADi, and keeps the time that they take and the errors that they raise."""

    def __init__(self) -> None:
        self.errors, self.seconds = list[BaseException](), 0.0

    def function(self, name: str, inputs: dict[str, Any], outputs: dict[str, Any], evaluation: Evaluation) -> Any:
        """A function of CasADi by the sparsity of its inputs and outputs."""

        def timed(arguments: Sequence[Array], results: Sequence[Array]) -> None:
            begun = time.perf_counter()
            try:
                evaluation(arguments, results)
            finally:
                self.seconds += time.perf_counter() - begun

        return _callback_class()(name, inputs, outputs, timed, self.errors)


def sparsity_of(pattern: Pattern, shape: tuple[int, int]) -> Any:
    """The pattern as CasADi has it."""
    return casadi.Sparsity(*shape, pattern.columns.tolist(), pattern.rows.tolist())


_made: list[Any] = []


def _callback_class() -> Any:
    """A class of CasADi's callbacks, made when CasADi is first needed."""
    if not _made:

        class Callback(casadi.Callback):
            """A function of CasADi that reads and writes CasADi's own arrays."""

            def __init__(
                self, name: str, inputs: dict[str, Any], outputs: dict[str, Any], evaluation: Evaluation, errors: Any
            ) -> None:
                casadi.Callback.__init__(self)
                self._inputs, self._outputs = list(inputs.items()), list(outputs.items())
                self._evaluation, self._errors = evaluation, errors
                self.construct(name, {})

            def get_n_in(self) -> int:
                return len(self._inputs)

            def get_n_out(self) -> int:
                return len(self._outputs)

            def get_name_in(self, i: int) -> str:
                return str(self._inputs[i][0])

            def get_name_out(self, i: int) -> str:
                return str(self._outputs[i][0])

            def get_sparsity_in(self, i: int) -> Any:
                return self._inputs[i][1]

            def get_sparsity_out(self, i: int) -> Any:
                return self._outputs[i][1]

            def has_eval_buffer(self) -> bool:
                return True

            def eval_buffer(self, arguments: Any, results: Any) -> int:
                try:
                    self._evaluation([_floats(a) for a in arguments], [_floats(r) for r in results])
                except BaseException as error:
                    self._errors.append(error)
                    return 1
                return 0

        _made.append(Callback)
    return _made[0]


def _floats(buffer: Any) -> Array:
    """A buffer of CasADi as an array on the same memory; empty for one that it does not need."""
    return NONE if buffer is None else np.frombuffer(buffer, dtype=float)
