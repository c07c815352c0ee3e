"""What the viewer shows of a model: bodies with what is fixed to them, muscles, and the frames of a motion."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from myoquat.core import Array, ArrayLike, frozen, printable
from myoquat.data.library import load_model
from myoquat.data.meshes import MESH_FILES, Mesh, fans, read_mesh
from myoquat.joints.multibody.body import Shape
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.quaternion import quaternion_from_matrix, rotation_matrix
from myoquat.muscle import Model
from myoquat.muscle.display import farthest_point, polylines, up_of
from myoquat.muscle.wrapping import Wrap

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


def sphere(*radii: float) -> Mesh:
    """An ellipsoid about the origin."""
    angle = np.linspace(0, np.pi, 11)
    ball = _turned(-np.cos(angle), np.sin(angle))
    return Mesh(ball.vertices * radii, ball.faces)


def solid(name: str, *sizes: float) -> Mesh:
    """A solid in its own frame, by the sizes of `Shape` and of wrapping surfaces; TypeError for another one."""
    if name in ("sphere", "ellipsoid"):
        return sphere(*np.broadcast_to(sizes, 3))
    if name == "box":
        corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]) * sizes
        sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
        return Mesh(corners, fans(np.array(sides).ravel(), np.arange(0, 4 * len(sides), 4)))
    if name == "torus":
        (ring, tube), angle = sizes[:2], np.linspace(0, 2 * np.pi, SIDES + 1)
        return _turned(-tube * np.sin(angle), ring - tube * np.cos(angle))
    if name == "cylinder":
        return _turned(sizes[1] * np.array([-0.5, -0.5, 0.5, 0.5]), sizes[0] * np.array([0.0, 1, 1, 0]))
    if name == "capsule":
        angle = np.linspace(-np.pi / 2, np.pi / 2, 12)
        ends = np.where(angle < 0, -sizes[1] / 2, sizes[1] / 2)
        return _turned(ends + sizes[0] * np.sin(angle), sizes[0] * np.cos(angle))
    raise TypeError(f"the viewer has no shape for a {name}")


def surface(wrap: Wrap, size: float) -> Mesh:
    """A surface that muscles wrap, in its own frame; a cylinder without end is drawn `size` [m] long."""
    return solid(wrap.shape, *(x if np.isfinite(x) else size for x in wrap.sizes().values()))


def shape_mesh(shape: Shape, folders: tuple[Path, ...]) -> Mesh | None:
    """A shape of a body in its own frame. None for a mesh whose file is in none of the folders, or of a format that is
    not read."""
    if shape.kind != "mesh":
        return solid(shape.kind, *shape.sizes)
    found = find_mesh(shape.file, folders)
    if found is None or found.suffix.lower() not in MESH_FILES:
        return None
    mesh = read_mesh(found)
    return Mesh(mesh.vertices * np.array(shape.sizes or (1.0, 1.0, 1.0)), mesh.faces)


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


def pieces(lines: list[Array]) -> tuple[Array, Array, Array]:
    """`tubes` of all straight pieces of lines (..., k, 3), one line after the other."""
    if not lines:
        return np.zeros((0, 3)), np.zeros((0, 4)), np.zeros(0)
    starts, ends = ([line[..., part, :] for line in lines] for part in (slice(-1), slice(1, None)))
    return tubes(np.concatenate(starts, axis=-2), np.concatenate(ends, axis=-2))


def tubes(start: Array, end: Array) -> tuple[Array, Array, Array]:
    """From points to points (..., 3): middles (..., 3), unit quaternions (..., 4) that turn z along, lengths [m]."""
    along = end - start
    length = np.linalg.norm(along, axis=-1)
    d = np.divide(along, length[..., None], out=np.zeros_like(along), where=length[..., None] > 0)
    Q = np.stack([1 + d[..., 2], -d[..., 1], d[..., 0], np.zeros(d.shape[:-1])], axis=-1)
    norm = np.linalg.norm(Q, axis=-1, keepdims=True)
    turned = np.divide(Q, norm, out=np.broadcast_to((0.0, 1.0, 0.0, 0.0), Q.shape).copy(), where=norm > 1e-9)
    return (start + end) / 2, turned, length


def spread(q: Array, count: int) -> Array:
    """About so many of the poses q (t, nq), evenly."""
    return q[:: max(1, len(q) // count)]


BLOCK_POSES, MAX_BLOCKS = 256, 10  # poses that are computed together, and blocks that are kept


@frozen
class Frame:
    """Bodies (unit quaternion, position [m]) by name, and the muscles' pieces: middles (n, 3), quaternions (n, 4),
    lengths (n,) [m]."""

    bodies: dict[str, tuple[Array, Array]]
    pieces: tuple[Array, Array, Array]


def frames(model: Model, q: Array, lines: list[Array] | None = None) -> list[Frame]:
    """The frames at q (t, nq); `lines` are the `polylines` there, if they are known."""
    count, poses = len(q), model.system.poses(q)
    bodies = {
        name: (
            np.broadcast_to(quaternion_from_matrix(np.asarray(R)), (count, 4)),
            np.broadcast_to(p, (count, 3)),
        )
        for name, (R, p) in poses.items()
    }
    lines = polylines(model, q, poses) if lines is None else lines
    parts = tuple(np.broadcast_to(x, (count, *x.shape[-d:])) if not x.size else x
                  for x, d in zip(pieces(lines), (2, 2, 1), strict=True))  # fmt: skip
    return [
        Frame({n: (Q[i], p[i]) for n, (Q, p) in bodies.items()}, (parts[0][i], parts[1][i], parts[2][i]))
        for i in range(count)
    ]


class FrameCache:
    """The frames of q (t, nq) at some rows, all by default; a block is computed when one of its frames is needed."""

    def __init__(self, model: Model, q: Array, rows: Iterable[int] | None = None) -> None:
        kept = np.arange(len(q)) if rows is None else np.unique([*rows])
        self._at = {row: divmod(k, BLOCK_POSES) for k, row in enumerate(kept.tolist())}
        blocks = np.split(kept, range(BLOCK_POSES, len(kept), BLOCK_POSES))
        self._block = lru_cache(MAX_BLOCKS)(lambda k: frames(model, q[blocks[k]]))

    def __getitem__(self, row: int) -> Frame:
        block, k = self._at[row]
        return self._block(block)[k]


LIMB_RADIUS = 0.06  # of a limb's length
MARKER, ARROW = (235, 80, 140), (60, 170, 90)
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


@frozen
class Part:
    """A mesh in the frame of a body: position [m] and unit quaternion there."""

    body: str
    mesh: Mesh
    position: ArrayLike = (0.0, 0.0, 0.0)
    orientation: ArrayLike = (1.0, 0.0, 0.0, 0.0)
    color: tuple[int, ...] | None = None
    opacity: float = 1.0

    @cached_property
    def vertices(self) -> Array:
        """(n, 3) [m] in the frame of the body."""
        return self.mesh.vertices @ rotation_matrix(np.asarray(self.orientation)).T + np.asarray(self.position)


# By the bone of the library's shoulder: words of a body's name that say it is one, and the bone that it carries
BONES = {"thorax": ("thorax",), "clavicle": ("clavic",), "scapula": ("scapula",), "humerus": ("humerus",),
         "forearm": ("forearm", "ulna")}  # fmt: skip
CARRIED = {"thorax": "clavicle", "clavicle": "scapula", "scapula": "humerus", "humerus": "forearm"}
ATLAS = "thoracoscapular"
SAME_DIRECTION = np.cos(np.radians(40))  # of the next joint in a bone's axes, so that these axes are alike
SIZES = 0.5, 2.0  # of a bone, relative to the library's


@cache
def atlas() -> tuple[dict[str, Mesh], dict[str, Array]]:
    """The bones of the library's shoulder, and the origins of its bodies [m] in the ground, whose axes they have."""
    model = load_model(ATLAS)
    folder = (Path(str(model.file)).parent / "geometry",)
    shapes = {model.system.ground: model.system.shapes} | {body.name: body.shapes for body in model.system.bodies}
    meshes = {name: mesh for name, (shape, *_) in shapes.items() if (mesh := shape_mesh(shape, folder)) is not None}
    return meshes, {name: p for name, (_, p) in model.system.poses(model.start).items()}


