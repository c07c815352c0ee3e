"""Motions to show, and pictures and films of them without a browser.

The viewer opens models, motions, folders of geometry, and recorded loads as arrows. `film` writes a motion as a file.

The camera, colours and shapes of pictures are the viewer's. A picture is a list of triangles in space with flat
shading, sorted by their distance (painter's algorithm) and filled by matplotlib.
"""

import importlib
import importlib.util
import io
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any, TypeAlias, Union

import numpy as np

from myoquat.core import (
    NO_ENCODER,
    PATH,
    Array,
    ArrayLike,
    check_types,
    frozen,
    indices_of,
    options_of,
    pandas as pd,
    warn_user,
)
from myoquat.data import load_model
from myoquat.data.files import check_ending, check_output, write_bytes
from myoquat.data.meshes import Mesh
from myoquat.data.motions import Forces, MotionLike, load_forces, load_motion
from myoquat.data.motions.coordinates import states_from_motion
from myoquat.data.motions.motion import check_motion
from myoquat.data.motions.series import check_run
from myoquat.dynamics import Trajectory
from myoquat.joints.conversion.balls import on_branches_of
from myoquat.joints.conversion.convert import convert_coordinates
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.quaternion import rotation_matrix
from myoquat.muscle import Model

from .scene import (
    ARROW,
    BONE,
    FIELD,
    GHOST,
    Frame,
    FrameCache,
    Look,
    Scene,
    arrow,
    camera_of,
    floor_lines,
    shades,
    spread,
    tube,
    tubes,
)

# ---- Pictures: triangles drawn from far to near ------------------------------------------------------------------

DPI = 100
PARTS_PER_PIECE = 6  # of a straight piece of a muscle: short parts are sorted correctly among bones
SHORT_PIECE = 0.02  # of the scene: pieces of arcs, which are short enough as they are
EDGE_LIGHTNESS = 0.42  # of a triangle that is seen from its edge
SHOWN_POSES = 40  # of a motion: all of them are within the frame
MARGIN = 1.12  # of the frame around the figure
Triangles = tuple[Array, Array]  # corners (n, 3, 3) [m] and colours (n, 4)


