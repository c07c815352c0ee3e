"""Poses of elements: position and orientation, in every form that MJCF has for them."""

import math

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.data.mjcf.reading.document import Compiler
from myoquat.data.mjcf.reading.values import Values
from myoquat.data.xml import complain
from myoquat.joints.quaternion import (
    quaternion_exp,
    quaternion_from_matrix,
    quaternion_multiply,
    rotation_matrix,
)

__all__ = ["HERE", "Place", "place_of", "unit"]

ORIENTATIONS = ("quat", "axisangle", "xyaxes", "zaxis", "euler")
AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
ROUND_OFF = 1e-12  # by which a quaternion may miss length one and is taken as it stands


@dataclass(frozen=True)
class Place:
    """A frame in the frame of its body or of the body above: origin p (3,) [m] and unit quaternion Q (4,)."""

    p: Array
    Q: Array

    @property
    def R(self) -> Array:
        """(3, 3) the rotation matrix of Q."""
        return np.asarray(rotation_matrix(self.Q))

    @property
    def position(self) -> tuple[float, ...]:
        """p as numbers."""
        return tuple(float(x) for x in self.p)

    @property
    def orientation(self) -> tuple[float, ...]:
        """Q as numbers."""
        return tuple(float(x) for x in self.Q)

    def holds(self, inner: "Place") -> "Place":
        """The place, seen from outside, of something that lies at `inner` in this frame."""
        if np.array_equal(self.Q, HERE.Q):
            return Place(self.p + inner.p, inner.Q)
        return Place(self.p + self.R @ inner.p, np.asarray(quaternion_multiply(self.Q, inner.Q)))


HERE = Place(np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))


def unit(Q: tuple[float, ...], values: Values, key: str) -> Array:
    """(4,) the quaternion at length one, to which MuJoCo brings them all; ModelError for zero."""
    length = math.hypot(*Q)
    if length == 0.0:
        complain(values.element, f"{key} must not have length zero")
    return np.array(Q) if abs(length - 1.0) < ROUND_OFF else np.array(Q) / length


def place_of(values: Values, compiler: Compiler, ends: bool = False) -> Place:
    """The place of an element; with `ends`, "fromto" may give it: the middle of two points, z along them."""
    if ends and values.has("fromto"):
        a, b = np.array(values.vector("fromto", (0.0,) * 6)).reshape(2, 3)
        if np.array_equal(a, b):
            complain(values.element, "fromto must be two different points")
        return Place((a + b) / 2, _onto_z(a - b))
    return Place(np.array(values.vector("pos", (0.0,) * 3)), _orientation(values, compiler))


def _orientation(values: Values, compiler: Compiler) -> Array:
    given = [key for key in ORIENTATIONS if values.has(key)]
    if len(given) > 1:
        complain(values.element, f"only one of {', '.join(ORIENTATIONS)} may be given, not {' and '.join(given)}")
    if not given:
        return HERE.Q
    key = given[0]
    if key == "quat":
        return unit(values.vector("quat", (0.0,) * 4), values, "quat")
    if key == "axisangle":
        *axis, angle = values.vector("axisangle", (0.0,) * 4)
        return np.asarray(quaternion_exp(_direction(np.array(axis), values, key) * angle * compiler.angle))
    if key == "euler":
        return _euler(values.vector("euler", (0.0,) * 3), compiler)
    if key == "zaxis":
        return _onto_z(_direction(np.array(values.vector("zaxis", (0.0,) * 3)), values, key))
    x, y = np.array(values.vector("xyaxes", (0.0,) * 6)).reshape(2, 3)
    x = _direction(x, values, key)
    y = _direction(y - (x @ y) * x, values, key)
    return np.asarray(quaternion_from_matrix(np.stack([x, y, np.cross(x, y)], axis=1)))


def _direction(v: Array, values: Values, key: str) -> Array:
    length = float(np.linalg.norm(v))
    if length == 0.0:
        complain(values.element, f"{key} must not have length zero")
    return v / length


def _euler(angles: tuple[float, ...], compiler: Compiler) -> Array:
    """Turns in the order of the compiler's letters: lower case about axes that turn along, upper case about fixed."""
    Q = HERE.Q
    for letter, angle in zip(compiler.sequence, angles, strict=True):
        step = np.asarray(quaternion_exp(np.array(AXES[letter.lower()]) * angle * compiler.angle))
        Q = np.asarray(quaternion_multiply(Q, step) if letter.islower() else quaternion_multiply(step, Q))
    return Q


def _onto_z(v: Array) -> Array:
    """(4,) the least turn that takes the z axis to the direction of v; about x by pi where v points along -z."""
    across = np.array([-v[1], v[0], 0.0])
    size = float(np.linalg.norm(across))
    if size == 0.0:
        return HERE.Q if v[2] > 0 else np.array([0.0, 1.0, 0.0, 0.0])
    return np.asarray(quaternion_exp(across / size * math.atan2(size, v[2])))
