"""Forces that are expressions of what they act on."""

from dataclasses import dataclass

from myoquat.joints.stacking import vector
from myoquat.joints.system import ArticulatedSystem
from myoquat.kernels.typing import Array
from myoquat.muscle.expressions import check_expression, evaluate
from myoquat.muscle.forces.bushing import ORIGIN, FrameForce, Vector, six
from myoquat.muscle.forces.coordinate_spring import CoordinateForce
from myoquat.muscle.forces.point_spring import PointForce

__all__ = ["BushingExpressions", "CoordinateExpression", "PointExpression"]

Texts = tuple[str, str, str]
DEFLECTIONS = ("theta_x", "theta_y", "theta_z", "delta_x", "delta_y", "delta_z")


@dataclass(frozen=True)
class CoordinateExpression(CoordinateForce):
    """f = expression [N m or N] of q and qdot, the `coordinate` by name and its rate: OpenSim's
    ExpressionBasedCoordinateForce. See `myoquat.muscle.expressions` for what can be said."""

    expression: str = "0"

    def force(self, x: Array, rate: Array) -> Array:
        return evaluate(self.expression, {"q": x, "qdot": rate})

    def check(self, system: ArticulatedSystem) -> None:
        super().check(system)
        check_expression(self.expression, ("q", "qdot"), self.element)


@dataclass(frozen=True)
class PointExpression(PointForce):
    """Two points pull each other by an expression [N] of their distance d [m] and its rate ddot [m/s]: OpenSim's
    ExpressionBasedPointToPointForce."""

    expression: str = "0"

    def force(self, x: Array, rate: Array) -> Array:
        return -evaluate(self.expression, {"d": x, "ddot": rate})

    def check(self, system: ArticulatedSystem) -> None:
        super().check(system)
        check_expression(self.expression, ("d", "ddot"), self.element)


@dataclass(frozen=True)
class BushingExpressions(FrameForce):
    """f = -(moments, forces) - c dx/dt on the six measures of a `Bushing`, each an expression of all of them, theta_x,
    theta_y, theta_z [rad] and delta_x, delta_y, delta_z [m]: OpenSim's ExpressionBasedBushingForce."""

    moments: Texts = ("0", "0", "0")
    forces: Texts = ("0", "0", "0")
    rotational_damping: Vector = ORIGIN
    translational_damping: Vector = ORIGIN

    def force(self, x: Array, rate: Array) -> Array:
        values = {name: x[..., i] for i, name in enumerate(DEFLECTIONS)}
        elastic = vector([evaluate(text, values) for text in (*self.moments, *self.forces)])
        result: Array = -elastic - six(self.rotational_damping, self.translational_damping) * rate
        return result

    def check(self, system: ArticulatedSystem) -> None:
        super().check(system)
        for text in (*self.moments, *self.forces):
            check_expression(text, DEFLECTIONS, self.element)
