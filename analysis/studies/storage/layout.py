"""The arrays of a study's results: names, dimensions, units; the same in memory, in a store and in a Dataset."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from myoquat.analysis.studies.definition.specification import Specification
from myoquat.analysis.studies.definition.summaries import SUMMARIES
from myoquat.analysis.studies.definition.trial import TRIAL_SUMMARIES
from myoquat.core.records import dataclass
from myoquat.kernels import Outcome

__all__ = ["Variable", "coordinates", "sizes", "variables"]


@dataclass(frozen=True)
class Variable:
    """An array of results: its dimensions, "sample" first, its type and what its attributes say."""

    name: str
    dims: tuple[str, ...]
    dtype: str
    unit: str
    description: str

    @property
    def fill(self) -> Any:
        """The value where nothing has been computed."""
        return int(Outcome.PENDING) if self.dtype == "int8" else np.nan


def variables(study: Specification) -> list[Variable]:
    """All arrays that the study keeps."""
    found = [
        Variable("values", ("sample", "parameter"), "float64", "", "values of the varied parameters"),
        Variable("status", ("sample",), "int8", "", "; ".join(f"{k:d}: {k.sentence}" for k in Outcome)),
        Variable("stopped_at", ("sample",), "float64", "s", "when a run that failed stopped"),
    ]
    if study.kept.final:
        found += _states("_final", (), "at the end")
    if study.kept.time_steps:
        found += _states("", ("time",), "at the kept times")
    known: Mapping[str, Any] = SUMMARIES
    if study.trial is not None:
        found.append(Variable("unsolved", ("sample",), "float64", "1", "frames without a solution"))
        known = TRIAL_SUMMARIES
    for name in study.kept.summaries:
        s = known[name]
        found.append(Variable(name, ("sample", s.along), "float64", s.unit, s.description))
    words = "which code computed the sample: its place, counted from 1, in the attribute `fingerprints`"
    found.append(Variable("fingerprint", ("sample",), "int8", "", words))
    return found


def _states(suffix: str, along: tuple[str, ...], when: str) -> list[Variable]:
    return [
        Variable(
            f"q{suffix}", ("sample", *along, "coordinate"), "float64", "see coordinate_unit", f"coordinates {when}"
        ),
        Variable(f"u{suffix}", ("sample", *along, "velocity"), "float64", "see velocity_unit", f"velocities {when}"),
    ]


def coordinates(study: Specification) -> dict[str, tuple[tuple[str, ...], Any]]:
    """Labels and units along the dimensions: name -> (dimensions, values)."""
    system, parameters = study.model.system, study.parameters
    trial = {} if study.trial is None else study.trial.labels
    facts = [body.joint.facts for body in system.bodies]
    return {
        "parameter": (("parameter",), np.array(parameters.names)),
        "parameter_unit": (("parameter",), np.array(parameters.units)),
        "coordinate": (("coordinate",), np.array(system.coordinate_names)),
        "coordinate_unit": (("coordinate",), np.array([u for f in facts for u in f.coordinate_units])),
        "velocity": (("velocity",), np.array(system.velocity_names)),
        "velocity_unit": (("velocity",), np.array([u for f in facts for u in f.velocity_units])),
        "muscle": (("muscle",), np.array(study.model.muscle_names)),
        "body": (("body",), np.array(system.body_names)),
        "time": (("time",), np.array(study.kept.time_steps) * study.step),
        **{name: ((name,), np.array(labels, dtype="U")) for name, labels in trial.items()},
    }


def sizes(study: Specification) -> dict[str, int]:
    """Length of every dimension."""
    return {"sample": study.count} | {
        name: len(values) for name, (dims, values) in coordinates(study).items() if dims == (name,)
    }
