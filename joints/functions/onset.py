"""How limits set in: smoothly, as OpenSim's CoordinateLimitForce does."""

import numpy as np

from myoquat.core.typing import Array

__all__ = ["engaged", "engaged_energy"]


def engaged(depth: Array, transition: float) -> Array:
    """(...) s(d) = 10 z^3 - 15 z^4 + 6 z^5, z = d / t within [0, 1]: from 0 to 1 over the transition t."""
    z = np.clip(depth / transition, 0.0, 1.0)
    return z * z * z * (10 - z * (15 - 6 * z))


def engaged_energy(depth: Array, transition: float) -> Array:
    """(...) the integral of s(x) x from 0 to d: t^2 (2 z^5 - 5 z^6 / 2 + 6 z^7 / 7), and (d^2 - t^2) / 2 beyond t."""
    z, beyond = np.clip(depth / transition, 0.0, 1.0), np.maximum(depth, transition)
    inside: Array = transition**2 * z**5 * (2 - z * (2.5 - z * (6 / 7)))
    return inside + (beyond * beyond - transition**2) / 2
