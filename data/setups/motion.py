"""Setups of OpenSim's tools for motions.

The tools are those of inverse kinematics and dynamics, sensors, computed muscle control (CMCTool), residual reduction
(RRATool), forward simulations, and AnalyzeTool.
"""

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from lxml import etree

from myoquat.core import PATH, Array, check_types, frozen, pandas as pd, warn_user
from myoquat.data.motions import load_table
from myoquat.data.xml import (
    Element,
    add,
    boolean,
    complain,
    document_text,
    last_name,
    number,
    numbers,
    parse_opensim,
    positive,
    text,
)
from myoquat.joints import ModelError
from myoquat.joints.errors import errors_in

from .analyses import ANALYSES, ActuationSetup, Analysis, KinematicsSetup
from .document import (
    MEMBERS,
    NOTHING,
    Setup,
    SetupDocument,
    cutoff,
    entry,
    named,
    open_setup,
    read_record,
    set_in,
    value,
    words,
)

# ---- What tools share: times, analyses, controllers and forces ----------------------------------------------------


CONTROLLER = "ControlSetController"
DEFAULT_TIMES = {"initial_time": 0.0, "final_time": 1.0}  # of OpenSim's tools


def times_of(document: SetupDocument, root: Element) -> tuple[float, float]:
    """The first and the last time of a tool, with a warning where it names none, and has OpenSim's."""
    if missing := [f"<{tag}>, {time:g} s" for tag, time in DEFAULT_TIMES.items() if root.find(tag) is None]:
        warn_user(f"{document.path}: OpenSim's default where there is no {' and '.join(missing)}")
    first, last = (number(root, tag, time, infinite=True) for tag, time in DEFAULT_TIMES.items())
    return first, last


def analyses_of(document: SetupDocument, root: Element) -> tuple[tuple[Analysis, ...], list[Element]]:
    """The analyses that are on, and the elements of those that are not known here."""
    on = [element for element in document.set_of(root, "AnalysisSet")[0] if boolean(element, "on", True)]
    known = tuple(read_record(ANALYSES[element.tag], document, element) for element in on if element.tag in ANALYSES)
    return known, [element for element in on if element.tag not in ANALYSES]


def force_set_files(document: SetupDocument, root: Element, replacing: bool = False) -> tuple[Path, ...]:
    """The files that <force_set_files> names, beside the model's own forces, or in place of them for a tool that is
    `replacing` these; ModelError where the setup says otherwise."""
    if boolean(root, "replace_force_set") != replacing:
        wanted = "true: residuals are those without muscles" if replacing else "false: the model keeps its forces"
        complain(root.find("replace_force_set"), f"<replace_force_set> must be {wanted}")
    return document.named_files(root, "force_set_files")


def controllers_of(document: SetupDocument, root: Element) -> list[Element]:
    """Those that are on. OpenSim 4 no longer knows <enable_controller>, and runs a controller that it turns off."""
    found, _ = document.set_of(root, "ControllerSet")
    return [element for element in found if boolean(element, "enabled", not boolean(element, "isDisabled"))]


def controls_of(document: SetupDocument, root: Element) -> tuple[Path, ...]:
    """The files of controls of the controllers that are on."""
    files = [document.file(element, "controls_file") for element in controllers_of(document, root)
             if element.tag == CONTROLLER]  # fmt: skip
    return tuple(path for path in files if path is not None)


def left_out(document: SetupDocument, root: Element, *controllers: str) -> tuple[str, ...]:
    """Analyses and controllers that are on, and of none of the types that are known."""
    others = (element for element in controllers_of(document, root) if element.tag not in controllers)
    return described([*analyses_of(document, root)[1], *others])


def described(elements: list[Element]) -> tuple[str, ...]:
    """Elements by their tags and names."""
    return tuple(f"<{e.tag}> {e.get('name') or ''}".strip() for e in elements)


# ---- AnalyzeTool: a model, a motion, loads, and analyses of it ----------------------------------------------------


def _coordinates(document: SetupDocument, root: Element) -> Path | None:
    found = document.file(root, "coordinates_file")
    if (found is None) == (document.file(root, "states_file") is None):
        complain(root, "<AnalyzeTool> needs <coordinates_file> or <states_file>, one of them")
    return found


def _analyses(document: SetupDocument, root: Element) -> tuple[Analysis, ...]:
    known, unknown = analyses_of(document, root)
    if not known and not unknown:
        complain(root, "no analysis is on")
    if not known:
        complain(unknown[0], f"the analysis <{unknown[0].tag}> is not known here; known: {', '.join(ANALYSES)}")
    return known


@frozen
class DrivenSetup(Setup):
    """Files of a motion under forces: its states, loads, actuators that the model gets, and their controls."""

    states: Path | None = entry(SetupDocument.file, "states_file")
    loads: Path | None = entry(SetupDocument.file, "external_loads_file")
    force_sets: tuple[Path, ...] = entry(force_set_files)
    controls: tuple[Path, ...] = entry(controls_of)


