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
class _Stretch:
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
    stretches = [list(_stretches(system, *path, q, poses)) for path in paths]
    lone = [stretch for path in stretches for stretch in path if len(stretch.wraps) == 1]
    ends = [(s.start.seen_from(poses, s.wraps[0].body), s.end.seen_from(poses, s.wraps[0].body)) for s in lone]
    contacts = iter(contacts_alone([stretch.wraps[0] for stretch in lone], ends))

    def solved(stretch: _Stretch) -> Piece:
        if len(stretch.wraps) == 1:
            return over_one_surface(stretch.wraps[0], next(contacts))
        return over_surfaces(stretch.wraps, stretch.start, stretch.end, poses)

    return tuple(
        tuple(_taken(solved(stretch), stretch.on) for stretch in found) if found else (Piece(),) * (len(path) - 1)
        for (path, _), found in zip(paths, stretches, strict=True)
    )


def _stretches(
    system: ArticulatedSystem, path: Sequence[PathPoint], wraps: Sequence[Wrap], q: Array, poses: Poses
) -> Iterator[_Stretch]:
    if not wraps:
        return
    last = Site.of(poses, path[0].body, path[0].local(system, q))
    for number, point in enumerate(path[1:], start=1):
        site, on = Site.of(poses, point.body, point.local(system, q)), point.active(system, q)
        yield _Stretch(tuple(wrap for wrap in wraps if wrap.acts(number)), last, site, on)
        last = site.or_else(on, last)


def _taken(piece: Piece, on: Array | bool) -> Piece:
    """A piece that touches nothing where the path does not take it."""
    if isinstance(on, bool):
        return piece
    return replace(piece, contacts=tuple(_where(c, on) for c in piece.contacts))


def _where(c: Contact, on: Array) -> Contact:
    """A contact, and nothing to be told of it where the path does not take its piece."""
    jump = np.where(on[..., None], c.jump, np.inf)
    return replace(c, on=c.on & on, inside=c.inside & on, jump=jump)
