"""Geoms: the shapes of bodies, what they weigh, and the surfaces that tendons wrap around."""

import math
from collections.abc import Callable, Sequence
from dataclasses import field
from pathlib import Path

import numpy as np

from myoquat.core.lazy_imports import scipy
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.data.meshes import MESH_FILES, Mesh, read_mesh
from myoquat.data.mjcf.document import Compiler, Document, Place, Values, place_of, unit
from myoquat.data.mjcf.reading.softness import Softness, read_softness
from myoquat.data.mjcf.shapes import HALVED, whole_sizes
from myoquat.data.xml import Element, complain
from myoquat.joints.errors import ModelError
from myoquat.joints.multibody.body import Shape
from myoquat.joints.quaternion import rotation_matrix
from myoquat.joints.vectors import congruent, full, steiner, upper

__all__ = [
    "WEIGHTLESS",
    "Geom",
    "Inertia",
    "Meshes",
    "corrected",
    "read_condim",
    "read_geom",
    "read_inertial",
    "solid",
    "total",
]


# ---- Mass and inertia of bodies: given by <inertial>, or made of their geoms --------------------------------------


@dataclass(frozen=True)
class Inertia:
    """mass [kg], centre of mass (3,) [m], and inertia about it (6,) [kg m^2], in the axes of the body."""

    mass: float
    center: Array
    inertia: Array


WEIGHTLESS = Inertia(0.0, np.zeros(3), np.zeros(6))


def read_inertial(element: Element, document: Document) -> Inertia:
    """An <inertial>; ModelError with its line without a mass, or without exactly one type of inertia."""
    values = document.values(element)
    place, mass = place_of(values, document.compiler), values.number("mass")
    if values.has("fullinertia") == values.has("diaginertia"):
        complain(element, "<inertial> needs either diaginertia or fullinertia")
    if values.has("fullinertia"):
        moments = values.vector("fullinertia", (0.0,) * 6)
    else:
        moments = (*values.vector("diaginertia", (0.0,) * 3), 0.0, 0.0, 0.0)
    document.finish(values)
    return Inertia(mass, place.p, _turned(place, np.array(moments)))


def _turned(place: Place, moments: Array) -> Array:
    turned = place.Q[0] != 1.0
    return np.asarray(congruent(place.R, moments)) if turned else moments


def corrected(inertia: Inertia, compiler: Compiler) -> Inertia:
    """The inertia after the compiler's bounds and its `balanceinertia`, in MuJoCo's order."""
    mass = max(inertia.mass, compiler.least_mass)
    moments, axes = np.linalg.eigh(full(inertia.inertia))
    bounded = np.maximum(moments, compiler.least_inertia)
    if compiler.balanced and bounded[0] + bounded[1] < bounded[2]:
        bounded = np.full(3, bounded.mean())
    if mass == inertia.mass and (bounded == moments).all():
        return inertia
    return Inertia(mass, inertia.center, upper((axes * bounded) @ axes.T))


def total(parts: Sequence[Inertia]) -> Inertia:
    """The inertia of several bodies that are one; weightless if none of them weighs anything."""
    mass = sum(part.mass for part in parts)
    if mass == 0.0:
        return WEIGHTLESS
    center = sum((part.mass * part.center for part in parts), start=np.zeros(3)) / mass
    inertia = sum((part.inertia + steiner(part.center - center, part.mass) for part in parts), start=np.zeros(6))
    return Inertia(mass, center, np.asarray(inertia))


# ---- solids of even density --------------------------------------------------------------------------------

Solid = Callable[[tuple[float, ...]], tuple[float, Array]]  # sizes -> volume, principal moments of a unit mass


def _sphere(x: tuple[float, ...]) -> tuple[float, Array]:
    return 4 / 3 * math.pi * x[0] ** 3, np.full(3, 2 / 5 * x[0] ** 2)


def _ellipsoid(x: tuple[float, ...]) -> tuple[float, Array]:
    a, b, c = (v * v for v in x)
    return 4 / 3 * math.pi * math.prod(x), np.array([b + c, a + c, a + b]) / 5


