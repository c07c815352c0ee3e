"""The power check: what a muscle takes from its shortening, the joints must get, F l' = -tau . u for every muscle.

l' comes from the lengths alone, by a difference quotient along the motion; tau from the Jacobian. Nothing is shared, so
a path whose lengths and moment arms do not belong together is found out. On OpenSim models this is where wrapped paths
and function-based paths fail.
"""

import warnings
from dataclasses import field

import numpy as np

from myoquat.core import Array, check_types, frozen, pandas as pd, printable
from myoquat.dynamics.constraints import assemble, constraints_of
from myoquat.joints.conversion.balls import in_angles
from myoquat.joints.conversion.convert import convert_coordinates
from myoquat.joints.errors import CoordinateWarning
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.muscle import Model, PathFlag, path_flags, path_jacobian, path_lengths
from myoquat.muscle.coordinates import follow

MAX_POSES = 10**7  # drawn at once, which takes some minutes
MOST_NAMES = 6  # of coordinates or muscles, in a line
FULL_TURN, WIDEST_LENGTH_M = 2 * np.pi - 1e-3, 2.0  # [rad, m] ranges as wide say nothing about a joint
NEAR_ANGLE, NEAR_LENGTH_M = np.pi / 6, 0.1  # [rad, m] either side of the start, where coordinates of these are drawn
NEAR_START = "within 30 degrees or 0.1 m of the start, as their ranges are a full turn, 2 m or wider"


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(map(printable, names[:MOST_NAMES])) + more


@frozen
class PoseSample:
    """Poses q (n, nq), how many were `drawn` for them, and by what rule each coordinate was set: names by rule. They
    are random, or from a `source`.

    Poses that could not be brought onto the constraints are not among them.
    """

    q: Array
    drawn: int
    rules: dict[str, list[str]] = field(default_factory=dict)
    constraints: int = 0
    source: str = ""

    def to_text(self) -> str:
        """How the poses were drawn, in sentences."""
        lines = [f"{self.drawn} poses of {self.source}." if self.source else f"{self.drawn} random poses."]
        for rule, names in self.rules.items():
            if names:
                lines.append(f"  {rule}: {_listed(names)}")
        if self.constraints:
            many = "s" * (self.constraints > 1)
            lines.append(f"  brought onto {self.constraints} constraint{many} and kept: {len(self.q)}")
        return "\n".join(lines)


def check_poses(poses: int, seed: int, name: str = "poses") -> None:
    """ValueError, with the name, for a number of poses outside [1, 10^7], and for a negative seed."""
    if isinstance(poses, bool) or not isinstance(poses, (int, np.integer)) or not 1 <= poses <= MAX_POSES:
        raise ValueError(f"{name} must be a positive integer of at most {MAX_POSES:,}, not {poses!r}")
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ValueError(f"seed must be an integer that is not negative, not {seed!r}")


def sample_poses(model: Model, poses: int, seed: int | np.random.Generator) -> PoseSample:
    """Poses with every coordinate inside its range, or near the start where the range is a full turn or wider.

    Coordinates that couplers drive follow them, locked ones stay, and all poses are brought onto the constraints.

    A file's angles are drawn where a quaternion has replaced them and they have ranges. Raises ValueError for a number
    of poses outside [1, 10^7] and for a negative seed.

    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment.power import sample_poses
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


DIFFERENCE_STEP = 2e-6  # of |u| = 1: rounding and third derivatives of splines then cause errors of about 1e-10
# why a path at a pose is left out
OTHER_POINT, JUMP, UNSOLVED, FAST_CHANGE = (
    "another point on the path",
    "near a jump",
    "unsolved",
    "rate changes too fast",
)
LEFT_OUT = "pose", "muscle", "reason", "difference [m/s]"  # columns, before those of the coordinates
MOST_POSES = 8  # that a text names
POWER_TOLERANCE = 1e-8  # [m/s] at |u| = 1


@frozen
class PowerCheck:
    """The power check of unit tensions, muscle by muscle.

    table     by muscle: error and greatest power of a unit tension [m/s], and the number of poses that were left out
    poses     how the poses were drawn
    left_out  a row for every muscle at every pose that was left out

    A pose is left out if the path jumps nearby or is not certainly the shortest. The row has the muscle, the reason,
    the difference of the powers there [m/s], and the number and the coordinates of the pose. The reason is "unsolved",
    "near a jump", "another point on the path", or "rate changes too fast" for a difference quotient.

    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment import power_check
    >>> check = power_check(mq.load_model("two_link"), poses=20)
    >>> check.holds
    True
    """

    table: "pd.DataFrame"
    poses: str = ""
    left_out: "pd.DataFrame" = field(default_factory=lambda: pd.DataFrame({name: [] for name in LEFT_OUT}))

    @property
    def holds(self) -> bool:
        """True if no muscle's powers differ by more than 1e-8 m/s times its tension at the poses that were kept."""
        return bool((self.table["error [m/s]"] <= POWER_TOLERANCE).all())

    def to_text(self) -> str:
        """The table and a sentence."""
        worst = printable(self.table["error [m/s]"].idxmax()) if len(self.table) else "none"
        end = "The powers of all muscles balance." if self.holds else f"The powers do not balance; worst: {worst}."
        shown = self.table.rename(index=printable)
        drawn = f"{self.poses}\n\n" if self.poses else ""
        return f"{drawn}{shown.to_string(float_format='{:.2e}'.format)}\n\n{self._unsolved()}{end}"

    def _unsolved(self) -> str:
        """The poses at which a path is not certainly the shortest, in words."""
        unsolved = self.left_out[self.left_out["reason"] == UNSOLVED]
        if not len(unsolved):
            return ""
        poses = unsolved.groupby("pose")
        lines = [f"  pose {pose}: {_listed(list(rows['muscle']))}" for pose, rows in list(poses)[:MOST_POSES]]
        more = [f"  and {len(poses) - MOST_POSES} more; PowerCheck.left_out has all"] if len(poses) > MOST_POSES else []
        head = f"Left out at {len(poses)} poses, since these paths are unsolved (not certainly the shortest):"
        return "\n".join([head, *lines, *more, "", ""])


