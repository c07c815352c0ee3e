"""A model that muscles drive from frame to frame of a motion, and the acceleration that leads it back to it.

That is w^2 e + 2 w (u_ref - u), with the bandwidth w, one for all or one of every velocity. The displacement e leads
from the pose to that of the motion; for ball joints it is the rotation vector. Alone it is a critically damped
oscillator in every direction.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from myoquat.core.arguments import real_array
from myoquat.core.typing import Array, ArrayLike
from myoquat.data.motions import Forces, Motion
from myoquat.dynamics import Simulator, inverse_dynamics
from myoquat.dynamics.constraints import constraints_of
from myoquat.dynamics.simulation.controls import Inputs
from myoquat.dynamics.simulation.schedule import Timing
from myoquat.dynamics.simulation.start import Start
from myoquat.joints.vectors import vecmat
from myoquat.kernels import Outcome
from myoquat.muscle.acting import is_timed
from myoquat.muscle.evaluate import equilibrium_states
from myoquat.muscle.inputs import InputsOverTime
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
    """A model, as `driven_model` gives it, and the motion (q, u, udot) that it has to follow.

    Raises ValueError for a motion of another system, without u, with fewer than two frames, or that starts off the
    model's constraints. It is raised for forces that depend on time, and a bandwidth that is not positive.
    """

    def __init__(self, model: Model, motion: Motion, bandwidth: ArrayLike) -> None:
        model = motion.check_system(model)
        if motion.u is None or len(motion.time) < 2:
            raise ValueError("a motion with u and at least 2 frames is needed; smooth(motion) finds u")
        w = real_array("bandwidth", bandwidth)
        if w.shape not in ((), (model.system.nu,)) or not (np.isfinite(w) & (w > 0)).all():
            sizes = f"one or one for each of the {model.system.nu} velocities"
            raise ValueError(f"bandwidth must be positive [rad/s], {sizes}, not {w}")
        if is_timed(model):
            timed = next(force for force in model.forces if force.timed)
            raise ValueError(f"{timed.element}: it depends on time; give it as loads or torque")
        held = constraints_of(model)
        start = Start.of(model, motion.q[0], motion.u[0], held, False)
        self.model, self.motion, self.bandwidth = model, motion, w
        self._simulator = Simulator(model, external_torque=True, constraints=held, redundant=start.redundant)

    def run(self, law: Law, step: float) -> Driven:
        """From the first frame to the last, or to where the simulation fails, in steps of at most `step` [s]."""
        motion = self.motion
        assert motion.u is not None
        q, u = motion.q[0], motion.u[0]
        states: Array | None = None
        elastic = bool(state_names(self.model))
        rows: list[tuple[Array, ...]] = []
        for k in range(len(motion.time)):
            push = law(k, q, u)
            if elastic and states is None:
                states = equilibrium_states(self.model, q, push.activation[0])
            rows.append((q, u, np.zeros(0) if states is None else states, push.activation[0], push.help[0]))
            if k + 1 == len(motion.time):
                break
            end = self._window(k, step, (q, u, states), push)
            if end is None:
                break
            q, u, states = end
        return Driven(*(np.array(column) for column in zip(*rows, strict=True)))

    def returning(self, k: int, q: Array, u: Array) -> Array:
        """(nu,) the acceleration that leads back to frame k."""
        assert self.motion.u is not None
        away = self.model.system.difference(q, self.motion.q[k])
        result: Array = self.bandwidth**2 * away + 2 * self.bandwidth * (self.motion.u[k] - u)
        return result

    def _controls_from(self, first: float) -> Callable[[float], Array] | None:
        """The controls that the model prescribes, over the time since `first`; None where there are none."""
        own = InputsOverTime(self.model.inputs, self.model.control_names)
        return (lambda t: own(first + t)) if own.names else None

    def _window(
        self, k: int, step: float, start: tuple[Array, Array, Array | None], push: Push
    ) -> tuple[Array, Array, Array | None] | None:
        """q, u and muscle states at the end of the window after frame k; None where the simulation failed."""
        first, last = self.motion.time[k : k + 2]
        duration = last - first
        times = np.array([0.0, duration])
        inputs = Inputs(
            activation=(times, push.activation) if self.model.muscles else None,
            torque=(times, push.torque + push.help),
            muscle_states=start[2],
            controls=self._controls_from(first),
        )
        run = self._simulator.run(start[:2], Timing(duration, step, duration), inputs)
        if run.reason != Outcome.COMPLETED:
            return None
        return run.final_q, run.final_u, None if start[2] is None else run.final_own


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
