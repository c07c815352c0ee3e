"""Figures and films of trajectories."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import animation, rc_context
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from myoquat.data.files import check_output, write_bytes
from myoquat.data.motions.series import check_run
from myoquat.dynamics.simulation.results.trajectory import Trajectory
from myoquat.joints.encoder import NO_ENCODER, film_encoder
from myoquat.joints.labels import figure_label
from myoquat.joints.picture import Picture, curve_styles
from myoquat.muscle.display.stick import stick_figures
from myoquat.muscle.model import Model
from myoquat.muscle.states import state_names

__all__ = ["animate", "check_film", "plot"]

RATE = 20  # frames per second of wall time
LISTED = 24  # curves that a legend names
WRITERS = {".gif": "pillow", ".html": "html", ".mp4": "ffmpeg"}
PALE, STRONG = np.array([0.95, 0.75, 0.7]), np.array([0.6, 0.0, 0.0])  # muscles from slack to strongest


def plot(trajectory: Trajectory, run: int | tuple[int, ...] = ()) -> Figure:
    """Coordinates, velocities, tensions and energies over time; activations and states of muscles where they move."""
    run = check_run(run, trajectory.batch)
    system, muscled = trajectory.system, trajectory.activation is not None
    panels = [
        ("coordinates q [rad, m, 1]", system.coordinate_names, trajectory.q[run]),
        ("velocities u [rad/s, m/s]", system.velocity_names, trajectory.u[run]),
    ]
    if muscled:
        panels.append(("muscle tension [N]", trajectory.muscled.muscle_names, trajectory.forces[run]))
    kinetic, potential = trajectory.kinetic_energy[run], trajectory.potential_energy[run]
    energies = np.stack([kinetic, potential - potential[0], kinetic + potential - potential[0]], axis=-1)
    panels.append(("energy from the start [J]", ("kinetic", "potential", "sum"), energies))
    if trajectory.excitation is not None and trajectory.activation is not None:
        panels.append(("activation", trajectory.muscled.muscle_names, trajectory.activation[run]))
    if trajectory.muscle_states is not None:
        panels.append(("fiber length [m]", state_names(trajectory.muscled), trajectory.muscle_states[run]))
    rows = max(2, (len(panels) + 1) // 2)
    figure = Picture(figsize=(11, 3.5 * rows), layout="constrained")
    axes = np.atleast_2d(figure.subplots(rows, 2, sharex=True)).ravel()
    for ax, (label, names, values) in zip(axes, panels, strict=False):
        for name, values_of, style in zip(names, values.T, curve_styles(len(names)), strict=True):
            ax.plot(trajectory.time, values_of, lw=1.2, label=figure_label(name), **style)
        ax.set(xlabel="time [s]", ylabel=label)
        if len(names) <= LISTED:  # beside the curves, never over them
            ax.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    for ax in axes[len(panels) :]:
        ax.set_visible(False)
    return figure


def animate(
    trajectory: Trajectory, file: Any, run: int | tuple[int, ...], speed: float, overwrite: bool = False
) -> animation.FuncAnimation:
    """A stick figure with muscles, darker the harder they pull."""
    if not speed > 0:
        raise ValueError(f"speed must be positive, not {speed}")
    path = None if file is None else check_output(file, overwrite)
    if path is not None:
        check_film(path)
    run = check_run(run, trajectory.batch)
    good = np.isfinite(trajectory.q[run]).all(axis=-1)
    last = trajectory.time[good][-1]
    frames = np.unique(np.searchsorted(trajectory.time, np.arange(0.0, last + 1e-12, speed / RATE) - 1e-9))
    film = _Film(trajectory, run, frames)
    moving = animation.FuncAnimation(film.figure, film.show, frames=len(frames), interval=1000 / RATE)
    if path is not None:
        _write(moving, path)
    return moving


def check_film(path: Path) -> None:
    """ValueError if no film can be written there: an unknown ending, or a program that it needs is not installed."""
    if path.suffix not in WRITERS:
        raise ValueError(f"a film ends in {', '.join(WRITERS)}, not {path.suffix!r}")
    if path.suffix == ".mp4" and film_encoder() is None:
        raise ValueError(f"{NO_ENCODER}; .gif and .html need none")


def _write(moving: animation.FuncAnimation, path: Path) -> None:
    """Whole or not at all."""
    if path.suffix == ".html":
        write_bytes(path, moving.to_jshtml(fps=RATE).encode())
        return
    with tempfile.TemporaryDirectory() as folder, rc_context({"animation.ffmpeg_path": film_encoder() or "ffmpeg"}):
        made = Path(folder) / f"film{path.suffix}"
        moving.save(made, writer=WRITERS[path.suffix], fps=RATE)
        write_bytes(path, made.read_bytes())


class _Film:
    """The figure and what moves in it."""

    def __init__(self, trajectory: Trajectory, run: tuple[int, ...], frames: np.ndarray) -> None:
        model = trajectory.model
        self.model = model if isinstance(model, Model) else Model(trajectory.system)
        self.time, self.q = trajectory.time[frames], trajectory.q[run][frames]
        self.sticks = stick_figures(self.model, self.q)
        forces = trajectory.forces[run][frames] if trajectory.activation is not None else np.zeros((len(frames), 0))
        self.shade = np.clip(forces / max(float(np.nanmax(forces, initial=0.0)), 1e-12), 0, 1)
        self.figure = Picture(figsize=(6, 6), layout="constrained")
        self.axes: Any = self.figure.add_subplot(projection="3d")
        self.axes.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
        self._frame_all()
        self.lines: list[Line2D] = []
        self.show(0)
        self.figure.draw_without_rendering()
        self.figure.set_layout_engine("none")  # the layout stays as found: finding it takes as long as drawing

    def _frame_all(self) -> None:
        """The same scale along all axes, with everything in sight at all times."""
        few = self.sticks[:: max(1, len(self.q) // 40)]
        bones = [segment for s in few for segments in s.bones.values() for segment in segments]
        points = np.concatenate([*bones, *(s.attachments for s in few)])
        centre, half = (points.max(axis=0) + points.min(axis=0)) / 2, np.ptp(points, axis=0).max() / 2 or 1.0
        self.axes.set(**{f"{a}lim": (c - half, c + half) for a, c in zip("xyz", centre, strict=True)})
        self.axes.set_box_aspect((1, 1, 1))
        self._stand_up()

    def _stand_up(self) -> None:
        """Gravity points down in the picture, whatever axis it is along."""
        gravity = np.array(self.model.system.gravity)
        if gravity.any():
            axis = "xyz"[int(np.abs(gravity).argmax())]
            self.axes.view_init(elev=15, azim=-60, vertical_axis=axis)
            if gravity.sum() > 0:
                getattr(self.axes, f"invert_{axis}axis")()

    def show(self, frame: int) -> list[Line2D]:
        """Draw one frame."""
        for line in self.lines:
            line.remove()
        stick = self.sticks[frame]
        self.lines = [
            *(self._line(s, color="0.3", lw=4) for segments in stick.bones.values() for s in segments),
            *(
                self._line(path, color=PALE + shade * (STRONG - PALE), lw=1 + 2 * shade)
                for path, shade in zip(stick.muscles.values(), self.shade[frame], strict=False)
            ),
        ]
        self.axes.set_title(f"t = {self.time[frame]:.2f} s")
        return self.lines

    def _line(self, points: np.ndarray, **style: Any) -> Line2D:
        line: Line2D = self.axes.plot(*points.T, **style)[0]
        return line
