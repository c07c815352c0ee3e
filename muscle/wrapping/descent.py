"""From a start to a local minimum of the length: fixed-point iterations over the surfaces, and Newton's method.

A fixed-point iteration solves one surface after the other between its neighbours on the path. These are the point
where the path left the last touched surface, and the point where it comes onto the next one. Between them the path
touches the surface or passes it by. No iteration makes the path longer. A displacement along the path is gone after
one iteration, across the path iterations converge only linearly. Where two iterations touch the same surfaces,
Newton's method (`newton`) moves the tangent points of all of them at once. An iteration tests what it finds: one that
changes nothing shows a solution. From a start in a plane Newton's method comes first: an iteration could take a surface
to its only minimum between neighbours that still have to move.

A path that runs through a surface elsewhere touches it there: the surface takes its place in the order along the path.
Where surfaces overlap, no path touches all that it should. The touched surfaces then change for ever, and one of them
is passed over: the first whose contact lies inside another one, or else the first that comes and goes.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import or_

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.vectors import joined
from myoquat.kernels import call_where, choose, while_loop
from myoquat.muscle.wrapping.newton import NewtonIterate, NewtonProblem, newton_start, newton_step
from myoquat.muscle.wrapping.route import Flags, Order, Route, Segment, TangentPoints, differs, first_of, passed
from myoquat.muscle.wrapping.surfaces.base import Contact, Near
from myoquat.muscle.wrapping.surfaces.vectors import always, any_exceeds, differ

__all__ = ["MAX_RESIDUAL", "Found", "Known", "descended"]

MAX_RESIDUAL = 3e-9  # by which an iteration changes a solved path
EXACT_CHANGE = 3e-13  # by which it changes one that needs no step of Newton's method more: rounding errors
MAX_ITERATIONS = 60  # near a saddle point of the length they converge slowly
FIRST_DELAY = 2.0  # iterations after a step of Newton's method that led astray
ROUGH_ITERATIONS = 2  # the first ones, in which plane paths stand for those over ellipsoids
BACK = 0.01  # how far a path may be from one that was found, after the rough iterations, if it comes back to that
MAX_CHANGES = 8  # iterations that change the touched surfaces, until one of these is passed over
MAX_MOVES = 2  # surfaces that take another place in the order
MAX_NEWTON_STEPS, NEWTON_TOLERANCE = 7, 1e-7  # [1, rad] change of the last step; its error is the square of that


@dataclass(frozen=True)
class Known:
    """What is known while a path is sought.

    segment  the segment
    points   the tangent points of a path that was found: what comes back to it is given up
    length   (...) of that path; infinite if it is to be avoided
    stays    (...) whether there is such a path; one then stays near the contacts from which it starts
    """

    segment: Segment
    points: tuple[TangentPoints, ...]
    length: Array
    stays: Array


@dataclass(frozen=True)
class Found:
    """A path that was found from a start.

    points    where it touches the surfaces
    order     in which it comes to them
    opposite  the sides of the surfaces that divide, as in `Segment`
    length    (...) of the path
    contacts  in the surfaces' frames
    active    (...) each, whether the surface is not passed over
    through   (...) each, whether the path runs through the surface
    crosses   (...) whether it runs past a wrong side on another surface
    residual  (...) by how much the last iteration changed it; infinite while it is no solution
    rank      (...) by how much it is to be avoided: one that is unsolved, that runs through a surface or passes one
              over, or that runs past a wrong side
    """

    points: tuple[TangentPoints, ...]
    order: Order
    opposite: Flags
    length: Array
    contacts: tuple[Contact, ...]
    active: Flags
    through: Flags
    crosses: Array
    residual: Array
    rank: Array

    @classmethod
    def none(cls, route: Route, arcs: Sequence[Array] = ()) -> "Found":
        """No path yet, from tangent points where one is sought, and the lengths (...) of its geodesics if known."""
        segment, zero = route.segment, 0.0 * route.segment.start[..., 0]
        never, endless, arcs = ~always(zero), zero + np.inf, arcs or [zero for _ in route.points]
        none = Contact.none(0.0 * segment.start)
        contacts = tuple(
            replace(none, on=x.on, P=placed.seen(x.P), Q=placed.seen(x.Q), arc=arc)
            for placed, x, arc in zip(segment.surfaces, route.points, arcs, strict=True)
        )
        points, order, opposite, acts = route.points, route.order, segment.opposite, segment.acts
        through, length = (never,) * len(contacts), route.length(arcs)
        return cls(points, order, opposite, length, contacts, acts, through, never, endless, endless)

    def route(self, segment: Segment) -> Route:
        """The path in the segment in which it was found."""
        return Route(replace(segment, opposite=self.opposite), self.points, self.order)

    @property
    def on(self) -> list[Array]:
        """(...) each, whether the path touches a surface."""
        return [x.on for x in self.points]

    @property
    def unsolved(self) -> Array:
        result: Array = np.logical_not(self.residual <= MAX_RESIDUAL)
        return result


@dataclass(frozen=True)
class _State:
    """The state of a descent.

    found       the path
    wait        (...) iterations until Newton's method is next
    delay       (...) how many follow when Newton's method has led astray: twice as many each time
    iterations  (...) how many are done
    changes     (...) of the touched surfaces since one was passed over
    moves       (...) surfaces that may still take another place
    refines     (...) whether the next iteration removes what Newton's method leaves along the path
    goes_on     (...) whether it does
    """

    found: Found
    wait: Array
    delay: Array
    iterations: Array
    changes: Array
    moves: Array
    refines: Array
    goes_on: Array


def descended(begin: Found, known: Known, fixed: Array, newton: Array) -> Found:
    """The path found from a start; where `fixed` (...), its order stays; where `newton` (...), that comes first."""
    zero = 0.0 * known.segment.start[..., 0]
    moves, wait = np.where(fixed, 0.0, float(MAX_MOVES)), np.where(newton, 0.0, 1.0)
    state = _State(begin, wait, zero + FIRST_DELAY, zero, zero, moves, fixed & ~fixed, always(zero))
    found = while_loop(_goes_on, _stepped, state, known, max_steps=MAX_ITERATIONS).found
    return replace(found, rank=_rank(found, known.segment))


def _rank(found: Found, segment: Segment) -> Array:
    """(...) that of a path."""
    through, over = reduce(or_, found.through), segment.passes_over([c.inside for c in found.contacts])
    flags = (8.0, found.unsolved), (4.0, through), (2.0, over), (1.0, found.crosses)
    return sum((np.where(flag, x, 0.0) for x, flag in flags), 0.0 * segment.start[..., 0])


def _goes_on(state: _State) -> Array:
    return state.goes_on


def _stepped(state: _State, known: Known) -> _State:
    """Newton's method where it is its turn, and an iteration."""
    was = state.found
    newton = (state.wait <= 0) & reduce(or_, was.on) & ~state.refines
    tried, near = _by_newton(was, known, newton)
    back = newton & known.stays & ~differs(tried, known.points, BACK) & (was.length >= known.length)
    was = replace(was, points=choose(newton, tried, was.points))
    new = _iterated(was, known, _starts(state, known, near, newton), ~back)
    was = replace(was, points=choose(back, tried, state.found.points))
    changed = _changed(was, new)
    longer = new.length > was.length + MAX_RESIDUAL  # towards a saddle point: no iteration makes a path longer
    # where Newton's method first leads to no solution and no shorter path, iterations follow from a shorter start alone
    failed = newton & (state.iterations == 0) & (new.length >= known.length) & new.unsolved
    back = back | (failed & (was.length >= known.length))
    astray = newton & ~back & (failed | changed | longer | ~(new.residual < was.residual))
    new = choose(astray | back, was, new)
    changed = changed & ~(astray | back)
    solved = (new.residual <= EXACT_CHANGE) | (state.refines & (new.residual <= MAX_RESIDUAL))
    # what the path runs through takes its place there
    passed_by = passed(new.route(known.segment), new.active, solved)
    through = reduce(or_, passed_by.through)
    moved = solved & through & (state.moves > 0)
    order = choose(moved, passed_by.order, new.order)
    new = replace(new, order=order, through=passed_by.through, crosses=passed_by.crosses)
    new = replace(new, residual=np.where(moved, np.inf, new.residual))
    # where the touched surfaces change for ever, one is passed over
    changes = np.where(changed, state.changes + 1.0, state.changes)
    cycles = changes >= MAX_CHANGES
    turning = known.segment, was.points, new.points, new.active
    new = replace(new, active=call_where(_with_one_less, turning, cycles, new.active))
    late = known.stays & (state.iterations + 1.0 >= ROUGH_ITERATIONS) & ~(changed | moved)
    back = back | (late & ~differs(new.points, known.points, BACK))
    soon = np.where(changes > MAX_CHANGES / 2, 0.0, 1.0)  # of all the touched surfaces some may be those of a solution
    wait = np.where(astray, state.delay, np.where(changed | moved, soon, np.maximum(state.wait - 1.0, 0.0)))
    return _State(
        new,
        wait,
        np.where(astray, 2.0 * state.delay, state.delay),
        state.iterations + 1.0,
        np.where(cycles, 0.0, changes),
        np.where(moved, state.moves - 1.0, state.moves),
        newton & ~astray & (new.residual <= MAX_RESIDUAL),
        (~solved | moved) & ~back,
    )


