"""Joins: what holds between the last point of a phase and the first of the next, and between both ends of the whole."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from myoquat.analysis.control.blocks import Block, BlockFormula
from myoquat.analysis.control.charts import displacement
from myoquat.analysis.control.conditions import BoundaryConstraint
from myoquat.analysis.control.discretization import Posed
from myoquat.analysis.control.formulas import constraint_rows
from myoquat.analysis.control.points import Point
from myoquat.analysis.control.quantities import Quantities
from myoquat.analysis.control.transcriptions.base import STATE
from myoquat.core.content import content_key
from myoquat.core.records import Record, dataclass
from myoquat.core.typing import Array
from myoquat.joints.stacking import vector

__all__ = ["End", "Join", "continuity", "join_block"]


@dataclass(frozen=True)
class Join(Record):
    """Between two phases, all coordinates, velocities and states that both have by name are continuous.

    free         names that are not, such as velocities that jump at an impact
    constraints  further `BoundaryConstraint`s, of the last point of the phase before, the first point after, and the
                 duration of the phase before

    >>> from myoquat.analysis.control import Join
    >>> Join(free=("knee_angle_r_dot",)).free
    ('knee_angle_r_dot',)
    """

    free: tuple[str, ...] = ()
    constraints: tuple[BoundaryConstraint, ...] = ()


class End(NamedTuple):
    """The first or the last point of a phase: its program, where its variables begin, and 0 or -1."""

    posed: Posed
    offset: int
    end: int

    @property
    def variables(self) -> list[Array]:
        """Indices of pose, velocities, states and controls, and of parameters."""
        discretization = self.posed.discretization
        node, driven = discretization.layout.nodes[self.end], discretization.layout.having("controls")[self.end]
        own = [discretization.index[name][node] for name in STATE] + [discretization.index["controls"][driven]]
        return [part + self.offset for part in (*own, discretization.parameter_indices)]

    @property
    def reference(self) -> Array:
        """(nq,) the pose about which the chart lies."""
        discretization = self.posed.discretization
        found: Array = discretization.references[discretization.layout.nodes[self.end]]
        return found

    def point(self, parts: Sequence[Array], reference: Array) -> Point:
        """The point of these variables."""
        z, u, w, controls, scaled = parts
        statement = self.posed.discretization.statement
        p = scaled * statement.plant.unknown.scales if statement.plant.unknown.names else scaled
        plant = statement.plant
        names = replace(statement.names, system=plant.system)
        return Point(names, np.array(statement.start), plant.pose(reference, z), u, states=w, controls=controls,
                     parameters=p)  # fmt: skip


@dataclass(frozen=True)
class _Gaps:
    """The differences, after - before, of quantities by name, and the displacements of rotations by their slices."""

    names: tuple[str, ...]
    balls: tuple[tuple[tuple[int, int], tuple[int, int], tuple[int, int]], ...]

    def __call__(self, before: Point, after: Point, duration: Any) -> Array:
        rows = [after[name] - before[name] for name in self.names]
        for (a0, a1), (b0, b1), (i0, i1) in self.balls:
            q = before.q
            moved = np.concatenate([q[..., :a0], after.q[..., b0:b1], q[..., a1:]], axis=-1)
            d = displacement(before.system.layout, q, moved)
            rows += [d[..., i] for i in range(i0, i1)]
        return vector(rows)


def continuity(before: Quantities, after: Quantities, join: Join) -> BoundaryConstraint | None:
    """Quantities that are continuous between phases; None for none. ValueError for free names that neither has."""
    for name in join.free:
        if name not in after.unknowns and name not in after.balls:
            before.unknown(name, "join")
    common = [n for n, u in before.unknowns.items() if u.field != "controls" and n in after.unknowns]
    shared = [n for n in before.plant.unknown.names if n in after.plant.unknown.names]
    names = tuple(n for n in (*common, *shared) if n not in join.free)
    balls = []
    for name, (iq, iu) in before.balls.items():
        if name in after.balls and name not in join.free:
            other = after.balls[name][0]
            balls.append(((iq.start, iq.stop), (other.start, other.stop), (iu.start, iu.stop)))
    count = len(names) + sum(i1 - i0 for _, _, (i0, i1) in balls)
    zeros = (0.0,) * count
    return BoundaryConstraint("continuity", _Gaps(names, tuple(balls)), zeros, zeros) if count else None


def join_block(
    ends: tuple[End, End],
    constraints: Sequence[BoundaryConstraint],
    durations: Sequence[tuple[Posed, int]],
    rows: Array,
) -> Block:
    """The block of constraints of two ends, and of the sum of the durations of phases, each with its offset."""
    parts = [end.variables for end in ends]
    sizes = [[len(part) for part in own] for own in parts]
    free = [posed.discretization.duration_index + offset for posed, offset in durations]
    given = sum(p.discretization.statement.duration[0] for p, _ in durations if p.discretization.statement.fixed)
    variables = np.concatenate([part for own in parts for part in own] + free)
    references = [end.reference for end in ends]
    data = np.concatenate([*references, [given]])
    split = len(references[0])

    def function(v: Array, d: Array) -> tuple[list[Array], list[Array]]:
        points, place = [], 0
        for end, own, reference in zip(ends, sizes, (d[..., :split], d[..., split:-1]), strict=True):
            values = []
            for size in own:
                values.append(v[..., place : place + size])
                place += size
            points.append(end.point(values, reference))
        total = d[..., -1] + sum((v[..., k] for k in range(place, len(variables))), 0.0 * d[..., -1])
        return [constraint_rows(c, points[0], points[1], total) for c in constraints], []

    plants = tuple(end.posed.discretization.statement.plant for end in ends)
    content = tuple(plant.content for plant in plants), tuple(content_key(c.formula) for c in constraints)
    unknown = tuple((plant.unknown.names, tuple(plant.unknown.scales)) for plant in plants)
    key = content, unknown, tuple(map(tuple, sizes)), tuple(end.posed.discretization.statement.start for end in ends)
    formula = BlockFormula("join", function, len(variables), len(data), len(rows), 0, key)
    names = tuple(c.title for c in constraints for _ in c.interval)
    return Block(formula, variables[None], data[None], rows[None], np.zeros((1, 0)), np.array([np.nan]), names)
