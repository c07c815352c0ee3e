"""A player for trajectories."""

from typing import Any

import ipywidgets as widgets
import numpy as np
import plotly.graph_objects as go

from myoquat.apps.explorer.view import LiveFigure, View
from myoquat.core.arguments import check_types
from myoquat.dynamics import Trajectory
from myoquat.joints.labels import markup
from myoquat.muscle import Model

__all__ = ["Player", "play"]

RATE = 20  # frames per second of wall time
MAX_CURVE_POINTS = 400


def play(trajectory: Trajectory, run: int | tuple[int, ...] = (), speed: float = 1.0) -> widgets.VBox:
    """A trajectory as a film that a notebook shows: the stick figure, muscles coloured by tension, the velocities.

    run    its index in a batch
    speed  seconds of motion per second of watching

    Raises ValueError for a run that does not exist, or a speed that is not positive.

    >>> import myoquat as mq
    >>> from myoquat.apps.explorer import play
    >>> type(play(mq.simulate(mq.load_model("two_link"), duration=0.1, step=1e-3, output_step=0.05))).__name__
    'VBox'
    """
    check_types(trajectory=(trajectory, Trajectory))
    return Player(trajectory, run, speed).widget


class Player:
    """The film and its parts: `frames` (n,) rows of the trajectory, `slider`, `view`, `widget`.

    >>> import myoquat as mq
    >>> from myoquat.apps.explorer import Player
    >>> player = Player(mq.simulate(mq.load_model("two_link"), duration=0.1, step=1e-3, output_step=0.05))
    >>> player.show(1)
    """

    def __init__(self, trajectory: Trajectory, run: int | tuple[int, ...] = (), speed: float = 1.0) -> None:
        run = (run,) if isinstance(run, int) else tuple(run)
        if len(run) != len(trajectory.batch) or any(
            not 0 <= i < n for i, n in zip(run, trajectory.batch, strict=False)
        ):
            raise ValueError(f"run {run} does not name one of a batch {trajectory.batch}")
        if not speed > 0:
            raise ValueError(f"speed must be positive, not {speed}")
        model = trajectory.model
        if not isinstance(model, Model):
            raise TypeError(f"the trajectory of a Model is wanted, not of {type(model).__name__}")
        self.time, self.q, self.u = trajectory.time, trajectory.q[run], trajectory.u[run]
        good = int(np.isfinite(self.q).all(axis=1).sum())  # rows after a stop are NaN
        self.frames = self._chosen(good, speed)
        has_forces = trajectory.activation is not None
        self.forces = trajectory.forces[run] if has_forces else np.zeros((len(self.time), 0))
        few = self.q[self.frames[:: max(1, len(self.frames) // 60)]]
        greatest = float(np.nanmax(self.forces[self.frames])) if has_forces else 1.0
        self.view = View(model, few, greatest, "tension [N]")
        self.curves = self._curves(trajectory.system.velocity_names, good)
        self.slider = widgets.IntSlider(0, 0, len(self.frames) - 1, description="frame", readout=False)
        self.clock = widgets.Label()
        self.button = widgets.Play(min=0, max=len(self.frames) - 1, interval=1000 // RATE)
        widgets.jslink((self.button, "value"), (self.slider, "value"))
        self.slider.observe(lambda _: self.show(self.slider.value), "value")
        self.show(0)
        for figure in (self.view.figure, self.curves):
            figure.publish()
        bar = widgets.HBox([self.button, self.slider, self.clock])
        self.widget = widgets.VBox([widgets.HBox([self.view.figure, self.curves]), bar])

    def show(self, frame: int) -> None:
        """Draw one frame."""
        row = self.frames[frame]
        self.view.show(self.q[row], self.forces[row])
        self.clock.value = f"t = {self.time[row]:.3f} s"
        t = float(self.time[row])
        self.curves.layout.shapes[0].update(x0=t, x1=t)

    def _chosen(self, good: int, speed: float) -> np.ndarray:
        """Rows that follow each other at the rate of the film."""
        end = self.time[max(good - 1, 0)]
        wanted = np.arange(0.0, end + 1e-12, speed / RATE)
        return np.unique(np.clip(np.searchsorted(self.time, wanted - 1e-9), 0, max(good - 1, 0)))

    def _curves(self, names: Any, good: int) -> Any:
        rows = slice(0, good, max(1, good // MAX_CURVE_POINTS))
        lines = [go.Scatter(x=self.time[rows], y=self.u[rows, k], name=markup(name)) for k, name in enumerate(names)]
        now = {"type": "line", "x0": 0, "x1": 0, "y0": 0, "y1": 1, "yref": "paper", "line": {"width": 1}}
        layout = {
            "shapes": [now],
            "width": 380,
            "height": 500,
            "margin": {"l": 50, "r": 10, "t": 30, "b": 40},
            "xaxis": {"title": "time [s]"},
            "yaxis": {"title": "velocities u"},
            "legend": {"orientation": "h"},
        }
        return LiveFigure(lines, layout=layout)
