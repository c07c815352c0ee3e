"""Where the search starts: a motion at every site, from data, from a former solution, or from the ends."""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from myoquat.analysis.motion import MotionWarning, inverse_kinematics
from myoquat.core import Array, real_array
from myoquat.data.motions import Motion
from myoquat.muscle.evaluate import equilibrium_states
from myoquat.muscle.model import Model
from myoquat.muscle.states import state_names

from .conditions import Quantities
from .discretization import Sites, Statement
from .goals.tracking import TrackMarkers, TrackOrientations, TrackPose
from .plants import ModelPlant, MuscledPlant, PrescribedPlant
from .points import interpolated_pose, interpolated_velocity

DEFAULT_ACTIVATION = 0.3  # of muscles without a guess


def default_sites(statement: Statement, ends: tuple[Array | None, Array | None]) -> Sites:
    """The first tracked motion, or the poses that fit tracked markers and sensors best; otherwise evenly from the fixed
    pose at the start to the one at the end. `ends` are these poses (nq,), NaN where nothing fixes them, or None."""
    tracked = [goal.motion for goal in statement.goals if isinstance(goal, TrackPose)]
    tracked = tracked or _fitted(statement)
    if tracked:
        return sites_of_motion(statement, tracked[0])
    plant, system = statement.plant, statement.plant.system
    sites = sites_at_rest(statement)
    if system is not None:
        model = getattr(plant, "model", None)
        neutral = model.start if isinstance(model, Model) else system.neutral()
        first, last = (neutral if pose is None else np.where(np.isnan(pose), neutral, pose) for pose in ends)
        v = plant.displacement(first, first if ends[1] is None else last)
        q = plant.displaced(np.broadcast_to(first, sites.q.shape), statement.layout.fractions[:, None] * v)
        u = np.broadcast_to(v / sites.duration, (len(q), plant.nu))
        sites = Sites(sites.duration, q, sites.fields | {"u": u})
    return with_fibers(statement, sites)


def _fitted(statement: Statement) -> list[Motion]:
    """[the motion at the nodes] that fits the markers and sensors that goals follow, by inverse kinematics; [] without
    such goals, and where poses are no unknowns."""
    plant, span = statement.plant, statement.duration
    followed = [goal for goal in statement.goals if isinstance(goal, (TrackMarkers, TrackOrientations))]
    if not followed or not isinstance(plant, ModelPlant) or not isinstance(plant.model, Model):
        return []
    times = statement.times(span[0], statement.layout.nodes)
    first, weights, data, sensors = dict[type, Any](), dict[str, float](), list[Any](), ()
    for goal in followed:  # the first of each type
        if first.setdefault(type(goal), goal) is goal:
            weights |= goal.weights
    if TrackMarkers in first:
        data.append(first[TrackMarkers].markers.resampled(times, np.inf))
    if TrackOrientations in first:
        sensors = first[TrackOrientations].sensors
        names = tuple(sensor.name for sensor in sensors)
        data.append(first[TrackOrientations].orientations.select(names).resampled(times, np.inf))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MotionWarning)  # names that only the recording has, and locks on the way
        fit = inverse_kinematics(plant.model, tuple(data) if len(data) == 2 else data[0], weights, sensors=sensors)
    return [Motion(plant.system, times, fit.q)]


def sites_at_rest(statement: Statement) -> Sites:
    """At rest: zero velocities and rates, states and controls as near to zero as their bounds allow."""
    plant, count = statement.plant, len(statement.layout.fractions)
    low, high = statement.duration
    duration = (low + high) / 2 if np.isfinite(high) else low + 1.0
    w = np.clip(0.0, *plant.state_bounds.T)
    controls = np.clip(0.0, *plant.control_bounds.T)
    muscles = len(getattr(plant, "muscle_names", ()))
    controls[:muscles] = np.clip(DEFAULT_ACTIVATION, *plant.control_bounds[:muscles].T)
    w[[i for i, name in enumerate(plant.state_names) if name.endswith(".activation")]] = DEFAULT_ACTIVATION
    rows = {name: np.zeros(len(own)) for name, own in plant.fields.items() if name != "z"} | {"w": w}
    rows["controls"] = controls
    fields = {name: np.broadcast_to(row, (count, len(row))) for name, row in rows.items()}
    q = np.zeros((count, plant.nq)) if plant.system is None else np.tile(plant.system.neutral(), (count, 1))
    return Sites(duration, q, fields)


def with_fibers(statement: Statement, sites: Sites) -> Sites:
    """The sites with fibers in equilibrium at the default activation, and the rates of their lengths along the motion.

    Fibers have their optimal lengths where a pose has no equilibrium.
    """
    plant = statement.plant
    if not isinstance(plant, MuscledPlant) or not plant.muscle_names or not state_names(plant.equations.muscled):
        return sites
    q = sites.q
    if isinstance(plant, PrescribedPlant):
        q = plant.motion_at(statement.times(sites.duration)).q
    model, first = plant.equations.muscled, len(plant.equations.excited)
    last = len(plant.equations.of_muscles)
    try:
        fibers = equilibrium_states(model, q, np.full(len(model.muscles), DEFAULT_ACTIVATION))
    except ValueError:
        laws = [m.law for m in model.muscles if m.law is not None and m.law.states]
        fibers = np.array([getattr(law, "optimal_fiber_length", 1.0) for law in laws for _ in law.states])
    w, wdot = np.array(sites.fields["w"]), np.array(sites.fields["wdot"])
    w[:, first:last] = fibers
    if sites.duration > 0 and np.isfinite(sites.duration):
        wdot[:, first:last] = np.gradient(w[:, first:last], statement.layout.fractions * sites.duration, axis=0)
    return Sites(sites.duration, sites.q, sites.fields | {"w": w, "wdot": wdot})


def sites_of_motion(statement: Statement, motion: Motion) -> Sites:
    """A recorded motion at every site, its rates by splines; states and controls as at rest."""
    sites = sites_at_rest(statement)
    times = statement.times(sites.duration)
    q, u = interpolated_pose(motion, times), interpolated_velocity(motion, times)
    udot = np.gradient(u, times, axis=0) if len(times) > 1 else 0.0 * u
    return with_fibers(statement, Sites(sites.duration, q, sites.fields | {"u": u, "udot": udot}))


def sites_of_mapping(statement: Statement, given: Mapping[str, Any], quantities: Quantities, otherwise: Sites) -> Sites:
    """The sites `otherwise` with quantities by name: a number, or values (k,) evenly spaced over the duration;
    "duration" is a number [s]."""
    fields = {name: np.array(values) for name, values in otherwise.fields.items()}
    q, duration = otherwise.q.copy(), float(given.get("duration", otherwise.duration))
    system, parameters = statement.plant.system, statement.plant.unknown
    p = np.array(parameters.start if otherwise.parameters is None else otherwise.parameters)
    for name, value in given.items():
        if name == "duration":
            continue
        if name in parameters.names:
            p[parameters.names.index(name)] = float(value)
            continue
        unknown = quantities.unknown(name, "guess")
        values = np.atleast_1d(real_array(f"guess: {name}", value))
        if values.ndim != 1 or not np.isfinite(values).all():
            raise ValueError(f"guess: {name!r} needs a number or finite values (k,) over the duration, not {value!r}")
        row = np.interp(statement.layout.fractions, np.linspace(0, 1, len(values)), values)
        if unknown.field == "z" and system is not None:
            q[:, system.coordinate_names.index(name)] = row
        else:
            fields[unknown.field][:, unknown.place] = row
    return Sites(duration, q, fields, p)
