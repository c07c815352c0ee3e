"""`myoquat reproduce`."""

from collections.abc import Sequence
from pathlib import Path

import click

from myoquat.analysis.apps.opensim_tools.report import Drawn, Numbers, check_report, summary_of, write_report
from myoquat.analysis.apps.reproduce import emg_driven_leg as leg
from myoquat.analysis.apps.reproduce.figures import force_figures, moment_figure
from myoquat.analysis.apps.reproduce.instrumented_shoulder import RULES, compare, file_states, load_trial, table_of
from myoquat.analysis.apps.reproduce.published import at_published_angles
from myoquat.analysis.recruitment import moment_posterior

__all__ = ["command"]

STUDY = "Hasan, Belli, Seth and Gutierrez-Farewik, IEEE TNSRE, 2025, 10.1109/TNSRE.2025.3635012"
LEG = "CEINMS-RT/LowerLimbModel, 10.5281/zenodo.6457662"
DRAWS = 2000  # of the posterior
SHOULDER_TRIAL, LEG_TRIAL = "lateral_raise", "walk36"


@click.command("reproduce")
@click.argument("study", type=click.Choice(["instrumented_shoulder", "emg_driven_leg"]))
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("output", type=click.Path(path_type=Path))
@click.option("--trial", help="The trial in FOLDER: lateral_raise, or walk36, on which the leg is calibrated.")
@click.option(
    "--rule", "rules", multiple=True, type=click.Choice(RULES), help="A stability rule; all if none is given."
)
@click.option(
    "--rotations",
    default="quaternion",
    show_default=True,
    help="Ball joints during the computation: 'file' or 'quaternion'.",
)
@click.option("--published/--no-published", default=True, help="Compare activations with published ones, too.")
@click.option("--force", is_flag=True, help="Replace an output file that exists.")
def command(
    study: str, folder: Path, output: Path, trial: str | None, rules: tuple[str, ...], rotations: str,
    published: bool, force: bool,
) -> None:  # fmt: skip
    """Compute a published experiment again from the files in FOLDER, and write OUTPUT (.html): tables and figures
    beside what was measured.

    instrumented_shoulder: from markers to the glenohumeral force under each stability rule, beside the force that an
    instrumented prosthesis measured. FOLDER holds model_TRIAL.osim, TRIAL.trc, published_ik_setup.xml,
    measured_force_TRIAL.txt and, with --published, published_ik_TRIAL.mot and published_activations_RULE.csv.

    emg_driven_leg: moments of ankle and knee from EMG, calibrated on one trial, cross-validated in it and predicted for
    all others, beside the published calibration. FOLDER holds gait2392_subject.osim, subjectCalibrated.xml,
    subjectUncalibrated.xml and, for each trial, NAME_emgFilt.sto, NAME_ik.sto and NAME_id.sto.
    """
    check_report(output, force)
    if study == "emg_driven_leg":
        _leg(folder, output, trial or LEG_TRIAL)
    else:
        _shoulder(folder, output, trial or SHOULDER_TRIAL, rules or RULES, rotations, published)
    click.echo(f"wrote {output}")


def _leg(folder: Path, output: Path, trial: str) -> None:
    """Calibrate on a trial, and predict all of the folder."""
    states = file_states(folder, leg.HASHES)
    names = [trial, *(name for name in leg.trial_names(folder) if name != trial)]
    data = leg.load_leg(folder, names)
    found, seconds = leg.calibrated(data, trial)
    posterior = moment_posterior(found, "hmc", samples=DRAWS)
    lines = [
        f"Study: {LEG}.",
        f"Calibrated on {trial}; {'converged' if found.converged else 'not converged'}.",
        f"Delay {found.delay * 1e3:.0f} ms; one independent error per {leg.ERROR_TIME:g} s.",
        f"Posterior: {summary_of(posterior)}.",
        "Hashes of trials other than walk36 are not known; they are taken as they are.",
        *(f"{name}: {state}" for name, state in states.items() if state != "as published"),
    ]
    for line in (*lines, f"calibrated in {seconds:.1f} s"):  # times differ from run to run, the page does not
        click.echo(line)
    tables = {
        "Cross-validation in the calibration trial: RMS differences of moments": leg.cross_validation(data, trial),
        "All trials, calibrated on the first: RMS differences of moments": leg.errors_table(data, found, posterior),
    }
    for heading, table in tables.items():
        click.echo(f"{heading}\n{table.T.to_string(float_format='{:.4g}'.format)}")
    tables["Parameters of the muscles"] = found.muscles
    tables["Posterior of the parameters, 90 %"] = posterior.table().rename(index=str)
    tables["Passive moments: offset [N m], stiffness [N m / rad], damping [N m s / rad]"] = found.passive
    sections: list[Numbers | Drawn] = [Numbers(heading, table) for heading, table in tables.items()]
    sections += [Drawn(f"Moments of {name}", moment_figure(data, name, found, posterior)) for name in names]
    write_report(output, f"EMG-driven leg: {trial}", lines, sections)


def _shoulder(folder: Path, output: Path, trial: str, names: Sequence[str], rotations: str, published: bool) -> None:
    """The forces under each rule."""
    states = file_states(folder)
    loaded = load_trial(folder, trial, rotations)
    lines = [
        f"Study: {STUDY}.",
        f"Trial {trial}: {summary_of(loaded.fit)}.",
        f"Distance of the motion from the model's constraints: {loaded.gap.max(initial=0.0):.1e} m at most.",
    ]
    lines += [f"{name}: {state}" for name, state in states.items() if state != "as published"]
    for line in lines:
        click.echo(line)
    compared = compare(loaded, names, click.echo)
    tables = {"Computed and measured force": table_of(compared)}
    if published:
        table, gap = at_published_angles(folder, loaded, names)
        lines.append(f"The published angles leave the constraint open by up to {gap * 1e3:.1f} mm.")
        tables["Activations at the published angles"] = table
    for heading, table in tables.items():
        click.echo(f"{heading}\n{table.to_string(float_format='{:.4g}'.format)}")
    sections: list[Numbers | Drawn] = [Numbers(heading, table) for heading, table in tables.items()]
    sections += map(Drawn, ("Magnitude of the force", "Parts of the force"), force_figures(loaded, compared))
    write_report(output, f"Instrumented shoulder: {trial}", lines, sections)
