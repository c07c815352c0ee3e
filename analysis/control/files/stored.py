"""Solutions in files: the motion at every site with all digits, and a solution from it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from myoquat.analysis.control.discretization import Sites
from myoquat.analysis.control.explanation import Explanation
from myoquat.analysis.control.solution import Solution
from myoquat.analysis.control.solvers.ipopt import Iterates
from myoquat.analysis.control.solvers.statuses import Status
from myoquat.analysis.control.statement import Statement
from myoquat.analysis.control.transcriptions.base import Layout

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


def load_sites(path: Path) -> Sites:
    """What `save_sites` wrote."""
    with np.load(path, allow_pickle=False) as found:
        fields = {name.removeprefix("field_"): found[name] for name in found.files if name.startswith("field_")}
        parameters = found["parameters"] if "parameters" in found.files else None
        return Sites(float(found["duration"]), found["q"], fields, parameters)


def solution_from_sites(statement: Statement, layout: Layout, sites: Sites, numbers: Mapping[str, Any]) -> Solution:
    """A solution that was stored: its motion, its status, and the `numbers` objective, violation, iterations and
    seconds; multipliers and explanations were not kept."""
    none = np.zeros(0)
    iterates = Iterates(
        none, none, none, str(numbers["status"]), int(numbers["iterations"]), float(numbers["seconds"]), 0.0, none,
        none, none,
    )  # fmt: skip
    explanation = Explanation(float("nan"), float(numbers["violation"]), (), (), {})
    status = next(s for s in Status if s.value == numbers["status"])
    return Solution(statement, layout, sites, status, float(numbers["objective"]), {}, explanation, iterates)
