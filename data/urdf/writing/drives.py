"""What a model holds of the joints of a URDF beyond its system, as attributes of the file."""

from collections.abc import Iterator
from dataclasses import field

from myoquat.core.records import dataclass
from myoquat.data.reports import UnwrittenParts
from myoquat.joints.functions import coefficients_of
from myoquat.joints.multibody.body import Body
from myoquat.muscle.actuators import CoordinateActuator
from myoquat.muscle.coordinates import Coupler
from myoquat.muscle.model import Model

__all__ = ["NO_DRIVE", "Drive", "joint_name", "written_drives"]


@dataclass(frozen=True)
class Drive:
    """The attributes of a joint's <limit> and <mimic>."""

    limit: dict[str, str] = field(default_factory=dict)
    mimic: dict[str, str] = field(default_factory=dict)


NO_DRIVE = Drive()


def joint_name(body: Body) -> str:
    """The name in the file of the joint that carries a body."""
    return body.joint_name or f"{body.name}_joint"


def written_drives(model: Model, unwritten: UnwrittenParts) -> dict[str, Drive]:
    """What a file holds of the hinges and sliders of a model, by the names of their coordinates; the rest is noted."""
    joints = {body.names_of_coordinates[0]: joint_name(body) for body in model.system.bodies if body.joint.nq == 1}
    drives = {name: Drive() for name in joints}
    for coordinate in model.coordinates:
        if coordinate.range is None or coordinate.name not in joints or coordinate.prescribed or coordinate.clamped:
            unwritten.count("what is said of coordinates", coordinate.name)
        if coordinate.range is not None and coordinate.name in joints and not coordinate.locked:
            drives[coordinate.name].limit.update(_ends(coordinate.range))
    for actuator in model.actuators:
        if type(actuator) is CoordinateActuator and actuator.coordinate in joints and _is_effort(actuator):
            drives[actuator.coordinate].limit["effort"] = repr(float(actuator.upper))
        else:
            unwritten.count("actuators", actuator.name)
    for given in model.inputs:
        unwritten.count("inputs over time", given.name)
    for coupler in model.couplers:
        line = _line(coupler)
        if line is None or coupler.dependent not in joints or coupler.independent not in joints:
            unwritten.count("couplers", coupler.name)
        else:
            drives[coupler.dependent].mimic.update(joint=joints[coupler.independent], **line)
    for description, name in _without_place(model):
        unwritten.count(description, name)
    return drives


def _ends(ends: tuple[float, float]) -> dict[str, str]:
    return {key: repr(float(end)) for key, end in zip(("lower", "upper"), ends, strict=True)}


def _is_effort(actuator: CoordinateActuator) -> bool:
    """Whether the control is the force itself, bounded alike on both sides."""
    return actuator.optimal_force == 1.0 and actuator.lower == -actuator.upper


def _line(coupler: Coupler) -> dict[str, str] | None:
    """multiplier and offset of a coupler by a line; None for another function."""
    found = coefficients_of(coupler.function)
    if found is None or any(found[2:]):
        return None
    offset, multiplier = (*found, 0.0)[:2]
    return {"multiplier": repr(coupler.scale * multiplier), "offset": repr(coupler.scale * offset)}


def _without_place(model: Model) -> Iterator[tuple[str, str]]:
    """Description and name of the parts that URDF cannot represent."""
    for muscle in model.muscles:
        yield "muscles", muscle.name
    for limit in model.limits:
        yield "limits of coordinates that push back", limit.name
    for force in model.forces:
        yield "passive forces", force.name
    for constraint in model.constraints:
        yield "constraints", constraint.label
    for marker in model.markers:
        yield "markers", marker.name
    for group in model.groups:
        yield "groups of muscles", group.name
    if model.start_q is not None or model.start_u is not None:
        yield "starts", model.name
