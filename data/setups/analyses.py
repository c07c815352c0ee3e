"""Analyses of an AnalyzeTool: what each is asked to record."""

import warnings
from collections.abc import Callable
from pathlib import Path

from myoquat.core.records import dataclass
from myoquat.data.setups.document import NOTHING, SetupDocument, checked_name
from myoquat.data.xml import Element, boolean, complain, last_name, number, numbers, text

__all__ = [
    "ANALYSES",
    "CONTROLLER",
    "DEFAULT_TIMES",
    "ActuationSetup",
    "Analysis",
    "AnalyzeSetup",
    "BodyKinematicsSetup",
    "ForceReporterSetup",
    "JointReactionSetup",
    "KinematicsSetup",
    "MuscleAnalysisSetup",
    "PointKinematicsSetup",
    "StatesReporterSetup",
    "StaticOptimizationSetup",
    "analyses_of",
    "controllers_of",
    "controls_of",
    "described",
    "force_sets",
    "read_analyze",
    "times_of",
]


ALL = ("all",)
MAX_INTERVAL = 10**9  # frames from one to the next of an analysis
Names = tuple[str, ...]


@dataclass(frozen=True)
class Analysis:
    """An analysis: its name, and how many frames it goes on by (`interval`); tables of angles are `in_degrees`."""

    name: str
    interval: int
    in_degrees: bool


@dataclass(frozen=True)
class ActuationSetup(Analysis):
    """All muscles and actuators."""


@dataclass(frozen=True)
class StatesReporterSetup(Analysis):
    """All states."""


@dataclass(frozen=True)
class ForceReporterSetup(Analysis):
    """All forces; `constraints`: those of constraints too."""

    constraints: bool


@dataclass(frozen=True)
class KinematicsSetup(Analysis):
    """Coordinates, "all" for all."""

    coordinates: Names


@dataclass(frozen=True)
class BodyKinematicsSetup(Analysis):
    """Bodies, and "center_of_mass" for that of all; "all" for both. `local`: velocities and accelerations in the axes
    of the bodies."""

    bodies: Names
    local: bool


@dataclass(frozen=True)
class PointKinematicsSetup(Analysis):
    """A point [m] of a body, by name, in the axes of the body `relative_to`."""

    body: str
    relative_to: str
    point_name: str
    point: tuple[float, ...]


@dataclass(frozen=True)
class MuscleAnalysisSetup(Analysis):
    """Muscles, coordinates of the moment arms ("all" for all), and whether moments are wanted."""

    muscles: Names
    coordinates: Names
    moments: bool


@dataclass(frozen=True)
class StaticOptimizationSetup(Analysis):
    """The power of the activations in the effort; `physiology`: strengths follow length and speed of the fibers."""

    power: float
    physiology: bool


@dataclass(frozen=True)
class JointReactionSetup(Analysis):
    """Joints, by each the side ("child", "parent") that it acts on, and the frame; "all" for all of them. `forces` is
    the file of the muscles' tensions."""

    joints: Names
    sides: Names
    frames: Names
    forces: Path | None


def _common(element: Element) -> tuple[str, int, bool]:
    interval = number(element, "step_interval", 1.0)
    if not 1 <= interval <= MAX_INTERVAL or interval != int(interval):
        complain(element.find("step_interval"), f"<step_interval> must be a count of frames, not {interval:g}")
    name = checked_name(element, element.get("name") or element.tag)
    return name, int(interval), boolean(element, "in_degrees", True)


def _names(element: Element, tag: str) -> Names:
    """Names in an entry, "all" for ALL in any case and for none."""
    found = tuple(text(element, tag, "all").split())
    return ALL if not found or found[0].lower() == "all" else found


def _forces(_: SetupDocument, element: Element) -> Analysis:
    return ForceReporterSetup(*_common(element), boolean(element, "include_constraint_forces"))


def _kinematics(_: SetupDocument, element: Element) -> Analysis:
    return KinematicsSetup(*_common(element), _names(element, "coordinates"))


def _bodies(_: SetupDocument, element: Element) -> Analysis:
    local = boolean(element, "express_results_in_body_local_frame")
    return BodyKinematicsSetup(*_common(element), _names(element, "bodies"), local)


def _point(_: SetupDocument, element: Element) -> Analysis:
    name = checked_name(element.find("point_name"), text(element, "point_name", "NONAME"))
    body, seen_from = (last_name(text(element, tag, "ground")) for tag in ("body_name", "relative_to_body_name"))
    seen_from = "ground" if seen_from == "none" else seen_from  # as OpenSim writes its default
    return PointKinematicsSetup(*_common(element), body, seen_from, name, numbers(element, "point", 3, (0.0,) * 3))


def _muscles(_: SetupDocument, element: Element) -> Analysis:
    muscles, coordinates = (_names(element, tag) for tag in ("muscle_list", "moment_arm_coordinate_list"))
    return MuscleAnalysisSetup(*_common(element), muscles, coordinates, boolean(element, "compute_moments", True))


def _optimization(_: SetupDocument, element: Element) -> Analysis:
    if not boolean(element, "use_model_force_set", True):
        complain(element.find("use_model_force_set"), "<use_model_force_set> must be true: the model's own forces act")
    power = number(element, "activation_exponent", 2.0)
    if not 1 <= power <= 10:
        complain(element.find("activation_exponent"), f"<activation_exponent> must lie in [1, 10], not {power:g}")
    return StaticOptimizationSetup(*_common(element), power, boolean(element, "use_muscle_physiology", True))


