"""What a trajectory computes where every run has numbers of its own: the same formulas, with these as inputs."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from myoquat import kernels
from myoquat.core.typing import Array
from myoquat.dynamics import articulated, energy, inverse
from myoquat.joints.evaluation import SystemLike, kernel_for, system_of
from myoquat.muscle import acting
from myoquat.muscle.acting import Instant, torques, wrenches
from myoquat.muscle.model import Model
from myoquat.muscle.parameters import Parameters
from myoquat.muscle.segments.path_segments import paths_at

__all__ = ["push_message", "quantity"]


def _at(given: Mapping[str, Array]) -> Instant:
    """What acts, of arrays by the names of an instant; the time is (..., 1)."""
    arrays: dict[str, Any] = {**given, "t": given["t"][..., 0]}
    return Instant(**arrays)


def _reactions(model: SystemLike, udot: Array, **given: Array) -> Array:
    at = _at(given)
    return inverse.joint_wrenches(system_of(model), at.q, at.u, udot, wrenches(model, at))


def _potential(model: SystemLike, q: Array) -> Array:
    stored = acting.energy(model, q) if isinstance(model, Model) else 0.0
    return energy.potential(system_of(model), q) + stored


def _power(model: SystemLike, **given: Array) -> Array:
    at = _at(given)
    stored = acting.energy_rate(model, at.q, at.u) if isinstance(model, Model) else 0.0
    return energy.work_rate(system_of(model), at.q, at.u, torques(model, at)) + stored


FORMULAS: dict[str, Callable[..., Any]] = {
    "lengths": lambda model, q: paths_at(model.system, model.paths, q, np.zeros(model.system.nu)).length,
    "forces": lambda model, **given: acting.tensions(model, _at(given)),
    "torques": lambda model, **given: torques(model, _at(given)),
    "power": _power,
    "acceleration": lambda model, q, u, tau: articulated.forward(system_of(model), q, u, tau),
    "kinetic_energy": lambda model, q, u: energy.kinetic(system_of(model), q, u),
    "potential_energy": _potential,
    "loads": lambda model, q, u, t: wrenches(model, Instant(q, u, t[..., 0])),
    "wrenches": lambda model, **given: wrenches(model, _at(given)),
    "reactions": _reactions,
}


def quantity(
    model: SystemLike, name: str, arrays: Mapping[str, Array], varied: Parameters | None = None, p: Array | None = None
) -> Array:
    """A quantity of a model at arrays (rows, n) by name, with the `varied` numbers p (rows, k) in every row."""
    sizes = {key: array.shape[-1] for key, array in arrays.items()}
    names = () if varied is None else varied.names

    def formula(*given: Array) -> Any:
        bound = model if varied is None else varied.bind(given[-1])
        return FORMULAS[name](bound, **dict(zip(sizes, given, strict=False)))

    def build(content: str | None) -> kernels.Kernel:
        inputs = sizes | ({"p": len(names)} if names else {})
        return kernels.compile(formula, inputs, [name], name=f"trajectory_{name}", content=content)

    content_key = model.content_key  # type: ignore[union-attr]
    kernel: Any = kernel_for(("trajectory", name, content_key, names, tuple(sizes.items())), build)
    return np.asarray(kernel(*arrays.values(), *(() if p is None else (p,))))


# ---- Muscles that push: what there is to say where a law gave forces below zero -----------------------------------


MIN_REPORTED_PUSH = 0.01  # of the greatest isometric force: what a curve's end may leave below zero is less


def push_message(model: Model, forces: Array) -> str | None:
    """A sentence about the muscles whose forces (..., m) [N] lie below zero by more than 1 % of their greatest
    isometric force, as their laws allow (`ForceLaw.can_push`). None if there are none."""
    pushing = []
    for i, muscle in enumerate(model.muscles):
        strength = getattr(muscle.law, "max_isometric_force", None)
        if muscle.law is None or not muscle.law.can_push or not strength:
            continue
        least = float(np.nanmin(forces[..., i], initial=0.0))
        if least < -MIN_REPORTED_PUSH * strength:
            pushing.append((least, muscle))
    if not pushing:
        return None
    least, worst = min(pushing, key=lambda pair: pair[0])
    option = "; the law has an option pull_only=True" if hasattr(worst.law, "pull_only") else ""
    others = f", and {len(pushing) - 1} other muscles too" if len(pushing) > 1 else ""
    law = worst.law.kind if worst.law is not None else ""
    return f"muscle {worst.name!r} pushes with up to {-least:.4g} N{others}: law {law!r} goes below zero{option}"
