"""What the viewer shows of a model, without a browser: bodies with what is fixed to them, and how to look at them."""

from collections.abc import Iterable
from dataclasses import field
from functools import cached_property
from pathlib import Path

import numpy as np

from myoquat.apps.viewer.frame_cache import Frame, frames
from myoquat.apps.viewer.shapes import find_mesh, limb, shape_mesh, sphere, surface
from myoquat.apps.viewer.tubes import tubes
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.data.meshes import MESH_FILES, Mesh
from myoquat.joints.labels import printable
from myoquat.joints.multibody.shapes import Shape
from myoquat.joints.quaternion import rotation_matrix
from myoquat.muscle import Model
from myoquat.muscle.display.polylines import polylines
from myoquat.muscle.display.stick import farthest_point, up_of
from myoquat.muscle.wrapping import Wrap

__all__ = ["FIELD", "MARKER", "Part", "Scene", "camera_of"]

LIMB_RADIUS = 0.06  # of a limb's length
MARKER = (235, 80, 140)
FIELD = np.radians(40)  # vertical field of view
FIGURE_HEIGHT = 0.92  # of the frame's height
FIGURE_HALF_WIDTH = 0.6  # of that height, to either side, so that controls cover none of it
CENTERING_STEPS = 3
SEEN_POSES = 12  # of a motion
MAX_NAMED_FILES = 5  # that were not found
MIN_LIMB_LENGTH = 1e-3  # of the figure: shorter limbs are not drawn


def _named(files: Iterable[str]) -> str:
    """The first few names of files, without their folders."""
    names = sorted({Path(name.replace("\\", "/")).name for name in files})
    more = f" and {len(names) - MAX_NAMED_FILES} more" if len(names) > MAX_NAMED_FILES else ""
    return ", ".join(map(printable, names[:MAX_NAMED_FILES])) + more


def camera_of(points: Array, up: Array, beside: float) -> tuple[Array, Array]:
    """(eye, middle) [m]: from beside the widest view of points (n, 3), all of them within the frame and in its middle.
    The frame's width beside the middle is `beside` of its height."""
    low, high = points.min(axis=0), points.max(axis=0)
    middle, extent = (low + high) / 2, high - low
    flat = [i for i in np.argsort(extent) if abs(up[i]) < 0.9]
    toward = np.eye(3)[flat[0]] + 0.6 * np.eye(3)[flat[-1]] + 0.15 * up
    toward /= np.linalg.norm(toward)
    across = np.cross(up, toward)
    across /= np.linalg.norm(across)
    axes = np.stack([across, np.cross(toward, across), toward])
    least = 0.1 * max(float(np.linalg.norm(extent)), 1e-3)
    distance = _distance((points - middle) @ axes.T, beside, least)
    for _ in range(CENTERING_STEPS):  # what is nearer looks larger, so the box's middle is not the picture's
        seen = (points - middle) @ axes.T
        slope = seen[:, :2] / (distance - seen[:, 2:])
        middle = middle + 0.5 * distance * (slope.min(axis=0) + slope.max(axis=0)) @ axes[:2]
        distance = _distance((points - middle) @ axes.T, beside, least)
    return middle + distance * toward, middle


def _distance(seen: Array, beside: float, least: float) -> float:
    """[m] from where points (n, 3), across, above and towards the eye, are within the frame; at least `least`."""
    off_axis = np.maximum(np.abs(seen[:, 1]), np.abs(seen[:, 0]) / beside)
    return max(float((off_axis / (FIGURE_HEIGHT * np.tan(FIELD / 2)) + seen[:, 2]).max()), least)


@dataclass(frozen=True)
class Part:
    """A mesh in the frame of a body: position [m] and unit quaternion there."""

    body: str
    mesh: Mesh
    position: Array
    orientation: Array
    color: tuple[int, int, int] | None = None


