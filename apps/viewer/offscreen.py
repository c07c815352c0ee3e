"""Pictures and films of a model without a browser: triangles and muscles drawn from far to near.

The camera, colours and shapes are the viewer's. A picture is a list of polygons with flat shading, sorted by their
distance (painter's algorithm) and filled by matplotlib.
"""

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from myoquat.core import Array
from myoquat.joints.quaternion import rotation_matrix

from .scene import ARROW, BONE, FIELD, GHOST, Frame, Look, Scene, camera_of, floor_lines, shades, spread, widths

DPI = 100
PARTS_PER_PIECE = 6  # of a straight piece of a muscle: short parts are sorted correctly among bones
SHORT_PIECE = 0.02  # of the scene: pieces of arcs, which are short enough as they are
STRIPS = ((-1.0, -0.45, 0.62), (-0.45, 0.3, 0.95), (0.3, 1.0, 0.74))  # across a muscle: from, to, lightness
EDGE_LIGHTNESS = 0.42  # of a triangle that is seen from its edge
SHOWN_POSES = 40  # of a motion: all of them are within the frame
SEAM_PIXELS = 0.35  # by which neighbours overlap
MARGIN = 1.12  # of the frame around the figure
Polygons = tuple[Array, Array, Array]  # corners (n, 4, 2), colours (n, 4), distances (n,)


