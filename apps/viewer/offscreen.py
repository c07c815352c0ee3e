"""Pictures and films of a model without a browser: triangles and muscles drawn from far to near.

The camera, colours and shapes are the viewer's. A picture is a list of polygons with flat shading, sorted by their
distance (painter's algorithm) and filled by matplotlib.
"""

import importlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from myoquat.apps.viewer.scene import (
    BONE,
    FIELD,
    GHOST,
    Frame,
    FrameCache,
    Scene,
    camera_of,
    floor_lines,
    frames,
    shades,
    widths,
)
from myoquat.apps.viewer.sources import Film, Loads, arrow_ends, arrow_unit
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.quaternion import rotation_matrix

__all__ = ["Colored", "Painter", "Reels"]

DPI = 100
PARTS_PER_PIECE = 6  # of a straight piece of a muscle: short parts are sorted correctly among bones
STRIPS = ((-1.0, -0.45, 0.62), (-0.45, 0.3, 0.95), (0.3, 1.0, 0.74))  # across a muscle: from, to, lightness
EDGE_LIGHTNESS = 0.42  # of a triangle that is seen from its edge
ARROW = (60, 170, 90)
SHOWN_POSES = 40  # of a motion: all of them are within the frame
MIN_ARROW = 0.005  # of the figure's size: shorter ones are not drawn
MARGIN = 1.12  # of the frame around the figure


@dataclass(frozen=True)
class Colored:
    """What colours the muscles: values (m,) between two bounds, and their relative forces (m,), NaN if not known."""

    values: Array
    low: float
    high: float
    force: Array


