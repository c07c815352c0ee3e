"""Analyses of OpenSim's tools: what each is asked to record."""

from pathlib import Path

from myoquat.core import frozen
from myoquat.data.xml import Element, boolean, complain, last_name, number, numbers, text

from .document import SetupDocument, checked_name, entry, value

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
