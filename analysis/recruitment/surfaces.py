"""Moment arms over one or two coordinates."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from myoquat.analysis.recruitment.moment_arms import moment_arms
from myoquat.core.arguments import check_types, real_array
from myoquat.core.lazy_imports import xarray as xr
from myoquat.core.typing import ArrayLike
from myoquat.muscle import Model, path_lengths

__all__ = ["moment_arm_surface"]


def moment_arm_surface(
    model: Model,
    over: Mapping[str, Any],
    arm: str | None = None,
    q: ArrayLike | None = None,
    muscles: Sequence[str] | None = None,
    **options: Any,
) -> "xr.Dataset":
    """Lengths [m] and moment arms of muscles on a grid: variables 'length' and 'moment_arm' (muscle, *coordinates).

    over     one or two coordinates with their values [rad, m]; coordinates that couplers drive follow. Angles of a file
             that a quaternion has replaced are allowed.
    arm      the wanted column of `moment_arms`, by default the first of `over`. Its options `frame` and `sequence` may
             be given.
    q        (nq,) all other coordinates, by default the model's start (or neutral)
    muscles  names, by default all

    Raises ValueError for a coordinate or muscle that is unknown, and as `moment_arms` does.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment import moment_arm_surface
    >>> arm = mq.load_model("two_link", rotations="sequence")
    >>> over = {"A.p1": np.linspace(0.0, 1.0, 3), "A.p2": np.linspace(0.2, 1.0, 2)}
    >>> surface = moment_arm_surface(arm, over, muscles=["m1"])
    >>> dict(surface.sizes)
    {'A.p1': 3, 'A.p2': 2, 'muscle': 1}
    """
    check_types(model=(model, Model), over=(over, Mapping))
    system = model.system
    if not 1 <= len(over) <= 2:
        raise ValueError(f"over: one or two coordinates are wanted, not {len(over)}")
    known = (*system.coordinate_names, *system.angle_names)
    if unknown := [name for name in over if name not in known]:
        raise ValueError(f"over: coordinate {unknown[0]!r} does not exist; known: {', '.join(known)}")
    chosen = list(model.muscle_names if muscles is None else muscles)
    for name in chosen:
        if name not in model.muscle_names:
            raise ValueError(f"muscles: {name!r} does not exist; known: {', '.join(model.muscle_names)}")
    values = {name: np.atleast_1d(real_array(name, x)) for name, x in over.items()}
    grid = np.meshgrid(*values.values(), indexing="ij")
    base = model if q is None else replace(model, start_q=tuple(map(float, real_array("q", q))))
    poses = base.pose(dict(zip(values, grid, strict=True)))
    wanted = next(iter(over)) if arm is None else arm
    table = moment_arms(model, poses.reshape(-1, system.nq), [wanted], **options)
    shape = (*grid[0].shape, len(model.muscles))
    arms = table[wanted].to_numpy().reshape(shape)
    dims = (*values, "muscle")
    found = xr.Dataset(
        {"length": (dims, path_lengths(model, poses)), "moment_arm": (dims, arms)},
        coords={**values, "muscle": list(model.muscle_names)},
        attrs={"model": model.name, "arm": wanted},
    )
    units = model.system.coordinate_units
    for name in values:
        found[name].attrs["units"] = units[name]
    found["length"].attrs["units"] = "m"
    # a length over an angle is a length; over a slide, a plain number; other columns are torques of a unit tension
    found["moment_arm"].attrs["units"] = "1" if units.get(wanted) == "m" else "m"
    return found.sel(muscle=chosen).transpose("muscle", ...)
