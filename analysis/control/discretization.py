"""From a problem in the terms of its plant to a nonlinear program: formulas, variables, blocks, bounds, and what a
solution says per site."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from myoquat.core import Array, content_key, frozen
from myoquat.data.motions import Forces, Motion
from myoquat.joints.functions.splines import chosen
from myoquat.joints.vectors import vector
from myoquat.kernels.symbolic.arrays import as_array

from .conditions import BoundaryConstraint, PathCondition
from .goals.base import ChangeGoal, EndGoal, Goal, IntegralGoal
from .ipopt import Block, Program
from .plants import Plant, PrescribedPlant
from .points import Point
from .transcriptions import (
    STATE,
    Between,
    Collocation,
    IntervalRule,
    Layout,
    RowsAndTerms,
    Slot,
    Transcription,
    Values,
    split,
)


def load_numbers_at(loads: Forces, t: Array) -> Array:
    """(..., 9 n) `Forces.numbers` at times t (...) [s], numbers or symbols, by straight lines between the rows: the
    formula."""
    rows = loads.numbers
    slopes = np.diff(rows, axis=0) / np.diff(loads.time)[:, None]
    start, *entries = chosen(t, loads.time[:-1], loads.time[:-1], *rows[:-1].T, *slopes.T)
    n = rows.shape[1]
    return vector([entries[k] + entries[n + k] * (t - start) for k in range(n)])


Costs = tuple[Mapping[str, Goal], Array]  # goals by name, and the share (b,) of each instance in them


@frozen(eq=False)
class Statement:
    """A problem in the terms of its plant: goals and constraints."""

    plant: Plant
    transcription: Transcription
    layout: Layout
    start: float
    duration: tuple[float, float]
    goals: tuple[Goal, ...]
    path: tuple[PathCondition, ...]
    boundary: tuple[BoundaryConstraint, ...]
    loads: Forces | None = None

    @property
    def fixed(self) -> bool:
        """Whether the duration is given."""
        return self.duration[0] == self.duration[1]

    def times(self, duration: float, sites: Any = slice(None)) -> Array:
        """(s,) [s] the times of sites, all by default."""
        return self.start + self.layout.fractions[sites] * duration

    def motion(self, sites: "Sites") -> Motion:
        """q and u at the nodes, of a prescribed motion udot too; ValueError for equations of one's own."""
        nodes, plant = self.layout.nodes, self.plant
        time = self.times(sites.duration, nodes)
        if isinstance(plant, PrescribedPlant):
            return plant.motion_at(time)
        if plant.system is None:
            raise ValueError("a problem of equations of one's own has no motion of bodies; see to_dataframe()")
        return Motion(plant.system, time, sites.q[nodes], sites.fields["u"][nodes])

    def bound(self, p: Array) -> "Statement":
        """The same with values (np,) of the unknown parameters, floats or symbols."""
        return replace(self, plant=self.plant.bound(p))

    def of(self, family: Any) -> dict[str, Any]:
        """The goals of a family by their titles; goals of the same title are numbered: "Effort", "Effort 2"."""
        found = dict[str, Goal]()
        for goal in self.goals:
            name, number = goal.title, 1
            while name in found:
                number += 1
                name = f"{goal.title} {number}"
            found[name] = goal
        return {name: goal for name, goal in found.items() if isinstance(goal, family)}


@frozen(eq=False)
class Sites:
    """The motion at every site.

    duration    [s]
    q           (s, nq) poses
    fields      (s, n) each, NaN where a site has none
    parameters  (np,) their values, None for those at the start of a search
    """

    duration: float
    q: Array
    fields: dict[str, Array]
    parameters: Array | None = None


class Rows(NamedTuple):
    """The constraints of b instances: fractions of the duration (b, rows) or (b, 1), names of those that are zero, and
    conditions."""

    times: Array
    names: Sequence[str] = ()
    conditions: Sequence[PathCondition | BoundaryConstraint] = ()


