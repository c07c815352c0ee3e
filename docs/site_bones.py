"""Simplified bones of the library's shoulder, made from the landmarks of its model.

    python docs/site_bones.py FOLDER    writes thorax.obj, clavicle.obj, scapula.obj, humerus.obj, forearm.obj

They are pictures, not anatomy: tubes and plates between landmarks, ribs on the ellipsoid on which the scapula glides.
Those of the library lie in `data/models/geometry`.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from myoquat.core import Array, ArrayLike
from myoquat.data.files import write_text
from myoquat.data.library import load_model
from myoquat.data.meshes import Mesh
from myoquat.muscle.model import Model

BONES = ("thorax", "clavicle", "scapula", "humerus", "forearm")
TUBE_SIDES = 8  # of a tube
RIB_COUNT = 9
HEAD_RADIUS_M = 0.0245  # [m] radius of the humeral head
FILE_DECIMALS = 4  # of metres in files


def shoulder_bones(model: Model) -> dict[str, Mesh]:
    """The meshes of the bodies of the model "thoracoscapular" by name, each in its body's frame [m]."""
    ribs: Any = model.constraints[0]  # a constraint on the ellipsoid of the thorax
    spine: Any = model.constraints[1]
    apex: Any = model.constraints[2]
    points = {"trigonum": ribs.second_point, "inferior": spine.second_point, "coracoid": apex.second_point}
    landmarks = {name: np.array(point) for name, point in points.items()}
    offset = {body.name: np.array(body.position) for body in model.system.bodies}
    return {
        "thorax": _thorax(np.array(ribs.first_point), np.array(ribs.radii), offset["clavicle"]),
        "clavicle": _clavicle(offset["scapula"]),
        "scapula": _scapula(landmarks, offset["humerus"]),
        "humerus": _humerus(offset["forearm"]),
        "forearm": _forearm(np.array(model.system.bodies[-1].center_of_mass)),
    }


def write_obj(mesh: Mesh, path: Path) -> None:
    """Write a mesh as Wavefront's .obj."""
    vertices = [f"v {x:.{FILE_DECIMALS}f} {y:.{FILE_DECIMALS}f} {z:.{FILE_DECIMALS}f}" for x, y, z in mesh.vertices]
    faces = [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in mesh.faces]
    write_text(path, "\n".join(["# made by python docs/site_bones.py", *vertices, *faces]) + "\n")


# ---- bones -------------------------------------------------------------------------------------------------------


def _by(point: ArrayLike, x: float, y: float, z: float) -> Array:
    """A point moved by x, y, z [m]."""
    moved: Array = np.asarray(point, dtype=float) + np.array([x, y, z])
    return moved


def _thorax(centre: Array, radii: Array, clavicle: Array) -> Mesh:
    """Ribs that fall to the front, the breastbone between them, and the spine behind."""
    parts = []
    for height in np.linspace(0.62, -0.72, RIB_COUNT):
        turn = np.linspace(0.5 * np.pi, 2.5 * np.pi, 31)  # from the spine, z backwards, around to it
        narrow = np.sqrt(1 - height**2)
        front = 0.5 * (1 - np.sin(turn))  # 0 behind, 1 in front
        ring = np.stack([narrow * np.cos(turn), height - 0.22 * front, narrow * np.sin(turn)], axis=-1)
        ring /= np.maximum(np.linalg.norm(ring, axis=-1), 1.0)[:, None]  # not outside the ellipsoid
        parts.append(_tube(centre + 0.97 * radii * ring, 0.0055, closed=True, sides=5))
    front = np.array([(0.0, y, -np.sqrt(max(1 - y**2, 0.0))) for y in (0.62, 0.3, 0.0, -0.35)])
    chest = centre + 0.98 * radii * front
    top = np.array([0.0, clavicle[1] - 0.004, clavicle[2] + 0.004])
    parts.append(_tube(np.vstack([top, chest]), [0.014, 0.018, 0.015, 0.014, 0.006], flat=(2.0, 0.5)))
    back = centre[2] + radii[2]
    bends = (0.13, -0.05), (0.05, -0.02), (-0.1, 0.0), (-0.25, -0.01), (-0.36, -0.035)
    spine = _smooth([(0.0, y, back + bend) for y, bend in bends], 25)
    parts.append(_tube(spine, 0.014 + 0.003 * np.cos(np.pi * np.arange(25))))
    return _joined(parts)


