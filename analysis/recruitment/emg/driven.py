"""Forces of muscles with given activations along a motion, and torques beside those that it needs.

Activations from recorded EMG, and an effort that keeps near them.

Force lags behind the electrical signal: by the electromechanical delay, 10 to 100 ms, and by the activation dynamics;
its relation to activation may bend [D. G. Lloyd, T. F. Besier, An EMG-driven musculoskeletal model to estimate muscle
forces and knee joint moments in vivo, J. Biomech. 36, 2003, eqs. 1 to 4].
"""

from dataclasses import replace
from types import NoneType

import numpy as np

from myoquat.analysis.motion.inverse_dynamics import inverse_dynamics_of_motion
from myoquat.analysis.motion.prescribed import prescribed_activations
from myoquat.analysis.recruitment.redundancy import Effort
from myoquat.analysis.recruitment.redundancy.equations import least_activations
from myoquat.core import Array, ArrayLike, Curve, check_types, frozen, indices_of, pandas as pd
from myoquat.data.motions import Emg, Forces, Motion, MotionLike, motion_of
from myoquat.data.motions.motion import MotionResult
from myoquat.data.motions.series import check_time
from myoquat.joints.vectors import matvec, vecmat
from myoquat.muscle import ActivationDynamics, law_forces
from myoquat.muscle.model import Model

from .calibration import muscles_along

MAX_SUBSTEP_S = 1e-3  # [s] of the activation dynamics
MAX_GAP_S = 0.05  # [s] longest gap without data that linear interpolation bridges


def emg_activations(
    emg: Emg, *, delay: float = 0.04, shape: float = 0.0, dynamics: ActivationDynamics | None = None
) -> Emg:
    """Activations from normalized envelopes, in [0, 1], at the same times.

    delay     [s] between the signal and the excitation; the first activations, before it has passed, are NaN.
    shape     A in [-5, 0] of a = (exp(A e) - 1) / (exp(A) - 1); 0 is a = e [Lloyd and Besier, eq. 4].
    dynamics  by which activations follow excitations, on straight lines between times, in Runge-Kutta steps of at most
              1 ms, from equilibrium at the start. None where the envelope's own low-pass filter takes their place.

    Raises ValueError for a signal in volts or outside [0, 1] (`Emg.normalized`), a negative delay, a shape outside its
    range, and with dynamics for channels with gaps.

    >>> import numpy as np
    >>> from myoquat.analysis.recruitment import emg_activations
    >>> from myoquat.data import Emg
    >>> burst = Emg(np.arange(5) * 0.02, ("biceps",), [[0.0], [0.5], [1.0], [0.5], [0.0]], "1")
    >>> emg_activations(burst, delay=0.04).signal.ravel()
    array([nan, nan, 0. , 0.5, 1. ])
    """
    check_types(emg=(emg, Emg))
    if not (np.isfinite(delay) and delay >= 0):
        raise ValueError(f"delay must not be negative [s], but is {delay}")
    if not -5 <= shape <= 0:
        raise ValueError(f"shape must lie in [-5, 0], not {shape}")
    check_normalized(emg)
    signal = emg.signal
    if dynamics is not None:
        if np.isnan(signal).any():
            name = emg.names[int(np.argmax(np.isnan(signal).any(axis=0)))]
            raise ValueError(f"the channel {name!r} has gaps, over which activation dynamics do not go")
        signal = followed(emg.time, signal, signal[:1], dynamics)
    late = replace(emg, time=emg.time + delay, signal=signal).resampled(emg.time, np.inf if dynamics else MAX_GAP_S)
    return late if shape == 0 else replace(late, signal=np.expm1(shape * late.signal) / np.expm1(shape))


def check_normalized(emg: Emg) -> None:
    """ValueError for a signal that is not normalized, with the first value outside [0, 1]."""
    if emg.units != "1":
        raise ValueError(f"activations come from a normalized signal, not one in {emg.units}; Emg.normalized makes it")
    for row, k in np.argwhere((emg.signal < 0) | (emg.signal > 1))[:1]:
        value, at = emg.signal[row, k], emg.time[row]
        raise ValueError(f"the signal of {emg.names[k]!r} is {value:.4g} at {at:.4g} s, but must lie in [0, 1]")


