"""A model with sliders: joints and activations in; moving stick figure, tensions and moment arms out."""

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

from myoquat.apps.viewer.films import film_of
from myoquat.apps.viewer.scene import view_direction
from myoquat.core import ArrayLike, check_types, markup, unique, widget_label
from myoquat.data import load_model
from myoquat.data.motions import MotionLike
from myoquat.data.motions.series import check_run
from myoquat.dynamics import Trajectory
from myoquat.joints import (
    ModelError,
    euler_from_quaternion,
    quaternion_exp,
    quaternion_from_euler,
    quaternion_log,
    spatial_to_euler,
)
from myoquat.joints.multibody.body import Body
from myoquat.joints.sequences import SEQUENCES
from myoquat.muscle import Model, path_jacobian, path_lengths
from myoquat.muscle.display import Stick, stick_figure, stick_figures, up_of
from myoquat.muscle.evaluate import tensions_at_rest

# ---- The moving stick figure, its muscles coloured by a number each ----------------------------------------------

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
        run = check_run(run, trajectory.batch)
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


# ---- Sliders -----------------------------------------------------------------------------------------------------

AXIS = "axis and angle"
SLIDERS = {"rad": (-180.0, 180.0, 1.0), "m": (-1.0, 1.0, 0.01), "1": (-3.0, 3.0, 0.01)}  # ends and step by unit


def controls_of(body: Body, iq: slice, iu: slice, q: np.ndarray, changed: Callable[[], None]) -> list[Any]:
    """What moves the joint of a body, whose coordinates are the slice iq of q (nq,) and whose velocities the slice iu
    of all: one for a quaternion, one for the rest."""
    ball = body.joint.facts.quaternion
    rest = [i for i in range(body.joint.nq) if ball is None or not ball <= i < ball + 4]
    found: list[Any] = [CoordinateControl(body, iq.start, rest, q, changed)] if rest else []
    return found if ball is None else [*found, BallControl(body, iq.start + ball, iu, q, changed)]


def _slider(label: str, value: float, low: float, high: float, step: float, changed: Callable[..., None]) -> Any:
    slider = widgets.FloatSlider(
        value=min(max(value, low), high), min=low, max=high, step=step, description=widget_label(label),
        readout_format=".2f" if step < 1 else ".0f", layout=widgets.Layout(width="340px"),
        style={"description_width": "150px"},
    )  # fmt: skip
    slider.observe(changed, "value")
    return slider


class CoordinateControl:
    """A slider for each of some coordinates of a joint, in degrees, metres or numbers without unit."""

    def __init__(self, body: Body, first: int, own: list[int], q: np.ndarray, changed: Callable[[], None]) -> None:
        self.entries, units = [first + i for i in own], [body.joint.facts.coordinate_units[i] for i in own]
        self.scale = np.where(np.array(units) == "rad", 180 / np.pi, 1.0)
        self.sliders = [
            _slider(body.names_of_coordinates[i], x, *SLIDERS[unit], lambda _: changed())
            for i, unit, x in zip(own, units, self.scale * q[self.entries], strict=True)
        ]
        self.widget = widgets.VBox([_title(body), *self.sliders])

    def take(self, q: np.ndarray) -> None:
        """Show the coordinates q (nq,) of the model."""
        for slider, x in zip(self.sliders, self.scale * q[self.entries], strict=True):
            slider.value = x

    def put(self, q: np.ndarray) -> None:
        """Write the sliders' values into the coordinates q (nq,) of the model."""
        q[self.entries] = [slider.value for slider in self.sliders] / self.scale


