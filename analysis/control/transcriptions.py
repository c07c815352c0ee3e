"""Transcriptions: the variables of a motion on a mesh, and the equations between them, all with the same verbs.

Collocation on the group has polynomials whose rates agree with the equations at chosen points of every interval. There
theta(t) is the displacement of the pose from the start of an interval (rotation vectors of quaternions). Its rate at
the points c_j is that of `displacement_rate`. The polynomial through these rates gives

    theta_i = h sum_j A_ij thetadot_j,   x_i = x_0 + h sum_j A_ij xdot_j,

A_ij being the integral of the j-th Lagrange polynomial from 0 to c_i. This is a Runge-Kutta method in the chart at the
start of the interval [H. Munthe-Kaas, High order Runge-Kutta methods on manifolds, Appl. Numer. Math. 29, 1999; E.
Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I, 2nd ed., 1993, theorem II.7.7]. |Q| = 1
holds by construction. The rates udot are unknowns, so that the equations of motion enter as inverse dynamics.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np

from myoquat.core import Array, Record, check_type, frozen
from myoquat.kernels import METHODS

from .plants import Plant, PrescribedPlant
from .points import Point

STATE = ("z", "u", "w")

Values = list[dict[str, Array]]  # of the fields of each slot
RowsAndTerms = tuple[list[Array], list[Array]]


class Slot(NamedTuple):
    """A group of variables of an instance of a formula: the site of each instance, and the fields that it takes."""

    sites: Array  # (b,)
    fields: tuple[str, ...]


# the formula of the instances of a block, of slots, data, duration and statement
Between = Callable[[Values, Sequence[Array], Array, Any], RowsAndTerms]


def split(x: Array, widths: Sequence[int]) -> list[Array]:
    """Parts (..., n) of an array, one behind the other: the formula."""
    return [x[..., end - n : end] for n, end in zip(widths, np.cumsum(widths), strict=True)]


@frozen(eq=False)
class Layout:
    """The sites of a mesh in the order of time: nodes at the ends of intervals, and points inside them.

    fractions (s,) of the duration; nodes (n + 1,) and inner (n, m) are sites; fields of every site.
    """

    fractions: Array
    nodes: Array
    inner: Array
    fields: tuple[tuple[str, ...], ...]

    @property
    def steps(self) -> Array:
        """(n,) length of each interval as a fraction of the duration."""
        return np.diff(self.fractions[self.nodes])

    def having(self, field: str) -> Array:
        """The sites that have a field."""
        return np.array([i for i, fields in enumerate(self.fields) if field in fields], dtype=int)


@frozen
class Transcription(Record, ABC):
    """How a motion becomes finitely many unknowns: points in every interval of the mesh, and equations between them.

    >>> from myoquat.analysis.control import TRANSCRIPTIONS
    >>> {name: method.order for name, method in TRANSCRIPTIONS.items()}
    {'midpoint': 2, 'trapezoid': 2, 'hermite_simpson': 4, 'gauss': 6, 'radau': 5, 'shooting': 4}
    """

    title: ClassVar[str]

    @property
    @abstractmethod
    def order(self) -> int:
        """Of the error of the states at the nodes, in the length of the intervals, for smooth solutions."""

    def check(self, plant: Plant) -> None:
        """ValueError for a plant that it cannot do."""

    @abstractmethod
    def layout(self, mesh: Array) -> Layout:
        """The sites of a mesh (n + 1,) of fractions of the duration, from 0 to 1."""

    @abstractmethod
    def quadrature(self, layout: Layout) -> Array:
        """(k,) the weight, as a fraction of the duration, of every site with equations in integrals."""


At = Callable[..., Point]  # of a number in `IntervalRule.times` and of fields: time, names, controls and loads added
Integrand = Callable[[int, Point], list[Array]]


@frozen
class IntervalRule(Transcription):
    """States at the nodes, controls constant on every interval, and one formula from each node to the next."""

    fields: ClassVar[tuple[str, ...]] = ("controls",)  # of an interval
    steps: ClassVar[int] = 1  # of an interval, at each of which path constraints hold

    def layout(self, mesh: Array) -> Layout:
        n = len(mesh) - 1
        fractions = np.empty(2 * n + 1)
        fractions[::2], fractions[1::2] = mesh, (mesh[:-1] + mesh[1:]) / 2
        fields = (STATE, *(self.fields, (*STATE, "moves")) * n)
        return Layout(fractions, np.arange(0, 2 * n + 1, 2), np.arange(1, 2 * n + 1, 2)[:, None], fields)

    def quadrature(self, layout: Layout) -> Array:
        return layout.steps

    @abstractmethod
    def times(self, layout: Layout) -> Array:
        """(n, k) fractions of the duration at which the rule has points in every interval."""

    @abstractmethod
    def names(self, plant: Plant) -> tuple[str, ...]:
        """A name for each of the rows that join two nodes."""

    @abstractmethod
    def rows(
        self, plant: Plant, values: Values, at: At, h: Array, moves: Sequence[Array], integrand: Integrand
    ) -> tuple[list[Array], list[Array], list[Point]]:
        """The formula: by how much the state at the end differs from the rule's, the integrals over the interval, and
        the points at which path constraints hold.

        `values` are the fields in the interval, at its start and at its end; h (..., 1) [s] is the length of a step.
        `moves` are those of pose and velocities onto constraints at the end.
        """


@frozen
class Midpoint(IntervalRule):
    """q_1 = q_0 exp(h (u_0 + u_1) / 2) and the equations of motion at q_0 exp(h (u_0 + u_1) / 4), (u_0 + u_1) / 2 and
    udot = (u_1 - u_0) / h. It is of order 2, with the fewest unknowns. States are at the nodes, controls are constant
    on every interval. Path constraints and integrals are taken at the middle of the intervals.

    >>> from myoquat.analysis.control import Midpoint
    >>> Midpoint().order
    2
    """

    title = "midpoint"
    order = 2
    fields = ("controls", "multipliers")

    def times(self, layout: Layout) -> Array:
        return layout.fractions[layout.inner]

    def names(self, plant: Plant) -> tuple[str, ...]:
        return tuple(f"change of the pose along {name}" for name in plant.velocity_names)

    def rows(
        self, plant: Plant, values: Values, at: At, h: Array, moves: Sequence[Array], integrand: Integrand
    ) -> tuple[list[Array], list[Array], list[Point]]:
        (middle, start, end), (pose, velocity) = values, moves
        q0, u, w = start["q"], (start["u"] + end["u"]) / 2, (start["w"] + end["w"]) / 2
        gap = plant.displacement(plant.moved(q0, h * u), end["q"]) - pose
        udot, wdot = (end["u"] - start["u"] - velocity) / h, (end["w"] - start["w"]) / h
        point = at(0, q=plant.moved(q0, h / 2 * u), u=u, udot=udot, states=w, rates=wdot,
                   multipliers=middle["multipliers"])  # fmt: skip
        return [gap], integrand(0, point), [point]


RATES = ("udot", "wdot")
ACTIVE = ("udot", "wdot", "controls", "multipliers")
MAX_POINTS = 9


def integration_matrix(points: Array, ends: Array) -> Array:
    """(e, s) A_ij, the integral from 0 to ends_i of the Lagrange polynomial of points_j: exact for polynomials."""
    powers = np.arange(len(points))
    vandermonde = np.asarray(points)[:, None] ** powers  # p(c) = V a
    integrals = np.asarray(ends)[:, None] ** (powers + 1) / (powers + 1)
    return np.linalg.solve(vandermonde.T, integrals.T).T


@frozen
class Collocation(Transcription):
    """Collocation at the points `points`, fractions of every interval."""

    linear_controls = False  # whether those inside an interval lie on the straight line between those at its ends

    @property
    @abstractmethod
    def points(self) -> tuple[float, ...]:
        """(s,) the collocation points, increasing, in [0, 1]."""

    @property
    def _fractions(self) -> list[float]:
        """(m + 2,) the sites of an interval, as fractions of it: its ends, and the points inside."""
        return [0.0, *(c for c in self.points if 0 < c < 1), 1.0]

    def layout(self, mesh: Array) -> Layout:
        within, n = np.array(self._fractions[:-1]), len(mesh) - 1
        fractions = np.append(mesh[:-1, None] + within * np.diff(mesh)[:, None], mesh[-1])
        nodes = np.arange(n + 1) * len(within)
        fields: list[tuple[str, ...]] = [(*STATE, *ACTIVE)] * len(fractions)
        for k, node in enumerate(nodes):
            if not ((0.0 in self.points and k < n) or (1.0 in self.points and k > 0)):
                fields[node] = self._passive
            if k:
                fields[node] = (*fields[node], "moves")
        return Layout(fractions, nodes, nodes[:-1, None] + np.arange(1, len(within)), tuple(fields))

    @property
    def _passive(self) -> tuple[str, ...]:
        """The fields of a node that is no collocation point."""
        return (*STATE, "controls") if self.linear_controls else STATE

    def quadrature(self, layout: Layout) -> Array:
        weights = integration_matrix(np.array(self.points), np.ones(1))[0]
        total = np.zeros(len(layout.fractions))
        sites: Any = layout.nodes[:-1, None] + [k for k, x in enumerate(self._fractions) if x in self.points]
        np.add.at(total, sites, layout.steps[:, None] * weights)
        return total[layout.having("udot")]

    def between(self, plant: Plant, layout: Layout) -> tuple[list[Slot], Between, list[Array], list[str]]:
        """The collocation equations of all intervals: slots, formula, data, and the names of the rows."""
        _, *inner, _ = fractions = self._fractions
        A = integration_matrix(np.array(self.points), np.array(fractions[1:]))
        active = (*STATE, *RATES, "controls") if self.linear_controls else (*STATE, *RATES)
        slots = [
            Slot(layout.nodes[:-1] + k, active if x in self.points else self._passive) for k, x in enumerate(fractions)
        ]
        slots[-1] = Slot(slots[-1].sites, (*slots[-1].fields, "moves"))
        # points of controls that lie on the line between those at both ends
        straight = inner if self.linear_controls and plant.nc else []

        def formula(values: Values, data: Sequence[Array], duration: Array, bound: Any) -> RowsAndTerms:
            plant, (step, end) = bound.plant, data
            h = step * duration[..., None]
            q, u, w = ([v[name] for v in values] for name in ("q", "u", "w"))
            moved = [np.zeros(plant.nu), *(plant.displacement(q[0], x) for x in q[1:])]
            rated = [i for i, v in enumerate(values) if "udot" in v]
            rates = [plant.displacement_rate(moved[i], q[i], u[i]) for i in rated]
            held, pose, velocity = plant.held(values[-1], bound.start + end[..., 0] * duration)
            moved[-1], u[-1] = moved[-1] - pose, u[-1] - velocity
            rows = []
            for i, row in enumerate(A, start=1):
                for x, rate in ((u, "udot"), (w, "wdot")):
                    rows.append(x[i] - x[0] - h * sum(a * values[j][rate] for a, j in zip(row, rated, strict=True)))
                rows.append(moved[i] - h * sum(a * r for a, r in zip(row, rates, strict=True)))
            driven = [v["controls"] for v in values if "controls" in v]
            rows += [x - (1 - c) * driven[0] - c * driven[-1] for c, x in zip(straight, driven[1:-1], strict=False)]
            return [*rows, *held], []

        names = [
            *(f"change of {name}" for name in (*plant.velocity_names, *plant.state_names)),
            *(f"change of the pose along {name}" for name in plant.velocity_names),
        ]
        names = names * len(A) + [f"control {name}" for name in plant.control_names] * len(straight)
        data = [layout.steps[:, None], layout.fractions[layout.nodes[1:], None]]
        return slots, formula, data, [*names, *plant.state_row_names]


@frozen
class StagedCollocation(Collocation):
    """Collocation at a number of points that is chosen: `stages`, from 1 to 9; ValueError for others.

    linear_controls: controls are linear between the nodes and continuous, as Moco has them by default.
    """

    stages: int = 3
    linear_controls: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_type("stages", self.stages, Integral)
        if not 1 <= self.stages <= MAX_POINTS:
            raise ValueError(f"stages must be between 1 and {MAX_POINTS}, not {self.stages}")


@frozen
class Gauss(StagedCollocation):
    """Collocation at the `stages` roots of the Legendre polynomial P_s on [0, 1].

    It has order 2 s, is symmetric, and has no point at the nodes [Hairer, Norsett, Wanner, Solving Ordinary
    Differential Equations I, 1993, section II.7]. Controls are polynomials that may jump at nodes, or with
    `linear_controls` linear between the nodes and continuous, as Moco has them by default.

    >>> import numpy as np
    >>> from myoquat.analysis.control import Gauss
    >>> np.round(Gauss(2).points, 4), Gauss(2).order
    (array([0.2113, 0.7887]), 4)
    """

    title = "gauss"

    @property
    def order(self) -> int:
        return 2 * self.stages

    @cached_property
    def points(self) -> tuple[float, ...]:
        roots, _ = np.polynomial.legendre.leggauss(self.stages)
        return tuple(map(float, (roots + 1) / 2))


@frozen
class HermiteSimpson(Collocation):
    """x_1 = x_0 + h (f_0 + 4 f_c + f_1) / 6, x_c = (x_0 + x_1) / 2 + h (f_0 - f_1) / 8, of order 4. States and controls
    are at the nodes and in the middle of every interval, in the separated form of Moco and others [M. Kelly, An
    introduction to trajectory optimization, SIAM Review 59, 2017, section 4].

    linear_controls: the control in the middle is the mean of those at both nodes, as Moco has it by default. Controls
    then have no part that alternates within an interval, and jumps of loads are tracked less closely.

    >>> from myoquat.analysis.control import HermiteSimpson
    >>> HermiteSimpson().points
    (0.0, 0.5, 1.0)
    """

    title = "hermite_simpson"
    order = 4
    points = (0.0, 0.5, 1.0)
    linear_controls: bool = False


@frozen
class Radau(StagedCollocation):
    """Collocation at the `stages` roots of P_(s-1) - P_s on [0, 1], the last of which is the end of the interval. It
    has order 2 s - 1 and damps stiff equations [D. Garg et al., Comput. Optim. Appl. 49, 2011; Hairer and Wanner,
    Solving Ordinary Differential Equations II, 1996, section IV.5]. Controls are polynomials that may jump at nodes, or
    with `linear_controls` linear between the nodes and continuous, as Moco has them by default.

    >>> import numpy as np
    >>> from myoquat.analysis.control import Radau
    >>> np.round(Radau(2).points, 4), Radau(2).order
    (array([0.3333, 1.    ]), 3)
    """

    title = "radau"

    @property
    def order(self) -> int:
        return 2 * self.stages - 1

    @cached_property
    def points(self) -> tuple[float, ...]:
        legendre = np.polynomial.legendre.Legendre
        difference = legendre.basis(self.stages) - legendre.basis(self.stages - 1)
        roots = (np.sort(difference.roots().real) + 1) / 2
        return (*map(float, roots[:-1]), 1.0)


@frozen
class Trapezoid(Collocation):
    """x_1 = x_0 + h (f_0 + f_1) / 2, of order 2: states and controls at the nodes, controls linear between them.

    >>> from myoquat.analysis.control import Trapezoid
    >>> Trapezoid().points
    (0.0, 1.0)
    """

    title = "trapezoid"
    order = 2
    points = (0.0, 1.0)


RK4 = METHODS["rk4"]
MAX_STEPS = 20


def _moved(state: Sequence[Array], h: Array, slope: Sequence[Array]) -> list[Array]:
    """The state after a step along a slope."""
    return [x + h * k for x, k in zip(state, slope, strict=True)]


@frozen
class MultipleShooting(IntervalRule):
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
    order = 4
    steps: int = 1  # type: ignore[misc]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.steps <= MAX_STEPS:
            raise ValueError(f"steps must be between 1 and {MAX_STEPS}, not {self.steps}")

    def check(self, plant: Plant) -> None:
        if isinstance(plant, PrescribedPlant):
            raise ValueError("multiple shooting has no place for prescribed motions; choose another transcription")

    def times(self, layout: Layout) -> Array:
        within = np.linspace(0.0, 1.0, 2 * self.steps + 1)  # of the stages
        starts: Array = layout.fractions[layout.nodes[:-1], None]
        return starts + layout.steps[:, None] * within

    def names(self, plant: Plant) -> tuple[str, ...]:
        poses = (f"change of the pose along {name}" for name in plant.velocity_names)
        return (*poses, *(f"change of {name}" for name in (*plant.velocity_names, *plant.state_names)))

    def rows(
        self, plant: Plant, values: Values, at: At, h: Array, moves: Sequence[Array], integrand: Integrand
    ) -> tuple[list[Array], list[Array], list[Point]]:
        (_, start, end), (pose, velocity) = values, moves
        q0, total, points = start["q"], list[Array](), list[Point]()
        state = [0.0 * start["u"], start["u"], start["w"]]  # displacement of the pose, velocities, further states
        for k in range(self.steps):
            slopes: list[list[Array]] = []
            for i, weight in enumerate(RK4.b):
                half, own = 2 * k + round(2 * RK4.c[i]), state
                for a, slope in zip(RK4.a[i], slopes, strict=False):
                    own = _moved(own, a * h, slope) if a else own
                theta, u, w = own
                q = plant.displaced(q0, theta)
                point = at(half, q=q, u=u, states=w)
                udot, wdot = plant.rates(point)
                slopes.append([plant.displacement_rate(theta, q, u), udot, wdot])
                point = replace(point, udot=udot, rates=wdot)
                points += [point] if i == 0 else []
                terms = [weight * term for term in integrand(half, point)]
                total = [x + y for x, y in zip(total, terms, strict=True)] if total else terms
            for weight, slope in zip(RK4.b, slopes, strict=True):
                state = _moved(state, weight * h, slope)
        theta, u, w = state
        rows = [plant.displacement(q0, end["q"]) - pose - theta, end["u"] - velocity - u, end["w"] - w]
        return rows, [term / self.steps for term in total], points


TRANSCRIPTIONS: dict[str, Transcription] = {
    method.title: method for method in (Midpoint(), Trapezoid(), HermiteSimpson(), Gauss(), Radau(), MultipleShooting())
}
