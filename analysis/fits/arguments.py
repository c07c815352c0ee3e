"""Arguments that all fits take: poses and names of muscles."""

from collections.abc import Sequence

from myoquat.analysis.fits.poses import range_poses
from myoquat.core.arguments import real_array
from myoquat.core.typing import Array, ArrayLike
from myoquat.muscle import Model

__all__ = ["chosen_muscles", "given_poses"]

DEFAULT_POSES = 4000  # of a fit without given poses


def given_poses(model: Model, poses: ArrayLike | None) -> Array:
    """(n, nq) the poses that were given, or 4,000 of `range_poses`; ValueError for poses off the unit sphere."""
    found = range_poses(model, DEFAULT_POSES) if poses is None else model.system.check_q(real_array("poses", poses))
    return found.reshape(-1, model.system.nq)


def chosen_muscles(caller: str, model: Model, muscles: Sequence[str] | None) -> tuple[Sequence[str], list[int]]:
    """Names and numbers of the muscles, all without names; ValueError, with the caller, for names of no muscle."""
    names = model.muscle_names if muscles is None else muscles
    unknown = [name for name in names if name not in model.muscle_names]
    if unknown:
        raise ValueError(f"{caller}: the model has no muscle {unknown[0]!r}")
    return names, [model.muscle_names.index(name) for name in names]