@contextmanager
def _named(title: str) -> Iterator[None]:
    """Put the title in front of an unknown name."""
    try:
        yield
    except KeyError as error:
        raise KeyError(f"{title}: {error.args[0]}") from None


def constraint_rows(constraint: PathCondition | BoundaryConstraint, *given: Any) -> Array:
    """(..., k) what the formula of a constraint returns, as many numbers as it has bounds; ValueError for others. Given
    are the plant and a point, or both ends and the duration."""
    with _named(constraint.title):
        value = (constraint.rows if isinstance(constraint, PathCondition) else constraint.formula)(*given)
    row: Array = vector(value) if isinstance(value, (tuple, list)) else as_array(value)
    row = row if row.ndim else row[None]
    if row.shape[-1] != len(constraint.interval):
        raise ValueError(
            f"{constraint.title}: the formula returns {row.shape[-1]} numbers, but there are "
            f"{len(constraint.interval)} lower and upper bounds"
        )
    return row


def one_number(goal: IntegralGoal | ChangeGoal | EndGoal, *given: Any) -> Array:
    """(...) what the formula of a goal returns, integrand or value of the ends; ValueError for more than one number."""
    title, formula = f"goal {goal.title!r}", goal.value if isinstance(goal, EndGoal) else goal.integrand
    with _named(title):
        found: Array = as_array(formula(*given))
    if found.ndim:
        raise ValueError(f"{title}: the formula returns an array of shape {found.shape}; one number is needed")
    return found


POINT = ("z", "u", "w", "udot", "wdot", "controls", "multipliers")


class Posed(NamedTuple):
    """A program about a guess: its start x (n,), bounds (n, 2) of the variables, limits (m, 2) of the constraints."""

    discretization: "Discretization"
    x: Array
    bounds: Array
    limits: Array


