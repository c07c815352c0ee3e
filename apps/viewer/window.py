"""`view`: a model in the browser and in Jupyter, with sliders, and its motions to play, scrub and compare.

Values from a window are validated before they reach the viewer. A value that a control cannot have changes nothing, and
the control returns to the shown value.

Only the page that the viewer's server serves has access to it, at an address with a secret token. A browser lets every
page connect to servers of the same machine. The server therefore answers only requests with its token in their path and
with headers of a page that was opened from here. `Host` names this machine; it does not where a foreign name was made
to point here (DNS rebinding). `Origin` is that host.
"""

import contextlib
import http
import importlib
import io
import math
import secrets
import tempfile
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from myoquat.core import Array, ArrayLike, frozen, missing_extra, widget_label
from myoquat.data import Forces
from myoquat.data.files import check_ending, check_output, write_bytes, write_text
from myoquat.joints import convert_coordinates, quaternion_exp, quaternion_log
from myoquat.joints.conversion.balls import in_angles
from myoquat.joints.types.spherical import shorter
from myoquat.muscle import Model
from myoquat.muscle.coordinates import follow
from myoquat.muscle.evaluate import tensions_at_rest

from .films import (
    PICTURES,
    RATE,
    Film,
    MotionSource,
    Painter,
    Reels,
    can_encode,
    check_film,
    check_frames,
    encoded,
    opened,
    write_film,
)
from .scene import ARROW, ARROW_SIZES, FIELD, Look, Scene, Stage, floor_lines, frames

# ---- Controls: motion, colours, what is visible, pictures, and a slider for every coordinate ---------------------

DEGREE = np.pi / 180
SHOWN = {"rad": "deg", "m": "m", "1": "1"}  # the slider's unit by that of the coordinate


@frozen
class Control:
    """A slider: what it is called, its range and unit, and the entry of `PoseControls.entries` that it sets."""

    label: str
    low: float
    high: float
    unit: float  # of the slider, in radians or metres
    index: int
    shown: str = "deg"  # the unit's name


