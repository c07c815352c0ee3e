"""What texts of commands name: markers and their weights, reserves, stability rules."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import click
import numpy as np

from myoquat.analysis.motion import FittedMotion, inverse_kinematics, load_markers
from myoquat.analysis.recruitment import JointCone, Reserve, ReserveActuator, SocketMarkers, StabilityRule
from myoquat.analysis.recruitment.free import free_velocities
from myoquat.apps.report import summary_of
from myoquat.core.arguments import indices_of
from myoquat.core.typing import Array
from myoquat.data import Markers
from myoquat.data.motions.angles import balls
from myoquat.joints.types import FloatingJoint
from myoquat.muscle.actuators import CoordinateActuator
from myoquat.muscle.model import Model

__all__ = [
    "MARKER_FILES",
    "fit_markers",
    "fit_remarks",
    "markers_between",
    "named_numbers",
    "named_weights",
    "reserves_named",
    "rule_of",
]

Named = Sequence[tuple[str, float]]


def named_numbers(option: str, given: Iterable[str]) -> list[tuple[str, float]]:
    """(name, number) of texts NAME=NUMBER; BadParameter for others."""
    found = []
    for text in given:
        name, equals, value = text.rpartition("=")
        try:
            number = float(value)
        except ValueError:
            number = np.nan
        if not equals or not name or not np.isfinite(number):
            more = "; --reserve-torque [N m] and --reserve-force [N] set all others" if option == "--reserve" else ""
            raise click.BadParameter(f"{option} is NAME=NUMBER, not {text!r}{more}")
        found.append((name, number))
    return found


def reserves_named(
    model: Model, q: Array, strengths: Named, weights: Named, defaults: tuple[float, float]
) -> list[Reserve | ReserveActuator]:
    """A reserve on every free velocity at poses q (t, nq). Its strength is the last one named for it, or the default
    for torques [N m] or forces [N]. Of a ball joint one of whose angles in the file is named, all of them are on
    angles.

    ValueError for a name or pattern that fits no velocity, coordinate or angle, or only such as locks, couplers or
    constraints drive.
    """
    rows = _rows(model, q, [name for name, _ in (*strengths, *weights)])
    known = [name for row in rows for name in row[:2]]
    for pattern, _ in (*strengths, *weights):
        if not any(fnmatchcase(name, pattern) for name in known):
            indices_of("free coordinate or velocity", [pattern], known)
    return [_reserve(model, row, strengths, weights, defaults) for row in rows]


def _rows(model: Model, q: Array, patterns: Sequence[str]) -> list[tuple[str, str, str]]:
    """What every reserve is on, a velocity or a coordinate, its other name, and its unit."""
    system, free = model.system, free_velocities(model, q[:1])[0]
    named = {ball.body: ball.angles.names for ball in balls(system)}
    rows: list[tuple[str, str, str]] = []
    for i, (body, iu) in enumerate(zip(system.bodies, system.u_slices, strict=True)):
        own, coordinates = system.velocity_names[iu], body.names_of_coordinates
        angles = named.get(i, ())
        file = (*(coordinates[:3] if isinstance(body.joint, FloatingJoint) else ()), *angles) if angles else ()
        if any(fnmatchcase(name, pattern) for name in file for pattern in patterns):
            rows += [(name, name, "N m" if name in angles else "N") for name in file]
            continue
        others = coordinates if len(coordinates) == len(own) else own
        units = body.joint.facts.force_units
        rows += [row for row in zip(own, others, units, strict=True) if row[0] in free]
    return rows


def _reserve(
    model: Model, row: tuple[str, str, str], strengths: Named, weights: Named, defaults: tuple[float, float]
) -> Reserve | ReserveActuator:
    name, _, unit = row
    strength = _last(strengths, row, defaults[0] if unit == "N m" else defaults[1])
    weight = _last(weights, row, 1.0)
    if name in model.system.velocity_names:
        return Reserve(name, strength, weight)
    return ReserveActuator(CoordinateActuator(name, name, optimal_force=strength), weight)


def _last(given: Named, row: tuple[str, str, str], default: float) -> float:
    fitting = [number for pattern, number in given if any(fnmatchcase(name, pattern) for name in row[:2])]
    return fitting[-1] if fitting else default


def rule_of(model: Model, text: str, name: str = "rim") -> StabilityRule:
    """The stability rule that a text describes.

    JOINT=HEAD,CENTRE,RIM names markers, and `name` one of `SocketMarkers.rules`. JOINT=X,Y,Z,DEGREES is a cone.
    BadParameter for other texts.
    """
    joint, _, rest = text.partition("=")
    parts = rest.split(",")
    if joint and len(parts) == 3:
        head, centre, rim = parts
        return SocketMarkers.of(model, joint, head, centre, rim).rules(joint)[name]
    if joint and len(parts) == 4:
        try:
            x, y, z, angle = map(float, parts)
        except ValueError:
            pass
        else:
            return JointCone(joint, (x, y, z), float(np.radians(angle)))
    raise click.BadParameter(f"--cone is JOINT=HEAD,CENTRE,RIM or JOINT=X,Y,Z,DEGREES, not {text!r}")


MARKER_FILES = (".trc", ".c3d")
MAX_RMS_MM, MAX_ERROR_MM = 20.0, 40.0


def fit_markers(
    model: Model, path: Path, weights: tuple[str, ...], axes: str | None, interval: tuple[float, float],
    constraint_weight: float = np.inf,
) -> FittedMotion:  # fmt: skip
    """The motion that fits a file of markers from the first to the last time [s] of an interval; weights: 'NAME=W'."""
    seen = markers_between(path, axes, interval)
    fit = inverse_kinematics(model, seen, named_weights(weights), constraint_weight=constraint_weight)
    click.echo("\n".join([summary_of(fit), *fit_remarks(fit)]))
    open_ = fit.undetermined()
    if open_:
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


def markers_between(path: Path, axes: str | None, interval: tuple[float, float]) -> Markers:
    """The markers of a file from the first to the last time [s]; BadParameter for no frame."""
    start, end = interval
    seen = load_markers(path, axes).between(start, end)
    if not len(seen.time):
        raise click.BadParameter(f"no frame of {path} lies from {start:g} to {end:g} s")
    return seen


def named_weights(weights: tuple[str, ...]) -> dict[str, float]:
    """The numbers of texts 'NAME=W'."""
    return dict(map(_weight, weights))


def _weight(text: str) -> tuple[str, float]:
    name, _, value = text.rpartition("=")
    try:
        return name, float(value)
    except ValueError:
        raise click.BadParameter(f"a marker's weight is NAME=W with a number W, not {text!r}") from None
