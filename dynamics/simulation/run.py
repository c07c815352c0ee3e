"""Records of a computed motion, on which simulators, adaptive methods and trajectories build."""

from dataclasses import dataclass

from myoquat.kernels.typing import Array

__all__ = ["Run"]


@dataclass(frozen=True)
class Run:
    """Arrays of one run for a batch (...): time (t,), q (..., t, nq), u (..., t, nu), NaN after a stop.

    final_q, final_u: the last good state; stopped (...,): the time of the step that failed, NaN if none did;
    reason (...,): the `Outcome` of each; own (..., t, n) and final_own: the muscles' states likewise, in the order of
    `StateEquations.own`.
    """

    time: Array
    q: Array
    u: Array
    final_q: Array
    final_u: Array
    stopped: Array
    reason: Array
    own: Array
    final_own: Array
