"""The tree of moving links that the recursions run over: bodies joined by fixed joints are merged into one."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints.quaternion import rotation_matrix
from myoquat.joints.types import Joint
from myoquat.joints.vectors import congruent, steiner
from myoquat.kernels.symbolic.arrays import as_array, may_be_nonzero

from .body import Body

_ENDS = (0, 9, 12, 13, 16, 22, None)  # of what a link's numbers are one after the other
WORLD = -1  # the parent of links that hang on the ground


class Frame(NamedTuple):
    """A body's frame on the link that carries it: rotation (3, 3) and origin (3,) [m] in the link's frame."""

    link: int
    R: Array
    p: Array


@dataclass(eq=False)
class Link:
    """A moving rigid body: one body of the system and all that are welded to it.

    R, p     the joint frame in the parent link's frame (the world for WORLD)
    mass     [kg]
    moment   mass times center of mass (3,) [kg m]
    inertia  (6,) [kg m^2] about the link's origin

    Moment and inertia are in the link's own axes, which are the body's.
    """

    body: int
    name: str
    parent: int
    joint: Joint
    R: Array
    p: Array
    q: slice
    u: slice
    mass: float
    moment: Array
    inertia: Array

    @property
    def follows(self) -> bool:
        """Whether it moves with the coordinates of another link's joint, which are then its q and u."""
        return self.joint.follows is not None

    @property
    def is_weightless(self) -> bool:
        """Whether it has neither mass nor inertia."""
        return not may_be_nonzero(self.mass) and not any(may_be_nonzero(x) for x in self.inertia)

    @property
    def pattern(self) -> Hashable:
        """Equal for links whose formulas differ at most in their `numbers`; turned joint frames have longer ones."""
        return self.joint.pattern, np.array_equal(self.R, np.eye(3))

    @property
    def numbers(self) -> Array:
        """(n,) the numbers in which links of one `pattern` differ."""
        parts = [self.R, self.p, self.mass, self.moment, self.inertia, self.joint.numbers]
        return np.concatenate([np.reshape(as_array(part), -1) for part in parts])

    def with_numbers(self, numbers: Array) -> "Link":
        """The same link with other `numbers` (n,), floats or symbols."""
        R, p, mass, moment, inertia, rest = (numbers[a:b] for a, b in pairwise(_ENDS))
        joint = self.joint.with_numbers(rest)
        own: dict[str, Any] = {"mass": mass.reshape(())}
        return replace(self, R=R.reshape(3, 3), p=p, moment=moment, inertia=inertia, joint=joint, **own)

    def add(self, body: Body, R: Array, p: Array) -> None:
        """Weld a body whose frame stands at (R, p) in the link's."""
        center = p + R @ as_array(body.center_of_mass)
        self.mass += body.mass
        self.moment = self.moment + body.mass * center
        self.inertia = self.inertia + congruent(R, as_array(body.inertia)) + steiner(center, body.mass)


@frozen(eq=False)
class Tree:
    """Links, every parent before its children, and the frame of every body (and the ground) by name."""

    links: tuple[Link, ...]
    frames: dict[str, Frame]

    def path(self, link: int) -> tuple[int, ...]:
        """Links from the root to `link`, both included; empty for WORLD."""
        chain: list[int] = []
        while link != WORLD:
            chain.append(link)
            link = self.links[link].parent
        return tuple(reversed(chain))


def find_cycle(parents: Mapping[str, str]) -> tuple[str, ...]:
    """The first cycle that the names run into, each name before its parent; empty if there is none. Linear time."""
    done: set[str] = set()
    for name in parents:
        chain: dict[str, int] = {}
        while name in parents and name not in done:
            if name in chain:
                return tuple(chain)[chain[name] :]
            chain[name] = len(chain)
            name = parents[name]
        done.update(chain)
    return ()


def build_tree(layout: "Layout", order: Sequence[int], merge: bool = True) -> Tree:
    """The tree of bodies, visited in `order` (parents first); without `merge`, fixed joints keep their own links."""
    links: list[Link] = []
    frames = {layout.ground: Frame(WORLD, np.eye(3), np.zeros(3))}
    for i in order:
        body = layout.bodies[i]
        parent = frames[body.parent]
        R = parent.R @ rotation_matrix(as_array(body.orientation))
        p = parent.p + parent.R @ as_array(body.position)
        if merge and body.joint.is_weld:
            frames[body.name] = Frame(parent.link, R, p)
            if parent.link != WORLD:
                links[parent.link].add(body, R, p)
            continue
        q, u = layout.moving_q[i], layout.moving_u[i]
        link = Link(i, body.name, parent.link, body.joint, R, p, q, u, 0.0, np.zeros(3), np.zeros(6))
        link.add(body, np.eye(3), np.zeros(3))
        links.append(link)
        frames[body.name] = Frame(len(links) - 1, np.eye(3), np.zeros(3))
    return Tree(tuple(links), frames)


# ---- The layout of a system's generalized state: what stands where in q and u, and by which names -----------------


class Layout:
    """What stands where in q and u: the coordinates and velocities of the joints that carry `bodies`, in this order."""

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
        return tuple(i if j.follows is None else index[j.follows] for i, j in enumerate(joints))

    @cached_property
    def moving_q(self) -> tuple[slice, ...]:
        """Where the coordinates that move each body on its parent lie in q: a follower's are its leader's."""
        return tuple(self.q_slices[i] for i in self.leaders)

    @cached_property
    def moving_u(self) -> tuple[slice, ...]:
        """Where the velocities that move each body on its parent lie in u: a follower's are its leader's."""
        return tuple(self.u_slices[i] for i in self.leaders)

    def quaternion_slices(self) -> tuple[slice, ...]:
        """Where the unit quaternions lie in q."""
        starts = ((s.start, body.joint.facts.quaternion) for body, s in zip(self.bodies, self.q_slices, strict=True))
        return tuple(slice(a + offset, a + offset + 4) for a, offset in starts if offset is not None)

    @cached_property
    def quaternion_indices(self) -> Array:
        """(k, 4) indices of the unit quaternions in q."""
        starts = np.array([s.start for s in self.quaternion_slices()], dtype=int)
        return starts[:, None] + np.arange(4)

    def joints(self) -> Iterator[tuple[Joint, slice, slice]]:
        """Every joint, with its slices of q and of u."""
        return zip((body.joint for body in self.bodies), self.q_slices, self.u_slices, strict=True)


def _slices(sizes: Iterable[int]) -> tuple[slice, ...]:
    edges = np.concatenate([[0], np.cumsum(list(sizes), dtype=int)])
    return tuple(slice(int(a), int(b)) for a, b in pairwise(edges))
