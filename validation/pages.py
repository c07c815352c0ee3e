"""The page of each study: tables and figures beside what was measured or published, and its credibility."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path

import numpy as np
import pandas as pd

from myoquat.analysis.recruitment import moment_posterior
from myoquat.analysis.studies import UncertainCurves, UncertainInputs
from myoquat.apps.report import Drawn, Numbers, Said, Section, summary_of, write_report
from myoquat.core.records import dataclass
from validation import belli_shoulder as belli
from validation import emg_driven_leg as leg
from validation import gait
from validation import instrumented_shoulder as shoulder
from validation import quaternion_jacobians as jacobians
from validation.credibility import credibility, pedigree
from validation.figures import (
    activation_figure,
    band_figure,
    force_figures,
    joint_force_figure,
    last_seconds,
    moment_figure,
)
from validation.gait_bands import bands_of, curves_of
from validation.leg_bands import joint_forces, moments_with_bands
from validation.published import at_published_angles
from validation.statements import STATEMENTS

__all__ = ["NEEDS_NO_FOLDER", "PAGES", "PageOptions"]

Shown = Section | Numbers | Drawn | Said
DRAWS = 2000  # of the posterior
BAND_FRAMES, LEG_FRAMES = 51, 101  # of curves; of strides
MIN_SAMPLES_PER_TRIAL = 16  # where all trials of a study share the samples
SHARES = "Share of each source in the variance (Sobol indices)"


@dataclass(frozen=True)
class PageOptions:
    """What a page shows.

    trial      one trial, None for the study's own or all
    rules      stability rules
    rotations  how ball joints are described
    published  whether published activations are compared
    samples    of the bands, 0 for none
    poses      of the mapping analysis
    models     files of the trials of the shoulders, "" for all others
    tell       called with every line about the progress
    """

    trial: str | None = None
    rules: Sequence[str] = shoulder.RULES
    rotations: str = "quaternion"
    published: bool = True
    samples: int = 1000
    poses: int = 10_000
    models: Mapping[str, str] = field(default_factory=dict)
    tell: Callable[[str], None] = field(default=print)


def shoulder_page(folder: Path, output: Path, options: PageOptions) -> None:
    """From markers to the force under each rule, beside the measured one."""
    name = options.trial or "lateral_raise"
    file = options.models.get(name, options.models.get(""))
    trial = shoulder.load_trial(folder, name, options.rotations, file)
    lines = [
        f"Study: {shoulder.STUDY}.",
        f"Trial {name}: {summary_of(trial.fit)}.",
        f"Distance of the motion from the model's constraints: {trial.gap.max(initial=0.0):.1e} m at most.",
    ]
    if file:
        lines.append(f"Model: {file}.")
    _tell(options, lines)
    compared = shoulder.compare(trial, options.rules, options.tell)
    _tell(options, carried := [sentence for each in compared for sentence in shoulder.carried_by_reserves(each)])
    lines += carried
    tables = {"Computed and measured force": shoulder.table_of(compared)}
    if options.published and (folder / f"published_ik_{name}.mot").is_file():
        table, gap = at_published_angles(folder, trial, options.rules, file)
        lines.append(f"The published angles leave the constraint open by up to {gap * 1e3:.1f} mm.")
        if len(table):
            tables["Activations and force at the published angles"] = table
    ranked = sorted(compared, key=lambda each: round(each.numbers["RMS difference [N]"], 1))
    best = ranked[0]
    lines.append(f"Nearest to the measured magnitude: {best.name}.")
    sections = _numbers(options, tables)
    found = None
    if options.samples:
        inputs = UncertainInputs(samples=options.samples, frames=BAND_FRAMES)
        convex = next((each.name for each in ranked if each.name in shoulder.CONVEX), "circle")
        found = shoulder.force_with_bands(trial, convex, inputs)
        words = f"Rule {convex}; {_held_by(found)}"
    figures = force_figures(trial, compared, found)
    for title, figure in zip(("Magnitude of the force", "Parts of the force"), figures, strict=True):
        sections.append(Drawn(title, figure, words if found is not None else ""))
    if found is not None:
        bands = band_figure(found, trial.covered, trial.measured)
        sections += [Drawn("Force with bands of uncertain inputs", bands, words), Numbers(SHARES, found.shares())]
    compared_files = [f"published_ik_{name}.mot", *(f"published_activations_{rule}.csv" for rule in options.rules)]
    used = [f"{name}.trc", f"model_{name}.osim", shoulder.setup_of(folder, name).name, f"measured_force_{name}.txt"]
    used += [file for file in compared_files if options.published and (folder / file).is_file()]
    _write(
        output,
        f"Instrumented shoulder: {name}",
        lines,
        sections,
        ("instrumented_shoulder", pedigree(folder, shoulder.HASHES, used)),
    )


def leg_page(folder: Path, output: Path, options: PageOptions) -> None:
    """Calibrate on a trial, and predict all of the folder."""
    trial = options.trial or "walk36"
    names = [trial, *(name for name in leg.trial_names(folder) if name != trial)]
    data = leg.load_leg(folder, names)
    found, seconds = leg.calibrated(data, trial)
    posterior = moment_posterior(found, samples=DRAWS)
    lines = [
        "Study: CEINMS-RT/LowerLimbModel, 10.5281/zenodo.6457662.",
        f"Calibrated on {trial}; {'converged' if found.converged else 'not converged'}.",
        f"Delay {found.delay * 1e3:.0f} ms; one independent error per {leg.ERROR_TIME:g} s.",
        f"Posterior: {summary_of(posterior)}.",
    ]
    _tell(options, [*lines, f"calibrated in {seconds:.1f} s"])  # times differ from run to run, the page does not
    sections = _numbers(options, {
        "Cross-validation in the calibration trial: RMS differences of moments": leg.cross_validation(data, trial),
        "All trials, calibrated on the first: RMS differences of moments": leg.errors_table(data, found, posterior),
    }, across=True)  # fmt: skip
    sections += [
        Numbers("Parameters of the muscles", found.muscles),
        Numbers("Posterior of the parameters, 90 %", _joined(posterior.table())),
        Numbers("Passive moments: offset [N m], stiffness [N m / rad], damping [N m s / rad]", found.passive),
    ]
    for name in names:
        bands = None
        if options.samples:
            samples = max(MIN_SAMPLES_PER_TRIAL, options.samples // len(names))
            inputs = UncertainInputs(samples=samples, frames=LEG_FRAMES)
            bands = moments_with_bands(posterior, last_seconds(data, name), inputs)
        words = "" if bands is None else _held_by(bands)
        sections.append(Drawn(f"Moments of {name}", moment_figure(data, name, posterior, bands), words))
        if bands is not None:
            sections.append(Numbers(f"{name}: {SHARES}", bands.shares()))
        forces = joint_forces(posterior, last_seconds(data, name), UncertainInputs(frames=LEG_FRAMES))
        words = "Without what gravity, motion and ground add, whose forces the files do not hold."
        sections.append(Drawn(f"{name}: force of the muscles in the joints", joint_force_figure(forces), words))
    used = [
        leg.MODEL,
        leg.CALIBRATED,
        leg.UNCALIBRATED,
        *(f"{n}_{c}.sto" for n in names for c in ("emgFilt", "ik", "id")),
    ]
    _write(output, f"EMG-driven leg: {trial}", lines, sections, ("emg_driven_leg", pedigree(folder, leg.HASHES, used)))


def belli_page(folder: Path, output: Path, options: PageOptions) -> None:
    """All trials of the folder, or one, with and without the cone."""
    names = [options.trial] if options.trial else belli.trial_names(folder)
    models = {name: belli.model_of(folder, name, options.models) for name in names}
    trials = [belli.solve(belli.load_shoulder(folder, name, options.models), options.tell) for name in names]
    lines = [f"Study: {belli.STUDY}.", f"{len(trials)} trials: {', '.join(names)}."]
    lines += [f"{name}: {file.name}, {why}." for name, (file, why) in models.items()]
    _tell(options, lines)
    lines.append("Published times: 2,763 s with the cone and 2,643 s without, of 18 trials with 12,917 frames.")
    options.tell(belli.times_of(trials).to_string(float_format="{:.3g}".format))
    sections = _numbers(options, {"Activations beside the published ones": belli.table_of(trials)})
    for trial in trials:
        found = None
        if options.samples:
            samples = max(MIN_SAMPLES_PER_TRIAL, options.samples // len(trials))
            found = belli.with_bands(trial, UncertainInputs(samples=samples, frames=BAND_FRAMES))
        title, words = f"Most active muscles in {trial.name}, with cone", "" if found is None else _held_by(found)
        sections.append(Drawn(title, activation_figure(trial, found), words))
        if found is not None:
            sections.append(Numbers(f"{trial.name}: {SHARES}", found.shares()))
    used = [
        f"{name}{suffix}" for name in names for suffix in (".mot", ".npz") if (folder / f"{name}{suffix}").is_file()
    ]
    used = [*dict.fromkeys(file.name for file, _ in models.values()), *used]
    _write(
        output,
        "Shoulder with and without a stable joint",
        lines,
        sections,
        ("belli_shoulder", pedigree(folder, belli.HASHES, used)),
    )


def gait_page(folder: Path, output: Path, options: PageOptions) -> None:
    """OpenSim's reference outputs beside ours."""
    said: list[str] = []
    compared = gait.compare_folder(folder, said.append)
    table = gait.table_of(compared)
    within = int(table["within"].sum())
    lines = ["Study: reference outputs of OpenSim's own tests, opensim-core (Apache-2.0).",
             f"{within} of {len(table)} files agree within the tolerance of OpenSim's test."]  # fmt: skip
    lines += [line for line in said if ": not " in line]
    _tell(options, lines)
    sections = _numbers(options, {"Expected and found": table})
    found = _gait_bands(folder, compared, options)
    for b in (b for b in compared if len(b.time) > 1):
        bands = curves_of(found.get((b.folder, b.setup)), b.expected_file, b.names)
        words = "The columns that differ the most." + ("" if bands is None else f" {_held_by(bands)}")
        sections.append(Drawn(f"{b.folder}/{b.expected_file}", gait.difference_figure(b, bands), words))
        if bands is not None:
            sections.append(Numbers(f"{b.expected_file}: {SHARES}", bands.shares()))
    used = [f"{b.folder}/{b.expected_file}" for b in compared]
    _write(output, "OpenSim's reference outputs", lines, sections, ("gait", [f"Expected files: {', '.join(used)}."]))


