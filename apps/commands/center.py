"""`myoquat center`."""

from typing import Any

import click

from myoquat.analysis.motion import joint_axis, joint_center, load_markers
from myoquat.apps.commands import options

__all__ = ["command"]

MAX_SCATTER_M = 0.02  # of markers on skin about rigid segments and a joint


@options.command("center")
@click.argument("markers", type=options.FILE)
@click.argument("output", type=options.Written(".trc"))
@click.option("--proximal", required=True, type=options.Listed(), metavar="A,B,C",
              help="Markers of the proximal segment.")  # fmt: skip
@click.option("--distal", required=True, type=options.Listed(), metavar="D,E,F",
              help="Markers of the distal segment.")  # fmt: skip
@click.option("--name", required=True, help="The new marker, such as RHJC.")
@click.option(
    "--method",
    type=click.Choice(["score", "sphere", "sara"]),
    default="score",
    help="A center by SCoRE or by spheres, or a point of the axis of a hinge by SARA.",
)
@click.option("--to", "trial", type=options.FILE, help="Add the marker to this trial instead.")
@options.axes
@options.force
def command(given: Any) -> None:
    """Find the center of a joint in MARKERS (.trc, .c3d), in which it moves, and write them with it as OUTPUT (.trc).

    With --to, the marker is added to another trial that shows the markers of both segments, such as a static one.
    """
    recorded = load_markers(given.markers, given.axes)
    found = (
        joint_axis(recorded, given.proximal, given.distal)
        if given.method == "sara"
        else joint_center(recorded, given.proximal, given.distal, method=given.method)
    )
    click.echo(found.to_dataframe().to_string(float_format=lambda value: f"{value:.4f}"))
    click.echo(f"left over: {1e3 * found.noise:.2f} mm in each direction")
    if max(found.noise, found.proximal.noise, found.distal.noise) > MAX_SCATTER_M:
        click.echo("The markers do not move as a joint: check their names and units, and whether they are swapped.")
    other = recorded if given.trial is None else load_markers(given.trial, given.axes)
    added = found.added_to(other, given.name)
    options.store(given, given.output, lambda path: added.save(path, overwrite=given.force))
