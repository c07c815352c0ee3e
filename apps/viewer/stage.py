"""A model in the browser's scene: what is sent once, and what every pose changes."""

from typing import Any

import numpy as np

from myoquat.apps.viewer.frame_cache import Frame
from myoquat.apps.viewer.scene import MARKER, Part, Scene
from myoquat.apps.viewer.shapes import sphere, tube
from myoquat.core.typing import Array

__all__ = ["BONE", "GHOST", "Stage", "floor_lines", "shades", "widths"]

BONE, GHOST, SURFACE = (226, 219, 200), (120, 160, 215), (110, 175, 215)
SCALE = np.array([[226, 150, 140], [221, 95, 80], [190, 30, 45], [110, 0, 30]])  # light to dark red: grey keeps it
RELAXED_WIDTH, FORCE_WIDTH = 0.6, 0.9  # of a muscle's width: without force; added at its greatest force
UNIT = (1.0, 0.0, 0.0, 0.0)
FLOOR_SPACING_M = 0.5  # [m] between lines of the floor
FLOOR_GREYS = (150, 215)  # of lines at whole metres, and between


def shades(values: Array, low: float, high: float) -> Array:
    """(..., 3) colours of numbers, reds from light at `low` to dark at `high` whose lightness falls evenly; grey where
    they are no numbers."""
    x = np.clip((values - low) / (high - low if high > low else 1.0), 0, 1)
    levels = np.linspace(0, 1, len(SCALE))
    color = np.stack([np.interp(np.nan_to_num(x), levels, SCALE[:, k]) for k in range(3)], axis=-1)
    return np.where(np.isfinite(values)[..., None], color, 128).astype(np.uint8)


def widths(radii: Array, force: Array) -> Array:
    """(m,) [m] radii of muscles that pull with a share of their greatest force (m,); as they are where that is NaN."""
    known = np.isfinite(force)
    grown = radii * (RELAXED_WIDTH + FORCE_WIDTH * np.sqrt(np.clip(np.where(known, force, 0.0), 0.0, 1.5)))
    found: Array = np.where(known, grown, radii)
    return found


def floor_lines(scene: Scene) -> tuple[Array, Array]:
    """Lines of a floor below the figure: (n, 2, 3) [m] their ends and (n, 2, 3) their colours.

    They are half a metre apart. Those at whole metres from the figure's middle are darker.
    """
    axis = int(np.argmax(np.abs(scene.up)))
    across = [i for i in range(3) if i != axis]
    reach = FLOOR_SPACING_M * np.ceil(1.5 * scene.size / FLOOR_SPACING_M)
    offsets = np.arange(-reach, reach + FLOOR_SPACING_M / 2, FLOOR_SPACING_M)
    ends = np.zeros((2, len(offsets), 2, 3))
    for k, (along, beside) in enumerate((across, across[::-1])):
        ends[k, :, :, along], ends[k, :, :, beside] = (-reach, reach), offsets[:, None]
    middle = scene.camera[1].copy()
    middle[axis] = scene.box[0][axis] if scene.up[axis] > 0 else scene.box[1][axis]
    grey = np.where(np.isclose(np.round(offsets), offsets), *FLOOR_GREYS)
    colors = np.broadcast_to(grey[None, :, None, None], ends.shape)
    return ends.reshape(-1, 2, 3) + middle, colors.reshape(-1, 2, 3).astype(np.uint8)


