"""Shared by commands that take markers: inverse kinematics, with a report."""

from pathlib import Path

import click
import numpy as np

from myoquat.analysis.motion import FittedMotion, inverse_kinematics, load_markers
from myoquat.apps.report import summary_of
from myoquat.data import Markers
from myoquat.muscle.model import Model

__all__ = ["MARKER_FILES", "fit_markers", "markers_between", "named_weights"]

MARKER_FILES = (".trc", ".c3d")


def fit_markers(
    model: Model, path: Path, weights: tuple[str, ...], axes: str | None, interval: tuple[float, float],
    constraint_weight: float = np.inf,
) -> FittedMotion:  # fmt: skip
    """The motion that fits a file of markers from the first to the last time [s] of an interval; weights: 'NAME=W'."""
    seen = markers_between(path, axes, interval)
    fit = inverse_kinematics(model, seen, named_weights(weights), constraint_weight=constraint_weight)
    click.echo(summary_of(fit))
    open_ = fit.undetermined()
    if open_:
        click.echo(f"nothing that was seen determines {', '.join(open_)}")
    return fit


def markers_between(path: Path, axes: str | None, interval: tuple[float, float]) -> Markers:
    """The markers of a file from the first to the last time [s]; BadParameter for no frame."""
    start, end = interval
    seen = load_markers(path, axes).between(start, end)
    if not len(seen.time):
        raise click.BadParameter(f"no frame of {path} lies from {start:g} to {end:g} s")
    return seen


def named_weights(weights: tuple[str, ...]) -> dict[str, float]:
    """The numbers of texts 'NAME=W'."""
    return dict(map(_weight, weights))


def _weight(text: str) -> tuple[str, float]:
    name, _, value = text.rpartition("=")
    try:
        return name, float(value)
    except ValueError:
        raise click.BadParameter(f"a marker's weight is NAME=W with a number W, not {text!r}") from None
