"""Equality constraints: of joints and fixed tendons as couplers, of bodies as loops and welds."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial as Powers

from myoquat.core import Array
from myoquat.data.mjcf.source import Part
from myoquat.joints import ArticulatedSystem, euler_from_quaternion, quaternion_from_matrix
from myoquat.joints.constraints import Constraint, PointLoop, PolynomialCoupler, Weld
from myoquat.joints.functions import Linear, Polynomial
from myoquat.muscle import Muscle
from myoquat.muscle.constraints.path_length import PathLengthConstraint, solved_surface
from myoquat.muscle.coordinates import Coupler
from myoquat.muscle.segments.lengths import lengths

from .bodies import FileJoint, Skeleton, tendon_name
from .tendons import Combination, length_at

SITE = 6  # the code of a site among the types of parts


def read_equalities(
    skeleton: Skeleton, system: ArticulatedSystem, muscles: Sequence[Muscle]
) -> tuple[tuple[Coupler, ...], tuple[Constraint, ...]]:
    """Couplers and constraints of a model.

    There is a coupler for every joint that follows another. There are constraints for a joint that is held, two points
    that stay together (<connect>), two bodies that are welded, and lengths of tendons. Others and those that are off
    are noted.

    They hold exactly, and not by soft springs. A joint follows as a polynomial of x: y - y0 = sum of a_i (x - x0)^i, x0
    and y0 the joints' `ref`.
    """
    couplers: list[Coupler] = []
    constraints: list[Constraint] = []
    for equality in skeleton.source.parts("equality"):
        if not equality.active0:
            equality.note("active is false")
            continue
        ends = [k for k in (equality.obj1id, equality.obj2id) if k >= 0]
        found: Constraint | None = None
        if equality.type == "joint":
            joints = [skeleton.joints[k] for k in ends]
            for joint in joints:
                if not joint.single:
                    equality.complain(f"{joint.coordinate!r} is no hinge and no slide of the model")
            if len(joints) > 1:
                couplers.append(_coupler(equality, *joints))
                continue
            name = joints[0].coordinate  # of a joint that is held where it is
            found = _of_combinations(equality, [{name: 1.0}], skeleton, equality.name or f"{name}_held")
        elif equality.type in ("connect", "weld"):
            found = _loop(equality, skeleton)
        elif equality.type == "tendon":
            names = [tendon_name(Part(skeleton.source, "tendon", k)) for k in ends]
            fixed = [skeleton.combinations.get(name) for name in names]
            found = _of_combinations(equality, fixed, skeleton, _name(equality))
            found = found or _of_paths(equality, names, system, skeleton, muscles)
        if found is None:
            equality.note("constraint; the model moves without it")
        else:
            constraints.append(found)
    return tuple(couplers), tuple(constraints)


def _name(equality: Part) -> str:
    """Its name, or one that is made up."""
    word = "tendon_equality" if equality.type == "tendon" else equality.type
    return equality.name or f"{word}_{equality.index + 1}"


def _of_combinations(
    equality: Part, combinations: Sequence[Combination | None], skeleton: Skeleton, name: str
) -> PolynomialCoupler | None:
    """Combinations of coordinates L and M with L - L0 = sum of a_i (M - M0)^i: the coordinate with the greatest factor,
    as a polynomial of others. A constant is one of any other coordinate, as OpenSim's files have it. None for tendons
    in space, and for higher powers of tendons of several joints."""
    known = [combination for combination in combinations if combination is not None]
    if len(known) < len(combinations):
        return None
    first, second = [*known, {}][:2]
    given = equality.data[:5]
    curve = Powers(given if second else given[:1]).trim()
    curved = len(curve.coef) > 2
    if curved and (len(second) > 1 or set(second) & set(first)):
        return None
    slope = 0.0 if curved or len(curve.coef) < 2 else float(curve.coef[1])
    straight = {joint: first.get(joint, 0.0) - slope * second.get(joint, 0.0) for joint in {**first, **second}}
    straight = {joint: factor for joint, factor in straight.items() if factor}
    if not straight:
        return None
    dependent = max(straight, key=lambda key: abs(straight[key]))
    constant = float(curve.coef[0]) + length_at(straight, skeleton.refs)
    terms = {(joint, 1): -factor for joint, factor in straight.items() if joint != dependent}
    if curved:
        ((driving, factor),) = second.items()
        powers = curve(Powers([-factor * skeleton.refs[driving], factor])).coef
        constant += float(powers[0] - curve.coef[0])
        terms |= {(driving, power): float(c) for power, c in enumerate(powers) if power and c}
    others = tuple(dict.fromkeys(joint for joint, _ in terms))
    others = others or tuple(joint for joint in skeleton.singles if joint != dependent)[:1]
    powers_of = [tuple(power if other == joint else 0 for other in others) for joint, power in terms]
    coefficients, rows = (constant, *terms.values()), ((0,) * len(others), *powers_of)
    return PolynomialCoupler(dependent, others, coefficients, rows, 1.0 / straight[dependent], name=name)


def _of_paths(
    equality: Part, names: Sequence[str], system: ArticulatedSystem, skeleton: Skeleton, muscles: Sequence[Muscle]
) -> PathLengthConstraint | None:
    """Lengths of tendons L and M with L - L0 = sum of a_i (M - M0)^i, L0 and M0 those of the file's pose. None for
    tendons that wrap around surfaces whose contacts a solver finds."""
    named = {muscle.name: muscle.path for muscle in muscles}
    paths = tuple(named[name] for name in names)
    if not paths or any(solved_surface(path) for path in paths):
        return None
    rests = lengths(system, paths, np.array(skeleton.start))
    given = equality.data[:5]
    second = {"other": paths[1], "other_rest_length": rests[1]} if len(paths) > 1 else {}
    coefficients = given if second else given[:1]
    return PathLengthConstraint(paths[0], rests[0], coefficients, **second, name=_name(equality))


def _loop(equality: Part, skeleton: Skeleton) -> PointLoop | Weld:
    """Two points or frames that stay together: those of two sites, or of two bodies, which coincide in the file's
    pose."""
    ends, welded, data = (equality.obj1id, equality.obj2id), equality.type == "weld", equality.data
    points, turns = [data[:3], data[3:6]], [(0.0, 0.0, 0.0)] * 2
    if equality.objtype == SITE:
        sites = [skeleton.sites[k] for k in ends]
        bodies, points = [site.body for site in sites], [site.position for site in sites]
        turns = [_angles(quaternion_from_matrix(skeleton.axes[k])) for k in ends]
    else:
        bodies = [skeleton.names[k] for k in ends]
        if welded:  # its data are the point of the second body before that of the first, and the second's orientation
            points, turns = points[::-1], [_angles(np.array(data[6:10])), turns[1]]
    if welded:
        return Weld(*bodies, *points, *turns, name=_name(equality))
    return PointLoop(*bodies, *points, name=_name(equality))


def _angles(Q: Array) -> Any:
    """The XYZ angles [rad] of a rotation."""
    return euler_from_quaternion(Q, "XYZ")


def _coupler(equality: Part, dependent: FileJoint, independent: FileJoint) -> Coupler:
    whole = Powers(equality.data[:5])
    if independent.ref:
        whole = whole(Powers([-independent.ref, 1.0]))
    found = [float(c) for c in (whole + dependent.ref).trim().coef]
    function = Polynomial(tuple(found)) if len(found) > 2 else Linear(found[1] if len(found) > 1 else 0.0, found[0])
    first, second = dependent.coordinate, independent.coordinate
    return Coupler(equality.name or f"{first}_follows_{second}", first, second, function)
