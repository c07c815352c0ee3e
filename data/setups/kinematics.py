"""InverseKinematicsTool: a model, markers, tasks, and what is written."""

import math
from pathlib import Path

from myoquat.core.records import dataclass
from myoquat.data.document import boolean, number, text
from myoquat.data.setups.document import SetupDocument
from myoquat.data.setups.tasks import Task, read_tasks
from myoquat.data.xml import Element, complain

__all__ = ["InverseKinematicsSetup", "constraint_weight", "read_inverse_kinematics"]


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