class Painter:
    """Pictures of a scene, with the model's markers or without; `poses` q (t, nq) are all within the frame."""

    def __init__(
        self, scene: Scene, width: int, height: int, poses: Array | None = None, name: str = "", markers: bool = False
    ) -> None:
        self._parts = [*scene.bones, *(scene.marker_balls if markers else ()), *scene.ghosts]
        self.scene, self._name, self.size = scene, name, (width, height)
        self._local = [part.mesh.vertices @ rotation_matrix(part.orientation).T + part.position for part in self._parts]
        few = scene.q[None] if poses is None else poses[:: max(1, len(poses) // SHOWN_POSES)]
        self.eye, self.middle = self._camera(few, width / height)
        toward = self.eye - self.middle
        self.toward = toward / np.linalg.norm(toward)
        right = np.cross(scene.up, self.toward)
        self.right = right / np.linalg.norm(right)
        self.above = np.cross(self.toward, self.right)
        light = self.toward + 0.5 * self.above - 0.4 * self.right
        self.light = light / np.linalg.norm(light)
        self.owner = np.repeat(np.arange(len(scene.lines)), [len(line) - 1 for line in scene.lines])
        self._canvas(width, height)

    def _camera(self, poses: Array, aspect: float) -> tuple[Array, Array]:
        """(eye, middle) [m] from where every pose is seen."""
        shown = [self._points(frame) for frame in frames(self.scene.model, poses)]
        points = np.concatenate([*shown, self.scene.points])
        return camera_of(points, self.scene.up, min(aspect, 1.0) / MARGIN)

    def _points(self, frame: Frame) -> Array:
        """(n, 3) joints and muscles of a frame, and the corners of a box around every bone."""
        found = [np.array([p for _, p in frame.bodies.values()]), frame.pieces[0]]
        for part, local in zip(self._parts, self._local, strict=True):
            if part.body in frame.bodies:
                Q, p = frame.bodies[part.body]
                ends = np.stack([local.min(axis=0), local.max(axis=0)])
                corners = np.array([[ends[b][k] for k, b in enumerate(bits)] for bits in np.ndindex(2, 2, 2)])
                found.append(corners @ rotation_matrix(Q).T + p)
        return np.concatenate(found)

    def _canvas(self, width: int, height: int) -> None:
        figures, agg, collections = (
            importlib.import_module(f"matplotlib.{name}") for name in ("figure", "backends.backend_agg", "collections")
        )
        figure = figures.Figure(figsize=(width / DPI, height / DPI), dpi=DPI, facecolor="white")
        self.canvas = agg.FigureCanvasAgg(figure)
        axes: Any = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set(xlim=(-width / height, width / height), ylim=(-1.0, 1.0))
        axes.set_axis_off()
        lines, colors = floor_lines(self.scene)
        ends = self._seen(lines.reshape(-1, 3))
        good = (ends[:, 2].reshape(-1, 2) > 0.01 * self.scene.size).all(axis=1)
        floor = collections.LineCollection(
            ends[:, :2].reshape(-1, 2, 2)[good], colors=(0.55 + 0.45 * colors[good, 0] / 255), linewidths=0.6, zorder=0
        )
        axes.add_collection(floor)
        self.polygons = collections.PolyCollection([], linewidths=0.35, zorder=1)
        axes.add_collection(self.polygons)
        self.clock = axes.text(0.02, 0.03, "", transform=axes.transAxes, fontsize=11, color="0.25")
        axes.text(0.98, 0.03, self._name, transform=axes.transAxes, fontsize=9, color="0.4", ha="right")

    def _seen(self, points: Array) -> Array:
        """(n, 3) positions in the picture, from -1 to 1 upwards, and distances [m], of points (n, 3) [m]."""
        from_eye = points - self.eye
        far = -(from_eye @ self.toward)
        scale = 1.0 / (np.maximum(far, 1e-6) * np.tan(FIELD / 2))
        return np.stack([from_eye @ self.right * scale, from_eye @ self.above * scale, far], axis=-1)

    def picture(
        self, frame: Frame, colored: Colored, clock: str = "", ghost: Frame | None = None, arrows: Array | None = None
    ) -> Array:
        """(height, width, 3) the pixels of a frame; arrows (n, 2, 3) [m] from points to tips."""
        parts = [self._bones(frame, BONE, 1.0), self._muscles(frame, colored)]
        if ghost is not None:
            parts.append(self._bones(ghost, GHOST, 0.45))
        if arrows is not None and len(arrows):
            parts.append(self._arrows(arrows))
        corners, colors, far = (np.concatenate([part[k] for part in parts]) for k in range(3))
        order = np.argsort(-far, kind="stable")
        self.polygons.set_verts(corners[order])
        self.polygons.set_facecolor(colors[order])
        self.polygons.set_edgecolor(colors[order])
        self.clock.set_text(clock)
        self.canvas.draw()
        return np.array(self.canvas.buffer_rgba())[..., :3]

    def _bones(self, frame: Frame, color: tuple[int, int, int], opacity: float) -> tuple[Array, Array, Array]:
        """Corners (n, 4, 2), colours (n, 4) and distances (n,) of the triangles of the bodies."""
        found: list[tuple[Array, Array, Array]] = [(np.zeros((0, 4, 2)), np.zeros((0, 4)), np.zeros(0))]
        for part, local in zip(self._parts, self._local, strict=True):
            Q, p = frame.bodies.get(part.body, (np.array([1.0, 0, 0, 0]), np.zeros(3)))
            world = local @ rotation_matrix(Q).T + p
            seen, faces = self._seen(world), part.mesh.faces
            normal = np.cross(world[faces[:, 1]] - world[faces[:, 0]], world[faces[:, 2]] - world[faces[:, 0]])
            size = np.linalg.norm(normal, axis=-1)
            lit = np.divide(np.abs(normal @ self.light), size, out=np.ones(len(faces)), where=size > 0)
            rgb = np.array(part.color or color) / 255 * (EDGE_LIGHTNESS + (1 - EDGE_LIGHTNESS) * lit)[:, None]
            alpha = np.full((len(faces), 1), opacity * part.opacity)
            corners = seen[faces][..., :2][:, [0, 1, 2, 2]]
            found.append((corners, np.hstack([rgb, alpha]), seen[faces][..., 2].mean(axis=1)))
        return _joined(found)

    def _muscles(self, frame: Frame, colored: Colored) -> tuple[Array, Array, Array]:
        """Quadrilaterals across the line of sight along every piece of a muscle, lighter in the middle."""
        middle, Q, length = frame.pieces
        if not len(middle):
            return np.zeros((0, 4, 2)), np.zeros((0, 4)), np.zeros(0)
        radius = widths(self.scene.radii, colored.force)[self.owner]
        half = 0.5 * (length + np.where(length > 0, 0.6 * radius, 0.0))[:, None] * rotation_matrix(Q)[..., :, 2]
        share = np.linspace(-1.0, 1.0, PARTS_PER_PIECE + 1)
        knots = middle[:, None] + share[:, None] * half[:, None]  # (n, PARTS_PER_PIECE + 1, 3)
        seen = self._seen(knots.reshape(-1, 3)).reshape(*knots.shape)
        along = seen[:, -1, :2] - seen[:, 0, :2]
        size = np.linalg.norm(along, axis=-1, keepdims=True)
        along = np.divide(along, size, out=np.zeros_like(along), where=size > 0)
        across = np.stack([-along[:, 1], along[:, 0]], axis=-1)
        across *= np.where(across[:, :1] < 0, -1.0, 1.0)  # the light comes from the left
        wide = across[:, None] * (radius[:, None] / (seen[..., 2] * np.tan(FIELD / 2)))[..., None]
        rgb = shades(colored.values, colored.low, colored.high)[self.owner] / 255
        found = []
        for first, last, lightness in STRIPS:
            low, high = seen[..., :2] + first * wide, seen[..., :2] + last * wide
            corners = np.stack([low[:, :-1], low[:, 1:], high[:, 1:], high[:, :-1]], axis=2)
            color = np.repeat(np.hstack([rgb * lightness, np.ones((len(rgb), 1))])[:, None], PARTS_PER_PIECE, axis=1)
            far = (seen[:, :-1, 2] + seen[:, 1:, 2]) / 2 - radius[:, None]
            kept = np.repeat(length > 0, PARTS_PER_PIECE)
            found.append((corners.reshape(-1, 4, 2)[kept], color.reshape(-1, 4)[kept], far.ravel()[kept]))
        return _joined(found)

    def _arrows(self, ends: Array) -> tuple[Array, Array, Array]:
        """A shaft and a head for each load, as wide from everywhere."""
        seen = self._seen(ends.reshape(-1, 3)).reshape(-1, 2, 3)
        start, tip = seen[:, 0, :2], seen[:, 1, :2]
        along = tip - start
        size = np.linalg.norm(along, axis=-1, keepdims=True)
        along = np.divide(along, size, out=np.zeros_like(along), where=size > 0)
        across = np.stack([-along[:, 1], along[:, 0]], axis=-1)
        neck = tip - np.minimum(0.09, 0.5 * size) * along
        shaft = np.stack(
            [start - 0.011 * across, start + 0.011 * across, neck + 0.011 * across, neck - 0.011 * across], 1
        )
        head = np.stack([neck - 0.032 * across, tip, tip, neck + 0.032 * across], axis=1)
        color = np.tile([*(np.array(ARROW) / 255), 1.0], (2 * len(seen), 1))
        near = np.tile(seen[..., 2].min(axis=1) - 0.05 * self.scene.size, 2)
        return np.concatenate([shaft, head]), color, near


def _joined(parts: Sequence[tuple[Array, Array, Array]]) -> tuple[Array, Array, Array]:
    corners, colors, far = (np.concatenate([part[k] for part in parts]) for k in range(3))
    return corners, colors, far


class Reels:
    """Motions as a painter draws them, with what colours their muscles and the loads beside them."""

    def __init__(self, painter: Painter, films: Sequence[Film], color: str, loads: Loads | None) -> None:
        scene, self.painter, self.films, self.loads = painter.scene, painter, tuple(films), loads
        self.frames = [FrameCache(scene.model, film.q) for film in films]
        self.shares = films[0].shares(scene.strengths)
        found = films[0].values.get(color)
        self.values = np.full(self.shares.shape, np.nan) if found is None else found
        finite = self.values[np.isfinite(self.values)]
        self.high = 1.0 if color == "activation" else float(finite.max(initial=1e-9))
        self.unit = 0.0 if loads is None else arrow_unit(loads, scene.size)

    def picture(self, t: float) -> Array:
        """(height, width, 3) the motion at a time t [s]."""
        row = self.films[0].at(t)
        frame = self.frames[0][row]
        ghost = self.frames[1][self.films[1].at(t)] if len(self.films) > 1 else None
        colored = Colored(self.values[row], 0.0, self.high, self.shares[row])
        clock = f"{t:.2f} s" if len(self.films[0].time) > 1 else ""  # one pose has no course of time
        return self.painter.picture(frame, colored, clock, ghost, self._arrows(frame, t))

    def pictures(self, rate: float, speed: float) -> Iterator[Array]:
        """Pictures of the motion, `rate` of them per second of watching."""
        time = self.films[0].time
        for t in np.arange(time[0], time[-1] + 1e-9, speed / rate):
            yield self.picture(float(t))

    def _arrows(self, frame: Frame, t: float) -> Array | None:
        """(n, 2, 3) [m] the arrows of loads that were recorded then."""
        loads = self.loads
        if loads is None or not len(loads.time) or not loads.time[0] <= t <= loads.time[-1]:
            return None
        ends = arrow_ends(loads, frame, int(np.abs(loads.time - t).argmin()), self.unit)
        long = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=-1) > MIN_ARROW * self.painter.scene.size
        return np.asarray(ends[long])
