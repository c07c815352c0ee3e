"""Models of another size: bodies, paths, wrapping surfaces, markers and the lengths of muscles."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.errors import ModelError
from myoquat.joints.multibody.scaling import scaled_system
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.muscle.coordinates import Coupler, follow
from myoquat.muscle.evaluate import path_lengths
from myoquat.muscle.fitted import FittedPoint
from myoquat.muscle.model import Model
from myoquat.muscle.path import Muscle
from myoquat.muscle.scaled_parts import Stretch, scaled_constraint, scaled_force

__all__ = ["scaled"]

Factors = Mapping[str, Array]


def scaled(model: Model, factors: Factors, mass: float | None = None, keep_masses: bool = False) -> Model:
    """The model whose bodies, by name, are scaled by factors (3,) along their axes.

    `myoquat.joints.multibody.scaling.scaled_system` describes mass and keep_masses.

    Points, surfaces, markers and the points of constraints, passive forces and contacts are scaled with their bodies
    (`myoquat.muscle.scaled_parts`). Raises ModelError for constraints and forces that have no rule, and for paths that
    were fitted. Lengths of a force law grow as the path does: of the optimal fiber, the slack tendon, a resting
    ligament. The lengths of a rod and of a spring between points grow as the distance of their points. All this is in
    the pose at the start with couplers followed. Forces stay. A coupler that drives a slide grows by the factor of the
    body that the slide starts from.
    """
    unit = np.ones(3)
    muscles = tuple(_muscle(muscle, factors) for muscle in model.muscles)
    system = scaled_system(model.system, factors, mass, keep_masses)
    stretch = Stretch(factors, model.system, system, _start(model))
    stretched = replace(
        model,
        system=system,
        muscles=muscles,
        couplers=tuple(_coupler(coupler, model.system, factors) for coupler in model.couplers),
        constraints=tuple(scaled_constraint(constraint, stretch) for constraint in model.constraints),
        forces=tuple(scaled_force(force, stretch) for force in model.forces),
        markers=tuple(
            replace(m, position=tuple(factors.get(m.body, unit) * np.array(m.position))) for m in model.markers
        ),
        file=None,
    )
    if not muscles:
        return stretched
    ratio = _lengths(stretched) / _lengths(model)
    laws = (_with_law(muscle, float(r)) for muscle, r in zip(muscles, ratio, strict=True))
    return replace(stretched, muscles=tuple(laws))


def _muscle(muscle: Muscle, factors: Factors) -> Muscle:
    """The muscle on the scaled path; ModelError for one that was fitted to the lengths before."""
    unit = np.ones(3)
    if any(isinstance(point, FittedPoint) for point in muscle.path) and any(np.any(s != 1) for s in factors.values()):
        raise ModelError(
            "its path was fitted to lengths of the model as it is: scale the model with its own paths, then fit them "
            "again with fit_paths",
            element=f"muscle {muscle.name!r}",
        )
    return replace(
        muscle,
        path=tuple(point.scaled(factors.get(point.body, unit)) for point in muscle.path),
        wraps=tuple(wrap.scaled(factors.get(wrap.body, unit)) for wrap in muscle.wraps),
        anatomy=None if muscle.anatomy is None else _muscle(muscle.anatomy, factors),
    )


def _lengths(model: Model) -> Array:
    """(m,) path lengths at the start."""
    return path_lengths(model, _start(model))


def _start(model: Model) -> Array:
    """(nq,) the start, couplers followed."""
    q = model.start.copy()
    follow(model.couplers, model.system, q)
    return q


def _with_law(muscle: Muscle, ratio: float) -> Muscle:
    return muscle if muscle.law is None else replace(muscle, law=muscle.law.scaled(ratio))


def _coupler(coupler: Coupler, system: ArticulatedSystem, factors: Factors) -> Coupler:
    """The coupler, grown where what it drives is a length; ValueError where the factors differ along the axes."""
    for body in system.bodies:
        names = body.names_of_coordinates
        if coupler.dependent not in names:
            continue
        unit = body.joint.facts.coordinate_units[names.index(coupler.dependent)]
        s = factors.get(body.parent, np.ones(3))
        if unit != "m" or np.all(s == 1):
            return coupler
        if not np.all(s == s[0]):
            raise ValueError(
                f"the coupler {coupler.name!r} drives the length {coupler.dependent!r}, which starts from the body "
                f"{body.parent!r}: its factors must be equal, not {s.tolist()}"
            )
        return replace(coupler, scale=coupler.scale * float(s[0]))
    return coupler
