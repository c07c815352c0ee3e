"""`myoquat check`."""

import click
import numpy as np

from myoquat.analysis.recruitment import power_check
from myoquat.analysis.recruitment.power import random_poses
from myoquat.apps.commands import options
from myoquat.data import load_model
from myoquat.dynamics.constraints import ConstraintArrays, Constraints, constraints_of
from myoquat.muscle import Model

__all__ = ["command"]


@click.command("check")
@click.argument("model")
@click.option("--poses", default=1000, show_default=True, help="Number of random poses.")
@click.option("--seed", default=0, show_default=True, help="Seed of poses and velocities.")
@options.rotations
def command(model: str, poses: int, seed: int, rotations: str) -> None:
    """Check that the powers of MODEL's muscles balance: F l' = -tau . u, lengths against moment arms. Also check that
    random poses can be brought onto its constraints. Poses lie inside the coordinates' ranges, as far as these are
    finite and plausible, and on the constraints. The first lines say how they were drawn.

    Exit code 1 if they do not.
    """
    read = load_model(model, rotations)
    check = power_check(read, poses, seed)
    click.echo(check.to_text())
    assembled = _constraints_hold(read, poses, seed)
    if not (check.holds and assembled):
        raise click.exceptions.Exit(1)


def _constraints_hold(model: Model, poses: int, seed: int) -> bool:
    """Tell how many random poses can be brought onto the constraints; False if none can."""
    if not constraints_of(model):
        return True
    q = random_poses(model, poses, seed)
    held = ConstraintArrays(Constraints(model.system, constraints_of(model)))
    rank = int(np.linalg.matrix_rank(held.jacobian(q, 0.0)).min()) if len(q) else 0
    start = float(np.abs(held.position(model.start, 0.0)).max(initial=0.0))
    click.echo(
        f"{len(q)} of {poses} poses can be brought onto the constraints, {held.count} rows of least rank {rank} "
        f"there; the start is off by {start:.2g}."
    )
    return len(q) > 0
