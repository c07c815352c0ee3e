"""Reserves: actuators that help where muscles cannot produce what a motion needs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from myoquat.analysis.motion.inverse_dynamics import velocity_row
from myoquat.core import Array, frozen, indices_of
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.muscle import Model, actuator_forces
from myoquat.muscle.actuators import ScalarActuator
from myoquat.muscle.loads import body_wrenches


@frozen
class Reserve:
    """An actuator of strength R on a velocity: it gives R c and adds weight * |c|^p to the effort.

    velocity      its name, or the name of a coordinate whose rate it is
    strength      R [N m or N]
    weight        of the effort
    lower, upper  bounds of c

    >>> from myoquat.analysis.recruitment import Reserve
    >>> Reserve("rod.speed", strength=10.0, weight=100.0)  # dear, so that muscles go first
    Reserve(velocity='rod.speed', strength=10.0, weight=100.0, lower=-inf, upper=inf)
    """

    velocity: str
    strength: float = 1.0
    weight: float = 1.0
    lower: float = -np.inf
    upper: float = np.inf

    def __post_init__(self) -> None:
        _check(self, f"reserve on {self.velocity!r}", "strength")

    @property
    def name(self) -> str:
        """The velocity, for tables."""
        return self.velocity


@frozen
class ReserveActuator:
    """An actuator of a model, such as a force at a point of the pelvis, as a reserve.

    Its control c, within the bounds of the actuator, adds weight * |c|^p to the effort. Its force is `optimal_force`
    [N, N m] times c.

    >>> from myoquat.analysis.recruitment import ReserveActuator
    >>> from myoquat.muscle.actuators import PointActuator
    >>> residual = ReserveActuator(PointActuator("FX", "pelvis", (0.0, 0.0, 0.0), (1.0, 0.0, 0.0), optimal_force=4.0))
    >>> residual.name, residual.strength
    ('FX', 4.0)
    """

    actuator: ScalarActuator
    weight: float = 1.0

    def __post_init__(self) -> None:
        _check(self, f"reserve {self.name!r}", "optimal_force")

    @property
    def name(self) -> str:
        """The actuator's, for tables."""
        return self.actuator.name

    @property
    def strength(self) -> float:
        """The actuator's optimal_force [N, N m]."""
        return self.actuator.optimal_force

    @property
    def lower(self) -> float:
        """The least control."""
        return self.actuator.lower

    @property
    def upper(self) -> float:
        """The greatest control."""
        return self.actuator.upper


AnyReserve = Reserve | ReserveActuator
Reserves = float | Mapping[str, float] | Sequence[AnyReserve]


def _check(reserve: AnyReserve, element: str, strength: str) -> None:
    """ValueError, with the element and the name of its strength, for numbers with which no reserve acts."""
    if not (np.isfinite(reserve.strength) and reserve.strength > 0):
        raise ValueError(f"{element}: its {strength} must be positive, not {reserve.strength}")
    if not (np.isfinite(reserve.weight) and reserve.weight >= 0):
        raise ValueError(f"{element}: its weight must not be negative, but is {reserve.weight}")
    if not (reserve.lower <= reserve.upper and reserve.lower < np.inf and reserve.upper > -np.inf):
        raise ValueError(f"{element}: no control lies between lower and upper, {reserve.lower} and {reserve.upper}")


def reserves_of(given: Reserves, free: Sequence[str]) -> tuple[AnyReserve, ...]:
    """The reserves as they are given, one for each name with its strength, or one on every free velocity.

    Patterns such as "pelvis.*" stand for free velocities, and the last that fits counts. ValueError for one that fits
    none.
    """
    if isinstance(given, (int, float)):
        return tuple(Reserve(name, float(given)) for name in free)
    if isinstance(given, Mapping):
        strengths: dict[str, float] = {}
        for name, strength in given.items():
            fitting = [known for known in free if fnmatchcase(known, name)] if set(name) & set("*?[") else [name]
            if not fitting:
                indices_of("free velocity", [name], free)
            strengths |= dict.fromkeys(fitting, float(strength))
        return tuple(Reserve(name, strength) for name, strength in strengths.items())
    if not isinstance(given, Sequence):
        raise TypeError(f"reserves are a strength, strengths by name, or a sequence of Reserve, not {given!r}")
    for reserve in given:
        if not isinstance(reserve, AnyReserve):
            raise TypeError(
                "reserves are a strength, strengths by name, or a sequence of Reserve and ReserveActuator, "
                f"not {reserve!r}"
            )
    return tuple(given)


def reserve_columns(system: ArticulatedSystem, reserves: Sequence[AnyReserve], q: Array) -> Array:
    """(t, nu, r) the generalized force of every reserve at c = 1 in poses q (t, nq); (nu, r) where all are on
    velocities. ValueError for a velocity that does not exist or has two, and for two reserves of one name."""
    columns = np.zeros((system.nu, len(reserves)))
    taken: set[str | int] = set()
    for k, reserve in enumerate(reserves):
        place = velocity_row(system, reserve.velocity) if isinstance(reserve, Reserve) else reserve.name
        if place in taken:
            raise ValueError(
                f"the {'velocity' if isinstance(place, int) else 'name'} {reserve.name!r} has two reserves"
            )
        taken.add(place)
        if isinstance(place, int):
            columns[place, k] = reserve.strength
    acting = [k for k, reserve in enumerate(reserves) if isinstance(reserve, ReserveActuator)]
    if not acting:
        return columns
    found = np.repeat(columns[None], len(q), axis=0)
    own = Model(system, actuators=tuple(r.actuator for r in reserves if isinstance(r, ReserveActuator)))
    found[..., acting] = control_columns(own, q, backend="numpy")
    return found


def reserve_wrenches(system: ArticulatedSystem, reserve: AnyReserve, q: Array, controls: Array) -> Array | None:
    """(t, bodies, 6) force [N] and torque [N m] of a reserve at controls (t,) on every body, at its origin in world
    axes. None for one that acts within joints, on velocities or coordinates."""
    if isinstance(reserve, Reserve) or reserve.actuator.in_joints:
        return None
    loads = reserve.actuator.loads(system.poses(q), (reserve.strength * controls)[:, None])
    return body_wrenches(system, q, loads)


def control_columns(model: Model, q: Array, control: float = 1.0, backend: str = "kernel") -> Array:
    """(t, nu, k) the generalized force of every control of the model's actuators at this value, in poses q (t, nq)."""
    nu, count = model.system.nu, len(model.control_names)
    if not count:
        return np.zeros((len(q), nu, 0))
    shape = (len(q), count + 1)
    controls = np.broadcast_to(control * np.eye(count + 1, count, -1), (*shape, count))
    poses = np.broadcast_to(q[:, None], (*shape, q.shape[-1]))
    forces = actuator_forces(unbounded(model), poses, np.zeros((*shape, nu)), controls, backend=backend)
    return (forces[:, 1:] - forces[:, :1]).mT


def unbounded(model: Model) -> Model:
    """The model whose actuators take any control."""
    free: dict[str, Any] = {"lower": -np.inf, "upper": np.inf}
    return replace(model, actuators=tuple(replace(a, **free) if hasattr(a, "lower") else a for a in model.actuators))
