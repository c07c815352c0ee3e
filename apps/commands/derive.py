"""`myoquat derive`."""

from pathlib import Path
from typing import Any

import click

from myoquat.apps.commands import options
from myoquat.data import load_model
from myoquat.data.files import check_output, write_text
from myoquat.muscle import Model
from myoquat.muscle.derivation import JACOBIANS, LANGUAGES, Derivation, derive, source


@options.command("derive")
@options.model
@options.option("--jacobian", click.Choice(JACOBIANS), "Which Jacobian to derive.", required=True)
@click.option("--language", type=click.Choice(LANGUAGES), default="python")
@click.option(
    "--eliminated",
    type=click.IntRange(0, 3),
    default=0,
    help="Component that --jacobian constrained eliminates.",
)
@options.rotations
@click.option("--forces/--no-forces", default=True, help="Also derive forces and torques.")
@options.option("--output", options.Written(), "The file; its stem names the function.", required=True)
@click.option("--overwrite", "--force", "force", is_flag=True, is_eager=True, help="Replace the output if it exists.")
def command(given: Any) -> None:
    """Derive lengths, Jacobian, forces and torques of MODEL with SymPy and write them as a function file."""
    model = load_model(given.model, given.rotations)
    click.echo(f"deriving {len(model.muscles)} muscles with SymPy, some seconds each", err=True)
    found = write_derivation(
        model, path=given.output, jacobian=given.jacobian, language=given.language, eliminated=given.eliminated,
        forces=given.forces, overwrite=given.force,
    )  # fmt: skip
    click.echo(f"wrote {given.output} ({len(found.common)} common subexpressions)")


def write_derivation(
    model: Model,
    jacobian: str,
    language: str,
    path: str | Path,
    eliminated: int = 0,
    overwrite: bool = False,
    forces: bool = True,
) -> Derivation:
    """Derive and write a function file; the function is named after the file.

    forces: as for `derive`. Raises as `derive` does, ValueError for an unknown language, FileExistsError if the file
    exists and `overwrite` is False. A failed write leaves nothing behind.
    """
    path = check_output(path, overwrite)
    if language not in LANGUAGES:
        raise ValueError(f"language is one of {', '.join(LANGUAGES)}, not {language!r}")
    derivation = derive(model, jacobian, eliminated, forces)
    write_text(path, source(derivation, language, path.stem))
    return derivation
