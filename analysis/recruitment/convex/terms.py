"""Terms w |x|^p of an objective, p >= 1: formulas on arrays, p one number for all or an array of the same shape."""

from typing import Any

import numpy as np

from myoquat.core import Array

SEARCH_FACTOR = 10.0  # times the size of a point: range of its bound along variables without bounds
PROOF_FACTOR = 1e4  # times this range: that of a proof that there is no solution

Power = float | Array


def ratio(a: Array, b: Array) -> Array:
    """(...) a / b where b is positive, a elsewhere."""
    return a / np.where(b > 0, b, 1.0)


def power_of(size: Array, p: Power) -> Array:
    """(...) size^p of numbers that are not negative, by multiplication or roots where p is a whole number or a
    half."""
    if not isinstance(p, float):
        return np.where(p == 0, 1.0, np.exp(p * np.log(np.where(size > 0, size, 1.0))) * (size > 0) + (p == 0))
    if p < 0:
        return 1.0 / power_of(size, -p)
    whole = int(p)
    if p == whole:
        return _whole_power(size, whole)
    if p - whole == 0.5:
        return _whole_power(size, whole) * np.sqrt(size)
    return np.where(size > 0, np.exp(p * np.log(np.where(size > 0, size, 1.0))), 0.0)


def _whole_power(size: Array, p: int) -> Array:
    """By repeated squaring."""
    result: Any = 1.0 + 0.0 * size
    while p:
        if p & 1:
            result = result * size
        p >>= 1
        if p:
            size = size * size
    return np.asarray(result) if isinstance(result, float) else result


def cost(w: Array, p: Power, x: Array) -> Array:
    """(...) w |x|^p."""
    return w * power_of(np.abs(x), p)


def slope(w: Array, p: Power, x: Array) -> Array:
    """(...) its derivative w p sign(x) |x|^(p-1)."""
    if isinstance(p, float) and p == 2:
        return 2.0 * w * x
    return w * p * np.sign(x) * power_of(np.abs(x), p - 1)


def curvature(w: Array, p: Power, size: Array) -> Array:
    """(...) its second derivative at |x| = size, positive: w p (p - 1) size^(p-2)."""
    return w * (p * (p - 1)) * power_of(size, p - 2)


def least(w: Array, p: Power, price: Array, low: Array, high: Array) -> Array:
    """(...) the least of w |x|^p - price x for x in [low, high]: where the slope is the price, or at an end."""
    x = np.minimum(np.maximum(cheapest(w, p, price), low), high)
    inner = cost(w, p, x) - price * x
    result: Array
    if isinstance(p, float) and p > 1:
        result = np.where(w > 0, inner, np.minimum(-price * low, -price * high))
    else:
        result = np.minimum(inner, np.minimum(cost(w, p, low) - price * low, cost(w, p, high) - price * high))
    return result


def reach(x: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """(...) the range of the search for x: its bounds, or 10 times its size where they are infinite."""
    far = SEARCH_FACTOR * np.maximum(np.abs(x), 1.0)
    return np.where(low > -np.inf, low, -far), np.where(high < np.inf, high, far)


def most(price: Array, low: Array, high: Array, bounded: Array) -> Array:
    """(...) the greatest price x; of a variable that is not bounded 1e4 times as far as [low, high] reach."""
    return np.maximum(price * low, price * high) * np.where(bounded, 1.0, PROOF_FACTOR)


def cheapest(w: Array, p: Power, price: Array) -> Array:
    """(...) x where the slope is the price; 0 for terms without curvature."""
    steep = w * p
    each = ratio(price, steep)
    if isinstance(p, float):
        if p == 1:
            return 0.0 * each
        root = each if p == 2 else np.sign(each) * power_of(np.abs(each), 1.0 / (p - 1))
        return np.where(steep > 0, root, 0.0)
    curved = (p > 1) & (steep > 0)
    root = power_of(np.abs(each), 1 / np.where(p > 1, p - 1, 1.0))
    return np.where(curved, np.sign(each) * root, 0.0)
