"""Figures of the mapping analysis, in the layout of the muscle Jacobian study.

Each draws into an array of axes that it is given.
"""

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from myoquat.analysis.mapping.formulas import Pair
from myoquat.analysis.mapping.report import MappingReport
from myoquat.core.figures import FILE_DPI, Picture
from myoquat.core.labels import figure_label
from myoquat.data.files import check_output, write_bytes
from myoquat.joints import (
    convert_coordinates,
    quaternion_to_spatial,
    spatial_to_constrained,
    spatial_to_quaternion,
)
from myoquat.muscle import Model, path_jacobian

__all__ = [
    "along",
    "check_folder",
    "plot_constrained",
    "plot_moment_arms",
    "plot_quaternion",
    "plot_singular",
    "prescribed_path",
    "save_figures",
]

DIRECT = {"color": "0.65", "linewidth": 4.0, "solid_capstyle": "round"}
MAPPED = {"color": "black", "linewidth": 1.3, "linestyle": (0, (4, 2))}
LOCK_DISTANCE = 0.03  # [rad] least distance of the prescribed path from the lock
SUFFIXES = ("png", "pdf", "svg")
NAMES = ("moment_arms", "quaternion", "constrained", "singular")


def prescribed_path(model: Model, n: int = 401, duration: float = 4.0) -> tuple[np.ndarray, np.ndarray]:
    """Time (n,) [s] and coordinates (n, nq) of the quaternion model along a smooth motion of every ball joint.

    At half time the first ball joint passes its lock at 0.03 rad; Q0 of no joint changes sign.
    """
    pair = Pair.of(model)
    time = np.linspace(0, duration, n)
    phase = np.pi * (2 * time / duration - 1)
    q = np.repeat(pair.quaternion.system.neutral()[None], n, axis=0)
    for ball in pair.balls:
        swing = LOCK_DISTANCE + (0.55 + 0.2 * ball.number) * (1 - np.cos(phase)) / 2 + 0.6 * (ball.number > 0)
        angles = ball.reading.beside_lock(swing, 0.5 * np.sin(phase), 0.4 * np.sin(2 * phase) - 0.3)
        q[:, ball.q] = ball.reading.quaternion(angles)
    return time, q


def plot_moment_arms(axes: Any, model: Model, time: np.ndarray, q: np.ndarray, muscle: int = 1) -> None:
    """-J_phi of one muscle, from Euler angles and mapped from J_Q, into axes (balls, 3)."""
    pair, phi, J_phi = _euler(model, q)
    J_Q = path_jacobian(pair.quaternion, q, "quaternion")[:, muscle]

    def columns(ball: Any) -> tuple[np.ndarray, np.ndarray]:
        J = quaternion_to_spatial(J_Q[:, ball.q], q[:, ball.q])
        return J_phi[:, muscle, ball.phi], ball.reading.from_spatial(J, phi[:, ball.phi])

    _grid(axes, pair, time, columns, r"$-J_{{\varphi_{i}}}$ [m]", 1, ("from Euler angles", "mapped from quaternion"))


def plot_quaternion(axes: Any, model: Model, time: np.ndarray, q: np.ndarray, muscle: int = 1) -> None:
    """-J_Q of one muscle as differentiated, and mapped back from J_phi, into axes (balls, 4): they differ by the
    radial part, which no torque sees."""
    pair, phi, J_phi = _euler(model, q)
    J_Q = path_jacobian(pair.quaternion, q, "quaternion")[:, muscle]

    def columns(ball: Any) -> tuple[np.ndarray, np.ndarray]:
        J = ball.reading.to_spatial(J_phi[:, muscle, ball.phi], phi[:, ball.phi])
        return J_Q[:, ball.q], spatial_to_quaternion(J, q[:, ball.q])

    _grid(axes, pair, time, columns, r"$-J_{{Q_{i}}}$ [m]", 0, ("differentiated", "mapped from Euler angles"))


def plot_constrained(axes: Any, model: Model, time: np.ndarray, q: np.ndarray, muscle: int = 1) -> None:
    """-J*_Q of one muscle (Q0 eliminated) as differentiated, and mapped back from J_phi, into axes (balls, 3)."""
    pair, phi, J_phi = _euler(model, q)
    J_star = path_jacobian(pair.quaternion, q, "constrained", eliminated=0)[:, muscle]

    def columns(ball: Any) -> tuple[np.ndarray, np.ndarray]:
        J = ball.reading.to_spatial(J_phi[:, muscle, ball.phi], phi[:, ball.phi])
        return J_star[:, ball.star], spatial_to_constrained(J, q[:, ball.q], 0)

    _grid(axes, pair, time, columns, r"$-J^*_{{Q_{i}}}$ [m]", 1, ("differentiated", "mapped from Euler angles"))


def along(model: Model, time: np.ndarray, q: np.ndarray, muscle: int = 1) -> Figure:
    """A Figure of moment arms, J_Q and J*_Q along a motion: time (t,), q (t, nq) of the model as it is."""
    pair = Pair.of(model)
    Q = convert_coordinates(model.system, pair.quaternion.system, q)
    balls = len(pair.balls)
    figure = Picture(figsize=(13, 3 * (1 + 2.2 * balls)), layout="constrained")
    parts: Any = figure.subfigures(3, 1)
    drawn = ((plot_moment_arms, 3, "moment arms"), (plot_quaternion, 4, "J_Q"), (plot_constrained, 3, "J*_Q"))
    for part, (plot, columns, what) in zip(parts, drawn, strict=True):
        part.suptitle(figure_label(f"{model.name}, {model.muscle_names[muscle]}: {what}"))
        plot(part.subplots(balls, columns, sharex=True, squeeze=False), model, time, Q, muscle)
    return figure


