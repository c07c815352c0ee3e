"""IMUPlacer and IMUInverseKinematicsTool: a model, orientations of sensors, and what is written."""

from pathlib import Path

from myoquat.core.records import dataclass
from myoquat.data.document import boolean, number, numbers, text
from myoquat.data.setups.document import NOTHING, SetupDocument
from myoquat.data.setups.kinematics import constraint_weight
from myoquat.data.xml import complain

__all__ = ["SensorPlacerSetup", "SensorTrackingSetup", "read_sensor_placer", "read_sensor_tracking"]

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
