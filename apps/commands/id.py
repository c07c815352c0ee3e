"""`myoquat id`."""

from fnmatch import fnmatchcase
from typing import Any

import click

from myoquat.analysis.motion import inverse_dynamics_of_motion, load_forces, smooth
from myoquat.analysis.motion.inverse_dynamics import velocity_row
from myoquat.analysis.motion.smoothing import smooth_angles
from myoquat.analysis.motion.task_coordinates import velocity_of
from myoquat.apps.commands import options
from myoquat.apps.opensim_tools.sections import angle_units
from myoquat.apps.report import Section, summary_of
from myoquat.core import indices_of
from myoquat.data import load_model
from myoquat.muscle.model import Model

MOTOR = """A coordinate or velocity that is driven, or a pattern such as 'shoulder_*' for several; the model's couplers,
constraints and locks carry the rest."""


@options.command("id")
@options.model
@click.argument("motion", type=options.FILE)
@click.argument("output", type=options.TABLE)
@options.external_loads
@options.cutoff
@options.angles
@options.degrees
@options.ignore
@options.rotations_meanwhile
@options.several("--motor motors", str, "NAME", MOTOR)
@options.option(
    "--constraints",
    options.TABLE,
    "With --motor: store the forces [N] and moments [N m] of the model's constraints on the bodies, .sto, .csv.",
)
@options.page("Show angles and torques")
@options.uncertainty
@options.force
def command(given: Any) -> None:
    """Find the joint torques of MODEL in MOTION (.mot, .sto) and write them as OUTPUT (.sto, .csv).

    Without --motor all coordinates are driven, locked and coupled ones too, as in OpenSim's tool. With --motor the
    couplers, constraints and locks of MODEL carry what the named coordinates do not have to give. With --uncertainty
    markers (those of MODEL, moved at the poses of MOTION) and inertias are varied: OUTPUT_bands.csv, OUTPUT_shares.csv.
    """
    if given.constraints is not None and not given.motors:
        raise click.BadParameter("--constraints needs --motor: a motion alone does not determine their forces")
    if given.motors and given.uncertain is not None:
        raise click.BadParameter("--uncertainty takes all coordinates as driven; leave --motor out")
    model = load_model(given.model, given.rotations)
    recorded = options.recorded(given, model)
    moving = smooth_angles(recorded, given.cutoff) if given.angles else smooth(recorded, given.cutoff, model=model)
    loads = None if given.loads is None else load_forces(given.loads)
    driven = _driven(model, given.motors) if given.motors else None
    torques = inverse_dynamics_of_motion(model, moving, loads, motors=driven)
    click.echo(summary_of(torques))
    if driven is not None:
        rest = sorted({*range(model.system.nu)} - {velocity_row(model.system, name) for name in driven})
        worst = float(abs(torques.torque[:, rest]).max(initial=0.0))
        click.echo(f"{len(driven)} motors; beside them and the constraints the motion needs {worst:.3g} N m, N at most")
    options.store(given, given.output, torques.of_coordinates())
    if torques.constraints is not None:
        options.store(given, given.constraints, torques.constraints.to_dataframe())

    def varied(studies: Any, inputs: Any) -> Any:
        steps = studies.MotionSteps(cutoff=given.cutoff, method="angles" if given.angles else "rotations")
        return studies.uncertain_torques(model, recorded, loads, inputs, steps)

    more = options.bands(given, varied)
    title = f"Inverse dynamics of {model.name}, {given.motion.name}"
    options.store_page(given, title, [summary_of(torques)], lambda: [
        Section("Generalized forces", torques.of_coordinates()),
        Section("Power of the joints", torques.power(), "W"),
        Section("Coordinates", moving.angles(in_degrees=True), units=angle_units(model)),
        *more,
    ])  # fmt: skip


def _driven(model: Model, patterns: tuple[str, ...]) -> list[str]:
    """The velocities and coordinates that names and patterns fit; ValueError for one that fits nothing."""
    system, found = model.system, dict[str, None]()
    rates = velocity_of(system)
    known = [*rates, *(name for name in system.velocity_names if name.removesuffix("_dot") not in rates)]
    for pattern in patterns:
        fitting = [name for name in known if fnmatchcase(name, pattern) or fnmatchcase(f"{name}_dot", pattern)]
        if not fitting:
            indices_of("coordinate or velocity", [pattern], known)
        found |= dict.fromkeys(fitting)
    return list(found)
