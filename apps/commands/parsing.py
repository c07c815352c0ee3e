"""What texts of commands name: markers and their weights, reserves, stability rules."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import click
import numpy as np

from myoquat.analysis.motion import FittedMotion, inverse_kinematics, load_markers
from myoquat.analysis.recruitment import JointCone, Reserve, ReserveActuator, SocketMarkers, StabilityRule
from myoquat.analysis.recruitment.free import free_velocities
from myoquat.apps.report import summary_of
from myoquat.core import Array, indices_of
from myoquat.data import Markers
from myoquat.data.motions.angles import balls
from myoquat.muscle.actuators import CoordinateActuator
from myoquat.muscle.model import Model

Named = Sequence[tuple[str, float]]


def reserves_named(
    model: Model, q: Array, strengths: Named, weights: Named, defaults: tuple[float, float]
) -> list[Reserve | ReserveActuator]:
    """A reserve on every free velocity at poses q (t, nq). Its strength is the last one named for it, or the default
    for torques [N m] or forces [N]. Of a ball joint one of whose angles in the file is named, all of them are on
    angles.

    ValueError for a name or pattern that fits no velocity, coordinate or angle, or only such as locks, couplers or
    constraints drive.
    """
    patterns = [pattern for pattern, _ in (*strengths, *weights)]
    rows = _rows(model, q, patterns)
    known = [name for row in rows for name in row[:2]]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in known):
            indices_of("free coordinate or velocity", [pattern], known)
    found: list[Reserve | ReserveActuator] = []
    for name, other, unit in rows:
        strength, weight = (
            next((x for pattern, x in reversed(given) if any(fnmatchcase(n, pattern) for n in (name, other))), default)
            for given, default in ((strengths, defaults[unit != "N m"]), (weights, 1.0))
        )
        on_velocity = name in model.system.velocity_names
        actuator = CoordinateActuator(name, name, optimal_force=strength)
        found.append(Reserve(name, strength, weight) if on_velocity else ReserveActuator(actuator, weight))
    return found


def _rows(model: Model, q: Array, patterns: Sequence[str]) -> list[tuple[str, str, str]]:
    """What every reserve is on, a velocity or a coordinate, its other name, and its unit."""
    system, free = model.system, free_velocities(model, q[:1])[0]
    named = {ball.body: ball.angles.names for ball in balls(system)}
    rows: list[tuple[str, str, str]] = []
    for i, (body, iu) in enumerate(zip(system.bodies, system.u_slices, strict=True)):
        own, coordinates = system.velocity_names[iu], body.names_of_coordinates
        angles = named.get(i, ())
        file = (*(coordinates[:3] if body.joint.span == "all" else ()), *angles) if angles else ()
        if any(fnmatchcase(name, pattern) for name in file for pattern in patterns):
            rows += [(name, name, "N m" if name in angles else "N") for name in file]
            continue
        others = coordinates if len(coordinates) == len(own) else own
        units = body.joint.facts.force_units
        rows += [row for row in zip(own, others, units, strict=True) if row[0] in free]
    return rows


def rule_of(model: Model, text: str, name: str = "rim") -> StabilityRule:
    """The stability rule that a text describes.

    JOINT=HEAD,CENTRE,RIM names markers, and `name` one of `SocketMarkers.rules`. JOINT=X,Y,Z,DEGREES is a cone.
    BadParameter for other texts.
    """
    joint, _, rest = text.partition("=")
    parts = rest.split(",")
    if joint and len(parts) == 3:
        return SocketMarkers.of(model, joint, *parts).rules(joint)[name]
    try:
        x, y, z, angle = map(float, parts)
        return JointCone(joint, (x, y, z), float(np.radians(angle)))
    except ValueError:
        raise click.BadParameter(f"--cone is JOINT=HEAD,CENTRE,RIM or JOINT=X,Y,Z,DEGREES, not {text!r}") from None


MARKER_FILES = (".trc", ".c3d")
MAX_RMS_MM, MAX_ERROR_MM = 20.0, 40.0


def fit_markers(model: Model, path: Path, given: Any, constraint_weight: float = np.inf) -> FittedMotion:
    """The motion that fits a file of markers, with weights, axes and times of a command."""
    fit = inverse_kinematics(
        model, markers_between(path, given), dict(given.weights), constraint_weight=constraint_weight
    )
    click.echo("\n".join([summary_of(fit), *fit_remarks(fit)]))
    if open_ := fit.undetermined():
        click.echo(f"nothing that was seen determines {', '.join(open_)}")
    return fit


def fit_remarks(fit: FittedMotion) -> list[str]:
    """A sentence where markers fit worse than OpenSim's guide asks for: RMS below 20 mm, every marker below 40 mm
    [OpenSim Documentation, Getting Started with Inverse Kinematics, "Best Practices and Troubleshooting"]."""
    error = 1e3 * fit.marker_error[np.isfinite(fit.marker_error)]
    rms, worst = (float(np.sqrt(np.mean(error**2))), float(error.max())) if error.size else (0.0, 0.0)
    if rms <= MAX_RMS_MM and worst <= MAX_ERROR_MM:
        return []
    return [
        f"Markers fit badly: {rms:.3g} mm RMS and {worst:.3g} mm at most; usual bounds are {MAX_RMS_MM:g} and "
        f"{MAX_ERROR_MM:g} mm. Check names, axes and units of the markers, and whether the model has the person's size."
    ]


def markers_between(path: Path, given: Any) -> Markers:
    """The markers of a file from the first to the last time of a command; BadParameter for no frame."""
    seen = load_markers(path, given.axes).between(given.start, given.end)
    if not len(seen.time):
        raise click.BadParameter(f"no frame of {path} lies from {given.start:g} to {given.end:g} s")
    return seen
