"""The velocities that a model with locked and coupled coordinates is free to choose."""

import numpy as np

from myoquat.kernels.typing import Array
from myoquat.muscle import Model
from myoquat.muscle.coordinates import Coupler

__all__ = ["coupler_drift", "free_velocities"]


def free_velocities(model: Model, q: Array) -> tuple[tuple[str, ...], np.ndarray]:
    """(names, C (poses, nu, n)): u = C u_free at q (poses, nq), without locked coordinates, couplers followed.

    Raises ValueError for couplers that go in a circle, or a coupled coordinate that has no velocity of its own.
    """
    system = model.system
    place = _velocity_of(model)
    C = np.tile(np.eye(system.nu), (len(q), 1, 1))
    held = {place[c.name] for c in model.coordinates if c.locked and c.name in place}
    for coupler in _in_order(model):
        for name in (coupler.dependent, coupler.independent):
            if name not in place:
                raise ValueError(
                    f"coupler {coupler.name!r}: coordinate {name!r} has no velocity of its own in this description "
                    "of the joints; take the model with the file's angles (rotations='file')"
                )
        driver = system.coordinate(coupler.independent, q)
        share = coupler.scale * coupler.function.slope(driver)
        C[:, place[coupler.dependent]] = share[:, None] * C[:, place[coupler.independent]]
    C[:, sorted(held)] = 0.0
    driven = {place[coupler.dependent] for coupler in model.couplers}
    free = [k for k in range(system.nu) if k not in held and k not in driven]
    return tuple(system.velocity_names[k] for k in free), C[:, :, free]


def coupler_drift(model: Model, q: Array, u: Array) -> Array:
    """(poses, nu) d with udot = C udot_free + d for the C of `free_velocities`: what the curvature of couplers adds at
    q (poses, nq), u (poses, nu)."""
    place, d = _velocity_of(model), np.zeros(u.shape)
    for coupler in _in_order(model):
        driver, k = model.system.coordinate(coupler.independent, q), place[coupler.independent]
        bend = coupler.function.curvature(driver) * u[:, k] ** 2 + coupler.function.slope(driver) * d[:, k]
        d[:, place[coupler.dependent]] = coupler.scale * bend
    return d


def _in_order(model: Model) -> list[Coupler]:
    """The couplers, each after those that drive what drives it; ValueError for a circle."""
    waiting, found = list(model.couplers), list[Coupler]()
    while waiting:
        dependent = {coupler.dependent for coupler in waiting}
        ready = [coupler for coupler in waiting if coupler.independent not in dependent]
        if not ready:
            raise ValueError(f"couplers go in a circle at {waiting[0].dependent!r}")
        found += ready
        waiting = [coupler for coupler in waiting if coupler not in ready]
    return found


def _velocity_of(model: Model) -> dict[str, int]:
    """The number of the velocity that is the rate of a coordinate, by the coordinate's name."""
    system, found = model.system, dict[str, int]()
    for s, v in zip(system.q_slices, system.u_slices, strict=True):
        if s.stop - s.start == v.stop - v.start:
            found.update(zip(system.coordinate_names[s], range(v.start, v.stop), strict=True))
    return found
