"""Inverse kinematics: the pose of every frame from markers, sensor orientations, or both.

A finite weight w of a constraint, a coupler among them, adds w |phi|^2 to what is minimised. OpenSim divides the part
of the markers by the sum of their weights: its constraint_weight times that sum is w. Redundant constraints do no harm,
and those on velocities alone say nothing of a pose.

Full turns of hinges and the two triples of three rotations give the same pose. Every frame has the angles nearest to
the frame before. The first has those with which the most frames are in the model's ranges, or else its principal ones.
With a start those nearest to it, and with a start for each frame every frame has those.
"""

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from myoquat.core import Array, ArrayLike, by_pattern, check_items, check_types, indices_of, real_array, warn_user
from myoquat.data.motions import Markers, Orientations
from myoquat.data.motions.angles import balls
from myoquat.data.motions.coordinates import MIN_REPORTED_OFFSET
from myoquat.dynamics.constraints.equations import as_constraint, modes_of
from myoquat.joints.constraints import Constraint, Holonomic
from myoquat.joints.errors import ModelError
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.muscle.coordinates import Coupler
from myoquat.muscle.model import Model

from .fitted import FittedMotion
from .problem import PoseProblem
from .solver import Frames, fit_frames
from .structure import Sensor, split_couplers
from .task_coordinates import frames_in_lock, task_coordinates, velocity_of

IN_LOCK = 1e-6  # sine of an angle's distance from its lock
MAX_CACHED_PROBLEMS = 8  # problems whose names have been checked


class MotionWarning(UserWarning):
    """Something of a recording is not used, or lies where it should not.

    >>> from myoquat.analysis.motion import MotionWarning
    >>> issubclass(MotionWarning, UserWarning)  # warnings.simplefilter("ignore", MotionWarning) silences it
    True
    """


MAX_NAMED = 6  # names in a message


