"""`myoquat check`."""

import click

from myoquat.analysis.muscles import power_check
from myoquat.data import load_model

__all__ = ["command"]


@click.command("check")
@click.argument("model")
@click.option("--poses", default=1000, show_default=True, help="Number of random poses.")
@click.option("--seed", default=0, show_default=True, help="Seed of poses and velocities.")
@click.option("--rotations", default="file", show_default=True, help="file, quaternion or a sequence as YZY.")
def command(model: str, poses: int, seed: int, rotations: str) -> None:
    """Check that the powers of MODEL's muscles balance: F l' = -tau . u, lengths against moment arms.

    Exit code 1 if they do not.
    """
    if poses < 1:
        raise click.BadParameter(f"--poses must be positive, not {poses}")
    check = power_check(load_model(model, rotations), poses, seed)
    click.echo(check.to_text())
    if not check.holds:
        raise click.exceptions.Exit(1)