def _box(x: tuple[float, ...]) -> tuple[float, Array]:
    a, b, c = (v * v for v in x)
    return 8 * math.prod(x), np.array([b + c, a + c, a + b]) / 3


def _cylinder(x: tuple[float, ...]) -> tuple[float, Array]:
    radius, height = x[0], 2 * x[1]
    across = (3 * radius**2 + height**2) / 12
    return math.pi * radius**2 * height, np.array([across, across, radius**2 / 2])


def _capsule(x: tuple[float, ...]) -> tuple[float, Array]:
    """A cylinder with two halves of a ball, whose centres of mass lie 3/8 of the radius beyond its ends."""
    radius, height = x[0], 2 * x[1]
    ball, balls = _sphere(x)
    tube, moments = _cylinder(x)
    away = height * (2 * height + 3 * radius) / 8
    whole = ball + tube
    return whole, (tube * moments + ball * (balls + np.array([away, away, 0.0]))) / whole


SOLIDS: dict[str, tuple[int, Solid]] = {  # by the type of a geom: how many sizes it has, and the formula
    "sphere": (1, _sphere),
    "capsule": (2, _capsule),
    "ellipsoid": (3, _ellipsoid),
    "cylinder": (2, _cylinder),
    "box": (3, _box),
}


def solid(geom_type: str, sizes: tuple[float, ...], place: Place, mass: float | None, density: float) -> Inertia:
    """A solid of even density at a place of its body: of the mass that is given, else of the density [kg/m^3]."""
    volume, moments = SOLIDS[geom_type][1](sizes)
    mass = density * volume if mass is None else mass
    return Inertia(mass, place.p, _turned(place, np.concatenate([mass * moments, np.zeros(3)])))


# --------------------------------------------------------------------------------------------------------------
#
# Meshes that weigh: mass, centre of mass and inertia of their triangles, as MuJoCo's compiler computes them.


MAX_BYTES = 512 * 2**20  # of all meshes of a model whose mass is asked for
SURFACE, VOLUMES = "shell", ("legacy", "exact", "convex")


