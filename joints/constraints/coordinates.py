"""Constraints on coordinates: couplers, locks and prescribed motions."""

from collections.abc import Callable

from myoquat.core import Array, frozen
from myoquat.joints import ArticulatedSystem, ModelError
from myoquat.joints.functions import AxisFunction, Linear
from myoquat.joints.multibody import state

from .base import Constraint, Holonomic


@frozen
class CoordinateCoupler(Holonomic):
    """phi = q_dependent - scale f(q_independent) (1): gears, and the couplers of OpenSim's models.

    >>> import myoquat as mq
    >>> from myoquat.dynamics.constraints import CoordinateCoupler, assemble
    >>> from myoquat.joints.functions import Linear
    >>> bodies = [mq.Body(name, "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=1.0) for name in ("a", "b")]
    >>> couple = CoordinateCoupler("b.position", "a.position", Linear(2.0))
    >>> a, b = assemble(mq.ArticulatedSystem(tuple(bodies)), [0.1, 0.0], [couple])
    >>> float((b - 2 * a).round(9)) + 0.0
    0.0
    """

    dependent: str
    independent: str
    function: AxisFunction = Linear()
    scale: float = 1.0

    @property
    def named_coordinates(self) -> tuple[str, ...]:
        return self.dependent, self.independent

    @property
    def driven(self) -> str:
        return self.dependent

    def position(self, system: ArticulatedSystem, q: Array, t: Array) -> Array:
        wanted = self.scale * self.function.value(system.coordinate(self.independent, q))
        return (system.coordinate(self.dependent, q) - wanted)[..., None]


@frozen
class PolynomialCoupler(Holonomic):
    """phi = q_dependent - scale sum_k c_k prod_i x_i^(powers_ki) (1): a coordinate as a polynomial of several, x.

    coefficients (k,) c; powers (k, i) of the coordinates `independent` (i,), whole numbers that are not negative. Of no
    coordinate, it is a constant.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.dynamics.constraints import PolynomialCoupler
    >>> bodies = [mq.Body(name, "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=1.0) for name in ("a", "b", "c")]
    >>> names = ("a.position", "b.position")
    >>> product = PolynomialCoupler("c.position", names, coefficients=(2.0,), powers=((1, 1),))  # c = 2 a b
    >>> float(product.value(mq.ArticulatedSystem(tuple(bodies)), np.array([3.0, 0.5, 0.0])))
    3.0
    """

    dependent: str
    independent: tuple[str, ...]
    coefficients: tuple[float, ...]
    powers: tuple[tuple[int, ...], ...]
    scale: float = 1.0

    @property
    def named_coordinates(self) -> tuple[str, ...]:
        return self.dependent, *self.independent

    @property
    def driven(self) -> str:
        return self.dependent

    def check(self, system: ArticulatedSystem) -> None:
        super().check(system)
        whole = all(len(row) == len(self.independent) and min(row, default=0) >= 0 for row in self.powers)
        if not whole or len(self.powers) != len(self.coefficients):
            raise ModelError(
                f"of {len(self.independent)} coordinates and {len(self.coefficients)} coefficients, powers must be "
                f"{len(self.coefficients)} rows of {len(self.independent)} whole numbers that are not negative",
                element=self.label,
            )
        if self.dependent in self.independent:
            raise ModelError(f"coordinate {self.dependent!r} depends on itself", element=self.label)

    def value(self, system: ArticulatedSystem, q: Array) -> Array:
        """(...) what the dependent coordinate has to be at q (..., nq)."""
        x = [system.coordinate(name, q) for name in self.independent]
        total: Array = 0.0 * system.coordinate(self.dependent, q)
        for coefficient, powers in zip(self.coefficients, self.powers, strict=True):
            term: Array = coefficient + 0.0 * total
            for base, power in zip(x, powers, strict=True):
                for _ in range(power):
                    term = term * base
            total = total + term
        return self.scale * total

    def position(self, system: ArticulatedSystem, q: Array, t: Array) -> Array:
        return (system.coordinate(self.dependent, q) - self.value(system, q))[..., None]


@frozen
class OfCoordinate(Constraint):
    """A constraint that says how one coordinate moves."""

    coordinate: str

    @property
    def named_coordinates(self) -> tuple[str, ...]:
        return (self.coordinate,)

    @property
    def driven(self) -> str:
        return self.coordinate


@frozen
class Locked(OfCoordinate):
    """psi = the rate of a coordinate [rad/s, m/s]: it stays where it is, at a value of its own in each run of a batch.

    >>> import myoquat as mq
    >>> from myoquat.dynamics.constraints import Locked
    >>> bob = mq.Body("bob", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=1.0, center_of_mass=(0.0, 0.0, -1.0))
    >>> way = mq.simulate(mq.ArticulatedSystem((bob,)), [[0.1], [0.7]], duration=0.1, constraints=[Locked("bob.angle")])
    >>> way.q[:, -1].tolist()
    [[0.1], [0.7]]
    """

    def rate(self, system: ArticulatedSystem, q: Array, u: Array, t: Array) -> Array:
        def along(s: Array) -> Array:
            moved = state.displaced(system, q, s * u)
            return system.coordinate(self.coordinate, moved)[..., None]

        return state.rate_along(along, q)


@frozen
class Prescribed(OfCoordinate, Holonomic):
    """phi = q - f(t) (1): a coordinate moves as f says, a NumPy formula of time, twice differentiable.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.dynamics.constraints import Prescribed
    >>> sled = mq.Body("sled", "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=1.0)
    >>> driven = Prescribed("sled.position", lambda t: 0.1 * np.sin(t))
    >>> way = mq.simulate(mq.ArticulatedSystem((sled,)), [0.0], [0.1], duration=1.0, rtol=1e-8, constraints=[driven])
    >>> float(way.q[-1, 0].round(5)), float(round(0.1 * np.sin(1.0), 5))
    (0.08415, 0.08415)
    """

    motion: Callable[[Array], Array]

    def position(self, system: ArticulatedSystem, q: Array, t: Array) -> Array:
        return (system.coordinate(self.coordinate, q) - self.motion(t))[..., None]
