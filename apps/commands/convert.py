"""`myoquat convert`."""

import warnings
from typing import Any

import click

from myoquat.apps.commands import options
from myoquat.data import MODEL_FORMATS, load_model

MOTIONS = (".bvh", ".mot", ".sto")
FORMATS = tuple(MODEL_FORMATS)


@options.command("convert")
@options.model
@click.argument("output", type=options.Written())
@options.rotations
@options.degrees
@options.ignore
@options.option("--motion", options.FILE, "Write this motion of MODEL (.mot, .sto) as .bvh, .mot or .sto.")
@options.option("--strict", False, "Fail if the output format lacks an element, instead of reporting it.")
@options.force
def command(given: Any) -> None:
    """Write MODEL in another file format, by the suffix of OUTPUT: .toml, .osim (OpenSim), .xml (MuJoCo), and .urdf.

    Elements that the format lacks are reported: .urdf has bodies and joints, but no muscles. With --motion, write that
    motion instead: a .bvh file has the skeleton, and programs for animation read it."""
    suffix = given.output.suffix.lower()
    words, known = ("OUTPUT", FORMATS) if given.motion is None else ("with --motion, OUTPUT", MOTIONS)
    if suffix not in known:
        hint = "; --motion FILE writes one" if suffix in MOTIONS else ""
        raise click.BadParameter(f"{words} must end in {', '.join(known)}, not {suffix or 'nothing'}{hint}")
    if given.motion is not None:
        model = load_model(given.model, given.rotations)
        motion = options.recorded(given, model)
        options.store(given, given.output, motion)
        return
    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always")
        model = load_model(given.model, given.rotations)
        model.save(given.output, given.strict, overwrite=given.force)
    for line in [str(warning.message) for warning in messages] + [f"left out: {line}" for line in model.left_out]:
        click.echo(line)
    click.echo(f"wrote {given.output}")
