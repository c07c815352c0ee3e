"""`myoquat ik`."""

from typing import Any

import click
import numpy as np

from myoquat.apps.commands import options
from myoquat.apps.opensim_tools.sections import angle_units, marker_errors
from myoquat.apps.report import Section, summary_of
from myoquat.data import load_model

from .parsing import fit_markers, markers_between


@options.command("ik")
@options.model
@click.argument("markers", type=options.FILE)
@click.argument("output", type=options.MOTION)
@options.several("--weight weights", options.NUMBERED, "NAME=W", "Weight of a marker; 1 by default.")
@options.axes
@options.start
@options.end
@options.rotations_meanwhile
@options.option("--constraint-weight", np.inf, "Weight of the model's constraints; infinite: exact.")
@options.option("--errors", options.Written(".csv"), "Store the error of every marker [m]: .csv.")
@options.page("Show errors and angles")
@options.uncertainty
@options.force
def command(given: Any) -> None:
    """Find the motion of MODEL that fits MARKERS (.trc, .c3d) and write its angles as OUTPUT (.mot, .sto).

    Exit code 1 if frames did not converge; what was found is stored. With --uncertainty the placement and the noise of
    markers are varied: OUTPUT_bands.csv and OUTPUT_shares.csv.
    """
    model = load_model(given.model, given.rotations)
    fit = fit_markers(model, given.markers, given, given.constraint_weight)
    options.store(given, given.output, fit)
    options.store(given, given.errors, fit.errors().to_csv)

    def varied(studies: Any, inputs: Any) -> Any:
        steps = studies.MotionSteps(dict(given.weights), options={"constraint_weight": given.constraint_weight})
        return studies.uncertain_angles(model, markers_between(given.markers, given), inputs, steps)

    more = options.bands(given, varied)
    options.store_page(given, f"Inverse kinematics of {given.markers.name}", [summary_of(fit)], lambda: [
        marker_errors(fit),
        Section("Coordinates", fit.angles(in_degrees=True), units=angle_units(fit.system)),
        Section("Errors of markers over time", fit.errors() * 1e3, "mm"),
        *more,
    ])  # fmt: skip
    options.exit_unless((fit.converged | fit.empty).all())
