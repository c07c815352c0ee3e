"""Equality constraints: of joints and fixed tendons as couplers, of bodies as loops and welds."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial as Powers

from myoquat.core import Array, frozen
from myoquat.data.mjcf.reading.bodies import Skeleton
from myoquat.data.mjcf.reading.tendons import length_at, tendon_name
from myoquat.data.mjcf.source import Source, rows
from myoquat.data.xml import three
from myoquat.joints import ArticulatedSystem, euler_from_quaternion, quaternion_from_matrix
from myoquat.joints.constraints import Constraint, PointLoop, PolynomialCoupler, Weld
from myoquat.joints.functions import AxisFunction, Linear, Polynomial
from myoquat.muscle import Muscle
from myoquat.muscle.constraints.path_length import PathLengthConstraint, solved_surface
from myoquat.muscle.coordinates import Coupler
from myoquat.muscle.segments.lengths import lengths

__all__ = ["read_equalities"]

TYPES = ("connect", "weld", "joint", "tendon")
SITE = 6  # the code of a site among the types of parts


@frozen
class Equality:
    """An equality constraint: its type, its name or one that is made up, the numbers of the two parts that it holds,
    the second -1 without one, and its parameters. `sites`: the parts are sites."""

    type: str
    name: str
    first: int
    second: int
    data: tuple[float, ...]
    sites: bool


def read_equalities(
    source: Source, skeleton: Skeleton, system: ArticulatedSystem, muscles: Sequence[Muscle]
) -> tuple[tuple[Coupler, ...], tuple[Constraint, ...]]:
    """Couplers and constraints of a model.

    There is a coupler for every joint that follows another. There are constraints for a joint that is held, two points
    that stay together (<connect>), two bodies that are welded, and lengths of tendons. Others and those that are off
    are noted.

    They hold exactly, and not by soft springs. A joint follows as a polynomial of x: y - y0 = sum of a_i (x - x0)^i, x0
    and y0 the joints' `ref`.
    """
    m: Any = source.m
    couplers: list[Coupler] = []
    constraints: list[Constraint] = []
    for i in range(m.neq):
        word = TYPES[m.eq_type[i]] if m.eq_type[i] < len(TYPES) else ""
        if not m.eq_active0[i]:
            source.note("equality", i, "active is false")
            continue
        unnamed = {"tendon": "tendon_equality"}.get(word, word) + f"_{i + 1}"
        given, sites = source.name("equality", i), int(m.eq_objtype[i]) == SITE
        ends = int(m.eq_obj1id[i]), int(m.eq_obj2id[i])
        equality = Equality(word, given or unnamed, *ends, rows(m, "eq_data", i), sites)
        found: Coupler | Constraint | None = None
        if word == "joint":
            names = [skeleton.joints[k] for k in ends if k >= 0]
            for name in names:
                if name not in skeleton.refs:
                    source.complain("equality", i, f"{name!r} is no hinge and no slide of the model")
            found = _coupler(equality, given, names, skeleton) if ends[1] >= 0 else _fixed(equality, given, skeleton)
        elif word == "connect":
            found = _connect(equality, skeleton)
        elif word == "weld":
            found = _weld(equality, skeleton)
        elif word == "tendon":
            names = [tendon_name(source, k) for k in ends if k >= 0]
            found = _of_tendons(equality, names, skeleton) or _of_paths(equality, names, system, skeleton, muscles)
        if found is None:
            source.note("equality", i, "constraint; the model moves without it")
        elif isinstance(found, Coupler):
            couplers.append(found)
        else:
            constraints.append(found)
    return tuple(couplers), tuple(constraints)


def _fixed(equality: Equality, given: str, skeleton: Skeleton) -> PolynomialCoupler:
    """A joint that is held where it is: a polynomial of degree zero, of another coordinate if there is one."""
    name = skeleton.joints[equality.first]
    others = _another(skeleton, name)
    rest = skeleton.refs[name] + equality.data[0]
    return PolynomialCoupler(name, others, (rest,), ((0,) * len(others),), name=given or f"{name}_held")


def _another(skeleton: Skeleton, name: str) -> tuple[str, ...]:
    """Another joint than this one, of which a constant is a polynomial as OpenSim's files have it; none if it is the
    only one."""
    return tuple(joint for joint in skeleton.refs if joint != name)[:1]


def _of_tendons(equality: Equality, names: Sequence[str], skeleton: Skeleton) -> PolynomialCoupler | None:
    """Lengths of fixed tendons L and M with L - L0 = sum of a_i (M - M0)^i: one coordinate as a polynomial of others.
    None for tendons in space, and for higher powers of tendons of several joints."""
    if not all(name in skeleton.combinations for name in names):
        return None
    first, second = ([skeleton.combinations[name] for name in names] + [{}])[:2]
    given = equality.data[:5]
    curve = Powers(given if second else given[:1]).trim()
    curved = len(curve.coef) > 2
    if curved and (len(second) > 1 or set(second) & set(first)):
        return None
    slope = 0.0 if curved or len(curve.coef) < 2 else float(curve.coef[1])
    straight = {name: first.get(name, 0.0) - slope * second.get(name, 0.0) for name in {**first, **second}}
    straight = {name: factor for name, factor in straight.items() if factor}
    if not straight:
        return None
    constant = float(curve.coef[0]) + length_at(straight, skeleton.refs)
    powers = np.zeros(1) if not curved else _powers(curve, second, skeleton)
    return _solved(straight, constant, (next(iter(second), ""), powers), skeleton, equality.name)


def _of_paths(
    equality: Equality, names: Sequence[str], system: ArticulatedSystem, skeleton: Skeleton, muscles: Sequence[Muscle]
) -> PathLengthConstraint | None:
    """Lengths of tendons L and M with L - L0 = sum of a_i (M - M0)^i, L0 and M0 those of the file's pose. None for
    tendons that wrap around surfaces whose contacts a solver finds."""
    named = {muscle.name: muscle.path for muscle in muscles}
    paths = tuple(named[name] for name in names)
    if not paths or any(solved_surface(path) for path in paths):
        return None
    rests = [float(x) for x in lengths(system, paths, np.array(skeleton.start))]
    given = equality.data[:5]
    second = {"other": paths[1], "other_rest_length": rests[1]} if len(paths) > 1 else {}
    coefficients = given if second else given[:1]
    return PathLengthConstraint(paths[0], rests[0], coefficients, **second, name=equality.name)  # type: ignore[arg-type]


def _powers(curve: Powers, tendon: Mapping[str, float], skeleton: Skeleton) -> Array:
    """The coefficients of powers of the coordinate of a tendon with a single joint, the constant one as zero."""
    ((name, factor),) = tendon.items()
    found = curve(Powers([-factor * skeleton.refs[name], factor])).coef
    result: Array = np.array(found)
    result[0] -= curve.coef[0]
    return result


def _solved(
    straight: Mapping[str, float], constant: float, powers: tuple[str, Array], skeleton: Skeleton, name: str
) -> PolynomialCoupler:
    """sum of factors times coordinates = constant + a polynomial of one more, for the coordinate with the greatest
    factor."""
    driver, curve = powers
    dependent = max(straight, key=lambda key: abs(straight[key]))
    others = [other for other in straight if other != dependent]
    if curve.any() or not others:
        others += [driver] if curve.any() else _another(skeleton, dependent)
    rows, coefficients = [(0,) * len(others)], [constant + float(curve[0])]
    for k, other in enumerate(others):
        terms = {1: -straight[other]} if other in straight else {i: float(c) for i, c in enumerate(curve) if i and c}
        for power, coefficient in terms.items():
            rows.append(tuple(power if j == k else 0 for j in range(len(others))))
            coefficients.append(coefficient)
    scale = 1.0 / straight[dependent]
    return PolynomialCoupler(dependent, tuple(others), tuple(coefficients), tuple(rows), scale, name=name)


def _connect(equality: Equality, skeleton: Skeleton) -> PointLoop:
    """Two sites, or points of two bodies that coincide in the file's pose."""
    if equality.sites:
        first, second = (skeleton.sites[k] for k in (equality.first, equality.second))
        return PointLoop(first.body, second.body, three(first.position), three(second.position), name=equality.name)
    one, other = (skeleton.names[k] for k in (equality.first, equality.second))
    return PointLoop(one, other, three(equality.data[:3]), three(equality.data[3:6]), name=equality.name)