def jacobians_page(folder: Path, output: Path, options: PageOptions) -> None:
    """The mapping analysis of both models, as published and as corrected; no folder is read."""
    reports = jacobians.analysed(options.poses)
    holds = all(report.holds for _, report in reports.values())
    result = "all" if holds else "not all"
    lines = ["The two published models of quaternion muscle Jacobians; they are part of the package.",
             f"{options.poses} random poses of each; {result} mappings that should hold do."]  # fmt: skip
    _tell(options, lines)
    sections = _numbers(options, {
        "As published: greatest relative errors": jacobians.table_of(reports, published=True),
        "As corrected: greatest relative errors": jacobians.table_of(reports, published=False),
    })  # fmt: skip
    words = "Left as published, right as corrected. J_Q back from J_phi is the mapping that fails: it loses J_Q Q."
    sections.append(Drawn("Errors side by side", jacobians.error_figure(reports), words))
    for name, (model, report) in reports.items():
        split = report.split.iloc[:, :4]
        sections.append(Numbers(f"{name}: tangent and radial part of J_Q", split.set_index(split.columns[0])))
        words = (
            f"90% of {options.samples} samples of attachments lie in the bands; no other source changes these curves."
        )
        drawn = jacobians.path_figure(model, options.samples)
        sections.append(Drawn(f"{name}: along a motion past gimbal lock", drawn, words if options.samples else ""))
        sections.append(Drawn(f"{name}: beside the singularities", jacobians.singular_figure(report, name)))
    _write(
        output,
        "Quaternion muscle Jacobians",
        lines,
        sections,
        ("quaternion_jacobians", ["The models are those of the package."]),
    )


