"""The implicit midpoint rule on the group."""

from dataclasses import replace

from myoquat.analysis.control.plants import Plant
from myoquat.analysis.control.points import Point
from myoquat.analysis.control.transcriptions.base import STATE, Layout, Transcription, Values
from myoquat.core.records import dataclass
from myoquat.core.typing import Array

__all__ = ["Midpoint"]


@dataclass(frozen=True)
class Midpoint(Transcription):
    """q_1 = q_0 exp(h (u_0 + u_1) / 2) and the equations of motion at q_0 exp(h (u_0 + u_1) / 4), (u_0 + u_1) / 2 and
    udot = (u_1 - u_0) / h. It is of order 2, with the fewest unknowns. States are at the nodes, controls are constant
    on every interval. Path constraints and integrals are taken at the middle of the intervals.

    >>> from myoquat.analysis.control import Midpoint
    >>> Midpoint().order
    2
    """

    title = "midpoint"

    @property
    def order(self) -> int:
        return 2

    def layout(self, mesh: Array) -> Layout:
        return Layout.with_middles(mesh, STATE, ("controls", "multipliers"), (*STATE, "moves"))

    def quadrature(self, layout: Layout) -> Array:
        return layout.steps

    def point(self, plant: Plant, base: Point, values: Values, h: Array) -> tuple[Point, list[Array]]:
        """The formula: the point in the middle of an interval, and the rows of its constraints.

        `values` are the fields at middle, start and end. The rows say by how much the pose at the end differs from the
        rule's, and how far that end is from the constraints. `base` has time, names and loads; h (..., 1) [s].
        """
        middle, start, end = values
        q0, q1, u = start["q"], end["q"], (start["u"] + end["u"]) / 2
        w, wdot = (start["w"] + end["w"]) / 2, (end["w"] - start["w"]) / h
        change, gap = end["u"] - start["u"], plant.displacement(plant.moved(q0, h * u), q1)
        rows = [gap]
        if plant.constraints is not None:
            t1 = base.t + h[..., 0] / 2
            pose, velocity = plant.constraints.moves(q1, t1, end["moves"])
            change, rows = change - velocity, [gap - pose, plant.constraints.state(q1, end["u"], t1)]
        q, udot = plant.moved(q0, h / 2 * u), change / h
        point = replace(base, q=q, u=u, udot=udot, states=w, rates=wdot, controls=middle["controls"])
        return replace(point, multipliers=middle["multipliers"]), rows
