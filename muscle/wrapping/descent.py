"""From a start to a local minimum of the length: fixed-point iterations over the surfaces, and Newton's method.

A fixed-point iteration solves one surface after the other between its neighbours on the path. These are the point
where the path left the last touched surface, and the point where it comes onto the next one. Where two iterations touch
the same surfaces, Newton's method (`newton`) moves the tangent points of all of them at once, and an iteration tests
what it finds. The page docs/wrapping_algorithm.md says why, and what happens where surfaces overlap.
"""

from dataclasses import replace
from functools import reduce
from operator import or_

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints.vectors import joined
from myoquat.kernels import call_where, choose, while_loop

from .newton import NewtonIterate, newton_start, newton_step
from .route import Flags, Order, Route, Segment, differs, first_of, passed
from .surfaces.base import Contact
from .surfaces.vectors import always, any_exceeds, differ

MAX_RESIDUAL = 3e-9  # by which an iteration changes a solved path
EXACT_CHANGE = 3e-13  # by which it changes one that needs no step of Newton's method more: rounding errors
MAX_ITERATIONS = 60  # near a saddle point of the length they converge slowly
FIRST_DELAY = 2.0  # iterations after a step of Newton's method that led astray
ROUGH_ITERATIONS = 2  # the first ones, in which plane paths or known contacts stand for those over ellipsoids
BACK = 0.01  # how far a path may be from one that was found, after the rough iterations, if it comes back to that
MAX_CHANGES = 8  # iterations that change the touched surfaces, until one of these is passed over
MAX_MOVES = 2  # surfaces that take another place in the order
MAX_NEWTON_STEPS, NEWTON_TOLERANCE = 7, 1e-7  # [1, rad] change of the last step; its error is the square of that


@frozen
class Known:
    """What is known while a path is sought.

    segment  the segment
    contacts  of a path that was found: what comes back to it is given up
    length   (...) of that path; infinite if it is to be avoided
    stays    (...) whether there is such a path; one then stays near the contacts from which it starts
    """

    segment: Segment
    contacts: tuple[Contact, ...]
    length: Array
    stays: Array


@frozen
class Found:
    """A path that was found from a start.

    contacts  in the world
    order     in which it comes to them
    opposite  the sides of the surfaces that divide, as in `Segment`
    length    (...) of the path
    active    (...) each, whether the surface is not passed over
    through   (...) each, whether the path runs through the surface
    crosses   (...) whether it runs past a wrong side on another surface
    residual  (...) by how much the last iteration changed it; infinite while it is no solution
    rank      (...) by how much it is to be avoided: one that is unsolved, that runs through a surface or passes one
              over, or that runs past a wrong side
    """

    contacts: tuple[Contact, ...]
    order: Order
    opposite: Flags
    length: Array
    active: Flags
    through: Flags
    crosses: Array
    residual: Array
    rank: Array

    @classmethod
    def none(cls, route: Route) -> "Found":
        """No path yet, from contacts where one is sought."""
        segment, none = route.segment, Contact.none(0.0 * route.segment.start)
        endless = none.arc + np.inf
        contacts = tuple(replace(none, on=c.on, P=c.P, Q=c.Q, arc=c.arc) for c in route.contacts)
        through = (none.on,) * len(contacts)
        return cls(
            contacts, route.order, segment.opposite, route.length, segment.acts, through, none.on, endless, endless
        )

    def route(self, segment: Segment) -> Route:
        """The path in the segment in which it was found."""
        return Route(replace(segment, opposite=self.opposite), self.contacts, self.order)

    @property
    def on(self) -> list[Array]:
        """(...) each, whether the path touches a surface."""
        return [c.on for c in self.contacts]

    @property
    def unsolved(self) -> Array:
        result: Array = np.logical_not(self.residual <= MAX_RESIDUAL)
        return result


@frozen
class _State:
    """The state of a descent.

    found       the path
    wait        (...) iterations until Newton's method is next
    delay       (...) how many follow when Newton's method has led astray: twice as many each time
    iterations  (...) how many are done
    changes     (...) of the touched surfaces since one was passed over
    moves       (...) surfaces that may still take another place
    goes_on     (...) whether the descent does
    """

    found: Found
    wait: Array
    delay: Array
    iterations: Array
    changes: Array
    moves: Array
    goes_on: Array


