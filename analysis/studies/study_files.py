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

Instead of [simulate], [trial] has a recorded motion, and what its muscles have to do (`MuscleTrial`).

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

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass, replace
from pathlib import Path
from types import NoneType
from typing import Any, Literal, TypeVar

from myoquat.analysis.motion import smooth
from myoquat.analysis.recruitment.free import free_velocities
from myoquat.analysis.recruitment.redundancy import (
    AnyReserve,
    Coupled,
    Effort,
    FrameCoupling,
    JointCone,
    MetabolicEffort,
    Reserve,
    ReserveActuator,
    Reserves,
    Sequential,
    consistent_motion,
)
from myoquat.analysis.recruitment.redundancy.actuators import reserves_of
from myoquat.analysis.recruitment.redundancy.coupled import check_recruited
from myoquat.analysis.recruitment.stability import CentralForce, EllipticCone, StabilityRule
from myoquat.core import check_items, check_types, frozen
from myoquat.data import library_models, load_forces, load_model, load_motion
from myoquat.data.files import read_text
from myoquat.data.motions import Forces, Motion
from myoquat.data.toml.models import line_of, parse_toml, words
from myoquat.data.toml.records import read_record, write_record
from myoquat.joints.errors import ModelError, errors_about
from myoquat.muscle import Model
from myoquat.muscle.actuators import ScalarActuator
from myoquat.muscle.metabolics import Bhargava2004, MetabolicCost, Umberger2010


def plain(value: Any) -> Any:
    """Arrays, tuples and ranges as lists, numbers as Python's, records as tables of their fields; TypeError for what is
    no number."""

    def other(x: Any) -> Any:
        if isinstance(x, (Mapping, range)):
            return dict(x) if isinstance(x, Mapping) else list(x)
        return x.tolist() if hasattr(x, "tolist") else _record(x) if is_dataclass(x) else float(x)

    return json.loads(json.dumps(value, default=other))


RULES: dict[str, type[StabilityRule]] = {rule.__name__: rule for rule in (JointCone, EllipticCone, CentralForce)}
METABOLIC_COSTS: dict[str, type[MetabolicCost]] = {cost.__name__: cost for cost in (Umberger2010, Bhargava2004)}


@frozen(eq=False)
class MuscleTrial:
    """A motion (q, u, udot) whose activations `redundancy` computes for every sample of a study.

    External loads, effort, reserves, cones, dynamics and tendons are as in `redundancy`. Cones are JointCone,
    EllipticCone or CentralForce, which a store can hold.

    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment import Reserve
    >>> from myoquat.analysis.studies import MuscleTrial
    >>> from myoquat.data import Motion
    >>> from myoquat.muscle import ExponentialMuscle, PathPoint
    >>> rod = mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0, center_of_mass=(0.5, 0, 0))
    >>> path = (PathPoint("ground", (0.0, 0.0, 0.4)), PathPoint("rod", (0.3, 0.0, 0.0)))
    >>> model = mq.Model(mq.ArticulatedSystem((rod,)), (mq.Muscle("biceps", path, ExponentialMuscle(0.5, 100.0)),))
    >>> held = Motion(model, [0.0, 0.1], [[0.0], [0.0]], [[0.0], [0.0]], [[0.0], [0.0]])
    >>> vary = {"bodies.rod.mass": [1.0, 2.0]}
    >>> study = mq.Study(model, vary, design="grid", trial=MuscleTrial(held), summaries=["peak_force"])
    >>> study.run(progress=False).peak_force.values.round(1)  # m g 0.5 m over the moment arm of 0.24 m
    array([[20.4],
           [40.9]])
    """

    motion: Motion
    loads: Forces | None = None
    effort: Effort | None = None
    reserves: Reserves = ()
    cones: Sequence[StabilityRule] = ()
    dynamics: FrameCoupling | None = None
    tendons: Literal["rigid", "elastic"] = "rigid"

    def __post_init__(self) -> None:
        check_types(dynamics=(self.dynamics, (FrameCoupling, NoneType)))
        check_recruited(self.effort or Effort(), self.dynamics, self.tendons)
        for cone in check_items("cones", self.cones, StabilityRule):
            if type(cone) not in RULES.values():
                raise ValueError(f"cones: those of a study's trial are {', '.join(RULES)}, not {type(cone).__name__}")

    def of_model(self, model: Model) -> "MuscleTrial":
        """The trial with its reserves one by one, also where they are one strength, or strengths by name."""
        names, _ = free_velocities(model, self.motion.q[:1], self.motion.time[:1])
        return replace(self, reserves=reserves_of(self.reserves, names))

    @property
    def listed(self) -> Sequence[AnyReserve]:
        """The reserves; ValueError while they are strengths, which `of_model` turns into reserves."""
        if isinstance(self.reserves, (int, float, Mapping)):
            raise ValueError("reserves are strengths; the reserves follow from a model")
        return self.reserves

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """Names along the dimensions that only studies of trials have."""
        return {
            "actuator": tuple(reserve.name for reserve in self.listed),
            "joint": tuple(cone.joint for cone in self.cones),
        }

    def plain(self) -> dict[str, Any]:
        """The trial as JSON can hold it, every number exactly; dynamics and tendons where they are asked for."""
        effort = self.effort or Effort()
        found: dict[str, Any] = {
            "motion": {name: plain(getattr(self.motion, name)) for name in ("time", "q", "u", "udot")},
            "loads": None if self.loads is None else _record(self.loads),
            "effort": _record(effort),
            "reserves": [],
            "cones": [{"rule": type(cone).__name__, **_record(cone)} for cone in self.cones],
        }
        if isinstance(effort, MetabolicEffort):
            found["effort"]["cost"] = {"model": type(effort.cost).__name__, **_record(effort.cost)}
        for reserve in self.listed:  # an actuator as files of models have it
            if isinstance(reserve, Reserve):
                found["reserves"].append(_record(reserve))
                continue
            with errors_about(reserve.actuator.element):
                actuator = write_record(reserve.actuator)
            found["reserves"].append({"actuator": actuator, "weight": reserve.weight})
        if self.dynamics is not None:
            found["dynamics"] = _record(self.dynamics) if isinstance(self.dynamics, Coupled) else True
        return found | ({} if self.tendons == "rigid" else {"tendons": self.tendons})

    @classmethod
    def of_plain(cls, found: Mapping[str, Any], model: Model) -> "MuscleTrial":
        """The trial that `plain` described."""
        loads = None if found["loads"] is None else record_of(Forces, found["loads"], "loads")
        return cls(Motion(model.system, **found["motion"]), loads, **trial_options(found, model))