def _clavicle(acromion: Array) -> Mesh:
    """A rod between its joints, bent forwards near the breastbone and backwards near the shoulder."""
    bends = ((0.0, 0.0), (0.3, -0.012), (0.7, 0.008), (1.0, 0.0))
    line = _smooth([_by(share * acromion, 0.0, 0.0, bend) for share, bend in bends], 17)
    return _tube(line, np.interp(np.linspace(0, 1, 17), [0, 0.15, 0.5, 0.85, 1], [9e-3, 7e-3, 5e-3, 6e-3, 7e-3]))


def _scapula(at: dict[str, Array], joint: Array) -> Mesh:
    """A plate between the inner border, the lower angle and the joint, with its spine, acromion and coracoid."""
    inner, neck = at["trigonum"], _by(joint, -0.014, 0.002, 0.012)
    superior = _by(inner, 0.018, 0.035, -0.008)
    border = _by(neck, -0.004, -0.022, 0.0), _by(neck, -0.004, 0.018, 0.0)
    acromion = _smooth([inner, _by(neck, -0.04, 0.03, 0.036), (-0.008, -0.004, 0.036), (0.0, 0.0, 0.012)], 15)
    beak = _by(at["coracoid"], 0.004, 0.004, -0.006)
    coracoid = _smooth([_by(neck, 0.0, 0.012, -0.006), beak, _by(joint, -0.006, 0.012, -0.034)], 9)
    ridge = np.interp(np.linspace(0, 1, 15), [0, 0.6, 1], [3e-3, 6e-3, 8e-3])
    glenoid = np.array([neck, _by(joint, -0.008, 0.0, 0.005)])
    plate = _plate(np.array([superior, inner, at["inferior"], *border]), 0.0035)
    parts = [plate, _tube(acromion, ridge, flat=(1.3, 0.7)), _tube(coracoid, 0.006), _tube(glenoid, [0.011, 0.016])]
    return _joined(parts)


def _humerus(elbow: Array) -> Mesh:
    """A head, the shaft, and a wide end at the elbow."""
    along = np.array([0.0, 0.06, 0.12, 0.25, 0.5, 0.75, 0.9, 0.97, 1.0])
    radius = [0.012, 0.019, 0.015, 0.0125, 0.0105, 0.011, 0.017, 0.02, 0.014]
    line = along[:, None] * elbow
    line[:3, 0] += 0.006
    return _joined([_ball(HEAD_RADIUS_M), _tube(line, radius, flat=(1.15, 0.9))])


def _forearm(centre_of_mass: Array) -> Mesh:
    """Ulna and radius from the elbow along the arm, and a hand."""
    ahead = centre_of_mass / np.linalg.norm(centre_of_mass)
    side = np.cross(ahead, (0.0, 0.0, 1.0))
    side /= np.linalg.norm(side)

    def line(along: ArrayLike, beside: ArrayLike) -> Array:
        return np.outer(np.asarray(along), ahead) + np.outer(np.asarray(beside), side)

    ulna = _tube(line([-0.02, 0.03, 0.12, 0.21, 0.245], np.full(5, -0.012)), [0.012, 0.0125, 0.007, 0.006, 0.007])
    radius = _tube(line([0.03, 0.12, 0.21, 0.245], [0.012, 0.019, 0.015, 0.012]), [0.009, 0.0075, 0.009, 0.012])
    palm = _tube(line([0.245, 0.27, 0.32, 0.335], np.zeros(4)), [0.014, 0.02, 0.024, 0.02], flat=(1.5, 0.5))
    fingers = [
        _tube(line([0.33, 0.37, 0.4 - 0.008 * abs(k)], np.full(3, 0.0135 * k)), [0.008, 0.0075, 0.005])
        for k in (-1.5, -0.5, 0.5, 1.5)
    ]
    thumb = _tube(line([0.25, 0.29, 0.32], [0.02, 0.045, 0.055]), [0.01, 0.009, 0.006])
    return _joined([ulna, radius, palm, *fingers, thumb])


