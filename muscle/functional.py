"""Paths whose length is a function of coordinates."""

from typing import ClassVar

import numpy as np

from myoquat.core.arguments import check_types
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.errors import ModelError
from myoquat.joints.functions import MultivariatePolynomial
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.muscle.points import DrivenPoint, PathPoint

__all__ = ["LengthPoint", "function_path"]


@dataclass(frozen=True)
class LengthPoint(DrivenPoint):
    """The end of a path whose length [m] is a polynomial of coordinates [rad or m].

    It moves along x of its body, as far from `position` as the polynomial says. The path from `position` to it thus has
    that length. Such a path has no place: pictures show it as a straight line. The polynomial must be positive where
    the model moves, since the length is its magnitude. Scaling bodies leaves it as it is.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.joints.functions import MultivariatePolynomial
    >>> from myoquat.muscle import LengthPoint
    >>> shin = mq.Body("shin", "ground", mq.joints.RevoluteJoint((0, 0, 1)), coordinate_names=("knee",))
    >>> length = MultivariatePolynomial(dimension=1, order=1, coefficients=(0.3, 0.04))  # 0.3 + 0.04 knee
    >>> point = LengthPoint("ground", (0.0, 0.0, 0.0), ("knee",), length)
    >>> point.local(mq.ArticulatedSystem((shin,)), np.array([0.5]))
    array([0.32, 0.  , 0.  ])
    """

    on_body: ClassVar[bool] = False
    constants: ClassVar[tuple[str, ...]] = ("position",)
    coordinates: tuple[str, ...]
    length: MultivariatePolynomial

    def driving(self, system: ArticulatedSystem) -> tuple[str, ...]:
        return self.coordinates

    def check(self, system: ArticulatedSystem, element: str) -> None:
        super().check(system, element)
        if len(self.coordinates) != self.length.dimension or len(set(self.coordinates)) < len(self.coordinates):
            raise ModelError(
                f"a length that is a polynomial of {self.length.dimension} coordinates needs as many different "
                f"coordinates, not {list(self.coordinates)}",
                element=element,
            )

    def local(self, system: ArticulatedSystem, q: Array) -> Array:
        seen = [system.coordinate(name, q) for name in self.coordinates]
        length = self.length.value(np.stack(np.broadcast_arrays(*seen, subok=True), axis=-1))
        x, y, z = self.position
        return np.stack([x + length, y + 0.0 * length, z + 0.0 * length], axis=-1)

    def scaled(self, factors: Array) -> "LengthPoint":
        return self


def function_path(
    coordinates: tuple[str, ...], length: MultivariatePolynomial, body: str = "ground"
) -> tuple[PathPoint, LengthPoint]:
    """The `path` of a Muscle whose length [m] is a polynomial of coordinates, OpenSim's FunctionBasedPath.

    Lengths, Jacobians, speeds, torques and everything built on them work as for a path of points; J is the derivative
    of the polynomial. The path pulls on the joints of its coordinates. Where it pulls on bones
    is not known without a `Muscle.anatomy`.

    >>> import myoquat as mq
    >>> from myoquat.joints.functions import MultivariatePolynomial
    >>> from myoquat.muscle import function_path
    >>> rod = mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)), coordinate_names=("elbow",))
    >>> length = MultivariatePolynomial(dimension=1, order=1, coefficients=(0.3, -0.04))  # a moment arm of 4 cm
    >>> model = mq.Model(mq.ArticulatedSystem((rod,)), (mq.Muscle("biceps", function_path(("elbow",), length)),))
    >>> mq.path_lengths(model, [0.5]).round(12), mq.path_jacobian(model, [0.5])[0].round(12)
    (array([0.28]), array([-0.04]))
    """
    check_types(coordinates=(coordinates, (tuple, list)), length=(length, MultivariatePolynomial))
    start = PathPoint(body, (0.0, 0.0, 0.0))
    return start, LengthPoint(body, start.position, tuple(coordinates), length)
