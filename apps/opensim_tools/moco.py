"""Files of OpenSim Moco: the problem is solved, and the solution written as Moco writes it."""

from collections.abc import Callable
from pathlib import Path

from myoquat.analysis.control import moco_trajectory
from myoquat.apps.moco import load_moco_study
from myoquat.apps.opensim_tools.outputs import Outputs
from myoquat.data.files import file_name

__all__ = ["SUFFIX", "run_moco"]

SUFFIX = ".omoco"


def run_moco(path: Path, outputs: Outputs, tell: Callable[[str], None]) -> None:
    """Solve the MocoStudy, MocoTrack or MocoInverse in a file, and write '<name>_solution.sto' beside it.

    A solution that did not converge is written too, as Moco's sealed ones can be. Its header says so.
    """
    study = load_moco_study(path)
    place = path.parent / file_name(f"{study.name}_solution.sto")
    tell(f"Moco {study.name!r}: {study.problem!r}")
    for line in study.left_out:
        tell(f"left out: {line}")
    solution = study.solve()
    tell(solution.explain())
    trajectory = moco_trajectory(solution)
    outputs.add(place, lambda to: trajectory.save(to))