class PoseControls:
    """Between sliders and q (nq,): `controls`, and both directions."""

    def __init__(self, model: Model, size: float) -> None:
        self.model, self.controls = model, list[Control]()
        self.system = in_angles(model.system, model.system.angle_names)
        ranges = {c.name: c.range for c in model.coordinates if c.range is not None}
        for body, s in zip(self.system.bodies, self.system.q_slices, strict=True):
            ball = body.joint.facts.quaternion
            for k, name in enumerate(body.names_of_coordinates[:ball]):
                unit_name = body.joint.facts.coordinate_units[k]
                low, high = ranges.get(name, (-size, size) if unit_name == "m" else (-np.pi, np.pi))
                unit = DEGREE if unit_name == "rad" else 1.0
                if name not in model.driven:
                    self.controls.append(Control(name, low / unit, high / unit, unit, s.start + k, SHOWN[unit_name]))
            if ball is not None:
                first = s.start + ball + 1
                self.controls += [
                    Control(f"{body.name} rotation {axis}", -180.0, 180.0, DEGREE, first + k)
                    for k, axis in enumerate("xyz")
                ]

    @property
    def labels(self) -> list[str]:
        """The labels beside the sliders."""
        return [f"{widget_label(c.label)} [{c.shown}]" for c in self.controls]

    def entries(self, q: Array) -> Array:
        """(n,) q (nq,) in angles, with a rotation vector in the last three entries of every quaternion."""
        found = np.array(convert_coordinates(self.model.system, self.system, q))
        for s in self.system.quaternion_slices():
            found[s.start + 1 : s.stop] = quaternion_log(shorter(found[s]))
        return found

    def values(self, q: Array) -> list[float]:
        """The sliders' positions at q (nq,)."""
        entries = self.entries(q)
        return [float(entries[control.index]) / control.unit for control in self.controls]

    def pose(self, q: Array, values: list[float]) -> Array:
        """(nq,) q with everything that has a slider set by it; couplers are followed."""
        entries = self.entries(q)
        for control, value in zip(self.controls, values, strict=True):
            entries[control.index] = value * control.unit
        for s in self.system.quaternion_slices():
            entries[s] = quaternion_exp(entries[s.start + 1 : s.stop])
        follow(self.model.couplers, self.system, entries)
        return convert_coordinates(self.system, self.model.system, entries)


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
            self._add_muscles()
        stage = viewer.stage
        with self._gui.add_folder("Visible", expand_by_default=False):
            axes = self._gui.add_checkbox("body frames", False)
            axes.on_update(lambda _: stage.show_frames(axes.value))
            muscles = [] if stage.muscles is None else [stage.muscles]
            for name, handles in (("muscles", muscles), ("surfaces", stage.surfaces), ("markers", stage.markers)):
                if handles:
                    self._add_switch(name, handles)
        if stage.scene.missing_geometry_message:
            self._gui.add_markdown(widget_label(stage.scene.missing_geometry_message))
        self._gui.add_button("Save picture").on_click(lambda event: self._save_picture(event.client))
        self.sliders: list[Any] = []
        self.ranges: list[tuple[float, float]] = []  # of the sliders; what a window says of these is not believed
        with self._gui.add_folder("Pose", expand_by_default=not viewer.films):
            for control, label, value in zip(pose.controls, pose.labels, pose.values(viewer.q), strict=True):
                step = 0.1 if control.unit != 1.0 else 1e-3
                low, high = min(control.low, value), max(control.high, value, control.low + step)
                self.ranges.append((round(low, 3), round(high, 3)))
                slider = self._gui.add_slider(label, *self.ranges[-1], step, round(value, 3))
                slider.on_update(lambda _: None if self._following else self._turned())
                self.sliders.append(slider)

    def _add_motion(self) -> None:
        viewer, film = self.viewer, self.viewer.films[0]
        low, high = float(film.time[0]), float(film.time[-1])
        with self._gui.add_folder("Motion"):
            self.button = self._gui.add_button("Play")
            self.clock = self._gui.add_slider("time [s]", low, math.ceil(1e3 * max(high, low + 1e-3)) / 1e3, 1e-3, low)
            self.speed = self._gui.add_dropdown("speed", SPEEDS, initial_value="1")
            self._gui.add_button("Save film").on_click(lambda event: self._save_film(event.client))
            if len(viewer.films) > 1:
                names = " and ".join(widget_label(f.name) for f in viewer.films)
                self._gui.add_markdown(f"comparing {names} (blue)")

        def scrub(_: Any) -> None:
            if self._following:
                return
            if is_within(self.clock.value, low, high + 1e-3):
                viewer.playing = False
                viewer.seek(self.clock.value)
            self.follow()

        self.button.on_click(lambda _: viewer.pause() if viewer.playing else viewer.play())
        self.clock.on_update(scrub)
        self._bind(self.speed, "speed", SPEEDS.__contains__, float)

    def _add_muscles(self) -> None:
        viewer, given = self.viewer, [key for film in self.viewer.films[:1] for key in film.values]
        colors = tuple(dict.fromkeys(["activation", "force [N]", *given]))
        with self._gui.add_folder("Muscles"):
            self.color = self._gui.add_dropdown("colour", colors, initial_value="activation")
            self._bind(self.color, "color", colors.__contains__, str)
            if "activation" not in given:
                self.level = self._gui.add_slider("activation", 0.0, 1.0, 0.01, 0.0)
                self._bind(self.level, "activation", lambda value: is_within(value, 0.0, 1.0), float)
            self.legend = self._gui.add_markdown(self._bounds())
            self.named = self._gui.add_markdown("Click a muscle for its name.")
        viewer.stage.muscles.on_click(lambda event: self._name(event.instance_index))

    def _bind(self, control: Any, name: str, valid: Callable[[Any], bool], read: Callable[[Any], Any]) -> None:
        """Set an attribute of the viewer by a control, which returns from a value that it cannot have."""
        last = control.value

        def changed(_: Any) -> None:
            nonlocal last
            if not valid(control.value):
                control.value = last
                return
            last = control.value
            setattr(self.viewer, name, read(last))
            self.viewer.draw()
            if self.viewer.model.muscles:
                self.legend.content = self._bounds()

        control.on_update(changed)

    def _name(self, instance: Any) -> None:
        """Say which muscle a piece belongs to."""
        viewer = self.viewer
        owner = viewer.scene.owner
        if not isinstance(instance, int) or not 0 <= instance < len(owner):
            return
        i = int(owner[instance])
        value = float(viewer.values[i])
        self.named.content = f"**{widget_label(viewer.model.muscles[i].name)}**: {viewer.color} {value:.3g}"

    def _bounds(self) -> str:
        return f"{self.viewer.color}: light 0, dark {self.viewer.look().high:.4g}"

    def _add_switch(self, name: str, handles: list[Any]) -> None:
        box = self._gui.add_checkbox(name, bool(handles[0].visible))

        def switch(_: Any) -> None:
            for handle in handles:
                handle.visible = box.value

        box.on_update(switch)

    def _save_picture(self, client: Any) -> None:
        pixels = self.viewer.pixels(1600, 1200, client)
        client.send_file_download(f"{self.viewer.model.name}.png", encoded(pixels), save_immediately=True)

    def _save_film(self, client: Any) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"film{'.mp4' if can_encode() else '.gif'}"
            write_film(path, self.viewer.pictures(RATE, 960, 720, client), RATE)
            client.send_file_download(
                f"{self.viewer.model.name}{path.suffix}", path.read_bytes(), save_immediately=True
            )

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


