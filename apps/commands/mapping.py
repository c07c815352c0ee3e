"""`myoquat mapping`."""

import importlib
from pathlib import Path

import click

from myoquat.analysis.mapping import mapping_analysis
from myoquat.apps.commands import options
from myoquat.data import load_model
from myoquat.data.files import check_output, write_text

__all__ = ["command"]


@click.command("mapping")
@click.argument("model")
@click.option("--samples", default=10_000, show_default=True, help="Number of random poses.")
@click.option("--seed", default=0, show_default=True, help="Seed of poses, strengths and activations.")
@options.rotations
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write all tables to this file.")
@click.option(
    "--figures",
    "folder",
    type=click.Path(path_type=Path),
    help="Draw the figures into this folder; 'figures' with --muscle or --format.",
)
@click.option("--muscle", help="The muscle of the figures; by default the second one.")
@click.option("--format", "suffix", type=click.Choice(["png", "pdf", "svg"]), default="png", show_default=True)
@options.force
def command(
    model: str, samples: int, seed: int, rotations: str, json_file: Path | None, folder: Path | None,
    muscle: str | None, suffix: str, force: bool,
) -> None:  # fmt: skip
    """Compare all mappings between the muscle Jacobians of MODEL (the name of a library model, or a file).

    Exit code 1 if a mapping that should hold does not.
    """
    if folder is None and (muscle is not None or suffix != "png"):
        folder = Path("figures")
    loaded = load_model(model, rotations)
    if muscle is not None and muscle not in loaded.muscle_names:
        raise click.BadParameter(f"--muscle is one of {', '.join(loaded.muscle_names)}, not {muscle!r}")
    if json_file is not None:
        check_output(json_file, force)
    # matplotlib takes half a second to import: only for those who want figures
    figures = importlib.import_module("myoquat.analysis.mapping.figures") if folder is not None else None
    if figures is not None and folder is not None:
        figures.check_folder(folder, force, suffix)
    report = mapping_analysis(loaded, samples, seed, progress=None)
    click.echo(report.to_text())
    if json_file is not None:
        write_text(json_file, report.to_json())
        click.echo(f"wrote {json_file}")
    if figures is not None and folder is not None:
        for path in figures.save_figures(loaded, report, folder, muscle, suffix, overwrite=force):
            click.echo(f"wrote {path}")
    if not report.holds:
        raise click.exceptions.Exit(1)