@frozen
class AnalyzeSetup(DrivenSetup):
    """Files, times and the cutoff [Hz] of an AnalyzeTool, and the analyses that are known.

    `left_out`: analyses and controllers that are not known. ModelError where no analysis that is on is known.
    """

    coordinates: Path | None = entry(_coordinates)
    speeds: Path | None = entry(SetupDocument.file, "speeds_file")
    cutoff: float | None = value(cutoff, "lowpass_cutoff_frequency_for_coordinates")
    times: tuple[float, float] = entry(times_of)
    analyses: tuple[Analysis, ...] = entry(_analyses)
    left_out: tuple[str, ...] = entry(left_out, CONTROLLER)


# ---- Tasks of inverse kinematics in a setup: weights of markers, and coordinates that are wanted ------------------


VALUES = ("default_value", "manual_value", "from_file")


@frozen
class Task:
    """The weight of a marker or a coordinate; `target` is "marker" or "coordinate". A coordinate also has the source of
    its wanted value, one of VALUES, and that value."""

    target: str
    name: str
    weight: float
    wanted: str = "default_value"
    value: float = 0.0


def read_tasks(document: SetupDocument, parent: Element) -> tuple[Task, ...]:
    """The tasks of <IKTaskSet> that apply; ModelError with file and line for others than of markers and coordinates."""
    return _tracked_in(*document.set_of(parent, "IKTaskSet"))


def _tracked_in(elements: list[Element], where: SetupDocument) -> tuple[Task, ...]:
    with errors_in(where.path):
        return tuple(_tracked(element) for element in elements if boolean(element, "apply", True))


def load_marker_weights(path: str | Path, names: Sequence[str]) -> dict[str, float]:
    """Weights of the markers `names` from OpenSim's IKTaskSet, in a file of its own or in a setup that holds one.

    They are those of tasks that apply; other markers have weight 0, as in OpenSim's tool. Tasks of markers that are not
    among `names`, such as those of a recording, are passed over with one warning; those of coordinates are none of
    markers. Raises ModelError with file and line for other tasks, and for a file without a set.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from myoquat.data import load_marker_weights
    >>> task = '<IKMarkerTask name="Heel"><apply>true</apply><weight>5</weight></IKMarkerTask>'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "tasks.xml"
    ...     written = path.write_text(f"<IKTaskSet><objects>{task}</objects></IKTaskSet>")
    ...     load_marker_weights(path, ["Heel", "Toe"])
    {'Heel': 5.0, 'Toe': 0.0}
    """
    check_types(path=(path, PATH))
    document = open_setup(Path(path))
    root = document.root
    if root.tag != "IKTaskSet" and root.find("IKTaskSet") is None:
        raise ModelError("there is no <IKTaskSet>", file=Path(path), line=root.sourceline)
    tasks = _tracked_in(root.findall(MEMBERS), document) if root.tag == "IKTaskSet" else read_tasks(document, root)
    known = {task.name: task.weight for task in tasks if task.target == "marker"}
    absent = [name for name in known if name not in names]
    if absent:
        warn_user(f"{path}: tasks of markers that are not there are passed over: {', '.join(absent)}")
    return {name: known.get(name, 0.0) for name in names}


def _tracked(element: Element) -> Task:
    targets = {"IKMarkerTask": "marker", "IKCoordinateTask": "coordinate"}
    name, weight = element.get("name") or "", number(element, "weight", 1.0)
    if element.tag not in targets or not name:
        complain(element, f"a task is <IKMarkerTask> or <IKCoordinateTask> with a name, not <{element.tag}> {name!r}")
    if weight < 0:
        complain(element.find("weight"), f"a weight must not be negative: {weight:g}")
    if targets[element.tag] == "marker":
        return Task("marker", name, weight)
    wanted = text(element, "value_type", "default_value")
    if wanted not in VALUES:
        complain(element.find("value_type"), f"<value_type> is one of {', '.join(VALUES)}, not {wanted!r}")
    return Task("coordinate", name, weight, wanted, number(element, "value", 0.0))


# ---- Controls over time, as OpenSim's tools write them: a ControlSet (.xml) or a table (.sto) ---------------------


ENDING = ".excitation"


@frozen(eq=False)
class Control:
    """Values (t,) at times (t,) [s]: straight lines between them or, in `steps`, each since the time before."""

    time: Array
    values: Array
    steps: bool = False

    def at(self, time: Array) -> Array:
        """(k,) the values at times (k,); those of the ends beyond."""
        if not self.steps:
            return np.interp(time, self.time, self.values)
        return self.values[np.minimum(np.searchsorted(self.time, time, side="right"), len(self.time) - 1)]