class Painter:
    """Pictures of a scene, with the model's markers or without; `poses` q (t, nq) are all within the frame."""

    def __init__(
        self, scene: Scene, width: int, height: int, poses: Array | None = None, name: str = "", markers: bool = False
    ) -> None:
        self._parts = [*scene.bones, *(scene.marker_balls if markers else ()), *scene.ghosts]
        self.scene, self.size = scene, (width, height)
        seen = scene.points_at(scene.q[None] if poses is None else spread(poses, SHOWN_POSES), self._parts)
        points = np.concatenate([seen, scene.points])
        self.eye, middle = camera_of(points, scene.up, min(width / height, 1.0) / MARGIN)
        self.toward = _unit(self.eye - middle)
        self.right = _unit(np.cross(scene.up, self.toward))
        self.above = np.cross(self.toward, self.right)
        self.light = _unit(self.toward + 0.5 * self.above - 0.4 * self.right)
        figures, agg, collections = (
            importlib.import_module(f"matplotlib.{name}") for name in ("figure", "backends.backend_agg", "collections")
        )
        figure = figures.Figure(figsize=(width / DPI, height / DPI), dpi=DPI, facecolor="white")
        self.canvas = agg.FigureCanvasAgg(figure)
        axes: Any = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set(xlim=(-width / height, width / height), ylim=(-1.0, 1.0))
        axes.set_axis_off()
        lines, colors = floor_lines(scene)
        ends = self._seen(lines)
        good = (ends[..., 2] > 0.01 * scene.size).all(axis=1)
        floor = collections.LineCollection(
            ends[good, :, :2], colors=(0.55 + 0.45 * colors[good, 0] / 255), linewidths=0.6, zorder=0
        )
        axes.add_collection(floor)
        self.clock = axes.text(0.02, 0.03, "", transform=axes.transAxes, fontsize=11, color="0.25", animated=True)
        axes.text(0.98, 0.03, name, transform=axes.transAxes, fontsize=9, color="0.4", ha="right")
        self.canvas.draw()
        self.floor = self.canvas.copy_from_bbox(figure.bbox)

    def _seen(self, points: Array) -> Array:
        """(..., 3) positions in the picture, from -1 to 1 upwards, and distances [m], of points (..., 3) [m]."""
        from_eye = points - self.eye
        far = -(from_eye @ self.toward)
        scale = 1.0 / (np.maximum(far, 1e-6) * np.tan(FIELD / 2))
        return np.stack([from_eye @ self.right * scale, from_eye @ self.above * scale, far], axis=-1)

    def picture(self, look: Look, clock: str = "") -> Array:
        """(height, width, 3) the pixels of a look."""
        parts = [NOTHING, *self._bones(look.frame, BONE, 1.0), *self._muscles(look), *self._arrows(look)]
        if look.ghost is not None:
            parts += self._bones(look.ghost, GHOST, 0.45)
        corners, colors = (np.concatenate(x) for x in zip(*parts, strict=True))
        normal = _unit(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]))
        colors[:, :3] *= EDGE_LIGHTNESS + (1 - EDGE_LIGHTNESS) * np.abs(normal @ self.light)[:, None]
        seen = self._seen(corners)
        order = np.argsort(-seen[..., 2].mean(axis=1), kind="stable")
        self.canvas.restore_region(self.floor)
        renderer, axes = self.canvas.get_renderer(), self.clock.axes
        # matplotlib draws these triangles half a pixel larger, so that nothing shines through between neighbours
        rgba = np.broadcast_to(colors[order, None], (len(order), 3, 4))
        renderer.draw_gouraud_triangles(renderer.new_gc(), seen[order, :, :2], rgba, axes.transData)
        self.clock.set_text(clock)
        axes.draw_artist(self.clock)
        return np.array(self.canvas.buffer_rgba())[..., :3]

    def _bones(self, frame: Frame, color: tuple[int, ...], opacity: float) -> list[Triangles]:
        """The parts of the bodies."""
        found = []
        for part in self._parts:
            Q, p = frame.bodies.get(part.body, (np.array([1.0, 0, 0, 0]), np.zeros(3)))
            rgba = np.append(np.array(part.color or color) / 255, opacity * part.opacity)
            found.append(_copies(Mesh(part.vertices, part.mesh.faces), Q[None], p[None], rgba[None]))
        return found

    def _muscles(self, look: Look) -> list[Triangles]:
        """A tube around every piece of a muscle."""
        (middle, Q, length), scene = look.frame.pieces, self.scene
        short, scales = length < SHORT_PIECE * scene.size, scene.scales(look)
        rgba = np.insert(shades(look.values, look.high)[scene.owner] / 255, 3, 1.0, axis=1)
        return [
            _copies(tube(parts), Q[chosen], middle[chosen], rgba[chosen], scales[chosen])
            for parts, chosen in ((PARTS_PER_PIECE, ~short), (1, short & (length > 0)))
        ]

    def _arrows(self, look: Look) -> list[Triangles]:
        """The loads."""
        found, rgba = [], np.append(np.array(ARROW) / 255, 1.0)
        for start, tip in () if look.arrows is None else look.arrows:
            _, Q, length = tubes(start, tip)
            found.append(_copies(arrow(float(length), self.scene.size), Q[None], start[None], rgba[None]))
        return found


def _copies(mesh: Mesh, Q: Array, p: Array, rgba: Array, scales: Array | None = None) -> Triangles:
    """The triangles of copies of a mesh: their unit quaternions (n, 4), positions (n, 3), colours (n, 4), and sizes
    (n, 3) along the axes of the mesh."""
    vertices = mesh.vertices if scales is None else mesh.vertices * scales[:, None]
    world = vertices @ rotation_matrix(Q).mT + p[:, None]
    return world[:, mesh.faces].reshape(-1, 3, 3), np.repeat(rgba, len(mesh.faces), axis=0)


NOTHING: Triangles = np.zeros((0, 3, 3)), np.zeros((0, 4))


def _unit(v: Array) -> Array:
    """Vectors (..., n) of length one; zero where they are."""
    size = np.linalg.norm(v, axis=-1, keepdims=True)
    return np.divide(v, size, out=np.zeros_like(v), where=size > 0)


# ---- What the viewer opens ---------------------------------------------------------------------------------------

MotionSource: TypeAlias = Union[MotionLike, "pd.DataFrame", str, Path]  # pandas is not imported


@frozen
class Film:
    """A motion of the model to show.

    name    for the page
    time    (t,) [s]
    q       (t, nq) coordinates of the model
    values  (t, m) each, by name: what colours muscles
    loads   of the motion, None if they are not known
    """

    name: str
    time: Array
    q: Array
    values: dict[str, Array] = field(default_factory=dict)
    loads: Forces | None = None

    def shares(self, strengths: Array) -> Array:
        """(t, m) tensions over the muscles' greatest (m,) [N], NaN where they are not known. A muscle without a bound
        is compared with its own greatest."""
        tension = self.values.get("force [N]")
        if tension is None:
            return np.full((len(self.time), len(strengths)), np.nan)
        own = np.nanmax(np.abs(tension), axis=0, initial=0.0)
        return tension / np.maximum(np.where(strengths > 0, strengths, own), 1e-9)

    def at(self, t: float) -> int:
        """The row nearest to a time [s]."""
        return int(np.abs(self.time - t).argmin())


