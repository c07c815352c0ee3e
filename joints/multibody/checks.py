"""Argument validation of a system: its arrays and numbers."""

import warnings
from collections.abc import Sequence

import numpy as np

from myoquat.core.typing import Array, ArrayLike
from myoquat.joints.errors import CoordinateWarning, OffSphereError
from myoquat.kernels.symbolic.arrays import SymbolArray, as_array, is_symbolic

__all__ = ["MAX_CHECKED_POSES", "UNIT_TOLERANCE", "check_array", "check_state", "check_units", "warn_far"]

UNIT_TOLERANCE = 1e-6  # bound of | |Q| - 1 | of a pose that enters a model
MAX_CHECKED_POSES = 64  # so many may have been typed or read from a file; more belong to a computed motion
MAX_PLAUSIBLE_ANGLE_RAD = 4 * np.pi  # [rad] no joint of a body gets there, degrees do soon

_warned: set[str] = set()


def warn_far(q: Array, angles: Sequence[tuple[int, str]]) -> None:
    """A CoordinateWarning, once for each name, if an angle (place in q, name) of a few poses is beyond two turns."""
    if is_symbolic(q) or q.size > MAX_CHECKED_POSES * q.shape[-1]:
        return
    for place, name in angles:
        most = np.abs(q[..., place]).max(initial=0.0)
        if most > MAX_PLAUSIBLE_ANGLE_RAD and name not in _warned:
            _warned.add(name)
            warnings.warn(
                f"coordinate {name!r} is {most:.4g} rad, {most / (2 * np.pi):.1f} turns: are these degrees? "
                "np.deg2rad(...) gives radians",
                CoordinateWarning,
                stacklevel=2,
            )


def check_array(name: str, x: ArrayLike) -> Array:
    """x as an array of float64 or of symbols; ValueError, with the name and what came, for anything else."""
    try:
        return as_array(x)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def check_state(name: str, x: ArrayLike, size: int, names: tuple[str, ...]) -> Array:
    """x as a finite float64 array (..., size), or ValueError naming the entry. Symbols pass."""
    if isinstance(x, SymbolArray):
        return x
    array = check_array(name, x)
    if array.ndim == 0 or array.shape[-1] != size:
        raise ValueError(f"{name} has shape {array.shape}; expected (..., {size})")
    if not is_symbolic(array) and not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name}{list(where)} ({names[where[-1]]}) is {array[where]}; finite numbers are needed")
    return array


def check_units(q: Array, indices: Array, names: tuple[str, ...], name: str = "q") -> None:
    """OffSphereError if a quaternion of q, at indices (k, 4), is off the unit sphere by more than the tolerance.

    `name` is that of q in the message.
    """
    if is_symbolic(q) or not len(indices):
        return
    Q = q[..., indices]
    defect = np.abs(np.sqrt(np.einsum("...i,...i", Q, Q)) - 1)
    if defect.max(initial=0.0) > UNIT_TOLERANCE:
        *where, k = (int(i) for i in np.argwhere(defect > UNIT_TOLERANCE)[0])
        raise OffSphereError(
            f"{name}{where or ''}: the quaternion ({names[indices[k, 0]]} ... {names[indices[k, 3]]}) has length "
            f"{np.linalg.norm(Q[(*where, k)]):.9g}; it must be 1 to within {UNIT_TOLERANCE:g} "
            "(joints.normalize makes it so; scalar first: joints.quaternion_from_scalar_last converts)"
        )
