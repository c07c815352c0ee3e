"""Triangles: limbs, tubes, surfaces that muscles wrap, and the files of a model's geometry."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from myoquat.data.files import read_start, read_text
from myoquat.data.xml import Element, finite_numbers, parse
from myoquat.joints.errors import ModelError
from myoquat.joints.shapes import Shape
from myoquat.kernels.typing import Array
from myoquat.muscle.wrapping import Wrap, WrapCylinder, WrapEllipsoid, WrapSphere, WrapTorus

__all__ = ["MESH_FILES", "Mesh", "limb", "read_mesh", "shape_mesh", "sphere", "surface", "tube"]

MESH_FILES = (".vtp", ".stl", ".obj")
MAX_BYTES = 256 * 2**20  # a scanned skeleton stays below
SIDES = 12  # without a GPU, a triangle takes microseconds
LIMB: tuple[tuple[float, float], ...] = (
    (0.0, 0.0),
    (0.01, 0.6),
    (0.05, 1.0),
    (0.14, 0.8),
    (0.3, 0.55),
    (0.7, 0.5),
    (0.86, 0.75),
    (0.95, 0.95),
)
LIMB += ((0.99, 0.55), (1.0, 0.0))  # height and radius along a long bone: knobs at its ends


@dataclass(frozen=True)
class Mesh:
    """vertices (v, 3) [m], faces (f, 3) numbers of vertices, counter-clockwise from outside."""

    vertices: Array
    faces: Array


def limb(length: float, radius: float) -> Mesh:
    """A shape like a long bone along z, from 0 to `length`."""
    height, width = np.array(LIMB).T
    return _turned(height * length, width * radius)


def tube() -> Mesh:
    """A cylinder of radius one and length one about z, in the middle of its axis, with rounded ends."""
    height = np.array([-0.5, -0.5, 0.5, 0.5])
    return _turned(height, np.array([0.0, 1.0, 1.0, 0.0]), sides=6)


def sphere(radii: tuple[float, float, float] = (1.0, 1.0, 1.0)) -> Mesh:
    """An ellipsoid about the origin."""
    angle = np.linspace(0, np.pi, 11)
    ball = _turned(-np.cos(angle), np.sin(angle))
    return Mesh(ball.vertices * np.array(radii), ball.faces)


def surface(wrap: Wrap, size: float) -> Mesh:
    """A surface that muscles wrap, in its own frame; a cylinder without end is drawn `size` [m] long."""
    if isinstance(wrap, WrapSphere):
        return sphere((wrap.radius,) * 3)
    if isinstance(wrap, WrapEllipsoid):
        return sphere(wrap.radii)
    if isinstance(wrap, WrapCylinder):
        half = (wrap.length if np.isfinite(wrap.length) else size) / 2
        return _turned(np.array([-half, half]), np.full(2, wrap.radius))
    if isinstance(wrap, WrapTorus):
        angle = np.linspace(0, 2 * np.pi, SIDES + 1)
        return _turned(-wrap.tube_radius * np.sin(angle), wrap.ring_radius - wrap.tube_radius * np.cos(angle))
    raise TypeError(f"the viewer has no shape for a {wrap.kind}")


def shape_mesh(shape: Shape, folders: tuple[Path, ...]) -> Mesh | None:
    """A shape of a body in its own frame; None for a mesh whose file is in none of the folders."""
    sizes = shape.sizes
    if shape.kind == "mesh":
        found = find_mesh(shape.file, folders)
        if found is None:
            return None
        mesh = read_mesh(found)
        return Mesh(mesh.vertices * np.array(sizes or (1.0, 1.0, 1.0)), mesh.faces)
    if shape.kind == "sphere":
        return sphere((sizes[0],) * 3)
    if shape.kind == "box":
        return _box(np.array(sizes))
    half = sizes[1] / 2
    if shape.kind == "cylinder":
        return _turned(np.array([-half, -half, half, half]), sizes[0] * np.array([0.0, 1, 1, 0]))
    angle = np.linspace(-np.pi / 2, np.pi / 2, 12)
    ends = np.where(angle < 0, -half, half)
    return _turned(ends + sizes[0] * np.sin(angle), sizes[0] * np.cos(angle))


def find_mesh(name: str, folders: tuple[Path, ...]) -> Path | None:
    """A geometry file by its name in a model file: as it stands, or its last part in one of the folders."""
    plain = name.removeprefix("package://").removeprefix("file://").replace("\\", "/")
    candidates = [folder / part for folder in folders for part in (plain, Path(plain).name)]
    return next((path for path in candidates if path.is_file() and path.suffix.lower() in MESH_FILES), None)


def read_mesh(path: Path) -> Mesh:
    """The triangles of a .vtp, .stl or .obj file; ModelError, with the file and mostly a line, for one that cannot be
    read."""
    readers = {".vtp": _vtp, ".stl": _stl, ".obj": _obj}
    mesh = readers[path.suffix.lower()](path)
    if not np.isfinite(mesh.vertices).all():
        raise ModelError("a vertex is not finite", file=path)
    return mesh


def _vtp(path: Path) -> Mesh:
    """VTK's PolyData with numbers as text, as OpenSim's geometry is written."""
    root = parse(path, limit=MAX_BYTES)
    piece = root.find("PolyData/Piece")

    def refused(message: str, array: Element | None = None) -> ModelError:
        return ModelError(message, file=path, line=(root if array is None else array).sourceline)

    def numbers(where: str) -> tuple[Array, Element]:
        array = None if piece is None else piece.find(where)
        if array is None:
            raise refused(f"no geometry: <PolyData> has no <Piece> with {where}")
        if array.get("format", "ascii") != "ascii":
            raise refused("its numbers are binary; save it as text", array)
        found = finite_numbers(array.text or "")
        if found is None:
            raise refused("a word is no finite number", array)
        return np.array(found), array

    points, array = numbers("Points/DataArray")
    if points.size % 3:
        raise refused(f"{points.size} numbers are not the x, y and z of points", array)
    corners, array = numbers("Polys/DataArray[@Name='connectivity']")
    if not np.isin(corners, np.arange(points.size // 3)).all():
        raise refused("a face names a vertex that is not there", array)
    ends, array = numbers("Polys/DataArray[@Name='offsets']")
    if not np.isin(ends, np.arange(len(corners) + 1)).all() or np.any(np.diff(ends) < 0):
        raise refused("the offsets of polygons do not increase up to their corners", array)
    polygons = np.split(corners.astype(int), ends[:-1].astype(int)) if len(ends) else []
    return Mesh(points.reshape(-1, 3), _fans(polygons))


def _obj(path: Path) -> Mesh:
    vertices: list[list[float]] = []
    polygons = []
    for line, words in _words(path):
        if words[0] == "v":
            vertices.append(_point(path, line, words))
        elif words[0] == "f":
            polygons.append(_corners(path, line, words, len(vertices)))
    return Mesh(np.array(vertices).reshape(-1, 3), _fans(polygons))


def _words(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Number and words of each line that has some."""
    for line, text in enumerate(read_text(path, MAX_BYTES).splitlines(), start=1):
        if words := text.split():
            yield line, words