@dataclass
class Meshes:
    """The meshes of a document, `elements` by their names.

    folder    that of the document's file; None for a compiled model, whose bodies have their inertias already
    compiled  gives their vertices (v, 3) by name
    anywhere  whether files may lie outside of that folder and those below it
    """

    elements: dict[str, Values]
    folder: Path | None
    directory: str = ""
    bare: bool = False  # paths in the file do not count, only names
    anywhere: bool = False
    compiled: Callable[[str], Array] | None = None
    _read: dict[Path, Mesh] = field(default_factory=dict)
    _bytes: int = 0

    def file(self, name: str) -> str:
        """The file of a mesh by its name; the name itself where the document says no more."""
        values = self.elements.get(name)
        return (values.text("file", "") if values is not None else "") or name

    def inertia(self, geom: Element, name: str, mass: float | None, density: float, place: Place) -> Inertia:
        """Of a geom of even density [kg/m^3, of a shell kg/m^2], or of a mass [kg]; ModelError where it cannot be."""
        values = self.elements.get(name)
        if values is None:
            complain(geom, f"there is no mesh {name!r}")
        how = values.word("inertia", (*VOLUMES, SURFACE), "legacy")
        try:
            corners = self._corners(values)
            size, center, moments = (_shell if how == SURFACE else _solid)(corners, how)
        except ModelError as error:
            where = f"{Path(error.file).name}:{error.line or 1}: " if error.file else ""
            problem = f"the mass of the mesh {name!r} is not known: {where}{error.message}"
            complain(geom, f'{problem}; give the body an <inertial>, or the geom mass="0"')
        weight = density * size if mass is None else mass
        turned = np.asarray(congruent(place.R, moments * (weight / size)))
        return Inertia(weight, place.p + place.R @ center, turned)

    def _corners(self, values: Values) -> Array:
        """(f, 3, 3) the corners of the triangles [m], in the frame of a geom."""
        vertices, faces = self._placed(values)
        if not len(faces) or values.text("inertia", "legacy") == "convex":
            return _hull(vertices)
        flipped = np.prod(values.vector("scale", (1.0,) * 3)) <= 0
        corners: Array = vertices[faces[:, [0, 2, 1]] if flipped else faces]
        return corners

    def vertices(self, geom: Element, name: str) -> Array:
        """(v, 3) [m] the vertices of a mesh, in the frame of a geom; ModelError where they cannot be read."""
        if self.compiled is not None:
            return self.compiled(name)
        values = self.elements.get(name)
        if values is None:
            complain(geom, f"there is no mesh {name!r}")
        try:
            return self._placed(values)[0]
        except ModelError as error:
            complain(geom, f"the mesh {name!r} cannot touch anything: {error.message}")

    def _placed(self, values: Values) -> tuple[Array, Array]:
        """(v, 3) vertices [m] in the frame of a geom, and (f, 3) faces."""
        mesh = self._mesh(values)
        vertices = mesh.vertices - np.array(values.vector("refpos", (0.0,) * 3))
        turn = unit(values.vector("refquat", (1.0, 0.0, 0.0, 0.0)), values, "refquat")
        scale = np.array(values.vector("scale", (1.0,) * 3))
        vertices = (vertices @ np.asarray(rotation_matrix(turn))) * scale
        return vertices, mesh.faces

    def _mesh(self, values: Values) -> Mesh:
        if values.has("vertex"):
            return _own(values)
        name = values.text("file", "")
        if not name or self.folder is None:
            raise ModelError("it names no file")
        path = self.folder / self.directory / (name.replace("\\", "/").rpartition("/")[2] if self.bare else name)
        if path.suffix.lower() not in MESH_FILES:
            raise ModelError(f"files {', '.join(MESH_FILES)} are read, not {path.suffix!r}")
        try:
            real = path.resolve()
            size = real.stat().st_size
        except (OSError, ValueError):
            raise ModelError(f"there is no file {str(path)!r}") from None
        if not self.anywhere and not real.is_relative_to(self.folder.resolve()):
            raise ModelError(f"{name!r} lies outside the folder of the model; load_model(..., anywhere=True) reads it")
        self._bytes += size  # of every mesh: one file may be several
        if self._bytes > MAX_BYTES:
            raise ModelError(f"the meshes hold more than {MAX_BYTES // 2**20} MiB")
        if real not in self._read:
            mesh = read_mesh(real)
            self._read[real] = Mesh(mesh.vertices.astype(np.float32).astype(float), mesh.faces)
        return self._read[real]


def _own(values: Values) -> Mesh:
    """The vertices and faces that stand in the document."""
    found = values.numbers("vertex", 12, 3 * 10**6)
    faces = values.numbers("face", 3, 3 * 10**6, ())
    if len(found) % 3 or len(faces) % 3:
        raise ModelError("vertex and face must be three numbers for each")
    vertices, corners = np.array(found, dtype=np.float32).astype(float).reshape(-1, 3), np.array(faces)
    if len(corners) and not ((corners >= 0) & (corners < len(vertices)) & (corners == np.floor(corners))).all():
        raise ModelError("a face names a vertex that is not there")
    return Mesh(vertices, corners.astype(int).reshape(-1, 3))


def _hull(vertices: Array) -> Array:
    """(f, 3, 3) the triangles of the convex hull, counter-clockwise from outside."""
    try:
        hull = scipy.spatial.ConvexHull(vertices)
    except (scipy.spatial.QhullError, ValueError):
        raise ModelError("its vertices span no volume") from None
    corners: Array = vertices[hull.simplices]
    outward = np.sum(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]) * hull.equations[:, :3], -1)
    return np.where((outward < 0)[:, None, None], corners[:, [0, 2, 1]], corners)


Measured = tuple[float, Array, Array]  # volume or area, centre (3,), and inertia (6,) of density one


