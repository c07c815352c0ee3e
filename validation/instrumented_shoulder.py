"""The force in an instrumented shoulder: from markers to the glenohumeral force under every stability rule.

The study: I. M. I. Hasan, I. Belli, A. Seth, E. M. Gutierrez-Farewik, IEEE TNSRE, 2025, 10.1109/TNSRE.2025.3635012. Its
steps, of which the last runs once per rule:

- inverse kinematics with the published weights
- a low-pass Butterworth filter of 3 Hz and fourth order, in both directions
- per frame, the least sum of squared activations and reserves

Its script numbers the weights of 10 by coordinates and applies them by actuators. They therefore act on the clavicle,
the scapula and the plane of elevation. Measured and computed force both start at time zero, as in the study.
"""

import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np
import pandas as pd

from myoquat.analysis.motion import FittedMotion
from myoquat.analysis.recruitment import Redundancy, Reserve, ReserveActuator, StabilityRule, redundancy
from myoquat.analysis.recruitment.forward.check import commands_of
from myoquat.analysis.recruitment.free import free_velocities
from myoquat.analysis.studies import LoadsWanted, MotionSteps, UncertainCurves, UncertainInputs, uncertain_loads
from myoquat.apps.commands.parsing import reserves_named
from myoquat.apps.opensim_tools.tools import task_weights
from myoquat.core import Array, frozen
from myoquat.data import load_model, load_motion
from myoquat.data.motions import Markers, Motion, load_markers
from myoquat.data.motions.angles import balls
from myoquat.data.setups import InverseKinematicsSetup, read_setup
from myoquat.dynamics.constraints import ConstraintArrays, Constraints
from myoquat.joints.errors import ModelError
from myoquat.joints.vectors import vecmat
from myoquat.muscle.model import Model
from validation.rules import BorderCone, published_rules
from validation.solver_laws import with_solver_laws

JOINT = "GlenoHumeral"
MARKERS = ("HumHead_Center", "Glenoid_Center", "Glenoid_Edge")
RULES = ("none", "point", "circle", "ellipse", "polynomial", "conditional", "planar", "curve")
CONVEX = ("none", "point", "circle", "ellipse")
STUDY = "Hasan, Belli, Seth and Gutierrez-Farewik, IEEE TNSRE, 2025, 10.1109/TNSRE.2025.3635012"
CUTOFF, FILTER_ORDER = 3.0, 8  # [Hz], of both passes together
MIN_FRAMES = 16  # of a trial, for its derivatives
MAX_RESERVE_SHARE = 0.2  # of the torque of a velocity; reserves that give more carry the motion
MIN_ARM_M = 1e-3  # [m] of a muscle that acts on a velocity
STRENGTHS = (("ground_thorax*", 100.0), ("elbow_flexion*", 20.0), ("pro_sup*", 20.0))  # [N m, N]; 1 for the others
WEIGHTS = (("scapula_*", 10.0), ("clav_*", 10.0), ("plane_elv*", 10.0))
FORCE_NAMES = ("magnitude", "forward", "upward", "lateral")
MEASURED = ("Fgx", "Fgy", "Fgz")  # forward, upward and lateral, of the glenoid
# SHA-256 of the lateral raise as it was published (10.4121/86db1d7d, imihasan/customized-rmr-solver).
HASHES = {
    "lateral_raise.trc": "239c8b982e978f481529f39fc0e0786bfe98a0a59f114f9cba11bb699e28eb99",
    "model_lateral_raise.osim": "6fecbbf9150d7de0249367edb8a7a782185ee487acc941a991aab5055a67ec50",
    "published_ik_setup.xml": "1948eafd4711bf4e325153117ef74de8fa28e31ceea40aec7d24a1270f5a0629",
    "measured_force_lateral_raise.txt": "c93e856541d1380bc8ce4e5bc5e961116ddbf961d8425fbcbec4dd0ef83134b4",
    "published_ik_lateral_raise.mot": "f472e5d56adbb87d8bb0f23682d855a0ed3fad6b671a184176480994ad34269e",
    "published_activations_circle.csv": "a55e787481c0c8c3a944445e4951a42e61209f9ece23450f1bdbe9b6d3938efb",
    "published_activations_conditional.csv": "e8fa3f41c9e2179a3d198ce6269c04eba33801e80e9bac86e9f22c2dd08b2e08",
    "published_activations_curve.csv": "58baec15887394b8064e2dfb055c733508521784ef215fb0d2e9aa0a98afa424",
    "published_activations_ellipse.csv": "0ab26257517d84e39515298ffe0ff77d2b68c51dbbcf9b3b1b8047b37bb225fd",
    "published_activations_none.csv": "e21912d92de6a293a81343a868f020c2f73a42e1c47255b7bb01720c551f7aa6",
    "published_activations_planar.csv": "c3333f1fb2311a261bacd79573aab595202ab065a2ab3380ba40743d69dc03fc",
    "published_activations_point.csv": "80cdc5426907ce975950a6387a9eb3be5b5e4e1c5c69141e25fb42796b42b8a7",
    "published_activations_polynomial.csv": "21617f1bf09e705cf3d11f62c656f149a177215974f336afc8b8047aaab5c955",
}


