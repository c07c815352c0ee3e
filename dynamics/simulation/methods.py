"""The methods of simulations, the numbers of a run, and a trajectory in words."""

import math
from dataclasses import field
from functools import cached_property
from numbers import Real

import numpy as np

from myoquat.core import Array, counted, frozen
from myoquat.dynamics.integrators import FIXED_STEP, FixedStep
from myoquat.joints.evaluation import SystemLike, system_of

# ---- The methods that simulations know, and the choice of one --------------------------------------------------------


BY_SCIPY = {"dop853": "DOP853", "rk45": "RK45"}  # the classes of scipy.integrate
ADAPTIVE = (*BY_SCIPY, "radau")
BY_ACCELERATION = tuple(name for name, method in FIXED_STEP.items() if method.by_acceleration)
BAUMGARTE_STEPS = 10.0  # Baumgarte's time constant in steps, where none is given
DEFAULT_RTOL = 1e-6  # relative tolerance of an adaptive method, where none is given


@frozen
class MethodChoice:
    """A method, how it keeps states on |Q| = 1 and on constraints, and, of an adaptive one, its relative tolerance."""

    name: str
    stabilization: str
    rtol: float | None = None

    @classmethod
    def of(cls, method: str, stabilization: str, rtol: float | None) -> "MethodChoice":
        """The choice that the arguments of `simulate` make: rtol asks for an adaptive method, dop853 if `method` is
        left at "rk4". Raises ValueError for what does not go together."""
        if method not in ADAPTIVE and rtol is None:
            return cls(method, stabilization)
        name = "dop853" if method == "rk4" else method
        if stabilization == "norm":
            raise ValueError(
                "stabilization 'norm' is for methods of fixed step; adaptive ones take projection, baumgarte or none"
            )
        if name not in ADAPTIVE:
            raise ValueError(f"rtol needs an adaptive method, one of {', '.join(ADAPTIVE)}, not {name!r}")
        rtol = DEFAULT_RTOL if rtol is None else rtol
        if not (isinstance(rtol, Real) and 1e-14 < rtol < 1):
            raise ValueError(f"rtol must lie between 1e-14 and 1, not {rtol!r}")
        return cls(name, stabilization, rtol)

    @property
    def adaptive(self) -> bool:
        """True for a method that chooses its steps."""
        return self.rtol is not None

    @property
    def projects(self) -> bool:
        """True if every step ends with a projection onto the constraints."""
        return self.stabilization == "projection"

    @property
    def baumgarte(self) -> bool:
        """True if the equations of motion pull the state back onto the constraints."""
        return self.stabilization == "baumgarte"

    def check_stabilization(self) -> None:
        """ValueError for a method or a stabilization that does not exist."""
        known = FIXED_STEP["rk4"].stabilizations if self.adaptive else method_named(self.name).stabilizations
        if self.stabilization not in known:
            raise ValueError(
                f"stabilization {self.stabilization!r} is unknown for method {self.name!r}; there are: "
                f"{', '.join(known)}"
            )


def method_named(name: str) -> FixedStep:
    """The fixed-step method of that name; ValueError, listing all, if there is none."""
    if name not in FIXED_STEP:
        raise ValueError(f"method {name!r} is unknown; there are: {', '.join((*FIXED_STEP, *ADAPTIVE))}")
    return FIXED_STEP[name]


# ---- Records of a computed motion, on which simulators, adaptive methods and trajectories build ----------------------


@frozen
class Run:
    """Arrays of one run for a batch (...).

    time              (t,)
    q, u              (..., t, nq) and (..., t, nu), NaN after a stop
    final_q, final_u  the last good state
    stopped           (...,) the time of the step that failed, NaN if none did
    reason            (...,) the `Outcome` of each
    own               (..., t, n) the states of muscles and actuators, activations and fiber lengths [m], in the order
                      of `StateEquations.own`
    final_own         (..., n) the last good ones

    >>> import myoquat as mq
    >>> from myoquat.dynamics import Simulator
    >>> sled = mq.Body("sled", "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=2.0)
    >>> pushed = Simulator(mq.ArticulatedSystem((sled,)), external_torque=True)
    >>> run = pushed([0.0], [0.0], 1.0, step=0.1, torque=[4.0], output_step=0.5)
    >>> run.time, run.q.ravel().round(6)  # f t^2 / (2 m)
    (array([0. , 0.5, 1. ]), array([0.  , 0.25, 1.  ]))
    """

    time: Array
    q: Array
    u: Array
    final_q: Array
    final_u: Array
    stopped: Array
    reason: Array
    own: Array
    final_own: Array


