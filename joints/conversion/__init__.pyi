from .balls import start_branches as start_branches
from .convert import (
    by_name as by_name,
    convert_coordinates as convert_coordinates,
    convert_velocities as convert_velocities,
    named_system as named_system,
    with_rotations as with_rotations,
)
