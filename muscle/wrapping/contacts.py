"""All contacts of paths at a pose."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.muscle.points import PathPoint
from myoquat.muscle.wrapping.resolved_points import Poses, Site
from myoquat.muscle.wrapping.segment_solver import Piece, over_one_surface, over_surfaces
from myoquat.muscle.wrapping.single_surface_contact import contacts_alone
from myoquat.muscle.wrapping.surfaces.base import Contact, Wrap

__all__ = ["path_contacts"]

Path = tuple[Sequence[PathPoint], Sequence[Wrap]]


@dataclass(frozen=True)
class _Segment:
    """A piece of a path before it is solved: its ends, the surfaces that act between them, and whether the path takes
    it."""

    wraps: tuple[Wrap, ...]
    start: Site
    end: Site
    on: Array | bool


def path_contacts(
    system: ArticulatedSystem, paths: Sequence[Path], q: Array, poses: Poses
) -> tuple[tuple[Piece, ...], ...]:
    """One Piece for every point of each path (points, surfaces) but the first: what the path touches on its way there.

    A conditional point that is off the path has no piece: nothing is touched there.
    """
    segments = [list(_segments(system, *path, q, poses)) for path in paths]
    lone = [segment for path in segments for segment in path if len(segment.wraps) == 1]
    ends = [(s.start.seen_from(poses, s.wraps[0].body), s.end.seen_from(poses, s.wraps[0].body)) for s in lone]
    contacts = iter(contacts_alone([segment.wraps[0] for segment in lone], ends))

    def solved(segment: _Segment) -> Piece:
        if len(segment.wraps) == 1:
            return over_one_surface(segment.wraps[0], next(contacts))
        return over_surfaces(segment.wraps, segment.start, segment.end, poses)

    return tuple(
        tuple(_taken(solved(segment), segment.on) for segment in found) if found else (Piece(),) * (len(path) - 1)
        for (path, _), found in zip(paths, segments, strict=True)
    )


def _segments(
    system: ArticulatedSystem, path: Sequence[PathPoint], wraps: Sequence[Wrap], q: Array, poses: Poses
) -> Iterator[_Segment]:
    if not wraps:
        return
    last = Site.of(poses, path[0].body, path[0].local(system, q))
    for number, point in enumerate(path[1:], start=1):
        site, on = Site.of(poses, point.body, point.local(system, q)), point.active(system, q)
        yield _Segment(tuple(wrap for wrap in wraps if wrap.acts(number)), last, site, on)
        last = site.or_else(on, last)


def _taken(piece: Piece, on: Array | bool) -> Piece:
    """A piece that touches nothing where the path does not take it."""
    if isinstance(on, bool):
        return piece
    return replace(piece, contacts=tuple(_where(c, on) for c in piece.contacts))


def _where(c: Contact, on: Array) -> Contact:
    """A contact, without flags where the path does not use this piece."""
    jump = np.where(on[..., None], c.jump, np.inf)
    return replace(c, on=c.on & on, inside=c.inside & on, jump=jump)
