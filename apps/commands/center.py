"""`myoquat center`."""

from typing import Any

import click

from myoquat.analysis.motion import joint_axis, joint_center, load_markers
from myoquat.apps.commands import options

MAX_SCATTER_M = 0.02  # of markers on skin about rigid segments and a joint


@options.command("center")
@click.argument("markers", type=options.FILE)
@click.argument("output", type=options.Written(".trc"))
@options.option("--proximal", options.Listed(), "Markers of the proximal segment.", required=True, metavar="A,B,C")
@options.option("--distal", options.Listed(), "Markers of the distal segment.", required=True, metavar="D,E,F")
@options.option("--name", str, "The new marker, such as RHJC.", required=True)
@options.option(
    "--method",
    ("score", "sphere", "sara"),
    "A center by SCoRE or by spheres, or a point of the axis of a hinge by SARA.",
)
@options.option("--to trial", options.FILE, "Add the marker to this trial instead.")
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
    options.store(given, given.output, added)
