"""Muscles whose states change too fast for steps of a fixed size, and the warning of them.

A state x of a muscle is for example the fiber length beside an elastic tendon. For small deviations it returns to its
equilibrium x0 as dx/dt = -k (x - x0), with k = -d(dx/dt)/dx. An explicit method of step h keeps |x - x0| bounded only
if h k lies in its interval of stability on the real axis. This ends at 2.785 for the Runge-Kutta methods of order 4,
and at 2 for Euler's. Beyond it the state chatters about its equilibrium, within the bounds that the curves of the law
set, and no error reports it. Source: Hairer and Wanner, Solving Ordinary Differential Equations II, 2nd ed., Springer
1996, section IV.2.
"""

import math

import numpy as np

from myoquat.core import Array
from myoquat.dynamics.integrators import FIXED_STEP
from myoquat.joints.multibody import state
from myoquat.muscle import Model, path_lengths
from myoquat.muscle.laws.shared_structure import stacked_laws
from myoquat.muscle.states import state_names, state_slices

from .results.trajectory import Trajectory

MAX_EXAMINED_ROWS = 50  # that are looked at in equal distances, and as many where the states bend most
RELATIVE_DIFFERENCE = 1e-6  # relative: of differences
STEP_SAFETY = 0.9  # of the bound: the rate between the rows may be a little greater


class StiffnessWarning(UserWarning):
    """The step of a fixed-step method is too long for the states of a muscle, which chatter about their balance.

    >>> import warnings
    >>> import myoquat as mq
    >>> from myoquat.dynamics import StiffnessWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", StiffnessWarning)  # a short step is asked for by an exception
    ...     motion = mq.simulate(mq.load_model("two_link"), duration=0.01)
    """


def stiffness_message(motion: Trajectory, method: str, step: float) -> str | None:
    """A sentence about the first state, from the start on, that settles too fast for steps of that size [s]. None if
    there is none, and where the numbers of the model vary from run to run."""
    states = motion.muscle_states
    if states is None or not states.shape[-1] or motion.parameter_names:
        return None
    assert isinstance(motion.model, Model)
    assert motion.activation is not None
    rows = _rows(states)
    times = np.broadcast_to(motion.time, states.shape[:-1]).ravel()[rows]
    q, u, activation, looked = (
        np.broadcast_to(x, (*states.shape[:-1], x.shape[-1])).reshape(-1, x.shape[-1])[rows]
        for x in (motion.q, motion.u, motion.activation, states)
    )
    rates = decay_rates(motion.model, q, u, activation, looked)
    bound = FIXED_STEP[method].stability_bound
    late = np.where(rates.max(axis=-1, initial=0.0) * step > bound, times, np.inf)
    if not np.isfinite(late).any():
        return None
    row = int(late.argmin())
    i = int(rates[row].argmax())
    holds = STEP_SAFETY * bound / rates[row, i]
    digit = 10.0 ** math.floor(math.log10(holds))
    holds = math.floor(holds / digit) * digit  # of one digit, rounded down
    return (
        f"{state_names(motion.model)[i]!r} settles at {rates[row, i]:.3g} /s at {times[row]:.4g} s, too fast for steps "
        f"of {step:.3g} s with method {method!r}: it chatters from there. method='radau' chooses steps that hold "
        f"everywhere; step={holds:.1g} holds there, but not where a state settles faster still"
    )


def decay_rates(model: Model, q: Array, u: Array, activation: Array, states: Array) -> Array:
    """(n, ns) the rate [1/s] at which each state of the muscles returns to its equilibrium, at n states of motion.
    Poses and speeds are fixed. It is zero where the law has no finite slope."""
    layout = model.system
    poses = np.stack([q, *(state.integrate(layout, q, h * u) for h in (RELATIVE_DIFFERENCE, -RELATIVE_DIFFERENCE))])
    l, ahead, behind = path_lengths(model, poses)  # by the kernel that finds equilibria at the start
    speed = (ahead - behind) / (2 * RELATIVE_DIFFERENCE)
    found = np.zeros(states.shape)
    parts = state_slices(model)
    moving = [k for k, part in enumerate(parts) if part.start < part.stop]
    for members, law in stacked_laws([law for k in moving if (law := model.muscles[k].law) is not None]):
        k = [moving[i] for i in members]
        columns = np.array([np.arange(parts[j].start, parts[j].stop) for j in k])
        for i in range(columns.shape[1]):
            own = states[:, columns]
            moved = np.stack([own] * 3)  # to the left of the state, at it and to the right
            moved[..., i] *= np.array([1 - RELATIVE_DIFFERENCE, 1.0, 1 + RELATIVE_DIFFERENCE])[:, None, None]
            with np.errstate(all="ignore"):  # far from a balance
                rates = np.asarray(law.state_rate(l[:, k], speed[:, k], activation[:, k], moved))[..., i]
                sides = -np.diff(rates, axis=0) / (RELATIVE_DIFFERENCE * own[..., i])
                rate = np.sqrt(np.prod(np.maximum(sides, 0.0), axis=0))
            found[:, columns[:, i]] = np.where(np.isfinite(rate), rate, 0.0)
    return found


def _rows(states: Array) -> Array:
    """Numbers of rows (..., t) that are looked at: the first and others in equal distances, and those where the states
    bend most."""
    bend = np.zeros(states.shape[:-1])
    with np.errstate(invalid="ignore"):
        bend[..., 1:-1] = np.abs(np.diff(states, 2, axis=-2)).max(axis=-1)
    bend[~np.isfinite(bend)] = 0.0
    spread = np.linspace(0, bend.size - 1, min(MAX_EXAMINED_ROWS, bend.size)).astype(int)
    most = np.argsort(bend, axis=None)[-MAX_EXAMINED_ROWS:]
    rows = np.union1d(spread, most)
    return np.asarray(rows[np.isfinite(states.reshape(-1, states.shape[-1])[rows]).all(axis=-1)])
