"""Limits of joints and tendons as forces that set in where a range is left."""

import math

from myoquat.core.records import dataclass
from myoquat.data.mjcf.reading.bodies import Skeleton
from myoquat.data.mjcf.reading.softness import Mobilities, Softness, given_mobility, read_softness
from myoquat.data.mjcf.reading.values import Values
from myoquat.data.xml import Element, complain
from myoquat.muscle.forces import RotationLimit
from myoquat.muscle.laws import PathLimit
from myoquat.muscle.limits import CoordinateLimit
from myoquat.muscle.path import Muscle

__all__ = ["FreeRange", "path_limit", "read_ball_limits", "read_limits", "read_path_limit"]

MIN_ANGLE = 1e-6  # [rad] at which a limit of a ball joint acts, whatever its margin


def read_limits(skeleton: Skeleton, mobilities: Mobilities) -> tuple[CoordinateLimit, ...]:
    """A limit for every hinge and slide that has one, from its margin on. Its stiffness and damping are those of the
    joint's soft constraint (`Softness.spring`); one that cannot move has none."""
    found = []
    for joint in skeleton.limited:
        assert joint.range is not None
        low, high = joint.range
        if low > high:
            complain(joint.element, f"range must be in order, not {low:g} and {high:g}")
        given = given_mobility(joint.element)
        mobility = mobilities.of_coordinate(joint.name) if given is None else given
        if mobility <= 0:
            continue
        stiffness, damping = joint.softness.spring(mobility)
        low, high = _narrowed(low, high, joint.margin)
        found.append(
            CoordinateLimit(
                f"{joint.name}_limit", joint.name, low, high, stiffness, stiffness, joint.softness.onset, damping
            )
        )
    return tuple(found)


def read_ball_limits(skeleton: Skeleton, mobilities: Mobilities) -> tuple[RotationLimit, ...]:
    """A limit for every ball joint that has one, of the angle of its rotation vector: the greater end of the file's
    range. One that allows every rotation is none."""
    found = []
    for body, joint in skeleton.limited_balls:
        assert joint.range is not None
        upper = max(joint.range)
        if joint.range[0] > joint.range[1] or upper <= 0:
            complain(joint.element, f"range of a ball joint must be 0 and a positive angle, not {joint.range}")
        given = given_mobility(joint.element)
        mobility = mobilities.of_rotation(body) if given is None else given
        if mobility <= 0 or upper - joint.margin > math.pi:
            continue
        stiffness, damping = joint.softness.spring(mobility)
        upper = max(upper - joint.margin, MIN_ANGLE)
        found.append(RotationLimit(f"{joint.name}_limit", body, upper, stiffness, joint.softness.onset, damping))
    return tuple(found)


def _narrowed(low: float, high: float, margin: float) -> tuple[float, float]:
    """The range from whose ends a limit acts; its middle where the margin leaves nothing."""
    middle = (low + high) / 2
    return min(low + margin, middle), max(high - margin, middle)


@dataclass(frozen=True)
class FreeRange:
    """The range of a tendon's length, from whose ends on its limit acts, and the softness of that."""

    low: float
    high: float
    softness: Softness


def read_path_limit(values: Values, limited: bool) -> FreeRange | None:
    """That of a tendon; None for a tendon without."""
    low, high = values.vector("range", (0.0, 0.0))
    margin, softness = values.number("margin", 0.0), read_softness(values, "limit")
    if not limited:
        return None
    if low > high:
        complain(values.element, f"range must be in order, not {low:g} and {high:g}")
    return FreeRange(*_narrowed(low, high, margin), softness)


def path_limit(bare: Muscle, free: FreeRange, element: Element, mobilities: Mobilities) -> PathLimit | None:
    """The law of a tendon's limit; None where nothing moves the tendon."""
    given = given_mobility(element)
    mobility = mobilities.of_muscle(bare) if given is None else given
    if mobility <= 0:
        return None
    stiffness, damping = free.softness.spring(mobility)
    return PathLimit(stiffness, free.low, free.high, damping, free.softness.onset)
