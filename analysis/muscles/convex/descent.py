"""Programs brought to their solutions side by side: what the sweeps of the interior-point method start from, and what
they end with."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from myoquat import kernels
from myoquat.analysis.muscles.convex import cones
from myoquat.analysis.muscles.convex.columns import Shape
from myoquat.analysis.muscles.convex.interior import LOOSE, SMALL
from myoquat.analysis.muscles.convex.outcome import Status
from myoquat.analysis.muscles.convex.program import Programs
from myoquat.analysis.muscles.convex.sweep import GROUP, OUTPUTS, sweeps
from myoquat.joints.compiled import kernel_for
from myoquat.joints.vectors import matvec
from myoquat.kernels.typing import Array

__all__ = ["Ends", "descended"]


@dataclass(frozen=True, eq=False)
class Ends:
    """x (k, n), multipliers (k, rows) of equations and cones and their price (k, n), status and steps (k,)."""

    x: Array
    multipliers: Array
    price: Array
    status: Array
    steps: Array


def descended(programs: Programs, scale: Array, kept: Array, backend: str = "kernel") -> Ends:
    """The best point of every program, whether it is a solution or a proof that there is none, and after how many
    steps. The rows of A and G are taken times scale (k, rows), b and h as they are; a variable that is not `kept` (k,
    n) has no column."""
    e, n = programs.A.shape[1:]
    shape = Shape(e, *programs.h.shape[1:], n, programs.power)
    given = _given(programs, shape, scale, kept)
    best, multipliers, status, merit, steps = _sweeper(shape, backend)(given)
    status = np.where((status == Status.UNSETTLED) & (merit <= LOOSE), Status.SOLVED, status.astype(int))
    return Ends(best[:, :n, 0], multipliers, best[:, :n, 1], status, steps.astype(int))


# ---- parts -------------------------------------------------------------------------------------------------


def _sweeper(shape: Shape, backend: str) -> Any:
    """What takes the inputs of `sweeps` by name to its outputs."""
    if backend == "numpy":

        def run(given: dict[str, Array]) -> tuple[Array, ...]:
            with np.errstate(all="ignore"):  # of programs that are done and carried along
                return sweeps(shape).side_by_side(given, OUTPUTS)

        return run

    def build(content: str | None) -> kernels.Compiled:
        return kernels.compile_program(lambda: sweeps(shape), OUTPUTS, name="interior_point", content=content)

    kernel = kernel_for(("interior_point", shape), build)
    return lambda given: kernel(**given)


def _given(p: Programs, shape: Shape, scale: Array, kept: Array) -> dict[str, Array]:
    """The inputs of `sweeps`: points strictly within all bounds and cones, in general on no equation."""
    k, n = kept.shape
    size = -(-n // GROUP) * GROUP
    has = np.isfinite(np.stack([p.lower, p.upper], axis=-1))
    low, high = has[..., 0], has[..., 1]
    bottom, top = np.where(low, p.lower, 0.0), np.where(high, p.upper, 0.0)
    x = np.where(low & high, (bottom + top) / 2, np.where(low, bottom + 1, np.where(high, top - 1, 0.0)))
    greatest = p.weights.max(axis=-1, initial=0.0, keepdims=True)
    greatest = np.where(greatest > 0, greatest, 1.0)
    fixed, state = np.zeros((k, size, 8)), np.zeros((k, size, 5))
    fixed[..., 6], state[..., 1:3] = 1.0, 1.0
    root = np.where(p.weights > 0, p.weights, greatest) ** (-1 / p.powers) if p.power != 2 else 1.0
    for column, values in enumerate((p.weights, bottom, top, low, high, kept, root, p.powers)):
        fixed[:, :n, column] = values
    rooms = (np.where(low, x - bottom, 1.0), np.where(high, top - x, 1.0))
    for column, values in enumerate((x, *rooms, low * greatest, high * greatest)):
        state[:, :n, column] = values
    values = (matvec(p.G.reshape(k, -1, n), x) * scale[:, shape.e :]).reshape(p.h.shape) + p.h
    lengths = np.sqrt(np.sum(values * values, axis=-1, keepdims=True))
    e, bounds = cones.identity(shape.d), has.sum(axis=(-1, -2))
    z = np.broadcast_to(greatest[..., None] * e, values.shape).reshape(k, -1)
    return {
        "A": p.A,
        "G": p.G.reshape(k, -1, n),
        "scale": scale,
        "target": np.concatenate([p.b, -p.h.reshape(k, -1)], axis=-1),
        "fixed": fixed,
        "state": state,
        "about": np.stack([bounds + shape.c, bounds, greatest[:, 0], SMALL * greatest[:, 0]], axis=-1),
        "multipliers": np.concatenate([np.zeros(p.b.shape), z], axis=-1),
        "s": (np.maximum(lengths, 1.0) * e).reshape(k, -1) if shape.c else np.ones((k, 1)),
    }
