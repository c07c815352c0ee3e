"""Static optimization: the activations that produce given joint torques with the least effort, pose by pose.

minimise  sum_i a_i^p + sum_j |r_j / R_j|^p   under   -J^T F(a) + r = tau, lower <= a <= 1

in the coordinates that are free to move [R. D. Crowninshield, R. A. Brand, J. Biomech. 14, 1981, for p-th powers]. A
reserve r_j helps where muscles cannot produce a torque; the smaller its size R_j, the dearer it is. Tendons are rigid.
It is the redundancy of frames that are independent of each other (`recruitment.solving`), for torques in place of a
motion.
"""

import math
from typing import Any

import numpy as np

from myoquat.core import ArrayLike, Curve, Curves, Solved, check_types, frozen, pandas as pd
from myoquat.joints.evaluation import traced_once
from myoquat.joints.ranges import check_array
from myoquat.joints.vectors import matvec, vector
from myoquat.muscle import Model, acting_torques
from myoquat.muscle.inputs import InputsOverTime

from .convex import are_met
from .free import free_velocities
from .redundancy.actuators import Reserves
from .redundancy.equations import Demands, Effort
from .redundancy.solving import Recruitment


@frozen(eq=False)
class StaticOptimization(Curves, Solved):
    """Result of `static_optimization`.

    velocities  (n,) the free ones
    activation  (..., m)
    force       (..., m) [N]
    torque      (..., n) [N m, N] on the free velocities: the sum of muscles, reserve and the model's limits is the
                wanted torque
    reserve     (..., n) [N m, N] what muscles leave to reserves; with what is missing where `converged` is False
    effort      (...)
    converged   (...) whether the torques are met and no activations nearby have less effort

    For laws that are affine in the activation it is the least effort. For others it is the least that `redundancy`
    finds, which also says whether it is the least of all. The effort is known to 1e-9 of itself, so activations are
    uncertain where reserves make an effort of millions.

    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment import static_optimization
    >>> from myoquat.muscle import ExponentialMuscle, PathPoint
    >>> rod = mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0)
    >>> ends = PathPoint("ground", (0.0, 0.0, 0.4)), PathPoint("rod", (0.3, 0.0, 0.0))
    >>> muscles = tuple(mq.Muscle(name, ends, ExponentialMuscle(0.5, 100.0)) for name in ("biceps", "brachialis"))
    >>> model = mq.Model(mq.ArticulatedSystem((rod,)), muscles)
    >>> found = static_optimization(model, [0.0], [0.0], [-12.0], reserves=1e-3)
    >>> found.force.round(2), bool(found.converged)  # alike muscles share alike
    (array([25., 25.]), True)
    """

    model: Model
    velocities: tuple[str, ...]
    activation: np.ndarray
    force: np.ndarray
    torque: np.ndarray
    reserve: np.ndarray
    effort: np.ndarray
    converged: np.ndarray

    def __repr__(self) -> str:
        lost = int((~self.converged).sum())
        return (
            f"<StaticOptimization {self.activation.shape[-1]} muscles, {self.converged.size} poses, {lost} not solved>"
        )

    @property
    def success(self) -> bool:
        """Whether all poses have solutions."""
        return bool(self.converged.all())

    def to_dataframe(self) -> "pd.DataFrame":
        """A row per pose: '<muscle>.activation', '<muscle>.force', '<velocity>.torque', '<velocity>.reserve'."""
        return self._table("activation", "force", "torque", "reserve")

    def curves(self) -> dict[str, Curve]:
        """activation and force over (..., muscle), torque and reserve over (..., velocity), and the efforts."""
        batch = tuple(f"pose_{k}" for k in range(self.converged.ndim))
        muscle, velocity = (*batch, "muscle"), (*batch, "velocity")
        forces = [self.model.system.force_units[name] for name in self.velocities]
        return {
            "activation": Curve(muscle, self.activation), "force": Curve(muscle, self.force, "N"),
            "torque": Curve(velocity, self.torque, forces), "reserve": Curve(velocity, self.reserve, forces),
            "effort": Curve(batch, self.effort), "converged": Curve(batch, self.converged),
        }  # fmt: skip

    def labels(self) -> dict[str, Any]:
        """Names of muscles and of the free velocities."""
        return {"muscle": list(self.model.muscle_names), "velocity": list(self.velocities)}