# ---- Short descriptions of what is simulated, for representations in a console and in Jupyter ------------------------


def described(model: SystemLike) -> str:
    """A model in a few words: its name, and how many bodies, velocities and muscles it has."""
    system, muscles = system_of(model), len(getattr(model, "muscles", ()))
    name = getattr(model, "name", "") or system.name or "unnamed"
    parts = [counted(len(system.bodies), "body", "bodies"), counted(system.nu, "velocity", "velocities")]
    parts += [counted(muscles, "muscle", "muscles")] if muscles else []
    return f"{name!r} ({', '.join(parts)})"


# ---- When a simulation computes and stores states --------------------------------------------------------------------


STEP_COUNT_TOLERANCE = 1e-9  # relative: 4 / 1e-3 is 4000 steps in spite of rounding
DEFAULT_STEP = 1e-3
MOST_STEPS = 10**9  # hours of computing; more are a slip of the pen


@frozen
class Timing:
    """The times of a simulation [s]: `steps` steps of `h`, of which every `every`-th one is kept.

    duration     of the simulation
    step         at most, of a fixed-step method, 1e-3 s if None; the first step of an adaptive one
    output_step  the time between stored rows, which steps fill; None for every step, which fill the duration
    start        the time at the start

    The last row is the last multiple of output_step within the duration. Raises ValueError for a time that is not
    positive and finite, or an output_step longer than the duration.
    """

    duration: float
    step: float | None = None
    output_step: float | None = None
    start: float = 0.0
    h: float = field(init=False)
    steps: int = field(init=False)
    every: int = field(init=False)

    def __post_init__(self) -> None:
        if not (isinstance(self.start, Real) and math.isfinite(self.start)):
            raise ValueError(f"start_time must be finite [s], not {self.start!r}")
        for name in ("duration", "step", "output_step"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, Real) and value > 0 and math.isfinite(value)):
                raise ValueError(f"{name} must be positive and finite [s], not {value!r}")
        duration, output_step, rows = self.duration, self.output_step, 1
        if output_step is not None:
            if duration / MOST_STEPS > output_step:
                raise ValueError(f"{duration:g} s are more than {MOST_STEPS:,} rows of {output_step:g} s")
            rows = math.floor(duration / output_step * (1 + STEP_COUNT_TOLERANCE))
            if rows < 1:
                raise ValueError(f"output_step {output_step} is longer than the duration {duration}")
        span, step = duration if output_step is None else output_step, self.step or DEFAULT_STEP
        if not math.isfinite(span / step):
            raise ValueError(f"{span:g} s are too many steps of {step:g} s")
        count = max(1, math.ceil(span / step * (1 - STEP_COUNT_TOLERANCE)))
        parts = {"h": span / count, "steps": rows * count, "every": 1 if output_step is None else count}
        for name, value in parts.items():
            object.__setattr__(self, name, value)

    @property
    def counted(self) -> "Timing":
        """Itself, of a method that takes all steps; ValueError for more than can be taken."""
        if self.steps > MOST_STEPS:
            raise ValueError(f"{self.duration:g} s are more than {MOST_STEPS:,} steps of {self.h:g} s")
        return self

    @property
    def times(self) -> Array:
        """(rows,) times of the rows after the start."""
        return np.arange(self.steps // self.every + 1) * (self.h * self.every)

    @cached_property
    def output(self) -> Array | None:
        """(rows,) times after that of the start at which an adaptive method stores rows; None for the end of every
        step."""
        if self.output_step is None:
            return None
        after = np.minimum(self.times[1:], self.duration)  # 3 times 0.1 is a little more than 0.3
        return np.minimum(self.start + after, self.end)

    @property
    def end(self) -> float:
        """The time at the end."""
        return self.start + self.duration
