"""How far each joint moves."""

from typing import Any, ClassVar

from myoquat.analysis.studies.definition.summaries.base import Moment, Summary
from myoquat.core.typing import Array
from myoquat.joints import quaternion_conjugate, quaternion_log, quaternion_multiply
from myoquat.joints.stacking import joined

__all__ = ["RangeOfMotion"]


class RangeOfMotion(Summary):
    """Greatest minus smallest displacement from the start along each velocity. For a hinge it is the range of its
    angle. For a ball joint it is the range of each component of its rotation vector from the start. This continues past
    half a turn, up to a whole one."""

    name: ClassVar[str] = "range_of_motion"
    along: ClassVar[str] = "velocity"
    unit: ClassVar[str] = "velocity_unit s"
    description: ClassVar[str] = "range of the displacement from the start"

    def observe(self, model: Any, at: Moment) -> Any:
        system = model.system
        parts = []
        for body, s in zip(system.bodies, system.q_slices, strict=True):
            start, q, ball = at.start[..., s], at.q[..., s], body.joint.facts.quaternion
            if ball is None:
                parts.append(body.joint.difference(start, q))
            else:
                turn = _turn(start[..., ball : ball + 4], q[..., ball : ball + 4])
                parts += [body.joint.difference(start, q)[..., :ball], turn]
        return joined(parts)

    def reduce(self, times: Array, values: Array) -> Array:
        span: Array = values.max(axis=1) - values.min(axis=1)
        return span


def _turn(start: Any, Q: Any) -> Any:
    """(..., 3) rotation vector from start to Q, of length 0 to 2 pi. The sign of Q does not jump along a motion, which
    distinguishes the longer way round from the shorter."""
    return quaternion_log(quaternion_multiply(quaternion_conjugate(start), Q))
