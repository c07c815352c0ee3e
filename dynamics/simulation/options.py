"""Options of a simulation, in records: how its equations are solved, and what it returns."""

from collections.abc import Sequence

from myoquat.core.records import dataclass
from myoquat.dynamics.simulation.events import Event

__all__ = ["Output", "Solver"]


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
