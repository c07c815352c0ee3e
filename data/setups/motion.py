"""Setups of OpenSim's tools for motions: inverse kinematics and dynamics, sensors, and forward simulations."""

import math
from pathlib import Path

from myoquat.core.records import dataclass
from myoquat.data.setups.analyses import (
    CONTROLLER,
    Analysis,
    analyses_of,
    controllers_of,
    controls_of,
    described,
    force_sets,
)
from myoquat.data.setups.control import Task, read_tasks
from myoquat.data.setups.document import NOTHING, SetupDocument
from myoquat.data.xml import Element, boolean, complain, number, numbers, positive, text

__all__ = [
    "ForwardSetup",
    "InverseDynamicsSetup",
    "InverseKinematicsSetup",
    "SensorPlacerSetup",
    "SensorTrackingSetup",
    "constraint_weight",
    "read_forward",
    "read_inverse_dynamics",
    "read_inverse_kinematics",
    "read_sensor_placer",
    "read_sensor_tracking",
]


# ---- InverseKinematicsTool: a model, markers, tasks, and what is written ------------------------------------------


@dataclass(frozen=True)
class InverseKinematicsSetup:
    """Files, tasks and times of an InverseKinematicsTool; errors and locations: whether these tables are written, into
    the folder `results`; constraint_weight: infinite where constraints hold."""

    name: str
    path: Path
    model: Path
    markers: Path
    coordinates: Path | None
    tasks: tuple[Task, ...]
    times: tuple[float, float]
    motion: Path | None
    results: Path
    errors: bool
    locations: bool
    constraint_weight: float = math.inf


def constraint_weight(root: Element) -> float:
    """The <constraint_weight> of a tool, infinite if it says nothing."""
    if text(root, "constraint_weight", "inf").lower() in ("", "inf", "infinity", "+inf"):
        return math.inf
    weight = number(root, "constraint_weight")
    if weight < 0:
        complain(root.find("constraint_weight"), f"<constraint_weight> must not be negative, not {weight:g}")
    return weight


def read_inverse_kinematics(document: SetupDocument) -> InverseKinematicsSetup:
    """The setup of an <InverseKinematicsTool>."""
    root = document.root
    model, markers = document.model_file(root), document.needed_file(root, "marker_file")
    return InverseKinematicsSetup(
        document.name,
        document.path,
        model,
        markers,
        document.file(root, "coordinate_file"),
        read_tasks(document, root),
        document.times(root),
        document.output(root, "output_motion_file"),
        document.results,
        boolean(root, "report_errors", True),
        boolean(root, "report_marker_locations"),
        constraint_weight(root),
    )


# ---- InverseDynamicsTool: a model, a motion, loads, and what is written -------------------------------------------


@dataclass(frozen=True)
class InverseDynamicsSetup:
    """Files, times and the cutoff [Hz] of an InverseDynamicsTool; `excluded` are forces that are left out.

    `joints`: whose equivalent forces on bodies are written into `body_forces`, "all" for every joint.
    """

    name: str
    path: Path
    model: Path
    coordinates: Path
    loads: Path | None
    excluded: tuple[str, ...]
    cutoff: float | None
    times: tuple[float, float]
    output: Path
    joints: tuple[str, ...]
    body_forces: Path


def read_inverse_dynamics(document: SetupDocument) -> InverseDynamicsSetup:
    """The setup of an <InverseDynamicsTool>."""
    root = document.root
    model, motion = document.model_file(root), document.needed_file(root, "coordinates_file")
    forces, body_forces = (
        document.output(root, f"output_{tag}_file", document.results) or document.results / default
        for tag, default in (("gen_force", "inverse_dynamics"), ("body_forces", "body_forces_at_joints"))
    )
    return InverseDynamicsSetup(
        document.name,
        document.path,
        model,
        motion,
        document.file(root, "external_loads_file"),
        tuple(text(root, "forces_to_exclude", "").split()),
        document.cutoff(),
        document.times(root),
        _table(forces),
        tuple(text(root, "joints_to_report_body_forces", "").split()),
        _table(body_forces),
    )


def _table(path: Path) -> Path:
    return path if path.suffix in (".sto", ".mot") else path.with_name(f"{path.name}.sto")


# ---- IMUPlacer and IMUInverseKinematicsTool: a model, orientations of sensors, and what is written ----------------


Angles = tuple[float, ...]


@dataclass(frozen=True)
class SensorPlacerSetup:
    """An IMUPlacer.

    turn           angles [rad] about x, y and z of the ground, one after the other, that take the sensors' ground to
                   the model's
    base, heading  the sensor whose heading is that of its body, and its axis
    """

    name: str
    path: Path
    model: Path
    orientations: Path
    turn: Angles
    base: str | None
    heading: str
    output: Path | None


