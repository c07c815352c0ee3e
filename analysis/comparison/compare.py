"""The comparison itself: names are matched, poses drawn, and quantities of both sides compared at them."""

import importlib
from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np

from myoquat.analysis.recruitment.power import PoseSample, sample_poses
from myoquat.core import PATH, MissingExtraError, check_types
from myoquat.data import load_model, load_motion
from myoquat.data.motions import MotionLike, motion_of
from myoquat.data.motions.angular_speeds import angular_triples
from myoquat.dynamics.constraints import assemble, constraints_of
from myoquat.joints.errors import ModelError
from myoquat.muscle import LengthPoint, Model

from .report import ModelComparison, Names
from .sides import Matching, ModelSide, MujocoSide, OpensimSide, Side, match_names

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
