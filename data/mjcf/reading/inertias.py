"""Mass and inertia of bodies: given by <inertial>, or made of their geoms."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.data.mjcf.reading.document import Compiler, Document
from myoquat.data.mjcf.reading.frames import Place, place_of
from myoquat.data.xml import Element, complain
from myoquat.joints.vectors import congruent, full, steiner, upper

__all__ = ["SOLIDS", "WEIGHTLESS", "Inertia", "corrected", "read_inertial", "solid", "total"]


@dataclass(frozen=True)
class Inertia:
    """mass [kg], centre of mass (3,) [m], and inertia about it (6,) [kg m^2], in the axes of the body."""

    mass: float
    center: Array
    inertia: Array


WEIGHTLESS = Inertia(0.0, np.zeros(3), np.zeros(6))


def read_inertial(element: Element, document: Document) -> Inertia:
    """An <inertial>; ModelError with its line without a mass, or without exactly one type of inertia."""
    values = document.values(element)
    place, mass = place_of(values, document.compiler), values.number("mass")
    if values.has("fullinertia") == values.has("diaginertia"):
        complain(element, "<inertial> needs either diaginertia or fullinertia")
    if values.has("fullinertia"):
        moments = values.vector("fullinertia", (0.0,) * 6)
    else:
        moments = (*values.vector("diaginertia", (0.0,) * 3), 0.0, 0.0, 0.0)
    document.finish(values)
    return Inertia(mass, place.p, _turned(place, np.array(moments)))


def _turned(place: Place, moments: Array) -> Array:
    turned = place.Q[0] != 1.0
    return np.asarray(congruent(place.R, moments)) if turned else moments


def corrected(inertia: Inertia, compiler: Compiler) -> Inertia:
    """The inertia after the compiler's bounds and its `balanceinertia`, in MuJoCo's order."""
    mass = max(inertia.mass, compiler.least_mass)
    moments, axes = np.linalg.eigh(full(inertia.inertia))
    bounded = np.maximum(moments, compiler.least_inertia)
    if compiler.balanced and bounded[0] + bounded[1] < bounded[2]:
        bounded = np.full(3, bounded.mean())
    if mass == inertia.mass and (bounded == moments).all():
        return inertia
    return Inertia(mass, inertia.center, upper((axes * bounded) @ axes.T))


def total(parts: Sequence[Inertia]) -> Inertia:
    """The inertia of several bodies that are one; weightless if none of them weighs anything."""
    mass = sum(part.mass for part in parts)
    if mass == 0.0:
        return WEIGHTLESS
    center = sum((part.mass * part.center for part in parts), start=np.zeros(3)) / mass
    inertia = sum((part.inertia + steiner(part.center - center, part.mass) for part in parts), start=np.zeros(6))
    return Inertia(mass, center, np.asarray(inertia))


# ---- solids of even density --------------------------------------------------------------------------------

Solid = Callable[[tuple[float, ...]], tuple[float, Array]]  # sizes -> volume, principal moments of a unit mass


def _sphere(x: tuple[float, ...]) -> tuple[float, Array]:
    return 4 / 3 * math.pi * x[0] ** 3, np.full(3, 2 / 5 * x[0] ** 2)


def _ellipsoid(x: tuple[float, ...]) -> tuple[float, Array]:
    a, b, c = (v * v for v in x)
    return 4 / 3 * math.pi * math.prod(x), np.array([b + c, a + c, a + b]) / 5


def _box(x: tuple[float, ...]) -> tuple[float, Array]:
    a, b, c = (v * v for v in x)
    return 8 * math.prod(x), np.array([b + c, a + c, a + b]) / 3


def _cylinder(x: tuple[float, ...]) -> tuple[float, Array]:
    radius, height = x[0], 2 * x[1]
    across = (3 * radius**2 + height**2) / 12
    return math.pi * radius**2 * height, np.array([across, across, radius**2 / 2])


def _capsule(x: tuple[float, ...]) -> tuple[float, Array]:
    """A cylinder with two halves of a ball, whose centres of mass lie 3/8 of the radius beyond its ends."""
    radius, height = x[0], 2 * x[1]
    ball, balls = _sphere(x)
    tube, moments = _cylinder(x)
    away = height * (2 * height + 3 * radius) / 8
    whole = ball + tube
    return whole, (tube * moments + ball * (balls + np.array([away, away, 0.0]))) / whole


SOLIDS: dict[str, tuple[int, Solid]] = {  # by the type of a geom: how many sizes it has, and the formula
    "sphere": (1, _sphere),
    "capsule": (2, _capsule),
    "ellipsoid": (3, _ellipsoid),
    "cylinder": (2, _cylinder),
    "box": (3, _box),
}


def solid(geom_type: str, sizes: tuple[float, ...], place: Place, mass: float | None, density: float) -> Inertia:
    """A solid of even density at a place of its body: of the mass that is given, else of the density [kg/m^3]."""
    volume, moments = SOLIDS[geom_type][1](sizes)
    mass = density * volume if mass is None else mass
    return Inertia(mass, place.p, _turned(place, np.concatenate([mass * moments, np.zeros(3)])))
