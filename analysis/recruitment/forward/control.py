"""Computed muscle control: muscles that follow a motion by themselves, window by window."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import NoneType

import numpy as np

from myoquat.analysis.motion.inverse_dynamics import external_wrenches
from myoquat.analysis.motion.prescribed import prescribed_activations, prescribed_controls
from myoquat.analysis.recruitment.free import free_velocities
from myoquat.analysis.recruitment.redundancy import (
    AnyReserve,
    Effort,
    JointCone,
    Redundancy,
    Reserves,
    consistent_motion,
)
from myoquat.analysis.recruitment.redundancy.assembled_motion import check_consistent
from myoquat.analysis.recruitment.redundancy.coupled import check_recruited
from myoquat.analysis.recruitment.redundancy.equations import Demands
from myoquat.analysis.recruitment.redundancy.redundancy import rigid_redundancy
from myoquat.analysis.recruitment.redundancy.solving import check_searched
from myoquat.core import Array, ArrayLike, check_types
from myoquat.data.motions import Forces, Motion, MotionLike, motion_of
from myoquat.dynamics import external_force
from myoquat.muscle.model import Model

from .check import Drive, Push, Tracking, carried_loads, commands_of, driven_model, longest_step, tracked


def computed_muscle_control(
    model: Model,
    motion: MotionLike,
    loads: Forces | None = None,
    *,
    effort: Effort | None = None,
    reserves: Reserves = (),
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
    Muscles have rigid tendons and no activation dynamics, except those whose excitations the model prescribes.

    Loads act as they would in the poses of the motion. The arguments and errors are those of `redundancy` and `track`;
    `Tracking.reserve` has what reserves gave.
    Frames without a solution take what violates its conditions the least, and the errors show it.

    A velocity of bandwidth 0 is not tracked: from its start it moves as the forces take it, which tracked velocities
    alone determine. So OpenSim treats coordinates without a task. Reserves given as a number help tracked velocities.
    Cones need bandwidths above 0.

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
    prescribed = prescribed_activations(model, motion.time)  # which follow the excitations with their dynamics
    model, effort = driven_model(model, elastic=False), effort or Effort()
    check_recruited(effort, None, "rigid")
    check_searched(cones, False)
    drive = Drive(model, motion, bandwidth)
    model = drive.model
    untracked = np.broadcast_to(drive.bandwidth == 0, (model.system.nu,)) if (drive.bandwidth == 0).any() else None
    if untracked is not None and cones:
        raise ValueError("cones need the accelerations of all velocities; a bandwidth of 0 leaves some open")
    pushed, carried = np.zeros((len(motion.time), model.system.nu)), None
    if loads is not None:
        wrenches = external_wrenches(model, motion, loads)
        pushed = external_force(model, motion.q, wrenches)
        carried = carried_loads(model, motion, loads, wrenches)
    controls = prescribed_controls(model, motion.time)
    free, _ = free_velocities(model, motion.q[:1], motion.time[:1])

    def solve(now: Motion, loads: Forces | None, rows: slice) -> Redundancy:
        own = (None if x is None else x[rows] for x in (controls, prescribed))
        acting = dict(zip(("controls", "activation"), own, strict=True))
        demands = Demands.of_motion(model, now, loads, reserves, cones, **acting, untracked=untracked, free=free)
        check_consistent(model, now)
        return rigid_redundancy(demands, now, effort, backend)

    def at_frame(k: int, now: Motion) -> Redundancy:
        return solve(consistent_motion(model, now), carried, slice(k, k + 1))

    if step is None:
        step = longest_step(model, motion, solve(motion, loads, slice(None)).activation)
    ahead = _Lookahead(drive, motion.udot, pushed, step, at_frame)
    found = tracked(drive, ahead, step)
    return replace(found, reserves=ahead.reserves, reserve=np.array(ahead.given[: len(found.motion.time)]))


class _Lookahead:
    """The law of a drive: at every frame activations and reserves for the next, where the simulation is about to be."""

    def __init__(
        self, drive: Drive, udot: Array, pushed: Array, step: float, solve: Callable[[int, Motion], Redundancy]
    ) -> None:
        self._drive, self._udot, self._pushed, self._step, self._solve = drive, udot, pushed, step, solve
        self._free = _unlocked(drive.model)
        self._found: list[tuple[Array, Array]] = []
        self.reserves: tuple[AnyReserve, ...] = ()
        self.given: list[Array] = []  # (r,) [N m, N] what each reserve gives, frame by frame

    def __call__(self, k: int, q: Array, u: Array) -> Push:
        drive, time = self._drive, self._drive.motion.time
        if not self._found:
            self._found.append(self._at(k, q, u))
        after = min(k + 1, len(time) - 1)
        if after > k:
            span = time[after] - time[k]
            udot = ((self._udot[k] + self._udot[after]) / 2 + drive.returning(k, q, u)) * self._free
            if not drive.bandwidth.all():  # untracked velocities go where the present forces take them
                ahead = drive.window(k, (q, u), self._pushing([k, k]), self._step).final_u
                udot = np.where(drive.bandwidth == 0, (ahead - u) / span, udot)
            pose = drive.model.system.integrate(q, span * (u + span / 2 * udot) * self._free)
            self._found.append(self._at(after, pose, u + span * udot))
        return self._pushing([k, after])

    def _pushing(self, ends: list[int]) -> Push:
        """What was found for the frames at the two ends of a window."""
        activation, helped = (np.array(column) for column in zip(*(self._found[k] for k in ends), strict=True))
        return Push(activation, self._pushed[ends], helped)

    def _at(self, k: int, q: Array, u: Array) -> tuple[Array, Array]:
        """Activations (m,) and what the reserves give (nu,) at frame k, in a pose and at a speed near it."""
        system, time = self._drive.model.system, self._drive.motion.time
        udot = (self._udot[k] + self._drive.returning(k, q, u)) * self._free
        found = self._solve(k, Motion(system, time[[k]], q[None], (u * self._free)[None], udot[None]))
        activation, helped = commands_of(found)
        self.reserves = found.reserves
        self.given.append(found.reserve[0])
        return activation[0], helped[0]


def _unlocked(model: Model) -> Array:
    """(nu,) 1, and 0 for locked coordinates."""
    system, free = model.system, np.ones(model.system.nu)
    for coordinate in model.coordinates:
        if coordinate.locked and coordinate.name in system.coordinate_names:
            free[list(system.indices.velocities_of_coordinate(coordinate.name))] = 0.0
    return free