def plot_singular(axes: Any, singular: pd.DataFrame) -> None:
    """Error of J against the distance to gimbal lock and to Q0 = 0, into two axes."""
    labels = {"gimbal lock": ("from $J_\\varphi$", "angle to gimbal lock [rad]"), "Q0 = 0": ("from $J^*_Q$", "$|Q_0|$")}
    for axis, (name, (label, distance)) in zip(np.ravel(axes), labels.items(), strict=True):
        table = singular[singular["approach"] == name]
        axis.loglog(table["distance"], table["error"].clip(lower=1e-17), "o-", color="black", markersize=4, label=label)
        largest = table["error, largest eliminated"].clip(lower=1e-17)
        axis.loglog(table["distance"], largest, "s--", color="0.55", markersize=4, label="largest eliminated")
        refused = table["distance"][table["error"].isna()]
        if len(refused):
            axis.axvspan(table["distance"].min() / 2, refused.max() * 1.5, color="0.9", label="refused")
        axis.set_xlabel(distance)
        axis.set_title(name)
        axis.grid(True, which="major", color="0.9")
        axis.legend(fontsize=9, frameon=False)
    np.ravel(axes)[0].set_ylabel("relative error of $J$ [-]")


def _euler(model: Model, q: np.ndarray) -> tuple[Pair, np.ndarray, np.ndarray]:
    pair = Pair.of(model)
    phi = convert_coordinates(pair.quaternion.system, pair.euler.system, q)
    return pair, phi, path_jacobian(pair.euler, phi, "coordinates")


def _grid(
    axes: Any,
    pair: Pair,
    time: np.ndarray,
    columns: Callable[[Any], tuple[np.ndarray, np.ndarray]],
    label: str,
    first: int,
    legend: tuple[str, str],
) -> None:
    axes = np.atleast_2d(axes)
    for row, ball in zip(axes, pair.balls, strict=True):
        direct, mapped = columns(ball)
        for i, axis in enumerate(row):
            axis.plot(time, -direct[:, i], label=legend[0], **DIRECT)
            axis.plot(time, -mapped[:, i], label=legend[1], **MAPPED)
            axis.set_title(f"{figure_label(ball.body)}: {label.format(i=first + i)}", fontsize=11)
            axis.grid(True, color="0.92")
    for axis in axes[-1]:
        axis.set_xlabel("time [s]")
    # outside the axes, where it hides no curve; the figure's layout leaves space for it
    axes[0, 0].figure.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False
    )


def check_folder(folder: Path, overwrite: bool = False, suffix: str = "png") -> None:
    """Make the folder if need be. FileExistsError if a figure is there already and may not be replaced, ValueError for
    another suffix than png, pdf and svg."""
    if suffix not in SUFFIXES:
        raise ValueError(f"figures are written as {', '.join(SUFFIXES)}, not {suffix!r}")
    folder.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        check_output(folder / f"{name}.{suffix}", overwrite)


def draw_figures(model: Model, report: MappingReport, muscle: str | None = None) -> dict[str, Figure]:
    """The four figures for a muscle by name: moment arms, J_Q and J*_Q along a motion, and errors beside singularities.

    The default is the second muscle, as in the study, or the only one. ValueError for a muscle that does not exist.
    """
    if muscle is not None and muscle not in model.muscle_names:
        raise ValueError(f"muscle is one of {', '.join(model.muscle_names)}, not {muscle!r}")
    number = min(1, len(model.muscles) - 1) if muscle is None else model.muscle_names.index(muscle)
    time, q = prescribed_path(model)
    balls = Pair.of(model).balls
    sequences = ", ".join(dict.fromkeys(ball.reading.label for ball in balls))
    title = figure_label(f"{model.name}, muscle {model.muscle_names[number]}, Euler angles {sequences}")
    title += "\nalong a motion past gimbal lock at half time"
    figures: dict[str, Figure] = {}
    for name, draw, width in zip(NAMES, (plot_moment_arms, plot_quaternion, plot_constrained), (3, 4, 3), strict=False):
        figure = Picture(figsize=(3.2 * width, 2.5 * len(balls) + 0.8), layout="constrained")
        draw(figure.subplots(len(balls), width, squeeze=False, sharex=True), model, time, q, number)
        figure.suptitle(title)
        figures[name] = figure
    figure = Picture(figsize=(9.6, 3.8), layout="constrained")
    plot_singular(figure.subplots(1, 2, sharey=True), report.singular)
    figure.suptitle(figure_label(f"{model.name}: beside the singularities"))
    figures[NAMES[-1]] = figure
    return figures


def save_figures(
    figures: Mapping[str, Figure], folder: Path, suffix: str = "png", *, overwrite: bool = False
) -> list[Path]:
    """Write the figures of `draw_figures` into the folder, as png (300 dpi), pdf or svg. OSError as `check_folder`."""
    check_folder(folder, overwrite, suffix)
    paths = []
    for name, figure in figures.items():
        content = io.BytesIO()
        figure.savefig(content, format=suffix, dpi=FILE_DPI)
        paths.append(folder / f"{name}.{suffix}")
        write_bytes(paths[-1], content.getvalue())
    return paths
