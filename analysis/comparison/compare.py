"""The comparison of two models: names are matched, poses drawn, and quantities of both sides compared at them.

Its result has tables, a text, and curves of both sides over a coordinate.
"""

import importlib
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from myoquat.analysis.recruitment.power import PoseSample, sample_poses
from myoquat.core import PATH, Array, MissingExtraError, check_types, frozen, indices_of, pandas, printable
from myoquat.data import load_model, load_motion
from myoquat.data.motions import MotionLike, motion_of
from myoquat.data.motions.angular_speeds import angular_triples
from myoquat.dynamics.constraints import assemble, constraints_of
from myoquat.joints.errors import ModelError
from myoquat.joints.vectors import vecmat
from myoquat.muscle import LengthPoint, Model

from .sides import CENTER, Match, Matching, ModelSide, MujocoSide, OpensimSide, Quantities, Side, match_names

if TYPE_CHECKING:
    import pandas as pd


Record = dict[str, Any]
PARTS = {  # the compared quantities of each part with their units
    "coordinate": {"value": ""},
    "muscle": {"length": "m", "moment arm": "m", "force": "N"},
    "body": {"mass": "kg", "centre": "m", "inertia": "kg m^2", CENTER: "m"},
}
UNITS = {quantity: unit for units in PARTS.values() for quantity, unit in units.items()}
ROUND_OFF = 1e-15  # differences from zero that are no difference, in the units of the quantities
COORDINATE_TOLERANCE = 1e-7  # [rad, m] of values that constraints set, which engines solve to about 1e-9
LENGTH_TOLERANCE = 1e-6  # of a length: beyond it moment arms and forces differ because paths do
MIN_SHOWN_PART = 0.01  # of the greater difference of a length: a smaller one on the other side is left out
POINTS_ON_A_LINE = 200  # at which the depth of a line in a surface is sought
MIN_DEPTH_M = 1e-5  # the least that is said
MAX_SHOWN_ROWS = 12  # rows of a text, the greatest relative differences first


class Names(NamedTuple):
    """Which names belong together."""

    coordinates: Matching
    muscles: Matching
    bodies: Matching


