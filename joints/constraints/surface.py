"""A point of one body on a surface of another, as the shoulder blade glides over the ribs."""

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.constraints.base import point_of
from myoquat.joints.constraints.loops import ORIGIN, Pair, Vector
from myoquat.joints.errors import ModelError
from myoquat.joints.euler import quaternion_from_euler
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.quaternion import rotation_matrix
from myoquat.joints.vectors import vecmat
from myoquat.kernels.symbolic.arrays import as_array

__all__ = ["OnSurface"]


@dataclass(frozen=True)
class OnSurface(Pair):
    """A point of the second body lies on an ellipsoid of the first: phi = (F - 1) / |grad F| (1) [m].

    phi is the distance from the surface to first order, positive outside. F = sum (x_i / r_i)^2 for the half axes r =
    `radii` [m]. The point x is in the frame of the ellipsoid, which sits at `first_point` and XYZ angles `first_angles`
    [rad] in its body. The point glides without friction, and the force is along the surface's normal. The force may
    also pull, since the constraint holds on both sides. phi is not defined at the ellipsoid's centre.

    >>> import myoquat as mq
    >>> from myoquat.dynamics.constraints import OnSurface, assemble
    >>> model = mq.load_model("two_link")
    >>> ribs = OnSurface("ground", "B", second_point=(0, 0, -1.0), radii=(0.9, 1.2, 1.8))
    >>> q = assemble(model, model.start_q, [ribs])
    >>> bool(abs(ribs.position(model.system, q, 0.0)[0]) < 1e-10)
    True
    """

    first_point: Vector = ORIGIN
    second_point: Vector = ORIGIN
    first_angles: Vector = ORIGIN
    radii: Vector = (1.0, 1.0, 1.0)

    def check(self, system: ArticulatedSystem) -> None:
        super().check(system)
        if len(self.radii) != 3 or not all(0 < radius < np.inf for radius in self.radii):
            raise ModelError(f"radii must be three positive lengths [m], not {self.radii!r}", element=self.label)

    def position(self, system: ArticulatedSystem, q: Array, t: Array) -> Array:
        R, _ = system.poses(q)[self.first]
        d = point_of(system, q, self.second, self.second_point) - point_of(system, q, self.first, self.first_point)
        turned = rotation_matrix(quaternion_from_euler(as_array(self.first_angles), "XYZ"))
        s = vecmat(vecmat(d, R), turned) / as_array(self.radii)
        n = s / as_array(self.radii)
        result: Array = ((np.sum(s * s, axis=-1) - 1) / (2 * np.sqrt(np.sum(n * n, axis=-1))))[..., None]
        return result