def _point(path: Path, line: int, words: list[str]) -> list[float]:
    numbers = finite_numbers(" ".join(words[1:4]))
    if numbers is None or len(numbers) != 3:
        raise ModelError(f"three numbers are needed after {words[0]!r}", file=path, line=line)
    return list(numbers)


def _corners(path: Path, line: int, words: list[str], known: int) -> Array:
    """The numbers of vertices of a face, counted from the last one if negative."""
    try:
        corners = [int(word.split("/")[0]) for word in words[1:]]
    except ValueError:
        raise ModelError("a face is numbers of vertices", file=path, line=line) from None
    corners = [c - 1 if c > 0 else known + c for c in corners]
    if not all(0 <= c < known for c in corners):
        raise ModelError("a face names a vertex that is not there", file=path, line=line)
    return np.array(corners, dtype=int)


def _stl(path: Path) -> Mesh:
    data, size = read_start(path, MAX_BYTES, MAX_BYTES)
    count = int.from_bytes(data[80:84], "little")
    if size >= 84 and size == 84 + 50 * count:
        kind = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
        corners = np.frombuffer(data, kind, count, 84)["corners"].reshape(-1, 3).astype(float)
    else:
        corners = _vertices(path)
    return Mesh(corners, np.arange(len(corners)).reshape(-1, 3))


def _vertices(path: Path) -> Array:
    """The vertices in a text, three for each face."""
    last, points = 1, []
    for line, words in _words(path):
        if words[0] == "vertex":
            last = line
            points.append(_point(path, line, words))
    if len(points) % 3 or not points:
        raise ModelError(f"no geometry: {len(points)} vertices are not three for each face", file=path, line=last)
    return np.array(points)


def _fans(polygons: list[Array]) -> Array:
    """Polygons as triangles around their first corners."""
    fans = [np.stack([np.full(len(p) - 2, p[0]), p[1:-1], p[2:]], axis=-1) for p in polygons if len(p) > 2]
    return np.concatenate(fans) if fans else np.zeros((0, 3), dtype=int)


def _turned(height: Array, radius: Array, sides: int = SIDES) -> Mesh:
    """The surface that a line of heights and radii sweeps about z."""
    angle = np.linspace(0, 2 * np.pi, sides, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    flat = radius[:, None, None] * ring
    vertices = np.concatenate([flat, np.broadcast_to(height[:, None, None], (*flat.shape[:2], 1))], axis=-1)
    here = np.arange(sides)
    there = (here + 1) % sides
    faces = []
    for row in range(len(height) - 1):
        a, b = row * sides, (row + 1) * sides
        if radius[row] > 0:  # a triangle with no area takes as long to draw as any other
            faces.append(np.stack([a + here, a + there, b + there], -1))
        if radius[row + 1] > 0:
            faces.append(np.stack([a + here, b + there, b + here], -1))
    return Mesh(vertices.reshape(-1, 3), np.concatenate(faces))


def _box(size: Array) -> Mesh:
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]) * size
    sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return Mesh(corners, _fans([np.array(side) for side in sides]))