@frozen(eq=False)
class Trial:
    """The files of a trial: its model, its motion on the model's constraints, and the measured force.

    fit          inverse kinematics of the markers
    time, force  (k,) [s] and (k, 3) [N], the measured force in the glenoid's axes
    gap          (h,) [m, rad] the greatest violation of each constraint by the motion
    markers      those that the fit used
    steps        from markers to the motion
    """

    name: str
    model: Model
    fit: FittedMotion
    motion: Motion
    time: Array
    force: Array
    gap: Array
    markers: Markers
    steps: MotionSteps

    @property
    def measured(self) -> Array:
        """(t, 3) [N] the measured force at the times of the motion that it covers, both from time zero on."""
        time = self.covered
        return np.stack([np.interp(time, self.time, f) for f in self.force.T], axis=-1)

    @property
    def covered(self) -> Array:
        """(t,) [s] the times of the motion, from 0 on, that the measured force covers."""
        time = self.motion.time - self.motion.time[0]
        return np.asarray(time[time <= self.time[-1]])


@frozen(eq=False)
class Comparison:
    """Redundancy under a rule, None for no rule, beside the measured force at the same times: `force` and `measured`
    (t, 3) [N] in the glenoid's axes."""

    name: str
    found: Redundancy
    force: Array
    measured: Array

    @property
    def numbers(self) -> dict[str, float]:
        """RMS difference [N] and correlation of the magnitudes, greatest magnitudes [N], and the mean angle [deg]
        between the forces."""
        own, true = (np.linalg.norm(v, axis=-1) for v in (self.force, self.measured))
        cosine = np.sum(self.force * self.measured, axis=-1) / (own * true)
        return {
            "RMS difference [N]": float(np.sqrt(np.mean((own - true) ** 2))),
            "correlation": float(np.corrcoef(own, true)[0, 1]),
            "peak [N]": float(own.max()),
            "measured peak [N]": float(true.max()),
            "mean angle [deg]": float(np.degrees(np.mean(np.arccos(np.clip(cosine, -1.0, 1.0))))),
        }


