"""Shoulder motions with and without a stable glenohumeral joint, beside the published activations.

The study: I. Belli and others, Does enforcing glenohumeral joint stability matter? A new rapid muscle redundancy solver
highlights the importance of non-superficial shoulder muscles, PLoS ONE 18, 2023, 10.1371/journal.pone.0295003. Angles
are low-passed at 3 Hz and brought onto the model's constraint, a point of the clavicle held to the scapula; derivatives
are central differences. Reserves on the first eight coordinates cost nothing, the others weigh 10. In shrugs plane_elv
and axial_rot are locked. Its solutions took 2,763 s with the cone and 2,643 s without, of 18 trials with 12,917 frames.
"""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pandas as pd

from myoquat.analysis.recruitment import JointCone, Redundancy, Reserve, consistent_motion, redundancy
from myoquat.analysis.recruitment.convex import are_met
from myoquat.analysis.studies import LoadsWanted, MotionSteps, UncertainCurves, UncertainInputs, uncertain_loads
from myoquat.core import Array, frozen
from myoquat.data import Motion, load_model, load_motion
from myoquat.joints.errors import ModelError
from myoquat.muscle.model import Model
from validation.solver_laws import with_solver_laws
from validation.solver_steps import central_rates, filtered

NOTHING: Mapping[str, str] = MappingProxyType({})
STUDY = "Belli and others, PLoS ONE 18, 2023, 10.1371/journal.pone.0295003"
CUTOFF = 3.0  # [Hz]
STRENGTHS = {
    "ground_thorax_rot_x": 40, "ground_thorax_rot_y": 40, "ground_thorax_rot_z": 40, "ground_thorax_tx": 40,
    "ground_thorax_ty": 500, "ground_thorax_tz": 40, "elbow_flexion": 20, "pro_sup": 20, "scapula_elevation": 1,
    "clav_prot": 1, "clav_elev": 1, "scapula_abduction": 1, "scapula_upward_rot": 1, "scapula_winging": 1,
    "plane_elv": 1, "shoulder_elv": 1, "axial_rot": 1,
}  # fmt: skip
SHOWN_MUSCLES = 8
FREE_ACTUATORS, PENALTY = 8, 10.0  # actuators that cost nothing, and the weight of the others
CASES = {"with cone": "with_gh", "without cone": "without_gh"}
PUBLISHED_S_PER_FRAME = {"with cone": 2763 / 12917, "without cone": 2643 / 12917}
MODEL, LOADED_MODEL = "TSM_subject_noWeight.osim", "TSM_subject_2kgWeight.osim"
LOCKED_IN_SHRUGS = ("plane_elv", "axial_rot")
MARKERS = ("HumHead_Center", "Glenoid_Center", "Glenoid_Edge")
# SHA-256 of the published files (rmr-solver, CC BY 4.0); in the .npz its activations as arrays
HASHES = {
    "TSM_subject_noWeight.osim": "c357e61eb266558c0bfe9212462fbc1d621e0398c2eafc4e1a4aa92fe5c7a9ff",
    "ABD01.mot": "1cb91d171ef55995137167b9e46eb9c352175883e0234f3dee6d0e667037a88a",
    "ABD01.npz": "28b42d415edf490d972200ab702d350939aac057e08d892ef7beb45746524097",
}


@frozen(eq=False)
class Abduction:
    """A trial: its model and motion, its published activations, and the solutions of `solve`.

    name       of the trial, from NAME.mot
    model      with the laws of the study's solver
    motion     with derivatives, on the model's constraint
    published  (t, m) activations of each case whose file is there
    found      the solutions, after `solve`
    seconds    of each solution, after `solve`
    """

    name: str
    model: Model
    motion: Motion
    published: dict[str, Array]
    found: dict[str, Redundancy]
    seconds: dict[str, float]


def trial_names(folder: Path) -> list[str]:
    """Trials: files of angles, NAME.mot."""
    return sorted(path.stem for path in folder.glob("*.mot"))


def model_of(folder: Path, name: str, chosen: Mapping[str, str] = NOTHING) -> tuple[Path, str]:
    """The model of a trial, and why: the first of these that applies.

    - The file that `chosen` holds for the trial, or under "" for all trials.
    - NAME.osim.
    - One of the two published models, if the folder has the one without weight. The study's scripts take the one with 2
      kg in the hand for trials whose two-digit number begins with 2. For those that begin with 0 they take the other.
    - The only model in the folder.

    ModelError if the chosen file is not there, if there is no model, and if there are several.
    """
    wanted = chosen.get(name, chosen.get(""))
    if wanted is not None:
        if not (folder / wanted).is_file():
            raise ModelError(f"{name}: the model {wanted} that --model names is not there", file=folder)
        return folder / wanted, "as --model says"
    if (folder / f"{name}.osim").is_file():
        return folder / f"{name}.osim", "named as the trial"
    own = {f"{trial}.osim" for trial in trial_names(folder)}
    found = sorted(path.name for path in folder.glob("*.osim") if path.name not in own)
    number = re.search(r"([02])\d$", name)
    if number is not None and MODEL in found:
        loaded = number[1] == "2"
        if loaded and LOADED_MODEL not in found:
            return folder / MODEL, f"although its number says 2 kg: {LOADED_MODEL} is not there"
        return folder / (LOADED_MODEL if loaded else MODEL), f"for trials numbered {number[1]}x"
    if len(found) == 1:
        return folder / found[0], "the only model"
    said = f"several models, {', '.join(found)}" if found else "no model"
    raise ModelError(f"{said}: --model {name}=FILE says which one belongs to {name}", file=folder)


