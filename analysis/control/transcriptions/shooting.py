"""Direct multiple shooting on the group: states at the nodes, an explicit Runge-Kutta method between them."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from myoquat.analysis.control.plants import Plant, PrescribedPlant
from myoquat.analysis.control.points import Point
from myoquat.analysis.control.transcriptions.base import STATE, Layout, Transcription
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.kernels import METHODS

__all__ = ["MultipleShooting", "Shot"]

RK4 = METHODS["rk4"]
MAX_STEPS = 20

At = Callable[[int, "Shot"], Point]  # of the number of half steps since the start


class Shot(NamedTuple):
    """A state within an interval: the displacement of the pose from its start, velocities, further states."""

    theta: Array
    u: Array
    w: Array

    def moved(self, h: Array, slope: "Shot") -> "Shot":
        """The state after a step along a slope."""
        return Shot(*(x + h * k if x.shape[-1] else x for x, k in zip(self, slope, strict=True)))


@dataclass(frozen=True)
class MultipleShooting(Transcription):
    """The classical Runge-Kutta method of order 4, `steps` of it in every interval, in the chart at the start of the
    interval [H. Munthe-Kaas, High order Runge-Kutta methods on manifolds, Appl. Numer. Math. 29, 1999], so that |Q| = 1
    holds by construction; states at the nodes, controls constant on every interval. Equations of motion enter as
    forward dynamics, integrals by the weights of the method. Path constraints hold at the start of every step. Couplers
    and constraints of a model hold by their forces at every stage (Gauss's principle). The end of every interval is
    projected onto them, as in collocation.

    Raises ValueError for steps below 1 and beyond 20; a problem does for a prescribed motion.

    >>> from myoquat.analysis.control import MultipleShooting
    >>> MultipleShooting(steps=2).order
    4
    """

    title = "shooting"
    steps: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.steps <= MAX_STEPS:
            raise ValueError(f"steps must be between 1 and {MAX_STEPS}, not {self.steps}")

    def check(self, plant: Plant) -> None:
        if isinstance(plant, PrescribedPlant):
            raise ValueError("multiple shooting has no place for prescribed motions; choose another transcription")

    @property
    def order(self) -> int:
        return 4

    def layout(self, mesh: Array) -> Layout:
        return Layout.with_middles(mesh, STATE, ("controls",), (*STATE, "moves"))

    def quadrature(self, layout: Layout) -> Array:
        return layout.steps

    def times(self, layout: Layout) -> Array:
        """(n, 2 steps + 1) fractions of the duration at which the stages are."""
        within = np.linspace(0.0, 1.0, 2 * self.steps + 1)
        starts: Array = layout.fractions[layout.nodes[:-1], None]
        return starts + layout.steps[:, None] * within

    def shoot(
        self, plant: Plant, at: At, start: Shot, h: Array, integrand: Callable[[int, Point], list[Array]]
    ) -> tuple[Shot, list[Array], list[Point]]:
        """The formula: `steps` steps of h (..., 1) from `start`, over one interval.

        Returns the state at the end, the integrals over the interval divided by the duration of a step, and the points
        at which steps start.
        """
        state, total, points = start, list[Array](), list[Point]()
        for k in range(self.steps):
            slopes: list[Shot] = []
            for i, weight in enumerate(RK4.b):
                half = 2 * k + round(2 * RK4.c[i])
                own = state
                for a, slope in zip(RK4.a[i], slopes, strict=False):
                    own = own.moved(a * h, slope) if a else own
                point = at(half, own)
                slopes.append(_slope(plant, point, own.theta))
                point = _with_rates(point, slopes[-1])
                points += [point] if i == 0 else []
                terms = [weight * term for term in integrand(half, point)]
                total = [x + y for x, y in zip(total, terms, strict=True)] if total else terms
            for weight, slope in zip(RK4.b, slopes, strict=True):
                state = state.moved(weight * h, slope)
        return state, total, points


def _slope(plant: Plant, point: Point, theta: Array) -> Shot:
    udot, wdot = plant.rates(point)
    moving = plant.displacement_rate(theta, point.q, point.u) if plant.nu else theta
    return Shot(moving, udot, wdot)


def _with_rates(point: Point, slope: Shot) -> Point:
    return replace(point, udot=slope.u, rates=slope.w)