def read_controls(path: Path) -> dict[str, Control]:
    """The controls by name; ModelError with file and line for one that is filtered, and for paths of one name."""
    if path.suffix.lower() != ".xml":
        table = load_table(path)
        time = table.index.to_numpy(dtype=float)
        return _by_name(path, {str(name): Control(time, table[name].to_numpy(dtype=float)) for name in table})
    root = parse_opensim(path)
    holder = root if root.tag == "ControlSet" else root.find("ControlSet")
    if holder is None:
        raise ModelError("the file holds no <ControlSet>", file=path)
    with errors_in(path):
        return _by_name(path, {element.get("name") or "": _nodes(element) for element in holder.iterfind(MEMBERS)})


def control_set_text(table: "pd.DataFrame") -> str:
    """The document of a ControlSet: a control for each column over the index time [s], linear between its nodes."""
    root = etree.Element("OpenSimDocument", Version="40000")
    holder = add(add(root, "ControlSet", name="controls"), "objects")
    for name in table:
        control = add(holder, "ControlLinear", name=f"{name}{ENDING}")
        add(control, "use_steps", False)
        nodes = add(control, "x_nodes")
        for time, x in table[name].items():
            node = add(nodes, "ControlLinearNode")
            add(node, "t", time)
            add(node, "value", x)
    return document_text(root)


def _by_name(path: Path, controls: dict[str, Control]) -> dict[str, Control]:
    """Controls by the names of their actuators, of labels such as 'motor.excitation' and '/forceset/motor'."""
    found: dict[str, tuple[str, Control]] = {}
    for label, control in controls.items():
        name = last_name(label.removesuffix(ENDING))
        if name in found:
            raise ModelError(f"{found[name][0]!r} and {label!r} are both controls of {name!r}", file=path)
        found[name] = label, control
    return {name: control for name, (_, control) in found.items()}


def _nodes(element: Element) -> Control:
    if element.tag != "ControlLinear":
        complain(element, f"<{element.tag}> is no control that is known here; known: ControlLinear")
    if boolean(element, "filter_on"):
        complain(element.find("filter_on"), "<filter_on> must be false: controls are not filtered")
    nodes = element.findall("x_nodes/ControlLinearNode")
    pairs = np.array([[number(node, "t"), number(node, "value", 0.0)] for node in nodes] or [[0.0, 0.0]])
    return Control(pairs[:, 0], pairs[:, 1], boolean(element, "use_steps"))


# ---- CMCTool and RRATool: a motion, tasks that follow it, and analyses --------------------------------------------


CRITICAL_DAMPING_TOLERANCE = 1e-6  # relative: a gain kv that is nearer to 2 sqrt(kp) damps critically


def _tasks(document: SetupDocument, root: Element, number_of: Callable[[Element], float]) -> dict[str, float]:
    """The coordinates of the tasks that are on, each with a number of its task."""
    elements, where = set_in(document.needed_file(root, "task_set_file"), "CMC_TaskSet", "rdCMC_TaskSet")
    found: dict[str, float] = {}
    with errors_in(where.path):
        for element in elements:
            if boolean(element, "on", True) and _weighs(element):
                name = text(element, "coordinate", "")
                if element.tag not in ("CMC_Joint", "rdCMC_Joint") or not name:
                    complain(element, f"a task is <CMC_Joint> with a <coordinate>, not <{element.tag}>")
                value = number_of(element)
                if name in found:
                    complain(element, f"a second task for the coordinate {name!r}")
                found[name] = value
        if not found:
            complain(where.root, "no task is on, <active> and of a <weight> above 0")
    return found


def _bandwidth(element: Element) -> float:
    """[rad/s] sqrt(kp) of the feedback of a task."""
    kp, kv = (_gain(element, tag, default) for tag, default in (("kp", 1.0), ("kv", 0.5)))
    if not kp > 0 or abs(kv - 2 * np.sqrt(kp)) > CRITICAL_DAMPING_TOLERANCE * kv:
        complain(element.find("kv"), f"gains must damp critically, kv = 2 sqrt(kp); they are {kv:g} and {kp:g}")
    return float(np.sqrt(kp))


def _weighs(element: Element) -> bool:
    """Whether the first axis of a task, the only one of a coordinate, is active, which it is not by default, and has a
    weight."""
    active = (text(element, "active", "") or "false").split()[0]
    if active.lower() not in ("true", "false"):
        complain(element.find("active"), f"<active> is true or false for every axis, not {active!r}")
    return active.lower() == "true" and _weight(element) > 0


def _weight(element: Element) -> float:
    return _gain(element, "weight", 1.0)


def _gain(element: Element, tag: str, default: float) -> float:
    """The first of the numbers of a gain: older tasks have three, for as many axes."""
    found = numbers(element, tag, None, (default,))
    if not found:
        complain(element.find(tag), f"<{tag}> is empty; it must be a number")
    return found[0]