def library_bones(
    system: ArticulatedSystem, poses: Mapping[str, tuple[Array, Array]], up: Array
) -> dict[str, list[Part]]:
    """Bones of the library's shoulder for bodies of a model without shapes, where their names fit and their next joint
    lies in the same direction. They are as much larger as this joint is farther away.

    Their axes are the bodies' own, as far as the arm lies beside the clavicle in them as in the library, or else those
    of a person who stands."""
    meshes, origins = atlas()
    poses = {system.ground: (np.eye(3), np.zeros(3)), **poses}

    def origin(bone: str, carrier: str = "") -> Array | None:
        """[m] that of the body of a bone; of several, those of both sides, the one which the carrier bears."""
        fitting = [b for b in system.bodies if any(word in b.name.lower() for word in BONES[bone])]
        fitting = [b for b in fitting if b.parent == carrier] if len(fitting) > 1 else fitting
        return poses[fitting[0].name][1] if fitting else None

    def along(first: Array, axes: Array, second: Array) -> bool:
        sizes = np.linalg.norm(first) * np.linalg.norm(second)
        return bool(first @ axes @ second >= SAME_DIRECTION * sizes)

    def upright(side: Array, up: Array) -> Array:
        """(3, 3) to the side, up, and forward or backward."""
        x = side - (side @ up) * up
        x = x / (np.linalg.norm(x) or 1.0)
        return np.stack([x, up, np.cross(x, up)], axis=-1)

    standing, theirs = None, origins["humerus"] - origins["clavicle"]
    begin, end = origin("clavicle"), origin("humerus")
    if begin is not None and end is not None:
        thorax = next((name for name in system.body_names if "thorax" in name.lower()), system.ground)
        if not along(end - begin, poses[thorax][0], theirs):
            standing = upright(end - begin, up) @ upright(theirs, np.eye(3)[1]).T

    found = dict[str, list[Part]]()
    fits: dict[str, tuple[float, Array]] = {}  # size relative to the library's, and axes in the ground
    hands: set[str] = set()
    parents = {system.ground: "", **{body.name: body.parent for body in system.bodies}}
    for name, carrier in parents.items():
        bone = next((bone for bone, words in BONES.items() if any(word in name.lower() for word in words)), "")
        if carrier in hands:  # the forearm shows what it carries too
            found[name] = []
            hands.add(name)
            continue
        (R, p), shift, fit = poses[name], np.zeros(3), fits.get(carrier) if bone == "forearm" else None
        if bone in CARRIED:
            # the next bone decides, or, of the thorax, whose next joint is near, the clavicle and the arm
            ends = [origin(part, name) for part in (CARRIED[bone], "humerus")[: 1 + (bone == "thorax")]]
            first, last, start = ends[0] if bone == "thorax" else p, ends[-1], "clavicle" if bone == "thorax" else bone
            if first is not None and last is not None:
                axes = R if standing is None else standing
                length = origins["humerus" if bone == "thorax" else CARRIED[bone]] - origins[start]
                scale = float(np.linalg.norm(last - first)) / float(np.linalg.norm(length))
                if along(last - first, axes, length) and SIZES[0] <= scale <= SIZES[1]:
                    fit = scale, axes
                    shift = first - p - scale * axes @ origins[start] if bone == "thorax" else shift
        if fit is not None:
            hands |= {name} if bone == "forearm" else set()
            fits[name] = (scale, axes) = fit
            mesh = meshes[bone]
            found[name] = [Part(name, Mesh((scale * mesh.vertices @ axes.T + shift) @ R, mesh.faces))]
    return found


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
            message = f"Geometry not found, simple bones are drawn instead: {_named(absent)}."
            messages.append(f"{message} Name its folder: --geometry FOLDER, geometry=")
        if unread:
            message = f"Geometry of a format that is not read, simple bones are drawn instead: {_named(unread)}."
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
        ends = [p + np.einsum("ij,kj->ki", R, self._ends(name)) for name, (R, p) in self.poses.items()]
        return np.concatenate([self.points_at(self.q[None], lines=self.lines), *ends])

    def points_at(self, q: Array, parts: Sequence[Part] | None = None, lines: Sequence[Array] | None = None) -> Array:
        """(n, 3) [m] bodies and paths at poses q (t, nq), and corners of boxes around their parts, bones by default.
        `lines` are the paths there, if they are known."""
        poses = self.model.system.poses(q)
        origins = [poses[body.name][1] for body in self.model.system.bodies] or [np.zeros(3)]
        lines = polylines(self.model, q, poses) if lines is None else lines
        found = [np.reshape(x, (-1, 3)) for x in (*origins, *lines)]
        for part in self.bones if parts is None else parts:
            R, p = poses[part.body]
            ends = np.stack([part.vertices.min(axis=0), part.vertices.max(axis=0)])
            corners = np.array([[ends[b][k] for k, b in enumerate(bits)] for bits in np.ndindex(2, 2, 2)])
            found.append((np.einsum("...ij,kj->...ki", R, corners) + np.asarray(p)[..., None, :]).reshape(-1, 3))
        return np.concatenate(found)

    @cached_property
    def box(self) -> tuple[Array, Array]:
        """Lowest and highest corner [m] of bodies and paths."""
        return self.points.min(axis=0), self.points.max(axis=0)

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
        moved = np.zeros((0, self.model.system.nq)) if self.motion is None else spread(self.motion, SEEN_POSES)
        points = np.concatenate([self.points, self.points_at(moved)]) if len(moved) else self.points
        return camera_of(points, self.up, FIGURE_HALF_WIDTH)

    @cached_property
    def bones(self) -> list[Part]:
        """The shapes of every body: its geometry files and shapes, and limbs where these are missing, to every joint
        that the body carries. Where most bodies have shapes, one without is not meant to be seen."""
        system, own = self.model.system, self._own
        known = {} if any(own.values()) else library_bones(system, self.poses, self.up)
        parts = [*own[system.ground], *known.get(system.ground, ())]
        bare = 2 * sum(bool(body.shapes) for body in system.bodies) <= len(system.bodies)
        for body in system.bodies:
            shapes = own[body.name] or known.get(body.name)
            if shapes is not None:
                parts += shapes
                continue
            for end in self._ends(body.name) if body.shapes or bare else ():
                length = float(np.linalg.norm(end))
                if length > MIN_LIMB_LENGTH:
                    radius = min(LIMB_RADIUS * length, 0.04 * max(length, 1.0))
                    parts.append(Part(body.name, limb(length, radius), orientation=tubes(np.zeros(3), end)[1]))
        return parts

    @cached_property
    def _own(self) -> dict[str, list[Part]]:
        """The shapes of the ground and of every body, as far as their files are there: where a body shows none, those
        of its contacts, as MuJoCo and others draw it."""
        system, found = self.model.system, dict[str, list[Part]]()
        for name, shapes in ((system.ground, system.shapes), *((body.name, body.shapes) for body in system.bodies)):
            found[name], given = [], tuple(shapes)
            by_purpose = ([s for s in given if s.purpose == purpose] for purpose in ("visual", "collision"))
            for shape in next(filter(None, by_purpose), ()):
                mesh = shape_mesh(shape, self.geometry)
                if mesh is None:
                    self.missing.append(shape.file)
                    continue
                color = None if shape.color is None else tuple(int(255 * x) for x in shape.color[:3])
                found[name].append(Part(name, mesh, shape.position, shape.orientation, color))
        return found

    @cached_property
    def ghosts(self) -> list[Part]:
        """The surfaces that muscles wrap, to be seen through, in a model without shapes; nothing in others."""
        return [] if any(self._own.values()) else [replace(part, color=SURFACE, opacity=0.25) for part in self.surfaces]

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
        ball = solid("sphere", 0.006 * self.size)
        return [Part(m.body, ball, m.position, color=MARKER) for m in self.model.markers]

    @cached_property
    def surfaces(self) -> list[Part]:
        """The surfaces that muscles wrap, each once."""
        seen: dict[tuple[object, ...], Wrap] = {}
        for muscle in self.model.muscles:
            for wrap in muscle.path.wraps:
                seen.setdefault((wrap.body, wrap.kind, wrap.position, wrap.orientation, *wrap.sizes().items()), wrap)
        return [Part(w.body, surface(w, 0.15 * self.size), w.position, w.orientation) for w in seen.values()]

    @cached_property
    def strengths(self) -> Array:
        """(m,) [N] the greatest isometric forces of the muscles; zero where a law has none."""
        return np.array([getattr(m.law, "max_isometric_force", None) or 0.0 for m in self.model.muscles])

    @cached_property
    def radii(self) -> Array:
        """(m,) [m] of the muscles' tubes: thicker where they are stronger."""
        forces = self.strengths
        relative = np.sqrt(forces / max(float(forces.max(initial=0.0)), 1e-9))
        return self.size * (0.0016 + 0.0036 * relative)


