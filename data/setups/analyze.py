"""AnalyzeTool: a model, a motion, loads, and analyses of it."""

from dataclasses import dataclass
from pathlib import Path

from myoquat.data.document import boolean, number, text
from myoquat.data.setups.analyses import ANALYSES, Analysis
from myoquat.data.setups.document import NOTHING, SetupDocument
from myoquat.data.xml import Element, complain

__all__ = [
    "CONTROLLER",
    "AnalyzeSetup",
    "controllers_of",
    "controls_of",
    "force_sets",
    "read_analyze",
    "times_of",
    "told",
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
    model = document.needed_file(root, "model_file")
    coordinates, states = document.file(root, "coordinates_file"), document.file(root, "states_file")
    if (coordinates is None) == (states is None):
        complain(root, "<AnalyzeTool> needs <coordinates_file> or <states_file>, one of them")
    if boolean(root, "replace_force_set"):
        complain(root.find("replace_force_set"), "<replace_force_set> must be false: the model keeps its forces")
    found, _ = document.set_of(root, "AnalysisSet")
    chosen = [element for element in found if boolean(element, "on", True)]
    if not chosen:
        complain(root, "no analysis is on")
    known = [element for element in chosen if element.tag in ANALYSES]
    if not known:
        complain(chosen[0], f"the analysis <{chosen[0].tag}> is not known here; known: {', '.join(ANALYSES)}")
    return AnalyzeSetup(
        document.name,
        document.path,
        model,
        force_sets(document, root),
        coordinates,
        document.file(root, "speeds_file"),
        states,
        document.file(root, "external_loads_file"),
        document.cutoff(),
        times_of(root),
        tuple(ANALYSES[element.tag](document, element) for element in known),
        _left_out(document, root, [element for element in chosen if element.tag not in ANALYSES]),
        controls_of(document, root),
        document.results,
    )


def times_of(root: Element) -> tuple[float, float]:
    """The first and the last time of a tool, infinite where it names none."""
    return _time(root, "initial_time", float("-inf")), _time(root, "final_time", float("inf"))


def _time(root: Element, tag: str, default: float) -> float:
    return default if root.find(tag) is None else number(root, tag, default)


def force_sets(document: SetupDocument, root: Element) -> tuple[Path, ...]:
    """The files that <force_set_files> names."""
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


def _left_out(document: SetupDocument, root: Element, analyses: list[Element]) -> tuple[str, ...]:
    others = [element for element in controllers_of(document, root) if element.tag != CONTROLLER]
    return told([*analyses, *others])


def told(elements: list[Element]) -> tuple[str, ...]:
    """Elements by their tags and names."""
    return tuple(f"<{e.tag}> {e.get('name') or ''}".strip() for e in elements)