class Painter:
    """Pictures of a scene, with the model's markers or without; `poses` q (t, nq) are all within the frame."""

    def __init__(
        self, scene: Scene, width: int, height: int, poses: Array | None = None, name: str = "", markers: bool = False
    ) -> None:
        self._parts = [*scene.bones, *(scene.marker_balls if markers else ()), *scene.ghosts]
        self.scene, self.size = scene, (width, height)
        seen = scene.points_at(scene.q[None] if poses is None else spread(poses, SHOWN_POSES), self._parts)
        points = np.concatenate([seen, scene.points])
        self.eye, self.middle = camera_of(points, scene.up, min(width / height, 1.0) / MARGIN)
        toward = self.eye - self.middle
        self.toward = toward / np.linalg.norm(toward)
        right = np.cross(scene.up, self.toward)
        self.right = right / np.linalg.norm(right)
        self.above = np.cross(self.toward, self.right)
        light = self.toward + 0.5 * self.above - 0.4 * self.right
        self.light = light / np.linalg.norm(light)
        self.owner = np.repeat(np.arange(len(scene.lines)), [len(line) - 1 for line in scene.lines])
        figures, agg, collections = (
            importlib.import_module(f"matplotlib.{name}") for name in ("figure", "backends.backend_agg", "collections")
        )
        figure = figures.Figure(figsize=(width / DPI, height / DPI), dpi=DPI, facecolor="white")
        self.canvas = agg.FigureCanvasAgg(figure)
        axes: Any = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set(xlim=(-width / height, width / height), ylim=(-1.0, 1.0))
        axes.set_axis_off()
        lines, colors = floor_lines(scene)
        ends = self._seen(lines.reshape(-1, 3))
        good = (ends[:, 2].reshape(-1, 2) > 0.01 * scene.size).all(axis=1)
        floor = collections.LineCollection(
            ends[:, :2].reshape(-1, 2, 2)[good], colors=(0.55 + 0.45 * colors[good, 0] / 255), linewidths=0.6, zorder=0
        )
        axes.add_collection(floor)
        self.polygons = collections.PathCollection([], linewidths=0, zorder=1)
        self._vertices, self._paths = np.zeros((0, 5, 2)), list[Any]()
        axes.add_collection(self.polygons)
        self.clock = axes.text(0.02, 0.03, "", transform=axes.transAxes, fontsize=11, color="0.25")
        axes.text(0.98, 0.03, name, transform=axes.transAxes, fontsize=9, color="0.4", ha="right")

    def _seen(self, points: Array) -> Array:
        """(n, 3) positions in the picture, from -1 to 1 upwards, and distances [m], of points (n, 3) [m]."""
        from_eye = points - self.eye
        far = -(from_eye @ self.toward)
        scale = 1.0 / (np.maximum(far, 1e-6) * np.tan(FIELD / 2))
        return np.stack([from_eye @ self.right * scale, from_eye @ self.above * scale, far], axis=-1)

    def picture(self, look: Look, clock: str = "") -> Array:
        """(height, width, 3) the pixels of a look."""
        parts = [self._bones(look.frame, BONE, 1.0), self._muscles(look)]
        if look.ghost is not None:
            parts.append(self._bones(look.ghost, GHOST, 0.45))
        if look.arrows is not None:
            parts.append(self._arrows(look.arrows))
        corners, colors, far = _joined(parts)
        order = np.argsort(-far, kind="stable")
        # the paths of one picture serve the next, because their vertices are one array
        count = len(corners)
        if count > len(self._paths):
            path = importlib.import_module("matplotlib.path").Path
            codes = [path.MOVETO, *[path.LINETO] * 3, path.CLOSEPOLY]
            self._vertices = np.zeros((count, 5, 2))
            self._paths = [path(vertices, codes) for vertices in self._vertices]
        self._vertices[:count, :4] = self._grown(corners[order])
        self.polygons.set_paths(self._paths[:count])
        self.polygons.set_facecolor(colors[order])
        self.clock.set_text(clock)
        self.canvas.draw()
        return np.array(self.canvas.buffer_rgba())[..., :3]

    def _grown(self, corners: Array) -> Array:
        """Polygons (n, 4, 2) with their edges moved outwards, so that nothing shines through between neighbours. Of
        two corners at one point, each belongs to one edge."""
        _, across, _ = _direction(corners.reshape(-1, 2), np.roll(corners, -1, axis=1).reshape(-1, 2))
        x, y = np.moveaxis(corners, -1, 0)
        turn = np.sign((x * np.roll(y, -1, axis=1) - y * np.roll(x, -1, axis=1)).sum(axis=1))
        after = -turn[:, None, None] * across.reshape(corners.shape)
        before = np.roll(after, 1, axis=1)
        spread = (before + after) / np.maximum(1 + (before * after).sum(axis=-1, keepdims=True), 0.5)
        return corners + 2 * SEAM_PIXELS / self.size[1] * spread

    def _bones(self, frame: Frame, color: tuple[int, int, int], opacity: float) -> Polygons:
        """The triangles of the bodies."""
        found = [NOTHING]
        for part in self._parts:
            Q, p = frame.bodies.get(part.body, (np.array([1.0, 0, 0, 0]), np.zeros(3)))
            world = part.vertices @ rotation_matrix(Q).T + p
            seen, faces = self._seen(world), part.mesh.faces
            normal = np.cross(world[faces[:, 1]] - world[faces[:, 0]], world[faces[:, 2]] - world[faces[:, 0]])
            size = np.linalg.norm(normal, axis=-1)
            lit = np.divide(np.abs(normal @ self.light), size, out=np.ones(len(faces)), where=size > 0)
            rgb = np.array(part.color or color) / 255 * (EDGE_LIGHTNESS + (1 - EDGE_LIGHTNESS) * lit)[:, None]
            alpha = np.full((len(faces), 1), opacity * part.opacity)
            corners = seen[faces][..., :2][:, [0, 1, 2, 2]]
            found.append((corners, np.hstack([rgb, alpha]), seen[faces][..., 2].mean(axis=1)))
        return _joined(found)

    def _muscles(self, look: Look) -> Polygons:
        """Quadrilaterals across the line of sight along every piece of a muscle, lighter in the middle."""
        middle, Q, length = look.frame.pieces
        if not len(middle):
            return NOTHING
        radius = widths(self.scene.radii, look.force)[self.owner]
        half = 0.5 * (length + 0.6 * radius)[:, None] * rotation_matrix(Q)[..., :, 2]
        rgb = shades(look.values, look.high)[self.owner] / 255
        short = length < SHORT_PIECE * self.scene.size
        found = [NOTHING]
        for count, chosen in ((PARTS_PER_PIECE, ~short), (1, short & (length > 0))):
            share = np.linspace(-1.0, 1.0, count + 1)
            knots = middle[chosen, None] + share[:, None] * half[chosen, None]  # (n, count + 1, 3)
            seen = self._seen(knots.reshape(-1, 3)).reshape(*knots.shape)
            _, across, _ = _direction(seen[:, 0, :2], seen[:, -1, :2])
            across *= np.where(across[:, :1] < 0, -1.0, 1.0)  # the light comes from the left
            wide = across[:, None] * (radius[chosen, None] / (seen[..., 2] * np.tan(FIELD / 2)))[..., None]
            far = ((seen[:, :-1, 2] + seen[:, 1:, 2]) / 2 - radius[chosen, None]).ravel()
            for first, last, lightness in STRIPS:
                low, high = seen[..., :2] + first * wide, seen[..., :2] + last * wide
                corners = np.stack([low[:, :-1], low[:, 1:], high[:, 1:], high[:, :-1]], axis=2)
                color = np.repeat(np.hstack([rgb * lightness, np.ones((len(rgb), 1))])[chosen], count, axis=0)
                found.append((corners.reshape(-1, 4, 2), color, far))
        return _joined(found)

    def _arrows(self, ends: Array) -> Polygons:
        """A shaft and a head for each load, as wide from everywhere."""
        seen = self._seen(ends.reshape(-1, 3)).reshape(-1, 2, 3)
        start, tip = seen[:, 0, :2], seen[:, 1, :2]
        along, across, size = _direction(start, tip)
        neck = tip - np.minimum(0.09, 0.5 * size) * along
        shaft = np.stack(
            [start - 0.011 * across, start + 0.011 * across, neck + 0.011 * across, neck - 0.011 * across], 1
        )
        head = np.stack([neck - 0.032 * across, tip, tip, neck + 0.032 * across], axis=1)
        color = np.tile([*(np.array(ARROW) / 255), 1.0], (2 * len(seen), 1))
        near = np.tile(seen[..., 2].min(axis=1) - 0.05 * self.scene.size, 2)
        return np.concatenate([shaft, head]), color, near


NOTHING: Polygons = np.zeros((0, 4, 2)), np.zeros((0, 4)), np.zeros(0)


def _direction(start: Array, end: Array) -> tuple[Array, Array, Array]:
    """Unit vectors (n, 2) along and across, zero where both points agree, and the lengths (n, 1)."""
    way = end - start
    size = np.linalg.norm(way, axis=-1, keepdims=True)
    along = np.divide(way, size, out=np.zeros_like(way), where=size > 0)
    return along, np.stack([-along[:, 1], along[:, 0]], axis=-1), size


def _joined(parts: Sequence[Polygons]) -> Polygons:
    corners, colors, far = (np.concatenate([part[k] for part in parts]) for k in range(3))
    return corners, colors, far
