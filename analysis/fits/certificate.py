"""How far fitted paths are from the solved ones at poses that no fit has seen."""

from collections.abc import Mapping

import numpy as np

from myoquat.analysis.fits.fit import PathFits
from myoquat.analysis.fits.jumps import beyond_jumps, inspected_paths
from myoquat.analysis.fits.poses import range_poses
from myoquat.analysis.fits.solved import SolvedPaths, allowed_motions
from myoquat.core.arguments import check_types, real_array
from myoquat.core.lazy_imports import pandas as pd
from myoquat.core.records import dataclass
from myoquat.core.typing import Array, ArrayLike
from myoquat.muscle import Model, PoseVariables, path_jacobian, path_lengths

__all__ = ["Certificate", "certify"]

POSES, SEED = 100_000, 1_000_003  # of a certificate that is given none; the seed of no fit
BLOCK_POSES = 8192  # whose Jacobians are in memory together, and over which the ways beyond jumps lead


@dataclass(frozen=True)
class Certificate:
    """Errors of fitted paths at held-out poses.

    table     a row per muscle. `terms`; `length_rms`, `length_greatest`, `arm_rms` and `arm_greatest` [m] at the poses
              that count, and `length_pose`, `arm_pose`, the numbers of those with the greatest errors. `near_jump` and
              `beyond_jump`, the shares of poses that do not count; `length_anywhere` [m], the greatest error at all
              poses beside jumps, those beyond one included
    excluded  by muscle, the numbers of poses near a jump of the length or of a moment arm, or without a solved path
    beyond    by muscle, the numbers of poses beyond a jump: the solved length jumps on the way from the center to them
    poses     (n, nq) all of them

    Moment arms are J along motions of unit size that constraints, couplers and locks allow. Their error at a pose is
    the norm over these, and `arm_rms` is that of one motion, over those that change the length.

    >>> import myoquat as mq
    >>> from myoquat.analysis.fits import FitSettings, certify, fit_paths, range_poses
    >>> model = mq.load_model("two_link")
    >>> fits = fit_paths(model, range_poses(model, 400), muscles=("m1",), settings=FitSettings(degree=2))
    >>> certify(model, fits, range_poses(model, 100, seed=5)).table.index.tolist()
    ['m1']
    """

    table: "pd.DataFrame"
    excluded: Mapping[str, Array]
    beyond: Mapping[str, Array]
    poses: Array


def certify(model: Model, fits: PathFits, poses: ArrayLike | None = None) -> Certificate:
    """Errors of fits at poses (n, nq) that the fits have not seen, by default 100,000 of `range_poses`.

    Raises ValueError for poses off the unit sphere.

    >>> import myoquat as mq
    >>> from myoquat.analysis.fits import certify, fit_paths, range_poses
    >>> model = mq.load_model("two_link")
    >>> fits = fit_paths(model, range_poses(model, 1000), muscles=("m1",))
    >>> bool(certify(model, fits, range_poses(model, 200, seed=5)).table.length_rms["m1"] < 0.05)
    True
    """
    check_types(model=(model, Model), fits=(fits, PathFits))
    q = (
        range_poses(model, POSES, seed=SEED)
        if poses is None
        else model.system.check_q(real_array("poses", poses)).reshape(-1, model.system.nq)
    )
    muscles = [model.muscle_names.index(name) for name in fits]
    compared = [_compared(model, fits, muscles, q[i : i + BLOCK_POSES]) for i in range(0, len(q), BLOCK_POSES)]
    length, arm, usable, over = (np.concatenate(parts) for parts in zip(*compared, strict=True))
    rows, excluded, beyond = [], {}, {}
    for k, (name, fit) in enumerate(fits.fits.items()):
        off = usable[:, k] & over[:, k]
        counted = usable[:, k] & ~off
        excluded[name], beyond[name] = np.flatnonzero(~usable[:, k]), np.flatnonzero(off)
        rows.append({"terms": fit.terms, **_errors(length[:, k], arm[:, k], counted, max(1, fit.motions)),
                     "near_jump": np.mean(~usable[:, k]), "beyond_jump": np.mean(off),
                     "length_anywhere": np.where(usable[:, k], length[:, k], 0.0).max(initial=0.0)})  # fmt: skip
    return Certificate(pd.DataFrame(rows, index=pd.Index(list(fits), name="muscle")), excluded, beyond, q)


def _compared(model: Model, fits: PathFits, muscles: list[int], q: Array) -> tuple[Array, Array, Array, Array]:
    """(n, m) errors of lengths and of moment arms at poses, where the solved paths are usable, and where they are
    beyond a jump."""
    allowed = allowed_motions(model, q)
    solved, fitted = inspected_paths(model, q, allowed, fits.near), model.with_fitted_paths(fits)
    J = (path_jacobian(fitted, q) - solved.finite_jacobian)[:, muscles]
    arms = np.linalg.norm(J if allowed is None else J @ allowed, axis=-1)
    length = np.abs(path_lengths(fitted, q) - solved.length)[:, muscles]
    return length, arms, solved.usable[:, muscles], _beyond(model, fits, muscles, solved)


def _beyond(model: Model, fits: PathFits, muscles: list[int], solved: SolvedPaths) -> Array:
    """(n, m) whether poses are beyond a jump, among these poses."""
    groups: dict[PoseVariables, list[int]] = {}
    for k, fit in enumerate(fits.fits.values()):
        groups.setdefault(fit.variables, []).append(k)
    found = np.zeros((len(solved.q), len(muscles)), dtype=bool)
    for variables, own in groups.items():
        found[:, own] = beyond_jumps(model, solved, variables, np.array(muscles)[own], fits.near)
    return found


def _errors(length: Array, arm: Array, counted: Array, motions: int) -> dict[str, float]:
    """Root mean squares and greatest errors of the poses that count, with their poses."""
    found: dict[str, float] = {}
    for name, values, size in (("length", length, 1), ("arm", arm, motions)):
        own = np.where(counted, values, 0.0)
        found[f"{name}_rms"] = float(np.sqrt(np.sum(own**2) / max(1, size * counted.sum())))
        found[f"{name}_greatest"] = float(own.max(initial=0.0))
        found[f"{name}_pose"] = int(np.argmax(own)) if len(own) else -1
    return found
