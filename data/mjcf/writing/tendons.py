"""Paths as spatial tendons, and the force laws that MuJoCo has for them."""

from collections.abc import Sequence
from typing import Any

from myoquat.data.mjcf.elements import add
from myoquat.data.mjcf.writing.sites import Sites
from myoquat.data.reports import UnwrittenParts
from myoquat.data.xml import Element
from myoquat.muscle.laws import PathActuator, PathSpring
from myoquat.muscle.path import Muscle

__all__ = ["add_tendons"]


def add_tendons(root: Element, muscles: Sequence[Muscle], sites: Sites, unwritten: UnwrittenParts) -> list[float]:
    """A <spatial> tendon for every muscle; an actuator for a force of the activation alone, a spring for one without
    damping. Other laws are noted: their tendons pull nothing. The actuators' controls at the start."""
    controls: list[float] = []
    if not muscles:
        return controls
    tendons, actuators = add(root, "tendon"), add(root, "actuator")
    for muscle in muscles:
        tendon = add(tendons, "spatial", name=muscle.name, **_spring(muscle, unwritten))
        divisors = {pulley.point: pulley.divisor for pulley in muscle.pulleys}
        for k in range(len(muscle.path)):
            if k in divisors:
                add(tendon, "pulley", divisor=divisors[k])
            for wrap in muscle.wraps if k else ():
                if wrap.acts(k):
                    geom, side = sites.surface(wrap)
                    add(tendon, "geom", geom=geom, sidesite=side)
            add(tendon, "site", site=sites.of(muscle, k))
        if isinstance(muscle.law, PathActuator):
            pull = -muscle.law.max_isometric_force
            add(actuators, "motor", name=muscle.name, tendon=muscle.name, gear=pull, ctrllimited=True,
                ctrlrange=(0.0, 1.0))  # fmt: skip
            controls.append(muscle.activation or 0.0)
            if muscle.activation_dynamics is not None:
                unwritten.count("activation dynamics of actuators", muscle.name)
    if not controls:
        root.remove(actuators)
    return controls


def _spring(muscle: Muscle, unwritten: UnwrittenParts) -> dict[str, Any]:
    """Attributes of a tendon that pulls as a spring."""
    law = muscle.law
    if isinstance(law, PathSpring) and not law.dissipation:
        return {"stiffness": law.stiffness, "springlength": (0.0, law.resting_length)}
    if not isinstance(law, PathActuator):
        law_name = "without a law" if law is None else f"with law {law.kind!r}"
        unwritten.count(f"muscles {law_name}, whose tendons pull nothing", muscle.name)
    return {}