PAGES: dict[str, Callable[[Path, Path, PageOptions], None]] = {
    "instrumented_shoulder": shoulder_page,
    "belli_shoulder": belli_page,
    "emg_driven_leg": leg_page,
    "gait": gait_page,
    "quaternion_jacobians": jacobians_page,
}
NEEDS_NO_FOLDER = ("quaternion_jacobians",)


def _gait_bands(
    folder: Path, compared: Sequence[gait.Beside], options: PageOptions
) -> dict[tuple[str, str], UncertainCurves | None]:
    """Of each setup by its folder and name the curves with bands, None where it has none."""
    if not options.samples:
        return {}
    inputs = UncertainInputs(samples=options.samples, frames=BAND_FRAMES)
    known = {(b.folder, b.setup) for b in compared if len(b.time) > 1}
    folders = {path.name: path for path in (folder, *folder.iterdir()) if path.is_dir()}
    return {(part, setup): bands_of(folders[part] / setup, inputs) for part, setup in sorted(known)}


# ---- parts -----------------------------------------------------------------------------------------------------------


def _tell(options: PageOptions, lines: Sequence[str]) -> None:
    for line in lines:
        options.tell(line)


def _joined(table: pd.DataFrame) -> pd.DataFrame:
    """The table with the words of each row's name side by side."""
    return table.set_axis([" ".join(map(str, names)) for names in table.index])


def _held_by(bands: UncertainCurves) -> str:
    """What the bands are."""
    count = bands.samples.shape[0] * bands.samples.shape[1]
    return f"{bands.level:.0%} of the {count} samples of {', '.join(bands.sources)} lie in the bands."


def _numbers(options: PageOptions, tables: dict[str, pd.DataFrame], across: bool = False) -> list[Shown]:
    """Say tables, and make their sections."""
    for heading, table in tables.items():
        shown = table.T if across else table
        options.tell(f"{heading}\n{shown.to_string(float_format='{:.4g}'.format)}")
    return [Numbers(heading, table) for heading, table in tables.items()]


def _write(output: Path, title: str, lines: list[str], sections: list[Shown], study: tuple[str, list[str]]) -> None:
    name, files = study
    folder = "" if name in NEEDS_NO_FOLDER else " FOLDER"
    command = f"Command: python -m validation {name}{folder} page.html"
    said = credibility(
        {**STATEMENTS[name], "Data pedigree": [*files, *np.atleast_1d(STATEMENTS[name]["Data pedigree"])]}
    )
    write_report(output, title, [command, *lines], [*sections, *said])
