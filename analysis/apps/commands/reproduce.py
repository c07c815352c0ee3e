"""`myoquat reproduce`."""

from pathlib import Path

import click

from myoquat.analysis.apps.opensim_tools.report import Drawn, Numbers, check_report, told, write_report
from myoquat.analysis.apps.reproduce.figures import force_figures
from myoquat.analysis.apps.reproduce.instrumented_shoulder import RULES, compare, file_states, load_trial, table_of
from myoquat.analysis.apps.reproduce.published import at_published_angles

__all__ = ["command"]

STUDY = "Hasan, Belli, Seth and Gutierrez-Farewik, IEEE TNSRE, 2025, 10.1109/TNSRE.2025.3635012"


@click.command("reproduce")
@click.argument("study", type=click.Choice(["instrumented_shoulder"]))
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("output", type=click.Path(path_type=Path))
@click.option("--trial", default="lateral_raise", show_default=True, help="The trial whose files are in FOLDER.")
@click.option(
    "--rule", "rules", multiple=True, type=click.Choice(RULES), help="A stability rule; all if none is given."
)
@click.option("--rotations", default="quaternion", show_default=True, help="Ball joints meanwhile: file, quaternion.")
@click.option("--published/--no-published", default=True, help="Compare activations with published ones, too.")
@click.option("--force", is_flag=True, help="Replace an output file that exists.")
def command(
    study: str, folder: Path, output: Path, trial: str, rules: tuple[str, ...], rotations: str, published: bool,
    force: bool,
) -> None:  # fmt: skip
    """Compute a published experiment again from the files in FOLDER, and write OUTPUT (.html): tables and figures
    beside what was measured.

    instrumented_shoulder: from markers to the glenohumeral force under each stability rule, beside the force that an
    instrumented prosthesis measured. FOLDER holds model_TRIAL.osim, TRIAL.trc, published_ik_setup.xml,
    measured_force_TRIAL.txt and, with --published, published_ik_TRIAL.mot and published_activations_RULE.csv.
    """
    check_report(output, force)
    states = file_states(folder)
    loaded = load_trial(folder, trial, rotations)
    lines = [
        f"Study: {STUDY}.",
        f"Trial {trial}: {told(loaded.fit)}.",
        f"Distance of the motion from the model's constraints: {loaded.gap.max(initial=0.0):.1e} m at most.",
    ]
    lines += [f"{name}: {state}" for name, state in states.items() if state != "as published"]
    for line in lines:
        click.echo(line)
    names = rules or RULES
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
    click.echo(f"wrote {output}")