class _Same:
    """A model as a key that is equal to itself alone: comparing the contents of two would take longer than a frame."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.model is other.model

    def __hash__(self) -> int:
        return id(self.model)


class _Setting(NamedTuple):
    """A problem, where in the data its markers and sensors are, and what they and its tasks weigh. By "marker" and
    "sensor", names of the data that the model does not know, each with the nearest ones that it knows."""

    problem: PoseProblem
    markers: list[int]
    sensors: list[int]
    weights: tuple[Array, Array, Array]
    strange: dict[str, dict[str, str]]


def inverse_kinematics(
    model: Model, data: Markers | Orientations | tuple[Markers, Orientations],
    weights: Mapping[str, float] | None = None, *, sensors: Sequence[Sensor] = (),
    coordinates: Mapping[str, ArrayLike] | None = None, locked: Collection[str] | None = None, ranges: bool = True,
    constraint_weight: float | Mapping[str, float] = np.inf, start: ArrayLike | None = None, method: str = "batch",
) -> FittedMotion:  # fmt: skip
    """The motion of a model that fits recorded markers and sensors best, frame by frame, in weighted least squares.

    In each frame sum w |x - p(q)|^2 + sum w theta^2 + sum w (y - y(q))^2 is minimised over the free coordinates. The
    terms are distances of markers [m], angles of sensors [rad], and deviations of coordinates [rad or m] from wanted
    values. Damped Gauss-Newton steps in the tangent space (`motion.problem`) make quaternion joints free of locks.

    data               markers, sensor orientations, or both at the same times. Names are those of the model's markers,
                       and of `sensors`. A marker or sensor that is missing in a frame (NaN) has no weight there.
    weights            by name of marker, sensor or coordinate task, or by patterns such as "R.*", of which the last
                       one counts; 1 for those not named, and 0 leaves one out, without a warning
                       (`load_marker_weights`). Squares of metres and of radians are added without scaling. A sensor of
                       weight 0.01 counts as much for a radian as a marker of weight 1 for 0.1 m.
    sensors            where the sensors are on their bodies.
    coordinates        wanted values [rad or m] by coordinate, a number or one per frame (t,); named angles that a
                       quaternion has replaced among them.
    locked             coordinates that keep their value at the start; the model's own locked ones if None.
    ranges             whether coordinates that the model says are clamped stay in their ranges.
    constraint_weight  infinite: they hold to 1e-10. A number w, or some by name: tasks w |phi|^2 (see the module).
    start              (nq,) start of the first frame, and the values of locked and undetermined coordinates; or (t, nq)
                       one for each frame. The model's own start if None.
    method             "sequential": each frame from the one before. Or "batch": every 32nd frame from the one before,
                       then the others from the nearest known one, side by side.

    Couplers and holonomic constraints of the model hold exactly. Returns a Motion with its errors and the frames that
    converged.

    Raises ValueError for data that share no name with the model, negative weights, and times that differ. It is raised
    for unknown names in `weights`, `coordinates` or `locked` (with the nearest ones). Raises ModelError for a single
    locked angle of a quaternion. Warns with MotionWarning of names that the model does not know, of locked coordinates
    away from their wanted values, and of angles that drive others in their lock.

    >>> import myoquat as mq
    >>> arm = mq.Body("arm", "ground", mq.joints.RevoluteJoint())
    >>> hand = mq.muscle.coordinates.Marker("hand", "arm", (1, 0, 0))
    >>> model = mq.Model(mq.ArticulatedSystem((arm,)), markers=(hand,))
    >>> inverse_kinematics(model, mq.data.Markers([0.0], ("hand",), [[[0, 2, 0]]])).q.round(6)  # a quarter turn
    array([[1.570796]])
    """
    check_types(model=(model, Model), data=(data, (Markers, Orientations, tuple)))
    if method not in ("batch", "sequential"):
        raise ValueError(f"method is 'batch' or 'sequential', not {method!r}")
    markers, orientations = _parts(data)
    setting = _setting(
        _Same(model),
        (() if markers is None else markers.names, () if orientations is None else orientations.names),
        tuple((name, float(weight)) for name, weight in (weights or {}).items()),
        tuple(coordinates or ()),
        check_items("sensors", sensors, Sensor),
        None if locked is None else tuple(locked),
        ranges,
        constraint_weight if isinstance(constraint_weight, (int, float)) else tuple(constraint_weight.items()),
    )
    for which, strange in setting.strange.items():
        if strange:
            message = f"not used, since the model has no such {which}: {', '.join(strange.values())}"
            warn_user(message, MotionWarning)
    time = markers.time if markers is not None else orientations.time  # type: ignore[union-attr]
    frames = _frames(setting, markers, orientations, coordinates or {}, time)
    names = model.system.coordinate_names
    found = {names.index(c.name): c.range for c in model.coordinates if c.range is not None and c.name in names}
    wanted = found if start is None else None
    first = _start(model, start, len(time))
    _warn_of_locked_tasks(setting.problem, coordinates or {}, first)
    motion = fit_frames(setting.problem, time, frames, first, method, wanted)
    _warn_of_locks(motion, setting.problem)
    return motion


def _warn_of_locked_tasks(problem: PoseProblem, wanted: Mapping[str, ArrayLike], start: Array) -> None:
    """Warn with MotionWarning of locked coordinates whose wanted values are elsewhere."""
    system, rates = problem.system, velocity_of(problem.system)
    off = {name: float(np.abs(np.asarray(wanted[name]) - system.coordinate(name, start)).max(initial=0.0))
           for name in problem.tasks if rates.get(name) in problem.locked}  # fmt: skip
    if far := [f"{name!r} (by up to {by:.4g})" for name, by in off.items() if by > MIN_REPORTED_OFFSET]:
        warn_user(
            f"locked coordinates stay where the fit starts, away from their wanted values: {', '.join(far)}. "
            "locked=(...) names those that keep still",
            MotionWarning,
        )


def _warn_of_locks(motion: FittedMotion, problem: PoseProblem) -> None:
    """Warn with MotionWarning of frames in which an angle that drives a coordinate is in its lock."""
    for name, driver in {d.coupler.independent: d.driver for d in problem.driven}.items():
        if len(locked := frames_in_lock(driver, motion.q, IN_LOCK)):
            led = ", ".join(repr(d.coupler.dependent) for d in problem.driven if d.coupler.independent == name)
            warn_user(
                f"in {len(locked)} frames, first in frame {locked[0]} (time {motion.time[locked[0]]:g} s), the angle "
                f"{name!r} is in its lock, where it has no rate. {led}, which follow it, do not change smoothly there",
                MotionWarning,
            )


def _parts(data: Markers | Orientations | tuple[Markers, Orientations]) -> tuple[Markers | None, Orientations | None]:
    """Markers and orientations, either of which may be missing."""
    parts = data if isinstance(data, tuple) else (data,)
    markers = [part for part in parts if isinstance(part, Markers)]
    orientations = [part for part in parts if isinstance(part, Orientations)]
    if len(markers) > 1 or len(orientations) > 1 or len(markers) + len(orientations) != len(parts) or not parts:
        types = ", ".join(type(part).__name__ for part in parts)
        raise TypeError(f"data are Markers, Orientations, or one of each, not {types or 'nothing'}")
    if markers and orientations and not np.array_equal(markers[0].time, orientations[0].time):
        raise ValueError("markers and orientations have different times; resample one of them")
    return (markers[0] if markers else None), (orientations[0] if orientations else None)


@lru_cache(maxsize=MAX_CACHED_PROBLEMS)
def _setting(
    same: _Same,
    recorded: tuple[tuple[str, ...], tuple[str, ...]],
    weights: tuple[tuple[str, float], ...],
    wanted: tuple[str, ...],
    placed: tuple[Sensor, ...],
    held: tuple[str, ...] | None,
    ranges: bool,
    pulling: float | tuple[tuple[str, float], ...],
) -> _Setting:
    """The problem and its data by names, every name checked; cached for the next frames of the same model and names."""
    model, (seen, felt) = same.model, recorded
    known = {marker.name: marker for marker in model.markers}
    carried = {sensor.name: sensor for sensor in placed}
    for sensor in placed:
        _check_sensor(model, sensor)
    names = list(dict.fromkeys([*known, *carried, *seen, *felt, *wanted]))
    weight = dict.fromkeys(names, 1.0)
    weight |= by_pattern("marker, sensor or coordinate task", dict(weights), names)
    for name, value in weights:
        if not (np.isfinite(value) and value >= 0):
            raise ValueError(f"the weight of {name!r} must be finite and not negative, not {value}")
    indices_of("coordinate", wanted, _coordinate_names(model.system))
    locked = _locked(model, held)
    markers = [k for k, name in enumerate(seen) if weight[name] > 0 and name in known]
    sensors = [k for k, name in enumerate(felt) if weight[name] > 0 and name in carried]
    tasks = tuple(name for name in wanted if weight[name] > 0)
    couplers, constraints, soft = _constraints(model, pulling)
    problem = PoseProblem(
        model.system,
        tuple(known[seen[k]] for k in markers),
        tuple(carried[felt[k]] for k in sensors),
        tasks,
        couplers,
        locked,
        _bounds(model, locked, couplers) if ranges else (),
        constraints,
        soft,
    )
    used = [[name for name in names if weight[name] > 0] for names in recorded]
    strange = {"marker": _strange(used[0], known), "sensor": _strange(used[1], carried)}
    if not markers and not sensors:
        others = [nearest for names in strange.values() for nearest in names.values()]
        more = f" and {len(others) - MAX_NAMED} more" if len(others) > MAX_NAMED else ""
        unknown = ", ".join(others[:MAX_NAMED]) + more or "all of weight zero"
        unknown += "" if known or carried else "; the model has neither markers nor sensors"
        raise ValueError(f"nothing to fit: no marker or sensor with a weight is known to the model; given: {unknown}")
    for name in tasks:
        if name not in task_coordinates(model.system):
            raise ValueError(f"{name!r} is a part of a quaternion; a coordinate task needs an angle or a length")
    if not problem.free:
        raise ValueError("no coordinate is free: all are locked or follow others; locked=(...) says which keep still")
    parts = [seen[k] for k in markers], [felt[k] for k in sensors], tasks
    of_markers, of_sensors, of_tasks = (np.array([weight[name] for name in part], dtype=float) for part in parts)
    return _Setting(problem, markers, sensors, (of_markers, of_sensors, of_tasks), strange)


def _strange(names: Iterable[str], known: Mapping[str, object]) -> dict[str, str]:
    """The names that are not known, each with those that are nearest to it."""
    near = {name: difflib.get_close_matches(name, known, n=2) for name in names if name not in known}
    return {name: f"{name!r} (nearest: {', '.join(others) or 'none'})" for name, others in near.items()}


def _check_sensor(model: Model, sensor: Sensor) -> None:
    if sensor.body not in (*model.system.body_names, model.system.ground):
        raise ModelError(f"body {sensor.body!r} does not exist", element=f"sensor {sensor.name!r}")
    if abs(np.linalg.norm(sensor.orientation) - 1) > 1e-6:
        raise ModelError("the orientation must be a unit quaternion", element=f"sensor {sensor.name!r}")


def _constraints(
    model: Model, weights: float | tuple[tuple[str, float], ...]
) -> tuple[tuple[Coupler, ...], tuple[Constraint, ...], tuple[tuple[Constraint, float], ...]]:
    """The couplers that are followed, the constraints that hold, and those that pull with a weight."""
    named: list[Coupler | Constraint] = [*model.couplers, *model.constraints]
    if isinstance(weights, (int, float)):
        weight_of = {one.name: float(weights) for one in named}
    else:
        indices_of("constraint", [name for name, _ in weights], [one.name for one in named])
        weight_of = {name: float(weight) for name, weight in weights}
    for name, weight in weight_of.items():
        if not weight >= 0:
            raise ValueError(f"the weight of the constraint {name!r} must not be negative, not {weight}")
    hard = [c for c in model.couplers if np.isinf(weight_of.get(c.name, np.inf))]
    followed, driving_angles = split_couplers(model.system, hard)
    soft = [as_constraint(c) for c in model.couplers if c not in hard]
    holonomic = [*driving_angles, *(c for c in (*model.constraints, *modes_of(model)) if isinstance(c, Holonomic))]
    for constraint in (*soft, *holonomic):
        constraint.check(model.system)
    exact = tuple(c for c in holonomic if np.isinf(weight_of.get(c.name, np.inf)))
    pulling = [(c, weight_of[c.name]) for c in (*soft, *holonomic) if c not in exact and weight_of[c.name] > 0]
    return followed, exact, tuple(pulling)


def _coordinate_names(system: ArticulatedSystem) -> list[str]:
    """The coordinates, and the file's angles that quaternions have replaced."""
    return [*system.coordinate_names, *(name for ball in balls(system) for name in ball.angles.all_names)]


