"""The articulated system: a tree of bodies joined by joints, its coordinates q and velocities u."""

from collections.abc import Iterable, Sequence
from dataclasses import InitVar, dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from myoquat.core import Array, ArrayLike, Pair, Record, content_digest, html, html_table
from myoquat.joints import ModelError, rotation_matrix
from myoquat.joints.multibody import state
from myoquat.joints.ranges import UNIT_TOLERANCE, check_array, check_state, check_units, check_vector
from myoquat.joints.types.base import VELOCITY_FRAMES
from myoquat.joints.types.follower import angles_of, named_coordinates
from myoquat.joints.vectors import cross, matvec, row_cross
from myoquat.kernels import as_array, is_symbolic
from myoquat.kernels.tracing.context import memoize

from .body import Body, Shape, Vector, check_body
from .indices import Indices
from .tree import Layout, Tree, build_tree, find_cycle

ROWS_PER_CHECK = 4096  # poses that are checked at once
Poses = dict[str, Pair]  # (R, p) of frames, or what they move by, by the names of their bodies


@dataclass(frozen=True)
class ArticulatedSystem(Layout, Record):
    """Bodies in the order given; each parent is the ground or a body of the system, before or after it.

    bodies          q and u hold the coordinates and velocities of their joints in this order
    velocity_frame  "child" or "parent", the frame of u for spherical and floating joints: of the angular velocity, and
                    of a floating joint's linear velocity
    joint_order     names of all bodies or joints in another order, which q and u then have
    shapes          shapes on the ground, as data

    Immutable: `dataclasses.replace` and `with_body` make a changed one. Raises ModelError for an impossible tree.

    >>> from myoquat.joints import ArticulatedSystem, Body, RevoluteJoint, SphericalJoint
    >>> upper = Body("upper", "ground", SphericalJoint(), mass=2.0, inertia=(0.02, 0.02, 0.003, 0, 0, 0))
    >>> fore = Body("fore", "upper", RevoluteJoint((0, 1, 0)), (0, 0, -0.3), mass=1.4)
    >>> arm = ArticulatedSystem((upper, fore))
    >>> arm.nq, arm.nu
    (5, 4)
    >>> arm.coordinate_names
    ('upper.Q0', 'upper.Q1', 'upper.Q2', 'upper.Q3', 'fore.angle')
    """

    constants: ClassVar[tuple[str, ...]] = ("shapes",)
    bodies: tuple[Body, ...]
    ground: str = "ground"
    gravity: Vector = (0.0, 0.0, -9.81)
    velocity_frame: str = "child"
    name: str = field(default="", compare=False)
    joint_order: InitVar[Sequence[str] | None] = None
    shapes: tuple[Shape, ...] = field(default=(), kw_only=True)

    def __post_init__(self, joint_order: Sequence[str] | None) -> None:
        super().__post_init__()
        if self.velocity_frame not in VELOCITY_FRAMES:
            raise ModelError(f"velocity_frame is 'child' or 'parent', not {self.velocity_frame!r}")
        joints = [body.joint.in_velocity_frame(self.velocity_frame) for body in self.bodies]
        bodies = tuple(b if j is b.joint else replace(b, joint=j) for b, j in zip(self.bodies, joints, strict=True))
        _check_tree(bodies, self.ground)
        check_vector("gravity must be 3 finite numbers", self.gravity)
        object.__setattr__(self, "bodies", bodies if joint_order is None else _ordered(bodies, joint_order))

    def __repr__(self) -> str:
        named = f" {self.name!r}" if self.name else ""
        return f"<ArticulatedSystem{named}: {len(self.bodies)} bodies, nq = {self.nq}, nu = {self.nu}>"

    def _repr_html_(self) -> str:
        """Its bodies with their joints and coordinates; names come from files of others."""
        rows = [
            (body.name, body.parent, body.joint.kind, ", ".join(body.names_of_coordinates), f"{body.mass:g}")
            for body in self.bodies
        ]
        table = html_table(("body", "parent", "joint", "coordinates", "mass [kg]"), rows)
        return f"<p>{html.escape(repr(self)[1:-1])}</p>{table}"

    def with_body(self, which: str, **changes: Any) -> "ArticulatedSystem":
        """The system with fields of one body changed: `system.with_body("shank", rotor_inertia=0.1)`."""
        index = self.indices.body(which)
        bodies = [replace(body, **changes) if i == index else body for i, body in enumerate(self.bodies)]
        return replace(self, bodies=tuple(bodies))

    # ---- names and indices ----------------------------------------------------------------------------------

    @cached_property
    def content_key(self) -> str:
        """SHA-256 of everything that the system computes with; equal systems share compiled kernels."""
        bodies = tuple(replace(body, shapes=()) if body.shapes else body for body in self.bodies)
        return content_digest(bodies, self.ground, self.gravity, self.velocity_frame)

    @cached_property
    def angle_names(self) -> dict[str, tuple[int, int]]:
        """Body and place, by name, of every coordinate of a model file that a quaternion or other angles replaced.

        Coordinates that follow such a coordinate come after the three angles of their joint.
        """
        return {
            name: (i, k)
            for i, body in enumerate(self.bodies)
            if (angles := body.joint.named) is not None
            for k, name in enumerate(angles.all_names)
            if name not in body.names_of_coordinates
        }

    def coordinate(self, name: str, q: Array) -> Array:
        """(...) a coordinate by name at q (..., nq), or an angle that a quaternion has replaced; KeyError otherwise."""
        if name in self.angle_names:
            i, k = self.angle_names[name]
            joint = self.bodies[i].joint
            return angles_of(joint).coordinate(named_coordinates(joint, q[..., self.q_slices[i]]), k)
        if name not in self.coordinate_names:
            raise KeyError(f"coordinate {name!r} does not exist; known: {', '.join(self.coordinate_names)}")
        return q[..., self.coordinate_names.index(name)]

    @cached_property
    def coordinate_units(self) -> dict[str, str]:
        """The unit of every coordinate in `coordinate_names` and `angle_names`: "rad", "m", or "1".

        A coordinate of unit "1" is a component of a quaternion, or neither an angle nor a length
        (`myoquat.joints.CustomJoint`). Tables in degrees and files of limits hold such a number as it is.
        """
        units = {name: angles_of(self.bodies[i].joint).all_units[k] for name, (i, k) in self.angle_names.items()}
        for body in self.bodies:
            units |= dict(zip(body.names_of_coordinates, body.joint.facts.coordinate_units, strict=True))
        return units

    @property
    def velocity_units(self) -> dict[str, str]:
        """The unit of every velocity."""
        return self._by_velocity("velocity_units")

    @property
    def force_units(self) -> dict[str, str]:
        """The unit of the generalized force on every velocity, "N" or "N m"."""
        return self._by_velocity("force_units")

    def _by_velocity(self, fact: str) -> dict[str, str]:
        return dict(
            zip(self.velocity_names, (x for b in self.bodies for x in getattr(b.joint.facts, fact)), strict=True)
        )

    @cached_property
    def angles(self) -> tuple[tuple[int, str], ...]:
        """Place in q and name of every coordinate that is an angle [rad]."""
        return tuple((i, n) for i, n in enumerate(self.coordinate_names) if self.coordinate_units[n] == "rad")

    @cached_property
    def indices(self) -> Indices:
        """Body, velocity, coordinate and frame indices, and every conversion between them."""
        return Indices(self)

    # ---- the tree --------------------------------------------------------------------------------------------

    @cached_property
    def topological_order(self) -> tuple[int, ...]:
        """Body indices, every parent before its children."""
        children: dict[str, list[int]] = {}
        for i, body in enumerate(self.bodies):
            children.setdefault(body.parent, []).append(i)
        found, level = list[int](), [self.ground]
        while level:
            next_ones = sorted(i for name in level for i in children.get(name, ()))
            found += next_ones
            level = [self.bodies[i].name for i in next_ones]
        return tuple(found)

    @cached_property
    def tree(self) -> Tree:
        """The moving links: bodies joined by fixed joints merged into one, their frames by name."""
        return build_tree(self, self.topological_order)

    @cached_property
    def unmerged_tree(self) -> Tree:
        """The tree with a link for every body, also for those on fixed joints."""
        return build_tree(self, self.topological_order, merge=False)

    @memoize
    def poses(self, q: Array, motion: Array | None = None) -> Poses:
        """World pose (R (..., 3, 3), p (..., 3) [m]) of every body's frame, the ground included, by name.

        With `motion` (..., nu), the poses after the small motion u dt, exact to first order.
        """
        pose = self.poses_from(self.ground, q)
        if motion is None:
            return pose
        shifts = self.shifts(q, motion, pose, self.ground)
        return {name: (R + row_cross(shifts[name][0], R), p + shifts[name][1]) for name, (R, p) in pose.items()}

    @cached_property
    def _frames(self) -> list[Pair]:
        """Orientation (3, 3) and position (3,) of the frame of every body's joint on its parent."""
        return [(rotation_matrix(as_array(body.orientation)), as_array(body.position)) for body in self.bodies]

    @memoize
    def poses_from(self, base: str, q: Array) -> Poses:
        """Pose of the frame of every body that `base` carries, seen from it: as `poses`."""
        pose: Poses = {base: (np.eye(3), np.zeros(3))}
        for i in self.topological_order:
            body = self.bodies[i]
            if body.parent not in pose:
                continue
            R_parent, p_parent = pose[body.parent]
            R_own, p_own = self._frames[i]
            R_frame, p_frame = R_parent @ R_own, p_parent + R_parent @ p_own
            R, p = body.joint.transform(q[..., self.moving_q[i]])
            pose[body.name] = (R_frame @ R, p_frame + matvec(R_frame, p))
        return pose

    def shifts(self, q: Array, motion: Array, poses: Poses, base: str) -> Poses:
        """(rotation (..., 3) [rad], translation (..., 3) [m]) of every body carried by `base`, in world axes, by name.

        These are the effects of the small motion u dt = `motion` (..., nu) on the frames if `base` is held fast. They
        are exact to first order where |Q| = 1. A point x of the body moves by translation + rotation x (x - p). `poses`
        are those at q.
        """
        shift: Poses = {base: (np.zeros(3), np.zeros(3))}
        for i in self.topological_order:
            body = self.bodies[i]
            if body.parent not in shift:
                continue
            (R, p), (_, p_parent), (rotation, translation) = poses[body.name], poses[body.parent], shift[body.parent]
            translation = translation + cross(rotation, p - p_parent)
            iu = self.moving_u[i]
            if iu.stop > iu.start:
                u = motion[..., iu]
                S_omega, S_v = body.joint.subspace(q[..., self.moving_q[i]])
                rotation = rotation + matvec(R, matvec(S_omega, u))
                translation = translation + matvec(R, matvec(S_v, u))
            shift[body.name] = (rotation, translation)
        return shift

    def lowest_common_ancestor(self, names: Iterable[str]) -> str:
        """The body farthest from the ground that carries all of these; it may be one of them, or the ground."""
        chains = [self.chain_to_ground(name) for name in names]
        return next(name for name in chains[0] if all(name in chain for chain in chains))

    def chain_to_ground(self, name: str) -> tuple[str, ...]:
        """A body, its parent, and so on up to the ground, by their names. KeyError for an unknown body.

        >>> import myoquat as mq
        >>> mq.load_model("two_link").system.chain_to_ground("B")
        ('B', 'A', 'ground')
        """
        parents = {body.name: body.parent for body in self.bodies}
        chain = [name]
        while chain[-1] != self.ground:
            chain.append(parents[chain[-1]])
        return tuple(chain)

    def velocities_moving(self, name: str) -> tuple[int, ...]:
        """The indices in u of the velocities that move a body, from the ground on: those of the joints between them,
        and of the leaders of joints that follow. KeyError for an unknown body.

        >>> import myoquat as mq
        >>> mq.load_model("two_link").system.velocities_moving("A")
        (0, 1, 2)
        """
        moving = dict(zip(self.body_names, self.moving_u, strict=True))
        chain = reversed(self.chain_to_ground(name)[:-1])
        return tuple(k for link in chain for k in range(moving[link].start, moving[link].stop))

    # ---- the state -------------------------------------------------------------------------------------------

    def displaced(self, q: Array, motion: Array) -> Array:
        """(..., nq) coordinates after the small motion u dt = `motion` (..., nu), exact to first order."""
        return state.displaced(self, q, motion)

    def rate_matrix(self, q: ArrayLike) -> Array:
        """(..., nq, nu) N(q): qdot = N u. For a quaternion, N = G^T / 2."""
        return state.rate_matrix(self, self.check_q(q))

    def rate_inverse(self, q: ArrayLike) -> Array:
        """(..., nu, nq) N^+(q): u = N^+ qdot for the rates that keep |Q| = 1, and N^+ N = 1."""
        return state.rate_inverse(self, self.check_q(q))

    def rates(self, q: ArrayLike, u: ArrayLike) -> Array:
        """(..., nq) qdot = N(q) u."""
        return state.rates(self, self.check_q(q), self.check_u(u))

    def velocities(self, q: ArrayLike, qdot: ArrayLike) -> Array:
        """(..., nu) u with N(q) u = qdot; a part of qdot that would change |Q| is ignored."""
        return state.velocities(self, self.check_q(q), check_state("qdot", qdot, self.coordinate_names))

    def integrate(self, q: ArrayLike, v: ArrayLike) -> Array:
        """(..., nq) coordinates after unit time at constant u = v (..., nu): v = u dt for a step dt."""
        return state.integrate(self, self.check_q(q), self.check_u(v, "v"))

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> Array:
        """(..., nu) v with integrate(q0, v) = q1, by the shortest rotation in each joint."""
        return state.difference(self, self.check_q(q0, "q0"), self.check_q(q1, "q1"))

    def neutral(self) -> Array:
        """(nq,) neutral coordinates of every joint."""
        return np.concatenate([body.joint.neutral() for body in self.bodies] or [np.zeros(0)])

    def random(self, n: int, rng: "np.random.Generator") -> Array:
        """(n, nq) random coordinates, each joint over its whole range."""
        return np.concatenate([body.joint.random(n, rng) for body in self.bodies] or [np.zeros((n, 0))], axis=-1)

    def check_q(self, q: ArrayLike, name: str = "q") -> Array:
        """q as a float64 array (..., nq); errors call it `name`.

        Raises ValueError for a wrong shape, numbers that are not finite, or a quaternion off the unit sphere by more
        than 1e-6.
        """
        array = check_array(name, q)
        if not is_symbolic(array) and array.size > ROWS_PER_CHECK * max(self.nq, 1) and array.shape[-1] == self.nq:
            array = np.ascontiguousarray(array)
            rows = array.reshape(-1, self.nq)
            parts = (rows[start : start + ROWS_PER_CHECK] for start in range(0, len(rows), ROWS_PER_CHECK))
            if all(map(self._are_poses, parts)):
                return array
        array = check_state(name, array, self.coordinate_names)
        check_units(array, self.quaternion_indices, self.coordinate_names, name)
        return array

    def _are_poses(self, rows: Array) -> bool:
        """Whether sums over poses (n, nq) find nothing wrong. So few stay in the processor's cache, which makes this
        faster than other checks."""
        with np.errstate(over="ignore", invalid="ignore"):
            Q = rows[:, self.quaternion_indices]
            squares = np.einsum("...i,...i", Q, Q)  # |Q|^2 - 1 is twice |Q| - 1 to first order
            return bool(np.isfinite(rows.sum()) and (np.abs(squares - 1) <= UNIT_TOLERANCE).all())

    def check_u(self, u: ArrayLike, name: str = "u") -> Array:
        """u as a float64 array (..., nu), or ValueError, in which it is called `name`: wrong shape or not finite."""
        return check_state(name, u, self.velocity_names)