@frozen(eq=False, repr=False)
class ModelComparison:
    """Result of `compare_models`.

    sides       the models A and B as they were compared
    names       pairs of coordinates, muscles and bodies, and names without a partner
    found       the quantities of A and B at the poses
    arms        columns of moment arms: those of A with those of B
    poses       how the poses were drawn
    activation  of all muscles

    `table` has a row for every pair and quantity, `muscles` and `bodies` one for every pair. A relative difference is
    the greatest difference over the greatest magnitude of A, of the same muscle or body. The magnitude of a moment arm
    is that about any coordinate. That of an inertia is the sum of its moments, that of a centre its greatest distance
    from the origin.

    >>> import myoquat as mq
    >>> from myoquat.analysis import compare_models
    >>> model = mq.load_model("two_link")
    >>> found = compare_models(model, model, poses=5)
    >>> found
    ModelComparison(two_link (A) and two_link (B): 6 muscles, 2 bodies, greatest relative difference 0)
    >>> found.unmatched
    {}
    """

    sides: tuple[ModelSide, Side]
    names: Names
    found: tuple[Quantities, Quantities]
    arms: Mapping[str, str]
    poses: str
    activation: float

    @property
    def first(self) -> str:
        """The name of A."""
        return self.sides[0].label

    @property
    def second(self) -> str:
        """The name of B."""
        return self.sides[1].label

    def _of_pair(self, quantity: str, pair: Match) -> tuple[Array, Array]:
        """A quantity of both sides (n, ...)."""
        return self.found[0][quantity, pair.first], self.found[1][quantity, pair.second]

    @property
    def units(self) -> Mapping[str, str]:
        """Those of A's coordinates."""
        return self.sides[0].model.system.coordinate_units

    @property
    def compared(self) -> int:
        """The number of poses at which both sides have values."""
        centers = [x for side in self.found for (quantity, _), x in side.items() if quantity == CENTER]
        return int(np.isfinite(np.concatenate(centers, axis=-1)).all(axis=-1).sum())

    @property
    def values(self) -> dict[str, Array]:
        """(n,) of A's coordinates with a partner at the poses [rad, m]."""
        return {name: self.found[0]["value", name] for name in self.names.coordinates.names}

    @cached_property
    def records(self) -> list[Record]:
        """The rows of `table`, but for the causes."""
        return list(_records(self))

    @cached_property
    def table(self) -> "pd.DataFrame":
        """One row for each pair and quantity: greatest difference, pose where it occurs, and other columns.

        These are the root mean square of the difference over the poses, the greatest magnitude of A, and the relative
        difference. Rows of moment arms also have the coordinate of the greatest difference, rows of lengths how much
        longer each side is at most [m]. The cause is that by other differences, if they say one.
        """
        return pandas.DataFrame([record | {"cause": _cause(self, record)} for record in self.records])

    @property
    def muscles(self) -> "pd.DataFrame":
        """One row per muscle: greatest, RMS and relative differences of length, moment arm and force."""
        return self._wide("muscle", "greatest", "RMS", "relative")

    @property
    def bodies(self) -> "pd.DataFrame":
        """One row per body: greatest and relative differences of mass, centre, inertia, and position of the centre."""
        return self._wide("body", "greatest", "relative")

    @property
    def coordinates(self) -> "pd.DataFrame":
        """One row per coordinate: how far its values differ, which is where couplers or constraints do."""
        return self._wide("coordinate", "greatest", "RMS")

    def _wide(self, part: str, *columns: str) -> "pd.DataFrame":
        rows: dict[str, Record] = {}
        for record in self.records:
            if record["part"] != part:
                continue
            row = rows.setdefault(record["name"], {"in B": record["in B"], "matched by": record["matched by"]})
            for column in columns:
                unit = UNITS[record["quantity"]]
                head = f"{record['quantity']}, {column}" + (f" [{unit}]" if unit and column != "relative" else "")
                row[head] = record[column]
        return pandas.DataFrame(list(rows.values()), index=pandas.Index(list(rows), name=part))

    @property
    def unmatched(self) -> dict[str, tuple[str, ...]]:
        """Names without a partner, by what they are: "coordinates of A", "muscles of B", ..."""
        found = {}
        for what, matching in zip(Names._fields, self.names, strict=True):
            found[f"{what} of A"], found[f"{what} of B"] = matching.only_first, matching.only_second
        return {what: names for what, names in found.items() if names}

    @property
    def largest(self) -> float:
        """The greatest relative difference of all muscles and bodies. NaN where nothing has both values, infinite where
        a quantity of A is zero and that of B is not."""
        values = [r["relative"] for r in self.records if r["part"] != "coordinate" and not np.isnan(r["relative"])]
        return max(values, default=float("nan"))

    def agrees(self, tolerance: float) -> bool:
        """Whether every muscle and body has a partner and no relative difference exceeds the tolerance.

        A quantity that one side has at a pose and the other has not is a difference.
        """
        whole = not any(m.only_first or m.only_second for m in (self.names.muscles, self.names.bodies))
        missing = any(record["one side only"] for record in self.records)
        return whole and not missing and not self.largest > tolerance

    def worst(self, count: int = MAX_SHOWN_ROWS) -> "pd.DataFrame":
        """The rows of `table` with the greatest relative differences."""
        table = self.table[self.table["part"] != "coordinate"]
        return table.sort_values("relative", ascending=False, kind="stable").head(count)

    def curves(
        self, muscle: str, quantity: str, over: str, values: Array, pose: int | None = None
    ) -> tuple[Array, Array]:
        """A quantity of a muscle of A (n,) and of its partner (n,), over values (n,) of a coordinate of A.

        The quantity is "length", "moment arm" or "force". The coordinate needs a partner. The other coordinates are
        those of a pose of the comparison, by its number, or of the starts.

        ValueError for names without a partner, and for other quantities.
        """
        for name, known in ((muscle, self.names.muscles), (over, self.names.coordinates)):
            indices_of("partner of", [name], list(known.names))
        if quantity not in PARTS["muscle"]:
            raise ValueError(f"quantity must be one of {', '.join(PARTS['muscle'])}, not {quantity!r}")
        partners = self.names.coordinates.names
        held = {} if pose is None else {name: np.full(len(values), x[pose]) for name, x in self.values.items()}
        one = held, muscle, over
        two = {partners[name]: x for name, x in held.items()}, self.names.muscles.names[muscle], partners[over]
        found = []
        for side, (others, name, along) in zip(self.sides, (one, two), strict=True):
            rest = {other: x for other, x in others.items() if other not in side.dependent}
            at = side.at(rest | {along: values}, [], [along] if quantity == "moment arm" else [], self.activation)
            found.append(at[quantity, name].reshape(len(values)))
        return found[0], found[1]

    def to_text(self) -> str:
        """The greatest differences, and what has no partner."""
        return "\n".join(_lines(self))

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        names = f"{printable(self.first)} and {printable(self.second)}"
        counts = f"{len(self.names.muscles.pairs)} muscles, {len(self.names.bodies.pairs)} bodies"
        return f"ModelComparison({names}: {counts}, greatest relative difference {self.largest:.2g})"


