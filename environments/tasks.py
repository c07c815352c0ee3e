"""Tasks: situations, starts, observations, rewards and ends of episodes, and those of poses, reaching and standing."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import field
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from myoquat.core import Array, ArrayLike, check_types, frozen, real_array
from myoquat.joints import frames
from myoquat.joints.evaluation import system_of
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.quaternion import quaternion_exp, quaternion_multiply, rotation_matrix
from myoquat.joints.vectors import joined, matvec, vecmat
from myoquat.muscle.coordinates import Marker
from myoquat.muscle.model import Model


@frozen
class Situation:
    """A state as the formulas of a `Task` take it, with any leading axes (...).

    time          (...,) [s] since the reset
    q             (..., nq)
    u             (..., nu)
    activation    (..., m) of the muscles that have activation dynamics
    goal          (..., g) the numbers that the task drew
    control_step  [s] between two actions
    model         with the numbers of this state where some of them vary

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.environments import Situation
    >>> model = mq.load_model("two_link")
    >>> q, none = np.array([1.0, 0, 0, 0] * 2), np.zeros(0)
    >>> from myoquat.muscle.coordinates import Marker
    >>> tip = Marker("tip", "B", (0.0, 0.0, -1.0))
    >>> Situation(0.0, q, np.zeros(6), none, none, 0.02, model).points([tip]) + 0.0  # in the world [m]
    array([ 0.,  0., -2.])
    """

    time: Array
    q: Array
    u: Array
    activation: Array
    goal: Array
    control_step: float
    model: Model | ArticulatedSystem

    def points(self, markers: Sequence[Marker]) -> Array:
        """(..., 3 k) where k markers are in the world [m], one after the other."""
        system = system_of(self.model)
        return joined([frames.pose(system, self.q, m.body, np.array(m.position))[1] for m in markers])


MAX_CONTROL_STEPS = 1_000_000  # of the integrator in one action


class Start(NamedTuple):
    """What a reset begins with: q (n, nq), u (n, nu) and the goal's numbers (n, g).

    >>> import numpy as np
    >>> from myoquat.environments import Start
    >>> Start(np.zeros((3, 1)), np.zeros((3, 1)), np.zeros((3, 2))).goal.shape
    (3, 2)
    """

    q: Array
    u: Array
    goal: Array


@frozen
class Task(ABC):
    """A model and the formulas of a task. Derive from it, and write `begin`, `observe` and `terms`.

    model        with muscles, actuators or both; actions set their excitations and controls. Those that the model's
                 own `inputs` prescribe follow these instead, and have no column in the actions.
    step         [s] of the integrator; an action holds for `control_steps` of them.
    horizon      number of actions after which an episode is truncated.
    weights      of the terms in the reward.
    excitation_range  lowest and highest excitation of muscles.
    start_time   [s] of functions of the time, such as forces and `inputs` of the model, where each episode begins.

    `observe` and `terms` are plain NumPy on the last axes of a `Situation`. They are compiled for many states side by
    side, or evaluated by NumPy on the batch if a class sets `compiled = False`. ValueError for numbers that are not
    positive, for `control_steps` or `horizon` that are not whole, and for more than a million `control_steps`.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.environments import Environment, Start, Task
    >>> class Rest(Task):  # hang still
    ...     def begin(self, shares):
    ...         still = np.zeros((len(shares), self.model.system.nu))
    ...         return Start(np.tile(self.model.start, (len(shares), 1)), still, np.zeros((len(shares), 0)))
    ...     def observe(self, situation):
    ...         return np.concatenate([situation.q, situation.u], axis=-1)
    ...     def terms(self, situation):
    ...         speed = np.sqrt((situation.u**2).sum(axis=-1))
    ...         return {"speed": -speed, "solved": np.where(speed < 0.1, 1.0, 0.0), "done": 0.0 * speed}
    >>> env = Environment(Rest(mq.load_model("two_link"), weights={"speed": 1.0}))
    >>> env.reset(seed=0)[0].shape
    (14,)
    """

    model: Model
    step: float = 0.002
    control_steps: int = 10
    horizon: int = 100
    weights: Mapping[str, float] = field(default_factory=dict)
    excitation_range: tuple[float, float] = (0.0, 1.0)
    start_time: float = 0.0

    compiled = True

    def __post_init__(self) -> None:
        check_types(model=(self.model, Model), weights=(self.weights, Mapping))
        for name in ("step", "control_steps", "horizon"):
            value: Any = getattr(self, name)
            if not isinstance(value, (int, float, np.number)):
                raise TypeError(f"{name} must be a number, not {value!r}")
            if not (value > 0 and np.isfinite(value)):
                raise ValueError(f"{name} must be positive, not {value!r}")
            if name != "step" and not isinstance(value, Integral):
                raise ValueError(f"{name} must be a whole number, not {value!r}")
        if not np.isfinite(real_array("start_time", self.start_time)).all():
            raise ValueError(f"start_time must be finite, not {self.start_time!r}")
        if self.control_steps > MAX_CONTROL_STEPS:
            raise ValueError(f"control_steps must be at most {MAX_CONTROL_STEPS}, not {self.control_steps}")
        if not np.isfinite(real_array("weights", list(self.weights.values()))).all():
            raise ValueError(f"weights must be finite, not {dict(self.weights)}")
        ends = real_array("excitation_range", self.excitation_range)
        if ends.shape != (2,) or not 0 <= ends[0] < ends[1] <= 1:
            raise ValueError(
                f"excitation_range must be two numbers in order within [0, 1], not {self.excitation_range}"
            )

    @property
    def control_step(self) -> float:
        """[s] between two actions."""
        return self.step * self.control_steps

    @property
    def draws(self) -> int:
        """Number of random numbers that a reset takes."""
        return 0

    def _at_rest(self, q: Array, goal: Array) -> Start:
        """The start at poses q (n, nq) with velocities of zero, and the goal's numbers (n, g)."""
        return Start(q, np.zeros((len(q), self.model.system.nu)), goal)

    @abstractmethod
    def begin(self, shares: Array) -> Start:
        """The starts of n states from random numbers (n, draws), uniform in [0, 1)."""

    @abstractmethod
    def observe(self, situation: Situation) -> Array:
        """(..., o) what an agent sees."""

    @abstractmethod
    def terms(self, situation: Situation) -> dict[str, Array]:
        """Terms of the reward by name, each (...,), among them "solved" and "done", 1 where the goal is reached or the
        episode ends, and 0 elsewhere."""

    def excitations(self, actions: Array) -> Array:
        """(..., m) excitations of the muscles that actions move, from actions (..., m) in [-1, 1].

        They are 1 / (1 + exp(-5 (a - 1/2))), kept within `excitation_range`. It is the map of MyoSuite (Caggiano et
        al., MyoSuite: a contact-rich simulation suite for musculoskeletal motor control, 2022).
        """
        low, high = self.excitation_range
        excitation = 1.0 / (1.0 + np.exp(-5.0 * (actions - 0.5)))
        return np.minimum(np.maximum(excitation, low), high)

    def reward(self, terms: Mapping[str, Array]) -> Array:
        """(...,) the weighted sum of the terms; ValueError for the weight of a term that does not exist."""
        if strange := [name for name in self.weights if name not in terms]:
            raise ValueError(f"weights: the task has no term {strange[0]!r}; there are: {', '.join(terms)}")
        return sum((weight * terms[name] for name, weight in self.weights.items()), np.zeros(()))


