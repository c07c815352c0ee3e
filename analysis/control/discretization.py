"""From a problem to a nonlinear program: formulas, variables, blocks, bounds, and what a solution says per site."""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from myoquat.analysis.control.conditions import BoundaryConstraint, PathCondition
from myoquat.analysis.control.goals.base import ChangeGoal, EndGoal, Goal, IntegralGoal
from myoquat.analysis.control.plants import Plant
from myoquat.analysis.control.points import Point
from myoquat.analysis.control.program import Block, BlockFormula, Program
from myoquat.analysis.control.statement import Rows, Sites, Statement, load_numbers_at
from myoquat.analysis.control.transcriptions import Collocation, Midpoint, MultipleShooting
from myoquat.analysis.control.transcriptions.base import FIELDS, STATE, Instances, Layout, RowsAndTerms, Slot, Values
from myoquat.analysis.control.transcriptions.shooting import Shot
from myoquat.core.content import content_key
from myoquat.core.typing import Array
from myoquat.joints.vectors import vector
from myoquat.kernels.symbolic.arrays import as_array

__all__ = [
    "Discretization",
    "Posed",
    "Rows",
    "Sites",
    "Statement",
    "change_instances",
    "constraint_rows",
    "one_change",
    "one_number",
]


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


def one_number(goal: IntegralGoal | EndGoal, *given: Any) -> Array:
    """(...) the integrand of a goal, or the value of one of the ends; ValueError for more than one number."""
    return _number(goal, goal.integrand if isinstance(goal, IntegralGoal) else goal.value, *given)


def one_change(goal: ChangeGoal, *given: Any) -> Array:
    """(...) the integrand of a goal of changes; ValueError for more than one number."""
    return _number(goal, goal.integrand, *given)


def _number(goal: Goal, formula: Callable[..., Any], *given: Any) -> Array:
    title = f"goal {goal.title!r}"
    with _named(title):
        value = formula(*given)
    found: Array = as_array(value)
    if found.ndim:
        raise ValueError(f"{title}: the formula returns an array of shape {found.shape}; one number is needed")
    return found


def change_instances(layout: Layout, goals: tuple[ChangeGoal, ...], weights: Array) -> Instances:
    """The pairs of neighbouring points with controls. Accelerations are unknowns there, or for the midpoint rule
    differences of the velocities at both ends of an interval."""
    fractions, with_rates = layout.fractions, layout.having("udot")
    of_rates = bool(len(with_rates))
    sites = with_rates if of_rates else layout.having("controls")
    if of_rates:
        slots = tuple(Slot(part, ("udot", "controls")) for part in (sites[:-1], sites[1:]))
        ends = np.stack([fractions[sites[:-1]], fractions[sites[1:]]], axis=1)
    else:
        nodes = [layout.nodes[k : len(layout.nodes) - 2 + k] for k in range(3)]
        slots = *(Slot(part, ("controls",)) for part in (sites[:-1], sites[1:])), *(Slot(n, ("u",)) for n in nodes)
        ends = np.stack([fractions[n] for n in nodes], axis=1)
    steps = np.diff(ends, axis=1)
    data = np.concatenate([fractions[sites[1:], None] - fractions[sites[:-1], None], steps], axis=1)

    def formula(values: Values, data: Array, duration: Array, bound: object) -> RowsAndTerms:
        plant, names, start = bound.plant, bound.names, bound.start  # type: ignore[attr-defined]
        step = data[..., 0] * duration
        if of_rates:
            rates = [v["udot"] for v in values]
        else:
            u = [v["u"] for v in values[2:]]
            rates = [(u[i + 1] - u[i]) / (data[..., 1 + i] * duration)[..., None] for i in range(2)]
        base = Point(names, start + 0.0 * duration, parameters=plant.parameters)
        before, after = (
            replace(base, udot=rate, controls=v["controls"]) for rate, v in zip(rates, values[:2], strict=True)
        )
        return [], [step * one_change(goal, plant, before, after, step) for goal in goals]

    count = len(sites) - 1
    return Instances("changes", slots, formula, data, fractions[sites[:-1]], (), np.tile(weights, (count, 1)))


