"""AnalyzeTool: a model, a motion, loads, and analyses of it."""

from dataclasses import dataclass
from pathlib import Path

from myoquat.data.osim.document import boolean, number, text
from myoquat.data.setups.document import SetupDocument
from myoquat.data.xml import Element, complain

__all__ = ["AnalyzeSetup", "JointReactionSetup", "read_analyze"]

ALL = ("all",)


@dataclass(frozen=True)
class JointReactionSetup:
    """Joints, by each the side ("child", "parent") that it acts on, and the frame; "all" for all of them. `forces` is
    the file of the muscles' tensions."""

    name: str
    joints: tuple[str, ...]
    sides: tuple[str, ...]
    frames: tuple[str, ...]
    forces: Path | None


@dataclass(frozen=True)
class AnalyzeSetup:
    """Files, times and the cutoff [Hz] of an AnalyzeTool, the analyses that are known, and the folder of results."""

    name: str
    path: Path
    model: Path
    coordinates: Path | None
    states: Path | None
    loads: Path | None
    cutoff: float | None
    times: tuple[float, float]
    reactions: tuple[JointReactionSetup, ...]
    results: Path


def read_analyze(document: SetupDocument) -> AnalyzeSetup:
    """The setup of an <AnalyzeTool>; ModelError for an analysis that is on and not known here."""
    root = document.root
    model = document.file(root, "model_file", needed=True)
    assert model is not None
    coordinates, states = document.file(root, "coordinates_file"), document.file(root, "states_file")
    if (coordinates is None) == (states is None):
        complain(root, "<AnalyzeTool> needs <coordinates_file> or <states_file>, one of them")
    analyses, _ = document.set_of(root, "AnalysisSet")
    chosen = [element for element in analyses if boolean(element, "on", True)]
    for element in chosen:
        if element.tag != "JointReaction":
            complain(element, f"the analysis <{element.tag}> is not known here; known: JointReaction")
    if not chosen:
        complain(root, "no analysis is on")
    return AnalyzeSetup(
        document.name,
        document.path,
        model,
        coordinates,
        states,
        document.file(root, "external_loads_file"),
        document.cutoff(),
        (number(root, "initial_time", float("-inf")) if root.find("initial_time") is not None else float("-inf"),
         number(root, "final_time", float("inf")) if root.find("final_time") is not None else float("inf")),
        tuple(_reaction(document, element) for element in chosen),
        document.results,
    )  # fmt: skip


def _reaction(document: SetupDocument, element: Element) -> JointReactionSetup:
    joints = tuple(text(element, "joint_names", "ALL").split())
    joints = ALL if joints[0].lower() == "all" else joints
    sides, frames = (tuple(text(element, tag, default).split()) for tag, default in
                     (("apply_on_bodies", "child"), ("express_in_frame", "ground")))  # fmt: skip
    for tag, given in (("apply_on_bodies", sides), ("express_in_frame", frames)):
        if len(given) != 1 and len(given) != len(joints):
            complain(element.find(tag), f"<{tag}> must be one word, or one for each joint, not {len(given)}")
    for side in sides:
        if side not in ("child", "parent"):
            complain(element.find("apply_on_bodies"), f"<apply_on_bodies> is of child and parent, not {side!r}")
    name = element.get("name") or "JointReaction"
    return JointReactionSetup(name, joints, sides, frames, document.file(element, "forces_file"))
