"""What a kernel is built for and how it runs: processor, lanes, optimization, threads, cache folder.

Each can be given as an argument, or by an environment variable that is read at every use:

    MYOQUAT_CPU           native (default), x86-64, x86-64-v2, x86-64-v3, x86-64-v4: the instructions that may be used
    MYOQUAT_LANES         1, 2, 4 or 8 states side by side; by default the width of the processor's registers
    MYOQUAT_OPTIMIZATION  0: LLVM takes half the time, and its code 10 to 30 % longer, for the same bits; 1 (default)
    MYOQUAT_THREADS       threads of a call, and that compile; by default the processors that this process may use
    MYOQUAT_CACHE         folder of compiled kernels, or 'off'
"""

import functools
import os
import platform
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import llvmlite.binding as llvm

from myoquat.kernels.runtime.homes import temporary_cache, user_cache

__all__ = ["Target", "cache_folder", "lane_count", "target", "thread_count"]

LANES = (1, 2, 4, 8)
OPTIMIZATIONS = (0, 1)
_LEVELS = {"x86-64": (2, False), "x86-64-v2": (2, False), "x86-64-v3": (4, True), "x86-64-v4": (8, True)}


@dataclass(frozen=True)
class Target:
    """A processor as LLVM knows it, with its native number of float64 lanes. `fma`: whether it has a fused
    multiply-add. `optimization`: the level at which LLVM optimizes for it."""

    cpu: str
    features: str
    triple: str
    lanes: int
    fma: bool
    optimization: int = 1


def target(cpu: str | None = None) -> Target:
    """The processor to compile for: `cpu`, else MYOQUAT_CPU, else this machine; and MYOQUAT_OPTIMIZATION.

    Raises ValueError for a name or a level that is not in the list of this module's docstring.
    """
    return replace(_processor(cpu), optimization=_optimization())


def _optimization() -> int:
    level = _whole_number("optimization", None, "MYOQUAT_OPTIMIZATION")
    if level not in (None, *OPTIMIZATIONS):
        raise ValueError(f"MYOQUAT_OPTIMIZATION={level}; allowed: 0, 1")
    return 1 if level is None else level


def _processor(cpu: str | None) -> Target:
    name = cpu or os.environ.get("MYOQUAT_CPU") or "native"
    if name == "native":
        return _native()
    if name not in _LEVELS or platform.machine().lower() not in ("x86_64", "amd64"):
        allowed = ", ".join(["native", *_LEVELS])
        raise ValueError(f"MYOQUAT_CPU={name!r} is not known on {platform.machine()}; allowed: {allowed}")
    lanes, fma = _LEVELS[name]
    return Target(name, "", _native().triple, lanes, fma)


@functools.cache
def _native() -> Target:
    triple = llvm.get_default_triple()
    if sys.platform == "win32":
        triple += "-elf"  # the in-memory linker does not take COFF objects
    features = llvm.get_host_cpu_features()
    if platform.machine().lower() in ("arm64", "aarch64"):
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
    return (user_cache() or temporary_cache()) / "myoquat" / "kernels"