BONE, GHOST, SURFACE = (226, 219, 200), (120, 160, 215), (110, 175, 215)
SCALE = np.array([[226, 150, 140], [221, 95, 80], [190, 30, 45], [110, 0, 30]])  # light to dark red: grey keeps it
RELAXED_WIDTH, FORCE_WIDTH = 0.6, 0.9  # of a muscle's width: without force; added at its greatest force
UNIT = (1.0, 0.0, 0.0, 0.0)
FLOOR_SPACING_M = 0.5  # [m] between lines of the floor
FLOOR_GREYS = (150, 215)  # of lines at whole metres, and between


def shades(values: Array, high: float) -> Array:
    """(..., 3) colours of numbers, reds from light at zero to dark at `high` whose lightness falls evenly; grey where
    they are no numbers."""
    x = np.clip(values / (high if high > 0 else 1.0), 0, 1)
    levels = np.linspace(0, 1, len(SCALE))
    color = np.stack([np.interp(np.nan_to_num(x), levels, SCALE[:, k]) for k in range(3)], axis=-1)
    return np.where(np.isfinite(values)[..., None], color, 128).astype(np.uint8)


def widths(radii: Array, force: Array) -> Array:
    """(m,) [m] radii of muscles that pull with a share of their greatest force (m,); as they are where that is NaN."""
    known = np.isfinite(force)
    grown = radii * (RELAXED_WIDTH + FORCE_WIDTH * np.sqrt(np.clip(np.where(known, force, 0.0), 0.0, 1.5)))
    return np.where(known, grown, radii)


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


