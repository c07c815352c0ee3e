"""`myoquat track`."""

import sys
from dataclasses import replace
from pathlib import Path

import click

from myoquat.analysis.control import TRANSCRIPTIONS, Effort, Ipopt, Problem, Progress, TrackPose, TrackSpeeds
from myoquat.analysis.motion import load_forces, load_motion, smooth
from myoquat.apps.commands import options
from myoquat.data import load_model, save_table
from myoquat.data.files import check_output

__all__ = ["command"]


def _show(progress: Progress) -> None:
    """One line on the terminal that is written over."""
    click.echo(f"\r{progress!s:<100}", err=True, nl=False)


@click.command("track")
@click.argument("model")
@click.argument("motion", type=click.Path(path_type=Path))
@click.argument("output", type=click.Path(path_type=Path))
@options.external_loads
@click.option("--start", type=float, help="First time [s]; by default MOTION's.")
@click.option("--end", type=float, help="Last time [s].")
@options.cutoff
@click.option("--intervals", default=50, show_default=True, help="Intervals of equal length.")
@click.option(
    "--transcription", type=click.Choice(list(TRANSCRIPTIONS)), default="hermite_simpson", show_default=True,
    help="How the motion becomes finitely many unknowns.",
)  # fmt: skip
@click.option("--pose", default=10.0, show_default=True, help="Weight of the pose [1/rad^2, 1/m^2].")
@click.option("--speeds", default=10.0, show_default=True, help="Weight of the velocities.")
@click.option("--effort", default=1e-3, show_default=True, help="Weight of the squared controls.")
@click.option("--reserves", default=100.0, show_default=True, help="Torque or force of a control of 1; 0 for none.")
@click.option("--muscles", is_flag=True, help="Keep the muscles; without, torques alone move the model.")
@click.option("--tolerance", default=1e-6, show_default=True, help="Tolerance of the solver.")
@click.option("--iterations", default=1000, show_default=True, help="Maximum number of iterations.")
@click.option("--controls", type=click.Path(path_type=Path), help="Store states and controls: .sto, .csv.")
@options.degrees
@options.ignore
@options.rotations_meanwhile
@options.force
def command(
    model: str, motion: Path, output: Path, loads: Path | None, start: float | None, end: float | None, cutoff: float,
    intervals: int, transcription: str, pose: float, speeds: float, effort: float, reserves: float, muscles: bool,
    tolerance: float, iterations: int, controls: Path | None, degrees: bool | None, ignore: tuple[str, ...],
    rotations: str, force: bool,
) -> None:  # fmt: skip
    """Find controls that move MODEL as in MOTION (.mot, .sto), and write the motion that they cause as OUTPUT (.mot).

    A terminal shows objective, violation and time of every iteration; Ctrl-C stops there. Exit code 1 if the solver did
    not converge; what was found is stored.
    """
    for path in (output, controls):
        if path is not None:
            check_output(path, force)
    loaded = load_model(model, rotations)
    acting = loaded if muscles else replace(loaded, muscles=(), groups=(), inputs=())
    recorded = load_motion(motion, acting, in_degrees=degrees, start=acting.start, ignore=ignore)
    moving = smooth(recorded, None if cutoff < 0 else cutoff, model=acting)
    first, last = (x if given is None else given for x, given in ((moving.time[0], start), (moving.time[-1], end)))
    torques = dict.fromkeys(acting.system.velocity_names, reserves) if reserves else {}
    goals = TrackPose(moving, weight=pose), TrackSpeeds(moving, weight=speeds), Effort(weight=effort)
    problem = Problem(
        acting, float(last - first), goals, intervals, transcription, start=float(first), torques=torques,
        loads=None if loads is None else load_forces(loads),
    )  # fmt: skip
    solver = Ipopt(tolerance=tolerance, max_iterations=iterations)
    solution = problem.solve(solver=solver, watch=_show if sys.stderr.isatty() else None)
    click.echo(solution.explain())
    solution.motion.save(output, overwrite=force)
    click.echo(f"wrote {output}")
    if controls is not None:
        save_table(solution.to_dataframe(), controls, overwrite=force)
        click.echo(f"wrote {controls}")
    if not solution.success:
        raise click.exceptions.Exit(1)
