"""How well a model that muscles drive follows a motion, and with how much help."""

from typing import Any

import numpy as np

from myoquat.analysis.recruitment.forward.drive import Driven
from myoquat.analysis.recruitment.free import free_velocities, named_columns
from myoquat.analysis.recruitment.redundancy.actuators import AnyReserve
from myoquat.core.curves import Curve
from myoquat.core.lazy_imports import pandas as pd
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.data.motions import Motion
from myoquat.data.motions.motion import MotionResult
from myoquat.dynamics import mass_matrix
from myoquat.joints.vectors import vecmat
from myoquat.muscle.evaluate import muscle_forces, path_jacobian
from myoquat.muscle.model import Model
from myoquat.muscle.states import state_names

__all__ = ["Tracking", "tracking_of"]


@dataclass(frozen=True, eq=False)
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
        muscles, velocities = self.model.muscle_names, self.model.system.velocity_names
        parts = (
            (muscles, "activation", self.activation), (muscles, "force", self.force), (velocities, "error", self.error),
            (self.velocities, "muscles", self.muscle_torque), (self.velocities, "help", self.help),
            ([r.name for r in self.reserves], "reserve", self._given),
        )  # fmt: skip
        return pd.DataFrame(named_columns(parts), pd.Index(self.motion.time, name="time"))

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


def tracking_of(model: Model, reference: Motion, driven: Driven) -> Tracking:
    """The record of a driven model."""
    system, q, u = model.system, driven.q, driven.u
    k = len(q)
    names, C = free_velocities(model, q, reference.time[:k])
    states = (driven.states,) if state_names(model) else ()
    force = muscle_forces(model, q, u, driven.activation, *states) if model.muscles else np.zeros((k, 0))
    torque = -vecmat(force, path_jacobian(model, q)) if model.muscles else np.zeros(u.shape)
    pulled, helped = vecmat(torque, C), vecmat(driven.help, C)
    H = np.swapaxes(C, -1, -2) @ mass_matrix(model, q) @ C
    sizes = [float(np.sum(x * np.linalg.solve(H, x[..., None])[..., 0])) for x in (helped, pulled)]
    return Tracking(
        model=model,
        reference=reference,
        motion=Motion(system, reference.time[:k], q, u),
        velocities=names,
        error=system.difference(q, reference.q[:k]),
        activation=driven.activation,
        force=force,
        muscle_torque=pulled,
        help=helped,
        share=float(np.sqrt(sizes[0] / sizes[1])) if sizes[1] else float("nan"),
    )


def _sizes(displacement: Array) -> tuple[float, float]:
    """Root mean square and greatest length of (k, n) displacements, NaN for n = 0."""
    if not displacement.shape[-1]:
        return float("nan"), float("nan")
    length = np.linalg.norm(displacement, axis=-1)
    return float(np.sqrt(np.mean(length**2))), float(length.max())
