"""ScaleTool: measurements and factors, mass, and the placement of markers."""

from pathlib import Path

from myoquat.core.records import dataclass
from myoquat.data.osim import read_marker_set
from myoquat.data.setups.control import Task, read_tasks
from myoquat.data.setups.document import SetupDocument, members
from myoquat.data.xml import Element, boolean, complain, number, numbers, text
from myoquat.joints.errors import errors_in
from myoquat.muscle.coordinates import Marker

__all__ = ["PlacerSetup", "ScaleSetup", "ScalerSetup", "read_scale"]

Triple = tuple[float, ...]
ORDERS = {"measurements": "measurements", "manualScale": "factors"}


@dataclass(frozen=True)
class MeasurementEntry:
    """Pairs of markers, and the axes of the bodies that their ratio scales."""

    name: str
    pairs: tuple[tuple[str, str], ...]
    bodies: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class ScalerSetup:
    """How sizes are found: the order of "measurements" and "factors", both, the trial and its times, whether masses
    keep their proportions, and what is written."""

    order: tuple[str, ...]
    measurements: tuple[MeasurementEntry, ...]
    factors: tuple[tuple[str, Triple], ...]
    trial: Path | None
    times: tuple[float, float]
    keep_masses: bool
    model: Path | None
    factor_file: Path | None


@dataclass(frozen=True)
class PlacerSetup:
    """How markers are placed, and what is written."""

    tasks: tuple[Task, ...]
    trial: Path
    coordinates: Path | None
    times: tuple[float, float]
    move: bool
    model: Path | None
    marker_file: Path | None
    motion: Path | None


@dataclass(frozen=True)
class ScaleSetup:
    """A ScaleTool: the model, and the two steps, either of which may be left out.

    mass     [kg], None where it follows from the sizes
    markers  those that the model gets
    """

    name: str
    path: Path
    model: Path
    mass: float | None
    markers: tuple[Marker, ...]
    scaler: ScalerSetup | None
    placer: PlacerSetup | None


def read_scale(document: SetupDocument) -> ScaleSetup:
    """The setup of a <ScaleTool>."""
    root = document.root
    maker = root.find("GenericModelMaker")
    if maker is None:
        complain(root, "<ScaleTool> needs <GenericModelMaker>")
    model = document.model_file(maker)
    marker_file = document.file(maker, "marker_set_file")
    mass = number(root, "mass", -1.0)
    scaler, placer = root.find("ModelScaler"), root.find("MarkerPlacer")
    return ScaleSetup(
        document.name,
        document.path,
        model,
        mass if mass > 0 else None,
        () if marker_file is None else read_marker_set(marker_file),
        _scaler(document, scaler) if scaler is not None and boolean(scaler, "apply", True) else None,
        _placer(document, placer) if placer is not None and boolean(placer, "apply", True) else None,
    )


def _scaler(document: SetupDocument, element: Element) -> ScalerSetup:
    words = text(element, "scaling_order", "measurements").split()
    for word in words:
        if word not in ORDERS:
            complain(element.find("scaling_order"), f"<scaling_order> is of {', '.join(ORDERS)}, not {word!r}")
    measurements, where = document.set_of(element, "MeasurementSet")
    factors, there = document.set_of(element, "ScaleSet")
    with errors_in(where.path):
        found = tuple(_measurement(e) for e in measurements if boolean(e, "apply", True))
    with errors_in(there.path):
        given = tuple((text(e, "segment"), numbers(e, "scales", 3)) for e in factors if boolean(e, "apply", True))
    return ScalerSetup(
        tuple(ORDERS[word] for word in words),
        found,
        given,
        document.file(element, "marker_file"),
        document.times(element),
        boolean(element, "preserve_mass_distribution"),
        document.output(element, "output_model_file"),
        document.output(element, "output_scale_file"),
    )


def _measurement(element: Element) -> MeasurementEntry:
    pairs, bodies = [], []
    for pair in _inside(element, "MarkerPairSet"):
        names = text(pair, "markers").split()
        if len(names) != 2:
            complain(pair, f"<markers> must be two names, not {len(names)}")
        pairs.append((names[0], names[1]))
    for body in _inside(element, "BodyScaleSet"):
        bodies.append((body.get("name") or "", "".join(text(body, "axes").split())))
    return MeasurementEntry(element.get("name") or "", tuple(pairs), tuple(bodies))


def _inside(element: Element, tag: str) -> list[Element]:
    holder = element.find(tag)
    return [] if holder is None else members(holder)


def _placer(document: SetupDocument, element: Element) -> PlacerSetup:
    trial = document.needed_file(element, "marker_file")
    return PlacerSetup(
        read_tasks(document, element),
        trial,
        document.file(element, "coordinate_file"),
        document.times(element),
        boolean(element, "move_model_markers", True),
        document.output(element, "output_model_file"),
        document.output(element, "output_marker_file"),
        document.output(element, "output_motion_file"),
    )
