"""Equilibria of fibers and elastic tendons, all muscles of one kind in one solution."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from scipy.optimize import elementwise

from myoquat import kernels
from myoquat.joints.compiled import kernel_for
from myoquat.kernels.arrays import as_array

__all__ = ["equilibrium_lengths", "numbers_of"]

TOLERANCE = 1e-12  # of the fiber length at equilibrium, relative


def numbers_of(kind: type, laws: Sequence[Any]) -> dict[str, Any]:
    """(k,) or (..., k) the numbers of k laws of one class by their names; floats, arrays (...) or symbols."""
    named = [f.name for f in fields(kind) if f.type in (float, "float")]
    return {
        name: np.stack(np.broadcast_arrays(*(as_array(getattr(law, name)) for law in laws), subok=True), axis=-1)
        for name in named
    }


def equilibrium_lengths(kind: type, numbers: Mapping[str, Any], length: Any, activation: Any) -> np.ndarray:
    """(..., k) fiber lengths [m] at which the fibers of k Hill-type laws of one class pull as their tendons, at rest.

    numbers (..., k) as `numbers_of` gives them, length and activation (..., k), floats. Where a tendon is slack at
    every length that its fiber can have, the shortest one; NaN where no length is found. SciPy's bracketing solver on a
    kernel that takes the laws' numbers as inputs, so that every class of laws is compiled once.
    """
    names = list(numbers)
    length, activation, *values = np.broadcast_arrays(length, activation, *numbers.values())
    low, high = _with_numbers(kind, names, values).bracket(length)

    def formula(rows: Any) -> Any:
        law = _with_numbers(kind, names, [rows[..., 3 + i] for i in range(len(names))])
        state = rows[..., :1]
        return law.state_residual(rows[..., 1], 0.0, rows[..., 2], state, 0.0 * state)[..., 0]

    build = lambda: kernels.compile(formula, {"rows": 3 + len(names)}, ["excess"], name="excess")  # noqa: E731
    kernel = kernel_for(("excess", kind), build)

    def excess(fiber: Any, *given: Any) -> Any:
        return kernel(np.stack(np.broadcast_arrays(fiber, *given), axis=-1))

    given = (length, activation, *values)
    slack = excess(low, *given) >= 0
    found = elementwise.find_root(
        excess, (np.where(slack, low / 2, low), high), args=given, tolerances={"xrtol": TOLERANCE}
    )
    return np.where(slack, low, np.where(found.success, found.x, np.nan))


def _with_numbers(kind: type, names: list[str], values: list[Any]) -> Any:
    """A law with an elastic tendon and these numbers, arrays or symbols, past its checks."""
    law: Any = object.__new__(kind)
    for f in fields(kind):
        object.__setattr__(law, f.name, f.default)
    for name, value in zip(names, values, strict=True):
        object.__setattr__(law, name, value)
    object.__setattr__(law, "tendon", "elastic")
    return law
