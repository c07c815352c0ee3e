"""`myoquat loads`."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import click
import numpy as np
import pandas as pd

from myoquat.analysis.motion import FittedMotion, load_forces, smooth
from myoquat.analysis.motion.smoothing import smooth_angles
from myoquat.analysis.recruitment import JointLoads, consistent_derivatives, joint_loads
from myoquat.analysis.recruitment.joint_loads import SIDES
from myoquat.analysis.recruitment.redundancy import Redundancy, redundancy
from myoquat.apps.commands import options
from myoquat.apps.opensim_tools.moving import columns_at
from myoquat.apps.opensim_tools.sections import fit_sections, load_sections, outcomes, size_section
from myoquat.apps.report import Shown, summary_of
from myoquat.core import indices_of, time_table
from myoquat.data import Forces, Motion, load_model
from myoquat.dynamics.constraints import ConstraintArrays, Constraints, constraints_of
from myoquat.muscle.laws import HillLaw
from myoquat.muscle.model import Model

from .parsing import MARKER_FILES, fit_markers, fit_remarks, markers_between, reserves_named, rule_of

RESERVE = """Strength of the reserve on a coordinate or velocity [N m, or N on a slide]; a pattern such as 'ground_*=40'
for several, the last that fits counts."""
WEIGHT = """Weight of a reserve's squared control in the effort, 1 by default, 0 for one that costs nothing; a
pattern for several."""
CONE = """Keep the force in a joint within its socket: markers at the centre of the head, at that of the socket and at
its rim; or JOINT=X,Y,Z,DEGREES, a direction in the parent's axes and a half angle."""
STABILITY = """What --cone means by its markers: the cone through the rim, or a rule of the study of Hasan and others
(2025) on glenohumeral forces."""
STRENGTH = options.Named(options.number, "; --reserve-torque [N m] and --reserve-force [N] set all others")
RULES = ("rim", "point", "circle", "ellipse")


@options.command("loads")
@options.model
@click.argument("motion", type=options.FILE)
@click.argument("output", type=options.TABLE)
@options.option("--forces", options.FILE, "Tensions by muscle [N]; of least effort without.")
@options.external_loads
@options.several("--reserve strengths", STRENGTH, "NAME=R", RESERVE)
@options.option("--reserve-torque", 1.0, "Strength [N m] of other reserves on angles.")
@options.option("--reserve-force", 1.0, "Strength [N] of other reserves on slides.")
@options.several("--reserve-weight reserve_weights", options.NUMBERED, "NAME=W", WEIGHT)
@options.several("--cone cones", str, "JOINT=HEAD,CENTRE,RIM", CONE)
@options.option("--stability", RULES, STABILITY)
@options.option("--least-activation", float, "Least activation of the muscles, in place of the model's own.")
@options.several("--joint joints", str, "NAME", "A joint, or its body; all if none are named.")
@options.option("--on", ("child", "parent"))
@options.option("--frame", "ground", "Whose axes: a body, ground, child or parent.")
@click.option("--smooth", "--cutoff", "cutoff", default=6.0, metavar="HZ",
              help="Low-pass filter [Hz]; negative for none.", callback=options.no_filter)  # fmt: skip
