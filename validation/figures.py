"""Figures of a reproduced experiment."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from myoquat.analysis.recruitment import MomentPosterior, MomentTrial
from myoquat.analysis.studies import UncertainCurves
from myoquat.core import Array, Picture, curve_styles, figure_label, legend_above, small_axes
from validation.belli_shoulder import Abduction, most_active
from validation.emg_driven_leg import JOINTS, LegData, measured, part, published_moments
from validation.instrumented_shoulder import Comparison, Trial
from validation.leg_bands import JointForces

AXES_PER_ROW = 4
SHOWN_SECONDS = 5.0  # [s] of a trial
LABELS = ("glenohumeral force [N]", "forward [N]", "upward [N]", "lateral [N]")


def force_figures(trial: Trial, compared: Sequence[Comparison], bands: UncertainCurves | None = None) -> list[Figure]:
    """The magnitude of the force over time, and its parts along the glenoid's axes, measured and under each rule, with
    the bands of one."""
    time = trial.motion.time[: len(compared[0].force)] - trial.motion.time[0]
    styles = [*curve_styles(len(compared))[1:], {"color": "0.5", "linestyle": "-"}]  # black is what was measured
    magnitude = Picture(figsize=(8.0, 4.2), layout="constrained")
    parts = Picture(figsize=(8.0, 7.0), layout="constrained")
    axes = [magnitude.subplots(), *parts.subplots(3, sharex=True)]
    for k, (axis, label) in enumerate(zip(axes, LABELS, strict=True)):
        if bands is not None:
            bands.fill(axis, bands.names[k])
        axis.plot(time, _shown(compared[0].measured, k), color="black", linewidth=3, label="measured")
        for each, style in zip(compared, styles, strict=True):
            axis.plot(time, _shown(each.force, k), label=each.name, **style)
        axis.set_ylabel(label)
        axis.grid(True, color="0.9")
    for axis in (axes[0], axes[3]):
        axis.set_xlabel("time [s]")
    for axis in axes[:2]:
        axis.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return [magnitude, parts]


def _shown(force: Array, k: int) -> Array:
    """(t,) magnitudes, or a part, of forces (t, 3)."""
    return np.linalg.norm(force, axis=-1) if k == 0 else force[:, k - 1]


def activation_figure(trial: Abduction, bands: UncertainCurves | None = None) -> Figure:
    """Activations with the cone of the most active muscles, here and published, with bands of the same muscles."""
    names, case = most_active(trial), "with cone"
    figure, axes = small_axes(len(names), AXES_PER_ROW, 11.0, 2.2, 0.4)
    for axis, name in zip(axes, names, strict=True):
        k = trial.model.muscle_names.index(name)
        if bands is not None:
            bands.fill(axis, f"{name}.activation")
        if case in trial.published:
            axis.plot(trial.motion.time, trial.published[case][:, k], color="black", linewidth=2.5, label="published")
        axis.plot(trial.motion.time, trial.found[case].activation[:, k], color="#e08a1e", ls="--", label="here")
        axis.set_title(figure_label(name), fontsize=9)
        axis.set_xlabel("time [s]", fontsize=8)
        axis.set_ylabel("activation [-]", fontsize=8)
        axis.tick_params(labelsize=8)
    legend_above(figure)
    return figure


def moment_figure(data: LegData, name: str, posterior: MomentPosterior, bands: UncertainCurves | None = None) -> Figure:
    """Moments over the last seconds of a trial: measured, from EMG with 90 % bands, and of the published parameters.
    The dark band is that of the parameters and of uncertain inputs, the light one holds the errors of measurement and
    model, too."""
    trial = last_seconds(data, name)
    time, calibration = trial.motion.time, posterior.calibration
    inner, outer = (posterior.bands(trial, 0.9, errors=errors) for errors in (False, True))
    own, theirs, true = calibration.moments(trial), published_moments(data, trial)[0], measured(trial)
    figure = Picture(figsize=(9.0, 6.5), layout="constrained")
    for k, axis in enumerate(figure.subplots(len(JOINTS), sharex=True)):
        axis.fill_between(time, *outer[..., k], color="#9db7e8", alpha=0.45, lw=0, label="90 % with errors")
        if bands is None:
            axis.fill_between(time, *inner[..., k], color="#1f3b8f", alpha=0.45, lw=0, label="90 % of parameters")
        else:
            dark = bands.bands()[..., k]
            axis.fill_between(bands.time, *dark, color="#1f3b8f", alpha=0.45, lw=0, label="90 % of inputs")
        axis.plot(time, true[:, k], color="black", linewidth=2, label="inverse dynamics")
        axis.plot(time, own[:, k], color="#1f3b8f", linestyle="--", label="from EMG")
        axis.plot(time, theirs[:, k], color="#b3202c", linestyle=":", label="published parameters")
        axis.set_ylabel(f"{JOINTS[k]} [N m]")
        axis.grid(True, color="0.9")
    figure.axes[-1].set_xlabel("time [s]")
    figure.axes[0].legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def joint_force_figure(forces: JointForces) -> Figure:
    """The muscles' part of the forces in the joints, with the bands of the posterior."""
    figure = Picture(figsize=(9.0, 5.0), layout="constrained")
    for k, axis in enumerate(figure.subplots(len(JOINTS), sharex=True)):
        label = f"{forces.level:.0%} of the posterior"
        axis.fill_between(forces.time, *forces.bands[..., k], color="#9db7e8", lw=0, label=label)
        axis.plot(forces.time, forces.values[:, k], color="#1f3b8f", label="from EMG")
        axis.set_ylabel(f"{JOINTS[k].partition('_')[0]}, muscles [N]")
        axis.grid(True, color="0.9")
    figure.axes[-1].set_xlabel("time [s]")
    figure.axes[0].legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def last_seconds(data: LegData, name: str) -> MomentTrial:
    """The part of a trial that the figure shows."""
    end = data.trials[name].motion.time[-1]
    return part(data.trials[name], end - SHOWN_SECONDS, end)
