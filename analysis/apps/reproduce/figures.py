"""Figures of a reproduced experiment."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from myoquat.analysis.apps.reproduce.emg_driven_leg import JOINTS, LegData, measured, part, published_moments
from myoquat.analysis.apps.reproduce.instrumented_shoulder import Comparison, Trial
from myoquat.analysis.recruitment import MomentCalibration, MomentPosterior
from myoquat.joints.picture import Picture, curve_styles

__all__ = ["force_figures", "moment_figure"]

SHOWN_SECONDS = 5.0  # [s] of a trial
AXES = ("forward", "upward", "lateral")


def force_figures(trial: Trial, compared: Sequence[Comparison]) -> list[Figure]:
    """The magnitude of the force over time, and its parts along the glenoid's axes, measured and under each rule."""
    time = trial.motion.time[: len(compared[0].force)] - trial.motion.time[0]
    styles = list(curve_styles(len(compared) + 1))[1:]  # the first is black, as what was measured
    magnitude = Picture(figsize=(8.0, 4.2), layout="constrained")
    axis = magnitude.subplots()
    axis.plot(time, np.linalg.norm(compared[0].measured, axis=-1), color="black", linewidth=3, label="measured")
    for each, style in zip(compared, styles, strict=True):
        axis.plot(time, np.linalg.norm(each.force, axis=-1), label=each.name, **style)
    axis.set_ylabel("glenohumeral force [N]")
    parts = Picture(figsize=(8.0, 7.0), layout="constrained")
    for k, ax in enumerate(parts.subplots(3, sharex=True)):
        ax.plot(time, compared[0].measured[:, k], color="black", linewidth=3, label="measured")
        for each, style in zip(compared, styles, strict=True):
            ax.plot(time, each.force[:, k], label=each.name, **style)
        ax.set_ylabel(f"{AXES[k]} [N]")
    for ax in (magnitude.axes[0], parts.axes[2]):
        ax.set_xlabel("time [s]")
    for ax in (magnitude.axes[0], parts.axes[0]):
        ax.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    for ax in (*magnitude.axes, *parts.axes):
        ax.grid(True, color="0.9")
    return [magnitude, parts]


def moment_figure(data: LegData, name: str, calibration: MomentCalibration, posterior: MomentPosterior) -> Figure:
    """Moments over the last seconds of a trial: measured, from EMG with 90 % bands, and of the published parameters.
    The dark band is what the parameters leave open, the light one holds the errors of measurement and model, too."""
    end = data.trials[name].motion.time[-1]
    trial = part(data.trials[name], end - SHOWN_SECONDS, end)
    time = trial.motion.time
    inner, outer = (posterior.bands(trial, 0.9, errors=errors) for errors in (False, True))
    own, theirs, true = calibration.moments(trial), published_moments(data, trial)[0], measured(trial)
    figure = Picture(figsize=(9.0, 6.5), layout="constrained")
    for k, axis in enumerate(figure.subplots(len(JOINTS), sharex=True)):
        axis.fill_between(time, *outer[..., k], color="#9db7e8", alpha=0.45, lw=0, label="90 % with errors")
        axis.fill_between(time, *inner[..., k], color="#1f3b8f", alpha=0.45, lw=0, label="90 % of parameters")
        axis.plot(time, true[:, k], color="black", linewidth=2, label="inverse dynamics")
        axis.plot(time, own[:, k], color="#1f3b8f", linestyle="--", label="from EMG")
        axis.plot(time, theirs[:, k], color="#b3202c", linestyle=":", label="published parameters")
        axis.set_ylabel(f"{JOINTS[k]} [N m]")
        axis.grid(True, color="0.9")
    figure.axes[-1].set_xlabel("time [s]")
    figure.axes[0].legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure
