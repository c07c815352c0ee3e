"""The articulated system: a tree of bodies joined by joints, its coordinates q and velocities u."""

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from joints.errors import ModelError
from joints.quaternion import rotation_matrix
from joints.types import Joint
from kernels.arrays import is_symbolic

__all__ = ["ArticulatedSystem", "Body"]

UNIT_TOLERANCE = 1e-6  # how far | |Q| - 1 | of a pose may be at the door of a model
Vector = tuple[float, ...]


@dataclass(frozen=True)
class Body:
    """A rigid body and the joint that carries it. SI units; vectors in the frames named.

    position, orientation: the joint frame (origin [m], unit quaternion) in the parent's frame.
    center_of_mass [m] and inertia [kg m^2] (xx, yy, zz, xy, xz, yz, about the center of mass) in the body's frame,
    whose origin is the joint. damping [N m s/rad] acts on the joint's velocities.
    """

    name: str
    parent: str
    joint: Joint
    position: Vector = (0.0, 0.0, 0.0)
    orientation: Vector = (1.0, 0.0, 0.0, 0.0)
    mass: float = 0.0
    center_of_mass: Vector = (0.0, 0.0, 0.0)
    inertia: Vector = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    damping: float = 0.0


@dataclass(frozen=True)
class ArticulatedSystem:
    """Bodies in the order of the file; each parent is the ground or a body of the system.

    q and u hold the joints' coordinates and velocities in that order.
    """

    bodies: tuple[Body, ...]
    ground: str = "ground"
    gravity: Vector = (0.0, 0.0, -9.81)
    name: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bodies", tuple(self.bodies))
        _check_tree(self.bodies, self.ground)

    @cached_property
    def body_names(self) -> tuple[str, ...]:
        """Names of the moving bodies, in order; the ground is not among them."""
        return tuple(body.name for body in self.bodies)

    @cached_property
    def content_key(self) -> str:
        """SHA-256 of everything that the system computes with; equal systems share compiled kernels."""
        return hashlib.sha256(repr((self.bodies, self.ground, self.gravity)).encode()).hexdigest()

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
        """Name of each entry of q: '<body>.<suffix>'."""
        return tuple(f"{b.name}.{suffix}" for b in self.bodies for suffix in b.joint.coordinate_suffixes)

    @cached_property
    def velocity_names(self) -> tuple[str, ...]:
        """Name of each entry of u: '<body>.<suffix>'."""
        return tuple(f"{b.name}.{suffix}" for b in self.bodies for suffix in b.joint.velocity_suffixes)

    @cached_property
    def q_slices(self) -> tuple[slice, ...]:
        """Where each body's joint coordinates lie in q."""
        return _slices(body.joint.nq for body in self.bodies)

    @cached_property
    def u_slices(self) -> tuple[slice, ...]:
        """Where each body's joint velocities lie in u."""
        return _slices(body.joint.nu for body in self.bodies)

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

    def poses(self, q: Any, motion: Any = None) -> dict[str, tuple[Any, Any]]:
        """World pose (R (..., 3, 3), p (..., 3) [m]) of every body's frame, the ground included, by name.

        With `motion` (..., nu), the poses after the small motion u dt, exact to first order.
        """
        pose: dict[str, tuple[Any, Any]] = {self.ground: (np.eye(3), np.zeros(3))}
        for i in self.topological_order:
            body = self.bodies[i]
            R_parent, p_parent = pose[body.parent]
            R_frame = R_parent @ rotation_matrix(body.orientation)
            p_frame = p_parent + R_parent @ np.array(body.position)
            q_joint = q[..., self.q_slices[i]]
            if motion is None:
                R_joint, p_joint = body.joint.transform(q_joint)
                R, p = R_frame @ R_joint, R_frame @ p_joint
            else:
                R, p = body.joint.moved(R_frame, q_joint, motion[..., self.u_slices[i]])
            pose[body.name] = (R, p_frame + p)
        return pose

    def displaced(self, q: Any, motion: Any) -> Any:
        """(..., nq) coordinates after the small motion u dt = `motion` (..., nu), exact to first order."""
        parts = [
            body.joint.displaced(q[..., iq], motion[..., iu])
            for body, iq, iu in zip(self.bodies, self.q_slices, self.u_slices, strict=True)
        ]
        return np.concatenate(parts, axis=-1) if parts else q

    def neutral(self) -> np.ndarray:
        """(nq,) neutral coordinates of every joint."""
        return np.concatenate([body.joint.neutral() for body in self.bodies] or [np.zeros(0)])

    def random(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """(n, nq) random coordinates, each joint over its whole range."""
        return np.concatenate([body.joint.random(n, rng) for body in self.bodies] or [np.zeros((n, 0))], axis=-1)

    def quaternion_slices(self) -> tuple[slice, ...]:
        """Where the unit quaternions lie in q."""
        return tuple(s for body, s in zip(self.bodies, self.q_slices, strict=True) if body.joint.kind == "spherical")

    def check_q(self, q: Any) -> np.ndarray:
        """q as a float64 array (..., nq), or ValueError: wrong shape, not finite, or a quaternion off the unit
        sphere by more than 1e-6."""
        q = check_state("q", q, self.nq, self.coordinate_names)
        for s in self.quaternion_slices():
            _check_unit(self, q, s)
        return q

    def check_u(self, u: Any) -> np.ndarray:
        """u as a float64 array (..., nu), or ValueError: wrong shape or not finite."""
        return check_state("u", u, self.nu, self.velocity_names)


def check_state(name: str, x: Any, size: int, names: tuple[str, ...]) -> np.ndarray:
    """x as a finite float64 array (..., size), or ValueError naming the entry."""
    if is_symbolic(x):
        return x
    array = np.asarray(x, dtype=np.float64)
    if array.ndim == 0 or array.shape[-1] != size:
        raise ValueError(f"{name} has shape {array.shape}; expected (..., {size})")
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name}{list(where)} ({names[where[-1]]}) is {array[where]}; finite numbers are needed")
    return array