def _normals(corners: Array) -> tuple[Array, Array]:
    """(f, 3) normals as long as twice the areas, and (f,) the areas."""
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return normals, np.linalg.norm(normals, axis=-1) / 2


def _solid(corners: Array, how: str) -> Measured:
    """Of the pyramids from a point to all triangles, with the signs of their volumes, or, in "legacy", without.

    The point is the centroid of the surface for the centre, and then the centre itself.
    """
    normals, areas = _normals(corners)
    centers = corners.mean(axis=1)
    if not areas.sum() > 0:
        raise ModelError("its surface has no area")
    point = areas @ centers / areas.sum()

    def volumes(about: Array) -> Array:
        found: Array = np.sum((centers - about) * normals, axis=-1) / 6
        return np.abs(found) if how == "legacy" else found

    parts = volumes(point)
    if not parts.sum() > 0:
        raise ModelError("its volume is not positive: are its triangles oriented outwards?")
    center = parts @ (0.75 * centers + 0.25 * point) / parts.sum()
    parts = volumes(center)
    return float(parts.sum()), center, _second_moments(corners - center, parts / 20)


def _shell(corners: Array, how: str) -> Measured:
    """Of the surface."""
    _, areas = _normals(corners)
    if not areas.sum() > 0:
        raise ModelError("its surface has no area")
    center = areas @ corners.mean(axis=1) / areas.sum()
    return float(areas.sum()), center, _second_moments(corners - center, areas / 12)


def _second_moments(corners: Array, weights: Array) -> Array:
    """(6,) the inertia of simplices with one corner at the origin, or of triangles. It follows from the sum of the
    products of their corners, x_i x_j (1 + [i = j]), times weights (f,)."""
    whole = corners.sum(axis=1)
    P = np.einsum("f,fci,fcj->ij", weights, corners, corners) + np.einsum("f,fi,fj->ij", weights, whole, whole)
    xx, yy, zz = np.diag(P)
    return np.array([yy + zz, xx + zz, xx + yy, -P[0, 1], -P[0, 2], -P[1, 2]])


CONDIMS = (1, 3, 4, 6)  # none, sliding, torsional and rolling friction

TYPES = ("plane", "hfield", "mesh", "sdf", *SOLIDS)
FIRST_HIDDEN_GROUP = 3  # MuJoCo shows geoms of groups 0 to 2 unless another choice is made
DEFAULT_DENSITY = 1000.0  # [kg/m^3] of a geom that gives none
QUIET = ("class", "user", "gap", "fitscale", "hfield")


@dataclass(frozen=True)
class Geom:
    """A geom: its type, its sizes as MJCF counts them, its pose in its body, and the function of its inertia. `weighs`:
    it has a mass. `contype`, `conaffinity`, `priority`, `condim` the coefficient of sliding friction, `margin`,
    `softness` and its weight `mix`: of its contacts."""

    element: Element
    name: str
    body: str
    type: str
    sizes: tuple[float, ...]
    place: Place
    weight: Callable[[], Inertia]
    weighs: bool
    contype: int
    conaffinity: int
    friction: float
    priority: int
    condim: int
    margin: float
    softness: Softness
    mix: float
    group: int
    color: tuple[float, ...] | None
    material: str
    mesh: str
    mesh_name: str

    @property
    def touches(self) -> bool:
        """Whether it collides with other geoms."""
        return bool(self.contype or self.conaffinity)

    def shape(self) -> Shape | None:
        """The shape of a body; None for a type that shapes of bodies do not have."""
        if self.type not in HALVED and self.type != "mesh":
            return None
        sizes = (1.0, 1.0, 1.0) if self.type == "mesh" else whole_sizes(self.type, self.sizes)
        return Shape(
            self.type,
            sizes,
            self.place.position,  # type: ignore[arg-type]
            self.place.orientation,  # type: ignore[arg-type]
            purpose="collision" if self.touches else "hidden" if self.group >= FIRST_HIDDEN_GROUP else "visual",
            file=self.mesh,
            name=self.name,
            color=self.color,  # type: ignore[arg-type]
            material=self.material,
        )


