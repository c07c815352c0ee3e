"""`myoquat scale`."""

from typing import Any

import click

from myoquat.analysis.motion import Measurement, ScalePrior, estimate_scale, load_markers, scale_model
from myoquat.apps.commands import options
from myoquat.apps.opensim_tools.sections import scaling_sections
from myoquat.apps.report import summary_of
from myoquat.data import load_model


def _factor(text: str) -> float | list[float]:
    """One number, or several."""
    numbers = list(map(float, text.split(",")))
    return numbers if len(numbers) > 1 else numbers[0]


def _axes_by_body(text: str) -> dict[str, str]:
    """The axes by body of BODY or BODY:AXES, all of them where none are said."""
    pairs = [word.partition(":") for word in text.split(",")]
    return {body: axes or "XYZ" for body, _, axes in pairs}


@options.command("scale")
@options.model
@click.argument("output", type=options.Written(".osim", ".toml"))
@options.several("--factor factors", options.Named(_factor), "BODY=S", "One factor, or three: femur_r=1.1,1,1.")
@options.several("--measure", options.Named(), "A,B=BODY,...", "The ratio of two markers scales these bodies.")
@options.option("--marker-set", options.FILE, "A <MarkerSet> file (.xml) of markers of MODEL.")
@options.option("--markers", options.FILE, "The static trial (.trc, .c3d) of --measure.")
@options.option("--trial", options.FILE, "A moving trial: sizes and markers by their joints.")
@options.several("--stretch", options.Named(_axes_by_body), "NAME=BODY,...", "A factor of --trial, of BODY or BODY:XY.")
@options.option("--noise", 0.003, "Standard deviation of the markers of --trial [m].")
@click.option(
    "--priors",
    default=(0.1, 0.01),
    nargs=2,
    type=float,
    help="Standard deviations of factors, and of marker positions [m], before --trial.",
)
@options.axes
@options.option("--mass", float, "Mass of the person [kg].")
@options.option("--keep-masses", False, "Masses keep their proportions, whatever the sizes.")
@options.page("Show sizes, masses, errors of markers, the model")
@options.force
def command(given: Any) -> None:
    """Scale MODEL to a person and write it as OUTPUT (.osim, .toml).

    With --trial, what --factor and --measure give is where the estimate from the moving trial starts; exit code 1 if it
    did not converge. What was found is stored.
    """
    static = None if given.markers is None else load_markers(given.markers, given.axes)
    measurements = []
    for pair, bodies in given.measure:
        names = pair.split(",")
        if len(names) != 2:
            raise click.BadParameter(f"--measure needs two markers before '=', not {pair!r}")
        axes = dict.fromkeys(bodies.split(","), "XYZ")
        measurements.append(Measurement(f"{pair}={bodies}", ((names[0], names[1]),), axes))
    masses: dict[str, Any] = {"mass": given.mass, "keep_masses": given.keep_masses}
    generic = load_model(given.model, marker_set=given.marker_set)
    person, converged = scale_model(generic, static, measurements, factors=dict(given.factors), **masses), True
    if given.trial is not None:
        prior = ScalePrior(given.noise, {}, *given.priors)
        trial = load_markers(given.trial, given.axes)
        found = estimate_scale(person, trial, dict(given.stretch) or None, prior=prior, **masses)
        click.echo(f"{summary_of(found)}\n{found.to_dataframe().to_string(float_format='%.4g')}")
        person, converged = found.model, found.converged
    total = f"{sum(body.mass for body in person.system.bodies):.6g} kg"
    click.echo(total)
    options.store(given, given.output, person)
    options.store_page(given, f"Scaling of {generic.name}", [total], lambda: scaling_sections(generic, person, static))
    options.exit_unless(converged)
