"""Moment arms over one or two coordinates, and two models side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from myoquat.analysis.recruitment.moment_arms import moment_arms
from myoquat.core.arguments import check_types, real_array
from myoquat.core.lazy_imports import pandas as pd
from myoquat.core.lazy_imports import xarray as xr
from myoquat.core.typing import ArrayLike
from myoquat.joints import convert_coordinates
from myoquat.muscle import Model, path_lengths

__all__ = ["compare_models", "moment_arm_surface"]


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


def compare_models(
    first: Model, second: Model, q: ArrayLike, coordinates: Sequence[str] | None = None
) -> "pd.DataFrame":
    """Greatest differences of two models or two descriptions of one: a row per muscle that both have.

    q (..., nq) are coordinates of the first; where the second describes its joints otherwise they are converted.
    Columns: 'length [m]', and 'moment arm <name>' of every column that `moment_arms` gives for both, or of those in
    `coordinates`. Raises ValueError where no muscle, or no column asked for, is in both, and as
    `convert_coordinates` does for systems that are not the same.

    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment import compare_models
    >>> arm = mq.load_model("two_link")
    >>> table = compare_models(arm, arm.with_rotations("sequence"), [arm.start])
    >>> bool((table["length [m]"].abs() < 1e-12).all())
    True
    """
    check_types(first=(first, Model), second=(second, Model))
    q = first.system.check_q(q).reshape(-1, first.system.nq)
    same = first.system.coordinate_names == second.system.coordinate_names
    q2 = q if same else convert_coordinates(first.system, second.system, q)
    shared = [name for name in first.muscle_names if name in second.muscle_names]
    if not shared:
        raise ValueError(f"no muscle of {first.name!r} is in {second.name!r}")
    lengths = [
        pd.DataFrame(path_lengths(model, x), columns=list(model.muscle_names))[shared]
        for model, x in ((first, q), (second, q2))
    ]
    found = {"length [m]": (lengths[0] - lengths[1]).abs().max()}
    tables = [moment_arms(model, x) for model, x in ((first, q), (second, q2))]
    columns = [name for name in tables[0].columns if name in tables[1].columns]
    wanted = columns if coordinates is None else list(coordinates)
    for name in wanted:
        if name not in columns:
            raise ValueError(f"coordinates: no moment arm {name!r} in both; those are {', '.join(columns)}")
        apart = (tables[0][name] - tables[1][name]).abs()
        found[f"moment arm {name}"] = apart.groupby(level="muscle").max()[shared]
    return pd.DataFrame(found).loc[shared].rename_axis("muscle")
