"""Geodesics in parts, for surfaces without a closed form.

On some surfaces geodesics obey x'' = f(x), where no velocity enters f. Stoermer's rule then needs one evaluation of f
per step. Its error holds even powers of the step only, so that results of 1, 2, 3, ... steps extrapolate to high order.
Source: E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I, II.9 and II.14. A geodesic is
followed in as many parts as it needs. None is longer than the surface allows where the part begins.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from math import prod
from typing import Any

import numpy as np

from myoquat.core import Array
from myoquat.joints.vectors import joined
from myoquat.kernels import while_loop

MAX_PARTS = 512  # of a geodesic: no path winds around a surface so often
STEPS = (1, 2, 3, 4, 5, 6, 8)  # of a part; the weights of 1 to 7 steps enlarge rounding errors twice as much
WEIGHTS = [float(prod(Fraction(n * n, n * n - k * k) for k in STEPS if k != n)) for n in STEPS]  # at steps of length 0
MIN_STEP_RAD = 1e-3  # [rad] least step of a solver that is distinguished; after a longer one geodesics only steer

Part = Callable[[Array, Array, Any], "Force"]  # x, v, parameters -> the right side
Longest = Callable[[Array, Array, Any], Array]  # x, v, parameters -> the greatest length of a part (..., 1)
Force = Callable[[Array], Array]  # x -> x''


_Arc = tuple[Array, Array, Array]  # as far as a geodesic was followed: x, v (..., n), and the remaining length (..., 1)


def followed(part: Part, x: Array, v: Array, length: Array, longest: Longest, parameters: Any) -> tuple[Array, Array]:
    """x (..., n) and v = x' (..., n) after `length` (..., 1), in parts of at most longest(x, v, parameters).

    part(x, v, parameters) is the function x -> x'' that holds along one part, from where the part begins. What
    MAX_PARTS do not reach is left out; a solver sees it as a condition that is not met.
    """
    step = partial(_advanced, (part, longest))
    end = while_loop(_unfinished, step, (x, v, length), parameters, max_steps=MAX_PARTS)
    return end[0], end[1]


def _unfinished(arc: _Arc) -> Array:
    result: Array = np.abs(arc[2][..., 0]) > 0
    return result


def _advanced(rules: tuple[Part, Longest], arc: _Arc, parameters: Any) -> _Arc:
    """One part further; a geodesic that has arrived stays."""
    (x, v, remaining), (part, longest) = arc, rules
    n, h = x.shape[-1], within(remaining, longest(x, v, parameters))
    force = part(x, v, parameters)
    change = sum((w * _stoermer(x, v, h, n, force) for n, w in zip(STEPS, WEIGHTS, strict=True)), np.zeros(()))
    going = remaining != 0
    end, end_v = x + (h * v + change[..., :n]), v + change[..., n:]
    return np.where(going, end, x), np.where(going, end_v, v), remaining - h


def _stoermer(x: Array, v: Array, length: Array, count: int, force: Force) -> Array:
    """How far `count` steps lead from the straight line x + s v after a `length`, and by how much they change v.

    These are small beside x and v. So are their rounding errors, which the extrapolation enlarges.
    """
    h, straight = length / count, length * v
    aside, change, f = 0.0 * x, 0.0 * v, force(x)
    for k in range(count):
        change = change + (h if k else 0.5 * h) * f
        aside = aside + h * change
        f = force(x + ((k + 1) / count * straight + aside))
    return joined([aside, change + 0.5 * h * f])


def finite(x: Array) -> Array:
    """(..., 1) whether the numbers (..., n) are numbers, and none of them far beyond any length or angle."""
    result: Array = (np.sum(np.abs(x), axis=-1) <= 1e9)[..., None]
    return result


def within(x: Array, limit: Array | float) -> Array:
    """x, brought to between -limit and limit."""
    result: Array = np.minimum(np.maximum(x, -limit), limit)
    return result