@frozen
class Look:
    """What is seen of a model at a time: a frame, a ghost beside it, and arrows (n, 2, 3) [m] from points to tips.

    Values (m,) colour the muscles, from zero to `high`. Their widths follow `force` (m,), the shares of their greatest
    forces, NaN if these are not known.
    """

    frame: Frame
    values: Array
    high: float
    force: Array
    ghost: Frame | None = None
    arrows: Array | None = None

    @classmethod
    def plain(cls, frame: Frame, m: int) -> "Look":
        """Grey muscles, all as thick as they are."""
        unknown = np.full(m, np.nan)
        return cls(frame, unknown, 1.0, unknown)


class Stage:
    """One model in the scene of a viser server under a name; a ghost is a second one to compare with."""

    def __init__(self, server: Any, scene: Scene, name: str, ghost: bool = False) -> None:
        self.scene, self._server, self._root = scene, server, f"/{name}"
        opacity, api, size = 0.35 if ghost else None, server.scene, scene.size
        # names of bodies may hold anything, a slash included
        names = [scene.model.system.ground, *scene.model.system.body_names]
        self._paths = {body: f"{self._root}/body_{i}" for i, body in enumerate(names)}
        self._frames = {
            body: api.add_frame(path, show_axes=False, axes_length=0.06 * size, axes_radius=0.002 * size)
            for body, path in self._paths.items()
        }
        self._sent: dict[str, Any] = {}
        for i, part in enumerate(scene.bones):
            self._add(f"bone_{i}", part, part.color or (GHOST if ghost else BONE), opacity)
        shown = bool(scene.ghosts)
        self.surfaces = [self._add(f"surface_{i}", p, SURFACE, 0.35, shown) for i, p in enumerate(scene.surfaces)]
        self.markers = [self._add(f"marker_{i}", p, MARKER, None, False) for i, p in enumerate(scene.marker_balls)]
        self._owner = np.repeat(np.arange(len(scene.lines)), [len(line) - 1 for line in scene.lines])
        mesh, count = tube(), len(self._owner)
        # all pieces of all muscles are copies of one tube: a pose is one message
        self.muscles: Any = None if not scene.lines else api.add_batched_meshes_simple(
            f"{self._root}/muscles", mesh.vertices, mesh.faces, np.tile(UNIT, (count, 1)), np.zeros((count, 3)),
            batched_scales=np.ones((count, 3)), batched_colors=np.full((count, 3), 128, dtype=np.uint8),
            opacity=opacity, lod="off", cast_shadow=False, receive_shadow=False,
        )  # fmt: skip
        self.show(Look.plain(scene.start, len(scene.lines)))

    def _add(self, name: str, part: Part, color: Any, opacity: float | None, visible: bool = True) -> Any:
        return self._server.scene.add_mesh_simple(
            f"{self._paths[part.body]}/{name}",
            part.mesh.vertices,
            part.mesh.faces,
            color=color,
            opacity=opacity,
            side="double",
            wxyz=np.array(part.orientation),
            position=np.array(part.position, dtype=float),
            visible=visible,
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

    def show(self, look: Look) -> None:
        """Move to a frame, muscles coloured by values, as thick as they pull. Only bodies that have moved are sent."""
        with self._server.atomic():
            for body, (Q, p) in look.frame.bodies.items():
                if self._sent.get(body) != (now := (*Q, *p)):
                    self._sent[body] = now
                    self._frames[body].wxyz, self._frames[body].position = Q, p
            if self.muscles is None:
                return
            middle, turned, length = look.frame.pieces
            width = widths(self.scene.radii, look.force)[self._owner]
            self.muscles.batched_positions = middle.astype(np.float32)
            self.muscles.batched_wxyzs = turned.astype(np.float32)
            scales = np.stack([width, width, length + np.where(length > 0, 0.6 * width, 0.0)], axis=-1)
            self.muscles.batched_scales = scales.astype(np.float32)
            self.muscles.batched_colors = shades(look.values, look.high)[self._owner]
