"""Bodies, with the shapes that show them, kept as data."""

import math
from dataclasses import replace
from typing import Annotated, ClassVar

import numpy as np

from myoquat.core import Array, Record, frozen, real_array
from myoquat.joints.errors import ModelError
from myoquat.joints.quaternion import rotation_matrix
from myoquat.joints.ranges import UNIT_TOLERANCE, NotNegative, check_ranges, check_vector
from myoquat.joints.types import Joint
from myoquat.joints.vectors import full

# ---- Visual and collision shapes of bodies, kept as data ----------------------------------------------------------


SHAPES = {
    "box": ("size_x", "size_y", "size_z"),
    "sphere": ("radius",),
    "ellipsoid": ("radius_x", "radius_y", "radius_z"),
    "cylinder": ("radius", "length"),
    "capsule": ("radius", "height"),  # height between the centres of the two end spheres
    "mesh": ("scale_x", "scale_y", "scale_z"),
}


@frozen
class Shape(Record):
    """A shape on a body: `kind`, a key of SHAPES, with its `sizes` [m] (a mesh: scales, and the file's name).

    position [m], orientation (unit quaternion): the shape's frame in the body's frame; cylinders and capsules lie
    along z. `purpose` is "visual", "collision" or, for one that nothing shows or meets, "hidden". Files are named,
    never opened.

    >>> import numpy as np
    >>> from myoquat.joints import Shape
    >>> bone = Shape("capsule", (0.02, 0.25), position=(0, 0, -0.125))
    >>> bone.scaled(np.array([1.0, 1.0, 2.0])).position
    (0.0, 0.0, -0.25)
    """

    kind: str
    sizes: tuple[float, ...]
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    orientation: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    purpose: str = "visual"
    file: str = ""
    name: str = ""
    color: tuple[float, float, float, float] | None = None
    material: str = ""

    def scaled(self, factors: Array) -> "Shape":
        """The shape on a body that is scaled by factors (3,) along its axes.

        Boxes, meshes and ellipsoids scale along their own axes. The radius of a cylinder or capsule scales by the mean
        factor across its axis, that of a sphere by the mean of all factors.
        """
        R = rotation_matrix(np.array(self.orientation))
        x, y, z = np.linalg.norm(real_array("factors", factors)[:, None] * R, axis=0)
        alone = {"sphere": (sum(factors) / 3,), "cylinder": ((x + y) / 2, z), "capsule": ((x + y) / 2, z)}
        along = alone.get(self.kind, (x, y, z))
        sizes = tuple(float(a * b) for a, b in zip(self.sizes, along, strict=True))
        a, b, c = (float(p * s) for p, s in zip(self.position, factors, strict=True))
        return replace(self, sizes=sizes, position=(a, b, c))


# ---- A body and the joint that carries it -------------------------------------------------------------------------


Vector = tuple[float, ...]
INERTIA_TOLERANCE = 1e-6  # relative: files hold rounded numbers