def _records(found: ModelComparison) -> Iterator[Record]:
    for (part, quantities), matching in zip(PARTS.items(), found.names, strict=True):
        for pair in matching.pairs:
            for quantity in quantities:
                one, two = found._of_pair(quantity, pair)
                if quantity in ("centre", CENTER) and not any(found._of_pair("mass", pair)):
                    continue  # what has no mass has no centre
                record = _record(part, pair, quantity, one, two)
                if quantity == "length":
                    for side, longer in (("A", one - two), ("B", two - one)):
                        record[f"longer in {side}"] = float(np.nanmax(longer, initial=0.0))
                    record["pose longer in A"] = int(np.argmax(np.nan_to_num(one - two, nan=-np.inf)))
                if quantity == "moment arm" and found.arms:
                    difference = np.nanmax(np.abs(one - two), axis=0, initial=0.0)
                    record["coordinate"] = [*found.arms][int(np.argmax(difference))]
                yield record


def _record(part: str, pair: Match, quantity: str, one: Array, two: Array) -> Record:
    """A row for values of both sides (n, ...) in the same units."""
    magnitude, difference = np.abs(one), np.abs(one - two).reshape(len(one), -1)
    if quantity in ("centre", CENTER):
        magnitude, difference = (np.linalg.norm(x, axis=-1, keepdims=True) for x in (one, one - two))
    whole, known = difference.max(axis=-1, initial=0.0), np.isfinite(difference)
    greatest = float(np.max(difference, where=known, initial=0.0)) if known.any() else float("nan")
    size = float(np.max(magnitude, where=np.isfinite(magnitude), initial=0.0))
    size = float(np.trace(one[0])) if quantity == "inertia" else size
    square = np.mean(difference[known] ** 2) if known.any() else float("nan")
    # where the magnitude is zero, the relative difference is infinite, but 0 of round-off
    nothing = 0.0 if greatest <= ROUND_OFF else float("inf")
    return {
        "part": part, "name": pair.first, "in B": pair.second, "matched by": pair.rule, "quantity": quantity,
        "greatest": greatest, "RMS": float(np.sqrt(square)), "greatest of A": size,
        "relative": greatest / (size or 1.0) if size > 0 or np.isnan(greatest) else nothing,
        "pose": int(np.argmax(np.where(np.isfinite(whole), whole, -1.0))) if part != "body" else -1, "coordinate": "",
        "one side only": bool((np.isfinite(one) != np.isfinite(two)).any()),
    }  # fmt: skip


def _lines(found: ModelComparison) -> Iterator[str]:
    yield f"A: {printable(found.first)}"
    yield f"B: {printable(found.second)}"
    yield found.poses
    yield f"Both have values at {found.compared} poses."
    for what, names in found.unmatched.items():
        yield f"{what} without a partner ({len(names)}): {', '.join(map(printable, names))}"
    for matching, what in zip(found.names, Names._fields, strict=True):
        others = [f"{pair.first} = {pair.second}" for pair in matching.pairs if pair.first != pair.second]
        if others:
            yield f"{what} with different names: {', '.join(map(printable, others))}"
    yield ""
    counts = f"{len(found.names.muscles.pairs)} muscles and {len(found.names.bodies.pairs)} bodies"
    yield f"Greatest differences of {counts}:"
    yield f"  {'':<28}{'':<22}{'greatest':>11}{'RMS':>11}{'relative':>11}"
    for row in found.worst().to_dict("records"):
        if not row["greatest"] > 0:
            continue
        quantity = f"{row['quantity']} [{UNITS[row['quantity']]}]"
        end = f"  about {printable(row['coordinate'])}" if row["coordinate"] else ""
        end += f"  ({row['cause']})" if row["cause"] else ""
        numbers = f"{row['greatest']:>11.3g}{row['RMS']:>11.3g}{row['relative']:>11.2g}"
        yield f"  {printable(row['name']):<28}{quantity:<30}{numbers}{end}"
    yield from _warnings(found)


