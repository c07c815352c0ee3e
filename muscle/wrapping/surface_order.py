"""In which order a path comes to the surfaces between two of its points, where nothing tells.

The first guess is the order in which they lie along the straight line between the points. A path that is taut in one
order may run through a surface on its way between others: then the surface belongs there, and takes its place between
these.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.stacking import joined
from myoquat.kernels import iterate
from myoquat.muscle.wrapping.contact_solve import Touch, cut, nowhere, touched
from myoquat.muscle.wrapping.fixed_point_iteration import WHERE, Chain, points, touching
from myoquat.muscle.wrapping.order_along_path import after, before
from myoquat.muscle.wrapping.surfaces.base import Wrap
from myoquat.muscle.wrapping.surfaces.vectors import dot, size

__all__ = ["guessed", "moved", "started"]


def guessed(kinds: tuple[Wrap, ...], given: Array) -> Array:
    """(..., k) the places of the surfaces along the line between the ends, as whole numbers from 0.

    given: the numbers of a `Chain` but for places and what is passed over.
    """
    chain = _unordered(kinds, given)
    start, end = chain.ends
    along = []
    for placed in chain.surfaces():
        middle = placed.in_world(placed.wrap.middle(placed.seen(start), placed.seen(end)))
        along.append(dot(middle - start, end - start))
    return _ranks(along)


def started(kinds: tuple[Wrap, ...], given: Array, told: Array) -> Array:
    """(..., WHERE k) the X of a `Sweep` from which to look for the path: where it touches one surface alone, the one
    that is told by 1, told (..., k), or else the one over which alone it is longest. No taut path over all is shorter,
    unless surfaces have sides.

    given: as for `guessed`.
    """
    none = 0.0 * given[..., :1] * np.ones(WHERE * len(kinds))
    return iterate(partial(_started, kinds), none, joined([given, told]), 1)


def _started(kinds: tuple[Wrap, ...], _: Array, given: Array) -> Array:
    count = len(kinds)
    chain, told = _unordered(kinds, given[..., :-count]), given[..., -count:]
    start, end = chain.ends
    never = told[..., 0] > np.inf
    near = nowhere(0.0 * start[..., 0], ~never)
    found, lengths = [], []
    for placed in chain.surfaces():
        A, B = placed.seen(start), placed.seen(end)
        c = Touch.unpacked(touched(placed.kind, placed.numbers, (A, B), (A, B), near=near))
        on = np.where(c.on, 1.0, 0.0)[..., None]
        found.append(joined([on * placed.in_world(c.P), on, on * placed.in_world(c.Q)]))
        lengths.append(on * (size(c.P - A) + c.arc + size(B - c.Q))[..., None])
    worth = np.where(np.sum(told, axis=-1)[..., None] > 0, told, joined(lengths))
    most, taken, X = np.max(worth, axis=-1), never, []
    for i, x in enumerate(found):
        here = (worth[..., i] >= most) & ~taken
        taken = taken | here
        X.append(np.where(here[..., None], x, 0.0))
    return joined(X)


def moved(chain: Chain, X: Array) -> tuple[Array, Array]:
    """(..., k) the places of the surfaces when the first one that the path of a sweep's X runs through has taken its
    place there; and 1 for that one."""
    count = len(chain.kinds)
    none = 0.0 * X[..., :1] * np.ones(2 * count)
    found = iterate(partial(_moved, chain.kinds), none, joined([X, chain.given]), 1)
    return found[..., :count], found[..., count:]


def _moved(kinds: tuple[Wrap, ...], _: Array, given: Array) -> Array:
    """Both, one after the other."""
    count = len(kinds)
    X, chain = given[..., : WHERE * count], Chain(kinds, given[..., WHERE * count :])
    start, end = chain.ends
    never = chain.taken[0] & ~chain.taken[0]
    places = [0.0 * chain.places[0] - 1.0, *chain.places]  # the start comes before all
    on = [~never, *touching(X, count)]
    P, Q = ([start, *points(X, count, leaving)] for leaving in (False, True))
    numbers = [place[..., None] for place in places]
    last = 0.0 * numbers[0] + float(count)
    stops = [joined(stop) for stop in zip(P, numbers, strict=True)]
    behind = [after(places, on, j, stops, joined([end, last])) for j in range(count + 1)]
    found, through, settled = [], [], never
    for i, (placed, taken) in enumerate(zip(chain.surfaces(), chain.taken, strict=True), start=1):
        own, place, met = before(places, on, i, numbers, numbers[0])[..., 0], places[i], never
        ends_outside = ~placed.wrap.holds(placed.seen(start)) & ~placed.wrap.holds(placed.seen(end))
        asked = taken & ends_outside & ~settled
        for j in range(count + 1):
            if j != i:
                line = placed.seen(Q[j]), placed.seen(behind[j][..., :3])
                here = cut(placed.kind, placed.numbers, line, asked & on[j] & (own != places[j]) & ~met)
                place, met = np.where(here, (places[j] + behind[j][..., 3]) / 2.0, place), met | here
        found.append(place)
        through.append(np.where(met, 1.0, 0.0)[..., None])
        settled = settled | met
    return joined([_ranks(found), *through])


def _ranks(x: Sequence[Array]) -> Array:
    """(..., k) how many of the others come before each: those that are less, or equal and earlier in the list."""
    found = []
    for i, own in enumerate(x):
        earlier = [np.where(y <= own, 1.0, 0.0) for y in x[:i]] + [np.where(y < own, 1.0, 0.0) for y in x[i + 1 :]]
        found.append(sum(earlier, 0.0 * own)[..., None])
    return joined(found)


def _unordered(kinds: tuple[Wrap, ...], given: Array) -> Chain:
    """All surfaces at one place, none passed over."""
    count = len(kinds)
    return Chain(kinds, joined([given, 0.0 * given[..., :1] + np.array([0.0] * count + [1.0] * count)]))
