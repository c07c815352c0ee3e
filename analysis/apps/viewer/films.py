"""Motions as the viewer plays them: poses over time, with a number of each muscle where there are some."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from myoquat.analysis.apps.viewer.kinds import Film, MotionSource
from myoquat.core.typing import Array
from myoquat.data.motions import load_motion
from myoquat.data.motions.coordinates import states_from_motion
from myoquat.data.motions.motion_like import check_motion
from myoquat.data.motions.series import check_run
from myoquat.dynamics import Trajectory
from myoquat.joints.conversion.convert import convert_coordinates
from myoquat.muscle import Model

__all__ = ["film_of"]


def film_of(model: Model, motion: MotionSource, run: tuple[int, ...] = (), name: str = "motion") -> Film:
    """A film of a `MotionLike` (one `run` of a batch), a table as `load_table` reads it, or a path of one.

    States of the same bodies described otherwise are converted. Raises ValueError for a run that is not there or a
    motion without a finite row, TypeError for anything else.
    """
    if isinstance(motion, (str, Path)):
        path = Path(motion)
        stored = path.suffix.lower() == ".npz"
        loaded = Trajectory.load(path) if stored else load_motion(path, model, start=model.start)
        return film_of(model, loaded, run, path.stem)
    if isinstance(motion, pd.DataFrame):
        q, _ = states_from_motion(model, motion)
        return _film(model, name, model.system, motion.index.to_numpy(dtype=float), q, {})
    found = check_motion(motion)
    run = check_run(run, found.q.shape[:-2])
    known = {"activation": found.activation, "force [N]": found.force}
    values = {key: x[run] if x.ndim > 2 else x for key, x in known.items() if x is not None}
    return _film(model, name, found.system, found.time, found.q[run], values)


def _film(model: Model, name: str, system: Any, time: Array, q: Array, values: dict[str, Array]) -> Film:
    good = np.atleast_1d(np.isfinite(q).all(axis=-1))  # rows after a stop are NaN
    if not good.any():
        raise ValueError(f"the motion {name!r} has no row to show")
    return Film(
        name,
        np.asarray(time)[good],
        convert_coordinates(system, model.system, q[good]),
        {key: np.broadcast_to(x, (len(good), len(model.muscles)))[good] for key, x in values.items()},
    )
