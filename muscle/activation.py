"""Activation dynamics: how the activation of a muscle follows its excitation."""

import numpy as np

from myoquat.core import Array, Record, frozen
from myoquat.joints import ModelError
from myoquat.joints.ranges import BelowOne, Positive, check_ranges

FORMS = ("smooth", "piecewise", "quadratic", "quintic", "linear", "integral")


@frozen
class ActivationDynamics(Record):
    """First-order activation dynamics: da/dt = (e - a) / tau for the excitation e and the activation a.

    The time constant tau is tau_a (0.5 + 1.5 a) while e is above a, and tau_d / (0.5 + 1.5 a) while it is below. The
    `form` says how:

    "piecewise" is this law as it stands [D. G. Thelen, J. Biomech. Eng. 125, 2003, eqs. 1 and 2; OpenSim's first-order
    activation dynamics].

    "smooth" blends the two by f = tanh(b (e - a)) / 2 [F. De Groote et al., Ann. Biomed. Eng. 44, 2016, eqs. 1 and 2]:

        da/dt = ((f + 0.5) / (tau_a (0.5 + 1.5 a)) + (0.5 - f) (0.5 + 1.5 a) / tau_d) (e - a).

    "quadratic" is da/dt = (e - a) (e / tau_a + 1 / tau_d) while e is above a, (e - a) / tau_d while it is below [C. C.
    Raasch, F. E. Zajac, B. Ma, W. S. Levine, J. Biomech. 30, 1997; OpenSim's Schutte1993Muscle_Deprecated].

    "quintic" is da/dt = (e - a) / (tau_d' + (tau_a' - tau_d') s), where tau_a' and tau_d' are the two time constants of
    "piecewise". They blend by s = 6 z^5 - 15 z^4 + 10 z^3 with z = (e - a) / b + 1/2 within [0, 1] [MuJoCo's
    `tausmooth`].

    "linear" is da/dt = (e - a) / tau_a while e is above a, (e - a) / tau_d while it is below. With two equal times it
    is a low-pass filter [MuJoCo's dyntype `filter`].

    "integral" is da/dt = e / tau_a - (1 - e) / tau_d, and zero where that leads out of [0, 1]. It is the set point of a
    servo, whose speed is the control [MuJoCo's dyntype `integrator`].

    activation_time     tau_a [s]
    deactivation_time   tau_d [s]
    smoothing           b
    minimum_activation  values of e and a below it count as this one

    Activations that start in [0, 1] stay there if the excitation does.

    >>> from myoquat.muscle import ActivationDynamics
    >>> dynamics = ActivationDynamics(activation_time=0.01, deactivation_time=0.04)
    >>> rising, falling = dynamics.rate(1.0, 0.5), dynamics.rate(0.0, 0.5)
    >>> float(rising.round(1)), float(falling.round(1))  # [1/s] muscles relax more slowly than they tense
    (28.4, -27.2)
    """

    activation_time: Positive = 0.015
    deactivation_time: Positive = 0.060
    form: str = "smooth"
    smoothing: Positive = 0.1
    minimum_activation: BelowOne = 0.0

    def advanced(self, activation: Array, excitations: tuple[Array, Array, Array], h: float | Array) -> Array:
        """(...) the activation after a step h (...) [s] of Runge and Kutta's method of fourth order.

        `excitations` are those at the start, the middle and the end of the step.
        """
        start, middle, end = excitations
        k1 = self.rate(start, activation)
        k2 = self.rate(middle, activation + h / 2 * k1)
        k3 = self.rate(middle, activation + h / 2 * k2)
        return activation + h / 6 * (k1 + 2 * k2 + 2 * k3 + self.rate(end, activation + h * k3))

    def rate(self, excitation: Array, activation: Array) -> Array:
        """(...) da/dt [1/s]: the formula, on floats and symbols."""
        e = np.maximum(excitation, self.minimum_activation)
        a = np.maximum(activation, self.minimum_activation)
        if self.form == "quadratic":
            faster = np.where(e >= a, e / self.activation_time, 0.0)
            return (e - a) * (faster + 1 / self.deactivation_time)
        if self.form == "integral":
            drift = e / self.activation_time - (1.0 - e) / self.deactivation_time
            return np.where(((a >= 1.0) & (drift > 0)) | ((a <= 0.0) & (drift < 0)), 0.0, drift)
        z = 1.0 if self.form == "linear" else 0.5 + 1.5 * a
        rising, falling = 1 / (self.activation_time * z), z / self.deactivation_time
        if self.form == "quintic":
            x = np.minimum(np.maximum((e - a) / self.smoothing + 0.5, 0.0), 1.0)
            s = x * x * x * (x * (6.0 * x - 15.0) + 10.0)  # rises from 0 to 1, with two derivatives zero at both
            return (e - a) / (s / rising + (1.0 - s) / falling)
        if self.form == "smooth":
            f = 0.5 * np.tanh(self.smoothing * (e - a))
            return ((f + 0.5) * rising + (0.5 - f) * falling) * (e - a)
        return np.where(e > a, rising, falling) * (e - a)

    def check(self, element: str) -> None:
        """ModelError for an unknown form or impossible numbers."""
        if self.form not in FORMS:
            raise ModelError(f"form is one of {', '.join(FORMS)}, not {self.form!r}", element=element)
        check_ranges(self, element)
