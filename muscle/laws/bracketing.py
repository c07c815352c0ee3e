"""Roots of many functions of one variable at once, each between two ends where its signs differ.

SciPy's `optimize.elementwise.find_root` does the same and is the reference in the tests; here, because importing
`scipy.optimize` takes longer than all else that the first simulation of a muscle from stored kernels needs.
"""

from collections.abc import Callable

import numpy as np

from myoquat.core.typing import Array

__all__ = ["find_root", "narrowed"]

_STEPS = 200  # bisection alone takes 64 for the whole range of numbers from 1 to 2


def find_root(
    function: Callable[..., Array], bracket: tuple[Array, Array], args: tuple[Array, ...], relative: float
) -> Array:
    """(n,) the roots x of function(x, *args) between the ends `bracket` (n,), to `relative` of |x|.

    Each step takes the inverse quadratic interpolation of the last three points where these lie so that it converges,
    and the middle of the bracket otherwise. NaN where the signs at the ends are the same or the function is not finite.
    Source: Chandrupatla (1997), Adv. Eng. Softw. 28, 145-149.
    """
    b, a = (np.array(end, dtype=float) for end in bracket)
    fb, fa = function(b, *args), function(a, *args)
    root = np.where(fa == 0, a, np.where(fb == 0, b, np.nan))
    open_ = np.flatnonzero(np.isnan(root) & (np.sign(fa) == -np.sign(fb)))
    a, b, fa, fb, t = a[open_], b[open_], fa[open_], fb[open_], np.full(open_.size, 0.5)
    args = tuple(x[open_] for x in args)
    for _ in range(_STEPS):
        if not open_.size:
            break
        x = a + t * (b - a)
        fx = function(x, *args)
        a, b, fa, fb, t, best, share = narrowed((a, b, fa, fb), x, fx, relative)
        done = (share > 0.5) | (fa == 0) | ~np.isfinite(fx)
        root[open_[done]] = np.where(np.isfinite(fx), np.where(fa == 0, a, best), np.nan)[done]
        keep = ~done
        open_, a, b, fa, fb, t = open_[keep], a[keep], b[keep], fa[keep], fb[keep], t[keep]
        args = tuple(x[keep] for x in args)
    return root


def narrowed(bracket: tuple[Array, Array, Array, Array], x: Array, fx: Array, relative: float) -> tuple[Array, ...]:
    """The formula of a step: from ends a and b, f there, and f at x between them, the next a, b, f(a) and f(b); where
    the next x is to lie, as a share of the way from a to b; the better end; and what `relative` of it is, as such a
    share: above a half the search is at its end."""
    a, b, fa, fb = bracket
    same = np.sign(fx) == np.sign(fa)
    c, fc = np.where(same, a, b), np.where(same, fa, fb)
    b, fb = np.where(same, b, a), np.where(same, fb, fa)
    a, fa = x, fx
    best = np.where(np.abs(fa) < np.abs(fb), a, b)
    share = relative * np.abs(best) / np.abs(b - a)
    return a, b, fa, fb, _share(a, b, c, fa, fb, fc, share), best, share


def _share(a: Array, b: Array, c: Array, fa: Array, fb: Array, fc: Array, least: Array) -> Array:
    """Where between a and b, as a share of the way, the next point lies: at least `least` from either end."""
    with np.errstate(divide="ignore", invalid="ignore"):
        xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
        quadratic = (1 - np.sqrt(1 - xi) < phi) & (phi < np.sqrt(xi))
        alpha = (c - a) / (b - a)
        t = fa / (fb - fa) * fc / (fb - fc) + alpha * fa / (fc - fa) * fb / (fc - fb)
    t = np.where(quadratic & (np.abs(t) < np.inf), t, 0.5)
    found: Array = np.minimum(np.maximum(t, least), 1 - least)
    return found
