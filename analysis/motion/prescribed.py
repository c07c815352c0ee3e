"""What a model prescribes by its own `inputs` along a motion: the one rule of all analyses of motions.

A simulation obeys the inputs, unless a call gives others. Along a motion they are known as well. Controls that are
prescribed act with their values, and muscles that are prescribed have their activations. Both are no unknowns.
"""

import numpy as np

from myoquat.core import Array, scipy
from myoquat.muscle.actuators import delayed, delayed_rates
from myoquat.muscle.inputs import InputsOverTime
from myoquat.muscle.model import Model
from myoquat.muscle.states import activation_rates

TOLERANCE = 1e-9  # of activations that follow prescribed inputs with a delay


def prescribed_controls(model: Model, time: Array) -> Array | None:
    """(t, k) of the model's actuators at times (t,) [s], zero where nothing is prescribed; None where nothing is at
    all. Activations of delayed actuators, which start at their own at the first time, stand in place of controls."""
    inputs = InputsOverTime(model.inputs, model.control_names)
    if not inputs.prescribed(time):
        return None
    values = np.array(inputs.values(time))
    columns = list(delayed(model))
    if columns:
        start = np.array([actuator.activation for actuator in delayed(model).values()])
        values[:, columns] = _followed(time, start, lambda t, a: delayed_rates(model, inputs.values(t), a))
    return values


def prescribed_activations(model: Model, time: Array) -> Array | None:
    """(t, m) of the muscles at times (t,) [s], NaN where nothing is prescribed; None where nothing is at all.

    Muscles with activation dynamics follow their excitations from the activation that the model names, or from the
    excitation at the first time.
    """
    inputs = InputsOverTime(model.inputs, model.muscle_names)
    names = inputs.prescribed(time).keys()
    if not names:
        return None
    values, excited = np.array(inputs.values(time)), [m.activation_dynamics is not None for m in model.muscles]
    if any(excited):
        named = np.array([np.nan if m.activation is None else m.activation for m in model.muscles])
        start = np.where(np.isnan(named), values[0], named)
        followed = _followed(time, start, lambda t, a: activation_rates(model, inputs.values(t), a))
        values = np.where(excited, followed, values)
    return np.where([name in names for name in model.muscle_names], values, np.nan)


def _followed(time: Array, start: Array, rate: object) -> Array:
    """(t, n) the solution of da/dt = rate(t, a) from the start at the first time."""
    if len(time) < 2:
        return np.tile(start, (len(time), 1))
    run = scipy.integrate.solve_ivp(rate, (time[0], time[-1]), start, t_eval=time, rtol=TOLERANCE, atol=TOLERANCE,
                                    max_step=float(np.diff(time).max()))  # fmt: skip
    return run.y.T
