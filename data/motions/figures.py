"""What is drawn of a motion and of what belongs to it: coordinates, velocities, activations and tensions as panels."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import animation, rc_context
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from myoquat.core import NO_ENCODER, Array, Panel, Picture, by_unit, draw_panels, film_encoder
from myoquat.data.files import check_output, write_bytes
from myoquat.joints import ArticulatedSystem, convert_coordinates
from myoquat.muscle import Model
from myoquat.muscle.display import stick_figures

from .angles import angle_table
from .series import check_run


def plot_motion(motion: Any, run: int | tuple[int, ...] = ()) -> Figure:
    """A Figure of any `MotionLike` over time: angles in degrees, positions, velocities, activations and tensions."""
    rows = motion.to_motion(run)
    known = (motion.activation, motion.force)
    index = (run,) if isinstance(run, int) else tuple(run)
    activation, force = (None if x is None else x[index if x.ndim > 2 else ()][: len(rows.time)] for x in known)
    return draw_panels(rows.time, motion_panels(motion.model, rows.q, rows.u, activation, force))


def motion_panels(model: Any, q: Array, u: Array | None, activation: Array | None, force: Array | None) -> list[Panel]:
    """The panels of coordinates q (t, nq), velocities u (t, nu), activations and tensions (t, m), as far as known."""
    system = model.system if isinstance(model, Model) else model
    found = coordinate_panels(system, q)
    if u is not None:
        found += by_unit(system.velocity_names, [*system.velocity_units.values()], u)
    if isinstance(model, Model):
        known = (("activations", "", activation), ("muscle tensions", "N", force))
        found += [Panel(title, unit, model.muscle_names, x, shared=True) for title, unit, x in known if x is not None]
    return found


def coordinate_panels(system: ArticulatedSystem, q: Array) -> list[Panel]:
    """Coordinates by unit; in place of a quaternion the angles of the file that it has replaced, where it has."""
    table = angle_table(system, np.arange(float(len(q))), q, None, False)
    names = [str(name) for name in table.columns]
    return by_unit(names, [system.coordinate_units[name] for name in names], table.to_numpy(dtype=float))


# ---- Films of motions as stick figures: bones and muscles, which are darker the harder they pull ------------------


FRAMES_PER_SECOND = 20  # frames per second of wall time
WRITERS = {".gif": "pillow", ".html": "html", ".mp4": "ffmpeg"}
PALE, STRONG = np.array([0.95, 0.75, 0.7]), np.array([0.6, 0.0, 0.0])  # muscles from slack to strongest


def animate(
    motion: Any,
    file: Any = None,
    run: int | tuple[int, ...] = (),
    speed: float = 1.0,
    overwrite: bool = False,
    model: Model | None = None,
) -> animation.FuncAnimation:
    """A stick figure of any `MotionLike` with muscles, darker the harder they pull; model: whose muscles are shown
    where the motion knows none."""
    if not speed > 0:
        raise ValueError(f"speed must be positive, not {speed}")
    path = None if file is None else check_output(file, overwrite)
    if path is not None:
        check_film(path)
    run = check_run(run, motion.q.shape[:-2])
    time = motion.time[np.isfinite(motion.q[run]).all(axis=-1)]
    if not len(time):
        raise ValueError("the motion has no row to show")
    shown = np.arange(time[0], time[-1] + 1e-12, speed / FRAMES_PER_SECOND)
    frames = np.unique(np.searchsorted(motion.time, shown - 1e-9))
    film = _Film(motion, run, frames, model)
    moving = animation.FuncAnimation(film.figure, film.show, frames=len(frames), interval=1000 / FRAMES_PER_SECOND)
    if path is not None and path.suffix == ".html":
        write_bytes(path, moving.to_jshtml(fps=FRAMES_PER_SECOND).encode())
    elif path is not None:  # whole or not at all
        with tempfile.TemporaryDirectory() as folder, rc_context({"animation.ffmpeg_path": film_encoder() or "ffmpeg"}):
            made = Path(folder) / f"film{path.suffix}"
            moving.save(made, writer=WRITERS[path.suffix], fps=FRAMES_PER_SECOND)
            write_bytes(path, made.read_bytes())
    return moving


def check_film(path: Path) -> None:
    """ValueError if no film can be written there: an unknown ending, or a program that it needs is not installed."""
    if path.suffix not in WRITERS:
        raise ValueError(f"a film ends in {', '.join(WRITERS)}, not {path.suffix!r}")
    if path.suffix == ".mp4" and film_encoder() is None:
        raise ValueError(f"{NO_ENCODER}; .gif and .html need none")


class _Film:
    """The figure and what moves in it."""

    def __init__(self, motion: Any, run: tuple[int, ...], frames: np.ndarray, model: Model | None = None) -> None:
        known = motion.model if model is None else model
        self.model = known if isinstance(known, Model) else Model(motion.system)
        q = motion.q[run][frames]
        self.time, self.q = motion.time[frames], convert_coordinates(motion.system, self.model.system, q)
        self.sticks = stick_figures(self.model, self.q)
        force = motion.force
        forces = np.zeros((len(frames), len(self.model.muscles)))
        if force is not None:
            forces = np.broadcast_to(force[run if force.ndim > 2 else ()], (len(motion.time), forces.shape[1]))[frames]
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
        gravity = np.array(self.model.system.gravity)
        if gravity.any():  # it points down in the picture, whatever axis it is along
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
        return self.axes.plot(*points.T, **style)[0]
