"""`myoquat mapping`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from myoquat.analysis.mapping import MappingReport, mapping_analysis
from myoquat.apps.commands import options
from myoquat.apps.report import Drawn, Numbers, Said, Shown, write_report
from myoquat.core import indices_of
from myoquat.data import load_model
from myoquat.data.files import write_text


@options.command("mapping")
@options.model
@options.option("--samples", 10000, "Number of random poses.")
@options.option("--seed", 0, "Seed of poses, strengths and activations.")
@options.rotations
@options.option("--json json_file", options.Written(), "Write all tables to this file.")
@options.option(
    "--figures folder",
    click.Path(path_type=Path),
    "Draw the figures into this folder; 'figures' with --muscle or --format.",
)
@options.option("--muscle", str, "The muscle of the figures; by default the second one.")
@options.option("--format suffix", ("png", "pdf", "svg"))
@options.page("Show all of it")
@options.force
def command(given: Any) -> None:
    """Compare all mappings between the muscle Jacobians of MODEL (the name of a library model, or a file).

    Exit code 1 if a mapping that should hold does not.
    """
    folder, suffix = given.folder, given.suffix
    if folder is given.report is None and (given.muscle is not None or suffix != "png"):
        folder = Path("figures")
    model = load_model(given.model, given.rotations)
    indices_of("muscle", [] if given.muscle is None else [given.muscle], model.muscle_names)
    # matplotlib takes half a second to import: only for those who want figures
    figures: Any = None if folder is given.report is None else options.imported("analysis.mapping.figures")
    if folder is not None:
        figures.check_folder(folder, given.force, suffix)
    report = mapping_analysis(model, given.samples, given.seed, progress=None)
    click.echo(report.to_text())
    options.store(given, given.json_file, lambda path: write_text(path, report.to_json()))
    if figures is not None:
        drawn = figures.draw_figures(model, report, given.muscle)
        for path in () if folder is None else figures.save_figures(drawn, folder, suffix, overwrite=given.force):
            click.echo(f"wrote {path}")
        options.store(given, given.report, lambda path: _write_page(path, report, drawn))
    options.exit_unless(report.holds)


SHOWN = {
    "unit": "unit",
    "signed sum": "sum with signs",
    "max |error|": "largest error",
    "per condition": "over scale and condition",
    "poses beyond": "poses beyond the limit",
    "tolerance": "limit",
}
PUBLISHED = """The study maps each Jacobian into another one and prints the sum of the errors with their signs, in which
errors of both signs cancel. The largest error therefore stands beside it, and that error over the largest entry of the
muscle times the condition number of the map, which the limit bounds. J_Q does not come back from J or J_phi; the next
section says why."""
RADIAL = """J_Q depends on how R(Q) is continued off the unit sphere, and its radial part J_Q Q is lost in J:
J_Q = 2 J G + (J_Q Q) Q^T. Both give the same torques, since G Q = 0. The table has the largest radial part, and the
error of that identity for three continuations."""
REMEDY = """The tangent part of J_Q comes back from J. J_Q of lengths of the normalized quaternion has no other part.
J*_Q has no singularity where the largest component of each pose is the one eliminated."""
POWER = "Torques by three routes give the power -F dl/dt of every muscle."
SINGULAR = """The relative error of J, mapped from J_phi near gimbal lock and from J*_Q near Q0 = 0, grows with the
condition number. At the same poses it does not where the largest component is eliminated."""
ALONG = ("Moment arms, from Euler angles and quaternions", "J_Q along the motion", "J*_Q along the motion")


def _write_page(path: Path, report: MappingReport, figures: Mapping[str, Any]) -> None:
    """The published and the corrected analysis as one page."""
    table = report.mappings.set_index("mapping")
    studied = table["in the study"]
    published = table[studied].assign(expected=table["should hold"].map({True: "yes", False: "no"}))
    split = report.split.set_index("extension of R(Q)")[["largest |J_Q Q|", "max |error|", "poses beyond", "tolerance"]]
    *along, beside = figures.values()
    summary = [
        f"{report.n} random poses, seed {report.seed}",
        "All mappings that should hold do." if report.holds else "SOME MAPPINGS THAT SHOULD HOLD DO NOT.",
        "J = dl/d(rotation), J_Q = dl/dQ, J*_Q = dl/dQ* (Q0 eliminated) and J_phi = dl/dphi are four separate "
        "differentiations of the muscle lengths l.",
    ]
    sections: list[Shown] = [
        Said("The published analysis", (PUBLISHED,)),
        Numbers("Mappings of the study", published[[*SHOWN, "expected"]].rename(columns=SHOWN)),
        *(Drawn(heading, figure) for heading, figure in zip(ALONG, along, strict=True)),
        Said("Why J_Q does not come back", (RADIAL,)),
        Numbers("Radial part of J_Q", split),
        Said("The corrected analysis", (REMEDY,)),
        Numbers("Every Jacobian against J", table[~studied][list(SHOWN)].rename(columns=SHOWN)),
        Said("Power of the muscles", (POWER,)),
        Numbers(
            "Torque times angular velocity against the power",
            report.power.set_index("torque")[list(SHOWN)].rename(columns=SHOWN),
        ),
        Drawn("Errors beside the singularities", beside, SINGULAR),
    ]
    write_report(path, f"Muscle Jacobians of {report.model}", summary, sections)
