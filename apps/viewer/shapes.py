"""Triangles: limbs, tubes, surfaces that muscles wrap, and the shapes of a model's bodies."""

from functools import singledispatch
from pathlib import Path

import numpy as np

from myoquat.core.typing import Array
from myoquat.data.meshes import MESH_FILES, Mesh, fans, read_mesh
from myoquat.joints.multibody.shapes import Shape
from myoquat.muscle.wrapping import Wrap, WrapCylinder, WrapEllipsoid, WrapSphere, WrapTorus

__all__ = ["find_mesh", "limb", "shape_mesh", "sphere", "surface", "tube"]

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


@singledispatch
def surface(wrap: Wrap, size: float) -> Mesh:
    """A surface that muscles wrap, in its own frame; a cylinder without end is drawn `size` [m] long."""
    raise TypeError(f"the viewer has no shape for a {wrap.kind}")


@surface.register
def _(wrap: WrapSphere, size: float) -> Mesh:
    return sphere((wrap.radius,) * 3)


@surface.register
def _(wrap: WrapEllipsoid, size: float) -> Mesh:
    return sphere(wrap.radii)


@surface.register
def _(wrap: WrapCylinder, size: float) -> Mesh:
    half = (wrap.length if np.isfinite(wrap.length) else size) / 2
    return _turned(np.array([-half, half]), np.full(2, wrap.radius))


@surface.register
def _(wrap: WrapTorus, size: float) -> Mesh:
    angle = np.linspace(0, 2 * np.pi, SIDES + 1)
    return _turned(-wrap.tube_radius * np.sin(angle), wrap.ring_radius - wrap.tube_radius * np.cos(angle))


def shape_mesh(shape: Shape, folders: tuple[Path, ...]) -> Mesh | None:
    """A shape of a body in its own frame. None for a mesh whose file is in none of the folders, or of a format that is
    not read."""
    sizes = shape.sizes
    if shape.kind == "mesh":
        found = find_mesh(shape.file, folders)
        if found is None or found.suffix.lower() not in MESH_FILES:
            return None
        mesh = read_mesh(found)
        return Mesh(mesh.vertices * np.array(sizes or (1.0, 1.0, 1.0)), mesh.faces)
    if shape.kind == "sphere":
        return sphere((sizes[0],) * 3)
    if shape.kind == "ellipsoid":
        return sphere((sizes[0], sizes[1], sizes[2]))
    if shape.kind == "box":
        return _box(np.array(sizes))
    half = sizes[1] / 2
    if shape.kind == "cylinder":
        return _turned(np.array([-half, -half, half, half]), sizes[0] * np.array([0.0, 1, 1, 0]))
    angle = np.linspace(-np.pi / 2, np.pi / 2, 12)
    ends = np.where(angle < 0, -half, half)
    return _turned(ends + sizes[0] * np.sin(angle), sizes[0] * np.cos(angle))


def find_mesh(name: str, folders: tuple[Path, ...]) -> Path | None:
    """A geometry file by its name in a model file: as it stands, or its last part in one of the folders. Its format
    may be one that is not read."""
    plain = name.removeprefix("package://").removeprefix("file://").replace("\\", "/")
    candidates = [folder / part for folder in folders for part in (plain, Path(plain).name)]
    return next((path for path in candidates if path.is_file()), None)


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
    return Mesh(corners, fans(np.array(sides).ravel(), np.arange(0, 4 * len(sides), 4)))
