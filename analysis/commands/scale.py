"""`myoquat scale`."""

from collections.abc import Sequence
from pathlib import Path

import click

from myoquat.analysis.motion import Measurement, load_markers, scale_model
from myoquat.data import load_model
from myoquat.data.files import check_output

__all__ = ["command"]


@click.command("scale")
@click.argument("model")
@click.argument("output", type=click.Path(path_type=Path))
@click.option("--factor", "factors", multiple=True, metavar="BODY=S", help="One factor, or three: femur_r=1.1,1,1.")
@click.option("--measure", multiple=True, metavar="A,B=BODY,...", help="The ratio of two markers scales these bodies.")
@click.option("--markers", type=click.Path(path_type=Path), help="The static trial (.trc, .c3d) of --measure.")
@click.option("--axes", help="The laboratory's axes along which the model's lie, such as 'x z -y'.")
@click.option("--mass", type=float, help="Mass of the person [kg].")
@click.option("--keep-masses", is_flag=True, help="Masses keep their proportions, whatever the sizes.")
@click.option("--force", is_flag=True, help="Replace the output if it exists.")
def command(
    model: str, output: Path, factors: tuple[str, ...], measure: tuple[str, ...], markers: Path | None,
    axes: str | None, mass: float | None, keep_masses: bool, force: bool,
) -> None:  # fmt: skip
    """Scale MODEL to a person and write it as OUTPUT (.osim, .toml)."""
    check_output(output, force)
    trial = None if markers is None else load_markers(markers, axes)
    measurements = [_measurement(text) for text in measure]
    given = {name: [float(x) for x in words] if len(words) > 1 else float(words[0])
             for name, words in (_split(text, "--factor is BODY=S or BODY=SX,SY,SZ") for text in factors)}  # fmt: skip
    person = scale_model(load_model(model), trial, measurements, factors=given, mass=mass, keep_masses=keep_masses)
    person.save(output, overwrite=force)
    click.echo(f"{sum(body.mass for body in person.system.bodies):.6g} kg; wrote {output}")


def _measurement(text: str) -> Measurement:
    pair, bodies = _split(text, "--measure is MARKER,MARKER=BODY,BODY,...")
    names = pair.split(",")
    if len(names) != 2:
        raise click.BadParameter(f"--measure needs two markers before '=', not {pair!r}")
    return Measurement(text, ((names[0], names[1]),), dict.fromkeys(bodies, "XYZ"))


def _split(text: str, rule: str) -> tuple[str, Sequence[str]]:
    name, equals, rest = text.partition("=")
    if not equals or not name or not rest:
        raise click.BadParameter(f"{rule}, not {text!r}")
    return name, rest.split(",")
