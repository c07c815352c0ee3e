"""All contacts of paths at a pose."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import reduce
from operator import and_, or_

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
    """A piece of a path before it is solved: its ends, the surfaces that act between them, whether the path takes it,
    and whether it begins within the points between which each surface acts."""

    wraps: tuple[Wrap, ...]
    start: Site
    end: Site
    on: Array | bool
    reached: tuple[Array | bool, ...] = ()


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
                alone[k] = line, _where(_where(contact, segment.on), segment.reached[0])
        chosen = _on_one_pair(found, alone)
        return tuple(
            over_one_surface(segment.wraps[0], chosen[k])
            if k in chosen
            else _taken(_over_reached(segment, poses), segment.on)
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
    last, active = Site.of(poses, path[0].body, path[0].local(system, q)), [path[0].active(system, q)]
    for number, point in enumerate(path[1:], start=1):
        site, on = Site.of(poses, point.body, point.local(system, q)), point.active(system, q)
        acting = tuple(wrap for wrap in wraps if wrap.acts(number))
        yield _Segment(acting, last, site, on, tuple(_reached(wrap, active) for wrap in acting))
        last = site.or_else(on, last)
        active.append(on)


def _reached(wrap: Wrap, active: Sequence[Array | bool]) -> Array | bool:
    """Whether a piece begins at or after the first point of a surface: one of its points so far is `active`. Where all
    are off, the piece begins before, and the surface does not act, as in OpenSim's GeometryPath::applyWrapObjects."""
    own = active[0 if wrap.points is None else wrap.points[0] :]
    return True if any(isinstance(on, bool) for on in own) else reduce(or_, own)


def _over_reached(segment: _Segment, poses: Poses) -> Piece:
    """The piece over the surfaces that act. Each condition that depends on the pose is solved with and without."""
    open_ = {
        wrap.points: on for wrap, on in zip(segment.wraps, segment.reached, strict=True) if not isinstance(on, bool)
    }
    if not open_:
        return over_surfaces(segment.wraps, segment.start, segment.end, poses)
    points, on = next(iter(open_.items()))
    own = [wrap.points == points for wrap in segment.wraps]
    flags = tuple(True if mine else flag for mine, flag in zip(own, segment.reached, strict=True))
    whole = _over_reached(replace(segment, reached=flags), poses)
    left = [k for k, mine in enumerate(own) if not mine]
    rest = _over_reached(
        replace(segment, wraps=tuple(segment.wraps[k] for k in left), reached=tuple(flags[k] for k in left)), poses
    )
    contacts = [_where(contact, on) for contact in whole.contacts]
    for k, contact in zip(left, rest.contacts, strict=True):
        contacts[k] = _either(on, whole.contacts[k], contact)
    return Piece(whole.wraps, tuple(contacts), np.where(on, whole.unsolved, rest.unsolved))


def _taken(piece: Piece, on: Array | bool) -> Piece:
    """A piece that touches nothing where the path does not take it."""
    return replace(piece, contacts=tuple(_where(c, on) for c in piece.contacts))


def _where(c: Contact, on: Array | bool) -> Contact:
    """A contact, without flags where the path does not use this piece."""
    if isinstance(on, bool):
        return c
    jump = np.where(on[..., None], c.jump, np.inf)
    return replace(c, on=c.on & on, inside=c.inside & on, jump=jump)


def _either(on: Array, first: Contact, second: Contact) -> Contact:
    """The first contact where `on` (...) is true, else the second."""
    wide = {"P": on[..., None], "Q": on[..., None], "jump": on[..., None]}
    pairs = {f.name: (getattr(first, f.name), getattr(second, f.name)) for f in fields(Contact)}
    return Contact(**{name: np.where(wide.get(name, on), *pair) for name, pair in pairs.items()})