def _cause(found: ModelComparison, row: Record) -> str:
    """Why a quantity may differ, as far as other differences say it."""
    apart = {r["name"] for r in found.records if r["part"] == "coordinate" and r["greatest"] > COORDINATE_TOLERANCE}
    if row["coordinate"] in apart:
        return "the constraints of the sides set this coordinate differently"
    if row["part"] == "muscle":
        length = next(r for r in found.records if r["name"] == row["name"] and r["quantity"] == "length")
        if length["relative"] > LENGTH_TOLERANCE:
            muscles = found.sides[0].model.muscles
            surfaces = ", ".join(str(w.name) for m in muscles if m.name == row["name"] for w in m.path.wraps)
            reason = "because coordinates differ" if apart else f"around {surfaces}" if surfaces else ""
            if row["quantity"] != "length" or reason:
                sides = {side: length[f"longer in {side}"] for side in "AB"}
                longer = " and ".join(
                    f"{f'{1e3 * x:.3g} mm' if x < 1 else f'{x:.3g} m'} longer in {side}"
                    for side, x in sides.items()
                    if x > MIN_SHOWN_PART * max(sides.values())
                )
                return f"its path is up to {longer} {reason}{_faults(found, length)}".rstrip()
    if row["quantity"] == CENTER and apart:
        return "coordinates differ"
    return ""


def _faults(found: ModelComparison, length: Record) -> str:
    """What is wrong with the path of B where that of A is longer by the most, as the surfaces of A tell."""
    if not length["longer in A"] > MIN_SHOWN_PART * length["longer in B"]:
        return ""
    (a, b), names = found.sides, found.names.coordinates.names
    at = {name: float(values[length["pose longer in A"]]) for name, values in found.values.items()}
    drawn = b.drawn_path(length["in B"], {names[n]: x for n, x in at.items() if names[n] not in b.dependent})
    if drawn is None:
        return ""
    system, wraps = a.model.system, a.model.muscles[a.muscles.index(length["name"])].path.wraps
    poses = system.poses(a.model.pose(at))
    points = [point for point, _ in drawn[1]]
    deepest: dict[str, float] = {}
    for first, last, (_, over) in zip(points, points[1:], drawn[1][1:], strict=False):
        line = first + np.linspace(0.0, 1.0, POINTS_ON_A_LINE)[:, None] * (last - first)
        for wrap in () if over else wraps:
            R, p = poses[wrap.body]
            x = wrap.seen(vecmat(line - p, R))
            if wrap.cut(x[0], x[-1]):
                depth = np.where(wrap.holds(x), np.linalg.norm(wrap.onto(x) - x, axis=-1), 0.0).max()
                deepest[wrap.name] = max(deepest.get(wrap.name, 0.0), float(depth))
    less = sum(np.linalg.norm(q - p) for p, q in pairwise(points)) - drawn[0]
    said = [f"runs through {name} by {1e3 * d:.3g} mm" for name, d in deepest.items() if d > MIN_DEPTH_M]
    if less > MIN_DEPTH_M:
        said.append(f"is {1e3 * less:.3g} mm shorter than straight lines between its own points")
    return f"; that of B {' and '.join(said)} there" if said else ""


def _warnings(found: ModelComparison) -> Iterator[str]:
    """Quantities that one side alone has, and coordinates that couplers or constraints of the sides set differently."""
    alone: dict[str, list[str]] = {}
    for row in found.records:
        if row["one side only"]:
            alone.setdefault(row["quantity"], []).append(printable(row["name"]))
    for quantity, names in alone.items():
        yield f"One side alone has a value, at some poses or all, of {quantity} of {len(names)}: {', '.join(names)}"
    apart = [r for r in found.records if r["part"] == "coordinate" and r["greatest"] > COORDINATE_TOLERANCE]
    if apart:
        differences = ", ".join(f"{printable(row['name'])} by {row['greatest']:.3g}" for row in apart)
        yield f"Couplers or constraints set coordinates differently: {differences}"


# ---- The comparison ----------------------------------------------------------------------------------------------

ENGINES: dict[str, type[MujocoSide | OpensimSide]] = {".xml": MujocoSide, ".mjcf": MujocoSide, ".osim": OpensimSide}


