"""Forces that are expressions of what they act on."""

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.vectors import vector
from myoquat.muscle.expressions import check_expression, evaluate
from myoquat.muscle.forces.bushing import ORIGIN, FrameForce, Vector, six
from myoquat.muscle.forces.coordinate_spring import CoordinateForce
from myoquat.muscle.forces.point_spring import PointForce

__all__ = ["BushingExpressions", "CoordinateExpression", "PointExpression"]

Texts = tuple[str, str, str]
DEFLECTIONS = ("theta_x", "theta_y", "theta_z", "delta_x", "delta_y", "delta_z")


@dataclass(frozen=True)
class CoordinateExpression(CoordinateForce):
    """f = expression [N m or N] of q and qdot, the `coordinate` by name and its rate.

    OpenSim's ExpressionBasedCoordinateForce. `myoquat.muscle.expressions` describes the expressions.

    >>> import numpy as np
    >>> from myoquat.muscle.forces import CoordinateExpression
    >>> spring = CoordinateExpression("spring", "knee", "-20*q^3-0.5*qdot")
    >>> spring.force(np.array([0.5]), np.array([2.0]))
    array([-3.5])
    """

    expression: str = "0"

    def force(self, x: Array, rate: Array) -> Array:
        return evaluate(self.expression, {"q": x, "qdot": rate})

    def check(self, system: ArticulatedSystem) -> None:
        super().check(system)
        check_expression(self.expression, ("q", "qdot"), self.element)


@dataclass(frozen=True)
class PointExpression(PointForce):
    """Two points pull each other by an expression [N] of their distance d [m] and its rate ddot [m/s].

    OpenSim's ExpressionBasedPointToPointForce.

    >>> import numpy as np
    >>> from myoquat.muscle.forces import PointExpression
    >>> band = PointExpression("band", "pelvis", "femur", expression="300*(d-0.2)")
    >>> band.force(np.array([0.3]), np.array([0.0])).round(6)  # [N] along the distance: they pull each other
    array([-30.])
    """

    expression: str = "0"

    def force(self, x: Array, rate: Array) -> Array:
        return -evaluate(self.expression, {"d": x, "ddot": rate})

    def check(self, system: ArticulatedSystem) -> None:
        super().check(system)
        check_expression(self.expression, ("d", "ddot"), self.element)


@dataclass(frozen=True)
class BushingExpressions(FrameForce):
    """f = -(moments, forces) - c dx/dt on the six measures x of a `Bushing`: OpenSim's ExpressionBasedBushingForce.

    Each moment and force is an expression of all measures: theta_x, theta_y, theta_z [rad], delta_x, delta_y, delta_z
    [m].

    >>> import numpy as np
    >>> from myoquat.muscle.forces import BushingExpressions
    >>> disc = BushingExpressions("disc", "pelvis", "torso", moments=("10*theta_x+500*theta_x^3", "0", "0"))
    >>> disc.force(np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.0]), np.zeros(6)).round(3) + 0.0
    array([-1.5,  0. ,  0. ,  0. ,  0. ,  0. ])
    """

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
