"""Shared by commands that take markers: inverse kinematics, with a report."""

from pathlib import Path

import click
import numpy as np

from myoquat.analysis.apps.opensim_tools.report import summary_of
from myoquat.analysis.motion import FittedMotion, inverse_kinematics, load_markers
from myoquat.muscle.model import Model

__all__ = ["MARKER_FILES", "fit_markers"]

MARKER_FILES = (".trc", ".c3d")


def fit_markers(
    model: Model, path: Path, weights: tuple[str, ...], axes: str | None, interval: tuple[float, float],
    constraint_weight: float = np.inf,
) -> FittedMotion:  # fmt: skip
    """The motion that fits a file of markers from the first to the last time [s] of an interval; weights: 'NAME=W'."""
    start, end = interval
    seen = load_markers(path, axes).between(start, end)
    if not len(seen.time):
        raise click.BadParameter(f"no frame of {path} lies from {start:g} to {end:g} s")
    fit = inverse_kinematics(model, seen, dict(map(_weight, weights)), constraint_weight=constraint_weight)
    click.echo(summary_of(fit))
    open_ = fit.undetermined()
    if open_:
        click.echo(f"nothing that was seen determines {', '.join(open_)}")
    return fit


def _weight(text: str) -> tuple[str, float]:
    name, _, value = text.rpartition("=")
    try:
        return name, float(value)
    except ValueError:
        raise click.BadParameter(f"a marker's weight is NAME=W with a number W, not {text!r}") from None
