"""The section [trial] of a study file: a recorded motion, and what its muscles have to do.

[trial]
motion = "walk_ik.mot"              # beside the study file
in_degrees = true                   # where the motion's file does not say it
cutoff = 6.0                        # [Hz] of the filter; without it the motion is only differentiated
consistent = true                   # optional: brought onto the model's couplers and constraints
loads = "walk_grf.xml"              # optional: external loads
reserves = 10.0                     # one strength for all free velocities, or [[trial.reserves]]
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
    consistent_motion,
)
from myoquat.analysis.studies.definition.trial import METABOLIC_COSTS, MuscleTrial, stored_coupling
from myoquat.data import load_forces, load_motion
from myoquat.data.motions import Motion
from myoquat.muscle.model import Model

__all__ = ["trial_of"]

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


def _reserves(given: Any, check: Check) -> float | tuple[Reserve, ...]:
    if isinstance(given, (int, float)):
        return float(given)
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
