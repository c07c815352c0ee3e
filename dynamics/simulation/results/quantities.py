"""What a trajectory computes where every run has numbers of its own: the same formulas, with these as inputs."""

from collections.abc import Callable
from typing import Any

import numpy as np

from myoquat import kernels
from myoquat.core.typing import Array
from myoquat.dynamics import articulated, energy, reactions
from myoquat.joints.compiled import kernel_for
from myoquat.joints.validation import system_of
from myoquat.muscle import actuators, limits, states
from myoquat.muscle.model import Model
from myoquat.muscle.parameters import Parameters
from myoquat.muscle.segments.lengths import lengths

__all__ = ["varied_quantity"]

FORMULAS: dict[str, Callable[..., Any]] = {
    "lengths": lambda model, q: lengths(model.system, model.muscles, q),
    "forces": states.forces,
    "torques": states.torques,
    "limits": lambda model, q, u, *t: limits.torques(model, q, u, *(x[..., 0] for x in t)),
    "actuators": actuators.forces,
    "acceleration": lambda model, q, u, tau: articulated.forward(system_of(model), q, u, tau),
    "kinetic_energy": lambda model, q, u: energy.kinetic(system_of(model), q, u),
    "potential_energy": lambda model, q: energy.potential(system_of(model), q) + _stored(model, q),
    "reactions": lambda model, q, u, udot, t: reactions.joint_wrenches(
        system_of(model), q, u, udot, _loads(model, q, u, t[..., 0])
    ),
}


def _loads(model: Any, q: Array, u: Array, t: Array) -> Array | None:
    """What contacts and prescribed forces do to the bodies, None without."""
    return limits.wrenches(model, q, u, t) if isinstance(model, Model) and limits.has_loads(model) else None


def _stored(model: Any, q: Array) -> Array | float:
    """(...) [J] what limits, passive forces and ligaments store."""
    return limits.energy(model, q) if isinstance(model, Model) else 0.0


def varied_quantity(varied: Parameters, name: str, arrays: tuple[Array, ...], p: Array) -> Array:
    """A quantity of the model with its numbers p (rows, n) in every row of the arrays (rows, ...)."""
    sizes = {f"x{k}": array.shape[-1] for k, array in enumerate(arrays)} | {"p": p.shape[-1]}
    key = ("varied", name, varied.model.content_key, varied.names, tuple(sizes.values()))
    formula = lambda *x: FORMULAS[name](varied.bind(x[-1]), *x[:-1])  # noqa: E731
    kernel = kernel_for(
        key, lambda content: kernels.compile(formula, sizes, [name], name=f"varied_{name}", content=content)
    )
    return np.asarray(kernel(*arrays, p))
