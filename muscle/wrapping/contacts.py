"""All contacts of a path at a pose."""

from collections.abc import Sequence
from dataclasses import replace

from myoquat.joints.system import ArticulatedSystem
from myoquat.kernels.typing import Array
from myoquat.muscle.points import PathPoint
from myoquat.muscle.wrapping.base import Wrap
from myoquat.muscle.wrapping.chain import Piece, taut
from myoquat.muscle.wrapping.sites import Poses, Site

__all__ = ["path_contacts"]


def path_contacts(
    system: ArticulatedSystem, path: Sequence[PathPoint], wraps: Sequence[Wrap], q: Array, poses: Poses
) -> tuple[Piece, ...]:
    """One Piece for every point of the path but the first: what the path touches on its way there.

    A conditional point that is off the path has no piece: nothing is touched there.
    """
    if not wraps:
        return tuple(Piece((), ()) for _ in path[1:])
    last = Site.of(poses, path[0].body, path[0].local(system, q))
    pieces = []
    for number, point in enumerate(path[1:], start=1):
        site, on = Site.of(poses, point.body, point.local(system, q)), point.active(system, q)
        piece = taut([wrap for wrap in wraps if wrap.acts(number)], last, site, poses)
        if not isinstance(on, bool):
            piece = replace(piece, contacts=tuple(replace(c, on=c.on & on) for c in piece.contacts))
        pieces.append(piece)
        last = site.or_else(on, last)
    return tuple(pieces)
