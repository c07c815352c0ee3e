"""`myoquat scale`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

import click

from myoquat.analysis.motion import Measurement, estimate_scale, load_markers, scale_model
from myoquat.apps.commands import options
from myoquat.apps.opensim_tools.sections import scaling_sections
from myoquat.apps.report import check_report, summary_of, write_report
from myoquat.data import load_model
from myoquat.data.files import check_output

__all__ = ["command"]

STRETCH = "--stretch is NAME=BODY,BODY:XY,..."


class _Masses(TypedDict):
    mass: float | None
    keep_masses: bool


@click.command("scale")
@click.argument("model")
@click.argument("output", type=click.Path(path_type=Path))
@click.option("--factor", "factors", multiple=True, metavar="BODY=S", help="One factor, or three: femur_r=1.1,1,1.")
@click.option("--measure", multiple=True, metavar="A,B=BODY,...", help="The ratio of two markers scales these bodies.")
@click.option("--marker-set", type=click.Path(path_type=Path), help="A <MarkerSet> file (.xml) of markers of MODEL.")
@click.option("--markers", type=click.Path(path_type=Path), help="The static trial (.trc, .c3d) of --measure.")
@click.option("--trial", type=click.Path(path_type=Path), help="A moving trial: sizes and markers by their joints.")
@click.option("--stretch", multiple=True, metavar="NAME=BODY,...", help="A factor of --trial, of BODY or BODY:XY.")
@click.option("--noise", default=0.003, show_default=True, help="Standard deviation of the markers of --trial [m].")
@click.option(
    "--priors",
    default=(0.1, 0.01),
    nargs=2,
    type=float,
    show_default=True,
    help="Standard deviations of factors, and of marker positions [m], before --trial.",
)
@options.axes
@click.option("--mass", type=float, help="Mass of the person [kg].")
@click.option("--keep-masses", is_flag=True, help="Masses keep their proportions, whatever the sizes.")
@click.option(
    "--report", type=click.Path(path_type=Path), help="Show sizes, masses, errors of markers, the model: .html."
)
@options.force
def command(
    model: str, output: Path, factors: tuple[str, ...], measure: tuple[str, ...], marker_set: Path | None,
    markers: Path | None, trial: Path | None, stretch: tuple[str, ...], noise: float, priors: tuple[float, float],
    axes: str | None, mass: float | None, keep_masses: bool, report: Path | None, force: bool,
) -> None:  # fmt: skip
    """Scale MODEL to a person and write it as OUTPUT (.osim, .toml).

    With --trial, what --factor and --measure give is where the estimate from the moving trial starts; exit code 1 if it
    did not converge. What was found is stored.
    """
    check_output(output, force)
    check_report(report, force)
    static = None if markers is None else load_markers(markers, axes)
    measurements = [_measurement(text) for text in measure]
    given = {name: [float(x) for x in words] if len(words) > 1 else float(words[0])
             for name, words in (_split(text, "--factor is BODY=S or BODY=SX,SY,SZ") for text in factors)}  # fmt: skip
    masses: _Masses = {"mass": mass, "keep_masses": keep_masses}
    generic = load_model(model, marker_set=marker_set)
    person, converged = scale_model(generic, static, measurements, factors=given, **masses), True
    if trial is not None:
        wanted = {name: _axes_by_body(bodies) for name, bodies in (_split(text, STRETCH) for text in stretch)} or None
        found = estimate_scale(person, load_markers(trial, axes), wanted, noise=noise, factor_deviation=priors[0],
                               offset_deviation=priors[1], **masses)  # fmt: skip
        click.echo(f"{summary_of(found)}\n{found.to_dataframe().to_string(float_format='%.4g')}")
        person, converged = found.model, found.converged
    person.save(output, overwrite=force)
    total = sum(body.mass for body in person.system.bodies)
    click.echo(f"{total:.6g} kg; wrote {output}")
    if report is not None:
        write_report(
            report, f"Scaling of {generic.name}", [f"{total:.6g} kg"], scaling_sections(generic, person, static)
        )
        click.echo(f"wrote {report}")
    if not converged:
        raise click.exceptions.Exit(1)


def _axes_by_body(words: Sequence[str]) -> dict[str, str]:
    """The axes by body of BODY or BODY:AXES, all of them where none are said."""
    pairs = [word.partition(":") for word in words]
    return {body: axes or "XYZ" for body, _, axes in pairs}


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
