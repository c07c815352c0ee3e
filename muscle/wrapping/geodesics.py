"""Geodesics in parts: the loop that every surface without a closed form shares.

On a surface whose geodesics obey x'' = f(x), where no velocity enters f, Stoermer's rule needs one evaluation of f per
step and its error holds even powers of the step only, so that results of 1, 2, 3, ... steps extrapolate to high order
(E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I, II.14). A geodesic is followed in parts
no longer than the surface allows where they begin, as many as it needs.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from myoquat.joints.stacking import joined
from myoquat.kernels import iterate
from myoquat.kernels.typing import Array
from myoquat.muscle.wrapping.extrapolation import extrapolated

__all__ = ["finite", "followed", "within"]

MOST = 512  # parts of a geodesic

Part = Callable[[Array, Array, Array], "Rates"]  # x, v, given -> the right side
Longest = Callable[[Array, Array, Array], Array]  # x, v, given -> how long a part may be (..., 1)
Rates = Callable[[Array], tuple[Array, Array]]  # x -> x'', z'


def followed(
    part: Part, x: Array, v: Array, z: Array, length: Array, longest: Longest, given: Array, finest: int
) -> tuple[Array, Array, Array]:
    """x (..., n), v = x' (..., n) and z (..., k) after `length` (..., 1), in parts of at most longest(x, v, given).

    part(x, v, given) is the function x -> x'', z' that holds along one part, from the numbers `given` (..., c) and
    where the part begins. What MOST parts do not reach is left out; a solver sees it as a condition not met.
    """
    n, k = x.shape[-1], z.shape[-1]
    end = iterate(partial(_advanced, (part, longest), n, k, finest), joined([x, v, z, length]), given, MOST)
    return end[..., :n], end[..., n : 2 * n], end[..., 2 * n : 2 * n + k]


def _advanced(rules: tuple[Part, Longest], n: int, k: int, finest: int, state: Array, given: Array) -> Array:
    """One part further; a state that has arrived stands still."""
    x, v, z, left = state[..., :n], state[..., n : 2 * n], state[..., 2 * n : 2 * n + k], state[..., -1:]
    part, longest = rules
    h = within(left, longest(x, v, given))
    rates = part(x, v, given)
    moved = extrapolated(lambda count: _stoermer(x, v, z, h / count, count, rates), finest)
    return joined([np.where(left != 0, moved, state[..., :-1]), left - h])


def _stoermer(x: Array, v: Array, z: Array, h: Array, count: int, rates: Rates) -> Array:
    """`count` steps of h, with the velocities between the points; z by the trapezoidal rule."""
    force, rate = rates(x)
    for k in range(count):
        v = v + (h if k else 0.5 * h) * force
        x = x + h * v
        before = rate
        force, rate = rates(x)
        z = z + 0.5 * h * (before + rate)
    return joined([x, v + 0.5 * h * force, z])


def finite(x: Array) -> Array:
    """(..., 1) whether the numbers (..., n) are numbers, and none of them far beyond any length or angle."""
    result: Array = (np.sum(np.abs(x), axis=-1) <= 1e9)[..., None]
    return result


def within(x: Array, limit: Array | float) -> Array:
    """x, brought to between -limit and limit."""
    result: Array = np.minimum(np.maximum(x, -limit), limit)
    return result
