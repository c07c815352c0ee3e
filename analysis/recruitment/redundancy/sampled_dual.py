"""The Lagrange dual of an effort in one pass along the activations of every muscle, as a kernel.

For given prices the dual of a frame is a sum of minima, over one activation each, of effort less price times tension
(`posed`). A loop evaluates all muscles at points that lie closer and closer to a solution and bounds the functions
between them, as `convex.branch_and_bound` does. It does not divide intervals: where its bounds do not suffice,
`convex.branch_and_bound` finds better ones.
"""

from collections.abc import Hashable
from functools import partial
from typing import Any

import numpy as np

from myoquat.analysis.recruitment.convex import terms
from myoquat.analysis.recruitment.redundancy.equations import LawParameters
from myoquat.core.typing import Array
from myoquat.joints.compiled import kernel_for
from myoquat.kernels import Compiled, Program, compile_program
from myoquat.muscle.states import forces_of_laws

__all__ = ["sampled_minima"]

POINTS_PER_SIDE = 36  # of a solution
EQUIDISTANT = 8  # of these, farthest from it: an eighth to a sixteenth of the range apart
RATIO = 1.55  # of the distances of the others
FIRST = RATIO ** (1 - (POINTS_PER_SIDE - EQUIDISTANT)) / (1 + (RATIO - 1) * EQUIDISTANT)  # part of the range
INPUTS = ("lengths", "speeds", "price", "weight", "target", "low", "high", "solution")
CARRIED = ("number", "x0", "f0", "x1", "f1", "slope0", "slope1", "least")


def sampled_minima(laws: LawParameters, power: float, given: dict[str, Array], backend: str) -> Array:
    """(k, m) lower bounds of weight |a - target|^power - price F(a) for activations a from low to high.

    If the minimum is at `solution`, they are close to the value there. All INPUTS are (k, m) or (1, m). Between any
    four neighbouring points a function must be convex, concave, or convex on either side of a single corner.
    """
    m, size = given["lengths"].shape[-1], laws.p.shape[-1]
    make = partial(_program, laws, power, m, size)
    arrays = {**given, "p": np.atleast_2d(laws.p)} if size else given
    if backend == "numpy":
        with np.errstate(all="ignore"):
            return make().side_by_side(arrays, ["bound"])[0]

    def build(content: str | None) -> Compiled:
        return compile_program(make, ["bound"], name="sampled_minima", content=content)

    key: Hashable = ("sampled_minima", laws.key, m, power)
    kernel: Any = kernel_for(key, build)
    found: Array = kernel(**arrays)
    return found


def _program(laws: LawParameters, power: float, m: int, size: int) -> Program:
    program = Program("sampled_minima", {**dict.fromkeys(INPUTS, m), **({"p": size} if size else {})})
    given = [*INPUTS, *(["p"] if size else [])]

    def start(low: Array) -> dict[str, Array]:
        zero = 0.0 * low
        first = {"number": zero[..., 0], "least": zero + np.inf, "x0": low, "x1": low}
        return {**first, **dict.fromkeys(("f0", "f1", "slope0", "slope1"), zero), "goes_on": 1.0 + zero[..., 0]}

    def step(*arrays: Array) -> dict[str, Array]:
        state, (l, v, price, weight, target, low, high, solution, *p) = arrays[: len(CARRIED)], arrays[len(CARRIED) :]
        part = _part(state[0])[..., None]
        x = solution + np.where(part < 0, part * (solution - low), part * (high - solution))
        F = forces_of_laws(laws.bind(p[0] if p else np.zeros(0)), l, v, x)
        return _passed(dict(zip(CARRIED, state, strict=True)), x, terms.cost(weight, power, x - target) - price * F)

    def end(x0: Array, f0: Array, x1: Array, f1: Array, slope0: Array, least: Array) -> dict[str, Array]:
        return {"bound": np.minimum(least, np.minimum(f0 + np.minimum(slope0, 0.0) * (x1 - x0), f1))}

    program.formula(start, ["low"])
    with program.repeat(2 * POINTS_PER_SIDE + 1, "goes_on", {name: f"{name}_next" for name in CARRIED}):
        program.formula(step, [*CARRIED, *given])
    program.formula(end, ["x0", "f0", "x1", "f1", "slope0", "least"])
    return program


def _part(number: Array) -> Array:
    """(...) of the way from the solution to an end of the range: -1 at point 0, 0 in the middle, 1 at the last."""
    away = number - POINTS_PER_SIDE
    rank, near = np.abs(away), float(POINTS_PER_SIDE - EQUIDISTANT)
    grown = FIRST * np.exp(np.log(RATIO) * (np.minimum(rank, near) - 1))
    part = grown * (1 + (RATIO - 1) * np.maximum(rank - near, 0.0))
    result: Array = np.where(rank > 0.5, np.sign(away) * np.where(rank > POINTS_PER_SIDE - 0.5, 1.0, part), 0.0)
    return result


def _passed(state: dict[str, Array], x: Array, f: Array) -> dict[str, Array]:
    """The state after another point.

    Both neighbours of the interval before the last point are known now: x0 and x1 are its ends, slope1 its own slope.
    The slope of the interval before it is slope0.
    """
    width = x - state["x1"]
    own = np.where(width > 0, (f - state["f1"]) / np.where(width > 0, width, 1.0), state["slope1"])
    number, before = state["number"][..., None], state["x1"] - state["x0"]
    fall, rise = np.minimum(state["slope0"], 0.0) * before, np.maximum(own, 0.0) * before
    bound = np.minimum(state["least"], np.minimum(state["f0"] + fall, state["f1"] - rise))
    return {
        "number_next": state["number"] + 1.0,
        "x0_next": state["x1"], "f0_next": state["f1"], "x1_next": x, "f1_next": f,
        "slope0_next": np.where(number > 1.5, state["slope1"], 0.0),
        "slope1_next": np.where(number > 0.5, own, 0.0),
        "least_next": np.where(number > 1.5, bound, state["least"]),
    }  # fmt: skip