def followed(time: Array, excitation: Array, start: ArrayLike, dynamics: ActivationDynamics) -> Array:
    """(t, n) activations that follow excitations (t, n) from a start, along straight lines between the times."""
    found = np.array(excitation)
    found[:1] = start
    for k, (before, change) in enumerate(zip(excitation, np.diff(excitation, axis=0), strict=False)):
        a, span = found[k], time[k + 1] - time[k]
        count = int(np.ceil(span / MAX_SUBSTEP_S - 1e-9))
        for i in range(count):
            first, middle, last = (before + change * (i + part) / count for part in (0.0, 0.5, 1.0))
            a = dynamics.advanced(a, (first, middle, last), span / count)
        found[k + 1] = a
    return found


def emg_effort(model: Model, time: ArrayLike, activations: Emg, *, weight: float = 10.0, others: float = 1.0) -> Effort:
    """For `redundancy`: activations near the measured ones where there are any, and of least squares elsewhere.

    The effort at every time is weight * sum (a - measured)^2 + others * sum a^2. The first sum is over the muscles with
    a channel of their name and a value at that time. Linear interpolation bridges gaps of at most 50 ms. Source: after
    M. Sartori, D. Farina, D. G. Lloyd, Hybrid neuromusculoskeletal modeling to best track joint moments using a balance
    between muscle excitations derived from electromyograms and optimization, J. Biomech. 47, 2014. Without reserves the
    motion's torques are met whatever the weight.

    Raises ValueError for a channel without a muscle, with the nearest names (`Emg.renamed`, `Emg.select`). It is raised
    too for values outside [0, 1], times that do not overlap, and negative weights.

    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment import emg_effort
    >>> from myoquat.data import Emg
    >>> recorded = Emg([0.0, 0.04], ("m2",), [[0.2], [0.4]], "1")
    >>> effort = emg_effort(mq.load_model("two_link"), [0.02], recorded, weight=20.0)
    >>> effort.weights, effort.target.round(2)
    (array([[ 1., 20.,  1.,  1.,  1.,  1.]]), array([[0. , 0.3, 0. , 0. , 0. , 0. ]]))
    """
    check_types(model=(model, Model), activations=(activations, Emg))
    for name, value in (("weight", weight), ("others", others)):
        if not (np.isfinite(value) and value >= 0):
            raise ValueError(f"{name} must be finite and not negative, but is {value}")
    measured = activations_at(model, time, activations)
    seen = ~np.isnan(measured)
    return Effort(2.0, np.where(seen, weight, others), target=np.where(seen, measured, 0.0))


def activations_at(model: Model, time: ArrayLike, activations: Emg) -> Array:
    """(t, m) the activations at these times, NaN where nothing was measured."""
    at = check_time(time)
    columns = indices_of("muscle", activations.names, model.muscle_names)
    if len(activations.time) == 0 or not ((at >= activations.time[0]) & (at <= activations.time[-1])).any():
        span = f"{activations.time[0]:g} to {activations.time[-1]:g} s" if len(activations.time) else "no frames"
        raise ValueError(f"the activations, {span}, do not overlap with the motion, {at[0]:g} to {at[-1]:g} s")
    found = np.full((len(at), len(model.muscles)), np.nan)
    found[:, columns] = activations.resampled(at, MAX_GAP_S).signal
    if ((found < 0) | (found > 1)).any():
        raise ValueError("activations must lie in [0, 1]; emg_activations makes them from an envelope")
    return found


