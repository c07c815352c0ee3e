"""Summaries: numbers that a study keeps of each simulation or trial. A new one has the verbs of `Summary`."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import trapezoid

from myoquat.core import Array, frozen
from myoquat.dynamics.articulated import forward
from myoquat.dynamics.inverse import joint_wrenches
from myoquat.joints import quaternion_conjugate, quaternion_log, quaternion_multiply
from myoquat.joints.vectors import joined, matvec
from myoquat.muscle.acting import Instant, torques, wrenches
from myoquat.muscle.segments.lengths import velocity_jacobian
from myoquat.muscle.states import forces


@frozen
class Moment(Instant):
    """A state of a run and all that acts there, with the coordinates at its `start` (..., nq)."""

    activation: Any = None
    start: Any = None


@frozen
class Frames:
    """The solved frames of one sample of a trial.

    activation  (t, m)
    force       (t, m) [N]
    reserve     (t, r) what each reserve gives
    pressed     (t, c, 3) [N] the forces in the joints with cones
    margin      (t, c) [rad] their distances from the edges of the cones
    reaction    a function that computes (t, bodies, 3) [N]
    """

    activation: Array
    force: Array
    reserve: Array
    pressed: Array
    margin: Array
    reaction: Callable[[], Array]


class Summary:
    """One row of numbers per sample of a study: of simulations, of trials, or of both.

    Of a simulation, `observe` is a formula of a state, and `reduce` sums up its values along the run. Of a trial,
    `of_frames` sums up the solved frames.
    """

    name: str
    along: str  # the dimension of a row, one of `ALONG`
    unit: str
    description: str
    with_constraints: bool = True  # whether `observe` is right for models with constraints, couplers and locks

    def observe(self, model: Any, at: Moment) -> Any:
        """(..., n) what to look at in one moment of a run: the formula, on floats and symbols."""
        raise NotImplementedError

    def reduce(self, times: Array, values: Array) -> Array:
        """(samples, n) the summary of observed values (samples, times, n): the greatest of them."""
        return values.max(axis=1)

    def of_frames(self, frames: Frames) -> Array:
        """(n,) the summary of a trial."""
        raise NotImplementedError

    def sums_up(self, trial: bool) -> bool:
        """Whether it knows trials, or simulations."""
        return type(self).of_frames is not Summary.of_frames if trial else type(self).observe is not Summary.observe


class CoContraction(Summary):
    """Mean over the run of 2 min(P, N) / (P + N): 0 if all muscles pull one way, 1 if they cancel, 0 where none pulls.

    P and N are the sums of the muscles' positive and negative torques along a velocity.

    Source: K. Falconer and D. A. Winter, Electromyogr. Clin. Neurophysiol. 25 (1985) 135, of torques instead of
    activities.
    """

    name = "co_contraction"
    along = "velocity"
    unit = "1"
    description = "share of opposing muscle torques"

    def observe(self, model: Any, at: Moment) -> Any:
        J = velocity_jacobian(model.system, model.paths, at.q)
        torques = -forces(model, at.q, at.u, at.activation, at.states)[..., :, None] * J
        positive = np.sum(np.where(torques > 0, torques, 0.0), axis=-2)
        negative = np.sum(np.where(torques < 0, -torques, 0.0), axis=-2)
        total = positive + negative
        least = np.where(positive < negative, positive, negative)
        return np.where(total > 0, 2 * least / np.where(total > 0, total, 1.0), 0.0)

    def reduce(self, times: Array, values: Array) -> Array:
        return trapezoid(values, times, axis=1) / (times[-1] - times[0])


class JointReaction(Summary):
    """max over the run of the force |f| that each body gets through its joint, under all that acts."""

    name = "joint_reaction"
    along = "body"
    unit = "N"
    description = "greatest joint reaction force"
    with_constraints = False

    def observe(self, model: Any, at: Moment) -> Any:
        udot = forward(model.system, at.q, at.u, torques(model, at))
        force = joint_wrenches(model.system, at.q, at.u, udot, wrenches(model, at))[..., :3]
        return np.sqrt(np.sum(force * force, axis=-1))

    def of_frames(self, frames: Frames) -> Array:
        return _greatest_length(frames.reaction())


class PeakForce(Summary):
    """max over the run of F."""

    name = "peak_force"
    along = "muscle"
    unit = "N"
    description = "greatest tension"

    def observe(self, model: Any, at: Moment) -> Any:
        return forces(model, at.q, at.u, at.activation, at.states)

    def of_frames(self, frames: Frames) -> Array:
        return frames.force.max(axis=0)


class PeakSpeed(Summary):
    """max over the run of |u|."""

    name = "peak_speed"
    along = "velocity"
    unit = "rad/s or m/s"
    description = "greatest absolute velocity"

    def observe(self, model: Any, at: Moment) -> Any:
        return np.abs(at.u)


class RangeOfMotion(Summary):
    """Greatest minus smallest displacement from the start along each velocity. For a hinge it is the range of its
    angle. For a ball joint it is the range of each component of its rotation vector from the start. This continues past
    half a turn, up to a whole one."""

    name = "range_of_motion"
    along = "velocity"
    unit = "velocity_unit s"
    description = "range of the displacement from the start"

    def observe(self, model: Any, at: Moment) -> Any:
        system = model.system
        parts = []
        for body, s in zip(system.bodies, system.q_slices, strict=True):
            start, q, ball = at.start[..., s], at.q[..., s], body.joint.facts.quaternion
            if ball is None:
                parts.append(body.joint.difference(start, q))
            else:
                turn = _turn(start[..., ball : ball + 4], q[..., ball : ball + 4])
                parts += [body.joint.difference(start, q)[..., :ball], turn]
        return joined(parts)

    def reduce(self, times: Array, values: Array) -> Array:
        return np.ptp(values, axis=1)


def _turn(start: Any, Q: Any) -> Any:
    """(..., 3) rotation vector from start to Q, of length 0 to 2 pi. The sign of Q does not jump along a motion, which
    distinguishes the longer way round from the shorter."""
    return quaternion_log(quaternion_multiply(quaternion_conjugate(start), Q))


class Work(Summary):
    """Integral over the run of the power -F dl/dt, positive while a muscle shortens; by the trapezoidal rule."""

    name = "work"
    along = "muscle"
    unit = "J"
    description = "work done on the skeleton"

    def observe(self, model: Any, at: Moment) -> Any:
        speed = matvec(velocity_jacobian(model.system, model.paths, at.q), at.u)
        return -forces(model, at.q, at.u, at.activation, at.states) * speed

    def reduce(self, times: Array, values: Array) -> Array:
        return trapezoid(values, times, axis=1)


@frozen
class FrameSummary(Summary):
    """A summary of trials alone: `of` computes (n,) from the frames."""

    name: str
    along: str
    unit: str
    description: str
    of: Callable[[Frames], Array]

    def of_frames(self, frames: Frames) -> Array:
        return self.of(frames)


def _greatest_length(x: Array) -> Array:
    return np.sqrt(np.sum(x * x, axis=-1)).max(axis=0)


SUMMARIES: dict[str, Summary] = {
    summary.name: summary
    for summary in (
        PeakForce(), RangeOfMotion(), PeakSpeed(), Work(), CoContraction(), JointReaction(),
        FrameSummary("mean_activation", "muscle", "1", "mean activation", lambda f: f.activation.mean(axis=0)),
        FrameSummary("peak_activation", "muscle", "1", "greatest activation", lambda f: f.activation.max(axis=0)),
        FrameSummary("mean_force", "muscle", "N", "mean tension", lambda f: f.force.mean(axis=0)),
        FrameSummary("peak_reserve", "actuator", "", "greatest of what a reserve gives [N m, N]",
                     lambda f: np.abs(f.reserve).max(axis=0)),
        FrameSummary("peak_load", "joint", "N", "greatest force in a joint with a cone",
                     lambda f: _greatest_length(f.pressed)),
        FrameSummary("least_margin", "joint", "rad", "least distance of a joint's force from the edge of its cone",
                     lambda f: f.margin.min(axis=0)),
    )
}  # fmt: skip

ALONG = ("muscle", "velocity", "coordinate", "body", "actuator", "joint")  # the last two: reserves and cones of trials


def check_summaries(names: tuple[str, ...], trial: bool) -> None:
    """ValueError for a name that no summary of trials, or of simulations, has, and for one that is there twice."""
    known = [name for name, summary in SUMMARIES.items() if summary.sums_up(trial)]
    for name in names:
        if name not in known:
            raise ValueError(
                f"the summary {name!r} of {'trials' if trial else 'simulations'} is unknown; there are: "
                f"{', '.join(known)}; `myoquat.analysis.studies.summaries.register` adds one"
            )
    if len(set(names)) < len(names):
        raise ValueError(f"a summary is named twice: {', '.join(names)}")


def register(summary: Summary) -> Summary:
    """Register a summary of one's own for the studies of this process, by its name; returns it.

    Results store it by that name: a process that resumes them must have registered it before, one that opens them need
    not. ValueError for a name that is taken by another class or is no identifier, or rows along something unknown.
    """
    if not isinstance(summary, Summary):
        raise TypeError(f"register takes a Summary, such as MySummary(), not {summary!r}")
    known = SUMMARIES.get(summary.name)
    if known is not None and type(known).__qualname__ != type(summary).__qualname__:
        raise ValueError(f"the name {summary.name!r} is taken by {type(known).__qualname__}")
    if not (summary.sums_up(True) or summary.sums_up(False)):
        raise ValueError(
            f"{type(summary).__qualname__} has neither `observe`, for simulations, nor `of_frames`, for trials"
        )
    if not summary.name.isidentifier() or summary.along not in ALONG:
        raise ValueError(f"a summary needs an identifier as its name and rows along one of {', '.join(ALONG)}")
    SUMMARIES[summary.name] = summary
    return summary