@traced_once()
def static_optimization(
    model: Model,
    q: ArrayLike,
    u: ArrayLike,
    torque: ArrayLike,
    time: ArrayLike | None = None,
    *,
    power: float = 2.0,
    reserves: Reserves = (),
    backend: str = "kernel",
) -> StaticOptimization:
    """Activations for the torques (..., nu) at q (..., nq), u (..., nu), all poses in one call.

    torque    generalized forces that muscles and reserves have to produce together with the model's limits, as
              `myoquat.dynamics.inverse_dynamics` gives them.
    time      (...) [s] of the poses: forces that depend on it act, and controls and activations that the model
              prescribes by its `inputs` have their values. Activations do not lag behind excitations here.
    power     p, from 2 to 10.
    reserves  as in `redundancy`: R_j > 0 [N m, N] for all free velocities, or by name, and none by default.
    backend   "kernel" compiles the solver at its first use for each size of problem; "numpy" does without.

    Locked coordinates need no torque. Those driven by couplers or constraints pass theirs on to what drives them, and
    poses must lie on the constraints (`myoquat.dynamics.constraints.assemble`). Activations reach
    from `minimum_activation` of a muscle's law, or 0, to 1. Elastic tendons are taken as rigid, as OpenSim's static
    optimization takes them. Raises ValueError for values that do not fit, for a model whose forces or inputs depend on
    a time that is not given, and as `muscle_forces` does.

    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment import static_optimization
    >>> from myoquat.muscle import ExponentialMuscle, PathPoint
    >>> rod = mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0)
    >>> path = (PathPoint("ground", (0.0, 0.0, 0.4)), PathPoint("rod", (0.3, 0.0, 0.0)))
    >>> model = mq.Model(mq.ArticulatedSystem((rod,)), (mq.Muscle("biceps", path, ExponentialMuscle(0.5, 100.0)),))
    >>> found = static_optimization(model, [0.0], [0.0], [-12.0], reserves=1e-3)
    >>> found.activation.round(3)  # 12 N m / 0.24 m / 100 N
    array([0.5])
    """
    check_types(model=(model, Model))
    model = model.with_rigid_tendons()
    system = model.system
    q, u = system.check_q(q), system.check_u(u)
    torque = check_array("torque", torque)
    if torque.shape[-1:] != (system.nu,) or not np.isfinite(torque).all():
        raise ValueError(f"torque must be finite, (..., {system.nu}), not {torque.shape}")
    if not 2 <= power <= 10:
        raise ValueError(f"power must lie in [2, 10], not {power}")
    t = None if time is None else check_array("time", time)
    if t is None and model.inputs:
        raise ValueError(f"time: the model prescribes {model.inputs[0].name!r} over time; give the time of the poses")
    at = () if t is None else t.shape
    batch = np.broadcast_shapes(q.shape[:-1], u.shape[:-1], torque.shape[:-1], at)
    q, u, torque = (
        np.broadcast_to(x, (*batch, x.shape[-1])).reshape(math.prod(batch), x.shape[-1]) for x in (q, u, torque)
    )
    t = None if t is None else np.broadcast_to(t, batch).reshape(-1)
    times = np.zeros(len(q)) if t is None else t
    driven, given = (InputsOverTime(model.inputs, names).prescribed(times)
                     for names in (model.control_names, model.muscle_names))  # fmt: skip
    controls = vector([driven.get(n, 0.0 * times) for n in model.control_names]) if driven else None
    if model.limits or model.forces or driven:
        torque = torque - acting_torques(model, q, u, t, controls=controls)
    if not len(q):
        return _of_no_poses(model, batch)
    demands = Demands(model, (q, u), torque, reserves, time=0.0 if t is None else t)
    if model.muscles:
        demands.prescribe(vector([given.get(name, np.full(len(q), np.nan)) for name in model.muscle_names]))
    found = Recruitment(demands, Effort(power), backend, neighbours=False).found
    a = found.x[:, : len(model.muscles)]
    force = demands.tensions(a)
    pulled = matvec(demands.arms.mT, force)
    rest = demands.torque - pulled
    parts = [x.reshape(*batch, x.shape[-1]) for x in (a, force, pulled, rest)]
    effort, converged = found.objective.reshape(batch), are_met(found.status).reshape(batch)
    return StaticOptimization(model, demands.names, parts[0], parts[1], parts[2], parts[3], effort, converged)


# ---- parts -------------------------------------------------------------------------------------------------


def _of_no_poses(model: Model, batch: tuple[int, ...]) -> StaticOptimization:
    """The result for a batch without poses, as path lengths and muscle forces of it are: empty."""
    names, _ = free_velocities(model, model.start[None])
    muscles, free = np.zeros((*batch, len(model.muscles))), np.zeros((*batch, len(names)))
    none = np.zeros(batch)
    return StaticOptimization(model, names, muscles, muscles, free, free, none, none.astype(bool))
