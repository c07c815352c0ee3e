"""ScaleTool: measurements and factors, mass, and the placement of markers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from myoquat.core import frozen
from myoquat.data.osim import read_marker_set
from myoquat.data.xml import Element, boolean, complain, number, numbers, objects, text
from myoquat.joints.errors import errors_in
from myoquat.muscle.coordinates import Marker

from .document import Setup, SetupDocument, entry, read_record, value
from .motion import Task, read_tasks

Triple = tuple[float, ...]
ORDERS = {"measurements": "measurements", "manualScale": "factors"}


@frozen
class MeasurementEntry:
    """Pairs of markers, and the axes of the bodies that their ratio scales."""

    name: str
    pairs: tuple[tuple[str, str], ...]
    bodies: tuple[tuple[str, str], ...]


def _order(element: Element) -> tuple[str, ...]:
    words = text(element, "scaling_order", "measurements").split()
    for word in words:
        if word not in ORDERS:
            complain(element.find("scaling_order"), f"<scaling_order> is of {', '.join(ORDERS)}, not {word!r}")
    return tuple(ORDERS[word] for word in words)


def _applied(document: SetupDocument, element: Element, tag: str, read: Callable[[Element], Any]) -> tuple[Any, ...]:
    """The parts of a set that apply."""
    parts, where = document.set_of(element, tag)
    with errors_in(where.path):
        return tuple(read(part) for part in parts if boolean(part, "apply", True))


def _measurement(element: Element) -> MeasurementEntry:
    pairs, bodies = [], []
    for pair in objects(element, "MarkerPairSet"):
        names = text(pair, "markers").split()
        if len(names) != 2:
            complain(pair, f"<markers> must be two names, not {len(names)}")
        pairs.append((names[0], names[1]))
    for body in objects(element, "BodyScaleSet"):
        bodies.append((body.get("name") or "", "".join(text(body, "axes").split())))
    return MeasurementEntry(element.get("name") or "", tuple(pairs), tuple(bodies))


def _factors(element: Element) -> tuple[str, Triple]:
    return text(element, "segment"), numbers(element, "scales", 3)


@frozen
class ScalerSetup:
    """How sizes are found: the order of "measurements" and "factors", both, the trial and its times, whether masses
    keep their proportions, and what is written."""

    order: tuple[str, ...] = value(_order)
    measurements: tuple[MeasurementEntry, ...] = entry(_applied, "MeasurementSet", _measurement)
    factors: tuple[tuple[str, Triple], ...] = entry(_applied, "ScaleSet", _factors)
    trial: Path | None = entry(SetupDocument.file, "marker_file")
    times: tuple[float, float] = entry(SetupDocument.times)
    keep_masses: bool = value(boolean, "preserve_mass_distribution")
    model: Path | None = entry(SetupDocument.output, "output_model_file")
    factor_file: Path | None = entry(SetupDocument.output, "output_scale_file")


@frozen
class PlacerSetup:
    """How markers are placed, and what is written.

    most_movement  of a marker along an axis in the trial, in the unit of its file: more is reported, as in OpenSim
    """

    tasks: tuple[Task, ...] = entry(read_tasks)
    trial: Path = entry(SetupDocument.needed_file, "marker_file")
    coordinates: Path | None = entry(SetupDocument.file, "coordinate_file")
    times: tuple[float, float] = entry(SetupDocument.times)
    most_movement: float | None = value(lambda root: _positive(root, "max_marker_movement"))
    move: bool = value(boolean, "move_model_markers", True)
    model: Path | None = entry(SetupDocument.output, "output_model_file")
    marker_file: Path | None = entry(SetupDocument.output, "output_marker_file")
    motion: Path | None = entry(SetupDocument.output, "output_motion_file")


def _positive(root: Element, tag: str) -> float | None:
    """A number that counts if it is positive."""
    found = number(root, tag, -1.0)
    return found if found > 0 else None


def _maker(root: Element) -> Element:
    maker = root.find("GenericModelMaker")
    if maker is None:
        complain(root, "<ScaleTool> needs <GenericModelMaker>")
    return maker


def _markers(document: SetupDocument, root: Element) -> tuple[Marker, ...]:
    file = document.file(_maker(root), "marker_set_file")
    return () if file is None else read_marker_set(file)


def _step(document: SetupDocument, root: Element, tag: str, record_type: type) -> Any:
    """A step of the tool, None where it is missing or does not apply."""
    element = root.find(tag)
    return (
        None if element is None or not boolean(element, "apply", True) else read_record(record_type, document, element)
    )


@frozen
class ScaleSetup(Setup):
    """A ScaleTool: the model, and the two steps, either of which may be left out.

    mass     [kg], None where it follows from the sizes
    markers  those that the model gets
    """

    model: Path = entry(lambda document, root: document.model_file(_maker(root)))
    mass: float | None = value(lambda root: _positive(root, "mass"))
    markers: tuple[Marker, ...] = entry(_markers)
    scaler: ScalerSetup | None = entry(_step, "ModelScaler", ScalerSetup)
    placer: PlacerSetup | None = entry(_step, "MarkerPlacer", PlacerSetup)
