"""Activations that were found for a motion, simulated forward along it.

Muscles drive the model from frame to frame. An acceleration w^2 e + 2 w (u_ref - u) leads it back to the motion, with
the bandwidth w, one for all or one of every velocity. The displacement e leads from the pose to that of the motion; for
ball joints it is the rotation vector. Alone it is a critically damped oscillator in every direction. A velocity of
bandwidth 0 has no feedback.

Small deviations of the velocities decay with the rates of -(C^T M C)^-1 C^T D C. D is the derivative of the generalized
forces with respect to u, and C spans the free velocities. The Runge-Kutta method of order 4 is stable for steps of up
to 2.785 over the greatest rate [E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, 2nd ed., 1996,
section IV.2].
"""

from collections.abc import Callable
from dataclasses import replace
from types import NoneType
from typing import Any, NamedTuple

import numpy as np

from myoquat.analysis.motion.inverse_dynamics import external_wrenches
from myoquat.analysis.recruitment.free import free_velocities
from myoquat.analysis.recruitment.redundancy import Redundancy
from myoquat.analysis.recruitment.redundancy.actuators import AnyReserve
from myoquat.core import Array, ArrayLike, Curve, check_types, frozen, pandas as pd, real_array, warn_user
from myoquat.data.motions import Forces, Motion, MotionLike, motion_of
from myoquat.data.motions.motion import MotionResult
from myoquat.data.motions.series import check_series
from myoquat.dynamics import Run, SimulationWarning, Simulator, bias_force, external_force, mass_matrix
from myoquat.dynamics.constraints import constraints_of
from myoquat.dynamics.simulation.controls import Inputs
from myoquat.dynamics.simulation.methods import Timing
from myoquat.dynamics.simulation.problem import Start
from myoquat.joints.evaluation import traced_once
from myoquat.joints.vectors import matvec, vecmat
from myoquat.kernels import Outcome
from myoquat.muscle.evaluate import acting_torques, muscle_forces, path_jacobian
from myoquat.muscle.model import Model
from myoquat.muscle.states import state_names

STABILITY_LIMIT = 2.785  # step times decay rate, of the classical Runge-Kutta method
SAFETY = 0.7  # of the longest stable step, because rates between the sampled poses may be greater
MAX_STEP_S, MIN_STEP_S = 1e-3, 1e-5  # [s] for accuracy; for computing time
SAMPLED_POSES = 40
DIFFERENCE_STEP = 1e-6  # of a velocity


def longest_step(model: Model, motion: Motion, activation: Array) -> float:
    """[s] at most 1 ms. ValueError where the damping needs less than 10 us. Elastic tendons are not considered."""
    rows = np.unique(np.linspace(0, len(motion.time) - 1, SAMPLED_POSES).astype(int))
    q, u, a = motion.q[rows], motion.speeds[rows], activation[rows]
    turned = DIFFERENCE_STEP * np.eye(model.system.nu)[:, None, :]
    ahead, behind = (_forces(model, q, u + sign * turned, a, motion.time[rows]) for sign in (1.0, -1.0))
    D = np.moveaxis((ahead - behind) / (2 * DIFFERENCE_STEP), 0, -1)  # (rows, nu, nu), a column per velocity
    C = free_velocities(model, q, motion.time[rows])[1]
    Ct = C.mT
    rates = np.abs(np.linalg.eigvals(np.linalg.solve(Ct @ mass_matrix(model, q) @ C, Ct @ D @ C)))
    rate = float(rates.max(initial=0.0))
    step = min(MAX_STEP_S, SAFETY * STABILITY_LIMIT / rate) if rate else MAX_STEP_S
    if step < MIN_STEP_S:
        raise ValueError(f"velocities settle at {rate:.3g} /s, which asks for steps of {step:.2g} s; give step=")
    return step


def _forces(model: Model, q: Array, u: Array, a: Array, time: Array) -> Array:
    """(..., nu) the generalized forces that depend on the velocities."""
    q, a = (np.broadcast_to(x, (*u.shape[:-1], x.shape[-1])) for x in (q, a))
    activation = a if model.muscles and not state_names(model) else None
    return acting_torques(model, q, u, time, activation=activation) - bias_force(model.system, q, u)


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


