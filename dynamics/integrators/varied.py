"""The equations of motion with numbers of the model as inputs: parameter studies, and batches of models."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, fields
from functools import reduce
from typing import Any

import numpy as np

from myoquat.core.content import content_key
from myoquat.core.typing import Array
from myoquat.dynamics.integrators.equations import StateEquations
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.muscle.model import Model
from myoquat.muscle.parameters import Parameters

__all__ = ["VariedEquations"]


@dataclass(frozen=True)
class VariedEquations(StateEquations):
    """The motion of a model with the numbers `varied` as the parameter "p". A run stops where an entry of (q, u) leaves
    `limits`, ((entry, low, high), ...).

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.dynamics.integrators import VariedEquations
    >>> from myoquat.muscle import Parameters
    >>> sled = mq.ArticulatedSystem((mq.Body("sled", "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=1.0),))
    >>> varied = VariedEquations(sled, varied=Parameters.of(sled, "bodies.sled.mass"))
    >>> varied.bound(np.array([3.0])).bodies[0].mass
    3.0
    """

    varied: Parameters | None = None
    limits: tuple[tuple[int, float, float], ...] = ()

    @property
    def key(self) -> Hashable:
        return (super().key, self.names, content_key(self.limits))

    @property
    def names(self) -> tuple[str, ...]:
        """The varied numbers."""
        return () if self.varied is None else self.varied.names

    @property
    def parameters(self) -> dict[str, Any]:
        return super().parameters | ({"p": (len(self.names),)} if self.names else {})

    def acceleration(self, t: Array, q: Array, u: Array, given: Mapping[str, Any]) -> Array:
        return self.fixed(given.get("p")).acceleration(t, q, u, given)

    def own_rate(self, q: Array, u: Array, given: Mapping[str, Any]) -> list[Array]:
        return self.fixed(given.get("p")).own_rate(q, u, given)

    def fixed(self, p: Array | None) -> StateEquations:
        """The equations of the model with p (n,) in it, as all other fields say."""
        kept = {f.name: getattr(self, f.name) for f in fields(StateEquations)}
        return StateEquations(**kept | {"model": self.bound(p)})

    def bound(self, p: Array | None) -> Model | ArticulatedSystem:
        """The model with p (n,) in it; the model as it is for None."""
        if p is None or self.varied is None:
            return self.model
        bound: Model | ArticulatedSystem = self.varied.bind(p)
        return bound

    def beyond(self, t: Array, x: Array, *values: Array) -> Array:
        """Positive beyond a limit, or where no body can be as fast."""
        excess = [super().beyond(t, x, *values)]
        for entry, low, high in self.limits:
            excess += [x[..., entry] - high, low - x[..., entry]]
        return reduce(np.maximum, excess)
