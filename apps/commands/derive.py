"""`myoquat derive`."""

from pathlib import Path
from typing import Any

import click

from myoquat.apps.commands import options
from myoquat.data import load_model
from myoquat.data.derivation import write_derivation
from myoquat.muscle.derivation import JACOBIANS, LANGUAGES

__all__ = ["command"]


@click.command("derive")
@click.argument("model")
@click.option("--jacobian", type=click.Choice(JACOBIANS), required=True, help="Which Jacobian to derive.")
@click.option("--language", type=click.Choice(LANGUAGES), default="python", show_default=True)
@click.option(
    "--eliminated",
    type=click.IntRange(0, 3),
    default=0,
    show_default=True,
    help="Component that --jacobian constrained eliminates.",
)
@options.rotations
@click.option("--forces/--no-forces", default=True, show_default=True, help="Also derive forces and torques.")
@click.option("--output", type=click.Path(path_type=Path), required=True, help="The file; its stem names the function.")
@click.option("--overwrite", "--force", is_flag=True, help="Replace the output if it exists.")
def command(model: str, rotations: str, output: Path, **options: Any) -> None:
    """Derive lengths, Jacobian, forces and torques of MODEL with SymPy and write them as a function file."""
    loaded = load_model(model, rotations)
    click.echo(f"deriving {len(loaded.muscles)} muscles with SymPy, some seconds each", err=True)
    derivation = write_derivation(loaded, path=output, **options)
    click.echo(f"wrote {output} ({len(derivation.common)} common subexpressions)")
