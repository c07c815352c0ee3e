"""The equations of motion with numbers of the model as inputs: parameter studies, and batches of models."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, Self

import numpy as np

from myoquat.core.content import content_key
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.dynamics.integrators.equations import StateEquations
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.muscle.inputs import InputsOverTime
from myoquat.muscle.model import Model
from myoquat.muscle.parameters import Parameters

__all__ = ["VariedEquations"]


@dataclass(frozen=True)
class VariedEquations(StateEquations):
    """The motion of a model with the numbers `varied` as "p", the last of its parameters. A run stops where an entry of
    (q, u) leaves `limits`, ((entry, low, high), ...).

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

    def at(self, values: Sequence[Any]) -> tuple[StateEquations, Sequence[Any]]:
        if not self.names:
            return self, values
        place = [*self.inputs, *self.parameters].index("p")
        return self.fixed(values[place]), [*values[:place], *values[place + 1 :]]

    def fixed(self, p: Array | None) -> Self:
        """The equations of the model with p (n,) in it, as all other fields say."""
        return replace(self if p is None else self.of_model(self.bound(p)), varied=None)

    def over_time(self, model: Model, names: tuple[str, ...], p: Array | None) -> InputsOverTime:
        """The model's own inputs of these names over time, with their numbers among p (..., n)."""
        columns = [k for k, name in enumerate(self.names) if name.startswith("inputs.")]
        if p is None or not columns:
            return InputsOverTime(model.inputs, names)
        varied = Parameters.of(model, [self.names[k] for k in columns])
        return InputsOverTime(model.inputs, names, varied, p[..., columns])

    def delayed_start(self, p: Array | None = None) -> tuple[Array, ...]:
        start = super().delayed_start()
        if not start or p is None or self.varied is None:
            return start
        columns = [*np.broadcast_arrays(*start[0], p[..., 0])[:-1]]
        for k, actuator in enumerate(self.delayed):
            for column, location in enumerate(self.varied.locations):
                if location.steps == ("actuators", actuator, "activation"):
                    columns[k] = p[..., column]
        return (np.stack(columns, axis=-1),)

    def bound(self, p: Array | None) -> Model | ArticulatedSystem:
        """The model with p (n,) in it; the model as it is for None."""
        if p is None or self.varied is None:
            return self.model
        return self.varied.bind(p)

    def beyond(self, t: Array, x: Array, *values: Array) -> Array:
        """Positive beyond a limit, or where no body can be as fast."""
        excess = [super().beyond(t, x, *values)]
        for entry, low, high in self.limits:
            excess += [x[..., entry] - high, low - x[..., entry]]
        return reduce(np.maximum, excess)