class Discretization:
    """The nonlinear program of a statement about poses (s, nq), whose rotations are the centres of charts."""

    def __init__(self, statement: Statement, references: Array) -> None:
        layout = statement.layout
        plant, self.statement, self.layout = statement.plant, statement, layout
        self.references, self.integrals = plant.centres(references), statement.of(IntegralGoal)
        # indices of the fields of every site, in the order of time, -1 where it has none; duration and parameters last
        self.index = {name: np.full((len(layout.fractions), len(own)), -1) for name, own in plant.fields.items()}
        self.size = 0
        for site, fields in enumerate(layout.fields):
            for row in (self.index[name][site] for name in fields):
                row[:] = self.size + np.arange(len(row))
                self.size += len(row)
        free, count = int(not statement.fixed), len(plant.parameter_names)
        self.duration_index = self.size + np.arange(free)  # (1,), (0,) where it is given
        self.parameter_indices = self.size + free + np.arange(count)  # (np,) of the unknown ones
        self.size += free + count
        self.program = Program(self._blocks(), self.size)

    # ---- variables -------------------------------------------------------------------------------------------

    def duration(self, x: Array) -> float:
        """The duration [s] of the variables x (size,)."""
        return self.statement.duration[0] if self.statement.fixed else float(x[self.duration_index[0]])

    def times(self, fractions: Array, x: Array) -> Array:
        """(...) [s] the times at fractions of the duration."""
        return self.statement.start + fractions * self.duration(x)

    def variables(self, sites: Sites) -> Array:
        """(size,) the variables of a motion whose poses are near the references."""
        x = np.zeros(self.size)
        plant = self.statement.plant
        values = {**sites.fields, "z": plant.displacement(self.references, sites.q)}
        for name, indices in self.index.items():
            there = indices >= 0
            x[indices[there]] = values[name][there]
        x[self.duration_index] = sites.duration
        unknown = plant.unknown
        x[self.parameter_indices] = (unknown.start if sites.parameters is None else sites.parameters) / unknown.scales
        return x

    def sites(self, x: Array) -> Sites:
        """The motion of the variables x (size,)."""
        plant = self.statement.plant
        fields = {name: np.where(indices >= 0, x[indices], np.nan) for name, indices in self.index.items()}
        q = np.full((len(self.references), plant.nq), np.nan)
        there = self.layout.having("z")
        q[there] = plant.displaced(self.references[there], fields["z"][there])
        p = x[self.parameter_indices] * plant.unknown.scales
        duration = self.duration(x)
        acting = plant.bound(p).acting_controls(self.statement.times(duration), fields["controls"])
        fields["controls"] = np.where(self.index["controls"] >= 0, acting, np.nan)
        return Sites(duration, q, fields, p)

    @cached_property
    def labels(self) -> tuple[list[str], Array]:
        """Name and fraction of the duration of every variable."""
        plant = self.statement.plant
        names, fractions = ["duration"] * self.size, np.full(self.size, np.nan)
        names[self.size - len(plant.parameter_names) :] = plant.parameter_names
        for field, words in plant.fields.items():
            for site, row in enumerate(self.index[field]):
                for place, word in zip(row, words, strict=True):
                    if place >= 0:
                        names[place], fractions[place] = word, self.layout.fractions[site]
        return names, fractions

    # ---- blocks ----------------------------------------------------------------------------------------------

    def _blocks(self) -> list[Block]:
        statement, blocks = self.statement, []
        transcription = statement.transcription
        if isinstance(transcription, IntervalRule):
            blocks.append(self._intervals(transcription))
        else:
            assert isinstance(transcription, Collocation)
            slots, formula, data, names = transcription.between(statement.plant, self.layout)
            content = transcription.points, transcription.linear_controls, _chart_content(statement.plant)
            if names:  # without states there is nothing between the points
                rows = Rows(self._at(slots[0].sites), names)
                blocks.append(self._block("collocation", slots, formula, data, rows, content))
            blocks.append(self._points())
        if statement.plant.constraints is not None:
            blocks.append(self._start())
        if (changes := statement.of(ChangeGoal)) and len(self.layout.having("controls")) > 1:
            blocks.append(self._changes(changes))
        if (ends := statement.of(EndGoal)) or statement.boundary:
            blocks.append(block_of_ends("ends", [(self, 0)], 0, statement.boundary, ends))
        return blocks

    def _block(self, name: str, slots: Sequence[Slot], formula: Between, data: Sequence[Array], rows: Rows,
               content: Hashable, costs: Costs | None = None) -> Block:  # fmt: skip
        """A block of this program alone (`assembled`)."""

        def own(values: Values, data: Sequence[Array], durations: list[Array], bound: list[Statement]) -> RowsAndTerms:
            return formula(values, data, durations[0], bound[0])

        return assembled(name, [(self, 0, slots)], own, data, rows, content, costs)

    def _at(self, sites: Array) -> Array:
        """(b, 1) fractions of the duration."""
        return self.layout.fractions[sites, None]

    # ---- what holds and counts at every point ----------------------------------------------------------------

    def _samples(self, fractions: Array) -> list[Array]:
        """(b, n) each, fractions of the duration, loads, and the data of equations and of every integrated goal."""
        statement = self.statement
        plant, times = statement.plant, statement.start + fractions * statement.duration[0]
        loads = np.zeros((len(times), 0))
        if statement.loads is not None and statement.fixed:
            loads = statement.loads.resampled(times).numbers
        goals = (np.asarray(goal.samples(plant, times)) for goal in self.integrals.values())
        return [fractions[:, None], loads, plant.samples(times), *goals]

    @staticmethod
    def _point(statement: Statement, values: Mapping[str, Array], data: Sequence[Array], duration: Array) -> Point:
        """The point of the values of fields, with its time, loads and data of the equations."""
        fraction, loads, own, *_ = data
        t = statement.start + fraction[..., 0] * duration
        if statement.loads is not None and not statement.fixed:  # the time of a point follows the unknown duration
            loads = load_numbers_at(statement.loads, t)
        return statement.plant.point(t, values, loads=loads, prescribed=own)

    def _terms(self, statement: Statement, point: Point, data: Sequence[Array], duration: Array) -> list[Array]:
        """The integrands of the goals, times the duration where they are integrated."""
        return [
            one_number(goal, statement.plant, point, own) * (1.0 if goal.mean else duration)
            for goal, own in zip(self.integrals.values(), data[3:], strict=True)
        ]

    @property
    def _costs(self) -> Costs:
        """The integrated goals."""
        return self.integrals, self.statement.transcription.quadrature(self.layout)

    @property
    def _point_content(self) -> Hashable:
        statement = self.statement
        loads = None if statement.loads is None or statement.fixed else content_key(statement.loads)
        return statement.plant.content, loads, content_key(statement.plant.state_names)

    def _points(self) -> Block:
        """Equations, path constraints and integrals of all collocation points."""
        statement, sites = self.statement, self.layout.having("udot")

        def formula(values: Values, data: Sequence[Array], duration: Array, bound: Statement) -> RowsAndTerms:
            plant, point = bound.plant, self._point(bound, values[0], data, duration)
            rows = [plant.residual(point), *(constraint_rows(constraint, plant, point) for constraint in bound.path)]
            return rows, self._terms(bound, point, data, duration)

        rows = Rows(self._at(sites), statement.plant.residual_names, statement.path)
        samples = self._samples(self.layout.fractions[sites])
        return self._block("points", [Slot(sites, POINT)], formula, samples, rows, self._point_content, self._costs)

    def _intervals(self, method: IntervalRule) -> Block:
        """The rule of all intervals, with equations, path constraints and integrals at its points."""
        statement, plant, layout = self.statement, self.statement.plant, self.layout
        first, last, middle = layout.nodes[:-1], layout.nodes[1:], layout.inner[:, 0]
        samples = [self._samples(column) for column in method.times(layout).T]
        n, implicit = len(samples[0]), "multipliers" in method.fields

        def formula(values: Values, data: Sequence[Array], duration: Array, bound: Statement) -> RowsAndTerms:
            plant, (step, fraction) = bound.plant, data[-2:]

            def own(k: int) -> Sequence[Array]:
                return data[k * n : (k + 1) * n]

            def at(k: int, **fields: Any) -> Point:
                return self._point(bound, {"controls": values[0]["controls"], **fields}, own(k), duration)

            def integrand(k: int, point: Point) -> list[Array]:
                return self._terms(bound, point, own(k), duration)

            held, *moves = plant.held(values[-1], bound.start + fraction[..., 0] * duration)
            h = step * (duration / method.steps)[..., None]
            rows, terms, points = method.rows(plant, values, at, h, moves, integrand)
            rows += held
            for point in points:
                rows += [plant.residual(point)] if implicit else []
                rows += [constraint_rows(c, plant, point) for c in bound.path]
            return rows, terms

        data = [*(part for own in samples for part in own), layout.steps[:, None], layout.fractions[last][:, None]]
        slots = [Slot(middle, method.fields), Slot(first, STATE), Slot(last, (*STATE, "moves"))]
        names = (*method.names(plant), *plant.state_row_names, *(plant.residual_names if implicit else ()))
        # path constraints hold at the start of each step
        count, steps = sum(len(c.interval) for c in statement.path), np.arange(method.steps) / method.steps
        later = layout.steps[:, None] * np.concatenate([np.zeros(len(names)), np.repeat(steps, count)])
        rows = Rows(self._at(middle if implicit else first) + later, names, statement.path * method.steps)
        content = method.steps, self._point_content
        return self._block(method.title, slots, formula, data, rows, content, self._costs)

    def _changes(self, goals: Mapping[str, ChangeGoal]) -> Block:
        """Goals of changes between the pairs of neighbouring points with controls. Accelerations are unknowns there, or
        for the midpoint rule differences of the velocities at both ends of an interval."""
        plant, layout = self.statement.plant, self.layout
        fractions, sites = layout.fractions, layout.having("udot")
        of_rates = bool(len(sites))
        sites = sites if of_rates else layout.having("controls")
        fields = ("udot", "controls") if of_rates else ("controls",)
        slots, data = [Slot(part, fields) for part in (sites[:-1], sites[1:])], [np.diff(fractions[sites])[:, None]]
        if not of_rates:
            nodes = [layout.nodes[k : len(layout.nodes) - 2 + k] for k in range(3)]
            slots += [Slot(n, ("u",)) for n in nodes]
            data += [(fractions[b] - fractions[a])[:, None] for a, b in pairwise(nodes)]

        def formula(values: Values, data: Sequence[Array], duration: Array, bound: Statement) -> RowsAndTerms:
            plant, (step, *lengths) = bound.plant, (part * duration[..., None] for part in data)
            rates = [v["udot"] for v in values] if of_rates else [
                (b["u"] - a["u"]) / h for (a, b), h in zip(pairwise(values[2:]), lengths, strict=True)
            ]  # fmt: skip
            base = Point(plant, bound.start + 0.0 * duration, parameters=plant.parameters)
            before, after = (
                replace(base, udot=rate, controls=v["controls"]) for rate, v in zip(rates, values[:2], strict=True)
            )
            h = step[..., 0]
            return [], [h * one_number(goal, plant, before, after, h) for goal in goals.values()]

        rows, costs = Rows(self._at(sites[:-1])), (goals, np.ones(len(sites) - 1))
        return self._block("changes", slots, formula, data, rows, (plant.content, of_rates), costs)

    def _start(self) -> Block:
        """Constraints of the model at the first node; those at the others belong to the intervals before them."""
        plant, paths = self.statement.plant, self.statement.plant.constraints
        assert paths is not None

        def formula(values: Values, data: Sequence[Array], duration: Array, bound: Statement) -> RowsAndTerms:
            held, (start,) = bound.plant.constraints, values
            assert held is not None
            return [held.state(start["q"], start["u"], bound.start + 0.0 * duration, held.kept[1])], []

        first = self.layout.nodes[:1]
        rows = Rows(self._at(first), (*paths.names("position"), *paths.names("velocity")))
        return self._block("start", [Slot(first, ("z", "u"))], formula, [], rows, _chart_content(plant))


