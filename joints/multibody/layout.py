"""The layout of a system's generalized state: what stands where in q and u, and by which names."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import pairwise

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.multibody.body import Body
from myoquat.joints.types import FollowerJoint, Joint

__all__ = ["Layout"]


@dataclass(frozen=True)
class Layout:
    """q and u hold the coordinates and velocities of the joints that carry `bodies`, in this order."""

    bodies: tuple[Body, ...]
    ground: str

    @cached_property
    def body_names(self) -> tuple[str, ...]:
        """Names of the bodies, in order; the ground is not among them."""
        return tuple(body.name for body in self.bodies)

    @cached_property
    def nq(self) -> int:
        """Number of coordinates."""
        return sum(body.joint.nq for body in self.bodies)

    @cached_property
    def nu(self) -> int:
        """Number of velocities."""
        return sum(body.joint.nu for body in self.bodies)

    @cached_property
    def coordinate_names(self) -> tuple[str, ...]:
        """Name of each entry of q: '<body>.<suffix>', or the name that the body gives it."""
        return tuple(name for body in self.bodies for name in body.names_of_coordinates)

    @cached_property
    def velocity_names(self) -> tuple[str, ...]:
        """Name of each entry of u: '<body>.<suffix>'; '<name>_dot' beside a coordinate with a name of its own."""
        return tuple(name for body in self.bodies for name in body.names_of_velocities)

    @cached_property
    def q_slices(self) -> tuple[slice, ...]:
        """Where each body's joint coordinates lie in q."""
        return _slices(body.joint.nq for body in self.bodies)

    @cached_property
    def u_slices(self) -> tuple[slice, ...]:
        """Where each body's joint velocities lie in u."""
        return _slices(body.joint.nu for body in self.bodies)

    @cached_property
    def leaders(self) -> tuple[int, ...]:
        """The body whose joint's coordinates move each body on its parent: its own, or the leader of a follower."""
        index = {name: i for i, name in enumerate(self.body_names)}
        joints = [body.joint for body in self.bodies]
        return tuple(index[j.leader] if isinstance(j, FollowerJoint) else i for i, j in enumerate(joints))

    @cached_property
    def moving_q(self) -> tuple[slice, ...]:
        """Where the coordinates that move each body on its parent lie in q: a follower's are its leader's."""
        return tuple(self.q_slices[i] for i in self.leaders)

    @cached_property
    def moving_u(self) -> tuple[slice, ...]:
        """Where the velocities that move each body on its parent lie in u: a follower's are its leader's."""
        return tuple(self.u_slices[i] for i in self.leaders)

    @cached_property
    def quaternion_slices(self) -> tuple[slice, ...]:
        """Where the unit quaternions lie in q."""
        starts = ((s.start, body.joint.facts.quaternion) for body, s in zip(self.bodies, self.q_slices, strict=True))
        return tuple(slice(a + offset, a + offset + 4) for a, offset in starts if offset is not None)

    @cached_property
    def quaternion_indices(self) -> Array:
        """(k, 4) indices of the unit quaternions in q."""
        starts = np.array([s.start for s in self.quaternion_slices], dtype=int)
        indices: Array = starts[:, None] + np.arange(4)
        return indices

    def joints(self) -> Iterator[tuple[Joint, slice, slice]]:
        """Every joint, with its slices of q and of u."""
        return zip((body.joint for body in self.bodies), self.q_slices, self.u_slices, strict=True)


def _slices(sizes: Iterable[int]) -> tuple[slice, ...]:
    edges = np.concatenate([[0], np.cumsum(list(sizes), dtype=int)])
    return tuple(slice(int(a), int(b)) for a, b in pairwise(edges))
