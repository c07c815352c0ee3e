"""Activations, excitations, controls and torques as a simulation takes them: constants, tables, functions."""

import math
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import field
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

import numpy as np

from myoquat.core import Array, ArrayLike, Pair, frozen, real_array
from myoquat.kernels import LinearInterpolation, is_symbolic
from myoquat.muscle.inputs import InputsOverTime

# --------------------------------------------------------------------------------------------------------------
#
# Inputs that depend on the state: feedback laws, compiled into the equations or sampled as a digital controller.


Law = Callable[[Array, Array, Array], ArrayLike]


@frozen
class StateFeedback:
    """An input of `simulate` that is a function of time and state, such as a controller or a reflex.

    law     of t [s], q (..., nq), u (..., nu), for batches; t broadcasts with q[..., 0]. It returns (..., n): torque
            (nu,) [N m, N], activations or excitations (m,) in [0, 1], or controls (k,).
    period  None: the law acts at every stage of every step, as a part of the equations of motion. It is compiled with
            them and must be NumPy on arrays, with `np.where` in place of `if`. It costs what its operations cost.
            A period [s]: a digital controller. The law is called as plain Python once a period on the whole batch, and
            its values are held in between. Any code will do; a call costs some 50 us beside its own time. Needs a
            method of fixed step, of which the period is a whole number of steps.

    Values out of range raise a ValueError. A sampled law is checked at every call, a compiled one at the start and at
    the stored rows.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> sled = mq.Body("sled", "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=2.0)
    >>> spring = mq.dynamics.StateFeedback(lambda t, q, u: -8.0 * q)  # sqrt(8 / 2) = 2 rad/s
    >>> motion = mq.simulate(mq.ArticulatedSystem((sled,)), [1.0], [0.0], np.pi / 2, torque=spring)
    >>> bool(abs(motion.q[-1, 0] + 1) < 1e-9), motion.torque[-1].round(6)
    (True, array([8.]))
    """

    law: Law
    period: float | None = None  # [s]

    def __post_init__(self) -> None:
        if not callable(self.law):
            raise TypeError(f"StateFeedback: law must be a function of (t, q, u), not {type(self.law).__name__}")
        if self.period is not None and not (math.isfinite(self.period) and self.period > 0):
            raise ValueError(f"StateFeedback: period must be positive and finite [s], not {self.period!r}")


def check_returned(
    name: str, returned: ArrayLike, batch: tuple[int, ...], check: Callable[[ArrayLike], Array],
    missing: Array | bool = False,
) -> Array:  # fmt: skip
    """(*batch, n) what a law returned for states of a batch, checked; NaN where there is no state: `missing`
    (*batch,)."""
    if isinstance(returned, (list, tuple)):
        raise TypeError(
            f"{name}: the feedback returned a {type(returned).__name__}; return an array (..., n), such as "
            "np.stack(entries, axis=-1)"
        )
    values = real_array(f"{name}: what the feedback returns", returned)
    try:
        values = np.broadcast_to(values, (*batch, *values.shape[-1:]))
    except ValueError:
        raise ValueError(
            f"{name}: the feedback returned shape {values.shape} for a batch of shape {batch}; a law works on batches"
        ) from None
    gone = np.asarray(missing)[..., None]
    return np.where(gone, np.nan, check(np.where(gone, 0.0, values)))


Check = Callable[[ArrayLike], Array]
# constants or a pair (times, values); a function of time; a function of time and state
InputOverTime: TypeAlias = ArrayLike | Callable[[float], ArrayLike]
if TYPE_CHECKING:
    ControlLike: TypeAlias = InputOverTime | StateFeedback
else:

    class ControlLike:
        """An input over time, or a `StateFeedback`: one word in `help`."""

        __module__ = "builtins"


@frozen
class Inputs:
    """What acts on a model in a simulation.

    Inputs are constants (..., n), a pair (times (k,), values (..., k, n)) with linear interpolation, functions of t, or
    `StateFeedback`s. Where neither excitation nor controls are there, the model's own `inputs` hold.

    activation     (m,) in [0, 1], the model's own by default. With activation dynamics this is its start
    torque         (nu,) on u [N m, N], zero by default
    excitation     (m,) input of muscles with activation dynamics; it and activation default to each other
    muscle_states  (..., ns) start of `myoquat.muscle.state_names`, such as the fiber lengths [m] of elastic tendons; by
                   default in equilibrium at rest. Stiff tendons need small steps, or radau: a StiffnessWarning says so
    parameters     numbers of the model by name or pattern (`myoquat.muscle.parameter_names`), arrays (...)
    controls       (k,) of the model's actuators (`Model.control_names`), zero by default

    >>> import myoquat as mq
    >>> from myoquat.dynamics import Inputs
    >>> model = mq.load_model("two_link")
    >>> half, full = (mq.simulate(model, inputs=Inputs(activation=[a] * 6), duration=0.1) for a in (0.5, 1.0))
    >>> bool((half.q[-1] == full.q[-1]).all())
    False
    """

    activation: ControlLike | None = None
    torque: ControlLike | None = None
    excitation: ControlLike | None = None
    muscle_states: ArrayLike | None = None
    parameters: Mapping[str, ArrayLike] = field(default_factory=dict)
    controls: ControlLike | None = None


