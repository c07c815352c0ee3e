"""`film`: a motion as a file, without a browser."""

import warnings
from collections.abc import Sequence
from pathlib import Path

from myoquat.apps.viewer.arrows import check_frames
from myoquat.apps.viewer.offscreen import Painter, Reels
from myoquat.apps.viewer.opening import opened
from myoquat.apps.viewer.recording import RATE, check_film, write_film
from myoquat.apps.viewer.sources import Loads, MotionSource
from myoquat.core.arguments import check_types, options_of
from myoquat.core.records import dataclass
from myoquat.data.files import check_output
from myoquat.muscle import Model

__all__ = ["FilmOptions", "film"]


@dataclass(frozen=True)
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
    loads: Loads | str | Path | None = None,
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
    drawn = Reels(painter, films, options.color, recorded).pictures(options.rate, options.speed)
    write_film(path, drawn, options.rate)
    return path