@dataclass
class Scene:
    """A model at a start pose q (nq,). `geometry` are folders in which its geometry files may lie. `motion` (t, nq) are
    poses that the camera sees too."""

    model: Model
    q: Array
    geometry: tuple[Path, ...] = ()
    motion: Array | None = None
    missing: list[str] = field(default_factory=list)

    @cached_property
    def missing_geometry_message(self) -> str:
        """A message about geometry files that were not found or are not read, with a hint; "" if there are none."""
        _ = self.bones
        unread = [name for name in self.missing if find_mesh(name, self.geometry) is not None]
        absent = [name for name in self.missing if name not in unread]
        messages = []
        if absent:
            message = f"Geometry not found, limbs are drawn instead: {_named(absent)}."
            messages.append(f"{message} Name its folder: --geometry FOLDER, geometry=")
        if unread:
            message = f"Geometry of a format that is not read, limbs are drawn instead: {_named(unread)}."
            messages.append(f"{message} Save it as one of {', '.join(MESH_FILES)}, and name that file in the model")
        return ". ".join(messages)

    @cached_property
    def poses(self) -> dict[str, tuple[Array, Array]]:
        return self.model.system.poses(self.q)

    @cached_property
    def lines(self) -> list[Array]:
        """The muscles' paths at the start."""
        return [line[0] for line in polylines(self.model, self.q[None])]

    @cached_property
    def start(self) -> Frame:
        """The frame at the start."""
        return frames(self.model, self.q[None], [line[None] for line in self.lines])[0]

    @cached_property
    def points(self) -> Array:
        """(n, 3) [m] of bodies and paths at the start."""
        bodies = self.model.system.bodies
        points = [np.stack([self.poses[b.name][1] for b in bodies]) if bodies else np.zeros((1, 3)), *self.lines]
        points += [p + np.einsum("ij,kj->ki", R, self._ends(name)) for name, (R, p) in self.poses.items()]
        return np.concatenate([*points, self._corners(self.poses)])

    @cached_property
    def box(self) -> tuple[Array, Array]:
        """Lowest and highest corner [m] of bodies and paths."""
        return self.points.min(axis=0), self.points.max(axis=0)

    def _corners(self, poses: dict[str, tuple[Array, Array]]) -> Array:
        """(n, 3) [m] the corners of a box around each bone at poses."""
        found = [np.zeros((0, 3))]
        for part in self.bones:
            R, p = poses[part.body]
            local = part.mesh.vertices @ rotation_matrix(part.orientation).T + part.position
            ends = np.stack([local.min(axis=0), local.max(axis=0)])
            corners = np.array([[ends[b][k] for k, b in enumerate(bits)] for bits in np.ndindex(2, 2, 2)])
            found.append((np.einsum("...ij,kj->...ki", R, corners) + np.asarray(p)[..., None, :]).reshape(-1, 3))
        return np.concatenate(found)

    @cached_property
    def size(self) -> float:
        """[m] diagonal of the box."""
        return max(float(np.linalg.norm(self.box[1] - self.box[0])), 1e-3)

    @cached_property
    def up(self) -> Array:
        """(3,) unit vector against gravity; z where there is none."""
        return up_of(self.model)

    @cached_property
    def camera(self) -> tuple[Array, Array]:
        """(eye, middle) [m] of the window, whose controls cover one side."""
        if self.motion is None:
            return camera_of(self.points, self.up, FIGURE_HALF_WIDTH)
        poses = self.model.system.poses(self.motion[:: max(1, len(self.motion) // SEEN_POSES)])
        return camera_of(np.concatenate([self.points, self._corners(poses)]), self.up, FIGURE_HALF_WIDTH)

    @cached_property
    def bones(self) -> list[Part]:
        """The shapes of every body: its geometry files and shapes, and limbs where these are missing. Where most bodies
        have shapes, one without is not meant to be seen."""
        system = self.model.system
        parts, bare = self._given(system.ground, system.shapes), not self._has_shapes
        for body in system.bodies:
            own = self._given(body.name, body.shapes)
            parts += own or (self._limbs(body) if body.shapes or bare else [])
        return parts

    @property
    def _has_shapes(self) -> bool:
        """Whether most bodies have shapes."""
        bodies = self.model.system.bodies
        return 2 * sum(bool(body.shapes) for body in bodies) > len(bodies)

    def _given(self, body: str, shapes: Iterable[Shape]) -> list[Part]:
        """The shapes that a body shows; where it shows none, those of its contacts, as MuJoCo and others draw it."""
        parts, given = [], tuple(shapes)
        for purpose in ("visual", "collision"):
            if chosen := [shape for shape in given if shape.purpose == purpose]:
                break
        for shape in chosen:
            mesh = shape_mesh(shape, self.geometry)
            if mesh is None:
                self.missing.append(shape.file)
                continue
            color = None if shape.color is None else tuple(int(255 * x) for x in shape.color[:3])
            place = np.array(shape.position), np.array(shape.orientation)
            parts.append(Part(body, mesh, *place, color))  # type: ignore[arg-type]
        return parts

    def _limbs(self, body: object) -> list[Part]:
        """A limb to every joint that the body carries, where that stands at the start."""
        parts = []
        for end in self._ends(body.name):  # type: ignore[attr-defined]
            length = float(np.linalg.norm(end))
            if length > MIN_LIMB_LENGTH:
                _, Q, _ = tubes(np.zeros(3), end)
                radius = min(LIMB_RADIUS * length, 0.04 * max(length, 1.0))
                parts.append(Part(body.name, limb(length, radius), np.zeros(3), Q))  # type: ignore[attr-defined]
        return parts

    def _ends(self, name: str) -> Array:
        """(n, 3) [m] in the body's frame: origins of the bodies that it carries, at the present pose of their joints.

        Without any, the farthest of its centre of mass and attachments.
        """
        system = self.model.system
        if name == system.ground:
            return np.zeros((0, 3))
        R, p = self.poses[name]
        carried = [self.poses[b.name][1] for b in system.bodies if b.parent == name]
        ends = [R.T @ (x - p) for x in carried if np.linalg.norm(x - p) > MIN_LIMB_LENGTH]
        if ends:
            return np.array(ends)
        return np.array([farthest_point(self.model, system.bodies[system.body_names.index(name)])], dtype=float)

    @cached_property
    def marker_balls(self) -> list[Part]:
        """A ball at every marker of the model."""
        ball = sphere((0.006 * self.size,) * 3)
        place = np.array([1.0, 0.0, 0.0, 0.0])
        return [Part(m.body, ball, np.array(m.position, dtype=float), place, MARKER) for m in self.model.markers]

    @cached_property
    def surfaces(self) -> list[Part]:
        """The surfaces that muscles wrap, each once."""
        seen: dict[tuple[object, ...], Wrap] = {}
        for muscle in self.model.muscles:
            for wrap in muscle.wraps:
                seen.setdefault((wrap.body, wrap.kind, wrap.position, wrap.orientation, *wrap.sizes().items()), wrap)
        return [
            Part(w.body, surface(w, 0.15 * self.size), np.array(w.position), np.array(w.orientation))
            for w in seen.values()
        ]

    @cached_property
    def strengths(self) -> Array:
        """(m,) [N] the greatest isometric forces of the muscles; zero where a law has none."""
        return np.array([getattr(m.law, "max_isometric_force", None) or 0.0 for m in self.model.muscles])

    @cached_property
    def radii(self) -> Array:
        """(m,) [m] of the muscles' tubes: thicker where they are stronger."""
        forces = self.strengths
        relative = np.sqrt(forces / max(float(forces.max(initial=0.0)), 1e-9))
        whole: Array = self.size * (0.0016 + 0.0036 * relative)
        return whole
