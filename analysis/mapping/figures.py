"""Figures of the mapping analysis, in the layout of the muscle Jacobian study.

Each draws into an array of axes that it is given.
"""

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from myoquat.core import FILE_DPI, Array, Picture, figure_label
from myoquat.data.files import check_output, write_bytes
from myoquat.joints import convert_coordinates
from myoquat.muscle import Model

from .report import MappingReport
from .run import BallPoses, Block, Pair, muscle_number

DIRECT = {"color": "0.65", "linewidth": 4.0, "solid_capstyle": "round"}
MAPPED = {"color": "black", "linewidth": 1.3, "linestyle": (0, (4, 2))}
LOCK_DISTANCE = 0.03  # [rad] least distance of the prescribed path from the lock
SUFFIXES = ("png", "pdf", "svg")
SINGULAR = "singular"  # the figure of `plot_singular`


class Plot(NamedTuple):
    """Axes of a Jacobian: how many for each ball joint, labels from the number `first` on, the legend, a title, and the
    Jacobian (t, m, columns) as differentiated and as mapped."""

    columns: int
    label: str
    first: int
    legend: tuple[str, str]
    title: str
    pictured: Callable[[BallPoses], tuple[Array, Array]]


MAPPED_BACK = ("differentiated", "mapped from Euler angles")
PLOTS = {
    "moment_arms": Plot(
        3, r"$-J_{{\varphi_{i}}}$ [m]", 1, ("from Euler angles", "mapped from quaternion"), "moment arms",
        lambda x: (x["J_phi"], x.mapped("J_phi from J", x.from_Q)),
    ),
    "quaternion": Plot(4, r"$-J_{{Q_{i}}}$ [m]", 0, MAPPED_BACK, "J_Q", lambda x: (x["J_Q"], x.back)),
    "constrained": Plot(
        3, r"$-J^*_{{Q_{i}}}$ [m]", 1, MAPPED_BACK, "J*_Q",
        lambda x: (x["J_star"], x.mapped("J_star from J", x.from_phi)),
    ),
}  # fmt: skip


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


def plot_mapped(axes: Any, model: Model, time: np.ndarray, q: np.ndarray, what: str, muscle: str | None = None) -> None:
    """A Jacobian of one muscle, by default the second one, as differentiated and as mapped from another one.

    what  "moment_arms", "quaternion" or "constrained"

    Moment arms are -J_phi from Euler angles, and mapped from J_Q, in axes (balls, 3). The quaternion has -J_Q as
    differentiated, and mapped back from J_phi, in axes (balls, 4). They differ by the radial part, which no torque
    sees. Constrained are -J*_Q (Q0 eliminated), and mapped back from J_phi, in axes (balls, 3).
    """
    shown, pair, number = PLOTS[what], Pair.of(model), muscle_number(model, muscle)
    block = Block(pair, q, np.zeros((len(q), pair.quaternion.system.nu)), np.zeros(0))
    axes = np.atleast_2d(axes)
    for row, ball in zip(axes, pair.balls, strict=True):
        pictured = (J[:, number] for J in shown.pictured(BallPoses(block, ball)))
        for values, legend, style in zip(pictured, shown.legend, (DIRECT, MAPPED), strict=True):
            for i, axis in enumerate(row):
                axis.plot(time, -values[:, i], label=legend, **style)
        for i, axis in enumerate(row):
            axis.set_title(f"{figure_label(ball.body)}: {shown.label.format(i=shown.first + i)}", fontsize=11)
            axis.grid(True, color="0.92")
    for axis in axes[-1]:
        axis.set_xlabel("time [s]")
    # outside the axes, where it hides no curve; the figure's layout leaves space for it
    handles = axes[0, 0].get_legend_handles_labels()
    axes[0, 0].figure.legend(*handles, loc="outside lower center", ncols=2, frameon=False)


def along(model: Model, time: np.ndarray, q: np.ndarray, muscle: str | None = None) -> Figure:
    """A Figure of moment arms, J_Q and J*_Q along a motion: time (t,), q (t, nq) of the model as it is."""
    pair = Pair.of(model)
    Q = convert_coordinates(model.system, pair.quaternion.system, q)
    balls, name = len(pair.balls), model.muscle_names[muscle_number(model, muscle)]
    figure = Picture(figsize=(13, 3 * (1 + 2.2 * balls)), layout="constrained")
    parts: Any = figure.subfigures(3, 1)
    for part, (what, shown) in zip(parts, PLOTS.items(), strict=True):
        part.suptitle(figure_label(f"{model.name}, {name}: {shown.title}"))
        plot_mapped(part.subplots(balls, shown.columns, sharex=True, squeeze=False), model, time, Q, what, muscle)
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


def check_folder(folder: Path, overwrite: bool = False, suffix: str = "png") -> None:
    """Make the folder if need be. FileExistsError if a figure is there already and may not be replaced, ValueError for
    another suffix than png, pdf and svg."""
    if suffix not in SUFFIXES:
        raise ValueError(f"figures are written as {', '.join(SUFFIXES)}, not {suffix!r}")
    folder.mkdir(parents=True, exist_ok=True)
    for name in (*PLOTS, SINGULAR):
        check_output(folder / f"{name}.{suffix}", overwrite)


def draw_figures(model: Model, report: MappingReport, muscle: str | None = None) -> dict[str, Figure]:
    """The four figures for a muscle by name: moment arms, J_Q and J*_Q along a motion, and errors beside singularities.

    The default is the second muscle, as in the study, or the only one. ValueError for a muscle that does not exist.
    """
    name = model.muscle_names[muscle_number(model, muscle)]
    time, q = prescribed_path(model)
    balls = Pair.of(model).balls
    sequences = ", ".join(dict.fromkeys(ball.reading.label for ball in balls))
    title = figure_label(f"{model.name}, muscle {name}, Euler angles {sequences}")
    title += "\nalong a motion past gimbal lock at half time"
    figures: dict[str, Figure] = {}
    for what, shown in PLOTS.items():
        figures[what] = Picture(figsize=(3.2 * shown.columns, 2.5 * len(balls) + 0.8), layout="constrained")
        axes = figures[what].subplots(len(balls), shown.columns, squeeze=False, sharex=True)
        plot_mapped(axes, model, time, q, what, muscle)
        figures[what].suptitle(title)
    figures[SINGULAR] = Picture(figsize=(9.6, 3.8), layout="constrained")
    plot_singular(figures[SINGULAR].subplots(1, 2, sharey=True), report.singular)
    figures[SINGULAR].suptitle(figure_label(f"{model.name}: beside the singularities"))
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