@dataclass(frozen=True)
class SensorTrackingSetup:
    """An IMUInverseKinematicsTool, with weights by sensor; errors: whether their table is written;
    constraint_weight: as of InverseKinematicsTool."""

    name: str
    path: Path
    model: Path
    orientations: Path
    turn: Angles
    weights: dict[str, float]
    times: tuple[float, float]
    errors: bool
    motion: Path | None
    results: Path
    constraint_weight: float


def read_sensor_placer(document: SetupDocument) -> SensorPlacerSetup:
    """The setup of an <IMUPlacer>."""
    root = document.root
    model = document.model_file(root)
    orientations = document.needed_file(root, "orientation_file_for_calibration")
    base, heading = text(root, "base_imu_label", ""), text(root, "base_heading_axis", "")
    if base and heading.lstrip("-") not in ("x", "y", "z"):
        given = root.find("base_heading_axis")
        complain(root if given is None else given, f"<base_heading_axis> is x, -x, y, -y, z or -z, not {heading!r}")
    output = document.output(root, "output_model_file")
    return SensorPlacerSetup(document.name, document.path, model, orientations, _turn(document),
                             base if base not in NOTHING else None, heading, output)  # fmt: skip


def read_sensor_tracking(document: SetupDocument) -> SensorTrackingSetup:
    """The setup of an <IMUInverseKinematicsTool>."""
    root = document.root
    model = document.model_file(root)
    orientations = document.needed_file(root, "orientations_file")
    if document.file(root, "marker_file") is not None:
        complain(root.find("marker_file"), "<marker_file> must be empty: OpenSim tracks sensors without markers")
    entries, _ = document.set_of(root, "OrientationWeightSet")
    weights = {entry.get("name") or "": number(entry, "weight", 1.0) for entry in entries}
    for entry in entries:
        if weights[entry.get("name") or ""] < 0:
            complain(entry, "a weight must not be negative")
    return SensorTrackingSetup(
        document.name,
        document.path,
        model,
        orientations,
        _turn(document),
        weights,
        document.times(root),
        boolean(root, "report_errors", True),
        document.output(root, "output_motion_file", document.results),
        document.results,
        constraint_weight(root),
    )


def _turn(document: SetupDocument) -> Angles:
    return numbers(document.root, "sensor_to_opensim_rotations", 3, (0.0, 0.0, 0.0))


# ---- ForwardTool: a model that moves by itself, under controls and loads ------------------------------------------


PRESCRIBED, CORRECTION = "PrescribedController", "CorrectionController"
KNOWN = (CONTROLLER, PRESCRIBED, CORRECTION)


@dataclass(frozen=True)
class ForwardSetup:
    """Files, times, analyses and the folder of results of a ForwardTool; the bound on the error of a step, and the
    longest step [s].

    `equilibrium`: whether the muscles' own states start in balance. `controls`: files of controls; `prescribed`:
    whether controllers with functions of their own stand in `root`, the element of the tool. `corrections`: stiffness
    and damping of controllers that hold the model to the states of the file. `left_out`: what is not known.
    """

    name: str
    path: Path
    model: Path
    force_sets: tuple[Path, ...]
    states: Path | None
    loads: Path | None
    times: tuple[float, float]
    tolerance: float
    longest_step: float
    equilibrium: bool
    analyses: tuple[Analysis, ...]
    left_out: tuple[str, ...]
    controls: tuple[Path, ...]
    prescribed: bool
    corrections: tuple[tuple[float, float], ...]
    root: Element
    results: Path


def read_forward(document: SetupDocument) -> ForwardSetup:
    """The setup of a <ForwardTool>; ModelError for times that do not come one after the other."""
    root = document.root
    first, last = number(root, "initial_time", 0.0), number(root, "final_time", 1.0)
    if not last > first:
        complain(root.find("final_time"), f"<final_time> {last:g} must be later than <initial_time> {first:g}")
    analyses, unknown = analyses_of(document, root)
    controllers = controllers_of(document, root)
    states = document.file(root, "states_file")
    corrections = [element for element in controllers if element.tag == CORRECTION]
    if corrections and states is None:
        complain(corrections[0], f"<{CORRECTION}> needs <states_file>, the states to which it holds the model")
    return ForwardSetup(
        document.name,
        document.path,
        document.model_file(root),
        force_sets(document, root),
        states,
        document.file(root, "external_loads_file"),
        (first, last),
        positive(root, "integrator_error_tolerance", 1e-5),
        positive(root, "maximum_integrator_step_size", 1.0),
        boolean(root, "solve_for_equilibrium_for_auxiliary_states"),
        analyses,
        described([*unknown, *(element for element in controllers if element.tag not in KNOWN)]),
        controls_of(document, root),
        any(element.tag == PRESCRIBED for element in controllers),
        tuple((number(element, "kp", 16.0), number(element, "kv", 8.0)) for element in corrections),
        root,
        document.results,
    )
