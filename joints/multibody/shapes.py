"""Visual and collision shapes of bodies, kept as data."""

from dataclasses import replace

import numpy as np

from myoquat.core.arguments import real_array
from myoquat.core.records import Record, dataclass
from myoquat.core.typing import Array
from myoquat.joints.quaternion import rotation_matrix

__all__ = ["SHAPES", "Shape"]

SHAPES = {
    "box": ("size_x", "size_y", "size_z"),
    "sphere": ("radius",),
    "ellipsoid": ("radius_x", "radius_y", "radius_z"),
    "cylinder": ("radius", "length"),
    "capsule": ("radius", "height"),  # height between the centres of the two end spheres
    "mesh": ("scale_x", "scale_y", "scale_z"),
}


@dataclass(frozen=True)
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
