"""The articulated system: a tree of bodies joined by joints, its coordinates q and velocities u."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import InitVar, dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from myoquat.joints import state
from myoquat.joints.body import Body, Vector, check_body
from myoquat.joints.checks import UNIT_TOLERANCE, check_state, check_unit
from myoquat.joints.errors import ModelError
from myoquat.joints.indices import Indices
from myoquat.joints.quaternion import rotation_matrix
from myoquat.joints.tree import Tree, build_tree, find_cycle
from myoquat.joints.types import FloatingJoint, SphericalJoint
from myoquat.joints.types.base import VELOCITY_FRAMES
from myoquat.joints.vectors import cross, row_cross, turn
from myoquat.kernels.arrays import as_array
from myoquat.kernels.content import content_digest
from myoquat.kernels.records import Record

__all__ = ["UNIT_TOLERANCE", "ArticulatedSystem", "Body", "check_state"]


@dataclass(frozen=True)
class ArticulatedSystem(Record):
    """Bodies in the order given; each parent is the ground or a body of the system, before or after it.

    q and u hold the joints' coordinates and velocities in that order, or in that of `joint_order`, names of all bodies
    or joints. velocity_frame: the frame, "child" or "parent", of the angular (and a floating joint's linear) velocity
    of spherical and floating joints. Immutable: `dataclasses.replace` and `with_body` make a changed one. Raises
    ModelError for a tree that cannot be.
    """

    bodies: tuple[Body, ...]
    ground: str = "ground"
    gravity: Vector = (0.0, 0.0, -9.81)
    velocity_frame: str = "child"
    name: str = field(default="", compare=False)
    joint_order: InitVar[Sequence[str] | None] = None

    def __post_init__(self, joint_order: Sequence[str] | None) -> None:  # type: ignore[override]
        super().__post_init__()
        if self.velocity_frame not in VELOCITY_FRAMES:
            raise ModelError(f"velocity_frame is 'child' or 'parent', not {self.velocity_frame!r}")
        bodies = tuple(_in_velocity_frame(body, self.velocity_frame) for body in self.bodies)
        _check_tree(bodies, self.ground)
        if len(self.gravity) != 3 or not all(math.isfinite(g) for g in self.gravity):
            raise ModelError(f"gravity must be 3 finite numbers, not {self.gravity}")
        object.__setattr__(self, "bodies", bodies if joint_order is None else _ordered(bodies, joint_order))

    def with_body(self, which: str, **changes: Any) -> "ArticulatedSystem":
        """The system with fields of one body changed: `system.with_body("shank", rotor_inertia=0.1)`."""
        index = self.indices.body(which)
        bodies = [replace(body, **changes) if i == index else body for i, body in enumerate(self.bodies)]
        return replace(self, bodies=tuple(bodies))

    # ---- names and places ------------------------------------------------------------------------------------

    @cached_property
    def body_names(self) -> tuple[str, ...]:
        """Names of the bodies, in order; the ground is not among them."""
        return tuple(body.name for body in self.bodies)

    @cached_property
    def content_key(self) -> str:
        """SHA-256 of everything that the system computes with; equal systems share compiled kernels."""
        return content_digest(self.bodies, self.ground, self.gravity, self.velocity_frame)

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
    def angle_names(self) -> dict[str, tuple[int, int]]:
        """Body and place of every angle that a model file had where there now is a quaternion, by its name."""
        return {
            name: (i, k)
            for i, body in enumerate(self.bodies)
            if isinstance(body.joint, (SphericalJoint, FloatingJoint)) and body.joint.angles is not None
            for k, name in enumerate(body.joint.angles.names)
        }

    def coordinate(self, name: str, q: Any) -> Any:
        """(...) a coordinate by name at q (..., nq), or an angle that a quaternion has replaced; KeyError otherwise."""
        if name in self.angle_names:
            i, k = self.angle_names[name]
            joint, start = self.bodies[i].joint, self.q_slices[i].start + (self.bodies[i].joint.facts.quaternion or 0)
            return joint.angles.values(q[..., start : start + 4])[..., k]  # type: ignore[attr-defined]
        if name not in self.coordinate_names:
            raise KeyError(f"coordinate {name!r} does not exist; known: {', '.join(self.coordinate_names)}")
        return q[..., self.coordinate_names.index(name)]

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

    def quaternion_slices(self) -> tuple[slice, ...]:
        """Where the unit quaternions lie in q."""
        starts = ((s.start, body.joint.facts.quaternion) for body, s in zip(self.bodies, self.q_slices, strict=True))
        return tuple(slice(a + offset, a + offset + 4) for a, offset in starts if offset is not None)

    @cached_property
    def indices(self) -> Indices:
        """Body, velocity, coordinate and frame indices, and every conversion between them."""
        return Indices(self)

    # ---- the tree --------------------------------------------------------------------------------------------

    @cached_property
    def topological_order(self) -> tuple[int, ...]:
        """Body indices, every parent before its children."""
        index = {name: i for i, name in enumerate(self.body_names)}
        depth: dict[str, int] = {self.ground: 0}

        def level(name: str) -> int:
            chain = []
            while name not in depth:
                chain.append(name)
                name = self.bodies[index[name]].parent
            for link in reversed(chain):
                depth[link] = depth[self.bodies[index[link]].parent] + 1
            return depth[chain[0]] if chain else depth[name]

        return tuple(sorted(range(len(self.bodies)), key=lambda i: (level(self.bodies[i].name), i)))

    @cached_property
    def tree(self) -> Tree:
        """The moving links: bodies joined by fixed joints merged into one, their frames by name."""
        return build_tree(self.bodies, self.topological_order, self.ground, self.q_slices, self.u_slices)

    @cached_property
    def unmerged_tree(self) -> Tree:
        """The tree with a link for every body, also for those on fixed joints."""
        return build_tree(self.bodies, self.topological_order, self.ground, self.q_slices, self.u_slices, merge=False)

    def poses(self, q: Any, motion: Any = None) -> dict[str, tuple[Any, Any]]:
        """World pose (R (..., 3, 3), p (..., 3) [m]) of every body's frame, the ground included, by name.

        With `motion` (..., nu), the poses after the small motion u dt, exact to first order.
        """
        pose: dict[str, tuple[Any, Any]] = {self.ground: (np.eye(3), np.zeros(3))}
        for i in self.topological_order:
            body = self.bodies[i]
            R_parent, p_parent = pose[body.parent]
            R_frame = R_parent @ rotation_matrix(as_array(body.orientation))
            p_frame = p_parent + R_parent @ as_array(body.position)
            R, p = body.joint.transform(q[..., self.q_slices[i]])
            pose[body.name] = (R_frame @ R, p_frame + (R_frame @ p[..., None])[..., 0])
        if motion is None:
            return pose
        shifts = self.shifts(q, motion, pose, self.ground)
        return {name: (R + row_cross(shifts[name][0], R), p + shifts[name][1]) for name, (R, p) in pose.items()}

    def shifts(self, q: Any, motion: Any, poses: dict[str, tuple[Any, Any]], base: str) -> dict[str, tuple[Any, Any]]:
        """(turn (..., 3) [rad], step (..., 3) [m]) of every body that hangs on `base`, in world axes, by name.

        What the small motion u dt = `motion` (..., nu) does to their frames if `base` is held fast, exact to first
        order where |Q| = 1: a point x of the body moves by step + turn x (x - p). `poses` are those at q.
        """
        shift: dict[str, tuple[Any, Any]] = {base: (np.zeros(3), np.zeros(3))}
        for i in self.topological_order:
            body = self.bodies[i]
            if body.parent not in shift:
                continue
            (R, p), (_, p_parent), (turned, stepped) = poses[body.name], poses[body.parent], shift[body.parent]
            stepped = stepped + cross(turned, p - p_parent)
            if body.joint.nu:
                u = motion[..., self.u_slices[i]]
                S_omega, S_v = body.joint.subspace(q[..., self.q_slices[i]])
                turned, stepped = turned + turn(R, turn(S_omega, u)), stepped + turn(R, turn(S_v, u))
            shift[body.name] = (turned, stepped)
        return shift

    def junction(self, names: Iterable[str]) -> str:
        """The body farthest from the ground on which all of these hang; it may be one of them, or the ground."""
        lines = [self._line(name) for name in names]
        return next(name for name in lines[0] if all(name in line for line in lines))

    def _line(self, name: str) -> list[str]:
        """A body, its parent, ... up to the ground."""
        parents = {body.name: body.parent for body in self.bodies}
        line = [name]
        while line[-1] != self.ground:
            line.append(parents[line[-1]])
        return line

    # ---- the state -------------------------------------------------------------------------------------------

    def displaced(self, q: Any, motion: Any) -> Any:
        """(..., nq) coordinates after the small motion u dt = `motion` (..., nu), exact to first order."""
        return state.displaced(self, q, motion)

    def rate_matrix(self, q: Any) -> Any:
        """(..., nq, nu) N(q): qdot = N u. For a quaternion, N = G^T / 2."""
        return state.rate_matrix(self, self.check_q(q))

    def rate_inverse(self, q: Any) -> Any:
        """(..., nu, nq) N^+(q): u = N^+ qdot for the rates that keep |Q| = 1, and N^+ N = 1."""
        return state.rate_inverse(self, self.check_q(q))

    def rates(self, q: Any, u: Any) -> Any:
        """(..., nq) qdot = N(q) u."""
        return state.rates(self, self.check_q(q), self.check_u(u))

    def velocities(self, q: Any, qdot: Any) -> Any:
        """(..., nu) u with N(q) u = qdot; a part of qdot that would change |Q| is ignored."""
        return state.velocities(self, self.check_q(q), check_state("qdot", qdot, self.nq, self.coordinate_names))

    def integrate(self, q: Any, v: Any) -> Any:
        """(..., nq) coordinates after unit time at constant u = v (..., nu): v = u dt for a step dt."""
        return state.integrate(self, self.check_q(q), check_state("v", v, self.nu, self.velocity_names))

    def difference(self, q0: Any, q1: Any) -> Any:
        """(..., nu) v with integrate(q0, v) = q1, by the shortest turn in each joint."""
        return state.difference(self, self.check_q(q0), self.check_q(q1))

    def neutral(self) -> np.ndarray:
        """(nq,) neutral coordinates of every joint."""
        return np.concatenate([body.joint.neutral() for body in self.bodies] or [np.zeros(0)])

    def random(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """(n, nq) random coordinates, each joint over its whole range."""
        return np.concatenate([body.joint.random(n, rng) for body in self.bodies] or [np.zeros((n, 0))], axis=-1)

    def check_q(self, q: Any) -> np.ndarray:
        """q as a float64 array (..., nq), or ValueError: wrong shape, not finite, or a quaternion off the unit
        sphere by more than 1e-6."""
        q = check_state("q", q, self.nq, self.coordinate_names)
        for s in self.quaternion_slices():
            check_unit(q, s, self.coordinate_names)
        return q

    def check_u(self, u: Any) -> np.ndarray:
        """u as a float64 array (..., nu), or ValueError: wrong shape or not finite."""
        return check_state("u", u, self.nu, self.velocity_names)


def _in_velocity_frame(body: Body, frame: str) -> Body:
    joint = body.joint.in_velocity_frame(frame)
    return body if joint is body.joint else replace(body, joint=joint)


def _ordered(bodies: tuple[Body, ...], order: Sequence[str]) -> tuple[Body, ...]:
    """The bodies in the order of their names or their joints' names; ModelError unless each comes exactly once."""
    index = {body.joint_name: i for i, body in enumerate(bodies) if body.joint_name}
    index |= {body.name: i for i, body in enumerate(bodies)}
    for name in order:
        if name not in index:
            raise ModelError(f"joint_order: no body or joint is named {name!r}; known: {', '.join(index)}")
    places = [index[name] for name in order]
    if sorted(places) != list(range(len(bodies))):
        missing = [body.name for i, body in enumerate(bodies) if places.count(i) != 1]
        raise ModelError(f"joint_order must name each body or joint once; missing or repeated: {', '.join(missing)}")
    return tuple(bodies[i] for i in places)


def _slices(sizes: Iterable[int]) -> tuple[slice, ...]:
    edges = np.concatenate([[0], np.cumsum(list(sizes), dtype=int)])
    return tuple(slice(int(a), int(b)) for a, b in pairwise(edges))


def _check_tree(bodies: tuple[Body, ...], ground: str) -> None:
    """Names unique, numbers finite, parents present, no cycle: ModelError otherwise."""
    seen = {ground}
    for body in bodies:
        if body.name in seen:
            raise ModelError(f"the name {body.name!r} is taken twice", element=f"body {body.name!r}")
        seen.add(body.name)
        check_body(body)
    parents = {body.name: body.parent for body in bodies}
    for body in bodies:
        if body.parent not in seen:
            raise ModelError(
                f"parent {body.parent!r} is not a body; known: {', '.join(sorted(seen))}",
                element=f"body {body.name!r}",
            )
    cycle = find_cycle(parents)
    if cycle:
        around = " -> ".join([*cycle, cycle[0]])
        raise ModelError(f"a cycle of parents: {around}", element=f"body {cycle[0]!r}")
