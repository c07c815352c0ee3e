"""Units of a system's coordinates by their names."""

from myoquat.joints.validation import SystemLike, system_of

__all__ = ["coordinate_units"]


def coordinate_units(model: SystemLike) -> dict[str, str]:
    """'rad', 'm' or '1' (a quaternion's component) of every coordinate, and of a file's angles that quaternions have
    replaced."""
    return dict.fromkeys(system_of(model).angle_names, "rad") | {
        name: unit
        for body in system_of(model).bodies
        for name, unit in zip(body.names_of_coordinates, body.joint.facts.coordinate_units, strict=True)
    }