def _changed(was: Found, now: Found) -> Array:
    """(...) whether two paths touch different surfaces."""
    return reduce(or_, [differ(a, b) for a, b in zip(was.on, now.on, strict=True)])


def _starts(state: _State, known: Known, near: Sequence[Near], newton: Array) -> list[Near]:
    """Where the solvers of surfaces begin: where Newton's method leads, or from the last contact. The first path begins
    without one."""
    found: list[Near] = []
    rough = (state.iterations < ROUGH_ITERATIONS) & ~any(own.ring for own in known.segment.types)
    was = state.found
    for x, c, own in zip(was.points, was.contacts, near, strict=True):
        warm = x.on & (c.arc > 0) & (state.refines | known.stays)
        last = Near(c.P, c.Q, c.arc, warm, newton & ~newton)
        found.append(choose(newton, own, choose(warm, last, Near.unknown(0.0 * state.wait, rough))))
    return found


def _iterated(was: Found, known: Known, near: Sequence[Near], where: Array) -> Found:
    """The path after an iteration, `where` (...) it is asked for."""
    route, contacts = was.route(known.segment), []
    missed = ~always(was.crosses)
    for i, (placed, active) in enumerate(zip(known.segment.surfaces, was.active, strict=True)):
        c = route.contact(i, near[i], where).passed_over(~active)
        route = route.touching(i, TangentPoints.of(placed, c, c.on))
        contacts.append(c)
        missed = missed | ~(c.missed <= MAX_RESIDUAL)
    r = joined([x for old, new in zip(was.points, route.points, strict=True) for x in _moves(old, new)])
    residual = np.where(missed, np.inf, np.sqrt(np.sum(r * r, axis=-1)))
    length = route.length([c.arc for c in contacts])
    return replace(was, points=route.points, length=length, contacts=tuple(contacts), residual=residual)