def read_condim(values: Values, default: int) -> int:
    """The directions of a contact's force; ModelError for a number that is none of MuJoCo's."""
    condim = values.number("condim", default)
    if condim not in CONDIMS:
        complain(values.element, f"condim is 1, 3, 4 or 6, not {condim:g}")
    return int(condim)


def read_geom(
    element: Element, document: Document, meshes: Meshes, body: str, outer: Place, childclass: str | None
) -> Geom:
    """A geom of a body; ModelError with its line for impossible sizes."""
    values = document.values(element, childclass)
    geom_type = values.word("type", TYPES, "sphere")
    if geom_type in SOLIDS and values.has("mesh"):
        complain(element, f"a {geom_type} fitted to a mesh is not supported, as the mesh's file is not opened")
    place = outer.holds(place_of(values, document.compiler, ends=True))
    sizes = _sizes(values, geom_type)
    weighs = geom_type not in ("plane", "hfield")
    weighs &= values.number("mass", values.number("density", DEFAULT_DENSITY)) > 0
    contype, conaffinity = (_mask(values, key) for key in ("contype", "conaffinity"))
    geom = Geom(
        element,
        values.text("name", ""),
        body,
        geom_type,
        sizes,
        place,
        _weight(values, geom_type, sizes, place, meshes),
        weighs,
        contype,
        conaffinity,
        values.numbers("friction", 1, 3, (1.0,))[0],
        int(values.number("priority", 0.0)),
        read_condim(values, 3),
        values.number("margin", 0.0),
        read_softness(values),
        values.number("solmix", 1.0),
        int(values.number("group", 0.0)),
        values.vector("rgba", (0.5, 0.5, 0.5, 1.0)) if values.has("rgba") else None,
        values.text("material", ""),
        meshes.file(values.text("mesh", "")) if geom_type == "mesh" else values.text("mesh", ""),
        values.text("mesh", ""),
    )
    document.finish(values, *QUIET)
    return geom


def _mask(values: Values, key: str) -> int:
    """A mask of 32 bits."""
    return int(values.number(key, 1.0)) & 0xFFFFFFFF


def _sizes(values: Values, geom_type: str) -> tuple[float, ...]:
    """The sizes of a type of geom; those of one between two points are its radius and half their distance."""
    given = values.numbers("size", 1, 3, (0.0,))
    if geom_type not in SOLIDS:
        return given
    count = SOLIDS[geom_type][0]
    if values.has("fromto"):
        a, b = values.vector("fromto", (0.0,) * 6)[:3], values.vector("fromto", (0.0,) * 6)[3:]
        half = sum((u - v) ** 2 for u, v in zip(a, b, strict=True)) ** 0.5 / 2
        given = (given[0], half) if count == 2 else (given[0], given[0], half)
    if geom_type == "sphere" and values.has("fromto"):
        complain(values.element, "a sphere has no fromto")
    if len(given) < count or min(given[:count]) <= 0:
        complain(values.element, f"the size of a {geom_type} must be {count} positive numbers, not {given}")
    return given[:count]


def _weight(
    values: Values, geom_type: str, sizes: tuple[float, ...], place: Place, meshes: Meshes
) -> Callable[[], Inertia]:
    """The function of a geom's inertia. Files of meshes are opened only when it is called."""
    mass = values.number("mass") if values.has("mass") else None
    density = values.number("density", DEFAULT_DENSITY)
    if (mass is not None and mass < 0) or density < 0:
        complain(values.element, "mass and density must not be negative")
    if mass == 0.0 or (mass is None and density == 0.0) or geom_type in ("plane", "hfield"):
        return lambda: WEIGHTLESS
    if geom_type in SOLIDS:
        found = solid(geom_type, sizes, place, mass, density)
        return lambda: found
    if geom_type != "mesh":
        return lambda: complain(values.element, f"the mass of a {geom_type} is not known: give the body an <inertial>")
    name = values.text("mesh")
    return lambda: meshes.inertia(values.element, name, mass, density, place)
