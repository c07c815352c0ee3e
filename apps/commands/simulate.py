"""`myoquat simulate`."""

from typing import Any

import click

from myoquat.apps.commands import options
from myoquat.core import indices_of, printable
from myoquat.data import load_model
from myoquat.dynamics import simulate
from myoquat.dynamics.simulation.results.trajectory_files import SUFFIXES

SIMULATED = ("duration", "step", "rtol", "method", "stabilization", "project_start", "output_step")


@options.command("simulate")
@options.model
@options.option("--duration", 1.0, "Seconds of motion.")
@options.option("--step", float, "Step of a fixed-step method [s]; 1e-3 by default.")
@options.option("--rtol", float, "Bound on the local error: an adaptive method.")
@options.option("--method", "rk4", "rk4, lie_rk4, semi_implicit_euler, variational, dop853, rk45, radau.")
@options.option("--stabilization", "projection", "Of |Q| = 1: projection, norm, baumgarte, none.")
@options.rotations
@options.option("--activation", float, "One activation for all muscles; by default the model's own.")
@options.option("--excitation", float, "One excitation for all muscles, where activations are states.")
@options.option("--project-start", False, "Move a start that violates the constraints onto them.")
@options.option("--output-step", float, "Seconds between rows.")
@options.option("--output", options.Written(*SUFFIXES), "Store the motion: .npz (whole), .mot, .sto or .csv.")
@options.option("--plot picture", options.PICTURE, "Draw it over time: .png, .pdf, .svg.")
@options.option(
    "--mapping jacobians",
    options.PICTURE,
    "Draw moment arms and Jacobians in all descriptions along it: .png, .pdf, .svg.",
)
@options.option("--muscle", str, "The muscle of --mapping; by default the second one.")
@options.option("--film", options.Written(), "Show bodies and muscles moving: .gif, .html, .mp4.")
@options.force
def command(given: Any) -> None:
    """Move MODEL (the name of a library model, or a file) from its start, and store and draw its motion.

    Exit code 1 if the motion stopped before its end; what was computed is stored.
    """
    if given.film is not None:
        options.imported("data.motions.figures").check_film(given.film)
    model = load_model(given.model, given.rotations)
    indices_of("muscle", [] if given.muscle is None else [given.muscle], model.muscle_names)
    if given.jacobians is not None:
        options.imported("analysis.mapping.run").Pair.of(model)  # a model without a ball joint
    wanted: dict[str, Any] = {name: getattr(given, name) for name in SIMULATED}
    for name in ("activation", "excitation"):
        value = getattr(given, name)
        wanted[name] = None if value is None else [value] * len(model.muscles)
    trajectory = simulate(model, **wanted)
    drift = abs(trajectory.norm_drift).max(initial=0.0)
    click.echo(
        f"{printable(model.name)}: {trajectory.method}, {trajectory.steps} steps to t = {trajectory.time[-1]:g} s, "
        f"{len(trajectory.time)} rows; {trajectory.reason}; largest ||Q| - 1| = {drift:.1e}"
    )

    def draw_jacobians(path: Any) -> None:
        figures = options.imported("analysis.mapping.figures")
        figures.along(model, trajectory.time, trajectory.q, given.muscle).savefig(path, dpi=150)

    for path, write in (  # each at once: a failure later does not leave this unsaid
        (given.output, trajectory),
        (given.picture, lambda path: trajectory.plot().savefig(path, dpi=150)),
        (given.jacobians, draw_jacobians),
        (given.film, lambda path: trajectory.animate(path, overwrite=given.force)),
    ):
        options.store(given, path, write)
    options.exit_unless(trajectory.complete)
