"""`myoquat check`."""

from typing import Any

import click
import numpy as np

from myoquat.analysis.recruitment import power_check
from myoquat.analysis.recruitment.power import sample_poses
from myoquat.apps.commands import options
from myoquat.data import load_model
from myoquat.dynamics.constraints import ConstraintArrays, Constraints, constraints_of


@options.command("check")
@options.model
@options.option("--poses", 1000, "Number of random poses.")
@options.option("--seed", 0, "Seed of poses and velocities.")
@options.rotations
def command(given: Any) -> None:
    """Check that the powers of MODEL's muscles balance: F l' = -tau . u, lengths against moment arms. Also check that
    random poses can be brought onto its constraints. Poses lie inside the coordinates' ranges, as far as these are
    finite and plausible, and on the constraints. The first lines say how they were drawn.

    Exit code 1 if they do not.
    """
    model = load_model(given.model, given.rotations)
    check, assembled = power_check(model, given.poses, given.seed), 1
    click.echo(check.to_text())
    if constraints := constraints_of(model):
        q = sample_poses(model, given.poses, given.seed).q
        held = ConstraintArrays(Constraints(model.system, constraints))
        assembled = len(q)
        rank = int(np.linalg.matrix_rank(held.jacobian(q, 0.0)).min()) if assembled else 0
        start = float(np.abs(held.position(model.start, 0.0)).max(initial=0.0))
        click.echo(
            f"{assembled} of {given.poses} poses can be brought onto the constraints, {held.count} rows of least rank "
            f"{rank} there; the start is off by {start:.2g}."
        )
    options.exit_unless(check.holds and assembled)
