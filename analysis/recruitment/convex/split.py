"""Variables in two parts that are not negative, where an objective has a corner at zero."""

from dataclasses import replace

import numpy as np

from myoquat.analysis.recruitment.convex.program import Programs
from myoquat.core.typing import Array

__all__ = ["Split"]


class Split:
    """x = x+ - x- for variables whose power has a corner at zero, or no curvature that is finite there."""

    def __init__(self, programs: Programs) -> None:
        both = (programs.powers < 2) & (programs.weights > 0) & (programs.lower < 0) & (programs.upper > 0)
        self.columns = np.flatnonzero(both.any(axis=0))
        self.n = programs.A.shape[-1]

    def applied(self, p: Programs) -> Programs:
        """The programs with the negative parts behind all variables."""
        c = self.columns
        if not len(c):
            return p
        lower, upper = p.lower.copy(), p.upper.copy()
        lower[:, c], upper[:, c] = np.maximum(lower[:, c], 0.0), np.maximum(upper[:, c], 0.0)
        parts = {"A": -p.A[..., c], "G": -p.G[..., c], "weights": p.weights[:, c], "powers": p.powers[:, c]}
        found = {name: np.concatenate([getattr(p, name), part], axis=-1) for name, part in parts.items()}
        found["lower"] = np.concatenate([lower, np.maximum(-p.upper[:, c], 0.0)], axis=-1)
        found["upper"] = np.concatenate([upper, np.maximum(-p.lower[:, c], 0.0)], axis=-1)
        return replace(p, **found)

    def merged(self, x: Array) -> Array:
        """(k, n) x of the split variables."""
        found: Array = x[:, : self.n].copy()
        found[:, self.columns] -= x[:, self.n :]
        return found
