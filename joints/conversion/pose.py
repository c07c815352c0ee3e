"""Coordinates by name: a pose from a few of them, the angles that quaternions have replaced among them."""

from collections.abc import Collection, Mapping

import numpy as np

from myoquat.core.arguments import real_array
from myoquat.core.lazy_imports import difflib
from myoquat.core.typing import Array, ArrayLike
from myoquat.joints.conversion.balls import in_angles
from myoquat.joints.conversion.convert import convert_coordinates
from myoquat.joints.multibody.system import ArticulatedSystem

__all__ = ["by_name", "named_system"]


def named_system(system: ArticulatedSystem, names: Collection[str]) -> ArticulatedSystem:
    """The system in which every one of these names is a coordinate: a file's angles in place of quaternions.

    Raises ValueError, with the nearest names, for one that is neither.
    """
    known = (*system.coordinate_names, *system.angle_names)
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3)
            raise ValueError(
                f"coordinate {name!r} does not exist; "
                + (f"nearest: {', '.join(near)}" if near else f"known: {', '.join(known)}")
            )
    return in_angles(system, names)


def by_name(system: ArticulatedSystem, values: Mapping[str, ArrayLike], start: ArrayLike) -> Array:
    """(..., nq) q of `start` (nq,) with the named coordinates set to `values` [rad, m], which broadcast.

    Raises ValueError for a name that is unknown, and where the result is no state of the system.
    """
    named = named_system(system, values)
    arrays = np.broadcast_arrays(*(real_array(name, x) for name, x in values.items())) if values else []
    shape = arrays[0].shape if arrays else ()
    q = np.array(np.broadcast_to(convert_coordinates(system, named, start), (*shape, named.nq)))
    for name, x in zip(values, arrays, strict=True):
        q[..., named.coordinate_names.index(name)] = x
    return convert_coordinates(named, system, named.check_q(q))
