"""The fibers of a model's muscles, as models of metabolic power ask for them."""

from collections.abc import Mapping
from typing import NamedTuple, Self

import numpy as np

from myoquat.core.arguments import indices_of
from myoquat.core.typing import Array
from myoquat.joints.errors import ModelError
from myoquat.muscle.laws import HillLaw
from myoquat.muscle.metabolics import Fiber, MetabolicCost
from myoquat.muscle.model import Model

__all__ = ["MuscleFibers"]


class MuscleFibers(NamedTuple):
    """The law, the share of slow-twitch fibers and the mass [kg] of every muscle."""

    laws: list[HillLaw]
    slow: list[float]
    masses: list[float]

    @classmethod
    def of(
        cls,
        model: Model,
        cost: MetabolicCost,
        slow_twitch: float | Mapping[str, float],
        masses: Mapping[str, float] | None,
    ) -> Self:
        """Fibers of the muscles of a model.

        slow_twitch  one for all or by muscle, 0.5 for others
        masses       by muscle; those of others follow from strength and fiber length

        ValueError for unknown names, shares outside [0, 1] and masses that are not positive. ModelError for a muscle
        whose law has no fiber.
        """
        laws = _fiber_laws(model)
        return cls(laws, _shares(model, slow_twitch), _masses(model, cost, laws, masses))

    def fiber(self, i: int, at: tuple[Array, Array, Array], excitation: Array, state: Array | None = None) -> Fiber:
        """(...) that of the i-th muscle at path length [m], its speed [m/s] and activation."""
        return Fiber.of(self.laws[i], at, excitation, state, mass=self.masses[i], slow=self.slow[i])


def _fiber_laws(model: Model) -> list[HillLaw]:
    found = []
    for muscle in model.muscles:
        if not isinstance(muscle.law, HillLaw):
            what = "no law" if muscle.law is None else f"law {muscle.law.kind!r}, which has no fiber"
            raise ModelError(f"its metabolic power is not known: {what}", element=f"muscle {muscle.name!r}")
        found.append(muscle.law)
    return found


def _shares(model: Model, given: float | Mapping[str, float]) -> list[float]:
    named = given if isinstance(given, Mapping) else dict.fromkeys(model.muscle_names, float(given))
    indices_of("muscle", list(named), model.muscle_names)
    for name, share in named.items():
        if not 0 <= share <= 1:
            raise ValueError(f"slow_twitch of {name!r} must lie in [0, 1], not {share}")
    return [float(named.get(name, 0.5)) for name in model.muscle_names]


def _masses(model: Model, cost: MetabolicCost, laws: list[HillLaw], given: Mapping[str, float] | None) -> list[float]:
    given = given or {}
    indices_of("muscle", list(given), model.muscle_names)
    for name, mass in given.items():
        if not (np.isfinite(mass) and mass > 0):
            raise ValueError(f"the mass of {name!r} must be positive [kg], not {mass}")
    return [
        float(given[name]) if name in given else cost.mass(law.max_isometric_force, law.optimal_fiber_length)
        for name, law in zip(model.muscle_names, laws, strict=True)
    ]
