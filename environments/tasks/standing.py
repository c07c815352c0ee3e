"""Stand still, with a point of the body over a target."""

from collections.abc import Mapping
from dataclasses import field

import numpy as np

from myoquat.core.arguments import real_array
from myoquat.core.records import dataclass
from myoquat.core.typing import Array, ArrayLike
from myoquat.environments.task import Situation, Start
from myoquat.environments.tasks.pose import box, effort
from myoquat.environments.tasks.reach import PointsTask
from myoquat.joints.quaternion import quaternion_multiply, rotation_matrix
from myoquat.joints.types import FloatingJoint
from myoquat.joints.vectors import matvec, vecmat

__all__ = ["StandTask"]


@dataclass(frozen=True)
class StandTask(PointsTask):
    """Stand, with k points over targets near them, and hold still: the standing task of MyoSuite.

    pose                   (nq,) about which a reset draws hinges and slides; the model's start by default.
    spread                 [rad or m] of that draw, uniform on both sides, cut off at the ranges of coordinates.
    target_low, target_high  (k, 3) [m] of the targets from the points at the pose that was drawn.
    turn                   unit quaternion from the axes of the root in which it is observed to those of the model.

    The first joint of the model is a free joint. Coordinates that others drive follow them. The observation is (q, u
    control_step, points, targets - points, activations), with the linear velocity of the root in the world. The terms
    are reach = 10 - distance - 10 |u control_step|, bonus, penalty, and act_reg = -100 |a| / m. Beyond k `far` from the
    third action on, an episode ends: the body has fallen. Names and weights are those of MyoSuite 3.0
    (`LegReachEnvV0`). ValueError for a model whose first joint is another one.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.environments import StandTask
    >>> from myoquat.muscle.actuators import TorqueActuator
    >>> from myoquat.muscle.coordinates import Marker
    >>> box = mq.Body("box", "ground", mq.joints.FloatingJoint(), mass=1.0, inertia=(0.1, 0.1, 0.1, 0, 0, 0))
    >>> motor = TorqueActuator("turn", "box", "ground", axis=(0, 0, 1), optimal_force=1.0, lower=-1.0, upper=1.0)
    >>> model = mq.Model(mq.ArticulatedSystem((box,)), actuators=(motor,))
    >>> StandTask(model, points=(Marker("top", "box", (0.0, 0.0, 1.0)),)).draws
    10
    """

    pose: ArrayLike | None = None
    spread: float = 0.0
    target_low: ArrayLike | None = None
    target_high: ArrayLike | None = None
    turn: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    near: float = 0.05
    far: float = 0.44
    horizon: int = 150
    weights: Mapping[str, float] = field(
        default_factory=lambda: {"reach": 1.0, "bonus": 4.0, "penalty": 50.0, "act_reg": 1.0}
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.model.system.bodies[0].joint, FloatingJoint):
            raise ValueError("model: the first joint of a body that stands is a free joint")
        if len(self._pose) != self.model.system.nq:
            raise ValueError(f"pose must have {self.model.system.nq} numbers, not {len(self._pose)}")
        if not 0 <= self.spread < np.inf:
            raise ValueError(f"spread must not be negative, not {self.spread!r}")
        self._targets()

    @property
    def _pose(self) -> Array:
        return real_array("pose", self.model.start if self.pose is None else self.pose)

    def _targets(self) -> tuple[Array, Array]:
        """(3 k,) [m] ends of the box of targets, from the points."""
        size = 3 * len(self.points)
        given = {"target_low": self.target_low, "target_high": self.target_high}
        low, high = (np.zeros(size) if x is None else real_array(n, x).ravel() for n, x in given.items())
        return box("target_low, target_high", low, high, size)

    @property
    def draws(self) -> int:
        return self.model.system.nq + 3 * len(self.points)

    def begin(self, shares: Array) -> Start:
        model, nq = self.model, self.model.system.nq
        names = list(model.system.coordinate_names)
        q = np.tile(self._pose, (len(shares), 1))
        for coordinate in model.coordinates:
            k = names.index(coordinate.name)
            moved = q[:, k] + self.spread * (2.0 * shares[:, k] - 1.0)
            q[:, k] = moved if coordinate.range is None else np.clip(moved, *coordinate.range)
        for coupler in model.couplers:
            driver = q[:, names.index(coupler.independent)]
            q[:, names.index(coupler.dependent)] = coupler.function.value(driver)
        low, high = self._targets()
        nothing = np.zeros((len(q), 0))
        here = Situation(np.zeros(len(q)), q, np.zeros((len(q), model.system.nu)), nothing, nothing, 0.0, model)
        goal = here.points(self.markers) + low + (high - low) * shares[:, nq:]
        return Start(q, np.zeros((len(q), model.system.nu)), goal)

    def observe(self, situation: Situation) -> Array:
        s, at = situation, situation.points(self.markers)
        turn = np.asarray(self.turn)
        Q = quaternion_multiply(s.q[..., 3:7], turn)
        omega = vecmat(s.u[..., 3:6], rotation_matrix(turn))
        u = np.concatenate([self._root_velocity(s), omega, s.u[..., 6:]], axis=-1)
        q = np.concatenate([s.q[..., :3], Q, s.q[..., 7:]], axis=-1)
        return np.concatenate([q, u * s.control_step, at, s.goal - at, s.activation], axis=-1)

    def terms(self, situation: Situation) -> dict[str, Array]:
        found = super().terms(situation)
        u, m = situation.u * situation.control_step, situation.activation.shape[-1]
        speed = np.sqrt((u * u).sum(axis=-1))
        return {
            **found,
            "reach": 10.0 + found["reach"] - 10.0 * speed,
            "act_reg": -100.0 * effort(situation.activation) if m else found["act_reg"],
        }

    def _root_velocity(self, situation: Situation) -> Array:
        """(..., 3) [m/s] of the root in the world."""
        joint = self.model.system.bodies[0].joint
        assert isinstance(joint, FloatingJoint)
        v = situation.u[..., :3]
        return v if joint.velocity_frame == "parent" else matvec(rotation_matrix(situation.q[..., 3:7]), v)