def _ordered(bodies: tuple[Body, ...], order: Sequence[str]) -> tuple[Body, ...]:
    """The bodies in the order of their names or their joints' names; ModelError unless each comes exactly once."""
    index = {body.joint_name: i for i, body in enumerate(bodies) if body.joint_name}
    index |= {body.name: i for i, body in enumerate(bodies)}
    for name in order:
        if name not in index:
            raise ModelError(f"joint_order: no body or joint is named {name!r}; known: {', '.join(index)}")
    positions = [index[name] for name in order]
    if sorted(positions) != list(range(len(bodies))):
        missing = [body.name for i, body in enumerate(bodies) if positions.count(i) != 1]
        raise ModelError(f"joint_order must name each body or joint once; missing or repeated: {', '.join(missing)}")
    return tuple(bodies[i] for i in positions)


def _check_tree(bodies: tuple[Body, ...], ground: str) -> None:
    """ModelError unless names of bodies are unique, numbers possible, and parents present, without a cycle.

    Names of coordinates are unique too, with those of angles that a quaternion has replaced. The leader of a follower
    is there, and hangs on the body and the joint that it says."""
    known: dict[str, Body | None] = {ground: None}
    carrying: dict[str, str] = {}
    for body in bodies:
        element = f"body {body.name!r}"
        if body.name in known:
            raise ModelError(f"the name {body.name!r} is taken twice", element=element)
        known[body.name] = body
        check_body(body)
        names, angles = body.names_of_coordinates, body.joint.named
        hidden = () if angles is None else (name for name in angles.all_names if name not in names)
        for name in (*names, *hidden):
            if name in carrying:
                other = carrying[name]
                raise ModelError(
                    f"the coordinate {name!r} is taken: body {other!r} has one of this name", element=element
                )
            carrying[name] = body.name
    for body in bodies:
        element, name = f"body {body.name!r}", body.joint.follows
        leader = known.get(name or "")
        if name and (leader is None or leader.parent != body.parent or leader.joint != body.joint.ball):  # type: ignore[attr-defined]
            raise ModelError(
                f"it follows {name!r}, which must be a body on {body.parent!r} by the same ball joint", element=element
            )
        if body.parent not in known:
            raise ModelError(
                f"parent {body.parent!r} is not a body; known: {', '.join(sorted(known))}", element=element
            )
    if cycle := find_cycle({body.name: body.parent for body in bodies}):
        around = " -> ".join([*cycle, cycle[0]])
        raise ModelError(f"a cycle of parents: {around}", element=f"body {cycle[0]!r}")