def _moves(old: TangentPoints, new: TangentPoints) -> list[Array]:
    """By how much an iteration changed the tangent points of a surface, and by 1 where it is touched or no more."""
    return [new.P - old.P, new.Q - old.Q, np.where(differ(old.on, new.on), 1.0, 0.0)[..., None]]


@dataclass(frozen=True)
class _Approach:
    """Newton's iterate, and whether (...) it converged or leads back to a known path."""

    iterate: NewtonIterate
    done: Array


def _approaches(approach: _Approach) -> Array:
    return ~approach.done


def _approached(approach: _Approach, path: tuple[NewtonProblem, tuple[TangentPoints, ...], Array]) -> _Approach:
    problem, known, stays = path
    new = newton_step(approach.iterate, problem)
    converged = ~any_exceeds(new.numbers - approach.iterate.numbers, NEWTON_TOLERANCE)
    return _Approach(new, converged | (stays & ~differs(_tangent_points(problem, new), known, BACK)))


def _by_newton(found: Found, known: Known, where: Array) -> tuple[tuple[TangentPoints, ...], list[Near]]:
    """The tangent points to which Newton's method leads while the touched surfaces stay; and for each solver where that
    is."""
    segment, on = known.segment, [x & where for x in found.on]
    problem = NewtonProblem(segment.surfaces, tuple(on), found.order, (segment.start, segment.end))
    start = newton_start(problem, [replace(c, on=x) for c, x in zip(found.contacts, on, strict=True)])
    begin = _Approach(start, where & ~where)
    path = problem, known.points, known.stays
    end = while_loop(_approaches, _approached, begin, path, max_steps=MAX_NEWTON_STEPS, where=where).iterate
    end = choose(end.is_finite(), end, start)
    near = [Near(x.P, x.Q, x.length, o & (x.length > 0), o & ~o) for x, o in zip(end.geodesics, on, strict=True)]
    return _tangent_points(problem, end), near


def _tangent_points(problem: NewtonProblem, iterate: NewtonIterate) -> tuple[TangentPoints, ...]:
    """Where an iterate touches the surfaces."""
    return tuple(map(TangentPoints.of, problem.surfaces, iterate.geodesics, problem.on))


def _with_one_less(turning: tuple[Segment, tuple[TangentPoints, ...], tuple[TangentPoints, ...], Flags]) -> Flags:
    """(...) each, which surfaces are not passed over when one more is, from the tangent points of two iterations.

    It is the first whose contact lies inside another one, or else the first that is touched at one of both iterations.
    """
    segment, was, now, active = turning
    hidden, changing = [], []
    for i, (a, b) in enumerate(zip(was, now, strict=True)):
        inside = [x.on & segment.inside_another(i, x.P, active) for x in (a, b)]
        hidden.append(active[i] & (inside[0] | inside[1]))
        changing.append(active[i] & differ(a.on, b.on))
    some = reduce(or_, hidden)
    left = first_of([(some & a) | (~some & b) for a, b in zip(hidden, changing, strict=True)])
    return tuple(own & ~x for own, x in zip(active, left, strict=True))
