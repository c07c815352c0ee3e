from .balls import start_branches as start_branches
from .convert import by_name as by_name
from .convert import convert_coordinates as convert_coordinates
from .convert import convert_velocities as convert_velocities
from .convert import named_system as named_system
from .convert import with_rotations as with_rotations