@frozen
class Body(Record):
    """A rigid body and the joint that carries it. SI units; vectors in the frames named.

    position, orientation  the joint frame in the parent's frame: origin [m], unit quaternion
    center_of_mass         [m] in the body's frame, whose origin is the joint
    inertia                [kg m^2] (xx, yy, zz, xy, xz, yz) about the center of mass, in the body's axes
    damping                [N m s/rad] acts on the joint's velocities; for an Euler joint on its angular velocity
    stiffness              [N m/rad or N/m] of a spring that pulls the joint to q = `spring_mount`
    spring_mount           nq numbers, a quaternion for a spherical joint; None for neutral
    rotor_inertia          [kg m^2 or kg] is added on the diagonal of the mass matrix, at each velocity of the joint
    joint_name             the joint's own name; the body's where it is empty
    coordinate_names       replace '<body>.<suffix>' as names of the joint's coordinates
    shapes                 visual and collision shapes, kept as data
    lenient_inertia        accept an inertia that no rigid body can have. Otherwise it is rejected (`check_inertia`).
                           Bodies from files whose own program accepts it, such as OpenSim's, have it.

    >>> from myoquat.joints import Body, RevoluteJoint
    >>> Body("fore", "ground", RevoluteJoint((0, 1, 0)), mass=1.4, inertia=(0.02, 0.02, 0.003, 0, 0, 0)).mass
    1.4
    """

    constants: ClassVar[tuple[str, ...]] = ("shapes",)
    name: str
    parent: str
    joint: Joint
    position: Annotated[Vector, 3] = (0.0, 0.0, 0.0)
    orientation: Annotated[Vector, 4] = (1.0, 0.0, 0.0, 0.0)
    mass: NotNegative = 0.0
    center_of_mass: Annotated[Vector, 3] = (0.0, 0.0, 0.0)
    inertia: Annotated[Vector, 6] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    damping: NotNegative = 0.0
    stiffness: NotNegative = 0.0
    spring_mount: Vector | None = None
    rotor_inertia: NotNegative = 0.0
    joint_name: str = ""
    coordinate_names: tuple[str, ...] | None = None
    shapes: tuple[Shape, ...] = ()
    lenient_inertia: bool = False

    def __repr__(self) -> str:
        return f"<Body {self.name!r} on {self.parent!r} by a {self.joint.kind} joint, {self.mass:g} kg>"

    @property
    def names_of_coordinates(self) -> tuple[str, ...]:
        """Name of each entry of the joint's q."""
        if self.coordinate_names is not None:
            return self.coordinate_names
        return tuple(f"{self.name}.{suffix}" for suffix in self.joint.coordinate_suffixes)

    @property
    def names_of_velocities(self) -> tuple[str, ...]:
        """Name of each entry of the joint's u."""
        if self.coordinate_names is not None and self.joint.nu == self.joint.nq:
            return tuple(f"{name}_dot" for name in self.coordinate_names)
        return tuple(f"{self.name}.{suffix}" for suffix in self.joint.velocity_suffixes)


def check_body(body: Body) -> None:
    """ModelError if a number is not finite, of the wrong size or sign, or an inertia that no body can have."""
    element = f"body {body.name!r}"
    check_ranges(body, element)
    if abs(math.hypot(*body.orientation) - 1) > UNIT_TOLERANCE:
        raise ModelError(f"orientation must be a unit quaternion, not {body.orientation}", element=element)
    if body.spring_mount is not None:
        check_mount(body.spring_mount, body.joint, element)
    names = body.coordinate_names
    if names is not None and len(names) != body.joint.nq:
        raise ModelError(f"coordinate_names must be {body.joint.nq} names, not {names}", element=element)
    if not body.lenient_inertia:
        check_inertia(body)


def check_mount(mount: Vector, joint: Joint, element: str | None = None) -> None:
    """ModelError unless a spring's mount is nq finite numbers, a quaternion among them of length one."""
    check_vector(f"spring_mount must be {joint.nq} finite numbers", mount, joint.nq, element)
    start = joint.facts.quaternion
    if start is not None and abs(math.hypot(*mount[start : start + 4]) - 1) > UNIT_TOLERANCE:
        raise ModelError(f"spring_mount must hold a unit quaternion, not {mount}", element=element)


def check_inertia(body: Body) -> None:
    """ModelError if no rigid body can have this inertia: it is indefinite, its principal moments violate the triangle
    inequality, or the body has no mass."""
    element = f"body {body.name!r}"
    a, b, c = principal_moments(body.inertia)
    if a < -INERTIA_TOLERANCE * max(c, 0.0) or (c <= 0.0 and a < 0.0):
        raise ModelError(f"the inertia is indefinite: a principal moment is {a:.6g}", element=element)
    if c - b - a > INERTIA_TOLERANCE * c:  # in this order no sum of huge moments overflows
        raise ModelError(
            f"the inertia violates the triangle inequality: principal moments {a:.6g} + {b:.6g} < {c:.6g}",
            element=element,
        )
    if body.mass == 0.0 and any(body.inertia):
        raise ModelError(f"the inertia of a body without mass must be zero, not {body.inertia}", element=element)


def principal_moments(inertia: Vector) -> Array:
    """(3,) the principal moments of an inertia (6,), the least first."""
    return np.linalg.eigvalsh(full(np.array(inertia)))
