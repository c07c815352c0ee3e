"""AnalyzeTool: a model, a motion, loads, and analyses of it."""

from pathlib import Path

from myoquat.core.records import dataclass
from myoquat.data.document import boolean, number, text
from myoquat.data.setups.analyses import ANALYSES, Analysis
from myoquat.data.setups.document import NOTHING, SetupDocument
from myoquat.data.xml import Element, complain

__all__ = [
    "CONTROLLER",
    "AnalyzeSetup",
    "analyses_of",
    "controllers_of",
    "controls_of",
    "described",
    "force_sets",
    "read_analyze",
    "times_of",
]

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
        times_of(root),
        analyses,
        described([*unknown, *(element for element in controllers_of(document, root) if element.tag != CONTROLLER)]),
        controls_of(document, root),
        document.results,
    )


def times_of(root: Element) -> tuple[float, float]:
    """The first and the last time of a tool, infinite where it names none."""
    return _time(root, "initial_time", float("-inf")), _time(root, "final_time", float("inf"))


def _time(root: Element, tag: str, default: float) -> float:
    return default if root.find(tag) is None else number(root, tag, default, infinite=True)


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
