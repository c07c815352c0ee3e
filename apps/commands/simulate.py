"""`myoquat simulate`."""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from myoquat.apps.commands import options
from myoquat.core.labels import printable
from myoquat.data import load_model
from myoquat.data.files import check_output
from myoquat.dynamics import simulate
from myoquat.dynamics.integrators import FIXED_STEP
from myoquat.dynamics.simulation.methods import ADAPTIVE
from myoquat.dynamics.simulation.results.trajectory_files import SUFFIXES

__all__ = ["command"]

METHODS = f"{', '.join((*FIXED_STEP, *ADAPTIVE))}."


@click.command("simulate")
@click.argument("model")
@click.option("--duration", default=1.0, show_default=True, help="Seconds of motion.")
@click.option("--step", type=float, help="Step of a fixed-step method [s]; 1e-3 by default.")
@click.option("--rtol", type=float, help="Bound on the local error: an adaptive method.")
@click.option(
    "--method",
    default="rk4",
    show_default=True,
    help="rk4, lie_rk4, semi_implicit_euler, variational, dop853, rk45, radau.",
)
@click.option(
    "--stabilization", default="projection", show_default=True, help="Of |Q| = 1: projection, norm, baumgarte, none."
)
@options.rotations
@click.option("--activation", type=float, help="One activation for all muscles; by default the model's own.")
@click.option("--excitation", type=float, help="One excitation for all muscles, where activations are states.")
@click.option("--project-start", is_flag=True, help="Move a start that violates the constraints onto them.")
@click.option("--output-step", type=float, help="Seconds between rows.")
@click.option("--output", type=click.Path(path_type=Path), help="Store the motion: .npz (whole), .mot, .sto or .csv.")
@click.option("--plot", "picture", type=click.Path(path_type=Path), help="Draw it over time: .png, .pdf, .svg.")
@click.option(
    "--mapping",
    "jacobians",
    type=click.Path(path_type=Path),
    help="Draw moment arms and Jacobians in all descriptions along it: .png, .pdf, .svg.",
)
@click.option("--muscle", help="The muscle of --mapping; by default the second one.")
@click.option("--film", type=click.Path(path_type=Path), help="Show bodies and muscles moving: .gif, .html, .mp4.")
@options.force
def command(
    model: str, output: Path | None, picture: Path | None, film: Path | None, force: bool, rotations: str,
    activation: float | None, excitation: float | None, jacobians: Path | None, muscle: str | None, **options: Any,
) -> None:  # fmt: skip
    """Move MODEL (the name of a library model, or a file) from its start, and store and draw its motion.

    Exit code 1 if the motion stopped before its end; what was computed is stored.
    """
    for path in (output, picture, jacobians, film):
        if path is not None:
            check_output(path, force)
    if film is not None:
        importlib.import_module("myoquat.data.motions.figures").check_film(film)
    if output is not None and output.suffix.lower() not in SUFFIXES:
        raise click.BadParameter(f"--output ends in {', '.join(SUFFIXES)}, not {output.suffix!r}")
    loaded = load_model(model, rotations)
    if muscle is not None and muscle not in loaded.muscle_names:
        raise click.BadParameter(f"--muscle is one of {', '.join(loaded.muscle_names)}, not {muscle!r}")
    chosen = min(1, len(loaded.muscles) - 1) if muscle is None else loaded.muscle_names.index(muscle)
    if jacobians is not None:
        importlib.import_module("myoquat.analysis.mapping.formulas").Pair.of(loaded)  # a model without a ball joint
    for name, value in (("activation", activation), ("excitation", excitation)):
        options[name] = None if value is None else [value] * len(loaded.muscles)
    trajectory = simulate(loaded, **options)
    click.echo(_summary(trajectory))

    def draw_jacobians(path: Path) -> None:
        figures = importlib.import_module("myoquat.analysis.mapping.figures")  # matplotlib, for those who want figures
        figures.along(loaded, trajectory.time, trajectory.q, chosen).savefig(path, dpi=150)

    wanted: tuple[tuple[Path | None, Callable[[Path], Any]], ...] = (
        (output, lambda path: trajectory.save(path, overwrite=force)),
        (picture, lambda path: trajectory.plot().savefig(path, dpi=150)),
        (jacobians, draw_jacobians),
        (film, lambda path: trajectory.animate(path, overwrite=force)),
    )
    for path, write in wanted:
        if path is not None:
            write(path)
            click.echo(f"wrote {path}")  # each at once: a failure later does not leave this unsaid
    if not trajectory.complete:
        raise click.exceptions.Exit(1)


def _summary(trajectory: Any) -> str:
    drift = abs(trajectory.norm_drift).max(initial=0.0)
    name = printable(trajectory.model.name)
    return (
        f"{name}: {trajectory.method}, {trajectory.steps} steps to t = {trajectory.time[-1]:g} s, "
        f"{len(trajectory.time)} rows; {trajectory.reason}; largest ||Q| - 1| = {drift:.1e}"
    )