def film_of(model: Model, motion: MotionSource | Film, run: tuple[int, ...] = (), name: str = "motion") -> Film:
    """A film of a `MotionLike` (one `run` of a batch), a table as `load_table` reads it, or a path of one.

    States of the same bodies described otherwise are converted. Raises ValueError for a run that is not there or a
    motion without a finite row, TypeError for anything else.
    """
    if isinstance(motion, Film):
        return motion
    if isinstance(motion, (str, Path)):
        path = Path(motion)
        stored = path.suffix.lower() == ".npz"
        loaded = Trajectory.load(path) if stored else load_motion(path, model, start=model.start)
        return film_of(model, loaded, run, path.stem)
    values: dict[str, Array] = {}
    if isinstance(motion, pd.DataFrame):
        system, time, wrench = model.system, motion.index.to_numpy(dtype=float), None
        q, _ = states_from_motion(model, motion)
    else:
        found = check_motion(motion)
        run = check_run(run, found.q.shape[:-2])
        known = {"activation": found.activation, "force [N]": found.force}
        values = {key: x[run] if x.ndim > 2 else x for key, x in known.items() if x is not None}
        system, time, q, wrench = found.system, found.time, found.q[run], found.loads
        if system.body_names == model.system.body_names:
            model = on_branches_of(model, system)
    good = np.atleast_1d(np.isfinite(q).all(axis=-1))  # rows after a stop are NaN
    if not good.any():
        raise ValueError(f"the motion {name!r} has no row to show")
    film = Film(
        name,
        np.asarray(time)[good],
        convert_coordinates(system, model.system, q[good]),
        {key: np.broadcast_to(x, (len(good), len(model.muscles)))[good] for key, x in values.items()},
    )
    if wrench is None:
        return film
    # loads on their central axes, in world axes
    wrench = np.asarray(wrench)
    wrench = wrench[run] if wrench.ndim > 3 else wrench
    good = good & np.isfinite(wrench).all(axis=(1, 2))
    force, torque, times = wrench[good, :, :3], wrench[good, :, 3:], np.asarray(time)[good]
    acting = np.flatnonzero(np.abs(force).max(axis=(0, 2), initial=0.0) > 0)
    if not len(acting):
        return film
    poses = system.poses(q[good])
    origins = np.stack([np.broadcast_to(poses[name][1], (len(times), 3)) for name in system.body_names], axis=1)
    square = (force**2).sum(axis=-1, keepdims=True)
    arm = np.divide(np.cross(force, torque), square, out=np.zeros_like(force), where=square > 0)
    names = tuple(system.body_names[i] for i in acting)
    ground = (system.ground,) * len(names)
    point = (origins + arm)[:, acting]
    loads = Forces(times, names, names, force[:, acting], point, np.zeros_like(point), ground, ground)
    return replace(film, loads=loads)


INSTALLED = (("opensim", "Geometry"), ("myo_sim", "models/meshes"), ("myosuite", "simhive/myo_sim/meshes"))


def opened(
    model: Model | str | Path,
    motions: Sequence[MotionSource],
    run: int | tuple[int, ...],
    q: ArrayLike | None,
    geometry: str | Path | Sequence[str | Path],
    loads: Forces | str | Path | None,
) -> tuple[Scene, list[Film], Forces | None]:
    """The scene of a model, its motions, and the loads beside the first, given or its own."""
    check_types(model=(model, (Model, *PATH)))
    folders = [Path(geometry)] if isinstance(geometry, (str, Path)) else [Path(folder) for folder in geometry]
    model = model if isinstance(model, Model) else load_model(str(model))
    folders += [model.file.parent] if model.file is not None else []
    folders += [folder / name for folder in folders for name in ("Geometry", "geometry")]
    folders += installed_geometry()
    run = (run,) if isinstance(run, int) else tuple(run)
    films = [film_of(model, motion, run) for motion in motions]
    start = model.start if q is None else np.asarray(model.system.check_q(q), dtype=float)
    recorded = load_forces(loads) if isinstance(loads, (str, Path)) else loads
    if recorded is None and films:
        recorded = films[0].loads
    motion = films[0].q if films else None
    return Scene(model, start if motion is None else motion[0], tuple(folders), motion), films, recorded


