"""Loops in C and C++ around the peers' engines, compiled once per content and compiler."""

import ctypes
import hashlib
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from myoquat import kernels

OPTIMIZED = ("-O3", "-march=native", "-DNDEBUG", "-shared", "-fPIC")


def load(source: Path, flags: Sequence[str], compiler: str = "cc") -> ctypes.CDLL:
    """The library of one source file, kept beside the compiled kernels: Pinocchio's templates take a minute.

    Raises RuntimeError with the compiler's words if it cannot be built.
    """
    command = [compiler, str(source), *OPTIMIZED, *flags]
    version = subprocess.run([compiler, "--version"], capture_output=True, check=True).stdout
    text = source.read_bytes() + "\0".join(command).encode() + version + kernels.info()["cpu"].encode()
    folder = kernels.info()["cache"]
    if not folder or folder == "off":
        folder = tempfile.mkdtemp()
    library = Path(folder) / f"benchmark-{source.stem}-{hashlib.sha256(text).hexdigest()[:16]}.so"
    if not library.exists():
        library.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = library.with_suffix(f".{os.getpid()}")
        built = subprocess.run([*command, "-o", str(fresh)], capture_output=True, text=True, check=False)
        if built.returncode:
            raise RuntimeError(f"{' '.join(command)}:\n{built.stderr[:4000]}")
        fresh.replace(library)
    return ctypes.CDLL(str(library))


def pointer(array: object) -> ctypes.c_void_p:
    """Where a C-order array begins."""
    return ctypes.c_void_p(array.ctypes.data)  # type: ignore[attr-defined]
