"""A bushing whose springs are functions."""

from dataclasses import dataclass

from myoquat.joints.functions import AxisFunction, Constant
from myoquat.joints.stacking import vector
from myoquat.kernels.typing import Array
from myoquat.muscle.forces.bushing import ORIGIN, FrameForce, Vector, six

__all__ = ["BushingFunctions"]

Functions = tuple[AxisFunction, AxisFunction, AxisFunction]
NONE: Functions = (Constant(0.0), Constant(0.0), Constant(0.0))


@dataclass(frozen=True)
class BushingFunctions(FrameForce):
    """f_i = -g_i(x_i) - c_i dx_i/dt on the six measures x of a `Bushing`, g the functions `moments` [N m] of the angles
    and `forces` [N] of the positions: OpenSim's FunctionBasedBushingForce."""

    moments: Functions = NONE
    forces: Functions = NONE
    rotational_damping: Vector = ORIGIN
    translational_damping: Vector = ORIGIN

    def force(self, x: Array, rate: Array) -> Array:
        elastic = vector([g.value(x[..., i]) for i, g in enumerate((*self.moments, *self.forces))])
        result: Array = -elastic - six(self.rotational_damping, self.translational_damping) * rate
        return result