# ---- Poses, reaching, standing -----------------------------------------------------------------------------------


@frozen
class PoseTask(Task):
    """Reach coordinates that each reset draws from [low, high], and stay there: the pose task of MyoSuite.

    low, high              (nq,) of the target.
    start_low, start_high  (nq,) of the start, uniform between them; the model's start by default.
    threshold              distance |q* - q| [rad] below which the pose is reached.

    Observation (q, u control_step, q* - q, activations); terms pose = -|q* - q|, bonus: 1 below 1.5 and 2 below 1
    thresholds, penalty = -1 and the end beyond 2 pi, act_reg = -|a| / m. Names and weights as of MyoSuite 3.0
    (`PoseEnvV0`). Quaternions of a target are those of the coordinates: give them with unit norm, low equal to high.

    >>> import myoquat as mq
    >>> from myoquat.environments import PoseTask
    >>> model = mq.load_model("two_link")
    >>> PoseTask(model, low=model.start, high=model.start).control_step
    0.02
    """

    low: ArrayLike = ()
    high: ArrayLike = ()
    start_low: ArrayLike | None = None
    start_high: ArrayLike | None = None
    threshold: float = 0.35
    weights: Mapping[str, float] = field(
        default_factory=lambda: {"pose": 1.0, "bonus": 4.0, "act_reg": 1.0, "penalty": 50.0}
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        balls = self.model.system.quaternion_indices
        for names, (low, high) in zip(("low, high", "start_low, start_high"), self._ends, strict=True):
            self.model.system.check_q(low, names)
            if (low[balls] != high[balls]).any():
                raise ValueError(
                    f"{names}: the quaternions of both must be equal: what is between them is off the sphere"
                )

    @property
    def _ends(self) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """The ends (nq,) of the target and of the start."""
        start = self.model.start
        first, last = (start if end is None else end for end in (self.start_low, self.start_high))
        target = box("low, high", self.low, self.high, len(start))
        return target, box("start_low, start_high", first, last, len(start))

    @property
    def draws(self) -> int:
        return 2 * len(self.model.start)

    def begin(self, shares: Array) -> Start:
        n, ((low, high), (first, last)) = len(self.model.start), self._ends
        q = first + (last - first) * shares[:, n:]
        return self._at_rest(q, low + (high - low) * shares[:, :n])

    def observe(self, situation: Situation) -> Array:
        s = situation
        return np.concatenate([s.q, s.u * s.control_step, s.goal - s.q, s.activation], axis=-1)

    def terms(self, situation: Situation) -> dict[str, Array]:
        error = situation.goal - situation.q
        distance = np.sqrt((error * error).sum(axis=-1))
        near, done = self.threshold, np.where(distance > 2 * np.pi, 1.0, 0.0)
        return _scored("pose", distance, (near, 1.5 * near), done, situation.activation)


def _scored(
    name: str, distance: Array, within: tuple[float, float], done: Array, activation: Array
) -> dict[str, Array]:
    """The terms of MyoSuite's poses and reaches: a bonus within each of two distances, the first of which solves."""
    solved, near = (np.where(distance < end, 1.0, 0.0) for end in within)
    return {
        name: -distance,
        "bonus": solved + near,
        "penalty": -done,
        "act_reg": -effort(activation),
        "solved": solved,
        "done": done,
    }


def effort(activation: Array) -> Array:
    """|a| / m of activations (..., m); 0 without muscles."""
    m = activation.shape[-1]
    return np.sqrt((activation * activation).sum(axis=-1)) / m if m else np.zeros(())


def box(names: str, low: ArrayLike, high: ArrayLike, n: int) -> tuple[Array, Array]:
    """low and high (n,); ValueError unless they are finite numbers in order."""
    first, second = names.split(", ")
    pair = real_array(first, low), real_array(second, high)
    if any(x.shape != (n,) or not np.isfinite(x).all() for x in pair) or (pair[0] > pair[1]).any():
        raise ValueError(f"{names}: two arrays ({n},) of finite numbers are needed, none of the first above the second")
    return pair


NEAR_PER_POINT_M = 0.0125


@frozen
class PointsTask(Task):
    """Bring k points of the model to targets: observations and rewards. Derive from it, and write `begin`, whose
    goal is the targets (n, 3 k).

    points      names of markers, or `myoquat.muscle.coordinates.Marker` records.
    far         [m] per point: beyond k far, from the third action on, an episode ends with the penalty.
    near        [m] per point: within k near the targets are reached.

    The distance is the norm over all points. Observation (q, u control_step, points, targets - points, activations);
    terms reach = -distance, bonus: 1 within 2 k near and 2 within k near, penalty, act_reg = -|a| / m. Names and
    weights as of MyoSuite 3.0 (`ReachEnvV0`). ValueError for markers that the model does not have.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.environments import PointsTask, Start
    >>> from myoquat.muscle.coordinates import Marker
    >>> class Below(PointsTask):  # straight down
    ...     def begin(self, shares):
    ...         q = np.tile(self.model.start, (len(shares), 1))
    ...         return Start(q, np.zeros((len(q), self.model.system.nu)), np.tile([0.0, 0.0, -2.0], (len(q), 1)))
    >>> Below(mq.load_model("two_link"), points=(Marker("tip", "B", (0.0, 0.0, -1.0)),)).far
    0.35
    """

    points: tuple[str | Marker, ...] = ()
    far: float = 0.35
    near: float = NEAR_PER_POINT_M
    weights: Mapping[str, float] = field(default_factory=lambda: {"reach": 1.0, "bonus": 4.0, "penalty": 50.0})

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.markers:
            raise ValueError("points: at least one marker is needed")

    @property
    def markers(self) -> tuple[Marker, ...]:
        """The points; ValueError for a name that no marker has, and for a body that does not exist."""
        known = {marker.name: marker for marker in self.model.markers}
        found = []
        for point in self.points:
            if isinstance(point, str) and point not in known:
                raise ValueError(f"points: the model has no marker {point!r}")
            marker = known[point] if isinstance(point, str) else point
            marker.check(self.model.system)
            found.append(marker)
        return tuple(found)

    def observe(self, situation: Situation) -> Array:
        s, at = situation, situation.points(self.markers)
        return np.concatenate([s.q, s.u * s.control_step, at, s.goal - at, s.activation], axis=-1)

    def terms(self, situation: Situation) -> dict[str, Array]:
        error = situation.goal - situation.points(self.markers)
        distance, k = np.sqrt((error * error).sum(axis=-1)), len(self.points)
        near, late = k * self.near, situation.time > 2.5 * situation.control_step
        done = np.where(late, np.where(distance > k * self.far, 1.0, 0.0), 0.0)
        return _scored("reach", distance, (near, 2 * near), done, situation.activation)


@frozen
class ReachTask(PointsTask):
    """Bring k points of the model to targets that each reset draws: the reach task of MyoSuite.

    low, high   (k, 3) [m] ends of the box of each target.
    targets     (t, k, 3) [m] targets to choose among instead, such as points that the model can reach.

    The other fields, the observation and the terms of the reward are those of `PointsTask`. Points are names of markers
    or `myoquat.muscle.coordinates.Marker` records. An episode ends where the distance exceeds k `far` [m].

    >>> import myoquat as mq
    >>> from myoquat.environments import ReachTask
    >>> from myoquat.muscle.coordinates import Marker
    >>> tip = Marker("tip", "B", (0.0, 0.0, -1.0))
    >>> ReachTask(mq.load_model("two_link"), points=(tip,), low=[(0, 0, -1)], high=[(0, 1, 0)]).draws
    3
    """

    low: ArrayLike = ()
    high: ArrayLike = ()
    targets: ArrayLike | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._ends()

    def _ends(self) -> tuple[Array, Array] | Array:
        """The ends of the box (3 k,) each, or the targets (t, 3 k)."""
        size = 3 * len(self.points)
        if self.targets is None:
            return box("low, high", real_array("low", self.low).ravel(), real_array("high", self.high).ravel(), size)
        targets = real_array("targets", self.targets)
        if targets.ndim != 3 or targets.shape[1:] != (len(self.points), 3) or not len(targets):
            raise ValueError(f"targets must have shape (t, {len(self.points)}, 3), t > 0, not {targets.shape}")
        return targets.reshape(-1, size)

    @property
    def draws(self) -> int:
        return 3 * len(self.points) if self.targets is None else 1

    def begin(self, shares: Array) -> Start:
        ends = self._ends()
        if isinstance(ends, tuple):
            goal = ends[0] + (ends[1] - ends[0]) * shares
        else:
            goal = ends[(shares[:, 0] * len(ends)).astype(int)]
        return self._at_rest(np.tile(self.model.start, (len(shares), 1)), goal)


ELEVATION = np.array([0.2, 0.6])  # [rad] of the arm, least and greatest


@frozen
class ShoulderReach(PointsTask):
    """The arm starts raised in a random plane; the target is the hand's place for the arm raised the opposite way. The
    straight way leads through the hanging arm, where the plane of elevation of Y-Z-Y angles is undefined.
    """

    @property
    def draws(self) -> int:
        return 3

    def begin(self, shares: Array) -> Start:
        plane = 2 * np.pi * shares[:, 0]
        first, last = (ELEVATION[0] + (ELEVATION[1] - ELEVATION[0]) * shares[:, k] for k in (1, 2))
        q, system = self.raised(plane, first), self.model.system
        (hand,) = self.markers
        goal = frames.pose(system, self.raised(plane + np.pi, last), hand.body, np.array(hand.position))[1]
        return self._at_rest(q, goal)

    def raised(self, plane: Array, elevation: Array) -> Array:
        """(n, nq) the model's start with the arm raised by `elevation` (n,) about horizontal axes at the angles `plane`
        (n,) [rad]."""
        q = np.tile(self.model.start, (len(plane), 1))
        axis = np.stack([np.cos(plane), 0 * plane, np.sin(plane)], axis=-1)
        q[:, self.model.system.quaternion_slices()[-1]] = quaternion_exp(elevation[:, None] * axis)
        return q


@frozen
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
        if self.model.system.bodies[0].joint.span != "all":
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
        start = self._at_rest(q, np.zeros((len(q), 0)))
        at = Situation(np.zeros(len(q)), q, start.u, start.goal, start.goal, 0.0, model).points(self.markers)
        return start._replace(goal=at + low + (high - low) * shares[:, nq:])

    def observe(self, situation: Situation) -> Array:
        s, at = situation, situation.points(self.markers)
        turn = np.asarray(self.turn)
        Q = quaternion_multiply(s.q[..., 3:7], turn)
        omega, v = vecmat(s.u[..., 3:6], rotation_matrix(turn)), s.u[..., :3]
        joint: Any = self.model.system.bodies[0].joint
        if joint.velocity_frame != "parent":  # of the root in the world
            v = matvec(rotation_matrix(s.q[..., 3:7]), v)
        u = np.concatenate([v, omega, s.u[..., 6:]], axis=-1)
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
