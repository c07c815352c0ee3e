"""Triangles in files of a model's geometry: .vtp, .stl, .obj and .msh."""

from array import array
from collections.abc import Iterator
from math import isfinite
from pathlib import Path

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints import ModelError
from myoquat.joints.errors import errors_in

from .files import read_bytes, read_lines
from .xml import Element, parse

MESH_FILES = (".vtp", ".stl", ".obj", ".msh")
MAX_BYTES = 128 * 2**20  # a scanned skeleton stays below


@frozen
class Mesh:
    """vertices (v, 3) [m], faces (f, 3) numbers of vertices, counter-clockwise from outside."""

    vertices: Array
    faces: Array


def read_mesh(path: Path) -> Mesh:
    """The triangles of a .vtp, .stl, .obj or .msh file; ModelError, with the file and mostly a line, for one that
    cannot be read."""
    readers = {".vtp": _vtp, ".stl": _stl, ".obj": _obj, ".msh": _msh}
    with errors_in(path):
        mesh = readers[path.suffix.lower()](path)
        if not np.isfinite(mesh.vertices).all():
            raise ModelError("a vertex is not finite")
    return mesh


def _vtp(path: Path) -> Mesh:
    """VTK's PolyData with numbers as text, as OpenSim's geometry is written."""
    root = parse(path, limit=MAX_BYTES)
    piece = root.find("PolyData/Piece")

    def refused(message: str, element: Element | None = None) -> ModelError:
        return ModelError(message, line=(root if element is None else element).sourceline)

    def numbers(where: str) -> tuple[Array, Element]:
        element = None if piece is None else piece.find(where)
        if element is None:
            raise refused(f"no geometry: <PolyData> has no <Piece> with {where}")
        if element.get("format", "ascii") != "ascii":
            raise refused("its numbers are binary; save it as text", element)
        try:
            found = np.array((element.text or "").split(), dtype=float)
        except ValueError:
            found = np.full(1, np.nan)
        if not np.isfinite(found).all():
            raise refused("a word is no finite number", element)
        return found, element

    points, element = numbers("Points/DataArray")
    if points.size % 3:
        raise refused(f"{points.size} numbers are not the x, y and z of points", element)
    corners, element = numbers("Polys/DataArray[@Name='connectivity']")
    if not _are_indices(corners, points.size // 3):
        raise refused("a face names a vertex that is not there", element)
    ends, element = numbers("Polys/DataArray[@Name='offsets']")
    if not _are_indices(ends, len(corners) + 1) or np.any(np.diff(ends) < 0):
        raise refused("the offsets of polygons do not increase up to their corners", element)
    corners, ends = corners.astype(int), ends.astype(int)
    return Mesh(points.reshape(-1, 3), fans(corners[: ends[-1]] if len(ends) else corners[:0], np.append(0, ends[:-1])))


def _are_indices(values: Array, count: int) -> bool:
    """Whether all values are whole numbers from 0 on, below a count."""
    return bool(((values >= 0) & (values < count) & (values == np.floor(values))).all())


def _obj(path: Path) -> Mesh:
    """Faces of vertices; all else is passed over."""
    vertices, corners, starts = array("d"), array("q"), array("q")
    for line, words in _words(path):
        if words[0] == "v":
            vertices.extend(_point(line, words))
        elif words[0] == "f":
            starts.append(len(corners))
            known = len(vertices) // 3
            try:  # numbers of vertices, counted from the last one if negative
                numbers = [int(word.partition("/")[0]) for word in words[1:]]
            except ValueError:
                raise ModelError("a face is numbers of vertices", line=line) from None
            numbers = [c - 1 if c > 0 else known + c for c in numbers]
            if numbers and not (min(numbers) >= 0 and max(numbers) < known):
                raise ModelError("a face names a vertex that is not there", line=line)
            corners.extend(numbers)
    return Mesh(np.array(vertices).reshape(-1, 3), fans(np.array(corners, dtype=int), np.array(starts, dtype=int)))


def _words(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Number and words of each line that has some."""
    for line, text in read_lines(path, MAX_BYTES):
        if words := text.split():
            yield line, words


def _point(line: int, words: list[str]) -> list[float]:
    """The three numbers after the first word."""
    try:
        x, y, z = map(float, words[1:4])
    except ValueError:
        x = y = z = np.nan
    if not all(map(isfinite, (x, y, z))):
        raise ModelError(f"three finite numbers are needed after {words[0]!r}", line=line)
    return [x, y, z]


def _stl(path: Path) -> Mesh:
    """Records of triangles, or a text with three vertices for each."""
    data = read_bytes(path, MAX_BYTES)
    count = int.from_bytes(data[80:84], "little")
    if len(data) >= 84 and len(data) == 84 + 50 * count:
        record = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
        corners = np.frombuffer(data, record, count, 84)["corners"].reshape(-1, 3).astype(float)
    else:
        last, points = 1, array("d")
        for line, words in _words(path):
            if words[0] == "vertex":
                last = line
                points.extend(_point(line, words))
        vertices = len(points) // 3
        if vertices % 3 or not vertices:
            raise ModelError(f"no geometry: {vertices} vertices are not three for each face", line=last)
        corners = np.array(points).reshape(-1, 3)
    return Mesh(corners, np.arange(len(corners)).reshape(-1, 3))


def _msh(path: Path) -> Mesh:
    """MuJoCo's binary format: four counts, then vertices, normals, points of textures, and faces."""
    data = read_bytes(path, MAX_BYTES)
    size = len(data)
    counts = [int.from_bytes(data[4 * k : 4 * k + 4], "little", signed=True) for k in range(4)]
    vertices, normals, points, faces = counts
    if size < 16 or min(counts) < 0 or size != 16 + 4 * (3 * vertices + 3 * normals + 2 * points + 3 * faces):
        raise ModelError(f"no mesh of MuJoCo: its {size} bytes are not those of its counts")
    found = np.frombuffer(data, "<f4", 3 * vertices, 16).reshape(-1, 3).astype(float)
    corners = np.frombuffer(data, "<i4", 3 * faces, size - 12 * faces).reshape(-1, 3)
    if not _are_indices(corners.ravel(), vertices):
        raise ModelError("a face names a vertex that is not there")
    return Mesh(found, corners.astype(int))


def fans(corners: Array, starts: Array) -> Array:
    """(f, 3) polygons as triangles around their first corners: corners (c,) of all, and where each polygon starts."""
    sizes = np.diff(np.append(starts, len(corners)))
    triangles = np.maximum(sizes - 2, 0)
    first = np.repeat(starts, triangles)
    before = np.repeat(np.cumsum(triangles) - triangles, triangles)
    second = first + np.arange(len(first)) - before + 1
    return np.stack([corners[first], corners[second], corners[second + 1]], axis=-1).astype(int)
