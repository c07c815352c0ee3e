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

from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from myoquat.analysis.motion import smooth
from myoquat.analysis.recruitment.redundancy import (
    Effort,
    FrameCoupling,
    JointCone,
    MetabolicEffort,
    Reserve,
    Reserves,
    consistent_motion,
)
from myoquat.analysis.studies.trial import METABOLIC_COSTS, MuscleTrial, stored_coupling
from myoquat.data import library_models, load_forces, load_model, load_motion
from myoquat.data.files import read_text
from myoquat.data.motions import Motion
from myoquat.data.toml.read import line_of, parse_toml, words
from myoquat.joints.errors import ModelError
from myoquat.muscle.model import Model

__all__ = ["FORMAT", "MAX_BYTES", "VERSION", "located", "read_study", "trial_of"]

Check = Callable[[Mapping[str, Any], set[str], str], None]
KEYS = {"motion", "in_degrees", "cutoff", "consistent", "loads", "effort", "reserves", "cones", "dynamics", "tendons"}
EFFORT = {"power", "weights", "of", "target"}
METABOLIC = {"power", "weights", "cost", "slow_twitch", "masses"}
RESERVE = {"velocity", "strength", "weight", "lower", "upper"}
CONE = {"joint", "direction", "half_angle", "markers"}


def trial_of(table: Mapping[str, Any], model: Model, folder: Path, check: Check) -> MuscleTrial:
    """The trial that a table describes, with files of a folder; check(table, keys, where) refuses other keys. Raises
    ValueError for a table that is none, and what files, efforts, reserves and cones raise."""
    check(table, KEYS, "trial")
    if not isinstance(table.get("motion"), str):
        raise ValueError("trial: motion must be the name of a motion's file")
    motion = _motion(table, model, folder)
    loads = table.get("loads")
    return MuscleTrial(
        motion,
        None if loads is None else load_forces(folder / loads),
        _effort(_mapping(table.get("effort", {}), "effort"), check),
        _reserves(table.get("reserves", ()), check),
        tuple(_cone(_mapping(given, "cones"), model, check) for given in table.get("cones", ())),
        _dynamics(table.get("dynamics", False), check),
        table.get("tendons", "rigid"),
    )


def _effort(given: Mapping[str, Any], check: Check) -> Effort | None:
    if "cost" not in given:
        check(given, EFFORT, "trial.effort")
        return Effort(**given) if given else None
    check(given, METABOLIC, "trial.effort")
    numbers = {"model": given["cost"]} if isinstance(given["cost"], str) else dict(_mapping(given["cost"], "cost"))
    name = numbers.pop("model", None)
    if name not in METABOLIC_COSTS:
        raise ValueError(f"trial.effort: the model of a cost is one of {', '.join(METABOLIC_COSTS)}, not {name!r}")
    check(numbers, {f.name for f in fields(METABOLIC_COSTS[name])}, "trial.effort.cost")
    return MetabolicEffort(**{**given, "cost": METABOLIC_COSTS[name](**numbers)})


def _dynamics(given: Any, check: Check) -> FrameCoupling | None:
    if not isinstance(given, bool):
        check(_mapping(given, "dynamics"), {"rates"}, "trial.dynamics")
    return stored_coupling(given)


def _motion(table: Mapping[str, Any], model: Model, folder: Path) -> Motion:
    recorded = load_motion(folder / table["motion"], model, in_degrees=table.get("in_degrees"))
    motion = smooth(recorded, table.get("cutoff"), model=model)
    return consistent_motion(model, motion) if table.get("consistent") else motion


def _reserves(given: Any, check: Check) -> Reserves:
    if isinstance(given, (int, float, Mapping)):
        return given
    for one in given:
        check(_mapping(one, "reserves"), RESERVE, "trial.reserves")
    return tuple(Reserve(**one) for one in given)


def _cone(given: Mapping[str, Any], model: Model, check: Check) -> JointCone:
    check(given, CONE, "trial.cones")
    if "markers" in given:
        head, centre, rim = given["markers"]
        return JointCone.from_markers(model, given["joint"], head, centre, rim)
    for key in ("joint", "direction", "half_angle"):
        if key not in given:
            raise ValueError(f"trial.cones: {key} is missing")
    return JointCone(given["joint"], tuple(given["direction"]), given["half_angle"])


def _mapping(given: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise ValueError(f"trial: {what} must be a table, not {given!r}")
    return given


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
    _check_keys(data, {"format", "version", "model", "trial", *_SECTIONS}, "the file")
    if data.get("format") != FORMAT or data.get("version") != VERSION:
        raise ValueError(
            f"format {data.get('format')!r} version {data.get('version')!r}: this reads {FORMAT!r} version {VERSION}"
        )
    for key in ("model", "vary"):
        if key not in data:
            raise ValueError(f"{key} is missing")
    found: dict[str, Any] = {"model": _model(data["model"], folder), "vary": _table(data, "vary")}
    for section, allowed in _SECTIONS.items():
        if allowed is not None:
            table = _table(data, section)
            _check_keys(table, allowed, section)
            found |= table
    if isinstance(found.get("activation"), Mapping):
        _check_keys(found["activation"], {"times", "values"}, "simulate.activation")
        found["activation"] = (found["activation"].get("times"), found["activation"].get("values"))
    if "trial" in data:
        if "simulate" in data:
            raise ValueError("a study has [simulate] or [trial], not both")
        found["model"] = load_model(found["model"])
        found["trial"] = trial_of(_table(data, "trial"), found["model"], folder, _check_keys)
    return found


def _table(data: dict[str, Any], key: str) -> dict[str, Any]:
    table = data.get(key, {})
    if not isinstance(table, dict):
        raise ValueError(f"{key} must be a table, [{key}]")
    return table


def _check_keys(table: Mapping[str, Any], allowed: set[str], where: str) -> None:
    for key in table:
        if key not in allowed:
            raise ValueError(f"{where}: the key {key!r} is unknown; allowed: {', '.join(sorted(allowed))}")


def _model(given: Any, folder: Path) -> Any:
    """The name of a library model, or the path of a file beside the study's."""
    if not isinstance(given, str):
        raise ValueError(f"model must be a name or a path, not {given!r}")
    return given if given in library_models() else folder / given
