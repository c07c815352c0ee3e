"""Computed muscle control: muscles that follow a motion by themselves, window by window."""

from collections.abc import Callable, Sequence
from types import NoneType

import numpy as np

from myoquat.analysis.motion.inverse_dynamics import external_wrenches
from myoquat.analysis.recruitment.forward.check import commands_of, tracked
from myoquat.analysis.recruitment.forward.drive import Drive, Push, carried_loads, driven_model, load_torques
from myoquat.analysis.recruitment.forward.steps import longest_step
from myoquat.analysis.recruitment.forward.tracking import Tracking
from myoquat.analysis.recruitment.redundancy import (
    AnyReserve,
    Effort,
    JointCone,
    Redundancy,
    consistent_motion,
    redundancy,
)
from myoquat.core.arguments import check_types
from myoquat.core.typing import Array, ArrayLike
from myoquat.data.motions import Forces, Motion, MotionLike, motion_of
from myoquat.muscle.model import Model

__all__ = ["computed_muscle_control"]


def computed_muscle_control(
    model: Model,
    motion: MotionLike,
    loads: Forces | None = None,
    *,
    effort: Effort | None = None,
    reserves: float | Sequence[AnyReserve] = (),
    cones: Sequence[JointCone] = (),
    bandwidth: ArrayLike = 20.0,
    step: float | None = None,
    backend: str = "kernel",
) -> Tracking:
    """A forward simulation along a motion (q, u, udot) in which muscles produce the accelerations of a feedback.

    At every frame activations of least effort are found for the next one. They act in the pose and at the speed that
    the simulation is about to reach. There they give the acceleration udot* = udot_ref + w^2 e + 2 w (u_ref - u). The
    displacement e is that from the pose to the motion's, of ball joints the rotation vector [D. G. Thelen, F. C.
    Anderson, S. L. Delp, J. Biomech. 36, 2003, eq. 1]. Between frames activations and reserves go along straight lines.
    Muscles have rigid tendons and no activation dynamics, and loads act as they would in the poses of the motion. The
    arguments are those of `redundancy` and `track`, and so are the errors; `Tracking.help` holds what the reserves
    gave. Frames without a solution take what violates its conditions the least, and the errors show it.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment import computed_muscle_control
    >>> from myoquat.data import Motion
    >>> from myoquat.muscle import ExponentialMuscle, PathPoint
    >>> rod = mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0, center_of_mass=(0.5, 0, 0))
    >>> path = (PathPoint("ground", (0.0, 0.0, 0.4)), PathPoint("rod", (0.3, 0.0, 0.0)))
    >>> model = mq.Model(mq.ArticulatedSystem((rod,)), (mq.Muscle("biceps", path, ExponentialMuscle(0.5, 100.0)),))
    >>> still = np.zeros((5, 1))
    >>> held = Motion(model, np.linspace(0, 0.04, 5), still, still, still)
    >>> found = computed_muscle_control(model, held, backend="numpy")
    >>> found.force.ravel().round(1)  # m g 0.5 m over the moment arm of 0.24 m
    array([40.9, 40.9, 40.9, 40.9, 40.9])
    """
    check_types(model=(model, Model), loads=(loads, (Forces, NoneType)))
    motion = motion_of(motion)
    if motion.udot is None:
        raise ValueError("a motion with udot is needed; smooth(motion) or differentiate(motion) finds it")
    model = driven_model(model, elastic=False)
    drive = Drive(model, motion, bandwidth)
    model = drive.model
    pushed, carried = np.zeros((len(motion.time), model.system.nu)), None
    if loads is not None:
        wrenches = external_wrenches(model, motion, loads)
        pushed = load_torques(model, motion, wrenches)
        carried = carried_loads(model, motion, loads, wrenches)
    options = {"effort": effort, "reserves": reserves, "cones": cones, "backend": backend}

    def solve(now: Motion) -> Redundancy:
        return redundancy(model, consistent_motion(model, now), carried, **options)  # type: ignore[arg-type]

    if step is None:
        expected = redundancy(model, motion, loads, **options)  # type: ignore[arg-type]
        step = longest_step(model, motion, expected.activation)
    return tracked(drive, _Lookahead(drive, motion.udot, pushed, solve), step)


class _Lookahead:
    """The law of a drive: at every frame activations and reserves for the next, where the simulation is about to be."""

    def __init__(self, drive: Drive, udot: Array, pushed: Array, solve: Callable[[Motion], Redundancy]) -> None:
        self._drive, self._udot, self._pushed, self._solve = drive, udot, pushed, solve
        self._free = _unlocked(drive.model)
        self._found: list[tuple[Array, Array]] = []

    def __call__(self, k: int, q: Array, u: Array) -> Push:
        drive, time = self._drive, self._drive.motion.time
        if not self._found:
            self._found.append(self._at(k, q, u))
        after = min(k + 1, len(time) - 1)
        if after > k:
            span = time[after] - time[k]
            udot = ((self._udot[k] + self._udot[after]) / 2 + drive.returning(k, q, u)) * self._free
            pose = drive.model.system.integrate(q, span * (u + span / 2 * udot) * self._free)
            self._found.append(self._at(after, pose, u + span * udot))
        activation, helped = (np.array(column) for column in zip(self._found[k], self._found[after], strict=True))
        return Push(activation, self._pushed[[k, after]], helped)

    def _at(self, k: int, q: Array, u: Array) -> tuple[Array, Array]:
        """Activations (m,) and what the reserves give (nu,) at frame k, in a pose and at a speed near it."""
        system, time = self._drive.model.system, self._drive.motion.time
        udot = (self._udot[k] + self._drive.returning(k, q, u)) * self._free
        found = self._solve(Motion(system, time[[k]], q[None], (u * self._free)[None], udot[None]))
        activation, helped = commands_of(found)
        return activation[0], helped[0]


def _unlocked(model: Model) -> Array:
    """(nu,) 1, and 0 for locked coordinates."""
    system, free = model.system, np.ones(model.system.nu)
    for coordinate in model.coordinates:
        if coordinate.locked and coordinate.name in system.coordinate_names:
            free[list(system.indices.velocities_of_coordinate(coordinate.name))] = 0.0
    return free
