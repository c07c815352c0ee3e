"""What every force law can do."""

from abc import ABC, abstractmethod
from dataclasses import fields, replace
from typing import ClassVar, Self

import numpy as np

from myoquat.core import Array, ArrayLike, Record
from myoquat.joints.ranges import Range, check_ranges


class PushWarning(UserWarning):
    """Muscles pushed along a motion: their law gave forces below zero.

    >>> from myoquat.muscle.laws import Thelen2003
    >>> law = Thelen2003(1000.0, optimal_fiber_length=0.1, tendon_slack_length=0.2, tendon="rigid")
    >>> law.can_push, bool(law.force(0.3, -1.5, 0.05) < 0)  # a simulation in which it does warns
    (True, True)
    """


class ForceLaw(Record, ABC):
    """Tension F [N] of a muscle from its path length, its lengthening speed and its activation.

    A law is a frozen dataclass of its parameters; in a study they may be arrays or symbols. A parameter whose
    default is None may be left open in a model file, and must be given before a force is asked for.

    >>> from myoquat.muscle.laws import LAWS, ForceLaw
    >>> sorted(LAWS)[:4], all(issubclass(law, ForceLaw) for law in LAWS.values())
    (['A', 'B', 'affine_path', 'blankevoort1991'], True)
    """

    kind: ClassVar[str]  # its name in model files
    state_range: ClassVar[Range] = Range()  # where its states can start
    activated: ClassVar[bool] = True  # whether the tension depends on the activation

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the states of the muscle itself, such as its fiber length; none unless the law says otherwise."""
        return ()

    @property
    def closed_form(self) -> bool:
        """Whether SymPy can take the law; not where a solver runs on curves."""
        return True

    @abstractmethod
    def force(self, length: Array, speed: Array, activation: Array, state: Array | None = None) -> Array:
        """Tension F (...) [N], positive when it pulls, at length [m], speed dl/dt [m/s] and activation in [0, 1].

        state (..., ns) holds the law's `states`; None for a law without.
        """

    def stored(self, length: Array) -> Array:
        """(...) [J] the potential at a path length [m] of a law whose tension follows from it, but for damping.

        It is zero for muscles, whose tension depends on the activation. The formula runs on floats and symbols.
        """
        return np.zeros(())

    @property
    def can_push(self) -> bool:
        """Whether the law gives forces below zero in states that a motion may reach, such as a fast shortening."""
        return False

    def state_rate(self, length: Array, speed: Array, activation: Array, state: Array) -> Array:
        """(..., ns) rates of the states."""
        raise NotImplementedError(f"law {self.kind!r} has no states")

    def state_residual(self, length: Array, speed: Array, activation: Array, state: Array, rate: Array) -> Array:
        """(..., ns) the equations of the states in implicit form, g(length, speed, activation, state, rate) = 0."""
        raise NotImplementedError(f"law {self.kind!r} has no states")

    def equilibrium(self, length: ArrayLike, speed: ArrayLike, activation: ArrayLike) -> Array:
        """(..., ns) states from which a motion can start at rest; floats, batched."""
        raise NotImplementedError(f"law {self.kind!r} has no states")

    def scaled(self, ratio: float) -> Self:
        """The law on a path that is `ratio` times as long: every length, a parameter called '..._length', grows."""
        lengths = {f.name for f in fields(self) if f.name.endswith("_length")}  # type: ignore[arg-type]
        known = {name: getattr(self, name) for name in lengths if getattr(self, name) is not None}
        return replace(self, **{name: ratio * value for name, value in known.items()})  # type: ignore[type-var]

    def open_parameters(self) -> tuple[str, ...]:
        """Names of the parameters that have no value yet."""
        names = type(self).__dataclass_fields__  # type: ignore[attr-defined]
        return tuple(name for name in names if getattr(self, name) is None)

    def check(self, element: str) -> None:
        """ModelError for a parameter outside its range (`myoquat.joints.ranges`); without one, it must be finite."""
        check_ranges(self, element)
