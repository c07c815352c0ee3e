"""`view`: a model in the browser and in Jupyter, with sliders, and its motions to play, scrub and compare."""

import contextlib
import importlib
import io
import threading
import time
import webbrowser
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from myoquat.core import Array, ArrayLike, missing_extra
from myoquat.data import Forces
from myoquat.data.files import check_ending, check_output, write_bytes, write_text
from myoquat.muscle import Model
from myoquat.muscle.evaluate import tensions_at_rest

from .films import PICTURES, RATE, Film, MotionSource, Reels, check_film, check_frames, opened, write_film
from .panel import Access, Panel, PoseControls
from .scene import ARROW, ARROW_SIZES, FIELD, Look, Scene, Stage, floor_lines, frames

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
        data, pillow = io.BytesIO(), importlib.import_module("PIL.Image")
        pillow.fromarray(self.pixels(width, height)[..., :3]).save(data, PICTURES[path.suffix.lower()])
        write_bytes(path, data.getvalue())
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
            offscreen = importlib.import_module("myoquat.apps.viewer.offscreen")  # matplotlib
            if self._painter is None or self._painter.size != (width, height):
                poses = self.films[0].q if self.films else None
                self._painter = offscreen.Painter(self.scene, width, height, poses, self.model.name)
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
