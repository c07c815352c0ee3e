"""The formulas of the filter: how a pose moves between frames, and what is seen of it, with derivatives.

Errors of a pose are small motions (nu,) from it, three numbers for each quaternion. The covariance of a rotation is one
of its tangent space, where it is not singular and |Q| = 1 needs no constraint.
"""

from collections.abc import Hashable
from typing import Any

import numpy as np

from myoquat import kernels
from myoquat.analysis.motion.problem import PoseProblem, rotation_vector
from myoquat.core.content import content_key
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.dynamics.constraints import Constraint, Constraints
from myoquat.joints import frames
from myoquat.joints.compiled import kernel_for
from myoquat.joints.multibody import state
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.quaternion import (
    quaternion_exp,
    quaternion_log,
    quaternion_multiply,
    rotation_matrix,
)
from myoquat.kernels import Kernel
from myoquat.kernels.tracing.derivatives import jacobian_at

__all__ = ["Measurements", "transition"]


def transition(system: ArticulatedSystem) -> Kernel:
    """The kernel of (q, v) -> the pose q' after unit time at constant v (nu,), and its two derivatives.

    They are (nu, nu) each: small motions of q' by a small motion of q, and by a change of v.
    """
    return kernel_for(("pose transition", system.content_key), lambda content: _transition(system, content))


def _transition(system: ArticulatedSystem, content: str | None) -> Kernel:
    layout, nu = system.layout, system.nu

    def formula(q: Array, v: Array) -> tuple[Array, Array, Array]:
        after = state.integrate(layout, q, v)

        def change(d: Array) -> Array:
            return state.integrate(layout, state.displaced(layout, q, d[..., :nu]), v + d[..., nu:])

        D = state.rate_inverse(layout, after) @ jacobian_at(change, np.zeros(2 * nu), like=q)
        return after, D[..., :nu], D[..., nu:]

    sizes = {"q": system.nq, "v": nu}
    return kernels.compile(formula, sizes, ["after", "by_pose", "by_motion"], name="pose_transition", content=content)


@dataclass(frozen=True, eq=False)
class Measurements:
    """What is seen of a state: markers and sensors of a problem, and constraints, which are zero."""

    problem: PoseProblem
    constraints: tuple[Constraint, ...] = ()

    @property
    def key(self) -> Hashable:
        """Equal for equal formulas."""
        return ("filter measurements", self.problem.key, content_key(self.constraints))

    @property
    def kernel(self) -> Kernel:
        """The kernel of (t, q, u, positions (n, 3), rotations (s, 4)) -> residuals (m,) and derivatives.

        Residuals are measured less predicted values. The derivatives are those of the prediction by a small motion and
        by u, (m, nu) each. Rows are markers [m], sensors [rad], constraints and their rates.
        """
        return kernel_for(self.key, self._kernel)

    def _kernel(self, content: str | None) -> Kernel:
        problem, system = self.problem, self.problem.system
        sizes: dict[str, Any] = {"t": (), "q": system.nq, "u": system.nu}
        sizes |= {"positions": (len(problem.markers), 3), "rotations": (len(problem.sensors), 4)}
        names = ["residuals", "by_pose", "by_velocity"]
        return kernels.compile(self._formula, sizes, names, name="filter_measurements", content=content)

    def _formula(self, t: Array, q: Array, u: Array, positions: Array, rotations: Array) -> tuple[Array, Array, Array]:
        nu = self.problem.system.nu
        parts = [*self._markers(q, positions), *self._sensors(q, rotations)]
        rest = [(r, H, np.zeros((*H.shape[:-1], nu))) for r, H in parts] + self._constrained(t, q, u)
        r, H, K = zip(*rest, strict=True)
        return np.concatenate(r, axis=-1), np.concatenate(H, axis=-2), np.concatenate(K, axis=-2)

    def _markers(self, q: Array, positions: Array) -> list[tuple[Array, Array]]:
        system, found = self.problem.system, []
        for k, marker in enumerate(self.problem.markers):
            point = np.array(marker.position)
            _, x = frames.pose(system, q, marker.body, point)
            found.append((positions[..., k, :] - x, frames.jacobian(system, q, marker.body, point)[..., :3, :]))
        return found

    def _sensors(self, q: Array, rotations: Array) -> list[tuple[Array, Array]]:
        """theta = log(R^T R_seen R_sensor^T): a small motion delta of the body makes it log(exp(-delta) exp(theta))."""
        system, found = self.problem.system, []
        for k, sensor in enumerate(self.problem.sensors):
            R, _ = frames.pose(system, q, sensor.body, np.zeros(3))
            back = np.swapaxes(R, -1, -2)
            mount = rotation_matrix(np.array(sensor.orientation))
            theta = rotation_vector(back @ rotation_matrix(rotations[..., k, :]) @ mount.T)
            error = quaternion_exp(theta)

            def turned(delta: Array, error: Array = error) -> Array:
                log: Array = quaternion_log(quaternion_multiply(quaternion_exp(-delta), error))
                return log

            slope = jacobian_at(turned, np.zeros(3), like=q)
            J = back @ frames.jacobian(system, q, sensor.body, np.zeros(3))[..., 3:, :]
            found.append((theta, -slope @ J))
        return found

    def _constrained(self, t: Array, q: Array, u: Array) -> list[tuple[Array, Array, Array]]:
        if not self.constraints:
            return []
        system, nu = self.problem.system, self.problem.system.nu
        held = Constraints(system, self.constraints)
        A = held.jacobian(q, t)
        by_pose = jacobian_at(lambda d: held.rate(system.displaced(q, d), u, t), np.zeros(nu), like=q)
        H = held.position_jacobian(q, t)
        return [(-held.position(q, t), H, np.zeros(H.shape)), (-held.rate(q, u, t), by_pose, A)]