@options.angles
@options.option(
    "--consistent",
    False,
    "Bring the motion onto the model's couplers and constraints: poses, then velocities and accelerations.",
)
@options.several(
    "--marker-weight weights",
    options.NUMBERED,
    "NAME=W",
    "Weight of a marker where MOTION holds markers; 1 by default.",
)
@options.axes
@options.start
@options.end
@options.degrees
@options.ignore
@options.rotations_meanwhile
@options.option("--activations", options.TABLE, "Store the activations that are found: .sto, .csv.")
@options.option("--tensions", options.TABLE, "Store the muscles' tensions [N]: .sto, .csv.")
@options.option("--reserves", options.TABLE, "Store what reserves give [N m, N]: .sto, .csv.")
@options.option(
    "--constraints",
    options.TABLE,
    "Store the forces [N] and moments [N m] of the model's constraints on the bodies: .sto, .csv.",
)
@options.page("Show loads and tensions")
@options.option("--body-mass", float, "Of the person [kg], for loads in percent of the weight; the model's by default.")
@options.uncertainty
@options.force
def command(given: Any) -> None:
    """Find what the joints of MODEL carry in MOTION (.mot, .sto, or markers, .trc, .c3d), with muscles pulling, and
    write it as OUTPUT (.sto, .csv). Columns are forces [N], moments [N m] and where they act [m], named as in OpenSim.

    Markers are fitted by inverse kinematics first, with the model's constraints held.

    Muscles pull with the least sum of squared activations and reserves that moves the model so. Joints whose load
    redundant constraints leave open are named, and their columns hold NaN. Exit code 1 if frames have no solution; what
    was found is stored. --uncertainty varies all inputs and adds OUTPUT_bands.csv and OUTPUT_shares.csv.
    """
    model, from_markers = load_model(given.model, given.rotations), given.motion.suffix.lower() in MARKER_FILES
    bodies, joints = model.system.body_names, list(given.joints) or None
    indices_of("joint", given.joints, [*(b.joint_name for b in model.system.bodies if b.joint_name), *bodies])
    indices_of("body", [given.frame], (*SIDES, model.system.ground, "ground", *bodies))
    if from_markers:
        recorded: Motion = fit_markers(model, given.motion, given)
    else:
        recorded = options.recorded(given, model)
        recorded = recorded.between(given.start, given.end)
    moving = (smooth_angles if given.angles else smooth)(recorded, given.cutoff, model=model)
    moving = consistent_derivatives(model, moving) if given.consistent else moving
    if constraints := constraints_of(model):
        off = np.abs(ConstraintArrays(Constraints(model.system, constraints)).position(moving.q, moving.time))
        click.echo(f"couplers and constraints are off by {off.max(initial=0.0):.2g} m, rad at most")
    external = None if given.loads is None else load_forces(given.loads)
    found = solved(given, model, moving, external) if given.forces is None and model.muscles else None
    if found is None:
        pulls = None if given.forces is None else columns_at(given.forces, moving.time)
        carried = joint_loads(model, moving, pulls, external)
    else:
        pulls, carried = time_table(moving.time, found.force, model.muscle_names), found.joint_loads()
    table = carried.to_dataframe(joints, on=given.on, frame=given.frame)
    click.echo(summary_of(carried))
    options.store(given, given.output, table)
    _store_parts(given, carried, found, pulls)

    def varied(studies: Any, inputs: Any) -> Any:
        if found is None:
            raise click.BadParameter("--uncertainty varies what is found: not with --forces, or without muscles")
        method = "angles" if given.angles else "rotations"
        steps = studies.MotionSteps(dict(given.weights), None, {}, given.cutoff, method, given.consistent)
        wanted = studies.LoadsWanted(found.reserves, found.cones, None, joints, given.on, given.frame)
        seen = markers_between(given.motion, given) if from_markers else recorded
        return studies.uncertain_loads(found.model, seen, external, inputs, steps, wanted)

    more = options.bands(given, varied)
    filtered = (
        "not filtered"
        if given.cutoff is None
        else (f"filtered at {given.cutoff:g} Hz, {'angles' if given.angles else 'rotations'}")
    )
    lines = [
        *(summary_of(result) for result in (carried, found) if result is not None),
        *([] if found is None else outcomes(found)),
        f"motion: {given.motion.name}, {filtered}; external loads: {given.loads.name if given.loads else 'none'}",
    ]
    fit = recorded if isinstance(recorded, FittedMotion) else None
    lines += [] if fit is None else [summary_of(fit), *fit_remarks(fit)]
    mass = sum(body.mass for body in model.system.bodies) if given.body_mass is None else given.body_mass

    def sections() -> Sequence[Shown]:
        of_fit = [] if fit is None else fit_sections(fit)
        return [size_section(table, mass), *load_sections(table, found, pulls), *more, *of_fit]

    options.store_page(given, f"Joint loads of {model.name}", lines, sections)
    options.exit_unless(found is None or not len(found.failures()))


def solved(given: Any, model: Model, motion: Motion, loads: Forces | None) -> Redundancy:
    """Report and return tensions of least effort, under the reserves and cones that a command line asks for."""
    defaults = given.reserve_torque, given.reserve_force
    reserves = reserves_named(model, motion.q, given.strengths, given.reserve_weights, defaults)
    cones = [rule_of(model, text, given.stability) for text in given.cones]
    if (least := given.least_activation) is not None:
        if not 0 <= least < 1:
            raise click.BadParameter(f"--least-activation must lie in [0, 1), not {least}")
        laws = {m.name: replace(m.law, tendon="rigid", minimum_activation=least)
                for m in model.muscles if isinstance(m.law, HillLaw)}  # fmt: skip
        model = replace(model, muscles=tuple(replace(m, law=laws.get(m.name, m.law)) for m in model.muscles))
    try:
        found = redundancy(model, motion, loads, reserves=reserves, cones=cones)
    except ValueError as error:
        hint = "consistent_motion(model, motion) brings it there"
        raise ValueError(str(error).replace(hint, "--consistent brings it there")) from None
    most = np.abs(found.reserve).max(axis=0, initial=0.0)
    said = ", ".join(f"{reserve.name} {x:.3g}" for reserve, x in zip(found.reserves, most, strict=True))
    click.echo(f"{summary_of(found)}\nreserves give at most [N m, N on slides]: {said}")
    for row in found.failures().head(1).itertuples():
        click.echo(f"the first frame without solution is at {row.time:g} s")
    for reason in found.reasons():
        click.echo(reason)
    return found


NONE_FOUND = "none are found with --forces, or without muscles"
PARTS = {"activations": NONE_FOUND, "tensions": "the model has no muscles", "reserves": NONE_FOUND,
         "constraints": "the model has none"}  # fmt: skip


def _store_parts(given: Any, carried: JointLoads, found: Redundancy | None, pulls: pd.DataFrame | None) -> None:
    """Store the further tables that were asked for; BadParameter for one that there is not."""
    tables = {} if pulls is None else {"tensions": pulls}
    if found is not None:
        tables["activations"] = time_table(found.motion.time, found.activation, found.model.muscle_names)
        tables["reserves"] = time_table(found.motion.time, found.reserve, [r.name for r in found.reserves])
    if carried.constraints is not None:
        tables["constraints"] = carried.constraints.to_dataframe()
    for option, why_not in PARTS.items():
        path = getattr(given, option)
        if path is not None and option not in tables:
            raise click.BadParameter(f"--{option}: {why_not}")
        options.store(given, path, tables.get(option))