def installed_geometry() -> list[Path]:
    """Folders of geometry files that come with an installed OpenSim or MyoSuite."""
    home = os.environ.get("OPENSIM_HOME")
    found = [Path(home) / "Geometry"] if home else []
    for package, folder in INSTALLED:
        where = importlib.util.find_spec(package)
        found += [Path(place) / folder for place in (where.submodule_search_locations or ())] if where else []
    return [folder for folder in found if folder.is_dir()]


def check_frames(forces: Forces, system: ArticulatedSystem) -> None:
    """ValueError for loads in the axes of a body that the system lacks."""
    known = (system.ground, "ground", *system.body_names)
    indices_of("body for the axes of loads:", (*forces.force_frames, *forces.point_frames), known)


MAX_ARROW = 0.5  # of the figure's size: the arrow of the greatest force of the record
MIN_ARROW = 0.005  # shorter ones are not drawn


class Reels:
    """Motions of a scene as they look over time: `unit` [m/N] is the length of the arrows of its loads. With a `step`
    [s], only at its `times`."""

    def __init__(
        self, scene: Scene, films: Sequence[Film], loads: Forces | None = None, step: float | None = None
    ) -> None:
        self.films, self.loads, self._size = tuple(films), loads, scene.size
        times = None if step is None else [*self.times(step)]
        self._frames = [
            FrameCache(scene.model, film.q, None if times is None else map(film.at, times)) for film in films
        ]
        self._shares = films[0].shares(scene.strengths)
        greatest = 0.0 if loads is None else float(np.linalg.norm(loads.force, axis=-1).max(initial=0.0))
        self.unit = MAX_ARROW * scene.size / max(greatest, 1e-300)

    def look(self, t: float, color: str) -> Look:
        """The motion at a time t [s], its muscles in the colours of what the film has under a name, else grey."""
        film = self.films[0]
        row = film.at(t)
        frame, known = self._frames[0][row], film.values.get(color)
        ghost = self._frames[1][self.films[1].at(t)] if len(self.films) > 1 else None
        values = np.full(len(self._shares[row]), np.nan) if known is None else known[row]
        if known is None or color == "activation":
            high = 1.0
        else:
            high = float(known[np.isfinite(known)].max(initial=1e-9))
        return Look(frame, values, high, self._shares[row], ghost, self._arrows(frame, t))

    def times(self, step: float) -> Iterator[float]:
        """Times [s] of the motion, a step apart."""
        time = self.films[0].time
        yield from np.arange(time[0], time[-1] + 1e-9, step).tolist()

    def _arrows(self, frame: Frame, t: float) -> Array:
        """(n, 2, 3) [m] the arrows of loads in world axes; none at times that were not recorded."""
        loads = self.loads
        if loads is None or not len(loads.time) or not loads.time[0] <= t <= loads.time[-1]:
            return np.zeros((0, 2, 3))
        row, found = int(np.abs(loads.time - t).argmin()), []
        for k, (force_frame, point_frame) in enumerate(zip(loads.force_frames, loads.point_frames, strict=True)):
            (R, _), (R_point, p) = _pose(frame, force_frame), _pose(frame, point_frame)
            start = p + R_point @ loads.point[row, k]
            found.append((start, start + self.unit * (R @ loads.force[row, k])))
        ends = np.array(found).reshape(-1, 2, 3)
        return ends[np.linalg.norm(ends[:, 1] - ends[:, 0], axis=-1) > MIN_ARROW * self._size]


def _pose(frame: Frame, name: str) -> tuple[Array, Array]:
    if name not in frame.bodies:  # "ground", by whatever name the system has it
        return np.eye(3), np.zeros(3)
    Q, p = frame.bodies[name]
    return np.asarray(rotation_matrix(Q)), p


# ---- Films as files ----------------------------------------------------------------------------------------------

RATE = 30  # pictures per second
PICTURES = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg"}


def check_film(path: Path) -> None:
    """ValueError if no film can be written there: an unknown ending, or a program that it needs is not installed."""
    if check_ending("films are", path, *_WRITERS).suffix.lower() == ".mp4" and not can_encode():
        raise ValueError(f"{NO_ENCODER}; .gif and .webp films need none")


def encoded(pixels: Array, form: str = "png", **options: Any) -> bytes:
    """Pixels (height, width, 3 or 4) as a file of a format of Pillow, with its options."""
    data = io.BytesIO()
    importlib.import_module("PIL.Image").fromarray(np.asarray(pixels)).save(data, form, **options)
    return data.getvalue()


def can_encode() -> bool:
    """Whether .mp4 films can be written."""
    return importlib.util.find_spec("imageio_ffmpeg") is not None


