"""A model with sliders: joints and activations in, stick figure, tensions and moment arms out."""

from typing import Any

import ipywidgets as widgets
import numpy as np
import plotly.graph_objects as go

from myoquat.analysis.apps.explorer.controls import BallControl, controls_of
from myoquat.analysis.apps.explorer.view import LiveFigure, View
from myoquat.core.arguments import check_kinds
from myoquat.core.typing import ArrayLike
from myoquat.data import load_model
from myoquat.joints import euler_from_quaternion, spatial_to_euler
from myoquat.joints.labels import markup, unique, widget_label
from myoquat.joints.multibody.body import Body
from myoquat.muscle import Model, ModelError, path_jacobian, path_lengths
from myoquat.muscle.tensions_at_rest import tensions_at_rest

__all__ = ["Explorer", "explore"]

POSES = 60  # random ones, for the room that the figure needs


def explore(model: Model | str, q: ArrayLike | None = None) -> widgets.VBox:
    """An interactive view of a model, as a notebook shows it: sliders for the joints, as rotations about an axis or as
    Euler angles, and for the activations; the stick figure, its muscles coloured by tension; the moment arms.

    model: a Model or what `load_model` takes; q (nq,): where to begin, the model's start by default. `Explorer` is the
    same with its parts at hand. Raises ValueError or ModelError as those do.

    >>> from myoquat.analysis.apps.explorer import explore
    >>> type(explore("two_link")).__name__  # as the last line of a notebook's cell it is shown
    'VBox'
    """
    check_kinds(model=(model, (Model, str)))
    return Explorer(model, q).widget


class Explorer:
    """The view and its parts: `q` (nq,) as the sliders set it, `forces` (m,), `moment_arms` (m, n), `widget`.

    >>> import myoquat as mq
    >>> from myoquat.analysis.apps.explorer import Explorer
    >>> arm = mq.load_model("two_link")
    >>> explorer = Explorer(arm)
    >>> explorer.set_q(arm.start)
    >>> explorer.q.shape
    (8,)
    """

    def __init__(self, model: Model | str, q: ArrayLike | None = None) -> None:
        self.model = load_model(model) if not isinstance(model, Model) else model
        system = self.model.system
        start = system.neutral() if self.model.start_q is None else self.model.start_q
        self.q = np.array(system.check_q(start if q is None else q), dtype=float)
        self._ready = False
        self.controls = [controls_of(b, self.q[s], self.update) for b, s in self._joints]
        self.activations = [_activation(muscle, self.update) for muscle in self.model.muscles]
        self.forces, self.label = self._values()
        self.view = View(self.model, self._room(), self._greatest(), self.label)
        self.arms = LiveFigure(layout=_arms_layout(len(self.model.muscles)))
        self.arms.add_trace(go.Heatmap(colorscale="RdBu", zmid=0, texttemplate="%{z:.3f}", showscale=False))
        self._ready = True
        self.update()
        for figure in (self.view.figure, self.arms):
            figure.publish()
        self.widget = self._assembled()

    @property
    def _joints(self) -> list[tuple[Body, slice]]:
        system = self.model.system
        return [(b, s) for b, s in zip(system.bodies, system.q_slices, strict=True) if b.joint.nq]

    def update(self) -> None:
        """Read the sliders and draw."""
        if not self._ready:
            return
        for controls, (_, s) in zip(self.controls, self._joints, strict=True):
            for control in controls:
                control.put(self.q[s])
        self.forces, _ = self._values()
        self.view.show(self.q, self.forces)
        self._show_arms()

    def set_q(self, q: ArrayLike) -> None:
        """Move the sliders, and the view, to coordinates q (nq,)."""
        q = self.model.system.check_q(q)
        for controls, (_, s) in zip(self.controls, self._joints, strict=True):
            for control in controls:
                control.take(q[s])

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

    def _room(self) -> np.ndarray:
        return np.concatenate([[self.q], self.model.system.random(POSES, np.random.default_rng(0))])

    def _greatest(self) -> float:
        """The top of the colour scale: the greatest tension at full activation in the room's poses, outliers apart."""
        if not self.model.muscles:
            return 1.0
        room, m = self._room(), len(self.model.muscles)
        if self.label.startswith("length"):
            return float(path_lengths(self.model, room).max())
        strongest: list[Any] = [getattr(muscle.law, "max_isometric_force", None) for muscle in self.model.muscles]
        if None not in strongest:
            return float(max(strongest))
        forces = tensions_at_rest(self.model, room, np.ones(m))
        return float(np.quantile(forces, 0.95))

    @property
    def moment_arms(self) -> tuple[np.ndarray, list[str]]:
        """(m, n) moment arms -dl/dx [m], and the names of x: velocities, or the Euler angles where these are shown."""
        J = path_jacobian(self.model, self.q)
        columns, names = [], []
        system = self.model.system
        for controls, (body, _) in zip(self.controls, self._joints, strict=True):
            u = system.u_slices[system.bodies.index(body)]
            ball = controls[-1] if isinstance(controls[-1], BallControl) else None
            if ball is None or ball.sequence is None or system.velocity_frame != "child":
                columns.append(J[:, u])
                names += list(body.names_of_velocities)
                continue
            turning = slice(u.stop - 3, u.stop)
            phi = euler_from_quaternion(ball.Q, ball.sequence)
            columns += [J[:, u.start : turning.start], spatial_to_euler(J[:, turning], phi, ball.sequence)]
            names += list(body.names_of_velocities)[:-3]
            names += [f"{body.name}.{axis}{k + 1}" for k, axis in enumerate(ball.sequence)]
        return -np.concatenate(columns, axis=1), names

    # ---- what is seen ----------------------------------------------------------------------------------------

    def _show_arms(self) -> None:
        if not self.model.muscles:
            return
        arms, names = self.moment_arms
        with self.arms.batch_update():
            trace = self.arms.data[0]
            trace.x, trace.y = (unique(markup(name) for name in axis) for axis in (names, self.model.muscle_names))
            trace.z = arms

    def _assembled(self) -> Any:
        joints = [control.widget for controls in self.controls for control in controls]
        tabs = [widgets.VBox(joints, layout=_scrolled())]
        titles = ["joints"]
        if self.activations:
            tabs.append(widgets.VBox(self.activations, layout=_scrolled()))
            titles.append("activations")
        left = widgets.Tab(tabs, layout={"width": "360px"})
        left.titles = titles
        return widgets.VBox([widgets.HBox([left, self.view.figure]), self.arms])


def _activation(muscle: Any, changed: Any) -> Any:
    value = 0.5 if muscle.activation is None else muscle.activation
    slider = widgets.FloatSlider(value=value, min=0, max=1, step=0.01, description=widget_label(muscle.name))
    slider.observe(lambda _: changed(), "value")
    return slider


def _scrolled() -> Any:
    return widgets.Layout(height="440px", overflow="auto", display="block")


def _arms_layout(muscles: int) -> dict[str, Any]:
    return {
        "title": {"text": "moment arms [m]", "font": {"size": 14}},
        "width": 920,
        "height": 110 + 26 * max(muscles, 1),
        "margin": {"l": 90, "r": 10, "t": 40, "b": 30},
        "xaxis": {"type": "category"},  # names that look like numbers or dates stay names
        "yaxis": {"type": "category", "autorange": "reversed"},
    }
