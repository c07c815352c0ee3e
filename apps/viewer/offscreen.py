"""Pictures and films of a model without a browser: triangles drawn from far to near.

The camera, colours and shapes are the viewer's. A picture is a list of triangles in space with flat shading, sorted by
their distance (painter's algorithm) and filled by matplotlib.
"""

import importlib
from typing import Any

import numpy as np

from myoquat.core import Array
from myoquat.data.meshes import Mesh
from myoquat.joints.quaternion import rotation_matrix

from .scene import (
    ARROW,
    BONE,
    FIELD,
    GHOST,
    Frame,
    Look,
    Scene,
    arrow,
    camera_of,
    floor_lines,
    shades,
    spread,
    tube,
    tubes,
)

DPI = 100
PARTS_PER_PIECE = 6  # of a straight piece of a muscle: short parts are sorted correctly among bones
SHORT_PIECE = 0.02  # of the scene: pieces of arcs, which are short enough as they are
EDGE_LIGHTNESS = 0.42  # of a triangle that is seen from its edge
SHOWN_POSES = 40  # of a motion: all of them are within the frame
MARGIN = 1.12  # of the frame around the figure
Triangles = tuple[Array, Array]  # corners (n, 3, 3) [m] and colours (n, 4)


class Painter:
    """Pictures of a scene, with the model's markers or without; `poses` q (t, nq) are all within the frame."""

    def __init__(
        self, scene: Scene, width: int, height: int, poses: Array | None = None, name: str = "", markers: bool = False
    ) -> None:
        self._parts = [*scene.bones, *(scene.marker_balls if markers else ()), *scene.ghosts]
        self.scene, self.size = scene, (width, height)
        seen = scene.points_at(scene.q[None] if poses is None else spread(poses, SHOWN_POSES), self._parts)
        points = np.concatenate([seen, scene.points])
        self.eye, middle = camera_of(points, scene.up, min(width / height, 1.0) / MARGIN)
        self.toward = _unit(self.eye - middle)
        self.right = _unit(np.cross(scene.up, self.toward))
        self.above = np.cross(self.toward, self.right)
        self.light = _unit(self.toward + 0.5 * self.above - 0.4 * self.right)
        figures, agg, collections = (
            importlib.import_module(f"matplotlib.{name}") for name in ("figure", "backends.backend_agg", "collections")
        )
        figure = figures.Figure(figsize=(width / DPI, height / DPI), dpi=DPI, facecolor="white")
        self.canvas = agg.FigureCanvasAgg(figure)
        axes: Any = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set(xlim=(-width / height, width / height), ylim=(-1.0, 1.0))
        axes.set_axis_off()
        lines, colors = floor_lines(scene)
        ends = self._seen(lines)
        good = (ends[..., 2] > 0.01 * scene.size).all(axis=1)
        floor = collections.LineCollection(
            ends[good, :, :2], colors=(0.55 + 0.45 * colors[good, 0] / 255), linewidths=0.6, zorder=0
        )
        axes.add_collection(floor)
        self.clock = axes.text(0.02, 0.03, "", transform=axes.transAxes, fontsize=11, color="0.25", animated=True)
        axes.text(0.98, 0.03, name, transform=axes.transAxes, fontsize=9, color="0.4", ha="right")
        self.canvas.draw()
        self.floor = self.canvas.copy_from_bbox(figure.bbox)

    def _seen(self, points: Array) -> Array:
        """(..., 3) positions in the picture, from -1 to 1 upwards, and distances [m], of points (..., 3) [m]."""
        from_eye = points - self.eye
        far = -(from_eye @ self.toward)
        scale = 1.0 / (np.maximum(far, 1e-6) * np.tan(FIELD / 2))
        return np.stack([from_eye @ self.right * scale, from_eye @ self.above * scale, far], axis=-1)

    def picture(self, look: Look, clock: str = "") -> Array:
        """(height, width, 3) the pixels of a look."""
        parts = [NOTHING, *self._bones(look.frame, BONE, 1.0), *self._muscles(look), *self._arrows(look)]
        if look.ghost is not None:
            parts += self._bones(look.ghost, GHOST, 0.45)
        corners, colors = (np.concatenate(x) for x in zip(*parts, strict=True))
        normal = _unit(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]))
        colors[:, :3] *= EDGE_LIGHTNESS + (1 - EDGE_LIGHTNESS) * np.abs(normal @ self.light)[:, None]
        seen = self._seen(corners)
        order = np.argsort(-seen[..., 2].mean(axis=1), kind="stable")
        self.canvas.restore_region(self.floor)
        renderer, axes = self.canvas.get_renderer(), self.clock.axes
        # matplotlib draws these triangles half a pixel larger, so that nothing shines through between neighbours
        rgba = np.broadcast_to(colors[order, None], (len(order), 3, 4))
        renderer.draw_gouraud_triangles(renderer.new_gc(), seen[order, :, :2], rgba, axes.transData)
        self.clock.set_text(clock)
        axes.draw_artist(self.clock)
        return np.array(self.canvas.buffer_rgba())[..., :3]

    def _bones(self, frame: Frame, color: tuple[int, ...], opacity: float) -> list[Triangles]:
        """The parts of the bodies."""
        found = []
        for part in self._parts:
            Q, p = frame.bodies.get(part.body, (np.array([1.0, 0, 0, 0]), np.zeros(3)))
            rgba = np.append(np.array(part.color or color) / 255, opacity * part.opacity)
            found.append(_copies(Mesh(part.vertices, part.mesh.faces), Q[None], p[None], rgba[None]))
        return found

    def _muscles(self, look: Look) -> list[Triangles]:
        """A tube around every piece of a muscle."""
        (middle, Q, length), scene = look.frame.pieces, self.scene
        short, scales = length < SHORT_PIECE * scene.size, scene.scales(look)
        rgba = np.insert(shades(look.values, look.high)[scene.owner] / 255, 3, 1.0, axis=1)
        return [
            _copies(tube(parts), Q[chosen], middle[chosen], rgba[chosen], scales[chosen])
            for parts, chosen in ((PARTS_PER_PIECE, ~short), (1, short & (length > 0)))
        ]

    def _arrows(self, look: Look) -> list[Triangles]:
        """The loads."""
        found, rgba = [], np.append(np.array(ARROW) / 255, 1.0)
        for start, tip in () if look.arrows is None else look.arrows:
            _, Q, length = tubes(start, tip)
            found.append(_copies(arrow(float(length), self.scene.size), Q[None], start[None], rgba[None]))
        return found


def _copies(mesh: Mesh, Q: Array, p: Array, rgba: Array, scales: Array | None = None) -> Triangles:
    """The triangles of copies of a mesh: their unit quaternions (n, 4), positions (n, 3), colours (n, 4), and sizes
    (n, 3) along the axes of the mesh."""
    vertices = mesh.vertices if scales is None else mesh.vertices * scales[:, None]
    world = vertices @ rotation_matrix(Q).mT + p[:, None]
    return world[:, mesh.faces].reshape(-1, 3, 3), np.repeat(rgba, len(mesh.faces), axis=0)


NOTHING: Triangles = np.zeros((0, 3, 3)), np.zeros((0, 4))


def _unit(v: Array) -> Array:
    """Vectors (..., n) of length one; zero where they are."""
    size = np.linalg.norm(v, axis=-1, keepdims=True)
    return np.divide(v, size, out=np.zeros_like(v), where=size > 0)
