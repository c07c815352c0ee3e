"""Curves of a muscle's force law, drawn by one call."""

from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from myoquat.joints.errors import ModelError
from myoquat.joints.labels import figure_label
from myoquat.joints.panels import plain_axis
from myoquat.joints.picture import Picture, curve_styles
from myoquat.muscle import ActivationDynamics, Muscle
from myoquat.muscle.laws import ForceLaw, HillLaw

__all__ = ["plot_curves"]

LAW_POINTS = 401
LEVELS = (0.0, 0.5, 1.0)  # activations


def plot_curves(muscle: Muscle | ForceLaw) -> Figure:
    """A matplotlib Figure of the curves of a force law, or of a Muscle with its activation dynamics.

    The panels of a Hill-type law are the fiber's force over its length and its speed, and the tendon's over its length.
    They are normalized, with metres, metres per second and newtons on the opposite axes. That of any other law is the
    force over the path's length at rest. That of activation dynamics is the activation over time when the excitation
    steps up and down. Raises ModelError for a muscle without law or with numbers left open, TypeError for anything
    else.

    >>> from myoquat.analysis import plot_curves
    >>> from myoquat.muscle.laws import Thelen2003
    >>> figure = plot_curves(Thelen2003(1000.0, optimal_fiber_length=0.1, tendon_slack_length=0.2))
    >>> [axes.get_xlabel() for axes in figure.axes]
    ['fiber length over the optimal one', 'lengthening speed over the greatest one', 'tendon length over the slack one']
    """
    law, dynamics = (muscle.law, muscle.activation_dynamics) if isinstance(muscle, Muscle) else (muscle, None)
    if law is None or (isinstance(law, ForceLaw) and law.open_parameters()):
        lacking = "force law" if law is None else ", ".join(law.open_parameters())
        raise ModelError(f"no {lacking} is given", element=f"muscle {getattr(muscle, 'name', '')!r}")
    if not isinstance(law, ForceLaw):
        raise TypeError(f"a force law or a muscle is wanted, not {type(law).__name__}")
    panels: list[Any] = (
        [_fiber_lengths, _fiber_speeds, _tendon_lengths] if isinstance(law, HillLaw) else [_path_lengths]
    )
    count = len(panels) + (dynamics is not None)
    figure = Picture(figsize=(4.2 * count, 4.0), layout="constrained")
    axes = np.atleast_1d(figure.subplots(1, count))
    for ax, panel in zip(axes, panels, strict=False):
        panel(ax, law)
    if dynamics is not None:
        _steps(axes[-1], dynamics)
    for ax in axes:
        plain_axis(ax)
        ax.xaxis.label.set_size(9)
        ax.yaxis.label.set_size(9)
        ax.legend(fontsize=7, frameon=False, handlelength=2.8)
    title = law.kind if not isinstance(muscle, Muscle) else f"{figure_label(muscle.name)}: {law.kind}"
    figure.suptitle(title, fontsize=10)
    return figure


def _lines(ax: Any, x: np.ndarray, curves: dict[str, np.ndarray]) -> None:
    for (name, y), style in zip(curves.items(), curve_styles(len(curves)), strict=True):
        ax.plot(x, y, linewidth=1.3, label=name, **style)


def _scales(ax: Any, length: float, x_label: str, force: float) -> None:
    """The same axes in SI units, opposite."""
    top = ax.secondary_xaxis("top", functions=(lambda x: x * length, lambda x: x / length))
    top.set_xlabel(x_label, fontsize=9)
    top.xaxis.set_major_locator(MaxNLocator(4))
    right = ax.secondary_yaxis("right", functions=(lambda y: y * force, lambda y: y / force))
    right.set_ylabel("force [N]", fontsize=9)
    for side in (top, right):
        side.tick_params(labelsize=8)


def _fiber_lengths(ax: Any, law: HillLaw) -> None:
    x = np.linspace(0.4, 1.8, LAW_POINTS)
    active, passive = law.active_force(x), law.passive_force(x)
    _lines(ax, x, {"active, a = 1": active, "passive": passive, "together": active + passive})
    ax.set(xlabel="fiber length over the optimal one", ylabel="isometric fiber force over F0", ylim=(-0.05, 2.0))
    _scales(ax, law.optimal_fiber_length, "fiber length [m]", law.max_isometric_force)


def _fiber_speeds(ax: Any, law: HillLaw) -> None:
    v, one = np.linspace(-1.1, 1.1, LAW_POINTS), np.ones(LAW_POINTS)
    curves = {
        f"a = {a:g}": law.fiber_force(one, v, a * one) - law.passive_force(one) for a in LEVELS[:0:-1]
    }  # at the optimal length
    if law.is_damped:
        bare: Any = replace(law, damping=0.0)  # type: ignore[call-arg]
        curves["a = 1, without damping"] = bare.fiber_force(one, v, one) - law.passive_force(one)
    _lines(ax, v, curves)
    ax.set(xlabel="lengthening speed over the greatest one", ylabel="active fiber force over F0")
    speed = law.max_contraction_velocity * law.optimal_fiber_length
    _scales(ax, speed, "lengthening speed [m/s]", law.max_isometric_force)


def _tendon_lengths(ax: Any, law: HillLaw) -> None:
    x = 1 + law.tendon_strain * np.linspace(-0.3, 1.3, LAW_POINTS)
    _lines(ax, x, {"tendon": law.tendon_force(x)})
    ax.set(xlabel="tendon length over the slack one", ylabel="tendon force over F0")
    _scales(ax, law.tendon_slack_length, "tendon length [m]", law.max_isometric_force)


def _path_lengths(ax: Any, law: ForceLaw) -> None:
    slack = getattr(law, "tendon_slack_length", 0.0)
    names = ("optimal_length", "resting_length", "optimal_fiber_length")
    rest = next((getattr(law, name) for name in names if hasattr(law, name)), 1.0)
    l, zero = slack + rest * np.linspace(0.4, 1.6, LAW_POINTS), np.zeros(LAW_POINTS)
    _lines(ax, l, {f"a = {a:g}": law.force(l, zero, zero + a) for a in LEVELS})
    ax.set(xlabel="path length [m]", ylabel="tension at rest [N]")


def _steps(ax: Any, dynamics: ActivationDynamics) -> None:
    """By Heun's method with steps far below both times; no more than a picture."""
    up, down = dynamics.activation_time, dynamics.deactivation_time
    t = np.linspace(0, 8 * (up + down), 10 * LAW_POINTS)
    e = np.where(t < t[-1] / 2, 1.0, dynamics.minimum_activation)
    a = np.full(len(t), dynamics.minimum_activation)
    for i, h in enumerate(np.diff(t)):
        first = dynamics.rate(e[i], a[i])
        a[i + 1] = a[i] + h / 2 * (first + dynamics.rate(e[i], a[i] + h * first))
    _lines(ax, t, {"activation": a, "excitation": e})
    ax.set(xlabel="time [s]", ylabel="activation, excitation")
