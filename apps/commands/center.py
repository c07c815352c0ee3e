"""`myoquat center`."""

from pathlib import Path

import click

from myoquat.analysis.motion import joint_axis, joint_center, load_markers
from myoquat.data.files import check_output

__all__ = ["command"]


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


@click.command("center")
@click.argument("markers", type=click.Path(path_type=Path))
@click.argument("output", type=click.Path(path_type=Path))
@click.option("--proximal", required=True, metavar="A,B,C", help="Markers of the proximal segment.")
@click.option("--distal", required=True, metavar="D,E,F", help="Markers of the distal segment.")
@click.option("--name", required=True, help="The new marker, such as RHJC.")
@click.option(
    "--method",
    type=click.Choice(["score", "sphere", "sara"]),
    default="score",
    show_default=True,
    help="A center by SCoRE or by spheres, or a point of the axis of a hinge by SARA.",
)
@click.option("--to", "trial", type=click.Path(path_type=Path), help="Add the marker to this trial instead.")
@click.option("--axes", help="The laboratory's axes along which the model's lie, such as 'x z -y'.")
@click.option("--force", is_flag=True, help="Replace output files that exist.")
def command(
    markers: Path, output: Path, proximal: str, distal: str, name: str, method: str, trial: Path | None,
    axes: str | None, force: bool,
) -> None:  # fmt: skip
    """Find the center of a joint in MARKERS (.trc, .c3d), in which it moves, and write them with it as OUTPUT (.trc).

    With --to, the marker is added to another trial that shows the markers of both segments, such as a static one.
    """
    check_output(output, force)
    recorded, segments = load_markers(markers, axes), (_names(proximal), _names(distal))
    found = joint_axis(recorded, *segments) if method == "sara" else joint_center(recorded, *segments, method=method)
    click.echo(found.to_dataframe().to_string(float_format=lambda value: f"{value:.4f}"))
    click.echo(f"left over: {1e3 * found.noise:.2f} mm in each direction")
    other = recorded if trial is None else load_markers(trial, axes)
    found.added_to(other, name).save(output, overwrite=force)
    click.echo(f"wrote {output}")
