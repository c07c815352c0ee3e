"""Records of a computed motion, on which simulators, adaptive methods and trajectories build."""

from myoquat.core.records import dataclass
from myoquat.core.typing import Array

__all__ = ["Run"]


@dataclass(frozen=True)
class Run:
    """Arrays of one run for a batch (...).

    time              (t,)
    q, u              (..., t, nq) and (..., t, nu), NaN after a stop
    final_q, final_u  the last good state
    stopped           (...,) the time of the step that failed, NaN if none did
    reason            (...,) the `Outcome` of each
    own               (..., t, n) the states of muscles and actuators, activations and fiber lengths [m], in the order
                      of `StateEquations.own`
    final_own         (..., n) the last good ones

    >>> import myoquat as mq
    >>> from myoquat.dynamics import Simulator
    >>> sled = mq.Body("sled", "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=2.0)
    >>> pushed = Simulator(mq.ArticulatedSystem((sled,)), external_torque=True)
    >>> run = pushed([0.0], [0.0], 1.0, step=0.1, torque=[4.0], output_step=0.5)
    >>> run.time, run.q.ravel().round(6)  # f t^2 / (2 m)
    (array([0. , 0.5, 1. ]), array([0.  , 0.25, 1.  ]))
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
