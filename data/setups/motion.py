"""Setups of OpenSim's tools for motions: inverse kinematics and dynamics, sensors, and forward simulations."""

import math
from pathlib import Path

from myoquat.core import frozen
from myoquat.data.xml import Element, boolean, complain, number, numbers, positive, text

from .analyses import CONTROLLER, Analysis, analyses_of, controllers_of, controls_of, force_set_files, left_out
from .control import Task, read_tasks
from .document import Setup, SetupDocument, cutoff, entry, named, results, value, words

# ---- InverseKinematicsTool: a model, markers, tasks, and what is written ------------------------------------------


def weight_of_constraints(root: Element) -> float:
    """The <constraint_weight> of a tool, infinite if it says nothing."""
    if text(root, "constraint_weight", "inf").lower() in ("", "inf", "infinity", "+inf"):
        return math.inf
    weight = number(root, "constraint_weight")
    if weight < 0:
        complain(root.find("constraint_weight"), f"<constraint_weight> must not be negative, not {weight:g}")
    return weight


@frozen
class TrackingSetup(Setup):
    """Times of a tool that tracks a recording; errors: whether their table is written, into the folder `results`;
    constraint_weight: infinite where constraints hold."""

    times: tuple[float, float] = entry(SetupDocument.times)
    results: Path = entry(results)
    errors: bool = value(boolean, "report_errors", True)
    constraint_weight: float = value(weight_of_constraints)


@frozen
class InverseKinematicsSetup(TrackingSetup):
    """Files and tasks of an InverseKinematicsTool; locations: whether their table is written."""

    markers: Path = entry(SetupDocument.needed_file, "marker_file")
    coordinates: Path | None = entry(SetupDocument.file, "coordinate_file")
    tasks: tuple[Task, ...] = entry(read_tasks)
    motion: Path | None = entry(SetupDocument.output, "output_motion_file")
    locations: bool = value(boolean, "report_marker_locations")


# ---- InverseDynamicsTool: a model, a motion, loads, and what is written -------------------------------------------


def _table(document: SetupDocument, root: Element, tag: str, default: str) -> Path:
    """The file of a table in the folder of results, .sto unless it says .mot."""
    path = document.output(root, tag, document.results) or document.results / default
    return path if path.suffix in (".sto", ".mot") else path.with_name(f"{path.name}.sto")


@frozen
class InverseDynamicsSetup(Setup):
    """Files, times and the cutoff [Hz] of an InverseDynamicsTool; `excluded` are forces that are left out.

    `joints`: whose equivalent forces on bodies are written into `body_forces`, "all" for every joint.
    """

    coordinates: Path = entry(SetupDocument.needed_file, "coordinates_file")
    loads: Path | None = entry(SetupDocument.file, "external_loads_file")
    excluded: tuple[str, ...] = value(words, "forces_to_exclude")
    cutoff: float | None = value(cutoff, "lowpass_cutoff_frequency_for_coordinates")
    times: tuple[float, float] = entry(SetupDocument.times)
    output: Path = entry(_table, "output_gen_force_file", "inverse_dynamics")
    joints: tuple[str, ...] = value(words, "joints_to_report_body_forces")
    body_forces: Path = entry(_table, "output_body_forces_file", "body_forces_at_joints")


# ---- IMUPlacer and IMUInverseKinematicsTool: a model, orientations of sensors, and what is written ----------------


Angles = tuple[float, ...]
ROTATIONS = "sensor_to_opensim_rotations", 3, (0.0, 0.0, 0.0)


def _heading(root: Element) -> str:
    heading = text(root, "base_heading_axis", "")
    if text(root, "base_imu_label", "") and heading.lstrip("-") not in ("x", "y", "z"):
        given = root.find("base_heading_axis")
        complain(root if given is None else given, f"<base_heading_axis> is x, -x, y, -y, z or -z, not {heading!r}")
    return heading