Part = tuple[Discretization, int, Sequence[Slot]]  # of a program: where its variables begin, and what a block takes
OfParts = Callable[[Values, Sequence[Array], list[Array], list[Statement]], RowsAndTerms]


def assembled(
    name: str, parts: Sequence[Part], formula: OfParts, data: Sequence[Array], rows: Rows, content: Hashable,
    costs: Costs | None = None,
) -> Block:  # fmt: skip
    """A block of instances (b,) of a formula, which computes with `content` beside its conditions and goals.

    The formula gets a dictionary of fields for each slot, with the pose q where there is a chart, and the data. It also
    gets of every part the duration, and the statement with its start and parameters.
    """
    count = len(rows.times)
    slots = [(i, slot) for i, (*_, own) in enumerate(parts) for slot in own]
    fields = [(k, part) for k, (_, slot) in enumerate(slots) for part in slot.fields]
    posed = [(k, i, slot.sites) for k, (i, slot) in enumerate(slots) if "z" in slot.fields]
    variables, keys = [], list[Hashable]()
    for k, part in fields:
        i, slot = slots[k]
        variables.append(parts[i][0].index[part][slot.sites] + parts[i][1])
    numbers = [*(parts[i][0].references[sites] for _, i, sites in posed), *data]
    for program, offset, _ in parts:
        statement, plant = program.statement, program.statement.plant
        shared = program.duration_index, program.parameter_indices
        variables += [np.tile(indices + offset, (count, 1)) for indices in shared]
        numbers.append(np.tile([statement.start, statement.duration[0]], (count, 1)))
        held, scales = plant.constraints.key if plant.constraints else None, tuple(map(float, plant.unknown.scales))
        keys.append((statement.fixed, plant.nw, plant.nc, held, plant.parameter_names, scales))
    widths = [[x.shape[1] for x in own] for own in (variables, numbers)]

    def function(v: Array, d: Array) -> RowsAndTerms:
        own, given = (split(x, n) for x, n in zip((v, d), widths, strict=True))
        clocks, durations, bound = given[len(given) - len(parts) :], list[Array](), list[Statement]()
        for i, (program, *_) in enumerate(parts):
            statement, (free, p) = program.statement, own[len(fields) + 2 * i :][:2]
            start: Any = clocks[i][..., 0]
            bound.append(replace(statement.bound(p * statement.plant.unknown.scales), start=start))
            durations.append(clocks[i][..., 1] if statement.fixed else free[..., 0])
        values: Values = [{} for _ in slots]
        for (k, part), value in zip(fields, own, strict=False):
            values[k][part] = value
        for (k, i, _), reference in zip(posed, given, strict=False):
            values[k]["q"] = bound[i].plant.displaced(reference, values[k]["z"])
        return formula(values, given[len(posed) : len(given) - len(parts)], durations, bound)

    (goals, shares), plant = costs or ({}, np.ones(count)), parts[0][0].statement.plant
    keys += [(type(goal).__name__, getattr(goal, "mean", False), goal.content(plant)) for goal in goals.values()]
    limits = np.concatenate([np.zeros((len(rows.names), 2)), *(c.interval for c in rows.conditions)])
    return Block(
        name, function, (content, *keys, *(c.content() for c in rows.conditions)), np.concatenate(variables, axis=1),
        np.concatenate(numbers, axis=1), limits, np.outer(shares, [goal.weight for goal in goals.values()]),
        np.broadcast_to(rows.times, (count, max(len(limits), 1))),
        (*rows.names, *(c.title for c in rows.conditions for _ in c.interval)), tuple(goals),
    )  # fmt: skip


