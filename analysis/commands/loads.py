"""`myoquat loads`."""

from pathlib import Path

import click
import numpy as np
import pandas as pd

from myoquat.analysis.motion import load_forces, load_motion, smooth
from myoquat.analysis.muscles import joint_loads
from myoquat.analysis.muscles.recruitment import redundancy
from myoquat.analysis.tools.report import Section, check_report, told, write_report
from myoquat.data import Forces, Motion, load_model, load_table, save_table
from myoquat.data.files import check_output
from myoquat.data.motions.series import interpolated
from myoquat.muscle.model import Model

__all__ = ["command"]


@click.command("loads")
@click.argument("model")
@click.argument("motion", type=click.Path(path_type=Path))
@click.argument("output", type=click.Path(path_type=Path))
@click.option("--forces", type=click.Path(path_type=Path), help="Tensions by muscle [N]; of least effort without.")
@click.option("--loads", type=click.Path(path_type=Path), help="External loads: OpenSim's ExternalLoads, .xml.")
@click.option("--reserve", default=1.0, show_default=True, help="Strength of helping actuators [N m, N].")
@click.option("--joint", "joints", multiple=True, metavar="NAME", help="A joint, or its body; all if none are named.")
@click.option("--on", default="child", show_default=True, type=click.Choice(["child", "parent"]))
@click.option("--frame", default="ground", show_default=True, help="Whose axes: a body, ground, child or parent.")
@click.option("--cutoff", default=6.0, show_default=True, help="Low-pass filter [Hz]; negative for none.")
@click.option("--degrees/--radians", default=None, help="Angles of MOTION, where the file does not say it.")
@click.option("--ignore", multiple=True, metavar="NAME", help="Pass over a column of MOTION, or several: '*_tx'.")
@click.option("--rotations", default="quaternion", show_default=True, help="Ball joints meanwhile: file, quaternion.")
@click.option("--report", type=click.Path(path_type=Path), help="Show loads and tensions: .html, one page by itself.")
@click.option("--force", is_flag=True, help="Replace the output if it exists.")
def command(
    model: str, motion: Path, output: Path, forces: Path | None, loads: Path | None, reserve: float,
    joints: tuple[str, ...], on: str, frame: str, cutoff: float, degrees: bool | None,
    ignore: tuple[str, ...], rotations: str, report: Path | None, force: bool,
) -> None:  # fmt: skip
    """Find what the joints of MODEL carry in MOTION (.mot, .sto), with muscles pulling, and write it as OUTPUT (.sto,
    .csv): forces [N], moments [N m] and where they act [m], in columns called as OpenSim's."""
    check_output(output, force)
    check_report(report, force)
    loaded = load_model(model, rotations)
    recorded = load_motion(motion, loaded, in_degrees=degrees, start=loaded.start, ignore=ignore)
    moving = smooth(recorded, None if cutoff < 0 else cutoff, model=loaded)
    external = None if loads is None else load_forces(loads)
    tensions = _optimal(loaded, moving, external, reserve) if forces is None else _given(forces, moving)
    found = joint_loads(loaded, moving, tensions, external)
    table = found.to_dataframe(list(joints) or None, on=on, frame=frame)
    save_table(table, output, overwrite=force)
    click.echo(f"{told(found)}\nwrote {output}")
    if report is not None:
        sections = [Section("Loads of joints", table, "N, N m, m")]
        sections += [] if tensions is None else [Section("Tensions of muscles", tensions, "N")]
        write_report(report, f"{output.name} of {loaded.name}", [told(found)], sections)
        click.echo(f"wrote {report}")


def _optimal(model: Model, motion: Motion, loads: Forces | None, reserve: float) -> pd.DataFrame | None:
    """Tensions of least effort, told about; None for a model without muscles."""
    if not model.muscles:
        return None
    if not (np.isfinite(reserve) and reserve > 0):
        raise click.BadParameter(f"--reserve must be positive, not {reserve}")
    found = redundancy(model, motion, loads, reserves=reserve)
    click.echo(f"{told(found)}; reserves give {np.abs(found.reserve).max(initial=0.0):.3g} N m or N at most")
    return pd.DataFrame(found.force, pd.Index(motion.time, name="time"), pd.Index(model.muscle_names))


def _given(path: Path, motion: Motion) -> pd.DataFrame:
    """The columns of a file at the times of the motion."""
    table = load_table(path)
    time = table.index.to_numpy(dtype=float)
    values = interpolated(time, table.to_numpy(dtype=float), motion.time, np.inf)
    if np.isnan(values).any():
        raise click.BadParameter(f"{path} covers {time[0]:g} to {time[-1]:g} s, the motion "
                                 f"{motion.time[0]:g} to {motion.time[-1]:g} s")  # fmt: skip
    return pd.DataFrame(values, pd.Index(motion.time, name="time"), table.columns)
