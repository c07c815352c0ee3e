"""All contacts of paths at a pose.

A surface acts on the pieces between two points of a path that lie in its range. It is an obstacle on each of them,
unless it is to be passed on one side or through (`Wrap.on_one_piece`). It then acts on one piece at a pose, as in
OpenSim. Tests that need no solver tell which surfaces a straight piece meets. So a piece that meets none costs little.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import and_, or_

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.kernels.symbolic.arrays import as_array, is_symbolic
from myoquat.muscle.points import PathPoint

from .segment_solver import Piece, over_one_surface, over_surfaces, shared_slots, slots_of
from .single_surface_contact import Meeting, Poses, Site, contacts_alone
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


@frozen
class _Segment:
    """A piece of a path before it is solved: its ends, and the surfaces that act on it."""

    start: Site
    end: Site
    meetings: list[Meeting]


def path_contacts(
    system: ArticulatedSystem, paths: Sequence[Path], q: Array, poses: Poses
) -> tuple[tuple[Piece, ...], ...]:
    """One Piece for every point of each path (points, surfaces) but the first: what the path touches on its way there.

    A conditional point that is off the path has no piece: nothing is touched there.
    """
    segments = [list(_segments(system, *path, q, poses)) for path in paths]
    every = [segment.meetings for path in segments for segment in path]
    closed = iter(contacts_alone([m for meetings in every for m in meetings if not m.wrap.solved]))
    for meetings in every:
        meetings[:] = [m if m.wrap.solved else replace(m, contact=next(closed)) for m in meetings]
    for path in segments:
        _choose_pieces(path)
    shared = shared_slots(_slots(meetings) for meetings in every if len(meetings) > 1)
    return tuple(
        tuple(_piece(segment, poses, shared) for segment in found) if found else (Piece(),) * (len(path) - 1)
        for (path, _), found in zip(paths, segments, strict=True)
    )


def _segments(
    system: ArticulatedSystem, path: Sequence[PathPoint], wraps: Sequence[Wrap], q: Array, poses: Poses
) -> Iterator[_Segment]:
    if not wraps:
        return
    last, active = Site.of(poses, path[0].body, path[0].local(system, q)), [path[0].active(system, q)]
    for point, acting in zip(path[1:], acting_surfaces(path, wraps), strict=True):
        site, on = Site.of(poses, point.body, point.local(system, q)), point.active(system, q)
        reached = [_reached(wrap, active) for wrap in acting]
        acts = reached if isinstance(on, bool) else [on & x for x in reached]  # the path may not take the piece
        yield _Segment(last, site, [Meeting.of(x, last, site, poses, y) for x, y in zip(acting, acts, strict=True)])
        last = site.or_else(on, last)
        active.append(on)


def _reached(wrap: Wrap, active: Sequence[Array | bool]) -> Array | bool:
    """Whether a piece begins at or after the first point of a surface: one of its points so far is `active`. Where all
    are off, the piece begins before, and the surface does not act, as in OpenSim's GeometryPath::applyWrapObjects."""
    own = active[0 if wrap.points is None else wrap.points[0] :]
    return True if any(isinstance(on, bool) for on in own) else reduce(or_, own)


def _choose_pieces(segments: Sequence[_Segment]) -> None:
    """Let the surfaces that act on one piece at a time act on that piece alone.

    It is the first piece whose straight line the surface is in the way of, else the one that it lengthens by the least.
    Source: OpenSim 4.6, GeometryPath::applyWrapObjects and WrapCylinder::wrapLine.
    """
    found: dict[int, list[tuple[int, int]]] = {}
    for i, segment in enumerate(segments):
        for j, meeting in enumerate(segment.meetings):
            if meeting.wrap.on_one_piece:
                found.setdefault(id(meeting.wrap), []).append((i, j))
    for own in found.values():
        if len(own) > 1:
            meetings = [segments[i].meetings[j] for i, j in own]
            first = [m.in_the_way for m in meetings]
            free = ~reduce(or_, first)
            meetings = [m.solved(here | free) for m, here in zip(meetings, first, strict=True)]
            ranks = [
                np.where(here, float(k - len(own)), m.lengthening)
                for k, (m, here) in enumerate(zip(meetings, first, strict=True))
            ]
            for k, (i, j) in enumerate(own):
                least = [ranks[k] <= rank if k < n else ranks[k] < rank for n, rank in enumerate(ranks) if n != k]
                segments[i].meetings[j] = replace(meetings[k], acts=reduce(and_, least))


def _slots(meetings: Sequence[Meeting]) -> tuple[Wrap, ...]:
    return slots_of(m.wrap for m in meetings)


def _piece(segment: _Segment, poses: Poses, shared: Mapping[tuple[Wrap, ...], tuple[Wrap, ...]]) -> Piece:
    """The piece over the surfaces that act."""
    meetings = segment.meetings
    if len(meetings) == 1:
        return over_one_surface(meetings[0].solved())
    return over_surfaces(meetings, segment.start, segment.end, poses, shared.get(_slots(meetings)))