def load_shoulder(folder: Path, name: str, chosen: Mapping[str, str] = NOTHING) -> Abduction:
    """A trial from NAME.mot, the model of `model_of` and, where it is there, NAME.npz: `with_gh` and `without_gh`."""
    model = with_solver_laws(load_model(model_of(folder, name, chosen)[0]))
    recorded = load_motion(folder / f"{name}.mot", model)
    shrugs = name.lower().startswith("shr")
    if shrugs:
        model = _locked(model, recorded)
    file, m = folder / f"{name}.npz", len(model.muscles)
    published = {}
    if file.is_file():
        with np.load(file, allow_pickle=False) as stored:
            published = {case: stored[key][:, :m] for case, key in CASES.items() if key in stored}
    motion = moving(model, recorded, LOCKED_IN_SHRUGS if shrugs else ())
    for case, values in published.items():
        if values.shape != (len(motion.time), m):
            raise ModelError(f"{case}: {values.shape} activations, {len(motion.time)} frames of {m} muscles", file=file)
    return Abduction(name, model, motion, published, {}, {})


def moving(model: Model, recorded: Motion, still: Sequence[str] = ()) -> Motion:
    """The motion with its derivatives on the model's constraint; coordinates that are `still` keep their mean."""
    q = filtered(recorded, CUTOFF)
    for name in still:
        column = model.system.coordinate_names.index(name)
        q[:, column] = recorded.q[:, column].mean()
    held = consistent_motion(model, Motion(model.system, recorded.time, q))
    return consistent_motion(model, central_rates(held))


def reserves(model: Model) -> list[Reserve]:
    """Those of the study, on what is not locked."""
    locked = {c.name for c in model.coordinates if c.locked}
    return [Reserve(name, float(R), 0.0 if k < FREE_ACTUATORS else PENALTY)
            for k, (name, R) in enumerate(STRENGTHS.items()) if name not in locked]  # fmt: skip


def cone_of(model: Model) -> JointCone:
    """From the head to the rim of the socket."""
    return JointCone.from_markers(model, "GlenoHumeral", *MARKERS)


def solve(trial: Abduction, tell: Callable[[str], None] = lambda words: None) -> Abduction:
    """Both cases."""
    found, seconds = {}, {}
    for case in CASES:
        start = time.perf_counter()
        cones = [cone_of(trial.model)] if case == "with cone" else []
        found[case] = redundancy(trial.model, trial.motion, reserves=reserves(trial.model), cones=cones)
        seconds[case] = time.perf_counter() - start
        tell(f"{trial.name}, {case}: {found[case]!r}, {seconds[case]:.2f} s")
    return replace(trial, found=found, seconds=seconds)


def table_of(trials: Sequence[Abduction]) -> pd.DataFrame:
    """A row per trial and case: frames, those solved, the RMS difference of the activations, and the efforts."""
    rows = {}
    for trial in trials:
        for case, found in trial.found.items():
            solved = int(are_met(found.status).sum())
            row: dict[str, float | str] = {"frames": len(trial.motion.time), "solved": solved}
            row["mean effort"] = float(np.mean(np.sum(found.activation**2, axis=-1)))
            if case in trial.published:
                published = trial.published[case]
                off = found.activation - published
                row["RMS of activations"] = float(np.sqrt(np.mean(off**2)))
                row["muscle that differs most"] = trial.model.muscle_names[int(np.mean(off**2, axis=0).argmax())]
                row["published mean effort"] = float(np.mean(np.sum(published**2, axis=-1)))
            rows[f"{trial.name}, {case}"] = row
    return pd.DataFrame.from_dict(rows, orient="index")


def with_bands(trial: Abduction, inputs: UncertainInputs) -> UncertainCurves:
    """The activations of the most active muscles with the cone, with bands of the uncertain inputs."""
    wanted = LoadsWanted(reserves(trial.model), [cone_of(trial.model)], joints=())
    steps = MotionSteps(cutoff=CUTOFF, consistent=True)
    found = uncertain_loads(trial.model, trial.motion, None, inputs, steps, wanted)
    return found.of([f"{name}.activation" for name in most_active(trial)])


def most_active(trial: Abduction) -> list[str]:
    """The muscles with the greatest mean activation with the cone."""
    mean = trial.found["with cone"].activation.mean(axis=0)
    return [trial.model.muscle_names[k] for k in np.argsort(-mean, kind="stable")[:SHOWN_MUSCLES]]


def times_of(trials: Sequence[Abduction]) -> pd.DataFrame:
    """Seconds of both cases, and those of the publication for as many frames."""
    rows = {}
    for case, per_frame in PUBLISHED_S_PER_FRAME.items():
        frames = sum(len(trial.motion.time) for trial in trials)
        here = sum(trial.seconds[case] for trial in trials)
        rows[case] = {"frames": frames, "here [s]": here, "published, for as many frames [s]": per_frame * frames}
    return pd.DataFrame.from_dict(rows, orient="index")


def _locked(model: Model, recorded: Motion) -> Model:
    coordinates = tuple(replace(c, locked=True) if c.name in LOCKED_IN_SHRUGS else c for c in model.coordinates)
    return replace(model, coordinates=coordinates)
