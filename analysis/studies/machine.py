"""What the bits of results depend on beside the study: the processor's instructions and the version of the code."""

import hashlib
from importlib.metadata import PackageNotFoundError, version

from myoquat.kernels.settings import target

__all__ = ["machine", "release"]


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
