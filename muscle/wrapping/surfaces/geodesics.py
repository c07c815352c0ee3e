"""Geodesics in parts, for surfaces without a closed form.

On a surface whose geodesics obey x'' = f(x), where no velocity enters f, Stoermer's rule needs one evaluation of f per
step and its error holds even powers of the step only, so that results of 1, 2, 3, ... steps extrapolate to high order
(E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I, II.14). A geodesic is followed in parts
no longer than the surface allows where they begin, as many as it needs.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.stacking import joined
from myoquat.kernels import iterate
from myoquat.muscle.wrapping.surfaces.extrapolation import extrapolated

__all__ = ["FINE", "Force", "finite", "followed", "within"]

MOST = 512  # parts of a geodesic
FINE = 1e-3  # [rad] no shorter step of a solver is told from others; after a longer one geodesics only steer

Part = Callable[[Array, Array, Array], "Force"]  # x, v, given -> the right side
Longest = Callable[[Array, Array, Array], Array]  # x, v, given -> how long a part may be (..., 1)
Force = Callable[[Array], Array]  # x -> x''


def followed(
    part: Part,
    x: Array,
    v: Array,
    length: Array,
    longest: Longest,
    given: Array,
    finest: int,
) -> tuple[Array, Array]:
    """x (..., n) and v = x' (..., n) after `length` (..., 1), in parts of at most longest(x, v, given).

    part(x, v, given) is the function x -> x'' that holds along one part, from the numbers `given` (..., c) and where
    the part begins. What MOST parts do not reach is left out; a solver sees it as a condition not met.
    """
    n = x.shape[-1]
    step = partial(_advanced, (part, longest), n, finest)
    end = iterate(step, joined([x, v, length]), given, MOST, left=-1)
    return end[..., :n], end[..., n : 2 * n]


def _advanced(rules: tuple[Part, Longest], n: int, finest: int, state: Array, given: Array) -> Array:
    """One part further; a state that has arrived stands still."""
    x, v, left = state[..., :n], state[..., n : 2 * n], state[..., -1:]
    part, longest = rules
    h = within(left, longest(x, v, given))
    force = part(x, v, given)
    moved = extrapolated(lambda count: _stoermer(x, v, h / count, count, force), finest)
    return joined([np.where(left != 0, moved, state[..., :-1]), left - h])


def _stoermer(x: Array, v: Array, h: Array, count: int, force: Force) -> Array:
    """`count` steps of h, with the velocities between the points."""
    f = force(x)
    for k in range(count):
        v = v + (h if k else 0.5 * h) * f
        x = x + h * v
        f = force(x)
    return joined([x, v + 0.5 * h * f])


def finite(x: Array) -> Array:
    """(..., 1) whether the numbers (..., n) are numbers, and none of them far beyond any length or angle."""
    result: Array = (np.sum(np.abs(x), axis=-1) <= 1e9)[..., None]
    return result


def within(x: Array, limit: Array | float) -> Array:
    """x, brought to between -limit and limit."""
    result: Array = np.minimum(np.maximum(x, -limit), limit)
    return result
