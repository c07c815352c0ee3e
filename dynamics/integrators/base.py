"""What every fixed-step method can do."""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from myoquat.dynamics.integrators.equations import StateEquations
from myoquat.joints.stacking import joined
from myoquat.kernels import StepLoop

__all__ = ["FixedStep"]


class FixedStep(ABC):
    """A method of fixed step: how it builds its compiled loop, and how its state follows from (q, u) and back."""

    name: ClassVar[str]  # as `simulate` knows it
    order: ClassVar[int]  # of the global error in the step
    stabilizations: ClassVar[tuple[str, ...]] = ("projection", "norm", "baumgarte", "none")

    @abstractmethod
    def loop(self, equations: StateEquations, stabilization: str, lanes: int | None) -> StepLoop:
        """The compiled loop over the method's state."""

    def begin(self, equations: StateEquations, q: np.ndarray, u: np.ndarray, *own: np.ndarray) -> np.ndarray:
        """(..., n) the method's state from q (..., nq), u (..., nu) and, if there are any, the muscles' states."""
        return joined([q, u, *own])

    def end(self, equations: StateEquations, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(q, u) from the method's states (..., n)."""
        return equations.split(x)