@frozen(eq=False)
class MuscleTorques(MotionResult):
    """Torques of muscles with given activations along a motion.

    velocities  (e,) the free ones
    activation  (t, m)
    force       (t, m) tensions [N]
    torque      (t, e) [N m, N] the muscles' generalized forces on the free velocities
    needed      (t, e) [N m, N] what the motion needs there

    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment import emg_driven
    >>> from myoquat.data import Emg, Motion
    >>> model = mq.load_model("two_link")
    >>> still = Motion(model, [0.0, 0.1], [model.start] * 2, [[0.0] * 6] * 2, [[0.0] * 6] * 2)
    >>> found = emg_driven(model, still, Emg([0.0, 0.1], ("m1",), [[0.3], [0.3]], "1"), others=0.1)
    >>> found.activation[0], found.torque.shape
    (array([0.3, 0.1, 0.1, 0.1, 0.1, 0.1]), (2, 6))
    """

    model: Model
    motion: Motion
    velocities: tuple[str, ...]
    activation: Array
    force: Array
    torque: Array
    needed: Array

    def __repr__(self) -> str:
        return f"<MuscleTorques {self.force.shape[1]} muscles, {len(self.motion.time)} frames>"

    def errors(self) -> "pd.DataFrame":
        """A row per free velocity: RMS [N m, N] of torque - needed and of needed, and their squared correlation.

        The correlation is that of torque and needed, NaN where one of them is constant. Where a frame is NaN, so are
        the numbers of its velocity.
        """
        pulled, needed = (pd.DataFrame(x, columns=pd.Index(self.velocities)) for x in (self.torque, self.needed))
        errors = {"rms_error": pulled - needed, "rms_needed": needed}
        found = pd.DataFrame({name: np.sqrt((x**2).mean(skipna=False)) for name, x in errors.items()})
        return found.assign(r_squared=(pulled.corrwith(needed) ** 2).where(found.rms_error.notna()))

    def to_dataframe(self) -> "pd.DataFrame":
        """Columns '<muscle>.activation', '<muscle>.force', '<velocity>.torque', '<velocity>.needed', over the index
        time [s]."""
        return self._table("activation", "force", "torque", "needed")

    def curves(self) -> dict[str, Curve]:
        """Those of the muscles, and torque and needed over (time, velocity)."""
        return super().curves() | {name: self._on_velocities(getattr(self, name)) for name in ("torque", "needed")}


def emg_driven(
    model: Model, motion: MotionLike, activations: Emg, loads: Forces | None = None, *, others: float | None = None
) -> MuscleTorques:
    """Forces and torques of muscles whose activations were measured, along a motion (q, u, udot) under external loads.

    activations  as `emg_activations` gives them, channels called as the muscles.
    others       activation of the muscles, and at the times, without a measured one; None to refuse them by name.
                 Muscles that the model prescribes have their own.

    Nothing is optimized: what the muscles give differs from what the motion needs, and `MuscleTorques.errors` says by
    how much. Activations below `minimum_activation` of a muscle's law are as large; elastic tendons are taken as rigid.
    Raises ValueError as `inverse_dynamics_of_motion` does, for channels without a muscle, and muscles without
    activation.

    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment import emg_driven
    >>> from myoquat.data import Emg, Motion
    >>> from myoquat.muscle import ExponentialMuscle, PathPoint
    >>> rod = mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0, center_of_mass=(0.5, 0, 0))
    >>> path = (PathPoint("ground", (0.0, 0.0, 0.4)), PathPoint("rod", (0.3, 0.0, 0.0)))
    >>> model = mq.Model(mq.ArticulatedSystem((rod,)), (mq.Muscle("biceps", path, ExponentialMuscle(0.5, 100.0)),))
    >>> still = Motion(model, [0.0, 0.1], [[0.0]] * 2, [[0.0]] * 2, [[0.0]] * 2)
    >>> found = emg_driven(model, still, Emg([0.0, 0.1], ("biceps",), [[0.5], [0.5]], "1"))
    >>> found.torque[0].round(2), found.needed[0].round(2)  # 50 N on 0.24 m, about y against gravity
    (array([-12.]), array([-9.81]))
    """
    check_types(model=(model, Model), activations=(activations, Emg), loads=(loads, (Forces, NoneType)))
    motion = motion_of(motion)
    model = motion.check_system(model.with_rigid_tendons())
    needed = inverse_dynamics_of_motion(model, motion, loads).torque
    names, C, lengths, speeds, arms = muscles_along(model, motion)
    a, own = activations_at(model, motion.time, activations), prescribed_activations(model, motion.time)
    a = np.where(np.isnan(a), np.nan if own is None else own, a)
    if np.isnan(a).any():
        if others is None:
            row, k = (int(i) for i in np.argwhere(np.isnan(a))[0])
            raise ValueError(
                f"muscle {model.muscle_names[k]!r} has no measured activation at {motion.time[row]:.4g} s; others= is "
                "one for all that have none"
            )
        a = np.where(np.isnan(a), others, a)
    a = np.maximum(model.check_activation(a), least_activations(model))
    force = law_forces(model, lengths, speeds, a)
    return MuscleTorques(model, motion, names, a, force, matvec(arms, force), vecmat(needed, C))
