"""Numbers that place the joints of a model near a pose: small motions, coordinates, or all but one of a quaternion."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.types import Joint
from myoquat.kernels.symbolic.arrays import as_array

__all__ = ["Chart", "charts", "together"]


class Chart(NamedTuple):
    """Numbers of a joint, or of all: what they are at a pose (..., n), and the coordinates that they give near it."""

    start: Array
    coordinates: Callable[[Array], Array]


def charts(system: ArticulatedSystem, q: Array, wrt: str, eliminated: Array | None = None) -> list[Chart]:
    """The chart of every joint around q (..., nq).

    "velocity"     its small motions u dt
    "coordinates"  its coordinates
    "constrained"  its coordinates without the component `eliminated` (..., balls) of its quaternion
    """
    balls = iter(np.moveaxis(as_array(eliminated), -1, 0) if eliminated is not None else ())
    return [
        _chart(body.joint, q[..., at], wrt, next(balls) if _is_dropped(body.joint, wrt) else None)
        for body, at in zip(system.bodies, system.q_slices, strict=True)
    ]


def together(parts: Sequence[Chart]) -> Chart:
    """The chart of all joints."""
    start = np.concatenate([part.start for part in parts], axis=-1)
    edges = np.cumsum([part.start.shape[-1] for part in parts])[:-1]

    def coordinates(x: Array) -> Array:
        pieces = np.split(x, edges, axis=-1)
        return np.concatenate([part.coordinates(y) for part, y in zip(parts, pieces, strict=True)], axis=-1)

    return Chart(start, coordinates)


def _is_dropped(joint: Joint, wrt: str) -> bool:
    return wrt == "constrained" and joint.facts.quaternion is not None


def _chart(joint: Joint, q: Array, wrt: str, dropped: Array | None) -> Chart:
    if wrt == "velocity":
        return Chart(np.zeros((*q.shape[:-1], joint.nu)), lambda motion: joint.displaced(q, motion))
    if dropped is None:
        return Chart(q, lambda x: x)
    kept = np.concatenate([q[..., :-4], _kept(q[..., -4:], dropped)], axis=-1)

    def coordinates(x: Array) -> Array:
        return np.concatenate([x[..., :-3], _completed(x[..., -3:], q[..., -4:], dropped)], axis=-1)

    return Chart(kept, coordinates)


def _kept(Q: Array, k: Array) -> Array:
    """Q* (..., 3): the components of Q (..., 4) other than k, in order."""
    return np.stack([np.where(k > i, Q[..., i], Q[..., i + 1]) for i in range(3)], axis=-1)


def _completed(Q_star: Array, Q: Array, k: Array) -> Array:
    """Q (..., 4) from Q* (..., 3) on the sphere through the given Q: Qk = Qk0 sqrt(1 + (|Q*0|^2 - |Q*|^2) / Qk0^2).

    Measured from the given Q the root keeps its sign, and its digits where Qk is small; 1 - |Q*|^2 would not.
    """
    start = sum(np.where(k == i, Q[..., i], 0.0) for i in range(4))
    kept = _kept(Q, k)
    change = np.sum(kept * kept, axis=-1) - np.sum(Q_star * Q_star, axis=-1)
    root = start * np.sqrt(1 + change / (start * start))
    last = np.where(k == 3, root, Q_star[..., 2])
    inner = [np.where(k == i, root, np.where(k > i, Q_star[..., i], Q_star[..., i - 1])) for i in (1, 2)]
    return np.stack([np.where(k == 0, root, Q_star[..., 0]), *inner, last], axis=-1)
