"""Study files: TOML with the arguments of `Study`, grouped.

format = "myoquat-study"
version = 1
model = "two_link"                  # a model of the library, or a file beside this one

[sample]
design = "latin_hypercube"          # grid, table, random, latin_hypercube, sobol, saltelli
samples = 1000                      # not for grid and table
seed = 0

[vary]
"muscles.*.max_isometric_force" = { uniform = [0.8, 1.2], relative = true }
"bodies.A.mass" = { normal = [5.0, 0.2] }

[simulate]
duration = 1.0                      # [s]
step = 1e-3                         # [s]
method = "rk4"
activation = [0.1, 1.0, 0.1, 1.0, 0.1, 0.1]     # or 0.5 for all, or { times = [...], values = [[...], ...] }; optional
start_q = [...]                     # optional
start_u = [...]                     # optional
[simulate.limits]                   # optional
"A.omega_x" = [-50.0, 50.0]

[keep]
final = true
times = 10                          # or a list [s]
summaries = ["peak_force", "range_of_motion"]
summary_step = 0.01                 # optional

Instead of [simulate], [trial] has a recorded motion whose muscles are solved, see `trial_files`.

The section [trial] of a study file: a recorded motion, and what its muscles have to do.

[trial]
motion = "walk_ik.mot"              # beside the study file
in_degrees = true                   # where the motion's file does not say it
cutoff = 6.0                        # [Hz] of the filter; without it the motion is only differentiated
consistent = true                   # optional: brought onto the model's couplers and constraints
loads = "walk_grf.xml"              # optional: external loads
reserves = 10.0                     # for all free velocities, {velocity = strength}, or [[trial.reserves]]
dynamics = true                     # optional, or { rates = 1e-4 }, as `Coupled`, for the trial as one problem
tendons = "elastic"                 # optional
[trial.effort]                      # optional
power = 3.0
weights = { soleus_r = 2.0 }
cost = "Umberger2010"               # for metabolic power, or "Bhargava2004", or { model = "Bhargava2004", ... }
[[trial.reserves]]                  # as `Reserve`
velocity = "pelvis_ty_dot"
strength = 500.0
[[trial.cones]]                     # as `JointCone`, or markers = ["head", "centre", "rim"] for its last two
joint = "GlenoHumeral"
direction = [0.0, 0.0, 1.0]
half_angle = 0.5                    # [rad]
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from myoquat.analysis.motion import smooth
from myoquat.analysis.recruitment.redundancy import consistent_motion
from myoquat.data import library_models, load_forces, load_model, load_motion
from myoquat.data.files import read_text
from myoquat.data.toml.models import line_of, parse_toml, words
from myoquat.joints.errors import ModelError
from myoquat.muscle.model import Model

from .trial import MuscleTrial, as_table, check_keys, trial_options

KEYS = {"motion", "in_degrees", "cutoff", "consistent", "loads", "effort", "reserves", "cones", "dynamics", "tendons"}


def trial_of(table: Mapping[str, Any], model: Model, folder: Path) -> MuscleTrial:
    """The trial that a table describes, with files of a folder. Raises ValueError for a table that is none, and what
    files, efforts, reserves and cones raise."""
    check_keys(table, KEYS, "trial")
    if not isinstance(table.get("motion"), str):
        raise ValueError("trial: motion must be the name of a motion's file")
    recorded = load_motion(folder / table["motion"], model, in_degrees=table.get("in_degrees"))
    motion = smooth(recorded, table.get("cutoff"), model=model)
    motion = consistent_motion(model, motion) if table.get("consistent") else motion
    loads = table.get("loads")
    return MuscleTrial(motion, None if loads is None else load_forces(folder / loads), **trial_options(table, model))


FORMAT, VERSION = "myoquat-study", 1
MAX_BYTES = 64 * 2**20
_SECTIONS = {
    "sample": {"design", "samples", "seed"},
    "vary": None,
    "simulate": {"duration", "step", "method", "activation", "start_q", "start_u", "limits"},
    "keep": {"final", "times", "summaries", "summary_step"},
}


def read_study(path: str | Path) -> dict[str, Any]:
    """The arguments of the `Study` in a file. Raises ModelError with the file and the line of what is wrong, or
    OSError."""
    path = Path(path)
    text = read_text(path, MAX_BYTES)
    try:
        return _arguments(parse_toml(text), path.parent)
    except ValueError as error:
        raise located(error, path, text) from None


def located(error: ValueError, path: Path, text: str) -> ModelError:
    """An error of a study, with its file and the line of what it names."""
    line = getattr(error, "line", None) if getattr(error, "file", None) is None else None
    message = error.message if isinstance(error, ModelError) and error.file is None else str(error)
    return ModelError(message, file=path, line=line or line_of(text, words(message)) or 1)


def _arguments(data: dict[str, Any], folder: Path) -> dict[str, Any]:
    check_keys(data, {"format", "version", "model", "trial", *_SECTIONS}, "the file")
    if data.get("format") != FORMAT or data.get("version") != VERSION:
        raise ValueError(
            f"format {data.get('format')!r} version {data.get('version')!r}: this reads {FORMAT!r} version {VERSION}"
        )
    for key in ("model", "vary"):
        if key not in data:
            raise ValueError(f"{key} is missing")
    model = data["model"]  # of the library, or a file beside the study's
    if not isinstance(model, str):
        raise ValueError(f"model must be a name or a path, not {model!r}")
    found: dict[str, Any] = {"model": model if model in library_models() else folder / model}
    found["vary"] = as_table(data["vary"], "vary")
    for section, allowed in _SECTIONS.items():
        if allowed is not None:
            table = as_table(data.get(section, {}), section)
            check_keys(table, allowed, section)
            found |= table
    if isinstance(found.get("activation"), Mapping):
        check_keys(found["activation"], {"times", "values"}, "simulate.activation")
        found["activation"] = (found["activation"].get("times"), found["activation"].get("values"))
    if "trial" in data:
        if "simulate" in data:
            raise ValueError("a study has [simulate] or [trial], not both")
        found["model"] = load_model(found["model"])
        found["trial"] = trial_of(as_table(data["trial"], "trial"), found["model"], folder)
    return found
