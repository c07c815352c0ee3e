"""The page of each study: tables and figures beside what was measured or published, and its credibility."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from myoquat.analysis.recruitment import moment_posterior
from myoquat.analysis.studies import UncertainCurves, UncertainInputs
from myoquat.apps.report import Drawn, Numbers, Shown, summary_of, write_report
from myoquat.apps.study_pages import band_figure
from myoquat.core import frozen
from validation import (
    belli_shoulder as belli,
    emg_driven_leg as leg,
    gait,
    instrumented_shoulder as shoulder,
    quaternion_jacobians as jacobians,
)
from validation.credibility import credibility, pedigree
from validation.figures import activation_figure, force_figures, joint_force_figure, last_seconds, moment_figure
from validation.gait_bands import bands_of, curves_of
from validation.leg_bands import joint_forces, moments_with_bands
from validation.published import at_published_angles
from validation.statements import STATEMENTS

DRAWS = 2000  # of the posterior
BAND_FRAMES, LEG_FRAMES = 51, 101  # of curves; of strides
MIN_SAMPLES_PER_TRIAL = 16  # where all trials of a study share the samples
SHARES = "Share of each source in the variance (Sobol indices)"


@frozen
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


class Page:
    """Lines and sections of a study's page, said while they are made."""

    def __init__(self, study: str, options: PageOptions, *lines: str) -> None:
        self.study, self.options, self.lines = study, options, list[str]()
        self.sections: list[Shown] = []
        self.say(*lines)

    def say(self, *lines: str) -> None:
        """Lines of the summary."""
        self.lines += lines
        for line in lines:
            self.options.tell(line)

    def inputs(self, frames: int, parts: int = 1) -> UncertainInputs | None:
        """The uncertain inputs of one of several parts, which share the samples; None for no bands."""
        samples = self.options.samples
        return UncertainInputs(samples=max(MIN_SAMPLES_PER_TRIAL, samples // parts), frames=frames) if samples else None

    def tables(self, tables: dict[str, pd.DataFrame], across: bool = False) -> None:
        """Tables that are said too."""
        for heading, table in tables.items():
            shown = table.T if across else table
            self.options.tell(f"{heading}\n{shown.to_string(float_format='{:.4g}'.format)}")
        self.numbers(tables)

    def numbers(self, tables: dict[str, pd.DataFrame]) -> None:
        """Tables."""
        self.sections += [Numbers(heading, table) for heading, table in tables.items()]

    def draw(self, title: str, figure: Figure, words: str = "", bands: UncertainCurves | None = None) -> None:
        """A figure, and what its bands are."""
        self.sections.append(Drawn(title, figure, f"{words} {'' if bands is None else _held_by(bands)}".strip()))

    def write(self, output: Path, title: str, files: list[str]) -> None:
        """Write the page with the credibility of the study, whose data are files."""
        statements = STATEMENTS[self.study]
        pedigree = [*files, *np.atleast_1d(statements["Data pedigree"])]
        folder = "" if self.study in NEEDS_NO_FOLDER else " FOLDER"
        command = f"Command: python -m validation {self.study}{folder} page.html"
        said = credibility({**statements, "Data pedigree": pedigree})
        write_report(output, title, [command, *self.lines], [*self.sections, *said])


def _held_by(bands: UncertainCurves) -> str:
    """What the bands are."""
    count = bands.samples.shape[0] * bands.samples.shape[1]
    return f"{bands.level:.0%} of the {count} samples of {', '.join(bands.sources)} lie in the bands."


def shoulder_page(folder: Path, output: Path, options: PageOptions) -> None:
    """From markers to the force under each rule, beside the measured one."""
    name = options.trial or "lateral_raise"
    file = options.models.get(name, options.models.get(""))
    trial = shoulder.load_trial(folder, name, options.rotations, file)
    page = Page(
        "instrumented_shoulder",
        options,
        f"Study: {shoulder.STUDY}.",
        f"Trial {name}: {summary_of(trial.fit)}.",
        f"Distance of the motion from the model's constraints: {trial.gap.max(initial=0.0):.1e} m at most.",
        *([f"Model: {file}."] if file else []),
    )
    compared = shoulder.compare(trial, options.rules, options.tell)
    page.say(*(sentence for each in compared for sentence in shoulder.carried_by_reserves(each)))
    tables = {"Computed and measured force": shoulder.table_of(compared)}
    if options.published and (folder / f"published_ik_{name}.mot").is_file():
        table, gap = at_published_angles(folder, trial, options.rules, file)
        page.say(f"The published angles leave the constraint open by up to {gap * 1e3:.1f} mm.")
        if len(table):
            tables["Activations and force at the published angles"] = table
    ranked = sorted(compared, key=lambda each: round(each.numbers["RMS difference [N]"], 1))
    page.say(f"Nearest to the measured magnitude: {ranked[0].name}.")
    page.tables(tables)
    found, words = None, ""
    if inputs := page.inputs(BAND_FRAMES):
        convex = next((each.name for each in ranked if each.name in shoulder.CONVEX), "circle")
        found, words = shoulder.force_with_bands(trial, convex, inputs), f"Rule {convex};"
    figures = force_figures(trial, compared, found)
    for title, figure in zip(("Magnitude of the force", "Parts of the force"), figures, strict=True):
        page.draw(title, figure, words, found)
    if found is not None:
        bands = band_figure(found, trial.covered, shoulder.with_magnitude(trial.measured))
        page.draw("Force with bands of uncertain inputs", bands, words, found)
        page.numbers({SHARES: found.shares()})
    compared_files = [f"published_ik_{name}.mot", *(f"published_activations_{rule}.csv" for rule in options.rules)]
    used = [f"{name}.trc", f"model_{name}.osim", shoulder.setup_of(folder, name).name, f"measured_force_{name}.txt"]
    used += [file for file in compared_files if options.published and (folder / file).is_file()]
    page.write(output, f"Instrumented shoulder: {name}", pedigree(folder, shoulder.HASHES, used))


def leg_page(folder: Path, output: Path, options: PageOptions) -> None:
    """Calibrate on a trial, and predict all of the folder."""
    trial = options.trial or "walk36"
    names = [trial, *(name for name in leg.trial_names(folder) if name != trial)]
    data = leg.load_leg(folder, names)
    found, seconds = leg.calibrated(data, trial)
    posterior = moment_posterior(found, samples=DRAWS)
    page = Page(
        "emg_driven_leg",
        options,
        "Study: CEINMS-RT/LowerLimbModel, 10.5281/zenodo.6457662.",
        f"Calibrated on {trial}; {'converged' if found.converged else 'not converged'}.",
        f"Delay {found.delay * 1e3:.0f} ms; one independent error per {leg.ERROR_TIME:g} s.",
        f"Posterior: {summary_of(posterior)}.",
    )
    options.tell(f"calibrated in {seconds:.1f} s")  # times differ from run to run, the page does not
    page.tables({
        "Cross-validation in the calibration trial: RMS differences of moments": leg.cross_validation(data, trial),
        "All trials, calibrated on the first: RMS differences of moments": leg.errors_table(data, found, posterior),
    }, across=True)  # fmt: skip
    intervals = posterior.table()
    page.numbers({
        "Parameters of the muscles": found.muscles,
        "Posterior of the parameters, 90 %": intervals.set_axis([" ".join(map(str, row)) for row in intervals.index]),
        "Passive moments: offset [N m], stiffness [N m / rad], damping [N m s / rad]": found.passive,
    })  # fmt: skip
    for name in names:
        shown, inputs = last_seconds(data, name), page.inputs(LEG_FRAMES, len(names))
        bands = moments_with_bands(posterior, shown, inputs) if inputs else None
        page.draw(f"Moments of {name}", moment_figure(data, name, posterior, bands), bands=bands)
        if bands is not None:
            page.numbers({f"{name}: {SHARES}": bands.shares()})
        forces = joint_forces(posterior, shown, UncertainInputs(frames=LEG_FRAMES))
        words = "Without what gravity, motion and ground add, whose forces the files do not hold."
        page.draw(f"{name}: force of the muscles in the joints", joint_force_figure(forces), words)
    used = [leg.MODEL, leg.CALIBRATED, leg.UNCALIBRATED]
    used += [f"{n}_{c}.sto" for n in names for c in ("emgFilt", "ik", "id")]
    page.write(output, f"EMG-driven leg: {trial}", pedigree(folder, leg.HASHES, used))


def belli_page(folder: Path, output: Path, options: PageOptions) -> None:
    """All trials of the folder, or one, with and without the cone."""
    names = [options.trial] if options.trial else belli.trial_names(folder)
    models = {name: belli.model_of(folder, name, options.models) for name in names}
    trials = [belli.solve(belli.load_shoulder(folder, name, options.models), options.tell) for name in names]
    page = Page("belli_shoulder", options, f"Study: {belli.STUDY}.", f"{len(trials)} trials: {', '.join(names)}.",
                *(f"{name}: {file.name}, {why}." for name, (file, why) in models.items()))  # fmt: skip
    page.say("Published times: 2,763 s with the cone and 2,643 s without, of 18 trials with 12,917 frames.")
    options.tell(belli.times_of(trials).to_string(float_format="{:.3g}".format))
    page.tables({"Activations beside the published ones": belli.table_of(trials)})
    for trial in trials:
        inputs = page.inputs(BAND_FRAMES, len(trials))
        found = belli.with_bands(trial, inputs) if inputs else None
        title = f"Most active muscles in {trial.name}, with cone"
        page.draw(title, activation_figure(trial, found), bands=found)
        if found is not None:
            page.numbers({f"{trial.name}: {SHARES}": found.shares()})
    files = [f"{name}{suffix}" for name in names for suffix in (".mot", ".npz")]
    used = [*dict.fromkeys(file.name for file, _ in models.values()), *(f for f in files if (folder / f).is_file())]
    page.write(output, "Shoulder with and without a stable joint", pedigree(folder, belli.HASHES, used))


def gait_page(folder: Path, output: Path, options: PageOptions) -> None:
    """OpenSim's reference outputs beside ours, with bands of uncertain inputs for setups that give curves."""
    said: list[str] = []
    compared = gait.compare_folder(folder, said.append)
    table = gait.table_of(compared)
    page = Page("gait", options, "Study: reference outputs of OpenSim's own tests, opensim-core (Apache-2.0).",
                f"{int(table['within'].sum())} of {len(table)} files agree within the tolerance of OpenSim's test.",
                *(line for line in said if ": not " in line))  # fmt: skip
    page.tables({"Expected and found": table})
    curves = [b for b in compared if len(b.time) > 1]
    folders = {path.name: path for path in (folder, *folder.iterdir()) if path.is_dir()}
    inputs, found = page.inputs(BAND_FRAMES), dict[tuple[str, str], UncertainCurves | None]()
    for part, setup in sorted({(b.folder, b.setup) for b in curves}):
        found[part, setup] = bands_of(folders[part] / setup, inputs) if inputs else None
    for b in curves:
        bands = curves_of(found.get((b.folder, b.setup)), b.expected_file, b.names)
        figure = gait.difference_figure(b, bands)
        page.draw(f"{b.folder}/{b.expected_file}", figure, "The columns that differ the most.", bands)
        if bands is not None:
            page.numbers({f"{b.expected_file}: {SHARES}": bands.shares()})
    used = [f"{b.folder}/{b.expected_file}" for b in compared]
    page.write(output, "OpenSim's reference outputs", [f"Expected files: {', '.join(used)}."])


def jacobians_page(folder: Path, output: Path, options: PageOptions) -> None:
    """The mapping analysis of both models, as published and as corrected; no folder is read."""
    reports = jacobians.analysed(options.poses)
    result = "all" if all(report.holds for _, report in reports.values()) else "not all"
    page = Page("quaternion_jacobians", options,
                "The two published models of quaternion muscle Jacobians; they are part of the package.",
                f"{options.poses} random poses of each; {result} mappings that should hold do.")  # fmt: skip
    page.tables({
        "As published: greatest relative errors": jacobians.table_of(reports, published=True),
        "As corrected: greatest relative errors": jacobians.table_of(reports, published=False),
    })  # fmt: skip
    words = "Left as published, right as corrected. J_Q back from J_phi is the mapping that fails: it loses J_Q Q."
    page.draw("Errors side by side", jacobians.error_figure(reports), words)
    words = f"90% of {options.samples} samples of attachments lie in the bands; no other source changes these curves."
    for name, (model, report) in reports.items():
        split = report.split.iloc[:, :4]
        page.numbers({f"{name}: tangent and radial part of J_Q": split.set_index(split.columns[0])})
        drawn = jacobians.path_figure(model, options.samples)
        page.draw(f"{name}: along a motion past gimbal lock", drawn, words if options.samples else "")
        page.draw(f"{name}: beside the singularities", jacobians.singular_figure(report, name))
    page.write(output, "Quaternion muscle Jacobians", ["The models are those of the package."])


PAGES: dict[str, Callable[[Path, Path, PageOptions], None]] = {
    "instrumented_shoulder": shoulder_page,
    "belli_shoulder": belli_page,
    "emg_driven_leg": leg_page,
    "gait": gait_page,
    "quaternion_jacobians": jacobians_page,
}
NEEDS_NO_FOLDER = ("quaternion_jacobians",)