def _left_out(document: SetupDocument, root: Element) -> tuple[str, ...]:
    """Analyses, controllers that are on, and files of a tool that does not use them."""
    controllers = [e for e in document.set_of(root, "ControllerSet")[0] if boolean(e, "on", True)]
    files = ("constraints_file", "rra_controls_file", "desired_points_file", "actuators_to_exclude")
    unknown = described([*analyses_of(document, root)[1], *controllers])
    return (*unknown, *(f"<{tag}>" for tag in files if text(root, tag, "") not in NOTHING))


def _with_own_analyses(document: SetupDocument, root: Element) -> tuple[Analysis, ...]:
    known, _ = analyses_of(document, root)
    added = (KinematicsSetup("Kinematics", 1, True, ("all",)), ActuationSetup("Actuation", 1, False))
    return (*known, *(own for own in added if not any(isinstance(one, type(own)) for one in known)))


@frozen
class FollowingSetup(Setup):
    """Files and times of a tool whose model follows a motion, and:

    cutoff    [Hz]
    left_out  what is named and not known
    analyses  those of the setup, and Kinematics and Actuation, which the tool adds where there is none

    ModelError for tasks of other things than coordinates, and two of one.
    """

    coordinates: Path = entry(SetupDocument.needed_file, "desired_kinematics_file")
    loads: Path | None = entry(SetupDocument.file, "external_loads_file")
    cutoff: float | None = value(cutoff, "lowpass_cutoff_frequency")
    times: tuple[float, float] = entry(times_of)
    left_out: tuple[str, ...] = entry(_left_out)
    analyses: tuple[Analysis, ...] = entry(_with_own_analyses)


@frozen
class CmcSetup(FollowingSetup):
    """A CMCTool:

    window    [s]
    tracked   the coordinates of tasks that are on, active and of weight above 0, each with the bandwidth sqrt(kp)
              [rad/s] of its feedback; ModelError for gains that do not damp critically
    """

    force_sets: tuple[Path, ...] = entry(force_set_files)
    window: float = value(positive, "cmc_time_window", 0.01)
    tracked: dict[str, float] = entry(_tasks, _bandwidth)


def _adjusted_body(root: Element) -> str | None:
    if not boolean(root, "adjust_com_to_reduce_residuals"):
        return None
    body = text(root, "adjusted_com_body", "")
    if body in NOTHING:
        complain(root, "<adjust_com_to_reduce_residuals> needs <adjusted_com_body>")
    return body


def _adjusted_model(document: SetupDocument, root: Element) -> Path | None:
    if not boolean(root, "adjust_com_to_reduce_residuals"):
        return None
    return document.output(root, "output_model_file") or document.path.parent / "adjusted_model.osim"


@frozen
class RraSetup(FollowingSetup):
    """An RRATool; ModelError where the model's own forces would act too.

    weights   of the tasks that are on, active and of weight above 0, by coordinate, in their order
    body      whose center of mass is shifted, None for none
    output    the file of the adjusted model, None for none
    """

    force_sets: tuple[Path, ...] = entry(force_set_files, True)
    weights: dict[str, float] = entry(_tasks, _weight)
    body: str | None = value(_adjusted_body)
    output: Path | None = entry(_adjusted_model)
    controls: tuple[Path, ...] = value(lambda _: ())


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
    """Times of a tool that tracks a recording; errors: whether their table is written; constraint_weight: infinite
    where constraints hold."""

    times: tuple[float, float] = entry(SetupDocument.times)
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
class ForwardSetup(DrivenSetup):
    """Times and analyses of a ForwardTool; the bound on the error of a step, and the longest step [s].

    `equilibrium`: whether the muscles' own states start in balance. `prescribed`: whether controllers with functions
    of their own stand in `root`, the element of the tool. `corrections`: stiffness and damping of controllers that hold
    the model to the states of the file. `left_out`: what is not known. ModelError for times that do not come one after
    the other.
    """

    times: tuple[float, float] = value(_span)
    tolerance: float = value(positive, "integrator_error_tolerance", 1e-5)
    longest_step: float = value(positive, "maximum_integrator_step_size", 1.0)
    equilibrium: bool = value(boolean, "solve_for_equilibrium_for_auxiliary_states")
    analyses: tuple[Analysis, ...] = entry(lambda document, root: analyses_of(document, root)[0])
    left_out: tuple[str, ...] = entry(left_out, CONTROLLER, PRESCRIBED, CORRECTION)
    prescribed: bool = entry(lambda document, root: any(e.tag == PRESCRIBED for e in controllers_of(document, root)))
    corrections: tuple[tuple[float, float], ...] = entry(_corrections)
    root: Element = value(lambda root: root)
