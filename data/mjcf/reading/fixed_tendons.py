"""Fixed tendons, linear combinations of the coordinates of joints, as paths whose length is that plus an offset."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from myoquat.data.mjcf.reading.bodies import GROUND, Skeleton
from myoquat.data.mjcf.reading.document import Document, elements_of
from myoquat.data.mjcf.reading.values import Values
from myoquat.data.xml import Element, complain
from myoquat.joints.functions import MultivariatePolynomial
from myoquat.muscle.functional import function_path
from myoquat.muscle.laws import AffinePath, ForceLaw, MujocoMuscle, PathLimit, SlackSpring

__all__ = ["Combination", "combinations_of", "length_at", "linear_path", "offset_of", "on_offset_path"]

Combination = dict[str, float]  # coefficients by coordinate
FREE_REACH = 100.0  # [rad, m] of a coordinate without a range, 16 turns


def combinations_of(document: Document, skeleton: Skeleton) -> dict[str, Combination]:
    """The coefficients of all <fixed> tendons by coordinate, by the tendons' names, 'tendon_<number>' without one.
    ModelError with its line for a joint that is no hinge and no slide."""
    return {
        document.values(element).text("name", f"tendon_{number}"): _combination(element, document, skeleton)
        for number, element in enumerate(document.sections("tendon"), start=1)
        if element.tag == "fixed"
    }


def length_at(combination: Mapping[str, float], coordinates: Mapping[str, float]) -> float:
    """A combination of coordinates by their values."""
    return sum(coefficient * coordinates[name] for name, coefficient in combination.items())


def _combination(element: Element, document: Document, skeleton: Skeleton) -> Combination:
    found: Combination = {}
    for child in elements_of(element):
        values = Values(child, {})
        if child.tag != "joint":
            complain(child, f"a fixed tendon is made of joints, not of <{child.tag}>")
        name = values.text("joint")
        if name not in skeleton.refs:
            complain(child, f"{name!r} is no hinge and no slide of the model")
        found[name] = found.get(name, 0.0) + values.number("coef")
        document.finish(values)
    if not any(found.values()):
        complain(element, "a fixed tendon needs a joint whose coef is not zero")
    return {name: coefficient for name, coefficient in found.items() if coefficient}


def offset_of(combination: Mapping[str, float], skeleton: Skeleton) -> float:
    """A power of two above twice the greatest magnitude of the combination in the ranges of the coordinates. Where one
    has no range, in 100 rad or m."""
    ranges = {c.name: c.range for c in skeleton.coordinates}
    reach = 0.0
    for name, coefficient in combination.items():
        ends = ranges.get(name) or (-FREE_REACH, FREE_REACH)
        reach += abs(coefficient) * max(abs(x) for x in (*ends, skeleton.refs[name], 1.0))
    return 2.0 ** math.ceil(math.log2(2 * reach)) if math.isfinite(reach) else math.inf


def linear_path(combination: Mapping[str, float], offset: float) -> Any:
    """A path whose length is the combination plus the offset."""
    names = tuple(combination)
    coefficients = (offset, *(combination[name] for name in reversed(names)))
    return function_path(names, MultivariatePolynomial(len(names), 1, coefficients), GROUND)


def on_offset_path(law: ForceLaw, offset: float) -> ForceLaw:
    """The law of the length without the offset, as a law of the length with it."""
    if isinstance(law, AffinePath):
        return replace(law, gain_0=law.gain_0 - law.gain_1 * offset, bias_0=law.bias_0 - law.bias_1 * offset)
    if isinstance(law, (MujocoMuscle, PathLimit, SlackSpring)):
        ends = {key: getattr(law, key) + offset for key in ("shortest_length", "longest_length")}
        return replace(law, **ends)
    return law  # of the speed, or of the activation alone
