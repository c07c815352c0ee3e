"""Roots of many functions of one variable at once, each between two ends where its signs differ.

SciPy's `optimize.elementwise.find_root` does the same and is the reference in the tests. It is not used here, because
importing `scipy.optimize` takes longer than all else in the first simulation from stored kernels. The search here is
also a formula that kernels hold as a loop.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from myoquat.core import Array, frozen
from myoquat.kernels import while_loop

MAX_STEPS = 200  # bisection alone takes 64 for the whole range of numbers from 1 to 2


@frozen
class Bracket:
    """A search, arrays (...).

    a, b    the ends; `a` is the latest point
    fa, fb  the function there, whose signs differ
    share   where between the ends, as a share of the way, the next point lies
    best    the better end
    open    1 while the search goes on
    """

    a: Array
    b: Array
    fa: Array
    fb: Array
    share: Array
    best: Array
    open: Array

    @classmethod
    def of(cls, a: Array, b: Array, fa: Array, fb: Array) -> "Bracket":
        """The search at its beginning."""
        zero = 0.0 * fa
        return cls(a, b, fa, fb, zero + 0.5, zero, zero + 1.0)


def find_root(
    function: Callable[..., Array], bracket: tuple[Array, Array], args: tuple[Array, ...], relative: float
) -> Array:
    """(n,) the roots x of function(x, *args) between the ends `bracket` (n,), to `relative` of |x|; args (n,).

    NaN where the signs at the ends are the same or the function is not finite.
    """
    b, a = (np.array(end, dtype=float) for end in bracket)
    fb, fa = function(b, *args), function(a, *args)
    root = np.where(fa == 0, a, np.where(fb == 0, b, np.nan))
    sought = np.isnan(root) & (np.sign(fa) == -np.sign(fb))
    start = Bracket.of(a, b, fa, fb)
    found = searched(lambda x, args: function(x, *args), start, args, relative, MAX_STEPS, sought)
    return np.where(sought, np.where(found.open > 0, np.nan, found.best), root)


def searched(
    function: Callable[[Array, Any], Array], start: Bracket, parameters: Any, relative: float, max_steps: int,
    where: Array,
) -> Bracket:  # fmt: skip
    """The bracket of the root of function(x, parameters) at the end of the search, where (...) one is sought.

    Each step takes the inverse quadratic interpolation of the last three points where it converges, and the middle of
    the bracket otherwise. The best end is NaN where the function is not finite. Source: Chandrupatla (1997), Adv. Eng.
    Softw. 28, 145-149.
    """

    def narrowed(search: Bracket, parameters: Any) -> Bracket:
        a, b, fa, fb = search.a, search.b, search.fa, search.fb
        x = a + search.share * (b - a)
        fx = function(x, parameters)
        same = np.sign(fx) == np.sign(fa)
        c, fc = np.where(same, a, b), np.where(same, fa, fb)
        b, fb = np.where(same, b, a), np.where(same, fb, fa)
        a, fa = x, fx
        best = np.where(np.abs(fa) < np.abs(fb), a, b)
        least = relative * np.abs(best) / np.abs(b - a)  # the share of the way that the next point keeps from both ends
        finite = np.abs(fx) < np.inf
        best = np.where(finite, np.where(fa == 0, a, best), np.nan)
        going = np.where((least > 0.5) | (fa == 0) | ~finite, 0.0, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
            quadratic = (1 - np.sqrt(1 - xi) < phi) & (phi < np.sqrt(xi))
            alpha = (c - a) / (b - a)
            t = fa / (fb - fa) * fc / (fb - fc) + alpha * fa / (fc - fa) * fb / (fc - fb)
        t = np.where(quadratic & (np.abs(t) < np.inf), t, 0.5)
        return Bracket(a, b, fa, fb, np.minimum(np.maximum(t, least), 1 - least), best, going)

    return while_loop(lambda search: search.open > 0, narrowed, start, parameters, max_steps=max_steps, where=where)