@frozen
class SensorPlacerSetup(Setup):
    """An IMUPlacer.

    turn           angles [rad] about x, y and z of the ground, one after the other, that take the sensors' ground to
                   the model's
    base, heading  the sensor whose heading is that of its body, and its axis
    """

    orientations: Path = entry(SetupDocument.needed_file, "orientation_file_for_calibration")
    turn: Angles = value(numbers, *ROTATIONS)
    base: str | None = value(named, "base_imu_label")
    heading: str = value(_heading)
    output: Path | None = entry(SetupDocument.output, "output_model_file")


def _sensors(document: SetupDocument, root: Element) -> Path:
    if document.file(root, "marker_file") is not None:
        complain(root.find("marker_file"), "<marker_file> must be empty: OpenSim tracks sensors without markers")
    return document.needed_file(root, "orientations_file")


def _weights(document: SetupDocument, root: Element) -> dict[str, float]:
    found = {}
    for element in document.set_of(root, "OrientationWeightSet")[0]:
        found[element.get("name") or ""] = weight = number(element, "weight", 1.0)
        if weight < 0:
            complain(element, "a weight must not be negative")
    return found


@frozen
class SensorTrackingSetup(TrackingSetup):
    """An IMUInverseKinematicsTool, with weights by sensor."""

    orientations: Path = entry(_sensors)
    turn: Angles = value(numbers, *ROTATIONS)
    weights: dict[str, float] = entry(_weights)
    motion: Path | None = entry(lambda document, root: document.output(root, "output_motion_file", document.results))


# ---- ForwardTool: a model that moves by itself, under controls and loads ------------------------------------------


PRESCRIBED, CORRECTION = "PrescribedController", "CorrectionController"


def _span(root: Element) -> tuple[float, float]:
    first, last = number(root, "initial_time", 0.0), number(root, "final_time", 1.0)
    if not last > first:
        complain(root.find("final_time"), f"<final_time> {last:g} must be later than <initial_time> {first:g}")
    return first, last


def _corrections(document: SetupDocument, root: Element) -> tuple[tuple[float, float], ...]:
    found = [element for element in controllers_of(document, root) if element.tag == CORRECTION]
    if found and document.file(root, "states_file") is None:
        complain(found[0], f"<{CORRECTION}> needs <states_file>, the states to which it holds the model")
    return tuple((number(element, "kp", 16.0), number(element, "kv", 8.0)) for element in found)


@frozen
class ForwardSetup(Setup):
    """Files, times, analyses and the folder of results of a ForwardTool; the bound on the error of a step, and the
    longest step [s].

    `equilibrium`: whether the muscles' own states start in balance. `controls`: files of controls; `prescribed`:
    whether controllers with functions of their own stand in `root`, the element of the tool. `corrections`: stiffness
    and damping of controllers that hold the model to the states of the file. `left_out`: what is not known. ModelError
    for times that do not come one after the other.
    """

    force_sets: tuple[Path, ...] = entry(force_set_files)
    states: Path | None = entry(SetupDocument.file, "states_file")
    loads: Path | None = entry(SetupDocument.file, "external_loads_file")
    times: tuple[float, float] = value(_span)
    tolerance: float = value(positive, "integrator_error_tolerance", 1e-5)
    longest_step: float = value(positive, "maximum_integrator_step_size", 1.0)
    equilibrium: bool = value(boolean, "solve_for_equilibrium_for_auxiliary_states")
    analyses: tuple[Analysis, ...] = entry(lambda document, root: analyses_of(document, root)[0])
    left_out: tuple[str, ...] = entry(left_out, CONTROLLER, PRESCRIBED, CORRECTION)
    controls: tuple[Path, ...] = entry(controls_of)
    prescribed: bool = entry(lambda document, root: any(e.tag == PRESCRIBED for e in controllers_of(document, root)))
    corrections: tuple[tuple[float, float], ...] = entry(_corrections)
    root: Element = value(lambda root: root)
    results: Path = entry(results)
