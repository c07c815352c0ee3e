"""Options that several commands share, and what the options of uncertain inputs mean."""

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from myoquat.apps.report import Drawn, Numbers, Section

__all__ = [
    "Uncertainty",
    "angles",
    "axes",
    "cutoff",
    "degrees",
    "end",
    "external_loads",
    "force",
    "ignore",
    "rotations",
    "rotations_meanwhile",
    "start",
    "uncertainty_options",
]

rotations = click.option(
    "--rotations",
    default="file",
    show_default=True,
    help="Ball joints: 'file' as they are, 'quaternion', or Euler angles such as YZY.",
)
rotations_meanwhile = click.option(
    "--rotations",
    default="quaternion",
    show_default=True,
    help="Ball joints during the computation: 'file' or 'quaternion'.",
)
force = click.option("--force", is_flag=True, help="Replace output files that exist.")
external_loads = click.option(
    "--loads", type=click.Path(path_type=Path), help="External loads: OpenSim's ExternalLoads, .xml."
)
cutoff = click.option("--cutoff", default=6.0, show_default=True, help="Low-pass filter [Hz]; negative for none.")
angles = click.option("--angles", is_flag=True, help="Filter the file's angles as OpenSim does, not rotations.")
degrees = click.option(
    "--degrees/--radians", default=None, help="Unit of angles in MOTION, where its header gives none."
)
ignore = click.option(
    "--ignore", multiple=True, metavar="NAME", help="Pass over a column of MOTION, or several: '*_tx'."
)
axes = click.option("--axes", help="The laboratory's axes along which the model's lie, such as 'x z -y', for markers.")
start = click.option("--start", type=float, default=-np.inf, help="First time [s].")
end = click.option("--end", type=float, default=np.inf, help="Last time [s].")

UNCERTAIN = """A deviation, or samples, seed, level, frames, in place of its default: marker_placement=0.01,
marker_noise [m], strengths, attachments [m], inertias."""


def uncertainty_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --uncertainty and --uncertain to a command, which gets one `uncertainty` for both."""
    command = click.option("--uncertain", "uncertain", multiple=True, metavar="NAME=NUMBER", help=UNCERTAIN)(command)
    words = "Vary markers, muscles and bodies together: bands and shares beside OUTPUT, and in the report."
    return click.option("--uncertainty", is_flag=True, help=words)(command)


class Uncertainty:
    """What the two options ask for; `studies` and matplotlib are imported when they ask for something."""

    def __init__(self, wanted: bool, changes: Sequence[str]) -> None:
        if changes and not wanted:
            raise click.BadParameter("--uncertain changes what --uncertainty varies; give both")
        self.inputs = self._page.inputs_named(changes) if wanted else None

    @property
    def _page(self) -> Any:
        return importlib.import_module("myoquat.apps.drawing")

    @property
    def studies(self) -> Any:
        """The package with the functions."""
        return importlib.import_module("myoquat.analysis.studies")

    def sections(self, found: Any, output: Path, overwrite: bool) -> list[Section | Numbers | Drawn]:
        """Store the tables, and return the sections of the report."""
        self._page.store(found, output, overwrite)
        shown: list[Section | Numbers | Drawn] = self._page.uncertain_sections(found, self.inputs)
        return shown