def _check_unit(system: ArticulatedSystem, q: np.ndarray, s: slice) -> None:
    if is_symbolic(q):
        return
    defect = np.abs(np.sqrt(np.einsum("...i,...i", q[..., s], q[..., s])) - 1)
    if defect.size and defect.max() > UNIT_TOLERANCE:
        where = tuple(int(i) for i in np.argwhere(defect > UNIT_TOLERANCE)[0])
        names = system.coordinate_names[s]
        raise ValueError(
            f"q{list(where) if where else ''}: the quaternion ({names[0]} ... {names[-1]}) has length "
            f"{np.linalg.norm(q[where][s]):.9g}; it must be 1 to within {UNIT_TOLERANCE:g} "
            "(joints.normalize makes it so)"
        )


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
        _check_numbers(body)
    parents = {body.name: body.parent for body in bodies}
    for body in bodies:
        if body.parent not in seen:
            raise ModelError(
                f"parent {body.parent!r} is not a body; known: {', '.join(sorted(seen))}",
                element=f"body {body.name!r}",
            )
        _check_reaches_ground(body, parents, ground)


def _check_reaches_ground(body: Body, parents: dict[str, str], ground: str) -> None:
    chain, name = [body.name], body.parent
    while name != ground and name in parents:
        if name in chain:
            raise ModelError(f"a cycle of parents: {' -> '.join([*chain, name])}", element=f"body {body.name!r}")
        chain.append(name)
        name = parents[name]


def _check_numbers(body: Body) -> None:
    element = f"body {body.name!r}"
    for key, size in (("position", 3), ("orientation", 4), ("center_of_mass", 3), ("inertia", 6)):
        values = getattr(body, key)
        if len(values) != size or not all(math.isfinite(v) for v in values):
            raise ModelError(f"{key} must be {size} finite numbers, not {values}", element=element)
    if not (math.isfinite(body.mass) and body.mass >= 0):
        raise ModelError(f"mass must be finite and not negative, not {body.mass}", element=element)
    if not (math.isfinite(body.damping) and body.damping >= 0):
        raise ModelError(f"damping must be finite and not negative, not {body.damping}", element=element)
    if abs(math.hypot(*body.orientation) - 1) > UNIT_TOLERANCE:
        raise ModelError(f"orientation must be a unit quaternion, not {body.orientation}", element=element)
