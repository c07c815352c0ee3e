"""Options of a simulation, in records: how its equations are solved, and what it returns."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from myoquat.dynamics.simulation.events import Event

__all__ = ["Output", "Solver", "options_of"]

Options = TypeVar("Options")


@dataclass(frozen=True)
class Solver:
    """How `simulate` solves the equations of motion; see its arguments of the same names.

    >>> import myoquat as mq
    >>> from myoquat.dynamics import Output, Solver
    >>> accurate, sparse = Solver(rtol=1e-9), Output(output_step=0.05)
    >>> mq.simulate(mq.load_model("two_link"), duration=0.1, solver=accurate, output=sparse).time
    array([0.  , 0.05, 0.1 ])
    """

    method: str = "rk4"
    step: float | None = None  # [s]
    rtol: float | None = None
    stabilization: str = "projection"
    project_start: bool = False


@dataclass(frozen=True)
class Output:
    """Which rows and events `simulate` returns, and whether it shows its progress; see its arguments of these names.

    >>> from myoquat.dynamics import Output
    >>> Output(output_step=0.01).start_time
    0.0
    """

    output_step: float | None = None  # [s]
    events: Sequence[Event] = ()
    start_time: float = 0.0  # [s]
    progress: bool | None = None


def options_of(argument: str, record: Options | None, single: Options) -> Options:
    """The record of an argument, or one of the arguments that were given singly.

    Raises TypeError for a record of another type, ValueError where an option is given in both forms.
    """
    if record is None:
        return single
    if not isinstance(record, type(single)):
        raise TypeError(f"{argument} must be of type {type(single).__name__}, not {type(record).__name__}")
    twice = [item.name for item in fields(single) if _is_given(single, item.name)]  # type: ignore[arg-type]
    if twice:
        raise ValueError(f"{', '.join(twice)}: give options either singly or in {argument}, not both")
    return record


def _is_given(single: Any, name: str) -> bool:
    """True if an option differs from the default of its record."""
    value, default = getattr(single, name), getattr(type(single)(), name)
    return value is not default and not (isinstance(value, str | float | bool | tuple | dict) and value == default)
