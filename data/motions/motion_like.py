"""The protocol of a motion and what belongs to it, which trajectories, recorded motions and muscle forces share."""

from typing import Any, Protocol

from myoquat.core.arguments import check_type
from myoquat.core.lazy_imports import pandas as pd
from myoquat.core.typing import Array
from myoquat.data.motions.motion import Motion
from myoquat.data.motions.showing import Shown
from myoquat.joints.evaluation import SystemLike
from myoquat.joints.multibody.system import ArticulatedSystem

__all__ = ["MotionLike", "MotionResult", "check_motion", "motion_of"]


class MotionLike(Protocol):
    """A motion of a system, and what is known of it: `Trajectory`, `Motion`, `FittedMotion`, `Redundancy`, `Tracking`
    and `MuscleTorques`. A class of your own with these members is accepted by every function that takes a motion.

    Arrays have the leading axes (...) of a batch of simulations, none otherwise. None means that nothing is known.

    time        (t,) [s], increasing
    q           (..., t, nq) [rad, m], with unit quaternions
    u, udot     (..., t, nu) velocities of `system` and their rates, or None
    activation  (..., t, m) in [0, 1], of the muscles of `model`, or None
    force       (..., t, m) tensions [N], or None
    loads       (..., t, bodies, 6) external force [N] and torque [N m] on bodies at their origins, world axes, or None

    `model` is the Model where it is known, and `system` otherwise. `to_motion(run)` gives the Motion of one run, and
    `to_dataframe()` a table over the time.

    >>> import myoquat as mq
    >>> from myoquat.data import MotionLike
    >>> def duration(motion: MotionLike) -> float:
    ...     return float(motion.time[-1] - motion.time[0])
    >>> duration(mq.simulate(mq.load_model("two_link"), duration=0.5, step=1e-2))
    0.5
    """

    @property
    def time(self) -> Array: ...
    @property
    def system(self) -> ArticulatedSystem: ...
    @property
    def model(self) -> SystemLike: ...
    @property
    def q(self) -> Array: ...
    @property
    def u(self) -> Array | None: ...
    @property
    def udot(self) -> Array | None: ...
    @property
    def activation(self) -> Array | None: ...
    @property
    def force(self) -> Array | None: ...
    @property
    def loads(self) -> Array | None: ...

    def to_motion(self, run: int | tuple[int, ...] = ()) -> Motion: ...
    def to_dataframe(self) -> "pd.DataFrame": ...


class MotionResult(Shown):
    """Base of the records that hold a `motion` and muscle forces along it: its members, so that they are `MotionLike`.

    A subclass has the fields `model`, `motion`, `activation` and `force`.
    """

    motion: Motion

    @property
    def time(self) -> Array:
        """(t,) [s]."""
        return self.motion.time

    @property
    def system(self) -> ArticulatedSystem:
        """The articulated system that moves."""
        return self.motion.system

    @property
    def q(self) -> Array:
        """(t, nq) coordinates of the motion."""
        return self.motion.q

    @property
    def u(self) -> Array | None:
        """(t, nu) velocities of the motion."""
        return self.motion.u

    @property
    def udot(self) -> Array | None:
        """(t, nu) accelerations of the motion."""
        return self.motion.udot

    @property
    def loads(self) -> Array | None:
        """None: no external loads are kept."""
        return None

    def to_motion(self, run: int | tuple[int, ...] = ()) -> Motion:
        """The motion itself; `run` as in `Motion.to_motion`."""
        return self.motion.to_motion(run)


def motion_of(motion: MotionLike, run: int | tuple[int, ...] = (), name: str = "motion") -> Motion:
    """The Motion of anything that is `MotionLike`: a Motion itself, of a batch of simulations the `run`.

    Raises TypeError, with the argument's `name`, for anything else, and ValueError for a run that does not exist.

    >>> import myoquat as mq
    >>> from myoquat.data import motion_of
    >>> motion_of(mq.simulate(mq.load_model("two_link"), duration=0.1, step=1e-2))
    <Motion q, u, udot of 6 velocities, 11 frames, 0 to 0.1 s>
    """
    return check_motion(motion, name).to_motion(run)


def check_motion(motion: Any, name: str = "motion") -> MotionLike:
    """The argument `name` itself; TypeError where it is not `MotionLike`."""
    if not hasattr(type(motion), "to_motion"):
        check_type(name, motion, (Motion, "Trajectory", "Redundancy"))
    found: MotionLike = motion
    return found
