"""`myoquat loads`."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from myoquat.analysis.motion import FitOptions, FittedMotion, load_forces, load_motion, smooth
from myoquat.analysis.motion.smoothing import smooth_angles
from myoquat.analysis.recruitment import JointLoads, consistent_derivatives, joint_loads
from myoquat.analysis.recruitment.redundancy import Redundancy, redundancy
from myoquat.apps.commands import options
from myoquat.apps.commands.options import Uncertainty, uncertainty_options
from myoquat.apps.commands.parsing import (
    MARKER_FILES,
    fit_markers,
    fit_remarks,
    markers_between,
    named_numbers,
    named_weights,
    reserves_named,
    rule_of,
)
from myoquat.apps.opensim_tools.sections import fit_sections, load_sections, outcomes, size_section
from myoquat.apps.report import Drawn, Numbers, Section, check_report, summary_of, write_report
from myoquat.core.records import dataclass
from myoquat.data import Forces, Markers, Motion, load_model, load_table, save_table
from myoquat.data.files import check_output
from myoquat.data.motions.series import interpolated
from myoquat.dynamics.constraints import ConstraintArrays, Constraints, constraints_of
from myoquat.muscle.laws import HillLaw
from myoquat.muscle.model import Model

__all__ = ["command"]

Shown = Section | Numbers | Drawn

RESERVE = """Strength of the reserve on a coordinate or velocity [N m, or N on a slide]; a pattern such as 'ground_*=40'
for several, the last that fits counts."""
WEIGHT = """Weight of a reserve's squared control in the effort, 1 by default, 0 for one that costs nothing; a
pattern for several."""
CONE = """Keep the force in a joint within its socket: markers at the centre of the head, at that of the socket and at
its rim; or JOINT=X,Y,Z,DEGREES, a direction in the parent's axes and a half angle."""
STABILITY = """What --cone means by its markers: the cone through the rim, or a rule of the study of Hasan and others
(2025) on glenohumeral forces."""
RULES = ("rim", "point", "circle", "ellipse")


@click.command("loads")
@click.argument("model")
@click.argument("motion", type=click.Path(path_type=Path))
@click.argument("output", type=click.Path(path_type=Path))
@click.option("--forces", type=click.Path(path_type=Path), help="Tensions by muscle [N]; of least effort without.")
@options.external_loads
@click.option("--reserve", "strengths", multiple=True, metavar="NAME=R", help=RESERVE)
@click.option("--reserve-torque", default=1.0, show_default=True, help="Strength [N m] of other reserves on angles.")
@click.option("--reserve-force", default=1.0, show_default=True, help="Strength [N] of other reserves on slides.")
@click.option("--reserve-weight", "weights", multiple=True, metavar="NAME=W", help=WEIGHT)
@click.option("--cone", "cones", multiple=True, metavar="JOINT=HEAD,CENTRE,RIM", help=CONE)
@click.option("--stability", default="rim", show_default=True, type=click.Choice(RULES), help=STABILITY)
@click.option("--least-activation", type=float, help="Least activation of the muscles, in place of the model's own.")
@click.option("--joint", "joints", multiple=True, metavar="NAME", help="A joint, or its body; all if none are named.")
@click.option("--on", default="child", show_default=True, type=click.Choice(["child", "parent"]))
@click.option("--frame", default="ground", show_default=True, help="Whose axes: a body, ground, child or parent.")
@click.option("--smooth", "--cutoff", "cutoff", default=6.0, show_default=True, metavar="HZ",
              help="Low-pass filter [Hz]; negative for none.")  # fmt: skip
@options.angles
@click.option("--consistent", is_flag=True, help="Bring the motion onto the model's couplers and constraints: poses, "
              "then velocities and accelerations.")  # fmt: skip
@click.option("--marker-weight", "marker_weights", multiple=True, metavar="NAME=W",
              help="Weight of a marker where MOTION holds markers; 1 by default.")  # fmt: skip
@options.axes
@options.start
@options.end
@options.degrees
@options.ignore
@options.rotations_meanwhile
@click.option(
    "--activations", type=click.Path(path_type=Path), help="Store the activations that are found: .sto, .csv."
)
@click.option("--tensions", type=click.Path(path_type=Path), help="Store the muscles' tensions [N]: .sto, .csv.")
@click.option("--reserves", type=click.Path(path_type=Path), help="Store what reserves give [N m, N]: .sto, .csv.")
@click.option("--constraints", type=click.Path(path_type=Path), help="Store the forces [N] and moments [N m] of the "
              "model's constraints on the bodies: .sto, .csv.")  # fmt: skip
