"""A model that muscles drive from frame to frame of a motion, and the acceleration that leads it back to it.

That is w^2 e + 2 w (u_ref - u), with the bandwidth w, one for all or one of every velocity. The displacement e leads
from the pose to that of the motion; for ball joints it is the rotation vector. Alone it is a critically damped
oscillator in every direction. A velocity of bandwidth 0 has no feedback.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from myoquat.core.arguments import real_array
from myoquat.core.typing import Array, ArrayLike
from myoquat.data.motions import Forces, Motion
from myoquat.dynamics import Run, Simulator, inverse_dynamics
from myoquat.dynamics.constraints import constraints_of
from myoquat.dynamics.simulation.controls import Inputs
from myoquat.dynamics.simulation.schedule import Timing
from myoquat.dynamics.simulation.start import Start
from myoquat.joints.vectors import vecmat
from myoquat.kernels import Outcome
from myoquat.muscle.model import Model
from myoquat.muscle.states import state_names

__all__ = ["Drive", "Driven", "Law", "Push", "carried_loads", "driven_model", "load_torques"]


class Push(NamedTuple):
    """Activations and forces in a window, with straight lines between its two ends.

    activation  (2, m)
    torque      (2, nu) generalized forces
    help        (2, nu) generalized forces that help to follow the motion
    """

    activation: Array
    torque: Array
    help: Array


Law = Callable[[int, Array, Array], Push]  # of the frame, q and u


class Driven(NamedTuple):
    """The simulation at the frames that it reached.

    q           (k, nq)
    u           (k, nu)
    states      (k, ns) of muscles
    activation  (k, m)
    help        (k, nu) generalized forces that helped
    """

    q: Array
    u: Array
    states: Array
    activation: Array
    help: Array


class Drive:
    """A model, as `driven_model` gives it, and the motion (q, u) that it has to follow.

    Raises ValueError for a motion of another system, without u, with fewer than two frames, or that starts off the
    model's constraints. It is raised for a bandwidth that is negative.
    """

    def __init__(self, model: Model, motion: Motion, bandwidth: ArrayLike) -> None:
        model = motion.check_system(model)
        if motion.u is None or len(motion.time) < 2:
            raise ValueError("a motion with u and at least 2 frames is needed; smooth(motion) finds u")
        w = real_array("bandwidth", bandwidth)
        if w.shape not in ((), (model.system.nu,)) or not (np.isfinite(w) & (w >= 0)).all():
            sizes = f"one or one for each of the {model.system.nu} velocities"
            raise ValueError(f"bandwidth must be positive, or 0 without feedback [rad/s], {sizes}, not {w}")
        held = constraints_of(model)
        start = Start.of(model, motion.q[0], motion.u[0], held, False)
        self.model, self.motion, self.bandwidth = model, motion, w
        self._simulator = Simulator(model, external_torque=True, constraints=held, redundant=start.redundant)
        self._own: Array | None = None  # the states of muscles and actuators at the present frame

    def run(self, law: Law, step: float) -> Driven:
        """From the first frame to the last, or to where the simulation fails, in steps of at most `step` [s]."""
        motion = self.motion
        assert motion.u is not None
        q, u, self._own = motion.q[0], motion.u[0], None
        rows: list[tuple[Array, ...]] = []
        for k in range(len(motion.time)):
            push = law(k, q, u)
            run = None if k + 1 == len(motion.time) else self.window(k, (q, u), push, step)
            own = self._own if run is None else run.own[0]
            assert own is not None
            rows.append((q, u, own[: len(state_names(self.model))], push.activation[0], push.help[0]))
            if run is None or run.reason != Outcome.COMPLETED:
                break
            q, u, self._own = run.final_q, run.final_u, run.final_own
        return Driven(*(np.array(column) for column in zip(*rows, strict=True)))

    def returning(self, k: int, q: Array, u: Array) -> Array:
        """(nu,) the acceleration that leads back to frame k."""
        assert self.motion.u is not None
        away = self.model.system.difference(q, self.motion.q[k])
        result: Array = self.bandwidth**2 * away + 2 * self.bandwidth * (self.motion.u[k] - u)
        return result

    def window(self, k: int, start: tuple[Array, Array], push: Push, step: float) -> Run:
        """The simulation from q, u at frame k to the next frame."""
        times = self.motion.time[k : k + 2]
        duration = float(times[1] - times[0])
        inputs = Inputs(
            activation=(times, push.activation) if self.model.muscles else None, torque=(times, push.torque + push.help)
        )
        return self._simulator.run(start, Timing(duration, step, duration, float(times[0])), inputs, own=self._own)


def driven_model(model: Model, *, elastic: bool) -> Model:
    """The model with activations as inputs, and tendons that do not stretch unless `elastic`."""
    muscles = tuple(replace(m, activation_dynamics=None) for m in model.muscles)
    found = replace(model, muscles=muscles)
    return found if elastic else found.with_rigid_tendons()


def load_torques(model: Model, motion: Motion, wrenches: Array) -> Array:
    """(t, nu) generalized forces of external wrenches (t, bodies, 6) in the poses of the motion."""
    still = np.zeros((len(motion.time), model.system.nu))
    none = inverse_dynamics(model, motion.q, still, still)
    return none - inverse_dynamics(model, motion.q, still, still, wrenches)


def carried_loads(model: Model, motion: Motion, loads: Forces, wrenches: Array) -> Forces:
    """The loads of a motion, of these wrenches (t, bodies, 6), as its bodies carry them along.

    Each loaded body has one, in its axes, at its origin.
    """
    system = model.system
    names = [name for name in system.body_names if name in loads.bodies]
    poses = system.poses(motion.q)
    R = np.array([poses[name][0] for name in names]).reshape(len(names), -1, 3, 3)
    own = wrenches[:, [system.body_names.index(name) for name in names]]
    force, torque = (vecmat(own[..., part], np.swapaxes(R, 0, 1)) for part in (slice(3), slice(3, 6)))
    frames = tuple(names)
    return Forces(motion.time, frames, frames, force, np.zeros(force.shape), torque, frames, frames)