# ---- shapes ------------------------------------------------------------------------------------------------------


def _smooth(points: Sequence[ArrayLike], count: int) -> Array:
    """(count, 3) the Bezier curve of points, by De Casteljau's algorithm; its ends are theirs."""
    given, t = np.array(points, dtype=float)[:, None, :], np.linspace(0, 1, count)[:, None]
    while len(given) > 1:
        given = (1 - t) * given[:-1] + t * given[1:]
    found: Array = given[0]
    return found


def _tube(
    line: Array,
    radius: ArrayLike,
    closed: bool = False,
    flat: tuple[float, float] = (1.0, 1.0),
    sides: int = TUBE_SIDES,
) -> Mesh:
    """A tube around a line (k, 3), whose end is its start if `closed`; `flat` widens it sideways and thins it to the
    front."""
    line, count = np.asarray(line, dtype=float), len(line)
    along = np.gradient(line, axis=0)
    along /= np.linalg.norm(along, axis=-1, keepdims=True)
    mean = np.abs(along).mean(axis=0)
    start = np.eye(3)[int(np.argmin(mean))]
    across = np.cross(along, start)
    across /= np.linalg.norm(across, axis=-1, keepdims=True)
    above = np.cross(across, along)
    angle = np.linspace(0, 2 * np.pi, sides, endpoint=False)
    r = np.broadcast_to(np.asarray(radius, dtype=float), (count,))[:, None, None]
    rings = r * (flat[0] * np.cos(angle)[:, None] * above[:, None] + flat[1] * np.sin(angle)[:, None] * across[:, None])
    vertices = (line[:, None] + rings).reshape(-1, 3)
    here, there = np.arange(sides), (np.arange(sides) + 1) % sides
    faces = [
        np.concatenate([np.stack([a + here, a + there, b + there], -1), np.stack([a + here, b + there, b + here], -1)])
        for a, b in (sides * np.array([(k, k + 1) for k in range(count - 1)])).tolist()
    ]
    if closed:
        return Mesh(vertices, np.concatenate(faces))
    ends = np.stack([line[0] - 0.4 * r[0, 0] * along[0], line[-1] + 0.4 * r[-1, 0] * along[-1]])
    first, last, top = count * sides, count * sides + 1, (count - 1) * sides
    faces.append(np.stack([there, here, np.full(sides, first)], -1))
    faces.append(np.stack([top + here, top + there, np.full(sides, last)], -1))
    return Mesh(np.vstack([vertices, ends]), np.concatenate(faces))


def _plate(corners: Array, thick: float) -> Mesh:
    """A thin plate with these corners in order: both sides and the edge."""
    middle = corners.mean(axis=0)
    normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])
    normal /= np.linalg.norm(normal)
    n = len(corners)
    front, back = np.vstack([corners, middle]) + thick / 2 * normal, np.vstack([corners, middle]) - thick / 2 * normal
    here, there = np.arange(n), (np.arange(n) + 1) % n
    top = np.stack([here, there, np.full(n, n)], -1)
    bottom = np.stack([there, here, np.full(n, n)], -1) + n + 1
    edge = [np.stack([there, here, here + n + 1], -1), np.stack([there, here + n + 1, there + n + 1], -1)]
    return Mesh(np.vstack([front, back]), np.concatenate([top, bottom, *edge]))


def _ball(radius: float) -> Mesh:
    """A sphere about the origin."""
    height = np.cos(np.linspace(0.05, np.pi - 0.05, 8))
    line = np.stack([0 * height, -radius * height, 0 * height], axis=-1)
    return _tube(line, radius * np.sqrt(1 - height**2))


def _joined(parts: Sequence[Mesh]) -> Mesh:
    starts = np.cumsum([0, *(len(part.vertices) for part in parts[:-1])])
    faces = [part.faces + start for part, start in zip(parts, starts, strict=True)]
    return Mesh(np.concatenate([part.vertices for part in parts]), np.concatenate(faces))


if __name__ == "__main__":
    for name, mesh in shoulder_bones(load_model("thoracoscapular")).items():
        write_obj(mesh, Path(sys.argv[1]) / f"{name}.obj")
