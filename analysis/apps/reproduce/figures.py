"""Figures of a reproduced experiment."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from myoquat.analysis.apps.reproduce.instrumented_shoulder import Comparison, Trial
from myoquat.joints.picture import Picture, curve_styles

__all__ = ["force_figures"]

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
