"""A bushing whose springs are functions."""

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.functions import AxisFunction, Constant
from myoquat.joints.vectors import vector
from myoquat.muscle.forces.bushing import ORIGIN, FrameForce, Vector, six

__all__ = ["BushingFunctions"]

Functions = tuple[AxisFunction, AxisFunction, AxisFunction]
NONE: Functions = (Constant(0.0), Constant(0.0), Constant(0.0))


@dataclass(frozen=True)
class BushingFunctions(FrameForce):
    """f_i = -g_i(x_i) - c_i dx_i/dt on the six measures x of a `Bushing`: OpenSim's FunctionBasedBushingForce.

    g are the functions `moments` [N m] of the angles and `forces` [N] of the positions.

    >>> import numpy as np
    >>> from myoquat.joints.functions import Constant, Polynomial
    >>> from myoquat.muscle.forces import BushingFunctions
    >>> stiffening = Polynomial((0.0, 10.0, 0.0, 500.0))  # 10 x + 500 x^3
    >>> disc = BushingFunctions("disc", "pelvis", "torso", moments=(stiffening, Constant(), Constant()))
    >>> disc.force(np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.0]), np.zeros(6)).round(3) + 0.0
    array([-1.5,  0. ,  0. ,  0. ,  0. ,  0. ])
    """

    moments: Functions = NONE
    forces: Functions = NONE
    rotational_damping: Vector = ORIGIN
    translational_damping: Vector = ORIGIN

    def force(self, x: Array, rate: Array) -> Array:
        elastic = vector([g.value(x[..., i]) for i, g in enumerate((*self.moments, *self.forces))])
        result: Array = -elastic - six(self.rotational_damping, self.translational_damping) * rate
        return result

    def stored(self, x: Array) -> Array:
        total: Array = 0.0 * x[..., 0]
        for i, g in enumerate((*self.moments, *self.forces)):
            total = total + g.integral(x[..., i])
        return total
