"""Tasks: situations, starts of a model, observations, rewards, and ends of episodes."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import field
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from myoquat.core import Array, check_types, frozen, real_array
from myoquat.joints import frames
from myoquat.joints.evaluation import system_of
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.vectors import joined
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
