"""Inputs of a model that it has itself: controls and excitations as functions of time."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from myoquat.joints.errors import ModelError
from myoquat.joints.functions import AxisFunction
from myoquat.kernels.records import Record
from myoquat.kernels.typing import Array

__all__ = ["PrescribedInput", "values_at"]


@dataclass(frozen=True)
class PrescribedInput(Record):
    """The control of an actuator or the excitation of a muscle as a function of the time [s]: what OpenSim's
    PrescribedController says. A simulation obeys it where it is given nothing else; what no function names is then
    zero, and several functions of one name add up, as in OpenSim.

    name: of a muscle (of one without activation dynamics, it is the activation) or of a control.

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
        """ModelError for a name that is no muscle and no control."""
        if self.name not in known:
            raise ModelError("there is no muscle and no control of this name", element=f"input {self.name!r}")


def values_at(inputs: Sequence[PrescribedInput], names: Sequence[str], t: float) -> Array:
    """(n,) what the inputs say at a time [s] for every one of `names`; zero where they say nothing."""
    total: Array = np.zeros(len(names))
    place = {name: i for i, name in enumerate(names)}
    for given in inputs:
        if given.name in place:
            total[place[given.name]] += given.function.value(np.asarray(t, dtype=float))
    return total
