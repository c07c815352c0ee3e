"""Equality constraints: of joints and fixed tendons as couplers, of bodies as loops and welds."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.polynomial import Polynomial as Powers

from myoquat.core.typing import Array
from myoquat.data.mjcf.document import Document, Values, unit
from myoquat.data.mjcf.reading.bodies import GROUND, Skeleton
from myoquat.data.mjcf.reading.tendons import length_at
from myoquat.data.xml import complain, three
from myoquat.joints.constraints import Constraint, PointLoop, PolynomialCoupler, Weld
from myoquat.joints.functions import AxisFunction, Linear, Polynomial
from myoquat.joints.multibody.system import ArticulatedSystem, Poses
from myoquat.joints.quaternion import quaternion_from_matrix
from myoquat.joints.sequences import euler_from_quaternion
from myoquat.muscle.constraints.path_length import PathLengthConstraint, solved_surface
from myoquat.muscle.coordinates import Coupler
from myoquat.muscle.path import Muscle
from myoquat.muscle.points import PathPoint
from myoquat.muscle.segments.lengths import lengths

__all__ = ["read_equalities"]

QUIET = ("class", "solref", "solimp", "active", "name", "torquescale")


def read_equalities(
    document: Document, skeleton: Skeleton, system: ArticulatedSystem, muscles: Sequence[Muscle]
) -> tuple[tuple[Coupler, ...], tuple[Constraint, ...]]:
    """Couplers and constraints of a file.

    There is a coupler for every joint that follows another. There are constraints for a joint that is held, two points
    that stay together (<connect>), two bodies that are welded, and lengths of tendons. Others and those that are off
    are noted.

    They hold exactly, and not by soft springs. A joint follows as a polynomial of x: y - y0 = sum of a_i (x - x0)^i, x0
    and y0 the joints' `ref`.
    """
    couplers: list[Coupler] = []
    constraints: list[Constraint] = []
    poses: Poses | None = None
    for number, element in enumerate(document.sections("equality"), start=1):
        values = document.values(element)
        if not values.boolean("active", True):
            document.unsupported.count(element, "active is false")
            continue
        if element.tag == "joint" and values.has("joint2"):
            couplers.append(_coupler(values, skeleton))
        elif element.tag == "joint":
            constraints.append(_fixed(values, skeleton))
        elif element.tag in ("connect", "weld"):
            poses = system.poses(np.array(skeleton.start)) if poses is None else poses
            make = _connect if element.tag == "connect" else _weld
            constraints.append(make(values, skeleton, poses, f"{element.tag}_{number}"))
        elif element.tag == "tendon" and (
            held := _of_tendons(values, skeleton, f"tendon_equality_{number}")
            or _of_paths(values, system, np.array(skeleton.start), muscles, f"tendon_equality_{number}")
        ):
            constraints.append(held)
        else:
            document.unsupported.count(element, "constraint; the model moves without it")
            continue
        document.finish(values, *QUIET)
    return tuple(couplers), tuple(constraints)


def _fixed(values: Values, skeleton: Skeleton) -> PolynomialCoupler:
    """A joint that is held where it is: a polynomial of degree zero, of another coordinate if there is one."""
    name = values.text("joint1")
    _check_joint(values, name, skeleton)
    others = _another(skeleton, name)
    offset = values.numbers("polycoef", 1, 5, (0.0,))[0]
    return PolynomialCoupler(
        name, others, (skeleton.refs[name] + offset,), ((0,) * len(others),), name=values.text("name", f"{name}_held")
    )


def _another(skeleton: Skeleton, name: str) -> tuple[str, ...]:
    """Another joint than this one, of which a constant is a polynomial as OpenSim's files have it; none if it is the
    only one."""
    return tuple(joint for joint in skeleton.refs if joint != name)[:1]


def _of_tendons(values: Values, skeleton: Skeleton, unnamed: str) -> PolynomialCoupler | None:
    """Lengths of fixed tendons L and M with L - L0 = sum of a_i (M - M0)^i: one coordinate as a polynomial of others.
    None for tendons in space, and for higher powers of tendons of several joints."""
    names = [values.text(key) for key in ("tendon1", "tendon2") if values.has(key)]
    if not names or not all(name in skeleton.combinations for name in names):
        return None
    first, second = ([skeleton.combinations[name] for name in names] + [{}])[:2]
    given = values.numbers("polycoef", 1, 5, (0.0, 1.0, 0.0, 0.0, 0.0))
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
    return _solved(straight, constant, (next(iter(second), ""), powers), skeleton, values.text("name", unnamed))


def _of_paths(
    values: Values, system: ArticulatedSystem, start: Array, muscles: Sequence[Muscle], unnamed: str
) -> PathLengthConstraint | None:
    """Lengths of tendons L and M with L - L0 = sum of a_i (M - M0)^i, L0 and M0 those of the file's pose. None for
    tendons that wrap around surfaces whose contacts a solver finds."""
    named = {muscle.name: muscle for muscle in muscles}
    names = [values.text(key) for key in ("tendon1", "tendon2") if values.has(key)]
    for name in names:
        if name not in named:
            complain(values.element, f"{name!r} is no tendon of the model")
    paths = tuple(
        Muscle(name, named[name].path, wraps=named[name].wraps, pulleys=named[name].pulleys) for name in names
    )
    if not paths or any(solved_surface(path) for path in paths):
        return None
    rests = [float(x) for x in lengths(system, paths, start)]
    given = values.numbers("polycoef", 1, 5, (0.0, 1.0, 0.0, 0.0, 0.0))
    second = {"other": paths[1], "other_rest_length": rests[1]} if len(paths) > 1 else {}
    coefficients = given if second else given[:1]
    return PathLengthConstraint(paths[0], rests[0], coefficients, **second, name=values.text("name", unnamed))  # type: ignore[arg-type]


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


def _check_joint(values: Values, name: str, skeleton: Skeleton) -> None:
    if name not in skeleton.refs:
        complain(values.element, f"{name!r} is no hinge and no slide of the model")


def _bodies(values: Values, poses: Poses) -> tuple[str, str]:
    first, second = values.text("body1"), values.text("body2", GROUND)
    for name in (first, second):
        if name not in poses:
            complain(values.element, f"{name!r} is no body of the model")
    return first, second


def _connect(values: Values, skeleton: Skeleton, poses: Poses, unnamed: str) -> PointLoop:
    """Two sites, or a point of the first body and the point of the second that coincides with it in the file's pose."""
    name = values.text("name", unnamed)
    if values.has("site1"):
        first, second = _sites(values, skeleton)
        (one, a), (other, b) = ((site.body, site.position) for site in (first, second))
        return PointLoop(one, other, three(np.array(a)), three(np.array(b)), name=name)
    one, other = _bodies(values, poses)
    anchor = np.array(values.vector("anchor", (0.0,) * 3))
    return PointLoop(one, other, three(anchor), three(_seen(poses, other, one, anchor)), name=name)