def trial_options(table: Mapping[str, Any], model: Model) -> dict[str, Any]:
    """Effort, reserves, cones, dynamics and tendons of a trial, from a table of a file or of a store.

    ValueError for tables that are none, and keys that are unknown or missing.
    """
    effort = None
    if table.get("effort"):
        given, made = as_table(table["effort"], "trial.effort"), Effort
        if "cost" in given:  # the name of a class, or a table with its numbers
            cost, where = given["cost"], "trial.effort.cost"
            cost = {"model": cost} if isinstance(cost, str) else as_table(cost, where)
            if (name := cost.pop("model", None)) not in METABOLIC_COSTS:
                known = ", ".join(METABOLIC_COSTS)
                raise ValueError(f"trial.effort: the model of a cost is one of {known}, not {name!r}")
            given["cost"], made = record_of(METABOLIC_COSTS[name], cost, where), MetabolicEffort
        effort = record_of(made, given, "trial.effort")

    reserves = table.get("reserves", ())
    if not isinstance(reserves, (int, float, Mapping)):
        listed: list[AnyReserve] = []
        for own in (as_table(each, "trial.reserves") for each in reserves):
            if "actuator" not in own:
                listed.append(record_of(Reserve, own, "trial.reserves"))
                continue
            with errors_about("reserve"):
                actuator: Any = read_record(ScalarActuator, own["actuator"], "actuator.")  # type: ignore[type-abstract]
            listed.append(ReserveActuator(actuator, own["weight"]))
        reserves = tuple(listed)

    cones: list[StabilityRule] = []
    for own in (as_table(each, "trial.cones") for each in table.get("cones", ())):
        if "markers" in own:
            check_keys(own, ("joint", "markers"), "trial.cones")
            cones.append(JointCone.from_markers(model, own["joint"], *own["markers"]))
            continue
        if (rule := own.pop("rule", JointCone.__name__)) not in RULES:
            raise ValueError(f"trial.cones: the rule is one of {', '.join(RULES)}, not {rule!r}")
        cones.append(record_of(RULES[rule], own, "trial.cones"))

    dynamics = table.get("dynamics", False)
    if isinstance(dynamics, bool):
        dynamics = Sequential() if dynamics else None
    else:
        dynamics = record_of(Coupled, dynamics, "trial.dynamics")
    return {
        "effort": effort,
        "reserves": reserves,
        "cones": tuple(cones),
        "dynamics": dynamics,
        "tendons": table.get("tendons", "rigid"),
    }


def as_table(given: Any, where: str) -> dict[str, Any]:
    """A table; ValueError for anything else."""
    if not isinstance(given, Mapping):
        raise ValueError(f"{where} must be a table, not {given!r}")
    return dict(given)


def check_keys(table: Mapping[str, Any], allowed: Iterable[str], where: str) -> None:
    """ValueError for a key that is not among those that are allowed."""
    for key in table:
        if key not in allowed:
            raise ValueError(f"{where}: the key {key!r} is unknown; allowed: {', '.join(sorted(allowed))}")


Made = TypeVar("Made")


def record_of(made: type[Made], given: Any, where: str) -> Made:
    """A record from a table of its fields, lists as tuples; ValueError for keys that are unknown or missing."""
    table, known = as_table(given, where), [f for f in fields(made) if f.init]  # type: ignore[arg-type]
    check_keys(table, [f.name for f in known], where)
    for f in known:
        if f.name not in table and f.default is MISSING and f.default_factory is MISSING:
            raise ValueError(f"{where}: {f.name} is missing")
    return made(**{name: tuple(x) if isinstance(x, list) else x for name, x in table.items()})


def _record(record: Any) -> dict[str, Any]:
    return {f.name: plain(getattr(record, f.name)) for f in fields(record) if f.init}


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
