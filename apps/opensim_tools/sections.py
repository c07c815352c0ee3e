"""Sections of reports: errors of markers, sizes and masses before and after scaling, a model with its markers."""

import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from myoquat.analysis.motion import FittedMotion, inverse_kinematics
from myoquat.analysis.motion.scaling import mean_pose
from myoquat.analysis.recruitment import Redundancy
from myoquat.analysis.recruitment.convex import Status
from myoquat.apps.report import Drawn, Numbers, Section
from myoquat.core import Array, time_table
from myoquat.data.motions import Markers
from myoquat.joints.evaluation import SystemLike, system_of
from myoquat.muscle import Model

SIZE = 900, 700  # pixels of a picture
FULL_ACTIVATION = 0.99
STANDARD_GRAVITY = 9.80665  # [m/s^2]
JUMP = 0.2  # of an activation between frames


def angle_units(model: SystemLike) -> dict[str, str]:
    """The units of the columns of `Motion.angles` in degrees: coordinates, their speeds, and velocities of joints."""
    system = system_of(model)
    units = {name: unit.replace("rad", "deg") for name, unit in system.coordinate_units.items()}
    velocities = {name: unit.replace("rad", "deg") for name, unit in system.velocity_units.items()}
    return units | {f"{name}_u": f"{unit}/s" for name, unit in units.items()} | velocities


def _worst_first(title: str, columns: Mapping[str, Any], by: str, above: pd.DataFrame | None = None) -> Numbers:
    """A table of columns by name, its rows in the order of one of these, the greatest first, below some others."""
    table = pd.DataFrame(columns).sort_values(by, ascending=False)
    return Numbers(title, table if above is None else pd.concat([above, table]))


def marker_errors(fit: FittedMotion) -> Numbers:
    """How far markers are from where they were seen, the worst first."""
    error = pd.DataFrame(1e3 * fit.marker_error, columns=list(fit.marker_names))

    def columns(error: pd.DataFrame, frames: Any) -> dict[str, Any]:
        return {"RMS [mm]": np.sqrt((error**2).mean()), "greatest [mm]": error.max(), "frames": frames}

    whole = pd.DataFrame(columns(pd.DataFrame({"all markers": error.to_numpy().ravel()}), len(fit.time)))
    return _worst_first("Errors of markers, the worst first", columns(error, error.count()), "RMS [mm]", whole)


def fit_sections(fit: FittedMotion) -> list[Section | Numbers]:
    """How well a motion fits markers: each marker over all frames, and all markers over the time."""
    worst = time_table(fit.time, 1e3 * fit.marker_error, fit.marker_names).max(axis=1)
    over_time = pd.DataFrame({"RMS of all markers": 1e3 * fit.marker_rms, "worst marker": worst})
    return [marker_errors(fit), Section("Errors of markers over time", over_time, "mm", title="distances of markers")]


def load_sections(
    loads: pd.DataFrame, found: Redundancy | None, tensions: pd.DataFrame | None
) -> list[Section | Numbers]:
    """Sections of a report: loads of joints, activations and tensions of muscles, which are fully active or jump, and
    reserves, the greatest first.

    Each joint has an axis for the force and one for the moment.
    """
    sections: list[Section | Numbers] = [Section("Loads of joints", loads, axes=_load_axes(loads))]
    if found is not None:
        activations = time_table(found.motion.time, found.activation, found.model.muscle_names)
        sections.append(Section("Activations of muscles", activations, "1", title="activations"))
        sections += _remarkable(activations)
    if tensions is not None:
        sections.append(Section("Tensions of muscles", tensions, "N", title="tensions"))
    if found is not None and found.reserves:
        sections.append(_reserves(found))
    return sections


def size_section(loads: pd.DataFrame, mass: float) -> Numbers:
    """|F| of every joint [N], and in percent of the weight of a mass, the greatest first."""
    sizes = {
        title.removesuffix(": force"): np.linalg.norm(loads[[*columns]].to_numpy(dtype=float), axis=-1)
        for title, columns in _load_axes(loads).items()
        if title.endswith(": force")
    }
    known = pd.DataFrame(sizes, loads.index).dropna(axis="columns", how="all")
    columns = {"greatest |F| [N]": known.max(), "at [s]": known.idxmax(), "mean |F| [N]": known.mean()}
    if mass > 0:
        for name in ("greatest", "mean"):
            percent = 100 * columns[f"{name} |F| [N]"] / (STANDARD_GRAVITY * mass)
            columns[f"{name} [% of the weight of {mass:.4g} kg]"] = percent
    return _worst_first("Sizes of joint forces, the greatest first", columns, "greatest |F| [N]")


def _remarkable(activations: pd.DataFrame) -> list[Numbers]:
    """Muscles that are fully active, and the greatest jumps of activations between frames."""
    sections, full = [], (activations >= FULL_ACTIVATION).sum()
    if (full := full[full > 0]).size:
        columns = {"frames": full, "share [%]": 100 * full / len(activations)}
        sections.append(_worst_first("Muscles that are fully active", columns, "frames"))
    jumps = activations.diff().abs().shift(-1)  # from each frame to the next
    if (jumps := jumps.loc[:, jumps.max() >= JUMP]).size:
        columns = {"greatest jump": jumps.max(), "from [s]": jumps.idxmax(), "frames with jumps": (jumps >= JUMP).sum()}
        title = f"Activations that jump by {JUMP:g} or more from one frame to the next"
        sections.append(_worst_first(title, columns, "greatest jump"))
    return sections


