"""`myoquat track`."""

import sys
from typing import Any

import click

from myoquat.analysis.control import TRANSCRIPTIONS, Effort, Ipopt, Problem, Progress, TrackPose, TrackSpeeds
from myoquat.analysis.motion import load_forces, smooth
from myoquat.apps.commands import options
from myoquat.data import load_model


def _show(progress: Progress) -> None:
    """One line on the terminal that is written over."""
    click.echo(f"\r{progress!s:<100}", err=True, nl=False)


@options.command("track")
@options.model
@click.argument("motion", type=options.FILE)
@click.argument("output", type=options.MOTION)
@options.external_loads
@options.option("--start", float, "First time [s]; by default MOTION's.")
@options.option("--end", float, "Last time [s].")
@options.cutoff
@options.option("--intervals", 50, "Intervals of equal length.")
@click.option(
    "--transcription", type=click.Choice(list(TRANSCRIPTIONS)), default="hermite_simpson",
    help="How the motion becomes finitely many unknowns.",
)  # fmt: skip
@options.option("--pose", 10.0, "Weight of the pose [1/rad^2, 1/m^2].")
@options.option("--speeds", 10.0, "Weight of the velocities.")
@options.option("--effort", 0.001, "Weight of the squared controls.")
@options.option("--reserves", 100.0, "Torque or force of a control of 1; 0 for none.")
@options.option("--muscles", False, "Keep the muscles; without, torques alone move the model.")
@options.option("--tolerance", 1e-06, "Tolerance of the solver.")
@options.option("--iterations", 1000, "Maximum number of iterations.")
@options.option("--controls", options.TABLE, "Store states and controls: .sto, .csv.")
@options.degrees
@options.ignore
@options.rotations_meanwhile
@options.force
def command(given: Any) -> None:
    """Find controls that move MODEL as in MOTION (.mot, .sto), and write the motion that they cause as OUTPUT (.mot).

    A terminal shows objective, violation and time of every iteration; Ctrl-C stops there. Exit code 1 if the solver did
    not converge; what was found is stored.
    """
    model = load_model(given.model, given.rotations)
    if not given.muscles:
        model = model.without_muscles()
    recorded = options.recorded(given, model)
    moving = smooth(recorded, given.cutoff, model=model)
    ends = given.start, given.end
    first, last = (float(x if end is None else end) for x, end in zip(moving.time[[0, -1]], ends, strict=True))
    problem = Problem(
        model,
        last - first,
        (
            TrackPose(moving, weight=given.pose),
            TrackSpeeds(moving, weight=given.speeds),
            Effort(weight=given.effort),
        ),
        given.intervals,
        given.transcription,
        start=first,
        torques=dict.fromkeys(model.system.velocity_names, given.reserves) if given.reserves else {},
        loads=None if given.loads is None else load_forces(given.loads),
    )
    solver = Ipopt(tolerance=given.tolerance, max_iterations=given.iterations)
    solution = problem.solve(solver=solver, watch=_show if sys.stderr.isatty() else None)
    click.echo(solution.explain())
    options.store(given, given.output, solution.motion)
    options.store(given, given.controls, solution.to_dataframe())
    options.exit_unless(solution.success)