# ---- Access to the server ----------------------------------------------------------------------------------------

LOOPBACK = "127.0.0.1"  # the only address that the server listens at
NAMES = ("localhost", "127.0.0.1", "[::1]")  # of this machine in a `Host`; a tunnel to it may have another port
TOKEN_BYTES = 24

_starting = threading.Lock()


class Access:
    """The token of one server, and the check of its requests."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(TOKEN_BYTES)
        self._checks = False

    def refusal(self, path: str, hosts: Sequence[str], origins: Sequence[str], upgrade: bool) -> str | None:
        """Why a request is rejected, from its path and its headers `Host` and `Origin`; None if it is answered.

        upgrade: whether it asks for a WebSocket. Browsers send its origin always, and for a page only where another
        page asks for it.
        """
        if len(hosts) != 1 or _name(hosts[0]) not in NAMES:
            return f"the host must be one of {', '.join(NAMES)}"
        if origins != [f"http://{hosts[0]}"] and (upgrade or origins):
            return "only the viewer's own page may connect"
        first = path.partition("?")[0].removeprefix("/").partition("/")[0]
        if not secrets.compare_digest(first.encode(), self.token.encode()):
            return "the address lacks the viewer's token; open the whole address that it printed"
        return None

    @contextmanager
    def guard(self) -> Iterator[str]:
        """The host with which a `viser.ViserServer` is made inside the block: its requests are then checked.

        Raises RuntimeError at the end of the block for a version of viser that starts its server in another way.
        """
        module = importlib.import_module("websockets.asyncio.server")
        host, serve = _Host(LOOPBACK), module.serve

        def guarded(handler: Any, at: Any = None, *args: Any, process_request: Any = None, **options: Any) -> Any:
            if at is host:  # another server may start in another thread
                process_request, self._checks = self._checked(process_request), True
            return serve(handler, at, *args, process_request=process_request, **options)

        with _starting:
            module.serve = guarded  # type: ignore[attr-defined]
            try:
                yield host
            finally:
                module.serve = serve  # type: ignore[attr-defined]

    @property
    def checks(self) -> bool:
        """Whether a server was made that checks its requests."""
        return self._checks

    def _checked(self, answer: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        """The answer to a request of which `answer` sees the path without the token, or a refusal."""

        def process(connection: Any, request: Any) -> Any:
            headers = request.headers
            reason = self.refusal(
                request.path, headers.get_all("Host"), headers.get_all("Origin"), bool(headers.get_all("Upgrade"))
            )
            if reason is not None:
                return connection.respond(http.HTTPStatus.FORBIDDEN, f"{reason}\n")
            response = answer(connection, replace(request, path=request.path.replace(f"/{self.token}", "", 1) or "/"))
            if response is not None:
                response.headers["Referrer-Policy"] = "no-referrer"  # no link sends the token
            return response

        return process


class _Host(str):
    """An address that is distinguished from equal ones by its identity."""

    __slots__ = ()


def _name(host: str) -> str:
    """'localhost' of 'localhost:8080'."""
    name, colon, port = host.rpartition(":")
    return name.lower() if colon and port.isascii() and port.isdigit() else host.lower()


# ---- The window --------------------------------------------------------------------------------------------------

MAX_PORT = 65535


def view(
    model: Model | str | Path,
    motion: MotionSource | None = None,
    *,
    compare: MotionSource | None = None,
    run: int | tuple[int, ...] = (),
    q: ArrayLike | None = None,
    geometry: str | Path | Sequence[str | Path] = (),
    port: int = 8080,
    browser: bool = True,
    loads: Forces | str | Path | None = None,
) -> "Viewer":
    """Show a model in a browser window, or in Jupyter as the value of a cell.

    model      a Model, or what `load_model` takes.
    motion     any `myoquat.data.MotionLike`, such as a Trajectory (one `run` of a batch), a Motion or a Redundancy. A
               table of a motion, or the path of one: it can be played.
    compare    another motion, shown as a ghost beside the first, at equal times.
    q          (nq,) the pose without a motion; the model's start by default.
    geometry   folders with the files (.vtp, .stl, .obj, .msh) that the model names, beside that of its own file and
               `Geometry` there. Bodies whose files are missing are drawn as limbs.
    port       of the local web server, 0 to 65535, 0 for any; the next free one where it is taken.
    browser    whether a window is opened.
    loads      recorded loads beside the motion, such as ground reactions, or what `load_forces` takes: arrows from
               their points along their forces. The greatest arrow is half as long as the figure.

    The window shows the model upright against gravity. Sliders set the coordinates of the model's file, or rotation
    vectors of ball joints that have none. Muscles are coloured by activation or force; a click names one. Needs the
    extra `view`. Raises ModuleNotFoundError without it, ValueError for another port, and as `load_model` and
    `load_motion` do.

    >>> import myoquat as mq
    >>> window = mq.view("two_link", browser=False)
    >>> window.url.startswith("http://")
    True
    >>> window.close()
    """
    motions = [each for each in (motion, compare) if each is not None]
    scene, films, recorded = opened(model, motions, run, q, geometry, loads)
    viewer = Viewer(scene, films, port, recorded)
    if browser:
        webbrowser.open(viewer.url)
    return viewer


class Viewer:
    """A running viewer: `url`, `q` (nq,) as it is shown, `time` [s] of a motion, `values` (m,) that colour muscles.

    `show`, `seek`, `play` and `pause` do what the window's controls do. `picture` and `film` save what an open window
    shows, or the scene as it is first seen where none is open. `html` is the scene as a page of its own; `close` stops
    the server. The server listens at this machine alone, and answers only the page that was opened at `url`.

    >>> import myoquat as mq
    >>> viewer = mq.view("two_link", browser=False, port=0)  # opens the browser without browser=False
    >>> viewer.show(mq.load_model("two_link").start)
    >>> viewer.close()
    """

    def __init__(self, scene: Scene, films: Sequence[Film] = (), port: int = 8080, loads: Forces | None = None) -> None:
        if loads is not None and not films:
            raise ValueError("loads are shown beside a motion, and none was given")
        if loads is not None:
            check_frames(loads, scene.model.system)
        if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= MAX_PORT:
            raise ValueError(f"port must be an integer from 0 to {MAX_PORT}, not {port!r}")
        try:
            viser = importlib.import_module("viser")  # on use: the command line and figures do without
        except ModuleNotFoundError as error:
            raise missing_extra(error) from None
        self.scene, self.films, self.model = scene, tuple(films), scene.model
        self.q, self.time, self.playing, self.speed = scene.q, films[0].time[0] if films else 0.0, False, 1.0
        self.color, self.activation = "activation", 0.0
        self.reels = Reels(scene, self.films or (Film("pose", np.zeros(1), scene.q[None]),), loads)
        self._painter: Any = None
        self._lock, self._closed = threading.RLock(), False
        self.access = Access()
        with contextlib.redirect_stdout(io.StringIO()), self.access.guard() as host:  # without its banner
            self.server = viser.ViserServer(host, port, verbose=False, label=f"myoquat: {scene.model.name}")
        if not self.access.checks:
            self.close()
            raise RuntimeError(f"viser {viser.__version__} starts its server in a way whose requests cannot be checked")
        self._look()
        self.stage = Stage(self.server, scene, "model")
        self.ghost = Stage(self.server, scene, "ghost", True) if len(self.films) > 1 else None
        shaft, wide, head = np.multiply(ARROW_SIZES, scene.size)
        self.arrows = None if loads is None else self.server.scene.add_arrows(
            "/loads", np.zeros((1, 2, 3), dtype=np.float32), ARROW, shaft_radius=shaft, head_radius=wide,
            head_length=head, visible=False,
        )  # fmt: skip
        self.panel = Panel(self, PoseControls(self.model, scene.size))
        self.draw()
        self.panel.follow()
        self._thread = threading.Thread(target=self._run, daemon=True)
        if self.films:
            self._thread.start()

    @property
    def url(self) -> str:
        """Where the browser finds it: with the token that every request needs."""
        return f"http://localhost:{self.server.get_port()}/{self.access.token}/"

    def _look(self) -> None:
        """Up from gravity, a floor below everything, the figure filling the frame."""
        scene, api = self.scene, self.server.scene
        api.set_up_direction(tuple(map(float, scene.up)))
        eye, middle = scene.camera
        camera = self.server.initial_camera
        camera.position, camera.look_at, camera.fov = tuple(eye), tuple(middle), FIELD
        # Without a GPU, the reflections of surroundings take two thirds of a frame, shadows half of the rest.
        api.configure_environment_map(None)
        api.configure_default_lights(True, cast_shadow=False)
        lines, colors = floor_lines(scene)
        api.add_line_segments("/floor", lines, colors, thickness=1.0, thickness_units="screen")

    # ---- what is shown -------------------------------------------------------------------------------------

    @property
    def values(self) -> Array:
        """(m,) what colours the muscles."""
        return self.look().values

    def look(self) -> Look:
        """What is shown: a frame of the motion, or the pose q. Where the motion does not say what colours the muscles,
        their tensions at rest do, or the activation of the slider."""
        film, look = self.reels.films[0], self.reels.look(self.time, self.color)
        if not np.array_equal(self.q, film.q[film.at(self.time)]):
            look = replace(look, frame=frames(self.model, self.q[None])[0])
        if self.color in film.values:
            return look
        level = np.full(len(self.model.muscles), self.activation)
        if self.color == "activation":
            return replace(look, values=level, high=1.0)
        forces = tensions_at_rest(self.model, self.q, level)
        return replace(look, values=forces, high=max([*self.scene.strengths, 1e-9]))

    def draw(self) -> None:
        """Send the pose q to the windows."""
        with self._lock:
            look = self.look()
            self.stage.show(look)
            if self.arrows is not None and look.arrows is not None:
                self.arrows.visible = bool(len(look.arrows))
                if self.arrows.visible:
                    self.arrows.points = look.arrows.astype(np.float32)
            if self.ghost is not None and look.ghost is not None:
                self.ghost.show(Look.plain(look.ghost, len(self.model.muscles)))

    def show(self, q: ArrayLike) -> None:
        """Show the pose q (nq,). Raises ValueError as `ArticulatedSystem.check_q` does."""
        with self._lock:
            self.playing = False
            self.q = np.asarray(self.model.system.check_q(q), dtype=float)
            self.draw()
            self.panel.follow()

    def seek(self, t: float) -> None:
        """Show the motion at the time t [s]."""
        if not self.films:
            raise ValueError("no motion was given")
        self._go_to(t)
        self.panel.follow()

    def _go_to(self, t: float) -> None:
        """Draw the motion at the time t [s]; clock and sliders stay as they are."""
        with self._lock:
            film = self.films[0]
            self.time = float(np.clip(t, film.time[0], film.time[-1]))
            self.q = film.q[film.at(self.time)]
            self.draw()

    def play(self, speed: float | None = None) -> None:
        """Play the motion, over and over, at `speed` seconds of motion per second."""
        if not self.films:
            raise ValueError("no motion was given")
        if speed is not None and not speed > 0:
            raise ValueError(f"speed must be positive, not {speed}")
        self.speed = self.speed if speed is None else speed
        self.playing = True
        self.panel.follow()

    def pause(self) -> None:
        """Hold the motion where it is."""
        self.playing = False
        self.panel.follow()

    def _run(self) -> None:
        """The film: a frame every 1/30 s by the clock; late ones are left out."""
        last = time.monotonic()
        while not self._closed:
            now = time.monotonic()
            if self.playing:
                film = self.films[0]
                t = self.time + (now - last) * self.speed
                self._go_to(film.time[0] if t > film.time[-1] else t)
                self.panel.follow(sliders=False)
            last = now
            time.sleep(max(0.002, 1 / RATE - (time.monotonic() - now)))

    # ---- pictures ------------------------------------------------------------------------------------------

    def picture(self, path: str | Path, width: int = 1600, height: int = 1200, *, overwrite: bool = False) -> Path:
        """Save what an open window shows as .png or .jpg; where none is open, the scene from its first camera.

        Raises FileExistsError for a file that exists unless `overwrite` is True, ValueError for another ending. Nothing
        is written then.
        """
        path = check_output(check_ending("pictures are", path, *PICTURES), overwrite)
        write_bytes(path, encoded(self.pixels(width, height)[..., :3], PICTURES[path.suffix.lower()]))
        return path

    def film(
        self, path: str | Path, rate: int = RATE, width: int = 960, height: int = 720, *, overwrite: bool = False
    ) -> Path:
        """Save the motion as seen from an open window, or from the first camera where none is open. `path` ends in
        .gif, .webp or .mp4; `rate` is in pictures per second.

        Raises FileExistsError for a file that exists unless `overwrite` is True. ValueError without a motion, for
        another ending, or for .mp4 where there is no ffmpeg. Nothing is written then.
        """
        path = check_output(path, overwrite)
        check_film(path)
        write_film(path, self.pictures(rate, width, height), rate)
        return path

    def pictures(self, rate: float, width: int, height: int, client: object = None) -> Iterator[Array]:
        """What an open window, or one `client`, shows of the motion, `rate` pictures per second of watching; drawn
        without a window where none is open.

        Raises ValueError without a motion.
        """
        if not self.films:
            raise ValueError("no motion was given")
        self.pause()
        for t in self.reels.times(self.speed / rate):
            self.seek(t)
            yield self.pixels(width, height, client)

    def pixels(self, width: int, height: int, client: object = None) -> Array:
        """(height, width, 3 or 4) what an open window, or one `client`, shows; without a window, the scene as its first
        camera sees it, drawn without a browser."""
        clients = list(self.server.get_clients().values())
        if client is None and not clients:
            if self._painter is None or self._painter.size != (width, height):
                poses = self.films[0].q if self.films else None
                self._painter = Painter(self.scene, width, height, poses, self.model.name)
            return self._painter.picture(self.look())
        window: Any = client or clients[0]
        self.server.flush()  # the scene goes out before the window is asked for a picture
        return window.get_render(height, width, timeout=60.0)

    def html(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the scene at this moment as a page of its own, which needs no server.

        Raises FileExistsError for a file that exists unless `overwrite` is True.
        """
        path = check_output(path, overwrite)
        write_text(path, self.server.scene.as_html())
        return path

    def _repr_html_(self) -> str:
        """The window inside a notebook."""
        return f'<iframe src="{self.url}" width="100%" height="560" style="border: 0"></iframe>'

    def close(self) -> None:
        """Stop the server."""
        self._closed = True
        with contextlib.redirect_stdout(io.StringIO()):
            self.server.stop()
