"""Shared by commands that give bands: the options of uncertain inputs."""

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from myoquat.apps.report import Drawn, Numbers, Section

__all__ = ["Uncertainty", "uncertainty_options"]

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
