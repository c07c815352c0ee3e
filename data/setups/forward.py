"""ForwardTool: a model that moves by itself, under controls and loads."""

from pathlib import Path

from myoquat.core.records import dataclass
from myoquat.data.document import boolean, number, positive
from myoquat.data.setups.analyses import Analysis
from myoquat.data.setups.analyze import CONTROLLER, analyses_of, controllers_of, controls_of, described, force_sets
from myoquat.data.setups.document import SetupDocument
from myoquat.data.xml import Element, complain

__all__ = ["ForwardSetup", "read_forward"]

PRESCRIBED, CORRECTION = "PrescribedController", "CorrectionController"
KNOWN = (CONTROLLER, PRESCRIBED, CORRECTION)


@dataclass(frozen=True)
class ForwardSetup:
    """Files, times, analyses and the folder of results of a ForwardTool; the bound on the error of a step, and the
    longest step [s].

    `equilibrium`: whether the muscles' own states start in balance. `controls`: files of controls; `prescribed`:
    whether controllers with functions of their own stand in `root`, the element of the tool. `corrections`: stiffness
    and damping of controllers that hold the model to the states of the file. `left_out`: what is not known.
    """

    name: str
    path: Path
    model: Path
    force_sets: tuple[Path, ...]
    states: Path | None
    loads: Path | None
    times: tuple[float, float]
    tolerance: float
    longest_step: float
    equilibrium: bool
    analyses: tuple[Analysis, ...]
    left_out: tuple[str, ...]
    controls: tuple[Path, ...]
    prescribed: bool
    corrections: tuple[tuple[float, float], ...]
    root: Element
    results: Path


def read_forward(document: SetupDocument) -> ForwardSetup:
    """The setup of a <ForwardTool>; ModelError for times that do not come one after the other."""
    root = document.root
    first, last = number(root, "initial_time", 0.0), number(root, "final_time", 1.0)
    if not last > first:
        complain(root.find("final_time"), f"<final_time> {last:g} must be later than <initial_time> {first:g}")
    analyses, unknown = analyses_of(document, root)
    controllers = controllers_of(document, root)
    states = document.file(root, "states_file")
    corrections = [element for element in controllers if element.tag == CORRECTION]
    if corrections and states is None:
        complain(corrections[0], f"<{CORRECTION}> needs <states_file>, the states to which it holds the model")
    return ForwardSetup(
        document.name,
        document.path,
        document.model_file(root),
        force_sets(document, root),
        states,
        document.file(root, "external_loads_file"),
        (first, last),
        positive(root, "integrator_error_tolerance", 1e-5),
        positive(root, "maximum_integrator_step_size", 1.0),
        boolean(root, "solve_for_equilibrium_for_auxiliary_states"),
        analyses,
        described([*unknown, *(element for element in controllers if element.tag not in KNOWN)]),
        controls_of(document, root),
        any(element.tag == PRESCRIBED for element in controllers),
        tuple((number(element, "kp", 16.0), number(element, "kv", 8.0)) for element in corrections),
        root,
        document.results,
    )