def engine_of(path: Path) -> MujocoSide | OpensimSide:
    """The engine that owns the format of a file.

    ValueError for a format that none owns and a file that the engine rejects, MissingExtraError where the engine is not
    installed.
    """
    side = ENGINES.get(path.suffix.lower())
    if side is None:
        raise ValueError(
            f"{path}: no engine owns this format; .xml is read by MuJoCo, .osim by OpenSim, `convert` writes both"
        )
    if not path.is_file():  # engines say it less clearly
        raise ModelError(f"{path}: no such model file")
    library = side.library
    try:
        module = importlib.import_module(library)
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"{library} is not installed; python -m pip install {library}", name=library) from error
    except ImportError as error:
        reason = f"{library} cannot be imported in this process, which other libraries may prevent, such as casadi"
        raise ValueError(f"{reason}; `myoquat compare {path} --engine` has a process of its own: {error}") from error
    try:
        return side(module, path)
    except RuntimeError as error:
        raise ValueError(f"{path}: {library} rejects it: {error}") from error


def compare_models(
    first: Model | str | Path,
    second: Model | str | Path | None = None,
    *,
    coordinates: Mapping[str, str] | None = None,
    muscles: Mapping[str, str] | None = None,
    bodies: Mapping[str, str] | None = None,
    rotations: str = "file",
    poses: int = 200,
    seed: int = 0,
    motion: MotionLike | str | Path | None = None,
    activation: float = 1.0,
) -> ModelComparison:
    """Lengths, moment arms and forces of muscles, and masses, centres and inertias of bodies, of two models A and B.

    first, second                 models, names of the library, or files of any format that `load_model` reads. Without
                                  `second`, B is the engine that owns the format of the file `first`: MuJoCo for .xml,
                                  OpenSim for .osim.
    coordinates, muscles, bodies  names of B by names of A, where they differ.
    rotations                     of the models, as for `load_model`: "sequence" compares angles with quaternions.
    poses, seed                   number and seed of random poses within the ranges of A (`sample_poses`). Coordinates
                                  without a partner in the other model stay at their start. Couplers and constraints of
                                  each model are obeyed.
    motion                        of A, a record, a trajectory or a file, from whose frames at most `poses` poses are
                                  taken instead.
    activation                    of all muscles, in [0, 1]; forces are those at rest, elastic tendons in equilibrium.

    Names are matched by the mappings, then where they are equal, then where letters and digits agree. Angles of a file
    that a quaternion has replaced are matched too, where the quaternion itself has no partner. Moment arms are -dl/dx
    of coordinates, with those that couplers and constraints move, as in `moment_arms`. At quaternions they are the
    torque of a unit tension. OpenSim's are about the axes that it takes (`about_axes` of `moment_arms`).

    Raises ValueError for names in mappings that do not exist, where no coordinate, muscle or body has a partner, and
    for a file that no engine owns; MissingExtraError if the engine is not installed.

    >>> import myoquat as mq
    >>> from myoquat.analysis import compare_models
    >>> model = mq.load_model("two_link")
    >>> found = compare_models(model, model.with_rotations("sequence"), rotations="sequence", poses=10)
    >>> found.agrees(1e-9)
    True
    >>> compare_models("arm.toml")
    Traceback (most recent call last):
    ValueError: arm.toml: no engine owns this format; .xml is read by MuJoCo, .osim by OpenSim, `convert` writes both
    """
    check_types(poses=(poses, int), seed=(seed, int), activation=(activation, (int, float)))
    if poses < 1:
        raise ValueError(f"poses must be positive, not {poses}")
    if not 0 <= activation <= 1:
        raise ValueError(f"activation must lie in [0, 1], not {activation}")
    sides = a, b = _sides(first, second, rotations)
    matched = _coordinates(a, b, coordinates)
    names = Names(
        matched,
        match_names("muscles", a.muscles, b.muscles, muscles),
        match_names("bodies", _heavy(a, b), _heavy(b, a), bodies),
    )
    for side in sides:
        if not side.bodies:
            raise ValueError(f"{side.label} has no bodies to compare")
    for what, matching in (("coordinate", matched), ("body", names.bodies)):
        if not matching.pairs and matching.only_first and matching.only_second:
            raise ValueError(f"no {what} of {a.label} has a partner in {b.label}; map names, as in {what}=other")
    sample = sample_poses(a.model, poses, seed) if motion is None else _of_motion(a.model, motion, poses)
    moved = [p for p in matched.pairs if p.first not in a.dependent and p.second not in b.dependent]
    values = {pair.first: a.model.system.coordinate(pair.first, sample.q) for pair in moved}
    arms = _columns(a, b, names, [(pair.first, pair.second) for pair in moved])
    one = a.at(values, matched.names, list(arms), activation)
    wanted = {pair.second: one["value", pair.first] for pair in moved}
    two = b.at(wanted, matched.names.values(), list(arms.values()), activation)
    return ModelComparison(sides, names, (one, two), arms, sample.to_text(), activation)


