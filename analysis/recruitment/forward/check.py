"""Activations that were found for a motion, simulated forward along it."""

import warnings
from types import NoneType

import numpy as np

from myoquat.analysis.motion.inverse_dynamics import external_wrenches
from myoquat.analysis.recruitment.forward.drive import Drive, Law, Push, driven_model, load_torques
from myoquat.analysis.recruitment.forward.steps import longest_step
from myoquat.analysis.recruitment.forward.tracking import Tracking, tracking_of
from myoquat.analysis.recruitment.redundancy import Redundancy
from myoquat.core.arguments import check_types, real_array
from myoquat.core.typing import Array, ArrayLike
from myoquat.data.motions import Forces, MotionLike, motion_of
from myoquat.dynamics import SimulationWarning, mass_matrix
from myoquat.joints.vectors import matvec
from myoquat.muscle.model import Model

__all__ = ["commands_of", "forward_check", "track", "tracked"]


def forward_check(
    found: Redundancy, loads: Forces | None = None, *, bandwidth: ArrayLike = 20.0, step: float | None = None
) -> Tracking:
    """What `redundancy` found, simulated forward by `track`.

    Its activations, cut to [0, 1], and its reserves act.
    loads are those that it was found with. Raises as `track` does.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment import forward_check, redundancy
    >>> from myoquat.data import Motion
    >>> from myoquat.muscle import ExponentialMuscle, PathPoint
    >>> rod = mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0, center_of_mass=(0.5, 0, 0))
    >>> path = (PathPoint("ground", (0.0, 0.0, 0.4)), PathPoint("rod", (0.3, 0.0, 0.0)))
    >>> model = mq.Model(mq.ArticulatedSystem((rod,)), (mq.Muscle("biceps", path, ExponentialMuscle(0.5, 100.0)),))
    >>> still = np.zeros((20, 1))
    >>> held = Motion(model, np.linspace(0, 0.2, 20), still, still, still)
    >>> forward_check(redundancy(model, held)).errors().rms_degrees.round(6).to_list()
    [0.0]
    """
    check_types(found=(found, Redundancy), loads=(loads, (Forces, NoneType)))
    activation, torque = commands_of(found)
    elastic = found.states.shape[-1] > 0
    return track(found.model, found.motion, activation, torque, loads, bandwidth=bandwidth, step=step, elastic=elastic)


def track(
    model: Model,
    motion: MotionLike,
    activation: ArrayLike | None = None,
    torque: ArrayLike | None = None,
    loads: Forces | None = None,
    *,
    bandwidth: ArrayLike = 20.0,
    step: float | None = None,
    elastic: bool = False,
) -> Tracking:
    """A model driven by activations (t, m) along a motion (q, u), with a feedback that keeps it there and is reported.

    torque     (t, nu) [N m, N] generalized forces of other actuators, such as reserves.
    loads      external loads, which act as they would in the poses of the motion.
    bandwidth  w [rad/s] of the feedback, one for all or (nu,). The generalized force is M (w^2 e + 2 w (u_ref - u)).
               The displacement e is that from the pose to the motion's, of ball joints the rotation vector. The force
               is constant between frames: w must be well below the frame rate, and above the rates of unstable
               postures. 0 gives a velocity no feedback.
    step       [s] of the simulation (RK4); None for 1 ms, or less where the damping of muscles and joints requires it.
    elastic    tendons stretch where the model's do, from their equilibrium at the start; else none does, as in
               `redundancy`.

    Between frames activations and torques go along straight lines. Activations are inputs, whatever activation dynamics
    the model has. Couplers and constraints hold, locked coordinates stay where they start. Where the simulation fails,
    a SimulationWarning says when, and the frames after are left out. Raises ValueError for a motion of another system,
    without u, of a single frame or off the constraints. It is raised for arrays that do not fit or are not finite, and
    activations outside [0, 1].

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment import track
    >>> from myoquat.data import Motion
    >>> sled = mq.Body("sled", "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=2.0)
    >>> time = np.linspace(0.0, 2.0, 201)
    >>> way = Motion(mq.ArticulatedSystem((sled,)), time, time[:, None] ** 2, 2 * time[:, None])
    >>> found = track(mq.Model(way.system), way)  # no one pushes: the feedback does
    >>> float(found.help[-1, 0].round(2))
    4.0
    """
    check_types(model=(model, Model), loads=(loads, (Forces, NoneType)))
    motion, model = motion_of(motion), driven_model(model, elastic=elastic)
    drive, frames = Drive(model, motion, bandwidth), len(motion.time)
    model = drive.model
    a = np.zeros((frames, 0)) if activation is None else real_array("activation", activation)
    shapes = (frames, len(model.muscles)), (frames, model.system.nu)
    if a.shape != shapes[0]:
        raise ValueError(f"activation must have the shape {shapes[0]}, not {a.shape}")
    a = model.check_activation(a)
    tau = np.zeros(shapes[1]) if torque is None else real_array("torque", torque)
    if tau.shape != shapes[1] or not np.isfinite(tau).all():
        raise ValueError(f"torque must be finite numbers of shape {shapes[1]}, not {tau.shape}")
    if loads is not None:
        tau = tau + load_torques(model, motion, external_wrenches(model, motion, loads))

    def law(k: int, q: Array, u: Array) -> Push:
        window = [k, min(k + 1, frames - 1)]
        helped = matvec(mass_matrix(model, q), drive.returning(k, q, u))
        return Push(a[window], tau[window], np.array([helped, helped]))

    return tracked(drive, law, longest_step(model, motion, a) if step is None else step)


def commands_of(found: Redundancy) -> tuple[Array, Array]:
    """(t, m) activations, cut to [0, 1], and (t, nu) generalized forces of the reserves, to be simulated with."""
    controls = found.reserve / np.array([reserve.strength for reserve in found.reserves])
    return np.clip(found.activation, 0.0, 1.0), matvec(found.columns, controls)


def tracked(drive: Drive, law: Law, step: float) -> Tracking:
    """The record of a run, and a warning to whoever called the public function if it did not reach its end."""
    found = tracking_of(drive.model, drive.motion, drive.run(law, step))
    if not found.complete:
        message = f"the simulation failed after {found.motion.time[-1]:.6g} s; the frames after are left out"
        warnings.warn(message, SimulationWarning, stacklevel=3)
    return found
