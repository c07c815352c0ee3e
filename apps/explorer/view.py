"""The moving stick figure: a plotly figure of a model, its muscles coloured by a number each."""

import gzip
from collections.abc import Callable
from functools import cache
from typing import Any

import anywidget
import ipywidgets as widgets
import numpy as np
import plotly.graph_objects as go
import traitlets
from plotly.colors import sample_colorscale

from myoquat.apps.viewer.scene import view_direction
from myoquat.core import check_types, markup
from myoquat.dynamics import Trajectory
from myoquat.muscle import Model
from myoquat.muscle.display import Stick, stick_figure, stick_figures, up_of

BONE, JOINT = "#8a8f98", "#3b4048"
SCALE = "YlOrRd"
WIDTH = {"bone": 8, "muscle": 5}
SIZE = 560, 500  # pixels of the figure
JOINT_SIZES = 0.06, 2.0, 6.0  # of the median bone: a joint's diameter; its bounds in pixels
BOX_FACTOR = 1.25  # side of the axes' box, over the extent of the poses
LEAST_EXTENT = 0.3  # of the longest side of the box: a flat model is not flattened further
CAMERA_DISTANCE = 1.8  # in plotly's units


# Every figure of plotly brings plotly's own module, 5 MB. A page waits two seconds for the module of a figure.
# After that the figure shows its first state and never moves. Therefore the figures of a page share one module, which
# a widget of its own holds, compressed, so that a saved notebook has it once. Each figure is there at once, and has its
# module when that is ready.
LOADER = """
async function loaded(model) {
  const holder = await model.widget_manager.get_model(model.get("_module").slice("IPY_MODEL_".length));
  const packed = new Blob([holder.get("packed")]).stream().pipeThrough(new DecompressionStream("gzip"));
  const text = new Blob([await new Response(packed).text()], { type: "text/javascript" });
  return import(URL.createObjectURL(text));
}

function plotly(model) {
  window.myoquat_plotly ??= loaded(model);
  return window.myoquat_plotly;
}

export default () => {
  let figure;
  return {
    initialize({ model }) {
      figure = plotly(model).then((module) => {
        const made = module.default();
        made.initialize({ model });
        return made;
      });
    },
    async render(context) {
      return (await figure).render(context);
    },
  };
};
"""


class PlotlyModule(anywidget.AnyWidget):  # type: ignore[misc]  # anywidget has no types
    """Plotly's module for all figures of a page."""

    _esm = "export default {}"
    packed = traitlets.Bytes().tag(sync=True)


@cache
def plotly_module() -> PlotlyModule:
    """The one of this process, which lives as long as it."""
    return PlotlyModule(packed=gzip.compress(str(go.FigureWidget._esm).encode(), mtime=0))


class LiveFigure(go.FigureWidget):  # type: ignore[misc]  # plotly has no types
    """A figure that `publish` announces to a notebook, with its content at that time.

    A FigureWidget announces itself while it is still empty and sends its traces after that, when a busy page may not
    listen yet.
    """

    _esm = LOADER
    _module = traitlets.Any().tag(sync=True, **widgets.widget_serialization)
    _published = False

    def open(self) -> None:
        """Called by the constructor of every widget; waits for `publish`."""
        if self._published:
            super().open()

    def publish(self) -> None:
        """Announce the figure to the notebook, once, with its present content."""
        if not self._published:
            self._module = plotly_module()
            self._repr_mimebundle_()  # brings the state that is sent up to date with data and layout
            self._published = True
            self.open()


