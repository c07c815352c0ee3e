"""What is to be known of the paths at a pose before their lengths and Jacobians are trusted."""

from collections.abc import Iterator, Sequence
from enum import IntFlag
from functools import reduce
from operator import or_
from typing import Any

import numpy as np

from myoquat.core import Array
from myoquat.joints.locks import FOLLOWED_SINE, followed_joints, followed_sines
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.vectors import vector
from myoquat.muscle import wrapping
from myoquat.muscle.path import MusclePath, different_paths
from myoquat.muscle.points import RANGE_MARGIN, ConditionalPoint, DrivenPoint, PathPoint
from myoquat.muscle.wrapping.route import touches_several
from myoquat.muscle.wrapping.single_surface_contact import Meeting, Poses, Site, straight_pieces

from .stops import contacts


class PathFlag(IntFlag):
    """Bits of `path_flags`.

    WRAPPED     the path touches at least one surface
    INSIDE      a surface is passed over. An end of a piece lies inside it, or no path touches all surfaces that it
                should without running through one. The latter occurs where surfaces between the same points overlap.
                A point of the surface's own body, which lies inside at every pose, is reported when a file is read
                (`MusclePath.holding`)
    JUMP        the length, or its rate, jumps nearby: a conditional point comes or goes, or the path slips off the end
                of a cylinder. Or an end of the path comes into a surface, or to where the path changes sides. Where
                both ways round a surface are equally long, the rate jumps alone. The length may also jump nearby if
                there is another local minimum over several surfaces. A point of the body of a surface never moves
                there. It makes no jump, however near it is
    UNSOLVED    a path around several surfaces, or around an ellipsoid or a torus, that is not certainly the shortest
    OUTSIDE     a fitted path outside the set of poses that it was fitted to: its length is extrapolated
    COINCIDENT  two consecutive points of the path are in one place, to 1e-12 m. The piece between them has no
                direction. The Jacobian is not determined: it may be NaN
    LOCKED      the path depends on named angles of a quaternion that are in gimbal lock, to 1e-8 rad. A point or a
                surface of it is on a frame that follows them, or they drive a point. The angles have no rates there.
                The Jacobian is not determined: it may be huge or NaN
    OPEN        the path depends on named angles of a quaternion, and both triples of angles of its rotation lie in
                their ranges. The length is that of one of them (`myoquat.joints.Angles`). Along a `Motion` the branch
                is known, and the bit is not set
    REPEATED    a surface touches several pieces of the path, each between two of its points. OpenSim lets it act on the
                first of them alone, so that the path runs through it on the others
    OTHER_SIDE  OpenSim leads a piece another way round a cylinder with a quadrant, or round one that is free here. Not
                reported beside other surfaces between the same two points

    >>> from myoquat.muscle import PathFlag
    >>> flag = PathFlag(3)
    >>> [bit.name for bit in PathFlag if bit in flag]
    ['WRAPPED', 'INSIDE']
    """

    WRAPPED = 1
    INSIDE = 2
    JUMP = 4
    UNSOLVED = 8
    COINCIDENT = 16
    OUTSIDE = 32
    LOCKED = 64
    OPEN = 128
    REPEATED = 256
    OTHER_SIDE = 512


APART = 1e-12  # [m] below which points count as in one place


def flags(system: ArticulatedSystem, paths: tuple[MusclePath, ...], q: Array, near: float) -> Array:
    """(..., m) the bits of every path at coordinates q (..., nq), as numbers; the formula, on floats and symbols."""
    touching, poses = contacts(system, paths, q), system.poses(q)
    firsts, numbers = different_paths(paths)
    found = [_of(system, paths[k], touching[k], q, near, poses) for k in firsts]
    columns = [found[number] for number in numbers]
    return vector(columns) if columns else 0.0 * q[..., :0]


def _of(
    system: ArticulatedSystem, path: MusclePath, pieces: "tuple[wrapping.Piece, ...]", q: Array, near: float,
    poses: Poses,
) -> Array:  # fmt: skip
    """(...) the bits of a path."""
    never = np.zeros(q.shape[:-1]) > 0
    all_contacts = [c for piece in pieces for c in piece.contacts]
    spans = zip(path.points, path.points[1:], pieces, strict=False)
    passing = [
        c.inside
        for first, last, piece in spans
        for wrap, c in zip(piece.wraps, piece.contacts, strict=True)
        if not wrapping.holds_end(wrap, first, last)
    ]
    edges = [_at_edge(system, point, q, near) for point in path.points if isinstance(point, ConditionalPoint)]
    outside = [point.leaves(system, q) for point in path.points]
    bits: dict[PathFlag, list[Any]] = {
        PathFlag.WRAPPED: [c.on for c in all_contacts],
        PathFlag.INSIDE: passing,
        PathFlag.JUMP: [*_jumps(path, pieces, near), *edges],
        PathFlag.UNSOLVED: [piece.unsolved for piece in pieces if piece.contacts],
        PathFlag.OUTSIDE: [left for left in outside if left is not None],
        PathFlag.LOCKED: [sine <= FOLLOWED_SINE for sine in lock_sines(system, path, q)],
        PathFlag.OPEN: _open(system, path, q),
        PathFlag.REPEATED: [*_repeated(path, pieces)],
    }
    bits[PathFlag.COINCIDENT], bits[PathFlag.OTHER_SIDE] = _of_lines(system, path, q, poses)
    columns = [np.where(reduce(or_, found, never), float(bit), 0.0) for bit, found in bits.items()]
    return sum(columns[1:], start=columns[0])


