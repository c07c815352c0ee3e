"""Outer iterations of a path over several surfaces, from an initial guess.

Some rough fixed-point iterations mostly tell which surfaces are touched. Then Newton's method finds the shortest path
over these. A fixed-point iteration from there is the check: where it finds the same path again, that is the solution.
Elsewhere fixed-point iterations go on, and then Newton's method from where they lead.

Where surfaces overlap, no path touches all that it should, because one would be touched inside another. The same holds
where a path slips off the end of a cylinder only while another surface is touched. The iteration then cycles. There a
surface is passed over until the iteration converges. One whose contact lies inside another surface is chosen before one
that comes and goes.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from operator import or_

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.kernels import choose, fixed_point, while_loop
from myoquat.muscle.wrapping.contact_solve import SolvedContact
from myoquat.muscle.wrapping.fixed_point_iteration import (
    Iterate,
    OrderedSegment,
    Segment,
    TangentPoints,
    accelerated,
    applied,
    fewer_surfaces,
    first_applied,
    round_surfaces,
)
from myoquat.muscle.wrapping.newton import NewtonProblem, newton_start, newton_step, start_of_solver
from myoquat.muscle.wrapping.surfaces.base import Wrap
from myoquat.muscle.wrapping.surfaces.vectors import always, differ

__all__ = ["KEEPS_LONGER_SIDE", "Mode", "kept_side", "minimised", "rough_iterate"]

MAX_ROUGH_ITERATIONS = 3  # of an outer iteration
MAX_OUTER_ITERATIONS = 3  # over all surfaces, over those that rough iterations leave, and over those that full ones do
MAX_ITERATIONS = 5  # fixed-point iterations of an outer iteration
MAX_SLOW_ITERATIONS = 120  # of an outer iteration that nothing else has solved: near a saddle point of the length
SLOW_TOLERANCE_M = 1e-5  # [m] change of one of these, from which Newton's method converges
MAX_NEWTON_RESTARTS = 3  # of an outer iteration: Newton's method with a fixed-point iteration behind it
EXACT_M = 1e-13  # [m] change of the last fixed-point iteration, above which Newton's method follows it once
MAX_NEWTON_STEPS = 7  # of each
NEWTON_TOLERANCE = 1e-7  # [m, rad] change of the last step; its error is the square of that
MAX_SURFACES_PASSED_OVER = 6  # times that a surface is passed over, where no path touches all
KEEPS_SIDE, KEEPS_LONGER_SIDE = 1.0, 2.0  # of Near.way: a side that may be as short as the other, or any side


@dataclass(frozen=True)
class Mode:
    """How a path is sought.

    may_pass_over  (...) where surfaces may be passed over
    way            (...) of `Near` past the surfaces on which the path is; 0 where it may change sides
    exact          (...) where the first iteration is exact, because the path would not survive a rough one
    """

    may_pass_over: Array
    way: Array
    exact: Array

    @property
    def keeps_side(self) -> Array:
        """(...) whether the path keeps the sides on which it passes surfaces."""
        result: Array = self.way > 0
        return result


@dataclass(frozen=True)
class _Problem:
    """A segment, the order of its surfaces, the tangent points from which the path is sought, and how."""

    segment: Segment
    order: tuple[Array, ...]
    points: tuple[TangentPoints, ...]
    mode: Mode


@dataclass(frozen=True)
class _OuterIterate:
    """The state of the outer iteration.

    iterate  an iterate, after the first rough iteration where the solver begins with one
    active   (...) each, whether a surface is not passed over
    left     (...) how many outer iterations are left: none where the path is solved
    """

    iterate: Iterate
    active: tuple[Array, ...]
    left: Array


def minimised(
    start: OrderedSegment, points: tuple[TangentPoints, ...], mode: Mode, where: Array | bool = True,
    contacts_alone: Sequence[SolvedContact] = (),
) -> tuple[Iterate, tuple[Array, ...]]:  # fmt: skip
    """The iterate of the path found from tangent points, and which surfaces (...) are not passed over in the end.

    start           its `active` surfaces are those that are not passed over in the first outer iteration
    where           (...) the path is sought
    contacts_alone  the rough contacts of each surface alone, where the path may change sides
    """
    left = 0.0 * points[0].P[..., 0] + float(MAX_OUTER_ITERATIONS)
    begun = Iterate.at(points)
    if _begins_roughly(start.segment.types):
        if contacts_alone:
            begun = first_applied(start, points, contacts_alone, ~mode.exact, where)
        else:
            begun = rough_iterate(start, points, 1, always(left) & where, mode.way, mode.exact)
    begin = _OuterIterate(begun, start.active, left)
    problem = _Problem(start.segment, start.order, points, mode)
    found = while_loop(_any_left, _outer_iteration, begin, problem, max_steps=MAX_OUTER_ITERATIONS, where=where)
    return found.iterate, found.active


@dataclass(frozen=True)
class _ActiveSegment:
    """A segment, the `way` (...) of `Near` past the surfaces on which the path is, and where (...) the first guess of
    solvers is enough."""

    segment: OrderedSegment
    way: Array
    rough: Array


def _any_left(state: _OuterIterate) -> Array:
    result: Array = state.left > 0
    return result


def kept_side(types: Sequence[Wrap]) -> float:
    """The `way` of `Near` for a path that keeps its sides: past several surfaces without a side also a longer one."""
    return KEEPS_LONGER_SIDE if len(round_surfaces(types)) > 1 else KEEPS_SIDE


def rough_iterate(
    segment: OrderedSegment, points: tuple[TangentPoints, ...], count: int, where: Array, way: Array,
    exact: Array | bool = False,
) -> Iterate:  # fmt: skip
    """The iterate after at most a `count` of rough iterations, which pass surfaces on a `way` (...) of `Near`.

    exact (...): where the iterations are exact.
    """
    problem = _ActiveSegment(segment, way, always(way) & np.logical_not(exact))
    return _iterated_roughly(Iterate.at(points), problem, count, where)


def _outer_iteration(state: _OuterIterate, problem: _Problem) -> _OuterIterate:
    """Rough and full iterations, each followed by Newton's method where it did not converge."""
    left, mode, first = state.left, problem.mode, Iterate.at(problem.points)
    segment = OrderedSegment(problem.segment, problem.order, _active(state, problem))
    iterate, unsolved = state.iterate, left > 0
    phases: list[Callable[[Iterate, OrderedSegment, Mode, Array, Array], Iterate]] = [_after_rough, _after_full]
    begun = ~always(left)
    if _begins_roughly(problem.segment.types):
        begun = left == MAX_OUTER_ITERATIONS
    else:
        phases = phases[::-1]
    for phase in phases:
        iterate = phase(choose(unsolved & ~begun, first, iterate), segment, mode, unsolved, begun)
        iterate = _after_newton(iterate, segment)
        unsolved, begun = iterate.unsolved, ~always(left)
    slow = unsolved & ~mode.keeps_side
    iterate = _after_slow(choose(slow, first, iterate), segment, slow)
    again = iterate.unsolved & mode.may_pass_over
    return _OuterIterate(iterate, segment.active, np.where(again, left - 1.0, 0.0))


