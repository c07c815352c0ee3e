"""Periodic motions: what the state at the end has to do with the state at the start."""

from collections import Counter
from typing import Any

import numpy as np

from myoquat.analysis.control.charts import displacement
from myoquat.analysis.control.conditions import BoundaryConstraint, Periodic
from myoquat.analysis.control.points import Point
from myoquat.analysis.control.quantities import Quantities, Unknown
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.stacking import vector

__all__ = ["periodic_constraint", "periodic_pairs"]

Pair = tuple[Unknown, Unknown]  # the value of the first at the end is that of the second at the start
Balls = tuple[tuple[int, int], tuple[int, int], tuple[int, int]]


@dataclass(frozen=True)
class _Unequal:
    """The differences last - first of pairs of unknowns, and the displacements of pairs of rotations."""

    pairs: tuple[Pair, ...]
    balls: tuple[Balls, ...]

    def __call__(self, first: Point, last: Point, duration: Any) -> Array:
        rows = [_value(last, a) - _value(first, b) for a, b in self.pairs]
        for (a0, a1), (b0, b1), (i0, i1) in self.balls:
            swapped = _with(last.q, slice(a0, a1), first.q[..., b0:b1])
            d = displacement(first.system.layout, swapped, last.q)
            rows += [d[..., i] for i in range(i0, i1)]
        return vector(rows)


def _with(q: Array, part: slice, values: Array) -> Array:
    return np.concatenate([q[..., : part.start], values, q[..., part.stop :]], axis=-1)


def _value(point: Point, unknown: Unknown) -> Array:
    if unknown.field == "z":
        indices = _coordinate_indices(point)
        value: Array = point.q[..., indices[unknown.place]]
        return value
    found: Array = {"u": point.u, "w": point.states, "controls": point.controls}[unknown.field][..., unknown.place]
    return found


def _coordinate_indices(point: Point) -> dict[int, int]:
    """The place in q of every chart coordinate that is a plain coordinate."""
    layout = point.system.layout
    found: dict[int, int] = {}
    for joint, iq, iu in layout.joints():
        flat = joint.facts.quaternion
        found |= {iu.start + k: iq.start + k for k in range(joint.nu if flat is None else flat)}
    return found


def periodic_constraint(periodic: Periodic, quantities: Quantities, controls: bool) -> BoundaryConstraint:
    """The constraint of a periodic motion. ValueError for unknown names, for pairs of unequal quantities such as a
    state and a control, and for a quantity that two pairs determine."""
    pairs, balls = periodic_pairs(periodic, quantities)
    kept = tuple(pair for pair in pairs if controls or pair[0].field != "controls")
    zeros = (0.0,) * (len(kept) + sum(i1 - i0 for _, _, (i0, i1) in balls))
    return BoundaryConstraint("periodic", _Unequal(kept, balls), zeros, zeros)


def periodic_pairs(periodic: Periodic, quantities: Quantities) -> tuple[tuple[Pair, ...], tuple[Balls, ...]]:
    """Pairs of unknowns, and pairs of rotations by their slices of q, q and u; ValueError as `periodic_constraint`."""
    known = {**quantities.unknowns, **dict.fromkeys(quantities.balls)}
    for name in (*periodic.free, *periodic.pairs, *periodic.pairs.values()):
        if name not in known:
            quantities.unknown(name, "periodic")
    taken = _expanded(periodic, quantities)
    pairs, balls = [], []
    for name in (*quantities.unknowns, *quantities.balls):
        partner = taken.get(name, name)
        if name in periodic.free:
            continue
        if name in quantities.balls:
            (a, iu), (b, _) = quantities.balls[name], quantities.balls[partner]
            balls.append(((a.start, a.stop), (b.start, b.stop), (iu.start, iu.stop)))
        else:
            pairs.append((quantities.unknowns[name], quantities.unknowns[partner]))
    return tuple(pairs), tuple(balls)


def _expanded(periodic: Periodic, quantities: Quantities) -> dict[str, str]:
    """Pairs of names, those of velocities added that follow from pairs of coordinates and bodies."""
    found = dict(periodic.pairs)
    plant = quantities.plant
    twice = [start for start, count in Counter(found.values()).items() if count > 1]
    if twice:
        ends = ", ".join(repr(end) for end, start in found.items() if start == twice[0])
        raise ValueError(f"periodic: {ends} all end where {twice[0]!r} starts; each start belongs to one end")
    for a, b in periodic.pairs.items():
        if (a in quantities.balls) != (b in quantities.balls):
            raise ValueError(f"periodic: {a!r} and {b!r} are unequal: one is a rotation, the other is not")
        if a in quantities.balls:
            (_, ia), (_, ib) = quantities.balls[a], quantities.balls[b]
            names = plant.velocity_names
            found |= dict(zip(names[ia], names[ib], strict=True))
            continue
        one, other = quantities.unknowns[a], quantities.unknowns[b]
        if one.field != other.field:
            types = {"z": "coordinate", "u": "velocity", "w": "state", "controls": "control"}
            raise ValueError(
                f"periodic: {a!r} is a {types[one.field]} and {b!r} a {types[other.field]}; unequal quantities cannot "
                "be exchanged"
            )
        if one.field == "z":
            found.setdefault(plant.velocity_names[one.place], plant.velocity_names[other.place])
    return found
