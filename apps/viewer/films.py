"""Motions as the viewer plays them: poses over time, with a number of each muscle where there are some."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from myoquat.apps.viewer.sources import Film, MotionSource
from myoquat.core.typing import Array
from myoquat.data.motions import Forces, MotionLike, load_motion
from myoquat.data.motions.coordinates import states_from_motion
from myoquat.data.motions.motion import check_motion
from myoquat.data.motions.series import check_run
from myoquat.dynamics import Trajectory
from myoquat.joints.conversion.branches import on_branches_of
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
    if found.system.body_names == model.system.body_names:
        model = on_branches_of(model, found.system)
    film = _film(model, name, found.system, found.time, found.q[run], values)
    return film if found.loads is None else replace(film, loads=_loads(found, run))


def _loads(motion: MotionLike, run: tuple[int, ...]) -> Forces | None:
    """The loads of a motion on their central axes, in world axes; None where there are none."""
    wrench = np.asarray(motion.loads)
    wrench = wrench[run] if wrench.ndim > 3 else wrench
    good = np.isfinite(wrench).all(axis=(1, 2)) & np.isfinite(motion.q[run]).all(axis=-1)
    system, wrench, time = motion.system, wrench[good], motion.time[good]
    force, torque = wrench[..., :3], wrench[..., 3:]
    acting = np.flatnonzero(np.abs(force).max(axis=(0, 2), initial=0.0) > 0)
    if not len(acting):
        return None
    poses = system.poses(motion.q[run][good])
    origins = np.stack([np.broadcast_to(poses[name][1], (len(time), 3)) for name in system.body_names], axis=1)
    square = (force**2).sum(axis=-1, keepdims=True)
    arm = np.divide(np.cross(force, torque), square, out=np.zeros_like(force), where=square > 0)
    names = tuple(system.body_names[i] for i in acting)
    ground = (system.ground,) * len(names)
    point = (origins + arm)[:, acting]
    return Forces(time, names, names, force[:, acting], point, np.zeros_like(point), ground, ground)


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
