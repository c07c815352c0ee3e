"""What a kernel is built for and how it runs: processor, lanes, optimization, threads, cache folder.

Each can be given as an argument, or by an environment variable that is read at every use:

    MYOQUAT_CPU           native (default), x86-64, x86-64-v2, x86-64-v3, x86-64-v4: the instructions that may be used
    MYOQUAT_LANES         1, 2, 4 or 8 states side by side; by default the width of the processor's registers
    MYOQUAT_OPTIMIZATION  0: LLVM takes half the time, and its code 10 to 30 % longer, for the same bits; 1 (default)
    MYOQUAT_THREADS       threads of a call, and that compile; by default the processors that this process may use
    MYOQUAT_CACHE         folder of compiled kernels, or 'off'
"""

import atexit
import functools
import os
import shutil
import stat
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from myoquat.core import frozen, llvm, platformdirs, warn_user

if sys.platform != "win32":
    import pwd


def user_cache() -> Path | None:
    """The folder for this package's caches that the system intends; None where no home directory is known.

    A program that runs as the superuser, but with the environment of another user, gets the superuser's own.
    """
    try:
        found: Path = platformdirs.user_cache_path("myoquat", appauthor=False, opinion=False)
    except RuntimeError:
        return None
    if sys.platform != "win32" and _is_of_another_user(found):
        try:
            return Path(pwd.getpwuid(os.getuid()).pw_dir) / ".cache" / "myoquat"
        except KeyError:  # a number without a user, as in a container
            return None
    return found if found.is_absolute() else None


def _is_of_another_user(path: Path) -> bool:
    """Whether the superuser would make a folder in one of another user: asked of the nearest folder that exists."""
    if os.getuid() != 0:
        return False
    for folder in (path, *path.absolute().parents):
        try:
            return folder.stat().st_uid != 0
        except OSError:
            continue
    return False


@functools.cache
def temporary_cache() -> Path:
    """A folder of this user alone among the temporary files. All processes share it, if its name is free or belongs to
    this user; otherwise this process has one of its own. Warns."""
    shared = Path(tempfile.gettempdir()) / f"myoquat-cache-{_user()}"
    folder = shared if _is_made_private(shared) else _own_folder()
    warn_user(
        f"no home directory is known, so compiled kernels are kept in {folder}; set HOME, or MYOQUAT_CACHE to a folder "
        "or to 'off'",
        RuntimeWarning,
    )
    return folder


def _user() -> int | str:
    return os.getuid() if sys.platform != "win32" else "user"


def _is_made_private(folder: Path) -> bool:
    """Whether there is such a folder, made now or before by this user, that no other user may enter. A link that
    another user has put there is none."""
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        pass
    except OSError:
        return False
    if sys.platform == "win32":
        return False
    status = os.lstat(folder)
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077


def _own_folder() -> Path:
    """A folder with an unpredictable name; removed when this process ends."""
    folder = tempfile.mkdtemp(prefix="myoquat-cache-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


# ---- processor, lanes, threads, cache folder ---------------------------------------------------------------


LANES = (1, 2, 4, 8)
OPTIMIZATIONS = (0, 1)
_LEVELS = {"x86-64": (2, False), "x86-64-v2": (2, False), "x86-64-v3": (4, True), "x86-64-v4": (8, True)}


@frozen
class Target:
    """A processor as LLVM knows it, with its native number of float64 lanes. `fma`: whether it has a fused
    multiply-add. `optimization`: the level at which LLVM optimizes for it."""

    cpu: str
    features: str
    triple: str
    lanes: int
    fma: bool
    optimization: int = 1

    @property
    def windows(self) -> bool:
        """Whether the code is for Windows."""
        return _is_windows(self.triple)


def target() -> Target:
    """The processor to compile for: MYOQUAT_CPU, else this machine; and MYOQUAT_OPTIMIZATION.

    Raises ValueError for a name or a level that is not in the list of this module's docstring.
    """
    return replace(_processor(), optimization=_optimization())


def _optimization() -> int:
    level = _whole_number("optimization", None, "MYOQUAT_OPTIMIZATION")
    if level not in (None, *OPTIMIZATIONS):
        raise ValueError(f"MYOQUAT_OPTIMIZATION={level}; allowed: 0, 1")
    return 1 if level is None else level


def _processor() -> Target:
    name, native = os.environ.get("MYOQUAT_CPU") or "native", _native()
    if name == "native":
        return native
    architecture = _architecture(native.triple)
    levels = _LEVELS if architecture == "x86_64" else {}
    if name not in levels:
        raise ValueError(
            f"MYOQUAT_CPU={name!r} is not known on {architecture}; allowed: {', '.join(['native', *levels])}"
        )
    lanes, fma = levels[name]
    return Target(name, "", native.triple, lanes, fma)


def _architecture(triple: str) -> str:
    """x86_64, aarch64 or another architecture of an LLVM triple, which Apple and Windows spell in their own ways."""
    name = triple.partition("-")[0].lower()
    return {"amd64": "x86_64", "x86_64h": "x86_64", "arm64": "aarch64", "arm64e": "aarch64"}.get(name, name)


def _is_windows(triple: str) -> bool:
    return "windows" in triple


@functools.cache
def _native() -> Target:
    triple = llvm.get_default_triple()
    if _is_windows(triple):
        if _architecture(triple) == "aarch64":  # LLVM would end the process: AArch64FrameLowering knows no such frame
            raise RuntimeError(
                "kernels cannot be compiled by Python for Windows on ARM; install Python for Windows x86-64 instead, "
                "which runs on this machine too"
            )
        triple += "-elf"  # the in-memory linker does not take COFF objects
    features = llvm.get_host_cpu_features()
    if _architecture(triple) == "aarch64":
        lanes, fma = 2, True
    else:
        lanes = 8 if features.get("avx512f") else 4 if features.get("avx") else 2
        fma = bool(features.get("fma"))
    return Target(llvm.get_host_cpu_name(), features.flatten(), triple, lanes, fma)


def lane_count(requested: int | None, built_for: Target) -> int:
    """States side by side: `requested`, else MYOQUAT_LANES, else the native width. ValueError unless 1, 2, 4, 8."""
    lanes = _whole_number("lanes", requested, "MYOQUAT_LANES")
    if lanes is None:
        return built_for.lanes
    if lanes not in LANES:
        raise ValueError(f"lanes={lanes}; allowed: 1, 2, 4, 8")
    return lanes


def thread_count(requested: int | None = None) -> int:
    """Threads of a call: `requested`, else MYOQUAT_THREADS, else the processors this process may use."""
    threads = _whole_number("threads", requested, "MYOQUAT_THREADS")
    if threads is None:
        return _processors()
    if threads < 1:
        raise ValueError(f"threads={threads}; at least 1 is needed")
    return threads


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _whole_number(name: str, requested: int | None, variable: str) -> int | None:
    value = os.environ.get(variable) if requested is None else requested
    if value is None or value == "":
        return None
    try:
        return int(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name}={value!r} (argument or {variable}) is not a whole number") from None


def cache_folder(requested: str | os.PathLike[str] | None = None) -> Path | None:
    """Folder of compiled kernels: `requested`, else MYOQUAT_CACHE, else in the user's cache folder; None if 'off'.

    Without a home directory it is a private folder among the temporary files, which one warning says. Under sudo it is
    the superuser's own, since what it makes in the home of another user would lock that user out.
    """
    given = os.environ.get("MYOQUAT_CACHE") if requested is None else os.fspath(requested)
    if given:
        return None if given.lower() == "off" else Path(given).expanduser()
    return (user_cache() or temporary_cache() / "myoquat") / "kernels"
