"""Joints that follow others: MuJoCo holds them by polynomials of degree four, to which other functions are fitted."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial

from myoquat.data.mjcf.elements import add
from myoquat.data.mjcf.writing.joints import Joints
from myoquat.data.reports import UnwrittenParts
from myoquat.data.xml import Element
from myoquat.joints.functions import AxisFunction, coefficients_of
from myoquat.muscle.coordinates import Coordinate

__all__ = ["add_equalities"]

MAX_DEGREE = 4
DEFAULT_RANGE = (-np.pi / 2, np.pi / 2)  # of a coordinate without one
FIT_POINTS = 401
ROUND_OFF = 1e-13


def add_equalities(
    root: Element, joints: Joints, coordinates: dict[str, Coordinate], held: dict[str, float],
    unwritten: UnwrittenParts,
) -> None:  # fmt: skip
    """An <equality> for every axis that a coordinate moves by a function, every coupler, and every coordinate that is
    locked or held.

    These stay at the values `held`. The others satisfy
    y - y0 = sum of a_i (x - x0)^i, x0 and y0 the values that MuJoCo calls ref.
    """
    followers = joints.driven()
    for coordinate in coordinates.values():
        if coordinate.prescribed is not None:
            unwritten.count("coordinates prescribed over time", coordinate.name)
    driven = {follower.name for follower in followers}
    fixed = {name: x for name, x in held.items() if name in joints.refs and name not in driven}
    if not followers and not fixed:
        return
    holder = add(root, "equality")
    for follower in followers:
        known = coordinates.get(follower.driver)
        low, high = DEFAULT_RANGE if known is None or known.range is None else known.range
        polynomial, miss = _fitted(follower.functions, low, high)
        if miss:
            unwritten.count("functions, fitted by quartics", f"{follower.name} to {miss:.1e}")
        around = polynomial(Polynomial([joints.refs[follower.driver], 1.0])) - joints.refs[follower.name]
        given = np.zeros(MAX_DEGREE + 1)
        given[: len(around.coef)] = around.coef
        add(holder, "joint", joint1=follower.name, joint2=follower.driver, polycoef=tuple(given))
    for name, x in fixed.items():
        add(holder, "joint", joint1=name, polycoef=(x - joints.refs[name], 0.0, 0.0, 0.0, 0.0))


def _fitted(functions: Sequence[AxisFunction], low: float, high: float) -> tuple[Any, float]:
    """The polynomial, and by how much it misses within the range; zero for functions that make one."""
    exact = _composed([coefficients_of(function) for function in functions])
    if exact is not None and exact.degree() <= MAX_DEGREE:
        return exact, 0.0
    x = np.linspace(low, high, FIT_POINTS)
    y = x
    for function in functions:
        y = np.asarray(function.value(y), dtype=float)
    fitted = Polynomial.fit(x, y, MAX_DEGREE).convert()
    miss = float(np.abs(fitted(x) - y).max())
    return fitted, miss if miss > ROUND_OFF * max(1.0, np.abs(y).max()) else 0.0


def _composed(steps: Sequence[tuple[float, ...] | None]) -> Any:
    whole: Any = Polynomial([0.0, 1.0])
    for step in steps:
        if step is None:
            return None
        whole = Polynomial(step)(whole)
    return whole if isinstance(whole, Polynomial) else Polynomial([whole])
