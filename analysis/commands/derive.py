"""`myoquat derive`."""

from pathlib import Path

import click

from myoquat.analysis.derivation import write_derivation
from myoquat.data import load_model
from myoquat.muscle.derivation import JACOBIANS, LANGUAGES

__all__ = ["command"]


@click.command("derive")
@click.argument("model")
@click.option("--jacobian", type=click.Choice(JACOBIANS), required=True, help="Which Jacobian to derive.")
@click.option("--language", type=click.Choice(LANGUAGES), default="python", show_default=True)
@click.option("--eliminated", type=click.IntRange(0, 3), default=0, show_default=True, help="For constrained.")
@click.option("--rotations", default="file", show_default=True, help="file, quaternion or a sequence as YZY.")
@click.option("--output", type=click.Path(path_type=Path), required=True, help="The file; its stem names the function.")
@click.option("--force", is_flag=True, help="Replace the output if it exists.")
def command(
    model: str, jacobian: str, language: str, eliminated: int, rotations: str, output: Path, force: bool
) -> None:
    """Derive lengths, Jacobian, forces and torques of MODEL with SymPy and write them as a function file."""
    derivation = write_derivation(load_model(model, rotations), jacobian, language, output, eliminated, force)
    click.echo(f"wrote {output} ({len(derivation.common)} common subexpressions)")