def _sites(values: Values, skeleton: Skeleton) -> list[PathPoint]:
    names = [values.text(key) for key in ("site1", "site2")]
    for name in names:
        if name not in skeleton.sites:
            complain(values.element, f"{name!r} is no site of the model")
    return [skeleton.sites[name] for name in names]


def _weld(values: Values, skeleton: Skeleton, poses: Poses, unnamed: str) -> Weld:
    """Two sites, or the first body's frame, moved by `relpose`, and the second one's at `anchor`; without relpose in
    the file's pose."""
    name = values.text("name", unnamed)
    if values.has("site1"):
        first, second = _sites(values, skeleton)
        names = [values.text(key) for key in ("site1", "site2")]
        points = [three(np.array(site.position)) for site in (first, second)]
        angles = [_angles(skeleton.axes[site]) for site in names]
        return Weld(first.body, second.body, *points, *angles, name=name)
    one, other = _bodies(values, poses)
    anchor = np.array(values.vector("anchor", (0.0,) * 3))
    relative = values.vector("relpose", (0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    if any(relative[3:]):
        Q = unit(relative[3:], values, "relpose")
        point, turn = np.array(relative[:3]), three(np.asarray(euler_from_quaternion(Q, "XYZ")))
    else:
        point, turn = _seen(poses, one, other, anchor), _angles(poses[one][0].T @ poses[other][0])
    return Weld(one, other, three(point), three(anchor), turn, name=name)


def _seen(poses: Poses, body: str, other: str, point: Array) -> Array:
    """(3,) a point of another body in the frame of a body."""
    (R, p), (S, s) = poses[body], poses[other]
    result: Array = R.T @ (s + S @ point - p)
    return result


def _angles(R: Array) -> tuple[float, float, float]:
    """The XYZ angles [rad] of a rotation."""
    return three(np.asarray(euler_from_quaternion(quaternion_from_matrix(R), "XYZ")))


def _coupler(values: Values, skeleton: Skeleton) -> Coupler:
    dependent, independent = values.text("joint1"), values.text("joint2")
    for name in (dependent, independent):
        _check_joint(values, name, skeleton)
    given = values.numbers("polycoef", 1, 5, (0.0, 1.0, 0.0, 0.0, 0.0))
    function = _function(given, skeleton.refs[independent], skeleton.refs[dependent])
    return Coupler(values.text("name", f"{dependent}_follows_{independent}"), dependent, independent, function)


def _function(coefficients: tuple[float, ...], x0: float, y0: float) -> AxisFunction:
    whole = Powers(coefficients)
    if x0:
        whole = whole(Powers([-x0, 1.0]))
    found = [float(c) for c in (whole + y0).trim().coef]
    if len(found) > 2:
        return Polynomial(tuple(found))
    return Linear(found[1] if len(found) > 1 else 0.0, found[0])