def _reaction(document: SetupDocument, element: Element) -> Analysis:
    joints = _names(element, "joint_names")
    sides, frames = (tuple(text(element, tag, default).split()) for tag, default in
                     (("apply_on_bodies", "child"), ("express_in_frame", "ground")))  # fmt: skip
    for tag, given in (("apply_on_bodies", sides), ("express_in_frame", frames)):
        if len(given) != 1 and len(given) != len(joints):
            complain(element.find(tag), f"<{tag}> must be one word, or one for each joint, not {len(given)}")
    for side in sides:
        if side not in ("child", "parent"):
            complain(element.find("apply_on_bodies"), f"<apply_on_bodies> is of child and parent, not {side!r}")
    return JointReactionSetup(*_common(element), joints, sides, frames, document.file(element, "forces_file"))


ANALYSES: dict[str, Callable[[SetupDocument, Element], Analysis]] = {
    "Actuation": lambda _, element: ActuationSetup(*_common(element)),
    "StatesReporter": lambda _, element: StatesReporterSetup(*_common(element)),
    "ForceReporter": _forces,
    "Kinematics": _kinematics,
    "BodyKinematics": _bodies,
    "PointKinematics": _point,
    "MuscleAnalysis": _muscles,
    "StaticOptimization": _optimization,
    "JointReaction": _reaction,
}


# ---- AnalyzeTool: a model, a motion, loads, and analyses of it ----------------------------------------------------


CONTROLLER = "ControlSetController"


@dataclass(frozen=True)
class AnalyzeSetup:
    """Files, times and the cutoff [Hz] of an AnalyzeTool, the analyses that are known, and the folder of results.

    `force_sets`: files of actuators that the model gets, `controls` of their controls; `left_out`: analyses and
    controllers that are not known.
    """

    name: str
    path: Path
    model: Path
    force_sets: tuple[Path, ...]
    coordinates: Path | None
    speeds: Path | None
    states: Path | None
    loads: Path | None
    cutoff: float | None
    times: tuple[float, float]
    analyses: tuple[Analysis, ...]
    left_out: tuple[str, ...]
    controls: tuple[Path, ...]
    results: Path


def read_analyze(document: SetupDocument) -> AnalyzeSetup:
    """The setup of an <AnalyzeTool>; ModelError where no analysis that is on is known."""
    root = document.root
    model = document.model_file(root)
    coordinates, states = document.file(root, "coordinates_file"), document.file(root, "states_file")
    if (coordinates is None) == (states is None):
        complain(root, "<AnalyzeTool> needs <coordinates_file> or <states_file>, one of them")
    forces = force_sets(document, root)
    analyses, unknown = analyses_of(document, root)
    if not analyses and not unknown:
        complain(root, "no analysis is on")
    if not analyses:
        complain(unknown[0], f"the analysis <{unknown[0].tag}> is not known here; known: {', '.join(ANALYSES)}")
    return AnalyzeSetup(
        document.name,
        document.path,
        model,
        forces,
        coordinates,
        document.file(root, "speeds_file"),
        states,
        document.file(root, "external_loads_file"),
        document.cutoff(),
        times_of(document),
        analyses,
        described([*unknown, *(element for element in controllers_of(document, root) if element.tag != CONTROLLER)]),
        controls_of(document, root),
        document.results,
    )


DEFAULT_TIMES = {"initial_time": 0.0, "final_time": 1.0}  # of OpenSim's tools


def times_of(document: SetupDocument) -> tuple[float, float]:
    """The first and the last time of a tool, with a warning where it names none, and has OpenSim's."""
    root = document.root
    if missing := [f"<{tag}>, {time:g} s" for tag, time in DEFAULT_TIMES.items() if root.find(tag) is None]:
        warnings.warn(f"{document.path}: OpenSim's default where there is no {' and '.join(missing)}", stacklevel=2)
    first, last = (number(root, tag, time, infinite=True) for tag, time in DEFAULT_TIMES.items())
    return first, last


def analyses_of(document: SetupDocument, root: Element) -> tuple[tuple[Analysis, ...], list[Element]]:
    """The analyses that are on, and the elements of those that are not known here."""
    on = [element for element in document.set_of(root, "AnalysisSet")[0] if boolean(element, "on", True)]
    known = tuple(ANALYSES[element.tag](document, element) for element in on if element.tag in ANALYSES)
    return known, [element for element in on if element.tag not in ANALYSES]


def force_sets(document: SetupDocument, root: Element) -> tuple[Path, ...]:
    """The files that <force_set_files> names, beside the model's own forces; ModelError where they replace these."""
    if boolean(root, "replace_force_set"):
        complain(root.find("replace_force_set"), "<replace_force_set> must be false: the model keeps its forces")
    names = text(root, "force_set_files", "").split()
    return tuple(document.named(root, "force_set_files", name) for name in names if name not in NOTHING)


def controllers_of(document: SetupDocument, root: Element) -> list[Element]:
    """Those that are on. OpenSim 4 no longer knows <enable_controller>, and runs a controller that it turns off."""
    found, _ = document.set_of(root, "ControllerSet")
    return [element for element in found if boolean(element, "enabled", not boolean(element, "isDisabled"))]


def controls_of(document: SetupDocument, root: Element) -> tuple[Path, ...]:
    """The files of controls of the controllers that are on."""
    files = [document.file(element, "controls_file") for element in controllers_of(document, root)
             if element.tag == CONTROLLER]  # fmt: skip
    return tuple(path for path in files if path is not None)


def described(elements: list[Element]) -> tuple[str, ...]:
    """Elements by their tags and names."""
    return tuple(f"<{e.tag}> {e.get('name') or ''}".strip() for e in elements)