def measured_force(path: Path) -> tuple[Array, Array]:
    """Times (k,) [s], from 0 on, and forces (k, 3) [N] of a file of the instrumented prosthesis. ModelError for a file
    without a table of 'Time Fgx Fgy Fgz ...'."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    heads = [k for k, line in enumerate(lines) if line.split()[:4] == ["Time", *MEASURED]]
    if not heads:
        raise ModelError(f"no table with the columns Time {' '.join(MEASURED)}", file=path)
    try:
        rows = np.array([[float(x) for x in line.split()[:4]] for line in lines[heads[0] + 2 :] if line.strip()])
    except ValueError as error:
        raise ModelError(f"not a table of numbers: {error}", file=path) from None
    if len(rows) < 2 or (np.diff(rows[:, 0]) <= 0).any():
        raise ModelError("the times of the table must ascend", file=path)
    return rows[:, 0] - rows[0, 0], rows[:, 1:]


def load_trial(folder: Path, name: str, rotations: str = "quaternion", model_file: str | None = None) -> Trial:
    """The trial from `model_NAME.osim`, or another model in the folder, `NAME.trc`, `published_ik_setup.xml` and
    `measured_force_NAME.txt`."""
    model = study_model(folder, name, rotations, model_file)
    setup = _setup(folder, name)
    markers = _markers_of(folder, name, model, setup.times)
    used, weights, wanted = task_weights(model, markers, setup.tasks, None, setup.path)
    steps = MotionSteps(weights, wanted, cutoff=CUTOFF, consistent=True, order=FILTER_ORDER)
    markers = markers.select(used)
    fit = steps.fitted(model, markers)
    motion = steps.moving(model, fit)
    arrays = ConstraintArrays(Constraints(model.system, model.constraints))
    gap = np.abs(arrays.position(motion.q, motion.time)).max(axis=0, initial=0.0)
    measured = measured_force(folder / f"measured_force_{name}.txt")
    return Trial(name, model, fit, motion, *measured, gap, markers, steps)


def study_model(folder: Path, name: str, rotations: str, file: str | None = None) -> Model:
    """The model of a trial, of another `file` in the folder or its own, with the muscles of the solver."""
    return with_solver_laws(load_model(folder / (file or f"model_{name}.osim"), rotations))


def setup_of(folder: Path, name: str) -> Path:
    """`published_ik_setup_NAME.xml`, or `published_ik_setup.xml` for all trials."""
    own = folder / f"published_ik_setup_{name}.xml"
    return own if own.is_file() else folder / "published_ik_setup.xml"


def _setup(folder: Path, name: str) -> InverseKinematicsSetup:
    """The setup, read from a copy that names the markers of the trial: the published one names those of its own."""
    path, markers = setup_of(folder, name), escape(str((folder / f"{name}.trc").resolve()))
    text = path.read_text(encoding="utf-8")
    text = re.sub(
        "<marker_file>.*?</marker_file>", lambda found: f"<marker_file>{markers}</marker_file>", text, flags=re.S
    )
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / path.name
        copy.write_text(text, encoding="utf-8")
        setup = read_setup(copy, model=(folder / f"model_{name}.osim").resolve())
    if not isinstance(setup, InverseKinematicsSetup):
        raise ModelError("the setup must be an InverseKinematicsTool", file=path)
    return setup


def _markers_of(folder: Path, name: str, model: Model, times: tuple[float, float]) -> Markers:
    """The markers at the times of the published angles, of the setup without these, and all where neither fits the
    trial."""
    seen, published = load_markers(folder / f"{name}.trc"), folder / f"published_ik_{name}.mot"
    if published.is_file():
        recorded = load_motion(published, model, start=model.start).time
        times = float(recorded[0]), float(recorded[-1])
    part = seen.between(*times)
    return part if len(part.time) >= MIN_FRAMES else seen


def compare(trial: Trial, names: Sequence[str], tell: Callable[[str], None] = lambda words: None) -> list[Comparison]:
    """Redundancy under rules by their names, "none" among them, beside the measured force."""
    rules = published_rules(trial.model, JOINT, *MARKERS)
    glenoid = rules["polynomial"]
    assert isinstance(glenoid, BorderCone)
    axes = glenoid_axes(glenoid)
    reserves = reserves_of_study(trial.model, trial.motion)
    measured, compared = trial.measured, []
    for name in names:
        cones: list[StabilityRule] = [] if name == "none" else [rules[name]]
        found = redundancy(trial.model, trial.motion, reserves=reserves, cones=cones)
        force = force_of(found, name) @ axes.T
        compared.append(Comparison(name, found, force[: len(measured)], measured))
        tell(f"{name}: {found!r}")
    return compared


def force_with_bands(trial: Trial, name: str, inputs: UncertainInputs) -> UncertainCurves:
    """The magnitude and the parts of the force under a convex rule, with bands of the uncertain inputs."""
    rules = published_rules(trial.model, JOINT, *MARKERS)
    glenoid = rules["polynomial"]
    assert isinstance(glenoid, BorderCone)
    cones = [] if name == "none" else [rules[name]]
    reserves = reserves_of_study(trial.model, trial.motion)
    wanted = LoadsWanted(reserves, cones, joints=[JOINT], on="parent", frame="parent")
    found = uncertain_loads(trial.model, trial.markers, None, inputs, trial.steps, wanted)
    own = found.of([column for column in found.names if column.endswith(("_fx", "_fy", "_fz"))])
    values, samples = (with_magnitude(x @ glenoid_axes(glenoid).T) for x in (own.values, own.samples))
    return replace(
        own, time=own.time - own.time[0], names=FORCE_NAMES, units=("N",) * 4, values=values, samples=samples
    )


def with_magnitude(force: Array) -> Array:
    """(..., 4) magnitudes and parts of forces (..., 3)."""
    return np.concatenate([np.linalg.norm(force, axis=-1, keepdims=True), force], axis=-1)


def glenoid_axes(rule: BorderCone) -> Array:
    """(3, 3) unit vectors in rows, in the scapula's axes: forward, upward and lateral. The rim's marker is on the
    posterior edge."""
    n, posterior, superior = rule.frame
    return np.stack([-posterior, superior, -n])


def table_of(compared: Sequence[Comparison]) -> pd.DataFrame:
    """A row per rule: its numbers, how many frames have a solution that meets all conditions, and the mean effort."""
    rows = {}
    for each in compared:
        met = float(np.isin(each.found.status, (0, 3)).mean())
        rows[each.name] = {**each.numbers, "frames solved": met, "mean effort": float(each.found.effort.mean())}
    return pd.DataFrame.from_dict(rows, orient="index")


def carried_by_reserves(compared: Comparison) -> list[str]:
    """A sentence for each free velocity on which muscles act, but reserves give more than a fifth of the torque.

    The share is the root mean square over time of the reserves' torque, over the sum of that and the muscles'.
    """
    found, C = compared.found, free_velocities(compared.found.model, compared.found.motion.q)[1]
    count = C.shape[-1]
    muscles = np.einsum("tme,tm->te", found.arms[..., :count], found.force)
    reserves = vecmat(commands_of(found)[1], C)
    own, helped = (np.sqrt(np.mean(x**2, axis=0)) for x in (muscles, reserves))
    reached = np.abs(found.arms[..., :count]).max(axis=(0, 1), initial=0.0) > MIN_ARM_M
    return [
        f"WARNING, rule {compared.name}: reserves carry {helped[e] / (own[e] + helped[e]):.0%} of the torque of "
        f"{found.velocities[e]}; the model does not fit the trial, or its muscles are too weak."
        for e in range(count)
        if reached[e] and helped[e] > MAX_RESERVE_SHARE * (own[e] + helped[e])
    ]


def reserves_of_study(model: Model, motion: Motion) -> list[Reserve | ReserveActuator]:
    """The reserves on what is free, with the strengths and weights of the study; of other models with 1."""
    known = {reserve.name for reserve in reserves_named(model, motion.q, (), (), (1.0, 1.0))}
    known |= {name for ball in balls(model.system) for name in ball.angles.names}
    strengths, weights = (
        [(pattern, number) for pattern, number in given if any(fnmatchcase(name, pattern) for name in known)]
        for given in (STRENGTHS, WEIGHTS)
    )
    return reserves_named(model, motion.q, strengths, weights, (1.0, 1.0))


def force_of(found: Redundancy, name: str) -> Array:
    """(t, 3) [N] that the humerus presses on the scapula with under a rule, in the scapula's axes."""
    if name != "none":
        return found.pressed[:, 0]
    return found.joint_loads().of(JOINT, on="parent", frame="parent").force
