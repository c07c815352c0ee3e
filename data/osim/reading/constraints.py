"""Constraints of a file: couplers of one coordinate as couplers, those that this package has as constraints."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from myoquat.data.osim.frames import Frame, Frames
from myoquat.data.osim.functions import FUNCTIONS, function_in
from myoquat.data.reports import UnsupportedElements
from myoquat.data.xml import body_fixed, boolean, complain, last_name, number, numbers, objects, text, three, triple
from myoquat.joints.constraints import Constraint, Distance, PointLoop, PointOnLine, PolynomialCoupler, Weld
from myoquat.joints.errors import ModelError
from myoquat.joints.sequences import rotation_matrix_from_euler
from myoquat.muscle.coordinates import Coupler

__all__ = ["COUPLER", "placed", "powers_of", "read_constraints", "weld"]

COUPLER = "CoordinateCouplerConstraint"
POLYNOMIAL = "coupled_coordinates_function/MultivariatePolynomialFunction"


def read_constraints(
    model: Any, frames: Frames, unsupported: UnsupportedElements
) -> tuple[tuple[Coupler, ...], tuple[Constraint, ...]]:
    """Couplers of one coordinate, and the other constraints of a <Model>; what is not enforced or not known is noted.

    ModelError with its line for a constraint that cannot be."""
    couplers: list[Coupler] = []
    constraints: list[Constraint] = []
    for element in objects(model, "ConstraintSet"):
        if not boolean(element, "isEnforced", True):
            unsupported.count(element, "constraint, isEnforced is false")
        elif element.tag == COUPLER and len(_independent(element)) == 1 and element.find(POLYNOMIAL) is None:
            couplers.append(_coupler(element))
        elif element.tag == COUPLER:
            constraints.append(_of_several(element))
        elif element.tag in CONSTRAINTS:
            constraints.append(_constraint(element, frames))
        else:
            unsupported.count(element, "constraint; the model moves without it")
    return tuple(couplers), tuple(constraints)


def _constraint(element: Any, frames: Frames) -> Constraint:
    try:
        return CONSTRAINTS[element.tag](element, frames)
    except ModelError:
        raise
    except ValueError as error:
        complain(element, str(error))


# ---- couplers ----------------------------------------------------------------------------------------------


def _independent(element: Any) -> list[str]:
    return [last_name(word) for word in text(element, "independent_coordinate_names").split()]


def _coupler(element: Any) -> Coupler:
    return Coupler(
        str(element.get("name")),
        last_name(text(element, "dependent_coordinate_name")),
        _independent(element)[0],
        function_in(element.find("coupled_coordinates_function"), element),
        number(element, "scale_factor", 1.0),
    )


def _of_several(element: Any) -> Constraint:
    """A coupler whose function is a polynomial of several coordinates."""
    names = tuple(_independent(element))
    holder = element.find("coupled_coordinates_function")
    function = next((child for child in holder if isinstance(child.tag, str)), None) if holder is not None else None
    if function is None:
        complain(element, "<coupled_coordinates_function> needs a function")
    given = numbers(function, "coefficients")
    if function.tag == "LinearFunction":
        rows = [tuple(int(i == k) for i in range(len(names))) for k in range(len(names))] + [(0,) * len(names)]
    elif function.tag == "MultivariatePolynomialFunction":
        rows = powers_of(len(names), int(number(function, "order")))
    else:
        known = ", ".join(["MultivariatePolynomialFunction", *FUNCTIONS])
        complain(function, f"<{function.tag}> of {len(names)} coordinates is not supported; known: {known}")
    if len(given) != len(rows):
        complain(function, f"<coefficients> must be {len(rows)} numbers for {len(names)} coordinates, not {len(given)}")
    dependent = last_name(text(element, "dependent_coordinate_name"))
    scale = number(element, "scale_factor", 1.0)
    return PolynomialCoupler(dependent, names, given, tuple(rows), scale, name=str(element.get("name")))


def powers_of(count: int, order: int) -> list[tuple[int, ...]]:
    """The powers of a polynomial's terms in the order of OpenSim's MultivariatePolynomialFunction."""
    if not 0 <= order <= 10 or not 1 <= count <= 6:
        raise ModelError(f"a polynomial of order {order} of {count} coordinates is not supported")
    return [row for row in product(range(order + 1), repeat=count) if sum(row) <= order]


# ---- bodies ------------------------------------------------------------------------------------------------


def _points(element: Any, frames: Frames) -> dict[str, Any]:
    """Two bodies and a point of each, which the file gives in frames of them."""
    found: dict[str, Any] = {}
    for ours, k in (("first", 1), ("second", 2)):
        frame = frames.of(element, f"socket_body_{k}")
        found[ours] = frame.body
        found[f"{ours}_point"] = frame.point(numbers(element, f"location_body_{k}", 3, (0.0, 0.0, 0.0)))
    return found


def _loop(element: Any, frames: Frames) -> Constraint:
    return PointLoop(**_points(element, frames), name=str(element.get("name")))


def _distance(element: Any, frames: Frames) -> Constraint:
    apart = number(element, "constant_distance")
    return Distance(**_points(element, frames), distance=apart, name=str(element.get("name")))


def _weld(element: Any, frames: Frames) -> Constraint:
    return Weld(**placed(element, frames), name=str(element.get("name")))


def placed(element: Any, frames: Frames) -> dict[str, Any]:
    """Two bodies, and place and XYZ angles of a frame on each: what links two frames."""
    return _placed(*(_linked(element, k, frames) for k in (1, 2)))


def weld(first: Frame, second: Frame, name: str) -> Weld:
    """Two frames that a joint without coordinates holds together."""
    return Weld(**_placed(first, second), name=name)


def _placed(first: Frame, second: Frame) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for ours, frame in (("first", first), ("second", second)):
        found |= {ours: frame.body, f"{ours}_point": three(frame.p), f"{ours}_angles": _angles(frame)}
    return found


def _linked(element: Any, k: int, frames: Frames) -> Frame:
    """The frame that is linked; older documents give its place on the body."""
    if element.find(f"socket_body_{k}") is None:
        return frames.of(element, f"socket_frame{k}")
    base = frames.of(element, f"socket_body_{k}")
    turned = np.array(numbers(element, f"orientation_body_{k}", 3, (0.0,) * 3))
    p = np.array(base.point(numbers(element, f"location_body_{k}", 3, (0.0,) * 3)))
    return Frame(base.body, base.R @ rotation_matrix_from_euler(turned, "XYZ"), p)


def _on_line(element: Any, frames: Frames) -> Constraint:
    line, follower = frames.of(element, "socket_line_body"), frames.of(element, "socket_follower_body")
    axis = line.R @ np.array(triple(element, "line_direction_vec"))
    return PointOnLine(
        line.body,
        follower.body,
        three(line.point(triple(element, "point_on_line", (0.0, 0.0, 0.0)))),
        three(axis),
        three(follower.point(triple(element, "point_on_follower", (0.0, 0.0, 0.0)))),
        name=str(element.get("name")),
    )


def _angles(frame: Frame) -> tuple[float, float, float]:
    return three(body_fixed(frame.orientation))


CONSTRAINTS: dict[str, Callable[[Any, Frames], Constraint]] = {
    "PointConstraint": _loop,
    "WeldConstraint": _weld,
    "ConstantDistanceConstraint": _distance,
    "PointOnLineConstraint": _on_line,
}