def write_film(path: Path, pictures: Iterator[Array], rate: float) -> None:
    """Write pictures (height, width, 3 or 4), `rate` of them a second, as one file, whole or not at all."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / f"film{path.suffix.lower()}"
        _WRITERS[made.suffix](made, (picture[..., :3] for picture in pictures), rate)
        write_bytes(path, made.read_bytes())


def _pillow(path: Path, pictures: Iterator[Array], rate: float) -> None:
    pillow = importlib.import_module("PIL.Image")
    images: Iterator[Any] = (pillow.fromarray(picture) for picture in pictures)
    options = {} if path.suffix == ".gif" else {"quality": 60, "method": 4}
    next(images).save(path, save_all=True, append_images=images, duration=round(1000 / rate), loop=0, **options)


def _mp4(path: Path, pictures: Iterator[Array], rate: float) -> None:
    """H.264 in the colours that every player knows; its width and height are even numbers."""
    ffmpeg = importlib.import_module("imageio_ffmpeg")
    stream: Any = None
    for picture in pictures:
        even = np.ascontiguousarray(picture[: picture.shape[0] // 2 * 2, : picture.shape[1] // 2 * 2])
        if stream is None:
            stream = ffmpeg.write_frames(path, even.shape[1::-1], fps=rate, macro_block_size=1, quality=8)
            stream.send(None)
        stream.send(even)
    stream.close()


_WRITERS: dict[str, Callable[[Path, Iterator[Array], float], None]] = {".gif": _pillow, ".webp": _pillow, ".mp4": _mp4}


@frozen
class FilmOptions:
    """How `film` draws and writes; see its arguments of the same names.

    ValueError for a speed, rate or size that is not positive.

    >>> from myoquat.apps.viewer import FilmOptions
    >>> FilmOptions(speed=0.5).size
    (960, 720)
    """

    color: str = "activation"
    speed: float = 1.0
    rate: int = RATE
    size: tuple[int, int] = (960, 720)
    overwrite: bool = False

    def __post_init__(self) -> None:
        for name, value in (("speed", self.speed), ("rate", self.rate), ("size", min(self.size))):
            if not value > 0:
                raise ValueError(f"{name} must be positive, not {value}")


def film(
    model: Model | str | Path,
    motion: MotionSource,
    path: str | Path,
    *,
    compare: MotionSource | None = None,
    run: int | tuple[int, ...] = (),
    geometry: str | Path | Sequence[str | Path] = (),
    loads: Forces | str | Path | None = None,
    color: str = "activation",
    speed: float = 1.0,
    rate: int = RATE,
    size: tuple[int, int] = (960, 720),
    overwrite: bool = False,
    options: FilmOptions | None = None,
) -> Path:
    """Write a motion of a model as a film, .mp4, .gif or .webp, without a browser.

    model, motion, compare, run, geometry and loads are those of `view`. Muscles are coloured by `color` where the
    motion knows its values, and as thick as they pull. Loads that belong to the motion are arrows. Needs the extra
    `view`.

    color      "activation" or "force [N]"
    speed      seconds of motion per second of watching
    rate       pictures per second
    size       width and height in pixels
    overwrite  whether a file that exists is replaced
    options    `FilmOptions`: the arguments from `color` on in a record, instead of singly

    Raises FileExistsError for a file that exists unless `overwrite` is True. Raises ValueError for another ending or a
    speed, rate or size that is not positive, and as `view` does. A warning names geometry files that were not found.

    >>> import tempfile
    >>> import myoquat as mq
    >>> arm = mq.load_model("two_link")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     swing = mq.simulate(arm, duration=0.2, output_step=0.02)
    ...     mq.film(arm, swing, f"{folder}/swing.gif", rate=10, size=(120, 90)).name
    'swing.gif'
    """
    check_types(model=(model, (Model, str, Path)), path=(path, (str, Path)))
    options = options_of("options", options, FilmOptions(color, speed, rate, size, overwrite))
    path = check_output(path, options.overwrite)
    check_film(path)
    motions = [motion] if compare is None else [motion, compare]
    scene, films, recorded = opened(model, motions, run, None, geometry, loads)
    if recorded is not None:
        check_frames(recorded, scene.model.system)
    if scene.missing_geometry_message:
        warn_user(scene.missing_geometry_message)
    painter = Painter(scene, *options.size, films[0].q, scene.model.name)
    step = options.speed / options.rate
    reels, clock = Reels(scene, films, recorded, step), len(films[0].time) > 1  # one pose lasts no time
    pictures = (painter.picture(reels.look(t, options.color), f"{t:.2f} s" if clock else "")
                for t in reels.times(step))  # fmt: skip
    write_film(path, pictures, options.rate)
    return path
