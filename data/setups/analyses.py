"""Analyses of an AnalyzeTool: what each is asked to record."""

import warnings
from pathlib import Path

from myoquat.core import frozen
from myoquat.data.xml import Element, boolean, complain, last_name, number, numbers, text

from .document import Setup, SetupDocument, checked_name, cutoff, entry, read_record, results, value

ALL = ("all",)
MAX_INTERVAL = 10**9  # frames from one to the next of an analysis
Names = tuple[str, ...]


def _interval(element: Element) -> int:
    interval = number(element, "step_interval", 1.0)
    if not 1 <= interval <= MAX_INTERVAL or interval != int(interval):
        complain(element.find("step_interval"), f"<step_interval> must be a count of frames, not {interval:g}")
    return int(interval)


def _names(element: Element, tag: str) -> Names:
    """Names in an entry, "all" for ALL in any case and for none."""
    found = tuple(text(element, tag, "all").split())
    return ALL if not found or found[0].lower() == "all" else found


def _body(element: Element, tag: str, other: str = "ground") -> str:
    """The body of a name, the ground for none and for `other`."""
    name = last_name(text(element, tag, "ground"))
    return "ground" if name == other else name


@frozen
class Analysis:
    """An analysis: its name, and how many frames it goes on by (`interval`); tables of angles are `in_degrees`."""

    name: str = value(lambda element: checked_name(element, element.get("name") or element.tag))
    interval: int = value(_interval)
    in_degrees: bool = value(boolean, "in_degrees", True)


@frozen
class ActuationSetup(Analysis):
    """All muscles and actuators."""


@frozen
class StatesReporterSetup(Analysis):
    """All states."""


@frozen
class ForceReporterSetup(Analysis):
    """All forces; `constraints`: those of constraints too."""

    constraints: bool = value(boolean, "include_constraint_forces")


@frozen
class KinematicsSetup(Analysis):
    """Coordinates, "all" for all."""

    coordinates: Names = value(_names, "coordinates")


@frozen
class BodyKinematicsSetup(Analysis):
    """Bodies, and "center_of_mass" for that of all; "all" for both. `local`: velocities and accelerations in the axes
    of the bodies."""

    bodies: Names = value(_names, "bodies")
    local: bool = value(boolean, "express_results_in_body_local_frame")


@frozen
class PointKinematicsSetup(Analysis):
    """A point [m] of a body, by name, in the axes of the body `relative_to`."""

    body: str = value(_body, "body_name")
    relative_to: str = value(_body, "relative_to_body_name", "none")  # as OpenSim writes its default
    point_name: str = value(lambda e: checked_name(e.find("point_name"), text(e, "point_name", "NONAME")))
    point: tuple[float, ...] = value(numbers, "point", 3, (0.0,) * 3)


@frozen
class MuscleAnalysisSetup(Analysis):
    """Muscles, coordinates of the moment arms ("all" for all), and whether moments are wanted."""

    muscles: Names = value(_names, "muscle_list")
    coordinates: Names = value(_names, "moment_arm_coordinate_list")
    moments: bool = value(boolean, "compute_moments", True)


def _power(element: Element) -> float:
    if not boolean(element, "use_model_force_set", True):
        complain(element.find("use_model_force_set"), "<use_model_force_set> must be true: the model's own forces act")
    power = number(element, "activation_exponent", 2.0)
    if not 1 <= power <= 10:
        complain(element.find("activation_exponent"), f"<activation_exponent> must lie in [1, 10], not {power:g}")
    return power


@frozen
class StaticOptimizationSetup(Analysis):
    """The power of the activations in the effort; `physiology`: strengths follow length and speed of the fibers."""

    power: float = value(_power)
    physiology: bool = value(boolean, "use_muscle_physiology", True)


def _per_joint(element: Element, tag: str, default: str, *allowed: str) -> Names:
    """One word, or one for each joint."""
    found = tuple(text(element, tag, default).split())
    if len(found) not in (1, len(_names(element, "joint_names"))):
        complain(element.find(tag), f"<{tag}> must be one word, or one for each joint, not {len(found)}")
    for word in found if allowed else ():
        if word not in allowed:
            complain(element.find(tag), f"<{tag}> is of {' and '.join(allowed)}, not {word!r}")
    return found


@frozen
class JointReactionSetup(Analysis):
    """Joints, by each the side ("child", "parent") that it acts on, and the frame; "all" for all of them. `forces` is
    the file of the muscles' tensions."""

    joints: Names = value(_names, "joint_names")
    sides: Names = value(_per_joint, "apply_on_bodies", "child", "child", "parent")
    frames: Names = value(_per_joint, "express_in_frame", "ground")
    forces: Path | None = entry(SetupDocument.file, "forces_file")


ANALYSES = {record.__name__.removesuffix("Setup"): record for record in Analysis.__subclasses__()}


# ---- What tools share: times, analyses, controllers and forces ----------------------------------------------------


CONTROLLER = "ControlSetController"
DEFAULT_TIMES = {"initial_time": 0.0, "final_time": 1.0}  # of OpenSim's tools


def times_of(document: SetupDocument, root: Element) -> tuple[float, float]:
    """The first and the last time of a tool, with a warning where it names none, and has OpenSim's."""
    if missing := [f"<{tag}>, {time:g} s" for tag, time in DEFAULT_TIMES.items() if root.find(tag) is None]:
        warnings.warn(f"{document.path}: OpenSim's default where there is no {' and '.join(missing)}", stacklevel=2)
    first, last = (number(root, tag, time, infinite=True) for tag, time in DEFAULT_TIMES.items())
    return first, last


def analyses_of(document: SetupDocument, root: Element) -> tuple[tuple[Analysis, ...], list[Element]]:
    """The analyses that are on, and the elements of those that are not known here."""
    on = [element for element in document.set_of(root, "AnalysisSet")[0] if boolean(element, "on", True)]
    known = tuple(read_record(ANALYSES[element.tag], document, element) for element in on if element.tag in ANALYSES)
    return known, [element for element in on if element.tag not in ANALYSES]


def force_set_files(document: SetupDocument, root: Element) -> tuple[Path, ...]:
    """The files that <force_set_files> names, beside the model's own forces; ModelError where they replace these."""
    if boolean(root, "replace_force_set"):
        complain(root.find("replace_force_set"), "<replace_force_set> must be false: the model keeps its forces")
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
class AnalyzeSetup(Setup):
    """Files, times and the cutoff [Hz] of an AnalyzeTool, the analyses that are known, and the folder of results.

    `force_sets`: files of actuators that the model gets, `controls` of their controls; `left_out`: analyses and
    controllers that are not known. ModelError where no analysis that is on is known.
    """

    force_sets: tuple[Path, ...] = entry(force_set_files)
    coordinates: Path | None = entry(_coordinates)
    speeds: Path | None = entry(SetupDocument.file, "speeds_file")
    states: Path | None = entry(SetupDocument.file, "states_file")
    loads: Path | None = entry(SetupDocument.file, "external_loads_file")
    cutoff: float | None = value(cutoff, "lowpass_cutoff_frequency_for_coordinates")
    times: tuple[float, float] = entry(times_of)
    analyses: tuple[Analysis, ...] = entry(_analyses)
    left_out: tuple[str, ...] = entry(left_out, CONTROLLER)
    controls: tuple[Path, ...] = entry(controls_of)
    results: Path = entry(results)
