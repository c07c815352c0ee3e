"""Libraries imported when they are first used: a process that finds its kernels in the cache needs few of them."""

import importlib
import re
import shutil
import sys
from typing import TYPE_CHECKING, Any

__all__ = [
    "EXTRAS",
    "NO_ENCODER",
    "Library",
    "MissingExtraError",
    "casadi",
    "clarabel",
    "difflib",
    "film_encoder",
    "futures",
    "html",
    "is_imported",
    "jax",
    "llvm",
    "llvmlite",
    "masked",
    "metadata",
    "missing_extra",
    "mujoco",
    "pandas",
    "platformdirs",
    "requirements_of",
    "resources",
    "scipy",
    "subprocess",
    "sympy",
    "torch",
    "version_of",
    "xarray",
]

EXTRAS = {
    "anywidget": "notebooks",
    "casadi": "control",
    "distributed": "cluster",
    "google_crc32c": "studies",
    "gymnasium": "learning",
    "imageio_ffmpeg": "view",
    "ipywidgets": "notebooks",
    "jax": "jax",
    "mujoco": "mujoco",
    "openpyxl": "tables",
    "plotly": "notebooks",
    "pyarrow": "studies",
    "torch": "torch",
    "viser": "view",
    "xarray": "studies",
    "zarr": "studies",
}  # library -> the extra of this package that installs it


class MissingExtraError(ModuleNotFoundError):
    """A library is not installed that an extra of this package brings; the message is the command that installs it."""


class Library:
    """A module that is imported when one of its attributes is first asked for, by any thread."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute == "__wrapped__":  # asked of every name by doctest and inspect; no library has one
            raise AttributeError(attribute)
        try:
            module = importlib.import_module(self._name)
        except ModuleNotFoundError as error:
            raise missing_extra(error) from None
        found = getattr(module, attribute)
        setattr(self, attribute, found)  # asked for once
        return found

    def __repr__(self) -> str:
        return f"<library {self._name!r}>"


def missing_extra(error: ModuleNotFoundError) -> ModuleNotFoundError:
    """The error with the extra of this package that installs the missing library, where one does."""
    extra = EXTRAS.get((error.name or "").partition(".")[0])
    if extra is None:
        return error
    needed = " ".join(f"'{requirement}'" for requirement in requirements_of(extra))
    anywhere = f"this installs it, anywhere: python -m pip install {needed}; " if needed else ""
    return MissingExtraError(
        f"{error.name} is not installed, which the extra {extra!r} brings; {anywhere}in a copy of the repository also: "
        f"python -m pip install '.[{extra}]'",
        name=error.name,
    )


def requirements_of(extra: str) -> list[str]:
    """What pip installs for an extra of this package, as its installed metadata say; nothing where it is not installed.

    >>> from myoquat.core.lazy_imports import requirements_of
    >>> all("[" not in requirement for requirement in requirements_of("all"))
    True
    """
    try:
        lines = metadata.requires("myoquat") or []
    except metadata.PackageNotFoundError:
        return []
    found: list[str] = []
    for requirement, _, marker in (line.partition(";") for line in lines):
        if not re.search(rf"""extra == ['"]{extra}['"]""", marker):
            continue
        nested = re.fullmatch(r"myoquat\[(.*)\]", requirement.strip())
        own = nested[1].split(",") if nested else []
        found += [each for name in own for each in requirements_of(name)] if nested else [requirement.strip()]
    return list(dict.fromkeys(found))


def version_of(library: str) -> str:
    """The version of a library that is installed, this package included, or "not installed"."""
    try:
        return str(metadata.version(library))
    except metadata.PackageNotFoundError:
        return "not installed"


NO_ENCODER = ".mp4 films need ffmpeg, which is not installed: the extra `view` brings one"


def film_encoder() -> str | None:
    """The ffmpeg that encodes .mp4 films, the one of the extra `view` before the system's; None where there is none."""
    try:
        return str(importlib.import_module("imageio_ffmpeg").get_ffmpeg_exe())
    except (ModuleNotFoundError, RuntimeError):  # RuntimeError: imageio_ffmpeg without its program
        return shutil.which("ffmpeg")


def is_imported(name: str) -> bool:
    """Whether anybody has imported a library; what it defines cannot be met before."""
    return name in sys.modules


def masked(array: Any) -> bool:
    """Whether an array is one of NumPy's masked arrays, whose module is not imported before anybody asks for one."""
    masked_array = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
    return masked_array is not None and isinstance(array, masked_array)


if TYPE_CHECKING:
    import difflib
    import html
    import subprocess
    from concurrent import futures
    from importlib import metadata, resources

    import casadi
    import clarabel
    import jax
    import llvmlite
    import llvmlite.binding as llvm
    import mujoco
    import pandas
    import platformdirs
    import scipy
    import sympy
    import torch
    import xarray
else:
    _MODULES = {"futures": "concurrent.futures", "llvm": "llvmlite.binding", "metadata": "importlib.metadata",
                "resources": "importlib.resources"}  # fmt: skip
    for _name in {*__all__} - globals().keys():
        globals()[_name] = Library(_MODULES.get(_name, _name))
