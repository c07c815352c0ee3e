"""`myoquat id`."""

from pathlib import Path

import click

from myoquat.analysis.apps.opensim_tools.report import Section, check_report, told, write_report
from myoquat.analysis.motion import inverse_dynamics_of_motion, load_forces, load_motion, smooth, smooth_angles
from myoquat.data import load_model, save_table
from myoquat.data.files import check_output

__all__ = ["command"]


@click.command("id")
@click.argument("model")
@click.argument("motion", type=click.Path(path_type=Path))
@click.argument("output", type=click.Path(path_type=Path))
@click.option("--loads", type=click.Path(path_type=Path), help="External loads: OpenSim's ExternalLoads, .xml.")
@click.option("--cutoff", default=6.0, show_default=True, help="Low-pass filter [Hz]; negative for none.")
@click.option("--angles", is_flag=True, help="Filter the file's angles as OpenSim does, not rotations.")
@click.option("--degrees/--radians", default=None, help="Angles of MOTION, where the file does not say it.")
@click.option("--ignore", multiple=True, metavar="NAME", help="Pass over a column of MOTION, or several: '*_tx'.")
@click.option("--rotations", default="quaternion", show_default=True, help="Ball joints meanwhile: file, quaternion.")
@click.option("--report", type=click.Path(path_type=Path), help="Show angles and torques: .html, one page by itself.")
@click.option("--force", is_flag=True, help="Replace the output if it exists.")
def command(
    model: str, motion: Path, output: Path, loads: Path | None, cutoff: float, angles: bool,
    degrees: bool | None, ignore: tuple[str, ...], rotations: str, report: Path | None, force: bool,
) -> None:  # fmt: skip
    """Find the joint torques of MODEL in MOTION (.mot, .sto) and write them as OUTPUT (.sto, .csv)."""
    check_output(output, force)
    check_report(report, force)
    loaded = load_model(model, rotations)
    recorded = load_motion(motion, loaded, in_degrees=degrees, start=loaded.start, ignore=ignore)
    frequency = None if cutoff < 0 else cutoff
    moving = smooth_angles(recorded, frequency) if angles else smooth(recorded, frequency, model=loaded)
    torques = inverse_dynamics_of_motion(loaded, moving, None if loads is None else load_forces(loads))
    click.echo(told(torques))
    save_table(torques.of_coordinates(), output, overwrite=force)
    click.echo(f"wrote {output}")
    if report is not None:
        sections = [Section("Generalized forces", torques.of_coordinates(), "N m, N"),
                    Section("Power of the joints", torques.power(), "W"),
                    Section("Coordinates", moving.angles(in_degrees=True), "degrees, m")]  # fmt: skip
        write_report(report, f"{output.name} of {loaded.name}", [told(torques)], sections)
        click.echo(f"wrote {report}")