def block_of_ends(
    name: str, programs: Sequence[tuple[Discretization, int]], end: int, conditions: Sequence[BoundaryConstraint],
    goals: Mapping[str, EndGoal] | None = None,
) -> Block:  # fmt: skip
    """Conditions and goals of a point of the first and one of the last of some programs, each with the place where its
    variables begin.

    `end` is 0 for the outer ends and the duration of all these programs. It is -1 for the join of two, with the
    duration of the first."""
    parts, aims = list[Part](), goals or {}
    for k, (own, offset) in enumerate(programs):
        driven, sites = own.layout.having("controls"), [end] * (k == 0) + [-1 - end] * (k == len(programs) - 1)
        pairs = ((Slot(own.layout.nodes[[i]], STATE), Slot(driven[[i]], ("controls",))) for i in sites)
        parts.append((own, offset, [slot for pair in pairs for slot in pair]))

    def formula(values: Values, data: Sequence[Array], durations: list[Array], bound: list[Statement]) -> RowsAndTerms:
        before, after, (first, last) = bound[0], bound[-1], (values[0] | values[1], values[2] | values[3])
        one = before.plant.point(before.start - end * durations[0], first)
        other = after.plant.point(after.start + (1 + end) * durations[-1], last)
        duration: Any = durations[0] if end else sum(durations)
        rows = [constraint_rows(c, one, other, duration) for c in conditions]
        return rows, [one_number(goal, before.plant, (one, other), duration) for goal in aims.values()]

    plants = (own.statement.plant for own, _ in programs)
    content = end, tuple((plant.content, content_key(plant.state_names)) for plant in plants)
    rows = Rows(np.array([[np.nan]]), (), conditions)
    return assembled(name, parts, formula, [], rows, content, (aims, np.ones(1)))


def _chart_content(plant: Plant) -> Hashable:
    """The data on which the charts of a plant depend."""
    return None if plant.system is None else plant.system.content_key
