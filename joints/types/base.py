"""What every joint type can do."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

__all__ = ["Joint"]


class Joint(ABC):
    """A joint between a parent and a child body: coordinates q (nq,), velocities u (nu,).

    Every verb is a plain NumPy formula on arrays with leading batch axes, floats or symbols alike.
    """

    kind: ClassVar[str]  # its name in model files
    nq: ClassVar[int] = 0
    nu: ClassVar[int] = 0

    coordinate_suffixes: ClassVar[tuple[str, ...]] = ()  # q is named "<joint>.<suffix>"
    velocity_suffixes: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def transform(self, q: Any) -> tuple[Any, Any]:
        """(R (..., 3, 3), p (..., 3)): the child frame seen from the joint frame on the parent."""

    @abstractmethod
    def displaced(self, q: Any, motion: Any) -> Any:
        """(..., nq) coordinates after the small motion u dt = `motion` (..., nu), exact to first order.

        The derivative with respect to `motion` at zero is the derivative along the velocities.
        """

    def moved(self, R_frame: Any, q: Any, motion: Any) -> tuple[Any, Any]:
        """(R_frame R, R_frame p) of `transform` after the small motion u dt = `motion` (..., nu), to first order.

        Its derivative at zero motion is the derivative along the velocities. Types that can say it shorter than
        through `displaced` do, and apply the motion last, which keeps that derivative short.
        """
        R, p = self.transform(self.displaced(q, motion))
        return R_frame @ R, R_frame @ p

    @abstractmethod
    def neutral(self) -> np.ndarray:
        """(nq,) coordinates at which child frame and joint frame coincide, or the nearest regular ones."""

    @abstractmethod
    def random(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """(n, nq) coordinates, uniform over the joint's whole range."""
