"""<FunctionBasedPath>: a path whose length is a polynomial of coordinates."""

from typing import Any

import numpy as np

from myoquat.data.document import last_name, number, numbers, text
from myoquat.data.elements import add
from myoquat.data.reports import UnsupportedElements
from myoquat.data.xml import Element, complain
from myoquat.joints.functions import MultivariatePolynomial
from myoquat.muscle.functional import LengthPoint, function_path
from myoquat.muscle.points import PathPoint

__all__ = ["TAG", "add_functional", "read_functional"]

TAG, POLYNOMIAL = "FunctionBasedPath", "MultivariatePolynomialFunction"
LENGTH, ARMS, SPEED = "length_function", "moment_arm_functions", "lengthening_speed_function"
SAMPLES = 16  # random coordinates at which derivatives of a file are compared with those of its length
DERIVATIVE_TOLERANCE = 1e-9  # relative to 1 + |derivative|


def read_functional(path: Any, unsupported: UnsupportedElements) -> tuple[PathPoint, ...]:
    """The points of a path. Moment arms and speeds of the file that are not the derivatives of its length are noted:
    here both are its derivatives."""
    names = tuple(map(last_name, text(path, "coordinate_paths").split()))
    holder = _holder(path, LENGTH)
    if holder is None:
        complain(path, f"<{TAG}> needs a <{LENGTH}>")
    length = _polynomial(holder, len(names))
    if length is None:
        complain(holder, f"a length by <{holder.tag}> of {len(names)} coordinates is not supported")
    x, u = np.random.default_rng(0).uniform(-1.0, 1.0, (2, SAMPLES, len(names)))
    steps = x[:, None, :] + 1e-30j * np.eye(len(names))
    slopes = length.value(steps).imag / 1e-30
    arms, speed = path.find(ARMS), _holder(path, SPEED)
    given = [] if arms is None else [child for child in arms if isinstance(child.tag, str)]
    for k, arm in enumerate(given[: len(names)]):
        if not _agrees(_polynomial(arm, len(names)), x, -slopes[:, k]):
            unsupported.count(arm, ARMS)
    if speed is not None and not _agrees(
        _polynomial(speed, 2 * len(names)), np.concatenate([x, u], axis=-1), np.sum(slopes * u, axis=-1)
    ):
        unsupported.count(speed, SPEED)
    return function_path(names, length)


def _holder(path: Any, name: str) -> Any:
    """The function that a child called `name` holds, or that bears the name itself; None if there is none."""
    holder = path.find(name)
    inside = [] if holder is None else [child for child in holder if isinstance(child.tag, str)]
    named = [child for child in path if isinstance(child.tag, str) and child.get("name") == name]
    return next(iter([*inside, *named]), None)


def _polynomial(element: Any, dimension: int) -> MultivariatePolynomial | None:
    """A function of so many coordinates, None for one that is no polynomial of them."""
    try:
        if element.tag == POLYNOMIAL and int(number(element, "dimension")) == dimension:
            return MultivariatePolynomial(dimension, int(number(element, "order")), numbers(element, "coefficients"))
        if element.tag == "Constant":
            return MultivariatePolynomial(dimension, 0, (number(element, "value"),))
        if element.tag == "LinearFunction":  # that of the first coordinate first, the constant last
            return MultivariatePolynomial(dimension, 1, numbers(element, "coefficients", dimension + 1)[::-1])
        if element.tag == "PolynomialFunction" and dimension == 1:  # highest power first in a file
            found = numbers(element, "coefficients")[::-1]
            return MultivariatePolynomial(1, len(found) - 1, found)
    except ValueError as error:
        if type(error) is not ValueError:
            raise
        complain(element, str(error))
    return None


def _agrees(function: MultivariatePolynomial | None, x: Any, wanted: Any) -> bool:
    """Whether a function has the wanted values (n,) at x (n, dimension)."""
    if function is None:
        return False
    return bool(np.all(np.abs(function.value(x) - wanted) <= DERIVATIVE_TOLERANCE * (1.0 + np.abs(wanted))))


def add_functional(parent: Element, point: LengthPoint, coordinate_paths: list[str]) -> None:
    """The <FunctionBasedPath> of a path that ends in `point`; coordinate_paths: those in the model's tree."""
    path = add(parent, TAG, name="path")
    add(path, "coordinate_paths", " ".join(coordinate_paths))
    own = add(add(path, LENGTH), POLYNOMIAL)
    add(own, "coefficients", point.length.coefficients)
    add(own, "dimension", str(point.length.dimension))
    add(own, "order", str(point.length.order))