class Control:
    """One input over time.

    given  (..., n) constant in time, per batch element or for all. Or a pair (times (k,), values (..., k, n)), linear
           in between and constant outside. Or a function of t that returns (..., n).
    check  validates values (..., n).
    table  the times (k,) and values (..., k, n) of a table, as they were checked; None for another input.
    """

    def __init__(self, name: str, given: InputOverTime, check: Check) -> None:
        self.name = name
        self._check: Check = lambda values: check_numbers(name, check(values))
        self._function: Callable[[float], ArrayLike] | None = given if callable(given) else None
        self.table: Pair | None = None
        if _is_pair(given):
            self.table = _table(name, given[0], self._check(given[1]))
        elif not callable(given):
            self._constant = self._check(given)

    @property
    def constant(self) -> bool:
        """True for values that do not change with time."""
        return self.table is None and self._function is None

    def over(self, start: float, h: float, steps: int) -> LinearInterpolation | Array:
        """What a step loop takes for `steps` steps of `h` from `start`: exact at the steps and halfway between."""
        if self.table is not None:
            return LinearInterpolation(*self.table)
        if self._function is None:
            return self._constant
        times = start + h / 2 * np.arange(2 * steps + 1)
        return LinearInterpolation(times, self.at(times))

    def at(self, times: Array) -> Array:
        """(..., t, n) at times (t,)."""
        if self.table is not None:
            return _interpolated(*self.table, times)
        function = self._function
        if isinstance(function, InputsOverTime):
            return self._check(function(times))
        if function is not None:
            return self._check(np.stack([real_array(self.name, function(float(t))) for t in times], axis=-2))
        constant: Array = self._constant[..., None, :]
        *batch, _, n = constant.shape
        return constant if len(times) == 1 else np.broadcast_to(constant, (*batch, len(times), n))

    def of_element(self, where: tuple[int, ...]) -> "Control":
        """The input of the element `where` of a batch."""
        if not where:
            return self
        found, function, check = copy(self), self._function, self._check
        if self.table is not None:
            found.table = (self.table[0], element(self.table[1], where, 2))
        elif function is None:
            found._constant = element(self._constant, where)
        elif isinstance(function, InputsOverTime):
            found._function = function.of_element(where)
        else:
            found._function = lambda t: element(check(function(t)), where)
        return found

    @property
    def knots(self) -> Array:
        """Times at which the input has a kink; an adaptive method starts anew there."""
        if isinstance(self._function, InputsOverTime):
            return self._function.kinks
        return np.zeros(0) if self.table is None else self.table[0]


def check_numbers(name: str, array: Array) -> Array:
    """The array; TypeError, naming it, if it holds symbols."""
    if is_symbolic(array):
        raise TypeError(f"{name}: a simulation takes numbers, not symbols; formulas such as forward_dynamics take both")
    return array


def element(values: Array, where: tuple[int, ...], axes: int = 1) -> Array:
    """The values of one element of a batch: `where` indexes the leading axes of values, which broadcast; the last
    `axes` axes are kept."""
    leading = values.ndim - axes
    index = where[len(where) - leading :] if leading else ()
    return values[tuple(i if n > 1 else 0 for i, n in zip(index, values.shape, strict=False))]


def is_constant(given: ControlLike) -> bool:
    """True for values that do not change with time."""
    return not callable(given) and not _is_pair(given) and not isinstance(given, StateFeedback)


def compiled_feedback(inputs: Inputs) -> dict[str, StateFeedback]:
    """The inputs that are feedback without a period, by name: they are compiled into the equations."""
    given = {name: getattr(inputs, name) for name in ("activation", "torque", "excitation", "controls")}
    return {name: f for name, f in given.items() if isinstance(f, StateFeedback) and f.period is None}


def check_no_feedback(inputs: Inputs) -> None:
    """ValueError for an input that is feedback, where values are needed."""
    for name, given in vars(inputs).items():
        if isinstance(given, StateFeedback):
            raise ValueError(f"{name}: feedback is no input of these equations; only simulations take it")


def _is_pair(given: ControlLike) -> TypeGuard[tuple[ArrayLike, ArrayLike]]:
    return isinstance(given, (tuple, list)) and len(given) == 2 and np.ndim(given[0]) == 1 and np.ndim(given[1]) > 1


def _table(name: str, times: ArrayLike, values: Array) -> Pair:
    times = real_array(f"{name}: times", times)
    if times.shape != values.shape[-2:-1] or not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise ValueError(
            f"{name}: a pair (times, values) needs increasing times ({values.shape[-2]},) for values {values.shape}, "
            f"not times {times.shape}"
        )
    return times, values


def _interpolated(times: Array, values: Array, t: Array) -> Array:
    """(..., t, n) linear between the rows of values (..., k, n), constant outside."""
    if len(times) == 1:
        return np.repeat(values, len(t), axis=-2)
    k = np.clip(np.searchsorted(times, t, side="right") - 1, 0, len(times) - 2)
    share = np.clip((t - times[k]) / (times[k + 1] - times[k]), 0.0, 1.0)[:, None]
    return values[..., k, :] * (1 - share) + values[..., k + 1, :] * share
