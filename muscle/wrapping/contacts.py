"""All contacts of paths at a pose.

A surface acts on the pieces between two points of a path that lie in its range. It is an obstacle on each of them,
unless it is to be passed on one side or through (`Wrap.on_one_piece`). It then acts on one piece at a pose, as in
OpenSim. Tests that need no solver tell which surfaces a straight piece meets. So a piece that meets none costs little.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import islice
from operator import or_

import numpy as np

from myoquat.core import Array
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.kernels.symbolic.arrays import as_array, is_symbolic
from myoquat.muscle.points import PathPoint

from .route import first_of
from .segment_solver import Piece, over_one_surface, over_surfaces, shared_slots, slots_of
from .single_surface_contact import Meeting, Poses, straight_pieces, with_closed_forms
from .surfaces.base import Wrap

Path = tuple[Sequence[PathPoint], Sequence[Wrap]]


def acting_surfaces(points: Sequence[PathPoint], wraps: Sequence[Wrap]) -> list[tuple[Wrap, ...]]:
    """Of every piece of a path, the surfaces that act on it: those in whose range it is.

    A piece that meets a surface at no pose is left out, if the surface acts on another one. Points on the body of the
    surface tell: one of them lies inside the surface, or the surface does not lie between both.
    """
    pieces: list[tuple[Wrap, ...]] = [()] * (len(points) - 1)
    for wrap in wraps:
        own = [k for k in range(1, len(points)) if wrap.acts(k)]
        met = [k for k in own if _may_meet(wrap, points[k - 1], points[k])]
        for k in met or own:
            pieces[k - 1] += (wrap,)
    return pieces


def _may_meet(wrap: Wrap, first: PathPoint, last: PathPoint) -> bool:
    """Whether a piece may meet a surface at some pose, as far as points of the surface's body tell."""
    ends = _own_ends(wrap, first, last)
    return not any(map(wrap.holds, ends)) and (len(ends) < 2 or bool(wrap.meets(*ends)))


def holds_end(wrap: Wrap, first: PathPoint, last: PathPoint) -> bool:
    """Whether an end of a piece lies inside a surface at every pose, since it is a point of the surface's body."""
    return not wrap.holds_inside and any(map(wrap.holds, _own_ends(wrap, first, last)))


def _own_ends(wrap: Wrap, *ends: PathPoint) -> list[Array]:
    """(3,) each, the ends of a piece that are points of a surface's body, in its frame; none where numbers vary."""
    own = [as_array(x.position) for x in ends if type(x) is PathPoint and x.body == wrap.body]
    return [] if wrap.varies or any(map(is_symbolic, own)) else [wrap.seen(x) for x in own]


def path_contacts(
    system: ArticulatedSystem, paths: Sequence[Path], q: Array, poses: Poses
) -> tuple[tuple[Piece, ...], ...]:
    """One Piece for every point of each path (points, surfaces) but the first: what the path touches on its way there.

    A conditional point that is off the path has no piece: nothing is touched there.
    """
    segments: list[list[list[Meeting]]] = [
        list(_segments(system, points, wraps, q, poses)) if wraps else [[]] * (len(points) - 1)
        for points, wraps in paths
    ]
    every = [meetings for path in segments for meetings in path]
    begun = iter(with_closed_forms([m for meetings in every for m in meetings]))
    for meetings in every:
        meetings[:] = islice(begun, len(meetings))
    for path in segments:
        _choose_pieces(path)
    shared = shared_slots(slots_of(meetings) for meetings in every if len(meetings) > 1)
    return tuple(tuple(_piece(meetings, shared) for meetings in path) for path in segments)


def _segments(
    system: ArticulatedSystem, path: Sequence[PathPoint], wraps: Sequence[Wrap], q: Array, poses: Poses
) -> Iterator[list[Meeting]]:
    """Of every piece of a path, the surfaces that act on it, before they are solved."""
    active: list[Array | bool] = [True]
    pieces = zip(straight_pieces(system, path, q, poses), acting_surfaces(path, wraps), strict=True)
    for (start, end, on), acting in pieces:
        reached = [_reached(wrap, active) for wrap in acting]
        acts = reached if isinstance(on, bool) else [on & x for x in reached]  # the path may not take the piece
        yield [Meeting.of(x, start, end, poses, y) for x, y in zip(acting, acts, strict=True)]
        active.append(on)


def _reached(wrap: Wrap, active: Sequence[Array | bool]) -> Array | bool:
    """Whether a piece begins at or after the first point of a surface: one of its points so far is `active`. Where all
    are off, the piece begins before, and the surface does not act, as in OpenSim's GeometryPath::applyWrapObjects."""
    own = active[0 if wrap.points is None else wrap.points[0] :]
    return True if any(isinstance(on, bool) for on in own) else reduce(or_, own)


def _choose_pieces(segments: Sequence[list[Meeting]]) -> None:
    """Let the surfaces that act on one piece at a time act on that piece alone.

    It is the first piece whose straight line the surface is in the way of, else the one that it lengthens by the least.
    Source: OpenSim 4.6, GeometryPath::applyWrapObjects and WrapCylinder::wrapLine.
    """
    found: dict[int, list[tuple[int, int]]] = {}
    for i, on_piece in enumerate(segments):
        for j, meeting in enumerate(on_piece):
            if meeting.wrap.on_one_piece:
                found.setdefault(id(meeting.wrap), []).append((i, j))
    for own in found.values():
        if len(own) > 1:
            meetings = [segments[i][j] for i, j in own]
            first = [m.in_the_way for m in meetings]
            free = ~reduce(or_, first)
            meetings = [m.solved(here | free) for m, here in zip(meetings, first, strict=True)]
            ranks = [
                np.where(here, float(k - len(own)), m.lengthening)
                for k, (m, here) in enumerate(zip(meetings, first, strict=True))
            ]
            least = reduce(np.minimum, ranks)
            for (i, j), m, acts in zip(own, meetings, first_of([rank <= least for rank in ranks]), strict=True):
                segments[i][j] = replace(m, acts=acts)


def _piece(meetings: Sequence[Meeting], shared: Mapping[tuple[Wrap, ...], tuple[Wrap, ...]]) -> Piece:
    """The piece over the surfaces that act."""
    if len(meetings) == 1:
        return over_one_surface(meetings[0].solved())
    return over_surfaces(meetings, shared.get(slots_of(meetings)))
