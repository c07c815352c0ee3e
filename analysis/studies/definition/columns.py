"""Which columns of a study's values are start, activation or parameters of the formulas."""

from typing import Any

import numpy as np

from myoquat.analysis.studies.definition.specification import Specification
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.muscle import Parameters

__all__ = ["Columns"]


@dataclass(frozen=True)
class Columns:
    """The columns sorted by where they go; `inner` are those that the formulas take."""

    study: Specification
    inner: Parameters
    inner_columns: list[int]
    starts: list[tuple[int, int]]  # (column, entry of (q, u))
    activations: list[tuple[int, int]]  # (column, muscle)

    @classmethod
    def of(cls, study: Specification) -> "Columns":
        parameters = study.parameters
        offsets = {"start_q": 0, "start_u": study.model.system.nq}
        inner, starts, activations = [], [], []
        for column, place in enumerate(parameters.locations):
            steps = place.steps
            if place.starts:
                starts.append((column, offsets[str(steps[0])] + int(steps[1])))
            elif place.activates:
                activations.append((column, int(steps[1])))
            else:
                inner.append(column)
        if activations and isinstance(study.activations, tuple):
            raise ValueError("activations vary, but the study gives them as a function of time: choose one")
        chosen = Parameters.of(study.model, [parameters.names[column] for column in inner]).acting("the start")
        return cls(study, chosen, inner, starts, activations)

    @property
    def sizes(self) -> dict[str, int]:
        """Length of each dimension that results have along the model."""
        model = self.study.model
        system = model.system
        return {
            "coordinate": system.nq,
            "velocity": system.nu,
            "muscle": len(model.muscles),
            "body": len(system.bodies),
        }

    def start(self, values: Array) -> tuple[Array, Array]:
        """(samples, nq), (samples, nu) where every run begins."""
        x = np.tile(np.concatenate(self.study.start), (len(values), 1))
        for column, entry in self.starts:
            x[:, entry] = values[:, column]
        nq = self.study.model.system.nq
        return x[:, :nq], x[:, nq:]

    def activation(self, values: Array) -> Array:
        """(samples, m) constant activations."""
        constant: Any = self.study.activations
        a = np.tile(constant, (len(values), 1))
        for column, muscle in self.activations:
            a[:, muscle] = values[:, column]
        return a