def _locked(model: Model, locked: Collection[str] | None) -> frozenset[int]:
    """Velocities that are zero: the rates of locked coordinates. A ball joint with three locked angles, or a floating
    joint with three locked translations, has all of its own."""
    system, rates = model.system, velocity_of(model.system)
    names = [c.name for c in model.coordinates if c.locked] if locked is None else list(locked)
    indices_of("coordinate", names, _coordinate_names(system))
    groups: list[tuple[Sequence[str], Iterable[int]]] = [((name,), (k,)) for name, k in rates.items()]
    groups += [(ball.angles.names, range(ball.omega.start, ball.omega.stop)) for ball in balls(system)]
    for iq, iu, body in zip(system.q_slices, system.u_slices, system.bodies, strict=True):
        if body.joint.span == "all":
            groups.append((system.coordinate_names[iq.start : iq.start + 3], range(iu.start, iu.start + 3)))
    held = [(group, velocities) for group, velocities in groups if {*group} <= {*names}]
    for name in names:
        if not any(name in group for group, _ in held):
            raise ModelError(
                f"{name!r} has no velocity of its own where a quaternion describes the joint, and cannot be locked "
                "alone. Leave this joint in the file's angles (with_rotations takes a mapping)",
                element=f"coordinate {name!r}",
            )
    return frozenset(k for _, velocities in held for k in velocities)