@click.option("--report", type=click.Path(path_type=Path), help="Show loads and tensions: .html, one page by itself.")
@click.option(
    "--body-mass", type=float, help="Of the person [kg], for loads in percent of the weight; the model's by default."
)
@uncertainty_options
@options.force
def command(
    model: str, motion: Path, output: Path, forces: Path | None, loads: Path | None, strengths: tuple[str, ...],
    reserve_torque: float, reserve_force: float, weights: tuple[str, ...], cones: tuple[str, ...],
    stability: str, least_activation: float | None, joints: tuple[str, ...], on: str, frame: str, cutoff: float,
    angles: bool, consistent: bool, marker_weights: tuple[str, ...], axes: str | None, start: float, end: float,
    degrees: bool | None, ignore: tuple[str, ...], rotations: str, activations: Path | None, tensions: Path | None,
    reserves: Path | None, constraints: Path | None, report: Path | None, body_mass: float | None, uncertainty: bool,
    uncertain: tuple[str, ...], force: bool,
) -> None:  # fmt: skip
    """Find what the joints of MODEL carry in MOTION (.mot, .sto, or markers, .trc, .c3d), with muscles pulling, and
    write it as OUTPUT (.sto, .csv). Columns are forces [N], moments [N m] and where they act [m], named as in OpenSim.

    Markers are fitted by inverse kinematics first, with the model's constraints held.

    Muscles pull with the least sum of squared activations and reserves that moves the model so. Joints whose load
    redundant constraints leave open are named, and their columns hold NaN. Exit code 1 if frames have no solution; what
    was found is stored. --uncertainty varies all inputs and adds OUTPUT_bands.csv and OUTPUT_shares.csv.
    """
    for path in filter(None, (output, activations, tensions, reserves, constraints)):
        check_output(path, force)
    check_report(report, force)
    bands, loaded = Uncertainty(uncertainty, uncertain), load_model(model, rotations)
    if motion.suffix.lower() in MARKER_FILES:
        recorded: Motion = fit_markers(loaded, motion, marker_weights, axes, (start, end))
    else:
        recorded = load_motion(motion, loaded, in_degrees=degrees, start=loaded.start, ignore=ignore).between(
            start, end
        )
    moving = _smoothed(loaded, recorded, None if cutoff < 0 else cutoff, angles)
    moving = consistent_derivatives(loaded, moving) if consistent else moving
    if error := _constraint_error(loaded, moving):
        click.echo(error)
    external = None if loads is None else load_forces(loads)
    wanted = Wanted(named_numbers("--reserve", strengths), named_numbers("--reserve-weight", weights),
                     (reserve_torque, reserve_force), cones, stability, least_activation)  # fmt: skip
    found = None if forces is not None else wanted.solved(loaded, moving, external)
    pulls = None if forces is None else _given(forces, moving)
    if found is None:
        carried = joint_loads(loaded, moving, pulls, external)
    else:
        pulls, carried = _table(moving, found.force, loaded.muscle_names), found.joint_loads()
    table = carried.to_dataframe(list(joints) or None, on=on, frame=frame)
    save_table(table, output, overwrite=force)
    click.echo(f"{summary_of(carried)}\nwrote {output}")
    _store(_stored(carried, found, pulls, (activations, tensions, reserves, constraints)), force)
    more: list[Shown] = []
    if bands.inputs is not None:
        seen = markers_between(motion, axes, (start, end)) if motion.suffix.lower() in MARKER_FILES else recorded
        filtered = (None if cutoff < 0 else cutoff, "angles" if angles else "rotations", consistent)
        steps = bands.studies.MotionSteps(named_weights(marker_weights), None, FitOptions(), *filtered)
        more = _varied(bands, found, (seen, external, steps), (list(joints) or None, on, frame), (output, force))
    if report is not None:
        lines = [summary_of(result) for result in (carried, found) if result is not None]
        lines += [] if found is None else outcomes(found)
        smoothed = "not filtered" if cutoff < 0 else f"filtered at {cutoff:g} Hz, {'angles' if angles else 'rotations'}"
        lines.append(f"motion: {motion.name}, {smoothed}; external loads: {'none' if loads is None else loads.name}")
        fit = recorded if isinstance(recorded, FittedMotion) else None
        lines += [] if fit is None else [summary_of(fit), *fit_remarks(fit)]
        mass = sum(body.mass for body in loaded.system.bodies) if body_mass is None else body_mass
        sections: list[Shown] = [size_section(table, mass), *load_sections(table, found, pulls), *more]
        sections += [] if fit is None else fit_sections(fit)
        write_report(report, f"Joint loads of {loaded.name}", lines, sections)
        click.echo(f"wrote {report}")
    if found is not None and len(found.failures()):
        raise click.exceptions.Exit(1)


def _varied(
    bands: Uncertainty, found: Redundancy | None, trial: tuple[Markers | Motion, Forces | None, Any],
    joints: tuple[list[str] | None, str, str], output: tuple[Path, bool],
) -> list[Shown]:  # fmt: skip
    """Store the curves of a solution with bands, and return their sections; BadParameter without a solution."""
    if found is None:
        raise click.BadParameter("--uncertainty varies what is found: not with --forces, or without muscles")
    (recording, loads, steps), (named, on, frame) = trial, joints
    wanted = bands.studies.LoadsWanted(found.reserves, found.cones, None, named, on, frame)
    return bands.sections(
        bands.studies.uncertain_loads(found.model, recording, loads, bands.inputs, steps, wanted), *output
    )


