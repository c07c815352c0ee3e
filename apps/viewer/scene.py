"""What the viewer shows of a model: bodies with what is fixed to them, muscles, and the frames of a motion."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from myoquat.core import Array, ArrayLike, frozen, printable
from myoquat.data.library import load_model
from myoquat.data.meshes import MESH_FILES, Mesh, read_mesh
from myoquat.joints.multibody.body import Body, Shape
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.quaternion import quaternion_from_matrix, rotation_matrix
from myoquat.muscle import Model
from myoquat.muscle.display import farthest_point, polylines, up_of
from myoquat.muscle.wrapping import Wrap

SIDES = 12  # without a GPU, a triangle takes microseconds
LIMB = (  # heights and radii along a long bone: knobs at its ends
    (0.0, 0.01, 0.05, 0.14, 0.3, 0.7, 0.86, 0.95, 0.99, 1.0),
    (0.0, 0.6, 1.0, 0.8, 0.55, 0.5, 0.75, 0.95, 0.55, 0.0),
)
ARROW_SIZES = 0.006, 0.016, 0.04  # of the figure's size: radius of the shaft, radius and length of the head
SHAFT_PARTS = 8  # of an arrow: short parts are sorted correctly among bones


def limb(length: float, radius: float) -> Mesh:
    """A shape like a long bone along z, from 0 to `length`."""
    return _revolved(*LIMB, (radius, radius, length))


def tube(parts: int = 1) -> Mesh:
    """A cylinder of radius one and length one about z, in the middle of its axis, in some parts."""
    height = np.linspace(-0.5, 0.5, parts + 1)
    return _revolved(np.pad(height, 1, "edge"), np.pad(np.ones(parts + 1), 1), sides=6)


def arrow(length: float, size: float) -> Mesh:
    """An arrow along z, from 0 to `length`, in a figure of a size."""
    shaft, wide, head = np.multiply(ARROW_SIZES, size)
    neck = length - min(head, length / 2)
    height = [0.0, *np.linspace(0.0, neck, SHAFT_PARTS + 1), neck, length]
    return _revolved(height, [0.0, *[shaft] * (SHAFT_PARTS + 1), wide, 0.0], sides=6)


def solid(name: str, *sizes: float) -> Mesh:
    """A solid in its own frame, by the sizes of `Shape` and of wrapping surfaces; TypeError for another one."""
    latitude, ends, disc = (
        np.linspace(-np.pi / 2, np.pi / 2, 11),
        (-0.5, -0.5, 0.5, 0.5),
        np.array([0.0, 1.0, 1.0, 0.0]),
    )
    if name in ("sphere", "ellipsoid"):
        return _revolved(np.sin(latitude), np.cos(latitude), np.broadcast_to(sizes, 3))
    if name == "box":
        return _revolved(ends, np.sqrt(0.5) * disc, sizes, sides=4)
    if name not in ("torus", "cylinder", "capsule"):
        raise TypeError(f"the viewer has no shape for a {name}")
    radius, length = sizes
    if name == "torus":
        angle = np.linspace(0, 2 * np.pi, SIDES + 1)
        return _revolved(-length * np.sin(angle), radius - length * np.cos(angle))
    if name == "cylinder":
        return _revolved(ends, disc, (radius, radius, length))
    south = latitude[latitude <= 0]
    height, wide = np.sin(south) * radius - length / 2, np.cos(south) * radius
    return _revolved([*height, *-height[::-1]], [*wide, *wide[::-1]])


def _revolved(
    height: Sequence[float] | Array, radius: Sequence[float] | Array, scale: ArrayLike = 1.0, sides: int = SIDES
) -> Mesh:
    """The surface that a line of heights and radii (k,) leaves as it turns about z, times a scale along each axis."""
    angle = 2 * np.pi * (np.arange(sides) + 0.5) / sides
    ring = np.stack([np.cos(angle), np.sin(angle), np.ones(sides)], axis=-1)
    vertices = ring * np.stack([radius, radius, height], axis=-1)[:, None]  # (k, sides, 3)
    grid = np.pad(np.arange(vertices.size // 3).reshape(-1, sides), ((0, 0), (0, 1)), "wrap")
    a, b, c, d = grid[:-1, :-1], grid[:-1, 1:], grid[1:, 1:], grid[1:, :-1]
    faces = np.moveaxis(np.array([[a, b, c], [a, c, d]]), 1, -1)  # (2, k - 1, sides, 3)
    wide = np.array([radius[:-1], radius[1:]]) > 0  # a triangle with no area takes as long to draw as any other
    return Mesh(vertices.reshape(-1, 3) * scale, faces[wide].reshape(-1, 3))


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


def tubes(start: Array, end: Array) -> tuple[Array, Array, Array]:
    """From points to points (..., 3): middles (..., 3), unit quaternions (..., 4) that turn z along, lengths [m]."""
    along = end - start
    length = np.linalg.norm(along, axis=-1)
    x, y, z = np.moveaxis(along, -1, 0)
    Q = np.stack([length + z, -y, x, 0 * z], axis=-1)  # half the way from z to there
    Q[np.linalg.norm(Q, axis=-1) <= 1e-9 * length] = 0.0, 1.0, 0.0, 0.0  # straight down, or of no length
    return (start + end) / 2, Q / np.linalg.norm(Q, axis=-1, keepdims=True), length


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


def frames(model: Model, q: Array, lines: Sequence[Array] | None = None) -> list[Frame]:
    """The frames at q (t, nq); `lines` are the `polylines` there, if they are known."""
    count, poses = len(q), model.system.poses(q)
    bodies = {
        name: (
            np.broadcast_to(quaternion_from_matrix(np.asarray(R)), (count, 4)),
            np.broadcast_to(p, (count, 3)),
        )
        for name, (R, p) in poses.items()
    }
    lines = [np.zeros((count, 1, 3)), *(polylines(model, q, poses) if lines is None else lines)]  # one without pieces
    starts, ends = (np.concatenate([x[:, part] for x in lines], axis=1) for part in (slice(-1), slice(1, None)))
    pieces = zip(*tubes(starts, ends), strict=True)
    return [Frame({n: (Q[i], p[i]) for n, (Q, p) in bodies.items()}, piece) for i, piece in enumerate(pieces)]


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


def view_direction(extent: Array, up: Array) -> Array:
    """(3,) unit vector from the middle of a box with sides (3,) to an eye beside its widest view."""
    flat = [i for i in np.argsort(extent) if abs(up[i]) < 0.9]
    toward = np.eye(3)[flat[0]] + 0.6 * np.eye(3)[flat[-1]] + 0.15 * up
    return toward / np.linalg.norm(toward)


def camera_of(points: Array, up: Array, beside: float) -> tuple[Array, Array]:
    """(eye, middle) [m]: from beside the widest view of points (n, 3), all of them within the frame and in its middle.
    The frame's width beside the middle is `beside` of its height."""
    low, high = points.min(axis=0), points.max(axis=0)
    middle, extent = (low + high) / 2, high - low
    toward = view_direction(extent, up)
    across = np.cross(up, toward)
    across /= np.linalg.norm(across)
    axes = np.stack([across, np.cross(toward, across), toward])
    least = 0.1 * max(float(np.linalg.norm(extent)), 1e-3)
    for step in range(CENTERING_STEPS + 1):  # what is nearer looks larger: the box's middle is not the picture's
        x, y, near = seen = axes @ (points - middle).T
        off_axis = np.maximum(np.abs(y), np.abs(x) / beside)
        distance = max(float((off_axis / (FIGURE_HEIGHT * np.tan(FIELD / 2)) + near).max()), least)
        if step < CENTERING_STEPS:
            slope = seen[:2] / (distance - near)
            middle = middle + 0.5 * distance * (slope.min(axis=1) + slope.max(axis=1)) @ axes[:2]
    return middle + distance * toward, middle


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
# Where the two joints are whose distance sizes a bone: of the thorax, whose next joint is near, others
SPANS = {"thorax": ("clavicle", "humerus"), "clavicle": ("clavicle", "scapula"), "scapula": ("scapula", "humerus"),
         "humerus": ("humerus", "forearm")}  # fmt: skip
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
    at = {name: p for name, (_, p) in model.system.poses(model.start).items()}
    return meshes, {model.system.ground: np.zeros(3), **at}


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
        (R, p), shift = poses[name], np.zeros(3)
        if bone == "forearm" and carrier in fits:
            fits[name] = fits[carrier]
            hands.add(name)
        elif bone in SPANS:
            near, far = SPANS[bone]
            first, last = p if near == bone else origin(near, name), origin(far, name)
            if first is not None and last is not None:
                axes, length = R if standing is None else standing, origins[far] - origins[near]
                scale = float(np.linalg.norm(last - first) / np.linalg.norm(length))
                if along(last - first, axes, length) and SIZES[0] <= scale <= SIZES[1]:
                    fits[name] = scale, axes
                    shift = first - p - scale * axes @ (origins[near] - origins[bone])
        if name in fits:
            (scale, axes), mesh = fits[name], meshes[bone]
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
        return self.points_at(self.q[None], lines=self.lines)

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
            corners = np.array([*itertools.product(*ends.T)])
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
            for end in self._ends(body) if body.shapes or bare else ():
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

    def _ends(self, body: Body) -> Array:
        """(n, 3) [m] in the body's frame: origins of the bodies that it carries, at the present pose of their joints.

        Without any, the farthest of its centre of mass and attachments.
        """
        R, p = self.poses[body.name]
        carried = [self.poses[b.name][1] for b in self.model.system.bodies if b.parent == body.name]
        ends = [R.T @ (x - p) for x in carried if np.linalg.norm(x - p) > MIN_LIMB_LENGTH]
        return np.array(ends or [farthest_point(self.model, body)], dtype=float)

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

    @cached_property
    def owner(self) -> Array:
        """(n,) the number of the muscle to which a piece belongs."""
        return np.repeat(np.arange(len(self.lines)), [len(line) - 1 for line in self.lines])

    def scales(self, look: "Look") -> Array:
        """(n, 3) what turns `tube` into each piece: its radius twice, and its length, round ends included."""
        width, length = widths(self.radii, look.force)[self.owner], look.frame.pieces[2]
        return np.stack([width, width, length + np.where(length > 0, 0.6 * width, 0.0)], axis=-1)


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
        mesh, count = tube(), len(scene.owner)
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
            middle, turned, _ = look.frame.pieces
            self.muscles.batched_positions = middle.astype(np.float32)
            self.muscles.batched_wxyzs = turned.astype(np.float32)
            self.muscles.batched_scales = self.scene.scales(look).astype(np.float32)
            self.muscles.batched_colors = shades(look.values, look.high)[self.scene.owner]
