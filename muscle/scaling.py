"""Models of another size: bodies, paths, wrapping surfaces, markers and the lengths of muscles."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import singledispatch
from typing import Any, TypeVar

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints import ArticulatedSystem, ModelError, quaternion_from_euler, rotation_matrix
from myoquat.joints.constraints import Constraint, Distance, OnSurface, PointLoop, PointOnLine, Weld
from myoquat.joints.constraints.base import point_of
from myoquat.joints.multibody.scaling import scaled_system

from .contact import ContactEllipsoid, ContactHalfSpace, ContactSphere, ContactSurface, surface_types
from .coordinates import Coupler, follow
from .evaluate import path_lengths
from .fitted import FittedPoint
from .forces import HuntCrossley, PointSpring, SmoothSphereHalfSpace
from .forces.bodies import FrameForce
from .forces.coordinates import CoordinateForce
from .model import Model
from .path import MusclePath

Factors = Mapping[str, Array]


def scaled(model: Model, factors: Factors, mass: float | None = None, keep_masses: bool = False) -> Model:
    """The model whose bodies, by name, are scaled by factors (3,) along their axes.

    `myoquat.joints.multibody.scaling.scaled_system` describes mass and keep_masses.

    Points, surfaces, markers and the points of constraints, passive forces and contacts are scaled with their bodies
    (`myoquat.muscle.scaling`). Raises ModelError for constraints and forces that have no rule, and for paths that
    were fitted. Lengths of a force law grow as the path does: of the optimal fiber, the slack tendon, a resting
    ligament. The lengths of a rod and of a spring between points grow as the distance of their points. All this is in
    the pose at the start with couplers followed. Forces stay. A coupler that drives a slide grows by the factor of the
    body that the slide starts from.
    """
    system = scaled_system(model.system, factors, mass, keep_masses)
    stretch = Stretch(factors, model.system, system, _start(model))
    stretched = replace(
        model,
        system=system,
        muscles=tuple(replace(m, path=_path(m.path, stretch, m.name)) for m in model.muscles),
        couplers=tuple(_coupler(coupler, stretch) for coupler in model.couplers),
        constraints=tuple(scaled_part(constraint, stretch) for constraint in model.constraints),
        forces=tuple(scaled_part(force, stretch) for force in model.forces),
        markers=tuple(replace(m, position=stretch.of(m.body) * m.position) for m in model.markers),
        file=None,
    )
    if not model.muscles:
        return stretched
    ratio = path_lengths(stretched, _start(stretched)) / path_lengths(model, stretch.q)
    muscles = (
        muscle if muscle.law is None else replace(muscle, law=muscle.law.scaled(float(r)))
        for muscle, r in zip(stretched.muscles, ratio, strict=True)
    )
    return replace(stretched, muscles=tuple(muscles))


def _path(path: MusclePath, stretch: "Stretch", muscle: str) -> MusclePath:
    """The scaled path of a muscle; ModelError for one that was fitted to the lengths before."""
    fitted = any(isinstance(point, FittedPoint) for point in path.points)
    if fitted and any(np.any(s != 1) for s in stretch.factors.values()):
        raise ModelError(
            "its path was fitted to lengths of the model as it is: scale the model with its own paths, then fit them "
            "again with fit_paths",
            element=f"muscle {muscle!r}",
        )
    return replace(
        path,
        points=tuple(point.scaled(stretch.of(point.body)) for point in path.points),
        wraps=tuple(wrap.scaled(stretch.of(wrap.body)) for wrap in path.wraps),
        anatomy=None if path.anatomy is None else _path(path.anatomy, stretch, muscle),
    )


def _start(model: Model) -> Array:
    """(nq,) the start, couplers followed."""
    q = model.start.copy()
    follow(model.couplers, model.system, q)
    return q


def _coupler(coupler: Coupler, stretch: "Stretch") -> Coupler:
    """The coupler, grown where what it drives is a length by which the child slides; ValueError where the factors
    differ along the axes."""
    for body in stretch.before.bodies:
        names = body.names_of_coordinates
        if coupler.dependent not in names:
            continue
        k, joint = names.index(coupler.dependent), body.joint
        slides = not joint.made_of_axes or any(a.is_coordinate and k in a.coordinates for a in joint.translations)
        s = stretch.of(body.parent)
        if joint.facts.coordinate_units[k] != "m" or not slides or np.all(s == 1):
            return coupler
        if not np.all(s == s[0]):
            raise ValueError(
                f"the coupler {coupler.name!r} drives the length {coupler.dependent!r}, which starts from the body "
                f"{body.parent!r}: its factors must be equal, not {s.tolist()}"
            )
        return replace(coupler, scale=coupler.scale * float(s[0]))
    return coupler


# ---- Constraints and passive forces between bodies that are stretched along their axes ------------------------------


NO_SCALING = np.ones(3)
Part = TypeVar("Part", bound=Any)


@frozen(eq=False)
class Stretch:
    """Bodies by name with their factors (3,), and the systems before and after at coordinates q (nq,)."""

    factors: Factors
    before: ArticulatedSystem
    after: ArticulatedSystem
    q: Array

    def of(self, body: str) -> Any:
        """(3,) the factors of a body."""
        return self.factors.get(body, NO_SCALING)

    def placed(self, part: Part) -> Part:
        """Something between two bodies, its points on the stretched ones."""
        first, second = self.of(part.first) * part.first_point, self.of(part.second) * part.second_point
        return replace(part, first_point=first, second_point=second)

    def growth(self, old: Any, new: Any) -> float:
        """By which factor the distance of two points grows at the start; 1 where they meet there."""
        ends = [
            [point_of(system, self.q, body, x) for body, x in ((p.first, p.first_point), (p.second, p.second_point))]
            for system, p in ((self.before, old), (self.after, new))
        ]
        before, after = (float(np.linalg.norm(first - second)) for first, second in ends)
        return after / before if before > 0 else 1.0


@singledispatch
def scaled_part(part: Any, stretch: Stretch) -> Any:
    """The constraint or force between the scaled bodies, whose points move with them; angles of frames stay.

    A distance and the length of a spring grow as the distance of their points at the start. The axis of a line and the
    half axes of an ellipsoid grow as the body does along them. Stiffnesses stay, and so do forces on coordinates. A
    type of constraint or force registers its own rule. Raises ModelError for one whose lengths are not known.
    """
    element = part.label if isinstance(part, Constraint) else part.element
    raise ModelError("what scaling makes of its lengths is not determined", element=element)


@scaled_part.register
def _(part: CoordinateForce, stretch: Stretch) -> CoordinateForce:
    return part


@scaled_part.register
def _(part: PointLoop | Weld | FrameForce, stretch: Stretch) -> Any:
    return stretch.placed(part)


@scaled_part.register
def _(part: Distance | PointSpring, stretch: Stretch) -> Any:
    new, length = stretch.placed(part), "distance" if isinstance(part, Distance) else "rest_length"
    return replace(new, **{length: getattr(part, length) * stretch.growth(part, new)})


@scaled_part.register
def _(part: PointOnLine, stretch: Stretch) -> PointOnLine:
    return replace(stretch.placed(part), axis=stretch.of(part.first) * part.axis)


@scaled_part.register
def _(part: OnSurface, stretch: Stretch) -> OnSurface:
    turned = rotation_matrix(quaternion_from_euler(part.first_angles, "XYZ"))
    return replace(stretch.placed(part), radii=part.radii * _along(stretch.of(part.first), turned))


@scaled_part.register
def _(force: SmoothSphereHalfSpace, stretch: Stretch) -> SmoothSphereHalfSpace:
    sphere, half_space = (_surface(surface, stretch) for surface in (force.sphere, force.half_space))
    return replace(force, sphere=sphere, half_space=half_space)  # type: ignore[arg-type]


@scaled_part.register
def _(force: HuntCrossley, stretch: Stretch) -> HuntCrossley:
    materials = (
        replace(material, surfaces=tuple(_surface(surface, stretch) for surface in material.surfaces))
        for material in force.materials
    )
    return replace(force, materials=tuple(materials))


def _surface(surface: ContactSurface, stretch: Stretch) -> ContactSurface:
    """A contact surface on its stretched body: of a sphere the radius grows by the mean of the factors."""
    s = stretch.of(surface.body)
    return replace(surface, position=s * surface.position, **_SIZES[surface_types(surface)[0]](surface, s))


_SIZES: dict[type[ContactSurface], Callable[[Any, Array], dict[str, Any]]] = {
    ContactHalfSpace: lambda surface, s: {"normal": surface.normal / s},
    ContactSphere: lambda surface, s: {"radius": surface.radius * float(np.mean(s))},
    ContactEllipsoid: lambda surface, s: {"radii": surface.radii * _along(s, rotation_matrix(surface.orientation))},
}


def _along(s: Array, R: Array) -> Any:
    """(3,) by how much the axes of a frame R on a body grow that is stretched by s."""
    return np.linalg.norm(s[:, None] * R, axis=0)
