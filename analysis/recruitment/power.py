"""The power check: what a muscle takes from its shortening, the joints must get, F l' = -tau . u for every muscle.

l' comes from the lengths alone, by a difference quotient along the motion; tau from the Jacobian. Nothing is shared, so
a path whose lengths and moment arms do not belong together is found out. On OpenSim models this is where wrapped paths
and function-based paths fail.
"""

from dataclasses import dataclass

import numpy as np

from myoquat.analysis.recruitment.poses import sample_poses
from myoquat.core.arguments import check_kinds
from myoquat.core.lazy_imports import pandas as pd
from myoquat.joints.labels import printable
from myoquat.muscle import Model, PathFlag, path_flags, path_jacobian, path_lengths

__all__ = ["PowerCheck", "power_check"]

STEP = 2e-6  # of |u| = 1: rounding and the splines' third derivatives then leave some 1e-10
UNSTEADY = PathFlag.JUMP | PathFlag.UNSOLVED  # of paths that say themselves that they jump, or are not the shortest
ALLOWED = 1e-8  # [m/s] at |u| = 1


@dataclass(frozen=True)
class PowerCheck:
    """The worst muscle and pose, how the `poses` were drawn, and a table by muscle: error and greatest power of a unit
    tension [m/s], and how many poses were left out because the path jumps nearby or is not certainly the shortest.

    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment import power_check
    >>> check = power_check(mq.load_model("two_link"), poses=20)
    >>> check.holds
    True
    """

    table: "pd.DataFrame"
    poses: str = ""

    @property
    def holds(self) -> bool:
        """True if no muscle's powers differ by more than 1e-8 m/s times its tension."""
        return bool((self.table["error [m/s]"] <= ALLOWED).all())

    def to_text(self) -> str:
        """The table and a sentence."""
        worst = printable(self.table["error [m/s]"].idxmax()) if len(self.table) else "none"
        end = "The powers of all muscles balance." if self.holds else f"The powers do not balance; worst: {worst}."
        shown = self.table.rename(index=printable)
        drawn = f"{self.poses}\n\n" if self.poses else ""
        return f"{drawn}{shown.to_string(float_format='{:.2e}'.format)}\n\n{end}"


def power_check(model: Model, poses: int = 1000, seed: int = 0) -> PowerCheck:
    """Compare l' with J u at random poses (`myoquat.analysis.recruitment.poses.sample_poses`) and velocities.

    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment import power_check
    >>> power_check(mq.load_model("two_link"), poses=20).holds  # torque . velocity = -force . lengthening
    True
    """
    check_kinds(model=(model, Model))
    system = model.system
    rng = np.random.default_rng(seed)
    sample = sample_poses(model, poses, rng)
    q = sample.q
    u = rng.normal(size=(len(q), system.nu))
    u /= np.linalg.norm(u, axis=-1, keepdims=True)

    ends = [system.integrate(q, k * STEP * u) for k in (1, -1)]
    rate = (path_lengths(model, ends[0]) - path_lengths(model, ends[1])) / (2 * STEP)
    mine = np.einsum("nmi,ni->nm", path_jacobian(model, q), u)
    steady = _steady(model, [q, *ends])
    if any(muscle.wraps for muscle in model.muscles):
        steady &= (path_flags(model, q, near=4 * STEP) & UNSTEADY) == 0
    error = np.where(steady, np.abs(rate - mine), 0.0).max(axis=0, initial=0.0)
    scale = np.abs(mine).max(axis=0, initial=0.0)
    table = pd.DataFrame(
        {
            "error [m/s]": error,
            "largest [m/s]": scale,
            "relative": np.divide(error, scale, out=np.zeros_like(error), where=scale > 0),
            "poses left out": (~steady).sum(axis=0),
        },
        index=pd.Index(model.muscle_names, name="muscle"),
    )
    return PowerCheck(table, sample.to_text())


def _steady(model: Model, ways: list[np.ndarray]) -> np.ndarray:
    """(n, m) True where the same points are on the path at all of the neighbouring poses."""
    found = np.ones((len(ways[0]), len(model.muscles)), dtype=bool)
    for i, muscle in enumerate(model.muscles):
        for point in muscle.path:
            there = [np.broadcast_to(point.active(model.system, way), len(way)) for way in ways]
            found[:, i] &= np.all([x == there[0] for x in there], axis=0)
    return found