def _smoothed(model: Model, motion: Motion, cutoff: float | None, angles: bool) -> Motion:
    """The motion with derivatives, rotations or the file's angles filtered."""
    return smooth_angles(motion, cutoff, model=model) if angles else smooth(motion, cutoff, model=model)


def _constraint_error(model: Model, motion: Motion) -> str:
    """How far a motion is off the model's couplers and constraints, in words; empty for a model without."""
    constraints = constraints_of(model)
    if not constraints:
        return ""
    position = ConstraintArrays(Constraints(model.system, constraints)).position(motion.q, motion.time)
    return f"couplers and constraints are off by {np.abs(position).max(initial=0.0):.2g} m, rad at most"


@dataclass(frozen=True)
class Wanted:
    """The reserves and cones that a command line asks for."""

    strengths: list[tuple[str, float]]
    weights: list[tuple[str, float]]
    defaults: tuple[float, float]  # [N m], [N]
    cones: tuple[str, ...]
    rule: str
    least: float | None

    def solved(self, model: Model, motion: Motion, loads: Forces | None) -> Redundancy | None:
        """Report and return tensions of least effort; None for a model without muscles."""
        if not model.muscles:
            return None
        reserves = reserves_named(model, motion.q, self.strengths, self.weights, self.defaults)
        cones = [rule_of(model, text, self.rule) for text in self.cones]
        model = model if self.least is None else _with_least_activation(model, self.least)
        try:
            found = redundancy(model, motion, loads, reserves=reserves, cones=cones)
        except ValueError as error:
            hint = "consistent_motion(model, motion) brings it there"
            raise ValueError(str(error).replace(hint, "--consistent brings it there")) from None
        given = np.abs(found.reserve).max(axis=0, initial=0.0)
        most = ", ".join(f"{reserve.name} {x:.3g}" for reserve, x in zip(found.reserves, given, strict=True))
        click.echo(f"{summary_of(found)}\nreserves give at most [N m, N on slides]: {most}")
        for row in found.failures().head(1).itertuples():
            click.echo(f"the first frame without solution is at {row.time:g} s")
        for reason in found.reasons():
            click.echo(reason)
        return found


def _with_least_activation(model: Model, least: float) -> Model:
    """The model with rigid tendons, whose muscles' laws reach down to an activation."""
    if not 0 <= least < 1:
        raise click.BadParameter(f"--least-activation must lie in [0, 1), not {least}")
    muscles = tuple(
        replace(m, law=replace(m.law, tendon="rigid", minimum_activation=least)) if isinstance(m.law, HillLaw) else m
        for m in model.muscles
    )
    return replace(model, muscles=muscles)


def _stored(
    carried: JointLoads, found: Redundancy | None, pulls: pd.DataFrame | None, paths: tuple[Path | None, ...]
) -> list[tuple[Path, pd.DataFrame]]:
    """The further tables that were asked for; BadParameter for one that there is not."""
    activations, tensions, reserves, constraints = paths
    held = carried.constraints
    tables = [
        (activations, None if found is None else _table(found.motion, found.activation, found.model.muscle_names),
         "--activations: none are found with --forces, or without muscles"),
        (tensions, pulls, "--tensions: the model has no muscles"),
        (reserves, None if found is None else _table(found.motion, found.reserve, [r.name for r in found.reserves]),
         "--reserves: none are found with --forces, or without muscles"),
        (constraints, None if held is None else held.to_dataframe(), "--constraints: the model has none"),
    ]  # fmt: skip
    rows = []
    for path, table, words in tables:
        if path is not None and table is None:
            raise click.BadParameter(words)
        if path is not None and table is not None:
            rows.append((path, table))
    return rows


def _store(tables: list[tuple[Path, pd.DataFrame]], overwrite: bool) -> None:
    for path, table in tables:
        save_table(table, path, overwrite=overwrite)
        click.echo(f"wrote {path}")


def _table(motion: Motion, values: np.ndarray, names: "tuple[str, ...] | list[str]") -> pd.DataFrame:
    return pd.DataFrame(values, pd.Index(motion.time, name="time"), pd.Index(names))


def _given(path: Path, motion: Motion) -> pd.DataFrame:
    """The columns of a file at the times of the motion."""
    table = load_table(path)
    time = table.index.to_numpy(dtype=float)
    values = interpolated(time, table.to_numpy(dtype=float), motion.time, np.inf)
    if np.isnan(values).any():
        raise click.BadParameter(f"{path} covers {time[0]:g} to {time[-1]:g} s, the motion "
                                 f"{motion.time[0]:g} to {motion.time[-1]:g} s")  # fmt: skip
    return pd.DataFrame(values, pd.Index(motion.time, name="time"), table.columns)