def _weld(equality: Equality, skeleton: Skeleton) -> Weld:
    """Two sites, or a frame of the first body and the second one's at a point of it."""
    ends = equality.first, equality.second
    if equality.sites:
        first, second = (skeleton.sites[k] for k in ends)
        points = [three(site.position) for site in (first, second)]
        angles = [_angles(skeleton.axes[k]) for k in ends]
        return Weld(first.body, second.body, *points, *angles, name=equality.name)
    one, other = (skeleton.names[k] for k in ends)
    anchor, point, Q = (equality.data[k:end] for k, end in ((0, 3), (3, 6), (6, 10)))
    turn = three(np.asarray(euler_from_quaternion(np.array(Q), "XYZ")))
    return Weld(one, other, three(point), three(anchor), turn, name=equality.name)


def _angles(R: Array) -> tuple[float, float, float]:
    """The XYZ angles [rad] of a rotation."""
    return three(np.asarray(euler_from_quaternion(quaternion_from_matrix(R), "XYZ")))


def _coupler(equality: Equality, given: str, names: Sequence[str], skeleton: Skeleton) -> Coupler:
    dependent, independent = names
    function = _function(equality.data[:5], skeleton.refs[independent], skeleton.refs[dependent])
    return Coupler(given or f"{dependent}_follows_{independent}", dependent, independent, function)


def _function(coefficients: tuple[float, ...], x0: float, y0: float) -> AxisFunction:
    whole = Powers(coefficients)
    if x0:
        whole = whole(Powers([-x0, 1.0]))
    found = [float(c) for c in (whole + y0).trim().coef]
    if len(found) > 2:
        return Polynomial(tuple(found))
    return Linear(found[1] if len(found) > 1 else 0.0, found[0])
