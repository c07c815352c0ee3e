"""CMCTool: a model whose muscles follow a motion by computed muscle control."""

from pathlib import Path

import numpy as np

from myoquat.core.records import dataclass
from myoquat.data.document import boolean, number, numbers, positive, text
from myoquat.data.setups.analyze import force_sets, times_of
from myoquat.data.setups.document import NOTHING, SetupDocument, set_in
from myoquat.data.xml import Element, complain
from myoquat.joints.errors import ModelError

__all__ = ["CmcSetup", "read_cmc"]

CRITICAL_DAMPING_TOLERANCE = 1e-6  # relative: a gain kv that is nearer to 2 sqrt(kp) damps critically


@dataclass(frozen=True)
class CmcSetup:
    """Files and times of a CMCTool, and:

    cutoff    [Hz]
    window    [s]
    tracked   the coordinates of tasks that are on, active and of weight above 0, each with the bandwidth sqrt(kp)
              [rad/s] of its feedback
    left_out  what is named and not known
    results   the folder of results
    """

    name: str
    path: Path
    model: Path
    force_sets: tuple[Path, ...]
    coordinates: Path
    loads: Path | None
    cutoff: float | None
    times: tuple[float, float]
    window: float
    tracked: dict[str, float]
    left_out: tuple[str, ...]
    results: Path


def read_cmc(document: SetupDocument) -> CmcSetup:
    """The setup of a <CMCTool>; ModelError for tasks of other things than coordinates, two of one, or gains that do not
    damp critically."""
    root = document.root
    forces = force_sets(document, root)
    window = positive(root, "cmc_time_window", 0.01)
    cutoff = number(root, "lowpass_cutoff_frequency", -1.0)
    return CmcSetup(
        document.name,
        document.path,
        document.model_file(root),
        forces,
        document.needed_file(root, "desired_kinematics_file"),
        document.file(root, "external_loads_file"),
        None if cutoff < 0 else cutoff,
        times_of(root),
        window,
        _tasks(document.needed_file(root, "task_set_file")),
        _left_out(document, root),
        document.results,
    )


def _tasks(path: Path) -> dict[str, float]:
    """The coordinates of the tasks that are on, each with its bandwidth."""
    elements, where = set_in(path, "CMC_TaskSet", "rdCMC_TaskSet")
    found: dict[str, float] = {}
    try:
        for element in elements:
            if boolean(element, "on", True) and _weighs(element):
                name, bandwidth = _task(element)
                if name in found:
                    complain(element, f"a second task for the coordinate {name!r}")
                found[name] = bandwidth
        if not found:
            complain(where.root, "no task is on, <active> and of a <weight> above 0")
    except ModelError as error:
        raise error.located(where.path, error.line) from None
    return found


def _task(element: Element) -> tuple[str, float]:
    name = text(element, "coordinate", "")
    if element.tag not in ("CMC_Joint", "rdCMC_Joint") or not name:
        complain(element, f"a task is <CMC_Joint> with a <coordinate>, not <{element.tag}>")
    kp, kv = (_gain(element, tag, default) for tag, default in (("kp", 1.0), ("kv", 0.5)))
    if not kp > 0 or abs(kv - 2 * np.sqrt(kp)) > CRITICAL_DAMPING_TOLERANCE * kv:
        complain(element.find("kv"), f"gains must damp critically, kv = 2 sqrt(kp); they are {kv:g} and {kp:g}")
    return name, float(np.sqrt(kp))


def _weighs(element: Element) -> bool:
    """Whether the first axis of a task, the only one of a coordinate, is active, which it is not by default, and has a
    weight."""
    active = (text(element, "active", "") or "false").split()[0]
    if active.lower() not in ("true", "false"):
        complain(element.find("active"), f"<active> is true or false for every axis, not {active!r}")
    return active.lower() == "true" and _gain(element, "weight", 1.0) > 0


def _gain(element: Element, tag: str, default: float) -> float:
    """The first of the numbers of a gain: older tasks have three, for as many axes."""
    found = numbers(element, tag, None, (default,))
    if not found:
        complain(element.find(tag), f"<{tag}> is empty; it must be a number")
    return found[0]


def _left_out(document: SetupDocument, root: Element) -> tuple[str, ...]:
    sets = [element for tag in ("AnalysisSet", "ControllerSet") for element in document.set_of(root, tag)[0]]
    named = [f"<{e.tag}> {e.get('name') or ''}".strip() for e in sets if boolean(e, "on", True)]
    files = ("constraints_file", "rra_controls_file", "desired_points_file")
    return (*named, *(f"<{tag}>" for tag in files if text(root, tag, "") not in NOTHING))