class BallControl:
    """A ball joint's quaternion `Q`, turned about an axis or by the angles of an Euler sequence, as `mode` says.

    Another mode shows the same rotation. An axis of length zero turns nothing: the rotation stays as it was.
    """

    def __init__(self, body: Body, first: int, iu: slice, q: np.ndarray, changed: Callable[[], None]) -> None:
        self.name, self.first, self.changed = body.name, first, changed
        self.turning = slice(iu.stop - 3, iu.stop)  # its angular velocity among all velocities
        self.Q = np.array(q[first : first + 4], dtype=float)
        self._quiet = False
        self.mode = widgets.Dropdown(options=[AXIS, *SEQUENCES], description="shown as", layout={"width": "230px"})
        self.axis = [widgets.FloatText(0.0, description=k, step=0.1, layout={"width": "95px"}) for k in "xyz"]
        for text in self.axis:
            text.style.description_width = "12px"
            text.observe(self._moved, "value")
        self.angle = _slider("angle [deg]", 0, -180, 180, 1, self._moved)
        self.angles = [_slider("", 0, -180, 180, 1, self._moved) for _ in range(3)]
        self.mode.observe(lambda _: self.show(self.Q), "value")
        self._about = widgets.VBox([widgets.HBox(self.axis), self.angle])
        self._by = widgets.VBox(self.angles)
        self._place = widgets.VBox()
        self.widget = widgets.VBox([_title(body), self.mode, self._place])
        self.show(self.Q)

    @property
    def sequence(self) -> str | None:
        """The Euler sequence that is shown; None for axis and angle."""
        return None if self.mode.value == AXIS else str(self.mode.value)

    def show(self, Q: np.ndarray) -> None:
        """Set the rotation, and what the sliders show of it."""
        self.Q, self._quiet, sequence = np.array(Q, dtype=float), True, self.sequence
        try:
            if sequence is None:
                v = quaternion_log(self.Q if self.Q[0] >= 0 else -self.Q)
                angle = float(np.linalg.norm(v))
                for text, x in zip(self.axis, v / angle if angle > 1e-12 else (0.0, 0.0, 1.0), strict=True):
                    text.value = round(float(x), 4)
                self.angle.value = np.degrees(angle)
            else:
                phi = np.degrees(euler_from_quaternion(self.Q, sequence))
                for name, slider, angle in zip(sequence, self.angles, phi, strict=True):
                    slider.description, slider.value = f"{name} [deg]", float(angle)
            self._place.children = [self._about if sequence is None else self._by]
        finally:
            self._quiet = False
        self.changed()

    def take(self, q: np.ndarray) -> None:
        """Show the coordinates q (nq,) of the model."""
        self.show(q[self.first : self.first + 4])

    def put(self, q: np.ndarray) -> None:
        """Write the quaternion into the coordinates q (nq,) of the model."""
        q[self.first : self.first + 4] = self.Q

    def _moved(self, _: Any) -> None:
        if self._quiet:
            return
        if self.sequence is None:
            axis = np.array([text.value for text in self.axis])
            length = np.linalg.norm(axis)
            if length > 0:
                self.Q = quaternion_exp(axis / length * np.radians(self.angle.value))
        else:
            self.Q = quaternion_from_euler(np.radians([slider.value for slider in self.angles]), self.sequence)
        self.changed()


def _title(body: Body) -> Any:
    return widgets.HTML(f"<b>{markup(body.name)}</b> on {markup(body.parent)} ({markup(body.joint.kind)})")


SAMPLED_POSES = 60  # random ones, for the scale of colours; of a motion, for the extent of the figure
ALL_JOINTS = "all joints"
MAX_CELLS = 100  # moment arms shown together
MIN_ARM_MM = 0.5  # [mm] of a muscle that turns a joint
MAX_FRAMES = 200  # of a motion that are played
WIDE_LABEL = {"description_width": "150px"}  # names are not cut


def explore(model: Model | str, q: ArrayLike | None = None, *, motion: MotionLike | None = None) -> widgets.VBox:
    """An interactive view of a model in a notebook, with sliders for joints and activations.

    Sliders move joints as rotations about an axis or as Euler angles. The view shows the stick figure, its muscles
    coloured by tension, and the moment arms.

    model   a Model or what `load_model` takes
    q       (nq,) the first pose, the model's start by default
    motion  anything that holds a motion of the model. It then plays, and the sliders follow it.

    Moment arms [mm] are those of one joint and of the muscles that turn it; small models show all joints. `Explorer` is
    the same with its parts at hand. Raises ValueError or ModelError as those do.

    >>> from myoquat.apps.explorer import explore
    >>> type(explore("two_link")).__name__  # as the last line of a notebook's cell it is shown
    'VBox'
    """
    check_types(model=(model, (Model, str)))
    return Explorer(model, q, motion=motion).widget