def _begins_roughly(types: Sequence[Wrap]) -> bool:
    """Whether rough iterations come first: without solvers, full ones take no longer than a step of Newton's method."""
    return any(surface.solved for surface in types)


def _active(state: _OuterIterate, problem: _Problem) -> tuple[Array, ...]:
    """(...) each, which surfaces are not passed over; in the first outer iteration those of the start, in the second
    one rough iterations tell."""
    left, repeated = state.left, state.left < MAX_OUTER_ITERATIONS
    start = state.iterate.points, tuple(repeated | own for own in state.active)
    parameters = problem.segment, problem.order, left == MAX_OUTER_ITERATIONS - 1
    _, active = fixed_point(fewer_surfaces, start, parameters, max_steps=MAX_SURFACES_PASSED_OVER, where=repeated)
    return active


# ---- phases --------------------------------------------------------------------------------------------------


def _after_rough(iterate: Iterate, segment: OrderedSegment, mode: Mode, where: Array, begun: Array) -> Iterate:
    """The iterate after rough iterations, one where the path keeps its sides. begun (...): where the first is done."""
    problem = _ActiveSegment(segment, mode.way, ~mode.exact)
    iterate = _iterated_roughly(iterate, problem, 1, where & ~begun)
    return _iterated_roughly(iterate, problem, MAX_ROUGH_ITERATIONS - 1, where & ~mode.keeps_side)