class Stage:
    """One model in the scene of a viser server under a name; a ghost is a second one to compare with."""

    def __init__(self, server: Any, scene: Scene, name: str, ghost: bool = False) -> None:
        self.scene, self._server, self._root = scene, server, f"/{name}"
        self._bone = GHOST if ghost else BONE
        self._opacity: float | None = 0.35 if ghost else None
        api = server.scene
        system = scene.model.system
        self._names = [system.ground, *system.body_names]
        self._numbers = {body: i for i, body in enumerate(self._names)}
        self._frames = {
            body: api.add_frame(
                self._path(body), show_axes=False, axes_length=0.06 * scene.size, axes_radius=0.002 * scene.size
            )
            for body in self._names
        }
        self._sent: dict[str, Any] = {}
        for i, part in enumerate(scene.bones):
            self._add(f"bone_{i}", part, part.color or self._bone, self._opacity)
        self.surfaces = [self._add(f"surface_{i}", p, SURFACE, 0.35, False) for i, p in enumerate(scene.surfaces)]
        self.markers = self._markers()
        self._owner = np.repeat(np.arange(len(scene.lines)), [len(line) - 1 for line in scene.lines])
        self.muscles = self._muscles() if scene.lines else None
        self.show(scene.start, np.full(len(scene.lines), np.nan), 0.0, 1.0)

    def _path(self, body: str) -> str:
        return f"{self._root}/body_{self._numbers[body]}"  # names of bodies may hold anything, a slash included

    def _add(self, name: str, part: Part, color: Any, opacity: float | None, visible: bool = True) -> Any:
        return self._server.scene.add_mesh_simple(
            f"{self._path(part.body)}/{name}",
            part.mesh.vertices,
            part.mesh.faces,
            color=color,
            opacity=opacity,
            side="double",
            wxyz=part.orientation,
            position=part.position,
            visible=visible,
        )

    def _markers(self) -> list[Any]:
        ball, radius = sphere(), 0.006 * self.scene.size
        return [
            self._server.scene.add_mesh_simple(
                f"{self._path(marker.body)}/marker_{i}",
                radius * ball.vertices,
                ball.faces,
                color=MARKER,
                position=np.array(marker.position),
                visible=False,
            )
            for i, marker in enumerate(self.scene.model.markers)
        ]

    def _muscles(self) -> Any:
        """All pieces of all muscles as copies of one tube: a pose is one message."""
        mesh, count = tube(), len(self._owner)
        return self._server.scene.add_batched_meshes_simple(
            f"{self._root}/muscles",
            mesh.vertices,
            mesh.faces,
            np.tile(UNIT, (count, 1)),
            np.zeros((count, 3)),
            batched_scales=np.ones((count, 3)),
            batched_colors=np.full((count, 3), 128, dtype=np.uint8),
            opacity=self._opacity,
            lod="off",
            cast_shadow=False,
            receive_shadow=False,
        )

    @property
    def pieces(self) -> int:
        """How many pieces of muscles there are."""
        return len(self._owner)

    def muscle_of(self, instance: int) -> int:
        """The number of the muscle to which a piece belongs."""
        return int(self._owner[instance])

    def show_frames(self, visible: bool) -> None:
        """Axes of every body."""
        for handle in self._frames.values():
            handle.show_axes = visible

    def show(self, frame: Frame, values: Array, low: float, high: float, force: Array | None = None) -> None:
        """Move to a frame, muscles coloured by values (m,) between two bounds, as thick as their share (m,) of their
        greatest force says."""
        with self._server.atomic():
            for body, (Q, p) in frame.bodies.items():
                self._move(body, Q, p)
            if self.muscles is None:
                return
            middle, turned, length = frame.pieces
            radii = self.scene.radii
            width = (radii if force is None else widths(radii, force))[self._owner]
            self.muscles.batched_positions = middle.astype(np.float32)
            self.muscles.batched_wxyzs = turned.astype(np.float32)
            scales = np.stack([width, width, length + np.where(length > 0, 0.6 * width, 0.0)], axis=-1)
            self.muscles.batched_scales = scales.astype(np.float32)
            self.muscles.batched_colors = shades(np.asarray(values, dtype=float), low, high)[self._owner]

    def _move(self, body: str, Q: Array, p: Array) -> None:
        """Send the frame of a body, if it has moved."""
        now = (*Q, *p)
        if self._sent.get(body) != now:
            self._sent[body] = now
            self._frames[body].wxyz, self._frames[body].position = Q, p