def lock_sines(system: ArticulatedSystem, path: MusclePath, q: Array) -> list[Array]:
    """(...) each, |sin| of the angle to the locks of the angles on which a path depends."""
    return followed_sines(system, q, *_carriers_and_drivers(system, path))


def _carriers_and_drivers(system: ArticulatedSystem, path: MusclePath) -> tuple[set[str], set[str]]:
    """The bodies of points and surfaces of a path, and the coordinates with which its points move."""
    bodies = {point.body for point in path.points} | {wrap.body for wrap in path.wraps}
    driven = (point for point in path.points if isinstance(point, DrivenPoint))
    return bodies, {name for point in driven for name in point.driving(system)}


def _open(system: ArticulatedSystem, path: MusclePath, q: Array) -> list[Array]:
    """(...) each, whether a rotation on whose angles a path depends leaves open which of its two triples is meant."""
    bodies, angles = _carriers_and_drivers(system, path)
    angles |= {point.coordinate for point in path.points if isinstance(point, ConditionalPoint)}
    return [
        joint.angles.is_open(joint.quaternion(q[..., span]))
        for joint, span in followed_joints(system, bodies, angles)
        if joint.angles.ranges and joint.by_sequence
    ]


def _jumps(path: MusclePath, pieces: "tuple[wrapping.Piece, ...]", near: float) -> Iterator[Array]:
    """(...) each, whether an end of the path at a surface is near a jump of the length.

    An end that never moves makes no jump: a point of the surface's body stays where it is.
    """
    for first, last, piece in zip(path.points[:-1], path.points[1:], pieces, strict=True):
        for i, (wrap, c) in enumerate(zip(piece.wraps, piece.contacts, strict=True)):
            place, others = piece.order[i], [(*x, j < i) for j, x in enumerate(piece.in_order) if j != i]
            ahead = [o.on & ((x < place) | (earlier & (x == place))) for o, x, earlier in others]
            behind = [o.on & ((x > place) | ((not earlier) & (x == place))) for o, x, earlier in others]
            for end, (point, between) in enumerate(((first, ahead), (last, behind))):
                here = c.jump[..., end] < near
                if _fixed(point, wrap.body):
                    here = here & reduce(or_, between) if between else here & ~here
                yield here


def _repeated(path: MusclePath, pieces: "tuple[wrapping.Piece, ...]") -> Iterator[Array]:
    """(...) each, whether a surface touches several pieces."""
    touched: dict[int, list[Array]] = {}
    for acting, piece in zip(path.acting, pieces, strict=True):
        for wrap, c in zip(acting, piece.contacts, strict=True):
            touched.setdefault(id(wrap), []).append(c.on)
    return (touches_several(on) for on in touched.values() if len(on) > 1)


def _fixed(point: PathPoint, body: str) -> bool:
    """Whether a point of a path is one of the body, always on the path and in the same place."""
    return type(point) is PathPoint and point.body == body


def _of_lines(system: ArticulatedSystem, path: MusclePath, q: Array, poses: Poses) -> tuple[list[Array], list[Array]]:
    """(...) each, by the lines between consecutive points that are on the path: whether two meet, and whether OpenSim
    leads a piece another way round a surface."""
    lines = list(straight_pieces(system, path.points, q, poses))
    steps = [(end.world - start.world, on) for (start, end, on), share in zip(lines, path.shares, strict=True) if share]
    met = [(np.sum(d * d, axis=-1) < APART * APART) & on for d, on in steps]
    # beside another surface OpenSim's side follows from the path over that one
    alone = [wrap for wrap in path.wraps if all(len(acting) == 1 for acting in path.acting if wrap in acting)]
    return met, [_on_other_side(wrap, lines, poses) for wrap in alone if wrap.sided]


def _on_other_side(wrap: wrapping.Wrap, lines: Sequence[tuple[Site, Site, Array | bool]], poses: Poses) -> Array:
    """(...) whether OpenSim's side differs on the first piece in whose way a surface lies, or without one on any."""
    found = decided = np.zeros(()) > 0
    for number, (start, end, on) in enumerate(lines, start=1):
        if wrap.acts(number):
            meeting = Meeting.of(wrap, start, end, poses)
            (A, B), own = meeting.ends, meeting.surface.wrap
            on = on & ~own.holds(A) & ~own.holds(B)
            way, differs = meeting.in_the_way & on, own.opensim_differs(A, B) & on
            found, decided = np.where(decided, found, np.where(way, differs, differs | found)), decided | way
    return found


def _at_edge(system: ArticulatedSystem, point: ConditionalPoint, q: Array, near: float) -> Array:
    """Whether the coordinate of a conditional point is near an end of its range."""
    x = system.coordinate(point.coordinate, q)
    low, high = point.range[0] - RANGE_MARGIN, point.range[1] + RANGE_MARGIN
    return (np.abs(x - low) < near) | (np.abs(x - high) < near)
