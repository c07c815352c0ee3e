"""`myoquat convert`."""

import warnings
from pathlib import Path

import click

from myoquat.apps.commands import options
from myoquat.data import MODEL_FORMATS, load_model
from myoquat.data.files import check_output

__all__ = ["command"]

FORMATS = tuple(suffix for suffix, row in MODEL_FORMATS.items() if row.writes)


@click.command("convert")
@click.argument("model")
@click.argument("output", type=click.Path(path_type=Path))
@options.rotations
@click.option("--strict", is_flag=True, help="Fail if the output format lacks an element, instead of reporting it.")
@options.force
def command(model: str, output: Path, rotations: str, strict: bool, force: bool) -> None:
    """Write MODEL in another file format, by the suffix of OUTPUT: .toml, .osim (OpenSim), .xml (MuJoCo), and .urdf.

    Elements that the format lacks are reported: .urdf has bodies and joints, but no muscles."""
    if output.suffix.lower() not in FORMATS:
        raise click.BadParameter(f"OUTPUT must end in {', '.join(FORMATS)}, not {output.suffix or 'nothing'}")
    check_output(output, force)
    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always")
        load_model(model, rotations).save(output, strict, overwrite=force)
    for warning in messages:
        click.echo(str(warning.message))
    click.echo(f"wrote {output}")
