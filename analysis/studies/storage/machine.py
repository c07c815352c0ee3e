"""Inputs of the bits of results beside the study: the processor's instructions, and the code with its version.

The code is identified by its fingerprint. It has a digest of all sources that can affect the numbers
(`SOURCE_FOLDERS`), and the versions of the libraries that compute with them. The digest is of bytes, so a changed
comment changes it too. Reading files is no part of it: the model that was read is described with the study, and
compared.
"""

import functools
import hashlib
import importlib.util
import platform
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np

from myoquat.core.lazy_imports import version_of
from myoquat.kernels.runtime.settings import target

__all__ = [
    "SOURCE_FOLDERS",
    "fingerprint",
    "machine",
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


@functools.cache
def fingerprint() -> dict[str, str]:
    """The code that computes: a digest of its "sources", the versions of myoquat and of the libraries it uses, the C
    library, and a digest of the instructions that NumPy chose. With other ones the last digits of elementary functions
    on arrays differ."""
    libraries = {name: version_of(name) for name in ("myoquat", "numpy", "scipy", "casadi", "llvmlite")}
    compiler = ".".join(map(str, llvm.llvm_version_info))
    found = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    numpy_simd = hashlib.sha256(" ".join(found).encode()).hexdigest()[:16]
    libc = " ".join(platform.libc_ver()).strip() or platform.platform(terse=True)
    return {"sources": _digest(), **libraries, "llvm": compiler, "libc": libc, "numpy_simd": numpy_simd}


def surroundings() -> dict[str, dict[str, str]]:
    """Processor and code: processes in which these are equal compute the same bits."""
    return {"machine": machine(), "code": fingerprint()}


def _digest() -> str:
    """SHA-256 of the sources in `SOURCE_FOLDERS`, line endings aside, by their paths in the package. The package knows
    where the folders are, as a clone without symbolic links has them elsewhere."""
    total = hashlib.sha256()
    for name in SOURCE_FOLDERS:
        folder = _folder(name)
        sources = sorted(folder.rglob("*.py"))
        if not sources:
            raise RuntimeError(f"no sources are in {folder}, so that results cannot name the code that computed them")
        for path in sources:
            content = path.read_bytes().replace(b"\r\n", b"\n")
            total.update(f"{name}/{path.relative_to(folder).as_posix()}\n{len(content)}\n".encode())
            total.update(content)
    return total.hexdigest()[:32]


def _folder(name: str) -> Path:
    """The folder of a package of this one."""
    found = importlib.util.find_spec(f"myoquat.{name.replace('/', '.')}")
    folders = found.submodule_search_locations if found else None
    if not folders:
        raise RuntimeError(
            f"the package myoquat.{name} is missing, so that results cannot name the code that computed them"
        )
    return Path(folders[0])
