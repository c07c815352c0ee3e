"""All contacts of paths at a pose."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import and_

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.muscle.points import PathPoint
from myoquat.muscle.wrapping.resolved_points import Poses, Site
from myoquat.muscle.wrapping.segment_solver import Piece, over_one_surface, over_surfaces
from myoquat.muscle.wrapping.single_surface_contact import contacts_alone
from myoquat.muscle.wrapping.surfaces.base import Contact, Line, Wrap
from myoquat.muscle.wrapping.surfaces.vectors import dot

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
    contacts = contacts_alone([segment.wraps[0] for segment in lone], ends)
    seen = iter(zip(ends, contacts, strict=True))

    def pieces(found: list[_Segment]) -> tuple[Piece, ...]:
        alone: dict[int, tuple[Line, Contact]] = {}
        for k, segment in enumerate(found):
            if len(segment.wraps) == 1:
                line, contact = next(seen)
                alone[k] = line, _where(contact, segment.on)
        chosen = _on_one_pair(found, alone)
        return tuple(
            over_one_surface(segment.wraps[0], chosen[k])
            if k in chosen
            else _taken(over_surfaces(segment.wraps, segment.start, segment.end, poses), segment.on)
            for k, segment in enumerate(found)
        )

    return tuple(
        pieces(found) if found else (Piece(),) * (len(path) - 1)
        for (path, _), found in zip(paths, segments, strict=True)
    )


def _on_one_pair(segments: Sequence[_Segment], alone: Mapping[int, tuple[Line, Contact]]) -> dict[int, Contact]:
    """The contacts of the pieces of a path that have one surface each, by their numbers.

    A surface that keeps the path on a side (`Wrap.sided`) acts on one of its pieces alone, as in OpenSim. This is the
    first piece whose straight line cuts the surface with an end in front, else the piece that it lengthens by the
    least. Source: OpenSim 4.6, GeometryPath::applyWrapObjects and WrapCylinder::wrapLine.
    """
    found = {k: contact for k, (_, contact) in alone.items()}
    for wrap in {id(segments[k].wraps[0]): segments[k].wraps[0] for k in alone}.values():
        members = [k for k in alone if segments[k].wraps[0] is wrap]
        if not wrap.sided or len(members) == 1:
            continue
        ranks = [_rank(wrap, *alone[k], number - len(members)) for number, k in enumerate(members)]
        for i, k in enumerate(members):
            first = [ranks[i] <= rank if i < j else ranks[i] < rank for j, rank in enumerate(ranks) if j != i]
            found[k] = _where(found[k], reduce(and_, first))
    return found


def _rank(wrap: Wrap, line: Line, contact: Contact, if_forced: int) -> Array:
    """(...) by what a contact lengthens a piece [m], or a given negative number where the surface is in its way."""
    A, B = line
    first, second, direct = (np.sqrt(dot(x, x)) for x in (contact.P - A, B - contact.Q, B - A))
    longer = first + contact.arc + second - direct
    rank: Array = np.where(wrap.in_the_way(wrap.seen(A), wrap.seen(B)), float(if_forced), longer)
    return np.where(contact.on, rank, np.inf)


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
    return replace(piece, contacts=tuple(_where(c, on) for c in piece.contacts))


def _where(c: Contact, on: Array | bool) -> Contact:
    """A contact, without flags where the path does not use this piece."""
    if isinstance(on, bool):
        return c
    jump = np.where(on[..., None], c.jump, np.inf)
    return replace(c, on=c.on & on, inside=c.inside & on, jump=jump)
