"""What a step loop evaluates, and where it keeps it: the description that `stepping` turns into code."""

from collections.abc import Mapping
from dataclasses import dataclass

from myoquat.core.content import digest
from myoquat.kernels.codegen.body import Straight
from myoquat.kernels.codegen.driver import Port
from myoquat.kernels.codegen.parts import Body, Ports, take_ports
from myoquat.kernels.codegen.stack.stack_frames import Frame

__all__ = ["HEADER", "StepFrame", "StepPlan", "nodes_of"]

# 8 bytes each at the head of the table of a call
HEADER = ("first", "until", "every", "start", "step", "index", "weight")


@dataclass(frozen=True)
class StepPlan:
    """The bodies of a step loop; `inputs` and `parameters` give numbers per state.

    slope    (t, x, inputs, parameters) -> xdot at the nodes `c`
    updates  (x, h, slopes...) -> x for every stage from the second on, and one for the whole step
    slope_indices    which slopes each of the updates takes
    step     (t, h, x, inputs, parameters) -> x, with inputs at `node`; instead of `slope` and `updates`
    bound    (t, x, inputs, parameters) -> a number that stops a lane when it is positive
    project  x -> x, where it is not part of the last update
    """

    size: int
    inputs: Mapping[str, int]
    parameters: Mapping[str, int]
    slope: Body | None = None
    c: tuple[float, ...] = ()
    slope_indices: tuple[tuple[int, ...], ...] = ()
    updates: tuple[Body, ...] = ()
    project: Body | None = None
    step: Body | None = None
    node: float = 0.0
    bound: Straight | None = None

    @property
    def nodes(self) -> tuple[float, ...]:
        """Where in a step the inputs are needed, as shares of it."""
        return nodes_of(self.c, self.node)

    def identity(self) -> str:
        """Text that two plans share only if they evaluate the same."""
        bodies = [self.slope, *self.updates, self.project, self.step, self.bound]
        shapes = str((self.size, dict(self.inputs), dict(self.parameters), self.c, self.slope_indices, self.node))
        return digest("steps", shapes, *("" if body is None else body.identity() for body in bodies))


def nodes_of(c: tuple[float, ...], node: float) -> tuple[float, ...]:
    """Where in a step the inputs are needed: at the nodes of the stages, or at `node` where there are none."""
    return tuple(sorted(set(c))) or (node,)


class StepFrame:
    """The frame of a step loop."""

    def __init__(self, plan: StepPlan) -> None:
        self.frame = Frame()
        n, stages = plan.size, len(plan.c)
        self.state = self._take(n)
        self.stage = self._take(n)  # where the right-hand side looks
        self.following = self._take(n)  # the state after the step, before it is accepted
        self.slope = self._take(n)  # what the right-hand side gives
        self.slopes = [self._take(n) for _ in range(stages - 1)]  # what it gave at earlier stages
        self.shown = self._take(n)  # a row of the trajectory
        self.time, self.h = self._take(1), self._take(1)
        self.inputs: Ports = take_ports(self.frame, plan.inputs)
        self.loaded = [self._take(1) for _ in plan.inputs]  # per input one i64: the row that its slots hold
        self.parameters: Ports = take_ports(self.frame, plan.parameters)
        self.value = self._take(1)  # of the bound
        self.chosen = self._take(1)  # of which lanes something holds, 1 or 0
        self.running, self.stopped, self.reason = self._take(1), self._take(1), self._take(1)

    def _take(self, length: int) -> Port:
        return Port(self.frame.take(length), length)

    def slope_of(self, stage: int) -> Port:
        """Where the slope of a stage lies once the next stage is computed."""
        return self.slopes[stage] if stage < len(self.slopes) else self.slope
