"""Events: a quantity of the motion crosses a value."""

import contextlib
import inspect
import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from myoquat.core import Array, frozen, indices_of
from myoquat.dynamics.composite import mass
from myoquat.dynamics.equations import forward_dynamics
from myoquat.dynamics.integrators import StateEquations
from myoquat.dynamics.regularity import check_pose
from myoquat.joints import CoordinateWarning, ModelError
from myoquat.joints.evaluation import SystemLike, system_of
from myoquat.joints.locks import near_locks
from myoquat.kernels import Outcome
from myoquat.muscle import path_lengths

from .controls import Control, element
from .methods import Run


@frozen
class Event:
    """value(t, q, u) or value(model, t, q, u), a smooth number, becomes zero: rising (direction 1), falling (-1) or
    either way (0).

    A terminal event ends the simulation. `Event.coordinate` and `Event.length` make the usual ones. An argument with a
    default does not count: value(t, q, u, limit=0.5) gets three. Activations are not given. Raises ValueError for a
    function that takes neither three nor four arguments, and for an unknown direction. It is raised too for one of four
    arguments whose first is named t or time, as in (t, q, u, a).

    >>> import myoquat as mq
    >>> from myoquat.dynamics import Event
    >>> bob = mq.Body("bob", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=1.0, center_of_mass=(0, 0, -1.0))
    >>> event = Event.coordinate("bob.angle", at=0.0, terminal=True)
    >>> way = mq.simulate(mq.ArticulatedSystem((bob,)), [0.1], [0.0], duration=2.0, rtol=1e-9, events=[event])
    >>> float(way.time[-1].round(3))  # [s] a quarter of a swing, 2 pi sqrt(l / g) / 4 if it is small
    0.502
    """

    name: str
    value: Callable[..., float]
    direction: int = 0
    terminal: bool = False

    def __post_init__(self) -> None:
        if self.direction not in (-1, 0, 1):
            raise ValueError(f"event {self.name!r}: direction is -1, 0 or 1, not {self.direction!r}")
        count, signature = _arguments(self.value)
        if count is None:
            raise ValueError(f"event {self.name!r}: its function takes (t, q, u) or (model, t, q, u)")
        if count == 4 and signature is not None and next(iter(signature.parameters), "") in ("t", "time"):
            raise ValueError(
                f"event {self.name!r}: its function takes {signature}; a function of four arguments is given "
                "(model, t, q, u), one of three (t, q, u). Activations are not given"
            )

    def at(self, model: SystemLike, t: float, q: np.ndarray, u: np.ndarray) -> float:
        """The value at the time t [s], coordinates q (nq,) and velocities u (nu,)."""
        given = (t, q, u) if _arguments(self.value)[0] == 3 else (model, t, q, u)
        return float(self.value(*given))

    @classmethod
    def coordinate(cls, name: str, at: float, direction: int = 0, terminal: bool = False) -> "Event":
        """The coordinate `name`, or an angle that a quaternion has replaced, passes the value `at`."""
        return cls(name, lambda model, t, q, u: float(system_of(model).coordinate(name, q)) - at, direction, terminal)

    @classmethod
    def length(cls, muscle: str, at: float, direction: int = 0, terminal: bool = False) -> "Event":
        """The path of a muscle passes the length `at` [m]."""

        def value(model: Any, t: float, q: np.ndarray, u: np.ndarray) -> float:
            (k,) = indices_of("muscle", (muscle,), model.muscle_names)
            return float(path_lengths(model, q)[k] - at)

        return cls(muscle, value, direction, terminal)

    def crossed(self, before: float, after: float) -> bool:
        """True if the value went through zero in the event's direction."""
        rising, falling = before < 0 <= after, before > 0 >= after
        return (rising and self.direction >= 0) or (falling and self.direction <= 0)


def _arguments(function: Callable[..., Any]) -> tuple[int | None, inspect.Signature | None]:
    """How many arguments an event gives its function, and its signature: three where it needs no fourth, else four;
    None if it takes neither. A function whose signature is not known, or that takes any number, is given four."""
    try:
        signature = inspect.signature(function)
    except ValueError:
        return 4, None
    any_number = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in signature.parameters.values())
    for count in (4,) if any_number else (3, 4):
        try:
            signature.bind(*range(count))
        except TypeError:
            continue
        return count, signature
    return None, signature


@frozen
class Occurrence:
    """An event that happened: its name, when [s], and the state then.

    >>> import myoquat as mq
    >>> from myoquat.dynamics import Event
    >>> sled = mq.Body("sled", "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=1.0)
    >>> event = Event.coordinate("sled.position", at=0.5)
    >>> way = mq.simulate(mq.ArticulatedSystem((sled,)), [0.0], [1.0], duration=1.0, rtol=1e-6, events=[event])
    >>> [(found.name, round(found.time, 6), found.u.round(6).tolist()) for found in way.occurrences]
    [('sled.position', 0.5, [1.0])]
    """

    name: str
    time: float
    q: np.ndarray
    u: np.ndarray


# ---- What a warning says about simulations that stopped before their end ------------------------------------------


FAILED = [outcome for outcome in Outcome if outcome.failed]


def stop_message(
    equations: StateEquations, run: Run, controls: Mapping[str, Control], parameters: Array | None
) -> str | None:
    """Time, state and |udot| of the first state that failed; None if none did."""
    if np.all(run.reason == int(Outcome.COMPLETED)):  # most calls: `isin` takes five times as long
        return None
    failed = np.isin(run.reason, FAILED)
    if not failed.any():
        return None
    where = tuple(int(i) for i in np.argwhere(failed)[0]) if run.reason.ndim else ()
    time, q, u = float(run.stopped[where]), run.final_q[where], run.final_u[where]
    values = {name: element(control.at(np.array([time]))[..., 0, :], where) for name, control in controls.items()}
    values["own"] = run.final_own[where]
    own, norm = equations if parameters is None else equations.fixed(element(parameters, where)), math.nan
    with np.errstate(all="ignore"), warnings.catch_warnings(), contextlib.suppress(ValueError):
        warnings.simplefilter("ignore", CoordinateWarning)  # that the pose is far away is said
        tau = own.force(np.array(time), q, u, values)  # ValueError off the unit sphere or at a lock
        norm = float(np.linalg.norm(forward_dynamics(own.model, q, u, tau, backend="numpy")))
    which = f"state {list(where)} of {np.count_nonzero(failed)} that stopped" if where else "the simulation stopped"
    shown = [np.array2string(x, precision=4, threshold=20, max_line_width=10**6) for x in (q, u)]
    return (
        f"{which} at t = {time:.6g} s: {Outcome(run.reason[where]).sentence}; last good state q = {shown[0]}, "
        f"u = {shown[1]}, |udot| = {norm:.6g}. Rows after it are NaN; {_advice(equations, q)}"
    )


def _advice(equations: StateEquations, q: Array) -> str:
    """What may help at the pose q (nq,): what to do about locks near it, or another pose, where the mass matrix is
    singular there."""
    if np.isfinite(q).all() and (locks := near_locks(equations.system, q)):
        return (
            f"{locks}; describe such joints by quaternions, with_rotations('quaternion'), and set the inertia of frames"
            " that follow them to zero"
        )
    if not equations.constraints and np.isfinite(q).all():
        try:
            check_pose(equations.system, mass(equations.system, q))
        except ModelError as error:
            return error.message
    return "a smaller step, or method='radau' where forces are stiff, may help"
