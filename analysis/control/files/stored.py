"""Solutions in files: the motion at every site with all digits, and a solution from it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from myoquat.analysis.control.discretization import Sites
from myoquat.analysis.control.explanation import Explanation
from myoquat.analysis.control.guesses import sites_at_rest
from myoquat.analysis.control.solution import Solution
from myoquat.analysis.control.solvers.ipopt import Iterates
from myoquat.analysis.control.solvers.statuses import Status
from myoquat.analysis.control.statement import Statement
from myoquat.analysis.control.transcriptions.base import Layout
from myoquat.data.archives import read_arrays

__all__ = ["load_sites", "save_sites", "solution_from_sites"]


def save_sites(path: Path, sites: Sites) -> None:
    """Write the motion at every site, replacing the file as a whole."""
    parameters = {} if sites.parameters is None else {"parameters": sites.parameters}
    fields = {f"field_{name}": values for name, values in sites.fields.items()}
    written = path.with_name(f".{path.name}")
    with written.open("wb") as to:
        arrays: dict[str, Any] = {"duration": np.array(sites.duration), "q": sites.q} | parameters | fields
        np.savez(to, **arrays)
    written.replace(path)


def load_sites(path: Path, statement: Statement, layout: Layout) -> Sites:
    """What `save_sites` wrote of this problem; ValueError for a file that is damaged, or of another problem."""
    found = read_arrays(path, "motion of a problem")
    expected = sites_at_rest(statement, layout)
    shapes = {"duration": (), "q": expected.q.shape} | {f"field_{name}": x.shape for name, x in expected.fields.items()}
    for name, shape in shapes.items():
        array = found.get(name)
        if array is None or array.dtype.kind != "f" or array.shape != shape:
            raise ValueError(f"{path}: the motion of this problem has numbers {name!r} of shape {shape}")
    if not (np.isfinite(found["q"]).all() and np.isfinite(found["duration"])):
        raise ValueError(f"{path}: the pose or the duration is not finite")
    fields = {name: found[f"field_{name}"] for name in expected.fields}
    return Sites(float(found["duration"]), found["q"], fields, found.get("parameters"))


def solution_from_sites(statement: Statement, layout: Layout, sites: Sites, numbers: Mapping[str, Any]) -> Solution:
    """A solution that was stored: its motion, its status, and the `numbers` objective, violation, iterations and
    seconds; multipliers and explanations were not kept. ValueError where these are none."""
    if not isinstance(numbers, Mapping) or numbers.get("status") not in {s.value for s in Status}:
        raise ValueError("the status of a solution is unknown")
    if not all(isinstance(numbers.get(name), (int, float)) for name in ("objective", "violation", "seconds")):
        raise ValueError("the numbers of a solution are missing")
    if not isinstance(numbers.get("iterations"), int):
        raise ValueError("the number of iterations of a solution is missing")
    none = np.zeros(0)
    iterates = Iterates(
        none, none, none, str(numbers["status"]), int(numbers["iterations"]), float(numbers["seconds"]), 0.0, none,
        none, none,
    )  # fmt: skip
    explanation = Explanation(float("nan"), float(numbers["violation"]), (), (), {})
    status = next(s for s in Status if s.value == numbers["status"])
    return Solution(statement, layout, sites, status, float(numbers["objective"]), {}, explanation, iterates)
