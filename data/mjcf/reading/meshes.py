"""Meshes that weigh: mass, centre of mass and inertia of their triangles, as MuJoCo's compiler computes them."""

from collections.abc import Callable
from dataclasses import field
from pathlib import Path

import numpy as np

from myoquat.core.lazy_imports import scipy
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.data.meshes import MESH_FILES, Mesh, read_mesh
from myoquat.data.mjcf.reading.frames import Place, unit
from myoquat.data.mjcf.reading.inertias import Inertia
from myoquat.data.mjcf.reading.values import Values
from myoquat.data.xml import Element, complain
from myoquat.joints.errors import ModelError
from myoquat.joints.quaternion import rotation_matrix
from myoquat.joints.vectors import congruent

__all__ = ["Meshes"]

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
