"""What a table of times is worth nothing without: the machine and the versions."""

import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

from myoquat import kernels

_PACKAGES = ("numpy", "scipy", "sympy", "casadi", "llvmlite", "mujoco", "pin", "opensim", "jax")


def describe() -> dict[str, Any]:
    """Processor, system, compiler, settings of kernels, and the versions of all packages that take part."""
    return {
        "processor": _processor(),
        "processors": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "compiler": _compiler(),
        "kernels": kernels.info(),
        "versions": {name: version for name in _PACKAGES if (version := _version(name))},
    }


def summary(record: dict[str, Any]) -> str:
    """The same in two lines."""
    built = record["kernels"]
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    return (
        f"{record['processor']} ({built['cpu']}, {built['lanes']} lanes), {record['processors']} cores; "
        f"{record['compiler']}\nPython {record['python']}, {versions}"
    )


def _processor() -> str:
    """The processor's name, where the system says it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _compiler() -> str:
    try:
        return subprocess.run(["cc", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError):
        return "no C compiler"


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