def _offsets(model: Model) -> dict[str, float]:
    """[m] what reading adds to the lengths of fixed tendons, which may be negative in MuJoCo."""
    ends = {muscle.name: muscle.path.points[-1] for muscle in model.muscles}
    return {name: end.length.coefficients[0] for name, end in ends.items() if isinstance(end, LengthPoint)}


def _sides(first: Model | str | Path, second: Model | str | Path | None, rotations: str) -> tuple[ModelSide, Side]:
    if second is not None:
        a, b = _loaded("first", first, rotations), _loaded("second", second, rotations)
        if a.label == b.label:
            a.label, b.label = f"{a.label} (A)", f"{b.label} (B)"
        return a, b
    check_types(first=(first, PATH), rotations=(rotations, str))
    path = Path(str(first))
    engine, model = engine_of(path), load_model(path, rotations)
    if isinstance(engine, MujocoSide):
        engine.offsets = _offsets(model)
    about_axes = angular_triples(model) if isinstance(engine, OpensimSide) else ()
    return ModelSide(model, f"{path.name} in myoquat", about_axes), engine


def _loaded(name: str, given: Model | str | Path, rotations: str) -> ModelSide:
    check_types(**{name: (given, (Model, *PATH))}, rotations=(rotations, str))
    if isinstance(given, Model):
        return ModelSide(given if rotations == "file" else given.with_rotations(rotations), given.name)
    return ModelSide(load_model(given, rotations), Path(given).name)


def _of_motion(model: Model, motion: MotionLike | str | Path, count: int) -> PoseSample:
    """At most `count` frames of a motion, evenly spread, brought onto the constraints."""
    source = "the motion"
    if isinstance(motion, PATH):
        source = Path(motion).name
        motion = load_motion(motion, model, start=model.start)
    else:
        motion = motion_of(motion)
        if motion.system != model.system:
            raise ValueError("motion: it belongs to another system than that of the first model")
    rows = np.unique(np.linspace(0, len(motion.time) - 1, min(count, len(motion.time))).round().astype(int))
    held = constraints_of(model)
    q = assemble(model, motion.q[rows], strict=False) if held else motion.q[rows]
    return PoseSample(q[np.isfinite(q).all(axis=-1)], len(rows), {}, len(held), source)


def _heavy(side: Side, other: Side) -> list[str]:
    """Names of bodies. One without mass, such as those that files of a single joint for each body need, counts only
    where the other side has its name."""
    return [name for name in side.bodies if side.masses["mass", name] or name in other.bodies]


def _coordinates(a: Side, b: Side, mapping: Mapping[str, str] | None) -> Matching:
    """Coordinates in pairs; angles that a quaternion has replaced only where the quaternion has no partner."""
    plain = {one: two for one, two in (mapping or {}).items() if one in a.coordinates and two in b.coordinates}
    taken = match_names("coordinates", a.coordinates, b.coordinates, plain)
    first = (*a.coordinates, *_open(a, taken.names))
    second = (*b.coordinates, *_open(b, taken.names.values()))
    return match_names("coordinates", first, second, mapping)


def _open(side: Side, taken: Collection[str]) -> list[str]:
    """The angles of bodies whose quaternions have no partner."""
    return [name for name, body in side.angles.items() if f"{body}.Q0" not in taken]


def _columns(a: Side, b: Side, names: Names, moved: list[tuple[str, str]]) -> dict[str, str]:
    """Columns of moment arms of A, each with that of B: coordinates that are no quaternions, and torques of those."""
    found = {one: two for one, two in moved if one in a.arm_names and two in b.arm_names}
    for one, two in moved:
        if one.endswith(".Q0") and two.endswith(".Q0"):
            for axis in "xyz":
                column = f"torque_{axis} [child]"
                found[f"{one.removesuffix('Q0')}{column}"] = f"{two.removesuffix('Q0')}{column}"
    return found
