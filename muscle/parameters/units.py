"""Units of a model's numbers, by the names of their fields."""

from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.muscle.parameters.names import START, Location

__all__ = ["unit_of"]

_FIELDS = {
    "gravity": "m/s^2",
    "mass": "kg",
    "position": "m",
    "orientation": "1",
    "center_of_mass": "m",
    "inertia": "kg m^2",
    "activation": "1",
    "rotor_inertia": "kg m^2",
    "radius": "m",
    "radii": "m",
    "length": "m",
    "damping": "N m s/rad",
    "stiffness": "N m/rad",
}
_ENDINGS = {
    "_length": "m",
    "_radius": "m",
    "isometric_force": "N",
    "pennation": "rad",
    "_velocity": "1/s",
    "_time": "s",
}


def unit_of(system: ArticulatedSystem, name: str, location: Location) -> str:
    """The unit of a number at a location; "" if its name determines none."""
    key = next(str(step) for step in reversed(location.steps) if isinstance(step, str))
    if key in START:
        return _start_unit(system, key, int(location.steps[-1]))
    if key in _FIELDS:
        return _FIELDS[key]
    return next((unit for ending, unit in _ENDINGS.items() if key.endswith(ending)), "")


def _start_unit(system: ArticulatedSystem, key: str, number: int) -> str:
    facts = [body.joint.facts for body in system.bodies]
    units = [u for f in facts for u in (f.coordinate_units if key == "start_q" else f.velocity_units)]
    return units[number]