class Explorer:
    """The view and its parts: `q` (nq,) as the sliders set it, `forces` (m,), `moment_arms` (m, n), `widget`.

    >>> import myoquat as mq
    >>> from myoquat.apps.explorer import Explorer
    >>> arm = mq.load_model("two_link")
    >>> explorer = Explorer(arm)
    >>> explorer.set_q(arm.start)
    >>> explorer.q.shape
    (8,)
    """

    def __init__(self, model: Model | str, q: ArrayLike | None = None, *, motion: MotionLike | None = None) -> None:
        self.model = load_model(model) if not isinstance(model, Model) else model
        system = self.model.system
        start, self.motion = self.model.start, None
        if motion is not None:  # in the model's own description of its joints
            self.motion = film_of(self.model, motion)
            start = self.motion.q[0]
        self.q = np.array(system.check_q(start if q is None else q), dtype=float)
        self._ready = False
        bodies = zip(system.bodies, system.q_slices, system.u_slices, strict=True)
        self.controls = [c for b, iq, iu in bodies for c in controls_of(b, iq, iu, self.q, self.update)]
        self.activations = [
            _slider(m.name, 0.5 if m.activation is None else m.activation, 0.0, 1.0, 0.01, lambda _: self.update())
            for m in self.model.muscles
        ]
        self.forces, self.label = self._values()
        shown = self.q[None] if self.motion is None else self.motion.q[:: max(1, len(self.motion.q) // SAMPLED_POSES)]
        self.view = View(self.model, shown, self._greatest(), self.label)
        self.arms = LiveFigure(layout=ARMS)
        self.arms.add_trace(go.Heatmap(colorscale="RdBu", zmid=0, texttemplate="%{text}", showscale=False))
        self.joint = self._chooser()
        self._ready = True
        self.update()
        for figure in (self.view.figure, self.arms):
            figure.publish()
        self.widget = self._assembled()

    def update(self) -> None:
        """Read the sliders and draw."""
        if not self._ready:
            return
        for control in self.controls:
            control.put(self.q)
        self.forces, _ = self._values()
        self.view.show(self.q, self.forces)
        self._show_arms()

    def set_q(self, q: ArrayLike) -> None:
        """Move the sliders, and the view, to coordinates q (nq,)."""
        q = self.model.system.check_q(q)
        self._ready = False  # every slider tells that it moved
        try:
            for control in self.controls:
                control.take(q)
        finally:
            self._ready = True
        self.update()

    def seek(self, row: int) -> None:
        """Show a row of the motion."""
        if self.motion is None:
            raise ValueError("no motion was given")
        self.set_q(self.motion.q[row])

    # ---- numbers ---------------------------------------------------------------------------------------------

    def _values(self) -> tuple[np.ndarray, str]:
        """What colours the muscles: tensions at rest, or lengths where the model leaves force laws open."""
        if not self.model.muscles:
            return np.zeros(0), ""
        a = np.array([slider.value for slider in self.activations])
        try:
            return tensions_at_rest(self.model, self.q, a), "tension [N]"
        except ModelError:
            return path_lengths(self.model, self.q), "length [m]"

    def _greatest(self) -> float:
        """The top of the colour scale: the greatest tension at full activation in random poses, outliers apart."""
        model = self.model
        if not model.muscles:
            return 1.0
        poses = np.concatenate([[self.q], model.system.random(SAMPLED_POSES, np.random.default_rng(0))])
        if self.label.startswith("length"):
            return float(path_lengths(model, poses).max())
        strongest: list[Any] = [getattr(muscle.law, "max_isometric_force", None) for muscle in model.muscles]
        if None not in strongest:
            return float(max(strongest))
        return float(np.quantile(tensions_at_rest(model, poses, np.ones(len(model.muscles))), 0.95))

    @property
    def moment_arms(self) -> tuple[np.ndarray, list[str]]:
        """(m, n) moment arms -dl/dx [m], and the names of x: velocities, or the Euler angles where these are shown."""
        J, names = path_jacobian(self.model, self.q), list(self.model.system.velocity_names)
        balls = [control for control in self.controls if isinstance(control, BallControl)]
        for ball in balls if self.model.system.velocity_frame == "child" else ():
            if ball.sequence is not None:
                phi = euler_from_quaternion(ball.Q, ball.sequence)
                J[:, ball.turning] = spatial_to_euler(J[:, ball.turning], phi, ball.sequence)
                names[ball.turning] = [f"{ball.name}.{axis}{k + 1}" for k, axis in enumerate(ball.sequence)]
        return -J, names

    # ---- what is seen ----------------------------------------------------------------------------------------

    def _chooser(self) -> Any:
        """Which joint's moment arms are shown: that which most muscles turn, or all of a small model."""
        model = self.model
        sizes = {name: self._arms_of(name)[0].size for name in (model.system.body_names if model.muscles else ())}
        crossing = {name: size for name, size in sizes.items() if size}
        small = len(model.muscles) * model.system.nu <= MAX_CELLS
        names = [*([ALL_JOINTS] if small or not crossing else []), *crossing]
        first = max(names, key=lambda name: crossing.get(name, np.inf))
        options = [(widget_label(name), name) for name in names]
        chooser = widgets.Dropdown(options=options, value=first, description="moment arms", style=WIDE_LABEL)
        chooser.observe(lambda _: self._show_arms(), "value")
        return chooser

    def _arms_of(self, joint: str) -> tuple[np.ndarray, list[str], list[str]]:
        """(m, n) [mm] the moment arms at a joint of the muscles that have any there, and the names of both."""
        (arms, names), system = self.moment_arms, self.model.system
        own = slice(None) if joint == ALL_JOINTS else system.u_slices[system.body_names.index(joint)]
        arms = 1e3 * arms[:, own]
        turned = np.abs(arms).max(axis=1, initial=0.0) > MIN_ARM_MM
        rows = np.flatnonzero(turned | (joint == ALL_JOINTS))
        return arms[rows], names[own], [self.model.muscle_names[k] for k in rows]

    def _show_arms(self) -> None:
        if not self.model.muscles:
            return
        arms, names, muscles = self._arms_of(self.joint.value)
        with self.arms.batch_update():
            trace = self.arms.data[0]
            trace.x, trace.y = (unique(markup(name) for name in axis) for axis in (names, muscles))
            trace.z = arms
            trace.text = np.where(np.abs(arms) < MIN_ARM_MM, "", np.vectorize("{:.0f}".format, otypes=[object])(arms))
            self.arms.layout.height = 90 + 24 * max(len(muscles), 1)

    def _assembled(self) -> Any:
        scrolled = {"height": "440px", "overflow": "auto", "display": "block"}
        pages = {"joints": [control.widget for control in self.controls]}
        pages |= {"activations": self.activations} if self.activations else {}
        tabs = [widgets.VBox(page, layout=scrolled) for page in pages.values()]
        left = widgets.Tab(tabs, titles=[*pages], layout={"width": "390px"})
        rows = [widgets.HBox([left, self.view.figure])]
        if self.motion is not None:
            time = self.motion.time
            shown = np.arange(0, len(time), max(1, len(time) // MAX_FRAMES))
            pause = float(np.clip(1e3 * (time[-1] - time[0]) / max(len(shown) - 1, 1), 50, 1000))
            self.player = player_bar(time[shown], pause, lambda k: self.seek(int(shown[k])))
            rows.insert(0, self.player)
        if self.model.muscles:
            box = {"max_height": "440px", "overflow": "auto", "display": "block"}
            rows += [self.joint, widgets.Box([self.arms], layout=box)]
        return widgets.VBox(rows)


ARMS = {
    "title": {"text": "moment arms [mm]", "font": {"size": 14}},
    "width": 920,
    "margin": {"l": 20, "r": 10, "t": 40, "b": 20},
    "xaxis": {"type": "category", "automargin": True},  # names that look like numbers or dates stay names
    "yaxis": {"type": "category", "autorange": "reversed", "automargin": True},
}