def _iterated_roughly(iterate: Iterate, problem: _ActiveSegment, max_steps: int, where: Array) -> Iterate:
    return while_loop(_converging, _rough, iterate, problem, max_steps=max_steps, where=where)


def _converging(iterate: Iterate) -> Array:
    return iterate.converging


def _rough(iterate: Iterate, problem: _ActiveSegment) -> Iterate:
    """An iteration for which the first guess of solvers is enough, unless it is to be exact."""
    return applied(problem.segment, iterate.points, rough=problem.rough, way=problem.way)


def _after_full(iterate: Iterate, segment: OrderedSegment, mode: Mode, where: Array, begun: Array) -> Iterate:
    return accelerated(iterate, segment, mode.way, MAX_ITERATIONS, where)


@dataclass(frozen=True)
class _SlowIterate:
    """An iterate, whether (...) it is the first one, and whether the iteration goes on."""

    iterate: Iterate
    first: Array
    goes_on: Array


def _after_slow(iterate: Iterate, segment: OrderedSegment, where: Array) -> Iterate:
    """The iterate after many iterations, and Newton's method from there.

    Near a saddle point of the length the fixed-point iteration diverges slowly, so more iterations are allowed.
    """
    begin = _SlowIterate(iterate, always(where), always(where))
    found = while_loop(_goes_on, _slow, begin, segment, max_steps=MAX_SLOW_ITERATIONS, where=where)
    return _after_newton(found.iterate, segment)


def _goes_on(state: _SlowIterate) -> Array:
    return state.goes_on


def _slow(state: _SlowIterate, segment: OrderedSegment) -> _SlowIterate:
    """One more iteration.

    It is the last where it changed little. It is also the last where it touches other surfaces than the one before, as
    an iteration that cycles does.
    """
    old = state.iterate
    new = applied(segment, old.points)
    changed = reduce(or_, [differ(a, b) for a, b in zip(old.on, new.on, strict=True)])
    return _SlowIterate(new, ~always(state.first), (state.first | ~changed) & (new.moved > SLOW_TOLERANCE_M))


def _after_newton(iterate: Iterate, segment: OrderedSegment) -> Iterate:
    """The iterate of the last fixed-point iteration after Newton's method, where it was needed.

    Fixed-point iterations converge linearly. One that changes the path by less than the tolerance is a solution.
    Rounding errors decide whether another one follows, and the Jacobian would show it.
    """
    found = while_loop(_inexact, _restarted, iterate, segment, max_steps=1)
    return while_loop(_unsolved, _restarted, found, segment, max_steps=MAX_NEWTON_RESTARTS - 1)


def _inexact(iterate: Iterate) -> Array:
    return np.logical_not(iterate.moved <= EXACT_M) | iterate.unsolved


def _unsolved(iterate: Iterate) -> Array:
    return iterate.unsolved


def _restarted(iterate: Iterate, segment: OrderedSegment) -> Iterate:
    """The iterate of a fixed-point iteration from where Newton's method leads while the touched surfaces stay."""
    on = iterate.on
    problem = NewtonProblem(segment.surfaces, tuple(on), segment.order, segment.ends)
    begin = newton_start(problem, [replace(c, on=o) for c, o in zip(iterate.contacts, on, strict=True)])
    found = fixed_point(
        newton_step, begin, problem, tolerance=NEWTON_TOLERANCE, max_steps=MAX_NEWTON_STEPS, where=always(on[0])
    )
    found = choose(found.is_finite(), found, begin)
    near = [start_of_solver(found, i, o) for i, o in enumerate(on)]
    points = []
    for placed, o, c in zip(segment.surfaces, on, near, strict=True):
        flag = np.where(o, 1.0, 0.0)[..., None]
        points.append(TangentPoints(flag * placed.in_world(c.P), o, flag * placed.in_world(c.Q)))
    return applied(segment, points, near)
