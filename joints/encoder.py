"""Encoders of films. The module is separate from `picture`, so that showing a model does not import matplotlib."""

import importlib
import shutil

__all__ = ["NO_ENCODER", "film_encoder"]

NO_ENCODER = ".mp4 films need ffmpeg, which is not installed: the extra `view` brings one"


def film_encoder() -> str | None:
    """The ffmpeg that encodes .mp4 films, the one of the extra `view` before the system's; None where there is none."""
    try:
        return str(importlib.import_module("imageio_ffmpeg").get_ffmpeg_exe())
    except (ModuleNotFoundError, RuntimeError):  # RuntimeError: imageio_ffmpeg without its program
        return shutil.which("ffmpeg")
