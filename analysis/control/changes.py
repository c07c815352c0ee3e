"""Instances of the goals of changes: pairs of neighbouring points of a transcription."""

from dataclasses import replace

import numpy as np

from myoquat.analysis.control.formulas import one_change
from myoquat.analysis.control.goals.base import ChangeGoal
from myoquat.analysis.control.points import Point
from myoquat.analysis.control.transcriptions.base import Instances, Layout, Slot
from myoquat.core.typing import Array

__all__ = ["change_instances"]


def change_instances(layout: Layout, goals: tuple[ChangeGoal, ...], weights: Array) -> Instances:
    """The pairs of neighbouring points with controls. Accelerations are unknowns there, or for the midpoint rule
    differences of the velocities at both ends of an interval."""
    sites = layout.having("controls")
    fractions = layout.fractions
    of_rates = "udot" in layout.fields[sites[0]]
    if of_rates:
        slots = tuple(Slot(part, ("udot", "controls")) for part in (sites[:-1], sites[1:]))
        ends = np.stack([fractions[sites[:-1]], fractions[sites[1:]]], axis=1)
    else:
        nodes = [layout.nodes[k : len(layout.nodes) - 2 + k] for k in range(3)]
        slots = *(Slot(part, ("controls",)) for part in (sites[:-1], sites[1:])), *(Slot(n, ("u",)) for n in nodes)
        ends = np.stack([fractions[n] for n in nodes], axis=1)
    steps = np.diff(ends, axis=1)
    data = np.concatenate([fractions[sites[1:], None] - fractions[sites[:-1], None], steps], axis=1)

    def formula(
        values: list[dict[str, Array]], data: Array, duration: Array, bound: object
    ) -> tuple[list[Array], list[Array]]:
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
