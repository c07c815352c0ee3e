"""arctan2 and hypot as NumPy has them, and for the complex numbers of a complex step, which NumPy refuses."""

from typing import Any

import numpy as np

__all__ = ["arctan2", "hypot"]


def arctan2(y: Any, x: Any) -> Any:
    """np.arctan2(y, x); of complex numbers, exact to first order in the imaginary parts."""
    if not (np.iscomplexobj(y) or np.iscomplexobj(x)):
        return np.arctan2(y, x)
    a, b = np.real(y), np.real(x)
    square = a * a + b * b
    with np.errstate(divide="ignore", invalid="ignore"):  # no derivative at the origin: NaN, as on symbols
        return np.arctan2(a, b) + 1j * ((b * np.imag(y) - a * np.imag(x)) / square)


def hypot(x: Any, y: Any) -> Any:
    """np.hypot(x, y); of complex numbers sqrt(x^2 + y^2)."""
    if not (np.iscomplexobj(x) or np.iscomplexobj(y)):
        return np.hypot(x, y)
    return np.sqrt(x * x + y * y)