def _bounds(
    model: Model, locked: frozenset[int], couplers: Sequence[Coupler]
) -> tuple[tuple[int, int, float, float], ...]:
    """Ranges of the clamped coordinates that have a velocity of their own and are neither locked nor coupled."""
    rates, names = velocity_of(model.system), model.system.coordinate_names
    driven = {coupler.dependent for coupler in couplers}
    return tuple(
        (rates[c.name], names.index(c.name), float(c.range[0]), float(c.range[1]))
        for c in model.coordinates
        if c.clamped and c.range is not None and c.name in rates
        if c.name not in driven and rates[c.name] not in locked
    )


def _start(model: Model, start: ArrayLike | None, frames: int) -> Array:
    """(nq,) or (t, nq)."""
    q = model.system.check_q(model.start if start is None else real_array("start", start))
    if q.shape not in ((model.system.nq,), (frames, model.system.nq)):
        raise ValueError(f"start has shape {q.shape}; (nq,) or (t, nq) is needed")
    return q


def _frames(
    setting: _Setting,
    markers: Markers | None,
    orientations: Orientations | None,
    tasks: Mapping[str, ArrayLike],
    time: Array,
) -> Frames:
    """The data of every frame, one row each; what is missing weighs nothing."""
    t, problem = len(time), setting.problem
    rows = np.zeros((t, problem.size))
    data, weights = problem.unpacked(rows), setting.weights  # views, which are filled in
    if markers is not None:
        data.positions[:] = markers.positions[:, setting.markers]
    if orientations is not None:
        data.rotations[:] = orientations.quaternions[:, setting.sensors]
    lost, silent = np.isnan(data.positions[..., 0]), np.isnan(data.rotations[..., 0])
    data.positions[lost], data.rotations[silent] = 0.0, [1.0, 0.0, 0.0, 0.0]
    data.position_weights[:] = np.where(lost, 0.0, weights[0])
    data.rotation_weights[:] = np.where(silent, 0.0, weights[1])
    for j, name in enumerate(problem.tasks):
        data.values[:, j] = _wanted(name, tasks[name], t)
    data.value_weights[:], data.scale[:] = weights[2], weights[0].sum() + weights[1].sum()
    data.time[:] = time
    return Frames(rows, lost, silent)


def _wanted(name: str, values: ArrayLike, frames: int) -> Array:
    array = real_array(name, values)
    if array.shape not in ((), (frames,)) or not np.isfinite(array).all():
        raise ValueError(f"coordinates[{name!r}] must be one finite number or one for each of {frames} frames")
    return np.broadcast_to(array, (frames,))
