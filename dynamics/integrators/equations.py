"""The equations of motion of first order, xdot = f(t, x), as one formula that step loops and solvers share.

x = (q, u), udot = forward dynamics of muscle torques and outside torques, qdot = N(q) u.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dynamics import articulated
from dynamics.constraints import Constraint, Constraints
from joints import state
from joints._layout import joined
from joints.door import system_of
from joints.system import ArticulatedSystem
from muscle.model import Model
from muscle.states import torques

__all__ = ["StateEquations"]

SPEED_LIMIT = 1e6  # |u| [rad/s, m/s] that no body reaches: a state beyond it has blown up


@dataclass(frozen=True)
class StateEquations:
    """The motion of a Model or an ArticulatedSystem.

    outside      whether torques (nu,) from outside act, as the input "torque".
    baumgarte    whether |Q| is pulled back to 1: Qdot gets -(|Q|^2 - 1) Q / (2 T), T the parameter "time_constant",
                 so that |Q|^2 - 1 decays as exp(-t / T); constraints likewise, critically damped.
    constraints  that the motion obeys; independent ones.
    """

    model: Any
    outside: bool = False
    baumgarte: bool = False
    constraints: tuple[Constraint, ...] = ()

    @property
    def system(self) -> ArticulatedSystem:
        return system_of(self.model)

    @property
    def muscles(self) -> int:
        """Number of muscles that act."""
        return len(self.model.muscles) if isinstance(self.model, Model) else 0

    @property
    def size(self) -> int:
        """Length of x."""
        return self.system.nq + self.system.nu

    @property
    def key(self) -> Hashable:
        """What tells these equations from others."""
        return (type(self).__name__, self.model.content_key, self.outside, self.baumgarte, self.constraints)

    @property
    def inputs(self) -> dict[str, int]:
        """Name and length of what may change with time."""
        given = {"activation": self.muscles, "torque": self.system.nu if self.outside else 0}
        return {name: n for name, n in given.items() if n}

    @property
    def parameters(self) -> dict[str, Any]:
        """Name and shape of what is constant."""
        return {"time_constant": ()} if self.baumgarte else {}

    def named(self, values: Any) -> dict[str, Any]:
        """The arguments of a formula after x, by name."""
        return dict(zip((*self.inputs, *self.parameters), values, strict=True))

    # ---- formulas --------------------------------------------------------------------------------------------

    def split(self, x: Any) -> tuple[Any, Any]:
        """(q, u) of x (..., size)."""
        nq = self.system.nq
        return x[..., :nq], x[..., nq:]

    def force(self, q: Any, u: Any, given: Mapping[str, Any]) -> Any:
        """(..., nu) torques of the muscles and from outside."""
        tau: Any = given.get("torque", np.zeros(self.system.nu))
        return tau + torques(self.model, q, u, given["activation"]) if self.muscles else tau

    def acceleration(self, t: Any, q: Any, u: Any, given: Mapping[str, Any]) -> Any:
        """(..., nu) udot."""
        free = articulated.forward(self.system, q, u, self.force(q, u, given))
        if not self.constraints:
            return free
        held = Constraints(self.system, self.constraints)
        rest = held.stabilization(q, u, t, given["time_constant"]) if self.baumgarte else None
        return held.acceleration(q, u, t, free, rest)[0]

    def rate(self, t: Any, x: Any, *values: Any) -> Any:
        """(..., size) xdot, the values in the order of inputs and parameters."""
        given = self.named(values)
        q, u = self.split(x)
        qdot = state.rates(self.system, q, u)
        if self.baumgarte:
            qdot = qdot - self._excess(q) / given["time_constant"]
        return joined([qdot, self.acceleration(t, q, u, given)])

    def beyond(self, t: Any, x: Any, *values: Any) -> Any:
        """Positive where |u| is beyond the speed limit."""
        _, u = self.split(x)
        return np.sum(u * u, axis=-1) - SPEED_LIMIT**2

    def _excess(self, q: Any) -> Any:
        """(..., nq) (|Q|^2 - 1) Q / 2 of every quaternion, zero for other coordinates."""
        return self._by_quaternion(q, lambda Q: (np.sum(Q * Q, axis=-1)[..., None] - 1) / 2 * Q, lambda r: 0.0 * r)

    def project(self, x: Any, t: Any = 0.0) -> Any:
        """(..., size) x with every quaternion divided by its length, then brought onto the constraints at time t."""
        q, u = self.split(x)
        q = self._by_quaternion(q, lambda Q: Q / np.sqrt(np.sum(Q * Q, axis=-1))[..., None], lambda rest: rest)
        if self.constraints:
            q, u = Constraints(self.system, self.constraints).nearest(q, u, t + np.zeros(()), rounds=1)
        return joined([q, u])

    def _by_quaternion(self, q: Any, ball: Any, otherwise: Any) -> Any:
        """q taken apart into quaternions and what lies between them."""
        parts, start = [], 0
        for s in (*self.system.quaternion_slices(), slice(self.system.nq, None)):
            if s.start > start:
                parts.append(otherwise(q[..., start : s.start]))
            if s.stop is not None:
                parts.append(ball(q[..., s]))
                start = s.stop
        return joined(parts) if parts else q
