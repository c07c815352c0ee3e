"""Numbers of a model that a draw changes: strengths, attachments, masses and inertias."""

from collections.abc import Sequence

import numpy as np

from myoquat.analysis.studies.uncertainty.inputs import Samples
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.muscle import Model, Parameters

__all__ = ["VariedNumbers"]

OF_MASS = ("mass", *(f"inertia.{axes}" for axes in ("xx", "yy", "zz", "xy", "xz", "yz")))
CENTRE = tuple(f"center_of_mass.{axis}" for axis in "xyz")
ADDED = ("attachments",)  # the others are factors
OF_MUSCLES = ("strengths", "attachments")


@dataclass(frozen=True)
class VariedNumbers:
    """The parameters of a model's uncertain sources: of each source the columns (n,) and, for each column, the number
    of its independent draw."""

    parameters: Parameters
    columns: dict[str, tuple[Array, Array]]

    @classmethod
    def of(cls, model: Model, sources: Sequence[str]) -> "VariedNumbers | None":
        """Those of some of the sources; None where the model has none of their numbers."""
        known = set(Parameters.of(model, "bodies.*").names)
        if model.muscles:
            known |= set(Parameters.of(model, "muscles.*").names)
        names: list[str] = []
        columns = {}
        for source in (s for s in _DRAWS if s in sources):
            own = [(name, k) for k, draw in enumerate(_DRAWS[source](model)) for name in draw if name in known]
            if own:
                columns[source] = np.arange(len(names), len(names) + len(own)), np.array([k for _, k in own])
                names += [name for name, _ in own]
        return cls(Parameters.of(model, names), columns) if names else None

    def drawn(self, samples: Samples, keys: dict[str, int]) -> Array:
        """(n,) the parameters of a sample."""
        p = self.parameters.defaults.copy()
        for source, (columns, draws) in self.columns.items():
            normal = samples.generator(source, keys[source]).standard_normal(draws.max() + 1)
            change = getattr(samples.inputs, source) * normal[draws]
            p[columns] = p[columns] + change if source in ADDED else p[columns] * np.exp(change)
        return p


# ---- of each source, the names that each of its independent draws changes ------------------------------------------


def _strengths(model: Model) -> list[list[str]]:
    return [[f"muscles.{m.name}.max_isometric_force"] for m in model.muscles]


def _attachments(model: Model) -> list[list[str]]:
    ends = [(m.name, k) for m in model.muscles for k in (0, len(m.path) - 1)]
    return [[f"muscles.{name}.path.{k}.position.{axis}"] for name, k in ends for axis in "xyz"]


def _inertias(model: Model) -> list[list[str]]:
    bodies = [b.name for b in model.system.bodies if b.mass > 0]
    return [[f"bodies.{name}.{number}" for number in draw] for name in bodies for draw in (OF_MASS, CENTRE)]


_DRAWS = {"strengths": _strengths, "attachments": _attachments, "inertias": _inertias}
