"""`myoquat check`."""

import click
import numpy as np

from myoquat.analysis.muscles import power_check
from myoquat.analysis.muscles.power import random_poses
from myoquat.data import load_model
from myoquat.dynamics.constraints import ConstraintArrays, Constraints, assemble, constraints_of
from myoquat.muscle import Model

__all__ = ["command"]


@click.command("check")
@click.argument("model")
@click.option("--poses", default=1000, show_default=True, help="Number of random poses.")
@click.option("--seed", default=0, show_default=True, help="Seed of poses and velocities.")
@click.option("--rotations", default="file", show_default=True, help="file, quaternion or a sequence as YZY.")
def command(model: str, poses: int, seed: int, rotations: str) -> None:
    """Check that the powers of MODEL's muscles balance: F l' = -tau . u, lengths against moment arms, and that random
    poses can be brought onto its constraints.

    Exit code 1 if they do not.
    """
    if poses < 1:
        raise click.BadParameter(f"--poses must be positive, not {poses}")
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
    q = assemble(model, random_poses(model, poses, seed), strict=False)
    good = np.isfinite(q).all(axis=-1)
    held = ConstraintArrays(Constraints(model.system, constraints_of(model)))
    A = held.jacobian(q[good], 0.0)
    rank = int(np.linalg.matrix_rank(A).min()) if good.any() else 0
    start = float(np.abs(held.position(model.start, 0.0)).max(initial=0.0))
    click.echo(
        f"{good.sum()} of {poses} poses can be brought onto the constraints, {held.count} rows of least rank {rank} "
        f"there; the start is off by {start:.2g}."
    )
    return bool(good.any())