POINT = ("z", "u", "w", "udot", "wdot", "controls", "multipliers")


class Posed(NamedTuple):
    """A program about a guess: its start x (n,), bounds (n, 2) of the variables, limits (m, 2) of the constraints."""

    discretization: "Discretization"
    x: Array
    bounds: Array
    limits: Array


class Discretization:
    """The nonlinear program of a statement about a guess, whose poses are the centres of the charts."""

    def __init__(self, statement: Statement, layout: Layout, references: Array) -> None:
        self.statement, self.layout, self.references = statement, layout, references
        plant = statement.plant
        sizes = (plant.nu, plant.nu, plant.nw, plant.nu, plant.nw, plant.nc, plant.nk, plant.ng)
        self.sizes = dict(zip(FIELDS, sizes, strict=True))
        self.index, self.size = self._numbered()
        self.rows = Rows()
        self.start_rows: Array = np.zeros(0, dtype=int)
        self.program = Program(self._blocks(), self.size, len(self.rows.names))

    # ---- variables -------------------------------------------------------------------------------------------

    def _numbered(self) -> tuple[dict[str, Array], int]:
        """Indices of the fields of every site, in the order of time, -1 where it has none; duration and parameters come
        last."""
        count = len(self.layout.fractions)
        index = {name: np.full((count, n), -1) for name, n in self.sizes.items()}
        place = 0
        for site, fields in enumerate(self.layout.fields):
            for name in fields:
                n = self.sizes[name]
                index[name][site] = place + np.arange(n)
                place += n
        return index, place + (0 if self.statement.fixed else 1) + len(self.statement.plant.unknown.names)

    @property
    def duration_index(self) -> Array:
        """(1,) the index of the duration in the variables, (0,) where it is given."""
        last = self.size - len(self.statement.plant.unknown.names)
        return np.arange(last - (0 if self.statement.fixed else 1), last)

    @property
    def parameter_indices(self) -> Array:
        """(np,) the indices of the unknown parameters."""
        return np.arange(self.size - len(self.statement.plant.unknown.names), self.size)

    def duration(self, x: Array) -> float:
        """The duration [s] of the variables x (size,)."""
        return self.statement.duration[0] if self.statement.fixed else float(x[self.duration_index[0]])

    def times(self, fractions: Array, x: Array) -> Array:
        """(...) [s] the times at fractions of the duration."""
        return self.statement.start + fractions * self.duration(x)

    def variables(self, sites: Sites) -> Array:
        """(size,) the variables of a motion whose poses are near the references."""
        x = np.zeros(self.size)
        values = dict(sites.fields)
        values["z"] = _chart(self.statement.plant, self.references, sites.q)
        for name, indices in self.index.items():
            there = indices >= 0
            x[indices[there]] = values[name][there]
        x[self.duration_index] = sites.duration
        unknown = self.statement.plant.unknown
        x[self.parameter_indices] = (unknown.start if sites.parameters is None else sites.parameters) / unknown.scales
        return x

    def sites(self, x: Array) -> Sites:
        """The motion of the variables x (size,)."""
        plant = self.statement.plant
        fields = {name: np.where(indices >= 0, x[indices], np.nan) for name, indices in self.index.items()}
        q = np.full((len(self.references), plant.nq), np.nan)
        there = self.layout.having("z")
        q[there] = plant.pose(self.references[there], fields["z"][there]) if plant.nq else q[there]
        p = x[self.parameter_indices] * plant.unknown.scales
        times = self.statement.start + self.layout.fractions * self.duration(x)
        fields["controls"] = np.asarray(plant.bound(p).acting_controls(times, fields["controls"]))
        driven = self.index["controls"] >= 0
        fields["controls"] = np.where(driven, fields["controls"], np.nan)
        return Sites(self.duration(x), q, fields, p)

    @cached_property
    def labels(self) -> tuple[list[str], Array]:
        """Name and fraction of the duration of every variable."""
        plant = self.statement.plant
        poses = tuple(f"pose along {name}" for name in plant.velocity_names)
        u, w = plant.velocity_names, plant.state_names
        rates = tuple(f"rate of {n}" for n in u), tuple(f"rate of {n}" for n in w)
        multipliers = plant.constraints.multiplier_names if plant.constraints else ()
        moves = tuple(f"move onto {name}" for name in plant.state_row_names)
        known = (poses, u, w, *rates, plant.control_names, multipliers, moves)
        names, fractions = ["duration"] * self.size, np.full(self.size, np.nan)
        names[self.size - len(plant.unknown.names) :] = plant.unknown.names
        for (_, indices), words in zip(self.index.items(), known, strict=True):
            for site, row in enumerate(indices):
                for place, word in zip(row, words, strict=True):
                    if place >= 0:
                        names[place], fractions[place] = word, self.layout.fractions[site]
        return names, fractions

    # ---- blocks ----------------------------------------------------------------------------------------------

    def _blocks(self) -> list[Block]:
        statement, blocks = self.statement, []
        transcription = statement.transcription
        if isinstance(transcription, Midpoint):
            blocks.append(self._midpoint(transcription))
        elif isinstance(transcription, MultipleShooting):
            blocks.append(self._shooting(transcription))
        else:
            assert isinstance(transcription, Collocation)
            instances = transcription.instances(statement.plant, self.layout, self.references, statement.start)
            content = "collocation", transcription.points, transcription.straight, _chart_content(statement.plant)
            if instances.row_names:  # without states there is nothing between the points
                blocks.append(self._block(instances, np.zeros((len(instances.row_names), 2)), content))
            blocks.append(self._points())
        if statement.plant.constraints is not None:
            blocks.append(self._start())
            self.start_rows = blocks[-1].rows[0]
        if statement.changes and len(self.layout.having("controls")) > 1:
            blocks.append(self._changes())
        if statement.ends or statement.boundary:
            blocks.append(self._ends())
        return blocks

    def _block(self, instances: Instances, bounds: Array, content: Hashable) -> Block:
        """A block of the instances, whose rows it adds."""
        fixed = self.statement.fixed
        parts = [self.index[name][slot.sites] for slot in instances.slots for name in slot.fields]
        count = len(instances.fractions)
        parts += [np.tile(shared, (count, 1)) for shared in (self.duration_index, self.parameter_indices)]
        shared = np.tile([self.statement.start, self.statement.duration[0]], (count, 1))
        data = np.concatenate([instances.data, shared], axis=1)
        variables = np.concatenate(parts, axis=1)
        function = _split(instances, self.sizes, self.statement)
        size, terms = variables.shape[1], instances.weights.shape[1]
        plant = self.statement.plant
        held = plant.constraints.key if plant.constraints else None
        unknown = (plant.unknown.names, tuple(map(float, plant.unknown.scales)))
        key = (content, fixed, plant.nw, plant.nc, held, unknown)
        formula = BlockFormula(instances.name, function, size, data.shape[1], len(bounds), terms, key)
        rows = self.rows.add(bounds, instances.row_names, instances.fractions)
        return Block(formula, variables, data, rows, instances.weights, instances.fractions, instances.row_names)

    # ---- what holds and counts at every point ----------------------------------------------------------------

    def _point_data(self, fractions: Array) -> Array:
        """(b, n) fraction of the duration, loads, and the data of every integrated goal."""
        statement = self.statement
        times = statement.start + fractions * statement.duration[0]
        parts = [fractions[:, None]]
        if statement.loads is not None and statement.fixed:
            parts.append(statement.loads.resampled(times).numbers)
        parts.append(statement.plant.samples(times))
        parts += [np.asarray(goal.samples(statement.plant, times)) for goal in statement.integrals]
        return np.concatenate(parts, axis=1)

    @staticmethod
    def _base(statement: Statement, data: Array, duration: Array) -> Point:
        """Time, names, parameters and loads of a point."""
        t = statement.start + data[..., 0] * duration
        first, loads = 1, data[..., 1:1]
        if statement.loads is not None and statement.fixed:
            first = 1 + 9 * len(statement.loads.names)
            loads = data[..., 1:first]
        elif statement.loads is not None:  # the time of a point follows the unknown duration
            loads = load_numbers_at(statement.loads, t)
        own = data[..., first : first + statement.plant.width]
        parameters = statement.plant.parameters
        return Point(statement.names, t, loads=loads, prescribed=own, parameters=parameters)

    @staticmethod
    def _at_point(statement: Statement, point: Point, data: Array, duration: Array) -> RowsAndTerms:
        """Rows and terms at a point: the residual of the equations, path constraints, integrands times duration."""
        plant = statement.plant
        point = replace(point, controls=plant.acting_controls(point.t, point.controls))
        rows = [plant.residual(point), *(constraint_rows(constraint, plant, point) for constraint in statement.path)]
        return rows, Discretization._terms(statement, point, data, duration)

    @staticmethod
    def _terms(statement: Statement, point: Point, data: Array, duration: Array) -> list[Array]:
        """The integrands of the goals, times the duration where they are integrated."""
        terms = list[Array]()
        place = 1 + (point.loads.shape[-1] if statement.fixed else 0) + point.prescribed.shape[-1]
        for goal in statement.integrals:
            width = goal.width(statement.plant)
            own = data[..., place : place + width]
            value = one_number(goal, statement.plant, point, own)
            terms.append(value if goal.mean else duration * value)
            place += width
        return terms

    @property
    def _point_bounds(self) -> Array:
        zero = np.zeros((len(self.statement.plant.residual_names), 2))
        return np.concatenate([zero, *(constraint.interval for constraint in self.statement.path)])

    @property
    def _point_names(self) -> tuple[str, ...]:
        path = [c.title for c in self.statement.path for _ in c.interval]
        return (*self.statement.plant.residual_names, *path)

    def _weights(self, quadrature: Array) -> Array:
        """(b, terms) of the integrated goals."""
        weights: Array = np.array([goal.weight for goal in self.statement.integrals]).reshape(1, -1)
        return quadrature[:, None] * weights

    @property
    def _point_content(self) -> Hashable:
        statement = self.statement
        goals = tuple((type(goal).__name__, goal.mean, goal.content(statement.plant)) for goal in statement.integrals)
        loads = None if statement.loads is None or statement.fixed else content_key(statement.loads)
        path = tuple(constraint.content() for constraint in statement.path)
        content: Hashable = statement.plant.content
        return content, goals, path, loads, content_key(statement.names.states)

    def _points(self) -> Block:
        """Equations, path constraints and integrals of all collocation points."""
        sites = self.layout.having("udot")
        fractions = self.layout.fractions[sites]
        own = self._point_data(fractions)
        nq = self.statement.plant.nq

        def formula(values: Values, data: Array, duration: Array, bound: Statement) -> RowsAndTerms:
            (v,) = values
            base = self._base(bound, data[..., nq:], duration)
            q = bound.plant.pose(data[..., :nq], v["z"])
            point = replace(base, q=q, u=v["u"], states=v["w"], controls=v["controls"])
            point = replace(point, udot=v["udot"], rates=v["wdot"], multipliers=v["multipliers"])
            return self._at_point(bound, point, data[..., nq:], duration)

        data = np.concatenate([self.references[sites], own], axis=1)
        weights = self._weights(self.statement.transcription.quadrature(self.layout))
        slots = (Slot(sites, POINT),)
        instances = Instances("points", slots, formula, data, fractions, self._point_names, weights)
        return self._block(instances, self._point_bounds, self._point_content)

    def _midpoint(self, transcription: Midpoint) -> Block:
        """Equations, path constraints and integrals in the middle of all intervals."""
        plant, layout = self.statement.plant, self.layout
        first, last, middle = layout.nodes[:-1], layout.nodes[1:], layout.inner[:, 0]
        fractions = layout.fractions[middle]
        own = self._point_data(fractions)
        width = own.shape[1]

        def formula(values: Values, data: Array, duration: Array, bound: Statement) -> RowsAndTerms:
            interval = np.concatenate([data[..., width : width + 1] * duration[..., None], data[..., width + 1 :]], -1)
            base = self._base(bound, data, duration)
            point, interval_rows = transcription.point(bound.plant, base, values, interval)
            rows, terms = self._at_point(bound, point, data, duration)
            return [*interval_rows, *rows], terms

        parts = [own, layout.steps[:, None], self.references[first], self.references[last]]
        slots = Slot(first, STATE), Slot(middle, ("controls", "multipliers")), Slot(last, (*STATE, "moves"))
        changes = tuple(f"change of the pose along {name}" for name in plant.velocity_names)
        names = (*changes, *plant.state_row_names, *self._point_names)
        bounds = np.concatenate([np.zeros((plant.nu + plant.ng, 2)), self._point_bounds])
        weights = self._weights(transcription.quadrature(layout))
        instances = Instances("midpoint", slots, formula, np.concatenate(parts, axis=1), fractions, names, weights)
        return self._block(instances, bounds, self._point_content)

    def _shooting(self, method: MultipleShooting) -> Block:
        """Runge-Kutta steps through all intervals; goals are integrated along them."""
        plant, layout = self.statement.plant, self.layout
        first, last, middle = layout.nodes[:-1], layout.nodes[1:], layout.inner[:, 0]
        parts = [self._point_data(column) for column in method.times(layout).T]
        width, nq = parts[0].shape[1], plant.nq

        def formula(values: Values, data: Array, duration: Array, bound: Statement) -> RowsAndTerms:
            (start, middle, end), rest = values, data[..., width * len(parts) :]
            q0, q1 = (
                bound.plant.pose(rest[..., 1 + i * nq : 1 + (i + 1) * nq], v["z"]) for i, v in ((0, start), (1, end))
            )

            def own(k: int) -> Array:
                return data[..., k * width : (k + 1) * width]

            def at(k: int, state: Shot) -> Point:
                q = bound.plant.moved(q0, state.theta) if nq else q0
                base = self._base(bound, own(k), duration)
                controls = bound.plant.acting_controls(base.t, middle["controls"])
                return replace(base, q=q, u=state.u, states=state.w, controls=controls)

            def integrand(k: int, point: Point) -> list[Array]:
                return self._terms(bound, point, own(k), duration)

            h = (rest[..., 0] * duration / method.steps)[..., None]
            state, terms, points = method.shoot(
                bound.plant, at, Shot(0.0 * start["u"], start["u"], start["w"]), h, integrand
            )
            moved, u1, held = bound.plant.displacement(q0, q1) if nq else q0, end["u"], list[Array]()
            if bound.plant.constraints is not None:
                t1 = self._base(bound, own(2 * method.steps), duration).t
                pose, velocity = bound.plant.constraints.moves(q1, t1, end["moves"])
                held = [bound.plant.constraints.state(q1, u1, t1)]
                moved, u1 = moved - pose, u1 - velocity
            gaps = [moved - state.theta, u1 - state.u] if nq else []
            rows = [*gaps, *([end["w"] - state.w] if state.w.shape[-1] else []), *held]
            rows += [constraint_rows(c, bound.plant, point) for point in points for c in bound.path]
            return rows, [term / method.steps for term in terms]

        data = [*parts, layout.steps[:, None], self.references[first], self.references[last]]
        slots = Slot(first, STATE), Slot(middle, ("controls",)), Slot(last, (*STATE, "moves"))
        poses = tuple(f"change of the pose along {name}" for name in plant.velocity_names)
        changes = tuple(f"change of {name}" for name in (*plant.velocity_names, *plant.state_names))
        changes += plant.state_row_names
        along = [c.title for c in self.statement.path for _ in c.interval] * method.steps
        bounds = [np.zeros((len(poses) + len(changes), 2)), *[c.interval for c in self.statement.path] * method.steps]
        weights = self._weights(method.quadrature(layout))
        instances = Instances(
            "shooting", slots, formula, np.concatenate(data, axis=1), layout.fractions[first],
            (*poses, *changes, *along), weights,
        )  # fmt: skip
        return self._block(instances, np.concatenate(bounds), (method.steps, self._point_content))

    def _changes(self) -> Block:
        """Goals of changes between neighbouring points."""
        goals, plant = self.statement.changes, self.statement.plant
        instances = change_instances(self.layout, goals, np.array([goal.weight for goal in goals]))
        content = tuple((type(goal).__name__, goal.content(plant)) for goal in goals)
        return self._block(instances, np.zeros((0, 2)), (content, plant.content, len(instances.slots)))

    def _start(self) -> Block:
        """Constraints of the model at the first node; those at the others belong to the intervals before them."""
        plant, node = self.statement.plant, self.layout.nodes[:1]
        assert plant.constraints is not None

        def formula(values: Values, data: Array, duration: Array, bound: Statement) -> RowsAndTerms:
            q, held = bound.plant.pose(data, values[0]["z"]), bound.plant.constraints
            assert held is not None
            return [held.state(q, values[0]["u"], bound.start + 0.0 * duration)], []

        none, names = np.zeros((1, 0)), plant.state_row_names
        slots = (Slot(node, ("z", "u")),)
        instances = Instances("start", slots, formula, self.references[node], np.zeros(1), names, none)
        return self._block(instances, np.zeros((plant.ng, 2)), _chart_content(plant))

    def _ends(self) -> Block:
        """Boundary constraints and goals of the ends."""
        statement, plant = self.statement, self.statement.plant
        first, last = self.layout.nodes[:1], self.layout.nodes[-1:]
        nq = plant.nq

        def formula(values: Values, data: Array, duration: Array, bound: Statement) -> RowsAndTerms:
            points = []
            for i, (v, c) in enumerate(zip(values[:2], values[2:], strict=True)):
                t = bound.start + i * duration
                q = bound.plant.pose(data[..., i * nq : (i + 1) * nq], v["z"])
                controls = bound.plant.acting_controls(t, c["controls"])
                point = Point(bound.names, t, q, v["u"], states=v["w"], controls=controls)
                points.append(replace(point, parameters=bound.plant.parameters))
            rows = [constraint_rows(c, points[0], points[1], duration) for c in bound.boundary]
            return rows, [one_number(goal, bound.plant, (points[0], points[1]), duration) for goal in bound.ends]

        data = np.concatenate([self.references[first], self.references[last]], axis=1)
        driven = self.layout.having("controls")
        controls = Slot(driven[:1], ("controls",)), Slot(driven[-1:], ("controls",))
        slots = Slot(first, STATE), Slot(last, STATE), *controls
        names = tuple(c.title for c in statement.boundary for _ in c.interval)
        weights = np.array([[goal.weight for goal in statement.ends]]).reshape(1, -1)
        instances = Instances("ends", slots, formula, data, np.array([np.nan]), names, weights)
        bounds = np.concatenate([np.zeros((0, 2)), *(c.interval for c in statement.boundary)])
        goals = tuple((type(goal).__name__, goal.content(plant)) for goal in statement.ends)
        boundary = tuple(content_key(c.formula) for c in statement.boundary)
        content = goals, boundary, _chart_content(plant), content_key(statement.names.states)
        return self._block(instances, bounds, content)


