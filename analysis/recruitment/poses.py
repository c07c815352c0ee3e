"""Random poses of a model for checks: within ranges that a body can have, behind couplers, and on constraints."""

import warnings
from dataclasses import field

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.dynamics.constraints import assemble, constraints_of
from myoquat.joints.conversion.axes import in_angles
from myoquat.joints.conversion.convert import convert_coordinates
from myoquat.joints.errors import CoordinateWarning
from myoquat.joints.labels import printable
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.muscle import Model
from myoquat.muscle.coordinates import follow

__all__ = ["PoseSample", "check_poses", "random_poses", "sample_poses"]

MAX_POSES = 10**7  # drawn at once, which takes some minutes
MOST_NAMES = 6  # of coordinates, in a line
FULL_TURN, WIDEST_LENGTH_M = 2 * np.pi - 1e-3, 2.0  # [rad, m] ranges as wide say nothing about a joint
NEAR_ANGLE, NEAR_LENGTH_M = np.pi / 6, 0.1  # [rad, m] either side of the start, where coordinates of these are drawn
NEAR_START = "within 30 degrees or 0.1 m of the start, as their ranges are a full turn, 2 m or wider"


@dataclass(frozen=True)
class PoseSample:
    """Random poses q (n, nq), how many were `drawn` for them, and by what rule each coordinate was set: names by rule.

    Poses that could not be brought onto the constraints are not among them.
    """

    q: Array
    drawn: int
    rules: dict[str, list[str]] = field(default_factory=dict)
    constraints: int = 0

    def to_text(self) -> str:
        """How the poses were drawn, in sentences."""
        lines = [f"{self.drawn} random poses."]
        for rule, names in self.rules.items():
            if names:
                more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
                lines.append(f"  {rule}: {', '.join(map(printable, names[:MOST_NAMES]))}{more}")
        if self.constraints:
            lines.append(f"  brought onto {self.constraints} constraints and kept: {len(self.q)}")
        return "\n".join(lines)


def check_poses(poses: int, seed: int, name: str = "poses") -> None:
    """ValueError, with the name, for a number of poses outside [1, 10^7], and for a negative seed."""
    if isinstance(poses, bool) or not isinstance(poses, (int, np.integer)) or not 1 <= poses <= MAX_POSES:
        raise ValueError(f"{name} must be a positive integer of at most {MAX_POSES:,}, not {poses!r}")
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ValueError(f"seed must be an integer that is not negative, not {seed!r}")


def random_poses(model: Model, poses: int, seed: int | np.random.Generator) -> Array:
    """(n, nq) the poses of `sample_poses`."""
    return sample_poses(model, poses, seed).q


def sample_poses(model: Model, poses: int, seed: int | np.random.Generator) -> PoseSample:
    """Poses with every coordinate inside its range, or near the start where the range is a full turn or wider.

    Coordinates that couplers drive follow them, locked ones stay, and all poses are brought onto the constraints.

    A file's angles are drawn where a quaternion has replaced them and they have ranges. Raises ValueError for a number
    of poses outside [1, 10^7] and for a negative seed.

    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment.poses import sample_poses
    >>> sample_poses(mq.load_model("two_link"), 10, 0).q.shape
    (10, 8)
    """
    check_poses(poses, 0 if isinstance(seed, np.random.Generator) else seed)
    rng = np.random.default_rng(seed)
    ranged = {c.name for c in model.coordinates if c.range is not None or not c.free}
    driving = {name for coupler in model.couplers for name in (coupler.dependent, coupler.independent)}
    system = in_angles(model.system, ranged | driving)
    q, rules = _drawn(model, system, poses, rng)
    follow(model.couplers, system, q)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoordinateWarning)  # a random pose is a rotation, whichever triple drew it
        q = convert_coordinates(system, model.system, q)
    held = constraints_of(model)
    if held:
        q = assemble(model, q, strict=False)
        q = q[np.isfinite(q).all(axis=-1)]
    return PoseSample(q, poses, rules, len(held))


def _drawn(
    model: Model, system: ArticulatedSystem, poses: int, rng: np.random.Generator
) -> tuple[Array, dict[str, list[str]]]:
    """(poses, nq) coordinates, and their names by the rule that set them."""
    q = system.random(poses, rng)
    names = {name: i for i, name in enumerate(system.coordinate_names)}
    start = convert_coordinates(model.system, system, model.start)
    turning = {name for _, name in system.angles}
    driven = {coupler.dependent for coupler in model.couplers}
    rules: dict[str, list[str]] = {"in their ranges": [], NEAR_START: [],
                                   "locked, at the start": [], "as couplers say": []}  # fmt: skip
    for coordinate in (c for c in model.coordinates if c.name in names):
        i = names[coordinate.name]
        if coordinate.name in driven:
            rules["as couplers say"].append(coordinate.name)
        elif coordinate.locked:
            q[:, i] = start[i]
            rules["locked, at the start"].append(coordinate.name)
        elif coordinate.range is not None:
            within = plausible(coordinate.range, float(start[i]), coordinate.name in turning)
            q[:, i] = rng.uniform(*within, poses)
            rules["in their ranges" if within == coordinate.range else NEAR_START].append(coordinate.name)
    return q, rules


def plausible(given: tuple[float, float], start: float, turns: bool) -> tuple[float, float]:
    """The range itself. A range of a full turn, two metres or more says nothing about the joint; then it is an interval
    around the start."""
    widest, near = (FULL_TURN, NEAR_ANGLE) if turns else (WIDEST_LENGTH_M, NEAR_LENGTH_M)
    return given if given[1] - given[0] < widest else (start - near, start + near)
