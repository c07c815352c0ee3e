"""`myoquat id`."""

from fnmatch import fnmatchcase
from pathlib import Path

import click

from myoquat.analysis.motion import inverse_dynamics_of_motion, load_forces, load_motion, smooth
from myoquat.analysis.motion.inverse_dynamics import velocity_row
from myoquat.analysis.motion.smoothing import smooth_angles
from myoquat.apps.commands import options
from myoquat.apps.commands.options import Uncertainty, uncertainty_options
from myoquat.apps.opensim_tools.sections import angle_units
from myoquat.apps.report import Section, check_report, summary_of, write_report
from myoquat.core.arguments import indices_of
from myoquat.data import load_model, save_table
from myoquat.data.files import check_output
from myoquat.muscle.model import Model

__all__ = ["command"]

MOTOR = """A coordinate or velocity that is driven, or a pattern such as 'shoulder_*' for several; the model's couplers,
constraints and locks carry the rest."""


@click.command("id")
@click.argument("model")
@click.argument("motion", type=click.Path(path_type=Path))
@click.argument("output", type=click.Path(path_type=Path))
@options.external_loads
@options.cutoff
@options.angles
@options.degrees
@options.ignore
@options.rotations_meanwhile
@click.option("--motor", "motors", multiple=True, metavar="NAME", help=MOTOR)
@click.option("--constraints", type=click.Path(path_type=Path), help="With --motor: store the forces [N] and moments "
              "[N m] of the model's constraints on the bodies, .sto, .csv.")  # fmt: skip
@click.option("--report", type=click.Path(path_type=Path), help="Show angles and torques: .html, one page by itself.")
@uncertainty_options
@options.force
def command(
    model: str, motion: Path, output: Path, loads: Path | None, cutoff: float, angles: bool,
    degrees: bool | None, ignore: tuple[str, ...], rotations: str, motors: tuple[str, ...],
    constraints: Path | None, report: Path | None, uncertainty: bool, uncertain: tuple[str, ...], force: bool,
) -> None:  # fmt: skip
    """Find the joint torques of MODEL in MOTION (.mot, .sto) and write them as OUTPUT (.sto, .csv).

    Without --motor all coordinates are driven, locked and coupled ones too, as in OpenSim's tool. With --motor the
    couplers, constraints and locks of MODEL carry what the named coordinates do not have to give. With --uncertainty
    markers (those of MODEL, moved at the poses of MOTION) and inertias are varied: OUTPUT_bands.csv, OUTPUT_shares.csv.
    """
    check_output(output, force)
    if constraints is not None:
        check_output(constraints, force)
        if not motors:
            raise click.BadParameter("--constraints needs --motor: a motion alone does not determine their forces")
    if motors and uncertainty:
        raise click.BadParameter("--uncertainty takes all coordinates as driven; leave --motor out")
    check_report(report, force)
    bands, loaded = Uncertainty(uncertainty, uncertain), load_model(model, rotations)
    recorded = load_motion(motion, loaded, in_degrees=degrees, start=loaded.start, ignore=ignore)
    frequency = None if cutoff < 0 else cutoff
    moving = smooth_angles(recorded, frequency) if angles else smooth(recorded, frequency, model=loaded)
    external, driven = None if loads is None else load_forces(loads), _driven(loaded, motors)
    torques = inverse_dynamics_of_motion(loaded, moving, external, motors=driven)
    click.echo(summary_of(torques))
    if driven is not None:
        rest = sorted({*range(loaded.system.nu)} - {velocity_row(loaded.system, name) for name in driven})
        worst = float(abs(torques.torque[:, rest]).max(initial=0.0))
        click.echo(f"{len(driven)} motors; beside them and the constraints the motion needs {worst:.3g} N m, N at most")
    save_table(torques.of_coordinates(), output, overwrite=force)
    click.echo(f"wrote {output}")
    if constraints is not None and torques.constraints is not None:
        save_table(torques.constraints.to_dataframe(), constraints, overwrite=force)
        click.echo(f"wrote {constraints}")
    more = []
    if bands.inputs is not None:
        studies = bands.studies
        steps = studies.MotionSteps(cutoff=frequency, method="angles" if angles else "rotations")
        found = studies.uncertain_torques(loaded, recorded, external, bands.inputs, steps)
        more = bands.sections(found, output, force)
    if report is not None:
        sections = [Section("Generalized forces", torques.of_coordinates()),
                    Section("Power of the joints", torques.power(), "W"),
                    Section("Coordinates", moving.angles(in_degrees=True), units=angle_units(loaded))]  # fmt: skip
        title = f"Inverse dynamics of {loaded.name}, {motion.name}"
        write_report(report, title, [summary_of(torques)], [*sections, *more])
        click.echo(f"wrote {report}")


def _driven(model: Model, motors: tuple[str, ...]) -> list[str] | None:
    """The velocities and coordinates that names and patterns fit; None without any. ValueError for one that fits
    nothing."""
    if not motors:
        return None
    system, found = model.system, dict[str, None]()
    rates = [name for name in system.coordinate_names if len(system.indices.velocities_of_coordinate(name)) == 1]
    known = [*rates, *(name for name in system.velocity_names if name.removesuffix("_dot") not in rates)]
    for pattern in motors:
        fitting = [name for name in known if fnmatchcase(name, pattern) or fnmatchcase(f"{name}_dot", pattern)]
        if not fitting:
            indices_of("coordinate or velocity", [pattern], known)
        found |= dict.fromkeys(fitting)
    return list(found)