class View:
    """`figure`, a LiveFigure that the mouse turns; `show` moves it.

    values: the numbers that colour muscles, from 0 to `greatest`; `label` names them at the colour bar. The axes
    contain all of `poses` (n, nq).
    """

    def __init__(self, model: Model, poses: np.ndarray, greatest: float, label: str) -> None:
        self.model, self.greatest = model, greatest if greatest > 0 else 1.0
        stick = stick_figure(model, poses[0])
        traces = [
            _trace("bones", _bones(stick), mode="lines", line={"width": WIDTH["bone"], "color": BONE}),
            _trace("joints", stick.joints, mode="markers", marker={"size": 2, "color": JOINT}),
            *(_trace(name, path, mode="lines+markers", marker={"size": 2}) for name, path in stick.muscles.items()),
        ]
        # plotly draws a colour bar only for a trace with a colour scale: one of an invisible point
        ticks = np.linspace(0, self.greatest, 5)
        bar = {"title": {"text": label, "side": "right"}, "thickness": 12, "len": 0.7, "x": 0.88, "tickvals": ticks}
        bar["ticktext"] = [f"{t:.0f}" if self.greatest >= 100 else f"{t:.3g}" for t in ticks]
        marker = {"colorscale": SCALE, "cmin": -0.25 * self.greatest, "cmax": self.greatest, "color": [0], "size": 0.1,
                  "colorbar": bar}  # fmt: skip
        none = [None]
        scale = go.Scatter3d(x=none, y=none, z=none, mode="markers", showlegend=False, marker=marker, hoverinfo="skip")
        low, high = _box(model, poses)
        self.figure = LiveFigure([*traces, *([scale] if model.muscles else [])], _layout(low, high, up_of(model)))
        self._bones, self._joints, *self._muscles = self.figure.data[: len(traces)]
        # pixels across a joint, in proportion to the bones
        bones = [float(np.linalg.norm(s[1] - s[0])) for segments in stick.bones.values() for s in segments]
        share, least, most = JOINT_SIZES
        size = share * np.median(bones or [0.0]) / float((high - low).max()) * SIZE[1]
        self._joints.marker.size = float(np.clip(size, least, most))

    def show(self, q: np.ndarray, values: np.ndarray) -> None:
        """Draw the pose q (nq,), muscles coloured by values (m,)."""
        stick = stick_figure(self.model, q)
        shades = sample_colorscale(SCALE, np.clip(0.2 + 0.8 * values / self.greatest, 0, 1)) if len(values) else []
        with self.figure.batch_update():
            _place(self._bones, _bones(stick))
            _place(self._joints, stick.joints)
            paths = stick.muscles.items()
            for trace, (name, path), color, value in zip(self._muscles, paths, shades, values, strict=True):
                _place(trace, path)
                trace.line = {"width": WIDTH["muscle"], "color": color}
                trace.marker.color = color
                trace.hovertemplate = f"{markup(name)}: {value:.3g}<extra></extra>"


def _trace(name: str, points: np.ndarray, **look: Any) -> Any:
    x, y, z = points.T
    return go.Scatter3d(x=x, y=y, z=z, name=markup(name), showlegend=False, **look)


def _place(trace: Any, points: np.ndarray) -> None:
    trace.x, trace.y, trace.z = points.T


def _bones(stick: Stick) -> np.ndarray:
    """All segments (2, 3) one after the other, NaN in between."""
    gap = np.full((1, 3), np.nan)
    segments = [segment for found in stick.bones.values() for segment in found]
    return np.concatenate([part for segment in segments for part in (segment, gap)] or [gap])


