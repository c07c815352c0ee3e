"""Forces of muscles with given activations along a motion, and torques beside those that it needs."""

from types import NoneType

import numpy as np

from myoquat.analysis.motion.inverse_dynamics import inverse_dynamics_of_motion
from myoquat.analysis.recruitment.emg.activations import activations_at
from myoquat.analysis.recruitment.free import free_velocities
from myoquat.analysis.recruitment.redundancy.affine_forces import least_activations
from myoquat.analysis.recruitment.tables import named_columns
from myoquat.core.arguments import check_types
from myoquat.core.lazy_imports import pandas as pd
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.data.motions import Emg, Forces, Motion, MotionLike, motion_of
from myoquat.data.motions.motion_like import MotionResult
from myoquat.joints.vectors import matvec, vecmat
from myoquat.muscle import law_forces, path_jacobian, path_lengths
from myoquat.muscle.model import Model

__all__ = ["MuscleTorques", "emg_driven"]


@dataclass(frozen=True, eq=False)
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

        The correlation is that of torque and needed, NaN where one of them is constant.
        """
        rows = {}
        for k, name in enumerate(self.velocities):
            given, wanted = self.torque[:, k], self.needed[:, k]
            a, b = given - given.mean(), wanted - wanted.mean()
            size = (a @ a) * (b @ b)
            rows[name] = (
                np.sqrt(np.mean((given - wanted) ** 2)),
                np.sqrt(np.mean(wanted**2)),
                (a @ b) ** 2 / size if size else np.nan,
            )
        return pd.DataFrame.from_dict(rows, orient="index", columns=["rms_error", "rms_needed", "r_squared"])

    def to_dataframe(self) -> "pd.DataFrame":
        """Columns '<muscle>.activation', '<muscle>.force', '<velocity>.torque', '<velocity>.needed', over the index
        time [s]."""
        muscles = self.model.muscle_names
        parts = (
            (muscles, "activation", self.activation), (muscles, "force", self.force),
            (self.velocities, "torque", self.torque), (self.velocities, "needed", self.needed),
        )  # fmt: skip
        return pd.DataFrame(named_columns(parts), pd.Index(self.motion.time, name="time"))


def emg_driven(
    model: Model, motion: MotionLike, activations: Emg, loads: Forces | None = None, *, others: float | None = None
) -> MuscleTorques:
    """Forces and torques of muscles whose activations were measured, along a motion (q, u, udot) under external loads.

    activations  as `emg_activations` gives them, channels called as the muscles.
    others       activation of the muscles, and at the times, without a measured one; None to refuse them by name.

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
    names, C = free_velocities(model, motion.q)
    a = activations_at(model, motion.time, activations)
    if np.isnan(a).any():
        if others is None:
            row, k = (int(i) for i in np.argwhere(np.isnan(a))[0])
            raise ValueError(
                f"muscle {model.muscle_names[k]!r} has no measured activation at {motion.time[row]:.4g} s; others= is "
                "one for all that have none"
            )
        a = np.where(np.isnan(a), others, a)
    a = np.maximum(model.check_activation(a), least_activations(model))
    J = path_jacobian(model, motion.q)
    force = law_forces(model, path_lengths(model, motion.q), matvec(J, motion.u), a)  # type: ignore[arg-type]
    return MuscleTorques(model, motion, names, a, force, -vecmat(vecmat(force, J), C), vecmat(needed, C))
