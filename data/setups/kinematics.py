"""InverseKinematicsTool: a model, markers, tasks, and what is written."""

from dataclasses import dataclass
from pathlib import Path

from myoquat.data.document import boolean
from myoquat.data.setups.document import SetupDocument
from myoquat.data.setups.tasks import Task, read_tasks

__all__ = ["InverseKinematicsSetup", "read_inverse_kinematics"]


@dataclass(frozen=True)
class InverseKinematicsSetup:
    """Files, tasks and times of an InverseKinematicsTool; errors and locations: whether these tables are written, into
    the folder `results`."""

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
    )
