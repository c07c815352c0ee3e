"""Argument validation of public functions: they take a model or a system; formulas get checked arrays."""

from collections.abc import Callable, Hashable
from typing import Protocol, TypeAlias

import numpy as np

from myoquat.core.typing import Array, ArrayLike
from myoquat.joints.compiled import Input, evaluate
from myoquat.joints.errors import ModelError
from myoquat.joints.multibody.checks import check_array, check_state, warn_far
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.kernels import Program
from myoquat.kernels.symbolic.arrays import is_symbolic

__all__ = ["Call", "HasSystem", "SystemLike", "system_of"]


class HasSystem(Protocol):
    """Anything that has an articulated system, above all a Model, which this package cannot import."""

    @property
    def system(self) -> ArticulatedSystem: ...


SystemLike: TypeAlias = ArticulatedSystem | HasSystem  # what functions of a model take where muscles play no part


def system_of(model: SystemLike) -> ArticulatedSystem:
    """The articulated system of a model, or the system itself; TypeError for anything else."""
    system = getattr(model, "system", model)
    if not isinstance(system, ArticulatedSystem):
        raise TypeError(f"a Model or an ArticulatedSystem is wanted, not {type(model).__name__}")
    return system


class Call:
    """The arguments of one call, checked as they are named; `run` evaluates a formula of them in their order."""

    def __init__(self, model: SystemLike) -> None:
        self.system = system_of(model)
        self.inputs: dict[str, Input] = {}

    def q(self, q: ArrayLike) -> "Call":
        """Coordinates (..., nq), quaternions of unit length."""
        checked = self.system.check_q(q)
        warn_far(checked, self.system.angles)
        return self._put("q", q, checked, (self.system.nq,))

    def u(self, u: ArrayLike) -> "Call":
        """Velocities (..., nu)."""
        return self._put("u", u, self.system.check_u(u), (self.system.nu,))

    def velocities(self, name: str, value: ArrayLike) -> "Call":
        """Anything with an entry per velocity (..., nu): udot, tau."""
        system = self.system
        return self._put(name, value, check_state(name, value, system.nu, system.velocity_names), (system.nu,))

    def vector(self, name: str, value: ArrayLike) -> "Call":
        """Three components (..., 3)."""
        return self._put(name, value, check_state(name, value, 3, ("x", "y", "z")), (3,))

    def wrenches(self, f_ext: ArrayLike | None) -> "Call":
        """f_ext (..., bodies, 6), or nothing if it is None."""
        return self if f_ext is None else self._put("f_ext", f_ext, self._check_wrenches(f_ext), self._wrench_shape)

    @property
    def _wrench_shape(self) -> tuple[int, int]:
        return len(self.system.bodies), 6

    def _check_wrenches(self, f_ext: ArrayLike) -> Array:
        array = check_array("f_ext", f_ext)
        if array.ndim < 2 or array.shape[-2:] != self._wrench_shape:
            raise ValueError(
                f"f_ext has shape {array.shape}; expected (..., {self._wrench_shape[0]}, 6): (force, torque) on each "
                f"of the bodies {', '.join(self.system.body_names)}"
            )
        if not is_symbolic(array) and not np.isfinite(array).all():
            where = [int(i) for i in np.argwhere(~np.isfinite(array))[0]]
            raise ValueError(f"f_ext{where} is {array[tuple(where)]}; finite numbers are needed")
        return array

    def _put(self, name: str, given: ArrayLike, array: Array, shape: tuple[int, ...]) -> "Call":
        self.inputs[name] = Input(given, array, shape)
        return self

    def frame(self, which: str | int) -> str:
        """Name of a frame given by name or index; KeyError, IndexError or TypeError otherwise."""
        indices = self.system.indices
        return indices.name(indices.frame(which))

    def run(
        self,
        quantity: str,
        function: Callable[..., Array],
        axes: int,
        *,
        variant: Hashable = None,
        out: Array | None = None,
        backend: str = "kernel",
        program: Callable[[], Program] | None = None,
    ) -> Array:
        """The formula function(**arguments), through `program` where one is given for its kernel. `variant`
        distinguishes formulas of one quantity."""
        content = (self.system.content_key, variant, tuple(self.inputs))
        return evaluate(quantity, content, function, self.inputs, axes, out=out, backend=backend, program=program)

    @property
    def symbolic(self) -> bool:
        """Whether symbols are among the arguments, so that the result consists of symbols too."""
        return any(is_symbolic(x.array) for x in self.inputs.values())

    def need_mass(self, total: float) -> None:
        """ModelError if nothing that moves has a mass."""
        if total == 0.0:
            raise ModelError("no moving body has a mass, so there is no centre of mass")
