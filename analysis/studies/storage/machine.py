"""Inputs of the bits of results beside the study: the processor's instructions, and the code with its version.

The code is identified by its fingerprint. It has a digest of all sources that can affect the numbers
(`SOURCE_FOLDERS`), and the versions of the libraries that compute with them. The digest is of bytes, so a changed
comment changes it too. Reading files is no part of it: the model that was read is described with the study, and
compared.
"""

import functools
import hashlib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import llvmlite.binding as llvm

import myoquat
from myoquat.kernels.runtime.settings import target

__all__ = [
    "SOURCE_FOLDERS",
    "fingerprint",
    "machine",
    "release",
    "surroundings",
]

# folders whose sources can reach the numbers; trials need those of motions and muscles, problems control and fits
SOURCE_FOLDERS = (
    "core",
    "kernels",
    "joints",
    "muscle",
    "dynamics",
    "analysis/control",
    "analysis/fits",
    "analysis/motion",
    "analysis/recruitment",
    "analysis/studies",
)


def machine() -> dict[str, str]:
    """The processor that kernels are compiled for, as far as it changes results."""
    built_for = target()
    features = hashlib.sha256(built_for.features.encode()).hexdigest()[:16]
    return {"cpu": built_for.cpu, "features": features, "fma": str(built_for.fma)}


def release() -> str:
    """The version of myoquat, "unknown" where it is not installed."""
    try:
        return version("myoquat")
    except PackageNotFoundError:
        return "unknown"


@functools.cache
def fingerprint() -> dict[str, str]:
    """The code that computes: a digest of its "sources", and the versions of myoquat and of the libraries it uses."""
    libraries = {name: version(name) for name in ("numpy", "scipy", "casadi", "llvmlite")}
    compiler = ".".join(map(str, llvm.llvm_version_info))
    return {"sources": _digest(), "myoquat": release(), **libraries, "llvm": compiler}


def surroundings() -> dict[str, dict[str, str]]:
    """Processor and code: processes in which these are equal compute the same bits."""
    return {"machine": machine(), "code": fingerprint()}


def _digest() -> str:
    """SHA-256 of the sources in `SOURCE_FOLDERS`, line endings aside, by their paths in the package."""
    total = hashlib.sha256()
    package = Path(myoquat.__file__).parent
    for name in SOURCE_FOLDERS:
        folder = package / name
        for path in sorted(folder.rglob("*.py")):
            content = path.read_bytes().replace(b"\r\n", b"\n")
            total.update(f"{name}/{path.relative_to(folder).as_posix()}\n{len(content)}\n".encode())
            total.update(content)
    return total.hexdigest()[:32]