def power_check(model: Model, poses: int = 1000, seed: int = 0) -> PowerCheck:
    """Compare l' with J u at random poses (`myoquat.analysis.recruitment.power.sample_poses`) and velocities.

    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment import power_check
    >>> power_check(mq.load_model("two_link"), poses=20).holds  # torque . velocity = -force . lengthening
    True
    """
    check_types(model=(model, Model))
    system = model.system
    check_poses(poses, seed)
    rng = np.random.default_rng(seed)
    sample = sample_poses(model, poses, rng)
    q = sample.q
    u = rng.normal(size=(len(q), system.nu))
    u /= np.linalg.norm(u, axis=-1, keepdims=True)

    rate, mine = _quotient(model, q, u, DIFFERENCE_STEP), np.einsum("nmi,ni->nm", path_jacobian(model, q), u)
    reasons = np.where(_steady(model, [q, *_ends(model, q, u, DIFFERENCE_STEP)]), "", OTHER_POINT).astype(object)
    if any(muscle.path.wraps for muscle in model.muscles):
        flags = path_flags(model, q, near=4 * DIFFERENCE_STEP)
        reasons[(flags & PathFlag.JUMP) != 0] = JUMP
        reasons[(flags & PathFlag.UNSOLVED) != 0] = UNSOLVED
    difference = np.abs(rate - mine)
    rows = ((difference > POWER_TOLERANCE) & (reasons == "")).any(axis=-1)
    difference[rows], uncertain = _refined(model, q[rows], u[rows], rate[rows], mine[rows])
    reasons[rows] = np.where((reasons[rows] == "") & uncertain, FAST_CHANGE, reasons[rows])
    kept, names = reasons == "", np.array(model.muscle_names, dtype=object)
    at, muscles = np.nonzero(~kept)
    columns = at, names[muscles], reasons[at, muscles], difference[at, muscles]
    coordinates = dict(zip(system.coordinate_names, q[at].T, strict=True))
    left_out = pd.DataFrame(dict(zip(LEFT_OUT, columns, strict=True)) | coordinates)
    error = np.where(kept, difference, 0.0).max(axis=0, initial=0.0)
    scale = np.abs(mine).max(axis=0, initial=0.0)
    table = pd.DataFrame(
        {
            "error [m/s]": error,
            "largest [m/s]": scale,
            "relative": np.divide(error, scale, out=np.zeros_like(error), where=scale > 0),
            "poses left out": (~kept).sum(axis=0),
            "unsolved": (reasons == UNSOLVED).sum(axis=0),
        },
        index=pd.Index(model.muscle_names, name="muscle"),
    )
    return PowerCheck(table, sample.to_text(), left_out)


def _ends(model: Model, q: np.ndarray, u: np.ndarray, step: float) -> list[np.ndarray]:
    return [model.system.integrate(q, k * step * u) for k in (1, -1)]


def _quotient(model: Model, q: np.ndarray, u: np.ndarray, step: float) -> np.ndarray:
    """(n, m) central difference quotients of the lengths along u."""
    after, before = (path_lengths(model, end) for end in _ends(model, q, u, step))
    return (after - before) / (2 * step)


def _refined(
    model: Model, q: np.ndarray, u: np.ndarray, rate: np.ndarray, mine: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(n, m) differences from the quotient extrapolated from two steps (L. F. Richardson 1911), and whether they are
    too large and yet within the error of the quotient with the finer step."""
    finer = _quotient(model, q, u, DIFFERENCE_STEP / 2)
    change = (finer - rate) / 3
    difference = np.abs(finer + change - mine)
    return difference, (difference > POWER_TOLERANCE) & (difference <= np.abs(change))


def _steady(model: Model, ways: list[np.ndarray]) -> np.ndarray:
    """(n, m) True where the same points are on the path at all of the neighbouring poses."""
    found = np.ones((len(ways[0]), len(model.muscles)), dtype=bool)
    for i, muscle in enumerate(model.muscles):
        for point in muscle.path.points:
            there = [np.broadcast_to(point.active(model.system, way), len(way)) for way in ways]
            found[:, i] &= np.all([x == there[0] for x in there], axis=0)
    return found
