"""Films of what a window shows: .gif through Pillow, .webp too, .mp4 through ffmpeg."""

import importlib.util
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from myoquat.core.typing import Array
from myoquat.data.files import write_bytes
from myoquat.joints.encoder import NO_ENCODER

__all__ = ["RATE", "can_encode", "check_film", "check_picture", "write_film"]

RATE = 30  # pictures per second
PICTURES = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg"}


def check_film(path: Path) -> None:
    """ValueError if no film can be written there: an unknown ending, or a program that it needs is not installed."""
    ending = path.suffix.lower()
    if ending not in _WRITERS:
        raise ValueError(f"a film of the viewer ends in {', '.join(_WRITERS)}, not {path.suffix!r}")
    if ending == ".mp4" and not can_encode():
        raise ValueError(f"{NO_ENCODER}; .gif and .webp films need none")


def check_picture(path: Path) -> str:
    """The format of a picture by its ending; ValueError for another one."""
    if path.suffix.lower() not in PICTURES:
        raise ValueError(f"a picture of the viewer ends in {' or '.join(PICTURES)}, not {path.suffix!r}")
    return PICTURES[path.suffix.lower()]


def can_encode() -> bool:
    """Whether .mp4 films can be written."""
    return importlib.util.find_spec("imageio_ffmpeg") is not None


def write_film(path: Path, pictures: Iterator[Array], rate: float) -> None:
    """Write pictures (height, width, 3 or 4), `rate` of them a second, as one file, whole or not at all."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / f"film{path.suffix.lower()}"
        _WRITERS[made.suffix](made, (picture[..., :3] for picture in pictures), rate)
        write_bytes(path, made.read_bytes())


def _gif(path: Path, pictures: Iterator[Array], rate: float) -> None:
    pillow = importlib.import_module("PIL.Image")
    images: Iterator[Any] = (pillow.fromarray(picture) for picture in pictures)
    next(images).save(path, save_all=True, append_images=images, duration=round(1000 / rate), loop=0)


def _webp(path: Path, pictures: Iterator[Array], rate: float) -> None:
    pillow = importlib.import_module("PIL.Image")
    images: Iterator[Any] = (pillow.fromarray(picture) for picture in pictures)
    options = {"duration": round(1000 / rate), "loop": 0, "quality": 60, "method": 4}
    next(images).save(path, save_all=True, append_images=images, **options)


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


_WRITERS: dict[str, Callable[[Path, Iterator[Array], float], None]] = {".gif": _gif, ".webp": _webp, ".mp4": _mp4}
