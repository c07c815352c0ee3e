"""Inputs of a model that it has itself: controls and excitations as functions of time."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from myoquat import kernels
from myoquat.core import Array, ArrayLike, Record, content_key, frozen, real_array
from myoquat.joints import ModelError
from myoquat.joints.evaluation import kernel_for
from myoquat.joints.functions import AxisFunction
from myoquat.joints.vectors import vector


@frozen
class PrescribedInput(Record):
    """The control of an actuator or the excitation of a muscle as a function of the time [s].

    OpenSim's PrescribedController. A simulation or a study obeys the function where it is given nothing else. Inputs
    without a function are then zero. Elsewhere the function is known: the control acts, and is no unknown, in inverse
    dynamics, muscle redundancy, joint loads, tracking, optimal control and environments. Redundancy and tracking take
    the activations of muscles likewise. Several functions of one name add up, as in OpenSim. Where a function jumps,
    methods with adaptive steps start anew. Methods with fixed steps take a straight line over half a step.

    name  of a control or of a muscle. For a muscle without activation dynamics the function is the activation

    >>> import myoquat as mq
    >>> from myoquat.joints.functions import Linear
    >>> from myoquat.muscle.actuators import CoordinateActuator
    >>> sled = mq.Body("sled", "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=1.0, coordinate_names=("x",))
    >>> motor, ramp = CoordinateActuator("motor", "x"), mq.muscle.PrescribedInput("motor", Linear(6.0))  # 6 t
    >>> model = mq.Model(mq.ArticulatedSystem((sled,)), actuators=(motor,), inputs=(ramp,))
    >>> mq.simulate(model, [0.0], [0.0], duration=1.0).u[-1].round(9)  # 3 t^2
    array([3.])
    """

    name: str
    function: AxisFunction

    def check(self, known: Sequence[str]) -> None:
        """ModelError unless one muscle or one control has the name."""
        if known.count(self.name) != 1:
            found = "both a muscle and a control have" if self.name in known else "no muscle and no control has"
            raise ModelError(f"{found} this name", element=f"input {self.name!r}")


@frozen
class InputsOverTime:
    """What a model's own `inputs` say for every one of `names`: a function of the time.

    varied, numbers  `Parameters` of the model with numbers of its inputs, and their values (..., k)
    """

    inputs: tuple[PrescribedInput, ...]
    names: tuple[str, ...]
    varied: Any = None
    numbers: Array | None = None

    def __call__(self, t: ArrayLike) -> Array:
        """(..., n) the values at times t (...) [s], with `numbers` (..., t, n) at t (t,); zero where the inputs say
        nothing."""
        p = () if self.numbers is None else (self.numbers[..., None, :],)
        return self._kernel(real_array("t", t), *p)

    @cached_property
    def _kernel(self) -> "kernels.Kernel":
        names = () if self.varied is None else self.varied.names
        sizes: dict[str, Any] = {"t": ()} | ({} if self.varied is None else {"p": len(names)})
        return kernel_for(
            ("inputs over time", content_key(self.inputs), self.names, names),
            lambda content: kernels.compile(self.values, sizes, ["values"], name="inputs", content=content),
        )

    def values(self, t: Array, *p: Array) -> Array:
        """(..., n) the values at times t (...) [s], with `numbers` p (..., n): the formula, without a kernel."""
        own = replace(self, inputs=self.varied.bind(p[0]).inputs) if p else self
        return vector((dict.fromkeys(self.names, 0.0 * t) | own.prescribed(t)).values())

    def prescribed(self, t: Array) -> dict[str, Array]:
        """The values (...) at times t (...) of those of `names` that the inputs prescribe."""
        total: dict[str, Array] = {}
        for own in self.inputs:
            if own.name in self.names:
                total[own.name] = total.get(own.name, 0.0 * t) + own.function.value(t)
        return total

    def of_element(self, where: tuple[int, ...]) -> Self:
        """Those of one element of a batch of `numbers`, whose leading axes broadcast."""
        if self.numbers is None:
            return self
        whole = self.numbers.reshape((1,) * (len(where) - self.numbers.ndim + 1) + self.numbers.shape)
        return replace(self, numbers=whole[tuple(i if n > 1 else 0 for i, n in zip(where, whole.shape, strict=False))])

    @property
    def kinks(self) -> Array:
        """(k,) the times at which one of them or its slope jumps, with `numbers` (n,) of one element in them."""
        own = self.inputs if self.numbers is None else self.varied.bind(self.numbers).inputs
        return np.array([t for given in own if given.name in self.names for t in given.function.kinks])
