"""Sliders of joints: angles for people, quaternions in q."""

from collections.abc import Callable
from typing import Any

import ipywidgets as widgets
import numpy as np

from myoquat.joints import euler_from_quaternion, quaternion_exp, quaternion_from_euler, quaternion_log
from myoquat.joints.euler import SEQUENCES
from myoquat.joints.labels import markup, widget_label
from myoquat.joints.multibody.body import Body

__all__ = ["BallControl", "CoordinateControl", "controls_of"]

AXIS = "axis and angle"
SLIDERS = {"rad": (-180.0, 180.0, 1.0), "m": (-1.0, 1.0, 0.01), "1": (-3.0, 3.0, 0.01)}  # ends and step by unit


def controls_of(body: Body, q: np.ndarray, changed: Callable[[], None]) -> list[Any]:
    """What moves the joint of a body, from its coordinates q: one for a quaternion, one for the rest."""
    ball = body.joint.facts.quaternion
    rest = [i for i in range(body.joint.nq) if ball is None or not ball <= i < ball + 4]
    found: list[Any] = [CoordinateControl(body, rest, q, changed)] if rest else []
    return found if ball is None else [*found, BallControl(body, ball, q, changed)]


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

    def __init__(self, body: Body, entries: list[int], q: np.ndarray, changed: Callable[[], None]) -> None:
        self.entries = entries
        facts = body.joint.facts
        self.turns = [facts.coordinate_units[i] == "rad" for i in entries]
        self.sliders = [
            _slider(body.names_of_coordinates[i], np.degrees(q[i]) if turn else q[i],
                    *SLIDERS[facts.coordinate_units[i]], lambda _: changed())
            for i, turn in zip(entries, self.turns, strict=True)
        ]  # fmt: skip
        self.widget = widgets.VBox([_title(body), *self.sliders])

    def take(self, q: np.ndarray) -> None:
        """Show the joint's coordinates q (nq,)."""
        for i, turn, slider in zip(self.entries, self.turns, self.sliders, strict=True):
            slider.value = np.degrees(q[i]) if turn else q[i]

    def put(self, q: np.ndarray) -> None:
        """Write the sliders' values into the joint's coordinates q (nq,)."""
        for i, turn, slider in zip(self.entries, self.turns, self.sliders, strict=True):
            q[i] = np.radians(slider.value) if turn else slider.value


class BallControl:
    """A ball joint's quaternion `Q`, turned about an axis or by the angles of an Euler sequence, as `mode` says.

    Another mode shows the same rotation. An axis of length zero turns nothing: the rotation stays as it was.
    """

    def __init__(self, body: Body, first: int, q: np.ndarray, changed: Callable[[], None]) -> None:
        self.first, self.changed = first, changed
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
        self.Q, self._quiet = np.array(Q, dtype=float), True
        try:
            self._show_axis() if self.sequence is None else self._show_angles(self.sequence)
        finally:
            self._quiet = False
        self.changed()

    def take(self, q: np.ndarray) -> None:
        """Show the joint's coordinates q (nq,)."""
        self.show(q[self.first : self.first + 4])

    def put(self, q: np.ndarray) -> None:
        """Write the quaternion into the joint's coordinates q (nq,)."""
        q[self.first : self.first + 4] = self.Q

    def _show_axis(self) -> None:
        v = quaternion_log(self.Q if self.Q[0] >= 0 else -self.Q)
        angle = float(np.linalg.norm(v))
        for text, x in zip(self.axis, v / angle if angle > 1e-12 else (0.0, 0.0, 1.0), strict=True):
            text.value = round(float(x), 4)
        self.angle.value = np.degrees(angle)
        self._place.children = [self._about]

    def _show_angles(self, sequence: str) -> None:
        phi = np.degrees(euler_from_quaternion(self.Q, sequence))
        for k, (slider, angle) in enumerate(zip(self.angles, phi, strict=True)):
            slider.description = f"{sequence[k]} [deg]"
            slider.value = float(angle)
        self._place.children = [self._by]

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
