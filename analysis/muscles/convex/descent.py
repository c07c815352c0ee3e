"""Programs brought to their solutions side by side: the formula of a step, taken until each program is done."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from myoquat import kernels
from myoquat.analysis.muscles.convex import cones
from myoquat.analysis.muscles.convex.interior import INPUTS, OUTPUTS, Shape, step
from myoquat.analysis.muscles.convex.outcome import Status
from myoquat.analysis.muscles.convex.program import Programs
from myoquat.joints.compiled import kernel_for
from myoquat.kernels.typing import Array

__all__ = ["SAFE", "Ends", "descended"]

STEPS = 100
GAP = 1e-11  # between objective and bound, relative to the objective, at which a program is solved
MET = 1e-11  # what an equation or a cone may be off, relative to its row of B (of length 1) and to b
LOOSE = 100.0  # times these, where rounding ends progress
PATIENCE = 15  # steps that come no nearer
SMALL = 1e-4  # of the greatest weight: an objective below it is not told from zero more finely
SAFE = 1e-9  # by which a proof that there is no solution must hold
BENT, HALVINGS = 2.0, 10  # times its curvature that the objective may bend along a step; of a step
CROWDED = 0.7  # part of the programs of a batch below which those that are done are taken out
PROXIMAL = 1e-9  # curvature, of the greatest weight, against which variables without one of their own move


@dataclass(frozen=True, eq=False)
class Ends:
    """x (k, n), multipliers (k, rows) of equations and cones, status and steps (k,)."""

    x: Array
    multipliers: Array
    status: Array
    steps: Array


@dataclass(frozen=True, eq=False)
class _Points:
    """Where programs are: the arguments of `step` that change, and `lower`, `has` and `B`, `target` that do not."""

    B: Array
    target: Array
    has: Array
    room: Array
    bound: Array
    multipliers: Array
    x: Array
    s: Array

    def taken(self, rows: Array) -> Self:
        return replace(self, **{name: values[rows] for name, values in vars(self).items()})


def descended(programs: Programs, backend: str = "kernel") -> Ends:
    """The best point of every program, whether it is a solution or a proof that there is none, and after how many
    steps."""
    k, c, d = programs.h.shape
    shape = Shape(programs.b.shape[1], c, d, programs.A.shape[-1])
    take = _stepper(shape, backend)
    at, program = _start(programs, shape), programs
    ends = Ends(at.x.copy(), at.multipliers.copy(), np.full(k, Status.UNSETTLED), np.zeros(k, dtype=int))
    merit, since, mu = np.full(k, np.inf), np.zeros(k, dtype=int), np.ones(k)
    places, open_ = np.arange(k), np.ones(k, dtype=bool)  # of the programs that are still carried along
    for number in range(STEPS + 1):
        found = take(at, program, mu)
        off, refuted = _measured(program, shape, at, found)
        better = open_ & ((off < merit[places]) | refuted)
        ends.x[places[better]], ends.multipliers[places[better]] = at.x[better], at.multipliers[better]
        merit[places[better]] = off[better]
        since[places] = np.where(better, 0, since[places] + 1)
        ends.steps[places[open_]] = number
        ends.status[places[open_ & refuted]] = Status.INFEASIBLE
        open_ = open_ & ~refuted & (off > 1) & np.isfinite(off) & (since[places] < PATIENCE)
        if not open_.any():
            break
        at, mu = _moved(program, at, found), found["mu"]
        if open_.mean() < CROWDED:
            places, program, at, mu = places[open_], program.taken(open_), at.taken(open_), mu[open_]
            open_ = np.ones(len(places), dtype=bool)
    ends.status[(ends.status == Status.UNSETTLED) & (merit <= LOOSE)] = Status.SOLVED
    return ends


# ---- parts -------------------------------------------------------------------------------------------------


def _stepper(shape: Shape, backend: str) -> Any:
    """(points, programs, mu) -> the results of `step` by name, and `rows` and `price` of the points."""

    def formula(*given: Array) -> tuple[Array, ...]:
        return step(shape, dict(zip(INPUTS, given, strict=True)))

    def build(content: str | None) -> kernels.Kernel:
        return kernels.compile(formula, shape.inputs, OUTPUTS, name="interior_point_step", content=content)

    run = formula if backend == "numpy" else kernel_for(("interior_point_step", shape), build)

    def take(at: _Points, program: Programs, mu: Array) -> dict[str, Array]:
        given = {**vars(at), "gradient": program.gradient(at.x), "curvature": _curvature(program, at.x, mu)}
        with np.errstate(all="ignore"):  # a point that rounding has put on a boundary ends its program below
            return dict(zip(OUTPUTS, run(*(given[name] for name in INPUTS)), strict=True))

    return take


def _curvature(p: Programs, x: Array, mu: Array) -> Array:
    """(k, n) of the objective, of powers other than 2 as if no variable were so small that it adds less than mu: near
    zero the curvature of a high power vanishes and that of a low one is infinite."""
    greatest = np.maximum(p.weights.max(axis=-1, initial=0.0, keepdims=True), 1e-300)
    if (p.powers == 2).all():
        return np.asarray(np.maximum(2 * p.weights, PROXIMAL * greatest))
    least = (mu[:, None] / np.where(p.weights > 0, p.weights, greatest)) ** (1 / p.powers)
    return np.asarray(np.maximum(p.curvature(np.maximum(np.abs(x), least)), PROXIMAL * greatest))


def _trusted(p: Programs, at: _Points, found: dict[str, Array]) -> Array:
    """(k,) the share of the steps within which the objective bends about as its curvature has it; all of it for
    squares."""
    share = found["share"]
    if (p.powers <= 2).all():
        return share
    slope = np.sum(p.gradient(at.x) * found["dx"], axis=-1)
    bend = np.sum(_curvature(p, at.x, found["mu"]) * found["dx"] ** 2, axis=-1)
    slack = found["mu"] * np.maximum(at.has.sum(axis=(-1, -2)), 1.0)
    start = p.objective(at.x)
    for _ in range(HALVINGS):
        rise = p.objective(at.x + share[:, None] * found["dx"]) - start - share * slope
        share = np.where(rise > BENT * share**2 * bend + slack, share / 2, share)
    return share


def _start(p: Programs, shape: Shape) -> _Points:
    """Points strictly within all bounds and cones, in general on no equation."""
    has = np.isfinite(np.stack([p.lower, p.upper], axis=1))
    low, high = has[:, 0], has[:, 1]
    bottom, top = np.where(low, p.lower, 0.0), np.where(high, p.upper, 0.0)
    x = np.where(low & high, (bottom + top) / 2, np.where(low, bottom + 1, np.where(high, top - 1, 0.0)))
    room = np.stack([np.where(low, x - bottom, 1.0), np.where(high, top - x, 1.0)], axis=1)
    scale = np.maximum(p.weights.max(axis=-1, initial=0.0), 1e-300)
    values = p.cone_values(x)
    e = cones.identity(shape.d)
    size = np.sqrt(np.sum(values * values, axis=-1, keepdims=True))
    s = (np.maximum(size, 1.0) * e).reshape(len(x), -1)
    z = np.broadcast_to(scale[:, None, None] * e, values.shape).reshape(len(x), -1)
    return _Points(
        B=p.B,
        target=np.concatenate([p.b, -p.h.reshape(len(x), -1)], axis=-1),
        has=has.astype(float),
        room=room,
        bound=has * scale[:, None, None],
        multipliers=np.concatenate([np.zeros(p.b.shape), z], axis=-1),
        x=x,
        s=s if shape.c else np.ones((len(x), 1)),
    )


def _moved(p: Programs, at: _Points, found: dict[str, Array]) -> _Points:
    share = _trusted(p, at, found)[:, None]
    part = share[..., None]
    change = np.stack([found["dx"], -found["dx"]], axis=1)
    return replace(
        at,
        x=at.x + share * found["dx"],
        multipliers=at.multipliers + share * found["dmultipliers"],
        s=at.s + share * found["ds"],
        room=at.room + part * at.has * change,
        bound=at.bound + part * found["dbound"],
    )


def _measured(p: Programs, shape: Shape, at: _Points, found: dict[str, Array]) -> tuple[Array, Array]:
    """(k,) how far a point is from a solution, over what is allowed; (k,) whether it proves that there is none."""
    rows, e = found["rows"], shape.e
    bound, proof = p.certificates(at.x, at.multipliers, found["price"])
    objective = p.objective(at.x)
    floor = SMALL * p.weights.max(axis=-1, initial=0.0)
    off = np.abs(objective - bound) / np.maximum(objective, floor) / GAP
    met = np.max(np.abs(rows[:, :e]) / np.maximum(np.abs(p.b), 1.0), axis=-1, initial=0.0)
    if shape.c:
        size = np.maximum(np.abs(rows[:, e:]).max(axis=-1), 1.0)
        met = np.maximum(met, np.max(np.abs(rows[:, e:] - at.s), axis=-1) / size)
    off = np.maximum(off, met / MET)
    return np.where(np.isfinite(off), off, np.inf), proof > SAFE
