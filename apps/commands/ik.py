"""`myoquat ik`."""

from pathlib import Path

import click
import numpy as np

from myoquat.analysis.motion import FitOptions
from myoquat.apps.commands import options
from myoquat.apps.commands.options import Uncertainty, uncertainty_options
from myoquat.apps.commands.parsing import fit_markers, markers_between, named_weights
from myoquat.apps.opensim_tools.sections import angle_units, marker_errors
from myoquat.apps.report import Section, check_report, summary_of, write_report
from myoquat.data import load_model
from myoquat.data.files import check_output

__all__ = ["command"]


@click.command("ik")
@click.argument("model")
@click.argument("markers", type=click.Path(path_type=Path))
@click.argument("output", type=click.Path(path_type=Path))
@click.option("--weight", "weights", multiple=True, metavar="NAME=W", help="Weight of a marker; 1 by default.")
@options.axes
@options.start
@options.end
@options.rotations_meanwhile
@click.option(
    "--constraint-weight", default=np.inf, show_default=True, help="Weight of the model's constraints; infinite: exact."
)
@click.option("--errors", type=click.Path(path_type=Path), help="Store the error of every marker [m]: .csv.")
@click.option("--report", type=click.Path(path_type=Path), help="Show errors and angles: .html, one page by itself.")
@uncertainty_options
@options.force
def command(
    model: str, markers: Path, output: Path, weights: tuple[str, ...], axes: str | None, start: float, end: float,
    rotations: str, constraint_weight: float, errors: Path | None, report: Path | None, uncertainty: bool,
    uncertain: tuple[str, ...], force: bool,
) -> None:  # fmt: skip
    """Find the motion of MODEL that fits MARKERS (.trc, .c3d) and write its angles as OUTPUT (.mot, .sto).

    Exit code 1 if frames did not converge; what was found is stored. With --uncertainty the placement and the noise of
    markers are varied: OUTPUT_bands.csv and OUTPUT_shares.csv.
    """
    for path in (output, errors):
        if path is not None:
            check_output(path, force)
    check_report(report, force)
    bands, loaded = Uncertainty(uncertainty, uncertain), load_model(model, rotations)
    fit = fit_markers(loaded, markers, weights, axes, (start, end), constraint_weight)
    fit.save(output, overwrite=force)
    click.echo(f"wrote {output}")
    if errors is not None:
        fit.errors().to_csv(errors)
        click.echo(f"wrote {errors}")
    more = []
    if bands.inputs is not None:
        studies, options = bands.studies, FitOptions(constraint_weight=constraint_weight)
        steps = studies.MotionSteps(named_weights(weights), options=options)
        seen = markers_between(markers, axes, (start, end))
        more = bands.sections(studies.uncertain_angles(loaded, seen, bands.inputs, steps), output, force)
    if report is not None:
        angles = Section("Coordinates", fit.angles(in_degrees=True), units=angle_units(fit.system))
        over_time = Section("Errors of markers over time", fit.errors() * 1e3, "mm")
        title = f"Inverse kinematics of {markers.name}"
        write_report(report, title, [summary_of(fit)], [marker_errors(fit), angles, over_time, *more])
        click.echo(f"wrote {report}")
    if not (fit.converged | fit.empty).all():
        raise click.exceptions.Exit(1)