def _box(model: Model, poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest corner [m] of a box around the model in all poses."""
    parts = [x for stick in stick_figures(model, poses) for x in (stick.joints, stick.attachments, _bones(stick))]
    whole = np.concatenate([x[~np.isnan(x[:, 0])] for x in parts])
    whole = whole if len(whole) else np.zeros((1, 3))
    low, high = whole.min(axis=0), whole.max(axis=0)
    longest = max(float((high - low).max()), 1e-3)
    half = np.maximum((high - low) / 2 * BOX_FACTOR, LEAST_EXTENT * longest / 2)
    return (low + high) / 2 - half, (low + high) / 2 + half


def _layout(low: np.ndarray, high: np.ndarray, up: np.ndarray) -> dict[str, Any]:
    """Gravity is down, and the box fills the figure, seen from beside its widest side."""
    extent = (high - low) / (high - low).max()
    axes = {
        f"{name}axis": {
            "range": [float(a), float(b)],
            "title": {"text": ""},
            "showticklabels": False,
            "showspikes": False,
            "backgroundcolor": "white",
            "gridcolor": "#e3e5e8",
            "zerolinecolor": "#c3c6cb",
        }
        for name, a, b in zip("xyz", low, high, strict=True)
    }
    return {
        "scene": {
            **axes,
            "aspectmode": "manual",
            "aspectratio": _named(1.5 * extent),
            "camera": {"up": _named(up), "eye": _named(CAMERA_DISTANCE * view_direction(extent, up))},
            "dragmode": "orbit",  # turns about every axis, whichever of them is up
        },
        "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
        "width": SIZE[0],
        "height": SIZE[1],
        "uirevision": "keep",  # the view that the mouse has turned stays
    }


def _named(values: np.ndarray) -> dict[str, float]:
    return dict(zip("xyz", map(float, values), strict=True))


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


def player_bar(time: np.ndarray, pause: float, show: Callable[[int], None]) -> widgets.HBox:
    """A button that plays frames at times (n,) [s], pausing [ms] at each, a slider over them, and the time."""
    last = len(time) - 1
    button = widgets.Play(min=0, max=last, interval=round(pause))
    slider, clock = widgets.IntSlider(0, 0, last, description="frame", readout=False), widgets.Label()

    def tell(_: Any) -> None:
        clock.value = f"t = {time[slider.value]:.3f} s"

    tell(None)
    widgets.jslink((button, "value"), (slider, "value"))
    slider.observe(lambda _: show(slider.value), "value")
    slider.observe(tell, "value")
    return widgets.HBox([button, slider, clock])


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
        # rows that follow each other at the rate of the film
        last = max(good - 1, 0)
        wanted = np.arange(0.0, self.time[last] + 1e-12, speed / RATE)
        self.frames = np.unique(np.clip(np.searchsorted(self.time, wanted - 1e-9), 0, last))
        has_forces = trajectory.activation is not None
        self.forces = trajectory.forces[run] if has_forces else np.zeros((len(self.time), 0))
        few = self.q[self.frames[:: max(1, len(self.frames) // 60)]]
        greatest = float(np.nanmax(self.forces[self.frames])) if has_forces else 1.0
        self.view = View(model, few, greatest, "tension [N]")
        rows, names = slice(0, good, max(1, good // MAX_CURVE_POINTS)), trajectory.system.velocity_names
        lines = [go.Scatter(x=self.time[rows], y=self.u[rows, k], name=markup(name)) for k, name in enumerate(names)]
        self.curves = LiveFigure(lines, layout={
            "shapes": [{"type": "line", "x0": 0, "x1": 0, "y0": 0, "y1": 1, "yref": "paper", "line": {"width": 1}}],
            "width": 380,
            "height": 500,
            "margin": {"l": 50, "r": 10, "t": 30, "b": 40},
            "xaxis": {"title": "time [s]"},
            "yaxis": {"title": "velocities u"},
            "legend": {"orientation": "h"},
        })  # fmt: skip
        bar = player_bar(self.time[self.frames], 1000 / RATE, self.show)
        _, self.slider, self.clock = bar.children
        self.show(0)
        for figure in (self.view.figure, self.curves):
            figure.publish()
        self.widget = widgets.VBox([widgets.HBox([self.view.figure, self.curves]), bar])

    def show(self, frame: int) -> None:
        """Draw one frame."""
        row = self.frames[frame]
        self.view.show(self.q[row], self.forces[row])
        t = float(self.time[row])
        self.curves.layout.shapes[0].update(x0=t, x1=t)
