"""Paths as tendons, and the force laws that MuJoCo has for them."""

from collections.abc import Callable, Sequence
from typing import Any

from myoquat.data.mjcf.elements import add
from myoquat.data.mjcf.reading.fixed_tendons import Combination, on_offset_path
from myoquat.data.mjcf.reading.tendons import SLIP_SPEED
from myoquat.data.mjcf.writing.actuators import Actuators, law_of
from myoquat.data.mjcf.writing.limits import soft_limit
from myoquat.data.mjcf.writing.sites import Sites
from myoquat.data.reports import UnwrittenParts
from myoquat.data.xml import Element
from myoquat.muscle.functional import LengthPoint
from myoquat.muscle.laws import ForceLaw, PathFriction, PathLimit, PathSpring, SlackSpring
from myoquat.muscle.path import Muscle

__all__ = ["add_tendons", "combination_of"]


def combination_of(muscle: Muscle) -> tuple[Combination, float] | None:
    """The coefficients by coordinate and the offset of a path whose length is linear in coordinates; None for another
    path."""
    end = muscle.path[-1]
    if len(muscle.path) != 2 or not isinstance(end, LengthPoint) or end.length.order != 1:
        return None
    offset, *coefficients = end.length.coefficients
    return dict(zip(end.coordinates, reversed(coefficients), strict=True)), offset


def add_tendons(
    root: Element, muscles: Sequence[Muscle], sites: Sites, actuators: Actuators, mobility: Callable[[Muscle], float],
    unwritten: UnwrittenParts,
) -> None:  # fmt: skip
    """A <spatial> or <fixed> tendon for every muscle, with a spring, a damper, dry friction, a limit or an actuator.
    Other laws are noted: their tendons pull nothing. mobility: J M^-1 J^T of a path in the pose of the file."""
    if not muscles:
        return
    tendons = add(root, "tendon")
    for muscle in muscles:
        combination = combination_of(muscle)
        law = muscle.law
        if combination is None:
            _add_spatial(tendons, muscle, sites, _passive(law, muscle, mobility, unwritten))
        else:
            law = None if law is None else on_offset_path(law, -combination[1])
            tendon = add(tendons, "fixed", name=muscle.name, **_passive(law, muscle, mobility, unwritten))
            for name, coefficient in combination[0].items():
                add(tendon, "joint", joint=name, coef=coefficient)
        driven = law_of(law)
        if driven is not None:
            actuators.add_muscle(muscle, driven)
        elif not isinstance(law, (PathFriction, PathLimit, SlackSpring)) and not (
            isinstance(law, PathSpring) and not law.dissipation
        ):
            law_name = "without a law" if law is None else f"with law {law.kind!r}"
            unwritten.count(f"muscles {law_name}, whose tendons pull nothing", muscle.name)


def _add_spatial(tendons: Element, muscle: Muscle, sites: Sites, passive: dict[str, Any]) -> None:
    tendon = add(tendons, "spatial", name=muscle.name, **passive)
    divisors = {pulley.point: pulley.divisor for pulley in muscle.pulleys}
    for k in range(len(muscle.path)):
        if k in divisors:
            add(tendon, "pulley", divisor=divisors[k])
        for wrap in muscle.wraps if k else ():
            if wrap.acts(k):
                geom, side = sites.surface(wrap)
                add(tendon, "geom", geom=geom, sidesite=side)
        add(tendon, "site", site=sites.of(muscle, k))


def _passive(
    law: ForceLaw | None, muscle: Muscle, mobility: Callable[[Muscle], float], unwritten: UnwrittenParts
) -> dict[str, Any]:
    """Attributes of a tendon that pulls by its length and speed."""
    if isinstance(law, PathLimit):
        softness, ends = (law.stiffness, law.damping, law.transition_length), (law.shortest_length, law.longest_length)
        return {"limited": True, "range": ends, **soft_limit(softness, mobility(muscle))}
    if isinstance(law, PathSpring) and not law.dissipation:
        return {"stiffness": law.stiffness, "springlength": (0.0, law.resting_length)}
    if isinstance(law, SlackSpring):
        ends = law.shortest_length, law.longest_length
        return {"stiffness": law.stiffness, "damping": law.damping or None, "springlength": ends}
    if isinstance(law, PathFriction):
        if law.slip_speed != SLIP_SPEED:
            unwritten.count("speeds of slip, which MuJoCo's dry friction has not", muscle.name)
        return {"frictionloss": law.friction}
    return {}
