"""The viewer's controls: motion, colours, what is visible, pictures, and a slider for every coordinate.

Values from a window are validated before they reach the viewer. A value that a control cannot have changes nothing, and
the control returns to the shown value.
"""

import importlib
import io
import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from myoquat.apps.viewer.controls import PoseControls
from myoquat.apps.viewer.recording import RATE, can_encode, write_film
from myoquat.joints.labels import widget_label

__all__ = ["Panel", "is_within"]

ROUND_OFF = 1e-9  # of a slider's range
SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "4")


class Panel:
    """The controls of a `Viewer`; `follow` brings them to what the viewer shows."""

    def __init__(self, viewer: Any, pose: PoseControls) -> None:
        self.viewer, self.pose, self._following = viewer, pose, False
        self._gui = viewer.server.gui
        self.clock: Any = None
        if viewer.films:
            self._add_motion()
        if viewer.model.muscles:
            self._add_colors()
        self._add_visible()
        self._gui.add_button("Save picture").on_click(lambda event: self._save_picture(event.client))
        self.sliders = self._add_sliders()

    def _add_motion(self) -> None:
        viewer, film = self.viewer, self.viewer.films[0]
        with self._gui.add_folder("Motion"):
            self.button = self._gui.add_button("Play")
            low, high = float(film.time[0]), float(film.time[-1])
            self.clock = self._gui.add_slider("time [s]", low, math.ceil(1e3 * max(high, low + 1e-3)) / 1e3, 1e-3, low)
            self.speed = self._gui.add_dropdown("speed", SPEEDS, initial_value="1")
            self._gui.add_button("Save film").on_click(lambda event: self._save_film(event.client))
            if len(viewer.films) > 1:
                names = " and ".join(widget_label(f.name) for f in viewer.films)
                self._gui.add_markdown(f"comparing {names} (blue)")
        self.button.on_click(lambda _: viewer.pause() if viewer.playing else viewer.play())
        self.clock.on_update(lambda _: None if self._following else self._scrub())
        self.speed.on_update(lambda _: self._set_speed())

    def _scrub(self) -> None:
        time = self.viewer.films[0].time
        if is_within(self.clock.value, float(time[0]), float(time[-1]) + 1e-3):
            self.viewer.playing = False
            self.viewer.seek(self.clock.value)
        self.follow()

    def _set_speed(self) -> None:
        if self.speed.value in SPEEDS:
            self.viewer.speed = float(self.speed.value)
        else:
            self.speed.value = "1"

    def _add_colors(self) -> None:
        viewer, given = self.viewer, [key for film in self.viewer.films[:1] for key in film.values]
        with self._gui.add_folder("Muscles"):
            self.colors = tuple(dict.fromkeys(["activation", "force [N]", *given]))
            self.color = self._gui.add_dropdown("colour", self.colors, initial_value="activation")
            if "activation" not in given:
                self.level = self._gui.add_slider("activation", 0.0, 1.0, 0.01, 0.0)
                self.level.on_update(lambda _: self._set_level())
            self.legend = self._gui.add_markdown(self._bounds())
            self.named = self._gui.add_markdown("Click a muscle for its name.")
        self.color.on_update(lambda _: self._set_color())
        viewer.stage.muscles.on_click(lambda event: self._name(event.instance_index))

    def _set_color(self) -> None:
        if self.color.value not in self.colors:
            self.color.value = self.viewer.color
            return
        self.viewer.color = self.color.value
        self._recolor()

    def _set_level(self) -> None:
        if not is_within(self.level.value, 0.0, 1.0):
            self.level.value = self.viewer.activation
            return
        self.viewer.activation = float(self.level.value)
        self._recolor()

    def _recolor(self) -> None:
        self.viewer.draw()
        self.legend.content = self._bounds()

    def _name(self, instance: Any) -> None:
        """Say which muscle a piece belongs to."""
        viewer = self.viewer
        if not isinstance(instance, int) or not 0 <= instance < viewer.stage.pieces:
            return
        i = viewer.stage.muscle_of(instance)
        value = float(viewer.colored()[0][i])
        self.named.content = f"**{widget_label(viewer.model.muscles[i].name)}**: {viewer.color} {value:.3g}"

    def _bounds(self) -> str:
        _, low, high = self.viewer.colored()
        return f"{self.viewer.color}: light {low:g}, dark {high:.4g}"

    def _add_visible(self) -> None:
        stage = self.viewer.stage
        with self._gui.add_folder("Visible", expand_by_default=False):
            axes = self._gui.add_checkbox("body frames", False)
            axes.on_update(lambda _: stage.show_frames(axes.value))
            muscles = [] if stage.muscles is None else [stage.muscles]
            for name, handles in (("muscles", muscles), ("surfaces", stage.surfaces), ("markers", stage.markers)):
                if handles:
                    self._add_switch(name, handles)
        if stage.scene.missing_geometry_message:
            self._gui.add_markdown(widget_label(stage.scene.missing_geometry_message))

    def _add_switch(self, name: str, handles: list[Any]) -> None:
        box = self._gui.add_checkbox(name, bool(handles[0].visible))

        def switch(_: Any) -> None:
            for handle in handles:
                handle.visible = box.value

        box.on_update(switch)

    def _save_picture(self, client: Any) -> None:
        data, pillow = io.BytesIO(), importlib.import_module("PIL.Image")
        pillow.fromarray(np.asarray(self.viewer.pixels(1600, 1200, client))).save(data, "png")
        client.send_file_download(f"{self.viewer.model.name}.png", data.getvalue(), save_immediately=True)

    def _save_film(self, client: Any) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"film{'.mp4' if can_encode() else '.gif'}"
            write_film(path, self.viewer.pictures(RATE, 960, 720, client), RATE)
            client.send_file_download(
                f"{self.viewer.model.name}{path.suffix}", path.read_bytes(), save_immediately=True
            )

    def _add_sliders(self) -> list[Any]:
        viewer, pose = self.viewer, self.pose
        found = []
        self.ranges: list[tuple[float, float]] = []  # of the sliders; what a window says of these is not believed
        with self._gui.add_folder("Pose", expand_by_default=not viewer.films):
            for control, label, value in zip(pose.controls, pose.labels, pose.values(viewer.q), strict=True):
                step = 0.1 if control.unit != 1.0 else 1e-3
                low, high = min(control.low, value), max(control.high, value, control.low + step)
                self.ranges.append((round(low, 3), round(high, 3)))
                slider = self._gui.add_slider(label, *self.ranges[-1], step, round(value, 3))
                slider.on_update(lambda _: None if self._following else self._turned())
                found.append(slider)
        return found

    def _turned(self) -> None:
        viewer, values = self.viewer, [slider.value for slider in self.sliders]
        if not all(is_within(value, *ends) for value, ends in zip(values, self.ranges, strict=True)):
            self.follow()
            return
        viewer.playing = False
        viewer.q = self.pose.pose(viewer.q, values)
        viewer.draw()

    def follow(self, sliders: bool = True) -> None:
        """Bring clock, button and sliders to what is shown, without moving it in turn."""
        self._following = True
        try:
            if self.clock is not None:
                self.clock.value = round(float(self.viewer.time), 3)
                label = "Pause" if self.viewer.playing else "Play"
                if self.button.label != label:
                    self.button.label = label
            if sliders and not self.viewer.playing:
                values = self.pose.values(self.viewer.q)
                for slider, value, ends in zip(self.sliders, values, self.ranges, strict=True):
                    slider.value = round(float(np.clip(value, *ends)), 3)
        finally:
            self._following = False


def is_within(value: Any, low: float, high: float) -> bool:
    """Whether a value from a window is a finite number from low to high, up to round-off.

    >>> is_within(0.5, 0.0, 1.0), is_within(float("nan"), 0.0, 1.0), is_within("0.5", 0.0, 1.0)
    (True, False, False)
    """
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    slack = ROUND_OFF * (high - low)
    return number and math.isfinite(value) and low - slack <= value <= high + slack
