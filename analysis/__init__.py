"""Mapping analysis, studies, figures and the command line. Each part is imported when it is first asked for: the
command line starts faster, and a process that needs one part does not wait for the others."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analysis.mapping import MappingReport, mapping_analysis
    from analysis.muscles.curves import plot_curves
    from analysis.studies import Study, open_results

__all__ = ["MappingReport", "Study", "mapping_analysis", "open_results", "plot_curves"]

_HOMES = {
    "MappingReport": "analysis.mapping",
    "Study": "analysis.studies",
    "mapping_analysis": "analysis.mapping",
    "open_results": "analysis.studies",
    "plot_curves": "analysis.muscles.curves",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'analysis' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