def outcomes(found: Redundancy) -> list[str]:
    """The meaning of each status of frames that are not solved, and why they are infeasible, one line each."""
    met = [
        f"{status.name.lower()}: {status.sentence}"
        for status in Status
        if status is not Status.SOLVED and (found.status == status).any()
    ]
    return [*met, *found.reasons()]


def _load_axes(loads: pd.DataFrame) -> dict[str, dict[str, str]]:
    """The columns of forces, then of moments, by joint, under the names of their axes."""
    axes: dict[str, dict[str, str]] = {}
    for quantity in ("force", "moment"):
        for column in map(str, loads.columns):
            joint, _, ending = column.rpartition("_")
            if ending.startswith(quantity[0]):
                axes.setdefault(f"{joint}: {quantity}", {})[column] = ending[1:]
    return axes


def _reserves(found: Redundancy) -> Numbers:
    """How much every reserve gives [N or N m]."""
    given, system = np.abs(found.reserve), found.model.system
    units = {name: "N" if unit == "m" else "N m" for name, unit in system.coordinate_units.items()}
    for body in system.bodies:  # of velocities, which may have the name of a coordinate
        units |= dict(zip(body.names_of_velocities, body.joint.facts.force_units, strict=True))
    drives = [getattr(getattr(reserve, "actuator", None), "coordinate", reserve.name) for reserve in found.reserves]
    columns = {
        "unit": pd.Series([units.get(name, "") for name in drives], [reserve.name for reserve in found.reserves]),
        "RMS": np.sqrt(np.nanmean(given**2, axis=0)),
        "greatest": np.nanmax(given, axis=0),
    }
    return _worst_first("Reserves, the greatest first", columns, "greatest")


def scaling_sections(generic: Model, person: Model, static: Markers | None) -> list[Numbers | Drawn]:
    """Sizes and masses before and after, how well markers of a static trial fit, and the model with its markers."""
    sections: list[Numbers | Drawn] = [Numbers("Bodies", _bodies(generic, person))]
    if static is None:
        return sections
    own = {marker.name for marker in person.markers}
    static = static.select([name for name in static.names if name in own])
    if not static.names:
        return sections
    fits = [inverse_kinematics(model, mean_pose(static)) for model in (generic, person)]
    columns = {when: 1e3 * pd.Series(fit.marker_error[0], fit.marker_names)
               for when, fit in zip(("before [mm]", "after [mm]"), fits, strict=True)}  # fmt: skip
    whole = pd.DataFrame([[1e3 * float(fit.marker_rms[0]) for fit in fits]], ["all, RMS"], [*columns])
    title = "Errors of markers of the static trial, before and after scaling"
    sections.append(_worst_first(title, columns, "after [mm]", whole))
    # the model in its static pose, its markers in pink
    viewer = importlib.import_module("myoquat.apps.viewer.films")
    geometry = () if generic.file is None else (generic.file.parent,)
    scene, films, _ = viewer.opened(person, [fits[1]], (), None, geometry, None)
    painter = viewer.Painter(scene, *SIZE, films[0].q, person.name, markers=True)
    pixels = painter.picture(viewer.Reels(scene, films).look(float(films[0].time[0]), "activation"))
    words = "The scaled model in the pose of the static trial, with its markers."
    sections.append(Drawn("Model and markers", pixels, words))
    return sections


def _bodies(generic: Model, person: Model) -> pd.DataFrame:
    """Masses, and the factor along each axis, as centres of mass, attachments and markers have moved."""
    rows = {}
    for body, sized in zip(generic.system.bodies, person.system.bodies, strict=True):
        before, after = (_attachments(model, body.name) for model in (generic, person))
        rows[body.name] = (body.mass, sized.mass, *_factors(before, after))
    columns = ["mass before [kg]", "mass after [kg]", "factor x", "factor y", "factor z"]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    table.loc["sum"] = [table.iloc[:, 0].sum(), table.iloc[:, 1].sum(), np.nan, np.nan, np.nan]
    return table


def _attachments(model: Model, body: str) -> Array:
    """(n, 3) [m] the centre of mass, the joints and the attachments of a body, in its frame."""
    centre = model.system.bodies[model.system.body_names.index(body)].center_of_mass
    points = [point.position for muscle in model.muscles for point in muscle.path.points if point.body == body]
    joints = [other.position for other in model.system.bodies if other.parent == body]
    return np.array([centre, *joints, *points], dtype=float).reshape(-1, 3)


def _factors(before: Array, after: Array) -> Array:
    """(3,) factors along the axes from points before to points after, by least squares; NaN where all are zero."""
    if before.shape != after.shape:
        return np.full(3, np.nan)
    square = (before**2).sum(axis=0)
    return np.divide((before * after).sum(axis=0), square, out=np.full(3, np.nan), where=square > 1e-12)
