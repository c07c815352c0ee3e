"""Indices of a system, each of its own type, and the conversions between them.

A BodyIndex is the number of a body and of the joint that carries it. A VelocityIndex is a place in u, a CoordinateIndex
a place in q. A FrameIndex is the number of a body's frame, or 0 for the ground. All of them work as integers and in
index arrays. Where one type is expected, another type raises an error. A plain number is taken as the expected type.
"""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from .tree import Layout


class Index(int):
    """An integer that knows what it counts."""

    label = "index"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({int(self)})"


class BodyIndex(Index):
    """Number of a body in `system.bodies`, and of the joint that carries it.

    >>> from myoquat.joints import BodyIndex
    >>> BodyIndex(2), [10, 20, 30][BodyIndex(2)]
    (BodyIndex(2), 30)
    """

    label = "body or joint index"


class VelocityIndex(Index):
    """Place in u.

    >>> import myoquat as mq
    >>> system = mq.load_model("two_link").system
    >>> system.indices.velocity("B.omega_z")
    VelocityIndex(5)
    """

    label = "generalized velocity index"


class CoordinateIndex(Index):
    """Place in q.

    >>> import myoquat as mq
    >>> system = mq.load_model("two_link").system
    >>> system.indices.coordinate("B.Q1")
    CoordinateIndex(5)
    """

    label = "generalized coordinate index"


class FrameIndex(Index):
    """Number of a frame: 0 is the ground, i + 1 the frame of body i.

    >>> import myoquat as mq
    >>> system = mq.load_model("two_link").system
    >>> system.indices.frame("B")
    FrameIndex(2)
    """

    label = "frame index"


IndexType = TypeVar("IndexType", bound=Index)


class Indices:
    """The indices of one system: by name, by number, and from one type to another.

    Every method takes a name, a plain number or an index of the type that its argument names. TypeError for an index
    of another type, KeyError for an unknown name, IndexError for a number out of range.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._names: dict[type, Sequence[str]] = {
            BodyIndex: layout.body_names, VelocityIndex: layout.velocity_names,
            CoordinateIndex: layout.coordinate_names, FrameIndex: (layout.ground, *layout.body_names)
        }  # fmt: skip
        self._numbers = {own: {name: i for i, name in enumerate(names)} for own, names in self._names.items()}
        joints = {body.joint_name: i for i, body in enumerate(layout.bodies) if body.joint_name}
        self._numbers[BodyIndex] = joints | self._numbers[BodyIndex]
        self._body_of_u = [i for i, s in enumerate(layout.u_slices) for _ in range(s.start, s.stop)]
        self._body_of_q = [i for i, s in enumerate(layout.q_slices) for _ in range(s.start, s.stop)]

    # ---- one of each type, by name or number -----------------------------------------------------------------

    def body(self, which: str | int) -> BodyIndex:
        """Index of a body, or of a joint by its own name."""
        return self._resolved(BodyIndex, which)

    def velocity(self, which: str | int) -> VelocityIndex:
        """Index of an entry of u."""
        return self._resolved(VelocityIndex, which)

    def coordinate(self, which: str | int) -> CoordinateIndex:
        """Index of an entry of q."""
        return self._resolved(CoordinateIndex, which)

    def frame(self, which: str | int) -> FrameIndex:
        """Index of a frame; the ground's is 0."""
        return self._resolved(FrameIndex, which)

    # ---- names -----------------------------------------------------------------------------------------------

    def name(self, index: Index) -> str:
        """The name behind an index of any type."""
        if type(index) not in self._names:
            raise TypeError(f"a typed index is wanted, such as BodyIndex(0), not {index!r}")
        return self._names[type(index)][index]

    # ---- conversions -----------------------------------------------------------------------------------------

    def velocities_of_body(self, which: str | int) -> tuple[VelocityIndex, ...]:
        """The entries of u of a body's joint."""
        s = self._layout.u_slices[self.body(which)]
        return tuple(map(VelocityIndex, range(s.start, s.stop)))

    def coordinates_of_body(self, which: str | int) -> tuple[CoordinateIndex, ...]:
        """The entries of q of a body's joint."""
        s = self._layout.q_slices[self.body(which)]
        return tuple(map(CoordinateIndex, range(s.start, s.stop)))

    def body_of_velocity(self, which: str | int) -> BodyIndex:
        """The body whose joint has this entry of u."""
        return BodyIndex(self._body_of_u[self.velocity(which)])

    def body_of_coordinate(self, which: str | int) -> BodyIndex:
        """The body whose joint has this entry of q."""
        return BodyIndex(self._body_of_q[self.coordinate(which)])

    def velocities_of_coordinate(self, which: str | int) -> tuple[VelocityIndex, ...]:
        """The entries of u of the joint that has this entry of q; the one beside it where u = qdot."""
        body = self.body_of_coordinate(which)
        return self._beside(body, self.coordinate(which), self.coordinates_of_body(body), self.velocities_of_body(body))

    def coordinates_of_velocity(self, which: str | int) -> tuple[CoordinateIndex, ...]:
        """The entries of q of the joint that has this entry of u; the one beside it where u = qdot."""
        body = self.body_of_velocity(which)
        return self._beside(body, self.velocity(which), self.velocities_of_body(body), self.coordinates_of_body(body))

    def _beside(self, body: int, i: int, own: Sequence[int], others: tuple[IndexType, ...]) -> tuple[IndexType, ...]:
        """Of the other entries of a body's joint that beside the entry i of its own; all for a quaternion."""
        one_by_one = self._layout.bodies[body].joint.facts.quaternion is None
        return (others[own.index(i)],) if one_by_one else others

    def frame_of_body(self, which: str | int) -> FrameIndex:
        """The frame of a body."""
        return FrameIndex(self.body(which) + 1)

    def body_of_frame(self, which: str | int) -> BodyIndex:
        """The body of a frame; IndexError for the ground's."""
        i = self.frame(which)
        if i == 0:
            raise IndexError(f"frame {self._layout.ground!r} belongs to the ground, which is no body")
        return BodyIndex(i - 1)

    def _resolved(self, index_type: type[IndexType], which: str | int) -> IndexType:
        names, count = self._numbers[index_type], len(self._names[index_type])
        if isinstance(which, str):
            if which not in names:
                raise KeyError(
                    f"no {index_type.label.removesuffix(' index')} is named {which!r}; known: {', '.join(names)}"
                )
            return index_type(names[which])
        if isinstance(which, Index) and not isinstance(which, index_type):
            raise TypeError(f"a {index_type.label} is wanted, not the {which.label} {int(which)}")
        if isinstance(which, bool) or not isinstance(which, (int, np.integer)):
            raise TypeError(f"a {index_type.label} or a name is wanted, not {which!r}")
        number = int(which)
        if not 0 <= number < count:
            raise IndexError(f"{index_type.label} {number} is out of range: there are {count}")
        return index_type(number)
