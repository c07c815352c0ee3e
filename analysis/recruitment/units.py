"""Units of a system's coordinates by their names."""

from myoquat.joints.validation import SystemLike, system_of

__all__ = ["coordinate_units", "force_units"]


def coordinate_units(model: SystemLike) -> dict[str, str]:
    """'rad', 'm' or '1' (a quaternion's component) of every coordinate, and of a file's angles that quaternions have
    replaced."""
    return dict.fromkeys(system_of(model).angle_names, "rad") | {
        name: unit
        for body in system_of(model).bodies
        for name, unit in zip(body.names_of_coordinates, body.joint.facts.coordinate_units, strict=True)
    }


def force_units(model: SystemLike) -> dict[str, str]:
    """'N m' or 'N' of the generalized force on every velocity, coordinate and angle, by its name."""
    system = system_of(model)
    rates = [unit for body in system.bodies for unit in body.joint.facts.velocity_units]
    units = coordinate_units(system) | dict(zip(system.velocity_names, rates, strict=True))
    return {name: "N m" if unit.startswith("rad") else "N" for name, unit in units.items()}