class Drive:
    """A model, as `driven_model` gives it, and the motion (q, u) that it has to follow.

    Raises ValueError for a motion of another system, without u, with fewer than two frames, or that starts off the
    model's constraints. It is raised for a bandwidth that is negative.
    """

    def __init__(self, model: Model, motion: Motion, bandwidth: ArrayLike) -> None:
        model = motion.check_system(model)
        if not model.system.nu:
            raise ValueError("the model has no coordinates, so that it follows no motion")
        if motion.u is None or len(motion.time) < 2:
            raise ValueError("a motion with u and at least 2 frames is needed; smooth(motion) finds u")
        w = real_array("bandwidth", bandwidth)
        if w.shape not in ((), (model.system.nu,)) or not (np.isfinite(w) & (w >= 0)).all():
            sizes = f"one or one for each of the {model.system.nu} velocities"
            raise ValueError(f"bandwidth must be positive, or 0 without feedback [rad/s], {sizes}, not {w}")
        held = constraints_of(model)
        start = Start.of(model, motion.q[0], motion.u[0], held, False, float(motion.time[0]))
        self.model, self.motion, self.bandwidth = model, motion, w
        self._simulator = Simulator(model, external_torque=True, constraints=held, redundant=start.redundant)
        self._own: Array | None = None  # the states of muscles and actuators at the present frame

    def run(self, law: Law, step: float) -> tuple[Array, ...]:
        """From the first frame to the last, or to where the simulation fails, in steps of at most `step` [s].

        Returns q (k, nq), u (k, nu), states of muscles (k, ns), activations (k, m) and the generalized forces that
        helped (k, nu) at the frames that it reached.
        """
        motion = self.motion
        q, u, self._own = motion.q[0], motion.speeds[0], None
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
        return tuple(np.array(column) for column in zip(*rows, strict=True))

    def returning(self, k: int, q: Array, u: Array) -> Array:
        """(nu,) the acceleration that leads back to frame k."""
        away = self.model.system.difference(q, self.motion.q[k])
        return self.bandwidth**2 * away + 2 * self.bandwidth * (self.motion.speeds[k] - u)

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


@frozen(eq=False)
class Tracking(MotionResult):
    """The motion of a simulation (q, u) at the frames that it reached, beside the reference motion to follow.

    reference      the motion to follow
    motion         of the model
    velocities     (e,) the free ones
    error          (k, nu) [rad, m] displacement from the pose to the reference's, of ball joints their rotation vector
    activation     (k, m)
    force          (k, m) tensions [N]
    muscle_torque  (k, e) [N m, N] generalized forces of the muscles on the free velocities
    help           (k, e) [N m, N] those that helped the muscles in the window after each frame: the feedback of
                   `track`, the reserves of `computed_muscle_control`
    reserves       those of `computed_muscle_control`
    reserve        (k, r) [N m, N] what each of them gives at the frames

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment import track
    >>> from myoquat.data import Motion
    >>> sled = mq.Body("sled", "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=2.0)
    >>> time = np.linspace(0.0, 0.5, 51)
    >>> way = Motion(mq.ArticulatedSystem((sled,)), time, time[:, None] ** 2, 2 * time[:, None])
    >>> found = track(mq.Model(way.system), way, torque=np.full((51, 1), 4.0))  # 2 kg times 2 m/s^2
    >>> float(found.errors().largest_m["sled"].round(6)), bool(abs(found.help).max() < 1e-9)
    (0.0, True)
    """

    model: Model
    reference: Motion
    motion: Motion
    velocities: tuple[str, ...]
    error: Array
    activation: Array
    force: Array
    muscle_torque: Array
    help: Array
    share: float
    """What helped over what the muscles did: the ratio of the root mean squares of x^T H^-1 x, x the generalized forces
    on the free velocities and H their mass matrix, so that [N m] and [N] are weighed by what they move."""
    reserves: tuple[AnyReserve, ...] = ()
    reserve: Array | None = None

    def __repr__(self) -> str:
        table = self.errors()
        size = [f"{table.rms_degrees.max():.3g} degrees"] if table.rms_degrees.notna().any() else []
        size += [f"{table.rms_m.max() * 1e3:.3g} mm"] if table.rms_m.notna().any() else []
        count = len(self.motion.time)
        frames = f"{count}" if self.complete else f"{count} of {len(self.reference.time)}"
        return f"<Tracking {frames} frames, {' and '.join(size)} RMS at most, help {self.share:.2%} of the muscles>"

    @property
    def complete(self) -> bool:
        """True if the simulation reached the last frame."""
        return len(self.motion.time) == len(self.reference.time)

    def errors(self) -> "pd.DataFrame":
        """A row per body whose joint moves: root mean square and greatest size of the displacement from the motion.

        Rotations are in degrees, translations in metres, NaN where a joint has none. Columns with "_1" are there if a
        joint has coordinates of unit "1".
        """
        rows = {}
        system = self.model.system
        for body, s in zip(system.bodies, system.u_slices, strict=True):
            if s.stop == s.start:
                continue
            units = np.array(body.joint.facts.velocity_units)
            angle, length, number = (_sizes(self.error[:, s][:, units == f"{unit}/s"]) for unit in ("rad", "m", "1"))
            rows[body.name] = (*np.degrees(angle), *length, *number)
        columns = ["rms_degrees", "largest_degrees", "rms_m", "largest_m", "rms_1", "largest_1"]
        table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
        return table if table.rms_1.notna().any() else table.drop(columns=["rms_1", "largest_1"])

    @property
    def _given(self) -> Array:
        return np.zeros((len(self.motion.time), 0)) if self.reserve is None else self.reserve

    def efforts(self) -> "pd.DataFrame":
        """A row per free velocity: root mean squares [N m, N] of the generalized forces of muscles and help."""
        parts = {"muscles": self.muscle_torque, "help": self.help}
        return pd.DataFrame(
            {name: np.sqrt(np.mean(x**2, axis=0)) for name, x in parts.items()}, index=pd.Index(self.velocities)
        )

    def to_dataframe(self) -> "pd.DataFrame":
        """Columns '<muscle>.activation', '<muscle>.force', '<velocity>.error', and of the free velocities
        '<velocity>.muscles' and '<velocity>.help', and '<reserve>.reserve', over the index time [s]."""
        return self._table("activation", "force", "error", muscles="muscle_torque", help="help", reserve="reserve")

    def curves(self) -> dict[str, Curve]:
        """Those of the muscles, muscle_torque and help over (time, velocity), and error of all velocities."""
        units = [unit.removesuffix("/s") for unit in self.system.velocity_units.values()]
        return {
            **super().curves(),
            **{name: self._on_velocities(getattr(self, name)) for name in ("muscle_torque", "help")},
            "error": Curve(("time", "tracked"), self.error, units),
            "reserve": Curve(("time", "actuator"), self._given, None),
        }

    def labels(self) -> dict[str, Any]:
        """Those of all results along a motion, all velocities as "tracked", and the reserves as "actuator"."""
        names = {"tracked": list(self.system.velocity_names), "actuator": [r.name for r in self.reserves]}
        return super().labels() | names


