"""`python -m validation STUDY FOLDER PAGE`: a published experiment from its files, beside what was measured."""

import sys
from pathlib import Path

import click

from myoquat.apps.command import run
from myoquat.apps.report import check_report
from validation.instrumented_shoulder import RULES
from validation.pages import NEEDS_NO_FOLDER, PAGES, PageOptions

STUDIES = ("instrumented_shoulder", "belli_shoulder", "emg_driven_leg", "gait", "quaternion_jacobians")


@click.command("validation", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("study", type=click.Choice(STUDIES))
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="[FOLDER] OUTPUT")
@click.option("--trial", help="A trial in FOLDER: of the shoulders one, of the leg that of the calibration.")
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
@click.option("--samples", default=1000, show_default=True, help="Of uncertain inputs, for bands; 0 for none.")
@click.option("--poses", default=10_000, show_default=True, help="Random poses of quaternion_jacobians.")
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="[TRIAL=]FILE",
    help="Of the shoulders: the model of a trial, or of all others, a file in FOLDER.",
)
@click.option("--force", is_flag=True, help="Replace an output file that exists.")
def command(
    study: str, paths: tuple[Path, ...], trial: str | None, rules: tuple[str, ...], rotations: str,
    published: bool, samples: int, poses: int, models: tuple[str, ...],
    force: bool,
) -> None:  # fmt: skip
    """Compute a published experiment again from the files in FOLDER, and write OUTPUT (.html). It has tables and
    figures beside the measurements, with bands of uncertain inputs. Its headings are those of credibility that journals
    ask for.

    instrumented_shoulder: from markers to the glenohumeral force under each stability rule, beside the force that an
    instrumented prosthesis measured. FOLDER holds model_TRIAL.osim, TRIAL.trc, published_ik_setup.xml,
    measured_force_TRIAL.txt and, with --published, published_ik_TRIAL.mot and published_activations_RULE.csv. The model
    is as its file has it; --model names another file, such as the model saved with the published solutions. The page
    says where reserves carry the motion.

    belli_shoulder: activations of shoulder motions with and without a stable joint, beside published ones. FOLDER holds
    models and, for each trial, NAME.mot and NAME.npz. The model of a trial is that of --model, or NAME.osim. Without
    these, trials numbered 2x have TSM_subject_2kgWeight.osim, those numbered 0x TSM_subject_noWeight.osim. All others
    have the only model in FOLDER.

    emg_driven_leg: moments of ankle and knee from EMG, calibrated on one trial, cross-validated in it and predicted for
    all others, beside the published calibration. FOLDER holds gait2392_subject.osim, subjectCalibrated.xml,
    subjectUncalibrated.xml and, for each trial, NAME_emgFilt.sto, NAME_ik.sto and NAME_id.sto.

    gait: reference outputs of OpenSim's tools. FOLDER, or each folder in it, holds setup files and std_NAME files.

    quaternion_jacobians: the mapping analysis as published and as corrected; without FOLDER.
    """
    folder, output = _folder_and_output(study, paths)
    check_report(output, force)
    if samples < 0 or poses < 1:
        raise click.BadParameter("--samples must not be negative, --poses must be positive")
    options = PageOptions(trial, rules or RULES, rotations, published, samples, poses, _by_trial(models), click.echo)
    PAGES[study](folder, output, options)
    click.echo(f"wrote {output}")


def _by_trial(models: tuple[str, ...]) -> dict[str, str]:
    """Files by trial, "" for all others."""
    return {name if file else "": file or name for name, _, file in (text.partition("=") for text in models)}


def _folder_and_output(study: str, paths: tuple[Path, ...]) -> tuple[Path, Path]:
    """BadParameter for another number of paths, or a folder that does not exist."""
    if study in NEEDS_NO_FOLDER and len(paths) == 1:
        return Path(), paths[0]
    if len(paths) != 2:
        raise click.BadParameter(
            f"{study} takes {'OUTPUT' if study in NEEDS_NO_FOLDER else 'FOLDER OUTPUT'}, not {len(paths)} paths"
        )
    if not paths[0].is_dir():
        raise click.BadParameter(f"the folder {paths[0]} does not exist")
    return paths[0], paths[1]


def main(arguments: list[str] | None = None) -> int | None:
    """Run the command; bad input ends with one sentence and exit code 2."""
    return run(command, "validation", arguments)


if __name__ == "__main__":
    sys.exit(main())
