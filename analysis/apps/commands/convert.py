"""`myoquat convert`."""

import warnings
from pathlib import Path

import click

from myoquat.data import MODEL_FORMATS, load_model
from myoquat.data.files import check_output

__all__ = ["command"]

FORMATS = tuple(suffix for suffix, kind in MODEL_FORMATS.items() if kind.writes)


@click.command("convert")
@click.argument("model")
@click.argument("output", type=click.Path(path_type=Path))
@click.option("--rotations", default="file", show_default=True, help="file, quaternion or a sequence as YZY.")
@click.option("--strict", is_flag=True, help="Refuse what the output cannot hold instead of telling it.")
@click.option("--force", is_flag=True, help="Replace the output if it exists.")
def command(model: str, output: Path, rotations: str, strict: bool, force: bool) -> None:
    """Write MODEL as another kind of file, by the ending of OUTPUT: .toml, .osim (OpenSim), .xml (MuJoCo), and .urdf.

    What the file cannot hold is told: of a model with muscles, .urdf holds the bodies and joints alone."""
    if output.suffix.lower() not in FORMATS:
        raise click.BadParameter(f"OUTPUT must end in {', '.join(FORMATS)}, not {output.suffix or 'nothing'}")
    check_output(output, force)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        load_model(model, rotations).save(output, strict, overwrite=force)
    for warning in told:
        click.echo(str(warning.message))
    click.echo(f"wrote {output}")