def _sizes(displacement: Array) -> tuple[float, float]:
    """Root mean square and greatest length of (k, n) displacements, NaN for n = 0."""
    if not displacement.shape[-1]:
        return float("nan"), float("nan")
    length = np.linalg.norm(displacement, axis=-1)
    return float(np.sqrt(np.mean(length**2))), float(length.max())


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
    a = np.zeros((frames, 0)) if activation is None else activation
    a = model.check_activation(real_array("activation", a, (frames, len(model.muscles))))
    tau = check_series("torque", np.zeros((frames, model.system.nu)) if torque is None else torque, motion.speeds.shape)
    if loads is not None:
        tau = tau + external_force(model, motion.q, external_wrenches(model, motion, loads))

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
    model, reference, system = drive.model, drive.motion, drive.model.system
    with traced_once():
        q, u, states, activation, helped = drive.run(law, step)
    time = reference.time[: len(q)]
    if len(time) < len(reference.time):
        message = f"the simulation failed after {time[-1]:.6g} s; the frames after are left out"
        warn_user(message, SimulationWarning)
    names, C = free_velocities(model, q, time)
    stretched = (states,) if state_names(model) else ()
    force = muscle_forces(model, q, u, activation, *stretched) if model.muscles else np.zeros((len(q), 0))
    torque = -vecmat(force, path_jacobian(model, q)) if model.muscles else np.zeros(u.shape)
    pulled, helped = vecmat(torque, C), vecmat(helped, C)
    H = C.mT @ mass_matrix(model, q) @ C
    sizes = [float(np.sum(x * np.linalg.solve(H, x[..., None])[..., 0])) for x in (helped, pulled)]
    return Tracking(
        model=model,
        reference=reference,
        motion=Motion(system, time, q, u),
        velocities=names,
        error=system.difference(q, reference.q[: len(q)]),
        activation=activation,
        force=force,
        muscle_torque=pulled,
        help=helped,
        share=float(np.sqrt(sizes[0] / sizes[1])) if sizes[1] else float("nan"),
    )
