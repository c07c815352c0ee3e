"""Parameters: some numbers of a model by name, to be given other values, or symbols that a kernel takes as inputs."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array, ArrayLike
from myoquat.joints.evaluation import SystemLike
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.ranges import check_array
from myoquat.kernels.symbolic.arrays import is_symbolic
from myoquat.muscle.model import Model
from myoquat.muscle.parameters.bind import with_values
from myoquat.muscle.parameters.check import check_rows
from myoquat.muscle.parameters.names import START, Location, Step, known, parameter_index
from myoquat.muscle.parameters.units import unit_of

__all__ = ["Parameters"]


@dataclass(frozen=True)
class Parameters:
    """Numbers of a model: `names` in order, where they stand, and the values that the model has for them.

    `Parameters.of` makes it. What is not among the names stays a constant of the model, and of every kernel.

    >>> import myoquat as mq
    >>> p = mq.muscle.Parameters.of(mq.load_model("two_link"), ["bodies.A.mass", "muscles.m1.max_isometric_force"])
    >>> p.defaults, p.units
    (array([ 5., 12.]), ('kg', 'N'))
    >>> p.bind([6.0, 20.0]).muscles[0].law.max_isometric_force
    20.0
    """

    model: Model | ArticulatedSystem
    names: tuple[str, ...]
    locations: tuple[Location, ...]

    @classmethod
    def of(cls, model: SystemLike, names: str | Iterable[str]) -> "Parameters":
        """The parameters of a Model or an ArticulatedSystem with these names, or patterns as "muscles.*.activation".

        `parameter_names(model)` lists the names. Raises ValueError for a name that the model does not have, with the
        nearest ones, and for one that is given twice.
        """
        found = parameter_index(model)
        chosen: dict[str, str] = {}
        for pattern in [names] if isinstance(names, str) else names:
            for name in found.find(pattern):
                if name in chosen:
                    raise ValueError(f"parameter {name!r} is named twice: by {chosen[name]!r} and by {pattern!r}")
                chosen[name] = pattern
        return cls(known(model), tuple(chosen), tuple(found.locations[name] for name in chosen))

    def acting(self, inputs: str, markers: bool = False) -> "Parameters":
        """The same; ValueError for a number that the equations of motion do not read. Those of the start and the
        activations of muscles are such numbers, and `inputs` says what gives them. `markers`: whether goals read their
        positions."""
        for name, location in zip(self.names, self.locations, strict=True):
            if location.starts or location.activates:
                raise ValueError(f"parameters: {name!r} is an input of its own: {inputs}")
            if location.steps[0] == "markers" and not markers:
                raise ValueError(f"parameters: {name!r} has no effect on a motion")
        return self

    @cached_property
    def defaults(self) -> np.ndarray:
        """(n,) the model's own values; NaN for one that the model leaves open."""
        return np.array([location.value for location in self.locations], dtype=float)

    @cached_property
    def units(self) -> tuple[str, ...]:
        """Unit of each parameter in SI, "1" for a pure number and "" where the name does not tell."""
        return tuple(
            unit_of(self.system, name, location) for name, location in zip(self.names, self.locations, strict=True)
        )

    @property
    def system(self) -> ArticulatedSystem:
        """The articulated system of the model."""
        return self.model if isinstance(self.model, ArticulatedSystem) else self.model.system

    def bind(self, p: ArrayLike) -> Model | ArticulatedSystem:
        """The model with its numbers replaced by p (n,), floats or symbols: every formula runs on it.

        Floats pass the model's own checks, which raise ModelError or ValueError; symbols pass unchecked, and numbers
        that are not replaced stay constants. SymPy and CasADi symbols, and SymbolArrays, are taken.
        """
        given = self._vector(p)
        values = {
            location.steps: x if is_symbolic(given) else float(x)
            for location, x in zip(self.locations, given, strict=True)
        }
        model = self._with_start(values)
        return with_values(model, values) if values else model

    def check(self, values: ArrayLike) -> Array:
        """values (..., n) as a float64 array, or an error that names the sample and what the model refuses."""
        array: Array = check_array("the parameters", values)
        if is_symbolic(array):
            return array
        if array.ndim == 0 or array.shape[-1] != len(self.names):
            raise ValueError(f"the parameters have shape {array.shape}; expected (..., {self._listed})")
        check_rows(self.model, self.names, self.locations, array.reshape(-1, len(self.names)), self.bind)
        return array

    def _vector(self, p: ArrayLike) -> Array:
        array: Array = check_array("p", p)
        if array.shape != (len(self.names),):
            raise ValueError(f"p has shape {array.shape}; expected ({self._listed})")
        return array

    @property
    def _listed(self) -> str:
        return f"{len(self.names)}: {', '.join(self.names[:6])}{' ...' if len(self.names) > 6 else ''}"

    def _with_start(self, values: Mapping[Step, Array | float]) -> Model | ArticulatedSystem:
        """The model with its start written out, if some of it is to be replaced."""
        keys = {steps[0] for steps in values} & set(START)
        if not keys or not isinstance(self.model, Model):
            return self.model
        start: dict[str, Any] = {
            "start_q": tuple(map(float, self.system.neutral())),
            "start_u": (0.0,) * self.system.nu,
        }
        open_keys = [key for key in START if key in keys and getattr(self.model, key) is None]
        return replace(self.model, **{key: start[key] for key in open_keys})
