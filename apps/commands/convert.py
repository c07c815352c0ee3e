"""`myoquat convert`."""

import warnings
from pathlib import Path

import click

from myoquat.apps.commands import options
from myoquat.data import MODEL_FORMATS, load_model, load_motion
from myoquat.data.files import check_output

__all__ = ["command"]

MOTIONS = (".bvh", ".mot", ".sto")
FORMATS = tuple(suffix for suffix, row in MODEL_FORMATS.items() if row.writes)


@click.command("convert")
@click.argument("model")
@click.argument("output", type=click.Path(path_type=Path))
@options.rotations
@click.option(
    "--motion", type=click.Path(path_type=Path), help="Write this motion of MODEL (.mot, .sto) as .bvh, .mot or .sto."
)
@click.option("--strict", is_flag=True, help="Fail if the output format lacks an element, instead of reporting it.")
@options.force
def command(model: str, output: Path, rotations: str, motion: Path | None, strict: bool, force: bool) -> None:
    """Write MODEL in another file format, by the suffix of OUTPUT: .toml, .osim (OpenSim), .xml (MuJoCo), and .urdf.

    Elements that the format lacks are reported: .urdf has bodies and joints, but no muscles. With --motion, write that
    motion instead: a .bvh file has the skeleton, and programs for animation read it."""
    if motion is not None:
        if output.suffix.lower() not in MOTIONS:
            raise click.BadParameter(f"with --motion, OUTPUT must end in {', '.join(MOTIONS)}")
        check_output(output, force)
        loaded = load_model(model, rotations)
        load_motion(motion, loaded, start=loaded.start).save(output, overwrite=force)
        click.echo(f"wrote {output}")
        return
    if output.suffix.lower() not in FORMATS:
        raise click.BadParameter(f"OUTPUT must end in {', '.join(FORMATS)}, not {output.suffix or 'nothing'}")
    check_output(output, force)
    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always")
        loaded = load_model(model, rotations)
        loaded.save(output, strict, overwrite=force)
    for line in [str(warning.message) for warning in messages] + [f"left out: {line}" for line in loaded.left_out]:
        click.echo(line)
    click.echo(f"wrote {output}")