def descended(begin: Found, known: Known, fixed: Array, newton: Array, where: Array) -> Found:
    """The path found from a start, `where` (...) it is asked for; where `fixed` (...), its order stays; where `newton`
    (...), that comes first."""
    zero = 0.0 * known.segment.start[..., 0]
    moves, wait = np.where(fixed, 0.0, float(MAX_MOVES)), np.where(newton, 0.0, 1.0)
    state = _State(begin, wait, zero + FIRST_DELAY, zero, zero, moves, always(zero))
    found = while_loop(_goes_on, _stepped, state, known, max_steps=MAX_ITERATIONS, where=where).found
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
    newton = (state.wait <= 0) & reduce(or_, was.on)
    tried = _by_newton(was, known, newton)
    back = newton & known.stays & ~differs(tried, known.contacts, BACK) & (was.length >= known.length)
    was = replace(was, contacts=choose(newton, tried, was.contacts))
    new = _iterated(was, known, state, newton, ~back)
    was = replace(was, contacts=choose(back, tried, state.found.contacts))
    changed = _changed(was, new)
    longer = new.length > was.length + MAX_RESIDUAL  # towards a saddle point: no iteration makes a path longer
    # where Newton's method first leads to no solution and no shorter path, iterations follow from a shorter start alone
    failed = newton & (state.iterations == 0) & (new.length >= known.length) & new.unsolved
    back = back | (failed & (was.length >= known.length))
    astray = newton & ~back & (failed | changed | longer | ~(new.residual < was.residual))
    new = choose(astray | back, was, new)
    changed = changed & ~(astray | back)
    solved = new.residual <= EXACT_CHANGE
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
    turning = was.route(known.segment), new.contacts, new.active
    new = replace(new, active=call_where(_with_one_less, turning, cycles, new.active))
    late = known.stays & (state.iterations + 1.0 >= ROUGH_ITERATIONS) & ~(changed | moved)
    back = back | (late & ~differs(new.contacts, known.contacts, BACK))
    soon = np.where(changes > MAX_CHANGES / 2, 0.0, 1.0)  # of all the touched surfaces some may be those of a solution
    wait = np.where(astray, state.delay, np.where(changed | moved, soon, np.maximum(state.wait - 1.0, 0.0)))
    return _State(
        new,
        wait,
        np.where(astray, 2.0 * state.delay, state.delay),
        state.iterations + 1.0,
        np.where(cycles, 0.0, changes),
        np.where(moved, state.moves - 1.0, state.moves),
        (~solved | moved) & ~back,
    )


def _changed(was: Found, now: Found) -> Array:
    """(...) whether two paths touch different surfaces."""
    return reduce(or_, [differ(a, b) for a, b in zip(was.on, now.on, strict=True)])


def _iterated(was: Found, known: Known, state: _State, newton: Array, where: Array) -> Found:
    """The path after an iteration, `where` (...) it is asked for.

    Solvers of surfaces begin where Newton's method leads, or from the last contact. The first path begins without one.
    """
    route, residual = was.route(known.segment), 0.0 * state.wait
    first = 0.0 if any(own.ring for own in known.segment.types) else float(ROUGH_ITERATIONS)
    for i, (old, active) in enumerate(zip(was.contacts, was.active, strict=True)):
        warm = old.on & (old.arc > 0) & (newton | known.stays)
        rough = (state.iterations < first) & ~newton & ~warm
        new = route.contact(i, where, warm, rough).passed_over(~active)
        route, moved = route.touching(i, new), joined([new.P - old.P, new.Q - old.Q])
        residual = residual + np.where(old.on & new.on, np.sum(moved * moved, axis=-1), 0.0)
        residual = np.where(differ(old.on, new.on) | ~(new.missed <= MAX_RESIDUAL), np.inf, residual)
    return replace(was, length=route.length, contacts=route.contacts, residual=np.sqrt(residual))


_Approach = tuple[NewtonIterate, Array]  # Newton's iterate, and whether (...) it converged or leads to a known path


def _approaches(approach: _Approach) -> Array:
    return ~approach[1]


def _approached(approach: _Approach, path: tuple[Route, tuple[Contact, ...], Array]) -> _Approach:
    (iterate, _), (route, known, stays) = approach, path
    new = newton_step(iterate, route)
    converged = ~any_exceeds(new.numbers - iterate.numbers, NEWTON_TOLERANCE)
    return new, converged | (stays & ~differs(_contacts(route, new), known, BACK))


def _by_newton(found: Found, known: Known, where: Array) -> tuple[Contact, ...]:
    """The contacts to which Newton's method leads while the touched surfaces stay."""
    route = found.route(known.segment)
    route = replace(route, contacts=tuple(replace(c, on=c.on & where) for c in route.contacts))
    start = newton_start(route)
    begin, path = (start, where & ~where), (route, known.contacts, known.stays)
    end, _ = while_loop(_approaches, _approached, begin, path, max_steps=MAX_NEWTON_STEPS, where=where)
    return _contacts(route, choose(end.is_finite(), end, start))


def _contacts(route: Route, iterate: NewtonIterate) -> tuple[Contact, ...]:
    """Those of an iterate."""
    pairs = zip(route.contacts, iterate.geodesics, strict=True)
    return tuple(replace(c, P=x.P, Q=x.Q, arc=x.length) for c, x in pairs)


def _with_one_less(turning: tuple[Route, tuple[Contact, ...], Flags]) -> Flags:
    """(...) each, which surfaces are not passed over when one more is, from the contacts of two iterations.

    It is the first whose contact lies inside another one, or else the first that is touched at one of both iterations.
    """
    route, now, active = turning
    segment, hidden, changing = route.segment, [], []
    for i, (a, b) in enumerate(zip(route.contacts, now, strict=True)):
        inside = [c.on & segment.inside_another(i, c.P, active) for c in (a, b)]
        hidden.append(active[i] & (inside[0] | inside[1]))
        changing.append(active[i] & differ(a.on, b.on))
    some = reduce(or_, hidden)
    left = first_of([(some & a) | (~some & b) for a, b in zip(hidden, changing, strict=True)])
    return tuple(own & ~x for own, x in zip(active, left, strict=True))