def _chart(plant: Plant, references: Array, q: Array) -> Array:
    """(s, nu) chart coordinates of poses about references; NaN where there is no pose."""
    if plant.system is None:
        return np.zeros((len(references), 0))
    return plant.coordinates(references, q)


def _chart_content(plant: Plant) -> Hashable:
    """The data on which the charts of a plant depend."""
    return None if plant.system is None else plant.system.content_key


def _split(instances: Instances, sizes: dict[str, int], statement: Statement) -> Callable[..., RowsAndTerms]:
    """The formula of the flat variables and data of an instance. The start is the last but one of the data. The
    duration is the last of them, or follows the fields of the sites; parameters come after it."""
    unknown, fixed = statement.plant.unknown, statement.fixed
    widths = [[(name, sizes[name]) for name in slot.fields] for slot in instances.slots]

    def function(v: Array, d: Array) -> RowsAndTerms:
        values, place = [], 0
        for fields in widths:
            own = {}
            for name, n in fields:
                own[name] = v[..., place : place + n]
                place += n
            values.append(own)
        duration = d[..., -1] if fixed else v[..., place]
        bound = statement.bound(v[v.shape[-1] - len(unknown.names) :] * unknown.scales)
        start: Any = d[..., -2]
        return instances.formula(values, d[..., :-2], duration, replace(bound, start=start))

    return function
