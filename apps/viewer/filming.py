"""`film`: a motion as a file, without a browser."""

import importlib.util
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from myoquat.core import NO_ENCODER, Array, check_types, frozen, options_of
from myoquat.data.files import check_ending, check_output, write_bytes
from myoquat.data.motions import Forces
from myoquat.muscle import Model

from .offscreen import Painter
from .sources import MotionSource, Reels, check_frames, opened

RATE = 30  # pictures per second
PICTURES = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg"}


def check_film(path: Path) -> None:
    """ValueError if no film can be written there: an unknown ending, or a program that it needs is not installed."""
    if check_ending("films are", path, *_WRITERS).suffix.lower() == ".mp4" and not can_encode():
        raise ValueError(f"{NO_ENCODER}; .gif and .webp films need none")


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
        warnings.warn(scene.missing_geometry_message, stacklevel=2)
    painter = Painter(scene, *options.size, films[0].q, scene.model.name)
    step = options.speed / options.rate
    reels, clock = Reels(scene, films, recorded, step), len(films[0].time) > 1  # one pose lasts no time
    pictures = (painter.picture(reels.look(t, options.color), f"{t:.2f} s" if clock else "")
                for t in reels.times(step))  # fmt: skip
    write_film(path, pictures, options.rate)
    return path
